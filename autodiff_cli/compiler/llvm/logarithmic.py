"""The logarithms, the inverse hyperbolic functions and powers of vectors.

x = 2**k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).  With s = f/(2 + f), log(1 + f) = log((1 + s)/(1 - s)) is an odd
series in s, written such that f - f**2/2 is a sum of two doubles (Muller, Elementary Functions, 3rd edition, 2016, chapters 4
and 11).  For powers, the first two terms of the series are sums of two doubles.
``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from autodiff_cli.compiler.llvm.double_double import (
    Pair,
    coefficients,
    exact_sum,
    fast_sum,
    fma,
    polynomial,
    product,
    square,
    where,
)
from autodiff_cli.compiler.llvm.exponential import scaled_exp
from autodiff_cli.compiler.llvm.ir import Value

_SERIES: Final = coefficients("""
    0.14616449685043406 0.15331721600556042 0.18182889125261723 0.2222221113479508 0.28571428625975487 0.39999999999899505
    0.666666666666667
""")
"""(log((1 + s)/(1 - s)) - 2*s) / s**3 in z = s**2."""
_FIFTH: Final = coefficients("""
    0.11723051028097753 0.11706248540922386 0.13334804238225345 0.15384594970895457 0.18181818335314404 0.22222222221656232
    0.28571428571429364 0.4
