"""More names for views: one element or a stretch along a dimension, diagonals, and a tensor taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.kinds import DIMENSION, DIMENSIONS, WHOLE, WHOLES, takes
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension, select_key, slice_key
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.ops.shape import cat, clone, getitem, permuted, reshape, stack

__all__ = ["chunk", "contiguous", "diagonal", "movedim", "narrow", "ravel", "select", "split", "unbind", "unflatten"]

declare = Declarations(__name__)

_MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def length_along(name: str, x: Any, dim: Any) -> int:
    """How long a tensor is along a dimension.

    Raises:
        ShapeError: if it has none.
    """
    at = dimension(dim, len(x.shape))
    if not x.shape:
        raise ShapeError(f"{name} expects at least a 1-dimensional tensor")
    return int(x.shape[at])


def _before(dim: Any, ndim: int) -> tuple[slice, ...]:
    return (slice(None),) * dimension(dim, ndim)


@takes(dim=DIMENSION, index=WHOLE)
def select(x: Any, dim: int, index: int) -> Any:
    """One position along dim: the dimension goes."""
    return getitem(x, (*_before(dim, len(x.shape)), index))


@takes(dim=DIMENSION, start=WHOLE, length=WHOLE)
def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    """A stretch along dim, of a length from a start on."""
    size = length_along("narrow", x, dim)
    first = start + (size if start < 0 else 0)
    if length < 0 or not 0 <= first <= size - length:
        raise IndexOutOfRange(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_key(x, (*_before(dim, len(x.shape)), slice(first, first + length)))


describe(select, tensors=("x",), samples=((_MATRIX, 1, 2),))
describe(narrow, tensors=("x",), samples=((_MATRIX, 1, 1, 2),))


def neighbour(x: Any, dim: int, reverse: bool, edge: float) -> Any:
    """Along dim for each element the one before it (after it with ``reverse``), ``edge`` where there is none."""
    at = dimension(dim, len(x.shape))
    length = x.shape[at]
    if not length:
        return x
    outside = np.full((*x.shape[:at], 1, *x.shape[at + 1 :]), edge, x.dtype)
    rest = narrow(x, at, 1 if reverse else 0, length - 1)
    return cat([rest, outside] if reverse else [outside, rest], at)


def _diagonal(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    if x.ndim < 2:
        raise ShapeError(f"diagonal needs at least two dimensions, but got {x.ndim}")
    offset = min(max(offset, -x.shape[dimension(dim1, x.ndim)]), x.shape[dimension(dim2, x.ndim)])  # NumPy counts in 32 bits
    found = np.diagonal(x, offset, dimension(dim1, x.ndim), dimension(dim2, x.ndim))
    if x.flags.writeable:
        found.flags.writeable = True  # NumPy keeps it locked for reasons of its own history
    return found


def _diagonal_back(g: Any, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Any:
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
    summary="the diagonal of a matrix, or that many places off it",
    samples=((_MATRIX, 1, 0, 1),),
)


@takes(source=DIMENSIONS, destination=DIMENSIONS)
def movedim(x: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places; the rest keep their order."""
    ndim = len(x.shape)
    sources, targets = ([d] if isinstance(d, int) else list(d) for d in (source, destination))
    sources, targets = [dimension(d, ndim) for d in sources], [dimension(d, ndim) for d in targets]
    if len(sources) != len(targets):
        raise ShapeError(f"movedim: {len(sources)} dimensions for {len(targets)} places")
    order = [d for d in range(ndim) if d not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target, moved)
    return permuted(x, tuple(order))


@takes(dim=DIMENSION, sizes=WHOLES)
def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    """One dimension taken apart into several."""
    at = dimension(dim, len(x.shape))
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    return reshape(x, (*x.shape[:at], *sizes, *x.shape[at + 1 :]))


def ravel(x: Any) -> Any:
    """All elements in one dimension."""
    return reshape(x, (-1,))


def contiguous(x: Any) -> Any:
    """x itself, or a copy of it where its elements do not lie in memory in order."""
    return clone(x) if isinstance(x, Tensor) and not x.is_contiguous() else x


