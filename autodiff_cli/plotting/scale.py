"""Linear and logarithmic axes.

Curves are sampled, searched and drawn in units of the axes: a logarithmic axis has the decimal logarithm of a number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.ranges import Range
from autodiff_cli.plotting.discontinuities import Discontinuity


@dataclass(frozen=True)
class Scale:
    """The scales of both axes; ``log`` contains ``x`` and ``y`` for the axes that are logarithmic."""

    log: str = ""

    def across(self, over: Range) -> tuple[float, float]:
        """Return the ends of the horizontal axis.

        Raises:
            UsageError: if the axis is logarithmic, and the range is not positive.
        """
        return self._ends("x", (over.low, over.high), f"{over.name}=1:100", "over")

    def up(self, y_range: tuple[float, float]) -> tuple[float, float]:
        """Return the ends of the vertical axis for a range of values.

        Raises:
            UsageError: if the axis is logarithmic, and the range is not positive.
        """
        return self._ends("y", y_range, "1:100", "y_range")

    def _ends(self, axis: str, ends: tuple[float, float], example: str, option: str) -> tuple[float, float]:
        if axis not in self.log:
            return ends
        if ends[0] <= 0:
            raise UsageError(
                f"a logarithmic axis needs a positive range, not {ends[0]:g} to {ends[1]:g}",
                hint=f"write {setting(option, example)}",
            )
        return math.log10(ends[0]), math.log10(ends[1])

    def axis(self, x: Floats) -> Floats:
        """Return the positions of points on the horizontal axis."""
        return np.log10(x) if "x" in self.log else x

    def x(self, u: Floats) -> Floats:
        """Return the points at positions on the horizontal axis."""
        return 10.0**u if "x" in self.log else u

    def drawn(self, x: Floats, curves: Floats) -> Floats:
        """Return a value and its derivatives, ``(k, n)``, in units of the axes; on a logarithmic axis, ``k`` is at most 2."""
        if not self.log:
            return curves
        value, *slopes = curves
        slope = slopes[0] * (x * math.log(10) if "x" in self.log else 1.0) if slopes else None
        if "y" in self.log:
            with np.errstate(all="ignore"):
                slope = None if slope is None else slope / (value * math.log(10))
                value = np.log10(np.where(value > 0, value, np.nan))
        return np.stack([value] if slope is None else [value, slope])

    def placed(self, points: Floats) -> Floats:
        """Return points ``(k, 2)`` in units of the axes."""
        x, y = points.T
        with np.errstate(all="ignore"):
            return np.stack([self.axis(x), np.log10(np.where(y > 0, y, np.nan)) if "y" in self.log else y], 1)

    def seen(self, found: Discontinuity) -> bool:
        """Return whether a discontinuity is one of the value: the logarithm also has poles and ends where the value is 0."""
        return "y" not in self.log or found.kind in ("jump", "kink", "hole")

    def moved(self, found: Discontinuity) -> Discontinuity:
        """Return a discontinuity with its position on the variable instead of the axis."""
        return replace(found, at=float(f"{10.0**found.at:.12g}")) if "x" in self.log else found


LINEAR = Scale()
