"""Detection of discontinuities: poles, jumps, kinks and ends of the domain are located to the last digit and classified.

If the samples at the ends of an interval do not match the slopes, the interval is bisected.  The limits from both sides then
classify the discontinuity.  To find the limits, the curves are sampled at distances that shrink from the sampling step to the
resolution of a float, and the differences between successive samples show whether a curve converges, grows without bound or
oscillates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from autodiff_cli.arrays import Floats, Indices, Mask

Curves = Callable[[Floats], Floats]
"""A function that takes points ``(n,)`` and returns the value, the first derivative, and so on, ``(k, n)``."""
Sides = tuple[tuple[Floats, Floats], ...]
"""The distances ``(n,)`` and the values ``(k, n)`` of the samples on the left and on the right of a place, the closest last."""
CENTRAL = (10, 90)
"""The percentiles that enclose most values of a curve."""
DISTANCES = 60
"""The number of samples on each side from which a limit is computed."""
SLOWEST = 0.02
"""A curve is bounded if the differences between its samples shrink faster than the distance raised to this power.  For log(x),
the power is 0."""
_TAIL = 10  # the number of the closest samples that decide whether a curve converges
NEGLIGIBLE = 1e-3
"""The size of the smallest visible jump, relative to the size of the curve."""
DOUBTFUL = 1e-4
"""The smallest significant mismatch, relative to the size of a curve; below it, bisection follows the next derivative."""
LARGE = 1e290
"""An upper bound on the values of a curve at the float next to a pole."""
CLOSEST = 1e-6
"""The minimum distance between a sample and a discontinuity, relative to the whole interval; closer ones add rounding errors."""


class Extent:
    """The size of each curve, which decides whether a difference is visible: percentiles of its samples ``ys``, ``(k, n)``."""

    def __init__(self, ys: Floats) -> None:
        self._centers = np.zeros(len(ys))
        self._spans = np.ones(len(ys))  # also of a curve without finite values
        for k, y in enumerate(ys):
            finite = y[np.isfinite(y)]
            if len(finite):
                low, self._centers[k], high = np.percentile(finite, (CENTRAL[0], 50, CENTRAL[1]))
                span = high - low or np.ptp(finite)  # the percentiles of sign(x) or where(x == 0, 1, 0) may be equal
                largest = np.abs(finite).max()
                is_constant = span <= 1e-12 * largest
                self._spans[k] = (largest or 1.0) if is_constant else span

    def size(self, curve: int, y: Floats | float) -> Floats:
        """Return the scale for differences near values ``y``: the span of the curve, or a third of the distance to its centre."""
        with np.errstate(all="ignore"):
            size: Floats = np.fmax(self._spans[curve], np.abs(y - self._centers[curve]) / 3)
            return np.where(np.isfinite(size), size, self._spans[curve])

    def between(self, ys: Floats, count: int) -> Floats:
        """Return the smaller of the sizes at both ends of each interval between samples, ``(count, n - 1)``."""
        sizes = np.stack([self.size(k, ys[k]) for k in range(count)])
        return np.minimum(sizes[:, :-1], sizes[:, 1:])

    def meet(self, curve: int, a: float, b: float, doubt: float = 0.0) -> bool:
        """Return whether the difference between two values is invisible, allowing for an error of ``doubt``."""
        return bool(abs(a - b) <= NEGLIGIBLE * self.size(curve, a) + doubt)


@dataclass(frozen=True)
class Limit:
    """The limit of a curve from one side.

    Attributes:
        kind: ``finite``, ``infinite``, ``none`` (the curve oscillates) or ``outside`` (the curve does not exist on this side).
        value: the limit, or nan.
        doubt: the possible error of an extrapolated limit.
    """

    kind: str
    value: float = math.nan
    doubt: float = 0.0


@dataclass(frozen=True)
class Discontinuity:
    """A point where at least one of the curves is discontinuous.

    Attributes:
        kind: ``pole``, ``jump``, ``hole``, ``edge`` (of the domain), ``oscillation`` or ``overflow`` of the value;
            ``kink`` or ``vertical tangent`` if the value is continuous and the first derivative is discontinuous;
            ``bend`` if only the second derivative is discontinuous.
        at: the position of the discontinuity.
        left, right: the positions of the closest samples.
        limits: the limits of each curve from the left and from the right.
        joined: whether the two limits of each curve are equal.
        value: the value at this point; nan if it does not exist, or if the position is not known exactly.
        curve: the number of the curve to which the first of ``limits`` belongs.
    """

    kind: str
    at: float
    left: float
    right: float
    limits: tuple[tuple[Limit, Limit], ...]
    joined: tuple[bool, ...]
    value: float = math.nan
    curve: int = 0

    def unbounded(self, curve: int) -> bool:
        """Return whether a curve grows without bound or oscillates at this point."""
        place = curve - self.curve
        return 0 <= place < len(self.limits) and any(side.kind in ("infinite", "none") for side in self.limits[place])


def search_discontinuities(
    function: Curves, xs: Floats, rough: Indices, extent: Extent, count: int
) -> tuple[list[Discontinuity], Floats, Floats]:
    """Return the discontinuities in the intervals that begin at ``rough``, and samples near them, ``(m,)`` and ``(k, m)``."""
    low, high = float(xs[0]), float(xs[-1])
    resolution = 4 * float(np.spacing(max(abs(low), abs(high))))  # a few floats, whatever the function does between them
    left, right = bisect_intervals(function, xs[rough], xs[rough + 1], extent, count, resolution)
    left, right, middle, floor, ceiling = _merge_touching(left, right, xs[rough], xs[rough + 1], 4 * resolution)
    # Sample the curves on both sides of each place, and at the place itself.
    before, after = approach_points(left, right, floor, ceiling, resolution)
    near = np.concatenate([before, after], axis=1)
    values = np.asarray(function(np.clip(near, low, high).ravel())).reshape(-1, *near.shape)  # by curve, place and point
    at_middle = np.asarray(function(middle))[0]
    exact = np.array([_short_position(*place) for place in zip(left, right, middle, strict=True)])
    at_exact = np.where(np.isnan(exact), np.nan, np.asarray(function(exact))[0])
    left_values, right_values = np.split(values, [before.shape[1]], axis=2)
    # Classify each place by the limits from both sides.
    discontinuities = []
    digits = max(0, int(-math.log10(16 * resolution)))  # of a position, without those below the resolution
    closest = CLOSEST * (high - low)
    for i in range(len(left)):
        sides = (left[i] - before[i], left_values[:, i]), (after[i] - right[i], right_values[:, i])
        inside = left[i] > low, right[i] < high
        kind, limits = _classify_place(sides, inside, float(at_middle[i]), extent, count, closest)
        joined = limits_meet(limits, extent)
        if kind or not all(joined):
            position = round(float(middle[i]), digits) + 0.0  # and not -0
            ends = float(left[i]), float(right[i])
            discontinuities.append(Discontinuity(kind, position, *ends, tuple(limits), joined, float(at_exact[i])))
    is_far = np.minimum(np.abs(near - left[:, None]), np.abs(near - right[:, None])) >= closest
    drawn = is_far & (near > low) & (near < high)
    return discontinuities, near[drawn], values[:, drawn]


def _classify_place(
    sides: Sides, inside: tuple[bool, bool], value: float, extent: Extent, count: int, closest: float
) -> tuple[str, list[tuple[Limit, Limit]]]:
    """Return the kind of a discontinuity, empty for none, and the limits of each curve; ``value`` is that at the place itself."""
    limits = [_both_limits(sides, inside, extent, k) for k in range(count)]
    kind = discontinuity_kind(limits, limits_meet(limits, extent), value, extent)
    if kind == "hole":  # near a hole, which is 0/0, rounding errors dominate the derivatives
        limits[1:] = [_both_limits(sides, inside, extent, k, closest) for k in range(1, count)]
    joined = limits_meet(limits, extent)
    if not all(joined):
        first = joined.index(False)  # the first curve that is discontinuous
        if leaves_float_range([values[first] for _distances, values in sides], inside):
            kind = "overflow" if first == 0 else ""  # the overflow of a derivative alone is not reported
    return kind, limits


def _short_position(left: float, right: float, middle: float) -> float:
    """Return the short decimal number or the multiple of pi/4 in an interval that contains a discontinuity, or nan."""
    candidates = round(4 * middle / math.pi) * math.pi / 4, float(f"{middle:.9g}")
    return next((place + 0.0 for place in candidates if left <= place <= right), math.nan)


def _both_limits(sides: Sides, inside: tuple[bool, bool], extent: Extent, curve: int, closest: float = 0.0) -> tuple[Limit, Limit]:
    """Return the limits of a curve from both sides; a side that is not ``inside`` the plotted interval is ``outside``."""
    left, right = (
        one_sided_limit(distances, values[curve], extent, curve, closest) if there else Limit("outside")
        for (distances, values), there in zip(sides, inside, strict=True)
    )
    return left, right


def _merge_touching(
    left: Floats, right: Floats, floor: Floats, ceiling: Floats, close: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Merge intervals at most ``close`` apart; return their ends, their middles, and the lowest and highest point around each.

    ``floor`` and ``ceiling`` are the lowest and highest point around each interval before; those of different places do not
    overlap afterwards.  If a sample is at a discontinuity, as 0 is for 1/x, both adjacent intervals were bisected towards it.
    """
    first = np.flatnonzero(np.concatenate([[True], left[1:] - right[:-1] > close]))  # of the intervals that are merged
    last = np.concatenate([first[1:], [len(left)]]) - 1
    shared_sample, own_middle = right[first], left[first] + (right[last] - left[first]) / 2
    middle = np.where(first < last, shared_sample, own_middle)
    left, right, floor, ceiling = left[first], right[last], floor[first], ceiling[last]
    between = right[:-1] + (left[1:] - right[:-1]) / 2
    floor[1:] = np.maximum(floor[1:], between)
    ceiling[:-1] = np.minimum(ceiling[:-1], between)
    return left, right, middle, floor, ceiling


