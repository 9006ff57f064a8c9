"""The check of points that may be minima of sums of squares, with exact derivatives computed at these points."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.solvers.fitting.engine.minimize import EPSILON, Box
from autodiff_cli.solvers.fitting.engine.stacks import Linear, Quadratic

if TYPE_CHECKING:
    from autodiff_cli.arrays import Indices, Mask, Matrix, Stack, Vector
    from autodiff_cli.solvers.fitting.engine.least_squares import LeastSquares


SINGULAR = 100 * EPSILON
"""The ratio of singular values of the column-scaled Jacobian below which a direction is not determined by the data."""
SMALL_OFFSET = 1e-6
"""The largest relative offset of a minimum."""
ENOUGH_DIGITS = 8.0
"""The number of digits of all parameters that prove a minimum; without residuals, those of the vector of parameters."""
NEIGHBOURS = (1.0, -1.0)
"""The directions of a pattern of signs in which neighbouring points lie."""
SAFETY = 4.0
"""The factor of the measured effect of rounding."""


class Optimality(NamedTuple):
    """The facts about a point of each of B problems.

    Attributes:
        linear: the linear problems of the parameters that are not held at a bound.
        quadratic: the objectives with their derivatives.
        free: which parameters are not held at a bound, of shape (B, n).
        step: the Newton steps.
        digits: the numbers of certain decimal digits, at most 16, from the Newton step and the effect of rounding on it; nan for
            a parameter that is held.
        offset: the relative offsets of Bates and Watts.
        certain: whether the digits prove a minimum whatever the relative offset, as in data without errors.
        finite: whether all derivatives are finite.
        positive: whether the Hessian of the free parameters is positive definite.
        singular: the singular values of the column-scaled Jacobian matrices, descending, of shape (B, n).
        directions: the right singular vectors as rows, as changes of the parameters, of shape (B, n, n).
    """

    linear: Linear
    quadratic: Quadratic
    free: Mask
    step: Matrix
    digits: Matrix
    offset: Vector
    certain: Mask
    finite: Mask
    positive: Mask
    singular: Matrix
    directions: Stack

    @property
    def missing(self) -> Mask:
        """Which directions the data do not determine, of shape (B, n)."""
        return np.asarray(self.finite[:, None] & (self.singular <= SINGULAR * np.maximum(self.singular[:, :1], 1.0)))

    @property
    def is_minimum(self) -> Mask:
        """Whether the points are proven to be local minima, to rounding."""
        return self.finite & self.positive & ~self.missing.any(1) & ((self.offset <= SMALL_OFFSET) | self.certain)

    @property
    def null(self) -> Matrix:
        """The directions that the data of the first problem do not determine, as rows of changes of all parameters."""
        return np.asarray(self.directions[0][self.missing[0]])

    @property
    def condition(self) -> float:
        """The condition number of the column-scaled Jacobian matrix of the first problem."""
        largest, least = self.singular[0, 0], self.singular[0, -1]
        return float(largest / least) if least > 0 else np.inf


def optimality(objective: LeastSquares, point: Matrix, box: Box, rows: Indices, patterns: int = 1) -> Optimality:
    """Return the facts about points.

    Args:
        objective: the objectives.
        point: the points, of shape (B, n).
        box: the bounds.
        rows: the number of rows of each problem.
        patterns: the number of patterns of signs in which neighbouring points lie.
    """
    n = point.shape[1]
    with np.errstate(all="ignore"):
        linear, quadratic = objective.linear(point), objective.quadratic(point)
        finite = quadratic.finite & linear.finite
        free = np.where(finite[:, None], box.free(point, quadratic.gradient), True)
        step, _, positive = quadratic.newton_steps(free)
        linear = linear.restricted(free)
        target = point + step
        spread = np.spacing(np.abs(target))
        for pattern, side in itertools.product(range(patterns), NEIGHBOURS):
            signs = np.where(np.arange(n) >> pattern & 1, -side, side)  # + - + - ..., + + - - ..., and so on
            near = point + free * signs * 4 * np.spacing(np.abs(point))
            other = objective.quadratic(near)
            moved, _, good = other.newton_steps(free)
            apart = SAFETY * np.abs(near + moved - target)
            spread = np.maximum(spread, np.where((good & other.finite)[:, None], apart, np.inf))
        error = np.abs(step) + spread
        digits = np.clip(-np.log10(error / np.where(point == 0, 1.0, np.abs(point))), 0, 16)
        count = free.sum(1)
        offset = linear.offset / np.sqrt(np.maximum(count, 1)) * np.sqrt(np.maximum(rows - count, 1))
        d = linear.norms * free
        inexact = np.linalg.norm(np.column_stack([d * error, np.sqrt(2 * quadratic.value)]), axis=1)
        exact = inexact <= 10**-ENOUGH_DIGITS * np.linalg.norm(d * point, axis=1)
        certain = np.where(free, digits >= ENOUGH_DIGITS, True).all(1) | exact
        singular, directions = singular_directions(linear)
    digits = np.where(free & (finite & positive)[:, None], digits, np.nan)
    return Optimality(linear, quadratic, free, step, digits, offset, certain, finite, positive, singular, directions)


def singular_directions(linear: Linear) -> tuple[Matrix, Stack]:
    """Return the singular values of the column-scaled Jacobian matrices, and the directions that belong to them.

    Returns:
        the values in descending order, 0 if a number is not finite; and the directions as rows of changes of the parameters, in
        units of the column scaling.
    """
    norms = linear.norms
    scaled = np.where(linear.finite[:, None, None], linear.scaled, 0.0)
    _, singular, vectors = np.linalg.svd(scaled)
    return singular, vectors / np.where(norms > 0, norms, 1.0)[:, None, :]


def determined(linear: Linear) -> Mask:
    """Return of which problems the data determine all parameters."""
    singular, _ = singular_directions(linear)
    return singular[:, -1] > SINGULAR * np.maximum(singular[:, 0], 1.0)
