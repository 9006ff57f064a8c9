"""Plots as SVG, PNG and PDF, with matplotlib's figures alone: no display, no state, the same bytes every time."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_cli.lazy import library
from autodiff_cli.plot.layout import (
    Panel,
    arrows,
    bands,
    circles,
    clipped,
    margin,
    marks,
    names,
    panels,
    shape_of,
    thinned,
    ticks,
    value_range,
    vertical,
)
from autodiff_cli.report.visible import visible

WIDTH, HEIGHT = 800, 480
MORE = 220
"""Pixels that every panel after the first adds to the height."""
ALIKE = 1.6
"""Two ranges that differ less than this in length are drawn to the same scale."""
DENSITY = {"png": 192, "svg": 96, "pdf": 96}
"""Dots per inch, where a pixel of a style sheet is 1/96 inch: a PNG has two for each, as today's screens."""
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1, 1.6)))
THEMES = {
    "light": {
        "paper": "#ffffff",
        "ink": "#24292f",
        "dim": "#6e7781",
        "grid": "#eaeef2",
        "curves": ("#0969da", "#bc4c00", "#8250df"),
        "map": ("#f3f9ff", "#d6eafb", "#b3d8f6", "#8ac3f0", "#60abe8", "#3a91db", "#2177c4"),
    },
    "dark": {
        "paper": "#0d1117",
        "ink": "#e6edf3",
        "dim": "#8b949e",
        "grid": "#21262d",
        "curves": ("#58a6ff", "#f0883e", "#bc8cff"),
        "map": ("#12243b", "#163456", "#1a4573", "#1f5790", "#266aae", "#3080ca", "#4596de"),
    },
}


@dataclass(frozen=True)
class Looks:
    """How a picture should be: ``svg``, ``png`` or ``pdf``, its size in pixels of a style sheet, its colours."""

    kind: str
    width: int | None = None
    height: int | None = None
    theme: str = "light"
    transparent: bool = False


def drawn(plot: Any, looks: Looks, y_range: tuple[float, float] | None) -> bytes:
    """The file with a ``language.plotting.Plot`` or ``Field``.

    Raises:
        MissingPackage: without matplotlib.
    """
    mpl = library("matplotlib", "a picture", "write a table with --format csv")
    from matplotlib.figure import Figure

    colors: dict[str, Any] = THEMES[looks.theme]
    settings: Any = {
        "svg.hashsalt": "autodiff",
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "text.parse_math": False,
        "text.color": colors["ink"],
        "axes.facecolor": "none",
        "axes.edgecolor": colors["dim"],
        "axes.labelcolor": colors["ink"],
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": colors["dim"],
        "ytick.color": colors["dim"],
        "xtick.labelcolor": colors["ink"],
        "ytick.labelcolor": colors["ink"],
        "legend.frameon": False,
    }
    out = io.BytesIO()
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matplotlib: a picture too small for its labels, a letter that its font lacks
        curves = hasattr(plot, "columns")
        found = panels(plot, y_range) if curves else []
        height = looks.height or HEIGHT + MORE * max(0, len(found) - 1)
        alike = not curves and looks.height is None and 1 / ALIKE <= shape_of(plot) <= ALIKE
        if alike:
            height = round(0.8 * (looks.width or WIDTH) * shape_of(plot)) + 80
        figure = Figure(figsize=((looks.width or WIDTH) / 96, height / 96), layout="constrained", facecolor=colors["paper"])
        if curves:
            _curves(figure, plot, found, colors)
        else:
            _field(figure, plot, y_range, alike, colors)
        undated = {"Date": None} if looks.kind == "svg" else {"CreationDate": None} if looks.kind == "pdf" else None
        figure.savefig(out, format=looks.kind, dpi=DENSITY[looks.kind], transparent=looks.transparent, metadata=undated)
    return out.getvalue()


def _curves(figure: Any, plot: Any, found: list[Panel], colors: dict[str, Any]) -> None:
    """One panel below the other, over the same range."""
    rows = figure.subplots(len(found), sharex=True, squeeze=False)[:, 0]
    called = names(plot)
    rows[0].set_title(_shortened(plot.expression), loc="left", family="DejaVu Sans Mono", fontsize=10, color=colors["ink"])
    for axes, panel in zip(rows, found, strict=True):
        low, high = margin(panel, 0.04)
        axes.set_ylim(low, high)
        axes.set_xlim(plot.over.low, plot.over.high)
        axes.set_yticks(*ticks(low, high, 9 if len(found) == 1 else 6))
        axes.set_xticks(*ticks(plot.over.low, plot.over.high, 13))
        axes.grid(color=colors["grid"], linewidth=0.8)
        axes.set_axisbelow(True)
        if low < 0 < high:
            axes.axhline(0, color=colors["dim"], linewidth=0.8, zorder=1)
        _marks(axes, plot, panel, colors)
        for k in reversed(panel.curves):
            _curve(axes, plot, k, (low, high), colors["curves"][k], called[k])
        handles, labels = axes.get_legend_handles_labels()
        place = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2, "handlelength": 2.0}
        axes.legend(handles[::-1], labels[::-1], ncols=3, **place)
    rows[-1].set_xlabel(plot.over.name)


