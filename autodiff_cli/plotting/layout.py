"""The layout of plots for terminals and pictures: axes, ranges, ticks, labels and marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from autodiff_cli.arrays import Floats, Indices
from autodiff_cli.number_text import number_text
from autodiff_cli.plotting.discontinuities import Discontinuity
from autodiff_cli.plotting.model import Field, Plot

MOST_MARKS = 40
"""The maximum number of discontinuities that are marked; if there are more, no discontinuity is marked."""
TINY = 1e-290
"""A smaller number is drawn as 0."""
FLAT = 15
"""A curve that spans less than ``1/FLAT`` of the axes gets its own axes."""


class Panel(NamedTuple):
    """One pair of axes: the numbers of its curves, and the visible range of values."""

    curves: tuple[int, ...]
    low: float
    high: float


def panels(plot: Plot) -> list[Panel]:
    """Group the curves that are legible on the same axes; if the range of values is given, all curves share the axes."""
    every_curve = tuple(range(len(plot.columns)))
    if plot.y_range is not None:
        return [Panel(every_curve, *plot.scale.ends("y", *plot.y_range))]
    result: list[Panel] = []
    for k in every_curve:  # a curve joins the last panel if all its curves stay legible
        if result:
            wider = _panel(plot, (*result[-1].curves, k))
            if all(_is_legible(plot.samples.evenly[i], wider) for i in wider.curves):
                result[-1] = wider
                continue
        result.append(_panel(plot, (k,)))
    return result


def _panel(plot: Plot, curves: tuple[int, ...]) -> Panel:
    """Return axes that show bounded curves completely.

    Unbounded curves extend the range by at most half of its length in each direction.  Without finite values, it is -1 to 1.
    """
    finite = [k for k in curves if np.isfinite(plot.samples.windows[k]).all()]  # the curves with finite values
    if not finite:
        return Panel(curves, -1.0, 1.0)
    bounded = [k for k in finite if not any(mark.unbounded(k) for mark in plot.samples.discontinuities)]
    low, high = _range_of_windows(plot, bounded or finite[:1])
    most_extension = (high - low) / 2
    if most_extension:
        lowest, highest = _range_of_windows(plot, finite)
        low = min(low, max(lowest, low - most_extension))
        high = max(high, min(highest, high + most_extension))
    return Panel(curves, *_widened(low, high))


def _range_of_windows(plot: Plot, curves: Sequence[int]) -> tuple[float, float]:
    """Return the range that contains the windows of curves."""
    windows = plot.samples.windows[list(curves)]
    return float(windows[:, 0].min()), float(windows[:, 1].max())


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return a range for axes or colours; the range of a constant is widened by half of it, or by 1 if it is 0."""
    if high - low > max(1e-9 * max(abs(low), abs(high)), TINY):
        # A bound that differs from 0 only by rounding errors becomes 0.
        negligible = 1e-6 * (high - low)
        return 0.0 if abs(low) < negligible else low, 0.0 if abs(high) < negligible else high
    room = abs(low) / 2 if abs(low) > TINY else 1.0
    return low - room, high + room


def _is_legible(y: Floats, panel: Panel) -> bool:
    """Return whether 40% of a curve is inside the axes and constant or not too flat there; one without finite values is legible."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return True
    inside = finite[(finite >= panel.low) & (finite <= panel.high)]
    if len(inside) < 0.4 * len(finite):
        return False
    span = float(np.ptp(inside))
    is_constant = span <= 1e-9 * float(np.abs(finite).max())  # but for rounding errors
    return is_constant or span * FLAT >= panel.high - panel.low


def clip_curve(xs: Floats, ys: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return a curve with points where it crosses the bounds of a range of values; values outside the range become nan."""
    for bound in (low, high):
        with np.errstate(all="ignore"):
            before, after = ys[:-1], ys[1:]
            crosses = np.flatnonzero((before < bound) & (after > bound) | (before > bound) & (after < bound))  # the intervals
            share = (bound - before[crosses]) / (after[crosses] - before[crosses])  # of the interval, by linear interpolation
        share[np.isnan(share)] = 1.0  # next to a pole, the bound is crossed at the end of the interval
        crossings = xs[crosses] + share * (xs[crosses + 1] - xs[crosses])
        xs, ys = np.insert(xs, crosses + 1, crossings), np.insert(ys, crosses + 1, bound)
    with np.errstate(all="ignore"):
        return xs, np.where((ys >= low) & (ys <= high), ys, np.nan)


