"""Positions, counts and sets of elements, which are not differentiable, and operations that write to places of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import (
    DIMENSION,
    FLAG,
    MASK,
    POSITIONS,
    TENSOR,
    TEXT,
    WHOLE,
    Kind,
    counted,
    optional,
    takes,
)
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import add_at, dimension, unindexed
from autodiff_cli.autograd.primitives.types import Mask, Operand, Positions, Shape, Value, array_of
from autodiff_cli.errors import ArgumentError, GraphError, IndexOutOfRange, ShapeError
from autodiff_cli.ops.comparison import where as choose
from autodiff_cli.ops.creation import ones_like, zeros_like
from autodiff_cli.ops.positions import _at, _positions_along, dropped, picked, scatter, scatter_add
from autodiff_cli.ops.shape import broadcast_shape, expand, reshape
from autodiff_cli.ops.views import diagonal, unbind

__all__ = [
    "argwhere",
    "bincount",
    "bucketize",
    "diagonal_scatter",
    "isin",
    "masked_scatter",
    "nonzero",
    "scatter_reduce",
    "searchsorted",
    "select_scatter",
    "slice_scatter",
    "unique",
    "unique_consecutive",
    "where",
]

declare = Declarations(__name__)

_V, _M = [1.0, -2.0, 3.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

# Positions

argwhere = declare(
    "argwhere",
    lambda x: np.argwhere(x),
    {"x": None},
    summary="the positions of the elements that are not 0, one position in each row",
)


@takes(as_tuple=FLAG)
def nonzero(x: Value, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not 0, one position in each row, or a tuple with one tensor for each dimension."""
    if not as_tuple:
        return argwhere(x)
    return unbind(argwhere(x if x.shape else reshape(x, (1,))), 1)


describe(nonzero)


