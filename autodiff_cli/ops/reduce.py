"""Sums, means, products, variances and running sums, over all elements or along dimensions."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DTypeLike
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, NUMBER, TYPE, Kind, either, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction, VjpRule
from autodiff_cli.autograd.primitives.registry import Registration, describe
from autodiff_cli.autograd.primitives.structural import dimension, expanded
from autodiff_cli.autograd.primitives.types import Dims, Forward, Number, Shape, Value
from autodiff_cli.errors import ArgumentError, DtypeError, ShapeError
from autodiff_cli.ops.casts import to
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.shape import reshape
from autodiff_cli.ops.views import neighbour

__all__ = ["count_nonzero", "cumprod", "cumsum", "mean", "prod", "std", "sum", "var"]

declare = Declarations(__name__)

SAMPLES = (([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True))


def dimensions(dim: Dims, ndim: int) -> Shape:
    """Return the dimensions that ``dim`` specifies, which are all dimensions for ``None`` and for an empty list."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(ndim))
    given = dim if isinstance(dim, (list, tuple)) else (dim,)
    chosen = tuple(dimension(d, ndim) for d in given)
    for d in chosen:
        if chosen.count(d) > 1:
            raise ShapeError(f"dim {d} appears multiple times in the list of dims")
    return chosen if ndim else ()


def kept_shape(shape: Shape, dim: Dims) -> Shape:
    """Return ``shape`` with length 1 along the reduced dimensions."""
    reduced = dimensions(dim, len(shape))
    return tuple(1 if i in reduced else n for i, n in enumerate(shape))


def spread(g: Value, x_shape: Shape, dim: Dims) -> Any:
    """Broadcast the result of a reduction, or its cotangent, to the shape before the reduction."""
    return expanded(reshape(g, kept_shape(x_shape, dim)) if g.shape else g, x_shape)


def reduction(ufunc: np.ufunc) -> Any:
    """Return the forward computation of a reduction with a ufunc."""

    def forward(x: Array, dim: Dims, keepdim: bool) -> Any:
        at = None if dim is None else dimensions(dim, x.ndim)
        return ufunc.reduce(x, axis=at, keepdims=bool(keepdim))[()]

    return forward


def count(shape: Shape, dim: Dims) -> int:
    """Return the number of elements that are reduced to one element."""
    return math.prod(shape if dim is None else [shape[i] for i in dimensions(dim, len(shape))])


STATICS: dict[str, Any] = {"dim": None, "keepdim": False}


def of_type(x: Value, dtype: DTypeLike | None) -> Any:
    """Convert ``x`` to ``dtype`` unless ``dtype`` is ``None``."""
    return x if dtype is None else to(x, dtype)


