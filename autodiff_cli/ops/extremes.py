"""Maximum, minimum and median, of all elements or along a dimension, with positions; running extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Dims, Operand, Positions, Shape, Value, array_of
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.ops.comparison import isnan, maximum, minimum, where
from autodiff_cli.ops.reduce import SAMPLES, STATICS, dimensions, reduction, spread, sum
from autodiff_cli.ops.rules.positions import dropped
from autodiff_cli.ops.shape import reshape

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cummax",
    "cummin",
    "max",
    "median",
    "min",
]

declare = Declarations(__name__)


def share(g: Value, x: Value, out: Value, dim: Dims, nans: bool = True) -> Any:
    """Share the cotangent of an extreme value evenly among the elements that are equal to it.

    Args:
        nans: whether elements that are nan share the cotangent of a result that is nan.
    """
    g, out = spread(g, x.shape, dim), spread(out, x.shape, dim)
    chosen = (x == out) | (isnan(x) & isnan(out)) if nans else x == out
    count = spread(sum(chosen, dim), x.shape, dim)
    return where(chosen, g / count, 0.0) if nans else g * where(chosen, 1.0, 0.0) / count


def _shared(ufunc: np.ufunc, x: Array, dim: Dims) -> Any:
    """Return a mask of the tied extreme elements, which is false where the extreme element is unique."""
    reached = x == ufunc.reduce(x, axis=dimensions(dim, np.ndim(x)), keepdims=True)
    return reached & (np.add.reduce(reached, axis=dimensions(dim, np.ndim(x)), keepdims=True) > 1)


def repeated(x: Array) -> Any:
    """Return a mask of the elements whose value occurs more than once; False for arrays that are too large to compare."""
    flat = np.ravel(x)
    return (np.count_nonzero(flat[:, None] == flat, axis=1) > 1).reshape(np.shape(x)) if flat.size <= _MOST_COMPARED else False


_MOST_COMPARED = 2000


def _ties(ufunc: np.ufunc) -> Any:
    return lambda x, y: _shared(ufunc, x, None) if y is None else x == y


def _needs_elements(name: str, x: Array, dim: Dims) -> None:
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


_KINK: dict[str, Any] = {
    "formula": "1 at the extreme element, 0 elsewhere",
    "smooth": "the extreme element is unique",
}
_SHARED = "equal extreme elements share the derivative evenly (PyTorch)"
TIE = (([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],))


def _extreme_series(ufunc: np.ufunc, x: Tensor, dim: Dims, keepdim: bool) -> Any:
    """Return the mean of the elements that equal the extreme value."""
    chosen = x == ufunc.reduce(x._data, axis=dimensions(dim, x.ndim), keepdims=True)
    return sum(where(chosen, x, 0.0), dim, keepdim) / sum(chosen, dim, keepdim)


def _extreme(name: str, ufunc: np.ufunc, summary: str, node: str | None = None, public: bool = True) -> Any:
    forward = reduction(ufunc)
    nans = not public  # as in PyTorch, where the derivative at nan is nan for amax and amin only

    def checked(x: Array, dim: Dims, keepdim: bool) -> Any:
        _needs_elements(name, x, dim)
        return forward(x, dim, keepdim)

    return declare(
        name,
        checked,
        {"x": lambda g, x, out, dim: share(g, x, out, dim, nans)},
        series=lambda x, dim, keepdim: _extreme_series(ufunc, x, dim, keepdim),
        selects=True,
        node=node,
        statics=STATICS,
        kinds={"dim": optional(DIMENSIONS), "keepdim": FLAG} if public else None,
        public=public,
        summary=summary,
        kink=lambda x, dim: _shared(ufunc, x, dim),
        convention=_SHARED,
        samples=SAMPLES,
        edges=TIE,
        **_KINK,
    )


amax = _extreme("amax", np.maximum, "maximum of all elements, or maxima along dim")
amin = _extreme("amin", np.minimum, "minimum of all elements, or minima along dim")
_max_of_all = _extreme("max", np.maximum, "", "MaxBackward1", public=False)
_min_of_all = _extreme("min", np.minimum, "", "MinBackward1", public=False)

# Extremes with positions: each forward computation finds positions and takes the values at these positions.


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


def put_back(g: list[Value], indices: Positions, x_shape: Shape, dim: int) -> Any:
    """Add the cotangent of the values to zeros in the shape of the input, at the positions of the values along dim."""
    return dropped(g[0], x_shape, dimension(dim, len(x_shape)), np.asarray(array_of(indices)))


def put_one_back(g: list[Value], indices: Positions, x_shape: Shape, dim: int, keepdim: bool) -> Any:
    """Return the result of ``put_back`` for a reduction to one value for each lane."""
    if keepdim or not x_shape:
        return put_back(g, indices, x_shape, dim)
    at = dimension(dim, len(x_shape))
    kept = (*x_shape[:at], 1, *x_shape[at + 1 :])
    return dropped(reshape(g[0], kept), x_shape, at, np.asarray(array_of(indices)).reshape(kept))


def _selecting(name: str, positions: Callable[[Array, int], Positions], node: str) -> TensorFunction:
    """Declare an operation that picks one element along each lane and returns values and indices."""

    def forward(x: Array, dim: int, keepdim: bool) -> Any:
        _needs_elements(name, x, dim)
        at = dimension(dim, x.ndim)
        return with_positions(x, at, positions(as_lanes(x), at), keepdim)

    return declare.several(
        name,
        forward,
        put_one_back,
        results=("values", "indices"),
        constant=("indices",),
        node=node,
        statics={"dim": -1, "keepdim": False},
        public=False,
    )


def _middle(x: Array, at: int) -> Any:
    """Return the position of the lower median, or of the first nan."""
    order = np.argsort(x, axis=at, kind="stable")
    middle = np.take(order, [(x.shape[at] - 1) // 2], at)
    bad = np.isnan(x)
    return np.where(np.any(bad, at, keepdims=True), np.argmax(bad, at, keepdims=True), middle)


_max_along = _selecting("max", lambda x, at: np.argmax(x, at, keepdims=True), "MaxBackward0")
_min_along = _selecting("min", lambda x, at: np.argmin(x, at, keepdims=True), "MinBackward0")
_median_along = _selecting("median", _middle, "MedianBackward1")


def _is_dimension(y: object) -> TypeGuard[int]:
    return isinstance(y, (int, np.integer)) and not isinstance(y, bool)


def _extreme_of(name: str, x: Value, y: Operand | None, keepdim: bool, dim: int | None) -> Any:
    if not isinstance(keepdim, (bool, np.bool_)):
        raise ArgumentError(f"{name} takes one tensor or two arguments", hint=f"use {name}([a, b, c]) or {name}({name}(a, b), c)")
    of_all, along, of_two = _EXTREMES[name]
    if dim is None and _is_dimension(y):
        y, dim = None, y
    if y is not None:
        return of_two(x, y)
    return of_all(x, None, False) if dim is None else along(x, dim, keepdim)


_EXTREMES = {"max": (_max_of_all, _max_along, maximum), "min": (_min_of_all, _min_along, minimum)}


@takes(dim=optional(DIMENSION))
def max(x: Value, y: Operand | None = None, keepdim: bool = False, dim: int | None = None) -> Any:
    """Maximum of all elements, or maxima along dim with their positions; for two tensors, the elementwise maximum."""
    return _extreme_of("max", x, y, keepdim, dim)


@takes(dim=optional(DIMENSION))
def min(x: Value, y: Operand | None = None, keepdim: bool = False, dim: int | None = None) -> Any:
    """Minimum of all elements, or minima along dim with their positions; for two tensors, the elementwise minimum."""
    return _extreme_of("min", x, y, keepdim, dim)


for _function, _ufunc in ((max, np.maximum), (min, np.minimum)):
    describe(
        _function,
        kink=_ties(_ufunc),
        kinds={"keepdim": FLAG, "dim": optional(DIMENSION)},
        tensors=("x", "y"),
        convention=f"{_SHARED}; along a dimension, the first extreme element receives the derivative",
        samples=(([1.0, -2.0, 3.0],), (1.5, -0.5), ([[1.0, 2.0], [4.0, 3.0]], None, True, 1)),
        edges=((1.0, 1.0), *TIE),
        **_KINK,
    )


def _middle_value(x: Array) -> Any:
    if not x.size:
        return x.dtype.type(np.nan)
    return x.reshape(-1)[_middle(x.reshape(-1), 0)[0]]


_median_of_all = declare(
    "median", _middle_value, {"x": lambda g, x, out: share(g, x, out, None)}, node="MedianBackward0", public=False
)


@takes(dim=optional(DIMENSION), keepdim=FLAG)
def median(x: Value, dim: Dims = None, keepdim: bool = False) -> Any:
    """Median of all elements, or medians along dim with their positions; the lower of two middle elements is the median."""
    return _median_of_all(x) if dim is None else _median_along(x, dim, keepdim)


describe(
    median,
    formula="1 at the median, 0 elsewhere",
    smooth="the median is unique",
    kink=repeated,
    convention="equal elements share the derivative evenly; along a dimension, one of them receives the derivative (PyTorch)",
    samples=(([1.0, -2.0, 3.0, 7.0],), ([[1.0, 2.5], [4.0, 3.0], [0.5, 2.0]], 0, True)),
    edges=TIE,
)


_KINDS = {"dim": optional(DIMENSION), "keepdim": FLAG}


def _position(name: str, find: Callable[..., Array], summary: str) -> Any:
    def forward(x: Array, dim: int | None, keepdim: bool) -> Any:
        if not x.size and dim is None:
            raise IndexOutOfRange(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        _needs_elements(name, x, dim)
        if dim is None:
            return find(x).reshape((1,) * x.ndim if keepdim else ())[()]
        at = dimension(dim, x.ndim)
        return find(x, at, keepdims=bool(keepdim))[()] if x.ndim else np.int64(0)

    return declare(name, forward, {"x": None}, statics=STATICS, kinds=_KINDS, summary=summary)


argmax = _position("argmax", np.argmax, "position of the maximum in the flattened x, or positions of the maxima along dim")
argmin = _position("argmin", np.argmin, "position of the minimum in the flattened x, or positions of the minima along dim")

# Running extremes


def _running(ufunc: np.ufunc) -> Any:
    def forward(x: Array, dim: int) -> Any:
        at = dimension(dim, x.ndim)
        lanes = as_lanes(x)
        values = ufunc.accumulate(lanes, at)
        reached = (lanes == values) | np.isnan(lanes)  # true at elements equal to the running extreme, and at nan
        places = np.arange(lanes.shape[at]).reshape([-1 if d == at else 1 for d in range(lanes.ndim)])
        indices = np.maximum.accumulate(np.where(reached, places, 0), at)
        return values.reshape(x.shape)[()], indices.reshape(x.shape)[()]

    return forward


RESULTS: dict[str, Any] = {"results": ("values", "indices"), "constant": ("indices",)}
ORDER: dict[str, Any] = {
    "formula": "g at the positions of the values, 0 elsewhere",
    "smooth": "no two elements are equal",
    "kink": repeated,
    "edges": TIE,
}
FIVE = [[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]]


def _running_extreme(name: str, ufunc: np.ufunc, summary: str) -> TensorFunction:
    return declare.several(
        name,
        _running(ufunc),
        put_back,
        statics={"dim": 0},
        kinds={"dim": DIMENSION},
        summary=summary,
        convention="the last of several equal elements receives the derivative (PyTorch)",
        samples=((FIVE, 1),),
        **RESULTS,
        **ORDER,
    )


cummax = _running_extreme("cummax", np.maximum, "running maximum along dim, with positions")
cummin = _running_extreme("cummin", np.minimum, "running minimum along dim, with positions")
