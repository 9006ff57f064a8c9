"""Residuals in arithmetic with many digits, for data that the model fits to the rounding of float64.

There, the residuals in float64 are mostly rounding errors, and so would be the standard errors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import FOREIGN, AutodiffError
from autodiff_cli.precise.arithmetic import Arithmetic
from autodiff_cli.precise.evaluation import PreciseEvaluator, numbers, precise
from autodiff_cli.precise.reference import in_time
from autodiff_cli.solvers.fitting.engine.minimize import EPSILON
from autodiff_cli.solvers.fitting.engine.optimality import determined
from autodiff_cli.solvers.fitting.engine.stacks import Linear, split, triangle
from autodiff_cli.solvers.fitting.problem import Problem

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Vector


DIGITS = 34
"""The decimal digits of the residuals; certified values of reference data are computed with as many."""
MOST_ROWS = 5_000
NOISE = 1e-8
"""The size of rounding errors, relative to the residuals, that standard errors do not show."""


def noisy(problem: Problem, value: float) -> bool:
    """Return whether rounding errors are a visible part of the residuals.

    Args:
        problem: the problem.
        value: half the sum of squares of the weighted residuals.
    """
    y = problem.response
    if y is None:
        return False
    size = float(np.linalg.norm(y if problem.scale is None else y * problem.scale))
    return math.sqrt(2 * value) * NOISE < EPSILON * size


def refined(problem: Problem, point: Vector, free: Mask) -> tuple[Vector, Linear] | None:
    """Improve a solution with residuals of many digits.

    Returns:
        the point, and the linear problem there; ``None`` if the residuals cannot be computed in a few seconds.
    """
    if problem.data.rows > MOST_ROWS or not problem.loss.plain:
        return None
    scale = np.ones(problem.data.rows) if problem.scale is None else problem.scale
    try:
        with in_time(3.0):
            for last in (False, True):
                jacobian = problem.model.jacobian(point)
                residuals = precise_residuals(problem, point)
                columns = np.column_stack([jacobian, residuals]) * scale[:, None]
                value = 0.5 * np.sum(columns[:, -1:] ** 2, axis=0)
                linear = split(triangle([columns], len(point) + 1)[None], value).restricted(free[None])
                if not last:
                    point = problem.box.inside(point - np.linalg.solve(linear.factor[0], linear.image[0]) * free)
    except (AutodiffError, np.linalg.LinAlgError):
        return None
    return (point, linear) if linear.finite[0] and determined(linear)[0] else None


def precise_residuals(problem: Problem, point: Vector) -> Vector:
    """Return the residuals at a point, computed with ``DIGITS`` digits and rounded at the end.

    A number of the data is the shortest decimal number that rounds to its float64, which is the number in a text file.

    Raises:
        AutodiffError: if a function of the model cannot be computed with more digits.
    """
    arithmetic = Arithmetic(DIGITS)
    model = problem.model
    fixed = {name: precise(arithmetic, np.asarray(value)) for name, value in model.constants.items()}
    fixed |= {name: precise(arithmetic, np.array(value)) for name, value in zip(model.parameters, point, strict=True)}
    found = np.empty(model.rows)
    for row in range(model.rows):
        data = {}
        for name, column in model.columns.items():
            cell = np.empty((), object)
            cell[()] = arithmetic.mp.mpf(repr(float(column[row])))
            data[name] = precise(arithmetic, cell)
        try:
            output = PreciseEvaluator(model.source, model.tree, arithmetic, {**fixed, **data}).output()
            found[row] = float(numbers(output)[0])
        except FOREIGN as error:
            raise AutodiffError("the residuals cannot be computed with more digits") from error
    return found
