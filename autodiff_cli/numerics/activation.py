"""Activation functions of neural networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Number, Shape
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.numerics import decompositions
from autodiff_cli.numerics.special import ndtr

_GELU_SCALE, _GELU_CUBE = decompositions.GELU_SCALE, decompositions.GELU_CUBE


def sigmoid(x: Array) -> Any:
    """Return 1/(1 + exp(-x)).  Because exp takes ``-abs(x)``, it does not overflow, and both tails have full precision."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small)[()] / (1 + small)


def sigmoid_slope(x: Array, s: Array) -> Any:
    """Return the derivative s*(1 - s) of s = sigmoid(x), with sigmoid(-x) where 1 - s loses digits to cancellation."""
    rest = 1 - s
    far = rest < 0.03  # five of the 53 bits are lost
    if not isinstance(rest, np.ndarray):
        return s * (np.where(far, sigmoid(-x), rest)[()] if np.any(far) else rest)
    if far.any():
        rest[far] = sigmoid(-x[far])
    return s * rest


def softplus(x: Array, beta: Number, threshold: Number | None) -> Any:
    """Return log(1 + exp(beta*x))/beta without overflow, or x where beta*x exceeds the threshold, if there is one."""
    value = (np.maximum if beta > 0 else np.minimum)(x, 0) + np.log1p(np.exp(-np.abs(x * beta))) / beta
    return value if threshold is None else np.where(x * beta > threshold, x, value)[()]


def logit(p: Array) -> Any:
    return np.log(p / (1 - p))


def gelu_cubic(x: Array, cube: float, order: int) -> Any:
    """Return the derivative of the given order of u = 2*sqrt(2/pi)*(x + cube*x**3), for which sigmoid(u) approximates ndtr(x)."""
    # For abs(x) >= 40 the sigmoid of the result is 0 or 1; clipping keeps x**3 finite.
    near = np.clip(x, -40.0, 40.0)
    derivatives = (near + cube * near**3, 1 + 3 * cube * near**2, 6 * cube * near, 6 * cube + 0 * near, 0 * near)  # by order
    return _GELU_SCALE * derivatives[min(order, 4)]


def gelu(x: Array, approximate: str) -> Any:
    """Return x times the probability that a standard normal variable is below x; 'tanh' approximates the probability."""
    if approximate not in ("none", "tanh"):
        raise ArgumentError(f"approximate must be 'none' or 'tanh', not '{approximate}'")
    return x * (ndtr(x) if approximate == "none" else sigmoid(gelu_cubic(x, _GELU_CUBE, 0)))


def hardtanh_backward(x: Array, y: Array, low: float, high: float, outside: float) -> Any:
    """Return x where low < y < high, else outside*x: the VJP rule of functions that clamp.  A bound of nan is not reached."""
    return np.where((y <= low) | (y >= high), x * outside if outside else 0.0, x)[()]


def tanhshrink(x: Array, t: object = None) -> Any:
    """Return x - tanh(x); near 0, where the difference loses digits, (x*cosh(x) - sinh(x))/cosh(x) with a power series above.

    Only the decomposition uses ``t`` = tanh(x).
    """
    near = np.abs(x) < 1
    small = np.where(near, x, 0.0)
    square = small * small
    series = square * small * np.polynomial.polynomial.polyval(square, decompositions.TANHSHRINK_SERIES)
    return np.where(near, series / np.cosh(small), x - np.tanh(x)).astype(x.dtype, copy=False)[()]


@np.errstate(all="ignore")
def softsign(x: Array) -> Any:
    """Return x/(1 + abs(x)), which is 1 or -1 at infinity."""
    return np.where(np.isinf(x), np.sign(x), x / (np.abs(x) + 1))[()]


def selu(x: Array) -> Any:
    return bent(x, decompositions.SELU_ALPHA * decompositions.SELU_SCALE, 1.0, decompositions.SELU_SCALE)


def bent(x: Array, left: float, inner: float, right: float) -> Any:
    """Return left*(exp(inner*x) - 1) where x <= 0 and right*x where x > 0, the form of elu, selu and celu."""
    return np.where(x > 0, x * right, float(left) * np.expm1(np.minimum(x, 0) * inner))[()]


def celu(x: Array, alpha: float) -> Any:
    """Return alpha*(exp(x/alpha) - 1) where x <= 0 and x elsewhere."""
    if alpha == 0:
        raise ArgumentError("alpha cannot be 0 for CELU")
    return bent(x, alpha, 1 / alpha, 1.0)


def _below_largest(x: Array, dim: int) -> tuple[Any, int | None]:
    """Return x minus its largest element along ``dim``, which keeps exp from overflowing, and the axis: ``None`` for a number."""
    axis: int | None = dimension(dim, x.ndim)
    if not x.ndim:
        axis = None
    x = x * 1.0  # a new array of floats, which may be changed
    x -= np.max(x, axis=axis, keepdims=True, initial=-math.inf)
    return x, axis


@np.errstate(all="ignore")
def softmax(x: Array, dim: int) -> Any:
    """Return exp(x)/sum(exp(x)), with the sum along ``dim``."""
    shifted, axis = _below_largest(x, dim)
    powers = np.exp(shifted)
    powers /= np.add.reduce(powers, axis=axis, keepdims=True)
    return powers


@np.errstate(all="ignore")
def log_softmax(x: Array, dim: int) -> Any:
    """Return x - log(sum(exp(x))), with the sum along ``dim``."""
    shifted, axis = _below_largest(x, dim)
    if axis is None or x.shape[axis] == 0:
        return shifted
    powers = np.exp(shifted)
    # The largest exponential is 1.  log1p of the sum of the other exponentials is accurate even for terms far below 1.
    np.put_along_axis(powers, np.argmax(shifted, axis=axis, keepdims=True), 0.0, axis)
    return shifted - np.log1p(np.add.reduce(powers, axis=axis, keepdims=True))


def half_along(shape: Shape, dim: int) -> int:
    """Return half of the length of a dimension of an argument of ``glu``; an odd length, or a number, is an error."""
    if not shape:
        raise ShapeError("glu does not support scalars because halving size must be even")
    at = dimension(dim, len(shape))
    if shape[at] % 2:
        raise ShapeError(f"Halving dimension must be even, but dimension {at} is size {shape[at]}")
    return shape[at] // 2


def glu(x: Array, dim: int) -> Any:
    """Return a*sigmoid(b) for the halves a and b of x along ``dim``."""
    half_along(x.shape, dim)  # raises the errors
    a, b = np.split(x, 2, dim)
    return a * sigmoid(b)
