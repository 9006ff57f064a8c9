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
from autodiff_cli.solvers.roots.problem import EPS, Point, RootProblem, largest_cosine, newton_step, norm, scaled

if TYPE_CHECKING:
    from collections.abc import Callable

    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.notes.one_sided_limits import Discontinuity
    from autodiff_cli.precise.arithmetic import Real

PROVEN = ("interval Newton", "sign change")  # the proofs of existence by interval arithmetic
MINIMUM = 1e-5  # the largest cosine between the residuals and a column of the Jacobian at a minimum of the norm
SINGULAR = 1e-7  # the smallest singular value, relative to the largest, of a Jacobian matrix that is not taken for a singular one
_DECADES = range(-16, 17)
"""The exponents of the distances, relative to the magnitude of the root, at which the residuals of a multiple root are examined."""
_MOST_DIRECTIONS = 8  # the maximum number of singular directions in which the residuals are examined
_MOST_BOXES = 4  # each wider than the one before, in which a root is to be proven


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
    def digits(self) -> int:
        """The number of certain digits of every unknown: significant digits, or decimals if it is 0."""
        size = np.abs(self.point.x)
        relative = self.error / np.where(size > 0, size, 1.0)
        worst = float(np.max(relative, initial=0.0))
        return int(np.clip(-np.log10(max(worst, 1e-16)), 0, 16)) if np.isfinite(worst) else 0


def verify(problem: RootProblem, x: Vector) -> Verification:
    """Verify whether a point is a root; if it is less than a simple one, try it with 0 in place of the unknowns close to 0."""
    with np.errstate(all="ignore"):
        check = _continuous(problem, _verified(problem, problem.at(x)))
        if check.proof not in ("interval Newton", "residual and Newton step"):
            # At a multiple root, and at the end of a domain, steps approach 0 without an end.
            reach = check.error if check.converged else 1e-7 * float(np.max(np.abs(problem.start), initial=1.0))
            is_near_0 = (np.abs(x) <= reach) & (x != 0)
            if is_near_0.any():
                snapped = _continuous(problem, _verified(problem, problem.at(np.where(is_near_0, 0.0, x))))
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
    if not np.isfinite(point.f).all():
        return _rejected(point, "not_converged", np.full_like(point.f, np.inf))
    noise = problem.noise(point)
    if not np.isfinite(point.jacobian).all():
        is_zero = not point.f.any()
        return _singular(problem, point, np.zeros_like(point.x), noise) if is_zero else _rejected(point, "not_converged", noise)
    step, rank = newton_step(point.jacobian, point.f)
    condition = _condition(point.jacobian)
    error = _spread(point.jacobian, np.abs(point.f) + noise) + EPS * np.abs(point.x)
    is_regular = rank == min(point.jacobian.shape)
    is_rounding = bool(np.all(np.abs(point.f) <= noise))
    if is_rounding and is_regular and len(point.f) <= len(point.x):
        half_widths = krawczyk(problem, point, 2 * error + 1e-100)
        if half_widths is not None:
            return Verification(point, "root", "interval Newton", step, half_widths, condition, noise)
    if not is_rounding or (point.f.any() and _falls(problem, point, error)):
        verdict = "minimum_of_norm" if _is_minimum(point, step, is_regular) else "not_converged"
        return _rejected(point, verdict, noise, step, condition)
    if is_regular and condition < 1 / EPS and _is_steady(problem, point, error):
        return Verification(point, "root", "residual and Newton step", step, error, condition, noise)
    return _singular(problem, point, step, noise)


def _is_minimum(point: Point, step: Vector, is_regular: bool) -> bool:
    """Return whether the norm of the residuals cannot decrease: by the Newton step with a singular Jacobian, or at first order."""
    is_useless = not is_regular and norm(point.f + point.jacobian @ step) > 0.99 * norm(point.f)
    return is_useless or largest_cosine(point) < MINIMUM


def _rejected(point: Point, verdict: str, noise: Vector, step: Vector | None = None, condition: float = np.inf) -> Verification:
    """Return the verification of a point that is not a root; without a Jacobian matrix, the Newton step is infinite."""
    endless = np.full_like(point.x, np.inf)
    return Verification(point, verdict, "", endless if step is None else step, endless, condition, noise)


