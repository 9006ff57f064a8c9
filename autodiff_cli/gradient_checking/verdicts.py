"""The verdicts of ``gradcheck`` on computed derivatives, independent of the method that computes the reference.

The verdicts do not use absolute tolerances.  A number passes if its error is at most the unavoidable floating-point error at the
point.  This error is measured by perturbing the rounding of every operation, and by shifting the variables by half a unit in the
last place wherever they are read.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from autodiff_cli.precise.arithmetic import Real
from autodiff_cli.precise.difference_quotients import Differences, Index, Slope

CLOSE = 1e-12
"""The relative error that is always allowed, because the VJP rules of special functions are not more accurate."""
_OPERATIONS, _INPUTS = 32, 8
"""The allowed error as a multiple of the change measured in rounding trials, for operations and for variables."""
_SEEDS = (1, 2, 3)
_LEAST = 2.0**-1072
"""The error that subnormal numbers, of which the smallest one is 2**-1074, always have."""
_MOST_LOST = 1e-3
"""The relative error above which the agreement with the reference is not conclusive."""

_NOISE = "rounding errors in the evaluation are as large as the derivative"

_OPEN = "open"
ORDER = ("pass", "kink", "undecided", "fail")
"""The verdicts on a number, from best to worst; ``Judge`` also uses the internal verdict ``_OPEN``."""
FAILED = ("fail", "jump", "undefined")
"""The verdicts with exit code 1; the last two are those of the point (``notes.kinks.discontinuity``)."""


class Verdict(NamedTuple):
    """The verdict on one number.

    Attributes:
        verdict: ``pass``, ``fail``, ``kink`` or ``undecided``.
        numeric: the reference derivative as a float.
        error, tolerance: the error of the number, and the allowed error.
        reason: the reason for the verdict ``undecided``.
    """

    verdict: str
    numeric: float
    error: float
    tolerance: float
    reason: str = ""


class Judge:
    """A judge of derivatives that compares them with arbitrary-precision difference quotients.

    Args:
        differences: the reference derivatives.
        names: the name of the variable of each input element.
    """

    def __init__(self, differences: Differences, names: list[str]) -> None:
        self._differences = differences
        self._names = names
        self._spreads: dict[tuple[Index, bool], list[float]] = {}

    def derivative(self, value: float, index: Index, j: int) -> Verdict:
        """Return the verdict on a derivative that was computed in float64."""
        slope = self._differences.slopes(index)[j]
        verdict = _without(slope, value) or self._compared(self._differences.math.mpf(value), slope, value == float(slope.value))
        return verdict if verdict.verdict != _OPEN else self._decided(verdict, value, index, j)

    def _decided(self, verdict: Verdict, value: float, index: Index, j: int) -> Verdict:
        """Return the verdict on a derivative, if open, from measured changes by rounding errors of operations, and of variables."""
        size, floor = abs(verdict.numeric), _OPERATIONS * self._spread(index, False)[j]
        larger, tolerance = max(abs(value), size), verdict.tolerance + floor
        if not math.isfinite(tolerance):
            return verdict._replace(verdict="undecided", reason="rounding errors may move the evaluation out of the domain here")
        verdict = verdict._replace(tolerance=tolerance)
        if verdict.error <= tolerance:
            sure = floor <= _MOST_LOST * size or larger <= tolerance
            return verdict._replace(verdict="pass") if sure else verdict._replace(verdict="undecided", reason=_NOISE)
        moved = _INPUTS * self._spread(index, True)[j]
        if not (math.isfinite(moved) and verdict.error <= tolerance + moved):
            return verdict._replace(verdict="fail")
        verdict = verdict._replace(tolerance=tolerance + moved)
        if moved <= 1e-6 * size:
            return verdict._replace(verdict="pass")
        where = " and ".join(dict.fromkeys(self._names[i] for i in index))
        reason = _NOISE if larger <= tolerance + moved else f"the derivative here depends on the last digit of {where}"
        return verdict._replace(verdict="undecided", reason=reason)

    def claim(self, claimed: Real, index: Index, j: int) -> Verdict:
        """Return the verdict on a claimed derivative that was computed in arbitrary precision."""
        slope, value = self._differences.slopes(index)[j], float(claimed)
        if slope.kind in ("kink", "jump"):
            return Verdict("kink", math.nan, 0.0, 0.0)
        if slope.kind == "undefined" and math.isnan(value):
            return Verdict("pass", math.nan, 0.0, 0.0)
        verdict = _without(slope, value) or self._compared(claimed, slope, claimed == slope.value)
        if verdict.verdict != _OPEN:
            return verdict
        larger = max(abs(value), abs(verdict.numeric))
        floor = verdict.tolerance + _OPERATIONS * self._spread(index, False)[j]
        if larger <= floor:  # both are indistinguishable from 0 in float64
            return verdict._replace(verdict="pass", tolerance=floor)
        moved = floor + _INPUTS * self._spread(index, True)[j]
        if larger <= moved <= 1e-6 * self._differences.around(index, j, 1e-6):
            return verdict._replace(verdict="pass", tolerance=moved)
        return verdict._replace(verdict="fail")

    def _compared(self, value: Real, slope: Slope, same: bool) -> Verdict:
        """Return the verdict if it does not require a measurement of rounding errors, else ``_OPEN``."""
        numeric = float(slope.value)
        if not self._differences.math.finite(value) or math.isinf(numeric):
            same = same or (math.isinf(numeric) and float(value) == numeric)
            return Verdict("pass" if same else "fail", numeric, 0.0 if same else math.inf, 0.0)
        error = 0.0 if float(value) == numeric else float(abs(value - slope.value))
        allowed = float(abs(slope.value) * CLOSE + slope.noise) + _LEAST
        return Verdict("pass" if same or error <= allowed else _OPEN, numeric, error, allowed)

    def _spread(self, index: Index, reads: bool) -> list[float]:
        """Return the changes of derivatives by perturbed rounding errors: of operations, or where variables are read."""
        if (index, reads) not in self._spreads:
            self._spreads[index, reads] = self._differences.spread(index, _SEEDS, reads)
        return self._spreads[index, reads]


def _without(slope: Slope, value: float) -> Verdict | None:
    """Return the verdict where the derivative does not exist, between the sides of a kink a pass; ``None`` where it exists."""
    if slope.kind == "smooth":
        return None
    if slope.kind == "jump":  # the verdict on the point follows; see ``notes.kinks.discontinuity``
        return Verdict("kink", math.nan, 0.0, 0.0)
    if slope.kind != "kink":
        reasons = {"undefined": "the value is not finite here", "unclear": "the difference quotients do not converge here"}
        return Verdict("undecided", math.nan, math.nan, 0.0, reasons[slope.kind])
    low, high = (float(side) for side in slope.sides)
    slack = CLOSE * max(abs(low), abs(high)) if math.isfinite(low) and math.isfinite(high) else 0.0
    middle = low if low == high else (low + high) / 2 if math.isfinite(low + high) else math.nan
    if not math.isfinite(value):
        return Verdict("fail", middle, math.inf, slack)
    is_between = low - slack <= value <= high + slack
    return Verdict("kink", middle, 0.0, slack) if is_between else Verdict("fail", middle, max(low - value, value - high), slack)


def rounded(verdict: Verdict, spread: float) -> Verdict:
    """Return ``pass`` or ``undecided`` in place of ``fail`` if rounding errors, which spread the number so far, can cause it."""
    tolerance = verdict.tolerance + 2 * spread
    if verdict.verdict != "fail" or not math.isfinite(tolerance) or not verdict.error <= tolerance:
        return verdict
    if tolerance <= 1e-6 * abs(verdict.numeric):
        return verdict._replace(verdict="pass", tolerance=tolerance, reason="")
    return verdict._replace(verdict="undecided", tolerance=tolerance, reason=_NOISE)


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the worst verdict, or a pass for an empty list; the largest ratio of error to tolerance breaks ties."""

    def rank(verdict: Verdict) -> tuple[int, float]:
        far = verdict.error / verdict.tolerance if verdict.tolerance else verdict.error
        return ORDER.index(verdict.verdict), math.inf if math.isnan(far) else far

    return max(verdicts, key=rank, default=Verdict("pass", math.nan, 0.0, 0.0))
