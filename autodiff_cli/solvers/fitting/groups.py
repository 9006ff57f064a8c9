"""One fit for each group of rows: all groups at once, each with its own parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.compiler.threads import processors
from autodiff_cli.data.pipeline import ordered
from autodiff_cli.errors import NotSolved, setting
from autodiff_cli.evaluation.phrasing import note
from autodiff_cli.solvers.fitting.describe import notes_on_problem
from autodiff_cli.solvers.fitting.engine.least_squares import LeastSquares
from autodiff_cli.solvers.fitting.engine.minimize import MOST, NOT_FINITE, Minimizer
from autodiff_cli.solvers.fitting.engine.optimality import optimality
from autodiff_cli.solvers.fitting.group_result import GroupFit
from autodiff_cli.solvers.fitting.starts import started
from autodiff_cli.solvers.fitting.statistics import covariances, squares
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.arrays import Indices, Mask, Matrix, Stack, Vector
    from autodiff_cli.command_result import Record
    from autodiff_cli.solvers.fitting.problem import Problem

CHUNK = 1 << 15
"""The number of rows that one thread computes at a time."""
SAME = 1e-9
"""The relative difference of objectives above which one of two minima is smaller."""
VERDICTS = {
    "too_few_rows": "the group has fewer rows than parameters",
    "not_finite": "the model or a derivative is not finite",
    "singular": "the data do not determine all parameters",
    "saddle": "the point is not a minimum: the exact Hessian is not positive definite",
    "not_converged": "no minimum was found",
}
"""The reason for each verdict other than ``minimum``."""


class Minima(NamedTuple):
    """The minima of G groups, and the facts about them; see ``Minimization`` and ``Optimality``."""

    point: Matrix
    value: Vector
    steps: Indices
    evaluations: Indices
    ended: Indices
    squares: Vector
    covariance: Stack
    free: Mask
    finite: Mask
    positive: Mask
    determined: Mask
    converged: Mask

    def verdict(self, i: int) -> str:
        """Return the verdict on a group: ``minimum`` or a key of ``VERDICTS``."""
        if self.converged[i]:
            return "minimum"
        if not self.finite[i] or self.ended[i] == NOT_FINITE:
            return "not_finite"
        if not self.determined[i]:
            return "singular"
        return "not_converged" if self.ended[i] == MOST or self.positive[i] else "saddle"


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

    def batch(self, least: int) -> tuple[LeastSquares, Indices]:
        """Return the problems of the groups with at least a number of rows, and the numbers of these groups."""
        kept = np.flatnonzero(self.sizes >= least)
        rows = self.order[np.repeat(self.sizes >= least, self.sizes)]
        problem = self.problem
        model = problem.model.on({name: column[rows] for name, column in problem.data.columns.items()})
        scale = None if problem.scale is None else problem.scale[rows]
        return LeastSquares(model, scale, problem.loss, self.sizes[kept]), kept

    def rows(self, group: int) -> Indices:
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
    result.notes = notes_on_problem(problem)
    points, matrices = np.full((len(blocks.sizes), n), np.nan), np.full((len(blocks.sizes), n, n), np.nan)
    facts: list[Record] = [_facts(size - n, size, "too_few_rows") for size in blocks.sizes.tolist()]
    if len(kept):
        minima = _best(batch, problem, max_steps)
        points[kept[minima.converged]] = minima.point[minima.converged]
        matrices[kept] = minima.covariance
        for i, group in enumerate(kept.tolist()):
            rows = int(blocks.sizes[group])
            facts[group] = _facts(rows - int(minima.free[i].sum()), rows, minima.verdict(i), float(minima.squares[i]))
        result.steps, result.evaluations = int(minima.steps.sum()), int(minima.evaluations.sum())
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
            result.notes.append(note("groups", message))
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


def _best(batch: LeastSquares, problem: Problem, most: int) -> Minima:
    """Return the minima of all groups.

    Each group is minimised from the start, and then from the minimum of its predecessor.  The smaller minimum counts, and the first
    if they are equal to rounding.  The result does not depend on the number of threads.
    """
    first = _minima(batch, np.tile(problem.first, (len(batch.sizes), 1)), problem, most)
    solved = np.flatnonzero(first.converged)
    if len(solved) == 0 or len(batch.sizes) == 1:
        return first
    before = np.searchsorted(solved, np.arange(len(batch.sizes))) - 1
    nearest = np.where(before >= 0, solved[before], solved[np.minimum(before + 1, len(solved) - 1)])
    second = _minima(batch, first.point[nearest], problem, most)
    with np.errstate(all="ignore"):
        smaller = second.value < first.value * (1 - SAME)
    better = second.converged & (~first.converged | smaller)
    minima = Minima(*(np.where(better.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip(first, second, strict=True)))
    return minima._replace(evaluations=first.evaluations + second.evaluations)


def _minima(batch: LeastSquares, start: Matrix, problem: Problem, most: int) -> Minima:
    """Return the minima of all groups from their starts, of shape (G, n)."""
    ends = np.cumsum(batch.sizes)
    cuts = np.unique(np.searchsorted(ends, np.arange(CHUNK, ends[-1], CHUNK)))

    def work(groups: Indices) -> Minima:
        part = batch.only(groups)
        end = Minimizer(part, start[groups], problem.box, most).run()
        facts = optimality(part, end.point, problem.box, part.sizes)
        with np.errstate(all="ignore"):
            return Minima(
                point=end.point,
                value=facts.quadratic.value,
                steps=end.steps,
                evaluations=end.evaluations + 4,
                ended=end.ended,
                squares=squares(part, end.point, facts),
                covariance=covariances(part, end.point, facts, part.sizes, problem.absolute),
                free=facts.free,
                finite=facts.finite,
                positive=facts.positive,
                determined=np.asarray(~facts.missing.any(1)),
                converged=facts.is_minimum,
            )

    parts = [part for part in np.split(np.arange(len(ends)), cuts) if len(part)]
    return Minima(*map(np.concatenate, zip(*ordered(work, parts, problem.threads or processors()), strict=True)))


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
