"""Adaptive sampling of a curve and its derivatives: dense where the curve bends, interrupted at discontinuities.

Sampling begins with equal steps.  If the values at the ends of an interval do not match the exact slopes, the interval is
halved up to ``HALVINGS`` times.  If they still do not match, the interval is searched for discontinuities (see
``discontinuities``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autodiff_cli.arrays import Floats, Indices
from autodiff_cli.plotting.discontinuities import (
    CENTRAL,
    Curves,
    Discontinuity,
    Extent,
    Limit,
    approach_points,
    bisect_intervals,
    discontinuity_kind,
    leaves_float_range,
    limits_meet,
    mismatch,
    one_sided_limit,
)

Sides = tuple[tuple[Floats, Floats], ...]
"""The distances ``(n,)`` and the values ``(k, n)`` of the samples on the left and on the right of a place, the closest last."""
HALVINGS = 6
"""The number of times that an interval is halved, so that a line through 400 samples has up to 25,000."""
SMOOTH = 1e-3
"""The maximum distance between a curve and the line through two adjacent samples, relative to the size of the curve."""
MOST_POINTS = 60_000
"""The maximum number of samples of a curve; a picture of so many takes about a second."""
MOST_DISCONTINUITIES = 4_000
"""The maximum number of intervals that are searched; intervals with a mismatch of the value come first."""
CLOSEST = 1e-6
"""The minimum distance between a sample and a discontinuity, relative to the whole interval.  Closer samples would add only
rounding errors to a picture."""


@dataclass(frozen=True)
class Samples:
    """Curves that are ready to be drawn.

    Attributes:
        xs: the points in ascending order, ``(n,)``.
        ys: the curves at ``xs``, ``(k, n)``; nan where a curve is interrupted.
        evenly: the curves at the initial, equally spaced points, ``(k, m)``.
        discontinuities: the discontinuities in ascending order.
        windows: the range of values to show for each curve, ``(k, 2)``; nan for a curve without finite values.
        coarse: whether the curves change too fast for the samples, so that some discontinuities may be missing.
    """

    xs: Floats
    ys: Floats
    evenly: Floats
    discontinuities: list[Discontinuity]
    windows: Floats
    coarse: bool


def sample(function: Curves, xs: Floats, count: int, most_points: int = MOST_POINTS) -> Samples:
    """Sample curves over an interval.

    Args:
        function: a function that returns the value and its derivatives, ``(k, n)``, at points ``(n,)``.  If ``k`` is greater than
            ``count``, the additional derivative is the slope of the last curve.
        xs: the initial points in ascending order, at least two.
        count: the number of curves to draw.
        most_points: the maximum number of points after refinement.
    """
    evenly = ys = np.asarray(function(xs))
    extent = Extent(ys)
    xs, ys = _refine(function, xs, ys, extent, count, most_points)
    doubtful = np.zeros(len(xs) - 1, bool)
    coarse = False
    for mismatched in mismatch(xs, ys, count) > SMOOTH * extent.between(ys, count):
        coarse = int(np.count_nonzero(doubtful | mismatched)) > most_points * MOST_DISCONTINUITIES // MOST_POINTS
        if coarse:
            break
        doubtful |= mismatched
    discontinuities: list[Discontinuity] = []
    rough = np.flatnonzero(doubtful)
    if len(rough):
        discontinuities, near, at_near = _search_discontinuities(function, xs, rough, extent, count)
        xs, ys = _interrupt(*_insert_samples(xs, ys, near, at_near), discontinuities, count)
    free = [any(b.unbounded(k) for b in discontinuities) for k in range(count)]
    windows = np.array([shown_range(evenly[k] if free[k] else ys[k], free[k]) for k in range(count)])
    # The ends of the plotted interval are not ends of the domain.
    inner = [b for b in discontinuities if b.left > xs[0] and b.right < xs[-1]]
    told = [b for b in discontinuities if b.kind and (b in inner or b.unbounded(0))]
    return Samples(xs, ys[:count], evenly[:count], told, windows, coarse)


def merge_samples(parts: Sequence[Samples]) -> Samples:
    """Return the samples of several curves, each of which was sampled alone, at the points of all of them."""
    xs = np.unique(np.concatenate([part.xs for part in parts]))
    ys = np.stack([np.interp(xs, part.xs, part.ys[0], math.nan, math.nan) for part in parts])
    for k, part in enumerate(parts):
        ys[k, np.searchsorted(xs, part.xs)] = part.ys[0]  # interpolation next to nan is nan
    discontinuities = [replace(mark, curve=k) for k, part in enumerate(parts) for mark in part.discontinuities]
    evenly, windows = (np.concatenate([getattr(part, name) for part in parts]) for name in ("evenly", "windows"))
    return Samples(xs, ys, evenly, sorted(discontinuities, key=lambda mark: mark.at), windows, any(part.coarse for part in parts))


def shown_range(y: Floats, unbounded: bool) -> tuple[float, float]:
    """Return the range of values to show: all values of a bounded curve, most of an unbounded curve, nan if none is finite."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return math.nan, math.nan
    low, high = float(finite.min()), float(finite.max())
    if unbounded:
        inner = np.percentile(finite, CENTRAL)
        margin = (inner[1] - inner[0]) / 2
        low, high = max(low, float(inner[0] - margin)), min(high, float(inner[1] + margin))
    return low, high


