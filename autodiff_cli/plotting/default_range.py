"""The default range of a plot: where the value has zeros, extremes, inflection points, poles, or the ends of its domain."""

from __future__ import annotations

import math

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.plotting.discontinuities import Curves

_DECADES = (-4, 4)
_EACH = 48
"""The number of points for each decade."""
_MOST = 8
"""The maximum number of events; only the events closest to 0 count, because a periodic function has any number of them."""
_HALF = 3.0
"""The distance to both sides of 0 if nothing happens, or only at 0."""
_NOISE = 1e-12
"""The size of a derivative that may consist of rounding errors, relative to the value and its slope."""

_VANISHED = 1e-6
"""The size of a curve that has died away, relative to its largest value closer to 0."""


def default_range(function: Curves) -> tuple[float, float]:
    """Return the range in which something happens, widened to both sides as far as the value exists.

    Args:
        function: a function that returns the value and its first and second derivative, ``(3, n)``, at points ``(n,)``.
    """
    size = np.logspace(*_DECADES, _EACH * (_DECADES[1] - _DECADES[0]) + 1)
    points = np.concatenate([-size[::-1], [0.0], size])
    with np.errstate(all="ignore"):
        curves = np.asarray(function(points))
        events = _events(points, curves)
        exists = points[~np.isnan(curves[0])]
        if not len(exists):
            return -_HALF, _HALF
        ends = _end(function, points, exists[0], -1), _end(function, points, exists[-1], 1)
    events = sorted([*events, *filter(math.isfinite, ends)], key=abs)
    nearest = [place for place in events if abs(place) <= 1.001 * abs(events[min(len(events), _MOST) - 1])]
    low, high = min(nearest, default=0.0), max(nearest, default=0.0)
    room = 0.0 if len(events) > len(nearest) else (high - low) or 1.5 * abs(low) or _HALF
    low, high = _round(low - room, high + room)
    low, high = max(low, ends[0]), min(high, ends[1])
    return (low, high) if low < high else (-_HALF, _HALF)


def _events(points: Floats, curves: Floats) -> list[float]:
    """Return the places at which the value or a derivative changes its sign."""
    places: set[float] = set()
    slope = np.abs(curves[0]) + np.abs(points * curves[1])
    outwards = np.argsort(np.abs(points), kind="stable")
    inner = np.empty_like(slope)
    inner[outwards] = np.fmax.accumulate(np.where(np.isfinite(slope[outwards]), slope[outwards], 0.0))
    for k, curve in enumerate(curves):
        noise = np.abs(curve * points**k) <= _NOISE * slope if k else curve == 0
        sign = np.where(noise | (slope < _VANISHED * inner), 0.0, np.sign(curve))
        known = np.flatnonzero(np.isfinite(sign) & (sign != 0))
        turns = np.flatnonzero(sign[known][1:] != sign[known][:-1])
        for first, last in zip(known[turns], known[turns + 1], strict=True):
            a, b = float(points[first]), float(points[last])
            places.add(0.0 if a <= 0 <= b else (a + b) / 2)
    return list(places)


def _end(function: Curves, points: Floats, last: float, step: int) -> float:
    """Return the end of the domain beyond its last point on the grid, by bisection; infinity if the grid ends there."""
    position = int(np.searchsorted(points, last)) + step
    if not 0 <= position < len(points):
        return step * math.inf
    inside, outside = float(last), float(points[position])
    for _ in range(60):
        middle = (inside + outside) / 2
        if np.isnan(np.asarray(function(np.array([middle])))[0, 0]):
            outside = middle
        else:
            inside = middle
    return float(f"{inside:.9g}") if abs(inside) > 1e-9 else 0.0


def _round(low: float, high: float) -> tuple[float, float]:
    """Return the smallest range around a range whose ends are multiples of 1, 2 or 5 times a power of 10."""
    power = 10.0 ** math.floor(math.log10((high - low) / 10))
    step = next(part * power for part in (1, 2, 5, 10) if (high - low) / (part * power) <= 15)
    return round(math.floor(low / step + 1e-9) * step, 12) + 0.0, round(math.ceil(high / step - 1e-9) * step, 12) + 0.0
