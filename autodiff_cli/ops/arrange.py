"""Operations that rearrange elements: flip, roll, repeat, pad and join; triangles, diagonals and grids."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import (
    DIMENSION,
    DIMENSIONS,
    NUMBER,
    POSITIONS,
    TENSOR,
    TEXT,
    WHOLE,
    WHOLES,
    optional,
    takes,
    whole_numbers,
)
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Number, Positions, Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.limits import MOST_TURNS, check_count, check_size
from autodiff_cli.ops.positions import index_select
from autodiff_cli.ops.reduce import dimensions, sum
from autodiff_cli.ops.shape import broadcast_shape, cat, describe_spread, expand, flatten, reshape, tensor_list, unsqueeze
from autodiff_cli.ops.views import diagonal

__all__ = [
    "broadcast_tensors",
    "broadcast_to",
    "diag",
    "diag_embed",
    "diff",
    "dstack",
    "expand_as",
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
    "tril",
    "triu",
    "vstack",
]

declare = Declarations(__name__)

_V, _M = [1.0, 2.0, 3.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def _listed(value: Wholes) -> Shape:
    return value if isinstance(value, tuple) else (value,)


# Flip and roll

_flip: TensorFunction = declare(
    "flip",
    lambda x, dims: (np.flip(x, dimensions(dims, x.ndim)) if dims else x).copy(),
    {"x": lambda g, dims: _flip(g, dims)},
    statics={"dims": ()},
    series="linear",
    public=False,
)


@takes(dims=WHOLES)
def flip(x: Value, *given: Wholes, dims: Wholes = ()) -> Any:
    """The elements in reverse order along the given dimensions."""
    return _flip(x, whole_numbers("flip", "dims", given or (dims,)))


@takes()
def fliplr(x: Value) -> Any:
    """The columns in reverse order."""
    if len(x.shape) < 2:
        raise ShapeError("Input must be >= 2-d.")
    return flip(x, 1)


@takes()
def flipud(x: Value) -> Any:
    """The rows in reverse order."""
    if not x.shape:
        raise ShapeError("Input must be >= 1-d.")
    return flip(x, 0)


def _roll(x: Array, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    if not dims:
        return np.roll(x, shifts)
    return np.roll(x, shifts, tuple(dimension(d, x.ndim) for d in dims) if x.ndim else ())


_rolled: TensorFunction = declare(
    "roll",
    _roll,
    {"x": lambda g, shifts, dims: _rolled(g, tuple(-n for n in shifts), dims)},
    statics={"shifts": (), "dims": ()},
    series="linear",
    public=False,
)


@takes(shifts=WHOLES, dims=optional(DIMENSIONS))
def roll(x: Value, shifts: Wholes, dims: Wholes | None = None) -> Any:
    """The elements shifted along dims, with the last elements moved to the front; without dims, x is flattened first."""
    shifts = _listed(shifts)
    if dims is None:
        if len(shifts) != 1:
            raise ShapeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return _rolled(x, shifts, ()) if type(x) is Tensor else reshape(_rolled(reshape(x, (-1,)), shifts, (0,)), x.shape)
    dims = _listed(dims)
    if len(shifts) != len(dims):
        raise ShapeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return _rolled(x, shifts, dims)


describe_spread(flip, formula="flip(g)", samples=((_M, [0]), (_M, [0, 1])))
describe(fliplr, formula="fliplr(g)", samples=((_M,),))
describe(flipud, formula="flipud(g)", samples=((_M,),))
describe(roll, tensors=("x",), formula="roll(g, -shifts)", samples=((_M, 1), (_M, 2, 1), (_M, [1, -1], [0, 1])))

# Triangles and diagonals


def _triangle(name: str, cut: Callable[[Array, int], Array], summary: str) -> TensorFunction:
    def forward(x: Array, diagonal: int) -> Any:
        if x.ndim < 2:
            raise ShapeError(f"{name}: input tensor must have at least 2 dimensions")
        rows, columns = x.shape[-2:]
        return cut(x, min(max(diagonal, -rows), columns))  # NumPy does not accept offsets beyond 64 bits

    made: TensorFunction = declare(
        name,
        forward,
        {"x": lambda g, diagonal: made(g, diagonal)},
        statics={"diagonal": 0},
        kinds={"diagonal": WHOLE},
        summary=summary,
        formula=f"{name}(g)",
        samples=((_M,), ([_M, _M], 1)),
    )
    return made


tril = _triangle("tril", np.tril, "the lower triangle of a matrix, with 0 above the given diagonal")
triu = _triangle("triu", np.triu, "the upper triangle of a matrix, with 0 below the given diagonal")


def _embed(x: Array, offset: int, dim1: int, dim2: int) -> Any:
    ndim = x.ndim + 1
    first, second = dimension(dim1, ndim), dimension(dim2, ndim)
    if not x.ndim or first == second:
        raise ShapeError("diagonal dimensions cannot be identical" if x.ndim else "diag_embed needs at least one dimension")
    length = x.shape[-1] + abs(offset)
    check_size((*x.shape[:-1], length, length))
    out = np.zeros((*x.shape[:-1], length, length), x.dtype)
    places = np.arange(x.shape[-1])
    rows, columns = places + max(-offset, 0), places + max(offset, 0)
    out[..., rows, columns] = x
    return np.moveaxis(out, (-2, -1), (first, second))


diag_embed: TensorFunction = declare(
    "diag_embed",
    _embed,
    {"x": lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)},
    statics={"offset": 0, "dim1": -2, "dim2": -1},
    kinds={"offset": WHOLE, "dim1": DIMENSION, "dim2": DIMENSION},
    summary="matrices with the last dimension of x on the diagonal at the given offset",
    formula="diagonal(g)",
    samples=((_M,), (_V, 1), (_M, -1, 0, 2)),
)


@takes(diagonal=WHOLE)
def diag(x: Value, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal."""
    ndim = len(x.shape)
    if ndim not in (1, 2):
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    return diag_embed(x, diagonal) if ndim == 1 else _diagonal_of(x, diagonal, 0, 1)