def two_nodes(
    name: str,
    forward: Forward,
    vjp: VjpRule,
    numbers: tuple[int, int] = (0, 1),
    series: str | None = None,
    dim: Kind = DIMENSIONS,
    **description: Unpack[Registration],
) -> TensorFunction:
    """Declare a reduction that, as in PyTorch, has one node for all elements and another node for reductions along dimensions."""
    whole, along = (
        declare(name, forward, {"x": vjp}, node=f"{name.capitalize()}Backward{i}", statics=STATICS, series=series, public=False)
        for i in numbers
    )

    @takes(dim=optional(dim), keepdim=FLAG, dtype=optional(TYPE))
    def function(x: Value, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Any:
        x = of_type(x, dtype)
        return whole(x, dim, keepdim) if dim is None and not keepdim else along(x, dim, keepdim)

    description.setdefault("samples", SAMPLES)
    return _named(function, name, description)


def _named(function: TensorFunction, name: str, description: Registration) -> TensorFunction:
    """Set the name and the module of a reduction, and describe it."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return describe(function, tensors=("x",), **description)


def _mean(x: Array, dim: Dims, keepdim: bool) -> Any:
    # In a trace, x is an array of objects, each of which has a dtype.
    dtype = np.result_type(*[getattr(cell, "dtype", cell) for cell in x.flat]) if x.dtype.kind == "O" else x.dtype
    if dtype.kind != "f":
        kind = {"i": "Long", "b": "Bool"}.get(dtype.kind, dtype)
        raise DtypeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {kind}",
            hint="convert the elements with mean(x, dtype='float64')",
        )
    with np.errstate(all="ignore"):
        return reduction(np.add)(x, dim, keepdim) / x.dtype.type(count(x.shape, dim))


sum = two_nodes(
    "sum",
    reduction(np.add),
    spread,
    series="linear",
    summary="sum of all elements, or sums along dim; sum(i=1..10, x**i) is a sum over an index",
    formula="1",
)
mean = two_nodes(
    "mean",
    _mean,
    lambda g, x_shape, dim: spread(g / count(x_shape, dim), x_shape, dim),
    series="linear",
    summary="mean of all elements, or means along dim",
    formula="1/n",
)

# Running sums and products, from the front or from the back.  The derivatives of the recurrence y[k] = x[k] + decay[k]*y[k - 1]
# have the same form.  The recurrence differentiates products without a division by elements, which may be 0.


def _running(ufunc: np.ufunc) -> Any:
    def forward(x: Array, dim: int, reverse: bool) -> Any:
        at = dimension(dim, x.ndim)
        x = x.astype(np.int64) if x.dtype.kind == "b" else x
        if not x.ndim:
            return x.copy()
        return np.flip(ufunc.accumulate(np.flip(x, at), at), at) if reverse else ufunc.accumulate(x, at)

    return forward


_ALONG: dict[str, Any] = {"dim": 0, "reverse": False}
running_sum: Any = declare(
    "cumsum",
    _running(np.add),
    {"x": lambda g, dim, reverse: running_sum(g, dim, not reverse)},
    statics=_ALONG,
    series="linear",
    public=False,
)


def _recur(x: Array, decay: Array, dim: int, reverse: bool) -> Any:
    out = np.array(x, np.result_type(x, decay))
    at = dimension(dim, out.ndim)
    steps, factors = np.moveaxis(out, at, 0), np.moveaxis(decay, at, 0)
    if reverse:
        steps, factors = steps[::-1], factors[::-1]
    for k in range(1, len(steps)):
        steps[k] += factors[k] * steps[k - 1]
    return out


recurrence: Any = declare(
    "recurrence",
    _recur,
    {
        "x": lambda g, decay, dim, reverse: recurrence(g, neighbour(decay, dim, not reverse, 0.0), dim, not reverse),
        "decay": lambda g, decay, out, dim, reverse: (
            recurrence(g, neighbour(decay, dim, not reverse, 0.0), dim, not reverse) * neighbour(out, dim, reverse, 0.0)
        ),
    },
    statics=_ALONG,
    public=False,
)
running_product: Any = declare(
    "cumprod",
    _running(np.multiply),
    {
        "x": lambda g, x, out, dim, reverse: (
            recurrence(g, neighbour(x, dim, not reverse, 0.0), dim, not reverse) * neighbour(out, dim, reverse, 1.0)
        )
    },
    statics=_ALONG,
    public=False,
)


def lanes(x: Value, operation: TensorFunction, dim: int, *rest: bool) -> Any:
    """Apply ``operation`` along a dimension; treat a number as a vector of length 1."""
    at = dimension(dim, len(x.shape))
    return operation(x, at, *rest) if len(x.shape) else reshape(operation(reshape(x, (1,)), 0, *rest), ())


@takes(dim=DIMENSION, dtype=optional(TYPE))
def cumsum(x: Value, dim: int = 0, dtype: DTypeLike | None = None) -> Any:
    """Running sums along dim."""
    return running_sum(of_type(x, dtype), dim)


@takes(dim=DIMENSION, dtype=optional(TYPE))
def cumprod(x: Value, dim: int = 0, dtype: DTypeLike | None = None) -> Any:
    """Running products along dim."""
    return lanes(of_type(x, dtype), running_product, dim)


describe(cumsum, formula="reverse running sum of g", samples=SAMPLES[:2])
describe(
    cumprod,
    formula="products of the other elements",
    convention="derivatives of every order are exact where elements are 0",
    samples=(*SAMPLES[:2], ([2.0, 0.0, 4.0, 0.0, 3.0],)),
)


def _others(x: Value, dim: int | None) -> Any:
    """Return, for each element, the product of the other elements along dim."""
    if dim is None:
        return reshape(_others(reshape(x, (-1,)), 0), x.shape)
    before = neighbour(running_product(x, dim, False), dim, False, 1.0)
    return before * neighbour(running_product(x, dim, True), dim, True, 1.0)


def _prod(x: Array, dim: int | None, keepdim: bool) -> Any:
    at: Any = None if dim is None else dimension(dim, x.ndim)
    kept: Any = bool(keepdim)
    return np.multiply.reduce(x, axis=at if x.ndim else None, keepdims=kept)[()]


prod = two_nodes(
    "prod",
    _prod,
    lambda g, x, dim: spread(g, x.shape, dim) * _others(x, dim if x.shape else None),
    dim=DIMENSION,
    summary="product of all elements, or products along dim; prod(i=1..10, x + i) is a product over an index",
    formula="products of the other elements",
    convention="derivatives of every order are exact where elements are 0",
    samples=(*SAMPLES, ([2.0, 0.0, 4.0],), ([[0.0, 2.0], [0.0, 3.0]], 0), (2.0,)),
)

# Variance and standard deviation


def _var(x: Array, dim: Dims, correction: Number, keepdim: bool) -> Any:
    if x.dtype.kind != "f":
        raise DtypeError("std and var only support floating point and complex dtypes")
    with np.errstate(all="ignore"):
        rest = x - _mean(x, dim, True)
        free = x.dtype.type(max(count(x.shape, dim) - correction, 0))
        return reduction(np.add)(rest * rest, dim, keepdim) / free


def var_vjp(g: Value, x: Value, dim: Dims, correction: Number) -> Any:
    free = count(x.shape, dim) - correction
    return (x - mean(x, dim, True)) * (spread(g, x.shape, dim) * (2 / free if free else np.inf))


def over(g: Value, size: Value) -> Any:
    """Return g/size, but 0 where size is 0: the subgradient of least norm."""
    return where(size == 0, 0.0, g / where(size == 0, 1.0, size))


DIMENSIONS_OR_UNBIASED = Kind("a dimension or a list of dimensions", either(DIMENSIONS, FLAG).take)


def correction_of(name: str, unbiased: bool | None, correction: Number | None) -> Number:
    """Return the correction of a variance, 1 by default; it may be given as ``unbiased``, which is PyTorch's older parameter.

    Raises:
        ArgumentError: if both are given.
    """
    if unbiased is not None and correction is not None:
        raise ArgumentError(f"{name}: give 'correction' or 'unbiased', not both")
    if correction is None:
        return 1 if unbiased is None else int(unbiased)
    return correction


def _spread_measure(name: str, forward: Forward, vjp: VjpRule, **description: Unpack[Registration]) -> TensorFunction:
    made = declare(name, forward, {"x": vjp}, statics={"dim": None, "correction": 1, "keepdim": False}, public=False)

    @takes(dim=optional(DIMENSIONS_OR_UNBIASED), unbiased=optional(FLAG), keepdim=FLAG, correction=optional(NUMBER))
    def function(
        x: Value, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, correction: Number | None = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return made(x, dim, correction_of(name, unbiased, correction), keepdim)

    description["samples"] = (([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 5.0]], 1), ([[1.0, 2.0], [3.0, 5.0]], 0, False, True))
    return _named(function, name, description)


var = _spread_measure(
    "var",
    _var,
    var_vjp,
    summary="variance: sum of squared deviations divided by n - correction, or by n with unbiased=false",
    formula="2*(x - mean(x))/(n - 1)",
    convention="the value is nan or infinite where n is not greater than the correction (PyTorch)",
)
std = _spread_measure(
    "std",
    lambda x, dim, correction, keepdim: np.sqrt(_var(x, dim, correction, keepdim)),
    lambda g, x, out, dim, correction: var_vjp(over(g, out * 2), x, dim, correction),
    summary="standard deviation: square root of var",
    formula="(x - mean(x))/((n - 1)*std(x))",
    smooth="not all elements are equal",
    kink=lambda x: np.full(np.shape(x), np.size(x) > 0 and np.ptp(x) == 0),
    convention="the derivative is 0 where all elements are equal (PyTorch)",
    edges=(([1.0, 1.0],),),
)

count_nonzero = declare(
    "count_nonzero",
    lambda x, dim: np.asarray(np.count_nonzero(x, axis=dimensions(dim, x.ndim)))[()],
    {"x": None},
    statics={"dim": None},
    kinds={"dim": optional(DIMENSIONS)},
    summary="number of nonzero elements of x, or numbers of nonzero elements along dim",
)
