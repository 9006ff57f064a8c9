"""Functions of the parameters, with their uncertainty by the law of propagation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import MissingValue, setting
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.language.parser import parse
from autodiff_cli.solvers.fitting.model import Model
from autodiff_cli.solvers.fitting.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]

_ROW = "%row"
"""The name of a column of one row, which no expression contains."""


def function_of(problem: Problem, text: str, name: str = "tie") -> Model:
    """Return an expression of parameters, tied parameters and constants as a model with one row.

    Args:
        problem: the problem.
        text: the expression.
        name: the setting that contains the expression.

    Raises:
        MissingValue: if a name in the expression is not a parameter.
    """
    source = "; ".join([*(f"{tied} = {tie}" for tied, tie in problem.ties.items()), text])
    tree = parse(source)
    given = {**problem.constants, **{fixed: problem.start[fixed] for fixed in problem.fixed}}
    unknown = [each for each in free_names(tree, given) if each not in problem.free]
    if unknown:
        raise MissingValue(
            f"{setting(name)} contains '{unknown[0]}', which is not a parameter",
            hint=f"the parameters: {', '.join([*problem.start, *problem.ties])}",
        )
    return Model(source, tree, problem.free, {_ROW: np.zeros(1)}, given)


def value_and_error(function: Model, point: Vector, covariance: Matrix) -> tuple[float, float]:
    """Return the value of a function of the parameters and its standard error.

    The standard error is nan if the function depends on a parameter without one.

    Args:
        function: the function, see ``function_of``.
        point: the n free parameters.
        covariance: their covariance matrix, of shape (n, n), with nan for parameters without a standard error.
    """
    ((_, block),) = function.blocks("jacobian", point)
    slopes, value = block[:-1, 0], float(block[-1, 0])
    used = slopes != 0
    variance = float(slopes[used] @ covariance[np.ix_(used, used)] @ slopes[used])
    return value, math.sqrt(variance) if variance >= 0 else math.nan