describe(movedim, aliases=("moveaxis",), tensors=("x",), samples=((_MATRIX, 0, 1),))
describe(unflatten, tensors=("x",), samples=((_MATRIX, 1, [3, 1]),))
describe(ravel, tensors=("x",), samples=((_MATRIX,),))
describe(contiguous, tensors=("x",), samples=((_MATRIX,),))


def _taken_apart(x: Any, dim: int) -> list[Any]:
    if not x.ndim:
        raise ShapeError("Dimension specified as 0 but tensor has no dimensions")
    return [x[(*_before(dim, x.ndim), i, ...)] for i in range(x.shape[dimension(dim, x.ndim)])]


def _stacked(g: list[Any], x_shape: Any, dim: int) -> Any:
    at = dimension(dim, len(x_shape))
    rest = (*x_shape[:at], *x_shape[at + 1 :])
    return stack([np.zeros(rest) if part is None else part for part in g], at)


unbind: TensorFunction = declare.several(
    "unbind",
    _taken_apart,
    lambda g, x_shape, dim: _stacked(g, x_shape, dim),
    statics={"dim": 0},
    kinds={"dim": DIMENSION},
    view=lambda x, i, dim: select_key(x, (*_before(dim, len(x.shape)), i)),
    summary="the slices along a dimension, one by one",
    samples=((_MATRIX, 1),),
)


def _lengths(x: Any, split_size: Any, dim: int) -> list[int]:
    """How long each piece is."""
    length = length_along("split", x, dim)
    if isinstance(split_size, (list, tuple)):
        if sum(split_size) != length or min(split_size, default=0) < 0:
            raise ShapeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension {dim}), "
                f"but got split_sizes={list(split_size)}"
            )
        return list(split_size)
    if split_size <= 0:
        raise ArgumentError(f"split expects split_size be positive, but got split_size={split_size}")
    return [min(split_size, length - start) for start in range(0, length, split_size)] or [0]


def _piece(x: Any, i: int, lengths: Any, dim: int) -> Any:
    start = sum(lengths[:i])
    return slice_key(x, (*_before(dim, len(x.shape)), slice(start, start + lengths[i])))


def _joined(g: list[Any], x_shape: Any, lengths: Any, dim: int) -> Any:
    at = dimension(dim, len(x_shape))
    shapes = [(*x_shape[:at], n, *x_shape[at + 1 :]) for n in lengths]
    return cat([np.zeros(shape) if part is None else part for part, shape in zip(g, shapes, strict=True)], at)


def _splitter(node: str) -> TensorFunction:
    return declare.several(
        "split",
        lambda x, lengths, dim: [_piece(x, i, lengths, dim) for i in range(len(lengths))],
        lambda g, x_shape, lengths, dim: _joined(g, x_shape, lengths, dim),
        node=node,
        statics={"lengths": (), "dim": 0},
        view=_piece,
        public=False,
    )


_split, _split_with_sizes = _splitter("SplitBackward0"), _splitter("SplitWithSizesBackward0")


@takes(split_size=WHOLES, dim=DIMENSION)
def split(x: Any, split_size: Any, dim: int = 0) -> Any:
    """Pieces along dim: of one length (the last may be shorter), or of the lengths of a list."""
    function = _split_with_sizes if isinstance(split_size, (list, tuple)) else _split
    return function(x, _lengths(x, split_size, dim), dim)


@takes(chunks=WHOLE, dim=DIMENSION)
def chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    """A number of pieces along dim, as equal as can be."""
    length = length_along("chunk", x, dim)
    if chunks < 1:
        raise ArgumentError(f"chunk expects 'chunks' to be greater than 0, got: {chunks}")
    return split(x, max(-(-length // chunks), 1), dim)


describe(split, tensors=("x",), samples=((_MATRIX, 2, 1),))
describe(chunk, tensors=("x",), samples=((_MATRIX, 2, 1),))


def _install(name: str, method: Any) -> None:
    setattr(Tensor, name, method)


_install("__iter__", lambda self: iter(unbind(self)) if self.shape else _no_iteration())
_install("view_as", lambda self, other: reshape(self, other.shape))
_install("reshape_as", lambda self, other: reshape(self, other.shape))


def _no_iteration() -> Any:
    raise ArgumentError("iteration over a 0-d tensor")
