"""Elements rearranged, repeated, joined and taken apart, and grids; ``grammar/rules/arrange.rules`` describes the functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import checked_operand, whole_numbers
from autodiff_cli.autograd.primitives.structural import dimension, slice_key, stack
from autodiff_cli.autograd.primitives.types import Positions, Value, Wholes, array_of
from autodiff_cli.autograd.tensor import Tensor, add_methods
from autodiff_cli.errors import ArgumentError, GraphError, ShapeError
from autodiff_cli.limits import MOST_TURNS, check_count, check_parts, check_size
from autodiff_cli.ops.creation import zeros
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.positions import index_select
from autodiff_cli.ops.rules.arrange import declare, diag_embed, flipped, pad, tiled, unfold
from autodiff_cli.ops.rules.shape import cat, flatten, unsqueeze
from autodiff_cli.ops.rules.views import diagonal as _diagonal_of
from autodiff_cli.ops.shape import broadcast_shape, expand, reshape, tensor_list
from autodiff_cli.ops.views import length_along


@declare.described
def flip(x: Value, *numbers: Wholes, dims: Wholes = ()) -> Any:
    return flipped(x, whole_numbers("flip", "dims", numbers or (dims,)))


@declare.described
def diag(x: Value, diagonal: int = 0) -> Any:
    ndim = len(x.shape)
    if ndim not in (1, 2):
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    return diag_embed(x, diagonal) if ndim == 1 else _diagonal_of(x, diagonal, 0, 1)


@declare.described
def repeat(x: Value, *sizes: Wholes) -> Any:
    return tiled(x, whole_numbers("repeat", "sizes", sizes))


@declare.described
def tile(x: Value, *numbers: Wholes, dims: Wholes = ()) -> Any:
    sizes = whole_numbers("tile", "dims", numbers or (dims,))
    return repeat(x, (*(1,) * (len(x.shape) - len(sizes)), *sizes))  # once along the dimensions in front


@declare.described
def repeat_interleave(x: Value, repeats: Positions, dim: int | None = None) -> Any:
    """The elements of x, or its slices along dim, each repeated consecutively: ``repeats`` times, or by a number of each."""
    at = 0 if dim is None else dimension(dim, len(x.shape))
    if dim is None or not x.shape:
        x = flatten(x) if x.shape else reshape(x, (1,))
    length = x.shape[at]
    if repeats.ndim > 1 or repeats.size not in (1, length):
        raise ShapeError(f"repeats must be one number or {length} numbers, but its shape is {list(repeats.shape)}")
    if np.any(repeats < 0):
        raise ArgumentError("repeats can not be negative")
    each = length if repeats.size == 1 else 1  # the elements that have each number of repetitions
    check_size((math.prod(x.shape) // max(length, 1), each * int(np.sum(repeats, dtype=np.float64))))
    return index_select(x, at, np.repeat(np.arange(length), repeats))


def _with_dimensions(x: Value, ndim: int) -> Any:
    """Add dimensions of length 1 up to ``ndim``: in front of a vector, behind a matrix, as in ``vstack`` and ``dstack``."""
    while len(x.shape) < ndim:
        x = reshape(x, (1,)) if not x.shape else unsqueeze(x, 0 if len(x.shape) == 1 else 2)
    return x


def _tensors_to_join(name: str, tensors: tuple[Value, ...], ndim: int) -> list[Any]:
    """Return the tensors that are to be joined, of which there must be one, with at least ``ndim`` dimensions."""
    parts = tensor_list(name, "tensors", tensors)
    if not parts:
        raise ArgumentError(f"{name} expects a non-empty TensorList")
    return [_with_dimensions(part, ndim) for part in parts]


@declare.described
def vstack(*tensors: Value) -> Any:
    return cat(_tensors_to_join("vstack", tensors, 2), 0)


@declare.described
def hstack(*tensors: Value) -> Any:
    parts = _tensors_to_join("hstack", tensors, 1)
    return cat(parts, 0 if len(parts[0].shape) == 1 else 1)


@declare.described
def dstack(*tensors: Value) -> Any:
    return cat(_tensors_to_join("dstack", tensors, 3), 2)


@declare.described
def broadcast_tensors(*tensors: Value) -> tuple[Any, ...]:
    parts = tensor_list("broadcast_tensors", "tensors", tensors)
    shape = broadcast_shape("broadcast_tensors", *(tuple(part.shape) for part in parts))
    return tuple(expand(part, shape) for part in parts)


@declare.described
def meshgrid(*tensors: Value, indexing: str = "ij") -> tuple[Any, ...]:
    """The coordinates of a grid: the i-th tensor varies along dimension i ('xy' exchanges the first two dimensions)."""
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


@declare.described
def diff(x: Value, n: int = 1, dim: int = -1) -> Any:
    """Differences of neighbouring elements along dim, taken n times."""
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


@declare.described
def tensor_split(x: Value, indices_or_sections: Wholes, dim: int = 0) -> Any:
    """Parts of x along dim: a number of parts that differ in length by at most 1, or the parts between positions."""
    length, at = length_along("tensor_split", x, dim), dimension(dim, len(x.shape))
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise GraphError(f"number of sections must be larger than 0, got {indices_or_sections}")
        check_parts(indices_or_sections)
        small, more = divmod(length, indices_or_sections)
        lengths = [small + 1] * more + [small] * (indices_or_sections - more)
        between: Sequence[int] = list(itertools.accumulate(lengths))[:-1]
    else:
        between = indices_or_sections
    before = (slice(None),) * at
    return tuple(
        slice_key(x, (*before, slice(start, stop))) for start, stop in zip([None, *between], [*between, None], strict=True)
    )


def _split_evenly(name: str, x: Value, indices_or_sections: Wholes, least: int, dim: int) -> Any:
    """Split along ``dim``, or 0 for a vector, at positions or into equal sections; ``least`` dimensions are needed."""
    if len(x.shape) < least:
        raise GraphError(
            f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, "
            f"but got a tensor with {len(x.shape)} dimensions!"
        )
    at = 0 if len(x.shape) == 1 else dim
    if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or x.shape[at] % indices_or_sections):
        raise GraphError(
            f"torch.{name} attempted to split along dimension {at}, but the size of the dimension {x.shape[at]} "
            f"is not divisible by the split_size {indices_or_sections}!"
        )
    return tensor_split(x, indices_or_sections, at)


@declare.described
def hsplit(x: Value, indices_or_sections: Wholes) -> Any:
    return _split_evenly("hsplit", x, indices_or_sections, 1, 1)


@declare.described
def vsplit(x: Value, indices_or_sections: Wholes) -> Any:
    return _split_evenly("vsplit", x, indices_or_sections, 2, 0)


@declare.described
def dsplit(x: Value, indices_or_sections: Wholes) -> Any:
    return _split_evenly("dsplit", x, indices_or_sections, 3, 2)


add_methods(unfold=lambda self, dimension, size, step: unfold(self, dimension, size, step))  # PyTorch's names of the arguments


def _each_at_least(x: Any, more: tuple[Any, ...], ndim: int) -> Any:
    """Return a tensor with at least ``ndim`` dimensions; for a list or with ``more``, a tuple of tensors."""
    values = x if isinstance(x, (list, tuple)) else (x, *more)
    name = f"atleast_{ndim}d"  # in messages
    arrays = [each if isinstance(each, (Tensor, np.ndarray)) else np.asarray(checked_operand(each, name)) for each in values]
    result = tuple(_with_dimensions(each, ndim) for each in arrays)
    return result if more or isinstance(x, (list, tuple)) else result[0]


@declare.described
def atleast_1d(x: Value, *more: Value) -> Any:
    return _each_at_least(x, more, 1)


@declare.described
def atleast_2d(x: Value, *more: Value) -> Any:
    return _each_at_least(x, more, 2)


@declare.described
def atleast_3d(x: Value, *more: Value) -> Any:
    return _each_at_least(x, more, 3)


@declare.described
def column_stack(*tensors: Value) -> Any:
    columns = tensor_list("column_stack", "tensors", tensors)
    return cat([reshape(x, (-1, 1)) if len(x.shape) < 2 else x for x in columns], 1)


@declare.described
def block_diag(*tensors: Value) -> Any:
    """Matrices along the diagonal of a larger matrix, with zeros elsewhere."""
    matrices = [_with_dimensions(x, 2) for x in tensor_list("block_diag", "tensors", tensors)]
    for i, x in enumerate(matrices):
        if len(x.shape) > 2:
            raise GraphError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {len(x.shape)} dimensions"
            )
    width = sum(x.shape[1] for x in matrices)
    rows, left = [], 0  # the number of columns on the left of a matrix
    for x in matrices:
        rows.append(pad(x, [left, width - left - x.shape[1]]))
        left += x.shape[1]
    return cat(rows, 0)


@declare.described
def cartesian_prod(*tensors: Value) -> Any:
    """All combinations of one element from each vector, one combination in each row."""
    vectors = tensor_list("cartesian_prod", "tensors", tensors)
    for x in vectors:
        if len(x.shape) != 1:
            raise GraphError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(vectors) == 1:
        return vectors[0]
    check_size((math.prod(x.shape[0] for x in vectors), len(vectors)))
    return stack([reshape(grid, (-1,)) for grid in meshgrid(*vectors, indexing="ij")], 1)


@declare.described
def combinations(x: Value, r: int = 2, with_replacement: bool = False) -> Any:
    """All combinations of r elements of a vector, one combination in each row."""
    if len(x.shape) != 1:
        raise GraphError("Expect a 1D vector, but got shape " + str(list(x.shape)))
    if r < 0:
        raise GraphError(f"Expect a non-negative number, but got {r}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    count = math.comb(x.shape[0] + (r - 1 if with_replacement and r else 0), r)
    check_size((count, r))
    positions = np.fromiter(itertools.chain.from_iterable(choose(range(x.shape[0]), r)), np.int64, count * r)
    return getitem(x, positions.reshape(count, r))


@declare.described
def vander(x: Value, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix whose columns are powers of a vector; the number of columns is N, or the length of x."""
    if len(x.shape) != 1:
        raise GraphError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise GraphError("N must be non-negative.")
    check_parts(count)  # each column is a tensor
    check_size((x.shape[0], count))
    powers = range(count) if increasing else range(count - 1, -1, -1)
    if not count:
        return zeros(x.shape[0], 0, dtype=array_of(x).dtype)
    return stack([x**power for power in powers], 1)
