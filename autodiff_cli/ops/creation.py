"""Functions that create tensors; ``grammar/rules/creation.rules`` describes those without a docstring."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import numpy as np

from autodiff_cli.autograd.dtypes import TYPES, Array, DType, DTypeLike, as_dtype, default_type, torch_type
from autodiff_cli.autograd.modes import is_recording
from autodiff_cli.autograd.primitives.argument_kinds import whole_numbers
from autodiff_cli.autograd.primitives.types import Data, Number, Shape, Value, Wholes
from autodiff_cli.autograd.tensor import NO_GRADIENTS, Tensor, add_methods, new_tensor, tensor_on
from autodiff_cli.errors import ArgumentError, DtypeError, LimitError
from autodiff_cli.limits import check_size
from autodiff_cli.ops.casts import DeviceLike, check_device, to
from autodiff_cli.ops.rules.creation import declare

__all__ = [
    "arange", "as_tensor", "asarray", "empty", "empty_like", "eye", "from_numpy", "full", "full_like",
    "is_tensor", "linspace", "logspace", "ones", "ones_like", "tensor", "tril_indices", "triu_indices",
    "zeros", "zeros_like",
]  # fmt: skip


def shape_of(name: str, size: tuple[Any, ...]) -> Shape:
    """Return a shape that was given as separate lengths or as one list, after a check of its size."""
    shape = whole_numbers(name, "size", size)
    for length in shape:
        if length < 0:
            raise ArgumentError(f"a length cannot be negative: {length}")
    check_size(shape)
    return shape


class Options(TypedDict, total=False):
    """The keywords of a function that creates a tensor."""

    dtype: DTypeLike | None
    requires_grad: bool
    device: DeviceLike
    layout: object
    memory_format: object


def leaf_of(name: str, data: Array, options: Options) -> Tensor:
    """Return a new leaf with an array, which has its type already; ``name`` is the function that was given the options."""
    for option in options:
        if option not in Options.__annotations__:
            raise ArgumentError(f"{name} has no parameter '{option}'", hint="it has dtype, device and requires_grad")
    check_device(options.get("device"))
    result = tensor_on(data[()] if data.ndim == 0 else data)
    if options.get("requires_grad", False):
        if data.dtype.kind != "f":
            raise DtypeError(NO_GRADIENTS)
        result._requires_grad = True
    return result


def _dtype_of(options: Options) -> DType:
    """Return the type that options name, or the default type."""
    dtype = options.get("dtype")
    return default_type() if dtype is None else as_dtype(dtype)


def tensor(data: Data, *, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """Return a new leaf that holds a copy of ``data``: a number, nested lists of numbers, or an array."""
    check_device(device)
    if isinstance(data, (list, tuple)) and any(isinstance(each, Tensor) for each in data):
        data = [_element_of(each) if isinstance(each, Tensor) else each for each in data]  # tensors of one element as numbers
    return new_tensor(data, requires_grad, dtype)


def _element_of(x: Tensor) -> Any:
    """Return the only element of a tensor in a list, with PyTorch's warning if it requires grad; other tensors are unchanged."""
    if x.numel() != 1:
        return x
    if x.requires_grad and is_recording():
        warnings.warn(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
            "tensor.detach() first.",
            stacklevel=3,
        )
    return x._data.reshape(())[()]


