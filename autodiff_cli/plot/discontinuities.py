"""Where a curve breaks: poles, jumps, kinks and ends of the domain, found to the last digits and told apart.

A place where neighbouring samples do not fit together is closed in by bisection.  What is there is decided by the limits
from both sides: the curves are sampled at distances that shrink from a sample's step to the resolution of a float, and the
differences between one distance and the next say whether they arrive, grow without bound or never settle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Curves = Callable[[Any], Any]
"""Takes points ``(n,)``, gives ``(k, n)``: the value there, the first derivative, ...; each is the slope of the one before."""

CENTRAL = (10, 90)
"""Percentiles that most of a curve is between."""
DISTANCES = 60
"""How many distances on each side a limit is looked at from."""
SLOWEST = 0.02
"""A difference that shrinks with a lower power of the distance than this belongs to a curve without bound: log(x) has 0."""
_TAIL = 10
NEGLIGIBLE = 1e-3
"""Of the size of a curve: a smaller jump cannot be seen."""
DOUBTFUL = 1e-4
"""Of the size of a curve: what fits better than this is left to the next derivative."""


LARGE = 1e290
"""A pole is not that high one float beside it, unless all of the curve is."""


class Extent:
    """How large differences of each curve have to be to be seen."""

    def __init__(self, ys: Any) -> None:
        self._centers = np.zeros(len(ys))
        self._spans = np.ones(len(ys))
        for k, y in enumerate(ys):
            finite = y[np.isfinite(y)]
            if len(finite):
                low, center, high = np.percentile(finite, (CENTRAL[0], 50, CENTRAL[1]))
                # Of sign(x) or where(x == 0, 1, 0) there may be nothing between.
                span, largest = high - low or np.ptp(finite), np.abs(finite).max()
                self._centers[k] = center
                self._spans[k] = span if span > 1e-12 * largest else largest or 1.0

    def size(self, curve: int, y: Any) -> Any:
        """What differences near the values ``y`` are compared with: what the curve spans; far out, more."""
        with np.errstate(all="ignore"):
            size = np.fmax(self._spans[curve], np.abs(y - self._centers[curve]) / 3)
            return np.where(np.isfinite(size), size, self._spans[curve])

    def between(self, ys: Any, shown: int) -> Any:
        """The same for each of the first curves and each interval between samples: the smaller one of its ends."""
        sizes = np.stack([self.size(k, ys[k]) for k in range(shown)])
        return np.minimum(sizes[:, :-1], sizes[:, 1:])

    def meet(self, curve: int, a: float, b: float, doubt: float = 0.0) -> bool:
        """Whether two values are the same to the eye."""
        return bool(abs(a - b) <= NEGLIGIBLE * self.size(curve, a) + doubt)


@dataclass(frozen=True)
class Limit:
    """What a curve does on its way to a place from one side.

    Attributes:
        kind: ``finite``, ``infinite``, ``none`` (it oscillates) or ``outside`` (there is no curve on this side).
        value: the limit, nan where there is none.
        doubt: by how much it may be wrong, where it was reckoned from what was still to come.
    """

    kind: str
    value: float = math.nan
    doubt: float = 0.0


@dataclass(frozen=True)
class Break:
    """A place where at least one curve is interrupted.

    Attributes:
        kind: of the lowest curve that is: ``pole``, ``jump``, ``hole``, ``edge`` (of the domain), ``oscillation`` or
            ``overflow`` of the value;
            ``kink`` or ``vertical tangent`` where only derivatives are; ``bend`` where only the second one is.
        at: the place.
        left, right: the closest points that were looked at.
        limits: for each curve those from the left and from the right.
        joined: for each curve whether it goes on through the place.
    """

    kind: str
    at: float
    left: float
    right: float
    limits: tuple[tuple[Limit, Limit], ...]
    joined: tuple[bool, ...]

    def unbounded(self, curve: int) -> bool:
        """Whether a curve grows without bound here, or oscillates."""
        return any(side.kind in ("infinite", "none") for side in self.limits[curve])


def misfit(xs: Any, ys: Any, shown: int) -> Any:
    """By how much neighbouring samples contradict the slopes between them.

    Args:
        xs, ys: samples in order, ``(n,)`` and ``(k, n)``; or many pairs of them, ``(2, m)`` and ``(k, 2, m)``.
        shown: how many of the curves count.

    Returns:
        for each curve and interval, ``(shown, n - 1)``; ``inf`` where a curve begins or ends or is infinite.
    """
    steps = np.diff(xs, axis=0)
    found = np.empty((shown, *steps.shape))
    with np.errstate(all="ignore"):
        for k in range(shown):
            rise = np.diff(ys[k], axis=0)
            if k + 1 < len(ys):
                fitted = rise - steps * (ys[k + 1][:-1] + ys[k + 1][1:]) / 2
                rise = np.where(np.isfinite(fitted), fitted, rise)  # a slope that is infinite says nothing
            elif len(rise) > 2:  # no slope is known: that of the intervals on both sides
                slopes = rise / steps
                fitted = rise[1:-1] - steps[1:-1] * (slopes[:-2] + slopes[2:]) / 2
                rise[1:-1] = np.where(np.isfinite(fitted), fitted, rise[1:-1])
            finite = np.isfinite(ys[k])
            # Where there is no curve on either side, nothing can contradict it.
            found[k] = np.where(finite[:-1] & finite[1:], np.abs(rise), np.where(finite[:-1] | finite[1:], np.inf, 0.0))
    return found


def closed_in(function: Curves, left: Any, right: Any, extent: Extent, shown: int, resolution: float) -> tuple[Any, Any]:
    """Bisect intervals towards what does not fit in them, all at once; their ends, ``resolution`` apart."""
    ends = np.stack([left, right])
    values = np.stack([function(left), function(right)], axis=1)
    while ends.shape[1] and np.max(ends[1] - ends[0]) > resolution:
        middle = ends[0] + (ends[1] - ends[0]) / 2
        at_middle = np.asarray(function(middle))
        before = np.stack([ends[0], middle]), np.stack([values[:, 0], at_middle], axis=1)
        after = np.stack([middle, ends[1]]), np.stack([at_middle, values[:, 1]], axis=1)
        sizes = np.stack([np.fmax(*extent.size(k, values[k])) for k in range(shown)])
        first = _rougher(_roughness(*before, shown) / sizes, _roughness(*after, shown) / sizes)
        ends = np.where(first, before[0], after[0])
        values = np.where(first, before[1], after[1])
    return ends[0], ends[1]


def _roughness(ends: Any, values: Any, shown: int) -> Any:
    """What does not fit in each of many intervals, for each curve; a pole with equal sides shows in its slopes alone."""
    found = misfit(ends, values, shown)[:, 0]
    with np.errstate(all="ignore"):
        for k in range(min(shown, len(values) - 1)):
            bend = (ends[1] - ends[0]) * np.abs(values[k + 1, 1] - values[k + 1, 0])
            found[k] += np.where(np.isfinite(bend), bend, 0.0)
    return found


def _rougher(first: Any, second: Any) -> Any:
    """Whether the first half of each interval is the one to look into, going by the lowest curve that says something."""
    worst = np.maximum(first, second)
    curve = np.where((worst > DOUBTFUL).any(0), (worst > DOUBTFUL).argmax(0), worst.argmax(0))
    columns = np.arange(first.shape[1])
    return first[curve, columns] >= second[curve, columns]


def approaches(left: Any, right: Any, low: Any, high: Any, resolution: float) -> tuple[Any, Any]:
    """Points that close in on intervals, ``(n, DISTANCES)`` on each side, the closest last.

    Args:
        left, right: the intervals.
        low, high: how far the points may go on each side.
        resolution: the smallest distance that means anything.
    """
    closest = 64 * resolution
    share = np.linspace(0.0, 1.0, DISTANCES)
    distances = []
    for room in (left - low, high - right):
        room = np.maximum(room, closest)[:, None]
        distances.append(room * (closest / room) ** share)
    return left[:, None] - distances[0], right[:, None] + distances[1]


def limit(distances: Any, values: Any, extent: Extent, curve: int, closest: float = 0.0) -> Limit:
    """What a curve does as the distances shrink, the closest last.

    Args:
        distances, values: on one side of a place, ``(n,)`` each.
        extent: of the curves.
        curve: which one this is.
        closest: the smallest distance that says something.
    """
    if closest and np.count_nonzero(distances >= closest) > _TAIL:
        values, distances = values[distances >= closest], distances[distances >= closest]
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
    if sizes.max() <= NEGLIGIBLE / 100 * scale or not sizes.all():
        return Limit("finite", last)
    if (steps > 0).any() and (steps < 0).any():
        return Limit("finite", last) if sizes[-3:].max() <= NEGLIGIBLE / 10 * scale else _plateau(values, extent, curve)
    shrink = float((sizes[-1] / sizes[0]) ** (1 / (len(sizes) - 1)))
    power = math.log(shrink) / math.log(distances[-1] / distances[-2])
    if power <= SLOWEST:
        return Limit("infinite", math.copysign(math.inf, steps[-1]))
    # A geometric series: what is still to come after the last step.
    rest = float(steps[-1]) * shrink / (1 - shrink)
    return Limit("finite", last + rest, abs(rest) / 10)


def _plateau(values: Any, extent: Extent, curve: int) -> Limit:
    """The limit that a curve had arrived at before rounding took over, as it does in the derivatives of sin(x)/x at 0."""
    for end in range(len(values) - 1, 5, -1):
        last = float(values[end])
        if np.ptp(values[end - 5 : end + 1]) <= NEGLIGIBLE / 2 * extent.size(curve, last):
            return Limit("finite", last)
    return Limit("none")


def joined(limits: Sequence[tuple[Limit, Limit]], extent: Extent) -> tuple[bool, ...]:
    """For each curve whether its two sides meet."""
    return tuple(
        left.kind == right.kind == "finite" and extent.meet(k, left.value, right.value, left.doubt + right.doubt)
        for k, (left, right) in enumerate(limits)
    )


def overflowed(sides: Sequence[Any], inside: Sequence[bool]) -> bool:
    """Whether a curve is infinite all along one side, and on the other too or already larger than any pole gets.

    That is a curve which grows until a float cannot hold it; towards a pole it is finite, and grows at the last moment.

    Args:
        sides: the values on the left and on the right, the closest one last.
        inside: whether a side is in the interval that is looked at.
    """
    if not all(inside):
        return False
    infinite = [bool(np.isinf(values).all()) for values in sides]
    high = [abs(values[-1]) > LARGE and bool(np.isfinite(values).all() or (np.abs(values) > LARGE).all()) for values in sides]
    return any(infinite) and all(high) and bool(np.sign(sides[0][-1]) == np.sign(sides[1][-1]))


def told_apart(limits: Sequence[tuple[Limit, Limit]], through: Sequence[bool], value: float, extent: Extent) -> str:
    """The kind of a break, empty where every curve goes on.

    Args:
        limits: for each curve those from both sides.
        through: for each curve whether they meet.
        value: the value at the place itself.
        extent: of the curves.
    """
    kinds = [{left.kind, right.kind} for left, right in limits]
    if not through[0]:
        if kinds[0] == {"outside"}:
            return ""
        if "outside" in kinds[0]:
            return "edge"
        return "pole" if "infinite" in kinds[0] else "oscillation" if "none" in kinds[0] else "jump"
    if not math.isfinite(value) or not extent.meet(0, value, limits[0][0].value, limits[0][0].doubt):
        return "hole"
    if len(limits) > 1 and not through[1]:
        return "vertical tangent" if "infinite" in kinds[1] else "kink" if kinds[1] == {"finite"} else "oscillation"
    return "bend" if len(limits) > 2 and not through[2] else ""
