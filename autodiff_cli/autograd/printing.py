"""The values of a tensor: shape, type, conversion to Python numbers, and PyTorch's text format."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, default_type, dtype, torch_type
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, IndexOutOfRange, ShapeError, type_name

if TYPE_CHECKING:
    from autodiff_cli.autograd.tensor import Tensor


class Size(tuple[int, ...]):
    """A shape, printed as in PyTorch."""

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class TensorValues:
    """The attributes and methods that tensors share with arrays."""

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
        if dim is None:
            return self.shape
        try:
            return self.shape[dim]
        except TypeError:
            raise ArgumentError(f"size: 'dim' must be a whole number, not {type_name(dim)}") from None
        except IndexError:
            message = f"Dimension out of range (expected to be in range of [{-self.ndim}, {self.ndim - 1}], but got {dim})"
            raise IndexOutOfRange(message if self.ndim else f"Dimension specified as {dim} but tensor has no dimensions") from None

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return int(self._data.dtype.itemsize)

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self._data.size)

    nelement = numel

    def is_contiguous(self) -> bool:
        """Return whether the elements are stored contiguously in row-major order."""
        return bool(np.asarray(self._data).flags.c_contiguous)

    @property
    def dtype(self) -> dtype:
        """The type of the elements, such as ``float64``."""
        return torch_type(self._data.dtype)

    def is_floating_point(self) -> bool:
        """Return whether the elements are floating-point numbers."""
        return bool(self._data.dtype.kind == "f")

    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises:
            ShapeError: if the number of elements is not 1.
        """
        if self._data.size != 1:
            raise ShapeError(f"a Tensor with {self._data.size} elements cannot be converted to Scalar")
        return self._data.item()

    def tolist(self) -> Any:
        """Return the values as nested lists of Python numbers, or as a number for a scalar."""
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


_PRECISION, _THRESHOLD, _EDGE, _WIDTH = 4, 1000, 3, 80
"""PyTorch's print options: digits after the point, most elements that are all shown, elements at each end, columns."""
_INDENT = len("tensor(")


def tensor_repr(tensor: Tensor, *more: str) -> str:
    """Return the text of a tensor, such as ``tensor(4.8283, grad_fn=<LogBackward0>)``.

    Numbers have four digits after the decimal point, and only the ends of long dimensions are shown; the properties ``more`` are
    printed last.
    """
    data = np.asarray(tensor._data)
    summarized = data.size > _THRESHOLD
    if data.size == 0:
        body = "[]"
    else:
        element_text, width = _formatter(_ends(data) if summarized else data)
        body = _nested(data, _INDENT, element_text, width, summarized)
    text = f"tensor({body}"
    length = len(body) - body.rfind("\n") + 1  # of the last line, counted as in PyTorch
    for suffix in (*_suffixes(tensor, data), *more):
        if length + len(", ") + len(suffix) > _WIDTH:
            text += f",\n{' ' * _INDENT}{suffix}"
            length = _INDENT + len(suffix)
        else:
            text += f", {suffix}"
            length += len(", ") + len(suffix)
    is_parameter = tensor._extra is not None and tensor._extra.is_parameter
    return ("Parameter containing:\n" if is_parameter else "") + text + ")"


def _suffixes(tensor: Tensor, data: Array) -> list[str]:
    """Return what follows the values of a tensor: the shape if it is empty, a type that is not the usual one, the history."""
    suffixes = []
    if data.size == 0 and data.ndim != 1:
        suffixes.append(f"size={data.shape}")
    if data.dtype not in (default_type(), np.int64, np.bool_) or (data.size == 0 and data.dtype.kind != "f"):
        suffixes.append(f"dtype=torch.{data.dtype}")
    try:
        if tensor._edge is not None:
            suffixes.append(f"grad_fn=<{type(tensor._edge[0]).__name__}>")
        elif tensor._requires_grad:
            suffixes.append("requires_grad=True")
    except GraphError:  # a view whose history was lost by an in-place change
        suffixes.append("grad_fn=<Invalid>")
    return suffixes


def _ends(data: Array) -> Array:
    """Return the elements of a large array that are printed; they determine the width of the columns."""
    for axis, length in enumerate(data.shape):
        if length > 2 * _EDGE:
            data = np.take(data, [*range(_EDGE), *range(length - _EDGE, length)], axis)
    return data


def _nested(data: Array, indent: int, text: Callable[[Array | float], str], width: int, summarized: bool) -> str:
    """Return rows in brackets; the depth of the recursion is the number of dimensions, at most 64 in NumPy.

    ``indent`` is the column of the bracket; see ``_formatter`` for ``text`` and ``width``; ``summarized`` shows only ends of rows.
    """
    if data.ndim == 0:
        return text(data[()])
    cut = summarized and len(data) > 2 * _EDGE
    parts = [*data[:_EDGE], *data[-_EDGE:]] if cut else list(data)
    if data.ndim > 1:
        rows = [_nested(row, indent + 1, text, width, summarized) for row in parts]
        if cut:
            rows.insert(_EDGE, "...")
        separator = "," + "\n" * (data.ndim - 1) + " " * (indent + 1)
        return f"[{separator.join(rows)}]"
    elements = [text(value) for value in parts]
    if cut:
        elements.insert(_EDGE, " ...")
    per_line = max(1, math.floor((_WIDTH - indent) / (width + 2)))
    lines = [", ".join(elements[i : i + per_line]) for i in range(0, len(elements), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _formatter(data: Array) -> tuple[Callable[[Array | float], str], int]:
    """Return a function that formats an element, and the width of its text; the rules are those of PyTorch's ``_Formatter``.

    Whole numbers are printed as ``5.``; scientific notation is for ratios above 1000, numbers above 1e8, and fractions below 1e-4.
    """
    if data.dtype.kind != "f":
        width = max(len(str(v)) for v in data.ravel())
        return lambda value: str(value).rjust(width if data.ndim else 0), width
    finite = data[np.isfinite(data) & (data != 0)].astype(np.float64)
    spec, end = ".0f", "."
    if finite.size:
        largest, smallest = np.abs(finite).max(), np.abs(finite).min()
        wide = largest / 1000 > smallest or largest > 1e8
        whole = bool(np.all(finite == np.floor(finite)))
        if wide or (not whole and smallest < 1e-4):
            spec, end = f".{_PRECISION}e", ""
        elif not whole:
            spec, end = f".{_PRECISION}f", ""

    def text(value: Array | float) -> str:
        return f"{value:{spec}}{end}" if np.isfinite(value) else str(float(value))

    width = max((len(text(v)) for v in finite), default=1)
    return lambda value: text(value).rjust(width if data.ndim else 0), width
