"""log and log1p of vectors.

x = 2**k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).  With s = f/(2 + f), log(1 + f) = log((1 + s)/(1 - s)) is an odd
series in s, written such that f - f**2/2 is a sum of two doubles (Muller, Elementary Functions, 3rd edition, 2016, chapters 4
and 11).  ``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final

from autodiff_cli.compiler.llvm.double_double import Pair, coefficients, exact_sum, fast_sum, fma, polynomial, where
from autodiff_cli.compiler.llvm.ir import Value

_SERIES: Final = coefficients("""
    0.14616449685043406 0.15331721600556042 0.18182889125261723 0.2222221113479508 0.28571428625975487 0.39999999999899505
    0.666666666666667
""")
"""(log((1 + s)/(1 - s)) - 2*s) / s**3 in z = s**2."""
_LN2: Final = 0.6931471805598903, 5.497923018708371e-14
"""log(2); the product of the first part and an exponent is exact."""
_SQRT_HALF: Final = 0x3FE6A09E667F3BCD  # the bits of the double, as below
_ONE: Final = 0x3FF0000000000000
_POWER_52: Final = 0x433 << 52  # 2.0**52, whose last bits are those of an integer that is added to it
_SMALLEST_NORMAL: Final = 2.0**-1022


def _split(x: Value) -> tuple[Value, Value]:
    """Return k and f for positive finite numbers; a subnormal number is first multiplied by 2**54."""
    builder = x.builder
    small = x < _SMALLEST_NORMAL
    # Integers without a sign: the exponent of bits relative to those of sqrt(1/2) is k, with the bias 1023.
    field = builder.bits(where(small, x * 2.0**54, x), "i64") + (_ONE - _SQRT_HALF)
    mantissa = (field & (1 << 52) - 1) + _SQRT_HALF
    biased_k = builder.bits(field.unsigned_shift(52) | builder.constant(_POWER_52, "i64"), "f64")
    bias = where(small, 2.0**52 + 1023 + 54, 2.0**52 + 1023)  # of ``_POWER_52``, of an exponent, and of a small x
    return biased_k - bias, builder.bits(mantissa, "f64") - 1


def _log_of_sum(f: Value) -> Pair:
    """Return log(1 + f) = f - f**2/2 + s*(f**2/2 + z*p(z)), where z = s**2 and p is ``_SERIES``."""
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
    """Return log(x + rest) as k*log(2) + log(1 + f), at most 0.63 ulp from the exact value.  The rest is small, by default 0."""
    k, f = _split(x)
    part = _log_of_sum(f) if rest is None else _log_of_sum(f).with_rest(rest / x)
    total = fast_sum(k * _LN2[0], part.high)
    return _at_edges(x, total.high + (total.low + fma(k, _LN2[1], part.low)))


def log1p(x: Value) -> Value:
    """Return log(1 + x): the logarithm of the rounded sum, and its error divided by the sum."""
    return where(x.equals(0), x, log(*exact_sum(1, x)))
