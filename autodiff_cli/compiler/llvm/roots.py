"""The cube root and the hypotenuse of vectors.

The cube root of 2**(3*q) * m is a polynomial for the cube root y of m, and a correction: with e = y**3/m - 1, the root is
y*(1 + e)**(-1/3), of which three terms are enough.  The hypotenuse is the square root of a sum of two doubles.
``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

import math
from typing import Final

from autodiff_cli.compiler.llvm.double_double import coefficients, fma, polynomial, square, where
from autodiff_cli.compiler.llvm.exponential import power_of_two
from autodiff_cli.compiler.llvm.ir import Value
from autodiff_cli.compiler.llvm.logarithmic import split

_CBRT: Final = coefficients("""
    0.02556608271860522 -0.04435650623891691 0.06245218449875826 -0.11100089136810636 0.3333159207625349 0.9999993820104695
""")
"""The cube root of 1 + f, with a relative error of 2e-6."""
_CBRT_HALF: Final = 0.7937005259840998
_CBRT_2: Final = 1.2599210498948732
_LARGE: Final = 2.0**500
_SCALE: Final = 2.0**600
"""Numbers above ``_LARGE`` or below its inverse are scaled, because their squares overflow or underflow."""


def cbrt(x: Value) -> Value:
    """Return the cube root, at most 0.501 ulp from the exact value."""
    size = abs(x)
    k, f = split(size)
    q = x.builder.intrinsic("rint", k * (1 / 3))
    rest = fma(q, -3, k)
    m = (f + 1) * power_of_two(rest)
    factor = where(rest < 0, _CBRT_HALF, where(rest > 0, _CBRT_2, 1))
    y = polynomial(f, _CBRT) * factor
    squared = square(y)
    cube = squared.high * y
    e = ((cube - m) + fma(squared.low, y, fma(squared.high, y, -cube))) / m
    result = fma(y, e * polynomial(e, (-14 / 81, 2 / 9, -1 / 3)), y) * power_of_two(q)
    return where((size > 0) & (size < math.inf), result.with_sign(x), x)


def hypot(x: Value, y: Value) -> Value:
    """Return sqrt(x**2 + y**2), which is inf if one of the two is infinite, at most 0.51 ulp from the exact value."""
    x, y = abs(x), abs(y)
    first = x > y
    large, small = where(first, x, y), where(first, y, x)
    up, down = (large < 1 / _LARGE), (large > _LARGE)
    scale = where(up, _SCALE, where(down, 1 / _SCALE, 1))
    inverse = where(up, 1 / _SCALE, where(down, _SCALE, 1))
    result = (square(large * scale) + square(small * scale)).square_root().rounded * inverse
    return where(x.equals(math.inf) | y.equals(math.inf), math.inf, result)