def _curve(axes: Any, plot: Any, k: int, window: tuple[float, float], color: str, name: str) -> None:
    xs, ys = clipped(plot.xs, plot.ys[k], *window)
    pieces = thinned(xs, ys, plot.over.low, plot.over.high, 2000)
    # One line for all pieces, with a gap after each, so that dashes and the legend are those of one curve.
    gap = np.array([np.nan])
    x = np.concatenate([part for piece, _ in pieces for part in (piece, gap)] or [gap])
    y = np.concatenate([part for _, piece in pieces for part in (piece, gap)] or [gap])
    width = (2.0, 1.7, 1.9)[k]
    style = {"color": color, "linewidth": width, "linestyle": DASHES[k], "zorder": 4 - k / 4, "solid_capstyle": "round"}
    axes.plot(x, y, label=name, gid=plot.columns[k], **style)


def _marks(axes: Any, plot: Any, panel: Panel, colors: dict[str, Any]) -> None:
    """A dotted line at each pole, a circle at each kink, hole and end of a jump."""
    shown = marks(plot)
    for found in shown:
        if vertical(found):
            axes.axvline(found.at, color=colors["dim"], linewidth=0.9, linestyle=(0, (1, 3)), zorder=1)
    places = [place for found in shown for place in circles(found)]
    if 0 in panel.curves and places:
        x, y = zip(*places, strict=True)
        axes.scatter(x, y, s=22, facecolor=colors["paper"], edgecolor=colors["curves"][0], linewidth=1.2, zorder=5)


def _field(figure: Any, plot: Any, y_range: tuple[float, float] | None, alike: bool, colors: dict[str, Any]) -> None:
    """The value in bands with contour lines between, the gradient as arrows at right angles to them."""
    from matplotlib.colors import LinearSegmentedColormap

    axes = figure.subplots()
    axes.set_title(_shortened(plot.expression), loc="left", family="DejaVu Sans Mono", fontsize=10, color=colors["ink"])
    levels, labels = bands(*value_range(plot, y_range), 12)
    shown = np.ma.masked_invalid(np.where(plot.torn, np.nan, np.clip(plot.value, levels[0], levels[-1])))
    shades = LinearSegmentedColormap.from_list("shades", colors["map"])
    if shown.count():
        filled = axes.contourf(plot.x, plot.y, shown, levels=levels, cmap=shades)
        axes.contour(
            plot.x, plot.y, shown, levels=levels[1:-1], colors=colors["paper"], linewidths=0.7, linestyles="solid", alpha=0.8
        )
        bar = figure.colorbar(filled, cax=axes.inset_axes((1.025, 0, 0.035, 1)))
        bar.set_ticks(levels, labels=labels)
        bar.set_label("value")
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
    axes.set_xlim(plot.x[0], plot.x[-1])
    axes.set_ylim(plot.y[0], plot.y[-1])
    axes.set_xticks(*ticks(plot.x[0], plot.x[-1], 11))
    axes.set_yticks(*ticks(plot.y[0], plot.y[-1], 9))
    axes.set_xlabel(plot.over[0].name)
    axes.set_ylabel(plot.over[1].name)
    if alike:
        axes.set_aspect("equal")
    if plot.gradient is not None:
        figure.draw_without_rendering()  # the arrows need to know how large the axes are
        box = axes.get_window_extent()
        across = 22
        x, y, u, v = arrows(plot, across, max(6, round(across * box.height / box.width)), box.height / box.width)
        style = {"width": 0.0026, "headwidth": 4.2, "headlength": 5, "headaxislength": 4.4, "minlength": 0.6}
        axes.quiver(x, y, u, v, pivot="mid", zorder=3, color=colors["ink"], units="width", scale=1.35 * across, alpha=0.85, **style)


def _shortened(text: str) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= 60 else f"{text[:28]} ... {text[-27:]}"
