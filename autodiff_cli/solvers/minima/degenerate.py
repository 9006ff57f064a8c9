"""Points at which the gradient is zero and the Hessian matrix is singular: derivatives of higher order, and values around."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.derivatives.taylor import series
from autodiff_cli.errors import AutodiffError
from autodiff_cli.lazy import library
from autodiff_cli.solvers.minima.newton_trust_region import EPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.solvers.minima.certificate import Certificate
    from autodiff_cli.solvers.minima.problem import MinimumProblem

_HIGHEST = 12  # the highest order of derivative that is examined
_MOST_DIRECTIONS = 6  # in which values are compared, apart from the diagonals of the first two
_MOST_ENCLOSED = 12  # the maximum number of variables of a Hessian matrix whose rounding errors are enclosed
_DISTANCES = (0.1, 0.01, 0.001)  # the distances of the probes from the point, relative to the size of the variables


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


def probe(problem: MinimumProblem, certificate: Certificate, typical: Vector) -> Probe:
    """Examine the surroundings of a degenerate point without active constraints, given typical sizes of the variables."""
    x = certificate.x
    size = np.maximum(typical, 1e-8 * max(1.0, float(np.max(typical, initial=0.0))))
    order = _order_of_minimum(problem, x, float(size[0])) if len(x) == 1 else 0
    scaled = problem.hessian(x) * np.outer(size, size)
    if not np.isfinite(scaled).all():
        return Probe(None, False, order, np.zeros(len(x)))
    along, across = _null_space(scaled)
    directions = list(along.T)[:_MOST_DIRECTIONS]
    if len(directions) > 1:
        first, second = directions[:2]
        directions += [(first + second) / np.sqrt(2), (first - second) / np.sqrt(2)]
    lowest, least = None, 0.0
    flat, rises = np.zeros(len(x)), True
    for direction in directions:
        steps = [size * direction * sign * distance for distance in _DISTANCES for sign in (1, -1)]
        points = [_moved_along(problem, x, step, across, size) for step in steps]
        changes = [_change(certificate.value, problem.values(point)[0]) for point in points]
        if min(changes) < least:
            least = min(changes)
            lowest = points[changes.index(least)]
        if max(changes) <= 0 or min(changes[:-2]) <= 0:  # at the shortest distance, rounding may hide a rise
            flat, rises = direction * size, False
    return Probe(lowest, rises, order, flat)


def _null_space(hessian: Matrix) -> tuple[Matrix, Matrix]:
    """Return the eigenvectors of the lowest eigenvalue and of those that are not positive beyond rounding, and the others."""
    values, vectors = np.linalg.eigh(hessian)
    null = values <= np.sqrt(EPS) * max(float(np.max(np.abs(values))), 1e-300)
    null[0] = True  # the lowest
    return vectors[:, null], vectors[:, ~null]


def _change(before: float, after: float) -> float:
    """Return the change of a value: 0 if it is rounding, and inf to a value that is not finite."""
    if not np.isfinite(after):
        return np.inf
    return 0.0 if abs(after - before) <= 64 * EPS * (abs(before) + abs(after)) else after - before


def has_hidden_slope(problem: MinimumProblem, x: Vector) -> bool:
    """Return whether rounding errors, but not those of the point, hide that the gradient is not 0, as for ``exp(-x**2)`` at 40."""
    from autodiff_cli.precise.reference import Reference, in_time

    hessian = np.abs(problem.hessian(x))
    if problem.system.slopes is not None:
        enclosures = problem.system.slopes(x, x)[: len(x)]
        may_slope = np.array([not enclosure.low == enclosure.high == 0 for enclosure in enclosures])
        if not may_slope.any():
            return False  # the function is constant around the point, or exactly symmetric
        if (may_slope & (problem.slopes(x)[0] == 0) & ~hessian.any(axis=1)).any():
            return True  # nothing but rounding makes it zero
    by_rounding = 8 * EPS * hessian @ np.abs(x)
    try:
        with in_time(1.0):
            reference = Reference(problem.system.evaluation(0, x))
            slopes = [reference.differences.slopes((i,))[0] for i in range(len(x))]
            pairs = zip(slopes, by_rounding, strict=True)
            return any(slope.kind == "smooth" and abs(slope.value) > max(float(least), slope.noise) for slope, least in pairs)
    except AutodiffError:  # not all functions have arbitrary-precision implementations
        return False


def is_curved(problem: MinimumProblem, x: Vector) -> bool:
    """Return whether the Hessian matrix of f is positive definite in spite of rounding errors, unless these cannot be enclosed."""
    enclosure = problem.system.curvatures if len(x) <= _MOST_ENCLOSED else None
    if enclosure is None:
        return True
    elements = [(interval.low, interval.high) for interval in enclosure(x, x)]
    low, high = np.moveaxis(np.reshape(elements, (len(x), len(x), 2)), 2, 0)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return True
    # A matrix in the box is its middle plus at most its half-widths, whose norm the lowest eigenvalue of the middle must exceed.
    middle, half_widths = problem.sign * (low + high) / 2, (high - low) / 2
    unit = np.sqrt(np.maximum(np.abs(np.diag(middle)), np.finfo(float).tiny))
    lowest = np.linalg.eigvalsh(middle / np.outer(unit, unit))[0]
    return bool(lowest > np.linalg.norm(half_widths / np.outer(unit, unit), 2))


def _moved_along(problem: MinimumProblem, x: Vector, step: Vector, across: Matrix, size: Vector) -> Vector:
    """Return a point after a step along the null space, minimized across it (by columns), because a valley may be curved."""
    point = np.clip(x + step, problem.low, problem.high)
    for _ in range(4 if across.size else 0):
        gradient, hessian = problem.slopes(point)[0] * size, problem.hessian(point) * np.outer(size, size)
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            break
        correction = np.linalg.lstsq(across.T @ hessian @ across, -(across.T @ gradient), rcond=None)[0]
        point = np.clip(point + size * (across @ correction), problem.low, problem.high)
    return point


def _order_of_minimum(problem: MinimumProblem, x: Vector, size: float) -> int:
    """Return the order of the first Taylor term that is not small at a distance ``size``, if it is even and rises; else 0."""
    try:
        coefficients = problem.sign * np.ravel(series(problem.system.evaluation(0, x), _HIGHEST))[1:]
    except AutodiffError:
        return 0
    terms = coefficients * size ** np.arange(1, _HIGHEST + 1)
    if not np.isfinite(terms).all() or not terms.any():
        return 0
    first = int(np.argmax(np.abs(terms) > np.sqrt(EPS) * np.max(np.abs(terms))))
    order = first + 1
    return order if order % 2 == 0 and terms[first] > 0 else 0


_MOST_STEPS = 300  # the maximum number of steps of gradient sampling, each of which needs a few gradients for each variable
_DECADES = tuple(10.0 ** np.arange(-12.0, 0.0))
"""The distances from a point at which the sides of a kink are looked for, relative to the size of the variable."""
_MOST_POLISHES = 60  # Newton steps along a kink
_MOST_VARIABLES = 50
"""The maximum number of variables of a kink that is looked for; one step samples about three gradients for each variable."""
_RADII = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""The radii within which gradients are sampled, relative to the sizes of the variables, from the first to the last search."""
_NEAREST = 1e-14  # the radius of the gradients around a point on a kink that determine the slope along it
_ZERO = 1e-5  # the norm of a convex combination of gradients, relative to the largest of them, that is taken as zero