def as_tensor(data: Data, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """Return ``data`` itself if it is a tensor of this type, and another tensor after ``to``; else return a new tensor.

    If ``data`` is a NumPy array of this type, the new tensor shares its memory.
    """
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else to(data, dtype)
    if isinstance(data, np.ndarray) and data.dtype in TYPES and (dtype is None or data.dtype == as_dtype(dtype)):
        return tensor_on(data)
    return new_tensor(data, False, dtype)


def asarray(data: Data, *, dtype: DTypeLike | None = None, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """Return ``as_tensor(data)``, or with ``copy`` a new tensor; ``None`` and false share the memory where possible."""
    return new_tensor(data, False, dtype) if copy else as_tensor(data, dtype, device)


@declare.described
def zeros(*size: Wholes, **options: Unpack[Options]) -> Tensor:
    return leaf_of("zeros", np.zeros(shape_of("zeros", size), _dtype_of(options)), options)


@declare.described
def ones(*size: Wholes, **options: Unpack[Options]) -> Tensor:
    return leaf_of("ones", np.ones(shape_of("ones", size), _dtype_of(options)), options)


@declare.described
def full(size: Wholes, fill_value: Number, **options: Unpack[Options]) -> Tensor:
    shape = shape_of("full", (size if isinstance(size, (list, tuple)) else (size,),))
    has_type = options.get("dtype") is not None or isinstance(fill_value, float)  # else the type is that of the fill value
    return leaf_of("full", np.full(shape, fill_value, _dtype_of(options) if has_type else None), options)


@declare.described
def eye(n: int, m: int | None = None, **options: Unpack[Options]) -> Tensor:
    rows, columns = shape_of("eye", (n, n if m is None else m))
    return leaf_of("eye", np.eye(rows, columns, dtype=_dtype_of(options)), options)


@declare.described
def arange(start: Number, end: Number | None = None, step: Number = 1, **options: Unpack[Options]) -> Tensor:
    """Numbers from start to before end with a distance of step; a single bound is the end."""
    if end is None:
        start, end = 0, start
    if step == 0:
        raise ArgumentError("the step of arange cannot be zero")
    count = (end - start) / step
    if math.isnan(count):
        raise ArgumentError("the bounds of arange cannot be nan")
    if math.isinf(count):
        raise LimitError("arange would contain infinitely many numbers", hint="use finite bounds, and a step that is not too small")
    check_size((math.ceil(count),))
    if count <= 0:  # no numbers
        end = start
    has_type = options.get("dtype") is not None or any(isinstance(v, float) for v in (start, end, step))
    numbers: Any = np.arange
    return leaf_of("arange", numbers(start, end, step, _dtype_of(options) if has_type else None), options)


@declare.described
def linspace(start: Number, end: Number, steps: int, **options: Unpack[Options]) -> Tensor:
    """Numbers at equal distances from start to end, both included."""
    (steps,) = shape_of("linspace", (steps,))
    wanted = _dtype_of(options)
    if wanted.kind == "f":
        return leaf_of("linspace", np.linspace(float(start), float(end), steps, dtype=wanted), options)
    # As in PyTorch, both halves are computed from their ends, and integers are rounded toward zero.
    step, count = (float(end) - float(start)) / max(steps - 1, 1), np.arange(steps)
    numbers = np.where(count < max(steps // 2, 1), start + step * count, end - step * (steps - 1 - count))
    return leaf_of("linspace", numbers.astype(wanted), options)


@declare.described
def logspace(start: Number, end: Number, steps: int, base: Number = 10.0, **options: Unpack[Options]) -> Tensor:
    (steps,) = shape_of("logspace", (steps,))
    with np.errstate(all="ignore"):
        powers = np.float64(base) ** np.linspace(float(start), float(end), steps)
    return leaf_of("logspace", powers.astype(_dtype_of(options)), options)


@declare.described
def tril_indices(row: int, col: int, offset: int = 0, **options: Unpack[Options]) -> Tensor:
    return _triangle_positions("tril_indices", row, col, lambda i, j: j - i <= offset, options)


@declare.described
def triu_indices(row: int, col: int, offset: int = 0, **options: Unpack[Options]) -> Tensor:
    return _triangle_positions("triu_indices", row, col, lambda i, j: j - i >= offset, options)


def _triangle_positions(name: str, row: int, col: int, inside: Callable[..., Any], options: Options) -> Tensor:
    """Return the rows and the columns (in two rows, int64 by default) of the elements that satisfy ``inside(row, column)``."""
    i, j = np.ogrid[tuple(slice(length) for length in shape_of(name, (row, col)))]
    dtype = options.get("dtype")
    return leaf_of(name, np.stack(np.nonzero(inside(i, j))).astype(np.int64 if dtype is None else as_dtype(dtype)), options)


def empty(*size: Wholes, **options: Unpack[Options]) -> Tensor:
    """Return a tensor of zeros with the given shape; PyTorch leaves the elements uninitialized."""
    return zeros(*size, **options)  # type: ignore[no-any-return]


def _filled_like(make: Callable[..., Tensor], x: Tensor, options: Options, *values: Number) -> Tensor:
    """Create a tensor with the shape of ``x``, and with its type unless the options name one; ``values`` may be the fill value."""
    options["dtype"] = x.dtype if options.get("dtype") is None else options["dtype"]
    if hasattr(x, "physical"):  # a batched tensor of vmap: the result has one value for each example, for in-place changes
        options.pop("requires_grad", None)
        return x.batch.wrap(make(x.physical.shape, *values, **options))  # type: ignore[no-any-return]
    return make(x.shape, *values, **options)


def full_like(x: Tensor, fill_value: Number, **options: Unpack[Options]) -> Tensor:
    """Return a tensor with the shape and type of ``x``, filled with one value."""
    return _filled_like(full, x, options, fill_value)


def empty_like(x: Tensor, **options: Unpack[Options]) -> Tensor:
    """Return a tensor of zeros with the shape and type of ``x``; see ``empty``."""
    return _filled_like(zeros, x, options)


def from_numpy(array: Array) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError("from_numpy takes a NumPy array", hint="use tensor([1, 2]) to convert a list")
    torch_type(array.dtype)
    return tensor_on(array)


def is_tensor(thing: object) -> bool:
    """Return whether an object is a tensor."""
    return isinstance(thing, Tensor)


def _method_with_own_type(name: str) -> Any:
    """Return the method that calls a creating function with the type of the tensor."""
    make = globals()[name]

    def method(self: Tensor, *args: Any, dtype: DTypeLike | None = None, **options: Any) -> Tensor:
        result: Tensor = make(*args, dtype=self._data.dtype if dtype is None else dtype, **options)
        return result

    method.__doc__ = f"Call ``{name}`` with the type of this tensor."
    return method


for _name in ("tensor", "zeros", "ones", "full", "empty"):
    add_methods(**{f"new_{_name}": _method_with_own_type(_name)})


@declare.described
def zeros_like(x: Value, **options: Unpack[Options]) -> Any:
    return _filled_like(zeros, x, options) if isinstance(x, Tensor) else np.zeros_like(x)[()]


@declare.described
def ones_like(x: Value, **options: Unpack[Options]) -> Any:
    return _filled_like(ones, x, options) if isinstance(x, Tensor) else np.ones_like(x)[()]
