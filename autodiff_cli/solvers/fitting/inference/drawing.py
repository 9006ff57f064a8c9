"""What the plot of a fit shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.language.tree import unparse
from autodiff_cli.plotting.fitted import FittedPlot
from autodiff_cli.report.numbers import human
from autodiff_cli.solvers.fitting.inference.prediction import predicted

if TYPE_CHECKING:
    from autodiff_cli.solvers.fitting.result import Fit

SAMPLES = 401
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
        found = predicted(fit, {needed[0]: np.linspace(x.min(), x.max(), SAMPLES)})
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
