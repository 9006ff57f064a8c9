"""Points at which the gradient is zero and the Hessian matrix is singular: derivatives of higher order, and values around."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.derivatives.taylor import series
from autodiff_cli.errors import AutodiffError
from autodiff_cli.lazy import library
from autodiff_cli.solvers.minima.newton_trust_region import EPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autodiff_cli.arrays import Vector
    from autodiff_cli.solvers.minima.certificate import Certificate
    from autodiff_cli.solvers.minima.problem import MinimumProblem

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


def probe(problem: MinimumProblem, certificate: Certificate, typical: Vector) -> Probe:
    """Examine the surroundings of a degenerate point without active constraints, between the bounds.

    Args:
        problem: the problem.
        certificate: the certificate of the point.
        typical: the sizes of the variables.
    """
    x = certificate.x
    size = np.maximum(typical, 1e-8 * max(1.0, float(np.max(typical, initial=0.0))))
    nothing = np.zeros(len(x))
    order, sign = _first_derivative(problem, x, float(size[0])) if len(x) == 1 else (0, 0.0)
    order = order if order % 2 == 0 and sign > 0 else 0
    scaled = problem.hessian(x) * np.outer(size, size)
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
        for distance in (sign * length for length in _DISTANCES for sign in (1, -1)):
            point = _settled(problem, x, size * direction * distance, across, size)
            value = problem.values(point)[0]
            change = value - certificate.value if np.isfinite(value) else np.inf
            noise = 64 * EPS * (abs(certificate.value) + (abs(value) if np.isfinite(value) else 0.0))
            change = 0.0 if abs(change) <= noise else change
            lowest = (change, point) if change < lowest[0] else lowest
            highest.append(change)
        if max(highest) <= 0 or min(highest[:4]) <= 0:
            rises = False
            flat = direction * size
    return Probe(lowest[1], rises, order, flat)


def has_hidden_slope(problem: MinimumProblem, x: Vector) -> bool:
    """Return whether the exact gradient at a point is not zero, and rounding errors hide it, as for ``exp(-x**2)`` at 40.

    A gradient that the rounding of the point itself explains counts as zero.
    """
    from autodiff_cli.precise.reference import Reference, in_time

    hessian = np.abs(problem.hessian(x))
    slopes = problem.system.slopes
    if slopes is not None:
        hidden = [not interval.low == interval.high == 0 for interval in slopes(x, x)[: len(x)]]
        if not any(hidden):
            return False  # the function is constant around the point, or exactly symmetric
        gradient = problem.slopes(x)[0]
        if any(is_hidden and not slope and not row.any() for is_hidden, slope, row in zip(hidden, gradient, hessian, strict=True)):
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


def is_curved(problem: MinimumProblem, x: Vector) -> bool:
    """Return whether the Hessian matrix of f is positive definite in spite of rounding errors, unless these cannot be enclosed."""
    enclosure = problem.system.curvatures if len(x) <= _MOST_ENCLOSED else None
    if enclosure is None:
        return True
    low, high = (np.reshape(side, (len(x), len(x))) for side in zip(*((box.low, box.high) for box in enclosure(x, x)), strict=True))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return True
    middle = problem.sign * (low + high) / 2
    size = np.sqrt(np.maximum(np.abs(np.diag(middle)), np.finfo(float).tiny))
    least = np.linalg.eigvalsh(middle / np.outer(size, size))[0]
    return bool(least > np.linalg.norm((high - low) / 2 / np.outer(size, size), 2))


def _settled(problem: MinimumProblem, x: Vector, moved: Vector, across: Vector, size: Vector) -> Vector:
    """Return a point that is moved along the null space and then minimized across it, because a valley may be curved."""
    point = np.clip(x + moved, problem.low, problem.high)
    for _ in range(4 if across.size else 0):
        gradient, hessian = problem.slopes(point)[0] * size, problem.hessian(point) * np.outer(size, size)
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            break
        step = np.linalg.lstsq(across.T @ hessian @ across, -(across.T @ gradient), rcond=None)[0]
        point = np.clip(point + size * (across @ step), problem.low, problem.high)
    return point


def _first_derivative(problem: MinimumProblem, x: Vector, size: float) -> tuple[int, float]:
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


_MOST_STEPS = 300
"""The maximum number of steps of gradient sampling, each of which needs a few gradients for each variable."""
_DECADES = tuple(10.0 ** np.arange(-12.0, 0.0))
"""The distances from a point at which the sides of a kink are looked for, relative to the size of the variable."""
_MOST_POLISHES = 60
_MOST_VARIABLES = 50
"""The maximum number of variables of a kink that is looked for; one step samples about three gradients for each variable."""
_RADII = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""The radii within which gradients are sampled, relative to the sizes of the variables, from the first to the last search."""
_NEAREST = 1e-14
"""The radius of the gradients around a point on a kink that determine the slope along it."""
_ZERO = 1e-5
"""The norm of a convex combination of gradients, relative to the largest of them, that is taken as zero."""


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
    """Return the minimum at a kink near a point, or ``None``.

    Args:
        problem: the problem.
        x: the point.
        typical: the sizes of the variables.
        moves: whether the point may move along the kink.
    """
    if problem.constraints or len(x) > _MOST_VARIABLES:
        return None
    size = np.maximum(np.maximum(typical, np.abs(x)), 1e-8 * max(1.0, float(np.max(typical, initial=0.0))))
    size = np.where(size > 0, size, 1.0)
    return _single(problem, x, float(size[0])) if len(x) == 1 else _sampled(problem, x, size, moves)


