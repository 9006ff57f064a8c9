"""Layers of networks: normalization, attention, embeddings, gates and bilinear forms; similarity and distance of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.types import Number, Positions, Shape, Value, Wholes, array_of
from autodiff_cli.errors import IndexOutOfRange, ShapeError


def has_zero_norm(x: Array, dim: Wholes) -> Any:
    """Return whether a norm along the dimensions is 0."""
    return np.any(np.all(x == 0, axis=dim if isinstance(dim, int) else tuple(dim)))


def is_single(x: Value | Number) -> bool:
    return isinstance(x, (int, float)) or not x.shape


def lost_dims(g: Value, beside: Shape) -> Shape:
    """Return the dimensions of a cotangent along which a weight of the shape ``beside`` was broadcast."""
    ahead = len(g.shape) - len(beside)
    return (*range(ahead), *(ahead + i for i, length in enumerate(beside) if length == 1))


def rows(weight: Array, x: Positions, padding_idx: int | None) -> Any:
    """Return the rows of ``weight`` at the positions x; the rule uses ``padding_idx``, the row without a gradient."""
    if len(weight.shape) != 2:
        raise ShapeError(f"'weight' must be 2-D, but its shape is {list(weight.shape)}")
    if np.any((x < 0) | (x >= len(weight))):
        raise IndexOutOfRange("index out of range in self", hint=f"the positions of {len(weight)} rows are 0 to {len(weight) - 1}")
    return weight[x]


def pair_positions(count: int, which: int) -> Positions:
    """Return the positions of the first (0) or the second (1) elements of all pairs."""
    return np.triu_indices(count, 1)[which]


def last_dims(shape: Shape) -> Shape:
    """Return the negative numbers of as many last dimensions as a shape has."""
    return tuple(range(-len(shape), 0))


def machine_epsilon(x: Value) -> float:
    """Return the distance from 1 to the next number of the type of x, by default float64."""
    return float(np.finfo(np.float32 if getattr(array_of(x), "dtype", None) == np.float32 else float).eps)


def channel_shape(name: str, shape: Shape, *values: Value | None) -> Shape:
    """Return the shape of one number for each channel beside x, after a check of the values that are not ``None``."""
    for value in values:
        if value is not None and tuple(value.shape) != (shape[1],):
            raise ShapeError(f"{name} needs one number for each of the {shape[1]} channels, but got shape {list(value.shape)}")
    return (shape[1], *[1] * (len(shape) - 2))


def some_zero(x1: Array, x2: Array, dim: int) -> Any:
    """Return whether a vector along ``dim`` (a number is one vector) is 0 in one of two arrays."""
    return np.any([np.any(np.all(x == 0, axis=dim if np.ndim(x) else None)) for x in (x1, x2)])
