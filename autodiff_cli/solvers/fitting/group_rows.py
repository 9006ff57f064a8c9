"""The rows of a problem, group by group, and the objective of parameters that the groups share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import DataError
from autodiff_cli.solvers.fitting.engine.reduced import Reduced
from autodiff_cli.solvers.fitting.engine.sum_of_squares import SumOfSquares
from autodiff_cli.wording import listed, plural

if TYPE_CHECKING:
    from autodiff_cli.arrays import Indices
    from autodiff_cli.solvers.fitting.problem import FitProblem


class GroupRows:
    """The rows of a problem, group by group.

    Args:
        problem: the problem, whose data have groups.
        least: the number of rows that a group needs.

    Attributes:
        labels: the value of each of the G groups, in order of first appearance.
        sizes: the number of rows of each group.
        numbers: the numbers of the groups with enough rows.
        batch: the problems of these groups.
    """

    def __init__(self, problem: FitProblem, least: int) -> None:
        groups = problem.data.groups
        assert groups is not None
        present, self.sizes = np.unique(groups.codes, return_counts=True)  # no group of ``sizes`` is empty
        self.labels = [groups.labels[i] for i in present.tolist()]
        self._order = np.argsort(groups.codes, kind="stable")  # the row numbers, group by group
        is_long = self.sizes >= least
        self.numbers = np.flatnonzero(is_long)
        rows = self._order[np.repeat(is_long, self.sizes)]
        model = problem.model.with_columns({name: column[rows] for name, column in problem.data.columns.items()})
        scale = None if problem.scale is None else problem.scale[rows]
        self.batch = SumOfSquares(model, scale, problem.loss, self.sizes[self.numbers])

    def rows(self, group: int) -> Indices:
        """Return the row numbers of a group, in increasing order."""
        start = int(self.sizes[:group].sum())
        return self._order[start : start + int(self.sizes[group])]


def own_parameters(problem: FitProblem) -> list[str]:
    """Return the parameters of a problem with shared parameters that have a value for each group."""
    return [name for name in problem.free if name not in problem.shared]


def shared_objective(problem: FitProblem) -> Reduced:
    """Return the sum of squares of all groups with enough rows as a function of the shared parameters; none is an error."""
    own = own_parameters(problem)
    rows = GroupRows(problem, len(own))
    if not len(rows.numbers):
        raise DataError(f"no group has enough rows for {plural(len(own), 'parameter')}: {listed(own)}")
    columns = rows.batch.model.columns
    of_all_parameters = problem.model.retraced([*own, *problem.shared], columns)
    shared_columns = {name: np.zeros(of_all_parameters.rows) for name in problem.shared}  # to be set at each point
    of_own_parameters = problem.model.retraced(own, {**columns, **shared_columns})
    start = np.tile([problem.start[name] for name in own], (len(rows.numbers), 1))
    box = problem.bounds_as_box(own)
    return Reduced(of_all_parameters, of_own_parameters, rows.batch.sizes, start, box, scale=rows.batch.scale)
