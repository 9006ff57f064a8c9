"""The plot of a fit: the data with the curve and its bands, and below it the residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.plotting.layout import ticks
from autodiff_cli.plotting.picture import PictureTheme, render_figure
from autodiff_cli.report.control_characters import visible
from autodiff_cli.wording import two_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from autodiff_cli.arrays import Floats

MOST_POINTS = 20_000
"""The maximum number of points of the data that are drawn."""
MARGIN, MARGIN_OF_RESIDUALS = 0.04, 0.12
"""The free part of an axis at each end; a point needs more of the low panel of the residuals."""
HEIGHT = 600


@dataclass(frozen=True)
class FittedPlot:
    """The data of N rows and a curve of m points.

    Attributes:
        title: the model.
        across, up: the labels of the horizontal and of the vertical axis.
        x, y: the data.
        error: the known standard deviations of y; ``None`` if they are not known.
        residuals: the residuals in units of their standard deviation.
        curve: the points of the curve, ``(2, m)``.
        mean: the half-width of the confidence band of the mean, ``(m,)``; ``None`` without a band.
        new: the half-width of the prediction band, ``(m,)``; ``None`` if it is not known.
        level: the confidence level of the bands.
        parameters: a text for each parameter, with its value and standard error.
    """

    title: str
    across: str
    up: str
    x: Floats
    y: Floats
    error: Floats | None
    residuals: Floats
    curve: Floats
    mean: Floats | None
    new: Floats | None
    level: float
    parameters: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The label of the residuals."""
        return "residual/s" if self.error is None else "residual/sigma"

    def thinned(self) -> tuple[Floats, Floats, Floats | None, Floats]:
        """Return x, y, the errors of y (``None`` if not known) and the residuals of at most ``MOST_POINTS`` equally spaced rows."""
        rows = np.unique(np.linspace(0, len(self.x) - 1, min(len(self.x), MOST_POINTS)).round().astype(int))
        return self.x[rows], self.y[rows], None if self.error is None else self.error[rows], self.residuals[rows]

    @property
    def window(self) -> tuple[float, float, float, float]:
        """The ends of x, and those of y, around the data with their errors, the curve and the confidence band, with a margin."""
        half_width = 0.0 if self.mean is None else self.mean
        error = 0.0 if self.error is None else self.error
        curve_x, curve_y = self.curve
        heights = np.concatenate([self.y - error, self.y + error, curve_y - half_width, curve_y + half_width])
        return *_range_with_margin(np.concatenate([self.x, curve_x])), *_range_with_margin(heights)


def _range_with_margin(values: Floats, share: float = MARGIN) -> tuple[float, float]:
    """Return the range of the finite values, 0 to 1 if there are none, enlarged by a share of its length, or of a constant."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    length = (high - low) or abs(low) or 1.0
    return low - share * length, high + share * length


def fit_picture(plot: FittedPlot, kind: str, theme: str = "light") -> bytes:
    """Return a picture file of a kind, ``svg``, ``png`` or ``pdf``; raise ``MissingPackage`` if matplotlib is not installed."""
    return render_figure(kind, theme, HEIGHT, lambda figure, colors: _draw(figure, plot, colors))


def _draw(figure: Figure, plot: FittedPlot, colors: PictureTheme) -> None:
    """Draw the data with the curve and its bands above, and the residuals below."""
    above, below = figure.subplots(2, sharex=True, height_ratios=(3, 1))
    left, right, low, high = plot.window
    x, y, error, residuals = plot.thinned()
    above.set_title(two_lines(visible(plot.title), 87), loc="left", family="DejaVu Sans Mono", fontsize=10, color=colors.ink)
    _draw_curve(above, plot, colors.curves[0])
    size = 5 if len(x) < 200 else 2.5  # in points; many large points would hide each other
    points = {"color": colors.curves[1], "markersize": size, "zorder": 4, "linestyle": "none", "marker": "o"}
    if error is None:
        above.plot(x, y, label="data", gid="data", **points)
    else:
        above.errorbar(x, y, error, label="data", elinewidth=1, gid="data", **points)
    below.axhline(0, color=colors.dim, linewidth=0.8, zorder=1)
    below.plot(x, residuals, gid="residuals", **points)
    bottom, top = _range_with_margin(np.append(residuals, [-1.0, 1.0]), MARGIN_OF_RESIDUALS)
    for axes, ends, most_ticks in ((above, (low, high), 9), (below, (bottom, top), 5)):
        axes.set_xlim(left, right)
        axes.set_ylim(*ends)
        axes.set_xticks(*ticks(left, right, 11))
        axes.set_yticks(*ticks(*ends, most_ticks))
        axes.grid(color=colors.grid, linewidth=0.8)
        axes.set_axisbelow(True)
    above.set_ylabel(plot.up)
    below.set_ylabel(plot.unit)
    below.set_xlabel(plot.across)
    above.legend(loc="best")


def _draw_curve(axes: Axes, plot: FittedPlot, color: str) -> None:
    """Draw the curve of a fit with the bands that are known: dashed lines for a measurement, a shade for the curve."""
    label, (x, y) = f"{100 * plot.level:g} %", plot.curve
    if plot.new is not None:
        band: dict[str, Any] = {"color": color, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 2, "gid": "prediction"}
        axes.plot(x, y - plot.new, label=f"{label} band for a new measurement", **band)
        axes.plot(x, y + plot.new, **band)
    if plot.mean is not None:
        shade: dict[str, Any] = {"color": color, "alpha": 0.2, "linewidth": 0, "zorder": 1, "gid": "mean"}
        axes.fill_between(x, y - plot.mean, y + plot.mean, label=f"{label} band for the curve", **shade)
    axes.plot(x, y, color=color, linewidth=2, zorder=3, label="fit", gid="curve")
