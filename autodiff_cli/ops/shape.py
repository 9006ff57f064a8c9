"""Shapes: reshaping, transposing, indexing, joining.

``sum_to`` and ``expand`` are adjoint to each other, and so are indexing and ``unindex``.  The VJP rule of an operation that
broadcasts its input returns the cotangent as it is: the backward pass sums it to the shape of the input.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, as_dtype, promote
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.kinds import DIMENSION, WHOLES, optional, shown, takes, whole_numbers
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import (
    cast,
    dimension,
    expanded,
    index_key,
    reshaped,
    select_key,
    slice_key,
    stack,
)
from autodiff_cli.autograd.primitives.values import Dims, DTypeLike, Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError, type_name
from autodiff_cli.limits import check_size

__all__ = [
    "cat",
    "clone",
    "expand",
    "flatten",
    "permute",
    "reshape",
    "squeeze",
    "stack",
    "t",
    "transpose",
    "unsqueeze",
    "view",
]

declare = Declarations(__name__)


def broadcast_shape(name: str, *shapes: Shape) -> Shape:
    """Return the common shape of several after broadcasting.

    Raises:
        ShapeError: if they do not broadcast with each other.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"{name}: shapes {' and '.join(str(list(shape)) for shape in shapes)} do not broadcast") from None


def to(x: Value, dtype: DTypeLike) -> Tensor:
    """Return ``x`` with elements of another type, and ``x`` itself if it has that type."""
    dtype = as_dtype(dtype)
    if isinstance(x, Tensor) and x.dtype is dtype:
        return x
    # Only floating-point numbers carry gradients.
    made: Tensor = cast(x.detach() if isinstance(x, Tensor) and dtype.kind != "f" else x, dtype)
    return made


for _name, _dtype in (("double", "float64"), ("float", "float32"), ("long", "int64"), ("bool", "bool")):
    setattr(Tensor, _name, lambda self, _dtype=_dtype: to(self, _dtype))
setattr(Tensor, "to", to)  # noqa: B010
setattr(Tensor, "type_as", lambda self, other: to(self, other.dtype))  # noqa: B010


def expand(x: Value, *shape: Wholes) -> Any:
    """x broadcast to a shape; -1 keeps a length."""
    return expanded(x, whole_numbers("expand", "shape", shape))


describe(expand, parameters=("x", "shape"), tensors=("x",), kinds={"shape": WHOLES}, spread=True, samples=(([1.0, 2.0], [3, 2]),))


def reshape(x: Value, *shape: Wholes) -> Any:
    """The elements of x in another shape; a length of -1 is computed from the others."""
    return reshaped(x, whole_numbers("reshape", "shape", shape))


def view(x: Value, *shape: Wholes) -> Any:
    """The elements of x in another shape, sharing its memory; a length of -1 is computed from the others."""
    made = reshape(x, *shape)
    if isinstance(x, Tensor) and x.numel() and not np.may_share_memory(made._data, x._data):
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return made


describe(
    view,
    parameters=("x", "shape"),
    tensors=("x",),
    kinds={"shape": WHOLES},
    spread=True,
    formula="reshape(g, shape of x)",
    samples=(([[1.0, 2.0]], [2]),),
)
describe(
    reshape,
    parameters=("x", "shape"),
    tensors=("x",),
    kinds={"shape": WHOLES},
    spread=True,
    formula="reshape(g, shape of x)",
    samples=(([[1.0, 2.0], [3.0, 4.0]], [4]),),
)


