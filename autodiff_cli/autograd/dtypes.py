"""Data types: PyTorch's rules of promotion on NumPy's types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.errors import DtypeError

DType = np.dtype[Any]
Array = NDArray[Any]
"""An array of numbers or booleans, or a NumPy scalar, which has the same attributes and arithmetic."""

float64: DType = np.dtype(np.float64)
float32: DType = np.dtype(np.float32)
int64: DType = np.dtype(np.int64)
bool_: DType = np.dtype(np.bool_)

_default = float64


class dtype:
    """A type by PyTorch's name; NumPy takes it wherever it takes a type, and it is equal to NumPy's own."""

    __slots__ = ("dtype",)

    def __init__(self, name: str) -> None:
        self.dtype: DType = np.dtype(name)

    @property
    def is_floating_point(self) -> bool:
        """True for float32 and float64."""
        return self.dtype.kind == "f"

    @property
    def itemsize(self) -> int:
        """How many bytes an element takes."""
        return self.dtype.itemsize

    def __eq__(self, other: object) -> bool:
        return self.dtype == getattr(other, "dtype", other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"torch.{self.dtype}"


def as_dtype(dtype: Any) -> DType:
    """A type as NumPy has it.

    Raises:
        DtypeError: for a text that is not the name of a type of numbers; NumPy has letters for types, and types of texts.
    """
    if isinstance(dtype, str) and not _NAME.fullmatch(dtype):
        raise DtypeError(f"unknown type '{dtype}'", hint="use float64, float32, int64 or bool")
    found: DType = np.dtype(dtype)
    return found


_NAME = re.compile(r"float(16|32|64)?|half|single|double|u?int(8|16|32|64)?|bool")


def get_default_dtype() -> DType:
    """The type of tensors made from Python floats: float64 unless changed."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Make ``dtype`` (float32 or float64) the type of tensors made from Python floats."""
    global _default
    wanted = as_dtype(dtype)
    if wanted.kind != "f":
        raise DtypeError(f"only floating-point types are supported as the default type, not {wanted}")
    _default = wanted


def to_array(value: Any, dtype: Any = None) -> Any:
    """The NumPy array or scalar that holds ``value``: Python floats in the default type, integers in int64."""
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        array: Any = np.array(value, dtype=dtype) if dtype is not None or isinstance(value, np.ndarray) else value
    else:
        array = np.array(value, dtype=dtype)
        if dtype is None and array.dtype is float64 and _default is not float64:
            array = array.astype(_default)
    if array.dtype.kind not in "fib":
        raise DtypeError(f"cannot make a tensor of {array.dtype} values", hint="use numbers or true and false")
    return array[()] if array.ndim == 0 else array


def as_float(array: Any) -> Any:
    """``array`` in the default floating type if it holds integers or booleans, else unchanged."""
    return array if array.dtype.kind == "f" else array.astype(_default)


def promote(a: Any, b: Any) -> tuple[Any, Any]:
    """Bring two arrays of different types to one: a 0-d operand does not widen one with dimensions of its own kind."""
    kinds = "bif"
    rank_a, rank_b = kinds.index(a.dtype.kind), kinds.index(b.dtype.kind)
    if rank_a == rank_b and (a.ndim == 0) != (b.ndim == 0):
        dtype = b.dtype if a.ndim == 0 else a.dtype
    elif rank_a != rank_b:
        # A kind that is higher wins, with its own width: int64 and float32 give float32.
        dtype = a.dtype if rank_a > rank_b else b.dtype
    else:
        dtype = np.promote_types(a.dtype, b.dtype)
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False)


def in_one_type(forward: Callable[..., Any]) -> Callable[..., Any]:
    """``forward`` on arguments of one floating-point type: a plain number beside float32 must not make it float64."""

    def converted(*values: Any) -> Any:
        common = np.result_type(*values)
        dtype = common if common.kind == "f" else float64
        return forward(*[np.asarray(value, dtype)[()] for value in values]).astype(dtype, copy=False)

    return converted
