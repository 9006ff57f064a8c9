"""One fit of all groups of rows together: some parameters are common to all groups, each group has the others for itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import DataError, UsageError, setting
from autodiff_cli.evaluation.phrasing import note
from autodiff_cli.solvers.bounds import check_names
from autodiff_cli.solvers.fitting.blocks.many import determined
from autodiff_cli.solvers.fitting.blocks.reduced import Reduced
from autodiff_cli.solvers.fitting.describe import estimate, notes_on_problem
from autodiff_cli.solvers.fitting.engine.minimize import Box, Minimizer
from autodiff_cli.solvers.fitting.engine.proof import Proof, proof
from autodiff_cli.solvers.fitting.group_result import SharedFit
from autodiff_cli.solvers.fitting.groups import Blocks
from autodiff_cli.solvers.fitting.result import by_names
from autodiff_cli.solvers.fitting.starts import started
from autodiff_cli.solvers.fitting.statistics import covariance, quantile
from autodiff_cli.wording import listed, plural

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.command_result import Record
    from autodiff_cli.solvers.fitting.problem import Problem

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]
    Numbers = NDArray[np.intp]


class Joint:
    """The sum of squares of all groups.

    Args:
        problem: the problem, whose data have groups.
        shared: the parameters that are common to all groups.

    Attributes:
        blocks: the rows, group by group.
        own: the parameters that each group has for itself.
        kept: the numbers of the groups with enough rows.
        objective: the sum of squares as a function of the shared parameters.
        box: their bounds.
        rows: the number of rows of these groups.
    """

    def __init__(self, problem: Problem, shared: Sequence[str]) -> None:
        self.problem, self.shared = problem, tuple(shared)
        self.own = tuple(name for name in problem.free if name not in shared)
        self.blocks = Blocks(problem)
        batch, self.kept = self.blocks.batch(max(len(self.own), 1))
        if not len(self.kept):
            raise DataError(f"no group has enough rows for {plural(len(self.own), 'parameter')}: {listed(self.own)}")
        self.rows = int(batch.sizes.sum())
        columns = batch.model.columns
        values = {name: np.zeros(self.rows) for name in shared}
        every = problem.model.of([*self.own, *shared], columns)
        alone = problem.model.of(self.own, {**columns, **values})
        start = np.tile([problem.start[name] for name in self.own], (len(self.kept), 1))
        self.objective = Reduced(every, alone, batch.sizes, start, self._box(self.own), batch.scale)
        self.box = self._box(self.shared)

    def _box(self, names: Sequence[str]) -> Box:
        ends = [self.problem.bounds.get(name, (-np.inf, np.inf)) for name in names]
        return Box(np.array([low for low, _ in ends], float), np.array([high for _, high in ends], float))


def fit_shared(problem: Problem, shared: Sequence[str], *, level: float, max_steps: int) -> SharedFit:
    """Fit all groups together.

    Args:
        problem: the problem, whose data have groups.
        shared: the parameters that are common to all groups.
        level: the confidence level of the intervals.
        max_steps: the maximum number of steps of the shared parameters.
    """
    check_names(shared, problem.free, "share", "parameter that is fitted")
    if set(shared) >= {*problem.free}:
        raise UsageError(
            "every parameter is shared, so the groups do not differ", hint=f"omit {setting('by')} and {setting('share')}"
        )
    if not problem.loss.plain:
        raise UsageError(f"{setting('loss')} and {setting('share')} exclude each other", hint="use one of them")
    problem = started(problem)
    problem.check()
    joint = Joint(problem, shared)
    first = np.array([problem.start[name] for name in shared])
    with np.errstate(all="ignore"):
        outcome = Minimizer(joint.objective, first, joint.box, max_steps).run()
        result = _described(joint, outcome.point, level)
    result.steps, result.evaluations = outcome.steps, joint.objective.evaluations
    return result


def _described(joint: Joint, point: Vector, level: float) -> SharedFit:
    """Return the result at a point, with every fact about it computed afresh."""
    problem = joint.problem
    own = joint.objective.own(point)
    free = joint.objective.free(point)
    rows = joint.rows - int(free.sum())
    facts = proof(joint.objective, point, joint.box, rows)
    result = SharedFit(problem, joint.blocks.labels, level, joint.shared)
    result.noted = notes_on_problem(problem)
    dof = rows - int(facts.free.sum())
    rss = facts.linear.rest**2
    variance = 1.0 if problem.absolute else rss / dof if dof > 0 else np.nan
    matrix = covariance(facts, rows, problem.absolute)
    k = quantile(level, dof, problem.absolute)
    errors = np.sqrt(np.diag(matrix))
    for i, name in enumerate(joint.shared):
        held = not facts.free[i]
        result.parameters[name] = {
            **estimate(float(point[i]), float(errors[i]), k),
            "start": problem.start[name],
            "fixed": False,
            "at_bound": ("lower" if point[i] <= joint.box.lower[i] else "upper") if held else None,
        }
    known = facts.free & np.isfinite(errors)
    part = matrix[np.ix_(known, known)]
    names = tuple(name for name, one in zip(joint.shared, known, strict=True) if one)
    result.covariance = by_names(names, part)
    result.correlation = by_names(names, part / np.sqrt(np.outer(np.diag(part), np.diag(part))))
    result.residual = {"rss": rss, "std": float(np.sqrt(rss / dof)) if dof > 0 else None, "dof": dof, "rows": joint.rows}
    spread = np.where(free, np.sqrt(_own_variances(joint, point, np.nan_to_num(matrix), variance)), np.nan)
    single = _undetermined(joint, point)
    _judge(result, joint, facts, single)
    parts = 2 * joint.objective.values(point)
    records = [_record(result, joint, None, None, 0.0, size) for size in joint.blocks.sizes.tolist()]
    for i, group in enumerate(joint.kept.tolist()):
        if result.converged:
            records[group] = _record(result, joint, own[i], spread[i], float(parts[i]), int(joint.blocks.sizes[group]))
    result.set_groups(records)
    left = len(records) - len(joint.kept)
    if left:
        few = next(i for i in range(len(records)) if i not in set(joint.kept.tolist()))
        message = (
            f"{plural(left, 'group')} left out, with fewer rows than parameters; the first is {result.by} = {result.labels[few]}"
        )
        result.noted.append(note("groups", message))
    return result


def _own_variances(joint: Joint, point: Vector, matrix: Matrix, variance: float) -> Matrix:
    """Return the variances of the own parameters of the groups, of shape (B, k), from the Schur complement."""
    parts = joint.objective.eliminated(point)
    k = parts.own.shape[1]
    diagonal = np.einsum("bii->bi", parts.own)
    safe = np.where(((np.abs(diagonal) > 0) & np.isfinite(diagonal)).all(1)[:, None, None], parts.own, np.nan * np.eye(k))
    inverse = np.linalg.inv(safe)
    across = inverse @ parts.across
    found: Matrix = np.einsum("bij,bij->bi", inverse, inverse) * variance + np.einsum("bis,st,bit->bi", across, matrix, across)
    return found


def _undetermined(joint: Joint, point: Vector) -> int | None:
    """Return the number of the first group whose rows do not determine its own parameters; ``None`` if there is none."""
    linear = joint.objective.own_linear(point)
    bad = np.flatnonzero(~determined(linear, linear.finite))
    return int(joint.kept[bad[0]]) if len(bad) else None


def _judge(result: SharedFit, joint: Joint, facts: Proof, single: int | None) -> None:
    """Set the verdict of a result from the facts about its point."""
    if facts.minimum and single is None:
        result.converged, result.verdict = True, "minimum"
    elif single is not None:
        result.verdict = "singular"
        result.reason = f"{result.by} = {result.labels[single]}: the rows do not determine {listed(joint.own)}"
        result.advice = "leave out this group"
    elif len(facts.null):
        result.verdict = "singular"
        result.reason = f"the data do not determine {listed(joint.shared)}"
    elif not facts.quadratic.finite:
        result.reason = "the sum of squares has no minimum for some group, or a derivative is not finite"
        result.advice = f"choose other starting values with {setting('at')}, or use {setting('bounds')}"
    elif not facts.positive:
        result.verdict = "saddle"
        result.reason = "the point is not a minimum: the exact Hessian is not positive definite"
    else:
        result.reason = f"no minimum was found: the relative offset is {facts.offset:.1g}"
        result.advice = f"choose other starting values with {setting('at')}, or more steps with {setting('max_steps')}"


def _record(result: SharedFit, joint: Joint, values: Vector | None, errors: Vector | None, rss: float, rows: int) -> Record:
    """Return the row of a group: its own parameters, the shared ones, and its part of the sum of squares."""
    found = dict(zip(joint.own, zip(values, errors, strict=True), strict=True)) if values is not None and errors is not None else {}
    every, spread = [], []
    for name in joint.problem.free:
        record = result.parameters.get(name)
        if record is not None and found:
            error = record["std_error"]
            value = record["value"], np.nan if error is None else error
        else:
            value = found.get(name, (np.nan, np.nan))
        every.append(value[0])
        spread.append(value[1])
    verdict = "minimum" if found else result.verdict if rows >= len(joint.own) else "too_few_rows"
    return result.record(np.array(every), np.array(spread), verdict, rss=rss if found else np.nan, rows=rows)
