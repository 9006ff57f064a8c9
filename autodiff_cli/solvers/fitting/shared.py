"""One fit of all groups of rows together: some parameters are common to all groups, the others have a value for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import DataError, UsageError, setting
from autodiff_cli.evaluation.descriptions import note
from autodiff_cli.solvers.bounds import check_names
from autodiff_cli.solvers.fitting.engine.minimize import Box, Minimizer, Optimality, determined, optimality
from autodiff_cli.solvers.fitting.engine.reduced import Reduced
from autodiff_cli.solvers.fitting.groups import GroupRows, SharedFit
from autodiff_cli.solvers.fitting.result import PATTERNS, by_names, estimate, notes_on_problem
from autodiff_cli.solvers.fitting.starts import with_starts
from autodiff_cli.solvers.fitting.statistics import covariances, quantile
from autodiff_cli.wording import listed, plural

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Matrix, Stack
    from autodiff_cli.solvers.fitting.problem import FitProblem


class SharedObjective:
    """The sum of squares of all groups.

    Args:
        problem: the problem, whose data have groups.
        shared: the parameters that are common to all groups.

    Attributes:
        blocks: the rows, group by group.
        own: the parameters that have a value for each group.
        kept: the numbers of the groups with enough rows.
        objective: the sum of squares as a function of the shared parameters.
        box: their bounds.
        rows: the number of rows of these groups.
    """

    def __init__(self, problem: FitProblem, shared: Sequence[str]) -> None:
        self.problem, self.shared = problem, tuple(shared)
        self.own = tuple(name for name in problem.free if name not in shared)
        self.blocks = GroupRows(problem)
        batch, self.kept = self.blocks.batch(max(len(self.own), 1))
        if not len(self.kept):
            raise DataError(f"no group has enough rows for {plural(len(self.own), 'parameter')}: {listed(self.own)}")
        self.rows = int(batch.sizes.sum())
        columns = batch.model.columns
        values = {name: np.zeros(self.rows) for name in shared}
        every = problem.model.retraced([*self.own, *shared], columns)
        alone = problem.model.retraced(self.own, {**columns, **values})
        start = np.tile([problem.start[name] for name in self.own], (len(self.kept), 1))
        self.objective = Reduced(every, alone, batch.sizes, start, self._box(self.own), batch.scale)
        self.box = self._box(self.shared)

    def _box(self, names: Sequence[str]) -> Box:
        ends = [self.problem.bounds.get(name, (-np.inf, np.inf)) for name in names]
        return Box(np.array([low for low, _ in ends], float), np.array([high for _, high in ends], float))


def fit_shared(problem: FitProblem, shared: Sequence[str], *, level: float, derive: Sequence[str] = ()) -> SharedFit:
    """Fit all groups together.

    Args:
        problem: the problem, whose data have groups.
        shared: the parameters that are common to all groups.
        level: the confidence level of the intervals.
        derive: expressions of the parameters that are computed for each group.
    """
    check_names(shared, problem.free, "share", "parameter that is fitted")
    if set(shared) >= {*problem.free}:
        raise UsageError(
            "every parameter is shared, so the groups do not differ", hint=f"omit {setting('by')} and {setting('share')}"
        )
    if not problem.loss.plain:
        raise UsageError(f"{setting('loss')} and {setting('share')} exclude each other", hint="use one of them")
    problem = with_starts(problem)
    problem.check()
    joint = SharedObjective(problem, shared)
    first = np.array([problem.start[name] for name in shared])
    with np.errstate(all="ignore"):
        end = Minimizer(joint.objective, first[None], joint.box).run()
        result = _described(joint, end.point, level, derive)
    result.steps, result.evaluations = int(end.steps[0]), joint.objective.evaluations
    return result


def _described(joint: SharedObjective, point: Matrix, level: float, derive: Sequence[str]) -> SharedFit:
    """Return the result at a point, with its statistics and its verification computed at this point."""
    problem = joint.problem
    own = joint.objective.own(point)
    free = joint.objective.free(point)
    rows = np.array([joint.rows - int(free.sum())])
    facts = optimality(joint.objective, point, joint.box, rows, PATTERNS)
    result = SharedFit(problem, joint.blocks.labels, level, joint.shared)
    result.notes = notes_on_problem(problem)
    dof = int(rows[0] - facts.free.sum())
    rss = float(facts.linear.rest[0]) ** 2
    variance = 1.0 if problem.absolute else rss / dof if dof > 0 else np.nan
    matrix = covariances(joint.objective, point, facts, rows, problem.absolute)[0]
    k = quantile(level, dof, problem.absolute)
    errors = np.sqrt(np.diag(matrix))
    for i, name in enumerate(joint.shared):
        value, held = float(point[0, i]), not facts.free[0, i]
        result.parameters[name] = {
            **estimate(value, float(errors[i]), k),
            "start": problem.start[name],
            "fixed": False,
            "at_bound": ("lower" if value <= joint.box.lower[i] else "upper") if held else None,
        }
    known = facts.free[0] & np.isfinite(errors)
    part = matrix[np.ix_(known, known)]
    names = tuple(name for name, one in zip(joint.shared, known, strict=True) if one)
    result.covariance = by_names(names, part)
    result.correlation = by_names(names, part / np.sqrt(np.outer(np.diag(part), np.diag(part))))
    result.residual = {"rss": rss, "std": float(np.sqrt(rss / dof)) if dof > 0 else None, "dof": dof, "rows": joint.rows}
    single = _undetermined(joint, point)
    _judge(result, joint, facts, single)
    count, n = len(joint.blocks.sizes), len(problem.free)
    points, matrices, parts = np.full((count, n), np.nan), np.full((count, n, n), np.nan), np.full(count, np.nan)
    if result.converged:
        places = np.array([problem.free.index(name) for name in (*joint.own, *joint.shared)])
        points[np.ix_(joint.kept, places)] = np.hstack([own, np.tile(point, (len(own), 1))])
        matrices[np.ix_(joint.kept, places, places)] = _covariances(joint, point, free, matrix, variance)
        parts[joint.kept] = 2 * joint.objective.values(point)
    records = []
    for i, one in enumerate(result.estimates(points, matrices, derive)):
        verdict = result.verdict if i in joint.kept else "too_few_rows"
        facts_of_group = {"rss": float(parts[i]), "rows": int(joint.blocks.sizes[i])}
        records.append({**one, **facts_of_group, "converged": verdict == "minimum", "verdict": verdict})
    result.set_groups(records)
    left = len(records) - len(joint.kept)
    if left:
        few = next(i for i in range(len(records)) if i not in set(joint.kept.tolist()))
        message = (
            f"{plural(left, 'group')} left out, with fewer rows than parameters; the first is {result.by} = {result.labels[few]}"
        )
        result.notes.append(note("groups", message))
    return result


def _covariances(joint: SharedObjective, point: Matrix, free: Mask, matrix: Matrix, variance: float) -> Stack:
    """Return the covariance matrices of the own and the shared parameters of the groups, of shape (B, k + s, k + s)."""
    parts = joint.objective.eliminated(point)
    k, s = parts.across.shape[1:]
    known = np.isfinite(np.diag(matrix))
    shared = np.where(known[:, None] & known, matrix, 0.0)
    inverse = np.linalg.inv(parts.own)
    across = -inverse @ parts.across
    result = np.empty((len(inverse), k + s, k + s))
    result[:, :k, :k] = inverse @ np.swapaxes(inverse, 1, 2) * variance + across @ shared @ np.swapaxes(across, 1, 2)
    result[:, :k, k:] = across @ shared
    result[:, k:, :k] = np.swapaxes(result[:, :k, k:], 1, 2)
    result[:, k:, k:] = shared
    every = np.hstack([free, np.tile(known, (len(free), 1))])
    return np.where(every[:, :, None] & every[:, None, :], result, np.nan)


def _undetermined(joint: SharedObjective, point: Matrix) -> int | None:
    """Return the number of the first group whose rows do not determine its own parameters; ``None`` if there is none."""
    linear = joint.objective.own_linear(point)
    bad = np.flatnonzero(~determined(linear))
    return int(joint.kept[bad[0]]) if len(bad) else None


def _judge(result: SharedFit, joint: SharedObjective, facts: Optimality, single: int | None) -> None:
    """Set the verdict of a result from the facts about its point."""
    if facts.is_minimum[0] and single is None:
        result.converged, result.verdict = True, "minimum"
    elif single is not None:
        result.verdict = "singular"
        result.reason = f"{result.by} = {result.labels[single]}: the rows do not determine {listed(joint.own)}"
        result.advice = "leave out this group"
    elif len(facts.null):
        result.verdict = "singular"
        result.reason = f"the data do not determine {listed(joint.shared)}"
    elif not facts.quadratic.finite[0]:
        result.reason = "the sum of squares has no minimum for some group, or a derivative is not finite"
        result.advice = f"choose other starting values with {setting('at')}, or use {setting('bounds')}"
    elif not facts.positive[0]:
        result.verdict = "saddle"
        result.reason = "the point is not a minimum: the exact Hessian is not positive definite"
    else:
        result.reason = f"no minimum was found: the relative offset is {facts.offset[0]:.1g}"
        result.advice = f"choose other starting values with {setting('at')}"
