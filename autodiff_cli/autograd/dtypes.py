"""Data types: PyTorch's promotion rules for NumPy's types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.errors import DtypeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DType = np.dtype[Any]
Array = np.ndarray[Any, DType]
"""An array of numbers or booleans, or a NumPy scalar, which has the same attributes and arithmetic."""

float64: DType = np.dtype(np.float64)
float32: DType = np.dtype(np.float32)
int64: DType = np.dtype(np.int64)
bool_: DType = np.dtype(np.bool_)

_default = float64


class dtype:
    """A data type with PyTorch's name.  NumPy accepts it as a type, and it compares equal to NumPy's type."""

    __slots__ = ("dtype",)

    def __init__(self, name: str) -> None:
        self.dtype: DType = np.dtype(name)

    @property
    def is_floating_point(self) -> bool:
        """Whether the type is a floating-point type."""
        return self.dtype.kind == "f"

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self.dtype.itemsize

    def __eq__(self, other: object) -> bool:
        return self.dtype == getattr(other, "dtype", other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"torch.{self.dtype}"


DTypeLike = str | type | DType | dtype
"""A data type, or the name of a data type."""


def as_dtype(dtype: DTypeLike | None) -> DType:
    """Convert a data type to a NumPy dtype; ``None`` gives float64.

    Raises:
        DtypeError: if ``dtype`` is a string that is not the name of a numeric type, such as a letter code of NumPy.
    """
    if isinstance(dtype, str) and not _NAME.fullmatch(dtype):
        raise DtypeError(f"unknown type '{dtype}'", hint="use float64, float32, int64 or bool")
    found: DType = np.dtype(dtype)
    return found


_NAME = re.compile(r"float(16|32|64)?|half|single|double|u?int(8|16|32|64)?|bool")


def get_default_dtype() -> DType:
    """Return the type of tensors that are made from Python floats; the default is float64."""
    return _default


def set_default_dtype(dtype: DTypeLike) -> None:
    """Set the type of tensors that are made from Python floats to ``dtype``: float32 or float64.

    Raises:
        DtypeError: if ``dtype`` is not a floating-point type.
    """
    global _default
    wanted = as_dtype(dtype)
    if wanted.kind != "f":
        raise DtypeError(f"only floating-point types are supported as the default type, not {wanted}")
    _default = wanted


def to_array(value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Convert a value to an array or a NumPy scalar; Python floats are converted to the default type.

    Raises:
        DtypeError: if the elements of the value are not numbers or booleans.
    """
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        array: Any = np.array(value, dtype=dtype) if dtype is not None or isinstance(value, np.ndarray) else value
    else:
        array = np.array(value, dtype=dtype)
        if dtype is None and array.dtype is float64 and _default is not float64:
            array = array.astype(_default)
    if array.dtype.kind not in "fib":
        raise DtypeError(f"cannot make a tensor of {array.dtype} values", hint="use numbers, true or false")
    found: Array = array[()] if array.ndim == 0 else array
    return found


def as_float(array: Array) -> Array:
    """Convert integers and booleans to the default floating-point type; return any other array unchanged."""
    return array if array.dtype.kind == "f" else array.astype(_default)


def promote(a: Array, b: Array) -> tuple[Array, Array]:
    """Convert two arrays to their common type.

    A 0-d array does not widen an array with dimensions if both contain integers or both contain floating-point numbers.
    """
    kinds = "bif"
    rank_a, rank_b = kinds.index(a.dtype.kind), kinds.index(b.dtype.kind)
    if rank_a == rank_b and (a.ndim == 0) != (b.ndim == 0):
        dtype = b.dtype if a.ndim == 0 else a.dtype
    elif rank_a != rank_b:
        # The result has the type of the higher kind: int64 and float32 give float32.
        dtype = a.dtype if rank_a > rank_b else b.dtype
    else:
        dtype = np.promote_types(a.dtype, b.dtype)
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False)


def in_one_type(forward: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function that converts its arguments to a common floating-point type and calls ``forward``.

    The combination of a Python number and float32 must not give float64.
    """

    def converted(*values: Array | float) -> Array:
        common = np.result_type(*values)
        dtype = common if common.kind == "f" else float64
        return forward(*[np.asarray(value, dtype)[()] for value in values]).astype(dtype, copy=False)

    return converted