def _refine(function: Curves, xs: Floats, ys: Floats, extent: Extent, count: int, most: int) -> tuple[Floats, Floats]:
    """Halve intervals until the samples follow the curve closely, or the limit ``most`` is reached."""
    for _ in range(HALVINGS):
        allowed = SMOOTH * extent.between(ys, count)
        rough = (mismatch(xs, ys, count) > allowed).any(0)
        with np.errstate(all="ignore"):
            bends = np.diff(xs) * np.abs(np.diff(ys[1:])) / 8
        rough |= (bends[:count] > allowed[: len(bends)]).any(0)
        middles = (xs[:-1] + np.diff(xs) / 2)[rough]
        if not len(middles) or len(xs) + len(middles) > most:
            break
        xs, ys = _insert_samples(xs, ys, middles, function(middles))
    return xs, ys


def _insert_samples(xs: Floats, ys: Floats, more: Floats, at_more: Floats) -> tuple[Floats, Floats]:
    xs, first = np.unique(np.concatenate([xs, more]), return_index=True)
    return xs, np.concatenate([ys, at_more], axis=1)[:, first]


def _search_discontinuities(
    function: Curves, xs: Floats, rough: Indices, extent: Extent, count: int
) -> tuple[list[Discontinuity], Floats, Floats]:
    """Return the discontinuities in the intervals that begin at the positions ``rough``, and the additional samples."""
    low, high = float(xs[0]), float(xs[-1])
    resolution = 4 * float(np.spacing(max(abs(low), abs(high))))
    left, right = bisect_intervals(function, xs[rough], xs[rough + 1], extent, count, resolution)
    left, right, middle, floor, ceiling = _merge_touching(left, right, xs[rough], xs[rough + 1], 4 * resolution)
    before, after = approach_points(left, right, floor, ceiling, resolution)
    near = np.concatenate([before, after], axis=1)
    values = np.asarray(function(np.clip(near, low, high).ravel())).reshape(-1, *near.shape)
    at_middle = np.asarray(function(middle))[0]
    exact = np.array([_short_position(*place) for place in zip(left, right, middle, strict=True)])
    values_there = np.where(np.isnan(exact), np.nan, np.asarray(function(exact))[0])
    discontinuities = []
    half = before.shape[1]
    digits = max(0, int(-math.log10(16 * resolution)))
    closest = CLOSEST * (high - low)
    for i in range(len(left)):
        sides = (left[i] - before[i], values[:, i, :half]), (after[i] - right[i], values[:, i, half:])
        inside = left[i] > low, right[i] < high
        kind, limits = _classify_place(sides, inside, float(at_middle[i]), extent, count, closest)
        through = limits_meet(limits, extent)
        if kind or not all(through):
            at = round(float(middle[i]), digits) + 0.0
            ends = float(left[i]), float(right[i])
            discontinuities.append(Discontinuity(kind, at, *ends, tuple(limits), through, float(values_there[i])))
    far = np.minimum(np.abs(near - left[:, None]), np.abs(near - right[:, None])) >= closest
    inner = far & (near > low) & (near < high)
    return discontinuities, near[inner], values[:, inner]


