"""One fit for each group of rows: all groups at once, each with its own parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.compiler.threads import processors
from autodiff_cli.data.pipeline import ordered
from autodiff_cli.errors import NotSolved, UsageError, setting
from autodiff_cli.evaluation.descriptions import note
from autodiff_cli.solvers.fitting.engine.least_squares import SumOfSquares
from autodiff_cli.solvers.fitting.engine.minimize import MOST, NOT_FINITE, Minimizer, optimality
from autodiff_cli.solvers.fitting.inference import derived_in_groups
from autodiff_cli.solvers.fitting.result import notes_on_problem
from autodiff_cli.solvers.fitting.starts import with_starts
from autodiff_cli.solvers.fitting.statistics import covariances, squares
from autodiff_cli.solvers.solution import Solution
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.arrays import Indices, Mask, Matrix, Stack, Vector
    from autodiff_cli.command_result import Named, Record
    from autodiff_cli.solvers.fitting.problem import FitProblem

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


class GroupRows:
    """The rows of a problem, group by group.

    Args:
        problem: the problem, whose data have groups.

    Attributes:
        labels: the value of each of the G groups, in order of first appearance.
        order: the row numbers of the data, group by group.
        sizes: the number of rows of each group.
    """

    def __init__(self, problem: FitProblem) -> None:
        groups = problem.data.groups
        assert groups is not None
        self.problem = problem
        present, self.sizes = np.unique(groups.codes, return_counts=True)
        self.labels = [groups.labels[i] for i in present.tolist()]
        self.order = np.argsort(groups.codes, kind="stable")

    def batch(self, least: int) -> tuple[SumOfSquares, Indices]:
        """Return the problems of the groups with at least a number of rows, and the numbers of these groups."""
        kept = np.flatnonzero(self.sizes >= least)
        rows = self.order[np.repeat(self.sizes >= least, self.sizes)]
        problem = self.problem
        model = problem.model.with_columns({name: column[rows] for name, column in problem.data.columns.items()})
        scale = None if problem.scale is None else problem.scale[rows]
        return SumOfSquares(model, scale, problem.loss, self.sizes[kept]), kept

    def rows(self, group: int) -> Indices:
        """Return the row numbers of a group, in increasing order."""
        start = int(self.sizes[:group].sum())
        return self.order[start : start + int(self.sizes[group])]


def fit_groups(problem: FitProblem, *, level: float, forgiving: bool, derive: Sequence[str] = ()) -> GroupFit:
    """Fit every group of rows separately.

    Args:
        problem: the problem, whose data have groups.
        level: the confidence level of the intervals.
        forgiving: whether groups that cannot be fitted are only noted.
        derive: expressions of the parameters that are computed for each group.
    """
    problem = with_starts(problem)
    blocks = GroupRows(problem)
    n = len(problem.free)
    batch, kept = blocks.batch(max(n, 1))
    result = GroupFit(problem, blocks.labels, level)
    result.notes = notes_on_problem(problem)
    points, matrices = np.full((len(blocks.sizes), n), np.nan), np.full((len(blocks.sizes), n, n), np.nan)
    facts: list[Record] = [_facts(size - n, size, "too_few_rows") for size in blocks.sizes.tolist()]
    if len(kept):
        minima = _best(batch, problem)
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


def _best(batch: SumOfSquares, problem: FitProblem) -> Minima:
    """Return the minima of all groups."""
    first = _minima(batch, np.tile(problem.first, (len(batch.sizes), 1)), problem)
    solved = np.flatnonzero(first.converged)
    if len(solved) == 0 or len(batch.sizes) == 1:
        return first
    before = np.searchsorted(solved, np.arange(len(batch.sizes))) - 1
    nearest = np.where(before >= 0, solved[before], solved[np.minimum(before + 1, len(solved) - 1)])
    second = _minima(batch, first.point[nearest], problem)
    with np.errstate(all="ignore"):
        smaller = second.value < first.value * (1 - SAME)
    better = second.converged & (~first.converged | smaller)
    minima = Minima(*(np.where(better.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip(first, second, strict=True)))
    return minima._replace(evaluations=first.evaluations + second.evaluations)


def _minima(batch: SumOfSquares, start: Matrix, problem: FitProblem) -> Minima:
    """Return the minima of all groups from their starts, of shape (G, n)."""
    ends = np.cumsum(batch.sizes)
    cuts = np.unique(np.searchsorted(ends, np.arange(CHUNK, ends[-1], CHUNK)))

    def work(groups: Indices) -> Minima:
        part = batch.only(groups)
        end = Minimizer(part, start[groups], problem.box).run()
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


def _reason(blocks: GroupRows, group: int, verdict: str) -> str:
    """Return why a group has no fit; the message for a point that is not finite names the row and the operation."""
    if verdict == "not_finite":
        try:
            blocks.problem.only(blocks.rows(group)).check()
        except NotSolved as error:
            return error.message
    if verdict == "too_few_rows":
        return f"{plural(int(blocks.sizes[group]), 'row')} for {plural(len(blocks.problem.free), 'parameter')}"
    return VERDICTS[verdict]


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

    def __init__(self, problem: FitProblem, labels: list[Any], level: float) -> None:
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
        for text in derive:
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

    def __init__(self, problem: FitProblem, labels: list[Any], level: float, shared: Sequence[str]) -> None:
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
        result = [(name, record["value"]) for name, record in self.parameters.items()]
        rows = zip(self.labels, self.groups, strict=True)
        return [*result, *((f"{name}[{label}]", row[name]) for label, row in rows for name in own)]
