"""Functions that create tensors: constants and ranges."""

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
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "is_tensor",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
]


def shape_of(name: str, size: tuple[Any, ...]) -> Shape:
    """Return a shape that was given as separate lengths or as one list, after a check of its size."""
    shape = whole_numbers(name, "size", size)
    for length in shape:
        if length < 0:
            raise ArgumentError(f"a length cannot be negative: {length}")
    check_size(shape)
    return shape


def leaf_of(data: Array, requires_grad: bool, device: DeviceLike = None) -> Tensor:
    """Return a new leaf with an array."""
    check_device(device)
    result = tensor_on(data[()] if data.ndim == 0 else data)
    if requires_grad:
        if data.dtype.kind != "f":
            raise DtypeError(NO_GRADIENTS)
        result._requires_grad = True
    return result


def _dtype_or_default(dtype: DTypeLike | None) -> DType:
    """Return a dtype; the default type if there is none."""
    return default_type() if dtype is None else as_dtype(dtype)


def tensor(data: Data, *, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """Return a new leaf that holds a copy of ``data``: a number, nested lists of numbers, or an array."""
    check_device(device)
    if isinstance(data, (list, tuple)) and any(isinstance(each, Tensor) for each in data):
        data = [_element_of(each) if isinstance(each, Tensor) else each for each in data]
    return new_tensor(data, requires_grad, dtype)


def _element_of(x: Tensor) -> Any:
    """Return the only element of a tensor in a list, as PyTorch does; a tensor with several elements is unchanged."""
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
    """Return ``data`` itself if it is a tensor of this type, else a new tensor.

    If ``data`` is a NumPy array of this type, the new tensor shares its memory.
    """
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else to(data, dtype)
    if isinstance(data, np.ndarray) and data.dtype in TYPES and (dtype is None or data.dtype == as_dtype(dtype)):
        return tensor_on(data)
    return new_tensor(data, False, dtype)


def asarray(data: Data, *, dtype: DTypeLike | None = None, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """Return ``as_tensor(data)``, or a copy."""
    return new_tensor(data, False, dtype) if copy else as_tensor(data, dtype, device)


@declare.described
def zeros(*size: Wholes, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    return leaf_of(np.zeros(shape_of("zeros", size), _dtype_or_default(dtype)), requires_grad, device)


@declare.described
def ones(*size: Wholes, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    return leaf_of(np.ones(shape_of("ones", size), _dtype_or_default(dtype)), requires_grad, device)


@declare.described
def full(
    size: Wholes, fill_value: Number, *, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    shape = shape_of("full", (size if isinstance(size, (list, tuple)) else (size,),))
    return leaf_of(
        np.full(shape, fill_value, _dtype_or_default(dtype) if dtype is not None or isinstance(fill_value, float) else None),
        requires_grad,
        device,
    )


@declare.described
def eye(
    n: int, m: int | None = None, *, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    rows, columns = shape_of("eye", (n, n if m is None else m))
    return leaf_of(np.eye(rows, columns, dtype=_dtype_or_default(dtype)), requires_grad, device)


@declare.described
def arange(
    start: Number,
    end: Number | None = None,
    step: Number = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
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
    if count <= 0:
        end = start
    if dtype is not None or any(isinstance(v, float) for v in (start, end, step)):
        dtype = _dtype_or_default(dtype)
    numbers: Any = np.arange
    return leaf_of(numbers(start, end, step, dtype), requires_grad, device)


@declare.described
def linspace(
    start: Number,
    end: Number,
    steps: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    (steps,) = shape_of("linspace", (steps,))
    wanted = _dtype_or_default(dtype)
    if wanted.kind == "f":
        return leaf_of(np.linspace(float(start), float(end), steps, dtype=wanted), requires_grad, device)
    # As in PyTorch, both halves are computed from their ends, and integers are rounded toward zero.
    step, count = (float(end) - float(start)) / max(steps - 1, 1), np.arange(steps)
    return leaf_of(
        np.where(count < max(steps // 2, 1), start + step * count, end - step * (steps - 1 - count)).astype(wanted),
        requires_grad,
        device,
    )


@declare.described
def logspace(
    start: Number,
    end: Number,
    steps: int,
    base: Number = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    (steps,) = shape_of("logspace", (steps,))
    with np.errstate(all="ignore"):
        powers = np.float64(base) ** np.linspace(float(start), float(end), steps)
    return leaf_of(powers.astype(_dtype_or_default(dtype)), requires_grad, device)


@declare.described
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    return _triangle_positions(row, col, lambda i, j: j - i <= offset, dtype, device)


@declare.described
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    return _triangle_positions(row, col, lambda i, j: j - i >= offset, dtype, device)


def _triangle_positions(row: int, col: int, inside: Callable[..., Any], dtype: DTypeLike | None, device: DeviceLike) -> Tensor:
    """Return the positions of the elements of a matrix that satisfy ``inside(row, column)``."""
    i, j = np.ogrid[tuple(slice(length) for length in shape_of("tril_indices", (row, col)))]
    result = np.stack(np.nonzero(inside(i, j)))
    return leaf_of(result.astype(np.int64 if dtype is None else as_dtype(dtype)), False, device)


def empty(*size: Wholes, dtype: DTypeLike | None = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of zeros with the given shape; PyTorch leaves the elements uninitialized."""
    result: Tensor = zeros(*size, dtype=dtype, device=device, requires_grad=requires_grad)
    return result


class Options(TypedDict, total=False):
    """The keywords of a function that creates a tensor."""

    dtype: DTypeLike | None
    requires_grad: bool
    device: DeviceLike
    layout: object
    memory_format: object


def _filled_like(make: Callable[..., Tensor], x: Tensor, options: Options, *given: Number) -> Tensor:
    """Create a tensor with the shape of ``x``, and with its type unless the options contain a type."""
    kind, device, requires_grad = options.pop("dtype", None), options.pop("device", None), options.pop("requires_grad", False)
    for name in options:
        if name not in ("layout", "memory_format"):
            raise ArgumentError(
                f"{make.__name__}_filled_like has no parameter '{name}'", hint="it has dtype, device and requires_grad"
            )
    if hasattr(x, "physical"):  # inside vmap the result must hold one value for each example, for in-place changes
        result = make(x.physical.shape, *given, dtype=x.dtype if kind is None else kind, device=device)
        return x.batch.wrap(result)  # type: ignore[no-any-return]
    return make(x.shape, *given, dtype=x.dtype if kind is None else kind, device=device, requires_grad=requires_grad)


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
