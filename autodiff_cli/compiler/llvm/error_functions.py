"""erf, erfc and the normal distribution function of vectors.

For x >= 0, erfc(x) = exp(-x**2) * f(u) / (1 + 2*x), where f is a polynomial in u = (x - 4)/(x + 4) (Shepherd and Laframboise,
Chebyshev approximation of (1 + 2x)exp(x**2)erfc x in 0 <= x < infinity, Mathematics of Computation 36, 1981).  x**2 is a sum of two
doubles, so the tails keep their digits.  ``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final

from autodiff_cli.compiler.llvm.double_double import (
    Pair,
    absolute,
    at_most,
    fast_sum,
    fma,
    polynomial,
    quotient,
    square,
    where,
    with_sign,
)
from autodiff_cli.compiler.llvm.exponential import scaled_exp
from autodiff_cli.compiler.llvm.ir import Value

_ERF: Final = (
    5.957176147748911e-11,
    -1.1372848856791674e-09,
    1.4659775274047436e-08,
    -1.6350312701054695e-07,
    1.6461000484121368e-06,
    -1.4925595266831182e-05,
    0.0001205533111164271,
    -0.000854832698083379,
    0.0052239776248180145,
    -0.026866170645076792,
    0.11283791670954879,
    -0.3761263890318375,
    0.1283791670955126,
)
"""erf(x)/x - 1 for |x| <= 1 in z = x**2."""
_COMPLEMENT: Final = (
    -1.8206098680308682e-09,
    -1.3670989863347383e-08,
    -7.71541861441783e-09,
    1.1534943745754157e-07,
    6.270727157198311e-08,
    -8.351619688696847e-07,
    3.0135049944875397e-07,
    5.7178872846321855e-06,
    -1.1224789135154701e-05,
    -2.4403169244974074e-05,
    0.000150622243948303,
    -0.00019925550755614952,
    -0.00075777334141333,
    0.005031969755895426,
    -0.016197734059115006,
    0.03716751556249286,
    -0.06633036581152939,
    0.09373283499679412,
    -0.10103906603635213,
    0.06809705425473732,
    0.01537965210262074,
    -0.1396211168405629,
    1.2329951186255526,
)
"""(1 + 2*x)*exp(x**2)*erfc(x) for 0 <= x <= 28 in u = (x - 4)/(x + 4)."""
_LARGEST: Final = 28.0
"""erfc is 0 above it."""


def _complement(x: Value, squared: Pair, scale: float = 1.0) -> Value:
    """Return scale * erfc(x) for x >= 0, given x**2."""
    f = scale * polynomial((x - 4) / (x + 4), _COMPLEMENT)
    factor = quotient(Pair(f, x.builder.constant(0)), fast_sum(x.builder.constant(1), 2 * x))
    return scaled_exp(Pair(-squared.high, -squared.low), factor)


def _of_absolute(x: Value) -> Value:
    """Return erfc(abs(x))."""
    size = at_most(absolute(x), _LARGEST)
    return _complement(size, square(size))


def _erf_near_zero(x: Value) -> Value:
    """Return erf(x) for -1 <= x <= 1."""
    return fma(x, polynomial(x * x, _ERF), x)


def _near_zero(x: Value, bound: float) -> Value:
    return x.builder.compare("olt", absolute(x), bound)


def erf(x: Value) -> Value:
    """Return the error function, at most 1 ulp from the exact value."""
    return where(_near_zero(x, 1), _erf_near_zero(x), with_sign(1 - _of_absolute(x), x))


def erfc(x: Value) -> Value:
    """Return the complementary error function."""
    found = _of_absolute(x)
    far = where(x.builder.compare("olt", x, 0), 2 - found, found)
    return where(_near_zero(x, 0.5), 1 - _erf_near_zero(x), far)


def ndtr(x: Value) -> Value:
    """Return the distribution function of the normal distribution: erfc(-x/sqrt(2))/2."""
    size = at_most(absolute(x), _LARGEST / math.sqrt(0.5))
    squared = square(size)
    found = _complement(size * math.sqrt(0.5), Pair(0.5 * squared.high, 0.5 * squared.low), 0.5)
    far = where(x.builder.compare("ogt", x, 0), 1 - found, found)
    return where(_near_zero(x, 0.7), fma(_erf_near_zero(x * math.sqrt(0.5)), 0.5, 0.5), far)


def bell(x: Value, scale: float) -> Value:
    """Return exp(-scale*x**2); its exponential is shared with erfc (scale 1) and ndtr (scale 1/2) of the same argument."""
    squared = square(at_most(absolute(x), _LARGEST / math.sqrt(scale)))
    return scaled_exp(Pair(-(scale * squared.high), -(scale * squared.low)), Pair(x.builder.constant(1), x.builder.constant(0)))
