"""Statistics: several reductions at once, reductions without nan, covariance, and cumulative integrals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DTypeLike
from autodiff_cli.autograd.primitives.argument_kinds import (
    DIMENSION,
    DIMENSIONS,
    DIMENSIONS_OR_UNBIASED,
    FLAG,
    NUMBER,
    TENSOR,
    TYPE,
    optional,
    takes,
)
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction, VjpRule
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension, where
from autodiff_cli.autograd.primitives.types import Dims, Number, Value, array_of
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError, ShapeError
from autodiff_cli.numerics.extremes import as_lanes, with_positions
from autodiff_cli.numerics.reduce import count
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.reduce import correction_of, std, var
from autodiff_cli.ops.rules.comparison import isnan
from autodiff_cli.ops.rules.extremes import amax, amin, equal_shares, put_one_back
from autodiff_cli.ops.rules.reduce import cumsum, mean, spread, sum, var_vjp
from autodiff_cli.ops.rules.reduce import over_size as over
from autodiff_cli.ops.rules.shape import transpose
from autodiff_cli.ops.rules.views import diagonal
from autodiff_cli.ops.shape import reshape
from autodiff_cli.ops.views import narrow

__all__ = [
    "aminmax",
    "corrcoef",
    "cov",
    "cumulative_trapezoid",
    "mode",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nansum",
    "std_mean",
    "var_mean",
]

declare = Declarations(__name__)

RESULTS: dict[str, Any] = {"results": ("values", "indices"), "constant": ("indices",)}

_V, _M = [1.0, -2.0, 3.5], [[1.0, 2.0], [3.0, 5.0]]


class Extremes(NamedTuple):
    """The minimum and the maximum of ``aminmax``."""

    min: Any
    max: Any


def _with_mean(name: str, measure: TensorFunction, vjp: VjpRule) -> Callable[..., Any]:
    def forward(x: Value, dim: Dims, correction: Number, keepdim: bool) -> Any:
        return measure(x, dim, None, keepdim, correction), mean(x, dim, keepdim)

    def both_vjp(g: Sequence[Value | None], x: Value, dim: Dims, correction: Number) -> Any:
        by_measure = None if g[0] is None else vjp(g[0], x, dim, correction)
        if g[1] is None:
            return by_measure
        by_mean = spread(g[1] / count(x.shape, dim), x.shape, dim)
        return by_mean if by_measure is None else by_measure + by_mean

    statics = {"dim": None, "correction": 1, "keepdim": False}
    with_one_node: TensorFunction = declare.several(name, forward, both_vjp, statics=statics, public=False)

    def both(
        x: Value, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, correction: Number | None = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        applied = with_one_node if type(x) is Tensor else forward
        return applied(x, dim, correction_of(name, unbiased, correction), keepdim)

    both.__name__ = both.__qualname__ = name
    return takes(dim=optional(DIMENSIONS_OR_UNBIASED), unbiased=optional(FLAG), keepdim=FLAG, correction=optional(NUMBER))(both)


def _std_vjp(g: Value, x: Value, dim: Dims, correction: Number) -> Any:
    return var_vjp(over(g, reshape(std(x, dim, None, False, correction), g.shape) * 2), x, dim, correction)


var_mean, std_mean = _with_mean("var_mean", var, var_vjp), _with_mean("std_mean", std, _std_vjp)
var_mean.__doc__ = "The variance and the mean of all elements, or along dim."
std_mean.__doc__ = "The standard deviation and the mean of all elements, or along dim."
for _function in (var_mean, std_mean):
    describe(_function, tensors=("x",), samples=((_V,), (_M, 1), (_M, 0, False, True)))


@takes(dim=optional(DIMENSION), keepdim=FLAG)
def aminmax(x: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    """The minimum and the maximum of all elements, or along dim."""
    return Extremes(amin(x, dim, keepdim), amax(x, dim, keepdim))


describe(aminmax, samples=((_V,), (_M, 1)))

# Without nan


def _numbers_for(x: Array, nan: Number | None, posinf: Number | None, neginf: Number | None) -> Any:
    numbers: Any = {"nan": 0.0 if nan is None else nan, "posinf": posinf, "neginf": neginf}
    return np.nan_to_num(x, **numbers)


nan_to_num: TensorFunction = declare(
    "nan_to_num",
    _numbers_for,
    {"x": lambda g, x: where(np.isfinite(array_of(x)), g, 0.0)},
    selects=True,
    statics={"nan": 0.0, "posinf": None, "neginf": None},
    kinds={"nan": optional(NUMBER), "posinf": optional(NUMBER), "neginf": optional(NUMBER)},
    summary="x with nan replaced by a number (0 if left out), and infinities by numbers (the largest and smallest if left out)",
    formula="1 where x is finite, else 0",
    samples=((_V,), (_M, 1.0, 2.0, 3.0)),
)


@takes(dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE))
def nansum(x: Value, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Any:
    """The sum of the elements that are not nan, or sums along dim."""
    return sum(where(isnan(x), 0.0, x), dim, keepdim, dtype)


@takes(dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE))
def nanmean(x: Value, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Any:
    """The mean of the elements that are not nan, or means along dim."""
    bad = isnan(x)
    return sum(where(bad, 0.0, x), dim, keepdim, dtype) / sum(where(bad, 0.0, 1.0), dim, keepdim)


def _middle_known(rows: Array, at: int) -> Any:
    """Return the position of the lower median of the elements that are not nan."""
    order = np.argsort(rows, axis=at, kind="stable")  # nan is last
    known = np.maximum(np.sum(~np.isnan(rows), axis=at, keepdims=True) - 1, 0)
    return np.take_along_axis(order, known // 2, at)


def _nanmedian_forward(x: Array, dim: int, keepdim: bool) -> Any:
    at = dimension(dim, x.ndim)
    return with_positions(x, at, _middle_known(as_lanes(x), at), keepdim)


def _nanmedian_value(x: Array) -> Any:
    every = x.reshape(-1)
    return every[_middle_known(every, 0)[0]] if x.size else x.dtype.type(np.nan)


_nanmedian_along: TensorFunction = declare.several(
    "nanmedian",
    _nanmedian_forward,
    put_one_back,
    statics={"dim": -1, "keepdim": False},
    node="NanmedianBackward1",
    public=False,
    **RESULTS,
)
_nanmedian_of_all: TensorFunction = declare(
    "nanmedian", _nanmedian_value, {"x": lambda g, x, out: equal_shares(g, x, out, None)}, node="NanmedianBackward0", public=False
)


@takes(dim=optional(DIMENSION), keepdim=FLAG)
def nanmedian(x: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of the elements that are not nan; along dim, the medians and their positions."""
    return _nanmedian_of_all(x) if dim is None else _nanmedian_along(x, dim, keepdim)