""")
"""(log((1 + s)/(1 - s)) - 2*s - 2/3*s**3) / s**5 in z = s**2."""
_TWO_THIRDS: Final = 0.6666666666666666, 3.700743415417188e-17
_LN2: Final = 0.6931471805598903, 5.497923018708371e-14
_LOG10_2: Final = 0.30102999566395283, 2.8363394551044964e-14
"""Logarithms of 2; the product of the first part and an exponent is exact."""
_INVERSE_LN2: Final = 1.4426950408889634, 2.0355273740931033e-17
_INVERSE_LN10: Final = 0.4342944819032518, 1.098319650216765e-17
_SQRT_HALF: Final = 0x3FE6A09E667F3BCD
_ONE: Final = 0x3FF0000000000000
_SMALLEST_NORMAL: Final = 2.0**-1022
_SMALL: Final = 2.0**-27
"""The inverse hyperbolic sine and tangent of smaller numbers are x."""
_LARGE: Final = 2.0**28
"""The inverse hyperbolic sine and cosine of larger numbers are log(2*x)."""


class Split(NamedTuple):
    """2**k * (1 + f)."""

    k: Value
    f: Value


def split(x: Value) -> Split:
    """Split positive finite numbers."""
    builder = x.builder
    small = x < _SMALLEST_NORMAL
    # Integers without a sign: the exponent of bits relative to those of sqrt(1/2) is k, with the bias 1023.
    field = builder.bits(where(small, x * 2.0**54, x), "i64") + (_ONE - _SQRT_HALF)
    mantissa = (field & (1 << 52) - 1) + _SQRT_HALF
    k = builder.bits(field.unsigned_shift(52) | builder.constant(0x433 << 52, "i64"), "f64")
    return Split(k - where(small, 2.0**52 + 1023 + 54, 2.0**52 + 1023), builder.bits(mantissa, "f64") - 1)


def _log_of_sum(f: Value) -> Pair:
    """Return log(1 + f)."""
    s = f / (f + 2)
    z = s * s
    half = 0.5 * f
    square = half * f
    total = fast_sum(f, -square)
    rest = fma(s, fma(z, polynomial(z, _SERIES), square), total.low - fma(half, f, -square))
    return Pair(total.high, rest)


def _with_exponent(k: Value, leading: float, rest: float, part: Pair) -> Value:
    """Return k*(leading + rest) + part."""
    total = fast_sum(k * leading, part.high)
    return total.high + (total.low + fma(k, rest, part.low))


def _at_edges(x: Value, found: Value) -> Value:
    """Return the logarithm where x is positive and finite; -inf at 0, nan below 0, and x where it is inf or nan."""
    edge = where(x.equals(0), -math.inf, where(x < 0, math.nan, x))
    return where((x > 0) & (x < math.inf), found, edge)


def log(x: Value) -> Value:
    """Return the natural logarithm, at most 0.63 ulp from the exact value."""
    k, f = split(x)
    return _at_edges(x, _with_exponent(k, *_LN2, _log_of_sum(f)))


def log1p(x: Value) -> Value:
    """Return log(1 + x): the logarithm of the rounded sum, and its error divided by the sum."""
    result = _log_of(exact_sum(1, x))
    return where(x.equals(0), x, result)


def _log_of(x: Pair, doubled: Value | None = None) -> Value:
    """Return log(x), or log(2*x) where a condition holds."""
    k, f = split(x.high)
    if doubled is not None:
        k = k + where(doubled, 1, 0)
    return _at_edges(x.high, _with_exponent(k, *_LN2, _log_of_sum(f).with_rest(x.low / x.high)))


def _one_more(x: Pair) -> Pair:
    return exact_sum(1, x.high).with_rest(x.low)


def atanh(x: Value) -> Value:
    """Return the inverse hyperbolic tangent: log1p(2*x/(1 - x))/2 of the absolute value.

    It is at most 0.7 ulp from the exact value, like the other two.
    """
    size = abs(x)
    ratio = Pair(2 * size, x.builder.constant(0)) / fast_sum(1, -size)
    result = where(size.equals(1), math.inf, 0.5 * _log_of(_one_more(ratio)))
    return where(size < _SMALL, x, result.with_sign(x))


def asinh(x: Value) -> Value:
    """Return the inverse hyperbolic sine: log1p(x + x**2/(1 + sqrt(1 + x**2))) of the absolute value."""
    size = abs(x)
    large = size > _LARGE
    small = size.at_most(_LARGE)
    squared = square(small)
    rest = squared / _one_more(_one_more(squared).square_root())
    total = _one_more(exact_sum(small, rest.high).with_rest(rest.low))
    result = _log_of(Pair(where(large, size, total.high), where(large, 0, total.low)), large)
    return where(size < _SMALL, x, result.with_sign(x))


def acosh(x: Value) -> Value:
    """Return the inverse hyperbolic cosine: log(x + sqrt(x**2 - 1))."""
    large = x > _LARGE
    small = x.at_most(_LARGE)
    squared = square(small)
    less = fast_sum(squared.high, x.builder.constant(-1))
    root = fast_sum(less.high, less.low + squared.low).square_root()
    total = fast_sum(small, root.high).with_rest(root.low)
    result = _log_of(Pair(where(large, x, total.high), where(large, 0, total.low)), large)
    return where(x < 1, math.nan, result)


def log2(x: Value) -> Value:
    """Return the logarithm to base 2; exact for powers of 2."""
    k, f = split(x)
    return _at_edges(x, _with_exponent(k, 1, 0, _multiplied(_log_of_sum(f), *_INVERSE_LN2)))


def log10(x: Value) -> Value:
    """Return the logarithm to base 10; exact for powers of 10."""
    k, f = split(x)
    return _at_edges(x, _with_exponent(k, *_LOG10_2, _multiplied(_log_of_sum(f), *_INVERSE_LN10)))


def _multiplied(x: Pair, high: float, low: float) -> Pair:
    leading = product(x.high, high, low)
    return Pair(leading.high, fma(x.low, high, leading.low))


def pow(x: Value, y: Value) -> Value:  # the name in C
    """Return x to the power of y, at most 0.8 ulp from the exact value."""
    builder, size = x.builder, abs(x)
    logarithm = _accurate_log(size)
    leading = y * (high := _at_edges(size, logarithm.high))
    rest = fma(y, high, -leading) + y * logarithm.low
    exponent = leading.at_most(800).at_least(-800)
    rest = where(abs(leading) < 800, rest, 0)
    result = scaled_exp(Pair(exponent, rest))
    integer = builder.intrinsic("rint", y).equals(y)
    half = 0.5 * y
    odd = integer & builder.compare("one", builder.intrinsic("rint", half), half)
    result = where(odd, result.with_sign(x), result)
    result = where((x < 0) & (x > -math.inf) & ~integer, math.nan, result)
    one = y.equals(0) | x.equals(1) | (x.equals(-1) & abs(y).equals(math.inf))
    return where(one, 1, result)


def _accurate_log(x: Value) -> Pair:
    """Return the logarithm of positive finite numbers, with a relative error below 2**-64."""
    k, f = split(x)
    s = Pair(f, x.builder.constant(0)) / fast_sum(2, f)
    z = s * s
    leading, rest = _TWO_THIRDS
    third = fast_sum(leading, z.high * polynomial(z.high, _FIFTH)).with_rest(rest)
    return fast_sum(*(Pair(k * _LN2[0], k * _LN2[1]) + (s.scaled(2) + s * (z * third))))