def where(condition: Value, input: Operand | None = None, other: Operand | None = None) -> Any:
    """The elements of ``input`` where ``condition`` is true and of ``other`` elsewhere; without both, the positions of true."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return choose(condition, input, other)


_SIDE = Kind("'left' or 'right'", TEXT.take)


def _searched(sequence: Array, values: Array, right: bool) -> Any:
    side: Any = "right" if right else "left"
    if sequence.ndim < 2:
        return np.asarray(np.searchsorted(sequence, values, side))[()]
    if sequence.shape[:-1] != np.shape(values)[:-1]:
        raise ShapeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(sequence.shape)} and input value tensor "
            f"{list(np.shape(values))}"
        )
    rows = zip(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
    return np.stack([np.searchsorted(row, wanted, side) for row, wanted in rows]).reshape(values.shape)


_search = declare("searchsorted", _searched, {"sequence": None, "x": None}, statics={"right": False}, public=False)


@takes(sorted_sequence=TENSOR, x=TENSOR, out_int32=FLAG, right=FLAG, side=optional(_SIDE))
def searchsorted(sorted_sequence: Value, x: Value, *, out_int32: bool = False, right: bool = False, side: str | None = None) -> Any:
    """The positions in a sorted sequence before which the elements of x would be inserted; after equal elements with right=true."""
    return _search(sorted_sequence, x, right or side == "right")


@takes(x=TENSOR, boundaries=TENSOR, out_int32=FLAG, right=FLAG)
def bucketize(x: Value, boundaries: Value, *, out_int32: bool = False, right: bool = False) -> Any:
    """The number of the interval between sorted boundaries that each element of x belongs to."""
    if len(boundaries.shape) != 1:
        raise GraphError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({len(boundaries.shape)})")
    return _search(boundaries, x, right)


describe(searchsorted, parameters=("sorted_sequence", "x"), defaults=(), methods=())
describe(bucketize, parameters=("x", "boundaries"), defaults=(), methods=())

# Sets and counts


def _counts(x: Array, weights: Array | None, minlength: int) -> Any:
    x = counted(x)
    if x.ndim != 1 or x.dtype.kind not in "iub" or (x.size and x.min() < 0):
        raise GraphError("bincount only supports 1-d non-negative integral inputs.")
    return np.bincount(x, weights, minlength)


_bincount = declare(
    "bincount", lambda x, minlength: _counts(x, None, minlength), {"x": None}, statics={"minlength": 0}, public=False
)


@takes(weights=optional(TENSOR), minlength=WHOLE)
def bincount(x: Value, weights: Value | None = None, minlength: int = 0) -> Any:
    """How often each whole number from 0 on is among the elements of a vector, or the sums of their weights."""
    if weights is None:
        return _bincount(x, minlength)
    numbers = counted(np.asarray(array_of(x)))
    length = max(minlength, int(numbers.max(initial=-1)) + 1)
    _counts(numbers, None, 0)
    return dropped(weights, (length,), 0, numbers)


_isin = declare(
    "isin",
    lambda x, test_elements, invert: np.asarray(np.isin(x, test_elements, invert=invert))[()],
    {"x": None, "test_elements": None},
    statics={"invert": False},
    public=False,
)


@takes(elements=TENSOR, test_elements=TENSOR, assume_unique=FLAG, invert=FLAG)
def isin(elements: Value, test_elements: Value, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """True for the elements of x that are among the test elements."""
    return _isin(elements, test_elements, invert)


describe(bincount, parameters=("x", "weights", "minlength"), defaults=(None, 0))
describe(isin, parameters=("x", "test_elements"), defaults=(), methods=("isin",))

_PARTS = {"values": 0, "inverse": 1, "counts": 2}


def _set_of(x: Array, part: str, dim: int | None) -> Any:
    flat = x.reshape(-1) if dim is None else x
    at: Any = None if dim is None else dimension(dim, x.ndim)
    found = np.unique(flat, return_inverse=True, return_counts=True, axis=at)[_PARTS[part]]
    return found.reshape(x.shape) if part == "inverse" and dim is None else found.reshape(-1) if part == "inverse" else found


def _runs_of(x: Array, part: str, dim: int | None) -> Any:
    rows = x.reshape(-1) if dim is None else np.moveaxis(x, dimension(dim, x.ndim), 0)
    flat = rows.reshape(len(rows), -1)
    first = np.ones(len(rows), np.bool_)
    first[1:] = np.any(flat[1:] != flat[:-1], 1)
    if part == "values":
        return rows[first] if dim is None else np.moveaxis(rows[first], 0, dimension(dim, x.ndim))
    number = np.cumsum(first) - 1
    if part == "counts":
        return np.bincount(number, minlength=int(first.sum()))
    return number.reshape(x.shape) if dim is None else number


def _distinct(name: str, forward: Any) -> TensorFunction:
    return declare(name, forward, {"x": None}, statics={"part": "values", "dim": None}, public=False)


_unique, _consecutive = _distinct("unique", _set_of), _distinct("unique_consecutive", _runs_of)


def _with_parts(parts: TensorFunction, x: Value, dim: int | None, inverse: bool, counts: bool) -> Any:
    values = parts(x, "values", dim)
    more = [parts(x, part, dim) for part, wanted in (("inverse", inverse), ("counts", counts)) if wanted]
    return (values, *more) if more else values


@takes(sorted=FLAG, return_inverse=FLAG, return_counts=FLAG, dim=optional(DIMENSION))
def unique(x: Value, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The distinct elements of x in ascending order, or its distinct slices along dim."""
    return _with_parts(_unique, x, dim, return_inverse, return_counts)