def _singular(problem: RootProblem, point: Point, step: Vector, noise: Vector) -> Verification:
    """Verify a point whose residuals are rounding errors and whose Jacobian is singular or infinite."""
    reach = _reach(problem, point)
    if reach is None:
        if not _is_zero(problem, point):
            return _rejected(point, "flat", noise, step)
        return Verification(point, "root", "zero residual", step, EPS * np.abs(point.x), np.inf, noise, multiplicity=0)
    error, multiplicity = reach
    if point.f.any() and not _rises(problem, point, error):
        return _rejected(point, "not_converged", noise, step)
    if is_excluded(problem, point.x, error):
        return _rejected(point, "minimum_of_norm", noise, step)
    verdict = "multiple_root" if multiplicity > 1 else "root"
    proof = "residual" if point.f.any() else "zero residual"
    return Verification(point, verdict, proof, step, error, np.inf, noise, multiplicity)


def _is_zero(problem: RootProblem, point: Point) -> bool:
    """Return whether an enclosure proves that the residuals are 0 around a point."""
    away = 1e-3 * np.maximum(np.abs(point.x), 1e-300)
    return problem.system.enclosure is not None and all(
        interval.low == interval.high == 0 for interval in problem.system.enclosure(point.x - away, point.x + away)
    )


def _condition(jacobian: Matrix) -> float:
    """Return the condition number of a matrix with scaled rows and columns; inf if it is singular."""
    sizes = np.linalg.svd(scaled(jacobian)[0], compute_uv=False)
    return float(sizes[0] / sizes[-1]) if sizes[-1] > EPS * sizes[0] else np.inf


def _spread(jacobian: Matrix, residual: Vector) -> Vector:
    """Return a bound of the solution of ``J @ step = r`` for all ``|r| <= residual``."""
    matrix, rows, columns = scaled(jacobian)
    return np.asarray(np.abs(np.linalg.pinv(matrix, 1e-15) / columns[:, None]) @ (residual / rows))


def krawczyk(problem: RootProblem, point: Point, radius: Vector) -> Vector | None:
    """Return the half-widths of a box around a point that has one root, by the Krawczyk operator; ``None`` if this is not proven.

    The ``radius`` has the half-widths of the first box.  With fewer equations than unknowns (more are not allowed), the box lies in
    the affine space through the point in which the equations change.
    """
    m, n = point.jacobian.shape
    basis = np.eye(n) if m == n else np.linalg.qr(point.jacobian.T)[0]  # the columns span that space
    for _ in range(_MOST_BOXES):
        box = np.abs(basis.T) @ radius  # in the basis, as its image
        image = _krawczyk_radius(problem, point, basis, box)
        if image is None:
            return None
        reach = np.abs(basis) @ image
        if np.all(image < box):
            return np.asarray(reach)
        radius = np.maximum(radius, 2 * reach)
    return None


def _krawczyk_radius(problem: RootProblem, point: Point, basis: Matrix, box: Vector) -> Vector | None:
    """Return the half-widths of the Krawczyk image of a box, ``None`` without an enclosure; those of both are in the basis."""
    enclosure, slopes = problem.system.enclosure, problem.system.slopes
    radius = np.abs(basis) @ box
    low, high = np.nextafter(point.x - radius, -np.inf), np.nextafter(point.x + radius, np.inf)
    if enclosure is None or slopes is None or not enclosure.is_regular(low, high):
        return None
    m, n = point.jacobian.shape
    f = stacked(enclosure(point.x, point.x))[:, :, None]
    ends = stacked(slopes(low, high)).reshape(2, m, n)
    center, half = ends[0] / 2 + ends[1] / 2, np.nextafter(ends[1] / 2 - ends[0] / 2, np.inf)
    rounding = 4 * n * EPS * (np.abs(center) @ np.abs(basis))
    center, half = center @ basis, half @ np.abs(basis) + rounding
    images, valid = krawczyk_images(f, center[:, :, None], half[:, :, None], np.zeros((m, 1)), box[:, None])
    return np.max(np.abs(images[:, :, 0]), axis=0) if valid[0] else None


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
    """Return whether the residuals are linear over the error of the root, in three sampled directions."""
    inverse = np.linalg.pinv(point.jacobian)
    n = len(point.x)
    for direction in (np.ones(n), -np.ones(n), np.where(np.arange(n) % 2, 1.0, -1.0)):
        for errors in (8.0, 1e3):
            reached = problem.at(point.x + errors * error * direction)
            linear = inverse @ point.jacobian @ (reached.x - point.x)
            rest = inverse @ (reached.f - point.f) - linear  # in units of the unknowns
            if not np.isfinite(rest).all() or norm(rest) > 0.5 * norm(linear):
                return False
    return True


