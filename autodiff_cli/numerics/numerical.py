"""Polynomials, integrals, interpolation, quantiles and other statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Dims, Key, Number, Shape, Value
from autodiff_cli.numerics.extremes import as_lanes, with_positions
from autodiff_cli.numerics.reduce import mean, std, var


def quantile_ranks(x: Value, q: Value, dim: int | None) -> Any:
    """Return the positions q*(n - 1), which need not be whole, of quantiles among n sorted elements along a dimension."""
    shape = getattr(x, "shape", ())  # the predicate of kinks also receives Python's floats
    length = math.prod(shape) if dim is None or not shape else shape[dim]
    return q * (length - 1)


def some_whole(x: Value, q: Value, dim: int | None) -> Any:
    """Return whether a quantile is an element, where it has a kink."""
    places = quantile_ranks(x, q, dim)
    return np.any(places == np.round(places))


def neighbour_key(dim: int, later: bool) -> Key:
    """Return the index of all elements but the first (``later``), or but the last, along a dimension that is not negative."""
    return (*(slice(None),) * dim, slice(1, None) if later else slice(None, -1))


def has_points(points: Shape, samples: Shape, dim: int) -> bool:
    """Return whether there is one point for each sample along a dimension, in one vector or beside the samples."""
    lengths = points if len(points) == 1 else points[dim : dim + 1] if len(points) == len(samples) else ()
    return tuple(lengths) == (samples[dim],)


def positive_part(free: Any) -> Any:
    """Return a number of degrees of freedom, but 0 in place of a negative number; a tensor is unchanged."""
    return max(free, 0.0) if isinstance(free, (int, float)) else free


def numbers_for(x: Array, nan: Number | None, posinf: Number | None, neginf: Number | None) -> Any:
    """Return x with other numbers for nan and infinities; by default (``None``) 0 and the largest numbers of its type."""
    numbers: Any = {"nan": 0.0 if nan is None else nan, "posinf": posinf, "neginf": neginf}
    return np.nan_to_num(x, **numbers)


def middle_known(rows: Array, at: int) -> Any:
    """Return the position along axis ``at``, which stays, of the lower median of the elements that are not nan; any if all are."""
    order = np.argsort(rows, axis=at, kind="stable")  # nan is last
    known = np.maximum(np.sum(~np.isnan(rows), axis=at, keepdims=True) - 1, 0)
    return np.take_along_axis(order, known // 2, at)


def nanmedian_along(x: Array, dim: int, keepdim: bool) -> Any:
    """Return the lower median without nan along a dimension, and its position."""
    at = dimension(dim, x.ndim)
    return with_positions(x, at, middle_known(as_lanes(x), at), keepdim)


def nanmedian(x: Array) -> Any:
    """Return the lower median of all elements that are not nan; nan if there are none."""
    every = x.reshape(-1)
    return every[middle_known(every, 0)[0]] if x.size else x.dtype.type(np.nan)


def most_frequent(x: Array, dim: int, keepdim: bool) -> Any:
    """Return the smallest of the most frequent elements along a dimension, and its last position."""
    at = dimension(dim, x.ndim)
    rows = np.sort(as_lanes(x), axis=at)
    same = np.sum(np.expand_dims(rows, at) == np.expand_dims(rows, at + 1), axis=at + 1)  # how often each element occurs
    best = np.take_along_axis(rows, np.argmax(same, axis=at, keepdims=True), at)
    length = rows.shape[at]
    last = length - 1 - np.argmax(np.flip(as_lanes(x) == best, at), axis=at, keepdims=True)
    return with_positions(x, at, last, keepdim)


def variance_and_mean(x: Array, dim: Dims, correction: Number, keepdim: bool) -> Any:
    return var(x, dim, correction, keepdim), mean(x, dim, keepdim)


def deviation_and_mean(x: Array, dim: Dims, correction: Number, keepdim: bool) -> Any:
    return std(x, dim, correction, keepdim), mean(x, dim, keepdim)