@takes(return_inverse=FLAG, return_counts=FLAG, dim=optional(DIMENSION))
def unique_consecutive(x: Value, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The elements of x without repetitions of the previous element, or the slices along dim."""
    return _with_parts(_consecutive, x, dim, return_inverse, return_counts)


describe(unique)
describe(unique_consecutive)

# Writing to places

_masked_put: TensorFunction = declare(
    "masked_scatter",
    lambda x, source, mask: _put_masked(x, source, mask),
    {
        "x": lambda g, mask: choose(mask, 0.0, g),
        "source": lambda g, source_shape, mask: _source_gradient(g, source_shape, mask),
    },
    statics={"mask": None},
    public=False,
)


def _put_masked(x: Array, source: Array, mask: Mask) -> Any:
    out = np.array(x)
    count = int(np.count_nonzero(mask))
    if source.size < count:
        raise GraphError(
            f"masked_scatter: expected self and source to have same dtypes and source to have at least {count} elements, "
            f"but it has {source.size}"
        )
    out[mask] = source.reshape(-1)[:count]
    return out[()]


def _source_gradient(g: Value, source_shape: Shape, mask: Mask) -> Any:
    count, size = int(np.count_nonzero(mask)), int(np.prod(source_shape))
    taken = g[mask]
    return reshape(unindexed(taken, (size,), (slice(0, count),)), source_shape)


@takes(mask=MASK, source=TENSOR)
def masked_scatter(x: Value, mask: Mask, source: Value) -> Any:
    """x with its elements replaced by the first elements of source, in order, where mask is true."""
    shape = broadcast_shape("masked_scatter", x.shape, mask.shape)
    return _masked_put(x if tuple(x.shape) == shape else expand(x, shape), source, np.broadcast_to(mask, shape))


@takes(src=TENSOR, dim=DIMENSION, index=WHOLE)
def select_scatter(x: Value, src: Value, dim: int, index: int) -> Any:
    """x with the slice at one position along dim replaced by src."""
    return _replaced("select_scatter", x, src, (slice(None),) * dimension(dim, len(x.shape)) + (index,))


@takes(src=TENSOR, dim=DIMENSION, start=optional(WHOLE), end=optional(WHOLE), step=WHOLE)
def slice_scatter(x: Value, src: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """x with the slices from start to end along dim replaced by src."""
    if step < 1:
        raise ArgumentError("slice_scatter: step must be greater than zero")
    return _replaced("slice_scatter", x, src, (slice(None),) * dimension(dim, len(x.shape)) + (slice(start, end, step),))


@takes(src=TENSOR, offset=WHOLE, dim1=DIMENSION, dim2=DIMENSION)
def diagonal_scatter(x: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """x with a diagonal replaced by src."""
    places = np.arange(int(np.prod(x.shape))).reshape(x.shape)
    places = diagonal(places, offset, dim1, dim2)
    return _written("diagonal_scatter", x, src, places)


def _replaced(name: str, x: Value, src: Value, key: tuple[Any, ...]) -> Any:
    places = np.arange(int(np.prod(x.shape))).reshape(x.shape)
    try:
        return _written(name, x, src, places[key])
    except IndexError:
        raise IndexOutOfRange(f"{name}(): index out of range for the shape {list(x.shape)}") from None


def _written(name: str, x: Value, src: Value, places: Positions) -> Any:
    if tuple(src.shape) != places.shape:
        raise ShapeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(places.shape)}",
            hint=f"{name} replaces a slice",
        )
    return reshape(scatter(reshape(x, (-1,)), 0, places.reshape(-1), reshape(src, (-1,))), x.shape)


# Reductions into places.  Extremes share the cotangent evenly among equal elements, as in PyTorch.


def _reduced(x: Array, src: Array, dim: int, index: Positions, reduce: str, include_self: bool) -> Any:
    ufunc: Any = {"amax": np.maximum, "amin": np.minimum, "prod": np.multiply}[reduce]
    out = np.array(x)
    key = _at(x.shape, dim, index) if x.ndim else ()
    if not include_self:
        out[key] = {"amax": -np.inf, "amin": np.inf, "prod": 1}[reduce]
    ufunc.at(out, key, src)
    return out[()]


def _shares(x: Value, src: Value, out: Value, dim: int, index: Positions, include_self: bool) -> tuple[Any, Any, Any]:
    """Return where x and src are equal to the extreme, and the number of equal elements at each place."""
    written = _at(tuple(x.shape), dim, index)
    at_places = np.zeros(tuple(x.shape), np.bool_)
    at_places[written] = True
    mine = (array_of(x) == array_of(out)) & (include_self | ~at_places)
    theirs = array_of(src) == array_of(out)[written]
    count = mine.astype(np.float64)
    add_at(count, written, theirs.astype(np.float64))
    return mine, theirs, np.maximum(count, 1)


def _reduced_vjp_x(g: Value, x: Value, src: Value, out: Value, dim: int, index: Positions, reduce: str, include_self: bool) -> Any:
    if reduce == "prod":
        if not include_self:
            return scatter(g, dim, index, zeros_like(src))
        return g * _reduce(ones_like(x), src, dim, index, "prod", True)
    mine, _, count = _shares(x, src, out, dim, index, include_self)
    return choose(mine, g / count.astype(array_of(x).dtype), 0.0)


def _reduced_vjp_src(
    g: Value, x: Value, src: Value, out: Value, dim: int, index: Positions, reduce: str, include_self: bool
) -> Any:
    if reduce != "prod":
        _, theirs, count = _shares(x, src, out, dim, index, include_self)
        return choose(theirs, picked(g / count.astype(array_of(x).dtype), dim, index), 0.0)
    # The product of the other elements does not need a division by elements that may be 0.
    zero = array_of(src) == 0
    others = _reduce(x, choose(zero, 1.0, src), dim, index, "prod", include_self)
    zeros = np.zeros(tuple(x.shape), np.int64)
    add_at(zeros, _at(tuple(x.shape), dim, index), zero.astype(np.int64))
    there = zeros[_at(tuple(x.shape), dim, index)]
    product = picked(others, dim, index)
    alone = choose(zero & (there == 1), product, 0.0)
    return picked(g, dim, index) * choose(there == 0, product / choose(zero, 1.0, src), alone)


_reduce: TensorFunction = declare(
    "scatter_reduce",
    _reduced,
    {"x": _reduced_vjp_x, "src": _reduced_vjp_src},
    statics={"dim": 0, "index": None, "reduce": "prod", "include_self": True},
    public=False,
)


@takes(dim=DIMENSION, index=POSITIONS, src=TENSOR, reduce=TEXT, include_self=FLAG)
def scatter_reduce(x: Value, dim: int, index: Positions, src: Value, reduce: str, include_self: bool = True) -> Any:
    """x with elements of src added ('sum'), multiplied ('prod'), averaged ('mean') or compared ('amax', 'amin') along dim."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise GraphError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    at, index = _positions_along("scatter_reduce", x, dim, index)
    if tuple(src.shape) != index.shape:
        src = src[tuple(slice(n) for n in index.shape)]
    if reduce in ("amax", "amin", "prod"):
        return _reduce(x, src, at, index, reduce, include_self)
    start = x if include_self else scatter(x, at, index, zeros_like(src))
    total = scatter_add(start, at, index, src)
    if reduce == "sum":
        return total
    number = np.full(tuple(x.shape), 1 if include_self else 0, np.int64)
    add_at(number, _at(tuple(x.shape), at, index), np.ones(index.shape, np.int64))
    number = np.maximum(number, 1)
    return total // number if array_of(total).dtype.kind in "iub" else total / number.astype(array_of(total).dtype)


describe(
    masked_scatter,
    formula="g where mask is false",
    samples=((_V, [True, False, True], [5.0, 6.0]),),
)
describe(select_scatter, tensors=("x", "src"), formula="g without the slice", samples=((_M, [7.0, 8.0], 1, 2),))
describe(slice_scatter, formula="g without the slices", samples=((_V, [7.0, 8.0], 0, 1),))
describe(diagonal_scatter, formula="g without the diagonal", samples=((_M, [7.0, 8.0]),))
describe(
    scatter_reduce,
    tensors=("x", "index", "src"),
    formula="g, or shares of g",
    convention="equal extremes receive equal shares of the derivative (PyTorch)",
    samples=(
        (_V, 0, [0, 0, 2], [5.0, 6.0, 7.0], "sum"),
        (_V, 0, [0, 0, 2], [5.0, 6.0, 7.0], "mean", False),
        (_V, 0, [0, 0, 2], [5.0, 6.0, 7.0], "prod"),
        (_V, 0, [0, 0, 2], [5.0, 6.0, 7.0], "amax"),
        (_M, 1, [[0, 0], [2, 1]], [[5.0, 6.0], [7.0, 8.0]], "amin", False),
    ),
)
