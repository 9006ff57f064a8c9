"""Elements that are rearranged, repeated, padded and joined, and grids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import whole_numbers
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Number, Positions, Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.limits import MOST_TURNS, check_count, check_size
from autodiff_cli.ops.positions import index_select
from autodiff_cli.ops.rules.arrange import described, diag_embed, flipped, padded, rolled, tiled
from autodiff_cli.ops.rules.shape import cat, unsqueeze
from autodiff_cli.ops.rules.views import diagonal as _diagonal_of
from autodiff_cli.ops.shape import broadcast_shape, expand, flatten, reshape, tensor_list

__all__ = [
    "broadcast_tensors",
    "diag",
    "diff",
    "dstack",
    "flip",
    "fliplr",
    "flipud",
    "hstack",
    "meshgrid",
    "pad",
    "repeat",
    "repeat_interleave",
    "roll",
    "tile",
    "vstack",
]


def _listed(value: Wholes) -> Shape:
    return value if isinstance(value, tuple) else (value,)


@described
def flip(x: Value, *given: Wholes, dims: Wholes = ()) -> Any:
    return flipped(x, whole_numbers("flip", "dims", given or (dims,)))


@described
def fliplr(x: Value) -> Any:
    if len(x.shape) < 2:
        raise ShapeError("Input must be >= 2-d.")
    return flip(x, 1)


@described
def flipud(x: Value) -> Any:
    if not x.shape:
        raise ShapeError("Input must be >= 1-d.")
    return flip(x, 0)


@described
def roll(x: Value, shifts: Wholes, dims: Wholes | None = None) -> Any:
    shifts = _listed(shifts)
    if dims is None:
        if len(shifts) != 1:
            raise ShapeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return rolled(x, shifts, ()) if type(x) is Tensor else reshape(rolled(reshape(x, (-1,)), shifts, (0,)), x.shape)
    dims = _listed(dims)
    if len(shifts) != len(dims):
        raise ShapeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return rolled(x, shifts, dims)


@described
def diag(x: Value, diagonal: int = 0) -> Any:
    ndim = len(x.shape)
    if ndim not in (1, 2):
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    return diag_embed(x, diagonal) if ndim == 1 else _diagonal_of(x, diagonal, 0, 1)


@described
def repeat(x: Value, *sizes: Wholes) -> Any:
    return tiled(x, whole_numbers("repeat", "sizes", sizes))


@described
def tile(x: Value, *given: Wholes, dims: Wholes = ()) -> Any:
    sizes = whole_numbers("tile", "dims", given or (dims,))
    return repeat(x, (*(1,) * (len(x.shape) - len(sizes)), *sizes))


@described
def repeat_interleave(x: Value, repeats: Positions, dim: int | None = None) -> Any:
    at = 0 if dim is None else dimension(dim, len(x.shape))
    if dim is None or not x.shape:
        x = flatten(x) if x.shape else reshape(x, (1,))
    length = x.shape[at]
    if repeats.ndim > 1 or repeats.size not in (1, length):
        raise ShapeError(f"repeats must be one number or {length} numbers, but its shape is {list(repeats.shape)}")
    if np.any(repeats < 0):
        raise ArgumentError("repeats can not be negative")
    each = length if repeats.size == 1 else 1
    check_size((math.prod(x.shape) // max(length, 1), each * int(np.sum(repeats, dtype=np.float64))))
    return index_select(x, at, np.repeat(np.arange(length), repeats))


@described
def pad(x: Value, pad: Wholes, mode: str = "constant", value: Number | None = None) -> Any:
    if mode != "constant":
        raise ArgumentError(f"pad supports mode='constant' only, not '{mode}'")
    return padded(x, _listed(pad), 0.0 if value is None else value)


def _at_least(x: Value, ndim: int) -> Any:
    """Add dimensions of length 1 until there are ``ndim``; a vector becomes a row, as in ``vstack`` and ``dstack``."""
    while len(x.shape) < ndim:
        x = reshape(x, (1,)) if not x.shape else unsqueeze(x, 0 if len(x.shape) == 1 else 2)
    return x


def _parts(name: str, tensors: tuple[Value, ...], ndim: int) -> list[Any]:
    """Return the tensors that are to be joined, with at least ``ndim`` dimensions."""
    parts = tensor_list(name, "tensors", tensors)
    if not parts:
        raise ArgumentError(f"{name} expects a non-empty TensorList")
    return [_at_least(part, ndim) for part in parts]


@described
def vstack(*tensors: Value) -> Any:
    return cat(_parts("vstack", tensors, 2), 0)


@described
def hstack(*tensors: Value) -> Any:
    parts = _parts("hstack", tensors, 1)
    return cat(parts, 0 if len(parts[0].shape) == 1 else 1)


@described
def dstack(*tensors: Value) -> Any:
    return cat(_parts("dstack", tensors, 3), 2)


@described
def broadcast_tensors(*tensors: Value) -> tuple[Any, ...]:
    parts = tensor_list("broadcast_tensors", "tensors", tensors)
    shape = broadcast_shape("broadcast_tensors", *(tuple(part.shape) for part in parts))
    return tuple(expand(part, shape) for part in parts)


@described
def meshgrid(*tensors: Value, indexing: str = "ij") -> tuple[Any, ...]:
    if indexing not in ("ij", "xy"):
        raise ArgumentError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    parts = tensor_list("meshgrid", "tensors", tensors)
    for part in parts:
        if len(part.shape) > 1:
            raise ShapeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {part!r}")
    places = list(range(len(parts)))
    if indexing == "xy" and len(parts) > 1:
        places[:2] = [1, 0]
    lengths = [1] * len(parts)
    for part, place in zip(parts, places, strict=True):
        lengths[place] = part.shape[0] if part.shape else 1
    grids = []
    for part, place in zip(parts, places, strict=True):
        shape = tuple(n if i == place else 1 for i, n in enumerate(lengths))
        grids.append(expand(reshape(part, shape), tuple(lengths)))
    return tuple(grids)


@described
def diff(x: Value, n: int = 1, dim: int = -1) -> Any:
    at = dimension(dim, len(x.shape))
    if not x.shape:
        raise ShapeError("diff expects at least a 1-dimensional tensor")
    if n < 0:
        raise ArgumentError(f"the order n of diff cannot be negative: {n}")
    turns = min(n, x.shape[at])  # the result is empty after this many differences
    check_count(turns, MOST_TURNS, "the order {} of diff exceeds the limit of {}")
    for _ in range(turns):
        before = (slice(None),) * at
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x
