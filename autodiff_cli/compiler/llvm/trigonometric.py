"""sin, cos and tan of vectors.

x = n*pi/2 + r with |r| <= pi/4, where r is a sum of two doubles: pi/2 has three parts of 53 bits, so all products with n are exact
but the last (Cody and Waite, Software Manual for the Elementary Functions, 1980, with fused multiply-add).  Beyond 2**36, x is
multiplied with those bits of 2/pi that determine n modulo 4 and r (Payne and Hanek, Radian reduction for trigonometric functions,
ACM SIGNUM Newsletter 18, 1983).  ``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import itertools
import math
from typing import Final

from autodiff_cli.compiler.llvm.double_double import Pair, coefficients, exact_product, exact_sum, fast_sum, fma, polynomial, where
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
_FAR: Final = 2.0**36
"""The largest argument for ``_near``.  No double below it is nearer than 2**-64 to a multiple of pi/2, and the error of r is below
2**-120."""
_TWO_OVER_PI: Final = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424D"
    "D2E006492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639"
    "835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F46"
    "3F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BAB",
    16,
)
"""2/pi * 2**1216, rounded down."""
_WORD: Final = 2**64 - 1
_WORDS: Final = tuple(_TWO_OVER_PI >> place & _WORD for place in range(1216, -1, -64))
"""The bits of 2/pi; those before the point come first."""
_PART: Final = 48
"""The bits of a part of 2/pi."""


def _reduced(x: Value) -> tuple[Value, Pair]:
    """Return n as an integer, correct modulo 4, and r."""
    far = abs(x) > _FAR
    n, high, low = x.builder.replaced(_near(x), far, "vec.far", _far, x, _FAR)
    return n, Pair(high, low)


def _near(x: Value) -> tuple[Value, Value, Value]:
    """Return n and the parts of r for |x| <= ``_FAR``."""
    shifted = fma(x, 2 / math.pi, _SHIFT)
    n = shifted - _SHIFT
    first, second, third = _HALF_PI
    exact = fma(n, -first, x)  # exact, because x and n*first are multiples of 2**-52, and their difference is small
    subtracted = n * second
    r = exact_sum(exact, -subtracted)
    low = r.low - fma(n, third, fma(n, second, -subtracted))
    return x.builder.bits(shifted, "i64"), *fast_sum(r.high, low)


def _far(x: Value) -> tuple[Value, Value, Value]:
    """Return n and the parts of r for |x| >= 2**-14.

    x is an integer m times a power of two.  A window of 192 bits of 2/pi begins at the bit that contributes 2*m to x*2/pi: bits
    before it change n by multiples of 4, and those after it change x*2/pi by less than 2**-137.  The double that is nearest to a
    multiple of pi/2, 6381956970095103 * 2**797, is more than 2**-61 away from it.
    """
    builder = x.builder
    bits = builder.bits(x, "i64")
    m = builder.bits((bits & 2**52 - 1) | builder.constant(0x433 << 52, "i64"), "f64").with_sign(x)
    start = (bits.unsigned_shift(52) & 0x7FF) - (1075 - 62)
    words = [builder.looked_up("vec.two.over.pi", _WORDS, start.unsigned_shift(6) + i) for i in range(4)]
    one, two, three = (builder.intrinsic("fshl", *pair, start) for pair in itertools.pairwise(words))  # shifts modulo 64
    parts = [
        builder.convert(builder.intrinsic("fshl", *pair, builder.constant(place, "i64")).unsigned_shift(64 - _PART), "f64")
        for *pair, place in ((one, two, 0), (one, two, 48), (two, three, 32), (three, three, 16))
    ]
    first, second, third, fourth = (exact_product(m, part * 2.0 ** (2 - _PART * (i + 1))) for i, part in enumerate(parts))
    # The remainder of the first product is a multiple of 2**-46, and so are its parts: their sum is exact.
    remainder = fma(builder.intrinsic("rint", 0.25 * first.high), -4, first.high) + first.low
    upper = exact_sum(remainder, second.high)
    shifted = upper.high + _SHIFT
    # Up to here, all is exact.  What follows may cancel, but the errors remain below 2**-136.
    middle, lower = exact_sum(upper.high - (shifted - _SHIFT), upper.low), exact_sum(second.low, third.high)
    total = exact_sum(middle.high, lower.high)
    infinite = x - x  # nan for infinite x, otherwise 0
    quarters = fast_sum(total.high + infinite, total.low + (middle.low + lower.low + (third.low + fourth.high)))
    r = quarters * Pair(*map(builder.constant, _HALF_PI[:2]))
    return builder.bits(shifted, "i64"), *fast_sum(*r)


def _sine(r: Pair) -> Pair:
    z = r.high * r.high
    rest = fma(r.high * z, polynomial(z, _SIN), fma(-0.5 * z, r.low, r.low))
    return Pair(r.high, rest)


def _cosine(r: Pair) -> Pair:
    z = r.high * r.high
    total = fast_sum(1, -0.5 * z)
    square_rest = fma(r.high, r.high, -z)  # what the rounding of z omitted
    rest = fma(z * z, polynomial(z, _COS), fma(square_rest, -0.5, fma(-r.high, r.low, total.low)))
    return Pair(total.high, rest)


def _wave(x: Value, quarters: int) -> Value:
    """Return sin(x + quarters*pi/2)."""
    builder = x.builder
    n, r = _reduced(x)
    if quarters:
        n = n + quarters
    odd = builder.compare("ne", n & 1, 0)
    result = where(odd, _cosine(r).rounded, _sine(r).rounded)
    sign = (n & 2) << 62
    return builder.bits(builder.bits(result, "i64") ^ sign, "f64")


def sin(x: Value) -> Value:
    """Return the sine, at most 0.74 ulp from the exact value."""
    return where(x.equals(0), x, _wave(x, 0))


def cos(x: Value) -> Value:
    """Return the cosine, at most 0.74 ulp from the exact value."""
    return _wave(x, 1)


def tan(x: Value) -> Value:
    """Return the tangent, a quotient of sums: at most 0.9 ulp from the exact value."""
    n, r = _reduced(x)
    odd = x.builder.compare("ne", n & 1, 0)
    sine, cosine = fast_sum(*_sine(r)), fast_sum(*_cosine(r))
    above = Pair(*(where(odd, -one, other) for one, other in zip(cosine, sine, strict=True)))
    below = Pair(*(where(odd, one, other) for one, other in zip(sine, cosine, strict=True)))
    return where(x.equals(0), x, (above / below).rounded)
