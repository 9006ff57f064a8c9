"""What is the same on a terminal and in a picture: which curves share axes, what part of them is seen, ticks and names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CROWDED = 40
"""More marks than these are left to the notes."""
TINY = 1e-290
FLAT = 15
"""A curve that spans less than this part of the axes gets axes of its own."""


@dataclass(frozen=True)
class Panel:
    """Axes: the curves in them, by number, and the range of values that is seen."""

    curves: tuple[int, ...]
    low: float
    high: float


def names(plot: Any) -> list[str]:
    """What each curve is called: ``value``, ``d/dx``, ``d²/dx²``."""
    x = plot.over.name
    return ["value", f"d/d{x}", f"d²/d{x}²"][: plot.order + 1]


def panels(plot: Any, y_range: tuple[float, float] | None) -> list[Panel]:
    """Curves that can be read on the same axes together, others below them.

    Args:
        plot: a ``language.plotting.Plot``.
        y_range: what to show, where that was said: then all curves share the axes.
    """
    everything = tuple(range(len(plot.columns)))
    if y_range is not None:
        return [Panel(everything, *y_range)]
    found: list[Panel] = []
    for k in everything:
        if found:
            wider = _panel(plot, (*found[-1].curves, k))
            if all(_legible(plot.evenly[i], wider) for i in wider.curves):
                found[-1] = wider
                continue
        found.append(_panel(plot, (k,)))
    return found


def _panel(plot: Any, curves: tuple[int, ...]) -> Panel:
    """Axes on which all of the curves with bounds can be seen, and of one without at most half as much again."""
    windows = [plot.windows[k] for k in curves if np.isfinite(plot.windows[k]).all()]
    free = [any(b.unbounded(k) for b in plot.breaks) for k in curves if np.isfinite(plot.windows[k]).all()]
    if not windows:
        return Panel(curves, -1.0, 1.0)
    first = [w for w, f in zip(windows, free, strict=True) if not f] or windows[:1]
    low, high = float(min(w[0] for w in first)), float(max(w[1] for w in first))
    room = (high - low) / 2
    if room:
        low = max(min(float(w[0]) for w in windows), low - room) if min(w[0] for w in windows) < low else low
        high = min(max(float(w[1]) for w in windows), high + room) if max(w[1] for w in windows) > high else high
    return Panel(curves, *_opened(low, high))


def _opened(low: float, high: float) -> tuple[float, float]:
    """A range around what is constant, as it is otherwise."""
    if high - low > max(1e-9 * max(abs(low), abs(high)), TINY):
        # A limit that was reckoned to be 0 is 0 to the eye, and has a tick.
        none = 1e-6 * (high - low)
        return 0.0 if abs(low) < none else low, 0.0 if abs(high) < none else high
    room = abs(low) / 2 if abs(low) > TINY else 1.0
    return low - room, high + room


def _legible(y: Any, panel: Panel) -> bool:
    """Whether a curve is not flat on axes that others need, and most of it is in them."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return True
    seen = finite[(finite >= panel.low) & (finite <= panel.high)]
    if len(seen) < 0.4 * len(finite):
        return False
    span = float(np.ptp(seen))
    return span * FLAT >= panel.high - panel.low or span <= 1e-9 * float(np.abs(finite).max())


def margin(panel: Panel, share: float) -> tuple[float, float]:
    """The range of a panel with some room above and below."""
    room = (panel.high - panel.low) * share
    return panel.low - room, panel.high + room


def clipped(xs: Any, ys: Any, low: float, high: float) -> tuple[Any, Any]:
    """A curve cut off where it leaves the range of values, nan outside."""
    for bound in (low, high):
        with np.errstate(all="ignore"):
            crosses = np.flatnonzero((ys[:-1] < bound) & (ys[1:] > bound) | (ys[:-1] > bound) & (ys[1:] < bound))
            share = (bound - ys[crosses]) / (ys[crosses + 1] - ys[crosses])
        share[np.isnan(share)] = 1.0  # from a pole the border is crossed as late as can be
        at = xs[crosses] + share * (xs[crosses + 1] - xs[crosses])
        xs, ys = np.insert(xs, crosses + 1, at), np.insert(ys, crosses + 1, bound)
    with np.errstate(all="ignore"):
        return xs, np.where((ys >= low) & (ys <= high), ys, np.nan)


