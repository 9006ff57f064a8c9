"""Error functions, the normal distribution, and sinc.

Tails are computed from scaled functions, so that values far below 1 and their derivatives are accurate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.types import Mask
from autodiff_cli.errors import ArgumentError
from autodiff_cli.numerics.backend import from_math, from_scipy

_ROOT_HALF, _ROOT_PI, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(math.pi), math.sqrt(2 * math.pi)

_erfcx = from_scipy("erfcx")


@np.errstate(all="ignore")
def bell(x: Array, scale: float) -> Any:
    # The square of the leading bits of x is exact, whereas the rounding error of x*x near 1000 would cost three digits.
    x = np.clip(x, -60.0, 60.0)
    head = np.round(x * 16) / 16
    return np.exp(-scale * (head * head)) * np.exp(-scale * ((x - head) * (x + head)))


def _with_tail(value: Array, x: Array, far: Mask, tail: Callable[[Array], Array]) -> Any:
    """Replace the elements of ``value`` where ``far`` is true with ``tail`` of the corresponding elements of ``x``."""
    if not isinstance(x, np.ndarray):
        return np.where(far, tail(x), value)[()] if np.any(far) else value
    places = np.flatnonzero(far)  # indexing with positions is much faster than indexing with a mask
    if not places.size:
        return value
    value = np.array(value)
    value.reshape(-1)[places] = tail(np.asarray(x).reshape(-1)[places])
    return value[()]


# Error functions

erf = from_math(math.erf, "erf")
_erfc_values = from_math(math.erfc, "erfc")


@np.errstate(all="ignore")
def erfc(x: Array) -> Any:
    value = _erfc_values(x)
    return _with_tail(value, x, x > 1, lambda x: _erfcx(x) * bell(x, 1.0)) if np.ndim(x) else value


_erfinv = from_scipy("erfinv")


@np.errstate(all="ignore")
def erfinv_slope(x: Array) -> Any:
    # The slope is sqrt(pi)/2 * exp(y**2) at y = erfinv(x).  Near abs(x) = 1 the square would be inaccurate, whereas
    # erfc(abs(y)) = 1 - abs(x) is accurate.
    y, size = _erfinv(x), np.abs(x)
    middle = np.exp(y * y)
    return np.where(size < 0.5, middle, np.where(size == 1, math.inf, _erfcx(np.abs(y)) / (1 - size)))[()] * (_ROOT_PI / 2)


# The normal distribution

_ndtr_middle = from_math(lambda x: math.erfc(-x * _ROOT_HALF) / 2, "ndtr")


@np.errstate(all="ignore")
def ndtr(x: Array) -> Any:
    return _with_tail(_ndtr_middle(x), x, x < -2, lambda x: _erfcx(x * -_ROOT_HALF) * bell(x, 0.5) / 2)


@np.errstate(all="ignore")
def hazard(x: Array) -> Any:
    left = (2 / _ROOT_2_PI) / _erfcx(np.maximum(x * -_ROOT_HALF, 0))
    right = bell(x, 0.5) / (ndtr(np.maximum(x, 0)) * _ROOT_2_PI)
    return np.where(x < 0, left, right)[()]


@np.errstate(all="ignore")
def _fraction(t: Array, first: int) -> Any:
    """Return first/(t + (first + 1)/(t + (first + 2)/(t + ...))), for t >= 3."""
    value: Array | float = 0.0
    for k in range(first + 60, first - 1, -1):
        value = k / (t + value)
    return value


# For large t = -x the hazard h = density/ndtr is t + 1/(t + 2/(t + ...)).  The derivative of h is -h*(x + h), and the derivative
# of x + h is 1 - h*(x + h).  Both would lose digits to cancellation, so they are computed from the tails
# k/(t + (k + 1)/(t + ...)) of the continued fraction, which are accurate.


@np.errstate(all="ignore")
def mills_fraction(x: Array, k: int) -> Any:
    if k < 1:
        raise ArgumentError(f"mills_fraction: 'k' must be 1 or more, not {k}")
    right = x + hazard(x)
    for i in range(1, k):
        right = x + i / right
    return np.where(x < -3, _fraction(np.maximum(-x, 3), k), right)[()]


@np.errstate(all="ignore")
def log_ndtr(x: Array) -> Any:
    left = np.minimum(x, -1)
    tail = np.log(_erfcx(left * -_ROOT_HALF) / 2) - left * left / 2
    return np.where(x < -1, tail, np.log1p(-ndtr(-np.maximum(x, -1))))[()]


_ndtri = from_scipy("ndtri")


@np.errstate(all="ignore")
def ndtri_slope(p: Array) -> Any:
    # The slope is 1/density at ndtri(p), computed from the hazard, because the density is inaccurate in the tails.
    tail = np.minimum(p, 1 - p)
    return np.where(tail == 0, math.inf, 1 / (tail * hazard(-np.abs(_ndtri(p)))))[()]


# sin(pi*x)/(pi*x)


@np.errstate(all="ignore")
def sinc(x: Array, order: int) -> Any:
    """Return the derivative of the given order, with respect to x, of sin(u)/u at u = pi*x."""
    x = x * 1.0
    u, power = math.pi * x, math.pi**order
    near = np.abs(u) < order + 1
    series: Any = 0.0
    if np.any(near):  # quotients would lose digits to cancellation: use the Taylor series
        small = np.where(near, u, 0.0)
        square = small * small
        for k in range(order + 14, (order + 1) // 2 - 1, -1):
            series = series * square + (-1) ** k / (math.factorial(2 * k - order) * (2 * k + 1))
        if order % 2:
            series = series * small
        if not np.any(~near):
            return series * power
    # Subtract whole numbers from x before the multiplication by pi, because this subtraction is exact.
    whole = np.round(np.where(np.isinf(x), 0.0, x))
    rest = np.where(np.isinf(x), 0.0, x - whole)
    sign = 1 - 2 * (whole - 2 * np.floor(whole / 2))
    sine, cosine = sign * np.sin(math.pi * rest), sign * np.sin(math.pi * (0.5 - np.abs(rest)))
    value: Any = 0.0
    for m in range(order + 1):
        value = ((sine, cosine, -sine, -cosine)[m % 4] - m * value) / math.pi / x
    return np.where(near, series, value)[()] * power
