"""Whether a number is the derivative: the judgement of ``gradcheck``, apart from where its numbers come from.

No constant here has the size of a derivative.  A number passes if it is the true derivative up to an error that
floating-point numbers cannot avoid at that point.  That error is measured: by rounding every operation in other directions,
and by moving the variables by half a unit in the last place wherever they are read.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from autodiff_cli.precise.arithmetic import Real
from autodiff_cli.precise.differences import Differences, Index, Slope

CLOSE = 1e-12
"""A relative difference of derivatives that is always allowed: rules of special functions keep no more digits."""
_OPERATIONS, _INPUTS = 32, 8
"""How many times the movement that rounding made in trials a derivative may be off."""
_SEEDS = (1, 2, 3)
_LEAST = 2.0**-1072
_MOST_LOST = 1e-3
"""Relative to a derivative: with a larger error, agreement says nothing."""

_NOISE = "rounding errors on the way are as large as the derivative"

_OPEN = "open"
ORDER = ("pass", "kink", "undecided", "fail")
"""Verdicts, the best first; inside of a ``Judge`` one may be ``_OPEN``."""


class Tolerances(NamedTuple):
    """Tolerances that a caller gives."""

    atol: float
    rtol: float

    def of(self, numeric: float) -> float:
        """Return the error that is allowed."""
        return self.atol + self.rtol * abs(numeric)


class Verdict(NamedTuple):
    """The judgement of one number.

    Attributes:
        verdict: ``pass``, ``fail``, ``kink`` or ``undecided``.
        numeric: the true derivative as a float.
        error, tolerance: how far the number is off, and how far it may be.
        reason: why it is undecided.
    """

    verdict: str
    numeric: float
    error: float
    tolerance: float
    reason: str = ""


class Judge:
    """Judges derivatives by differences with many digits.

    Args:
        differences: the true derivatives.
        names: the variable of each element of the inputs.
        given: tolerances to use in place of the measured ones.
    """

    def __init__(self, differences: Differences, names: list[str], given: Tolerances | None = None) -> None:
        self._differences = differences
        self._names = names
        self._given = given
        self._spreads: dict[tuple[Index, bool], list[float]] = {}

    def derivative(self, value: float, index: Index, j: int) -> Verdict:
        """Judge a derivative that was computed with floats."""
        slope = self._differences.slopes(index)[j]
        found = _without(slope, value) or self._compared(self._differences.math.mp.mpf(value), slope, value == float(slope.value))
        if found.verdict != _OPEN:
            return found
        size, floor = abs(found.numeric), _OPERATIONS * self._spread(index, False)[j]
        larger, tolerance = max(abs(value), size), found.tolerance + floor
        if not math.isfinite(tolerance):
            return found._replace(verdict="undecided", reason="rounding alone may take it out of the domain here")
        found = found._replace(tolerance=tolerance)
        if found.error <= tolerance:
            sure = floor <= _MOST_LOST * size or larger <= tolerance
            return found._replace(verdict="pass") if sure else found._replace(verdict="undecided", reason=_NOISE)
        moved = _INPUTS * self._spread(index, True)[j]
        if not (math.isfinite(moved) and found.error <= tolerance + moved):
            return found._replace(verdict="fail")
        found = found._replace(tolerance=tolerance + moved)
        if moved <= 1e-6 * size:
            return found._replace(verdict="pass")
        where = " and ".join(dict.fromkeys(self._names[i] for i in index))
        reason = _NOISE if larger <= tolerance + moved else f"the last digit of {where} decides about the derivative here"
        return found._replace(verdict="undecided", reason=reason)

    def claim(self, claimed: Real, index: Index, j: int) -> Verdict:
        """Judge a derivative that a user claims, computed with many digits."""
        slope, value = self._differences.slopes(index)[j], float(claimed)
        if slope.kind == "kink":
            return Verdict("kink", math.nan, 0.0, 0.0)
        if slope.kind == "undefined" and math.isnan(value):
            return Verdict("pass", math.nan, 0.0, 0.0)
        found = _without(slope, value) or self._compared(claimed, slope, claimed == slope.value)
        if found.verdict != _OPEN:
            return found
        larger = max(abs(value), abs(found.numeric))
        floor = found.tolerance + _OPERATIONS * self._spread(index, False)[j]
        if larger <= floor:  # both are 0 as far as floats can tell
            return found._replace(verdict="pass", tolerance=floor)
        moved = floor + _INPUTS * self._spread(index, True)[j]
        if larger <= moved <= 1e-6 * self._differences.around(index, j, 1e-6):
            return found._replace(verdict="pass", tolerance=moved)
        return found._replace(verdict="fail")

    def _compared(self, value: Real, slope: Slope, same: bool) -> Verdict:
        """Return the verdict that needs no measurement of rounding, ``_OPEN`` if there is none.

        Args:
            same: whether the number is the derivative.
        """
        numeric = float(slope.value)
        if not self._differences.math.finite(value) or math.isinf(numeric):
            same = same or (math.isinf(numeric) and float(value) == numeric)
            return Verdict("pass" if same else "fail", numeric, 0.0 if same else math.inf, 0.0)
        error = 0.0 if float(value) == numeric else float(abs(value - slope.value))
        if self._given is not None:
            allowed = self._given.of(numeric)
            return Verdict("pass" if error <= allowed else "fail", numeric, error, allowed)
        allowed = float(abs(slope.value) * CLOSE + slope.noise) + _LEAST
        return Verdict("pass" if same or error <= allowed else _OPEN, numeric, error, allowed)

    def _spread(self, index: Index, reads: bool) -> list[float]:
        if (index, reads) not in self._spreads:
            self._spreads[index, reads] = self._differences.spread(index, _SEEDS, reads)
        return self._spreads[index, reads]


def _without(slope: Slope, value: float) -> Verdict | None:
    """Return the verdict where there is no derivative, else ``None``."""
    if slope.kind == "smooth":
        return None
    if slope.kind != "kink":
        reasons = {"undefined": "the value is not finite here", "unclear": "the difference quotients have no limit here"}
        return Verdict("undecided", math.nan, math.nan, 0.0, reasons[slope.kind])
    low, high = (float(side) for side in slope.sides)
    slack = CLOSE * max(abs(low), abs(high)) if math.isfinite(low) and math.isfinite(high) else 0.0
    inside = math.isfinite(value) and low - slack <= value <= high + slack
    middle = low if low == high else (low + high) / 2 if math.isfinite(low + high) else math.nan
    distance = 0.0 if inside else math.inf if not math.isfinite(value) else max(low - value, value - high)
    return Verdict("kink" if inside else "fail", middle, distance, slack)


def rounded(verdict: Verdict, spread: float) -> Verdict:
    """Return a failure as pass or undecided if rounding errors move the derivative by so much."""
    tolerance = verdict.tolerance + 2 * spread
    if verdict.verdict != "fail" or not math.isfinite(tolerance) or not verdict.error <= tolerance:
        return verdict
    if tolerance <= 1e-6 * abs(verdict.numeric):
        return verdict._replace(verdict="pass", tolerance=tolerance, reason="")
    return verdict._replace(verdict="undecided", tolerance=tolerance, reason=_NOISE)


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the verdict of the worst kind that is farthest off; a pass if there is none."""

    def excess(verdict: Verdict) -> tuple[int, float]:
        far = verdict.error / verdict.tolerance if verdict.tolerance else verdict.error
        return ORDER.index(verdict.verdict), math.inf if math.isnan(far) else far

    return max(verdicts, key=excess, default=Verdict("pass", math.nan, 0.0, 0.0))
