"""Bessel functions of real order, with derivatives with respect to the order.

Derivatives of K are averages over an integral with a positive integrand.  Derivatives of J, Y and I with respect to the order
are computed from Hankel's expansion for large x, from integrals where I hardly depends on the order, and elsewhere from a
polynomial through values at neighbouring orders, because these functions are entire in the order.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.errors import ArgumentError
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.numerics.quadrature import in_blocks

_SCIPY = {name: from_scipy(name) for name in ("jv", "yv", "iv", "kv")}
_LARGEST_ORDER = 1000.0
_DROP = 45.0


@np.errstate(all="ignore")
def _of_order(kind: str, v: Array, x: Array) -> Any:
    """Return the function of SciPy, where it has its digits: not for I of a tiny x, and not for J and Y of a large x."""
    value = _SCIPY[kind](v, x)
    if kind == "iv":
        tiny = (x > 0) & (x < 1e-30)
        if np.any(tiny):
            order = np.where(v == np.floor(v), np.abs(v), v)
            first = from_scipy("rgamma")(order + 1) * np.exp(order * (np.log(np.where(tiny, x, 1.0)) - math.log(2)))
            value = np.where(tiny & np.isfinite(v), first, value)[()]
    elif kind != "kv":
        far = _is_far(v, x)
        if np.any(far):
            value = np.where(far, hankel(np.where(far, v, 0.0), np.where(far, x, 99.0), 0, kind == "yv"), value)[()]
    return value


def _is_far(v: Array, x: Array) -> Any:
    return (x > 25 + v * v / 2) & np.isfinite(x)


def _decaying(v: Array, x: Array, by_order: int, by_x: int) -> Any:
    """Return a derivative of K: its value times an average over exp(-x*cosh(t))*cosh(v*t) for t >= 0 (DLMF 10.32.9).

    The trapezoidal rule converges geometrically, because the integrand is even and entire.
    """
    sign, v = np.where(v < 0, -1.0, 1.0) ** by_order, np.abs(v)
    peak, size = np.arcsinh(v / x), np.hypot(v, x)

    def exponent(t: Array) -> Any:
        return v[:, None] * (t - peak[:, None]) - 2 * x[:, None] * np.sinh((t + peak[:, None]) / 2) * np.sinh(
            (t - peak[:, None]) / 2
        )

    ends = []
    for side in (-1.0, 1.0):
        near, far = np.zeros_like(x), np.full_like(x, 800.0)
        for _ in range(40):
            middle = (near + far) / 2
            inside = exponent((peak + side * middle)[:, None])[:, 0] > -_DROP
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        ends.append(peak + side * (far + 0.1 / np.sqrt(1 + size)))
    start, width = np.maximum(ends[0], 0.0), ends[1] - np.maximum(ends[0], 0.0)
    steps = width * (1 + np.sqrt(size) / 3) / 0.2
    count = math.ceil(min(np.max(np.where(np.isfinite(steps), steps, 8.0), initial=8.0), 20000))
    t = start[:, None] + width[:, None] * (np.arange(count + 1) / count)
    decay = np.exp(-2 * v[:, None] * t)
    weights = np.exp(exponent(t))
    weights[:, 0] *= 0.5
    moments = weights * t**by_order * (-np.cosh(t)) ** by_x * ((1 - decay) if by_order % 2 else (1 + decay))
    value = _SCIPY["kv"](v, x)
    result = sign * value * np.sum(moments, axis=-1) / np.sum(weights * (1 + decay), axis=-1)
    at_0 = (-1.0) ** by_x * value if not by_order else np.full_like(x, math.nan)
    return np.where(x == 0, at_0, np.where(np.isposinf(x), 0.0, result))


def hankel(v: Array | float, x: Array, order: int, second: bool) -> Any:
    """Return a derivative of J or Y with respect to the order from Hankel's expansion (DLMF 10.17.3 and 10.17.4).

    The lists contain the Taylor coefficients with respect to the order.
    """
    parts: list[list[Any]] = [[0.0] * (order + 1), [0.0] * (order + 1)]
    term: list[Any] = [1.0] + [0.0] * order
    for k in range(26):
        parts[k % 2] = [total + (-1) ** (k // 2) * part for total, part in zip(parts[k % 2], term, strict=True)]
        factor = [4 * v * v - (2 * k + 1) ** 2, 8 * v, 4.0]
        term = _product(term, [part / (8 * (k + 1) * x) for part in factor])
    angle = math.pi * (np.mod(v, 4.0) / 2 + 0.25)
    cosine = np.cos(x) * np.cos(angle) + np.sin(x) * np.sin(angle)
    sine = np.sin(x) * np.cos(angle) - np.cos(x) * np.sin(angle)
    turns = (cosine, -sine, -cosine, sine)
    waves = [(-math.pi / 2) ** j / math.factorial(j) * turns[j % 4] for j in range(order + 1)]
    others = [(-math.pi / 2) ** j / math.factorial(j) * turns[(j - 1) % 4] for j in range(order + 1)]
    if second:
        total = _product(parts[0], others)[order] + _product(parts[1], waves)[order]
    else:
        total = _product(parts[0], waves)[order] - _product(parts[1], others)[order]
    return math.factorial(order) * total * np.sqrt(2 / (math.pi * x))


def _product(a: list[Any], b: list[Any]) -> list[Any]:
    """Return the product of two truncated power series, with as many coefficients as the first."""
    return [sum(a[i - j] * b[j] for j in range(min(i + 1, len(b)))) for i in range(len(a))]


@functools.cache
def _legendre() -> tuple[Any, Any]:
    nodes, weights = np.polynomial.legendre.leggauss(80)
    return (nodes + 1) / 2, weights / 2


def _growing(v: Array, x: Array, order: int) -> Any:
    """Return a derivative of I with respect to the order from two integrals (DLMF 10.32.4), for x >= 2 and v**2 <= 4*x."""
    nodes, weights = _legendre()
    v, x = v[:, None], x[:, None]
    end = np.arccos(np.maximum(1 - _DROP / x, -1.0))
    angle = end * nodes
    turned = (np.sin if order % 2 else np.cos)(v * angle) * (1, -1, -1, 1)[order % 4]
    waves = angle**order * turned * np.exp(-2 * x * np.sin(angle / 2) ** 2)
    first = np.sum(waves * weights, axis=-1) * end[:, 0]
    end = np.arccosh(1 + 2 * _DROP / x)
    t = end * nodes
    decay = np.exp(-2 * x * np.cosh(t / 2) ** 2 - v * t) * weights
    part = np.mod(v[:, 0], 2.0)
    # At a whole order the sine is exactly 0.
    whole = np.round(part)
    sine, cosine = (np.cos(math.pi * whole) * wave for wave in (np.sin(math.pi * (part - whole)), np.cos(math.pi * (part - whole))))
    turns = (sine, cosine, -sine, -cosine)
    second = sum(
        math.comb(order, j) * math.pi**j * turns[j % 4] * np.sum((-t) ** (order - j) * decay, axis=-1) * end[:, 0]
        for j in range(order + 1)
    )
    return np.exp(x[:, 0]) * ((first - second) / math.pi)


@functools.cache
def _slopes(order: int) -> tuple[Any, Any]:
    """Return Chebyshev points, rounded to multiples of 1/1024, and the weights of the derivative at 0 of their polynomial."""
    from fractions import Fraction  # few runs need it

    count = 21
    points = [Fraction(round(1024 * math.cos(math.pi * (k + 0.5) / count)), 1024) for k in range(count)]
    weights = []
    for i, point in enumerate(points):
        basis = [Fraction(1)]
        for j, other in enumerate(points):
            if j != i:
                shifted = [Fraction(0), *basis]
                basis = [(a - other * b) / (point - other) for a, b in zip(shifted, [*basis, Fraction(0)], strict=True)]
        weights.append(float(basis[order] * math.factorial(order)) if order < count else math.nan)
    return np.array([float(point) for point in points]), np.array(weights)


def _beside(kind: str, v: Array, x: Array, order: int) -> Any:
    """Return a derivative with respect to the order from the values at orders around ``v``."""
    points, weights = _slopes(order)
    scale = 1 + np.abs(np.log(x / (2 * (np.abs(v) + 1))))
    if kind in ("jv", "yv"):  # beyond the turning point only the phase changes
        scale = np.where(x > np.abs(v) + 1, 2.0, scale)
    radius = 2.0 ** np.floor(np.log2(2 / np.where(np.isfinite(scale), scale, math.nan)))
    orders = v[:, None] + radius[:, None] * points
    values = _of_order(kind, orders, np.broadcast_to(x[:, None], orders.shape))
    result = np.sum(values * weights, axis=-1) / radius**order
    zero = (x == 0) & (v > 0)
    return np.where(zero, 0.0, np.where((x > 0) & (np.abs(v) <= _LARGEST_ORDER), result, math.nan))


def _by_order(kind: str, v: Array, x: Array, order: int) -> Any:
    if not order:
        return _of_order(kind, v, x)
    special = (x >= 2) & (v * v <= 4 * x) if kind == "iv" else _is_far(v, x)
    result = np.full(x.shape, math.nan)
    if np.any(special):
        there = v[special], x[special], order
        result[special] = _growing(*there) if kind == "iv" else hankel(*there, kind == "yv")
    if not np.all(special):
        result[~special] = _beside(kind, v[~special], x[~special], order)
    return result


def bessel_partial(v: Array, x: Array, kind: str, by_order: int, by_x: int) -> Any:
    if kind not in _SCIPY:
        raise ArgumentError(f"bessel_partial: 'kind' must be one of {', '.join(map(repr, _SCIPY))}, not {kind!r}")

    def by_argument(v: Array, x: Array) -> Any:
        if kind == "kv":
            return _decaying(v, x, by_order, by_x)
        if not by_x:
            return _by_order(kind, v, x, by_order)
        sign = 1 if kind == "iv" else -1
        result: Any = 0.0
        for i in range(by_x + 1):
            result = result + math.comb(by_x, i) * sign**i / 2**by_x * _by_order(kind, v - by_x + 2 * i, x, by_order)
        if by_x > 1:
            return result
        # For 0 < v < 1 and small x, the order v - 1 is rounded: use the formula with v/x.
        other = v / x * _by_order(kind, v, x, by_order) + sign * _by_order(kind, v + 1, x, by_order)
        if by_order:
            other = other + by_order / x * _by_order(kind, v, x, by_order - 1)
        return np.where((np.abs(v) < 1) & (x < 1) & (x > 0), other, result)

    return in_blocks(by_argument, v, x)


jv, yv, iv, kv = (in_one_type(functools.partial(_of_order, kind)) for kind in ("jv", "yv", "iv", "kv"))
