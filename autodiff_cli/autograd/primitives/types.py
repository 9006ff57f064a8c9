"""Type aliases for the arguments of operations, and the conversion of a value to an array."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.tensor import Tensor

Value = Tensor | Array
"""An argument of a VJP rule: an array, or, if the backward pass is recorded, a tensor or an instance of a subclass."""
Number = int | float
Operand = Value | Number
"""An operand: a tensor, an array, or a plain number."""
Shape = tuple[int, ...]
Dims = int | Sequence[int] | None
"""One dimension or several dimensions; ``None`` means all dimensions."""
Wholes = int | Sequence[int]
Positions = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Key = tuple[int | slice | EllipsisType | Positions | Mask | None, ...]
"""An index as the tuple of its parts."""
Data = Operand | Sequence[Any]
"""The data of a new tensor; a sequence contains numbers, or sequences of numbers."""


def array_of(value: Value) -> Array:
    """Return the array of a tensor; an array is returned unchanged."""
    return value._data if isinstance(value, Tensor) else value