def mismatch(xs: Floats, ys: Floats, count: int) -> Floats:
    """Return how much the rise between adjacent samples differs from the rise that the slopes predict.

    Args:
        xs, ys: the samples in ascending order, ``(n,)`` and ``(k, n)``; or pairs of samples, ``(2, m)`` and ``(k, 2, m)``.
        count: the number of curves to test.

    Returns:
        A number for each curve and interval, ``(count, n - 1)``; ``inf`` if exactly one end of the interval is finite.
    """
    steps = np.diff(xs, axis=0)
    differences = np.empty((count, *steps.shape))
    with np.errstate(all="ignore"):
        for k in range(count):
            difference = np.diff(ys[k], axis=0)
            if k + 1 < len(ys):
                slopes = ys[k + 1]
                from_slopes = difference - steps * (slopes[:-1] + slopes[1:]) / 2
                difference = np.where(np.isfinite(from_slopes), from_slopes, difference)  # ignore infinite slopes
            elif len(difference) > 2:  # without a derivative: use the slopes of both neighbours
                slopes = difference / steps
                from_slopes = difference[1:-1] - steps[1:-1] * (slopes[:-2] + slopes[2:]) / 2
                difference[1:-1] = np.where(np.isfinite(from_slopes), from_slopes, difference[1:-1])
            left_finite, right_finite = np.isfinite(ys[k])[:-1], np.isfinite(ys[k])[1:]
            differences[k] = np.where(left_finite & right_finite, np.abs(difference), 0.0)
            differences[k][left_finite != right_finite] = np.inf
    return differences


