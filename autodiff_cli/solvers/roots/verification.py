"""The verification of a root, made afresh at the final point.

A simple root is proven by the interval Newton operator of Krawczyk: if it maps a box into the box, the box contains exactly one
root (Moore, Kearfott and Cloud, Introduction to Interval Analysis, SIAM 2009, chapter 8).  Without interval rules, and for
overdetermined systems, the residuals must be rounding errors and the Jacobian must not change over the error of the root.  At a
multiple root, the Jacobian is singular: there the residuals must be rounding errors, and must rise above them nearby.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.errors import AutodiffError, NotPrecise
from autodiff_cli.solvers.intervals.branch_and_bound import krawczyk_images, stacked
from autodiff_cli.solvers.jumps import discontinuity
from autodiff_cli.solvers.roots.problem import EPS, Point, RootProblem, newton, norm, scaled, slope

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.notes.one_sided_limits import Discontinuity
    from autodiff_cli.precise.arithmetic import Real

PROVEN = ("interval Newton", "sign change")
"""The proofs of existence by interval arithmetic."""
MINIMUM = 1e-5
"""The largest cosine between the residuals and a column of the Jacobian at a minimum of the norm."""
SINGULAR = 1e-7
"""The smallest singular value, relative to the largest, of a Jacobian matrix that is not taken for a singular one."""
_DECADES = range(-16, 17)
"""The distances, relative to the magnitude of the root, at which the residuals of a multiple root are examined."""

_MOST_DIRECTIONS = 8
"""The maximum number of singular directions in which the residuals are examined."""


class Verification(NamedTuple):
    """What was verified at a point.

    Attributes:
        point: the point.
        verdict: ``root``, ``multiple_root``, ``minimum_of_norm``, ``flat``, ``jump``, ``undefined`` or ``not_converged``.
        proof: ``interval Newton`` if existence is proven, ``residual and Newton step`` if it is verified numerically; else empty.
        step: the Newton step at the point.
        error: a bound or an estimate of the error of each unknown.
        condition: the condition number of the Jacobian with scaled rows and columns; inf if it is singular.
        noise: the residuals that rounding errors can cause.
        multiplicity: the power of the distance with which the residuals grow in a direction in which the Jacobian is singular;
            0 if they do not grow, so that the root is not isolated.
        broken: where the residuals jump or are not defined within the error; ``None`` if they are continuous.
    """

    point: Point
    verdict: str
    proof: str
    step: Vector
    error: Vector
    condition: float
    noise: Vector
    multiplicity: int = 1
    broken: Discontinuity | None = None

    @property
    def converged(self) -> bool:
        """Whether the point is a root."""
        return self.verdict in ("root", "multiple_root")

    @property
    def is_proven(self) -> bool:
        """Whether interval arithmetic proves that the root exists."""
        return self.proof in PROVEN

    @property
    def digits(self) -> int:
        """The number of certain digits of every unknown: significant digits, or decimals if it is 0."""
        size = np.abs(self.point.x)
        relative = self.error / np.where(size > 0, size, 1.0)
        worst = float(np.max(relative, initial=0.0))
        return int(np.clip(-np.log10(max(worst, 1e-16)), 0, 16)) if np.isfinite(worst) else 0


def verify(problem: RootProblem, x: Vector) -> Verification:
    """Verify whether a point is a root."""
    with np.errstate(all="ignore"):
        check = _continuous(problem, _verified(problem, problem.at(x)))
        if check.proof not in ("interval Newton", "residual and Newton step"):
            # At a multiple root, and at the end of a domain, steps approach 0 without an end.
            near = np.abs(x) <= (check.error if check.converged else 1e-7 * float(np.max(np.abs(problem.start), initial=1.0)))
            if near.any() and x[near].any():
                snapped = _continuous(problem, _verified(problem, problem.at(np.where(near, 0.0, x))))
                return snapped if snapped.converged else check
        return check


def _continuous(problem: RootProblem, check: Verification) -> Verification:
    """Return a check that is not a root if the residuals jump or are not defined within its error."""
    if not check.converged or check.proof == "interval Newton":
        return check
    x = check.point.x
    reach = 4 * np.where(np.isfinite(check.error), check.error, 0.0) + 8 * np.spacing(np.abs(x))
    broken = discontinuity(problem.system, problem.system.enclosure, x, reach)
    return check if broken is None else check._replace(verdict=broken.kind, proof="", broken=broken)


def _verified(problem: RootProblem, point: Point) -> Verification:
    """Return the strongest proof of a root at a point, from interval arithmetic to a small residual, or what is there instead."""
    x = point.x
    n = len(x)
    nothing = np.full(n, np.inf)
    if not np.isfinite(point.f).all():
        return Verification(point, "not_converged", "", nothing, nothing, np.inf, nothing)
    noise = problem.noise(point)
    quiet = bool(np.all(np.abs(point.f) <= noise))
    if not np.isfinite(point.jacobian).all():
        if point.f.any():
            return Verification(point, "not_converged", "", nothing, nothing, np.inf, noise)
        return _singular(problem, point, np.zeros(n), noise)
    step, rank = newton(point.jacobian, point.f)
    condition = _condition(point.jacobian)
    full = rank == min(point.jacobian.shape)
    error = _spread(point.jacobian, np.abs(point.f) + noise) + EPS * np.abs(x)
    if quiet and full and point.jacobian.shape[0] <= n:
        proven = krawczyk(problem, point, 2 * error + 1e-100)
        if proven is not None:
            return Verification(point, "root", "interval Newton", step, proven, condition, noise)
    if quiet and point.f.any() and _falls(problem, point, error):
        quiet = False
    if quiet and full and condition < 1 / EPS and _is_steady(problem, point, error):
        return Verification(point, "root", "residual and Newton step", step, error, condition, noise)
    if quiet:
        return _singular(problem, point, step, noise)
    least = slope(point) < MINIMUM or (not full and norm(point.f + point.jacobian @ step) > 0.99 * norm(point.f))
    return Verification(point, "minimum_of_norm" if least else "not_converged", "", step, nothing, condition, noise)


def _singular(problem: RootProblem, point: Point, step: Vector, noise: Vector) -> Verification:
    """Verify a point whose residuals are rounding errors and whose Jacobian is singular or infinite."""
    reach = _reach(problem, point)
    if reach is None and _is_zero(problem, point):
        return Verification(point, "root", "zero residual", step, EPS * np.abs(point.x), np.inf, noise, 0)
    if reach is None:
        return Verification(point, "flat", "", step, np.full_like(step, np.inf), np.inf, noise)
    proof = "residual" if point.f.any() else "zero residual"
    error, growth = reach
    if point.f.any() and not _rises(problem, point, error):
        return Verification(point, "not_converged", "", step, np.full_like(step, np.inf), np.inf, noise)
    if is_excluded(problem, point.x, error):
        return Verification(point, "minimum_of_norm", "", step, np.full_like(step, np.inf), np.inf, noise)
    return Verification(point, "multiple_root" if growth > 1 else "root", proof, step, error, np.inf, noise, growth)


def _is_zero(problem: RootProblem, point: Point) -> bool:
    """Return whether an enclosure proves that the residuals are 0 around a point."""
    away = 1e-3 * np.maximum(np.abs(point.x), 1e-300)
    return problem.system.enclosure is not None and all(
        interval.low == interval.high == 0 for interval in problem.system.enclosure(point.x - away, point.x + away)
    )


def _condition(jacobian: Matrix) -> float:
    sizes = np.linalg.svd(scaled(jacobian)[0], compute_uv=False)
    return float(sizes[0] / sizes[-1]) if sizes[-1] > EPS * sizes[0] else np.inf


def _spread(jacobian: Matrix, residual: Vector) -> Vector:
    """Return a bound of the solution of ``J @ step = r`` for all ``|r| <= residual``."""
    matrix, rows, columns = scaled(jacobian)
    return np.asarray(np.abs(np.linalg.pinv(matrix, 1e-15) / columns[:, None]) @ (residual / rows))


def krawczyk(problem: RootProblem, point: Point, radius: Vector) -> Vector | None:
    """Prove with the Krawczyk operator that a box around a point contains a root.

    With fewer equations than unknowns, the box lies in the affine space through the point in which the equations change.

    Args:
        problem: the equations, of which there are at most as many as unknowns.
        point: the center of the box.
        radius: the half-widths of the box.

    Returns:
        The half-widths of a box that contains a root, which is the only one in it; ``None`` if this is not proven.
    """
    enclosure, slopes = problem.system.enclosure, problem.system.slopes
    if enclosure is None or slopes is None:
        return None
    m, n = point.jacobian.shape
    basis = np.eye(n) if m == n else np.linalg.qr(point.jacobian.T)[0]
    f = stacked(enclosure(point.x, point.x))[:, :, None]
    for _ in range(4):
        inner = radius if m == n else np.abs(basis.T) @ radius
        outer = radius if m == n else np.abs(basis) @ inner
        low, high = np.nextafter(point.x - outer, -np.inf), np.nextafter(point.x + outer, np.inf)
        if not enclosure.is_regular(low, high):
            return None
        ends = stacked(slopes(low, high)).reshape(2, m, n)
        center, half = ends[0] / 2 + ends[1] / 2, np.nextafter(ends[1] / 2 - ends[0] / 2, np.inf)
        center, half = center @ basis, half @ np.abs(basis) + 4 * n * EPS * (np.abs(center) @ np.abs(basis))
        images, valid = krawczyk_images(f, center[:, :, None], half[:, :, None], np.zeros((m, 1)), inner[:, None])
        if not valid[0]:
            return None
        reach = np.max(np.abs(images[:, :, 0]), axis=0)
        if np.all(reach < inner):
            return np.asarray(reach if m == n else np.abs(basis) @ reach)
        radius = np.maximum(radius, 2 * (reach if m == n else np.abs(basis) @ reach))
    return None


def _falls(problem: RootProblem, point: Point, error: Vector) -> bool:
    """Return whether the residuals become much smaller away from a point, as those beside a pole."""
    size = norm(point.f)
    away = 1e3 * (error + EPS * np.abs(point.x))
    return any(norm(problem.system.values(point.x + sign * away)) < 0.1 * size for sign in (1.0, -1.0))


def _rises(problem: RootProblem, point: Point, error: Vector) -> bool:
    """Return whether the residuals are larger beyond the error of a root, unlike those on the steps of a jump."""
    sides = [norm(problem.system.values(point.x + sign * 10 * error)) for sign in (1.0, -1.0)]
    return not max(sides) <= 2 * norm(point.f)


def _is_steady(problem: RootProblem, point: Point, error: Vector) -> bool:
    """Return whether the residuals are linear over the error of the root, in sampled directions."""
    inverse = np.linalg.pinv(point.jacobian)
    n = len(point.x)
    for sign in (np.ones(n), -np.ones(n), np.where(np.arange(n) % 2, 1.0, -1.0)):
        for times in (8.0, 1e3):
            reached = problem.at(point.x + times * sign * error)
            linear = inverse @ point.jacobian @ (reached.x - point.x)
            rest = inverse @ (reached.f - point.f) - linear
            if not np.isfinite(rest).all() or norm(rest) > 0.5 * norm(linear):
                return False
    return True


def _reach(problem: RootProblem, point: Point) -> tuple[Vector, int] | None:
    """Return how far a root with a singular Jacobian may be, and its multiplicity; 0 if it is not isolated."""
    n = len(point.x)
    directions = np.eye(n)
    if np.isfinite(point.jacobian).all():
        matrix, _, columns = scaled(point.jacobian)
        _, sizes, right = np.linalg.svd(matrix)
        rank = int(np.sum(sizes > SINGULAR * sizes[0])) if sizes[0] > 0 and n > 1 else 0
        directions = right[rank : max(min(matrix.shape), rank)] / columns
    error = EPS * np.abs(point.x)
    size = float(np.max(np.abs(point.x), initial=0.0)) or 1.0
    growths = []
    for direction in directions[:_MOST_DIRECTIONS]:
        direction = direction / np.max(np.abs(direction))
        sides = [_rise(problem, point, sign * direction, size) for sign in (1.0, -1.0)]
        if (sides[0] is None) != (sides[1] is None):
            return None
        if sides[0] is not None and sides[1] is not None:
            distance = max(sides[0], sides[1])
            error = error + distance * np.abs(direction)
            growths.append(_growth(problem, point, distance * direction))
        else:
            growths.append(0)
    if np.any(error > 0.1 * max(size, float(np.max(np.abs(problem.start), initial=0.0)))):
        return None
    return error, max(growths, default=1)


def _rise(problem: RootProblem, point: Point, direction: Vector, size: float) -> float | None:
    """Return the distance at which a residual rises above its rounding errors; ``None`` if no residual does."""

    def is_loud(distance: float) -> bool:
        reached = problem.at(point.x + distance * direction)
        return not np.isfinite(reached.f).all() or bool(np.any(np.abs(reached.f) > problem.noise(reached)))

    for exponent in _DECADES:
        distance = size * 10.0**exponent
        if is_loud(distance):
            # The first distance is within a factor of 10; the next ones are within a fourth of it.
            return next((part * distance for part in (0.18, 0.32, 0.56) if is_loud(part * distance)), distance)
    return None


def _growth(problem: RootProblem, point: Point, step: Vector) -> int:
    """Return the power of the distance with which the residuals grow, beyond the distance at which they rise."""
    near, far = (norm(problem.system.values(point.x + times * step)) for times in (10.0, 20.0))
    ratio = float(np.log2(far / near)) if near > 0 else 1.0
    return max(round(ratio), 1) if np.isfinite(ratio) else 1


_SECONDS = 0.5
"""The time of the search for a residual that is not 0, with arithmetic of many digits."""
_STEPS = 128
"""The steps of the search between two points: the interval shrinks by a factor of 1e26."""
_LEAST = 1e-20
"""The smallest residual, relative to the residuals at the ends of the interval, that is not taken for 0 at a kink in between."""


def is_excluded(problem: RootProblem, x: Vector, error: Vector) -> bool:
    """Return whether the equations do not hold anywhere within the error bound of a point."""
    if not np.isfinite(error).all():
        return False
    if problem.system.enclosure is not None and any(not part.holds(0.0) for part in problem.system.enclosure(x - error, x + error)):
        return True
    if len(x) > 1 or problem.system.count > 1:
        return False
    try:
        return _stays_away(problem, x, float(error[0]))
    except AutodiffError:  # not all functions have arbitrary-precision implementations
        return False


def _stays_away(problem: RootProblem, x: Vector, error: float) -> bool:
    """Return whether a residual keeps its sign within an error bound, and its least magnitude there is not 0."""
    from autodiff_cli.precise.reference import Reference, in_time

    with in_time(_SECONDS):
        reference = Reference(problem.system.evaluation(0, x))
        mp = reference.differences.math
        sign = 0

        def size(place: Real) -> Real:
            nonlocal sign
            value = reference.values_at([place])[0]
            if not reference.differences.math.finite(value):
                raise NotPrecise("a residual that is not defined")
            sign = sign or int(mp.sign(value))
            return abs(value) if mp.sign(value) == sign else mp.mpf(0)

        low, high = mp.mpf(float(x[0])) - mp.mpf(error), mp.mpf(float(x[0])) + mp.mpf(error)
        edge = max(size(low), size(high))
        for _ in range(_STEPS):
            first, second = low + (high - low) * 3 / 8, high - (high - low) * 3 / 8
            sizes = size(first), size(second)
            if not min(sizes):
                return False
            low, high = (low, second) if sizes[0] < sizes[1] else (first, high)
        return bool(min(*sizes, size(mp.mpf(float(x[0])))) > edge * mp.mpf(_LEAST))
