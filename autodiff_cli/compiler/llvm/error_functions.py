"""erf, erfc and the normal distribution function of vectors.

For x >= 0, erfc(x) = exp(-x**2) * f(u) / (1 + 9/8*x), where f is a polynomial in u = (x - 4)/(x + 4) (Shepherd and Laframboise,
Chebyshev approximation of (1 + 2x)exp(x**2)erfc x in 0 <= x < infinity, Mathematics of Computation 36, 1981; with 9/8, f changes
little near 0, where u loses digits).  x**2 and the quotient are sums of two doubles.
``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final

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

_ERF: Final = coefficients("""
    5.957176147748911e-11 -1.1372848856791674e-09 1.4659775274047436e-08 -1.6350312701054695e-07 1.6461000484121368e-06
    -1.4925595266831182e-05 0.0001205533111164271 -0.000854832698083379 0.0052239776248180145 -0.026866170645076792
    0.11283791670954879 -0.3761263890318375 0.1283791670955126
""")
"""erf(x)/x - 1 for |x| <= 1 in z = x**2."""
_COMPLEMENT: Final = coefficients("""
    6.919593805685707e-10 1.2177577322527831e-09 -7.1604768041035685e-09 -1.138705367587382e-08 5.5242472496398766e-08
    5.3443782836007684e-08 -4.221960543535979e-07 4.071158116160442e-08 3.032893129926352e-06 -5.024040099069582e-06
    -1.4557213347409446e-05 7.485639900480053e-05 -7.752674686708424e-05 -0.00043576822414512196 0.002480865131069083
    -0.0073348600722095095 0.015287501101192603 -0.023617493542462422 0.025115050344182047 -0.009163084533398437
    -0.03355820178680799 0.10434091383446445 -0.1918791495553915
""")
_COMPLEMENT_START: Final = 0.7534970169378377, -1.5361863738535486e-17
"""(1 + 9/8*x)*exp(x**2)*erfc(x) for 0 <= x <= 28 in u = (x - 4)/(x + 4): all coefficients but the constant, and the constant."""
_SLOPE: Final = (-0.3562, 0.0759, 0.2892, -0.2134)
"""The derivative of this polynomial, for the digits of u that are rounded away."""
_SQRT_HALF: Final = 0.7071067811865476, -4.833646656726457e-17
"""sqrt(1/2) as the sum of two doubles."""
_WEIGHT: Final = 1.125
_LARGEST: Final = 28.0
"""erfc is 0 above it."""


def _complement(x: Pair, squared: Pair, scale: float = 1.0) -> Value:
    """Return scale * erfc(x) for x >= 0, given x**2; f and 1 + 9/8*x of the module's formula are a quotient of pairs."""
    builder = x.high.builder
    u, u_rest = exact_sum(x.high, builder.constant(-4)) / exact_sum(x.high, builder.constant(4))
    leading, rest = _COMPLEMENT_START
    numerator = fast_sum(scale * leading, u * (scale * polynomial(u, _COMPLEMENT)))
    numerator_rest = fma(u_rest, scale * polynomial(u, _SLOPE), numerator.low + scale * rest)
    denominator = fma(x.high, _WEIGHT, 1)
    denominator_rest = fma(x.low, _WEIGHT, fma(x.high, _WEIGHT, 1 - denominator))
    factor = Pair(numerator.high, numerator_rest) / Pair(denominator, denominator_rest)
    return scaled_exp(-squared, factor)


def _complement_of_absolute(x: Value) -> Value:
    """Return erfc(abs(x))."""
    size = abs(x).at_most(_LARGEST)
    return _complement(Pair(size, x.builder.constant(0)), square(size))


def erf(x: Value) -> Value:
    """Return the error function, at most 0.9 ulp from the exact value."""
    near_zero = abs(x) < 0.85  # where 1 - erfc(x) would lose digits
    return where(near_zero, fma(x, polynomial(x * x, _ERF), x), (1 - _complement_of_absolute(x)).with_sign(x))


def erfc(x: Value) -> Value:
    """Return the complementary error function, at most 1 ulp from the exact value."""
    result = _complement_of_absolute(x)
    return where(x < 0, 2 - result, result)


def ndtr(x: Value) -> Value:
    """Return the distribution function of the normal distribution, erfc(-x/sqrt(2))/2, at most 1 ulp from the exact value."""
    size = abs(x).at_most(_LARGEST / math.sqrt(0.5))
    squared = square(size)
    result = _complement(product(size, *_SQRT_HALF), squared.scaled(0.5), scale=0.5)  # the value at -abs(x)
    return where(x > 0, 1 - result, result)


def bell(x: Value, scale: float) -> Value:
    """Return exp(-scale*x**2); its exponential is shared with erfc (scale 1) and ndtr (scale 1/2) of the same argument."""
    squared = square(abs(x).at_most(_LARGEST / math.sqrt(scale)))
    return scaled_exp(-squared.scaled(scale))