def bisect_intervals(
    function: Curves, left: Floats, right: Floats, extent: Extent, count: int, resolution: float
) -> tuple[Floats, Floats]:
    """Bisect all intervals at once, each towards the half with the larger mismatch, and return their ends.

    The first ``count`` curves are tested.  An interval is not bisected further at the length ``resolution``.
    """
    ends = np.stack([left, right])  # (2, m), for m intervals
    values = np.stack([function(left), function(right)], axis=1)  # (k, 2, m)
    while ends.shape[1] and np.max(ends[1] - ends[0]) > resolution:
        middle = ends[0] + (ends[1] - ends[0]) / 2
        at_middle = np.asarray(function(middle))
        first_ends, first_values = np.stack([ends[0], middle]), np.stack([values[:, 0], at_middle], axis=1)
        second_ends, second_values = np.stack([middle, ends[1]]), np.stack([at_middle, values[:, 1]], axis=1)
        sizes = np.stack([np.fmax(*extent.size(k, values[k])) for k in range(count)])
        first_roughness = _roughness(first_ends, first_values, count) / sizes
        takes_first = _is_first_half_rougher(first_roughness, _roughness(second_ends, second_values, count) / sizes)
        ends = np.where(takes_first, first_ends, second_ends)
        values = np.where(takes_first, first_values, second_values)
    return ends[0], ends[1]