def runs(ys: Any) -> list[slice]:
    """The pieces of a curve without nan."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.isfinite(ys), [False]]).astype(int)))
    return [slice(a, b) for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)]


def thinned(xs: Any, ys: Any, low: float, high: float, columns: int) -> list[tuple[Any, Any]]:
    """The pieces of a curve with as many points as can be told apart: of each column the first, last, lowest and highest."""
    pieces = []
    for run in runs(ys):
        x, y = xs[run], ys[run]
        column = np.floor((x - low) / (high - low) * columns)
        begin = np.flatnonzero(np.concatenate([[True], np.diff(column) > 0]))
        end = np.concatenate([begin[1:], [len(x)]])
        kept: list[int] = []
        for a, b in zip(begin.tolist(), end.tolist(), strict=True):
            kept += sorted({a, b - 1, a + int(np.argmin(y[a:b])), a + int(np.argmax(y[a:b]))})
        pieces.append((x[kept], y[kept]))
    return pieces


def ticks(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """Round numbers in a range, at most so many, and how they are written; parts of pi between ends that are."""
    if high - low < 100 and all(abs(4 * end / math.pi - round(4 * end / math.pi)) < 1e-9 for end in (low, high)):
        for part in (0.25, 0.5, 1, 2, 5, 10, 20):
            places = _steps(low, high, part * math.pi)
            if len(places) <= most:
                return places, [_of_pi(round(place / (part * math.pi)) * part) for place in places]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (1, 2, 5, 10, 20):
        places = _steps(low, high, step * power)
        if len(places) <= most:
            break
    return places, tick_labels(places)


def _steps(low: float, high: float, step: float) -> list[float]:
    return [k * step + 0.0 for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _of_pi(share: float) -> str:
    """``-3π/4``."""
    if not share:
        return "0"
    over, below = share.as_integer_ratio()
    factor = {1: "", -1: "−"}.get(over, _with_minus(str(over)))
    return f"{factor}π{f'/{below}' if below > 1 else ''}"


def tick_labels(values: Sequence[float]) -> list[str]:
    """As few digits as tell the ticks apart."""
    apart = abs(values[1] - values[0]) / 1000 if len(values) > 1 else math.inf
    texts = [f"{v:g}" for v in values]
    for digits in range(7, 18):
        if all(abs(float(t) - v) <= apart for t, v in zip(texts, values, strict=True)):
            break
        texts = [f"{v:.{digits}g}" for v in values]
    return [_with_minus(t.replace("e+0", "e+").replace("e-0", "e-")) for t in texts]


def _with_minus(text: str) -> str:
    return text.replace("-", "−") if "e" not in text else text


def marks(plot: Any) -> list[Any]:
    """The breaks that are marked: all of them, unless they are too many."""
    return plot.breaks if len(plot.breaks) <= CROWDED else []


def vertical(found: Any) -> bool:
    """Whether a break is marked by a vertical line, as a pole is."""
    return any(side.kind == "infinite" for side in found.limits[0])


def circles(found: Any) -> list[tuple[float, float]]:
    """Where a break of the value is marked by a circle: at a kink and a hole once, at a jump on both sides."""
    if found.kind == "jump":
        return [(found.at, side.value) for side in found.limits[0]]
    return [(found.at, found.limits[0][0].value)] if found.kind in ("kink", "hole", "vertical tangent") else []


def shape_of(field: Any) -> float:
    """How much longer the vertical range of a ``language.plotting.Field`` is than the horizontal one."""
    return float((field.y[-1] - field.y[0]) / (field.x[-1] - field.x[0]))


def value_range(field: Any, given: tuple[float, float] | None) -> tuple[float, float]:
    """The range of values that colours tell apart."""
    low, high = field.window if given is None else given
    if not np.isfinite(low):
        return -1.0, 1.0
    return _opened(float(low), float(high))


def bands(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """The limits of at most so many bands of values, round numbers around the range, and how they are written."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for part in (1, 2, 2.5, 5, 10, 20):
        step = part * power
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= most:
            break
    levels = [k * step + 0.0 for k in range(first, last + 1)]
    return levels, tick_labels(levels)


def arrows(field: Any, across: int, up: int, aspect: float) -> tuple[Any, Any, Any, Any]:
    """Where the gradient is shown and which way it points, by its length: the steepest way up as the eye sees it.

    Args:
        field: a ``language.plotting.Field`` with a gradient.
        across, up: about how many arrows.
        aspect: the height of the axes by their width: arrows are at right angles to contour lines.

    Returns:
        x, y, u and v, ``(n,)`` each; the longest arrows have the length 1, and steepness shows as its third root.
    """
    column, row = _spaced(len(field.x), across), _spaced(len(field.y), up)
    at = np.ix_(row, column)
    u, v = field.gradient[0][at], field.gradient[1][at] * shape_of(field) / aspect
    x, y = np.meshgrid(field.x[column], field.y[row])
    with np.errstate(all="ignore"):
        length = np.hypot(u, v)
        good = np.isfinite(length) & (length > 0) & np.isfinite(field.value[at]) & ~field.torn[at]
        typical = np.percentile(length[good], 95) if good.any() else 1.0
        factor = np.where(good, np.clip((length / typical) ** (1 / 3), 0.25, 1) / length, 0.0)
        return x[good], y[good], (u * factor)[good], (v * factor)[good]


def _spaced(count: int, wanted: int) -> Any:
    """About so many positions among ``count``, in equal steps, away from the ends."""
    step = max(1, round(count / wanted))
    return np.arange((count - 1) % step // 2 + step // 2, count - step // 4, step)
