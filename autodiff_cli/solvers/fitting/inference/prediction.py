"""Predictions of a fitted model, with bands for its mean and for new observations.

The confidence band of the mean at a row has the variance ``g' C g``, where g is the gradient of the model with respect to the
parameters and C the covariance matrix.  The prediction band adds the variance of one observation, which outliers do not increase if
the loss is robust.  Source: Bates and Watts,
"Nonlinear Regression Analysis and Its Applications" (1988), section 2.3.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.command_result import Record
from autodiff_cli.data.columns import Dataset, Source
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.evaluation.ranges import ranges
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import unparse
from autodiff_cli.plotting.fitted import FittedPlot
from autodiff_cli.report.numbers import human
from autodiff_cli.solvers.fitting.arguments import scale_of
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.data.columns import Data
    from autodiff_cli.solvers.fitting.problem import Problem
    from autodiff_cli.solvers.fitting.result import Fit

SAMPLES = 11


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
        """Return a record for each row: the columns, the value, its standard error, and the ends of both bands."""
        columns = {
            **self.columns,
            "value": self.value,
            "std_error": self.error,
            "low": self.value - self.mean,
            "high": self.value + self.mean,
        }
        if self.new is not None:
            columns |= {"prediction_low": self.value - self.new, "prediction_high": self.value + self.new}
        return [dict(zip(columns, row, strict=True)) for row in zip(*(each.tolist() for each in columns.values()), strict=True)]


def predicted(fit: Fit, where: Data) -> Prediction:
    """Return the predictions of a fit.

    Args:
        fit: the fit.
        where: a file or arrays with the columns of the right side of the model, or a range such as ``x=0:10`` or ``x=0:10:50``.

    Raises:
        UsageError: if the model is not an equation, or the rows do not have a column of its right side.
        DataError: if a cell is not a number.
    """
    equation = fit.problem.statements.equations[0]
    if equation.right is None:
        raise UsageError(
            f"{setting('predict')} needs a model with a left side",
            span=equation.span,
            source=fit.problem.statements.source,
            hint="write the model as y = EXPRESSION",
        )
    tree = fit.problem.statements.program(equation.right)
    known = {*fit.problem.free, *fit.problem.fixed, *fit.problem.constants}
    needed = list(free_names(tree, known, fit.problem.data.columns))
    rows = _rows(fit.problem, where, needed)
    model = fit.problem.computing(equation.right, {name: rows.columns[name] for name in needed})
    value, slopes = model.values(fit.point), model.jacobian(fit.point)
    error = np.sqrt(np.einsum("ij,jk,ik->i", slopes, np.nan_to_num(fit.matrix), slopes))
    shown = {name: rows.columns[name] for name in needed}
    noise = _noise(fit, rows)
    new = None if noise is None else fit.k * np.hypot(error, noise)
    return Prediction(shown, unparse(equation.left), value, error, fit.k * error, new)


def is_range(text: str) -> bool:
    """Return whether a text is a range such as ``x=0:10``, and not the name of a file."""
    name, equals, rest = text.partition("=")
    return bool(equals) and name.strip().isidentifier() and ":" in rest


def _rows(problem: Problem, where: Data, needed: list[str]) -> Dataset:
    """Return the rows to predict, with the columns of the model and those of its standard deviations that exist."""
    if isinstance(where, str) and is_range(where):
        (each,) = ranges([where], "predict")
        if needed != [each.name]:
            raise UsageError(
                f"{setting('predict')} gives a range of '{each.name}', but the right side of the model needs "
                f"{listed(map(repr, needed)) if needed else 'no column'}",
                hint=f"name a file with the columns: {setting('predict', 'FILE')}",
            )
        points = np.linspace(each.low, each.high, each.samples or SAMPLES)
        return Dataset({each.name: points}, [("row", range(1, len(points) + 1))])
    with closing(Source(where)) as source:
        wanted = dict.fromkeys(needed)
        if problem.spread is not None:
            wanted.update(dict.fromkeys(name for name in free_names(parse(problem.spread)) if name in source.names))
        return source.read({name: name for name in wanted}, "stop")


def _noise(fit: Fit, rows: Dataset) -> Vector | None:
    """Return the standard deviation of one observation in each row; ``None`` if it is not known."""
    problem = fit.problem
    s = fit.noise
    if s is None:
        return None
    if problem.spread is None:
        return np.full(rows.rows, s)
    if set(free_names(parse(problem.spread), problem.constants)) - rows.columns.keys():
        return None
    found: Vector = s / scale_of(problem.spread, problem.absolute, rows, problem.constants)
    return found


CURVE_SAMPLES = 401
DIGITS = 6
"""The number of significant digits of a parameter."""


def drawing(fit: Fit) -> FittedPlot:
    """Return the plot of a fit: over the column of the right side, or over the predicted values if there are several.

    Raises:
        UsageError: if the model is not an equation.
    """
    problem = fit.problem
    equation = problem.statements.equations[0]
    if equation.right is None:
        raise UsageError(f"{setting('plot')} needs a model with a left side", hint="write the model as y = EXPRESSION")
    known = {*problem.free, *problem.fixed, *problem.constants}
    needed = list(free_names(problem.statements.program(equation.right), known, problem.data.columns))
    observed = problem.computing(equation.left).values(fit.point)
    value = problem.computing(equation.right).values(fit.point)
    unit = fit.noise or 1.0
    scale = np.ones(problem.data.rows) if problem.scale is None else problem.scale
    left = unparse(equation.left)
    error = 1 / scale if problem.absolute else None
    residuals = (observed - value) * scale / unit
    if len(needed) == 1:
        x = problem.data.columns[needed[0]]
        found = predicted(fit, {needed[0]: np.linspace(x.min(), x.max(), CURVE_SAMPLES)})
        curve = np.stack([found.columns[needed[0]], found.value])
        across, mean, new = needed[0], found.mean, found.new
    else:
        ends = np.array([value.min(), value.max()])
        across, x, curve, mean, new = f"predicted {left}", value, np.stack([ends, ends]), None, None
    parameters = tuple(_stated(name, fit.values[name], fit.errors[name]) for name in fit.parameters)
    return FittedPlot(fit.expression, across, left, x, observed, error, residuals, curve, mean, new, fit.level, parameters)


def _stated(name: str, value: float, error: float) -> str:
    """Return a parameter as text, with its standard error if it has one."""
    return f"{name} = {human(value, DIGITS)}" + (f" \u00b1 {human(error, 2)}" if np.isfinite(error) and error > 0 else "")