def _roughness(ends: Floats, values: Floats, count: int) -> Floats:
    """Return the mismatch of ``count`` curves, ``(count, m)``, plus the length times the change of the slope if it is finite.

    The ends of m intervals are ``(2, m)``, and the values there ``(k, 2, m)``.  Only the slope reveals a pole between equal values.
    """
    roughness = mismatch(ends, values, count)[:, 0]
    with np.errstate(all="ignore"):
        for k, (left_slope, right_slope) in enumerate(values[1 : count + 1]):
            turn = (ends[1] - ends[0]) * np.abs(right_slope - left_slope)
            roughness[k] += np.where(np.isfinite(turn), turn, 0.0)
    return roughness


def _is_first_half_rougher(first: Floats, second: Floats) -> Mask:
    """Return whether the first half of each interval is at least as rough as the second, in the first curve that is not smooth."""
    worst = np.maximum(first, second)
    is_doubtful = worst > DOUBTFUL
    curve = np.where(is_doubtful.any(0), is_doubtful.argmax(0), worst.argmax(0))  # one for each interval
    intervals = np.arange(first.shape[1])
    is_rougher: Mask = first[curve, intervals] >= second[curve, intervals]
    return is_rougher


def approach_points(left: Floats, right: Floats, low: Floats, high: Floats, resolution: float) -> tuple[Floats, Floats]:
    """Return points on both sides of intervals at geometrically shrinking distances, ``(n, DISTANCES)`` each, the closest last.

    ``low`` and ``high`` are the lowest and the highest point for each interval, ``resolution`` is the smallest meaningful distance.
    """
    closest = 64 * resolution  # rounding errors would change the ratios of smaller distances
    exponents = np.linspace(0.0, 1.0, DISTANCES)
    distances = []
    for room in (left - low, high - right):
        furthest = np.maximum(room, closest)[:, None]
        distances.append(furthest * (closest / furthest) ** exponents)
    left_distances, right_distances = distances
    return left[:, None] - left_distances, right[:, None] + right_distances


def one_sided_limit(distances: Floats, values: Floats, extent: Extent, curve: int, closest: float = 0.0) -> Limit:
    """Return the limit of a curve from samples on one side of a point, the closest last, ``(n,)`` each.

    Samples at distances below ``closest`` are left out, because rounding errors dominate them, if enough others remain.
    """
    is_far = distances >= closest
    if np.count_nonzero(is_far) > _TAIL:
        values, distances = values[is_far], distances[is_far]
    last = float(values[-1])
    if math.isnan(last):
        return Limit("outside")
    if math.isinf(last):
        return Limit("infinite", last)
    tail = values[-_TAIL:]
    if not np.isfinite(tail).all():
        return Limit("none")
    steps = np.diff(tail)
    sizes = np.abs(steps)
    scale = extent.size(curve, last)
    if sizes.max() <= NEGLIGIBLE / 100 * scale or not sizes.all():  # it changes invisibly, or two samples are equal
        return Limit("finite", last)
    if (steps > 0).any() and (steps < 0).any():  # it oscillates, perhaps only by rounding errors
        is_settled = sizes[-3:].max() <= NEGLIGIBLE / 10 * scale
        return Limit("finite", last) if is_settled else _plateau(values, extent, curve)
    return _extrapolated_limit(last, steps, float(distances[-1] / distances[-2]))


