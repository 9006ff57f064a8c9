"""Vector norms, and logarithms of sums of exponentials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, as_float, torch_type
from autodiff_cli.autograd.primitives.structural import dimension, dimensions
from autodiff_cli.autograd.primitives.types import Dims, Number
from autodiff_cli.errors import ArgumentError, DtypeError, ShapeError
from autodiff_cli.numerics.reduce import reduction

_SQUARES = {np.dtype(t): (float((np.finfo(t).tiny / np.finfo(t).eps) ** 0.5), float(np.finfo(t).max)) for t in ("f4", "f8")}
"""The range of norms for which the squares of the elements are accurate, for each dtype."""


@np.errstate(all="ignore")
def odd(x: Array, size: Array, p: float) -> Any:
    """Return sign(x)*abs(x/size)**p, which is 0 at x = 0; ``size`` is the norm of which it is a derivative."""
    ratio = x / size
    return np.where(x == 0, ratio.dtype.type(0), np.sign(x) * np.abs(ratio) ** p)[()]


@np.errstate(all="ignore")
def even(x: Array, size: Array, p: float) -> Any:
    """Return abs(x/size)**p, where a size of 0 gives 0**p."""
    ratio = np.where(size == 0, 0.0, x / size).astype(np.result_type(x, size), copy=False)
    return np.abs(ratio)[()] ** p


@np.errstate(all="ignore")
def vector_norm(x: Array, p: float, dim: Dims, keepdim: bool) -> Any:
    """Return the p-norm along dimensions, or over all of them for ``None``; it is scaled by the largest element where needed."""
    if x.dtype.kind != "f":
        raise DtypeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {torch_type(x.dtype).scalar_name}"
        )
    size = np.abs(x)
    if (p < 0 or math.isinf(p)) and not x.size and not all(x.shape[d] for d in dimensions(dim, x.ndim)):
        raise ShapeError(
            f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an identity"
        )
    if math.isinf(p):
        return reduction(np.maximum if p > 0 else np.minimum)(size, dim, keepdim)
    if p == 0:
        return reduction(np.add)((x != 0).astype(x.dtype), dim, keepdim)
    total = root_of_powers(size, p, dim, keepdim)
    # For totals far from 1, the rounding error of 1/p makes the root inaccurate, and squares may be subnormal or overflow.
    low, high = _SQUARES.get(x.dtype, (1e-2, 1e2)) if p == 2 else (1e-10, 1e10)
    if p <= 1 or not x.size or np.all((total > low) & (total <= high)):
        return total
    largest = reduction(np.maximum)(size, dim, True)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1)
    scaled = root_of_powers(size / scale, p, dim, True) * scale
    return np.reshape(scaled, np.shape(total))[()].astype(x.dtype)


def root_of_powers(size: Array, p: float, dim: Dims, keepdim: bool) -> Any:
    """Return the p-norm along dimensions of nonnegative numbers, without a guard against overflow."""
    if p == 1:
        return reduction(np.add)(size, dim, keepdim)
    if p == 2:
        return np.sqrt(reduction(np.add)(size * size, dim, keepdim))
    return reduction(np.add)(size**p, dim, keepdim) ** (1 / p)


def order_of(p: Number | str | None) -> float:
    """Return the order of a vector norm as a number, which is 2 for ``None`` and 'fro'."""
    if p is None or p == "fro":
        return 2
    if isinstance(p, (str, bool)):
        raise ArgumentError(f"'{p}' is not the order of a vector norm", hint="use a number, inf, -inf or 'fro'")
    return float(p)


def is_matrix_order(p: Number | str) -> bool:
    """Return whether PyTorch has a matrix norm of this order."""
    return p in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def corner(x: Array, p: Number | str | None) -> Any:
    """Return a mask of elements where the norm of order ``p`` has a kink: ties (infinity), zeros (p < 2), or all if all are 0."""
    size, order = np.abs(x), order_of(p)
    if math.isinf(order):
        return (size == (size.max() if order > 0 else size.min())) & (np.count_nonzero(size == size.max()) > 1)
    return size == 0 if order < 2 else np.full(np.shape(x), not size.any())


@np.errstate(all="ignore")
def logsumexp(x: Array, dim: Dims, keepdim: bool) -> Any:
    """Return log(sum(exp(x))) along dimensions; the largest element, if finite, is subtracted first against overflow."""
    x = as_float(x)
    axes = dimensions(dim, x.ndim)
    largest = np.max(x, axis=axes, keepdims=True, initial=-math.inf)
    largest = np.where(np.isinf(largest), x.dtype.type(0), largest)
    total = np.log(np.add.reduce(np.exp(x - largest), axis=axes, keepdims=True)) + largest
    return (total if keepdim else np.squeeze(total, axes))[()]


@np.errstate(all="ignore")
def running_logsumexp(x: Array, dim: int) -> Any:
    """Return log(sum(exp(x))) of the elements up to each one along a dimension."""
    return np.logaddexp.accumulate(as_float(x), dimension(dim, x.ndim))
