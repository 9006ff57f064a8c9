"""Elements taken from and put at positions; ``grammar/rules/positions.rules`` describes the functions without a docstring."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import MASK, POSITIONS, either
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Operand, Positions, Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.numerics.positions import checked_slices, gather_key, place_along, slices_at
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.rules import positions as rules
from autodiff_cli.ops.shape import broadcast_shape, expand, reshape

_KEY = either(MASK, POSITIONS)


@rules.declare.described
def take_along_dim(x: Value, indices: Positions, dim: int | None = None) -> Any:
    """Elements at positions along dim, where x and indices broadcast; without dim, elements at positions in the flattened x."""
    if dim is None:
        return rules.gather(reshape(x, (-1,)), 0, indices.reshape(-1))
    at = dimension(dim, len(x.shape))
    if indices.ndim != len(x.shape) or not x.shape:
        raise ShapeError(
            f"take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(x.shape)} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    common = list(broadcast_shape("take_along_dim", *((*s[:at], 1, *s[at + 1 :]) for s in (x.shape, indices.shape))))
    wide, long = list(common), list(common)
    wide[at], long[at] = x.shape[at], indices.shape[at]
    return rules.gather(x if tuple(wide) == tuple(x.shape) else expand(x, wide), at, np.broadcast_to(indices, long))


@rules.declare.described
def index_select(x: Value, dim: int, index: Positions) -> Any:
    at, index = checked_slices("index_select", x.shape, dim, index)
    if not x.shape:
        if index.size > 1:
            raise ShapeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return reshape(rules.selected(reshape(x, (1,)), 0, index[:1]), ())
    return rules.selected(x, at, index)


def _has_elements(value: object) -> bool:
    """Return whether a value is a tensor or an array rather than a plain number."""
    return bool(getattr(value, "shape", ())) or isinstance(value, Tensor)


def _key_and_source(x: Value, dim: int, index: Positions, src: Operand) -> tuple[tuple[Any, ...], Any]:
    """Return the index of the places that a scatter writes to, and the part of the source (or the number) that fits."""
    at = place_along(x.shape, dim, index)
    if not isinstance(src, (int, float)) and src.shape:
        if len(src.shape) != index.ndim or any(n > m for n, m in zip(index.shape, src.shape, strict=True)):
            raise ShapeError(f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)} in every dimension")
        if tuple(src.shape) != index.shape:
            src = getitem(src, tuple(slice(n) for n in index.shape))
    return (gather_key(x.shape, at, index) if x.shape else ()), src


@rules.declare.described
def scatter(x: Value, dim: int, index: Positions, src: Operand) -> Any:
    key, src = _key_and_source(x, dim, index, src)
    return rules.scattered(x, src, key, False) if _has_elements(src) else rules.scatter_filled(x, key, src)


@rules.declare.described
def scatter_add(x: Value, dim: int, index: Positions, src: Value) -> Any:
    key, src = _key_and_source(x, dim, index, src)
    return rules.scatter_added(x, src, key, True)


@rules.declare.described
def index_fill(x: Value, dim: int, index: Positions, value: Operand) -> Any:
    at, index = checked_slices("index_fill", x.shape, dim, index)
    key = slices_at(at, index) if x.shape else (np.array(index.size > 0),)  # the mask of a number
    return rules.index_copied(x, value, key, False) if _has_elements(value) else rules.index_filled(x, key, value)


@rules.declare.described
def index_put(x: Value, indices: object, values: Value, accumulate: bool = False) -> Any:
    parts = tuple(indices) if isinstance(indices, (list, tuple)) else (indices,)
    key = tuple(_KEY(part, "index_put", "indices") for part in parts)
    if len(key) > len(x.shape):
        raise ArgumentError(f"index_put: got {len(key)} indices, but the tensor has {len(x.shape)} dimensions")
    return rules.index_putted(x, values, key, bool(accumulate))
