"""Bessel functions of whole order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.numerics import decompositions
from autodiff_cli.numerics.backend import from_scipy

_FIRST = {"iv": (from_scipy("i0"), from_scipy("i1")), "jv": (from_scipy("j0"), from_scipy("j1"))}


def _of_any_order(name: str) -> Any:
    """Return SciPy's function ``name``, replaced by the first term of its power series for tiny x, where SciPy gives nan."""
    of_order = from_scipy(name)

    @np.errstate(all="ignore")
    def function(n: float, x: Array) -> Any:
        value, small = of_order(n, x), np.abs(x) < 1e-100
        return np.where(small, (x / 2) ** int(n) / math.factorial(min(int(n), 170)), value)[()] if np.any(small) else value

    return function


def _of_order(name: str) -> Any:
    any_order = _of_any_order(name)
    return lambda x, n: _FIRST[name][n](x) if n < 2 else any_order(float(n), x)


@np.errstate(all="ignore")
def bessel_j(x: Array, n: int) -> Any:
    value = _of_order("jv")(x, n)
    far = (np.abs(x) > 30 + n * n) & np.isfinite(x)
    return np.where(far, _waves(np.where(far, x, 100.0 + n * n), n)[0], value)[()] if np.any(far) else value


def _second_kind(n: int) -> Any:
    near = from_scipy(f"y{n}")

    @np.errstate(all="ignore")
    def function(x: Array) -> Any:
        far = x > 30
        value = near(x)
        if not np.any(far):
            return value
        return np.where(far, np.where(x == math.inf, 0.0, _waves(np.where(far, x, 100.0), n)[1]), value)[()].astype(value.dtype)

    return function


def _waves(x: Array, n: int) -> tuple[Any, Any]:
    """Return J_n(x) and Y_n(x) for large x from Hankel's expansion, written in terms of sin(x) and cos(x)."""
    size = np.abs(x) * 1.0
    parts: list[Array | float] = [0.0, 0.0]
    term: Array | float = 1.0
    for k in range(24):
        parts[k % 2] = parts[k % 2] + (-1) ** (k // 2) * term
        term = term * (4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1) * size)
    # The phase is x - n*pi/2 - pi/4.
    sine, cosine = np.sin(size), np.cos(size)
    turned = ((cosine + sine, sine - cosine), (sine - cosine, -cosine - sine))[n % 2]
    height = (-1) ** (n // 2) / np.sqrt(math.pi * size)
    first, second = parts[0] * turned[0] - parts[1] * turned[1], parts[0] * turned[1] + parts[1] * turned[0]
    return first * height * np.sign(x) ** (n % 2), second * height


# The functions i0 and i1 multiplied by exp(-abs(x)).  For large x their derivatives are small differences of large terms, so
# the asymptotic series is differentiated term by term for abs(x) > 20.

_FAR = 20.0
_SCALED = (from_scipy("i0e"), from_scipy("i1e"))


@np.errstate(all="ignore")
def bessel_scaled(x: Array, n: int, order: int) -> Any:
    size, sign = np.abs(x), np.sign(x)
    far = size > _FAR
    beyond = _far_out(np.maximum(size, _FAR), n, order) * sign ** ((n + order) % 2)
    if np.all(far):
        return beyond
    ive = _of_any_order("ive")
    near: Any = 0.0
    for j in range(order + 1):
        for i in range(j + 1):  # the j-th derivative of I_n
            k = abs(n + j - 2 * i)
            term = math.comb(j, i) / 2**j * (_SCALED[k](x) if k < 2 else ive(float(k), x))
            near = near + math.comb(order, j) * (-sign) ** (order - j) * term
    return np.where(far, beyond, near)[()]


@np.errstate(all="ignore")
def _far_out(x: Array, n: int, order: int) -> Any:
    """Return the derivative of the given order of exp(-x)*I_n(x), for large positive x."""
    total: Any = 0.0
    for coefficient in reversed(decompositions.far_out(n, order)):
        total = coefficient + total / x
    return total * x ** (-0.5 - order)


bessel_i = _of_order("iv")
y0, y1 = _second_kind(0), _second_kind(1)


def j0(x: Array) -> Any:
    return bessel_j(x, 0)


def j1(x: Array) -> Any:
    return bessel_j(x, 1)