@takes(start_dim=DIMENSION, end_dim=DIMENSION)
def flatten(x: Value, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The dimensions from ``start_dim`` to ``end_dim`` merged into one."""
    ndim = len(x.shape)
    first, last = dimension(start_dim, ndim), dimension(end_dim, ndim)
    if ndim == 1:
        return x
    if first > last:
        raise ArgumentError("flatten() has invalid args: start_dim cannot come after end_dim")
    return reshaped(x, (*x.shape[:first], -1, *x.shape[last + 1 :]))


describe(flatten, tensors=("x",), samples=(([[1.0, 2.0], [3.0, 4.0]],),))


def _inverse(dims: Sequence[int], ndim: int) -> Shape:
    order = [dimension(d, ndim) for d in dims]
    inverse = [0] * len(order)
    for position, d in enumerate(order):
        inverse[d] = position
    return tuple(inverse)


def _permute(x: Array, dims: Sequence[int]) -> Any:
    order = tuple(dimension(d, x.ndim) for d in dims)
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"permute: dims {list(dims)} do not name each of the {x.ndim} dimensions once")
    return np.transpose(x, order)


def _permute_back(g: Value, dims: Sequence[int]) -> Any:
    return permuted(g, _inverse(dims, len(dims)))


permuted = declare(
    "permute",
    _permute,
    {"x": _permute_back},
    series="linear",
    statics={"dims": ()},
    public=False,
    view=True,
)


def permute(x: Value, *dims: Wholes) -> Any:
    """The dimensions of x in another order."""
    return permuted(x, whole_numbers("permute", "dims", dims))


describe(
    permute,
    parameters=("x", "dims"),
    tensors=("x",),
    kinds={"dims": WHOLES},
    spread=True,
    samples=(([[1.0, 2.0], [3.0, 4.0]], [1, 0]),),
)


def _swapped(x: Array, dim0: int, dim1: int) -> Any:
    return x[...] if dim0 == dim1 else np.swapaxes(x, dim0, dim1)


transpose: TensorFunction = declare(
    "transpose",
    lambda x, dim0, dim1: _swapped(x, dimension(dim0, x.ndim), dimension(dim1, x.ndim)),
    {"x": lambda g, dim0, dim1: transpose(g, dim0, dim1)},
    series="linear",
    statics={"dim0": -2, "dim1": -1},
    kinds={"dim0": DIMENSION, "dim1": DIMENSION},
    view=True,
    aliases=("swapaxes", "swapdims"),
    summary="x with two dimensions exchanged",
    formula="transpose(g)",
    samples=(([[1.0, 2.0], [3.0, 4.0]], 0, 1),),
)


def _matrix_transpose(x: Array) -> Any:
    if x.ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D", hint="use transpose(x, i, j)")
    return x.T


t: TensorFunction = declare(
    "t",
    _matrix_transpose,
    {"x": lambda g: t(g)},
    series="linear",
    node="TBackward0",
    view=True,
    summary="transpose of a matrix",
    samples=(([[1.0, 2.0], [3.0, 4.0]],),),
)


def _attribute_T(x: Array) -> Any:
    return permuted(x, tuple(reversed(range(len(x.shape)))))


Tensor.T = property(_attribute_T, doc="All dimensions in reverse order.")  # type: ignore[attr-defined]
Tensor.mT = property(lambda x: transpose(x), doc="The last two dimensions exchanged.")  # type: ignore[attr-defined]

_BACK = {"x": lambda g, x_shape: reshape(g, x_shape)}
unsqueeze = declare(
    "unsqueeze",
    lambda x, dim: np.expand_dims(x, dimension(dim, x.ndim + 1)),
    _BACK,
    series="linear",
    statics={"dim": 0},
    kinds={"dim": DIMENSION},
    view=True,
    summary="x with a new dimension of length 1 at position dim",
    samples=(([1.0, 2.0], 0),),
)


def _squeeze(x: Array, dim: int) -> Any:
    position = dimension(dim, x.ndim)
    return np.squeeze(x, position) if x.ndim and x.shape[position] == 1 else x


_squeeze_all = declare("squeeze", lambda x: np.squeeze(x), _BACK, series="linear", public=False, view=True)
_squeeze_one = declare(
    "squeeze", _squeeze, _BACK, series="linear", node="SqueezeBackward1", statics={"dim": 0}, public=False, view=True
)


@takes(dim=optional(DIMENSION))
def squeeze(x: Value, dim: Dims = None) -> Any:
    """x without dimensions of length 1: without all of them, or the one at position dim."""
    return _squeeze_all(x) if dim is None else _squeeze_one(x, dim)


describe(squeeze, tensors=("x",), samples=(([[1.0, 2.0]], 0), ([[1.0], [2.0]],)))
clone = declare(
    "clone", lambda x: x.copy(), {"x": lambda g: g}, series="linear", summary="copy of x", formula="g", samples=(([1.0, 2.0],),)
)

# Indexing.  As in PyTorch, whole numbers select, slices slice, tensors and lists of positions gather.


_alias = declare("alias", lambda x: x, {"x": lambda g: g}, series="linear", public=False, view=True)


def getitem(x: Value, key: object) -> Any:
    """Return elements by numbers, slices, ``None`` for a new dimension, ``...``, masks and lists of positions."""
    parts = key if isinstance(key, tuple) else (key,)
    parts = tuple(_index_part(part) for part in parts)
    taken = sum(
        part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else part is not None and part is not ...
        for part in parts
    )
    ndim = len(x.shape)
    if sum(part is ... for part in parts) > 1:
        raise IndexOutOfRange("an index can only have a single ellipsis ('...')")
    whole = len(parts) == 1 and parts[0] is not ...
    if taken > ndim:
        raise IndexOutOfRange(
            f"too many indices for tensor of dimension {ndim}", hint=f"{taken} were given for shape {list(x.shape)}"
        )
    if ... in [p for p in parts if not isinstance(p, np.ndarray)]:
        at = next(i for i, p in enumerate(parts) if p is ...)
        parts = (*parts[:at], *[slice(None)] * (ndim - taken), *parts[at + 1 :])
    result = x
    dim = 0
    gathered: list[Any] = []
    taken_so_far = 0
    for part in parts:
        if isinstance(part, np.ndarray):
            # As in PyTorch, gathering comes last, from what numbers and slices leave.
            gathered += [slice(None)] * (dim - taken_so_far) + [part]
            dim += part.ndim if part.dtype.kind == "b" else 1
            taken_so_far = dim
            continue
        before = (slice(None),) * dim
        if part is None:
            result = unsqueeze(result, dim)
            dim += 1
        elif isinstance(part, slice):
            if part.step is not None and part.step < 0:
                raise ArgumentError("step must be greater than zero", hint=f"flip(x, [{dim}]) reverses a dimension")
            # A full slice is skipped unless it is the whole key.
            if part != slice(None) or whole:
                result = slice_key(result, (*before, part))
            dim += 1
        else:
            length = result.shape[dim]
            if not -length <= part < length:
                raise IndexOutOfRange(
                    f"index {part} is out of bounds for dimension {dim} with size {length}",
                    hint=f"positions go from 0 to {length - 1}, or from -{length} to -1" if length else None,
                )
            result = select_key(result, (*before, part))
    if gathered:
        _check_gathered(result.shape, gathered)
        return index_key(result, tuple(gathered))
    return _alias(result) if result is x else result


def _check_gathered(shape: Shape, key: list[Any]) -> None:
    """Refuse an index whose result would exceed the limit on elements."""
    rest, at, taken = [], 0, []
    for part in key:
        if isinstance(part, slice):
            rest.append(shape[at])
            at += 1
        else:
            mask = part.dtype.kind == "b"
            taken.append((int(np.count_nonzero(part)),) if mask else part.shape)
            at += part.ndim if mask else 1
    with contextlib.suppress(ValueError):  # NumPy reports shapes that do not broadcast
        check_size((*np.broadcast_shapes(*taken), *rest, *shape[at:]))


def _index_part(part: object) -> Any:
    if part is None or part is ... or isinstance(part, (slice, int)):
        return _bool_mask(part) if isinstance(part, bool) else part
    if isinstance(part, Tensor):
        part = part._data
    elif isinstance(part, (float, str)):
        raise IndexOutOfRange(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type_name(part)})"
        )
    try:
        array = np.asarray(part)
    except (ValueError, TypeError):
        raise IndexOutOfRange(f"an index must be positions in the shape of a tensor, not {shown(part)}") from None
    if not array.size and array.ndim:
        array = array.astype(np.int64) if array.dtype.kind == "f" else array
    if array.dtype.kind not in "ib":
        raise IndexOutOfRange("tensors used as indices must be long, int, byte or bool tensors")
    return int(array) if array.ndim == 0 and array.dtype.kind == "i" else array


def _bool_mask(part: bool) -> Any:
    return np.asarray(part)


Tensor.__getitem__ = getitem  # type: ignore[method-assign]


def _piece(g: Value, i: int, shapes: Sequence[Shape], dim: int) -> Any:
    position = dimension(dim, len(shapes[i]))
    start = sum(shape[position] for shape in shapes[:i])
    return slice_key(g, (*(slice(None),) * position, slice(start, start + shapes[i][position])))


describe(
    stack,
    section="shape",
    summary="tensors of equal shape joined along a new dimension",
    samples=((1.0, 2.0),),
)


def _cat(arrays: Sequence[Array], dim: int) -> Any:
    common = arrays[0]
    for other in arrays[1:]:
        common = promote(common, other)[0] if common.dtype != other.dtype else common
    at = dimension(dim, common.ndim)
    for i, other in enumerate(arrays):
        if other.ndim != common.ndim:
            raise ShapeError(f"Tensors must have same number of dimensions: got {common.ndim} and {other.ndim}")
        for d in range(common.ndim):
            if d != at and other.shape[d] != common.shape[d]:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {common.shape[d]} but got size "
                    f"{other.shape[d]} for tensor number {i} in the list."
                )
    arrays = [a.astype(common.dtype, copy=False) for a in arrays]
    return np.concatenate(arrays, dimension(dim, arrays[0].ndim))


cat = declare.sequence(
    "cat",
    _cat,
    _piece,
    series="linear",
    node="CatBackward0",
    statics={"dim": 0},
    kinds={"dim": DIMENSION},
    aliases=("concat", "concatenate"),
    summary="tensors joined along an existing dimension",
    samples=(([1.0, 2.0], [3.0]),),
)