class Kink(NamedTuple):
    """A minimum at a kink.

    Attributes:
        x: the point.
        reason: what proves the minimum.
        norm: the norm of the shortest convex combination of the gradients around the point.
    """

    x: Vector
    reason: str
    norm: float = 0.0


def kink_near(problem: MinimumProblem, x: Vector, typical: Vector, moves: bool) -> Kink | None:
    """Return the minimum at a kink near a point, which may move along the kink if ``moves``; ``None`` if there is none."""
    if problem.constraints or len(x) > _MOST_VARIABLES:
        return None
    least = 1e-8 * max(1.0, float(np.max(typical, initial=0.0)))
    size = np.maximum(np.maximum(typical, np.abs(x)), least)
    return _single(problem, x, float(size[0])) if len(x) == 1 else _sampled(problem, x, size, moves)


def _single(problem: MinimumProblem, x: Vector, size: float) -> Kink | None:
    """Return the minimum at a jump of the derivative of a continuous function of one variable, or ``None``."""

    value, best = problem.value, _crossed(problem, x, np.array([size]), _DECADES)

    def slopes(distance: float) -> tuple[float, float]:
        """Return the derivative to the left and to the right, at a distance."""
        return float(problem.gradient(best - distance)[0]), float(problem.gradient(best + distance)[0])

    step, short_step = 1e-9 * size, 1e-11 * size
    (left, right), (closer_left, closer_right) = slopes(step), slopes(short_step)
    keeps_slopes = abs(closer_left - left) < 0.1 * abs(left) and abs(closer_right - right) < 0.1 * abs(right)
    is_lowest = min(value(best - step), value(best + step)) >= value(best)
    jump = abs(value(best + short_step) - value(best - short_step))
    is_continuous = jump <= 10 * (abs(left) + abs(right)) * step + 8 * EPS * abs(value(best))
    if not (left < 0 < right and keeps_slopes and is_lowest and is_continuous):
        return None
    left, right = problem.sign * closer_left, problem.sign * closer_right
    return Kink(best, f"the derivative is {left:.6g} to the left and {right:.6g} to the right")


