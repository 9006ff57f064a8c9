"""Samples of a curve and its derivatives for drawing: closer where it bends, interrupted where it breaks.

Equal steps come first.  Intervals whose ends do not fit together, going by the exact slopes there, are halved a few times;
what still does not fit is a break, see ``breaks``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_cli.plot.discontinuities import (
    CENTRAL,
    Break,
    Curves,
    Extent,
    Limit,
    approaches,
    closed_in,
    joined,
    limit,
    misfit,
    overflowed,
)
from autodiff_cli.plot.discontinuities import told_apart as kind_of

HALVINGS = 6
SMOOTH = 1e-3
"""Of the size of a curve: how far it may be from the line between two samples."""
MOST_POINTS = 60_000
MOST_BREAKS = 4_000
"""So many places are looked at, first those where the value does not fit, then those of the derivatives."""
CLOSEST = 1e-6
"""Of the whole interval: samples that are closer to a break than this add nothing to a picture but rounding."""


@dataclass(frozen=True)
class Samples:
    """Curves that are ready to be drawn.

    Attributes:
        xs: points, in order, ``(n,)``.
        ys: the curves there, ``(k, n)``; nan where a curve is interrupted.
        evenly: the curves at the points that sampling began with, in equal steps, ``(k, m)``.
        breaks: where, and what is there.
        windows: for each curve the range of values that should be seen, ``(k, 2)``; nan if it has no finite value.
        coarse: whether the curves change faster than the samples can show, so that some breaks may be missing.
    """

    xs: Any
    ys: Any
    evenly: Any
    breaks: list[Break]
    windows: Any
    coarse: bool


def sample(function: Curves, xs: Any, shown: int, most_points: int = MOST_POINTS) -> Samples:
    """Sample curves over an interval.

    Args:
        function: points ``(n,)`` to the value and its derivatives ``(k, n)``, with one derivative more than is drawn if there
            is one: it is the slope of the last curve.
        xs: points to begin with, in order, at least two.
        shown: how many of the curves are drawn, from the value on.
        most_points: how many points may be sampled between them.
    """
    evenly = ys = np.asarray(function(xs))
    extent = Extent(ys)
    xs, ys = _refined(function, xs, ys, extent, shown, most_points)
    doubtful = np.zeros(len(xs) - 1, bool)
    coarse = False
    for misfits in misfit(xs, ys, shown) > SMOOTH * extent.between(ys, shown):
        coarse = int(np.count_nonzero(doubtful | misfits)) > most_points * MOST_BREAKS // MOST_POINTS
        if coarse:
            break
        doubtful |= misfits
    found: list[Break] = []
    rough = np.flatnonzero(doubtful)
    if len(rough):
        found, near, at_near = _searched(function, xs, rough, extent, shown)
        xs, ys = _interrupted(*_with(xs, ys, near, at_near), found, shown)
    free = [any(b.unbounded(k) for b in found) for k in range(shown)]
    windows = np.array([window(evenly[k] if free[k] else ys[k], free[k]) for k in range(shown)])
    # At the ends of the interval one side is outside of it, which is no news.
    inner = [b for b in found if b.left > xs[0] and b.right < xs[-1]]
    breaks = [b for b in found if b.kind and (b in inner or b.unbounded(0))]
    return Samples(xs, ys[:shown], evenly[:shown], breaks, windows, coarse)


def window(y: Any, unbounded: bool) -> tuple[float, float]:
    """The range of values to look at: all of a curve, or most of one without bound; nan for none."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return math.nan, math.nan
    low, high = float(finite.min()), float(finite.max())
    if unbounded:
        inner = np.percentile(finite, CENTRAL)
        margin = (inner[1] - inner[0]) / 2
        low, high = max(low, float(inner[0] - margin)), min(high, float(inner[1] + margin))
    return low, high


def _refined(function: Curves, xs: Any, ys: Any, extent: Extent, shown: int, most: int) -> tuple[Any, Any]:
    for _ in range(HALVINGS):
        allowed = SMOOTH * extent.between(ys, shown)
        rough = (misfit(xs, ys, shown) > allowed).any(0)
        with np.errstate(all="ignore"):
            bends = np.diff(xs) * np.abs(np.diff(ys[1:])) / 8
        rough |= (bends[:shown] > allowed[: len(bends)]).any(0)
        middles = (xs[:-1] + np.diff(xs) / 2)[rough]
        if not len(middles) or len(xs) + len(middles) > most:
            break
        xs, ys = _with(xs, ys, middles, function(middles))
    return xs, ys


def _with(xs: Any, ys: Any, more: Any, at_more: Any) -> tuple[Any, Any]:
    """Samples and further ones, in order."""
    xs, first = np.unique(np.concatenate([xs, more]), return_index=True)
    return xs, np.concatenate([ys, at_more], axis=1)[:, first]


