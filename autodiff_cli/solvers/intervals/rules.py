"""The interval rule of each primitive of a tape; a primitive without a rule is replaced by its decomposition, or is unbounded.

A condition is an interval of the numbers 0 (false) and 1 (true); the interval from 0 to 1 means that the condition is true on
one part of the box and false on another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.intervals.interval import (
    EVERYWHERE,
    ULPS,
    UNBOUNDED,
    Interval,
    add,
    chosen,
    decreasing,
    div,
    even,
    hull,
    increasing,
    mul,
    neg,
    outward,
    point,
    reciprocal,
    sub,
)
from autodiff_cli.solvers.intervals.special_rules import SPECIAL, SPECIAL_RULES

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask
    from autodiff_cli.solvers.intervals.interval import Bounds, Function, Pair

Rule = Callable[["Call", "tuple[Interval, ...]"], Interval]
"""A function that returns the interval of a call, given the intervals of its operands."""
_INF = np.inf
_POSITIVE = (0.0, _INF)


class Call:
    """A call of a primitive: the function that computes it, its static arguments, and its name."""

    def __init__(self, forward: Callable[..., object], statics: Sequence[object] = (), name: str = "") -> None:
        self.name, self.statics = name, statics
        self._forward = forward

    def __call__(self, *arrays: Bounds) -> Bounds:
        """Return the values of the function."""
        result: Bounds = np.multiply(self._forward(*arrays, *self.statics), 1.0)  # type: ignore[call-overload]
        return result

    def number(self, i: int = 0) -> float:
        """Return a static argument as a number; nan if it is not a number."""
        value = self.statics[i]
        return float(value) if isinstance(value, int | float | np.generic) else np.nan


def _rising(domain: Pair = EVERYWHERE, bounds: Pair = EVERYWHERE, exact: Pair = (0.0, 0.0), ulps: int = ULPS) -> Rule:
    """Return the rule of an increasing function; see ``increasing`` for the arguments."""
    return lambda call, x: increasing(x[0], call, domain, bounds, exact, ulps)


def _falling(domain: Pair = EVERYWHERE, bounds: Pair = EVERYWHERE, exact: Pair = (0.0, 0.0), ulps: int = ULPS) -> Rule:
    """Return the rule of a decreasing function; see ``increasing`` for the arguments."""
    return lambda call, x: decreasing(x[0], call, domain, bounds, exact, ulps)


def _passes(x: Interval, offset: float, period: float) -> Mask:
    """Return whether an interval contains, or nearly contains, a number ``offset + k*period`` for an integer k."""
    low, high = (x.low - offset) / period, (x.high - offset) / period
    slack = 1e-15 * (2 + np.maximum(np.abs(low), np.abs(high)))  # the rounding errors of these two, and of an inexact period
    passes: Mask = np.ceil(low - slack) <= high + slack
    return passes | ~np.isfinite(low) | ~np.isfinite(high)


def _wave(call: Call, x: Interval, top: float) -> Interval:
    """Return the values of the sine or the cosine, which has its maximum at ``top``: pi/2 or 0."""
    with np.errstate(all="ignore"):  # an unbounded interval passes both extremes, so that the values at its ends do not count
        ends = [np.where(np.isfinite(end), call(end), 0.0) for end in (x.low, x.high)]
    result = outward(np.minimum(*ends), np.maximum(*ends), x.regular, ULPS)
    low = np.where(_passes(x, top + np.pi, 2 * np.pi), -1.0, np.maximum(result.low, -1.0))
    high = np.where(_passes(x, top, 2 * np.pi), 1.0, np.minimum(result.high, 1.0))
    is_sine_of_0 = (x.low == 0) & (x.high == 0) & (top > 0)
    low, high = (np.where(x.empty, np.nan, np.where(is_sine_of_0, 0.0, end)) for end in (low, high))
    return Interval(low, high, x.regular)


def _power(call: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the values of a power of the first operand; the exponent is the second one, or a static argument."""
    x = operands[0]
    if len(operands) == 2:
        return _general_power(*operands)
    exponent = call.number()
    if exponent == 0:
        unit = np.where(x.empty, np.nan, 1.0)
        return Interval(unit, unit, x.regular)
    if exponent == np.floor(exponent):
        return _whole_power(x, exponent) if exponent > 0 else reciprocal(_whole_power(x, -exponent))
    if exponent > 0:  # not a whole number, so that only powers of positive numbers are defined
        return increasing(x, lambda v: np.power(v, exponent), domain=_POSITIVE, bounds=_POSITIVE)
    return decreasing(x, lambda v: np.power(v, exponent), domain=_POSITIVE, bounds=_POSITIVE, exact=(1.0, 1.0))