def _classify_place(
    sides: Sides, inside: tuple[bool, bool], value: float, extent: Extent, count: int, closest: float
) -> tuple[str, list[tuple[Limit, Limit]]]:
    """Return the kind of a discontinuity, empty for none, and the limits of each curve; ``value`` is that at the place itself."""
    limits = [_both_limits(sides, inside, extent, k) for k in range(count)]
    kind = discontinuity_kind(limits, limits_meet(limits, extent), value, extent)
    if kind == "hole":  # near a hole, which is 0/0, rounding errors dominate the derivatives
        limits[1:] = [_both_limits(sides, inside, extent, k, closest) for k in range(1, count)]
    through = limits_meet(limits, extent)
    broken = through.index(False) if not all(through) else count
    if broken < count and leaves_float_range([values[broken] for _, values in sides], inside):
        kind = "overflow" if broken == 0 else ""
    return kind, limits


def _short_position(left: float, right: float, middle: float) -> float:
    """Return the short decimal number or the multiple of pi/4 in an interval that contains a discontinuity, or nan."""
    candidates = round(4 * middle / math.pi) * math.pi / 4, float(f"{middle:.9g}")
    return next((place + 0.0 for place in candidates if left <= place <= right), math.nan)


def _both_limits(sides: Sides, inside: tuple[bool, bool], extent: Extent, curve: int, closest: float = 0.0) -> tuple[Limit, Limit]:
    """Return the limits of a curve from the left and from the right; a side beyond the plotted interval is ``outside``."""
    left, right = (
        one_sided_limit(distances, values[curve], extent, curve, closest) if there else Limit("outside")
        for (distances, values), there in zip(sides, inside, strict=True)
    )
    return left, right


def _merge_touching(
    left: Floats, right: Floats, floor: Floats, ceiling: Floats, close: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Merge intervals that touch.

    If a sample is at a discontinuity, as 0 is for 1/x, both adjacent intervals were bisected towards it.
    """
    begin = np.flatnonzero(np.concatenate([[True], left[1:] - right[:-1] > close]))
    end = np.concatenate([begin[1:], [len(left)]]) - 1
    middle = np.where(begin < end, right[begin], left[begin] + (right[end] - left[begin]) / 2)
    left, right, floor, ceiling = left[begin], right[end], floor[begin], ceiling[end]
    between = right[:-1] + (left[1:] - right[:-1]) / 2
    floor[1:] = np.maximum(floor[1:], between)
    ceiling[:-1] = np.minimum(ceiling[:-1], between)
    return left, right, middle, floor, ceiling


def _interrupt(xs: Floats, ys: Floats, discontinuities: list[Discontinuity], count: int) -> tuple[Floats, Floats]:
    """Insert the limits on both sides of each discontinuity, separated by nan in the curves that are discontinuous."""
    places = np.array([[b.left, b.left + (b.right - b.left) / 2, b.right] for b in discontinuities]).reshape(-1)
    xs, ys = _insert_samples(xs, ys, places, np.full((len(ys), len(places)), np.nan))
    for b in discontinuities:
        first, last = np.searchsorted(xs, b.left, "left"), np.searchsorted(xs, b.right, "right") - 1
        for k in range(count):
            left, right = b.limits[k]
            # The value at the discontinuity itself may be a convention, so it is not drawn.
            ys[k, first : last + 1] = left.value if b.joined[k] else np.nan
            ys[k, first] = left.value if left.kind == "finite" else np.nan
            ys[k, last] = right.value if right.kind == "finite" else np.nan
    return xs, ys


def even_points(low: float, high: float, count: int) -> Floats:
    """Return equally spaced points from ``low`` to ``high``; a point that differs from 0 only by rounding errors becomes 0."""
    points = np.linspace(low, high, count)
    points[np.abs(points) < 1e-9 * (high - low) / count] = 0.0
    return points
