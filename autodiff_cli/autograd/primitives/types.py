"""What operations take: names for the types of their arguments, and the array behind a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.tensor import Tensor

Value = Tensor | Array
"""What a VJP rule takes: arrays, tensors where the backward pass is recorded, and subclasses of them such as tracers."""
Number = int | float
Operand = Value | Number
"""A tensor, or a plain number beside one."""
Forward = Callable[..., Any]
"""A forward computation: from arrays and the plain arguments of the operation to an array."""
Shape = tuple[int, ...]
Dims = int | Sequence[int] | None
"""One dimension or several; ``None`` means all."""
Wholes = int | Sequence[int]
Positions = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Key = tuple[int | slice | EllipsisType | Positions | Mask | None, ...]
"""An index, part by part."""
Data = Operand | Sequence[Any]
"""What a tensor can be made of; a sequence holds numbers, or sequences of them."""


def array_of(value: Value) -> Array:
    """Return the array that a tensor holds, and an array as it is."""
    return value._data if isinstance(value, Tensor) else value