_diagonal_of = diagonal
describe(diag, formula="diag(g)", samples=((_V,), (_M,), (_V, -1), (_M, 1)))

# Repeat and pad


def _repeat_shape(shape: Shape, sizes: Sequence[int]) -> Shape:
    if len(sizes) < len(shape):
        raise ShapeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            hint=f"give at least {len(shape)} numbers for the shape {list(shape)}",
        )
    return (*(1,) * (len(sizes) - len(shape)), *shape)


def _repeat(x: Array, sizes: Sequence[int]) -> Any:
    whole = _repeat_shape(x.shape, sizes)
    if any(n < 0 for n in sizes):
        raise ShapeError(f"Trying to create tensor with negative dimension: {list(sizes)}")
    check_size(tuple(n * m for n, m in zip(sizes, whole, strict=True)))
    return np.tile(x, sizes)


def _unrepeat(g: Value, x_shape: Shape, sizes: Sequence[int]) -> Any:
    pairs = [n for pair in zip(sizes, _repeat_shape(x_shape, sizes), strict=True) for n in pair]
    return reshape(sum(reshape(g, pairs), tuple(range(0, len(pairs), 2))), x_shape) if pairs else g


_repeated: TensorFunction = declare(
    "repeat",
    _repeat,
    {"x": _unrepeat},
    statics={"sizes": ()},
    series="linear",
    public=False,
)


def repeat(x: Value, *sizes: Wholes) -> Any:
    """x repeated along each dimension; additional sizes add leading dimensions."""
    return _repeated(x, whole_numbers("repeat", "sizes", sizes))


@takes(dims=WHOLES)
def tile(x: Value, *given: Wholes, dims: Wholes = ()) -> Any:
    """x repeated along its last dimensions; missing repetition counts are 1."""
    sizes = whole_numbers("tile", "dims", given or (dims,))
    return repeat(x, (*(1,) * (len(x.shape) - len(sizes)), *sizes))


@takes(repeats=POSITIONS, dim=optional(DIMENSION))
def repeat_interleave(x: Value, repeats: Positions, dim: int | None = None) -> Any:
    """The elements of x, or its slices along dim, each repeated consecutively."""
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


describe_spread(repeat, samples=((_M, [2, 1]), (_V, [3, 2])))
describe_spread(tile, samples=((_M, [2]),))
describe(repeat_interleave, tensors=("x",), samples=((_M, 2), (_M, [1, 2], 0)))


