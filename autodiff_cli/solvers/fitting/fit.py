"""``ad.fit``: the parameters of a model from columns of data, by nonlinear least squares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.data.columns import Dataset, Source
from autodiff_cli.errors import MissingValue, UsageError, setting
from autodiff_cli.evaluation.bindings import constant, named
from autodiff_cli.evaluation.evaluation import given_values
from autodiff_cli.language.parser import parse
from autodiff_cli.ops.scipy_backend import from_scipy
from autodiff_cli.solvers.bounds import check_names, intervals
from autodiff_cli.solvers.fitting.engine.curvature import Curvature, curvature
from autodiff_cli.solvers.fitting.engine.loss import LOSSES, Loss
from autodiff_cli.solvers.fitting.engine.minimize import Minimizer, Step
from autodiff_cli.solvers.fitting.engine.proof import Proof, proof
from autodiff_cli.solvers.fitting.model import Model
from autodiff_cli.solvers.fitting.precise_residuals import noisy, refined
from autodiff_cli.solvers.fitting.problem import Problem, parsed, unknown_names
from autodiff_cli.solvers.fitting.result import Fit, by_names
from autodiff_cli.solvers.fitting.statistics import covariance, quantile, residual_statistics
from autodiff_cli.solvers.fitting.undetermined import undetermined
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import listed, plural

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.data.columns import Data
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.bounds import Interval

    Vector = NDArray[np.float64]

MOST_STEPS = 10_000
MOST_CURVED = 50_000_000
"""The maximum number of operations for the curvature; for longer data, it is small."""
OUTLIERS = 3


def fit(
    expression: str,
    data: Data,
    *,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    let: Mapping[str, str] | None = None,
    sigma: str | None = None,
    weights: str | None = None,
    fix: Iterable[str] = (),
    bounds: Iterable[str] | Mapping[str, str | Interval] = (),
    tie: Iterable[str] | Mapping[str, str] = (),
    loss: str | None = None,
    level: float = 0.95,
    max_steps: int = MOST_STEPS,
    trace: bool = False,
    threads: int | None = None,
    on_error: str = "stop",
) -> Fit:
    """Fit the parameters of a model to data by nonlinear least squares.

    Args:
        expression: the model, such as ``y = b1*(1 - exp(-b2*x))``; names that are columns are data, the others are parameters.
        data: a file name, a list of file names, or arrays of N numbers by column name.
        at: the start of each parameter.
        const: the values of constants.
        let: the column of a name, if they differ.
        sigma: an expression of columns: the known standard deviation of each row; standard errors are then not scaled.
        weights: an expression of columns: the relative weight of each row; standard errors are scaled by the residuals.
        fix: parameters that keep their start.
        bounds: the interval of a parameter, such as ``{"b2": (0, 10)}`` or ``["b2=0:10"]``.
        tie: parameters that are expressions of other parameters, such as ``{"b4": "1 - b1"}``.
        loss: ``huber``, ``soft_l1`` or ``cauchy``, with the scale of the residuals after a colon.
        level: the confidence level of the intervals.
        max_steps: the maximum number of steps.
        trace: whether to record every step.
        threads: the number of threads; by default one for each processor.
        on_error: ``stop`` or ``skip``, for rows with a cell that is not a finite number.

    Returns:
        a ``Fit``; its attribute ``converged`` says whether the solution passed every check.

    Raises:
        AutodiffError: if the model or the data are invalid, or the model is not finite at the start.
    """
    problem = made(
        expression, data, at=at, const=const, let=let, sigma=sigma, weights=weights, fix=fix, bounds=bounds, tie=tie, loss=loss,
        threads=threads, on_error=on_error,
    )  # fmt: skip
    return solved(problem, level=level, max_steps=max_steps, trace=trace)


def made(
    expression: str,
    data: Data,
    *,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    let: Mapping[str, str] | None = None,
    sigma: str | None = None,
    weights: str | None = None,
    fix: Iterable[str] = (),
    bounds: Iterable[str] | Mapping[str, str | Interval] = (),
    tie: Iterable[str] | Mapping[str, str] = (),
    loss: str | None = None,
    threads: int | None = None,
    on_error: str = "stop",
) -> Problem:
    """Return the problem that the arguments of ``fit`` describe; see there."""
    if sigma is not None and weights is not None:
        raise UsageError(
            f"{setting('sigma')} and {setting('weights')} exclude each other",
            hint=f"{setting('sigma')} takes known standard deviations, {setting('weights')} relative weights",
        )
    starts, constants = given_values(at, const, "float64")
    lets = dict(let or {})
    ties = _ties(tie)
    source = Source(data)
    try:
        columns = {name.strip() for name in source.names} | lets.keys()
        for name in (*starts, *constants, *ties):
            if name in columns:
                raise UsageError(
                    f"'{name}' is a column of {source.name}, but it is also given a value",
                    hint="give the parameter another name in the model",
                )
        statements = parsed(expression, ties, columns | starts.keys() | constants.keys())
        model = statements.program(statements.equations[0].residual)
        parameters = unknown_names(statements, columns, {*constants})
        used = {name: lets.get(name, name) for name in columns if name in _names(model)}
        for text in (sigma, weights):
            used.update({name: lets.get(name, name) for name in _names(parse(text)) if name in columns} if text else {})
        if not used:
            raise _no_data(source, parameters)
        missing = [name for name in parameters if name not in starts]
        if missing:
            hints = [found for name in missing if (found := suggestion(name, source.names))]
            verb = "is" if len(missing) == 1 else "are"
            raise MissingValue(
                f"{listed(map(repr, missing))} {verb} neither a column of {source.name} nor given a start",
                hint=hints[0] if hints else f"add {setting('at', ','.join(f'{name}=1' for name in missing))}",
            )
        table = source.read(used, on_error, threads or 1)
    finally:
        source.close()
    start = {name: _number(name, starts[name]) for name in parameters}
    fixed = tuple(fix)
    box = intervals(bounds, "bounds")
    check_names(fixed, [*parameters], "fix", "parameter")
    check_names(box, [*parameters], "bounds", "parameter")
    return Problem(
        expression, statements, table, start, fixed, tuple(ties), constants, box, _scale(sigma, weights, table, constants),
        sigma is not None, _loss(loss), threads,
    )  # fmt: skip


def solved(problem: Problem, *, level: float = 0.95, max_steps: int = MOST_STEPS, trace: bool = False) -> Fit:
    """Solve a problem, and verify the solution.

    Args:
        problem: the problem.
        level: the confidence level of the intervals.
        max_steps: the maximum number of steps.
        trace: whether to record every step.
    """
    problem.check()
    steps: list[Step] = []
    with np.errstate(all="ignore"):  # a trial point may be anywhere
        outcome = Minimizer(problem.objective, problem.first, problem.box, max_steps, steps.append if trace else None).run()
        result = described(problem, outcome.point, level)
    result.steps, result.evaluations = outcome.steps, problem.objective.evaluations
    _judge(result, outcome.ended, max_steps)
    if trace:
        result.trace = [
            {
                "step": i,
                **dict(zip(problem.free, step.point.tolist(), strict=True)),
                "objective": step.value,
                "length": step.length,
                "damping": step.damping,
                "kind": step.kind,
            }
            for i, step in enumerate(steps)
        ]
    return result


def described(problem: Problem, point: Vector, level: float) -> Fit:
    """Return the result at a point, with every fact about it computed afresh."""
    facts = proof(problem.objective, point, problem.box, problem.data.rows)
    if not len(facts.null) and noisy(problem, facts.linear.rest):
        better = refined(problem, point, facts.free)
        if better is not None:
            point, linear = better
            facts = facts._replace(linear=linear)
    found = Fit(problem, point, facts, level)
    matrix = covariance(facts, problem.data.rows, problem.absolute)
    errors = np.sqrt(np.diag(matrix))
    dof = problem.data.rows - int(facts.free.sum())
    k = quantile(level, dof, problem.absolute)
    fitted = dict(zip(problem.free, point.tolist(), strict=True))
    found.values = {name: fitted.get(name, start) for name, start in problem.start.items()}
    found.errors = dict(zip(problem.free, errors.tolist(), strict=True))
    found.parameters = {}
    for name, value in found.values.items():
        error = found.errors.get(name, np.nan)
        known = bool(np.isfinite(error))
        held = name in fitted and not facts.free[problem.free.index(name)]
        found.parameters[name] = {
            "value": value,
            "std_error": error if known else None,
            "interval": [value - k * error, value + k * error] if known else None,
            "start": problem.start[name],
            "fixed": name in problem.fixed,
            "at_bound": ("lower" if value <= problem.bounds[name][0] else "upper") if held else None,
        }
    free = tuple(name for name, one in zip(problem.free, facts.free, strict=True) if one)
    part = matrix[np.ix_(facts.free, facts.free)]
    found.covariance = by_names(free, part)
    with np.errstate(all="ignore"):
        found.correlation = by_names(free, part / np.sqrt(np.outer(np.diag(part), np.diag(part))))
    found.residual, found.statistics = residual_statistics(problem, facts, _total(problem))
    found.curvature = _curvature(problem, point, facts)
    found.scaled = "sigma" if problem.absolute else "weights" if problem.scale is not None else "residuals"
    found.outliers = _outliers(problem, point, found.residual["std"])
    return found


def _judge(result: Fit, ended: str, most: int) -> None:
    """Set the verdict of a result from the facts about its point."""
    facts = result.proof
    if facts.minimum:
        result.converged, result.verdict = True, "minimum"
    elif len(facts.null):
        result.verdict = "singular"
        result.reason = undetermined(result.problem.objective, result.point, result.problem.free, facts.null)
        result.advice = f"rewrite the model, or fix a parameter with {setting('fix')}"
    elif not facts.quadratic.finite:
        result.reason = "the derivatives at the best point are not finite"
    elif ended == "steps":
        result.reason = f"no minimum after {plural(most, 'step')}"
        result.advice = f"choose other starting values with {setting('at')}, or more steps with {setting('max_steps')}"
    elif not facts.positive:
        result.verdict = "saddle"
        result.reason = "the point is not a minimum: the exact Hessian is not positive definite"
    else:
        result.reason = f"the steps end before the minimum: the relative offset is {facts.offset:.1g}"


def _names(tree: object) -> set[str]:
    from autodiff_cli.language.tree import Syntax, walk

    assert isinstance(tree, Syntax)
    return {node.text for node in walk(tree) if node.kind == "NAME"}


def _no_data(source: Source, parameters: Sequence[str]) -> UsageError:
    return UsageError(
        f"the model names no column of {source.name}, which has {', '.join(source.names)}",
        hint=f"use {setting('let', f'{parameters[0]}=COLUMN')} for a column with another name" if parameters else "name columns",
    )


def _ties(tie: Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    given = dict(tie) if isinstance(tie, Mapping) else {}
    for text in () if isinstance(tie, Mapping) else tie:
        given.update(named(text, "tie", "1 - b2"))
    return given


def _number(name: str, value: Value) -> float:
    array = np.asarray(constant(value, "at", name) if isinstance(value, str) else value, float)
    if array.ndim or not np.isfinite(array):
        raise UsageError(f"the start of '{name}' is not a number", hint=f"write {setting('at', f'{name}=1')}")
    return float(array)


def _loss(text: str | None) -> Loss:
    if text is None:
        return Loss()
    name, colon, scale = text.partition(":")
    if name not in LOSSES:
        raise UsageError(f"unknown loss '{name}'", hint=suggestion(name, LOSSES) or f"use {listed(LOSSES[1:], 'or')}")
    value = float(constant(scale, "loss")) if colon else 1.0
    if not value > 0 or not np.isfinite(value):
        raise UsageError(
            f"the scale of {setting('loss')} must be positive, not {scale}", hint=f"write {setting('loss', f'{name}:1.5')}"
        )
    return Loss(name, value)


def _scale(sigma: str | None, weights: str | None, table: Dataset, constants: Mapping[str, Value]) -> Vector | None:
    """Return the factor of each residual.

    Raises:
        UsageError: if a standard deviation or a weight is not positive, or depends on a name that is not a column.
    """
    text, name = (sigma, "sigma") if sigma is not None else (weights, "weights")
    if text is None:
        return None
    others = unknown_names(parsed(text, {}, set(table.columns)), set(table.columns), set(constants))
    if others:
        raise UsageError(f"{setting(name)} contains '{others[0]}', which is not a column", hint="use numbers and columns")
    model = Model(text, parse(text), (), table.columns, constants)
    found = model.values(np.zeros(0))
    bad = ~(np.isfinite(found) & (found > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise UsageError(f"{table.place(row)}: {setting(name)} is {found[row]:g}", hint="every row needs a positive number")
    return 1 / found if sigma is not None else np.sqrt(found)


def _total(problem: Problem) -> float | None:
    """Return the weighted sum of squares of the left side about its mean; ``None`` if it depends on parameters."""
    y = problem.response
    if y is None:
        return None
    w = np.ones_like(y) if problem.scale is None else problem.scale**2
    return float(np.sum(w * (y - np.sum(w * y) / np.sum(w)) ** 2))


def _curvature(problem: Problem, point: Vector, facts: Proof) -> Curvature | None:
    """Return the curvatures at the solution; ``None`` if they are not defined, or take too long for long data."""
    n = int(facts.free.sum())
    dof = problem.data.rows - n
    plain = problem.loss.plain and facts.free.all() and facts.positive and not len(facts.null)
    if not plain or not n or dof <= 0 or problem.data.rows * n**3 > MOST_CURVED:
        return None
    if problem.absolute:
        radius = math.sqrt(float(from_scipy("chdtri")(n, 0.05)))
    else:
        radius = facts.linear.rest / math.sqrt(dof) * math.sqrt(n * float(from_scipy("fdtri")(n, dof, 0.95)))
    blocks = (block for _, block in problem.objective.blocks("second", point))
    return curvature(blocks, facts.linear.factor, radius)


def _outliers(problem: Problem, point: Vector, std: float | None) -> list[dict[str, object]]:
    """Return the largest residuals in units of their standard deviation."""
    u = problem.model.values(point) * (1 if problem.scale is None else problem.scale)
    unit = 1.0 if problem.absolute else std
    if not unit or not np.isfinite(u).all():
        return []
    largest = np.argsort(-np.abs(u), kind="stable")[:OUTLIERS]
    return [
        {"row": problem.data.line(i), "place": problem.data.place(i), "standardized": float(u[i] / unit)} for i in largest.tolist()
    ]
