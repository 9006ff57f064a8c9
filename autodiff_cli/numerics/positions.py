"""Elements at positions or by a mask, arrays with other elements there, and positions, counts and sets of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import whole_as_integers
from autodiff_cli.autograd.primitives.structural import add_at, dimension
from autodiff_cli.autograd.primitives.types import Key, Mask, Positions, Shape, Value, array_of
from autodiff_cli.errors import GraphError, IndexOutOfRange, ShapeError
from autodiff_cli.numerics.arrange import key_along

_PARTS = {"values": 0, "inverse": 1, "counts": 2}


def check_positions(index: Positions, length: int, message: str, negative: bool = False) -> None:
    """Raise ``message`` with the first wrong position in it; one from -length to -1 is right only if ``negative`` is true."""
    wrong = index[(index >= length) | (index < (-length if negative else 0))]
    if wrong.size:
        raise IndexOutOfRange(message.format(wrong.flat[0]))


def place_along(shape: Shape, dim: int, index: Positions) -> int:
    """Return a dimension from the front; an ``index`` of ``gather`` or ``scatter`` that does not fit the shape is an error."""
    at = dimension(dim, len(shape))
    if max(index.ndim, 1) != max(len(shape), 1):
        raise ShapeError("Index tensor must have the same number of dimensions as input tensor")
    for d, length in enumerate(shape):
        if d != at and index.shape[d] > length:
            raise ShapeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(shape)} apart from dimension {at}"
            )
    length = shape[at] if shape else 1
    check_positions(index, length, f"index {{}} is out of bounds for dimension {at} with size {length}")
    return at


def gather_key(x_shape: Shape, dim: int, index: Positions) -> tuple[Any, ...]:
    """Return the NumPy index for ``gather``, whose positions ``index`` apply to dimension ``dim``."""
    places: list[Any] = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[dim] = index
    return tuple(places)


def pick(x: Array, dim: int, index: Positions) -> Any:
    """Return the elements of ``gather``; a number is at all positions."""
    return x[gather_key(x.shape, dim, index)] if x.ndim else np.full(index.shape, x)[()]


def drop(g: Array, shape: Shape, dim: int, index: Positions) -> Any:
    """Return zeros of a shape to which ``g`` is added at the positions of ``gather``, its adjoint."""
    out = np.zeros(shape, g.dtype)
    add_at(out, gather_key(shape, dim, index) if shape else (), g if shape else np.sum(g))  # a number is at all positions
    return out[()]


def slices_at(dim: int, index: Positions) -> tuple[Any, ...]:
    """Return the NumPy index of slices at positions along a dimension, which counts from the front."""
    return (*(slice(None),) * dim, index)


def checked_slices(name: str, shape: Shape, dim: int, index: Positions) -> tuple[int, Any]:
    """Return the dimension, from the front, and the positions as a vector; wrong ones are an error of the function ``name``."""
    at = dimension(dim, len(shape))
    if index.ndim > 1:
        raise IndexOutOfRange(f"{name}(): Index is supposed to be a vector")
    check_positions(index, shape[at] if shape else 1, "index out of range in self")
    return at, index.reshape(-1)  # a number is one position


def slices_of(name: str, shape: Shape, dim: int, index: Positions) -> tuple[Any, ...]:
    """Return the NumPy index of slices along a dimension, after a check; see ``checked_slices``."""
    return slices_at(*checked_slices(name, shape, dim, index))


def take(x: Array, index: Positions) -> Any:
    """Return the elements at positions in the flattened array, which may be negative."""
    message = f"out of range: tried to access index {{}} on a tensor of {x.size} elements."
    check_positions(index, x.size, message, negative=True)
    return x.reshape(-1)[index]


def fill(x: Array, value: Array, mask: Mask) -> Any:
    filled: Any = np.where(mask, value, x)
    return filled[()]


def put(x: Array, source: Array, key: Key, accumulate: bool) -> Any:
    """Return a copy of x with ``source`` at the places of a NumPy index, or with ``source`` added there if ``accumulate``."""
    out = np.array(x)
    if accumulate:
        add_at(out, key, source)
    else:
        out[key] = source
    return out[()]


def size_of(shape: Shape) -> int:
    return int(np.prod(shape))


def is_place(shape: Shape, dim: int, index: int) -> bool:
    """Return whether a position, which may count from the end, exists along a dimension; a number has none."""
    return bool(shape) and -shape[dimension(dim, len(shape))] <= index < shape[dim]


def searched(sequence: Array, values: Array, right: bool) -> Any:
    """Return where values are to be inserted into sorted rows: after equal elements if ``right``, else before them."""
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
    return np.stack([np.searchsorted(row, targets, side) for row, targets in rows]).reshape(values.shape)


def counts(x: Array, weights: Array | None, minlength: int) -> Any:
    """Return how often each whole number from 0 occurs, or the sum of its weights; at least ``minlength`` numbers."""
    x = whole_as_integers(x)
    if x.ndim != 1 or x.dtype.kind not in "iub" or (x.size and x.min() < 0):
        raise GraphError("bincount only supports 1-d non-negative integral inputs.")
    return np.bincount(x, weights, minlength)


def set_of(x: Array, part: str, dim: int | None) -> Any:
    """Return the ``part`` 'values', 'inverse' or 'counts' of the sorted different elements, or of slices along a dimension."""
    flat = x.reshape(-1) if dim is None else x
    at: Any = None if dim is None else dimension(dim, x.ndim)
    result = np.unique(flat, return_inverse=True, return_counts=True, axis=at)[_PARTS[part]]
    if part != "inverse":
        return result
    return result.reshape(x.shape if dim is None else -1)


def runs_of(x: Array, part: str, dim: int | None) -> Any:
    """Return the ``part`` 'values', 'inverse' or 'counts' of the runs of equal elements, or of equal slices along a dimension."""
    rows = x.reshape(-1) if dim is None else np.moveaxis(x, dimension(dim, x.ndim), 0)
    flat = rows.reshape(len(rows), -1)
    first = np.ones(len(rows), np.bool_)
    first[1:] = np.any(flat[1:] != flat[:-1], 1)
    if part == "values":
        return rows[first] if dim is None else np.moveaxis(rows[first], 0, dimension(dim, x.ndim))
    run = np.cumsum(first) - 1  # the number of the run of each row
    if part == "counts":
        return np.bincount(run, minlength=int(first.sum()))
    return run.reshape(x.shape) if dim is None else run


def places_at(shape: Shape, key: Key) -> Positions:
    """Return the positions in the flattened tensor of the elements at a key."""
    return np.arange(int(np.prod(shape))).reshape(shape)[key]


def range_along(shape: Shape, dim: int, start: int | None, end: int | None, step: int) -> Key:
    """Return the index of every ``step``-th slice along a dimension from start to before end; ``None`` leaves out a bound."""
    return key_along(shape, dim, slice(start, end, step))


def put_masked(x: Array, source: Array, mask: Mask) -> Any:
    """Return a copy of x with the first elements of ``source`` where the mask is true."""
    out = np.array(x)
    count = int(np.count_nonzero(mask))
    if source.size < count:
        raise GraphError(
            f"masked_scatter: expected self and source to have same dtypes and source to have at least {count} elements, "
            f"but it has {source.size}"
        )
    out[mask] = source.reshape(-1)[:count]
    return out[()]


def reduced(x: Array, src: Array, dim: int, index: Positions, reduce: str, include_self: bool) -> Any:
    """Return x with the extreme or product (``reduce``) of the elements of ``src`` at each place, and of x if ``include_self``."""
    ufunc: Any = {"amax": np.maximum, "amin": np.minimum, "prod": np.multiply}[reduce]
    out = np.array(x)
    key = gather_key(x.shape, dim, index) if x.ndim else ()
    if not include_self:
        out[key] = {"amax": -np.inf, "amin": np.inf, "prod": 1}[reduce]
    ufunc.at(out, key, src)
    return out[()]


def first_key(mask: Mask) -> tuple[slice]:
    """Return the NumPy index of as many first elements as a mask selects."""
    return (slice(0, int(np.count_nonzero(mask))),)


def extreme_shares(x: Value, src: Value, out: Value, dim: int, index: Positions, include_self: bool) -> tuple[Any, Any, Any]:
    """Return where x, and where src, equals the extreme ``out``, and the number of equal elements at each place, at least 1.

    The arguments ``dim``, ``index`` and ``include_self`` are those of ``scatter_reduce``.
    """
    written = gather_key(tuple(x.shape), dim, index)
    is_written = np.zeros(tuple(x.shape), np.bool_)
    is_written[written] = True
    is_extreme_x = (array_of(x) == array_of(out)) & (include_self | ~is_written)
    is_extreme_src = array_of(src) == array_of(out)[written]
    count = is_extreme_x.astype(np.float64)
    add_at(count, written, is_extreme_src.astype(np.float64))
    return is_extreme_x, is_extreme_src, np.maximum(count, 1).astype(array_of(x).dtype)


def zero_elements(src: Value) -> Any:
    return array_of(src) == 0


def zeros_at(src: Value, shape: Shape, dim: int, index: Positions) -> Any:
    """Return the number of elements that are 0 at the place of each element of src."""
    count = np.zeros(shape, np.int64)
    key = gather_key(shape, dim, index)
    add_at(count, key, zero_elements(src).astype(np.int64))
    return count[key]
