"""Views: selections along a dimension, diagonals, moved dimensions, and tensors split into parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, WHOLE, WHOLES, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.interface_kinds import A_TENSOR
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension, select_key, slice_key
from autodiff_cli.autograd.primitives.types import Key, Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor, add_methods
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.limits import check_parts
from autodiff_cli.ops.indexing import alias, getitem
from autodiff_cli.ops.shape import cat, clone, permuted, reshape, stack

__all__ = ["chunk", "contiguous", "diagonal", "movedim", "narrow", "ravel", "select", "split", "unbind", "unflatten"]

declare = Declarations(__name__)

_MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def length_along(name: str, x: Value, dim: int) -> int:
    """Return the length of a tensor along a dimension.

    Raises:
        ShapeError: if the tensor has no dimensions.
    """
    at = dimension(dim, len(x.shape))
    if not x.shape:
        raise ShapeError(f"{name} expects at least a 1-dimensional tensor")
    return int(x.shape[at])


def _before(dim: int, ndim: int) -> tuple[slice, ...]:
    return (slice(None),) * dimension(dim, ndim)


@takes(dim=DIMENSION, index=WHOLE)
def select(x: Value, dim: int, index: int) -> Any:
    """The slice at one position along dim, without that dimension."""
    if not x.shape:
        raise IndexOutOfRange("select() cannot be applied to a 0-dim tensor.")
    return getitem(x, (*_before(dim, len(x.shape)), index))


@takes(dim=DIMENSION, start=WHOLE, length=WHOLE)
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
    return slice_key(x, (*_before(dim, len(x.shape)), slice(first, first + length)))


describe(select, tensors=("x",), samples=((_MATRIX, 1, 2),))
describe(narrow, tensors=("x",), samples=((_MATRIX, 1, 1, 2),))


def neighbour(x: Value, dim: int, reverse: bool, edge: float) -> Any:
    """Return, for each element, the previous element along dim (with ``reverse``, the next), or ``edge`` at the border."""
    at = dimension(dim, len(x.shape))
    length = x.shape[at]
    if not length:
        return x
    outside = np.full((*x.shape[:at], 1, *x.shape[at + 1 :]), edge, x.dtype)
    rest = narrow(x, at, 1 if reverse else 0, length - 1)
    return cat([rest, outside] if reverse else [outside, rest], at)


def _diagonal(x: Array, offset: int, dim1: int, dim2: int) -> Any:
    first, second = dimension(dim1, x.ndim), dimension(dim2, x.ndim)
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    offset = min(max(offset, -x.shape[first]), x.shape[second])  # NumPy does not accept offsets beyond 32 bits
    found = np.diagonal(x, offset, first, second)
    if x.flags.writeable:
        found.flags.writeable = True  # NumPy returns a read-only view for backward compatibility
    return found


def _diagonal_back(g: Array, shape: Shape, offset: int, dim1: int, dim2: int) -> Any:
    out = np.zeros(shape, g.dtype)
    _diagonal(out, offset, dim1, dim2)[...] = g
    return out


_undiagonal = declare(
    "diagonal_backward",
    _diagonal_back,
    {"x": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)},
    series="linear",
    statics={"shape": (), "offset": 0, "dim1": 0, "dim2": 1},
    public=False,
)
diagonal: TensorFunction = declare(
    "diagonal",
    _diagonal,
    {"x": lambda g, x_shape, offset, dim1, dim2: _undiagonal(g, x_shape, offset, dim1, dim2)},
    series="linear",
    statics={"offset": 0, "dim1": 0, "dim2": 1},
    kinds={"offset": WHOLE, "dim1": DIMENSION, "dim2": DIMENSION},
    view=True,
    summary="the diagonal of a matrix at the given offset",
    samples=((_MATRIX, 1, 0, 1),),
)


@takes(source=DIMENSIONS, destination=DIMENSIONS)
def movedim(x: Value, source: Wholes, destination: Wholes) -> Any:
    """x with the source dimensions moved to the destinations; the other dimensions keep their order."""
    ndim = len(x.shape)
    sources, targets = ([d] if isinstance(d, int) else list(d) for d in (source, destination))
    sources, targets = [dimension(d, ndim) for d in sources], [dimension(d, ndim) for d in targets]
    if len(sources) != len(targets):
        raise ShapeError(
            f"movedim: the number of source dimensions ({len(sources)}) differs from the number of destinations ({len(targets)})"
        )
    order = [d for d in range(ndim) if d not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target, moved)
    if not ndim:  # the only dimension of a single number is a dimension in name
        return alias(x)
    return permuted(x, tuple(order))


@takes(dim=DIMENSION, sizes=WHOLES)
def unflatten(x: Value, dim: int, sizes: Wholes) -> Any:
    """x with one dimension split into several dimensions of the given sizes."""
    at = dimension(dim, len(x.shape))
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    return reshape(x, (*x.shape[:at], *sizes, *x.shape[at + 1 :]))


def ravel(x: Value) -> Any:
    """The elements of x as a vector."""
    return reshape(x, (-1,))


@takes()
def contiguous(x: Value) -> Any:
    """x itself, or a copy if its elements are not contiguous in memory."""
    return clone(x) if isinstance(x, Tensor) and not x.is_contiguous() else x


describe(movedim, aliases=("moveaxis",), tensors=("x",), samples=((_MATRIX, 0, 1),))
describe(unflatten, tensors=("x",), samples=((_MATRIX, 1, [3, 1]),))
describe(ravel, samples=((_MATRIX,),))
describe(contiguous, samples=((_MATRIX,),))


def _taken_apart(x: Array, dim: int) -> list[Any]:
    if not x.ndim:
        raise IndexOutOfRange("Dimension specified as 0 but tensor has no dimensions")
    check_parts(x.shape[dimension(dim, x.ndim)])
    before: Key = _before(dim, x.ndim)
    return [x[(*before, i, ...)] for i in range(x.shape[dimension(dim, x.ndim)])]


def _stacked(g: list[Any], x_shape: Shape, dim: int) -> Any:
    at = dimension(dim, len(x_shape))
    rest = (*x_shape[:at], *x_shape[at + 1 :])
    return stack([np.zeros(rest) if part is None else part for part in g], at)


unbind: TensorFunction = declare.several(
    "unbind",
    _taken_apart,
    _stacked,
    statics={"dim": 0},
    kinds={"dim": DIMENSION},
    view=lambda x, i, dim: select_key(x, (*_before(dim, len(x.shape)), i)),
    summary="the slices of x along dim, as a tuple",
    samples=((_MATRIX, 1),),
)


def _lengths(x: Value, split_size: Wholes, dim: int) -> list[int]:
    """Return the length of each part."""
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


def _pieces(x: Value, lengths: Sequence[int], dim: int) -> list[Any]:
    before, stops = _before(dim, len(x.shape)), itertools.accumulate(lengths)
    return [slice_key(x, (*before, slice(stop - length, stop))) for length, stop in zip(lengths, stops, strict=True)]


def _piece(x: Value, i: int, lengths: Sequence[int], dim: int) -> Any:
    start = sum(lengths[:i])
    return slice_key(x, (*_before(dim, len(x.shape)), slice(start, start + lengths[i])))


def _joined(g: list[Any], x_shape: Shape, lengths: Sequence[int], dim: int) -> Any:
    at = dimension(dim, len(x_shape))
    shapes = [(*x_shape[:at], n, *x_shape[at + 1 :]) for n in lengths]
    return cat([np.zeros(shape) if part is None else part for part, shape in zip(g, shapes, strict=True)], at)


def _splitter(node: str, view: Callable[..., Any] | None = _piece) -> TensorFunction:
    return declare.several(
        "split",
        _pieces,
        _joined,
        node=node,
        statics={"lengths": (), "dim": 0},
        view=view,
        public=False,
    )


_split, _split_with_sizes = _splitter("SplitBackward0"), _splitter("SplitWithSizesBackward0")
_unsafe_split = _splitter("UnsafeSplitBackward0", None)
_unsafe_split_with_sizes = _splitter("UnsafeSplitWithSizesBackward0", None)


@takes(split_size=WHOLES, dim=DIMENSION)
def split(x: Value, split_size: Wholes, dim: int = 0) -> Any:
    """Parts of x along dim, either of equal length (the last may be shorter) or of the lengths in a list."""
    function = _split if isinstance(split_size, int) else _split_with_sizes
    return function(x, _lengths(x, split_size, dim), dim)


@takes(chunks=WHOLE, dim=DIMENSION)
def chunk(x: Value, chunks: int, dim: int = 0) -> Any:
    """x divided along dim into at most ``chunks`` parts of equal length (the last may be shorter)."""
    length = length_along("chunk", x, dim)
    if chunks < 1:
        raise ArgumentError(f"chunk expects 'chunks' to be greater than 0, got: {chunks}")
    if not length:  # parts without elements
        check_parts(chunks)
        return _split_with_sizes(x, (0,) * chunks, dim)
    return split(x, -(-length // chunks), dim)


describe(split, tensors=("x",), samples=((_MATRIX, 2, 1),))
describe(chunk, tensors=("x",), samples=((_MATRIX, 2, 1),))


def split_with_sizes(x: Tensor, split_sizes: Wholes, dim: int = 0) -> Any:
    """Parts of x along dim of the lengths in a list."""
    return _split_with_sizes(x, _lengths(x, tuple(split_sizes), dim), dim)  # type: ignore[arg-type]


def unsafe_split(x: Tensor, split_size: Wholes, dim: int = 0) -> Any:
    """The parts of ``split``, which are not views: they may be changed in place, but x may not be used then."""
    function = _unsafe_split if isinstance(split_size, int) else _unsafe_split_with_sizes
    return function(x, _lengths(x, split_size, dim), dim)


def unsafe_chunk(x: Tensor, chunks: int, dim: int = 0) -> Any:
    """The parts of ``chunk``, which are not views; see ``unsafe_split``."""
    lengths = [part.shape[dim] for part in chunk(x.detach(), chunks, dim)]
    return _unsafe_split(x, lengths, dim)


def _iterator(self: Tensor) -> Any:
    if not self.shape:
        raise ArgumentError("iteration over a 0-d tensor")
    return iter(unbind(self))


add_methods(
    split_with_sizes=split_with_sizes,
    unsafe_split=unsafe_split,
    unsafe_split_with_sizes=unsafe_split,
    unsafe_chunk=unsafe_chunk,
    view_as=lambda self, other: reshape(self, A_TENSOR(other, "view_as", "other").shape),
    reshape_as=lambda self, other: reshape(self, A_TENSOR(other, "reshape_as", "other").shape),
    __iter__=_iterator,
)
