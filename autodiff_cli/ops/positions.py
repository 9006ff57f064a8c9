"""Operations that take elements at positions or by a mask, and put elements at positions or by a mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import (
    DIMENSION,
    FLAG,
    MASK,
    NUMBER,
    POSITIONS,
    TENSOR,
    VALUE,
    either,
    optional,
    takes,
)
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import add_at, dimension, unindexed
from autodiff_cli.autograd.primitives.types import Key, Mask, Number, Operand, Positions, Shape, Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.shape import broadcast_shape, expand, reshape

__all__ = [
    "gather",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_select",
    "masked_fill",
    "masked_select",
    "put",
    "scatter",
    "scatter_add",
    "take",
    "take_along_dim",
]

declare = Declarations(__name__)

_V, _M = [1.0, -2.0, 3.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def _check(index: Positions, length: int, message: str, negative: bool = False) -> None:
    wrong = index[(index >= length) | (index < (-length if negative else 0))]
    if wrong.size:
        raise IndexOutOfRange(message.format(wrong.flat[0]))


# Operations with one position for each element of the result.  ``picked`` and ``dropped`` are adjoint to each other.


def _at(x_shape: Shape, dim: int, index: Positions) -> tuple[Any, ...]:
    """Return the NumPy index for ``gather``, whose positions ``index`` apply to dimension ``dim``."""
    places: list[Any] = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[dim] = index
    return tuple(places)


def _pick(x: Array, dim: int, index: Positions) -> Any:
    return x[_at(x.shape, dim, index)] if x.ndim else np.full(index.shape, x)[()]


def _drop(g: Array, shape: Shape, dim: int, index: Positions) -> Any:
    out = np.zeros(shape, g.dtype)
    add_at(out, _at(shape, dim, index) if shape else (), g if shape else np.sum(g))
    return out[()]


picked: TensorFunction = declare(
    "gather",
    _pick,
    {"x": lambda g, x_shape, dim, index: dropped(g, x_shape, dim, index)},
    statics={"dim": 0, "index": None},
    public=False,
)
dropped: TensorFunction = declare(
    "scatter_add",
    _drop,
    {"x": lambda g, dim, index: picked(g, dim, index)},
    statics={"shape": (), "dim": 0, "index": None},
    public=False,
)


def _positions_along(name: str, x: Value, dim: int, index: Positions) -> tuple[int, Any]:
    ndim = len(x.shape)
    at = dimension(dim, ndim)
    if max(index.ndim, 1) != max(ndim, 1):
        raise ShapeError("Index tensor must have the same number of dimensions as input tensor")
    for d in range(ndim):
        if d != at and index.shape[d] > x.shape[d]:
            raise ShapeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(x.shape)} apart from dimension {at}"
            )
    length = x.shape[at] if ndim else 1
    _check(index, length, f"index {{}} is out of bounds for dimension {at} with size {length}")
    return at, index


@takes(dim=DIMENSION, index=POSITIONS)
def gather(x: Value, dim: int, index: Positions) -> Any:
    """Elements at positions along dim, one for each element of index."""
    if not index.ndim and len(x.shape) == 1:
        return reshape(gather(x, dim, index.reshape(1)), ())
    return picked(x, *_positions_along("gather", x, dim, index))


@takes(indices=POSITIONS, dim=optional(DIMENSION))
def take_along_dim(x: Value, indices: Positions, dim: int | None = None) -> Any:
    """Elements at positions along dim, where x and indices broadcast; without dim, elements at positions in the flattened x."""
    if dim is None:
        return gather(reshape(x, (-1,)), 0, indices.reshape(-1))
    at = dimension(dim, len(x.shape))
    if indices.ndim != len(x.shape) or not x.shape:
        raise ShapeError(
            f"take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(x.shape)} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    common = list(broadcast_shape("take_along_dim", *((*s[:at], 1, *s[at + 1 :]) for s in (x.shape, indices.shape))))
    wide, long = list(common), list(common)
    wide[at], long[at] = x.shape[at], indices.shape[at]
    return gather(x if tuple(wide) == tuple(x.shape) else expand(x, wide), at, np.broadcast_to(indices, long))


_take: TensorFunction = declare(
    "take",
    lambda x, index: x.reshape(-1)[index],
    {"x": lambda g, x_shape, index: reshape(unindexed(g, (int(np.prod(x_shape)),), (index,)), x_shape)},
    statics={"index": None},
    series="linear",
    selects=True,
    public=False,
)


@takes(index=POSITIONS)
def take(x: Value, index: Positions) -> Any:
    """Elements at positions in the flattened x."""
    length = int(np.prod(x.shape))
    _check(index, length, f"out of range: tried to access index {{}} on a tensor of {length} elements.", negative=True)
    return _take(x, index)


def _whole(dim: int, index: Positions) -> tuple[Any, ...]:
    return (*(slice(None),) * dim, index)


_selected: TensorFunction = declare(
    "index_select",
    lambda x, dim, index: x[_whole(dim, index)],
    {"x": lambda g, x_shape, dim, index: unindexed(g, x_shape, _whole(dim, index))},
    statics={"dim": 0, "index": None},
    series="linear",
    selects=True,
    public=False,
)


def _slices(name: str, x: Value, dim: int, index: Positions) -> tuple[int, Any]:
    at = dimension(dim, len(x.shape))
    if index.ndim > 1:
        raise IndexOutOfRange(f"{name}(): Index is supposed to be a vector")
    _check(index, x.shape[at] if x.shape else 1, "index out of range in self")
    return at, index.reshape(-1)


@takes(dim=DIMENSION, index=POSITIONS)
def index_select(x: Value, dim: int, index: Positions) -> Any:
    """Slices at positions along dim."""
    at, index = _slices("index_select", x, dim, index)
    if not x.shape:
        if index.size > 1:
            raise ShapeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return reshape(_selected(reshape(x, (1,)), 0, index[:1]), ())
    return _selected(x, at, index)


describe(
    gather,
    tensors=("x", "index"),
    formula="sums of g at the positions, 0 elsewhere",
    samples=((_M, 1, [[2, 2], [0, 1]]), (_V, 0, [1, 1])),
)
describe(
    take_along_dim,
    aliases=("take_along_axis",),
    formula="sums of g at the positions, 0 elsewhere",
    samples=((_M, [[2, 0]], 1), (_M, [4, 4])),
)
describe(take, formula="sums of g at the positions, 0 elsewhere", samples=((_M, [[4, 4], [0, -1]]),))
describe(index_select, tensors=("x", "index"), formula="sums of g at the positions, 0 elsewhere", samples=((_M, 1, [2, 2, 0]),))

# Masks


_masked: TensorFunction = declare(
    "masked_select",
    lambda x, mask: x[mask].reshape(-1),
    {"x": lambda g, x_shape, mask: unindexed(g, x_shape, (mask,))},
    statics={"mask": None},
    series="linear",
    selects=True,
    public=False,
)


@takes(mask=MASK)
def masked_select(x: Value, mask: Mask) -> Any:
    """The elements where mask is true, as a vector."""
    shape = broadcast_shape("masked_select", x.shape, mask.shape)
    return _masked(x if shape == tuple(x.shape) else expand(x, shape), np.broadcast_to(mask, shape))


def _fill(x: Array, value: Array, mask: Mask) -> Any:
    filled: Any = np.where(mask, value, x)
    return filled[()]


_fill_number: TensorFunction = declare(
    "masked_fill",
    lambda x, mask, value: _fill(x, x.dtype.type(value), mask),
    {"x": lambda g, mask: where(mask, 0.0, g)},
    statics={"mask": None, "value": 0.0},
    public=False,
)
_fill_tensor: TensorFunction = declare(
    "masked_fill",
    _fill,
    {"x": lambda g, mask: where(mask, 0.0, g), "value": lambda g, mask: where(mask, g, 0.0)},
    node="MaskedFillBackward1",
    statics={"mask": None},
    public=False,
)


@takes(mask=MASK, value=VALUE)
def masked_fill(x: Value, mask: Mask, value: Operand) -> Any:
    """x with its elements replaced by value where mask is true."""
    if not isinstance(value, Tensor):
        return _fill_number(x, mask, value)
    if value.shape:
        raise ShapeError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    return _fill_tensor(x, value, mask)


describe(masked_select, formula="g where mask is true, else 0", samples=((_V, [True, False, True]),))
describe(
    masked_fill,
    formula="0 where mask is true, else g",
    samples=((_V, [True, False, True], 5.0), (_M, [True, False, True], 2.0)),
)

# Operations that put elements at positions, either replacing the elements of x or adding to them.


def _put(x: Array, source: Array, key: Key, accumulate: bool) -> Any:
    out = np.array(x)
    if accumulate:
        add_at(out, key, source)
    else:
        out[key] = source
    return out[()]


def _putting(name: str) -> TensorFunction:
    """Declare an operation that puts a tensor ``source`` at positions of ``x``."""
    made: TensorFunction = declare(
        name,
        _put,
        {
            "x": lambda g, key, accumulate: g if accumulate else _index_filled(g, key, 0.0),
            "source": lambda g, key: getitem(g, key),
        },
        statics={"key": (), "accumulate": False},
        public=False,
    )
    return made


def _filling(name: str, node: str) -> TensorFunction:
    """Declare an operation that puts one number at positions of ``x``."""
    made: TensorFunction = declare(
        name,
        lambda x, key, value: _put(x, value, key, False),
        {"x": lambda g, key: _index_filled(g, key, 0.0)},
        node=node,
        statics={"key": (), "value": 0.0},
        public=False,
    )
    return made


_scattered, _scatter_added, _index_added, _index_copied, index_putted = map(
    _putting, ("scatter", "scatter_add", "index_add", "index_copy", "index_put")
)
_index_filled, _scatter_filled = _filling("index_fill", "IndexFillBackward0"), _filling("scatter", "ScatterBackward1")


_KEY = either(MASK, POSITIONS)


def _as_source(value: object) -> bool:
    """Return whether a value is a tensor or an array rather than a plain number."""
    return bool(getattr(value, "shape", ())) or isinstance(value, Tensor)


def _scatter_key(name: str, x: Value, dim: int, index: Positions, src: Operand) -> tuple[tuple[Any, ...], Any]:
    at, index = _positions_along(name, x, dim, index)
    if not isinstance(src, (int, float)) and src.shape:
        if len(src.shape) != index.ndim or any(n > m for n, m in zip(index.shape, src.shape, strict=True)):
            raise ShapeError(f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)} in every dimension")
        if tuple(src.shape) != index.shape:
            src = getitem(src, tuple(slice(n) for n in index.shape))
    return (_at(x.shape, at, index) if x.shape else ()), src


@takes(dim=DIMENSION, index=POSITIONS, src=VALUE)
def scatter(x: Value, dim: int, index: Positions, src: Operand) -> Any:
    """x with the elements at positions along dim replaced by elements of src or by one number."""
    key, src = _scatter_key("scatter", x, dim, index, src)
    return _scattered(x, src, key, False) if _as_source(src) else _scatter_filled(x, key, src)


@takes(dim=DIMENSION, index=POSITIONS, src=TENSOR)
def scatter_add(x: Value, dim: int, index: Positions, src: Value) -> Any:
    """x with elements of src added at positions along dim."""
    key, src = _scatter_key("scatter_add", x, dim, index, src)
    return _scatter_added(x, src, key, True)


@takes(dim=DIMENSION, index=POSITIONS, source=TENSOR, alpha=NUMBER)
def index_add(x: Value, dim: int, index: Positions, source: Value, alpha: Number = 1) -> Any:
    """x with slices of source, multiplied by alpha, added at positions along dim."""
    at, index = _slices("index_add", x, dim, index)
    return _index_added(x, source if alpha == 1 else source * alpha, _whole(at, index), True)


@takes(dim=DIMENSION, index=POSITIONS, source=TENSOR)
def index_copy(x: Value, dim: int, index: Positions, source: Value) -> Any:
    """x with the slices at positions along dim replaced by slices of source."""
    at, index = _slices("index_copy", x, dim, index)
    return _index_copied(x, source, _whole(at, index), False)


@takes(dim=DIMENSION, index=POSITIONS, value=VALUE)
def index_fill(x: Value, dim: int, index: Positions, value: Operand) -> Any:
    """x with the slices at positions along dim filled with one value."""
    at, index = _slices("index_fill", x, dim, index)
    key = _whole(at, index) if x.shape else (np.array(index.size > 0),)
    return _index_copied(x, value, key, False) if _as_source(value) else _index_filled(x, key, value)


@takes(values=TENSOR, accumulate=FLAG)
def index_put(x: Value, indices: object, values: Value, accumulate: bool = False) -> Any:
    """x with the elements at a tuple of indices replaced by values, or increased by values with accumulate=true."""
    given = tuple(indices) if isinstance(indices, (list, tuple)) else (indices,)
    key = tuple(_KEY(part, "index_put", "indices") for part in given)
    if len(key) > len(x.shape):
        raise ArgumentError(f"index_put: got {len(key)} indices, but the tensor has {len(x.shape)} dimensions")
    return index_putted(x, values, key, bool(accumulate))


@takes(index=POSITIONS, source=TENSOR, accumulate=FLAG)
def put(x: Value, index: Positions, source: Value, accumulate: bool = False) -> Any:
    """x with the elements at positions of the flattened x replaced by elements of source, or increased with accumulate=true."""
    if index.size != math.prod(source.shape):
        raise ShapeError(
            f"put_(): Expected source and index to have same number of elements, but got source.numel() = "
            f"{math.prod(source.shape)}, index.numel() = {index.size}"
        )
    flat = reshape(x, (-1,))
    return reshape(index_putted(flat, reshape(source, (-1,)), (index.reshape(-1),), accumulate), tuple(x.shape))


_PUT: dict[str, Any] = {"convention": "if a position is written twice, both sources receive the gradient (PyTorch)"}
_SCATTERED = (_M, 1, [[2, 0], [1, 2]], [[10.0, 20.0], [30.0, 40.0]])
describe(
    scatter,
    tensors=("x", "index", "src"),
    formula="g, but 0 at the positions; g at the positions",
    samples=(_SCATTERED, (_V, 0, [1], 5.0)),
    **_PUT,
)
describe(
    scatter_add, tensors=("x", "index", "src"), formula="g, g at the positions", samples=(_SCATTERED, (_V, 0, [1, 1], [5.0, 6.0]))
)
describe(
    index_add,
    tensors=("x", "index", "source"),
    formula="g, alpha*g at the positions",
    samples=((_V, 0, [1, 1], [5.0, 6.0]), (_M, 1, [2, 0], [[1.0, 2.0], [3.0, 4.0]], 2)),
)
describe(
    index_copy,
    tensors=("x", "index", "source"),
    formula="g, but 0 at the positions; g at the positions",
    samples=((_M, 1, [2, 0], [[1.0, 2.0], [3.0, 4.0]]),),
    **_PUT,
)
describe(index_fill, tensors=("x", "index", "value"), formula="g, but 0 at the positions", samples=((_M, 1, [2, 0], 7.0),))
describe(
    put,
    formula="g, but 0 at the positions; g at the positions",
    samples=((_M, [5, 0], [7.0, 8.0]), (_V, [1, 1], [5.0, 6.0], True)),
    **_PUT,
)
describe(
    index_put,
    formula="g, but 0 at the positions; g at the positions",
    samples=((_V, [1], 7.0), (_V, [1, 1], [5.0, 6.0], True)),
    **_PUT,
)
