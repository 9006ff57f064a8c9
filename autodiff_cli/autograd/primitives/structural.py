"""The primitives that move, select, repeat and add elements, which the backward pass itself uses.

``sum_to`` and ``expanded`` are adjoint to each other, as are indexing and ``unindexed``.  The VJP rule of an operation that
broadcasts its input returns the cotangent unchanged: the backward pass sums it to the shape of the input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.modes import inference_mode
from autodiff_cli.autograd.node import Edge
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.types import Dims, Key, Shape, Value
from autodiff_cli.autograd.tensor import Tensor, tensor_on, zeros_on
from autodiff_cli.autograd.views_and_versions import View, adopt, renew_views
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.limits import check_elements

declare = Declarations(__name__)


def dimension(dim: float, ndim: int) -> int:
    """Return a dimension counted from the front, a whole number in the range of ``ndim``; -1 means the last dimension."""
    if isinstance(dim, float) and dim.is_integer():
        dim = int(dim)
    if not isinstance(dim, (int, np.integer)):
        raise ArgumentError(f"a dimension must be a whole number, not {dim!r}")
    reach = max(ndim, 1)  # a scalar has the dimensions 0 and -1
    if not -reach <= dim < reach:
        raise IndexOutOfRange(f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {dim})")
    return int(dim) % reach


def dimensions(dim: Dims, ndim: int) -> Shape:
    """Return the dimensions that ``dim`` specifies, from the front: all for ``None`` and for an empty list, none of a scalar."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(ndim))
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    chosen = tuple(dimension(d, ndim) for d in dims)
    for d in chosen:
        if chosen.count(d) > 1:
            raise ShapeError(f"dim {d} appears multiple times in the list of dims")
    return chosen if ndim else ()


def kept_shape(shape: Shape, dim: Dims) -> Shape:
    """Return ``shape`` with length 1 along the reduced dimensions."""
    reduced = dimensions(dim, len(shape))
    return tuple(1 if i in reduced else n for i, n in enumerate(shape))


def summed(x: Array, shape: Shape) -> Any:
    """Sum an array to the shape that was broadcast to its shape, the adjoint of broadcasting; any other raises ShapeError."""
    extra = len(x.shape) - len(shape)
    if extra > 0 and x.shape[extra:] == shape:  # the usual case: only leading dimensions are summed
        return np.add.reduce(x, axis=0 if extra == 1 else tuple(range(extra)))
    if extra < 0 or any(n != m and n != 1 for n, m in zip(shape, x.shape[extra:], strict=True)):
        raise ShapeError(f"expected a gradient of shape {list(shape)}, but got shape {list(x.shape)}")
    axes = tuple(range(extra)) + tuple(extra + i for i, (n, m) in enumerate(zip(shape, x.shape[extra:], strict=True)) if n != m)
    return np.add.reduce(x, axis=axes, keepdims=True).reshape(shape)[()] if axes else x.reshape(shape)


def _broadcast_scalar(x: Array, shape: Shape) -> Array:
    """Return ``np.broadcast_to(x, shape)`` for a 0-d array, in a third of the time unless the elements are Python objects."""
    if x.dtype.kind == "O":
        return np.broadcast_to(x, shape)
    result: Array = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))  # from byte 0 on, strides of 0 bytes
    result.flags.writeable = False
    return result


def _expand(x: Array, shape: Shape) -> Array:
    """Return a view in a larger shape, in which -1 keeps a length; a shape that does not fit raises PyTorch's ShapeError."""
    x = np.asarray(x)
    if x.ndim == 0 and shape and min(shape) > 0:
        check_elements(shape)
        return _broadcast_scalar(x, shape) if max(shape) > 1 else x.reshape(shape)
    lead = len(shape) - x.ndim  # the number of new dimensions, which come first
    whole = tuple(int(x.shape[i - lead] if n == -1 and i >= lead else n) for i, n in enumerate(shape))
    if lead < 0:
        raise ShapeError(
            f"expand: the number of sizes provided ({len(shape)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({x.ndim})"
        )
    for i in reversed(range(x.ndim)):
        n, m = x.shape[i], whole[lead + i]
        if n not in (m, 1):
            raise ShapeError(
                f"The expanded size of the tensor ({m}) must match the existing size ({n}) at non-singleton dimension {lead + i}.  "
                f"Target sizes: {list(shape)}.  Tensor sizes: {list(x.shape)}"
            )
    check_elements(whole)
    # If no element is repeated, the result is writable.
    return x.reshape(whole) if x.size == math.prod(whole) else np.broadcast_to(x, whole)


