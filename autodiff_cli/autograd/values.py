"""The values of a tensor: shape, type, and conversion to Python numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.errors import ArgumentError, DtypeError, ShapeError


class Size(tuple[int, ...]):
    """A shape, printed as PyTorch prints it."""

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class TensorValues:
    """What tensors have in common with arrays."""

    __slots__ = ("_data",)

    _data: Any

    @property
    def shape(self) -> Size:
        """The length of each dimension; ``()`` for a scalar."""
        return Size(self._data.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._data.shape)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    def size(self, dim: int | None = None) -> Size | int:
        """Return the shape, or the length of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return int(self._data.dtype.itemsize)

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self._data.size)

    nelement = numel

    def is_contiguous(self) -> bool:
        """Return whether the elements are stored in the order of their positions."""
        return bool(np.asarray(self._data).flags.c_contiguous)

    @property
    def dtype(self) -> DType:
        """The type of the elements, as a NumPy dtype."""
        dtype: DType = self._data.dtype
        return dtype

    def is_floating_point(self) -> bool:
        """Return whether the elements are float32 or float64."""
        return bool(self._data.dtype.kind == "f")

    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises:
            ShapeError: if there is not exactly one element.
        """
        if self._data.size != 1:
            raise ShapeError(f"a Tensor with {self._data.size} elements cannot be converted to Scalar")
        return self._data.item()

    def tolist(self) -> Any:
        """Return nested Python lists of numbers; a number for a scalar."""
        return self._data.tolist()

    def __len__(self) -> int:
        if not self._data.shape:
            raise ArgumentError("len() of a 0-d tensor")
        return int(self._data.shape[0])

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise ShapeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._data.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._data.dtype.kind not in "ib":
            raise DtypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self._data.shape == () else str(self)
