"""Sorted arrays, and elements selected by rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.errors import ShapeError
from autodiff_cli.numerics.extremes import as_lanes, with_positions


def ordered(x: Array, dim: int, descending: bool) -> Any:
    """Return the positions that sort x; equal elements keep their order, and nan is the largest value."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)


def sort(x: Array, dim: int, descending: bool) -> Any:
    at = dimension(dim, x.ndim)
    indices = ordered(as_lanes(x), at, descending)
    values = np.take_along_axis(as_lanes(x), indices, at)
    return values.reshape(x.shape)[()], indices.reshape(x.shape)[()]


def topk(x: Array, k: int, dim: int, largest: bool) -> Any:
    at = dimension(dim, x.ndim)
    if not 0 <= k <= as_lanes(x).shape[at]:
        raise ShapeError("selected index k out of range")
    indices = np.take(ordered(as_lanes(x), at, largest), np.arange(k), at)
    shape = indices.shape if x.ndim or k != 1 else ()
    return np.take_along_axis(as_lanes(x), indices, at).reshape(shape)[()], indices.reshape(shape)[()]


def kthvalue(x: Array, k: int, dim: int, keepdim: bool) -> Any:
    at = dimension(dim, x.ndim)
    if not 1 <= k <= as_lanes(x).shape[at]:
        raise ShapeError(f"kthvalue(): selected number k out of range for dimension {at}")
    return with_positions(x, at, np.take(ordered(as_lanes(x), at, False), [k - 1], at), keepdim)
