"""The interval rules of special functions: monotone functions, and functions with bounds of their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.intervals.interval import UNBOUNDED, Interval, chosen, decreasing, hull, increasing, outward

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask
    from autodiff_cli.solvers.intervals.interval import Bounds, Pair
    from autodiff_cli.solvers.intervals.rules import Call, Rule

_INF = np.inf
_POSITIVE = (0.0, _INF)
_NOWHERE = (np.nan, np.nan)  # the exact pair of a function without an argument at which its value is exact
SPECIAL = 64  # the assumed maximum error of special functions, in units in the last place
_MONOTONE_ERROR = 1e-11  # the assumed maximum relative error of a function of several arguments
_LGAMMA_MINIMUM = (1.4616321449683623, -0.12148629053584961)  # the minimum of the logarithm of the gamma function (DLMF 5.4.20)


def _valley(argument: float, value: float) -> Rule:
    """Return the rule of a convex function of positive numbers, whose minimum is ``value`` at ``argument``."""

    def rule(call: Call, operands: tuple[Interval, ...]) -> Interval:
        """Return the values between the minimum and the larger value at an end; unbounded unless the operand is positive."""
        x = operands[0]
        ends = [call(np.maximum(end, 0.0)) for end in (x.low, x.high)]
        # At a value of 0, as that of lgamma at 1 and 2, the error is absolute.
        result = outward(np.minimum(*ends) - 1e-15, np.maximum(*ends) + 1e-15, x.regular, SPECIAL)
        minimum = np.nextafter(value, -_INF)
        low = np.where(x.holds(argument), minimum, np.maximum(result.low, minimum))
        return chosen(x.low > 0, Interval(low, result.high, result.regular), UNBOUNDED)

    return rule


def _lambertw(call: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the values of a branch of the Lambert W function: branch 0 increases, and branch -1 decreases."""
    x, branch_point = operands[0], -float(np.exp(-1.0))
    extreme, error = float(call(np.array(branch_point))), 1e-7  # the slope is infinite there, and rounding errors are large
    if call.number() == 0:  # the branch
        exact = 0.0, float(call(np.zeros(())))
        return increasing(x, call, (branch_point, _INF), (extreme - error, _INF), exact, SPECIAL)
    return decreasing(x, call, (branch_point, 0.0), (-_INF, extreme + error), _NOWHERE, SPECIAL)


def _expi(call: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the values of the exponential integral Ei, which decreases up to its pole at 0 and increases beyond it."""
    x = operands[0]
    left = decreasing(x, call, (-_INF, 0.0), exact=_NOWHERE, ulps=SPECIAL)
    right = increasing(x, call, _POSITIVE, exact=_NOWHERE, ulps=SPECIAL)
    at_pole = hull(left, right)._replace(regular=UNBOUNDED.regular)
    result = chosen(x.high < 0, left, chosen(x.low > 0, right, at_pole))
    return result._replace(low=result.low - 1e-14, high=result.high + 1e-14)  # at its zero 0.37, the error is absolute


def _monotone(*signs: int, inside: Callable[..., Mask], bounds: Pair = _POSITIVE) -> Rule:
    """Return the rule of a function that rises (1) or falls (-1) in each argument, ``inside`` its domain; elsewhere unbounded."""

    def rule(call: Call, operands: tuple[Interval, ...]) -> Interval:
        """Return the values between those at two corners of the box."""
        # For each operand, the end with the lower value of the function, then the other one.
        ends = [(x.low, x.high) if sign > 0 else (x.high, x.low) for x, sign in zip(operands, signs, strict=True)]
        low, high = (call(*np.broadcast_arrays(*side)) for side in zip(*ends, strict=True))
        regular = np.logical_and.reduce(np.broadcast_arrays(*(x.regular for x in operands)))
        result = outward(low * (1 - _MONOTONE_ERROR), high * (1 + _MONOTONE_ERROR), regular)
        result = result._replace(low=np.clip(result.low, *bounds), high=np.clip(result.high, *bounds))
        known = inside(*operands) & ~np.isnan(low) & ~np.isnan(high)
        return chosen(known, result, UNBOUNDED)

    return rule


def _positive(*operands: Interval) -> Mask:
    """Return where all operands are positive."""
    return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*(x.low > 0 for x in operands))))


def _mean_value(slope: Callable[[Bounds], Bounds], bounds: Pair, last: float, rounding: float) -> Rule:
    """Return the rule of a function by the mean value theorem: the value at the middle, plus or minus slope times half-width.

    Args:
        slope: a bound of the derivative for arguments up to a magnitude.
        bounds: bounds of the values.
        last: the largest argument for which the bound of the derivative holds.
        rounding: the assumed maximum error of a value, relative to 1 plus the slope.
    """

    def rule(call: Call, operands: tuple[Interval, ...]) -> Interval:
        """Return the values around that at the middle; unbounded if the operand may be larger than ``last``."""
        x = operands[0]
        middle = np.clip(x.low / 2 + x.high / 2, -1e300, 1e300)  # finite, also of infinite bounds
        away = np.nextafter(np.maximum(x.high - middle, middle - x.low), _INF)
        steepest = slope(x.magnitude)
        value, error = call(middle), away * steepest * (1 + 1e-15) + rounding * (1 + steepest)
        low, high = (np.where(x.empty, np.nan, np.clip(end, *bounds)) for end in (value - error, value + error))
        return chosen((x.high <= last) & ~np.isnan(error), Interval(low, high, x.regular), UNBOUNDED)

    return rule


SPECIAL_RULES: dict[str, Rule] = {
    "digamma": lambda call, x: chosen(x[0].low > 0, increasing(x[0], call, _POSITIVE, exact=(-1.0, 0.0), ulps=SPECIAL), UNBOUNDED),
    "lgamma": _valley(*_LGAMMA_MINIMUM),
    "gamma": _valley(_LGAMMA_MINIMUM[0], 0.88560319441088870),
    # |J| <= 1 and |J'| <= 1 (DLMF 10.14.1, 10.6.1)
    **dict.fromkeys(("j0", "j1", "bessel_j"), _mean_value(np.ones_like, (-1.0, 1.0), _INF, 5e-15)),
    **dict.fromkeys(("lambertw", "lambertw_rise"), _lambertw),
    "expi": _expi,
    "exp1": lambda call, x: decreasing(x[0], call, _POSITIVE, _POSITIVE, _NOWHERE, SPECIAL),
    "gammainc": _monotone(-1, 1, inside=_positive, bounds=(0.0, 1.0)),
    "gammaincc": _monotone(1, -1, inside=_positive, bounds=(0.0, 1.0)),
    "betainc": _monotone(-1, 1, 1, inside=_positive, bounds=(0.0, 1.0)),
    "iv": _monotone(-1, 1, inside=_positive),
    "kv": _monotone(1, -1, inside=_positive),
}
"""The rules by the name of the primitive."""
