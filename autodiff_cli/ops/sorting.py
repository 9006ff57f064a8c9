"""Sorting, and selection by rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, FLAG, WHOLE, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.errors import ShapeError
from autodiff_cli.ops.extremes import FIVE, ORDER, RESULTS, as_lanes, put_back, put_one_back, with_positions

__all__ = ["argsort", "kthvalue", "msort", "sort", "topk"]

declare = Declarations(__name__)


def ordered(x: Array, dim: int, descending: bool) -> Any:
    """Return the positions that sort x; equal elements keep their order, and nan is the largest value."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)


def _sort(x: Array, dim: int, descending: bool) -> Any:
    at = dimension(dim, x.ndim)
    indices = ordered(as_lanes(x), at, descending)
    values = np.take_along_axis(as_lanes(x), indices, at)
    return values.reshape(x.shape)[()], indices.reshape(x.shape)[()]


def _topk(x: Array, k: int, dim: int, largest: bool) -> Any:
    at = dimension(dim, x.ndim)
    if not 0 <= k <= as_lanes(x).shape[at]:
        raise ShapeError("selected index k out of range")
    indices = np.take(ordered(as_lanes(x), at, largest), np.arange(k), at)
    shape = indices.shape if x.ndim or k != 1 else ()
    return np.take_along_axis(as_lanes(x), indices, at).reshape(shape)[()], indices.reshape(shape)[()]


_sort_of: TensorFunction = declare.several(
    "sort",
    _sort,
    put_back,
    statics={"dim": -1, "descending": False},
    public=False,
    **RESULTS,
)
_top: TensorFunction = declare.several(
    "topk",
    _topk,
    put_back,
    statics={"k": 1, "dim": -1, "largest": True},
    public=False,
    **RESULTS,
)
_kth: TensorFunction = declare.several(
    "kthvalue",
    lambda x, k, dim, keepdim: _kth_of(x, k, dim, keepdim),
    put_one_back,
    statics={"k": 1, "dim": -1, "keepdim": False},
    public=False,
    **RESULTS,
)


def _kth_of(x: Array, k: int, dim: int, keepdim: bool) -> Any:
    at = dimension(dim, x.ndim)
    if not 1 <= k <= as_lanes(x).shape[at]:
        raise ShapeError(f"kthvalue(): selected number k out of range for dimension {at}")
    return with_positions(x, at, np.take(ordered(as_lanes(x), at, False), [k - 1], at), keepdim)


@takes(dim=DIMENSION, descending=FLAG, stable=FLAG)
def sort(x: Value, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements sorted along dim, and their positions in x."""
    return _sort_of(x, dim, descending)


@takes(dim=DIMENSION, descending=FLAG, stable=FLAG)
def argsort(x: Value, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Positions in x of the elements sorted along dim."""
    return sort(x, dim, descending)[1]


def msort(x: Value) -> Any:
    """The elements sorted along the first dimension."""
    return sort(x, 0)[0]


@takes(k=WHOLE, dim=DIMENSION, largest=FLAG, sorted=FLAG)
def topk(x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest elements along dim in order, or the k smallest with largest=false, and their positions."""
    return _top(x, k, dim, largest)


@takes(k=WHOLE, dim=DIMENSION, keepdim=FLAG)
def kthvalue(x: Value, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along dim, and its position."""
    return _kth(x, k, dim, keepdim)


_CHOSEN: dict[str, Any] = {**ORDER, "edges": (([5.0, 1.0, 5.0], 2),)}
_EITHER = "one of several equal elements receives the derivative (PyTorch)"
_STABLE = "equal elements keep their order; nan is last (PyTorch)"
describe(sort, convention=_STABLE, samples=((FIVE,), (FIVE, 0, True)), **ORDER)
describe(msort, convention=_STABLE, samples=((FIVE,),), **ORDER)
describe(argsort)
describe(
    topk,
    tensors=("x",),
    convention=_EITHER,
    samples=((FIVE, 2), (FIVE, 1, 0, False)),
    **_CHOSEN,
)
describe(kthvalue, tensors=("x",), convention=_EITHER, samples=((FIVE, 2),), **_CHOSEN)