sum_to: TensorFunction = declare(
    "sum_to",
    summed,
    {"x": lambda g, x_shape: expanded(g, x_shape)},
    series="linear",
    node="SumBackward1",
    statics={"shape": ()},
    public=False,
)
expanded: TensorFunction = declare(
    "expand", _expand, {"x": lambda g: g}, series="linear", statics={"shape": ()}, public=False, view=True
)

cast = declare(
    "to",
    lambda x, dtype: x.astype(dtype),
    {"x": lambda g: g},
    series="linear",
    node="ToCopyBackward0",
    statics={"dtype": None},
    public=False,
    elementwise=True,
    decomposition="x",
)

copied = declare(
    "copied",
    lambda x: np.array(x)[()],
    {"x": lambda g: g},
    series="linear",
    node="CopyBackwards",
    public=False,
    elementwise=True,
    decomposition="x",
)
"""A copy in memory of its own."""


def _reshape(x: Array, shape: Shape) -> Array:
    """Return ``np.reshape(x, shape)``; the error for a shape that does not fit has PyTorch's message."""
    try:
        return np.reshape(x, shape)
    except ValueError:
        raise ShapeError(
            f"shape '{list(shape)}' is invalid for input of size {np.size(x)}", hint=f"the shape is {list(np.shape(x))}"
        ) from None


reshaped: TensorFunction = declare(
    "reshape",
    _reshape,
    {"x": lambda g, x_shape: reshaped(g, x_shape)},
    series="linear",
    node="ViewBackward0",
    statics={"shape": ()},
    public=False,
    view=True,
)


# Selecting


def zeros_of(value: Value) -> Any:
    """Return zeros with the shape and the type of a tensor, as a tensor, or of an array."""
    return zeros_on(value.shape, value) if isinstance(value, Tensor) else np.zeros_like(value)[()]


def _where(condition: Array, x: Array, y: Array) -> Array:
    """Return ``np.where(condition, x, y)``, for scalars in a tenth of the time."""
    if np.ndim(condition) == 0 and np.ndim(x) == 0 and np.ndim(y) == 0:
        branch = x if condition else y
        dtype = np.result_type(x, y)  # does not depend on the branch
        return branch if type(branch) is dtype.type else dtype.type(branch)
    return np.where(condition, x, y)


where: TensorFunction = declare(
    "where",
    _where,
    {
        "condition": None,
        "x": lambda g, condition: where(condition, g, 0.0),
        "y": lambda g, condition: where(condition, 0.0, g),
    },
    elementwise=True,
    selects=True,
    series="linear",
    public=False,
)


def add_at(out: Array, key: Key, values: Array) -> None:
    """Add values in place at an index; all values at a repeated position are added."""
    index: Any = key  # NumPy's type annotations do not include indices that combine slices and positions
    np.add.at(out, index, values)


def _scatter_to_zeros(g: Array, shape: Shape, key: Key) -> Array:
    """Add elements at an index of an array of zeros; the adjoint of indexing."""
    out = np.zeros(shape, g.dtype)
    if all(isinstance(k, (int, slice, type(None), type(Ellipsis))) for k in key):  # no position is repeated
        out[key] = g
    else:
        add_at(out, key, g)
    return out


unindexed: TensorFunction = declare(
    "unindex",
    _scatter_to_zeros,
    {"x": lambda g, key: index_key(g, key)},
    series="linear",
    node="IndexPutBackward0",
    statics={"shape": (), "key": ()},
    public=False,
)


def _indexing(name: str, view: bool) -> TensorFunction:
    """Declare indexing by ``key``, a tuple of parts; the nodes are called after ``name``; ``view`` tells whether it makes views."""
    return declare(
        name,
        # The ellipsis makes the result a view even if it is a single number.
        (lambda x, key: x[(*key, ...)]) if name == "select" else (lambda x, key: x[key]),
        {"x": lambda g, x_shape, key: unindexed(g, x_shape, key)},
        series="linear",
        statics={"key": ()},
        public=False,
        selects=True,
        view=view,
    )


select_key = _indexing("select", view=True)
slice_key = _indexing("slice", view=True)
index_key: TensorFunction = _indexing("index", view=False)


# Joining