def finite_slices(ys: Floats) -> list[slice]:
    """Return the slices of a curve in which all values are finite."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.isfinite(ys), [False]]).astype(int)))
    return [slice(a, b) for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)]


def thin_curve(xs: Floats, ys: Floats, low: float, high: float, columns: int) -> list[tuple[Floats, Floats]]:
    """Return the pieces of a curve between nans, with the first, last, lowest and highest point of each column from low to high."""
    pieces = []
    for piece in finite_slices(ys):
        x, y = xs[piece], ys[piece]
        column = np.floor((x - low) / (high - low) * columns)
        begins = np.flatnonzero(np.concatenate([[True], np.diff(column) > 0]))
        ends = np.concatenate([begins[1:], [len(x)]])
        points: list[int] = []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            lowest, highest = begin + int(np.argmin(y[begin:end])), begin + int(np.argmax(y[begin:end]))
            points += sorted({begin, lowest, highest, end - 1})
        pieces.append((x[points], y[points]))
    return pieces


def ticks(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """Return at most ``most`` ticks and their labels: multiples of pi if the bounds are multiples of pi/4, else round numbers."""
    quarters_of_pi = [4 * end / math.pi for end in (low, high)]
    if high - low < 100 and all(abs(number - round(number)) < 1e-9 for number in quarters_of_pi):
        step = _first_step(low, high, [factor * math.pi for factor in (0.25, 0.5, 1, 2, 5, 10, 20)], most)
        places = _multiples(low, high, step)
        if len(places) <= most:
            return places, [_pi_label(round(4 * place / math.pi) / 4) for place in places]
    power = 10.0 ** math.floor(math.log10((high - low) / most))  # below the distance of two ticks
    places = _multiples(low, high, _first_step(low, high, [part * power for part in (1, 2, 5, 10, 20)], most))
    return places, tick_labels(places)


def _first_step(low: float, high: float, steps: Sequence[float], most: int) -> float:
    """Return the first of some distances between ticks that gives at most ``most`` ticks, or the last one."""
    return next((step for step in steps if len(_multiples(low, high, step)) <= most), steps[-1])


def axis_ticks(plot: Plot, axis: str, ends: tuple[float, float], most: int) -> tuple[list[float], list[str]]:
    """Return the ticks of the axis ``x`` or ``y`` of a plot."""
    return log_ticks(*ends, most) if axis in plot.scale.log else ticks(*ends, most)


def log_ticks(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """Return at most ``most`` ticks of a logarithmic axis whose ends are the logarithms ``low`` and ``high``, and their labels.

    They are at 1, 2 and 5 times powers of 10, at all or some powers, or at round numbers if the range has less than two of these.
    """
    powers = range(math.floor(low + 1e-9), math.ceil(high - 1e-9) + 1)
    fine, coarse = ((1, 2, 5), 1), [((1,), step) for step in (1, 2, 3, 4, 5, 10, 20, 50, 100, 200)]
    for digits, step in (fine, *coarse):  # the leading digits, and every how many powers there is a tick
        values = [digit * 10.0**power for power in powers if power % step == 0 for digit in digits]
        values = [value for value in values if low - 1e-9 <= math.log10(value) <= high + 1e-9]
        if 2 <= len(values) <= most:
            return [math.log10(value) for value in values], [number_text(value) for value in values]
    values, labels = ticks(10.0**low, 10.0**high, most)
    positive = [k for k, value in enumerate(values) if value > 0]
    return [math.log10(values[k]) for k in positive], [labels[k] for k in positive]


def _multiples(low: float, high: float, step: float) -> list[float]:
    """Return the multiples of a step in a range, whose ends may have rounding errors."""
    return [k * step + 0.0 for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _pi_label(share: float) -> str:
    """Return a multiple of pi as text: ``−3π/4``."""
    if not share:
        return "0"
    numerator, denominator = share.as_integer_ratio()
    factor = {1: "", -1: "−"}.get(numerator, _with_minus(str(numerator)))
    return f"{factor}π{f'/{denominator}' if denominator > 1 else ''}"


def tick_labels(values: Sequence[float]) -> list[str]:
    """Return the labels of ticks, with the fewest digits that are right to a thousandth of the distance between two ticks."""
    tolerance = abs(values[1] - values[0]) / 1000 if len(values) > 1 else math.inf
    texts = [number_text(value) for value in values]
    for digits in range(7, 18):  # six, the default, may not distinguish them; 17 are exact
        if all(abs(float(text) - value) <= tolerance for text, value in zip(texts, values, strict=True)):
            break
        texts = [number_text(value, digits) for value in values]
    return [_with_minus(text) for text in texts]


def _with_minus(text: str) -> str:
    """Return the text of a number with a typographic minus sign; one with an exponent stays as it is."""
    return text.replace("-", "−") if "e" not in text else text


def shown_marks(plot: Plot) -> list[Discontinuity]:
    """Return the discontinuities to mark: all, or none if there are too many."""
    return plot.samples.discontinuities if len(plot.samples.discontinuities) <= MOST_MARKS else []


def has_vertical_line(mark: Discontinuity) -> bool:
    """Return whether a discontinuity is marked with a vertical line, as a pole is."""
    return any(side.kind == "infinite" for side in mark.limits[0])


class Circle(NamedTuple):
    """A circle at a discontinuity, which is filled if the point belongs to the curve."""

    x: float
    y: float
    filled: bool


def mark_circles(mark: Discontinuity) -> list[Circle]:
    """Return the circles at a discontinuity: at the limits from both sides, and at the value if it is different; none at a pole."""
    left, right = mark.limits[0]
    if mark.kind in ("kink", "vertical tangent"):
        return [Circle(mark.at, left.value, True)]
    if mark.kind not in ("jump", "hole"):
        return []
    limits = {left.value: None, right.value: None} if mark.kind == "jump" else {left.value: None}  # in order, each once
    negligible = 1e-6 * max(map(abs, (*limits, mark.value)))
    circles = [Circle(mark.at, y, abs(y - mark.value) <= negligible) for y in limits]
    is_apart = np.isfinite(mark.value) and not any(circle.filled for circle in circles)
    return [*circles, Circle(mark.at, mark.value, True)] if is_apart else circles


def path_marks(count: int) -> list[str]:
    """Return the character for each point of a path; the last point is larger."""
    return [*"•" * (count - 1), *"●"[:count]]


def height_over_width(field: Field) -> float:
    """Return the length of the vertical range divided by the length of the horizontal range."""
    return float((field.y[-1] - field.y[0]) / (field.x[-1] - field.x[0]))


def value_range(field: Field) -> tuple[float, float]:
    """Return the range of values for the colours, which is -1 to 1 if no value is finite."""
    low, high = field.y_range or field.window
    if not np.isfinite(low):
        return -1.0, 1.0
    return _widened(float(low), float(high))


def value_bands(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """Return the limits of at most ``most`` bands of values, and their labels; the limits are round numbers around the range."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))  # below the least width of a band
    for digit in (1, 2, 2.5, 5, 10, 20):  # times the power; 20 always suffices
        step = digit * power
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)  # the multiples of the step around the range
        if last - first <= most:
            break
    levels = [k * step + 0.0 for k in range(first, last + 1)]
    return levels, tick_labels(levels)


