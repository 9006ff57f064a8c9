"""Tensors taken apart and put together: parts at positions, windows, columns, blocks and products of sets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import operand
from autodiff_cli.autograd.primitives.structural import dimension, slice_key, stack
from autodiff_cli.autograd.primitives.types import Value, Wholes, array_of
from autodiff_cli.autograd.tensor import Tensor, add_methods
from autodiff_cli.errors import GraphError
from autodiff_cli.limits import check_parts, check_size
from autodiff_cli.ops.arrange import flip, meshgrid, pad
from autodiff_cli.ops.creation import zeros
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.rules.pieces import described, unfold
from autodiff_cli.ops.rules.shape import cat, transpose, unsqueeze
from autodiff_cli.ops.shape import reshape, tensor_list
from autodiff_cli.ops.views import length_along, split

__all__ = [
    "adjoint",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cartesian_prod",
    "column_stack",
    "combinations",
    "dsplit",
    "hsplit",
    "rot90",
    "split_with_sizes",
    "tensor_split",
    "vander",
    "vsplit",
]


@described
def tensor_split(x: Value, indices_or_sections: Wholes, dim: int = 0) -> Any:
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


def _divided(name: str, x: Value, indices_or_sections: Wholes, least: int, dim: int) -> Any:
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


@described
def hsplit(x: Value, indices_or_sections: Wholes) -> Any:
    return _divided("hsplit", x, indices_or_sections, 1, 1)


@described
def vsplit(x: Value, indices_or_sections: Wholes) -> Any:
    return _divided("vsplit", x, indices_or_sections, 2, 0)


@described
def dsplit(x: Value, indices_or_sections: Wholes) -> Any:
    return _divided("dsplit", x, indices_or_sections, 3, 2)


@described
def split_with_sizes(x: Value, split_sizes: Wholes, dim: int = 0) -> Any:
    return split(x, [split_sizes] if isinstance(split_sizes, int) else list(split_sizes), dim)


def _unfold(self: Tensor, dimension: int, size: int, step: int) -> Any:
    """Return the windows of the given size along a dimension, at distances of ``step``, along a new last dimension."""
    return unfold(self, dimension, size, step)


add_methods(unfold=_unfold)


@described
def rot90(x: Value, k: int = 1, dims: Wholes = (0, 1)) -> Any:
    given = [dims] if isinstance(dims, int) else dims
    plane = [dimension(d, len(x.shape)) for d in given]
    if len(plane) != 2:
        raise GraphError(f"expected total rotation dims == 2, but got dims = {len(plane)}")
    if plane[0] == plane[1]:
        raise GraphError(f"expected rotation dims to be different, but got dim0 = {plane[0]} and dim1 = {plane[1]}")
    turns = k % 4
    if turns == 2:
        return flip(x, plane)
    if turns == 1:
        return transpose(flip(x, [plane[1]]), *plane)
    return flip(transpose(x, *plane), [plane[1]]) if turns == 3 else flip(x, [])


@described
def adjoint(x: Value) -> Any:
    if len(x.shape) == 1:
        raise GraphError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(x, -2, -1) if x.shape else x


def _at_least(x: Value, ndim: int) -> Any:
    if not isinstance(x, (Tensor, np.ndarray)):
        x = np.asarray(operand(x, f"atleast_{ndim}d"))
    while len(x.shape) < ndim:
        x = unsqueeze(x, 0 if len(x.shape) < 2 else -1)
    return x


def _each(x: Any, more: tuple[Any, ...], ndim: int) -> Any:
    given = x if isinstance(x, (list, tuple)) else (x, *more)
    result = tuple(_at_least(one, ndim) for one in given)
    return result if more or isinstance(x, (list, tuple)) else result[0]


@described
def atleast_1d(x: Value, *more: Value) -> Any:
    return _each(x, more, 1)


@described
def atleast_2d(x: Value, *more: Value) -> Any:
    return _each(x, more, 2)


@described
def atleast_3d(x: Value, *more: Value) -> Any:
    return _each(x, more, 3)


@described
def column_stack(*tensors: Value) -> Any:
    given = tensor_list("column_stack", "tensors", tensors)
    return cat([reshape(x, (-1, 1)) if len(x.shape) < 2 else x for x in given], 1)


@described
def block_diag(*tensors: Value) -> Any:
    given = [_at_least(x, 2) for x in tensor_list("block_diag", "tensors", tensors)]
    for i, x in enumerate(given):
        if len(x.shape) > 2:
            raise GraphError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {len(x.shape)} dimensions"
            )
    width = sum(x.shape[1] for x in given)
    rows, left = [], 0
    for x in given:
        rows.append(pad(x, [left, width - left - x.shape[1]]))
        left += x.shape[1]
    return cat(rows, 0)


@described
def cartesian_prod(*tensors: Value) -> Any:
    given = tensor_list("cartesian_prod", "tensors", tensors)
    for x in given:
        if len(x.shape) != 1:
            raise GraphError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(given) == 1:
        return given[0]
    check_size((math.prod(x.shape[0] for x in given), len(given)))
    return stack([reshape(grid, (-1,)) for grid in meshgrid(*given, indexing="ij")], 1)


@described
def combinations(x: Value, r: int = 2, with_replacement: bool = False) -> Any:
    if len(x.shape) != 1:
        raise GraphError("Expect a 1D vector, but got shape " + str(list(x.shape)))
    if r < 0:
        raise GraphError(f"Expect a non-negative number, but got {r}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    count = math.comb(x.shape[0] + (r - 1 if with_replacement and r else 0), r)
    check_size((count, r))
    positions = np.fromiter(itertools.chain.from_iterable(choose(range(x.shape[0]), r)), np.int64, count * r)
    return getitem(x, positions.reshape(count, r))


@described
def vander(x: Value, N: int | None = None, increasing: bool = False) -> Any:
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