def _searched(function: Curves, xs: Any, rough: Any, extent: Extent, shown: int) -> tuple[list[Break], Any, Any]:
    """What is in the intervals that do not fit, and the samples that were taken to find out."""
    low, high = float(xs[0]), float(xs[-1])
    resolution = 4 * float(np.spacing(max(abs(low), abs(high))))
    left, right = closed_in(function, xs[rough], xs[rough + 1], extent, shown, resolution)
    left, right, middle, floor, ceiling = _merged(left, right, xs[rough], xs[rough + 1], 4 * resolution)
    before, after = approaches(left, right, floor, ceiling, resolution)
    near = np.concatenate([before, after], axis=1)
    values = np.asarray(function(np.clip(near, low, high).ravel())).reshape(-1, *near.shape)
    at_middle = np.asarray(function(middle))[0]
    found = []
    half = before.shape[1]
    digits = max(0, int(-math.log10(16 * resolution)))
    for i in range(len(left)):
        sides = (left[i] - before[i], values[:, i, :half]), (after[i] - right[i], values[:, i, half:])
        inside = left[i] > low, right[i] < high
        limits = [_limits(sides, inside, extent, k) for k in range(shown)]
        kind = kind_of(limits, joined(limits, extent), float(at_middle[i]), extent)
        if kind == "hole":  # 0/0: its derivatives divide rounding by powers of the distance
            limits[1:] = [_limits(sides, inside, extent, k, CLOSEST * (high - low)) for k in range(1, shown)]
        through = joined(limits, extent)
        broken = through.index(False) if not all(through) else shown
        if broken < shown and overflowed([values[broken] for _, values in sides], inside):
            kind = "overflow" if broken == 0 else ""
        if kind or not all(through):
            at = round(float(middle[i]), digits) + 0.0
            found.append(Break(kind, at, float(left[i]), float(right[i]), tuple(limits), through))
    far = np.minimum(np.abs(near - left[:, None]), np.abs(near - right[:, None])) >= CLOSEST * (high - low)
    kept = far & (near > low) & (near < high)
    return found, near[kept], values[:, kept]


def _limits(sides: Any, inside: tuple[bool, bool], extent: Extent, curve: int, closest: float = 0.0) -> tuple[Limit, Limit]:
    """The limits of a curve from the left and from the right; none beyond the ends of the interval."""
    left, right = (
        limit(distances, values[curve], extent, curve, closest) if there else Limit("outside")
        for (distances, values), there in zip(sides, inside, strict=True)
    )
    return left, right


def _merged(left: Any, right: Any, floor: Any, ceiling: Any, close: float) -> tuple[Any, Any, Any, Any, Any]:
    """Intervals that touch as one, with the place between, and how far the curve may be looked at on both sides.

    A curve that ends and begins again at a single point, as 1/x does, was closed in from both sides; the point is where they
    touch.
    """
    begin = np.flatnonzero(np.concatenate([[True], left[1:] - right[:-1] > close]))
    end = np.concatenate([begin[1:], [len(left)]]) - 1
    middle = np.where(begin < end, right[begin], left[begin] + (right[end] - left[begin]) / 2)
    left, right, floor, ceiling = left[begin], right[end], floor[begin], ceiling[end]
    between = right[:-1] + (left[1:] - right[:-1]) / 2
    floor[1:] = np.maximum(floor[1:], between)
    ceiling[:-1] = np.minimum(ceiling[:-1], between)
    return left, right, middle, floor, ceiling


def _interrupted(xs: Any, ys: Any, found: list[Break], shown: int) -> tuple[Any, Any]:
    """Samples with nan at each break in the curves that do not go on through it, and the limits on both sides of it."""
    places = np.array([[b.left, b.left + (b.right - b.left) / 2, b.right] for b in found]).reshape(-1)
    xs, ys = _with(xs, ys, places, np.full((len(ys), len(places)), np.nan))
    for b in found:
        first, last = np.searchsorted(xs, b.left, "left"), np.searchsorted(xs, b.right, "right") - 1
        for k in range(shown):
            left, right = b.limits[k]
            # What a convention answers at the place itself is not on the way from one side to the other.
            ys[k, first : last + 1] = left.value if b.joined[k] else np.nan
            ys[k, first] = left.value if left.kind == "finite" else np.nan
            ys[k, last] = right.value if right.kind == "finite" else np.nan
    return xs, ys


def even(low: float, high: float, count: int) -> Any:
    """Points in equal steps from one end to the other, with 0 exactly if it is one of them."""
    points = np.linspace(low, high, count)
    points[np.abs(points) < 1e-9 * (high - low) / count] = 0.0
    return points
