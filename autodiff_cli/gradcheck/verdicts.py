"""Whether a number is the derivative: the judgement of ``gradcheck``, apart from where its numbers come from.

Nothing here is a constant of the size of a derivative.  A number passes if it is the true one up to what floating-point
numbers cannot do better at that point, and that is measured: by rounding every operation in other directions, and the
variables, by half a unit in the last place, wherever they are read.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from autodiff_cli.precise.differences import Differences, Index, Slope

CLOSE = 1e-12
"""What derivatives may differ by, relative, whatever the rounding: rules of special functions keep no more digits."""
_OPERATIONS, _INPUTS = 32, 8
"""How many times the movement that rounding made in trials a derivative may be off."""
_SEEDS = (1, 2, 3)
_LEAST = 2.0**-1072
_MOST_LOST = 1e-3
"""Relative to a derivative: with less left of it than this, agreement says nothing."""

_NOISE = "rounding errors on the way are as large as the derivative"

ORDER = ("pass", "kink", "undecided", "fail")
"""Verdicts, the best first."""


class Verdict(NamedTuple):
    """One number judged.

    Attributes:
        verdict: ``pass``, ``fail``, ``kink`` or ``undecided``.
        numeric: the truth as a float.
        error, tolerance: how far it is off, and how far it may be.
        reason: why it is undecided, or what kind of failure it is.
    """

    verdict: str
    numeric: float
    error: float
    tolerance: float
    reason: str = ""


class Judge:
    """Judges derivatives by the truth from differences with many digits.

    Args:
        differences: the truth.
        names: what each element of the inputs is called.
        atol, rtol: tolerances in the place of the measured ones.
    """

    def __init__(self, differences: Differences, names: list[str], atol: float | None = None, rtol: float | None = None) -> None:
        self._differences = differences
        self._names = names
        self._given = None if atol is None and rtol is None else (atol or 0.0, rtol or 0.0)
        self._spreads: dict[tuple[Index, bool], list[float]] = {}

    def slope(self, index: Index, j: int) -> Slope:
        """What the values say of a derivative."""
        return self._differences.slopes(index)[j]

    def derivative(self, value: float, index: Index, j: int) -> Verdict:
        """Judge a derivative that was computed with floats."""
        slope = self.slope(index, j)
        verdict = self._without(slope, value)
        if verdict is not None:
            return verdict
        truth, mp = slope.value, self._differences.math.mp
        numeric = float(truth)
        verdict, error, allowed = self._plainly(mp.mpf(value), truth, slope.noise, value == numeric)
        if verdict is not None:
            return verdict
        size, floor = abs(numeric), _OPERATIONS * self._spread(index, False)[j]
        tolerance = allowed + floor
        if not math.isfinite(tolerance):
            return Verdict("undecided", numeric, error, allowed, "rounding alone may take it out of the domain here")
        if error <= tolerance:
            if floor <= _MOST_LOST * size or max(abs(value), size) <= tolerance:
                return Verdict("pass", numeric, error, tolerance)
            return Verdict("undecided", numeric, error, tolerance, _NOISE)
        moved = _INPUTS * self._spread(index, True)[j]
        if math.isfinite(moved) and error <= tolerance + moved:
            if moved <= 1e-6 * size:
                return Verdict("pass", numeric, error, tolerance + moved)
            where = " and ".join(dict.fromkeys(self._names[i] for i in index))
            lost = max(abs(value), size) <= tolerance + moved
            reason = _NOISE if lost else f"the last digit of {where} decides about the derivative here"
            return Verdict("undecided", numeric, error, tolerance + moved, reason)
        return Verdict("fail", numeric, error, tolerance)

    def claim(self, claimed: Any, index: Index, j: int) -> Verdict:
        """Judge a derivative that a person claims, computed with many digits."""
        slope, mp = self.slope(index, j), self._differences.math.mp
        value = float(claimed)
        if slope.kind == "kink":
            return Verdict("kink", math.nan, 0.0, 0.0)
        if slope.kind == "undefined" and math.isnan(value):
            return Verdict("pass", math.nan, 0.0, 0.0)
        verdict = self._without(slope, value)
        if verdict is not None:
            return verdict
        truth = slope.value
        numeric = float(truth)
        verdict, error, allowed = self._plainly(mp.mpf(claimed), truth, slope.noise, claimed == truth)
        if verdict is not None:
            return verdict
        larger = max(abs(value), abs(numeric))
        floor = allowed + _OPERATIONS * self._spread(index, False)[j]
        if larger <= floor:  # both are 0 as far as floats can tell
            return Verdict("pass", numeric, error, floor)
        moved = floor + _INPUTS * self._spread(index, True)[j]
        if larger <= moved <= 1e-6 * self._around(index, j):
            return Verdict("pass", numeric, error, moved)
        return Verdict("fail", numeric, error, allowed)

    def _plainly(self, value: Any, truth: Any, noise: Any, same: bool) -> tuple[Verdict | None, float, float]:
        """The verdict that needs no measurement, if there is one; the error, and what is allowed in any case."""
        mp = self._differences.math.mp
        numeric = float(truth)
        if mp.isnan(value) or mp.isinf(value) or math.isinf(numeric):
            same = same or (math.isinf(numeric) and float(value) == numeric)
            return Verdict("pass" if same else "fail", numeric, 0.0 if same else math.inf, 0.0), 0.0, 0.0
        error = 0.0 if float(value) == numeric else float(abs(value - truth))
        if self._given is not None:
            allowed = self._given[0] + self._given[1] * abs(numeric)
            return Verdict("pass" if error <= allowed else "fail", numeric, error, allowed), error, allowed
        allowed = float(abs(truth) * CLOSE + noise) + _LEAST
        return Verdict("pass", numeric, error, allowed) if same or error <= allowed else None, error, allowed

    @staticmethod
    def _without(slope: Slope, value: float) -> Verdict | None:
        """The verdict where there is no derivative."""
        if slope.kind == "undefined":
            return Verdict("undecided", math.nan, math.nan, 0.0, "the value is not finite here")
        if slope.kind == "unclear":
            return Verdict("undecided", math.nan, math.nan, 0.0, "the difference quotients have no limit here")
        if slope.kind == "kink":
            low, high = (float(side) for side in slope.sides)
            slack = CLOSE * max(abs(low), abs(high)) if math.isfinite(low) and math.isfinite(high) else 0.0
            inside = math.isfinite(value) and low - slack <= value <= high + slack
            middle = low if low == high else (low + high) / 2 if math.isfinite(low + high) else math.nan
            distance = 0.0 if inside else math.inf if not math.isfinite(value) else max(low - value, value - high)
            return Verdict("kink" if inside else "fail", middle, distance, slack)
        return None

    def _spread(self, index: Index, reads: bool) -> list[float]:
        if (index, reads) not in self._spreads:
            self._spreads[index, reads] = self._differences.spread(index, _SEEDS, reads)
        return self._spreads[index, reads]

    def _around(self, index: Index, j: int) -> float:
        """How large the derivative is where its variables are a millionth larger or smaller."""
        return self._differences.around(index, j, 1e-6)


def rounded(verdict: Verdict, spread: float) -> Verdict:
    """A failure in the light of how far rounding errors move the derivative."""
    tolerance = verdict.tolerance + 2 * spread
    if verdict.verdict != "fail" or not math.isfinite(tolerance) or not verdict.error <= tolerance:
        return verdict
    if tolerance <= 1e-6 * abs(verdict.numeric):
        return verdict._replace(verdict="pass", tolerance=tolerance, reason="")
    return verdict._replace(verdict="undecided", tolerance=tolerance, reason=_NOISE)


def worst(verdicts: list[Verdict]) -> Verdict | None:
    """The one that says most: of the worst kind, and the farthest off."""
    if not verdicts:
        return None

    def excess(verdict: Verdict) -> tuple[int, float]:
        far = verdict.error / verdict.tolerance if verdict.tolerance else verdict.error
        return ORDER.index(verdict.verdict), math.inf if math.isnan(far) else far

    return max(verdicts, key=excess)
