"""One fit for each group of rows: all groups at once, each with its own parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.compiler.threads import processors
from autodiff_cli.errors import NotSolved, setting
from autodiff_cli.evaluation.phrasing import note
from autodiff_cli.solvers.fitting.blocks import many
from autodiff_cli.solvers.fitting.blocks.batch import Batch
from autodiff_cli.solvers.fitting.describe import notes_on_problem
from autodiff_cli.solvers.fitting.group_result import GroupFit
from autodiff_cli.solvers.fitting.starts import started
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.command_result import Record
    from autodiff_cli.solvers.fitting.problem import Problem

    Numbers = NDArray[np.intp]

VERDICTS = {
    "too_few_rows": "the group has fewer rows than parameters",
    "not_finite": "the model or a derivative is not finite",
    "singular": "the data do not determine all parameters",
    "saddle": "the point is not a minimum: the exact Hessian is not positive definite",
    "not_converged": "no minimum was found",
}
"""The reason for each verdict other than ``minimum``."""


class Blocks:
    """The rows of a problem, group by group.

    Args:
        problem: the problem, whose data have groups.

    Attributes:
        labels: the value of each of the G groups, in order of first appearance.
        order: the row numbers of the data, group by group.
        sizes: the number of rows of each group.
    """

    def __init__(self, problem: Problem) -> None:
        groups = problem.data.groups
        assert groups is not None
        self.problem = problem
        present, self.sizes = np.unique(groups.codes, return_counts=True)
        self.labels = [groups.labels[i] for i in present.tolist()]
        self.order = np.argsort(groups.codes, kind="stable")

    def batch(self, least: int) -> tuple[Batch, Numbers]:
        """Return the problems of the groups with at least a number of rows, and the numbers of these groups."""
        kept = np.flatnonzero(self.sizes >= least)
        rows = self.order[np.repeat(self.sizes >= least, self.sizes)]
        problem = self.problem
        model = problem.model.on({name: column[rows] for name, column in problem.data.columns.items()})
        scale = None if problem.scale is None else problem.scale[rows]
        return Batch(model, self.sizes[kept], scale, problem.loss), kept

    def rows(self, group: int) -> Numbers:
        """Return the row numbers of a group, in increasing order."""
        start = int(self.sizes[:group].sum())
        return self.order[start : start + int(self.sizes[group])]


def fit_groups(problem: Problem, *, level: float, max_steps: int, forgiving: bool, derive: Sequence[str] = ()) -> GroupFit:
    """Fit every group of rows separately.

    Args:
        problem: the problem, whose data have groups.
        level: the confidence level of the intervals.
        max_steps: the maximum number of steps of each group.
        forgiving: whether groups that cannot be fitted are only noted.
        derive: expressions of the parameters that are computed for each group.
    """
    problem = started(problem)
    blocks = Blocks(problem)
    n = len(problem.free)
    batch, kept = blocks.batch(max(n, 1))
    result = GroupFit(problem, blocks.labels, level)
    result.noted = notes_on_problem(problem)
    points, matrices = np.full((len(blocks.sizes), n), np.nan), np.full((len(blocks.sizes), n, n), np.nan)
    facts: list[Record] = [_facts(size - n, size, "too_few_rows") for size in blocks.sizes.tolist()]
    if len(kept):
        found = many.best(batch, problem.first, problem.box, max_steps, problem.threads or processors())
        points[kept[found.minimum]] = found.point[found.minimum]
        for i, group in enumerate(kept.tolist()):
            rows = int(blocks.sizes[group])
            dof = rows - int(found.free[i].sum())
            facts[group] = _facts(dof, rows, _verdict(found, i), float(found.rest[i]) ** 2)
            share = 1 / dof if dof > 0 else np.nan
            scaled = share if not problem.loss.plain else found.rest[i] ** 2 * share
            matrices[group] = found.inverse[i] * (1.0 if problem.absolute and problem.loss.plain else scaled)
        result.steps, result.evaluations = int(found.steps.sum()), int(found.evaluations.sum())
    matrices[np.isnan(points).any(1)] = np.nan
    records = [{**one, **more} for one, more in zip(result.estimates(points, matrices, derive), facts, strict=True)]
    result.set_groups(records)
    failed = [i for i, record in enumerate(records) if not record["converged"]]
    result.converged = forgiving or not failed
    result.verdict = "minimum" if not failed else "partial" if len(failed) < len(records) else "not_converged"
    if failed:
        first = failed[0]
        name = f"{result.by} = {blocks.labels[first]}"
        message = f"{len(failed):,} of {plural(len(records), 'group')} not fitted; the first is {name}: "
        message += _reason(blocks, first, records[first]["verdict"])
        if forgiving:
            result.noted.append(note("groups", message))
        else:
            result.reason = message
            result.advice = (
                f"use {setting('on_error', 'skip')} to accept groups without a fit, or other starts with {setting('at')}"
            )
    return result


def _facts(dof: int, rows: int, verdict: str, rss: float = np.nan) -> Record:
    """Return the columns of a group besides its parameters."""
    good = verdict == "minimum"
    std = math.sqrt(rss / dof) if good and dof > 0 else np.nan
    return {"std": std, "rss": rss if good else np.nan, "dof": max(dof, 0), "rows": rows, "converged": good, "verdict": verdict}


def _verdict(found: many.Minima, i: int) -> str:
    if found.minimum[i]:
        return "minimum"
    if not found.finite[i] or found.ended[i] == many.NOT_FINITE:
        return "not_finite"
    if not found.determined[i]:
        return "singular"
    return "not_converged" if found.ended[i] == many.MOST or found.positive[i] else "saddle"


def _reason(blocks: Blocks, group: int, verdict: str) -> str:
    """Return why a group has no fit; the message for a point that is not finite names the row and the operation."""
    if verdict == "not_finite":
        try:
            blocks.problem.only(blocks.rows(group)).check()
        except NotSolved as error:
            return error.message
    if verdict == "too_few_rows":
        return f"{plural(int(blocks.sizes[group]), 'row')} for {plural(len(blocks.problem.free), 'parameter')}"
    return VERDICTS[verdict]