def _most_frequent(x: Array, dim: int, keepdim: bool) -> Any:
    at = dimension(dim, x.ndim)
    rows = np.sort(as_lanes(x), axis=at)
    same = np.sum(np.expand_dims(rows, at) == np.expand_dims(rows, at + 1), axis=at + 1)
    best = np.take_along_axis(rows, np.argmax(same, axis=at, keepdims=True), at)  # the smallest of the most frequent elements
    length = rows.shape[at]
    last = length - 1 - np.argmax(np.flip(as_lanes(x) == best, at), axis=at, keepdims=True)
    return with_positions(x, at, last, keepdim)


_mode: TensorFunction = declare.several(
    "mode", _most_frequent, put_one_back, statics={"dim": -1, "keepdim": False}, public=False, **RESULTS
)


@takes(dim=DIMENSION, keepdim=FLAG)
def mode(x: Value, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along dim, the smallest of several, and its last position."""
    return _mode(x, dim, keepdim)


for _function in (nansum, nanmean):
    describe(_function, tensors=("x",), samples=((_V,), (_M, 1), (_M, 0, True)))
describe(nanmedian, samples=((_V,), (_M, 1)))
describe(mode, samples=((_V,), (_M, 1)))

# Covariance


@takes(correction=NUMBER)
def cov(x: Value, *, correction: int = 1, fweights: Value | None = None, aweights: Value | None = None) -> Any:
    """The covariance matrix of the rows of x, whose columns are observations, with optional weights."""
    if len(x.shape) > 2:
        raise ShapeError(f"cov(): expected input to have two or fewer dimensions but got an input with {len(x.shape)} dimensions")
    rows = reshape(x, (1, -1)) if len(x.shape) < 2 else x
    weights: Any = None
    for given in (fweights, aweights):
        if given is not None:
            weights = given if weights is None else weights * given
    if weights is None:
        total: Any = rows.shape[1]
        free = total - correction
        rest = rows - mean(rows, 1, True)
        product = matmul(rest, transpose(rest))
    else:
        total = sum(weights)
        rest = rows - sum(rows * weights, 1, True) / total
        free = total - correction * (1 if aweights is None else sum(weights * aweights) / total)
        product = matmul(rest * weights, transpose(rest))
    made = product / free if not isinstance(free, int) or free > 0 else product / 0.0
    return reshape(made, ()) if len(x.shape) < 2 else made


@takes()
def corrcoef(x: Value) -> Any:
    """The matrix of correlation coefficients of the rows of x, whose columns are observations."""
    if len(x.shape) > 2:
        raise ShapeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {len(x.shape)} dimensions"
        )
    found = cov(x)
    if not found.shape:
        return found / found
    size = diagonal(found) ** 0.5
    return found / reshape(size, (-1, 1)) / size


describe(cov, parameters=("x",), defaults=(), samples=((_V,), ([[1.0, 2.0, 4.0], [0.5, -1.0, 2.0]],)))
describe(corrcoef, samples=(([[1.0, 2.0, 4.0], [0.5, -1.0, 2.0]],),))


@takes(y=TENSOR, x=optional(TENSOR), dx=NUMBER, dim=DIMENSION)
def cumulative_trapezoid(y: Value, x: Value | None = None, *, dx: Number = 1, dim: int = -1) -> Any:
    """The integrals from the first point to each further point by the trapezoidal rule, at distances dx or at points x."""
    at = dimension(dim, len(y.shape))
    length = y.shape[at] if y.shape else 0
    if length < 1 or (x is not None and (not x.shape or x.shape[-1] != length)):
        raise GraphError("cumulative_trapezoid: there must be points along the dimension, and x must have as many as y")
    height = (narrow(y, at, 1, length - 1) + narrow(y, at, 0, length - 1)) / 2
    if x is None:
        return cumsum(height * dx, at)
    along = len(x.shape) - 1 if len(x.shape) == 1 else dimension(dim, len(x.shape))
    width = narrow(x, along, 1, length - 1) - narrow(x, along, 0, length - 1)
    if len(x.shape) == 1:
        width = reshape(width, (*(1,) * at, length - 1, *(1,) * (len(y.shape) - at - 1)))
    return cumsum(height * width, at)


describe(cumulative_trapezoid, parameters=("y", "x"), defaults=(None,), tensors=("y", "x"), samples=((_V,), (_V, [0.0, 1.0, 3.0])))
