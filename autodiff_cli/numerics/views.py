"""Parts of arrays along a dimension, and diagonals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Key, Shape
from autodiff_cli.errors import IndexOutOfRange, ShapeError
from autodiff_cli.limits import check_parts


def diagonal(x: Array, offset: int, dim1: int, dim2: int) -> Any:
    first, second = dimension(dim1, x.ndim), dimension(dim2, x.ndim)
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    offset = min(max(offset, -x.shape[first]), x.shape[second])  # NumPy does not accept offsets beyond 32 bits
    result = np.diagonal(x, offset, first, second)
    if x.flags.writeable:
        result.flags.writeable = True  # NumPy returns a read-only view for backward compatibility
    return result


def undiagonal(g: Array, shape: Shape, offset: int, dim1: int, dim2: int) -> Any:
    out = np.zeros(shape, g.dtype)
    diagonal(out, offset, dim1, dim2)[...] = g
    return out


def key_along(shape: Shape, dim: int, part: int | slice) -> Key:
    """Return the index of a position or a slice along a dimension."""
    return (*(slice(None),) * dimension(dim, len(shape)), part)


def unbind(x: Array, dim: int) -> list[Any]:
    if not x.ndim:
        raise IndexOutOfRange("Dimension specified as 0 but tensor has no dimensions")
    length = x.shape[dimension(dim, x.ndim)]
    check_parts(length)
    return [x[(*key_along(x.shape, dim, i), ...)] for i in range(length)]


def slices_or_zeros(g: Sequence[Any], shape: Shape, dim: int) -> list[Any]:
    """Return the cotangents of the slices of an array, with zeros for those that are ``None``."""
    at = dimension(dim, len(shape))
    return [np.zeros((*shape[:at], *shape[at + 1 :])) if part is None else part for part in g]


def part_key(shape: Shape, lengths: Sequence[int], dim: int, i: int) -> Key:
    """Return the index of the i-th part along a dimension."""
    start = sum(lengths[:i])
    return key_along(shape, dim, slice(start, start + lengths[i]))


def parts(x: Array, lengths: Sequence[int], dim: int) -> list[Any]:
    stops = itertools.accumulate(lengths)
    return [x[key_along(x.shape, dim, slice(stop - n, stop))] for n, stop in zip(lengths, stops, strict=True)]


def parts_or_zeros(g: Sequence[Any], shape: Shape, lengths: Sequence[int], dim: int) -> list[Any]:
    """Return the cotangents of the parts of an array, with zeros for those that are ``None``."""
    at = dimension(dim, len(shape))
    return [np.zeros((*shape[:at], n, *shape[at + 1 :])) if part is None else part for part, n in zip(g, lengths, strict=True)]