def _sampled(problem: MinimumProblem, x: Vector, size: Vector, moves: bool) -> Kink | None:
    """Return the minimum at a kink that gradient sampling within shrinking radii finds (Burke et al. 2005), or ``None``."""
    random = np.random.default_rng(0)
    remaining = _MOST_STEPS
    for radius in _RADII if moves else _RADII[-2:]:  # those of the proof
        while remaining:
            remaining -= 1
            shortest, largest = _shortest(problem, x, size, radius, random)
            if shortest is None or np.linalg.norm(shortest) <= _ZERO * largest or not moves:
                break
            lower = _armijo(problem, x, -size * shortest, float(shortest @ shortest))
            if lower is None:
                break
            x = lower
    if moves:
        x = _polished(problem, x, size, random)
    if remaining and (reason := _proof(problem, x, size, random)):
        shortest, _ = _shortest(problem, x, size, _RADII[-2], random)
        return Kink(x, reason, 0.0 if shortest is None else float(np.linalg.norm(shortest / size)))
    return None


def _polished(problem: MinimumProblem, x: Vector, size: Vector, random: np.random.Generator) -> Vector:
    """Return a better minimum at a kink: a root of the slope across it and a Newton step along it, in turn, while both succeed."""
    last_length = np.inf
    for _ in range(_MOST_POLISHES):
        gradients = np.array(_around(problem, x, size, _RADII[-3], random))
        if not len(gradients):  # none is finite
            return x
        across, along = _kink_directions(gradients)
        is_corner = not len(along)
        normals = size * (np.vstack([across, np.eye(len(x))]) if is_corner else across)
        on_kink = reduce(partial(_crossed, problem), normals, x)  # in one direction after the other
        value = problem.values(on_kink)[0]
        noise = 8 * EPS * abs(value)
        decrease = problem.values(x)[0] - value
        if not decrease >= -noise:
            return x
        x = on_kink
        if is_corner and decrease > noise:
            continue  # there is no direction along a corner
        step = _step_along(problem, x, size, along, random)
        if step is None:
            return x
        moved = reduce(partial(_crossed, problem), normals, x + size * step)
        length = float(np.linalg.norm(step))
        if not (length < 0.9 * last_length and problem.values(moved)[0] <= value + noise):
            return x
        x, last_length = moved, length
    return x


def _kink_directions(gradients: Matrix) -> tuple[Matrix, Matrix]:
    """Return the directions across a kink, in which gradients around it differ, and those along it; both as rows."""
    _, spread, directions = np.linalg.svd(gradients - gradients.mean(axis=0))
    is_across = np.zeros(len(directions), bool)
    is_across[: len(spread)] = spread > 1e-3 * spread[0]
    return directions[is_across], directions[~is_across]


def _step_along(problem: MinimumProblem, x: Vector, size: Vector, along: Matrix, random: np.random.Generator) -> Vector | None:
    """Return the Newton step along a kink, in units of ``size``; ``None`` at a corner, or without derivatives."""
    slope, _ = _shortest(problem, x, size, _NEAREST, random)
    hessian = problem.hessian(x + _NEAREST * size * random.uniform(-1, 1, len(x))) * np.outer(size, size)
    if slope is None or not len(along) or not np.isfinite(hessian).all():
        return None
    return np.asarray(along.T @ np.linalg.lstsq(along @ hessian @ along.T, -(along @ slope), rcond=1e-12)[0])