def _whole_power(x: Interval, exponent: float) -> Interval:
    """Return the values of a power whose exponent is a whole number, 1 or more: even, or increasing."""
    if exponent == 1:
        return x

    def power(base: Bounds) -> Bounds:
        # Machine code has products only; those of a power up to 8 are wrong by less than ULPS units.
        return reduce(np.multiply, [base] * int(exponent)) if exponent <= 8 else np.power(base, exponent)

    ulps = 1 if exponent == 2 else ULPS  # a square is rounded once
    return even(x, power, ulps) if exponent % 2 == 0 else increasing(x, power)


def _exponential(call: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the values of a power with a constant base; unbounded if the base is not positive."""
    base = call.number()
    if base > 1:
        return increasing(operands[0], call, bounds=_POSITIVE, exact=(0.0, 1.0))
    if 0 < base <= 1:
        return decreasing(operands[0], call, bounds=_POSITIVE, exact=(0.0, 1.0))
    return UNBOUNDED


def _general_power(x: Interval, y: Interval) -> Interval:
    """Return the values of x**y = exp(y*log(x)); unbounded where x may be negative."""
    log = increasing(x, np.log, _POSITIVE, exact=(1.0, 0.0))
    result = increasing(mul(y, log), np.exp, bounds=_POSITIVE, exact=(0.0, 1.0))
    return chosen(x.low >= 0, result, UNBOUNDED)


def _steps(call: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the values of an increasing step function, which is continuous on a box if it is constant there."""
    x = operands[0]
    low, high = (call(end) for end in (x.low, x.high))
    return Interval(low, high, x.regular & (low == high))


def _remainder(whole: Function) -> Rule:
    """Return the rule of x - y*whole(x/y), where ``whole`` rounds to a whole number; y is an operand or a static argument."""

    def rule(call: Call, operands: tuple[Interval, ...]) -> Interval:
        """Return the values of the remainder, which is continuous on a box if the whole number is constant there."""
        x = operands[0]
        y = operands[1] if len(operands) == 2 else point(call.number())
        quotient = div(x, y)
        low, high = (whole(end) for end in (quotient.low, quotient.high))
        is_continuous = quotient.regular & (low == high)
        return sub(x, mul(y, Interval(low, high, is_continuous)))

    return rule


def _extreme(extreme: Callable[[Bounds, Bounds], Bounds]) -> Rule:
    """Return the rule of the maximum or of the minimum of two numbers, which increases with both."""
    return lambda _, x: Interval(extreme(x[0].low, x[1].low), extreme(x[0].high, x[1].high), x[0].regular & x[1].regular)


def _where(_: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the values of a choice: those of both branches, not continuous, if the condition may be true and false."""
    condition, x, y = operands
    either = hull(x, y)._replace(regular=UNBOUNDED.regular)
    is_true, is_false = condition.low > 0, condition.high == 0
    result = chosen(is_true, x, chosen(is_false, y, either))
    return result._replace(regular=result.regular & condition.regular)


def _compared(true: Callable[[Interval, Interval], Mask], possible: Callable[[Interval, Interval], Mask]) -> Rule:
    """Return the rule of a comparison, given when two intervals make it ``true`` on the whole box, and ``possible`` on a part."""

    def rule(_: Call, operands: tuple[Interval, ...]) -> Interval:
        """Return the condition, from 0 for one that may be false to 1 for one that may be true."""
        x, y = operands
        if x is y:  # the same number, as in x != x
            x = y = Interval(np.zeros(()), np.zeros(()), x.regular)
        is_undefined = x.empty | y.empty  # then it may be true or false
        is_true, may_be_true = true(x, y) & ~is_undefined, possible(x, y) | is_undefined
        is_constant = is_true == may_be_true
        return Interval(np.where(is_true, 1.0, 0.0), np.where(may_be_true, 1.0, 0.0), x.regular & y.regular & is_constant)

    return rule


def _overlap(x: Interval, y: Interval) -> Mask:
    """Return where two intervals have a number in common."""
    return (x.low <= y.high) & (y.low <= x.high)


def _same(x: Interval, y: Interval) -> Mask:
    """Return where two intervals are the same number."""
    same: Mask = (x.low == x.high) & (y.low == y.high) & (x.low == y.low)
    return same


def _not(_: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the values of the opposite of a condition."""
    x = operands[0]
    return Interval(1.0 - x.high, 1.0 - x.low, x.regular)


def _finite(_: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the condition that a number is finite: true if the operand is continuous and bounded, and else from 0 to 1."""
    x = operands[0]
    certain = x.regular & np.isfinite(x.magnitude)
    return Interval(np.where(certain, 1.0, 0.0), np.ones(()), certain)


def _hypot(_: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the values of sqrt(x**2 + y**2), which increases with both magnitudes."""
    x, y = operands
    nearest, farthest = np.hypot(x.mignitude, y.mignitude), np.hypot(x.magnitude, y.magnitude)
    result = outward(nearest, farthest, x.regular & y.regular, ULPS)
    return result._replace(low=np.maximum(result.low, 0.0))


def _atan2(_: Call, operands: tuple[Interval, ...]) -> Interval:
    """Return the angles of points, which are extreme at the corners of the box unless it touches the cut at y = 0, x <= 0."""
    y, x = operands
    angles = [np.arctan2(v, u) for v in (y.low, y.high) for u in (x.low, x.high)]  # at the corners
    result = outward(reduce(np.minimum, angles), reduce(np.maximum, angles), y.regular & x.regular, ULPS)
    above_pi = np.nextafter(np.pi, 4)
    touches_cut = (x.low <= 0) & y.holds(0.0)
    return chosen(touches_cut, Interval(-above_pi, above_pi, UNBOUNDED.regular), result)


_REMAINDERS: dict[str, Function] = {"remainder": np.floor, "fmod": np.trunc}
_STEPPED = {"sign", "floor", "ceil", "round", "trunc", "floor_divide", "lt", "le", "gt", "ge", "eq", "ne"}
"""The functions whose values are whole numbers; ``round`` only without decimals."""
_MOST_STEPS = 4  # the largest difference of two whole numbers between which all are listed
RULES: dict[str, Rule] = {
    "add": lambda _, x: add(*x),
    "sub": lambda _, x: sub(*x),
    "neg": lambda _, x: neg(*x),
    "mul": lambda _, x: mul(*x),
    "div": lambda _, x: div(*x),
    "abs": lambda _, x: even(x[0], np.abs, 1),
    "square": lambda _, x: even(x[0], np.square, 1),
    "sqrt": _rising(_POSITIVE, _POSITIVE, ulps=1),
    **dict.fromkeys(("cbrt", "sinh", "asinh", "tanhshrink", "atan"), _rising()),
    **dict.fromkeys(("exp", "exp2"), _rising(bounds=_POSITIVE, exact=(0.0, 1.0))),
    "expm1": _rising(bounds=(-1.0, _INF)),
    **dict.fromkeys(("log", "log2", "log10"), _rising(_POSITIVE, exact=(1.0, 0.0))),
    "log1p": _rising((-1.0, _INF)),
    **dict.fromkeys(("tanh", "erf"), _rising(bounds=(-1.0, 1.0))),
    **dict.fromkeys(("atanh", "asin"), _rising((-1.0, 1.0))),
    "acos": _falling((-1.0, 1.0), (0.0, 4.0), (1.0, 0.0)),
    "acosh": _rising((1.0, _INF), _POSITIVE, (1.0, 0.0)),
    **dict.fromkeys(("cosh", "i0"), lambda call, x: even(x[0], call)),
    "sin": lambda call, x: _wave(call, x[0], np.pi / 2),
    "cos": lambda call, x: _wave(call, x[0], 0.0),
    "tan": lambda call, x: chosen(_passes(x[0], np.pi / 2, np.pi), UNBOUNDED, increasing(x[0], call)),
    "atan2": _atan2,
    "hypot": _hypot,
    "sigmoid": _rising(bounds=(0.0, 1.0), exact=(0.0, 0.5)),
    "erfc": _falling(bounds=(0.0, 2.0), exact=(0.0, 1.0), ulps=SPECIAL),
    "ndtr": _rising(bounds=(0.0, 1.0), exact=(0.0, 0.5), ulps=SPECIAL),
    "erfinv": _rising((-1.0, 1.0), ulps=SPECIAL),
    "i1": _rising(ulps=SPECIAL),
    **dict.fromkeys(("maximum", "logical_or", "bitwise_or"), _extreme(np.maximum)),
    **dict.fromkeys(("minimum", "logical_and", "bitwise_and"), _extreme(np.minimum)),
    "where": _where,
    **dict.fromkeys(("sign", "floor", "ceil", "round", "trunc"), _steps),
    "remainder": _remainder(np.floor),
    "fmod": _remainder(np.trunc),
    "lt": _compared(lambda x, y: x.high < y.low, lambda x, y: x.low < y.high),
    "le": _compared(lambda x, y: x.high <= y.low, lambda x, y: x.low <= y.high),
    "gt": _compared(lambda x, y: x.low > y.high, lambda x, y: x.high > y.low),
    "ge": _compared(lambda x, y: x.low >= y.high, lambda x, y: x.high >= y.low),
    "eq": _compared(_same, _overlap),
    "ne": _compared(lambda x, y: ~_overlap(x, y), lambda x, y: ~_same(x, y)),
    **dict.fromkeys(("logical_not", "bitwise_not"), _not),
    "isfinite": _finite,
    **dict.fromkeys(("isnan", "isinf"), lambda call, x: _not(call, (_finite(call, x),))),
    **SPECIAL_RULES,
    "floor_divide": lambda _, x: _steps(Call(np.floor), (div(*x),)),
}
"""The rules by the name of the primitive; powers have three primitives of one name, see ``rule_of``."""


def pieces(call: Call, operands: tuple[Interval, ...], interval: Interval) -> list[Interval]:
    """Return the continuous pieces of the ``interval`` of a call that jumps or has a pole; none if they are many or unknown."""
    first, name = operands[0], call.name
    if name in _REMAINDERS:  # a piece for each whole number of the quotient
        divisor = operands[1] if len(operands) == 2 else point(call.number())
        quotient, whole = div(first, divisor), _REMAINDERS[name]
        return [sub(first, mul(divisor, number)) for number in _whole(whole(quotient.low), whole(quotient.high))]
    if name in _STEPPED:
        return _whole(interval.low, interval.high)
    if name == "tan" and first.high - first.low < 1:  # beside one pole, the magnitude is smallest at an end
        least = np.minimum(np.abs(call(first.low)), np.abs(call(first.high))) * (1 - 1e-12)  # less a generous rounding error
        return [interval._replace(low=least), interval._replace(high=-least)]
    if name == "div":
        return [div(first, half) for half in _halves(operands[1])]
    if name == "pow" and len(operands) == 1 and call.number() < 0 and call.number() % 1 == 0:
        return [_power(call, (half,)) for half in _halves(first)]
    return []


def _halves(denominator: Interval) -> list[Interval]:
    """Return the negative and the positive part of a denominator with 0 inside; none without."""
    if not denominator.low < 0 < denominator.high:
        return []
    zero = np.zeros_like(denominator.low)
    return [denominator._replace(high=-zero), denominator._replace(low=zero)]


def _whole(low: Bounds, high: Bounds) -> list[Interval]:
    """Return the whole numbers between two bounds as intervals; none if they are too many."""
    if not high - low <= _MOST_STEPS:  # or one is not finite
        return []
    return [point(float(low) + k) for k in range(int(high - low) + 1)]


def rule_of(name: str, series: object, arity: int) -> Rule | None:
    """Return the rule of a primitive, or ``None``; ``series``, its Taylor rule, tells a constant exponent from a constant base."""
    if name == "pow":
        return _power if arity == 2 or series == "power" else _exponential
    return RULES.get(name)
