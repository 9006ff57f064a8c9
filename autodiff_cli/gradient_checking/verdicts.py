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
_MOST_MOVED = 1e-6
"""The largest relative error that passes if only rounding errors of the variables, or trials without a reference, explain it."""

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

    ``index`` are the input elements of a derivative, and ``j`` is the element of the output; see ``Differences``.
    """

    def __init__(self, differences: Differences, names: list[str]) -> None:
        """Create a judge; ``names`` has the name of the variable of each input element."""
        self._differences = differences
        self._names = names
        self._spreads: dict[tuple[Index, bool], list[float]] = {}

    def derivative(self, value: float, index: Index, j: int) -> Verdict:
        """Return the verdict on a derivative that was computed in float64; rounding errors are measured only if they matter."""
        slope = self._differences.slopes(index)[j]
        verdict = _verdict_without_derivative(slope, value)
        if verdict is None:
            verdict = self._compared(self._differences.math.mpf(value), slope, is_equal=value == float(slope.value))
        return self._decided(verdict, value, index, j) if verdict.verdict == _OPEN else verdict

    def _decided(self, verdict: Verdict, value: float, index: Index, j: int) -> Verdict:
        """Return the final verdict for an open one, from measured rounding errors: of operations, and then also of variables."""
        size = abs(verdict.numeric)
        larger = max(abs(value), size)
        by_operations = _OPERATIONS * self._spread(index, of_variables=False)[j]
        tolerance = verdict.tolerance + by_operations
        if not math.isfinite(tolerance):
            return verdict._replace(verdict="undecided", reason="rounding errors may move the evaluation out of the domain here")
        verdict = verdict._replace(tolerance=tolerance)
        if verdict.error <= tolerance:
            is_sure = by_operations <= _MOST_LOST * size or larger <= tolerance  # digits remain, or both are about 0
            return verdict._replace(verdict="pass") if is_sure else verdict._replace(verdict="undecided", reason=_NOISE)
        by_variables = _INPUTS * self._spread(index, of_variables=True)[j]
        tolerance += by_variables
        if not (math.isfinite(by_variables) and verdict.error <= tolerance):
            return verdict._replace(verdict="fail")
        verdict = verdict._replace(tolerance=tolerance)
        if by_variables <= _MOST_MOVED * size:
            return verdict._replace(verdict="pass")
        variables = " and ".join(dict.fromkeys(self._names[i] for i in index))
        reason = _NOISE if larger <= tolerance else f"the derivative here depends on the last digit of {variables}"
        return verdict._replace(verdict="undecided", reason=reason)

    def claim(self, claimed: Real, index: Index, j: int) -> Verdict:
        """Return the verdict on a claimed derivative that was computed in arbitrary precision, so that it has no rounding errors.

        A claim that differs from the reference passes only if both are 0 up to the rounding errors of float64.
        """
        slope, value = self._differences.slopes(index)[j], float(claimed)
        if slope.kind in ("kink", "jump"):  # a derivative does not exist there
            return Verdict("kink", math.nan, 0.0, 0.0)
        if slope.kind == "undefined" and math.isnan(value):
            return Verdict("pass", math.nan, 0.0, 0.0)
        verdict = _verdict_without_derivative(slope, value) or self._compared(claimed, slope, is_equal=claimed == slope.value)
        if verdict.verdict != _OPEN:
            return verdict
        larger = max(abs(value), abs(verdict.numeric))
        tolerance = verdict.tolerance + _OPERATIONS * self._spread(index, of_variables=False)[j]
        if larger <= tolerance:
            return verdict._replace(verdict="pass", tolerance=tolerance)
        tolerance += _INPUTS * self._spread(index, of_variables=True)[j]
        size_nearby = self._differences.around(index, j, 1e-6)  # the derivative at the point itself may be 0
        if larger <= tolerance <= _MOST_MOVED * size_nearby:
            return verdict._replace(verdict="pass", tolerance=tolerance)
        return verdict._replace(verdict="fail")

    def _compared(self, value: Real, slope: Slope, is_equal: bool) -> Verdict:
        """Return the verdict if it does not require a measurement of rounding errors, else ``_OPEN``.

        ``is_equal`` says whether the number and the reference are equal in the precision of the number.
        """
        numeric = float(slope.value)
        if not self._differences.math.finite(value) or math.isinf(numeric):  # an error cannot be computed
            is_right = is_equal or (math.isinf(numeric) and float(value) == numeric)
            return Verdict("pass" if is_right else "fail", numeric, 0.0 if is_right else math.inf, 0.0)
        error = 0.0 if float(value) == numeric else float(abs(value - slope.value))
        allowed = float(abs(slope.value) * CLOSE + slope.noise) + _LEAST
        return Verdict("pass" if is_equal or error <= allowed else _OPEN, numeric, error, allowed)

    def _spread(self, index: Index, of_variables: bool) -> list[float]:
        """Return the changes of derivatives by perturbed rounding errors: of operations, or where variables are read."""
        if (index, of_variables) not in self._spreads:
            self._spreads[index, of_variables] = self._differences.spread(index, _SEEDS, of_variables)
        return self._spreads[index, of_variables]


def _verdict_without_derivative(slope: Slope, value: float) -> Verdict | None:
    """Return the verdict where the derivative does not exist, ``kink`` for a number between the sides; ``None`` where it exists."""
    if slope.kind == "smooth":
        return None
    if slope.kind == "jump":  # the verdict on the point follows; see ``notes.kinks.discontinuity``
        return Verdict("kink", math.nan, 0.0, 0.0)
    if slope.kind != "kink":
        reasons = {"undefined": "the value is not finite here", "unclear": "the difference quotients do not converge here"}
        return Verdict("undecided", math.nan, math.nan, 0.0, reasons[slope.kind])
    low, high = (float(side) for side in slope.sides)
    slack = CLOSE * max(abs(low), abs(high)) if math.isfinite(low) and math.isfinite(high) else 0.0
    middle = low / 2 + high / 2 if math.isfinite(low + high) or low == high else math.nan  # nan between infinite sides
    if not math.isfinite(value):
        return Verdict("fail", middle, math.inf, slack)
    if low - slack <= value <= high + slack:
        return Verdict("kink", middle, 0.0, slack)
    return Verdict("fail", middle, max(low - value, value - high), slack)


def rounded(verdict: Verdict, spread: float) -> Verdict:
    """Return ``pass`` or ``undecided`` in place of ``fail`` if rounding errors can cause the error; keep any other verdict.

    ``spread`` is the largest change of the number in trials with perturbed rounding errors.
    """
    tolerance = verdict.tolerance + 2 * spread  # twice, because a few trials may miss the largest change
    if verdict.verdict != "fail" or not math.isfinite(tolerance) or not verdict.error <= tolerance:
        return verdict
    if tolerance <= _MOST_MOVED * abs(verdict.numeric):
        return verdict._replace(verdict="pass", tolerance=tolerance, reason="")
    return verdict._replace(verdict="undecided", tolerance=tolerance, reason=_NOISE)


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the worst verdict, or a pass for an empty list; the largest ratio of error to tolerance breaks ties."""

    def rank(verdict: Verdict) -> tuple[int, float]:
        ratio = verdict.error / verdict.tolerance if verdict.tolerance else verdict.error
        return ORDER.index(verdict.verdict), math.inf if math.isnan(ratio) else ratio

    return max(verdicts, key=rank, default=Verdict("pass", math.nan, 0.0, 0.0))
