"""Extreme elements, their positions, sorting, and selection by rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import dimension, dimensions
from autodiff_cli.autograd.primitives.types import Dims, Positions, Shape
from autodiff_cli.errors import IndexOutOfRange, ShapeError
from autodiff_cli.numerics.reduce import reduction

_Forward = Callable[..., Any]
_MOST_COMPARED = 2000


def maxima(x: Array, dim: Dims) -> Any:
    return np.maximum.reduce(x, axis=dimensions(dim, np.ndim(x)), keepdims=True)


def minima(x: Array, dim: Dims) -> Any:
    return np.minimum.reduce(x, axis=dimensions(dim, np.ndim(x)), keepdims=True)


def _ties(reached: Array, dim: Dims) -> Any:
    """Return a mask of the tied extreme elements, which is false where the extreme element is unique."""
    return reached & (np.add.reduce(reached, axis=dimensions(dim, np.ndim(reached)), keepdims=True) > 1)


def is_tied_maximum(x: Array, dim: Dims) -> Any:
    return _ties(x == maxima(x, dim), dim)


def is_tied_minimum(x: Array, dim: Dims) -> Any:
    return _ties(x == minima(x, dim), dim)


def ties_of_max(x: Array, y: Array | None) -> Any:
    """Return the mask of the kinks of ``max``: tied maxima of x, or the elements where x and y are equal."""
    return is_tied_maximum(x, None) if y is None else x == y


def ties_of_min(x: Array, y: Array | None) -> Any:
    """Return the mask of the kinks of ``min``; see ``ties_of_max``."""
    return is_tied_minimum(x, None) if y is None else x == y


def is_dimension(y: object) -> bool:
    return isinstance(y, (int, np.integer)) and not isinstance(y, bool)


def is_repeated(x: Array) -> Any:
    """Return a mask of the elements whose value occurs more than once; False for arrays that are too large to compare."""
    flat = np.ravel(x)
    return (np.count_nonzero(flat[:, None] == flat, axis=1) > 1).reshape(np.shape(x)) if flat.size <= _MOST_COMPARED else False


def _needs_elements(name: str, x: Array, dim: Dims) -> None:
    """Raise PyTorch's error of the function ``name`` if a dimension to be reduced, or with ``None`` the array, is empty."""
    if x.size:
        return
    if dim is None:
        raise ShapeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for d in dimensions(dim, x.ndim):
        if not x.shape[d]:
            raise IndexOutOfRange(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _extreme(name: str, ufunc: np.ufunc) -> _Forward:
    """Return the forward computation of a maximum or minimum along dimensions, which must not be empty."""
    reduced = reduction(ufunc)

    def forward(x: Array, dim: Dims, keepdim: bool) -> Any:
        _needs_elements(name, x, dim)
        return reduced(x, dim, keepdim)

    return forward


def as_lanes(x: Array) -> Any:
    """Return a number as a vector of length 1, and any other array unchanged."""
    return x if x.ndim else x.reshape(1)


def with_positions(x: Array, at: int, index: Positions, keepdim: bool) -> tuple[Any, Any]:
    """Return the values at one position along each lane, and the positions; ``index`` has length 1 along dimension ``at``."""
    values = np.take_along_axis(as_lanes(x), index, at)
    if not x.ndim:
        return x, np.int64(index[0])
    if keepdim:
        return values, index
    return np.squeeze(values, at)[()], np.squeeze(index, at)[()]


def lane_shape(shape: Shape, dim: int) -> Shape:
    """Return a shape with length 1 along a dimension."""
    at = dimension(dim, len(shape))
    return (*shape[:at], 1, *shape[at + 1 :])


def _selection(name: str, positions: Callable[[Array, int], Positions]) -> _Forward:
    """Return the function ``name`` that picks one element along each lane, with its position; an empty lane is an error."""

    def forward(x: Array, dim: int, keepdim: bool) -> Any:
        _needs_elements(name, x, dim)
        at = dimension(dim, x.ndim)
        return with_positions(x, at, positions(as_lanes(x), at), keepdim)

    return forward


def _median_position(x: Array, at: int) -> Any:
    """Return the position along dimension ``at`` of the lower median, or of the first nan."""
    order = np.argsort(x, axis=at, kind="stable")
    middle = np.take(order, [(x.shape[at] - 1) // 2], at)
    bad = np.not_equal(x, x)  # nan, also among numbers with many digits
    return np.where(np.any(bad, at, keepdims=True), np.argmax(bad, at, keepdims=True), middle)


def median(x: Array) -> Any:
    """Return the lower median of all elements; nan if there are none."""
    if not x.size:
        return x.dtype.type(np.nan)
    return x.reshape(-1)[_median_position(x.reshape(-1), 0)[0]]


def _position(name: str, find: Callable[..., Array]) -> _Forward:
    """Return the forward computation of the position of an extreme element, in the flattened array if ``dim`` is ``None``."""

    def forward(x: Array, dim: int | None, keepdim: bool) -> Any:
        if not x.size and dim is None:
            raise IndexOutOfRange(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        _needs_elements(name, x, dim)
        if dim is None:
            return find(x).reshape((1,) * x.ndim if keepdim else ())[()]
        at = dimension(dim, x.ndim)
        return find(x, at, keepdims=bool(keepdim))[()] if x.ndim else np.int64(0)

    return forward


def _running_extreme(ufunc: np.ufunc) -> _Forward:
    """Return the forward computation of running extremes along a dimension, each with the position of its last occurrence."""

    def forward(x: Array, dim: int) -> Any:
        at = dimension(dim, x.ndim)
        lanes = as_lanes(x)
        values = ufunc.accumulate(lanes, at)
        reached = (lanes == values) | np.not_equal(lanes, lanes)  # true at elements equal to the running extreme, and at nan
        places = np.arange(lanes.shape[at]).reshape([-1 if d == at else 1 for d in range(lanes.ndim)])
        indices = np.maximum.accumulate(np.where(reached, places, 0), at)
        return values.reshape(x.shape)[()], indices.reshape(x.shape)[()]

    return forward


def ordered(x: Array, dim: int, descending: bool) -> Any:
    """Return the positions that sort x along ``dim``; equal elements keep their order, and nan is the largest value."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")  # for descending order, the same of x reversed, so that ties stay
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)


def sort(x: Array, dim: int, descending: bool) -> Any:
    """Return the sorted elements along ``dim``, and their positions."""
    at = dimension(dim, x.ndim)
    indices = ordered(as_lanes(x), at, descending)
    values = np.take_along_axis(as_lanes(x), indices, at)
    return values.reshape(x.shape)[()], indices.reshape(x.shape)[()]


def topk(x: Array, k: int, dim: int, largest: bool) -> Any:
    """Return the k largest elements (or smallest, without ``largest``) along ``dim`` in order, and their positions."""
    at = dimension(dim, x.ndim)
    if not 0 <= k <= as_lanes(x).shape[at]:
        raise ShapeError("selected index k out of range")
    indices = np.take(ordered(as_lanes(x), at, largest), np.arange(k), at)
    shape = indices.shape if x.ndim or k != 1 else ()  # the only element of a number is a number
    return np.take_along_axis(as_lanes(x), indices, at).reshape(shape)[()], indices.reshape(shape)[()]


def kthvalue(x: Array, k: int, dim: int, keepdim: bool) -> Any:
    """Return the k-th smallest element along ``dim``, where k = 1 is the first, and its position."""
    at = dimension(dim, x.ndim)
    if not 1 <= k <= as_lanes(x).shape[at]:
        raise ShapeError(f"kthvalue(): selected number k out of range for dimension {at}")
    return with_positions(x, at, np.take(ordered(as_lanes(x), at, False), [k - 1], at), keepdim)


amax, amin = _extreme("amax", np.maximum), _extreme("amin", np.minimum)
max, min = _extreme("max", np.maximum), _extreme("min", np.minimum)
max_along = _selection("max", lambda x, at: np.argmax(x, at, keepdims=True))
min_along = _selection("min", lambda x, at: np.argmin(x, at, keepdims=True))
median_along = _selection("median", _median_position)
argmax, argmin = _position("argmax", np.argmax), _position("argmin", np.argmin)
cummax, cummin = _running_extreme(np.maximum), _running_extreme(np.minimum)
