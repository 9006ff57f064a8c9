"""Functions that create tensors: constants and ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DTypeLike, as_dtype, get_default_dtype
from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, WHOLE, WHOLES, optional, takes, whole_numbers
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Data, Number, Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ArgumentError, LimitError
from autodiff_cli.limits import check_size

__all__ = [
    "arange",
    "as_tensor",
    "empty",
    "empty_like",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "is_tensor",
    "linspace",
    "ones",
    "ones_like",
    "tensor",
    "zeros",
    "zeros_like",
]


def tensor(data: Data, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Return a new leaf that holds a copy of ``data``: a number, nested lists of numbers, or an array."""
    return Tensor(data, requires_grad, dtype)


def as_tensor(data: Data, dtype: DTypeLike | None = None) -> Tensor:
    """Return ``data`` itself if it is a tensor of this type, else a new tensor.

    If ``data`` is a NumPy array of this type, the new tensor shares its memory.
    """
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or data.dtype == as_dtype(dtype)):
        return tensor_on(data, None)
    return Tensor(data, False, dtype)


def shape_of(name: str, size: tuple[Any, ...]) -> Shape:
    """Return a shape that was given as separate lengths or as one list, after a check of its size."""
    shape = whole_numbers(name, "size", size)
    for length in shape:
        if length < 0:
            raise ArgumentError(f"a length cannot be negative: {length}")
    check_size(shape)
    return shape


def leaf_of(data: Array, requires_grad: bool) -> Tensor:
    """Return a new leaf with an array."""
    made = tensor_on(data[()] if data.ndim == 0 else data, None)
    return made.requires_grad_() if requires_grad else made


def zeros(*size: Wholes, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Tensor of zeros with the given shape."""
    return leaf_of(np.zeros(shape_of("zeros", size), dtype or get_default_dtype()), requires_grad)


def ones(*size: Wholes, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Tensor of ones with the given shape."""
    return leaf_of(np.ones(shape_of("ones", size), dtype or get_default_dtype()), requires_grad)


@takes(size=WHOLES, fill_value=NUMBER)
def full(size: Wholes, fill_value: Number, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Tensor of the given shape, filled with one value."""
    size = size if isinstance(size, (list, tuple)) else (size,)
    return leaf_of(
        np.full(shape_of("full", (size,)), fill_value, dtype or (get_default_dtype() if isinstance(fill_value, float) else None)),
        requires_grad,
    )


@takes(n=WHOLE, m=optional(WHOLE))
def eye(n: int, m: int | None = None, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Matrix of n rows and m columns with ones on the diagonal; m defaults to n."""
    rows, columns = shape_of("eye", (n, n if m is None else m))
    return leaf_of(np.eye(rows, columns, dtype=dtype or get_default_dtype()), requires_grad)


@takes(start=NUMBER, end=optional(NUMBER), step=NUMBER)
def arange(
    start: Number, end: Number | None = None, step: Number = 1, *, dtype: DTypeLike | None = None, requires_grad: bool = False
) -> Tensor:
    """Numbers from ``start`` up to but excluding ``end`` in increments of ``step``; a single argument is the end."""
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
    if dtype is None and any(isinstance(v, float) for v in (start, end, step)):
        dtype = get_default_dtype()
    numbers: Any = np.arange
    return leaf_of(numbers(start, end, step, dtype), requires_grad)


@takes(start=NUMBER, end=NUMBER, steps=WHOLE)
def linspace(start: Number, end: Number, steps: int, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Evenly spaced numbers from ``start`` to ``end``, both included."""
    (steps,) = shape_of("linspace", (steps,))
    return leaf_of(np.linspace(float(start), float(end), steps, dtype=dtype or get_default_dtype()), requires_grad)


def empty(*size: Wholes, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of zeros with the given shape; PyTorch leaves the elements uninitialized."""
    return zeros(*size, dtype=dtype, requires_grad=requires_grad)


def full_like(x: Tensor, fill_value: Number, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor with the shape and type of ``x``, filled with one value."""
    made: Tensor = full(x.shape, fill_value, dtype=dtype or x.dtype, requires_grad=requires_grad)
    return made


def empty_like(x: Tensor, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of zeros with the shape and type of ``x``; see ``empty``."""
    return zeros(x.shape, dtype=dtype or x.dtype, requires_grad=requires_grad)


def from_numpy(array: Array) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError("from_numpy takes a NumPy array", hint="use tensor([1, 2]) to convert a list")
    return tensor_on(array, None)


def is_tensor(thing: object) -> bool:
    """Return whether an object is a tensor."""
    return isinstance(thing, Tensor)


def _new(name: str) -> Any:
    make = globals()[name]

    def method(self: Tensor, *args: Any, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Tensor:
        made: Tensor = make(*args, dtype=dtype or self.dtype, requires_grad=requires_grad)
        return made

    method.__doc__ = f"Call ``{name}`` with the type of this tensor."
    return method


for _name in ("tensor", "zeros", "ones", "full", "empty"):
    setattr(Tensor, f"new_{_name}", _new(_name))


def zeros_like(x: Value, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Any:
    """Tensor of zeros with the shape and type of ``x``."""
    if not isinstance(x, Tensor):
        return np.zeros_like(x)[()]
    return leaf_of(np.zeros(x.shape, dtype or x.dtype), requires_grad)


def ones_like(x: Value, *, dtype: DTypeLike | None = None, requires_grad: bool = False) -> Any:
    """Tensor of ones with the shape and type of ``x``."""
    if not isinstance(x, Tensor):
        return np.ones_like(x)[()]
    return leaf_of(np.ones(x.shape, dtype or x.dtype), requires_grad)


describe(zeros, parameters=("size",), defaults=(), tensors=(), kinds={"size": WHOLES}, variadic=True)
describe(ones, parameters=("size",), defaults=(), tensors=(), kinds={"size": WHOLES}, variadic=True)
describe(full, tensors=())
describe(eye, tensors=())
describe(arange, tensors=())
describe(linspace, tensors=())
describe(zeros_like, methods=())
describe(ones_like, methods=())
