"""Bessel and Airy functions, and complete elliptic integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.numerics import decompositions
from autodiff_cli.numerics.backend import from_scipy, replace_where
from autodiff_cli.numerics.bessel_orders import hankel
from autodiff_cli.numerics.quadrature import in_blocks

_ORDERS_0_AND_1 = {"iv": (from_scipy("i0"), from_scipy("i1")), "jv": (from_scipy("j0"), from_scipy("j1"))}
_FAR = 20.0  # abs(x) from which the asymptotic series has all digits
_SCALED = (from_scipy("i0e"), from_scipy("i1e"))
_airy = from_scipy("airy")
_SPLITTER = 2.0**27 + 1  # splits a float64 into two halves of its bits
_HALF_PI, _HALF_PI_REST = 1.5707963267948966, 6.123233995736766e-17
_STEP, _SPAN = 0.25, 40.0  # of the trapezoidal rule: exp(-pi**2/step) and exp(-span) are below the rounding error


def _order_first(name: str) -> Any:
    """Return SciPy's ``name`` of (n, x), with the first term of its power series for tiny x, where SciPy returns nan."""
    of_scipy = from_scipy(name)

    @np.errstate(all="ignore")
    def function(n: float, x: Array) -> Any:
        factorial = math.factorial(min(int(n), 170))  # that of 171 overflows; the power is 0 long before
        return replace_where(of_scipy(n, x), np.abs(x) < 1e-100, lambda x: (x / 2) ** int(n) / factorial, x)

    return function


def _order_last(name: str) -> Any:
    """Return the function of (x, n) that uses SciPy's special functions for the orders 0 and 1, and ``name`` for the others."""
    higher = _order_first(name)
    return lambda x, n: _ORDERS_0_AND_1[name][n](x) if n < 2 else higher(float(n), x)


@np.errstate(all="ignore")
def bessel_j(x: Array, n: int) -> Any:
    """Return J_n(x), by Hankel's expansion where x is so large that SciPy loses digits."""
    far = (np.abs(x) > 30 + n * n) & np.isfinite(x)
    return replace_where(_order_last("jv")(x, n), far, lambda x: hankel(float(n), np.abs(x), 0, False) * np.sign(x) ** n, x)


def _second_kind(n: int) -> Any:
    """Return the forward computation of Y_n for n = 0 or 1, by Hankel's expansion for x > 30, where SciPy loses digits."""
    near = from_scipy(f"y{n}")

    @np.errstate(all="ignore")
    def function(x: Array) -> Any:
        return replace_where(near(x), x > 30, lambda x: np.where(x == math.inf, 0.0, hankel(float(n), x, 0, True)), x)

    return function


@np.errstate(all="ignore")
def bessel_scaled(x: Array, n: int, order: int) -> Any:
    """Return the derivative of the given order of exp(-abs(x))*I_n(x); for large x, where terms cancel, by asymptotic series."""
    size, sign = np.abs(x), np.sign(x)
    far = size > _FAR
    beyond = _asymptotic_scaled(np.maximum(size, _FAR), n, order) * sign ** ((n + order) % 2)
    if np.all(far):
        return beyond
    ive = _order_first("ive")
    near: Any = 0.0
    for j in range(order + 1):
        for i in range(j + 1):  # the j-th derivative of I_n
            k = abs(n + j - 2 * i)
            term = math.comb(j, i) / 2**j * (_SCALED[k](x) if k < 2 else ive(float(k), x))
            near = near + math.comb(order, j) * (-sign) ** (order - j) * term
    return np.where(far, beyond, near)[()]


@np.errstate(all="ignore")
def _asymptotic_scaled(x: Array, n: int, order: int) -> Any:
    """Return the derivative of the given order of exp(-x)*I_n(x), for x >= 20."""
    total: Any = 0.0
    for coefficient in reversed(decompositions.asymptotic_scaled(n, order)):
        total = coefficient + total / x
    return total * x ** (-0.5 - order)


def _product_and_error(a: Array, b: Array | float) -> tuple[Any, Any]:
    """Return a product and its rounding error, by Dekker's algorithm (1971)."""
    product = a * b
    high_a, high_b = _SPLITTER * a, _SPLITTER * b
    high_a, high_b = high_a - (high_a - a), high_b - (high_b - b)
    low_a, low_b = a - high_a, b - high_b
    return product, low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _zeta(size: Array) -> tuple[Any, Any]:
    """Return 2/3*size**(3/2) and its rounding error."""
    root = np.sqrt(size)
    square, rest = _product_and_error(root, root)
    product, error = _product_and_error(size, root)
    error = 2 * (error + size * (((size - square) - rest) / (2 * root)))
    zeta = 2 * product / 3
    triple, rest = _product_and_error(zeta, 3.0)
    return zeta, ((2 * product - triple) - rest + error) / 3


