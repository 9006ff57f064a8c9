"""Recognition of floating-point constants such as 1/3, pi/2, log(2) and sqrt(2*pi).

A VJP rule may contain a float such as 0.6931471805599453, which approximates log(2).  A number is recognized only if it is the
float nearest to the constant or an adjacent float, so that the printed formula evaluates to the same number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import isqrt

Coefficient = Fraction | float
"""A coefficient: an exact fraction, or an infinite or nan float."""

_PARTS = 360
_MOST_ROOTS = 1_000
_MOST_SQUARE = 1_000_000
"""The largest number that is searched for square factors; the search takes as many steps as the square root of the number."""
_BITS = 256


def exact(value: float) -> Coefficient:
    """Convert a number to a simple fraction that equals it within rounding errors, or else to its printed decimal representation.

    The tolerance compensates for rounding in VJP rules: the exponent ``1/3 - 1`` becomes -2/3.
    """
    if isinstance(value, int):
        return Fraction(value)
    if not math.isfinite(value):
        return value
    simple = Fraction(value).limit_denominator(_PARTS)
    return simple if value == 0 or (simple and _near(float(simple), value)) else Fraction(repr(value))


def to_float(value: Coefficient) -> float:
    """Convert a number to a float, which is infinite if the number exceeds the range of floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def tidy(value: Coefficient) -> Coefficient:
    """Round a fraction with more than 256 bits to float precision; return any other number unchanged."""
    if isinstance(value, Fraction) and value.numerator.bit_length() + value.denominator.bit_length() > _BITS:
        short = to_float(value)
        return Fraction(repr(short)) if short and math.isfinite(short) else value
    return value


def power(base: Coefficient, exponent: Fraction) -> Coefficient | None:
    """Return a power of a number if the result is a fraction, infinite or nan, else ``None``."""
    if isinstance(base, float):
        return base ** to_float(exponent) if base != 0 else None
    if base == 0:
        return Fraction(0) if exponent > 0 else math.inf
    if exponent.denominator == 1:
        size = max(base.numerator.bit_length(), base.denominator.bit_length())
        return tidy(Fraction(base**exponent.numerator)) if abs(exponent) * size < 16 * _BITS else None
    if base < 0:
        return None
    root = [_root(part, exponent.denominator) for part in (base.numerator, base.denominator)]
    if root[0] is None or root[1] is None:
        return None
    return power(Fraction(root[0], root[1]), Fraction(exponent.numerator))


def _root(value: int, degree: int) -> int | None:
    if degree > 3 or value >= 1 << 52:
        return None
    root = round(value ** (1 / degree))
    return root if root**degree == value else None


def _near(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=4.5e-16)


def _simple(value: float) -> Fraction | None:
    """Return the simple fraction that a number approximates within rounding errors, or ``None``."""
    simple = Fraction(value).limit_denominator(_PARTS)
    return simple if simple and math.isclose(float(simple), value, rel_tol=2e-15) else None


def _without_squares(value: Fraction) -> tuple[Fraction, Fraction]:
    """Return the square-free part of a fraction and the square root of the remaining factor."""
    parts, roots = [value.numerator, value.denominator], [1, 1]
    for i, part in enumerate(parts):
        for factor in range(isqrt(part), 1, -1):
            if part % factor**2 == 0:
                parts[i], roots[i] = part // factor**2, factor
                break
    return Fraction(*parts), Fraction(*roots)


def recognized(value: float) -> tuple[Fraction, str, Fraction, Fraction] | None:
    """Return the symbolic constant that a float approximates, or ``None``.

    Returns:
        ``(factor, kind, argument, power)`` for ``factor * constant**power``.  The kinds of constants are ``pi`` for
        ``argument*pi``, ``over pi`` for ``argument/pi``, ``e``, ``log`` for ``log(argument)`` and ``number`` for the
        argument itself.
    """
    if not math.isfinite(value) or value == 0 or float(value).is_integer():
        return None
    sign, size = Fraction(1 if value > 0 else -1), abs(value)
    unit, half = Fraction(1), Fraction(1, 2)
    if size == math.e:
        return sign, "e", unit, unit
    times = _simple(size / math.pi)
    if times and _near(float(times) * math.pi, size):
        return sign * times, "pi", unit, unit
    square = size * size
    if square < _MOST_ROOTS and _near(math.sqrt(round(square)), size):
        return sign, "number", Fraction(round(square)), half
    for exponent, ratio in ((half, square / math.pi), (-half, square * math.pi)):
        times = _simple(ratio)
        if (
            times is None
            or max(times.numerator, times.denominator) > _MOST_SQUARE
            or not _near(math.sqrt(float(times) * math.pi ** (1 if exponent > 0 else -1)), size)
        ):
            continue
        times, whole = _without_squares(times)
        if exponent < 0 and times.numerator > 1:
            return sign * whole, "over pi", times, half
        return sign * whole, "pi", times if exponent > 0 else 1 / times, exponent
    for logarithm, exponent in ((size, unit), (1 / size, -unit)):
        number = round(math.exp(logarithm)) if logarithm < 7 else 0
        if 1 < number <= _MOST_ROOTS and _near(math.log(number), logarithm):
            return sign, "log", Fraction(number), exponent
    return None
