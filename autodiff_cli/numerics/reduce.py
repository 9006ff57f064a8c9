"""Sums, products, means and variances of arrays along dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import dimension, dimensions
from autodiff_cli.autograd.primitives.types import Dims, Number, Shape
from autodiff_cli.errors import ArgumentError, DtypeError


def reduction(ufunc: np.ufunc) -> Any:
    """Return the forward computation of a reduction with a ufunc along dimensions; ``None`` is all of them."""

    def forward(x: Array, dim: Dims, keepdim: bool) -> Any:
        at = None if dim is None else dimensions(dim, x.ndim)
        return ufunc.reduce(x, axis=at, keepdims=bool(keepdim))[()]

    return forward


def count(shape: Shape, dim: Dims) -> int:
    """Return the number of elements that are reduced to one element; ``None`` is all dimensions."""
    return math.prod(shape if dim is None else [shape[i] for i in dimensions(dim, len(shape))])


_SHORT, _MANY = 32, 64
"""The length of a sum and the number of sums from which on NumPy's 15 ns for the start of a sum are most of its time."""


def sum(x: Array, dim: Dims, keepdim: bool) -> Any:
    """Return sums along dimensions; many short sums of neighbours are computed as a product with ones, which is faster."""
    length = x.shape[-1] if x.ndim > 1 and x.dtype.kind == "f" and x.flags.c_contiguous else 0  # 0: neighbours are apart
    if 0 < length <= _SHORT and x.size >= _MANY * length and dimensions(dim, x.ndim) == (x.ndim - 1,):
        total = x @ np.ones(length, x.dtype)
        return total[..., None] if keepdim else total
    return _sum(x, dim, keepdim)


def mean(x: Array, dim: Dims, keepdim: bool) -> Any:
    """Return means along dimensions of floating-point numbers; ``None`` is all dimensions."""
    # In a trace, x is an array of objects, each of which has a dtype.
    dtype = np.result_type(*[getattr(cell, "dtype", cell) for cell in x.flat]) if x.dtype.kind == "O" else x.dtype
    if dtype.kind != "f":
        kind = {"i": "Long", "b": "Bool"}.get(dtype.kind, dtype)
        raise DtypeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {kind}",
            hint="convert the elements with mean(x, dtype='float64')",
        )
    with np.errstate(all="ignore"):
        return sum(x, dim, keepdim) / x.dtype.type(count(x.shape, dim))


def _running(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the function of running sums or products, with ``reverse`` from the end; booleans count as 0 and 1."""

    def forward(x: Array, dim: int, reverse: bool) -> Any:
        at = dimension(dim, x.ndim)
        x = x.astype(np.int64) if x.dtype.kind == "b" else x
        if not x.ndim:
            return x.copy()
        return np.flip(ufunc.accumulate(np.flip(x, at), at), at) if reverse else ufunc.accumulate(x, at)

    return forward


_sum = reduction(np.add)
running_sum, running_product = _running(np.add), _running(np.multiply)


def recurrence(x: Array, decay: Array, dim: int, reverse: bool) -> Any:
    """Return y with y[k] = x[k] + decay[k]*y[k - 1] along a dimension, with ``reverse`` from its end."""
    out = np.array(x, np.result_type(x, decay))
    at = dimension(dim, out.ndim)
    steps, factors = np.moveaxis(out, at, 0), np.moveaxis(decay, at, 0)  # a view of ``out``, which is changed below
    if reverse:
        steps, factors = steps[::-1], factors[::-1]
    for k in range(1, len(steps)):
        steps[k] += factors[k] * steps[k - 1]
    return out


def prod(x: Array, dim: int | None, keepdim: bool) -> Any:
    """Return products along a dimension; ``None`` is all dimensions."""
    at: Any = None if dim is None else dimension(dim, x.ndim)  # raises the error for a number too
    keepdims: Any = bool(keepdim)
    return np.multiply.reduce(x, axis=at if x.ndim else None, keepdims=keepdims)[()]


def var(x: Array, dim: Dims, correction: Number, keepdim: bool) -> Any:
    """Return the variance along dimensions: the sum of squared deviations from the mean over the count minus ``correction``."""
    if x.dtype.kind != "f":
        raise DtypeError("std and var only support floating point and complex dtypes")
    with np.errstate(all="ignore"):
        rest = x - mean(x, dim, True)
        free = x.dtype.type(max(count(x.shape, dim) - correction, 0))
        return sum(rest * rest, dim, keepdim) / free


def std(x: Array, dim: Dims, correction: Number, keepdim: bool) -> Any:
    return np.sqrt(var(x, dim, correction, keepdim))


def dims_alone(dim: Dims | bool) -> Dims:
    """Return dimensions; a boolean in their place is PyTorch's older parameter ``unbiased``, for all dimensions."""
    return None if isinstance(dim, bool) else dim


def correction_of(name: str, dim: Dims | bool, unbiased: bool | None, correction: Number | None) -> Number:
    """Return the correction of a variance, by default 1; ``unbiased``, or a boolean as ``dim``, gives 1 or 0; two are an error."""
    unbiased = dim if isinstance(dim, bool) else unbiased
    if unbiased is not None and correction is not None:
        raise ArgumentError(f"{name}: give 'correction' or 'unbiased', not both")
    return correction if correction is not None else 1 if unbiased is None else int(unbiased)


def is_constant(x: Array) -> Any:
    """Return whether all elements are equal, in the shape of the array."""
    return np.full(np.shape(x), np.size(x) > 0 and np.ptp(x) == 0)


def count_nonzero(x: Array, dim: Dims) -> Any:
    return np.asarray(np.count_nonzero(x, axis=dimensions(dim, x.ndim)))[()]
