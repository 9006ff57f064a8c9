"""Plots as SVG, PNG and PDF files: drawn with matplotlib figures, without a display, and reproducible byte for byte."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.errors import MissingPackage
from autodiff_cli.lazy import library
from autodiff_cli.plotting import layout
from autodiff_cli.plotting.layout import Panel, ticks
from autodiff_cli.plotting.model import Field, Plot
from autodiff_cli.report.control_characters import visible
from autodiff_cli.wording import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

WIDTH, HEIGHT = 800, 480
"""The size of a picture in CSS pixels."""
PANEL_HEIGHT = 220
"""The height in pixels of every panel after the first."""
MOST_UNEQUAL = 1.6
"""Two ranges are drawn to the same scale if the ratio of their lengths is at most this factor."""
DENSITY = {"png": 192, "svg": 96, "pdf": 96}
"""Dots per inch.  A CSS pixel is 1/96 inch; a PNG has two dots for each CSS pixel, for high-resolution screens."""
DASHES: tuple[Literal["solid"] | tuple[float, tuple[float, float]], ...] = (
    *("solid", (0, (5, 2)), (0, (1, 1.6))),
    *((0, (9, 2)), (0, (3, 1.5)), (0, (1, 3))),
)
WIDTHS = (2.0, 1.7, 1.9)
"""The style and the width in points of the lines, by the number of the curve."""


class PictureTheme(NamedTuple):
    """The colours of a picture; ``bands`` are the colours of a field from low to high values."""

    paper: str
    ink: str
    dim: str
    grid: str
    curves: tuple[str, ...]
    bands: tuple[str, ...]


THEMES = {
    "light": PictureTheme(
        paper="#ffffff",
        ink="#24292f",
        dim="#6e7781",
        grid="#eaeef2",
        curves=("#0969da", "#bc4c00", "#8250df", "#1a7f37", "#bf3989", "#7d4e00"),
        bands=("#f3f9ff", "#d6eafb", "#b3d8f6", "#8ac3f0", "#60abe8", "#3a91db", "#2177c4"),
    ),
    "dark": PictureTheme(
        paper="#0d1117",
        ink="#e6edf3",
        dim="#8b949e",
        grid="#21262d",
        curves=("#58a6ff", "#f0883e", "#bc8cff", "#3fb950", "#f778ba", "#d4a72c"),
        bands=("#12243b", "#163456", "#1a4573", "#1f5790", "#266aae", "#3080ca", "#4596de"),
    ),
}


def to_svg(plot: Plot | Field) -> str | None:
    """Return the text of an ``.svg`` file; ``None`` if matplotlib is not installed."""
    try:
        return drawn(plot, "svg").decode()
    except MissingPackage:
        return None


def drawn(plot: Plot | Field, kind: str) -> bytes:
    """Return a picture file of a kind, ``svg``, ``png`` or ``pdf``; raise ``MissingPackage`` if matplotlib is not installed."""
    if isinstance(plot, Plot):
        panels = layout.panels(plot)
        height = HEIGHT + PANEL_HEIGHT * (len(panels) - 1)
        return render_figure(kind, plot.theme, height, lambda figure, colors: _draw_panels(figure, plot, panels, colors))
    ratio = layout.height_over_width(plot)
    is_to_scale = 1 / MOST_UNEQUAL <= ratio <= MOST_UNEQUAL
    height = round(0.8 * WIDTH * ratio) + 80 if is_to_scale else HEIGHT  # the labels and the title need the rest
    return render_figure(kind, plot.theme, height, lambda figure, colors: _draw_field(figure, plot, is_to_scale, colors))


def render_figure(kind: str, theme: str, height: int, draw: Callable[[Figure, PictureTheme], None]) -> bytes:
    """Return the contents of a picture file of a kind, ``svg``, ``png`` or ``pdf``, with a height in CSS pixels.

    The function ``draw`` draws on an empty figure, which is ``WIDTH`` wide, with the colours of ``theme``, a key of ``THEMES``.

    Raises:
        MissingPackage: if matplotlib is not installed.
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns of a home folder that it cannot write
    mpl = library("matplotlib", "a picture", "write an .html file, which needs no library")
    from matplotlib.figure import Figure

    colors = THEMES[theme]
    out = io.BytesIO()
    with mpl.rc_context(_settings(colors)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib warns of labels that do not fit and of missing glyphs
        figure = Figure(layout="constrained", facecolor=colors.paper)
        figure.set_size_inches(WIDTH / 96, height / 96)
        draw(figure, colors)
        undated = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else None
        figure.savefig(out, format=kind, dpi=DENSITY[kind], metadata=undated)
    return out.getvalue()


def _settings(colors: PictureTheme) -> dict[str, Any]:
    """Return the settings of matplotlib for a theme; the hash salt makes files reproducible."""
    return {
        "svg.hashsalt": "autodiff",
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "text.parse_math": False,
        "text.color": colors.ink,
        "axes.facecolor": "none",
        "axes.edgecolor": colors.dim,
        "axes.labelcolor": colors.ink,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": colors.dim,
        "ytick.color": colors.dim,
        "xtick.labelcolor": colors.ink,
        "ytick.labelcolor": colors.ink,
        "legend.frameon": False,
    }


def _draw_panels(figure: Figure, plot: Plot, panels: list[Panel], colors: PictureTheme) -> None:
    """Draw the panels of curves below each other, with the title above the first one, and above its legend if they overlap."""
    rows = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    first, last = rows[0], rows[-1]
    title = _draw_title(first, plot.expression, colors)
    for axes, panel in zip(rows, panels, strict=True):
        _draw_panel(axes, plot, panel, colors, most_ticks=9 if len(panels) == 1 else 6)
    last.set_xlabel(plot.over.name)
    figure.draw_without_rendering()  # only then, texts have a size
    legend = first.get_legend()
    assert legend is not None
    if title.get_window_extent().x1 > legend.get_window_extent().x0:
        height = legend.get_window_extent().height / figure.dpi * 72  # in points, 72 to the inch
        _draw_title(first, plot.expression, colors, height)


def _draw_panel(axes: Axes, plot: Plot, panel: Panel, colors: PictureTheme, most_ticks: int) -> None:
    """Draw one panel: the axes with at most so many ticks of values, the curves, their marks, the legend and the path."""
    ends = plot.scale.x_ends(plot.over)
    margin = 0.04 * (panel.high - panel.low)
    low, high = panel.low - margin, panel.high + margin
    axes.set_ylim(low, high)
    axes.set_xlim(*ends)
    axes.set_yticks(*layout.axis_ticks(plot, "y", (low, high), most_ticks))
    axes.set_xticks(*layout.axis_ticks(plot, "x", ends, 13))
    axes.grid(color=colors.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    if low < 0 < high and "y" not in plot.scale.log:
        axes.axhline(0, color=colors.dim, linewidth=0.8, zorder=1)
    _draw_marks(axes, plot, panel, colors)
    for k in reversed(panel.curves):  # so that the first curve is above the others
        _draw_curve(axes, plot, k, (low, high), colors.curves[k])
    handles, labels = axes.get_legend_handles_labels()
    style: dict[str, Any] = {"bbox_to_anchor": (1, 1), "borderaxespad": 0.2, "handlelength": 2.0}
    axes.legend(handles[::-1], labels[::-1], ncols=3, loc="lower right", **style)  # in the order of the curves
    if 0 in panel.curves:  # the path is on the first curve
        _draw_path(axes, plot.scale.to_axes(plot.path), colors, joined=False)


def _draw_title(axes: Axes, expression: str, colors: PictureTheme, pad: float | None = None) -> Text:
    """Draw the expression above the axes, at a distance of ``pad`` points, ``None`` for the usual one, and return the text."""
    text = shortened(visible(expression), 60)
    return axes.set_title(text, loc="left", pad=pad, family="DejaVu Sans Mono", fontsize=10, color=colors.ink)


def _draw_curve(axes: Axes, plot: Plot, k: int, window: tuple[float, float], color: str) -> None:
    """Draw curve ``k`` of a plot inside the axes, whose range of values is ``window``."""
    xs, ys = layout.clip_curve(plot.samples.xs, plot.samples.ys[k], *window)
    pieces = layout.thin_curve(xs, ys, *plot.scale.x_ends(plot.over), 2000)  # more columns than pixels
    # All pieces are one line with gaps of nan, so that they share a dash pattern and a legend entry.
    gap = np.array([np.nan])
    x = np.concatenate([part for piece, _ in pieces for part in (piece, gap)] or [gap])
    y = np.concatenate([part for _, piece in pieces for part in (piece, gap)] or [gap])
    (line,) = axes.plot(
        x, y, color=color, linewidth=WIDTHS[k % 3], zorder=4 - k / 4, label=visible(plot.curves[k].label), gid=plot.columns[k]
    )
    line.set_linestyle(DASHES[k])
    line.set_solid_capstyle("round")


def _draw_path(axes: Axes, path: Floats, colors: PictureTheme, joined: bool = True) -> None:
    """Draw the points of a path, which may be empty, ``joined`` with lines or alone; the last point is larger."""
    if len(path):
        style: dict[str, Any] = {"color": colors.curves[1], "markeredgecolor": colors.paper, "markeredgewidth": 0.8, "marker": "o"}
        axes.plot(*path.T, linestyle="solid" if joined else "none", linewidth=1.4, markersize=5, zorder=6, gid="path", **style)
        axes.plot(*path[-1:].T, linestyle="none", markersize=8, zorder=7, **style)


def _draw_marks(axes: Axes, plot: Plot, panel: Panel, colors: PictureTheme) -> None:
    """Draw a dotted line at each pole, and circles at kinks, holes and both ends of jumps."""
    marks = layout.shown_marks(plot)
    for mark in marks:
        if layout.has_vertical_line(mark):
            axes.axvline(mark.at, color=colors.dim, linewidth=0.9, linestyle=(0, (1, 3)), zorder=1)
    circles, edges = [], []
    for mark in marks:
        if mark.curve in panel.curves:
            circles_of_mark = layout.mark_circles(mark)
            circles += circles_of_mark
            edges += [colors.curves[mark.curve]] * len(circles_of_mark)
    if circles:
        inside = [edge if circle.filled else colors.paper for circle, edge in zip(circles, edges, strict=True)]
        x, y = [circle.x for circle in circles], [circle.y for circle in circles]
        axes.scatter(x, y, s=22, facecolor=inside, edgecolor=edges, linewidth=1.2, zorder=5)


def _draw_field(figure: Figure, plot: Field, is_to_scale: bool, colors: PictureTheme) -> None:
    """Draw the value as bands between contour lines, and the gradient, if there is one, as arrows; the axes may share a scale."""
    axes = figure.subplots()
    _draw_title(axes, plot.expression, colors)
    _draw_bands(figure, axes, plot, colors)
    axes.set_xlim(plot.x[0], plot.x[-1])
    axes.set_ylim(plot.y[0], plot.y[-1])
    axes.set_xticks(*ticks(plot.x[0], plot.x[-1], 11))
    axes.set_yticks(*ticks(plot.y[0], plot.y[-1], 9))
    axes.set_xlabel(plot.over[0].name)
    axes.set_ylabel(plot.over[1].name)
    if is_to_scale:
        axes.set_aspect("equal")
        for _ in range(2):  # the first layout leaves too little room, because equal scales make the axes smaller
            figure.draw_without_rendering()
    _draw_path(axes, plot.path, colors)
    if plot.gradient is not None:
        figure.draw_without_rendering()  # the arrows depend on the size of the axes
        _draw_arrows(axes, plot, colors)


def _draw_bands(figure: Figure, axes: Axes, plot: Field, colors: PictureTheme) -> None:
    """Draw the value of a field, if it is known at a point, as bands of colours with contour lines and a legend beside the axes."""
    from matplotlib.colors import LinearSegmentedColormap

    levels, labels = layout.value_bands(*layout.value_range(plot), 12)
    value = np.ma.masked_invalid(np.where(plot.discontinuous, np.nan, np.clip(plot.value, levels[0], levels[-1])))
    if not value.count():
        return
    # Levels of different distances would have almost equal colours on a linear scale.
    shades = LinearSegmentedColormap.from_list("shades", colors.bands)
    filled = axes.contourf(plot.x, plot.y, value, levels=levels, cmap=shades)
    axes.contour(plot.x, plot.y, value, levels=levels[1:-1], colors=colors.paper, linewidths=0.7, linestyles="solid", alpha=0.8)
    bar = figure.colorbar(filled, cax=axes.inset_axes((1.025, 0, 0.035, 1)), spacing="uniform")
    bar.set_ticks(levels, labels=labels)
    bar.set_label("value")
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)


def _draw_arrows(axes: Axes, plot: Field, colors: PictureTheme) -> None:
    """Draw the gradient of a field, with 22 arrows in each row, whose distance is 1.35 times the length of the longest arrow."""
    box = axes.get_window_extent()
    across, ratio = 22, box.height / box.width
    x, y, u, v = layout.gradient_arrows(plot, across, max(6, round(across * ratio)), ratio)
    style: dict[str, Any] = {"width": 0.0026, "headwidth": 4.2, "headlength": 5, "headaxislength": 4.4, "minlength": 0.6}
    axes.quiver(x, y, u, v, pivot="mid", zorder=3, color=colors.ink, units="width", scale=1.35 * across, alpha=0.85, **style)
