"""Bessel functions of real order, with derivatives with respect to the order.

Derivatives of K are averages over an integral with a positive integrand.  Derivatives of J, Y and I with respect to the order
are computed from Hankel's expansion for large x, from integrals where I hardly depends on the order, and elsewhere from a
polynomial through values at neighbouring orders, because these functions are entire in the order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.errors import ArgumentError
from autodiff_cli.numerics.backend import from_scipy, replace_where
from autodiff_cli.numerics.quadrature import gauss_legendre, in_blocks

_SCIPY = {name: from_scipy(name) for name in ("jv", "yv", "iv", "kv")}
_LARGEST_ORDER = 1000.0
_DROP = 45.0
"""The logarithm of the largest value of an integrand relative to its value at the ends of the quadrature."""


@np.errstate(all="ignore")
def _bessel_value(kind: str, v: Array, x: Array) -> Any:
    """Return J, Y, I or K (``kind``) of real order v: by SciPy, except for I of a tiny x, and J and Y of a large x."""
    value = _SCIPY[kind](v, x)
    if kind == "iv":
        return replace_where(value, (x > 0) & (x < 1e-30) & np.isfinite(v), _first_term, v, x)
    if kind == "kv":
        return value
    return replace_where(value, _is_far(v, x), lambda v, x: hankel(v, x, 0, kind == "yv"), v, x)


def _first_term(v: Array, x: Array) -> Any:
    """Return the first term of the power series of I_v(x), (x/2)**v/gamma(v + 1); for a negative whole v, I_v is I_-v."""
    order = np.where(v == np.floor(v), np.abs(v), v)
    return from_scipy("rgamma")(order + 1) * np.exp(order * (np.log(x) - math.log(2)))


def _is_far(v: Array, x: Array) -> Any:
    """Return whether Hankel's expansion has all digits of J and Y of the order v at x."""
    return (x > 25 + v * v / 2) & np.isfinite(x)


def _k_derivative(v: Array, x: Array, by_order: int, by_x: int) -> Any:
    """Return a derivative of K: its value times an average over exp(-x*cosh(t))*cosh(v*t) for t >= 0 (DLMF 10.32.9).

    The trapezoidal rule converges geometrically, because the integrand is even and entire.
    """
    sign, v = np.where(v < 0, -1.0, 1.0) ** by_order, np.abs(v)
    peak, size = np.arcsinh(v / x), np.hypot(v, x)

    def exponent(t: Array) -> Any:
        """Return v*t - x*cosh(t), less its largest value, which it has at the peak."""
        half_sum, half_difference = (t + peak[:, None]) / 2, (t - peak[:, None]) / 2
        return v[:, None] * (t - peak[:, None]) - 2 * x[:, None] * np.sinh(half_sum) * np.sinh(half_difference)

    start, width = _support(exponent, peak, size)
    steps = width * (1 + np.sqrt(size) / 3) / 0.2  # a peak is about 1/sqrt(size) wide
    count = math.ceil(min(np.max(np.where(np.isfinite(steps), steps, 8.0), initial=8.0), 20000))  # bounds the memory
    t = start[:, None] + width[:, None] * (np.arange(count + 1) / count)
    decay = np.exp(-2 * v[:, None] * t)
    weights = np.exp(exponent(t))
    weights[:, 0] *= 0.5
    moments = weights * t**by_order * (-np.cosh(t)) ** by_x * ((1 - decay) if by_order % 2 else (1 + decay))
    value = _SCIPY["kv"](v, x)
    result = sign * value * np.sum(moments, axis=-1) / np.sum(weights * (1 + decay), axis=-1)
    at_0 = (-1.0) ** by_x * value if not by_order else np.full_like(x, math.nan)
    return np.where(x == 0, at_0, np.where(np.isposinf(x), 0.0, result))


def _support(exponent: Callable[[Array], Any], peak: Array, size: Array) -> tuple[Any, Any]:
    """Return the start and the width of the interval of t >= 0 where ``exponent(t)`` is above -_DROP, by bisection up to 800."""
    ends = []
    for side in (-1.0, 1.0):
        near, far = np.zeros_like(peak), np.full_like(peak, 800.0)  # distances from the peak
        for _ in range(40):  # which are then known to 1e-9
            middle = (near + far) / 2
            inside = exponent((peak + side * middle)[:, None])[:, 0] > -_DROP
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        ends.append(peak + side * (far + 0.1 / np.sqrt(1 + size)))  # and a tenth of the width of a peak further
    left, right = ends
    start = np.maximum(left, 0.0)
    return start, right - start


