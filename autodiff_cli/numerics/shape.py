"""Shapes of arrays: the order of dimensions, and arrays that are joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, promote
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Key, Shape, Wholes
from autodiff_cli.errors import ShapeError

_EMPTY = (0,)
"""The shape of a tensor that can be joined with tensors of any shape, as in PyTorch."""


def listed(numbers: Wholes) -> Shape:
    """Return one number or several as a tuple."""
    return numbers if isinstance(numbers, tuple) else (numbers,) if isinstance(numbers, int) else tuple(numbers)


def joined(numbers: Wholes) -> str:
    return ", ".join(map(str, listed(numbers)))


def permute(x: Array, dims: Sequence[int]) -> Any:
    order = tuple(dimension(d, x.ndim) for d in dims)
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"permute: dims {list(dims)} must contain each of the {x.ndim} dimensions once")
    return np.transpose(x, order)


def inverse_order(dims: Sequence[int]) -> Shape:
    order = [dimension(d, len(dims)) for d in dims]
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def transpose(x: Array, dim0: int, dim1: int) -> Any:
    first, second = dimension(dim0, x.ndim), dimension(dim1, x.ndim)
    return x[...] if first == second else np.swapaxes(x, first, second)


def t(x: Array) -> Any:
    if x.ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D", hint="use transpose(x, i, j)")
    return x.T


def unsqueeze(x: Array, dim: int) -> Any:
    return np.expand_dims(x, dimension(dim, x.ndim + 1))


def squeeze(x: Array, dim: int) -> Any:
    position = dimension(dim, x.ndim)
    return np.squeeze(x, position) if x.ndim and x.shape[position] == 1 else x


def joined_key(shapes: Sequence[Shape], i: int, dim: int) -> Key:
    """Return the index of the i-th of several joined arrays in the result."""
    ndim = max(map(len, shapes))
    position = dimension(dim, ndim)
    if shapes[i] == _EMPTY:
        return (*(slice(None),) * position, slice(0, 0))
    start = sum(shape[position] for shape in shapes[:i] if shape != _EMPTY)
    return (*(slice(None),) * position, slice(start, start + shapes[i][position]))


def cat(arrays: Sequence[Array], dim: int) -> Any:
    common = arrays[0]
    for other in arrays[1:]:
        common = promote(common, other)[0] if common.dtype != other.dtype else common
    joined = [(i, a) for i, a in enumerate(arrays) if a.shape != _EMPTY] or [*enumerate(arrays)]
    first = joined[0][1]
    at = dimension(dim, first.ndim)
    for i, other in joined:
        if other.ndim != first.ndim:
            raise ShapeError(f"Tensors must have same number of dimensions: got {first.ndim} and {other.ndim}")
        for d in range(first.ndim):
            if d != at and other.shape[d] != first.shape[d]:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {first.shape[d]} but got size "
                    f"{other.shape[d]} for tensor number {i} in the list."
                )
    return np.concatenate([a.astype(common.dtype, copy=False) for _, a in joined], at)