def gradient_arrows(field: Field, across: int, up: int, aspect: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the arrows of the gradient, in the direction of steepest ascent on the screen.

    Args:
        field: the field; its order must be 1.
        across, up: the approximate number of arrows in each row and in each column.
        aspect: the ratio of the height of the axes to their width, which makes arrows perpendicular to contour lines.

    Returns:
        The positions x, y and the directions u, v, ``(n,)`` each.  The longest arrows have length 1.  The length of a shorter
        arrow is proportional to the cube root of the magnitude of the gradient, but it is at least 0.25.
    """
    assert field.gradient is not None
    column, row = _spaced_indices(len(field.x), across), _spaced_indices(len(field.y), up)
    at = np.ix_(row, column)
    u, v = field.gradient[0][at], field.gradient[1][at] * height_over_width(field) / aspect
    x, y = np.meshgrid(field.x[column], field.y[row])
    with np.errstate(all="ignore"):
        length = np.hypot(u, v)
        drawn = np.isfinite(length) & (length > 0) & np.isfinite(field.value[at]) & ~field.discontinuous[at]
        longest = np.percentile(length[drawn], 95) if drawn.any() else 1.0  # without outliers
        drawn_length = np.clip((length / longest) ** (1 / 3), 0.25, 1)
        factor = drawn_length / length
        return x[drawn], y[drawn], (u * factor)[drawn], (v * factor)[drawn]


def _spaced_indices(count: int, target: int) -> Indices:
    """Return about ``target`` of ``count`` positions, equally spaced, with a margin at both ends."""
    step = max(1, round(count / target))  # half of a step, and half of what is left over, is the margin
    return np.arange((count - 1) % step // 2 + step // 2, count - step // 4, step)
