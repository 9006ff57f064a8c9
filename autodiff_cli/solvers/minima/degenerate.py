"""Points at which the gradient is zero and the Hessian matrix is singular: derivatives of higher order, and values around."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.derivatives.taylor import series
from autodiff_cli.errors import AutodiffError
from autodiff_cli.solvers.minima.steps import EPS

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.solvers.minima.certificate import Certificate
    from autodiff_cli.solvers.minima.problem import Problem

_HIGHEST = 12
"""The highest order of derivative that is examined."""
_MOST_DIRECTIONS = 6
_MOST_ENCLOSED = 12
"""The maximum number of variables of a Hessian matrix whose rounding errors are enclosed."""
_DISTANCES = (0.1, 0.01, 0.001)
"""The distances of the probes from the point, relative to the size of the variables."""


class Probe(NamedTuple):
    """What surrounds a degenerate point.

    Attributes:
        lower: a point with a lower value, or ``None``.
        rises: whether the value rises in every direction that was tried.
        order: the order of the derivative that proves a minimum of a function of one variable, or 0.
        direction: a direction in which the value stays the same within rounding; zero if there is none.
    """

    lower: Vector | None
    rises: bool
    order: int
    direction: Vector


def probe(problem: Problem, found: Certificate, typical: Vector) -> Probe:
    """Examine the surroundings of a degenerate point without active constraints, between the bounds.

    Args:
        problem: the problem.
        found: the certificate of the point.
        typical: the sizes of the variables.
    """
    x = found.x
    size = np.maximum(typical, 1e-8 * max(1.0, float(np.max(typical, initial=0.0))))
    nothing = np.zeros(len(x))
    order, sign = _first_derivative(problem, x, float(size[0])) if len(x) == 1 else (0, 0.0)
    order = order if order % 2 == 0 and sign > 0 else 0
    scaled = problem.hessian(x, np.zeros(len(problem.constraints))) * np.outer(size, size)
    if not np.isfinite(scaled).all():
        return Probe(None, False, order, nothing)
    values, vectors = np.linalg.eigh(scaled)
    null = values <= np.sqrt(EPS) * max(float(np.max(np.abs(values))), 1e-300)
    null[0] = True
    across, along = vectors[:, ~null], vectors[:, null]
    directions = [along[:, i] for i in range(along.shape[1])][:_MOST_DIRECTIONS]
    if len(directions) > 1:
        directions += [(directions[0] + directions[1]) / np.sqrt(2), (directions[0] - directions[1]) / np.sqrt(2)]
    lowest: tuple[float, Vector | None] = (0.0, None)
    flat, rises = nothing, True
    for direction in directions:
        highest = []
        for distance in (sign * each for each in _DISTANCES for sign in (1, -1)):
            point = _settled(problem, x, size * direction * distance, across, size)
            value = problem.values(point)[0]
            change = value - found.value if np.isfinite(value) else np.inf
            noise = 64 * EPS * (abs(found.value) + (abs(value) if np.isfinite(value) else 0.0))
            change = 0.0 if abs(change) <= noise else change
            lowest = (change, point) if change < lowest[0] else lowest
            highest.append(change)
        if max(highest) <= 0 or min(highest[:4]) <= 0:
            rises = False
            flat = direction * size
    return Probe(lowest[1], rises, order, flat)


def has_hidden_slope(problem: Problem, x: Vector) -> bool:
    """Return whether the exact gradient at a point is not zero, and rounding errors hide it, as for ``exp(-x**2)`` at 40.

    A gradient that the rounding of the point itself explains counts as zero.
    """
    from autodiff_cli.precise.reference import Reference, in_time

    hessian = np.abs(problem.hessian(x, np.zeros(len(problem.constraints))))
    slopes = problem.system.slopes
    if slopes is not None:
        hidden = [not one.low == one.high == 0 for one in slopes(x, x)[: len(x)]]
        if not any(hidden):
            return False  # the function is constant around the point, or exactly symmetric
        gradient = problem.slopes(x)[0]
        if any(each and not slope and not row.any() for each, slope, row in zip(hidden, gradient, hessian, strict=True)):
            return True  # nothing but rounding makes it zero
    try:
        with in_time(1.0):
            reference = Reference(problem.system.evaluation(0, x))
            exact = [reference.differences.slopes((i,))[0] for i in range(len(x))]
            allowed = 8 * EPS * hessian @ np.abs(x)
            return any(
                slope.kind == "smooth" and abs(slope.value) > float(most) and abs(slope.value) > slope.noise
                for slope, most in zip(exact, allowed, strict=True)
            )
    except AutodiffError:
        return False


def is_curved(problem: Problem, x: Vector) -> bool:
    """Return whether the Hessian matrix of f is positive definite in spite of rounding errors, unless these cannot be enclosed."""
    enclosure = problem.system.curvatures if len(x) <= _MOST_ENCLOSED else None
    if enclosure is None:
        return True
    low, high = (np.reshape(side, (len(x), len(x))) for side in zip(*((one.low, one.high) for one in enclosure(x, x)), strict=True))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return True
    middle = problem.sign * (low + high) / 2
    size = np.sqrt(np.maximum(np.abs(np.diag(middle)), np.finfo(float).tiny))
    least = np.linalg.eigvalsh(middle / np.outer(size, size))[0]
    return bool(least > np.linalg.norm((high - low) / 2 / np.outer(size, size), 2))


def _settled(problem: Problem, x: Vector, moved: Vector, across: Vector, size: Vector) -> Vector:
    """Return a point that is moved along the null space and then minimized across it, because a valley may be curved."""
    point = np.clip(x + moved, problem.low, problem.high)
    none = np.zeros(len(problem.constraints))
    for _ in range(4 if across.size else 0):
        gradient, hessian = problem.slopes(point)[0] * size, problem.hessian(point, none) * np.outer(size, size)
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            break
        step = np.linalg.lstsq(across.T @ hessian @ across, -(across.T @ gradient), rcond=None)[0]
        point = np.clip(point + size * (across @ step), problem.low, problem.high)
    return point


def _first_derivative(problem: Problem, x: Vector, size: float) -> tuple[int, float]:
    """Return the order and the sign of the first derivative that is not zero, of a function of one variable; 0 if there is none."""
    system = problem.system
    try:
        coefficients = problem.sign * np.ravel(series(system.evaluation(0, x), _HIGHEST))[1:]
    except AutodiffError:
        return 0, 0.0
    terms = coefficients * size ** np.arange(1, _HIGHEST + 1)
    if not np.isfinite(terms).all() or not terms.any():
        return 0, 0.0
    first = int(np.argmax(np.abs(terms) > np.sqrt(EPS) * np.max(np.abs(terms))))
    return first + 1, float(np.sign(terms[first]))
