"""Shapes and elements that are rearranged, repeated, padded, joined and taken apart, and parts along a dimension."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, promote
from autodiff_cli.autograd.primitives.structural import add_at, dimension, dimensions, strided
from autodiff_cli.autograd.primitives.types import Key, Number, Shape, Wholes
from autodiff_cli.errors import GraphError, IndexOutOfRange, ShapeError
from autodiff_cli.limits import check_parts, check_size

_EMPTY = (0,)
"""The shape of a tensor that can be joined with tensors of any shape, as in PyTorch."""


def negatives(numbers: Sequence[int]) -> Shape:
    return tuple(-n for n in numbers)


def flip(x: Array, dims: Sequence[int]) -> Any:
    return (np.flip(x, dimensions(dims, x.ndim)) if dims else x).copy()


def roll(x: Array, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    """Shift the elements cyclically along dimensions, of which a number has none; without dimensions, in the flattened array."""
    if not dims:
        return np.roll(x, shifts)
    return np.roll(x, shifts, tuple(dimension(d, x.ndim) for d in dims) if x.ndim else ())


def _triangle(name: str, cut: Callable[[Array, int], Array]) -> Callable[[Array, int], Any]:
    """Return the forward computation ``name``, which sets the elements on one side of a diagonal to 0 with NumPy's ``cut``."""

    def forward(x: Array, diagonal: int) -> Any:
        if x.ndim < 2:
            raise ShapeError(f"{name}: input tensor must have at least 2 dimensions")
        rows, columns = x.shape[-2:]
        return cut(x, min(max(diagonal, -rows), columns))  # NumPy does not accept offsets beyond 64 bits

    return forward


tril, triu = _triangle("tril", np.tril), _triangle("triu", np.triu)


def diag_embed(x: Array, offset: int, dim1: int, dim2: int) -> Any:
    """Return zeros with the vectors x[..., :] on the diagonal ``offset`` of the matrices along dim1 and dim2 of the result."""
    ndim = x.ndim + 1
    first, second = dimension(dim1, ndim), dimension(dim2, ndim)
    if not x.ndim or first == second:
        raise ShapeError("diagonal dimensions cannot be identical" if x.ndim else "diag_embed needs at least one dimension")
    length = x.shape[-1] + abs(offset)
    check_size((*x.shape[:-1], length, length))
    out = np.zeros((*x.shape[:-1], length, length), x.dtype)
    places = np.arange(x.shape[-1])
    rows, columns = places + max(-offset, 0), places + max(offset, 0)
    out[..., rows, columns] = x
    return np.moveaxis(out, (-2, -1), (first, second))


def _repeat_shape(shape: Shape, sizes: Sequence[int]) -> Shape:
    """Return a shape with a leading length of 1 for each of the ``sizes`` beyond its dimensions; fewer sizes are an error."""
    if len(sizes) < len(shape):
        raise ShapeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            hint=f"give at least {len(shape)} numbers for the shape {list(shape)}",
        )
    return (*(1,) * (len(sizes) - len(shape)), *shape)


def repeat(x: Array, sizes: Sequence[int]) -> Any:
    """Return x repeated along each dimension; ``sizes`` beyond its dimensions add dimensions in front."""
    whole = _repeat_shape(x.shape, sizes)
    if any(n < 0 for n in sizes):
        raise ShapeError(f"Trying to create tensor with negative dimension: {list(sizes)}")
    check_size(tuple(n * m for n, m in zip(sizes, whole, strict=True)))
    return np.tile(x, sizes)


def repeat_pairs(shape: Shape, sizes: Sequence[int]) -> Shape:
    """Return, for each dimension of a repeated array, the number of repetitions and the length of the array."""
    return tuple(n for pair in zip(sizes, _repeat_shape(shape, sizes), strict=True) for n in pair)


def even_places(sizes: Sequence[int]) -> Shape:
    """Return the dimensions of ``repeat_pairs`` that hold repetitions, over which a cotangent is summed."""
    return tuple(range(0, 2 * len(sizes), 2))


