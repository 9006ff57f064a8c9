"""Predictions of a fitted model, with bands for its mean and for new observations.

The confidence band of the mean at a row has the variance ``g' C g``, where g is the gradient of the model with respect to the
parameters and C the covariance matrix.  The prediction band adds the variance of one observation, which outliers do not increase if
the loss is robust.  Source: Bates and Watts, "Nonlinear Regression Analysis and Its Applications" (1988), section 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.command_result import Record
from autodiff_cli.data.columns import Dataset, Source
from autodiff_cli.errors import NotSolved, ShapeError, UnknownName, UsageError, setting
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.evaluation.ranges import parse_ranges
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.lazy import library
from autodiff_cli.plotting.fit_picture import FittedPlot
from autodiff_cli.report.array_text import human
from autodiff_cli.solvers.fitting.arguments import row_scale
from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import NOT_FINITE, Box, Minimizer
from autodiff_cli.solvers.fitting.model import Model
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Stack, Vector
    from autodiff_cli.data.columns import Data
    from autodiff_cli.solvers.bounds import Ends
    from autodiff_cli.solvers.fitting.problem import FitProblem
    from autodiff_cli.solvers.fitting.result import Fit

SAMPLES = 11
"""The number of rows of predictions over a range without a number of rows."""


class Prediction(NamedTuple):
    """The values of a fitted model on N rows.

    Attributes:
        columns: the columns of the rows: N numbers each.
        response: the text of the left side of the model, which is predicted.
        value: the values of the model.
        error: their standard errors.
        mean: the half-width of the confidence band of the mean.
        new: the half-width of the prediction band of a new observation; ``None`` if its variance is not known.
    """

    columns: dict[str, Vector]
    response: str
    value: Vector
    error: Vector
    mean: Vector
    new: Vector | None

    def records(self) -> list[Record]:
        """Return a record for each row: columns, value, standard error, and the ends of both bands, or of one without ``new``."""
        columns = {**self.columns, "value": self.value, "std_error": self.error}
        columns |= {"low": self.value - self.mean, "high": self.value + self.mean}
        if self.new is not None:
            columns |= {"prediction_low": self.value - self.new, "prediction_high": self.value + self.new}
        return [dict(zip(columns, row, strict=True)) for row in zip(*(column.tolist() for column in columns.values()), strict=True)]


def predict_with_bands(fit: Fit, where: Data) -> Prediction:
    """Return the predictions of a fit.

    Args:
        where: a file or arrays with the columns of the right side of the model, or a range such as ``x=0:10`` or ``x=0:10:50``.

    Raises:
        UsageError: if the model is not an equation, or the rows do not have a column of its right side.
        DataError: if a cell is not a number.
    """
    left, right, needed = _sides(fit.problem, "predict")
    rows = _rows(fit.problem, where, needed)
    model = fit.problem.as_model(right, {name: rows.columns[name] for name in needed})
    value, slopes = model.values(fit.point), model.jacobian(fit.point)
    error = np.sqrt(np.einsum("ij,jk,ik->i", slopes, np.nan_to_num(fit.matrix), slopes))  # nan: a parameter at a bound
    columns = {name: rows.columns[name] for name in needed}
    noise = _noise_in_rows(fit, rows)
    new = None if noise is None else fit.k * np.hypot(error, noise)
    return Prediction(columns, unparse(left), value, error, fit.k * error, new)


def _sides(problem: FitProblem, name: str) -> tuple[Syntax, Syntax, list[str]]:
    """Return the sides of the equation of a model, and the columns of the right side; no equation is an error of a setting."""
    equation = problem.statements.equations[0]
    if equation.right is None:
        hint = "write the model as y = EXPRESSION"
        message = f"{setting(name)} needs a model with a left side"
        raise UsageError(message, span=equation.span, source=problem.statements.source, hint=hint)
    known = {*problem.free, *problem.fixed, *problem.constants}
    return equation.left, equation.right, [*free_names(problem.statements.program(equation.right), known, problem.data.columns)]


def _rows(problem: FitProblem, where: Data, needed: list[str]) -> Dataset:
    """Return the rows to predict: the columns that the model needs, and those of its standard deviations that exist."""
    name, equals, ends = where.partition("=") if isinstance(where, str) else ("", "", "")
    if equals and name.strip().isidentifier() and ":" in ends:  # a range such as x=0:10, and not the name of a file
        (span,) = parse_ranges([f"{name}={ends}"], "predict")
        if needed != [span.name]:
            columns = listed(map(repr, needed)) if needed else "no column"
            message = f"{setting('predict')} gives a range of '{span.name}', but the right side of the model needs {columns}"
            raise UsageError(message, hint=f"name a file with the columns: {setting('predict', 'FILE')}")
        where = {span.name: np.linspace(span.low, span.high, span.samples or SAMPLES)}
    spread = [] if problem.spread is None else free_names(parse(problem.spread))
    with closing(Source(where)) as source:
        return source.read({name: name for name in (*needed, *spread) if name in needed or name in source.names}, "stop")


def _noise_in_rows(fit: Fit, rows: Dataset) -> Vector | None:
    """Return the standard deviation of one observation in each row; ``None`` if it or a column that it needs is not known."""
    problem, s = fit.problem, fit.noise
    if s is None or problem.spread is None:
        return None if s is None else np.full(rows.rows, s)
    if {*free_names(parse(problem.spread), problem.constants)} - rows.columns.keys():
        return None
    return np.asarray(s / row_scale(problem.spread, problem.absolute, rows, problem.constants))


CURVE_SAMPLES = 401
"""The number of points of the curve in a plot."""
DIGITS = 6
"""The number of significant digits of a parameter."""


def drawing(fit: Fit) -> FittedPlot:
    """Return the plot of a fit of an equation: over the column of its right side, or over predicted values unless it has one."""
    problem = fit.problem
    left, right, needed = _sides(problem, "plot")
    observed, predicted = (problem.as_model(side).values(fit.point) for side in (left, right))
    scale = np.ones(problem.data.rows) if problem.scale is None else problem.scale
    error = 1 / scale if problem.absolute else None
    residuals = (observed - predicted) * scale / (fit.noise or 1.0)
    if len(needed) == 1:
        (across,) = needed
        x = problem.data.columns[across]
        bands = predict_with_bands(fit, {across: np.linspace(x.min(), x.max(), CURVE_SAMPLES)})
        curve, mean, new = np.stack([bands.columns[across], bands.value]), bands.mean, bands.new
    else:
        across, x = f"predicted {unparse(left)}", predicted
        ends = np.array([predicted.min(), predicted.max()])
        curve, mean, new = np.stack([ends, ends]), None, None  # the line of equal values, without bands
    parameters = tuple(_parameter_text(name, fit.values[name], fit.errors[name]) for name in fit.parameters)
    return FittedPlot(fit.expression, across, unparse(left), x, observed, error, residuals, curve, mean, new, fit.level, parameters)


def _parameter_text(name: str, value: float, error: float) -> str:
    """Return a parameter as text, with its standard error unless that is 0 or not known."""
    return f"{name} = {human(value, DIGITS)}" + (f" \u00b1 {human(error, 2)}" if np.isfinite(error) and error > 0 else "")


EQUALS_FIRST_ORDER = 0.1
"""The largest shift by terms of second order, in standard errors, for which the linear interval is trusted."""


def derived_quantity(fit: Fit, text: str) -> Record:
    """Return the record of a quantity: ``linear`` says if terms of second order are small, ``None`` if its error is not known.

    Args:
        text: an expression of the parameters, and of the names and functions that the model defines.

    Raises:
        UnknownName: if an expression contains a name that is not a parameter.
        NotSolved: if a value or a derivative is not finite.
    """
    problem, n = fit.problem, len(fit.point)
    (value,), (error,) = derived_in_groups(problem, text, fit.point[None], fit.matrix[None])
    (results,) = (block[:, 0] for _, block in _quantity(problem, text, 1).blocks("second", fit.point))
    slopes_and_value, second = results[: n + 1], results[n + 1 :]
    if not np.isfinite(slopes_and_value).all():
        raise NotSolved(f"{setting('derive')}: '{text}' or its derivative is not finite at the solution")
    is_linear = None
    if np.isfinite(error):
        lower = np.zeros((n, n))  # the lower triangle of the Hessian matrix
        lower[np.tril_indices(n)] = second
        shift = 0.5 * float(np.sum((lower + np.tril(lower, -1).T) * fit.matrix))
        is_linear = bool(abs(shift) <= EQUALS_FIRST_ORDER * error)
    return {"expression": text, **fit.estimate(float(value), float(error)), "linear": is_linear}


def derived_in_groups(problem: FitProblem, text: str, points: Matrix, matrices: Stack) -> tuple[Vector, Vector]:
    """Return the values of a quantity in G groups, and their standard errors; nan if the variance of a parameter is not known.

    Args:
        text: an expression of the parameters; see ``derived_quantity``.
        points: the free parameters of each group, of shape (G, n).
        matrices: their covariance matrices, of shape (G, n, n).

    Raises:
        UnknownName: if the expression contains a name that is not a parameter.
    """
    results = np.concatenate([block for _, block in _quantity(problem, text, len(points)).blocks("jacobian", points.T)], axis=1)
    slopes = results[:-1].T
    products = slopes[:, :, None] * slopes[:, None, :]  # 0 for a parameter that does not matter, whose variance may be nan
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.where(products == 0, 0.0, products * matrices).sum((1, 2)))
    return results[-1], errors


def _quantity(problem: FitProblem, text: str, groups: int) -> Model:
    """Return an expression of ``derive``, after the definitions of the model that it can use, as a model with a row per group."""
    constants = {**problem.constants, **{name: problem.start[name] for name in problem.fixed}}
    known = {*constants, *problem.free}
    tree = parse(text)
    program = Syntax("start", [*_usable(problem.statements.definitions, known), *tree.children], "", tree.span)
    for name, span in free_names(program, known).items():  # the first one is an error
        hint = suggestion(name, problem.free) or f"the parameters: {', '.join(problem.free)}"
        raise UnknownName(f"{setting('derive')}: '{name}' is not a parameter", span=span, source=text, hint=hint)
    try:
        return Model(text, program, problem.free, {"group:": np.zeros(groups)}, constants)  # a column for the number of rows
    except ShapeError as error:
        hint = f"give {setting('derive')} one expression for each number"
        count = error.message.rpartition(" ")[2]  # the last word of the message of ``Model``
        raise ShapeError(f"{setting('derive')}: '{text}' has {count} numbers", hint=hint) from error


def _usable(definitions: Iterable[Syntax], known: set[str]) -> list[Syntax]:
    """Return the definitions that depend only on known names, and on such definitions before them, not on columns."""
    result: list[Syntax] = []
    for definition in definitions:
        program = Syntax("start", [*result, definition], "", definition.span)
        if not free_names(program, known):
            result.append(definition)
    return result


FARTHEST = 1e6
"""The distance from the best value, in standard errors, beyond which an interval is open."""
CLOSE = 1e-9
"""The error of an end of an interval, in standard errors."""
JUMP = 1e-3
"""The relative difference of tau from k above which the model ceases to be finite at an end."""
NOT_KNOWN = 1e3
"""What stands for tau minus k where the model is not finite: it is larger than k."""


def profiles(fit: Fit) -> dict[str, Ends]:
    """Return the profile intervals of free parameters with a standard error; an open end is ``None``, a robust loss an error."""
    if not fit.problem.loss.plain:
        message = f"{setting('profile')} needs a sum of squares, not a robust loss"
        raise UsageError(message, hint=f"leave out {setting('profile')} or {setting('loss')}")
    result = {}
    for i, name in enumerate(fit.problem.free):
        if np.isfinite(fit.errors[name]) and fit.errors[name] > 0:
            result[name] = (_Profile(fit, i).end(-1.0), _Profile(fit, i).end(1.0))  # each starts from the best point
    return result


class _Profile:
    """The profile of parameter ``i``: tau, the root of the increase of the minimal sum of squares in units of the variance.

    ``_best`` is half the least sum, ``_error`` the standard error, and ``_nearest`` the last minimum at a value of the parameter.
    """

    def __init__(self, fit: Fit, i: int) -> None:
        self._fit, self._i = fit, i
        self._objective, self._box = fit.problem.objective, fit.problem.box
        self._best = float(self._objective.value(fit.point[None])[0])
        self._variance = 1.0 if fit.problem.absolute else float(fit.residual["std"]) ** 2
        self._error = fit.errors[fit.problem.free[i]]
        self._nearest = fit.point

    def end(self, side: float) -> float | None:
        """Return the value on a side, -1 or 1, at which tau is k, by Brent's method; ``None`` if it is open or tau jumps there."""
        best = float(self._fit.point[self._i])
        limit = float((self._box.upper if side > 0 else self._box.lower)[self._i])  # the bound of the parameter
        nearer_to_best = min if side > 0 else max
        inner, outer = best, nearer_to_best(best + side * self._fit.k * self._error, limit)
        while self._excess(outer) < 0:  # until the end is between inner and outer
            if outer == limit or abs(outer - best) > FARTHEST * self._error:
                return None
            inner, outer = outer, nearer_to_best(best + 3 * (outer - best), limit)  # three times as far
        brentq = library("scipy.optimize", "fit").brentq
        end = float(brentq(self._excess, inner, outer, xtol=CLOSE * self._error))
        return end if abs(self._excess(end)) <= JUMP * self._fit.k else None

    def _excess(self, value: float) -> float:
        """Return tau minus k at a value of the parameter, ``NOT_KNOWN`` if not finite, and keep the minimum for the next start."""
        lower, upper = self._box.lower.copy(), self._box.upper.copy()
        lower[self._i] = upper[self._i] = value
        outcome = Minimizer(self._objective, self._start(value)[None], Box(lower, upper)).run()
        if outcome.ended[0] == NOT_FINITE:
            return NOT_KNOWN
        self._nearest = outcome.point[0]
        squared = 2 * (float(outcome.value[0]) - self._best) / self._variance
        return math.sqrt(max(squared, 0.0)) - self._fit.k

    def _start(self, value: float) -> Vector:
        """Return a start at a value of the parameter: the minimum of the linear model; if not finite there, the last minimum."""
        i, column = self._i, self._fit.matrix[:, self._i]
        start = self._nearest + np.nan_to_num(column / column[i]) * (value - self._nearest[i])
        start[i] = value
        inside = self._box.inside(start)
        if not np.isfinite(self._objective.value(inside[None])).all():
            inside = self._nearest.copy()
            inside[i] = value
        return inside
