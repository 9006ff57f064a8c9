"""Fits of groups of rows: each with its own parameters, or all together with some parameters that are common to all groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.compiler.threads import processors
from autodiff_cli.data.pipeline import ordered
from autodiff_cli.errors import NotSolved, UsageError, setting
from autodiff_cli.evaluation.note_phrases import note
from autodiff_cli.solvers.fitting.engine import levenberg_marquardt as engine
from autodiff_cli.solvers.fitting.engine.reduced import Reduced
from autodiff_cli.solvers.fitting.engine.sum_of_squares import SumOfSquares
from autodiff_cli.solvers.fitting.group_rows import GroupRows, own_parameters
from autodiff_cli.solvers.fitting.predictions import derived_in_groups
from autodiff_cli.solvers.fitting.result import Fit, notes_on_problem
from autodiff_cli.solvers.fitting.statistics import covariances, residual_squares, standard_errors
from autodiff_cli.solvers.solution import Solution
from autodiff_cli.wording import listed, plural

if TYPE_CHECKING:
    from autodiff_cli.arrays import Array, Indices, Matrix, Stack
    from autodiff_cli.command_result import Named, Record
    from autodiff_cli.solvers.fitting.problem import FitProblem

    Columns = dict[str, list[Any]]
    """The columns of the table of groups."""

CHUNK = 1 << 15
"""The number of rows that one thread computes at a time."""

VERDICTS = {
    "singular": "the data do not determine all parameters",
    "saddle": "the point is not a minimum: the exact Hessian is not positive definite",
    "not_finite": "the model or a derivative is not finite",
    "not_converged": "no minimum was found",
}
"""The reason for each verdict on a group with enough rows, other than ``minimum``."""
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
    """

    command = "fit"
    tables = "autodiff_cli.solvers.fitting.tables:group_tables"

    groups: list[Record]

    def __init__(self, problem: FitProblem, labels: list[Any], level: float) -> None:
        super().__init__(expression=problem.expression)
        assert problem.data.groups is not None
        for name in problem.start:
            is_error_of_other = name.removeprefix("u_") in {*problem.start} - {name}  # ``u_b`` beside ``b``
            if name in STATISTICS or is_error_of_other:
                raise UsageError(f"the parameter '{name}' has the name of a column of the output", hint="rename the parameter")
        self.problem, self.by, self.labels, self.level = problem, problem.data.groups.name, labels, level
        self.notes = notes_on_problem(problem)

    def estimates(self, points: Matrix, matrices: Stack, derive: Iterable[str]) -> Columns:
        """Return the columns ``b`` of values and ``u_b`` of standard errors, not of fixed parameters, and of derived quantities.

        Args:
            points: the free parameters of G groups, of shape (G, n).
            matrices: their covariance matrices, of shape (G, n, n).
            derive: expressions of the parameters.
        """
        columns: Columns = {name: [self.problem.start[name]] * len(points) for name in self.problem.fixed}
        with np.errstate(all="ignore"):
            errors = standard_errors(matrices)
        for i, name in enumerate(self.problem.free):
            columns |= {name: points[:, i].tolist(), f"u_{name}": errors[:, i].tolist()}
        for text in derive:
            values, spread = derived_in_groups(self.problem, text, points, matrices)
            columns |= {text: values.tolist(), f"u_{text}": spread.tolist()}
        return columns

    def set_groups(self, columns: Columns) -> None:
        """Set ``groups`` from columns; the first one is that of the labels, called ``group`` if a parameter has its name."""
        columns = {"group" if self.by in columns else self.by: self.labels, **columns}
        self.groups = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def answer(self) -> Record:
        return {"by": self.by, "groups": self.groups, "errors_from": self.problem.errors_from, "level": self.level}

    def numbers(self) -> list[Named]:
        return self.numbers_of(self.problem.start)

    def numbers_of(self, names: Collection[str]) -> list[Named]:
        """Return the values of parameters in each group, named as in ``b[label]``."""
        rows = zip(self.labels, self.groups, strict=True)
        return [(f"{name}[{label}]", row[name]) for label, row in rows for name in names]

    def records(self) -> list[Record]:
        return self.groups


