"""The check of a point that may be the minimum of a sum of squares, with exact derivatives computed at this point."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.solvers.fitting.engine.minimize import EPSILON, Box, newton_step
from autodiff_cli.solvers.fitting.engine.objective import Linear, Objective, Quadratic

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Matrix, Vector


SINGULAR = 100 * EPSILON
"""The ratio of singular values of the column-scaled Jacobian below which a direction is not determined by the data."""
SMALL_OFFSET = 1e-6
"""The largest relative offset of a minimum."""
ENOUGH_DIGITS = 8.0
"""The number of digits that prove a minimum whatever the relative offset, as in data without errors."""
NEIGHBOURS = (1.0, -1.0)
"""The directions of a pattern of signs in which neighbouring points lie."""
PATTERNS = 3
"""The number of patterns of signs; for more than ``SHORT`` rows, one."""
SHORT = 10_000
SAFETY = 4.0
"""The factor of the measured effect of rounding."""


class Proof(NamedTuple):
    """The facts about a point.

    Attributes:
        linear: the linear problem of all parameters.
        quadratic: the objective with its derivatives.
        free: which parameters are not held at a bound.
        step: the Newton step; nan if the Hessian is not positive definite.
        error: the bound of the numerical error of each parameter: the Newton step and the effect of rounding on it.
        offset: the relative offset of Bates and Watts.
        positive: whether the Hessian of the free parameters is positive definite.
        condition: the condition number of the column-scaled Jacobian of the free parameters.
        null: the directions that the data do not determine, as rows of changes of all parameters.
        digits: the number of certain decimal digits of each parameter, at most 16; nan for a parameter that is held.
    """

    linear: Linear
    quadratic: Quadratic
    free: Mask
    step: Vector
    error: Vector
    offset: float
    positive: bool
    condition: float
    null: Matrix
    digits: Vector

    @property
    def minimum(self) -> bool:
        """Whether the point is proven to be a local minimum, to rounding."""
        if not self.free.any():
            return self.quadratic.finite
        near = self.offset <= SMALL_OFFSET or bool((self.digits[self.free] >= ENOUGH_DIGITS).all())
        return self.quadratic.finite and self.positive and not len(self.null) and near


def proof(objective: Objective, point: Vector, box: Box, rows: int) -> Proof:
    """Return the facts about a point.

    Args:
        objective: the objective.
        point: the point.
        box: the bounds.
        rows: the number of rows.
    """
    linear, quadratic = objective.linear(point), objective.quadratic(point)
    n = len(point)
    free = box.free(point, quadratic.gradient) if quadratic.finite else np.ones(n, bool)
    step, error = np.full(n, np.nan), np.full(n, np.nan)
    if not (quadratic.finite and linear.finite):
        return Proof(linear, quadratic, free, step, error, np.nan, False, np.inf, np.zeros((0, n)), error)
    condition, null = undetermined(linear, free)
    hessian = quadratic.hessian[np.ix_(free, free)]
    found, _ = newton_step(quadratic.gradient[free], hessian)
    if found is not None:
        step[free] = found
        error[free] = np.abs(found) + _spread(objective, point, free, found, PATTERNS if rows <= SHORT else 1)
    part = linear.of(free)
    dof = max(rows - int(free.sum()), 1)
    tangent, normal = float(np.linalg.norm(part.image)) / np.sqrt(max(free.sum(), 1)), linear.rest / np.sqrt(dof)
    offset = tangent / normal if normal > 0 else (0.0 if tangent == 0 else np.inf)
    with np.errstate(all="ignore"):
        digits = np.clip(-np.log10(error / np.where(point == 0, 1.0, np.abs(point))), 0, 16)
    return Proof(linear, quadratic, free, step, error, float(offset), found is not None, condition, null, digits)


def undetermined(linear: Linear, free: Mask) -> tuple[float, Matrix]:
    """Return the condition number of the column-scaled Jacobian, and the directions in which the residuals do not change.

    Returns:
        the condition number; and a change of all parameters for each such direction, whose largest element is 1 in units of the
        column scaling.
    """
    n = len(free)
    part = linear.of(free)
    norms = part.norms
    if not len(norms):
        return 1.0, np.zeros((0, n))
    scaled = part.factor / np.where(norms > 0, norms, 1.0)
    _, sizes, vectors = np.linalg.svd(scaled)
    missing = sizes <= SINGULAR * max(sizes[0], 1.0)
    null = np.zeros((int(missing.sum()), n))
    null[:, free] = vectors[missing] / np.where(norms > 0, norms, 1.0)
    return float(sizes[0] / sizes[-1]) if sizes[-1] > 0 else np.inf, null


def _spread(objective: Objective, point: Vector, free: Mask, step: Vector, patterns: int) -> Vector:
    """Return how far the targets of Newton steps from neighbouring points differ: the effect of rounding on the minimum."""
    target = point[free] + step
    spread = np.spacing(np.abs(target))
    for pattern, side in itertools.product(range(patterns), NEIGHBOURS):
        signs = np.where(np.arange(len(target)) >> pattern & 1, -side, side)  # + - + - ..., + + - - ..., and so on
        near = point.copy()
        near[free] += signs * 4 * np.spacing(np.abs(point[free]))
        at = objective.quadratic(near)
        other, _ = newton_step(at.gradient[free], at.hessian[np.ix_(free, free)]) if at.finite else (None, 0.0)
        if other is None:
            return np.full(len(step), np.inf)
        spread = np.maximum(spread, SAFETY * np.abs(near[free] + other - target))
    return spread
