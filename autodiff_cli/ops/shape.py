"""Operations on shapes: reshape, transpose, add and remove dimensions, and join tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from autodiff_cli.autograd.dtypes import Array, promote
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, TENSOR, WHOLES, optional, takes, whole_numbers
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import Registration, describe
from autodiff_cli.autograd.primitives.structural import (
    dimension,
    expanded,
    reshaped,
    slice_key,
    stack,
)
from autodiff_cli.autograd.primitives.types import Dims, Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, ShapeError

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
    """Return the common shape of several shapes after broadcasting.

    Raises:
        ShapeError: if the shapes do not broadcast.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"{name}: shapes {' and '.join(str(list(shape)) for shape in shapes)} do not broadcast") from None


def tensor_list(name: str, parameter: str, given: Sequence[Value | Sequence[Value]]) -> list[Any]:
    """Return a list of tensors that were given as separate arguments or as one list."""
    tensors = given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given
    return [TENSOR(tensor, name, parameter) for tensor in tensors]


def describe_spread(function: TensorFunction, **description: Unpack[Registration]) -> None:
    """Describe a function that takes a tensor, and whole numbers as separate arguments or as one list."""
    parameters = getattr(function, "__wrapped__", function).__code__.co_varnames[:2]
    description["spread"] = True
    describe(function, parameters=parameters, tensors=("x",), kinds={parameters[1]: WHOLES}, **description)


def expand(x: Value, *shape: Wholes) -> Any:
    """x broadcast to a shape; -1 keeps the length of a dimension."""
    return expanded(x, whole_numbers("expand", "shape", shape))


describe_spread(expand, samples=(([1.0, 2.0], [3, 2]),))


def reshape(x: Value, *given: Wholes, shape: Wholes = ()) -> Any:
    """The elements of x in another shape; a length of -1 is inferred from the other lengths."""
    return reshaped(x, whole_numbers("reshape", "shape", given or (shape,)))


def view(x: Value, *shape: Wholes) -> Any:
    """The elements of x in another shape, sharing the memory of x; a length of -1 is inferred from the other lengths."""
    made = reshape(x, *shape)
    if isinstance(x, Tensor) and isinstance(x._data, np.ndarray) and x.numel() and not np.may_share_memory(made._data, x._data):
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return made


describe_spread(view, formula="reshape(g, shape of x)", samples=(([[1.0, 2.0]], [2]),))
describe_spread(reshape, formula="reshape(g, shape of x)", samples=(([[1.0, 2.0], [3.0, 4.0]], [4]),))


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


describe(flatten, samples=(([[1.0, 2.0], [3.0, 4.0]],),))


def _permute(x: Array, dims: Sequence[int]) -> Any:
    order = tuple(dimension(d, x.ndim) for d in dims)
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"permute: dims {list(dims)} must contain each of the {x.ndim} dimensions once")
    return np.transpose(x, order)


def _permute_vjp(g: Value, dims: Sequence[int]) -> Any:
    order = [dimension(d, len(dims)) for d in dims]
    return permuted(g, tuple(sorted(range(len(order)), key=order.__getitem__)))


permuted: TensorFunction = declare(
    "permute",
    _permute,
    {"x": _permute_vjp},
    series="linear",
    statics={"dims": ()},
    public=False,
    view=True,
)


def permute(x: Value, *given: Wholes, dims: Wholes = ()) -> Any:
    """The dimensions of x in another order."""
    return permuted(x, whole_numbers("permute", "dims", given or (dims,)))


describe_spread(permute, samples=(([[1.0, 2.0], [3.0, 4.0]], [1, 0]),))


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


def _attribute_T(x: Tensor) -> Any:
    return permuted(x, tuple(reversed(range(len(x.shape)))))


Tensor.T = property(_attribute_T, doc="The tensor with all dimensions in reverse order.")  # type: ignore[attr-defined]
Tensor.mT = property(lambda x: transpose(x), doc="The tensor with its last two dimensions exchanged.")  # type: ignore[attr-defined]

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
    """x without its dimensions of length 1, or only without dimension dim if its length is 1."""
    return _squeeze_all(x) if dim is None else _squeeze_one(x, dim)


describe(squeeze, samples=(([[1.0, 2.0]], 0), ([[1.0], [2.0]],)))
clone = declare(
    "clone", lambda x: x.copy(), {"x": lambda g: g}, series="linear", summary="copy of x", formula="g", samples=(([1.0, 2.0],),)
)


_EMPTY = (0,)
"""The shape of a tensor that can be joined with tensors of any shape, as in PyTorch."""


def _piece(g: Value, i: int, shapes: Sequence[Shape], dim: int) -> Any:
    position = dimension(dim, len(g.shape))
    if shapes[i] == _EMPTY:
        return reshape(slice_key(g, (*(slice(None),) * position, slice(0, 0))), _EMPTY)
    start = sum(shape[position] for shape in shapes[:i] if shape != _EMPTY)
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
    joined = [(i, a) for i, a in enumerate(arrays) if a.shape != _EMPTY] or [*enumerate(arrays)]
    first = joined[0][1]
    at = dimension(dim, first.ndim)
    for i, other in joined:
        if other.ndim != first.ndim:
            raise ShapeError(f"Tensors must have same number of dimensions: got {first.ndim} and {other.ndim}")
        for d in range(first.ndim):
            if d != at and other.shape[d] != first.shape[d]:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {first.shape[d]} but got size "
                    f"{other.shape[d]} for tensor number {i} in the list."
                )
    return np.concatenate([a.astype(common.dtype, copy=False) for _, a in joined], at)


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