def _stack(arrays: Sequence[Array], dim: int) -> Array:
    """Return ``np.stack(arrays, dim)``; the errors have PyTorch's messages."""
    if any(a.shape != arrays[0].shape for a in arrays):
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        raise ShapeError(f"stack expects each tensor to be equal size, but got {shapes}")
    return np.stack(arrays, dimension(dim, arrays[0].ndim + 1))


stack = declare.sequence(
    "stack",
    _stack,
    lambda g, i, shapes, dim: select_key(g, (*(slice(None),) * dimension(dim, len(shapes[i]) + 1), i)),
    series="linear",
    node="StackBackward0",
    statics={"dim": 0},
    kinds={"dim": DIMENSION},
    public=False,
)


def writable(array: Array) -> Array:
    """Return a view of the same elements that can be changed, if the memory can be changed; a broadcast view is read-only."""
    return strided(array, array.shape, array.strides)


def strided(array: Array, shape: Shape, strides: Shape) -> Array:
    """Return a view from the first element of an array on, with strides in bytes; its base is the owner if that is writable."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not owner.flags.writeable or not owner.flags.forc:
        return np.lib.stride_tricks.as_strided(array, shape, strides) if shape != array.shape else array  # a read-only view
    # The data pointers are addresses in bytes.  The buffer must be in row-major order, as the transpose of a Fortran array is.
    offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(shape, array.dtype, owner if owner.flags.c_contiguous else owner.T, offset, strides)


def _positions(array: Array, view: View) -> Any:
    """Return the positions of the elements of a view in the flattened array, by viewing the numbers 0, 1, 2, ... in its shape."""
    return view.applied_to(np.arange(array.size).reshape(array.shape))


def _copy_slices(x: Array, value: Array, view: View) -> Array:
    """Return a copy of an array in which the elements of a view are replaced by other values."""
    out = np.array(x)
    region = view.applied_to(out)
    if np.may_share_memory(out, region):
        region = region if region.flags.writeable else writable(region)
        region[...] = value
    else:  # the view function returned a copy
        out.reshape(-1)[_positions(out, view)] = value
    return out


copy_slices: TensorFunction = declare(
    "copy_slices",
    _copy_slices,
    {
        "x": lambda g, view, value_shape: copy_slices(g, np.zeros(value_shape), view),
        "value": lambda g, view: view.applied_to(g),
    },
    node="CopySlices",
    statics={"view": None},
    public=False,
)


def _as_strided_back(g: Array, shape: Shape, view: View) -> Array:
    """Add the elements of a view to their positions in an array of zeros; the adjoint of the view."""
    out = np.zeros(shape, g.dtype)
    region = view.applied_to(out)
    if region.flags.writeable and np.may_share_memory(out, region):
        region[...] = g
    else:  # a position may occur several times
        np.add.at(out.reshape(-1), _positions(out, view), g)
    return out


_as_strided_backward: TensorFunction = declare(
    "as_strided_backward",
    _as_strided_back,
    {"x": lambda g, view: view.applied_to(g)},
    statics={"shape": (), "view": None},
    public=False,
)
as_strided: TensorFunction = declare(
    "as_strided",
    lambda x, view: view.applied_to(x),
    {"x": lambda g, x_shape, view: _as_strided_backward(g, x_shape, view)},
    selects=True,
    statics={"view": None},
    public=False,
)
"""The elements of a view, with one node for all steps of the view."""


def rebase_history(tensor: Tensor, result: Tensor) -> None:
    """Give a tensor that was changed in place the history of ``result``, that of the same operation out of place.

    The tensor may be a view; the histories of all views that share its memory are derived again.
    """
    source = tensor
    view = None if tensor._extra is None else tensor._extra.view
    if view is not None and result._requires_grad:
        source = view.source  # the view gets its history from the source, in which copy_slices replaces its elements
        before = tensor_on(source._data, source._edge)
        before._requires_grad = source._requires_grad
        result = copy_slices(before, result, view)
    adopt(source, result._edge, result._requires_grad)
    renew_views(source)


def edge_from_source(view: View) -> Edge | None:
    """Record the steps of a view on its source, and return the edge of the result."""
    with inference_mode(False):
        return as_strided(view.source, view)._edge  # type: ignore[no-any-return]


def largest(x: Any, dim: int) -> Any:
    """Return the largest elements along a dimension as an array, which is constant for derivatives."""
    return np.max(x._data, axis=dimension(dim, x.ndim) if x.ndim else None, keepdims=True)
