"""Selections, moved dimensions and parts of a tensor; ``grammar/rules/views.rules`` describes the functions without a docstring."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.interface_kinds import A_TENSOR
from autodiff_cli.autograd.primitives.structural import dimension, slice_key
from autodiff_cli.autograd.primitives.types import Value, Wholes
from autodiff_cli.autograd.tensor import Tensor, add_methods
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.limits import check_parts
from autodiff_cli.numerics.arrange import key_along
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.rules import views as rules
from autodiff_cli.ops.rules.shape import cat, clone, permuted
from autodiff_cli.ops.shape import reshape


def length_along(name: str, x: Value, dim: int) -> int:
    """Return the length of a tensor along a dimension; a tensor without dimensions is an error."""
    at = dimension(dim, len(x.shape))
    if not x.shape:
        raise ShapeError(f"{name} expects at least a 1-dimensional tensor")
    return int(x.shape[at])


@rules.declare.described
def select(x: Value, dim: int, index: int) -> Any:
    if not x.shape:
        raise IndexOutOfRange("select() cannot be applied to a 0-dim tensor.")
    return getitem(x, key_along(x.shape, dim, index))


@rules.declare.described
def narrow(x: Value, dim: int, start: int, length: int) -> Any:
    """The part of x along dim that begins at start and has the given length."""
    if not x.shape:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.")
    size = length_along("narrow", x, dim)
    if not -size <= start <= size:
        raise IndexOutOfRange(f"start out of range (expected to be in range of [-{size}, {size}], but got {start})")
    if length < 0:
        raise ShapeError("narrow(): length must be non-negative.")
    first = start + (size if start < 0 else 0)
    if first + length > size:
        raise ShapeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return slice_key(x, key_along(x.shape, dim, slice(first, first + length)))


def neighbour(x: Value, dim: int, reverse: bool, edge: float) -> Any:
    """Return, for each element, the previous element along dim (with ``reverse``, the next), or ``edge`` at the border."""
    at = dimension(dim, len(x.shape))
    if not x.shape[at]:
        return x
    outside = np.full((*x.shape[:at], 1, *x.shape[at + 1 :]), edge, x.dtype)
    rest = slice_key(x, key_along(x.shape, at, slice(1, None) if reverse else slice(None, -1)))
    return cat([rest, outside] if reverse else [outside, rest], at)


@rules.declare.described
def movedim(x: Value, source: Wholes, destination: Wholes) -> Any:
    """x with the source dimensions moved to the destinations; the other dimensions keep their order."""
    ndim = len(x.shape)
    sources, targets = ([dimension(d, ndim) for d in ([dims] if isinstance(dims, int) else dims)] for dims in (source, destination))
    if len(sources) != len(targets):
        raise ShapeError(
            f"movedim: the number of source dimensions ({len(sources)}) differs from the number of destinations ({len(targets)})"
        )
    order = [d for d in range(ndim) if d not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):  # in ascending order of the targets, so that these stay
        order.insert(target, moved)
    if not ndim:  # the only dimension of a single number is a dimension in name
        return rules.alias(x)
    return permuted(x, tuple(order))


@rules.declare.described
def contiguous(x: Value) -> Any:
    return clone(x) if isinstance(x, Tensor) and not x.is_contiguous() else x


def _part_lengths(x: Value, split_size: Wholes, dim: int) -> list[int]:
    """Return the lengths of the parts of ``split``: those in a list, or equal ones but for the last; without elements one, 0."""
    length = length_along("split", x, dim)
    if not isinstance(split_size, int):
        if sum(split_size) != length or min(split_size, default=0) < 0:
            raise ShapeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension {dim}), "
                f"but got split_sizes={list(split_size)}"
            )
        return list(split_size)
    if split_size <= 0:
        raise ArgumentError(f"split expects split_size be positive, but got split_size={split_size}")
    check_parts(-(-length // split_size))
    return [min(split_size, length - start) for start in range(0, length, split_size)] or [0]


@rules.declare.described
def split(x: Value, split_size: Wholes, dim: int = 0) -> Any:
    function = rules.split_equally if isinstance(split_size, int) else rules.split_by_lengths
    return function(x, _part_lengths(x, split_size, dim), dim)


@rules.declare.described
def chunk(x: Value, chunks: int, dim: int = 0) -> Any:
    """x divided along dim into at most chunks parts of equal length (the last may be shorter)."""
    length = length_along("chunk", x, dim)
    if chunks < 1:
        raise ArgumentError(f"chunk expects 'chunks' to be greater than 0, got: {chunks}")
    if not length:  # parts without elements
        check_parts(chunks)
        return rules.split_by_lengths(x, (0,) * chunks, dim)
    return split(x, -(-length // chunks), dim)


def _iterate(self: Tensor) -> Any:
    """Return an iterator over the slices along the first dimension."""
    if not self.shape:
        raise ArgumentError("iteration over a 0-d tensor")
    return iter(rules.unbind(self))


add_methods(
    view_as=lambda self, other: reshape(self, A_TENSOR(other, "view_as", "other").shape),
    reshape_as=lambda self, other: reshape(self, A_TENSOR(other, "reshape_as", "other").shape),
    __iter__=_iterate,
)
