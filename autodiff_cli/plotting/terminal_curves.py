"""Curves on a terminal, drawn with plotext as solid, dashed and dotted lines of braille dots, distinguishable without colour."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.errors import setting
from autodiff_cli.lazy import library
from autodiff_cli.plotting import layout
from autodiff_cli.plotting.layout import Panel
from autodiff_cli.plotting.model import Plot
from autodiff_cli.report.control_characters import visible
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.terminal import is_colored, most_columns

COLORS = (32, 166, 133, 35, 161, 136)
"""Blue, orange, purple, green, red and brown in the palette of 256 colours; they are legible on black and on white."""
DASHES = ((1, 0), (6, 4), (1, 3), (14, 4), (3, 3), (1, 7))
"""The line style of each curve: the number of dots drawn, and the number of dots skipped after them."""
LEGEND_SAMPLES = ("━━━━", "━ ━ ", "· · ", "━━━ ", "╸╸╸╸", "·   ")
WIDEST, NARROWEST = 120, 24
GRAY = 244


def plot_size() -> tuple[int, int]:
    """Return the number of columns and of rows of a plot.

    The width is that of the terminal or of ``COLUMNS``, at most 120 columns, or 80 in a pipe.  The height is a quarter of the
    width, but at least 18 rows, reduced to fit the terminal with four rows to spare, or else 8 rows.
    """
    columns, lines = shutil.get_terminal_size((80, 24)) if sys.stdout.isatty() else (most_columns() or 80, 24)
    columns = max(NARROWEST, min(columns, WIDEST))
    usual_height = max(18, columns // 4)
    return columns, max(8, min(usual_height, lines - 4))


def pages(plot: Plot, _: int) -> list[Text]:
    """Return the plot without colours, as a part of the output for people."""
    return [Text(drawn(plot, "never"))]


def drawn(plot: Plot, color: str) -> str:
    """Return the plot of curves as text for standard output; panels, of at least 8 rows, share the height of a plot."""
    colorless = not is_colored(color)
    columns, rows = plot_size()
    panels = layout.panels(plot)
    height = max(8, rows // len(panels)) if len(panels) > 1 else rows
    lines: list[str] = []
    for panel in panels:
        lines += [*_legend(plot, panel, columns, colorless), *_panel_lines(plot, panel, columns, height, colorless)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _legend(plot: Plot, panel: Panel, columns: int, colorless: bool) -> list[str]:
    """Return the lines of the legend of a panel, each of which has as many curves as fit, but at least one."""
    lines: list[str] = []
    room = 0  # the number of free columns of the last line
    for k in panel.curves:
        name = visible(plot.curves[k].label)
        if room < len(name) + 8 and room < columns:  # three blanks, the sample and a blank are 8 columns
            lines.append("")
            room = columns
        sample = LEGEND_SAMPLES[k] if colorless else f"\x1b[38;5;{COLORS[k]}m{LEGEND_SAMPLES[k]}\x1b[0m"
        lines[-1] += f"   {sample} {name}"
        room -= len(name) + 8
    return lines


def _panel_lines(plot: Plot, panel: Panel, columns: int, rows: int, colorless: bool) -> list[str]:
    """Return the lines of a panel of so many columns and rows: axes, curves, their marks and the points of the path."""
    low, high = ends = plot.scale.x_ends(plot.over)
    y_ticks = layout.axis_ticks(plot, "y", (panel.low, panel.high), max(3, rows // 4))
    x_ticks = layout.axis_ticks(plot, "x", ends, max(3, columns // 10))
    plotext, figure = empty_figure(columns, rows, ends, (panel.low, panel.high), y_ticks, x_ticks)
    inner = columns - max(map(len, y_ticks[1])) - 2, rows - 3  # the columns and rows without the labels and the frame
    if panel.low < 0 < panel.high and "y" not in plot.scale.log:
        figure.line(0, "horizontal", style="dotted", pixel=plotext.pixel(GRAY))
    for mark in layout.shown_marks(plot):
        if layout.has_vertical_line(mark) and low < mark.at < high:
            figure.line(mark.at, "vertical", style="dotted", pixel=plotext.pixel(GRAY))
    for k in reversed(panel.curves):  # so that the first curve is above the others
        _draw_curve(plotext, plot, panel, k, inner)
    for x, y, character, color in _single_points(plot, panel):
        if low <= x <= high and panel.low <= y <= panel.high:
            figure.draw(figure.signal([x], [y], marker=plotext.marker(character, color)))
    return figure_lines(figure, colorless)


def _single_points(plot: Plot, panel: Panel) -> Iterator[tuple[float, float, str, int]]:
    """Yield the points of a panel, at discontinuities and on the path: the position, the character and the colour."""
    for mark in layout.shown_marks(plot):
        if mark.curve in panel.curves:
            yield from ((x, y, "●" if filled else "○", COLORS[mark.curve]) for x, y, filled in layout.mark_circles(mark))
    if 0 in panel.curves:  # the path is on the first curve
        path = zip(*plot.scale.to_axes(plot.path).T, layout.path_marks(len(plot.path)), strict=True)
        yield from ((x, y, character, COLORS[1]) for x, y, character in path)


Ticks = tuple[list[float], list[str]]
"""The positions of the ticks of an axis, and their labels."""


def empty_figure(
    columns: int, rows: int, across: tuple[float, float], up: tuple[float, float], y_ticks: Ticks, x_ticks: Ticks | None = None
) -> tuple[Any, Any]:
    """Return plotext and its figure, empty but for the axes over the ranges ``across`` (of x) and ``up`` (of y).

    The ticks of x are by default those of a linear axis.

    Raises:
        MissingPackage: if plotext is not installed.
    """
    plotext: Any = library("plotext", "a plot on a terminal", f"write a table with {setting('format', 'csv')}")
    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(columns, rows)
    figure.ruler("y").lim(*up)
    figure.ruler("x").lim(*across)
    figure.ruler("y").ticks(*y_ticks)
    figure.ruler("x").ticks(*(x_ticks or layout.ticks(*across, max(3, columns // 10))))
    figure.axes(True, pixel=plotext.pixel(GRAY))
    return plotext, figure


def figure_lines(figure: Any, colorless: bool) -> list[str]:
    """Return the lines of a figure of plotext."""
    # plotext gives axes a white background, which is removed here.
    return str(figure.build().string(colorless)).replace("\x1b[48;5;15m", "").rstrip("\n").split("\n")


def _draw_curve(plotext: Any, plot: Plot, panel: Panel, k: int, inner: tuple[int, int]) -> None:
    """Draw curve ``k`` of a plot with its dashes; ``inner`` is the columns and rows inside the axes."""
    low, high = plot.scale.x_ends(plot.over)
    xs, ys = layout.clip_curve(plot.samples.xs, plot.samples.ys[k], panel.low, panel.high)
    across, up = 2 * inner[0], 4 * inner[1]  # the size in braille dots, 2 by 4 in a character
    dots_per_unit = np.array([across / (high - low), up / (panel.high - panel.low)])
    marker = plotext.marker("braille", COLORS[k])
    drawn, skipped = DASHES[k]
    for x, y in layout.thin_curve(xs, ys, low, high, across):
        for dash_x, dash_y in _split_into_dashes(x, y, dots_per_unit, drawn, skipped):
            signal = plotext.figure.signal(dash_x.tolist(), dash_y.tolist(), marker=marker)
            plotext.figure.draw(signal.lines())


_LONGEST = 1e6  # the maximum length of a dashed curve, in dots; a longer curve is drawn solid


def _split_into_dashes(x: Floats, y: Floats, dots_per_unit: Floats, drawn: int, skipped: int) -> list[tuple[Floats, Floats]]:
    """Split a curve into dashes of ``drawn`` dots with ``skipped`` dots after each; ``dots_per_unit`` is for x and for y."""
    if not skipped or len(x) < 2:
        return [(x, y)]
    steps = np.hypot(np.diff(x) * dots_per_unit[0], np.diff(y) * dots_per_unit[1])
    lengths = np.concatenate([[0.0], np.cumsum(steps)])  # from the start to each point
    if not lengths[-1] < _LONGEST:
        return [(x, y)]
    dashes = []
    for start in np.arange(0.0, lengths[-1] + 1e-9, drawn + skipped):
        end = min(start + drawn - 1, lengths[-1])
        inside = lengths[(lengths > start) & (lengths < end)]
        at = np.concatenate([[start], inside, [end]]) if end > start else np.array([start])
        dashes.append((np.interp(at, lengths, x), np.interp(at, lengths, y)))
    return dashes
