"""The result of a fit for each group of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.errors import UsageError
from autodiff_cli.solvers.fitting.inference.derived import derived_in_groups
from autodiff_cli.solvers.solution import Solution

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Stack
    from autodiff_cli.command_result import Named, Record
    from autodiff_cli.solvers.fitting.problem import Problem


STATISTICS = ("std", "rss", "dof", "rows", "converged", "verdict")
"""The columns of a group besides its parameters."""


class GroupFit(Solution):
    """The result of ``fit`` for each group of rows.

    Attributes:
        problem: the problem that was solved.
        by: the name of the column of the groups.
        labels: its value in each group, in order of first appearance.
        level: the confidence level of the intervals.
        groups: the row of each group: its label, the value of each parameter ``b``, its standard error ``u_b``, std, rss, dof,
            rows, converged and verdict.
        scaled: what the standard errors are scaled by: ``residuals``, ``sigma``, ``weights`` or ``sandwich``.
    """

    command = "fit"
    tables = "autodiff_cli.solvers.fitting.tables:group_tables"

    groups: list[Record]

    def __init__(self, problem: Problem, labels: list[Any], level: float) -> None:
        super().__init__(expression=problem.expression)
        assert problem.data.groups is not None
        for name in problem.start:
            if name in STATISTICS or name.removeprefix("u_") in {*problem.start} - {name}:
                raise UsageError(f"the parameter '{name}' has the name of a column of the output", hint="rename the parameter")
        self.problem, self.by, self.labels, self.level = problem, problem.data.groups.name, labels, level
        relative = "weights" if problem.scale is not None else "residuals"
        self.scaled = "sandwich" if not problem.loss.plain else "sigma" if problem.absolute else relative

    def estimates(self, points: Matrix, matrices: Stack, derive: Iterable[str]) -> list[Record]:
        """Return the values and standard errors of the parameters and of quantities computed from them, for each group.

        Args:
            points: the free parameters of G groups, of shape (G, n).
            matrices: their covariance matrices, of shape (G, n, n).
            derive: expressions of the parameters.
        """
        problem = self.problem
        columns: dict[str, list[float]] = {name: [problem.start[name]] * len(points) for name in problem.fixed}
        with np.errstate(all="ignore"):
            errors = np.sqrt(np.einsum("gii->gi", matrices))
        for i, name in enumerate(problem.free):
            columns |= {name: points[:, i].tolist(), f"u_{name}": errors[:, i].tolist()}
        for text in (*problem.ties, *derive):
            values, spread = derived_in_groups(problem, text, points, matrices)
            columns |= {text: values.tolist(), f"u_{text}": spread.tolist()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def set_groups(self, records: list[Record]) -> None:
        """Set the rows of all groups, in order."""
        key = self.by if records and self.by not in records[0] else "group"
        self.groups = [{key: label, **record} for label, record in zip(self.labels, records, strict=True)]

    def answer(self) -> Record:
        return {"by": self.by, "groups": self.groups, "errors_from": self.scaled, "level": self.level}

    def numbers(self) -> list[Named]:
        names = [*self.problem.start]
        return [(f"{name}[{label}]", row[name]) for label, row in zip(self.labels, self.groups, strict=True) for name in names]

    def records(self) -> list[Record]:
        return self.groups


class SharedFit(GroupFit):
    """The result of ``fit`` for all groups of rows together; ``groups`` has the shared parameters in every row.

    Attributes:
        shared: the parameters that are common to all groups.
        parameters: the record of each shared parameter, by name: value, std_error, interval, start, fixed, at_bound.
        covariance, correlation: the matrices of the shared parameters, as dictionaries by name.
        residual: rss, std, dof, rows of all groups together.
    """

    covariance: dict[str, dict[str, float]]
    correlation: dict[str, dict[str, float]]
    residual: Record

    def __init__(self, problem: Problem, labels: list[Any], level: float, shared: Sequence[str]) -> None:
        super().__init__(problem, labels, level)
        self.shared = tuple(shared)
        self.parameters: dict[str, Record] = {}

    def answer(self) -> Record:
        return {
            "parameters": self.parameters,
            "covariance": self.covariance,
            "correlation": self.correlation,
            "residual": self.residual,
            "shared": list(self.shared),
            **super().answer(),
        }

    def numbers(self) -> list[Named]:
        if not self.converged:
            return []
        own = [name for name in self.problem.free if name not in self.shared]
        found = [(name, record["value"]) for name, record in self.parameters.items()]
        rows = zip(self.labels, self.groups, strict=True)
        return [*found, *((f"{name}[{label}]", row[name]) for label, row in rows for name in own)]
