"""Powers, comparisons and bounds of arrays."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from autodiff_cli.autograd.dtypes import Array, default_type
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Dims, Number, Operand, Value
from autodiff_cli.autograd.tensor import Tensor

EVEN = 2.0**53
"""The magnitude at and above which every float64 is an even integer."""


def weak(value: Operand) -> Any:
    """Convert a NumPy scalar to a Python number, which does not widen the dtype of a tensor in the same operation."""
    return value.item() if isinstance(value, np.generic) else value


def is_number(value: Operand) -> TypeGuard[Number]:
    return isinstance(value, (int, float, np.generic))


def is_any_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def is_ordinary_tensor(value: object) -> bool:
    """Return whether a value is a tensor of numbers, and not a Taylor series, a tracer or another tensor of its own arithmetic."""
    return type(value) is Tensor


def is_plain(*values: object) -> bool:
    """Return whether an operation on these values is recorded as one node of PyTorch's name.

    In other modes, such as a Taylor series or a tape, it is computed by simpler operations.
    """
    return builtins.all(type(value) is Tensor or not isinstance(value, Tensor) for value in values)


def is_even(y: Number) -> bool:
    """Return whether ``y`` is finite and so large that all floats near it are even integers."""
    return EVEN <= abs(y) < math.inf


@np.errstate(all="ignore")
def falling_power(x: Array, y: Array, k: int) -> Any:
    """Return y*(y - 1)*...*(y - k + 1)*x**(y - k), the k-th derivative of x**y with respect to x, for k >= 1."""
    count = falling_count(y, k)
    value = count * x ** (y - k)
    if k % 2:  # for a large y, the odd exponent y - k is rounded to an even number
        value = np.where((x < 0) & (np.abs(y) >= EVEN), -value, value)
    small = np.abs(y) < 0.5  # for such y, the difference y - 1 is rounded
    if np.any(small):
        root = x ** (y / 2)  # of x**y, which is divided k times by x
        value = np.where(small, functools.reduce(operator.truediv, [x] * k, count * root) * root, value)
    if not np.all(np.isfinite(value)):
        value = _replace_overflow(value, count, x, y, k)
    return value.astype(np.result_type(x, y), copy=False)[()]


def _replace_overflow(value: Array, count: Array, x: Array, y: Array, k: int) -> Any:
    """Return ``value`` = count*x**(y - k), of ``falling_power``, but finite where only a factor overflows."""
    root = x ** ((y - k) / 2)
    value = np.where(np.isfinite(value) | (x < 0), value, count * root * root)
    value = np.where((count == 0) & ~np.isnan(x), 0.0, value)
    if not np.any(np.isnan(value)):
        return value
    # Where one factor overflows and the other underflows, add logarithms.
    size, whole = np.abs(x), y == np.floor(y)
    logarithm = k * np.log(np.abs(y)) + (y - k) * np.log(size)
    sign = np.sign(y) ** k  # of count
    sign_below_0 = sign * np.where(x < 0, -1.0, 1.0) ** np.where(whole, np.mod(y - k, 2), np.nan)
    real = np.isfinite(x) & np.isfinite(y) & (size > 0) & ((x > 0) | whole)
    return np.where(np.isnan(value) & real, np.where(x > 0, sign, sign_below_0) * np.exp(logarithm), value)


def falling_count(y: Value, k: int) -> Any:
    """Return y*(y - 1)*...*(y - k + 1)."""
    return math.prod([y - i for i in range(1, k)], start=y)


def falling_count_slope(y: Value, k: int) -> Any:
    """Return the derivative of y*(y - 1)*...*(y - k + 1) with respect to y."""
    if k == 1:
        return 1.0
    terms = [math.prod([y - i for i in range(k) if i != left], start=1.0) for left in range(k)]
    return functools.reduce(operator.add, terms)


def power_constant(x: Array, y: Number) -> Any:
    """Return x**y with sqrt for y = 1/2: NumPy uses pow for a single number, which differs at -inf and in the sign of 0."""
    return np.sqrt(x) if y == 0.5 else x**y


def power_of_number(x: Array, y: Number) -> Any:
    """Return y**x for a plain number y, which is first rounded to the floating-point type of x."""
    return (default_type() if x.dtype.kind != "f" else x.dtype).type(y) ** x


def power_kink(x: Array, y: Array) -> Any:
    """Return whether x**y has a kink or an edge at x, which is so at x = 0 for 0 <= y < 1."""
    if np.ndim(y) == 0 and not 0 <= y < 1:  # nowhere, without a look at x
        return np.False_
    return (x == 0) & (y >= 0) & (y < 1)


@np.errstate(all="ignore")
def isclose(x: Array, y: Array, rtol: float, atol: float, equal_nan: bool) -> Any:
    return np.isclose(x, y, rtol, atol, equal_nan)


def _truth(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the computation of ``all`` or ``any``, which reduces truth values with a ufunc; for an empty list, no dimension."""

    def forward(x: Array, dim: Dims, keepdim: bool) -> Any:
        dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
        at = tuple(dimension(d, x.ndim) for d in dims) if x.ndim else ()
        return ufunc.reduce(np.asarray(x, np.bool_), axis=at, keepdims=keepdim)[()]

    return forward


all, any = _truth(np.logical_and), _truth(np.logical_or)


def clamp(x: Array, low: Array | None, high: Array | None) -> Any:
    """Return x between two bounds; ``None`` does not limit.  As in PyTorch, the result is the upper bound where low > high."""
    raised = x if low is None else np.maximum(x, low)
    return raised if high is None else np.minimum(raised, high)


def is_at_bound(x: Array, min: Array | None, max: Array | None) -> Any:
    """Return whether x equals a bound; a bound that is ``None`` is not reached."""
    low = False if min is None else x == min
    return low if max is None else low | (x == max)
