"""Data types: PyTorch's promotion rules for NumPy's types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.errors import DtypeError, type_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DType = np.dtype[Any]
Array = np.ndarray[Any, DType]
"""An array of numbers or booleans, or a NumPy scalar, which has the same attributes and arithmetic."""

_default: DType = np.dtype(np.float64)


class dtype:
    """A data type with PyTorch's name and attributes; there is one object for each type, so types are compared with ``is``.

    NumPy accepts it as a type, and it compares equal to NumPy's type.

    Attributes:
        dtype: NumPy's type.
        kind, type: the attributes of these names of NumPy's type.
        itemsize: the size of one element in bytes.
        is_floating_point, is_complex, is_signed: the properties of the type, as in PyTorch.
        scalar_name: PyTorch's name of the type in messages and in the name of the tensor type, such as ``Double``.
    """

    __slots__ = ("dtype", "is_complex", "is_floating_point", "is_signed", "itemsize", "kind", "scalar_name", "type")

    def __init__(self, name: str, scalar_name: str) -> None:
        self.dtype: DType = np.dtype(name)
        self.kind = self.dtype.kind
        self.type: Any = self.dtype.type
        self.itemsize = self.dtype.itemsize
        self.is_floating_point = self.kind == "f"
        self.is_complex = False
        self.is_signed = self.kind in "if"
        self.scalar_name = scalar_name

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is not dtype and bool(self.dtype == other))

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"torch.{self.dtype}"

    def __reduce__(self) -> str:  # the name of the object in this module, for copy and pickle
        return "bool_" if self.kind == "b" else str(self.dtype)


float64, float32, float16 = dtype("float64", "Double"), dtype("float32", "Float"), dtype("float16", "Half")
int64, int32, int16, int8 = dtype("int64", "Long"), dtype("int32", "Int"), dtype("int16", "Short"), dtype("int8", "Char")
uint8, bool_ = dtype("uint8", "Byte"), dtype("bool", "Bool")

TYPES = {one.dtype: one for one in (float64, float32, float16, int64, int32, int16, int8, uint8, bool_)}
"""The types of tensors by NumPy's types.  Calculations are in float64, float32 and int64; the others are for storage."""


DTypeLike = str | type | DType | dtype
"""A data type, or the name of a data type."""


def as_dtype(dtype: DTypeLike | None) -> DType:
    """Convert a data type to a NumPy dtype, float64 for ``None``; raise DtypeError if tensors cannot have this type."""
    if isinstance(dtype, str) and dtype not in _NAMES:
        raise DtypeError(f"unknown type '{dtype}'", hint=USE)
    try:
        numpy_type: DType = np.dtype(dtype)
    except TypeError:
        raise DtypeError(f"a type must be a data type such as float64, not {type_name(dtype)}", hint=USE) from None
    if numpy_type not in TYPES:
        raise DtypeError(f"tensors cannot have the type {numpy_type}", hint=USE)
    return numpy_type


_NAMES = (
    *("float", "float16", "float32", "float64", "half", "single", "double", "bool"),
    *("int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64"),
)
USE = "use float64, float32, float16, int64, int32, int16, int8, uint8 or bool"


def torch_type(dtype: DType) -> dtype:
    """Return the type object for a NumPy dtype; raise DtypeError if tensors cannot have this type."""
    try:
        return TYPES[dtype]
    except KeyError:
        raise DtypeError(f"tensors cannot have the type {dtype}", hint=USE) from None


def default_type() -> DType:
    """Return the type of tensors that are made from Python floats, as a NumPy dtype."""
    return _default


def get_default_dtype() -> dtype:
    """Return the type of tensors that are made from Python floats; the default is float64."""
    return TYPES[_default]


def set_default_dtype(dtype: DTypeLike) -> None:
    """Set the type of tensors that are made from Python floats to ``dtype``, a floating-point type.

    Raises:
        DtypeError: if ``dtype`` is not a floating-point type.
    """
    global _default
    new_dtype = as_dtype(dtype)
    if new_dtype.kind != "f":
        raise DtypeError("only floating-point types are supported as the default type", hint=f"it cannot be {new_dtype}")
    _default = new_dtype


def to_array(value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Convert a value to a new array, or to a NumPy scalar if it is 0-d; Python floats are converted to the default type.

    Raise DtypeError if the elements of the value are not numbers or booleans.
    """
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        array: Any = np.array(value, dtype=dtype) if dtype is not None or isinstance(value, np.ndarray) else value
    else:
        try:
            array = np.array(value, dtype=dtype)
        except (ValueError, TypeError):  # rows of different lengths, or texts
            raise DtypeError(
                "cannot make a tensor of these values", hint="use numbers, or lists of numbers whose rows have the same length"
            ) from None
        if dtype is None and array.dtype == np.float64 and _default is not array.dtype:
            array = array.astype(_default)
    if array.dtype not in TYPES:
        raise DtypeError(f"cannot make a tensor of {array.dtype} values", hint="use numbers, true or false")
    return array[()] if array.ndim == 0 else array  # type: ignore[no-any-return]


def as_float(array: Array) -> Array:
    """Convert integers and booleans to the default floating-point type; return any other array unchanged."""
    return array if array.dtype.kind == "f" else array.astype(_default)


def promote(a: Array, b: Array) -> tuple[Array, Array]:
    """Convert two arrays to their common type.

    A 0-d array does not widen an array with dimensions if both contain integers or both contain floating-point numbers.
    """
    rank_a, rank_b = _RANKS[a.dtype.kind], _RANKS[b.dtype.kind]
    if rank_a == rank_b and (a.ndim == 0) != (b.ndim == 0):
        dtype = b.dtype if a.ndim == 0 else a.dtype
    elif rank_a != rank_b:
        # The result has the type of the higher kind: int64 and float32 give float32.
        dtype = a.dtype if rank_a > rank_b else b.dtype
    else:
        dtype = np.promote_types(a.dtype, b.dtype)
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False)


_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2}


def in_one_type(forward: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function that converts its arguments to a common floating-point type, float64 for integers, and calls ``forward``.

    The combination of a Python number and float32 must not give float64.
    """

    def converted(*values: Array | float) -> Array:
        common = np.result_type(*values)
        dtype: DType = common if common.kind == "f" else np.dtype(np.float64)
        same = [value.astype(dtype, copy=False) if hasattr(value, "astype") else np.asarray(value, dtype) for value in values]
        return forward(*[value[()] for value in same]).astype(dtype, copy=False)

    return converted
