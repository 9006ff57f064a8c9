"""Recognition of floating-point constants such as 1/3, pi/2, log(2) and sqrt(2*pi).

A VJP rule may contain a float such as 0.6931471805599453, which approximates log(2).  A number is recognized only if it is the
float nearest to the constant or an adjacent float, so that the printed formula evaluates to the same number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

Coefficient = Fraction | float
"""A coefficient: an exact fraction, or an infinite or nan float."""

_ONE, _HALF = Fraction(1), Fraction(1, 2)
_MOST_DENOMINATOR, _MOST_ARGUMENT = 360, 1_000
"""The largest denominator of a simple fraction, and the largest integer whose root or logarithm is recognized."""
_MOST_SQUARE = 1_000_000
"""The largest number that is searched for square factors; the search takes as many steps as the square root of the number."""
_MOST_BITS = 256  # the largest size of a fraction; a power that is rounded to it has at most 16 times as many bits
_ADJACENT = 4.5e-16  # the relative distance within which two floats are equal or adjacent


def exact(value: float) -> Coefficient:
    """Convert a number to a simple fraction that equals it within rounding errors, or else to its printed decimal representation.

    The tolerance compensates for rounding in VJP rules: the exponent ``1/3 - 1`` becomes -2/3.
    """
    if isinstance(value, int):
        return Fraction(value)
    if not math.isfinite(value):
        return value
    return _simple(value, _ADJACENT) or Fraction(repr(value))


def to_float(value: Coefficient) -> float:
    """Convert a number to a float, which is infinite if the number exceeds the range of floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def tidy(value: Coefficient) -> Coefficient:
    """Round a fraction with more than 256 bits to float precision; return any other number unchanged."""
    if isinstance(value, Fraction) and value.numerator.bit_length() + value.denominator.bit_length() > _MOST_BITS:
        rounded = to_float(value)
        return Fraction(repr(rounded)) if rounded and math.isfinite(rounded) else value
    return value


def power(base: Coefficient, exponent: Fraction) -> Coefficient | None:
    """Return a power of a number, or ``None`` if it is irrational, not real, or has too many digits; 0**-1 is infinite."""
    if isinstance(base, float):  # infinite, nan, or 0 as a power of an infinite number
        return base ** to_float(exponent) if base != 0 else None
    if base == 0:
        return Fraction(0) if exponent > 0 else math.inf
    if exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(exponent)
        return tidy(Fraction(base**exponent.numerator)) if bits < 16 * _MOST_BITS else None
    if base < 0:
        return None
    numerator, denominator = (_integer_root(part, exponent.denominator) for part in (base.numerator, base.denominator))
    if numerator is None or denominator is None:
        return None
    return power(Fraction(numerator, denominator), Fraction(exponent.numerator))


def _integer_root(value: int, degree: int) -> int | None:
    """Return the square or cube root of an integer if it is an integer, else ``None``; large integers are not tried."""
    if degree > 3 or value >= 1 << 52:  # a float represents smaller integers exactly
        return None
    root = round(value ** (1 / degree))
    return root if root**degree == value else None


def _near(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=_ADJACENT)


def _simple(value: float, tolerance: float = 2e-15) -> Fraction | None:
    """Return the simple fraction, not 0, that a number approximates within rounding errors, or ``None``."""
    simple = Fraction(value).limit_denominator(_MOST_DENOMINATOR)
    return simple if simple and math.isclose(float(simple), value, rel_tol=tolerance) else None


def _without_squares(value: Fraction) -> tuple[Fraction, Fraction]:
    """Return the square-free part of a fraction and the square root of the remaining factor."""
    root = Fraction(*(_largest_square_root(part) for part in (value.numerator, value.denominator)))
    return value / root**2, root


def _largest_square_root(value: int) -> int:
    """Return the largest integer whose square divides a positive integer."""
    return next(factor for factor in range(isqrt(value), 0, -1) if value % factor**2 == 0)


class Constant(NamedTuple):
    """The number ``factor * c**power``.

    By kind (pi, over pi, e, log, number), ``c`` is ``argument*pi``, ``argument/pi``, ``e``, ``log(argument)`` or ``argument``.
    """

    factor: Fraction
    kind: str
    argument: Fraction = _ONE
    power: Fraction = _ONE


def recognized(value: float) -> Constant | None:
    """Return the symbolic constant that a float approximates, or ``None``."""
    if not math.isfinite(value) or value == 0 or float(value).is_integer():
        return None
    size = abs(value)
    constant = _multiple_or_root(size) or _root_with_pi(size) or _logarithm(size)
    return constant if constant is None or value > 0 else constant._replace(factor=-constant.factor)


def _multiple_or_root(size: float) -> Constant | None:
    """Recognize ``e``, a multiple of ``pi``, or the square root of an integer."""
    if size == math.e:
        return Constant(_ONE, "e")
    multiple = _simple(size / math.pi)
    if multiple and _near(float(multiple) * math.pi, size):
        return Constant(multiple, "pi")
    square = round(size * size) if size * size < _MOST_ARGUMENT else 0
    if _near(math.sqrt(square), size):
        return Constant(_ONE, "number", Fraction(square), _HALF)
    return None


def _root_with_pi(size: float) -> Constant | None:
    """Recognize the square root of a fraction times ``pi`` or ``1/pi``, as in ``sqrt(2*pi)`` and ``2/sqrt(pi)``."""
    square = size * size
    for sign, ratio in ((1, square / math.pi), (-1, square * math.pi)):  # the square may be ratio * pi**sign
        fraction = _simple(ratio)
        if fraction is None or max(fraction.numerator, fraction.denominator) > _MOST_SQUARE:
            continue
        if not _near(math.sqrt(float(fraction) * math.pi**sign), size):
            continue
        fraction, factor = _without_squares(fraction)
        if sign < 0 and fraction.numerator > 1:
            return Constant(factor, "over pi", fraction, _HALF)
        return Constant(factor, "pi", fraction if sign > 0 else 1 / fraction, sign * _HALF)
    return None


def _logarithm(size: float) -> Constant | None:
    """Recognize the logarithm of an integer, or its inverse."""
    for logarithm, exponent in ((size, _ONE), (1 / size, -_ONE)):
        number = round(math.exp(logarithm)) if logarithm < 7 else 0  # exp(7) is above the largest integer, 1000
        if 1 < number <= _MOST_ARGUMENT and _near(math.log(number), logarithm):
            return Constant(_ONE, "log", Fraction(number), exponent)
    return None
