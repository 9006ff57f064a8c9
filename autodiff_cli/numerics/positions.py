"""Elements at positions or by a mask, and arrays with other elements there."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import add_at, dimension
from autodiff_cli.autograd.primitives.types import Key, Mask, Positions, Shape
from autodiff_cli.errors import IndexOutOfRange, ShapeError


def check_positions(index: Positions, length: int, message: str, negative: bool = False) -> None:
    wrong = index[(index >= length) | (index < (-length if negative else 0))]
    if wrong.size:
        raise IndexOutOfRange(message.format(wrong.flat[0]))


def place_along(shape: Shape, dim: int, index: Positions) -> int:
    """Return a dimension from the front, after a check of the positions along it."""
    at = dimension(dim, len(shape))
    if max(index.ndim, 1) != max(len(shape), 1):
        raise ShapeError("Index tensor must have the same number of dimensions as input tensor")
    for d, length in enumerate(shape):
        if d != at and index.shape[d] > length:
            raise ShapeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(shape)} apart from dimension {at}"
            )
    length = shape[at] if shape else 1
    check_positions(index, length, f"index {{}} is out of bounds for dimension {at} with size {length}")
    return at


def gather_key(x_shape: Shape, dim: int, index: Positions) -> tuple[Any, ...]:
    """Return the NumPy index for ``gather``, whose positions ``index`` apply to dimension ``dim``."""
    places: list[Any] = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[dim] = index
    return tuple(places)


def pick(x: Array, dim: int, index: Positions) -> Any:
    return x[gather_key(x.shape, dim, index)] if x.ndim else np.full(index.shape, x)[()]


def drop(g: Array, shape: Shape, dim: int, index: Positions) -> Any:
    out = np.zeros(shape, g.dtype)
    add_at(out, gather_key(shape, dim, index) if shape else (), g if shape else np.sum(g))
    return out[()]


def slices_at(dim: int, index: Positions) -> tuple[Any, ...]:
    return (*(slice(None),) * dim, index)


def checked_slices(name: str, shape: Shape, dim: int, index: Positions) -> tuple[int, Any]:
    """Return the dimension from the front, and the positions as a vector.

    Raises:
        IndexOutOfRange: if the positions are not a number or a vector, or one is out of range.
    """
    at = dimension(dim, len(shape))
    if index.ndim > 1:
        raise IndexOutOfRange(f"{name}(): Index is supposed to be a vector")
    check_positions(index, shape[at] if shape else 1, "index out of range in self")
    return at, index.reshape(-1)


def slices_of(name: str, shape: Shape, dim: int, index: Positions) -> tuple[Any, ...]:
    """Return the NumPy index of slices along a dimension, after a check; see ``checked_slices``."""
    return slices_at(*checked_slices(name, shape, dim, index))


def take(x: Array, index: Positions) -> Any:
    message = f"out of range: tried to access index {{}} on a tensor of {x.size} elements."
    check_positions(index, x.size, message, negative=True)
    return x.reshape(-1)[index]


def fill(x: Array, value: Array, mask: Mask) -> Any:
    filled: Any = np.where(mask, value, x)
    return filled[()]


def put(x: Array, source: Array, key: Key, accumulate: bool) -> Any:
    out = np.array(x)
    if accumulate:
        add_at(out, key, source)
    else:
        out[key] = source
    return out[()]


def size_of(shape: Shape) -> int:
    return int(np.prod(shape))


def is_place(shape: Shape, dim: int, index: int) -> bool:
    return bool(shape) and -shape[dimension(dim, len(shape))] <= index < shape[dim]
