"""sin and cos of vectors.

x = n*pi/2 + r with |r| <= pi/4, where r is a sum of two doubles: pi/2 has three parts of 53 bits, so all products with n are exact
but the last (Cody and Waite, Software Manual for the Elementary Functions, 1980, with fused multiply-add).  Beyond 2**36, the
C library computes the functions.  ``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final

from autodiff_cli.compiler.llvm.double_double import Pair, coefficients, exact_sum, fast_sum, fma, polynomial, where
from autodiff_cli.compiler.llvm.ir import Value

_SIN: Final = coefficients("""
    -7.586697117706918e-13 1.6058531618986147e-10 -2.5052106232447578e-08 2.7557319219339167e-06 -0.00019841269841265065
    0.008333333333333331 -0.16666666666666666
""")
"""(sin(r) - r) / r**3 in z = r**2."""
_COS: Final = coefficients("""
    -1.1382632425521717e-11 2.08761462684032e-09 -2.7557317271729793e-07 2.480158729876569e-05 -0.0013888888888887398
    0.041666666666666664
""")
"""(cos(r) - 1 + r**2/2) / r**4 in z = r**2."""
_HALF_PI: Final = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33
_SHIFT: Final = 1.5 * 2.0**52
"""A number whose sum with a double is rounded to an integer, which is in its last bits."""
_FAR: Final = 2.0**36
"""The largest argument that is reduced here.

No double below it is nearer than 2**-64 to a multiple of pi/2, and the error of r is below 2**-120.
"""


def _reduced(x: Value) -> tuple[Value, Pair]:
    """Return n as an integer, correct modulo 4, and r, for |x| <= ``_FAR``."""
    shifted = fma(x, 2 / math.pi, _SHIFT)
    n = shifted - _SHIFT
    first, second, third = _HALF_PI
    exact = fma(n, -first, x)  # exact, because x and n*first are multiples of 2**-52, and their difference is small
    subtracted = n * second
    r = exact_sum(exact, -subtracted)
    low = r.low - fma(n, third, fma(n, second, -subtracted))
    return x.builder.bits(shifted, "i64"), fast_sum(r.high, low)


def _sine(r: Pair) -> Pair:
    """Return sin(r) = r + r**3*p(z), where z = r**2 and p is ``_SIN``."""
    z = r.high * r.high
    rest = fma(r.high * z, polynomial(z, _SIN), fma(-0.5 * z, r.low, r.low))
    return Pair(r.high, rest)


def _cosine(r: Pair) -> Pair:
    """Return cos(r) = 1 - z/2 + z**2*p(z), where z = r**2 and p is ``_COS``."""
    z = r.high * r.high
    total = fast_sum(1, -0.5 * z)
    square_rest = fma(r.high, r.high, -z)  # what the rounding of z omitted
    rest = fma(z * z, polynomial(z, _COS), fma(square_rest, -0.5, fma(-r.high, r.low, total.low)))
    return Pair(total.high, rest)


def _sine_and_cosine(x: Value) -> list[Value]:
    """Return sin(x) and cos(x).  For odd n, those of r change places; the second bit of n or (cos) n + 1 changes the sign."""
    builder = x.builder
    n, r = _reduced(x)
    sine, cosine = _sine(r).rounded, _cosine(r).rounded
    odd = builder.compare("ne", n & 1, 0)
    sizes = (where(odd, cosine, sine), n), (where(odd, sine, cosine), n + 1)  # with quarter turns
    # The second bit of the turns is moved to the place of the sign.
    near = [builder.bits(builder.bits(size, "i64") ^ ((turns & 2) << 62), "f64") for size, turns in sizes]
    return builder.replaced(near, abs(x) > _FAR, ("sin", "cos"), x)


def sin(x: Value) -> Value:
    """Return the sine, at most 0.74 ulp from the exact value."""
    return where(x.equals(0), x, _sine_and_cosine(x)[0])


def cos(x: Value) -> Value:
    """Return the cosine, at most 0.74 ulp from the exact value."""
    return _sine_and_cosine(x)[1]
