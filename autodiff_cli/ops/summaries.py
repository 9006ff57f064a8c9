"""Statistics: several reductions at once, reductions without nan, covariance, and cumulative integrals."""

from __future__ import annotations

from typing import Any, NamedTuple

from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Dims, Number, Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError, ShapeError
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.reduce import correction_of
from autodiff_cli.ops.rules.extremes import amax, amin
from autodiff_cli.ops.rules.reduce import cumsum, deviation, mean, sum, variance
from autodiff_cli.ops.rules.shape import transpose
from autodiff_cli.ops.rules.summaries import described, deviation_and_mean, variance_and_mean
from autodiff_cli.ops.rules.views import diagonal
from autodiff_cli.ops.shape import reshape
from autodiff_cli.ops.views import narrow

__all__ = ["aminmax", "corrcoef", "cov", "cumulative_trapezoid", "std_mean", "var_mean"]


class Extremes(NamedTuple):
    """The minimum and the maximum of ``aminmax``."""

    min: Any
    max: Any


@described
def var_mean(
    x: Value, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, correction: Number | None = None
) -> Any:
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    correction = correction_of("var_mean", unbiased, correction)
    if type(x) is Tensor:
        return variance_and_mean(x, dim, correction, keepdim)
    return variance(x, dim, correction, keepdim), mean(x, dim, keepdim)


@described
def std_mean(
    x: Value, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, correction: Number | None = None
) -> Any:
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    correction = correction_of("std_mean", unbiased, correction)
    if type(x) is Tensor:
        return deviation_and_mean(x, dim, correction, keepdim)
    return deviation(x, dim, correction, keepdim), mean(x, dim, keepdim)


@described
def aminmax(x: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    return Extremes(amin(x, dim, keepdim), amax(x, dim, keepdim))


@described
def cov(x: Value, *, correction: int = 1, fweights: Value | None = None, aweights: Value | None = None) -> Any:
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
    result = product / free if not isinstance(free, int) or free > 0 else product / 0.0
    return reshape(result, ()) if len(x.shape) < 2 else result


@described
def corrcoef(x: Value) -> Any:
    if len(x.shape) > 2:
        raise ShapeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {len(x.shape)} dimensions"
        )
    result = cov(x)
    if not result.shape:
        return result / result
    size = diagonal(result) ** 0.5
    return result / reshape(size, (-1, 1)) / size


@described
def cumulative_trapezoid(y: Value, x: Value | None = None, *, dx: Number = 1, dim: int = -1) -> Any:
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