def fit_groups(problem: FitProblem, *, level: float, forgiving: bool, derive: Sequence[str] = ()) -> GroupFit:
    """Fit every group of rows separately.

    Args:
        problem: the problem, whose data have groups, and whose parameters have starts.
        level: the confidence level of the intervals.
        forgiving: whether groups that cannot be fitted are only noted.
        derive: expressions of the parameters that are computed for each group.
    """
    n = len(problem.free)
    rows = GroupRows(problem, n)
    result = GroupFit(problem, rows.labels, level)
    count = len(rows.sizes)
    points, matrices = np.full((count, n), np.nan), np.full((count, n, n), np.nan)
    verdicts, rss, dof = np.full(count, "too_few_rows", object), np.full(count, np.nan), rows.sizes - n
    if len(rows.numbers):
        end, facts = _best_minima(rows.batch, problem)
        solved = facts.is_minimum
        points[rows.numbers[solved]] = end.point[solved]
        matrices[rows.numbers] = covariances(rows.batch, end.point, facts, problem.absolute)
        verdicts[rows.numbers] = _verdicts(end, facts)
        rss[rows.numbers] = np.where(solved, residual_squares(rows.batch, end.point, facts), np.nan)
        dof[rows.numbers] += (~facts.free).sum(1)  # a parameter at a bound is not estimated
        result.steps, result.evaluations = int(end.steps.sum()), int(end.evaluations.sum())
    columns = result.estimates(points, matrices, derive)
    columns["std"] = np.sqrt(rss / np.where(dof > 0, dof, np.nan)).tolist()
    columns |= {"rss": rss.tolist(), "dof": np.maximum(dof, 0).tolist(), "rows": rows.sizes.tolist()}
    result.set_groups({**columns, "converged": (verdicts == "minimum").tolist(), "verdict": verdicts.tolist()})
    _judge_groups(result, rows, verdicts, forgiving)
    return result


def _judge_groups(result: GroupFit, rows: GroupRows, verdicts: Array, forgiving: bool) -> None:
    """Set the verdict of a result, ``partial`` if some groups have a fit; the others are the reason, or a note if ``forgiving``."""
    failed = np.flatnonzero(verdicts != "minimum").tolist()
    result.converged = forgiving or not failed
    result.verdict = "minimum" if not failed else "partial" if len(failed) < len(verdicts) else "not_converged"
    if failed:
        first = failed[0]
        which = f"{len(failed):,} of {plural(len(verdicts), 'group')} not fitted; the first is {result.by} = {rows.labels[first]}"
        message = f"{which}: {_failure(result.problem, rows, first, verdicts[first])}"
        if forgiving:
            result.notes.append(note("groups", message))
        else:
            skip = setting("on_error", "skip")
            result.advice = f"use {skip} to accept groups without a fit, or other starts with {setting('at')}"
            result.reason = message


def _best_minima(batch: SumOfSquares, problem: FitProblem) -> tuple[engine.Minimization, engine.Optimality]:
    """Return the minima of all groups from the start, or from the solution of a group beside it if that is smaller."""
    end, facts = _minima(batch, np.tile(problem.first, (len(batch.sizes), 1)), problem)
    solved = np.flatnonzero(facts.is_minimum)
    if len(solved) == 0 or len(batch.sizes) == 1:
        return end, facts
    place = np.searchsorted(solved, np.arange(len(batch.sizes)))  # of the first solved group that is not before each group
    beside = np.where(place > 0, solved[place - 1], solved[0])  # the last one before it, if any
    second_end, second_facts = _minima(batch, end.point[beside], problem)
    with np.errstate(all="ignore"):
        smaller = second_end.value < end.value * (1 - engine.SAME)
    better = second_facts.is_minimum & (~facts.is_minimum | smaller)  # by group, the first axis of every array

    def better_of(new: Array, old: Array) -> Array:
        return np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    best_end, best_facts = _combined(better_of, second_end, end), _combined(better_of, second_facts, facts)
    return best_end._replace(evaluations=end.evaluations + second_end.evaluations), best_facts


def _minima(batch: SumOfSquares, start: Matrix, problem: FitProblem) -> tuple[engine.Minimization, engine.Optimality]:
    """Return the minima of all groups from their starts, of shape (G, n); threads compute parts of about ``CHUNK`` rows."""
    ends = np.cumsum(batch.sizes)
    cuts = np.unique(np.searchsorted(ends, np.arange(CHUNK, ends[-1], CHUNK)))  # the groups at which a part begins
    parts = [part for part in np.split(np.arange(len(ends)), cuts) if len(part)]

    def minima_of_part(groups: Indices) -> tuple[engine.Minimization, engine.Optimality]:
        part = batch.only(groups)
        end = engine.Minimizer(part, start[groups], problem.box).run()
        return end, engine.optimality(part, end.point, problem.box)

    ends_and_facts = zip(*ordered(minima_of_part, parts, processors()), strict=True)
    end, facts = (_combined(lambda *arrays: np.concatenate(arrays), *records) for records in ends_and_facts)
    return end, facts


def _combined(function: Callable[..., Array], *records: Any) -> Any:
    """Apply a function to each field of records of one type, and return the results as such a record; a field may be a record."""
    fields = zip(*records, strict=True)
    return type(records[0])(*(_combined(function, *items) if isinstance(items[0], tuple) else function(*items) for items in fields))