def _extrapolated_limit(last: float, steps: Floats, ratio: float) -> Limit:
    """Return the limit beyond ``last`` of geometric ``steps``, at distances of a constant ratio; infinite if they hardly shrink."""
    shrink = float(np.abs(steps[-1] / steps[0]) ** (1 / (len(steps) - 1)))  # the mean ratio of two steps
    power = math.log(shrink) / math.log(ratio)  # of the distance, to which the steps are proportional
    if power <= SLOWEST:
        return Limit("infinite", math.copysign(math.inf, steps[-1]))
    rest = float(steps[-1]) * shrink / (1 - shrink)  # the sum of the series
    return Limit("finite", last + rest, abs(rest) / 10)  # a tenth of the extrapolation may be wrong


def _plateau(values: Floats, extent: Extent, curve: int) -> Limit:
    """Return the limit of the last six equal values, if any, before rounding errors dominate, as for (exp(x) - 1)/x near 0."""
    for end in range(len(values) - 1, 5, -1):
        last = float(values[end])
        if np.ptp(values[end - 5 : end + 1]) <= NEGLIGIBLE / 2 * extent.size(curve, last):
            return Limit("finite", last)
    return Limit("none")


def limits_meet(limits: Sequence[tuple[Limit, Limit]], extent: Extent) -> tuple[bool, ...]:
    """Return whether the limits of each curve from both sides are equal."""
    return tuple(
        left.kind == right.kind == "finite" and extent.meet(k, left.value, right.value, left.doubt + right.doubt)
        for k, (left, right) in enumerate(limits)
    )


def leaves_float_range(sides: Sequence[Floats], inside: Sequence[bool]) -> bool:
    """Return whether a curve leaves the range of floats: it is infinite on one side, and infinite or huge on the other.

    Next to a pole, values are finite and smaller than ``LARGE``.  ``sides`` are the values on the left and on the right, the
    closest last; both sides must be ``inside`` the plotted interval.
    """
    if not all(inside):
        return False
    are_infinite = [bool(np.isinf(values).all()) for values in sides]
    # A side that is infinite only near the place, as beside a pole, is neither finite nor large everywhere.
    are_large = [abs(values[-1]) > LARGE and bool(np.isfinite(values).all() or (np.abs(values) > LARGE).all()) for values in sides]
    return any(are_infinite) and all(are_large) and bool(np.sign(sides[0][-1]) == np.sign(sides[1][-1]))


def discontinuity_kind(limits: Sequence[tuple[Limit, Limit]], joined: Sequence[bool], value: float, extent: Extent) -> str:
    """Return the kind of a discontinuity from the limits of each curve, the value and derivatives; empty if all are continuous.

    ``joined`` says whether the limits of a curve from both sides are equal, and ``value`` is the value at the point itself.
    """
    kinds = [{left.kind, right.kind} for left, right in limits]
    if not joined[0]:
        if kinds[0] == {"outside"}:
            return ""
        if "outside" in kinds[0]:
            return "edge"
        return "pole" if "infinite" in kinds[0] else "oscillation" if "none" in kinds[0] else "jump"
    limit, _ = limits[0]
    if not math.isfinite(value) or not extent.meet(0, value, limit.value, limit.doubt):
        return "hole"
    if len(limits) > 1 and not joined[1]:
        return "vertical tangent" if "infinite" in kinds[1] else "kink" if kinds[1] == {"finite"} else "oscillation"
    return "bend" if len(limits) > 2 and not joined[2] else ""