def _crossed(problem: MinimumProblem, x: Vector, direction: Vector, reaches: Sequence[float] = (1e-7, 1e-5, 1e-3)) -> Vector:
    """Return the point on a line at which the slope changes from minus to plus, in the first of some reaches around x; else x."""

    def slope(length: float) -> float:
        return float(problem.slopes(x + length * direction)[0] @ direction)

    for high in reaches:
        if slope(-high) < 0 < slope(high):
            break
    else:
        return x
    low = -high
    while high - low > 1e-20 and low < (center := (low + high) / 2) < high:
        low, high = (center, high) if slope(center) < 0 else (low, center)
    ends = [x + length * direction for length in (low, high)]
    ends += [np.where(np.abs(end) <= 1e-15 * np.abs(direction), 0.0, end) for end in ends]  # a kink is often at 0
    return min([x, *ends], key=lambda point: problem.values(point)[0])


def _proof(problem: MinimumProblem, x: Vector, size: Vector, random: np.random.Generator) -> str:
    """Return the proof of a minimum at a kink, or an empty text: a gradient of 0 within two radii, and no lower value around."""
    shortest, largest = _shortest(problem, x, size, _RADII[-2], random)
    if shortest is None or np.linalg.norm(shortest) > 10 * _ZERO * largest:
        return ""
    closer_norms = [np.linalg.norm(gradient) for gradient in _around(problem, x, size, _RADII[-1], random)]
    value = problem.values(x)[0]
    # Close to a smooth minimum, all gradients are small, and smaller within a smaller radius.
    if not closer_norms or max(closer_norms) < 0.5 * largest or largest < np.sqrt(EPS) * max(1.0, abs(value)):
        return ""
    noise = 64 * EPS * abs(value)
    for radius in _RADII[:3]:
        for direction in _directions(len(x), random):
            if problem.values(np.clip(x + radius * size * direction, problem.low, problem.high))[0] < value - noise:
                return ""
    return "0 is a convex combination of the gradients around it; no lower value is near"


def _directions(count: int, random: np.random.Generator) -> Matrix:
    """Return directions from a point in ``count`` dimensions, as rows: along all axes, and some random ones."""
    units = np.eye(count)
    return np.vstack([units, -units, random.uniform(-1, 1, (count + 2, count))])


def _around(problem: MinimumProblem, x: Vector, size: Vector, radius: float, random: np.random.Generator) -> list[Vector]:
    """Return the gradients, scaled by the sizes of the variables, at points within a radius."""
    points = np.vstack([x, *(x + radius * size * direction for direction in _directions(len(x), random))])
    gradients = [problem.slopes(np.clip(point, problem.low, problem.high))[0] * size for point in points]
    return [gradient for gradient in gradients if np.isfinite(gradient).all()]


def _shortest(
    problem: MinimumProblem, x: Vector, size: Vector, radius: float, random: np.random.Generator
) -> tuple[Vector | None, float]:
    """Return the shortest convex combination of the gradients around a point, ``None`` if none is finite, and the longest norm."""
    gradients = np.array(_around(problem, x, size, radius, random))
    if not len(gradients):
        return None, 0.0
    largest = float(np.max(np.linalg.norm(gradients, axis=1)))
    if not largest:
        return gradients[0], 0.0
    important = 1e3  # a large factor of the equation that the coefficients sum to 1, which is then satisfied by scaling
    matrix = np.vstack([gradients.T / largest, np.full(len(gradients), important)])
    coefficients, _ = library("scipy.optimize", "minimize").nnls(matrix, np.append(np.zeros(len(x)), important))
    return gradients.T @ (coefficients / coefficients.sum()), largest


def _armijo(problem: MinimumProblem, x: Vector, direction: Vector, decrease: float) -> Vector | None:
    """Return the first halved step along a direction with a lower value, by 1e-4 of ``decrease`` per length; or ``None``."""
    value = problem.values(x)[0]
    for length in 0.5 ** np.arange(60):
        trial: Vector = np.clip(x + length * direction, problem.low, problem.high)
        if problem.values(trial)[0] < value - 1e-4 * length * decrease and np.isfinite(problem.slopes(trial)[0]).all():
            return trial
    return None
