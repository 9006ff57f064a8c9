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

from autodiff_cli.arrays import Floats, Indices, Mask
from autodiff_cli.plotting.discontinuities import CENTRAL, Curves, Discontinuity, Extent, mismatch, search_discontinuities

HALVINGS = 6
"""The number of times that an interval is halved, so that a line through 400 samples has up to 25,000."""
SMOOTH = 1e-3
"""The maximum distance between a curve and the line through two adjacent samples, relative to the size of the curve."""
MOST_POINTS = 60_000
"""The maximum number of samples of a curve; a picture of so many takes about a second."""
MOST_DISCONTINUITIES = 4_000
"""The maximum number of intervals that are searched; intervals with a mismatch of the value come first."""


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
    """Sample curves over an interval, adaptively, and find their discontinuities.

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
    mismatches = mismatch(xs, ys, count) > SMOOTH * extent.between(ys, count)
    doubtful, coarse = _doubtful_intervals(mismatches, most_points * MOST_DISCONTINUITIES // MOST_POINTS)
    discontinuities: list[Discontinuity] = []
    if len(doubtful):
        discontinuities, near, at_near = search_discontinuities(function, xs, doubtful, extent, count)
        xs, ys = _interrupt(*_insert_samples(xs, ys, near, at_near), discontinuities, count)
    unbounded = [any(place.unbounded(k) for place in discontinuities) for k in range(count)]
    # Near a pole there are more and larger samples, so the equally spaced ones give the range.
    windows = np.array([shown_range(evenly[k] if unbounded[k] else ys[k], unbounded[k]) for k in range(count)])
    # The ends of the plotted interval are not ends of the domain.
    inner = [place for place in discontinuities if place.left > xs[0] and place.right < xs[-1]]
    reported = [place for place in discontinuities if place.kind and (place in inner or place.unbounded(0))]
    return Samples(xs, ys[:count], evenly[:count], reported, windows, coarse)


def _doubtful_intervals(mismatches: Mask, most: int) -> tuple[Indices, bool]:
    """Return the intervals with a mismatch in the first curves, which have at most ``most``, and whether others are left out."""
    doubtful = np.zeros(mismatches.shape[1], bool)
    for mismatches_of_curve in mismatches:
        if np.count_nonzero(doubtful | mismatches_of_curve) > most:
            return np.flatnonzero(doubtful), True
        doubtful |= mismatches_of_curve
    return np.flatnonzero(doubtful), False


def merge_samples(parts: Sequence[Samples]) -> Samples:
    """Return the samples of several curves, each alone in its part, at the points of all; outside of its own, a curve is nan."""
    xs = np.unique(np.concatenate([part.xs for part in parts]))
    ys = np.empty((len(parts), len(xs)))
    discontinuities: list[Discontinuity] = []
    for k, part in enumerate(parts):
        ys[k] = np.interp(xs, part.xs, part.ys[0], left=math.nan, right=math.nan)
        ys[k, np.searchsorted(xs, part.xs)] = part.ys[0]  # own samples next to nan, where interpolation is nan
        discontinuities += [replace(mark, curve=k) for mark in part.discontinuities]
    discontinuities.sort(key=lambda mark: mark.at)
    evenly, windows = np.concatenate([part.evenly for part in parts]), np.concatenate([part.windows for part in parts])
    return Samples(xs, ys, evenly, discontinuities, windows, any(part.coarse for part in parts))


def shown_range(y: Floats, unbounded: bool) -> tuple[float, float]:
    """Return the range to show: of all values (nan if none is finite), or of the middle 80 % with half its length on each side."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return math.nan, math.nan
    low, high = float(finite.min()), float(finite.max())
    if unbounded:
        inner_low, inner_high = np.percentile(finite, CENTRAL)
        margin = (inner_high - inner_low) / 2
        low, high = max(low, float(inner_low - margin)), min(high, float(inner_high + margin))
    return low, high


def _refine(function: Curves, xs: Floats, ys: Floats, extent: Extent, count: int, most: int) -> tuple[Floats, Floats]:
    """Halve intervals until the samples of ``count`` curves follow them closely, or there would be more than ``most`` samples."""
    for _ in range(HALVINGS):
        allowed = SMOOTH * extent.between(ys, count)
        is_rough = (mismatch(xs, ys, count) > allowed).any(0)
        with np.errstate(all="ignore"):
            bends = np.diff(xs) * np.abs(np.diff(ys[1:])) / 8  # the distance of a parabola from its chord
        is_rough |= (bends[:count] > allowed[: len(bends)]).any(0)  # a line would miss the curve
        middles = (xs[:-1] + np.diff(xs) / 2)[is_rough]
        if not len(middles) or len(xs) + len(middles) > most:
            break
        xs, ys = _insert_samples(xs, ys, middles, function(middles))
    return xs, ys


def _insert_samples(xs: Floats, ys: Floats, more: Floats, at_more: Floats) -> tuple[Floats, Floats]:
    """Return samples with additional ones, ``at_more`` at the points ``more``, in order; at equal points, the first one stays."""
    xs, first = np.unique(np.concatenate([xs, more]), return_index=True)
    return xs, np.concatenate([ys, at_more], axis=1)[:, first]


def _interrupt(xs: Floats, ys: Floats, discontinuities: list[Discontinuity], count: int) -> tuple[Floats, Floats]:
    """Return samples with the limits on both sides of each discontinuity, separated by nan in the curves that are discontinuous."""
    points = np.array([[mark.left, mark.left + (mark.right - mark.left) / 2, mark.right] for mark in discontinuities]).reshape(-1)
    xs, ys = _insert_samples(xs, ys, points, np.full((len(ys), len(points)), np.nan))
    for mark in discontinuities:
        first, last = np.searchsorted(xs, mark.left, "left"), np.searchsorted(xs, mark.right, "right") - 1
        for k in range(count):
            left, right = mark.limits[k]
            # The value at the discontinuity itself may be a convention, so it is not drawn.
            ys[k, first : last + 1] = left.value if mark.joined[k] else np.nan
            ys[k, first] = left.value if left.kind == "finite" else np.nan
            ys[k, last] = right.value if right.kind == "finite" else np.nan
    return xs, ys


def even_points(low: float, high: float, count: int) -> Floats:
    """Return equally spaced points from ``low`` to ``high``; a point that differs from 0 only by rounding errors becomes 0."""
    points = np.linspace(low, high, count)
    points[np.abs(points) < 1e-9 * (high - low) / count] = 0.0
    return points
