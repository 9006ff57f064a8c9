"""asin, acos, atan and atan2 of vectors.

The quotient of atan2 is reduced to at most tan(pi/8) in absolute value with the formulas for pi/2 - atan(t) and atan(t) - pi/4.
Above 1/2, asin(x) = pi/2 - 2*asin(sqrt((1 - x)/2)) (Cody and Waite, Software Manual for the Elementary Functions, 1980).
Reduced arguments and results are sums of two doubles.  ``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final

from autodiff_cli.compiler.llvm.double_double import Pair, coefficients, fast_sum, fma, polynomial, where
from autodiff_cli.compiler.llvm.ir import Value

_ATAN: Final = coefficients("""
    0.016285756855221028 -0.034570561981427744 0.04551593220626549 -0.05230454270650244 0.05878928997834775
    -0.06666424885738255 0.07692296375032143 -0.09090908753500877 0.11111111105155447 -0.14285714285659828
    0.19999999999999804 -0.3333333333333333
""")
"""(atan(t) - t) / t**3 for |t| <= tan(pi/8) in z = t**2."""
_ASIN: Final = coefficients("""
    0.02961201126495512 -0.01924167174674304 0.019554513336123378 0.0030448799094556773 0.009319560794767446
    0.009621842970100282 0.011566459612121669 0.01396378001220357 0.017352816540325496 0.02237215744350722
    0.03038194447553234 0.044642857142551895 0.07500000000000118 0.16666666666666666
""")
"""(asin(s) - s) / s**3 for |s| <= 1/2 in z = s**2."""
_HALF_PI: Final = 1.5707963267948966, 6.123233995736766e-17
_TAN_PI_8: Final = math.sqrt(2) - 1
_LARGE: Final = 2.0**500


def atan(x: Value) -> Value:
    """Return the inverse tangent, at most 0.81 ulp from the exact value."""
    one = x.builder.constant(1)
    return _angle(abs(x).at_most(2.0**64), one).rounded.with_sign(x)


def atan2(y: Value, x: Value) -> Value:
    """Return the angle of the point (x, y), with the sign of y, at most 0.89 ulp from the exact value."""
    builder = x.builder
    above, below = abs(y), abs(x)
    largest = where(above > below, above, below)
    infinite = largest.equals(math.inf)
    # Infinite coordinates count as 1 and others as 0; at the origin, the angle is that of (1, 0).
    above, below = (where(infinite & builder.compare("une", one, math.inf), 0, where(infinite, 1, one)) for one in (above, below))
    below = where(largest.equals(0), 1, below)
    scale = where(largest > _LARGE, 1 / _LARGE, 1)
    scale = where(largest < 1 / _LARGE, _LARGE, scale)
    angle = _angle(above * scale, below * scale)
    left = builder.bits(x, "i64") < 0
    opposite = fast_sum(2 * _HALF_PI[0], -angle.high).with_rest(2 * _HALF_PI[1] - angle.low)
    result = where(left, opposite.rounded, angle.rounded).with_sign(y)
    return where(builder.compare("uno", x, y), x + y, result)


def _angle(y: Value, x: Value) -> Pair:
    """Return atan(y/x) for nonnegative numbers that are not both 0."""
    steep = y > x
    small, large = where(steep, x, y), where(steep, y, x)
    middle = small > _TAN_PI_8 * large
    difference, total = fast_sum(-large, small), fast_sum(large, small)
    above = Pair(where(middle, difference.high, small), where(middle, difference.low, 0))
    below = Pair(where(middle, total.high, large), where(middle, total.low, 0))
    ratio = above.high / below.high
    t = Pair(ratio, fma(-ratio, below.low, fma(-ratio, below.high, above.high) + above.low) / below.high)
    z = t.high * t.high
    rest = fma(t.high * z, polynomial(z, _ATAN), t.low)
    start, start_rest = (where(middle, 0.5 * part, where(steep, part, 0)) for part in _HALF_PI)
    high, low = (where(steep, -part, part) for part in (t.high, rest))
    return fast_sum(start, high).with_rest(start_rest + low)


def _reduced_asin(x: Value) -> tuple[Value, Pair]:
    """Return whether x, 0 <= x <= 1, is above 1/2, and asin(sqrt((1 - x)/2)) there, asin(x) elsewhere."""
    builder = x.builder
    large = x > 0.5
    z = where(large, 0.5 * (1 - x), x * x)
    root = builder.intrinsic("sqrt", z)
    root_rest = fma(-root, root, z) / where(root.equals(0), 1, 2 * root)
    s = where(large, root, x)
    return large, Pair(s, fma(s * z, polynomial(z, _ASIN), where(large, root_rest, 0)))


def _from_half_pi(x: Pair, multiple: float = 1) -> Value:
    """Return multiple*pi/2 - x, for x <= multiple*pi/2."""
    total = fast_sum(multiple * _HALF_PI[0], -x.high)
    return total.with_rest(multiple * _HALF_PI[1] - x.low).rounded


def asin(x: Value) -> Value:
    """Return the inverse sine, at most 0.63 ulp from the exact value."""
    large, part = _reduced_asin(abs(x))
    return where(large, _from_half_pi(part.scaled(2)), part.rounded).with_sign(x)


def acos(x: Value) -> Value:
    """Return the inverse cosine, at most 0.6 ulp from the exact value."""
    large, part = _reduced_asin(abs(x))
    negative = x < 0
    twice = part.scaled(2)
    far = where(negative, _from_half_pi(twice, 2), twice.rounded)
    signed = Pair(*(where(negative, -one, one) for one in part))
    return where(large, far, _from_half_pi(signed))