def _single(problem: MinimumProblem, x: Vector, size: float) -> Kink | None:
    """Return the minimum at a jump of the derivative of a function of one variable."""

    def slope(point: Vector) -> float:
        return float(problem.gradient(point)[0])

    value = problem.value
    best = _crossed(problem, x, np.array([size]), _DECADES)
    step = 1e-9 * size
    left, right = slope(best - step), slope(best + step)
    closer = slope(best - step / 100), slope(best + step / 100)
    same = abs(closer[0] - left) < 0.1 * abs(left) and abs(closer[1] - right) < 0.1 * abs(right)
    rises = min(value(best - step), value(best + step)) >= value(best)
    jump = abs(value(best + step / 100) - value(best - step / 100))
    if not (left < 0 < right and same and rises) or jump > 10 * (abs(left) + abs(right)) * step + 8 * EPS * abs(value(best)):
        return None
    left, right = (problem.sign * side for side in closer)
    return Kink(best, f"the derivative is {left:.6g} to the left and {right:.6g} to the right")


def _sampled(problem: MinimumProblem, x: Vector, size: Vector, moves: bool) -> Kink | None:
    """Run gradient sampling from a point."""
    random = np.random.default_rng(0)
    left = _MOST_STEPS
    for radius in _RADII if moves else _RADII[-2:]:
        while left:
            left -= 1
            shortest, largest = _shortest(problem, x, size, radius, random)
            if shortest is None or np.linalg.norm(shortest) <= _ZERO * largest or not moves:
                break
            lower = _searched(problem, x, -size * shortest, float(shortest @ shortest))
            if lower is None:
                break
            x = lower
    if moves:
        x = _polished(problem, x, size, random)
    if left and (reason := _proof(problem, x, size, random)):
        shortest, _ = _shortest(problem, x, size, _RADII[-2], random)
        return Kink(x, reason, 0.0 if shortest is None else float(np.linalg.norm(shortest / size)))
    return None