def pad(x: Array, widths: Sequence[int], value: Number) -> Any:
    """Return x with ``value`` around it.

    The widths before and after the last dimension are first, as in PyTorch; a negative width removes elements.
    """
    if len(widths) % 2:
        raise ShapeError(f"Padding length must be divisible by 2, but got {len(widths)}")
    if len(widths) > 2 * x.ndim:
        raise ShapeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(widths)} and input of dimension {x.ndim}"
        )
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + [tuple(widths[i : i + 2]) for i in range(len(widths) - 2, -1, -2)]
    lengths = tuple(n + before + after for n, (before, after) in zip(x.shape, pairs, strict=True))
    if any(n < 0 for n in lengths):
        raise ShapeError(f"The input size {list(x.shape)}, plus padding {list(widths)}, resulted in a negative output size")
    check_size(lengths)
    rest = tuple(slice(max(-before, 0), n - max(-after, 0)) for n, (before, after) in zip(x.shape, pairs, strict=True))
    return np.pad(x[rest], [(max(before, 0), max(after, 0)) for before, after in pairs], constant_values=value)


def on_diagonal(shape: Shape, wrap: bool) -> Any:
    """Return the mask of the main diagonal; with ``wrap``, it begins again below a tall matrix."""
    if len(shape) < 2:
        raise ShapeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ShapeError("all dimensions of input must be of equal length")
    mask = np.zeros(shape, np.bool_)
    if len(shape) == 2 and wrap:
        mask.reshape(-1)[:: shape[1] + 1] = True  # one row and one column further
    else:
        mask[(np.arange(min(shape)),) * len(shape)] = True
    return mask


def windows(length: int, size: int, step: int) -> Any:
    """Return the positions of windows of ``size`` elements, ``step`` apart, one window in each row."""
    return np.arange(0, length - size + 1, step)[:, None] + np.arange(size)


def unfolded(x: Array, dim: int, size: int, step: int) -> Any:
    """Return a view of windows of ``size`` elements, ``step`` apart, along ``dim``, in a new last dimension; a number has one."""
    at, length = (dimension(dim, x.ndim), x.shape[dim]) if x.ndim else (0, 1)
    if size < 0:
        raise GraphError(f"size is {size} but must be >= 0")
    if size > length:
        raise ShapeError(f"maximum size for tensor at dimension {at} is {length} but size is {size}")
    if step <= 0:
        raise GraphError(f"step is {step} but must be > 0")
    if not x.ndim:
        return x.reshape(1)[:size]
    shape = (*x.shape[:at], (length - size) // step + 1, *x.shape[at + 1 :], size)
    strides = (*x.strides[:at], x.strides[at] * step, *x.strides[at + 1 :], x.strides[at])
    return strided(x, shape, strides)


def folded(g: Array, shape: Shape, dim: int, size: int, step: int) -> Any:
    """Return zeros to which the elements of the windows ``g`` are added at their places, the adjoint of ``unfolded``."""
    out = np.zeros(shape, g.dtype)
    if not shape:
        return (g.reshape(()) if g.size else out)[()]
    at = dimension(dim, len(shape))
    key = (slice(None),) * at + (windows(shape[at], size, step),)  # one row of positions for each window
    add_at(out, key, np.moveaxis(g, -1, at + 1))
    return out


def diagonal(x: Array, offset: int, dim1: int, dim2: int) -> Any:
    """Return the diagonals between two dimensions as a view, which is writable if x is."""
    first, second = dimension(dim1, x.ndim), dimension(dim2, x.ndim)
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    offset = min(max(offset, -x.shape[first]), x.shape[second])  # NumPy does not accept offsets beyond 32 bits
    result = np.diagonal(x, offset, first, second)
    if x.flags.writeable:
        result.flags.writeable = True  # NumPy returns a read-only view for backward compatibility
    return result


def undiagonal(g: Array, shape: Shape, offset: int, dim1: int, dim2: int) -> Any:
    """Return zeros with ``g`` on the diagonals, the adjoint of ``diagonal``."""
    out = np.zeros(shape, g.dtype)
    diagonal(out, offset, dim1, dim2)[...] = g
    return out


def key_along(shape: Shape, dim: int, part: int | slice) -> Key:
    """Return the index of a position or a slice along a dimension."""
    return (*(slice(None),) * dimension(dim, len(shape)), part)


def unbind(x: Array, dim: int) -> list[Any]:
    if not x.ndim:
        raise IndexOutOfRange("Dimension specified as 0 but tensor has no dimensions")
    length = x.shape[dimension(dim, x.ndim)]
    check_parts(length)
    return [x[(*key_along(x.shape, dim, i), ...)] for i in range(length)]


def slices_or_zeros(g: Sequence[Any], shape: Shape, dim: int) -> list[Any]:
    """Return the cotangents of the slices of an array, with zeros for those that are ``None``."""
    at = dimension(dim, len(shape))
    return [np.zeros((*shape[:at], *shape[at + 1 :])) if part is None else part for part in g]


def part_key(shape: Shape, lengths: Sequence[int], dim: int, i: int) -> Key:
    """Return the index of the i-th part along a dimension."""
    start = sum(lengths[:i])
    return key_along(shape, dim, slice(start, start + lengths[i]))


def parts(x: Array, lengths: Sequence[int], dim: int) -> list[Any]:
    stops = itertools.accumulate(lengths)
    return [x[key_along(x.shape, dim, slice(stop - n, stop))] for n, stop in zip(lengths, stops, strict=True)]


def parts_or_zeros(g: Sequence[Any], shape: Shape, lengths: Sequence[int], dim: int) -> list[Any]:
    """Return the cotangents of the parts of an array, with zeros for those that are ``None``."""
    at = dimension(dim, len(shape))
    return [np.zeros((*shape[:at], n, *shape[at + 1 :])) if part is None else part for part, n in zip(g, lengths, strict=True)]


def listed(numbers: Wholes) -> Shape:
    """Return one number or several as a tuple."""
    return numbers if isinstance(numbers, tuple) else (numbers,) if isinstance(numbers, int) else tuple(numbers)


def joined(numbers: Wholes) -> str:
    return ", ".join(map(str, listed(numbers)))


def permute(x: Array, dims: Sequence[int]) -> Any:
    order = tuple(dimension(d, x.ndim) for d in dims)
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"permute: dims {list(dims)} must contain each of the {x.ndim} dimensions once")
    return np.transpose(x, order)


