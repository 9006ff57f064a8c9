"""Indexing with ``x[key]``.

As in PyTorch, whole numbers select one element, slices select a range, and tensors or lists of positions gather elements.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import example_by_example, value_text
from autodiff_cli.autograd.primitives.structural import index_key, select_key, slice_key
from autodiff_cli.autograd.primitives.types import Shape, Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ValuesNeeded, type_name
from autodiff_cli.limits import check_size
from autodiff_cli.ops.rules.shape import unsqueeze
from autodiff_cli.ops.rules.views import alias

_LONGEST_KEY_LIST = 32
"""The length from which PyTorch always treats a list as positions."""


def getitem(x: Value, key: object) -> Any:
    """Return the elements at a key of whole numbers, slices, ``None`` (a new dimension), ``...``, masks and lists of positions."""
    try:
        region, gathered = sliced(x, key)
    except ValuesNeeded:  # positions that differ by the examples of ``vmap``
        return example_by_example(getitem, (x, key if isinstance(key, tuple) else (key,)), {})
    if gathered:
        return index_key(region, gathered)
    return alias(region) if region is x else region


def sliced(x: Value, key: object) -> tuple[Any, Any]:
    """Apply the whole numbers, slices and new dimensions of a key.

    Returns:
        The view of ``x``, and the masks and positions that are to be applied to the view, as a tuple with full slices.  As in
        PyTorch, they are applied last.  Without masks and positions, the tuple is empty.
    """
    parts = tuple(_converted_part(part) for part in _parts_of_key(key))
    whole = len(parts) == 1 and parts[0] is not ...
    result: Any = x
    gathered: list[Any] = []
    dim = gathered_up_to = 0
    for part in _without_ellipsis(parts, x.shape):
        before = (slice(None),) * dim
        if isinstance(part, np.ndarray):
            gathered += [slice(None)] * (dim - gathered_up_to) + [part]
            dim += _dimensions_taken(part)
            gathered_up_to = dim
        elif part is None:
            result = unsqueeze(result, dim)
            dim += 1
        elif isinstance(part, slice):
            _check_step(part, dim)
            # A full slice is skipped unless it is the whole key.
            if part != slice(None) or whole:
                result = slice_key(result, (*before, part))
            dim += 1
        else:
            _check_position(part, dim, result.shape[dim])
            result = select_key(result, (*before, part))
    if gathered:
        _check_gathered(result.shape, gathered)
    return result, tuple(gathered)


def _check_step(part: slice, dim: int) -> None:
    """Raise an error if the step of a slice is not positive."""
    if part.step is not None and part.step < 0:
        raise ArgumentError("step must be greater than zero", hint=f"use flip(x, [{dim}]) to reverse the dimension")
    if part.step == 0:
        raise ArgumentError("slice step cannot be zero")


def _check_position(position: int, dim: int, length: int) -> None:
    """Raise an error if a position along a dimension of a length, which may count from the end, does not exist."""
    if not -length <= position < length:
        raise IndexOutOfRange(
            f"index {position} is out of bounds for dimension {dim} with size {length}",
            hint=f"use a position from 0 to {length - 1}, or from -{length} to -1" if length else None,
        )


def _parts_of_key(key: object) -> Sequence[object]:
    """Return the parts of a key.  As in PyTorch, a short list with parts other than numbers is treated as a tuple."""
    if isinstance(key, tuple):
        return key
    if isinstance(key, list) and len(key) < _LONGEST_KEY_LIST:
        for part in key:
            if part is None or part is ... or isinstance(part, (list, tuple, slice, Tensor, np.ndarray)):
                warnings.warn(
                    "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of x[seq].",
                    stacklevel=4,
                )
                return key
    return (key,)


def _converted_part(part: object) -> Any:
    """Convert a part of an index to a whole number, a slice, ``None``, ``...`` or an array."""
    if part is None or part is ... or (isinstance(part, (slice, int)) and not isinstance(part, bool)):
        return part
    if isinstance(part, (float, str, Set, Mapping)):
        raise IndexOutOfRange(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type_name(part)})"
        )
    array = _index_array(part)
    return int(array) if array.ndim == 0 and array.dtype.kind == "i" else array


def _index_array(part: object) -> Array:
    """Return the positions or the mask in a tensor, an array or a list; a type with which PyTorch does not index is an error."""
    is_tensor = isinstance(part, Tensor)
    try:
        array = np.asarray(part._data if isinstance(part, Tensor) else part)
    except (ValueError, TypeError):
        raise IndexOutOfRange(f"an index must be a number, a slice or a tensor of positions, not {value_text(part)}") from None
    if not array.size and array.ndim and array.dtype.kind == "f" and not is_tensor:  # an empty list
        array = array.astype(np.int64)
    if array.dtype == np.uint8:  # a mask, as in PyTorch before it had booleans
        array = array.astype(np.bool_)
    is_short = (is_tensor and array.dtype.itemsize == 2) or array.dtype == np.int8
    if array.dtype.kind not in "ib" or is_short:
        raise IndexOutOfRange("tensors used as indices must be long, int, byte or bool tensors")
    return array


def _dimensions_taken(part: object) -> int:
    """Return the number of dimensions that a part of an index consumes; those of ``...`` depend on the rest, and count as 0."""
    if isinstance(part, np.ndarray):
        return part.ndim if part.dtype.kind == "b" else 1
    return int(part is not None and part is not ...)


def _without_ellipsis(parts: tuple[Any, ...], shape: Shape) -> tuple[Any, ...]:
    """Replace the first ``...`` with full slices for the dimensions that no part takes; omit any further one."""
    taken, ndim = sum(map(_dimensions_taken, parts)), len(shape)
    dots = [i for i, part in enumerate(parts) if part is ...]
    if taken > ndim:
        raise IndexOutOfRange(
            f"too many indices for tensor of dimension {ndim}",
            hint=f"give one index for each dimension of the shape {list(shape)}, not {taken}",
        )
    if not dots:
        return parts
    return (*parts[: dots[0]], *[slice(None)] * (ndim - taken), *[part for part in parts[dots[0] + 1 :] if part is not ...])


def _check_gathered(shape: Shape, key: list[Any]) -> None:
    """Raise an error if masks or positions do not fit a shape or each other, or select too many elements; ``key`` is as applied."""
    sliced_lengths, at, shapes = [], 0, []  # the lengths under slices, the dimension, and the shapes of masks and positions
    for part in key:
        if isinstance(part, slice):
            sliced_lengths.append(shape[at])
        elif part.dtype.kind == "b":
            for i in range(part.ndim):
                if part.shape[i] != shape[at + i]:
                    raise IndexOutOfRange(
                        f"The shape of the mask {list(part.shape)} at index {i} does not match the shape of the indexed tensor "
                        f"{list(shape)} at index {at + i}"
                    )
            shapes.append((int(np.count_nonzero(part)),))
        else:
            wrong = part[(part >= shape[at]) | (part < -shape[at])]
            if wrong.size:
                raise IndexOutOfRange(f"index {wrong[0]} is out of bounds for dimension {at} with size {shape[at]}")
            shapes.append(part.shape)
        at += _dimensions_taken(part)
    try:
        check_size((*np.broadcast_shapes(*shapes), *sliced_lengths, *shape[at:]))
    except ValueError:
        texts = ", ".join(str(list(one)) for one in shapes)
        raise IndexOutOfRange(f"shape mismatch: indexing tensors could not be broadcast together with shapes {texts}") from None


Tensor.__getitem__ = getitem  # type: ignore[method-assign]