def _phase(zeta: Array, error: Array) -> tuple[Any, Any]:
    """Return the cosine and the sine of zeta + error - pi/4, reduced by multiples of pi/2 in two parts."""
    quarter = np.round(zeta / _HALF_PI)
    whole, rest = _product_and_error(quarter, _HALF_PI)
    angle = ((zeta - whole) - rest) + (error - quarter * _HALF_PI_REST)
    turn = quarter % 4
    cosine, sine = np.cos(angle), np.sin(angle)
    turns = [turn == 0, turn == 1, turn == 2]
    cosine, sine = np.select(turns, [cosine, -sine, -cosine], sine), np.select(turns, [sine, cosine, -sine], -cosine)
    return (cosine + sine) * math.sqrt(0.5), (sine - cosine) * math.sqrt(0.5)


def _airy_waves(size: Array, which: int) -> Any:
    """Return Ai, Ai', Bi or Bi' (``which`` 0 to 3) at -size, from the expansions for large size (DLMF 9.7.9 to 9.7.12)."""
    zeta, error = _zeta(size)  # whose error matters to the phase
    cosine, sine = _phase(zeta, error)
    parts: list[Any] = [0.0, 0.0]  # the sums of the terms with even and with odd k
    term: Any = 1.0
    for k in range(20):
        factor = (6 * k + 1) / (1 - 6 * k) if which % 2 else 1.0  # for Ai' and Bi'
        parts[k % 2] = parts[k % 2] + (-1) ** (k // 2) * factor * term
        term = term * ((6 * k + 1) * (6 * k + 3) * (6 * k + 5) / (216 * (k + 1) * (2 * k + 1))) / zeta
    even, odd = parts
    height = size ** (0.25 if which % 2 else -0.25) / math.sqrt(math.pi)
    ai, ai_prime, bi = cosine * even + sine * odd, sine * even - cosine * odd, cosine * odd - sine * even
    return height * (ai, ai_prime, bi, ai)[which]  # Bi' has the phase of Ai


def _airy_function(which: int) -> Callable[[Array], Any]:
    """Return Ai, Ai', Bi or Bi' (``which`` 0 to 3) as a function: SciPy's, except from -1e10 to -20, where its phase is off."""

    @np.errstate(all="ignore")
    def function(x: Array) -> Any:
        return replace_where(_airy(x)[which], (x < -20) & (x > -1e10), lambda x: _airy_waves(-x, which), x)

    return function


def elliptic_integral(m: Array, order: int, second: bool) -> Any:
    """Return the integral of sin(t)**(2*order)/(1 - m*sin(t)**2)**(order - second + 1/2) from 0 to pi/2, for order >= 1.

    The derivatives of the complete elliptic integrals of the first and of the second kind are such integrals.  The integrands
    are positive, so no digits are lost to cancellation, not even at m = 0, where the usual formulas divide by m.

    With c = 1 - m and tan(t) = exp(s)/c**(1/4), the differential dt/sqrt(1 - m*sin(t)**2) is
    ds/sqrt(1 + c + 2*sqrt(c)*cosh(2*s)).  Its poles in s lie on lines at the distance pi/2 from the real axis for every m, so the
    error of the trapezoidal rule is about exp(-pi**2/step).
    """

    def sums(m: Array) -> Any:
        """Return the integrals for a vector of m by the trapezoidal rule in s."""
        c = (1 - m)[:, None]  # one row for each m, one column for each s
        root = np.sqrt(c)
        widest = np.max(np.abs(np.log(np.where((c > 0) & np.isfinite(c), c, 1.0))), initial=0.0) / 4
        s = np.arange(-math.ceil((_SPAN + widest) / _STEP), math.ceil((_SPAN + widest) / _STEP) + 1) * _STEP
        falling = np.exp(-2 * s)
        ratio = 1 / (root * (falling + root))  # sin(t)**2/(1 - m*sin(t)**2)
        powers = ratio**order if not second else ratio ** (order - 1) / (1 + root * falling)
        # The radicand is (1 + root*exp(2*s))*(1 + root*exp(-2*s)), whose factors may overflow.
        small = np.exp(-2 * np.abs(s))
        base = np.exp(-np.abs(s)) / np.sqrt(small + root) / np.sqrt(1 + root * small)
        result = _STEP * np.sum(powers * base, axis=-1)
        return np.where(m == 1, math.inf, np.where(m == -math.inf, 0.0, result))

    return in_blocks(sums, m)


bessel_i = _order_last("iv")
y0, y1 = _second_kind(0), _second_kind(1)
airy_ai, airy_ai_prime, airy_bi, airy_bi_prime = map(_airy_function, range(4))