def _pad(x: Array, widths: Sequence[int], value: Number) -> Any:
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ShapeError(
            f"Padding length must be divisible by 2, but got {len(widths)}"
            if len(widths) % 2
            else "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(widths)} and input of dimension {x.ndim}"
        )
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + [tuple(widths[i : i + 2]) for i in range(len(widths) - 2, -1, -2)]
    cropped = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, pairs, strict=True))
    lengths = tuple(n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True))
    if any(n < 0 for n in lengths):
        raise ShapeError(f"The input size {list(x.shape)}, plus padding {list(widths)}, resulted in a negative output size")
    check_size(lengths)
    return np.pad(x[cropped], [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)


_padded: TensorFunction = declare(
    "pad",
    _pad,
    {"x": lambda g, widths: _padded(g, tuple(-n for n in widths), 0.0)},
    node="ConstantPadNdBackward0",
    statics={"widths": (), "value": 0.0},
    public=False,
)


@takes(pad=WHOLES, mode=TEXT, value=optional(NUMBER))
def pad(x: Value, pad: Wholes, mode: str = "constant", value: Number | None = None) -> Any:
    """x with a border of value; pad lists the widths (negative to crop) before and after each dimension, last dimension first."""
    if mode != "constant":
        raise ArgumentError(f"pad supports mode='constant' only, not '{mode}'")
    return _padded(x, _listed(pad), 0.0 if value is None else value)


describe(
    pad, tensors=("x",), methods=(), formula="g without the border", samples=((_M, [1, 2]), (_M, [1, -1, 0, 1], "constant", 5.0))
)

# Broadcast and join


@takes(size=WHOLES)
def broadcast_to(x: Value, size: Wholes) -> Any:
    """x broadcast to a shape."""
    return expand(x, size)


@takes(x=TENSOR, other=TENSOR)
def expand_as(x: Value, other: Value) -> Any:
    """x broadcast to the shape of other."""
    return expand(x, tuple(other.shape))


describe(broadcast_to, tensors=("x",), samples=(([1.0, 2.0], [3, 2]),))
describe(expand_as, samples=(([1.0, 2.0], [[0.5, -1.0]]),))


def _at_least(x: Value, ndim: int) -> Any:
    """Add dimensions of length 1 until there are ``ndim``; a vector becomes a row, as in ``vstack`` and ``dstack``."""
    while len(x.shape) < ndim:
        x = reshape(x, (1,)) if not x.shape else unsqueeze(x, 0 if len(x.shape) == 1 else 2)
    return x


def _stacking(name: str, prepare: Callable[[list[Value]], Value], summary: str) -> Any:
    def function(*tensors: Value) -> Any:
        parts = tensor_list(name, "tensors", tensors)
        if not parts:
            raise ArgumentError(f"{name} expects a non-empty TensorList")
        return prepare(parts)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return describe(
        function, parameters=("tensors",), defaults=(), tensors=("tensors",), variadic=True, samples=(([1.0, 2.0], [3.0, 4.0]),)
    )


def _side_by_side(parts: list[Any]) -> Any:
    parts = [_at_least(part, 1) for part in parts]
    return cat(parts, 0 if len(parts[0].shape) == 1 else 1)


vstack = _stacking(
    "vstack",
    lambda parts: cat([_at_least(p, 2) for p in parts], 0),
    "tensors joined along the first dimension; vectors become rows",
)
hstack = _stacking("hstack", _side_by_side, "tensors joined along the second dimension; vectors are joined end to end")
dstack = _stacking("dstack", lambda parts: cat([_at_least(p, 3) for p in parts], 2), "tensors joined along the third dimension")


def broadcast_tensors(*tensors: Value) -> tuple[Any, ...]:
    """The tensors broadcast to their common shape."""
    parts = tensor_list("broadcast_tensors", "tensors", tensors)
    shape = broadcast_shape("broadcast_tensors", *(tuple(part.shape) for part in parts))
    return tuple(expand(part, shape) for part in parts)


@takes(indexing=TEXT)
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


describe(broadcast_tensors, parameters=("tensors",), variadic=True, samples=(([1.0, 2.0], [[3.0], [4.0]]),))
describe(
    meshgrid,
    parameters=("tensors", "indexing"),
    defaults=("ij",),
    variadic=True,
    samples=(([1.0, 2.0], [3.0, 4.0, 5.0]),),
)


@takes(n=WHOLE, dim=DIMENSION)
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


describe(diff, formula="g of the previous difference - g of the next difference", samples=((_V,), (_M, 2), (_M, 1, 0)))