def hankel(v: Array | float, x: Array, order: int, second: bool) -> Any:
    """Return a derivative with respect to the order of J, or of Y (``second``), from Hankel's expansion (DLMF 10.17.3, 10.17.4).

    The lists contain the Taylor coefficients with respect to the order.
    """
    parts: list[list[Any]] = [[0.0] * (order + 1), [0.0] * (order + 1)]
    term: list[Any] = [1.0] + [0.0] * order  # the product of (4*v**2 - (2*i + 1)**2)/(8*(i + 1)*x) for i < k
    for k in range(26):  # enough terms for x > 25 + v**2/2
        parts[k % 2] = [total + (-1) ** (k // 2) * part for total, part in zip(parts[k % 2], term, strict=True)]
        factor = [4 * v * v - (2 * k + 1) ** 2, 8 * v, 4.0]
        term = _product(term, [part / (8 * (k + 1) * x) for part in factor])
    angle = math.pi * (np.mod(v, 4.0) / 2 + 0.25)
    cosine = np.cos(x) * np.cos(angle) + np.sin(x) * np.sin(angle)
    sine = np.sin(x) * np.cos(angle) - np.cos(x) * np.sin(angle)
    turns = (cosine, -sine, -cosine, sine)
    cosines = [(-math.pi / 2) ** j / math.factorial(j) * turns[j % 4] for j in range(order + 1)]
    sines = [(-math.pi / 2) ** j / math.factorial(j) * turns[(j - 1) % 4] for j in range(order + 1)]
    if second:
        total = _product(parts[0], sines)[order] + _product(parts[1], cosines)[order]
    else:
        total = _product(parts[0], cosines)[order] - _product(parts[1], sines)[order]
    return math.factorial(order) * total * np.sqrt(2 / (math.pi * x))


def _product(a: list[Any], b: list[Any]) -> list[Any]:
    """Return the product of two truncated power series, with as many coefficients as the first."""
    return [sum(a[i - j] * b[j] for j in range(min(i + 1, len(b)))) for i in range(len(a))]


def _i_derivative(v: Array, x: Array, order: int) -> Any:
    """Return a derivative of I with respect to the order from the integrals of DLMF 10.32.4, for x >= 2 and v**2 <= 4*x.

    The first is over an angle; the second is multiplied by the sine of pi*v, which is exactly 0 at a whole order.
    """
    nodes, weights = gauss_legendre(80)
    v, x = v[:, None], x[:, None]
    end = np.arccos(np.maximum(1 - _DROP / x, -1.0))
    angle = end * nodes  # ``turned`` is the derivative of cos(v*angle) in v, without its power of the angle
    turned = (np.sin if order % 2 else np.cos)(v * angle) * (1, -1, -1, 1)[order % 4]
    waves = angle**order * turned * np.exp(-2 * x * np.sin(angle / 2) ** 2)
    first = np.sum(waves * weights, axis=-1) * end[:, 0]
    end = np.arccosh(1 + 2 * _DROP / x)
    t = end * nodes
    decay = np.exp(-2 * x * np.cosh(t / 2) ** 2 - v * t) * weights
    part = np.mod(v[:, 0], 2.0)
    whole = np.round(part)
    sine, cosine = (np.cos(math.pi * whole) * wave for wave in (np.sin(math.pi * (part - whole)), np.cos(math.pi * (part - whole))))
    turns = (sine, cosine, -sine, -cosine)  # the derivatives of sin(pi*v) in pi*v
    second = sum(
        math.comb(order, j) * math.pi**j * turns[j % 4] * np.sum((-t) ** (order - j) * decay, axis=-1) * end[:, 0]
        for j in range(order + 1)
    )
    return np.exp(x[:, 0]) * ((first - second) / math.pi)


@functools.cache
def _derivative_weights(order: int) -> tuple[Any, Any]:
    """Return Chebyshev points, rounded to 1/1024, and the weights of their polynomial's derivative at 0; nan from order 21 on."""
    from fractions import Fraction  # few runs need it

    count = 21
    points = [Fraction(round(1024 * math.cos(math.pi * (k + 0.5) / count)), 1024) for k in range(count)]
    weights = []
    for i, point in enumerate(points):
        basis = [Fraction(1)]  # the coefficients of Lagrange's polynomial, which is 1 at this point and 0 at the others
        for j, other in enumerate(points):
            if j != i:
                shifted = [Fraction(0), *basis]
                basis = [(a - other * b) / (point - other) for a, b in zip(shifted, [*basis, Fraction(0)], strict=True)]
        weights.append(float(basis[order] * math.factorial(order)) if order < count else math.nan)
    return np.array([float(point) for point in points]), np.array(weights)


def _derivative_from_neighbours(kind: str, v: Array, x: Array, order: int) -> Any:
    """Return a derivative by the order from values around ``v``; 0 at x = 0 for v > 0, nan for other x <= 0 and a large v."""
    points, weights = _derivative_weights(order)
    scale = 1 + np.abs(np.log(x / (2 * (np.abs(v) + 1))))  # how fast the function changes with the order, about (x/2)**v/v!
    if kind in ("jv", "yv"):  # beyond the turning point only the phase changes
        scale = np.where(x > np.abs(v) + 1, 2.0, scale)
    radius = 2.0 ** np.floor(np.log2(2 / np.where(np.isfinite(scale), scale, math.nan)))
    orders = v[:, None] + radius[:, None] * points
    values = _bessel_value(kind, orders, np.broadcast_to(x[:, None], orders.shape))
    result = np.sum(values * weights, axis=-1) / radius**order
    zero = (x == 0) & (v > 0)
    return np.where(zero, 0.0, np.where((x > 0) & (np.abs(v) <= _LARGEST_ORDER), result, math.nan))


def _order_derivative(kind: str, v: Array, x: Array, order: int) -> Any:
    """Return the function ``kind``, or its derivative with respect to its order, by the method that has its digits at (v, x)."""
    if not order:
        return _bessel_value(kind, v, x)
    special = (x >= 2) & (v * v <= 4 * x) if kind == "iv" else _is_far(v, x)
    result = replace_where(np.full(x.shape, math.nan), ~special, lambda v, x: _derivative_from_neighbours(kind, v, x, order), v, x)
    if kind == "iv":
        return replace_where(result, special, lambda v, x: _i_derivative(v, x, order), v, x)
    return replace_where(result, special, lambda v, x: hankel(v, x, order, kind == "yv"), v, x)


def bessel_partial(v: Array, x: Array, kind: str, by_order: int, by_x: int) -> Any:
    """Return the derivative of J, Y, I or K (``kind``) of order ``by_order`` in its order v and of order ``by_x`` in x."""
    if kind not in _SCIPY:
        raise ArgumentError(f"bessel_partial: 'kind' must be one of {', '.join(map(repr, _SCIPY))}, not {kind!r}")
    if kind == "kv":
        return in_blocks(lambda v, x: _k_derivative(v, x, by_order, by_x), v, x)
    return in_blocks(lambda v, x: _mixed_derivative(kind, v, x, by_order, by_x), v, x)


def _mixed_derivative(kind: str, v: Array, x: Array, by_order: int, by_x: int) -> Any:
    """Return a derivative of J, Y or I; that in x is a sum over neighbouring orders (DLMF 10.6.7 and 10.29.5)."""
    if not by_x:
        return _order_derivative(kind, v, x, by_order)
    sign = 1 if kind == "iv" else -1
    result: Any = 0.0
    for i in range(by_x + 1):
        result = result + math.comb(by_x, i) * sign**i / 2**by_x * _order_derivative(kind, v - by_x + 2 * i, x, by_order)
    if by_x > 1:
        return result
    # For 0 < v < 1 and small x, the order v - 1 is rounded: use the formula with v/x.
    other = v / x * _order_derivative(kind, v, x, by_order) + sign * _order_derivative(kind, v + 1, x, by_order)
    if by_order:
        other = other + by_order / x * _order_derivative(kind, v, x, by_order - 1)
    return np.where((np.abs(v) < 1) & (x < 1) & (x > 0), other, result)


jv, yv, iv, kv = (in_one_type(functools.partial(_bessel_value, kind)) for kind in ("jv", "yv", "iv", "kv"))
