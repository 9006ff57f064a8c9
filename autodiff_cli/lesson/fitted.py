"""A fit as a page: the data, the curve with its bands and the residuals, whose numbers at a point are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff_cli.lesson.page import written
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.arrays import Floats
    from autodiff_cli.plotting.fitted import FittedPlot

ABOUT = "A fit of autodiff: move the pointer to read the curve, its bands and the data."


def to_html(plot: FittedPlot, precision: int) -> str:
    """Return the page of a fit.

    Args:
        plot: what the plot of the fit shows.
        precision: the number of significant digits.
    """
    left, right, _, _ = plot.window
    x, y, error, residuals = plot.thinned()
    shown = f"The page shows {len(x):,} of {plural(len(plot.x), 'row')}." if len(x) < len(plot.x) else None

    def listed(values: Floats | None) -> list[float] | None:
        return None if values is None else values.tolist()

    data: dict[str, object] = {
        "expression": plot.title,
        "precision": precision,
        "over": [{"name": plot.across, "low": left, "high": right}],
        "inputs": [],
        "notes": list(plot.parameters),
        "fixed": shown,
        "fit": {
            "up": plot.up,
            "unit": plot.unit,
            "level": plot.level,
            "x": listed(x),
            "y": listed(y),
            "error": listed(error),
            "residuals": listed(residuals),
            "curve": plot.curve.tolist(),
            "mean": listed(plot.mean),
            "new": listed(plot.new),
        },
    }
    return written(plot.title, {}, data, kind="plot", about=ABOUT)
