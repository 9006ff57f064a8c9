"""Vector norms, and logarithms of sums of exponentials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DTypeLike, as_float, torch_type
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, NUMBER, TEXT, TYPE, either, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension, where
from autodiff_cli.autograd.primitives.types import Dims, Number, Value
from autodiff_cli.errors import ArgumentError, DtypeError, ShapeError
from autodiff_cli.numerics.reduce import dimensions, reduction
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.reduce import lanes
from autodiff_cli.ops.rules.elementary import abs, exp, sign
from autodiff_cli.ops.rules.extremes import equal_shares
from autodiff_cli.ops.rules.reduce import of_type, recurrence, spread
from autodiff_cli.ops.rules.reduce import over_size as over
from autodiff_cli.ops.views import neighbour

__all__ = ["logcumsumexp", "logsumexp", "norm", "vector_norm"]

declare = Declarations(__name__)

SAMPLES = (([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True))

# Odd and even powers of x/size.  Up to a factor, the derivative of an odd power is an even power, and vice versa.  At x = 0 the
# odd power is 0 for every p, and its derivative with respect to size is 0, even where the derivative with respect to x is infinite.


@np.errstate(all="ignore")
def _odd(x: Array, size: Array, p: float) -> Any:
    ratio = x / size
    return np.where(x == 0, ratio.dtype.type(0), np.sign(x) * np.abs(ratio) ** p)[()]


@np.errstate(all="ignore")
def _even(x: Array, size: Array, p: float) -> Any:
    ratio = np.where(size == 0, 0.0, x / size).astype(np.result_type(x, size), copy=False)
    return np.abs(ratio)[()] ** p


def _share_vjp(g: Value, x: Value, size: Value, p: float, other: TensorFunction) -> Any:
    return zeros_like(g) if p == 0 else g * (over(other(x, size, p - 1), size) * p)


def _size_vjp(g: Value, out: Value, size: Value, p: float) -> Any:
    return zeros_like(g) if p == 0 else g * (over(out, size) * -p)


_odd_share: TensorFunction = declare(
    "odd_share",  # sign(x)*abs(x/size)**p
    _odd,
    {
        "x": lambda g, x, size, p: _share_vjp(g, x, size, p, _even_share),
        "size": lambda g, size, out, p: _size_vjp(g, out, size, p),
    },
    statics={"p": 1.0},
    elementwise=True,
    public=False,
    decomposition="0 if x == 0 else sign(x)*abs(x/size)**p",
)
_even_share: TensorFunction = declare(
    "even_share",  # abs(x/size)**p
    _even,
    {
        "x": lambda g, x, size, p: _share_vjp(g, x, size, p, _odd_share),
        "size": lambda g, size, out, p: _size_vjp(g, out, size, p),
    },
    statics={"p": 1.0},
    elementwise=True,
    public=False,
    decomposition="abs(x/size)**p",
)


_SQUARES = {np.dtype(t): (float((np.finfo(t).tiny / np.finfo(t).eps) ** 0.5), float(np.finfo(t).max)) for t in ("f4", "f8")}
"""The range of norms for which the squares of the elements are accurate, for each dtype."""


@np.errstate(all="ignore")
def _norm(x: Array, p: float, dim: Dims, keepdim: bool) -> Any:
    if x.dtype.kind != "f":
        raise DtypeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {torch_type(x.dtype).scalar_name}"
        )
    size = np.abs(x)
    if (p < 0 or math.isinf(p)) and not x.size and not all(x.shape[d] for d in dimensions(dim, x.ndim)):
        raise ShapeError(
            f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an identity"
        )
    if math.isinf(p):
        return reduction(np.maximum if p > 0 else np.minimum)(size, dim, keepdim)
    if p == 0:
        return reduction(np.add)((x != 0).astype(x.dtype), dim, keepdim)
    total = _root_of_powers(size, p, dim, keepdim)
    # For totals far from 1, the rounding error of 1/p makes the root inaccurate, and squares may be subnormal.
    low, high = _SQUARES.get(x.dtype, (1e-2, 1e2)) if p == 2 else (1e-10, 1e10)
    if p <= 1 or not x.size or np.all((total > low) & (total <= high)):
        return total
    largest = reduction(np.maximum)(size, dim, True)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1)
    scaled = _root_of_powers(size / scale, p, dim, True) * scale
    return np.reshape(scaled, np.shape(total))[()].astype(x.dtype)


def _root_of_powers(size: Array, p: float, dim: Dims, keepdim: bool) -> Any:
    if p == 1:
        return reduction(np.add)(size, dim, keepdim)
    if p == 2:
        return np.sqrt(reduction(np.add)(size * size, dim, keepdim))
    return reduction(np.add)(size**p, dim, keepdim) ** (1 / p)


def _norm_vjp(g: Value, x: Value, out: Value, ord: float, dim: Dims) -> Any:
    if ord == 0:
        return zeros_like(x)
    if ord == 1:
        return spread(g, x.shape, dim) * sign(x)
    if math.isinf(ord):
        return sign(x) * equal_shares(g, abs(x), out, dim)
    size = spread(out, x.shape, dim)
    return spread(g, x.shape, dim) * (over(x, size) if ord == 2 else _odd_share(x, size, ord - 1))


_vector_norm: TensorFunction = declare(
    "linalg_vector_norm",
    _norm,
    {"x": _norm_vjp},
    statics={"ord": 2, "dim": None, "keepdim": False},
    public=False,
)


_ORDER = optional(either(NUMBER, TEXT))


def _order(p: Number | str | None) -> float:
    if p is None or p == "fro":
        return 2
    if isinstance(p, (str, bool)):
        raise ArgumentError(f"'{p}' is not the order of a vector norm", hint="use a number, inf, -inf or 'fro'")
    return float(p)


@takes(ord=_ORDER, dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE))
def vector_norm(
    x: Value, ord: Number | str | None = 2, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None
) -> Any:
    """sum(abs(x)**ord)**(1/ord) over all elements, or along dim; the largest abs(x) for inf, the smallest abs(x) for -inf."""
    return _vector_norm(of_type(x, dtype), _order(ord), dim, keepdim)


@takes(p=_ORDER, dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE))
def norm(x: Value, p: Number | str | None = "fro", dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Any:
    """sum(abs(x)**p)**(1/p) over all elements, or along dim; the largest abs(x) for inf, the smallest abs(x) for -inf."""
    return _vector_norm(of_type(x, dtype), _order(p), dim, keepdim)


def _corner(x: Array, p: Number | str | None) -> Any:
    """Return a mask of the elements at which the norm of order ``p`` is not differentiable."""
    size, order = np.abs(x), _order(p)
    if math.isinf(order):
        return (size == (size.max() if order > 0 else size.min())) & (np.count_nonzero(size == size.max()) > 1)
    return size == 0 if order < 2 else np.full(np.shape(x), not size.any())


_DESCRIPTION: dict[str, Any] = {
    "tensors": ("x",),
    "formula": "sign(x)*(abs(x)/norm(x))**(p - 1)",
    "smooth": "norm(x) != 0 for p = 2; no element is 0 for p < 2; the extreme element is unique for inf and -inf",
    "convention": "the derivative at 0 is 0; for inf and -inf, elements of equal absolute value share the derivative (PyTorch)",
    "edges": (([0.0, 0.0],), ([0.0, 0.0], 3), ([0.0, 0.0], 1.5), ([3.0, -3.0], math.inf)),
}
_ORDERS = tuple(([[1.0, -2.0], [3.0, 0.5]], p, 1) for p in (1, 2, 3, 1.5, 0.5, -1, math.inf, -math.inf))
describe(vector_norm, kink=lambda x, ord: _corner(x, ord), samples=_ORDERS, **_DESCRIPTION)
describe(norm, kink=_corner, samples=(([3.0, -4.0],), *_ORDERS), **_DESCRIPTION)


# log(sum(exp(x)))


@np.errstate(all="ignore")
def _logsumexp(x: Array, dim: Dims, keepdim: bool) -> Any:
    x = as_float(x)
    axes = dimensions(dim, x.ndim)
    largest = np.max(x, axis=axes, keepdims=True, initial=-math.inf)
    largest = np.where(np.isinf(largest), x.dtype.type(0), largest)
    total = np.log(np.add.reduce(np.exp(x - largest), axis=axes, keepdims=True)) + largest
    return (total if keepdim else np.squeeze(total, axes))[()]


def _weight(x: Value, out: Value) -> Any:
    """Return exp(x - out), but 0 where x is -inf, even if out is also -inf."""
    nothing = x == -math.inf
    return exp(where(nothing, -math.inf, x - where(nothing, 0.0, out)))


logsumexp = declare(
    "logsumexp",
    _logsumexp,
    {"x": lambda g, x, out, dim: spread(g, x.shape, dim) * _weight(x, spread(out, x.shape, dim))},
    statics={"dim": None, "keepdim": False},
    kinds={"dim": optional(DIMENSIONS), "keepdim": FLAG},
    summary="log(sum(exp(x))) over all elements, or along dim, without overflow",
    formula="softmax(x)",
    convention="the derivative with respect to an element that is -inf is 0, even if all elements are -inf",
    samples=SAMPLES,
    edges=(([-math.inf, 1.0],),),
)


@np.errstate(all="ignore")
def _running_logsumexp(x: Array, dim: int) -> Any:
    return np.logaddexp.accumulate(as_float(x), dimension(dim, x.ndim))


def _running_vjp(g: Value, x: Value, out: Value, dim: int) -> Any:
    # The cotangent of a running sum is its direct cotangent plus decay times the cotangent of the next running sum, where decay
    # is the quotient of the two sums.  The sum beyond the border is inf: its decay and the derivatives of that decay are 0.
    decay = _weight(out, neighbour(out, dim, True, math.inf))
    return recurrence(g, decay, dim, True) * _weight(x, out)


_logcumsumexp: TensorFunction = declare(
    "logcumsumexp",
    _running_logsumexp,
    {"x": _running_vjp},
    statics={"dim": 0},
    public=False,
)


@takes(dim=DIMENSION)
def logcumsumexp(x: Value, dim: int = 0) -> Any:
    """Running log(sum(exp(x))) along dim without overflow."""
    return lanes(x, _logcumsumexp, dim)


describe(logcumsumexp, formula="reverse running sum of g*exp(x - out)", samples=SAMPLES[:2])