def _reach(problem: RootProblem, point: Point) -> tuple[Vector, int] | None:
    """Return a bound of the distance to a singular root, and its multiplicity, which is 0 if it is not isolated.

    It is ``None`` for a place that is not a root, as the residuals stay rounding errors on one side only, or over a long distance.
    """
    error = EPS * np.abs(point.x)
    size = float(np.max(np.abs(point.x), initial=0.0)) or 1.0
    multiplicities = []
    for direction in _singular_directions(point)[:_MOST_DIRECTIONS]:
        direction = direction / np.max(np.abs(direction))
        left, right = (_rise(problem, point, sign * direction, size) for sign in (1.0, -1.0))
        if left is None and right is None:
            multiplicities.append(0)
        elif left is None or right is None:
            return None
        else:
            distance = max(left, right)
            error = error + distance * np.abs(direction)
            multiplicities.append(_growth(problem, point, distance * direction))
    farthest = 0.1 * max(size, float(np.max(np.abs(problem.start), initial=0.0)))
    return None if np.any(error > farthest) else (error, max(multiplicities, default=1))


def _singular_directions(point: Point) -> Matrix:
    """Return the directions in which the residuals do not change at first order, as rows; all, if a derivative is not finite."""
    n = len(point.x)
    if not np.isfinite(point.jacobian).all():
        return np.eye(n)
    matrix, _, columns = scaled(point.jacobian)
    _, singular_values, right = np.linalg.svd(matrix)
    is_zero = n == 1 or not singular_values[0] > 0  # one unknown has one direction only
    rank = 0 if is_zero else int(np.sum(singular_values > SINGULAR * singular_values[0]))
    return np.asarray(right[rank : len(singular_values)] / columns)


def _rise(problem: RootProblem, point: Point, direction: Vector, size: float) -> float | None:
    """Return the distance, from 1e-16 to 1e16 times ``size``, at which a residual rises above rounding; ``None`` if none does."""

    def rises(distance: float) -> bool:
        reached = problem.at(point.x + distance * direction)
        return not np.isfinite(reached.f).all() or bool(np.any(np.abs(reached.f) > problem.noise(reached)))

    for exponent in _DECADES:
        distance = size * 10.0**exponent
        if rises(distance):  # then look between this decade and the one before, in fourths of a decade
            return next((part * distance for part in (0.18, 0.32, 0.56) if rises(part * distance)), distance)
    return None


def _growth(problem: RootProblem, point: Point, step: Vector) -> int:
    """Return the power of the distance with which the residuals grow between 10 and 20 steps from a point; at least 1."""
    near, far = (norm(problem.system.values(point.x + times * step)) for times in (10.0, 20.0))
    ratio = float(np.log2(far / near)) if near > 0 else 1.0
    return max(round(ratio), 1) if np.isfinite(ratio) else 1


_SECONDS = 0.5  # the time of the search for a residual that is not 0, with arithmetic of many digits
_STEPS = 128  # the steps of the search between two points: the interval shrinks by a factor of 1e26
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
    """Return whether the residual of one equation, in many digits, keeps its sign within an error bound and does not reach 0."""
    from autodiff_cli.precise.reference import Reference, in_time

    with in_time(_SECONDS):
        reference = Reference(problem.system.evaluation(0, x))
        math = reference.differences.math
        center, radius = math.mpf(float(x[0])), math.mpf(error)
        low, high = center - radius, center + radius

        def value(place: Real) -> Real:
            result = reference.values_at([place])[0]
            if not math.finite(result):
                raise NotPrecise("a residual that is not defined")
            return result

        sign = math.sign(value(low)) or math.sign(value(high))

        def size(place: Real) -> Real:
            """Return the magnitude of the residual, or 0 where it has the other sign."""
            number = value(place)
            return abs(number) if math.sign(number) == sign else math.mpf(0)

        largest = max(size(low), size(high))
        smallest = min(size(center), _least(size, low, high))
        return bool(smallest > largest * math.mpf(_LEAST))


def _least(function: Callable[[Real], Real], low: Real, high: Real) -> Real:
    """Return the smallest value of a function that is not negative, between two points, by ternary search; or a value of 0."""
    for _ in range(_STEPS):  # each leaves out three eighths of the interval, beside the larger value
        first, second = low + (high - low) * 3 / 8, high - (high - low) * 3 / 8
        values = function(first), function(second)
        if not min(values):
            break
        low, high = (low, second) if values[0] < values[1] else (first, high)
    return min(values)
