"""The logarithms and powers of vectors.

x = 2**k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).  With s = f/(2 + f), log(1 + f) = log((1 + s)/(1 - s)) is an odd
series in s, written such that f - f**2/2 is a sum of two doubles (Muller, Elementary Functions, 3rd edition, 2016, chapters 4
and 11).  For powers, the first two terms of the series are sums of two doubles.
``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final

from autodiff_cli.compiler.llvm.double_double import Pair, coefficients, exact_sum, fast_sum, fma, polynomial, product, where
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


def _split(x: Value) -> tuple[Value, Value]:
    """Return k and f for positive finite numbers."""
    builder = x.builder
    small = x < _SMALLEST_NORMAL
    # Integers without a sign: the exponent of bits relative to those of sqrt(1/2) is k, with the bias 1023.
    field = builder.bits(where(small, x * 2.0**54, x), "i64") + (_ONE - _SQRT_HALF)
    mantissa = (field & (1 << 52) - 1) + _SQRT_HALF
    k = builder.bits(field.unsigned_shift(52) | builder.constant(0x433 << 52, "i64"), "f64")
    return k - where(small, 2.0**52 + 1023 + 54, 2.0**52 + 1023), builder.bits(mantissa, "f64") - 1


def _log_of_sum(f: Value) -> Pair:
    """Return log(1 + f)."""
    s = f / (f + 2)
    z = s * s
    half = 0.5 * f
    square = half * f
    total = fast_sum(f, -square)
    rest = fma(s, fma(z, polynomial(z, _SERIES), square), total.low - fma(half, f, -square))
    return Pair(total.high, rest)


def _at_edges(x: Value, logarithm: Value) -> Value:
    """Return the logarithm where x is positive and finite; -inf at 0, nan below 0, and x where it is inf or nan."""
    edge = where(x.equals(0), -math.inf, where(x < 0, math.nan, x))
    return where((x > 0) & (x < math.inf), logarithm, edge)


def log(x: Value, rest: Value | None = None) -> Value:
    """Return the natural logarithm of x, or of x + rest for a small rest, at most 0.63 ulp from the exact value."""
    k, f = _split(x)
    part = _log_of_sum(f) if rest is None else _log_of_sum(f).with_rest(rest / x)
    return _at_edges(x, _with_exponent(k, _LN2, part))


def _with_exponent(k: Value, log2: tuple[float, float], part: Pair) -> Value:
    """Return k*log2 + part."""
    leading, rest = log2
    total = fast_sum(k * leading, part.high)
    return total.high + (total.low + fma(k, rest, part.low))


def log1p(x: Value) -> Value:
    """Return log(1 + x): the logarithm of the rounded sum, and its error divided by the sum."""
    return where(x.equals(0), x, log(*exact_sum(1, x)))


def log2(x: Value) -> Value:
    """Return the logarithm to base 2; exact for powers of 2."""
    return _to_base(x, (1.0, 0.0), _INVERSE_LN2)


def log10(x: Value) -> Value:
    """Return the logarithm to base 10; exact for powers of 10."""
    return _to_base(x, _LOG10_2, _INVERSE_LN10)


def _to_base(x: Value, log2: tuple[float, float], factor: tuple[float, float]) -> Value:
    """Return a logarithm, given that of 2 and the factor for natural logarithms."""
    k, f = _split(x)
    natural = _log_of_sum(f)
    leading = product(natural.high, *factor)
    return _at_edges(x, _with_exponent(k, log2, Pair(leading.high, fma(natural.low, factor[0], leading.low))))


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
    is_1 = y.equals(0) | x.equals(1) | (x.equals(-1) & abs(y).equals(math.inf))
    return where(is_1, 1, result)


def _accurate_log(x: Value) -> Pair:
    """Return the logarithm of positive finite numbers, with a relative error below 2**-64."""
    k, f = _split(x)
    s = Pair(f, x.builder.constant(0)) / fast_sum(2, f)
    z = s * s
    leading, rest = _TWO_THIRDS
    third = fast_sum(leading, z.high * polynomial(z.high, _FIFTH)).with_rest(rest)
    return fast_sum(*(Pair(k * _LN2[0], k * _LN2[1]) + (s.scaled(2) + s * (z * third))))