def _verdicts(end: engine.Minimization, facts: engine.Optimality) -> Array:
    """Return the verdict on each group: ``minimum`` or a key of ``VERDICTS``, the first case that applies, or else ``saddle``."""
    cases = {
        "minimum": facts.is_minimum,
        "not_finite": ~facts.finite | (end.ended == engine.NOT_FINITE),
        "singular": facts.missing.any(1),
        "not_converged": (end.ended == engine.MOST) | facts.positive,  # positive: the steps ended before the minimum
    }
    return np.select([*cases.values()], [*cases], "saddle")


def _failure(problem: FitProblem, rows: GroupRows, group: int, verdict: str) -> str:
    """Return why a group has no fit; if the model is not finite at the start, the message names the row and the operation."""
    if verdict == "too_few_rows":
        return f"{plural(int(rows.sizes[group]), 'row')} for {plural(len(problem.free), 'parameter')}"
    if verdict == "not_finite":
        try:
            problem.only(rows.rows(group)).check()
        except NotSolved as error:
            return error.message
    return VERDICTS[verdict]


class SharedFit(GroupFit):
    """The result of ``fit`` for all groups of rows together; ``groups`` has the shared parameters in every row.

    Args:
        problem: the problem, whose data have groups.
        fit: the fit of the shared parameters.
        derive: expressions of the parameters that are computed for each group.

    Attributes:
        joint: the problem of the shared parameters.
        shared: the parameters that are common to all groups.
        parameters: the record of each shared parameter, by name: value, std_error, interval, start, fixed, at_bound.
        covariance, correlation: the matrices of the shared parameters, as dictionaries by name.
        residual: rss, std, dof, rows of all groups together.
    """

    def __init__(self, problem: FitProblem, fit: Fit, derive: Sequence[str]) -> None:
        own = own_parameters(fit.problem)
        rows = GroupRows(problem, len(own))
        super().__init__(problem, rows.labels, fit.level)
        self.joint, self.shared, self.parameters = fit.problem, fit.problem.shared, fit.parameters
        self.covariance, self.correlation = fit.covariance, fit.correlation
        self.residual = {**fit.residual, "rows": int(rows.batch.sizes.sum())}
        for name in ("converged", "verdict", "reason", "advice", "steps", "evaluations"):
            setattr(self, name, getattr(fit, name))
        objective = fit.problem.objective
        assert isinstance(objective, Reduced)
        undetermined = rows.numbers[~engine.determined(objective.own_linear(fit.point[None]))]
        if len(undetermined):
            self.converged, self.verdict, self.advice = False, "singular", "leave out this group"
            self.reason = f"{self.by} = {self.labels[undetermined[0]]}: the rows do not determine {listed(own)}"
        left_out = np.setdiff1d(np.arange(len(rows.sizes)), rows.numbers)
        verdicts = np.full(len(rows.sizes), self.verdict, object)
        verdicts[left_out] = "too_few_rows"
        columns = {**self._group_columns(objective, fit, rows, derive), "rows": rows.sizes.tolist()}
        self.set_groups({**columns, "converged": (verdicts == "minimum").tolist(), "verdict": verdicts.tolist()})
        if len(left_out):
            message = f"{plural(len(left_out), 'group')} left out, with fewer rows than parameters"
            self.notes.append(note("groups", f"{message}; the first is {self.by} = {self.labels[left_out[0]]}"))

    def _group_columns(self, objective: Reduced, fit: Fit, rows: GroupRows, derive: Sequence[str]) -> Columns:
        """Return the estimates and the ``rss`` of each group; nan for groups that are left out, and without a solution."""
        count, free = len(rows.sizes), self.problem.free
        points, rss = np.full((count, len(free)), np.nan), np.full(count, np.nan)
        matrices = np.full((count, len(free), len(free)), np.nan)
        if self.converged:
            point = fit.point[None]
            variance = 1.0 if self.problem.absolute else (self.residual["std"] or np.nan) ** 2  # no std: no degrees of freedom
            places = np.array([free.index(name) for name in (*own_parameters(self.joint), *self.shared)])
            points[np.ix_(rows.numbers, places)] = objective.joined(point)
            matrices[np.ix_(rows.numbers, places, places)] = objective.covariances(point, fit.matrix, variance)
            rss[rows.numbers] = 2 * objective.values(point)  # which are half the sums of squares
        return {**self.estimates(points, matrices, derive), "rss": rss.tolist()}

    def answer(self) -> Record:
        matrices = {"covariance": self.covariance, "correlation": self.correlation}
        of_all = {"parameters": self.parameters, **matrices, "residual": self.residual, "shared": list(self.shared)}
        return {**of_all, **super().answer()}

    def numbers(self) -> list[Named]:
        """Return the shared parameters, then those of each group; none without convergence."""
        if not self.converged:
            return []
        shared = [(name, record["value"]) for name, record in self.parameters.items()]
        return [*shared, *self.numbers_of(own_parameters(self.joint))]
