"""Elementary functions, signs, mantissas and exponents, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.autograd.primitives.types import Operand
from autodiff_cli.errors import DtypeError
from autodiff_cli.numerics.backend import replace_where


def sign(x: Array) -> Any:
    """Return 1, 0 or -1, and 0 for nan, as in PyTorch."""
    value = np.sign(x)
    return np.where(np.isnan(value), value.dtype.type(0), value)[()] if np.any(np.isnan(value)) else value


def angle(x: Array) -> Any:
    """Return the angle of real numbers: 0, or pi where x < 0."""
    value = np.where(np.isnan(x), x, np.where(x < 0, math.pi, 0.0))
    return value.astype(x.dtype if x.dtype.kind == "f" else np.float64)[()]


def round_to(x: Array, decimals: int) -> Any:
    if x.dtype.kind != "f":
        raise DtypeError(f"round: decimals is defined for floating-point numbers, not for {np.dtype(x.dtype)}")
    return np.round(x, decimals)


def is_halfway(x: Array, decimals: int | None) -> Any:
    """Return whether numbers are halfway between two neighbours of so many ``decimals``; ``None`` is 0: two integers."""
    scaled = x * 10.0 ** (decimals or 0)
    return scaled - np.floor(scaled) == 0.5


@np.errstate(all="ignore")
def over_root(x: Array, j: int, m: int, shift: int) -> Any:
    """Return x**j/(x**2 + shift)**(m/2), for a shift of 1 or -1, without the square of a large x."""
    square = x * x
    near = x**j * ((x - 1) * (x + 1) if shift < 0 else square + 1) ** (-m / 2)

    def far(x: Array) -> Any:
        size = np.abs(x)
        return size ** float(j - m) * (1 + shift / size / size) ** (-m / 2) * np.sign(x) ** j

    return replace_where(near, square > 4, far, x)


def _near_1(x: Array, y: Array) -> tuple[Any, Any, Any]:
    """Return two numbers times a power of 2 that brings the larger one to 1/2 or more, below 1, and the exponent of the power."""
    _, power = np.frexp(np.maximum(np.abs(x), np.abs(y)))
    return np.ldexp(x, -power), np.ldexp(y, -power), -power


def _is_middling(size: Array, order: int) -> Any:
    """Return whether all powers of ``size`` up to ``order`` neither underflow nor overflow."""
    most = 1e280 if size.dtype.itemsize == 8 else 1e30  # below the largest float64 and float32
    return np.all((size < most ** (1 / order)) & (size > most ** (-1 / order)))


def _top(x: Array, y: Array, n: int, imaginary: bool) -> Any:
    """Return the real or imaginary part of (x - y*i)**n, which is abs(z)**(2*n) times the same part of 1/z**n, for n >= 1."""
    if n == 2:  # x**2 - y**2 would lose digits to cancellation
        return -2 * (x * y) if imaginary else (x - y) * (x + y)
    real, imag = x, -y
    for _ in range(n - 1):
        real, imag = real * x + imag * y, imag * x - real * y
    return imag if imaginary else real


@np.errstate(all="ignore")
def inverse_power(x: Array, y: Array, n: int, imaginary: bool) -> Any:
    """Return the real or imaginary part of 1/z**n for z = x + y*i and n >= 1; 0 at z = 0 and for an infinite z."""
    dtype = np.result_type(x, y, np.float32)
    x, y = np.asarray(x, dtype)[()], np.asarray(y, dtype)[()]
    least = np.minimum(np.abs(x), np.abs(y))
    if _is_middling(x * x + y * y, n) and np.all((least == 0) | (least * least > 0)):
        return _top(x, y, n, imaginary) / (x * x + y * y) ** n
    near_x, near_y, power = _near_1(x, y)
    # Scale up as far as the n-th power allows: a subnormal x or y remains accurate beside a large number.
    lift = (900 if dtype.itemsize == 8 else 90) // n  # below the largest exponents, 1023 and 127
    top = _top(np.ldexp(x, power + lift), np.ldexp(y, power + lift), n, imaginary)
    value = np.ldexp(top / (near_x * near_x + near_y * near_y) ** n, (power - lift) * n)
    far = (np.isinf(x) & ~np.isnan(y)) | (np.isinf(y) & ~np.isnan(x))
    return np.where(far | ((x == 0) & (y == 0)), dtype.type(0), value)[()]


@np.errstate(all="ignore")
def share_of_hypot(x: Array, y: Array, second: bool) -> Any:
    """Return x/hypot(x, y), or y/hypot(x, y) if ``second``; 0 where both are 0."""
    dtype = np.result_type(x, y, np.float32)
    x, y = np.asarray(x, dtype)[()], np.asarray(y, dtype)[()]
    size = np.hypot(x, y)
    if not _is_middling(size, 1):
        x, y, _ = _near_1(x, y)
        size = np.hypot(x, y)
    return np.where(size == 0, dtype.type(0), (y if second else x) / size)[()]


@np.errstate(all="ignore")
def product_over(a: Array, b: Array, size: Array) -> Any:
    """Return a*b/size in the order that neither underflows nor overflows; 0 where size is 0."""
    value = np.where(size < 1e-300, a * b / size, a / size * b)  # a/size overflows for a tiny size only
    return np.where(size == 0, value.dtype.type(0), value)[()]


def tanh_slope(x: Array, t: Array) -> Any:
    """Return 1/cosh(x)**2; 1 - t*t would lose digits where t = tanh(x), which only the rule uses, is near 1 or -1."""
    twice_cosh = np.exp(x)
    twice_cosh += 1 / twice_cosh
    inverse_cosh = 2 / twice_cosh
    return inverse_cosh * inverse_cosh


inverse = np.errstate(divide="ignore")(np.reciprocal)
copysign = in_one_type(np.copysign)


@np.errstate(all="ignore")
@in_one_type
def ldexp(x: Array, y: Array) -> Any:
    """Return x*2**y for a real y."""
    half = np.floor(y / 2)  # one power of two may overflow where the product does not
    return x * np.exp2(half) * np.exp2(y - half)


def frexp(x: Array) -> Any:
    """Return the mantissas, from 1/2 to 1, and the exponents of 2; an exponent is 0 for infinity and nan."""
    if x.dtype.kind != "f":
        raise DtypeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(x)
    return mantissa, np.where(np.isfinite(x), exponent, 0).astype(np.int32)[()]


def in_float64(x: Operand) -> Any:
    return np.asarray(x, np.float64)[()]