def inverse_order(dims: Sequence[int]) -> Shape:
    """Return the permutation of dimensions that undoes ``dims``."""
    order = [dimension(d, len(dims)) for d in dims]
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def transpose(x: Array, dim0: int, dim1: int) -> Any:
    first, second = dimension(dim0, x.ndim), dimension(dim1, x.ndim)
    return x[...] if first == second else np.swapaxes(x, first, second)


def t(x: Array) -> Any:
    """Return the transpose of a matrix; a vector or a number is unchanged."""
    if x.ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D", hint="use transpose(x, i, j)")
    return x.T


def unsqueeze(x: Array, dim: int) -> Any:
    return np.expand_dims(x, dimension(dim, x.ndim + 1))


def squeeze(x: Array, dim: int) -> Any:
    """Return x without a dimension of length 1; x is unchanged, as in PyTorch, if it has another length."""
    position = dimension(dim, x.ndim)
    return np.squeeze(x, position) if x.ndim and x.shape[position] == 1 else x


def joined_key(shapes: Sequence[Shape], i: int, dim: int) -> Key:
    """Return the index of the i-th of several joined arrays in the result; an empty vector has no elements there."""
    ndim = max(map(len, shapes))
    position = dimension(dim, ndim)
    if shapes[i] == _EMPTY:
        return (*(slice(None),) * position, slice(0, 0))
    start = sum(shape[position] for shape in shapes[:i] if shape != _EMPTY)
    return (*(slice(None),) * position, slice(start, start + shapes[i][position]))


def cat(arrays: Sequence[Array], dim: int) -> Any:
    """Return arrays joined along ``dim`` in their common type; empty vectors are left out, as in PyTorch."""
    common = arrays[0]  # an array of the common type
    for other in arrays[1:]:
        common = promote(common, other)[0] if common.dtype != other.dtype else common
    numbered = [(i, a) for i, a in enumerate(arrays) if a.shape != _EMPTY] or [*enumerate(arrays)]  # all, if all are empty
    first = numbered[0][1]
    at = dimension(dim, first.ndim)
    for i, other in numbered:
        if other.ndim != first.ndim:
            raise ShapeError(f"Tensors must have same number of dimensions: got {first.ndim} and {other.ndim}")
        for d in range(first.ndim):
            if d != at and other.shape[d] != first.shape[d]:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {at}. Expected size {first.shape[d]} but got size "
                    f"{other.shape[d]} for tensor number {i} in the list."
                )
    return np.concatenate([a.astype(common.dtype, copy=False) for _, a in numbered], at)