def _polished(problem: MinimumProblem, x: Vector, size: Vector, random: np.random.Generator) -> Vector:
    """Return a better minimum at a kink: a root of the slope across the kink, and a Newton step along it, in turn."""
    last = np.inf
    for _ in range(_MOST_POLISHES):
        gradients = np.array(_around(problem, x, size, _RADII[-3], random))
        if not len(gradients):  # none is finite
            return x
        _, spread, directions = np.linalg.svd(gradients - gradients.mean(axis=0))
        across = spread[: len(x)] > 1e-3 * spread[0] if len(spread) else np.zeros(0, bool)
        rows = directions[: len(across)]
        corner = across.all() and len(across) == len(x)
        normals = np.vstack([rows, np.eye(len(x))]) if corner else rows[across]

        def crossed(point: Vector, normals: Vector = normals) -> Vector:
            for direction in normals:
                point = _crossed(problem, point, size * direction)
            return point

        on_kink = crossed(x)
        value = problem.values(on_kink)[0]
        noise = 8 * EPS * abs(value)
        lower = problem.values(x)[0] - value
        if not lower >= -noise:
            return x
        x = on_kink
        if corner and lower > noise:
            continue
        along = np.vstack([rows[~across], directions[len(across) :]])
        # The directions contain errors, so the slope along them is that of the combination of gradients without a slope across.
        slope, _ = _shortest(problem, x, size, _NEAREST, random)
        hessian = problem.hessian(x + _NEAREST * size * random.uniform(-1, 1, len(x))) * np.outer(size, size)
        if slope is None or not len(along) or not np.isfinite(hessian).all():
            return x
        step = np.linalg.lstsq(along @ hessian @ along.T, -(along @ slope), rcond=1e-12)[0]
        moved = crossed(x + size * (along.T @ step))
        length = float(np.linalg.norm(step))
        if not (length < 0.9 * last and problem.values(moved)[0] <= value + noise):
            return x
        x, last = moved, length
    return x


def _crossed(problem: MinimumProblem, x: Vector, direction: Vector, reaches: Sequence[float] = (1e-7, 1e-5, 1e-3)) -> Vector:
    """Return the point on a line through x at which the slope changes its sign from minus to plus, if there is one near x."""

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
    ends += [np.where(np.abs(end) <= 1e-15 * np.abs(direction), 0.0, end) for end in ends]
    return min([x, *ends], key=lambda point: problem.values(point)[0])


def _proof(problem: MinimumProblem, x: Vector, size: Vector, random: np.random.Generator) -> str:
    """Return the proof of a minimum at a kink, or an empty text."""
    shortest, largest = _shortest(problem, x, size, _RADII[-2], random)
    if shortest is None or np.linalg.norm(shortest) > 10 * _ZERO * largest:
        return ""
    spread = [np.linalg.norm(g) for g in _around(problem, x, size, _RADII[-1], random)]
    if not spread or max(spread) < 0.5 * largest or largest < np.sqrt(EPS) * max(1.0, abs(problem.values(x)[0])):
        return ""
    value = problem.values(x)[0]
    noise = 64 * EPS * abs(value)
    for radius in (1e-2, 1e-3, 1e-4):
        for direction in _directions(len(x), random):
            if problem.values(np.clip(x + radius * size * direction, problem.low, problem.high))[0] < value - noise:
                return ""
    return "0 is a convex combination of the gradients around it; no lower value is near"


def _directions(count: int, random: np.random.Generator) -> Vector:
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
    """Return the shortest convex combination of the gradients around a point, and the norm of the longest gradient."""
    gradients = np.array(_around(problem, x, size, radius, random))
    if not len(gradients):
        return None, 0.0
    largest = float(np.max(np.linalg.norm(gradients, axis=1)))
    if not largest:
        return gradients[0], 0.0
    # Weights that are not negative and sum to 1: the last equation has a large weight and is then satisfied by scaling.
    weights, _ = library("scipy.optimize", "minimize").nnls(
        np.vstack([gradients.T / largest, np.full(len(gradients), 1e3)]), np.append(np.zeros(len(x)), 1e3)
    )
    return gradients.T @ (weights / weights.sum()), largest


def _searched(problem: MinimumProblem, x: Vector, direction: Vector, decrease: float) -> Vector | None:
    """Return a point along a direction with a sufficiently lower value, or ``None``."""
    value = problem.values(x)[0]
    length = 1.0
    for _ in range(60):
        trial = np.clip(x + length * direction, problem.low, problem.high)
        if problem.values(trial)[0] < value - 1e-4 * length * decrease and np.isfinite(problem.slopes(trial)[0]).all():
            return trial
        length /= 2
    return None
