"""sin, cos and tan of vectors.

x = n*pi/2 + r with |r| <= pi/4, where r is a sum of two doubles: pi/2 has three parts of 53 bits, so all products with n are exact
but the last (Cody and Waite, Software Manual for the Elementary Functions, 1980, with fused multiply-add).  Beyond 2**36, the
C library computes the lanes concerned.  ``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final

from autodiff_cli.compiler.llvm.double_double import (
    Pair,
    absolute,
    exact_sum,
    fast_sum,
    fma,
    masked,
    polynomial,
    quotient,
    replaced,
    where,
)
from autodiff_cli.compiler.llvm.ir import Value

_SIN: Final = (
    -7.586697117706918e-13,
    1.6058531618986147e-10,
    -2.5052106232447578e-08,
    2.7557319219339167e-06,
    -0.00019841269841265065,
    0.008333333333333331,
    -0.16666666666666666,
)
"""(sin(r) - r) / r**3 in z = r**2."""
_COS: Final = (
    -1.1382632425521717e-11,
    2.08761462684032e-09,
    -2.7557317271729793e-07,
    2.480158729876569e-05,
    -0.0013888888888887398,
    0.041666666666666664,
)
"""(cos(r) - 1 + r**2/2) / r**4 in z = r**2."""
_HALF_PI: Final = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33
_SHIFT: Final = 1.5 * 2.0**52
_FAR: Final = 2.0**36
"""The largest argument that is reduced here.  No double below it is nearer than 2**-64 to a multiple of pi/2, and the error of r
is below 2**-120."""


def _reduced(x: Value) -> tuple[Value, Pair]:
    """Return n as an integer, correct modulo 4, and r."""
    shifted = fma(x, 2 / math.pi, _SHIFT)
    n = shifted - _SHIFT
    first, second, third = _HALF_PI
    exact = fma(n, -first, x)  # exact, because x and n*first are multiples of 2**-52, and their difference is small
    subtracted = n * second
    r = exact_sum(exact, -subtracted)
    low = r.low - fma(n, third, fma(n, second, -subtracted))
    return x.builder.bits(shifted, "i64"), fast_sum(r.high, low)


def _sine(r: Pair) -> Pair:
    z = r.high * r.high
    rest = fma(r.high * z, polynomial(z, _SIN), fma(-0.5 * z, r.low, r.low))
    return Pair(r.high, rest)


def _cosine(r: Pair) -> Pair:
    z = r.high * r.high
    total = fast_sum(z.builder.constant(1), -0.5 * z)
    square_rest = fma(r.high, r.high, -z)  # what the rounding of z omitted
    rest = fma(z * z, polynomial(z, _COS), fma(square_rest, -0.5, fma(-r.high, r.low, total.low)))
    return Pair(total.high, rest)


def _wave(x: Value, name: str, quarters: int) -> Value:
    """Return sin(x + quarters*pi/2)."""
    builder = x.builder
    n, r = _reduced(x)
    if quarters:
        n = n + quarters
    odd = builder.compare("ne", masked(n, 1), 0)
    found = where(odd, _cosine(r).rounded, _sine(r).rounded)
    sign = masked(n, 2) << 62
    return replaced(builder.bits(builder.bits(found, "i64") ^ sign, "f64"), _far(x), name, x)


def _far(x: Value) -> Value:
    return x.builder.compare("ogt", absolute(x), _FAR)


def sin(x: Value) -> Value:
    """Return the sine, at most 0.74 ulp from the exact value."""
    return where(x.builder.compare("oeq", x, 0), x, _wave(x, "sin", 0))


def cos(x: Value) -> Value:
    """Return the cosine, at most 0.74 ulp from the exact value."""
    return _wave(x, "cos", 1)


def tan(x: Value) -> Value:
    """Return the tangent, a quotient of sums: at most 0.9 ulp from the exact value."""
    n, r = _reduced(x)
    odd = x.builder.compare("ne", masked(n, 1), 0)
    sine, cosine = fast_sum(*_sine(r)), fast_sum(*_cosine(r))
    above = Pair(*(where(odd, -one, other) for one, other in zip(cosine, sine, strict=True)))
    below = Pair(*(where(odd, one, other) for one, other in zip(sine, cosine, strict=True)))
    found = replaced(quotient(above, below).rounded, _far(x), "tan", x)
    return where(x.builder.compare("oeq", x, 0), x, found)
