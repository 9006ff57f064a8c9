"""Polynomials, interpolation and statistics; ``grammar/rules/numerical.rules`` describes the functions without a docstring."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.primitives.structural import dimension, dimensions, where
from autodiff_cli.autograd.primitives.types import Dims, Value, array_of
from autodiff_cli.errors import ArgumentError, GraphError, NotRecordable, ShapeError
from autodiff_cli.limits import check_count
from autodiff_cli.numerics.numerical import quantile_ranks
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.positions import index_select
from autodiff_cli.ops.rules.comparison import isnan
from autodiff_cli.ops.rules.extremes import amax, amin, sort
from autodiff_cli.ops.rules.numerical import declare
from autodiff_cli.ops.rules.positions import take
from autodiff_cli.ops.rules.shape import cat
from autodiff_cli.ops.shape import reshape
from autodiff_cli.ops.views import movedim

_MOST_CONDITIONS = 1000


@declare.described
def polyval(c: Value, x: Value) -> Any:
    """Polynomial with the coefficients c, highest power first, at x."""
    if len(c.shape) > 1:
        raise ShapeError(
            f"polyval: 'c' must be a list of coefficients, but it has shape {list(c.shape)}",
            hint="give one coefficient for each power, beginning with the highest",
        )
    value = zeros_like(x)
    for i, coefficient in enumerate([c[i] for i in range(c.shape[0])] if c.shape else [c]):  # Horner's rule
        value = value * x + coefficient if i else value + coefficient
    return value


def _line_through(x: Value, low: Value, high: Value, left: Value, right: Value) -> Any:
    """Return the line through (low, left) and (high, right) at x; at low and high it is left and right without a rounding error."""
    return (left * (high - x) + right * (x - low)) / (high - low)


def _interpolated_by_conditions(x: Value, xp: Value, fp: Value) -> Any:
    """Interpolate with one condition for each inner point, where a trace does not know the segment of x."""
    count = xp.shape[0]
    value = _line_through(x, xp[count - 2], xp[count - 1], fp[count - 2], fp[count - 1])
    for k in range(count - 2, 0, -1):
        value = where(x < xp[k], _line_through(x, xp[k - 1], xp[k], fp[k - 1], fp[k]), value)
    return value


@declare.described
def interp(x: Value, xp: Value, fp: Value) -> Any:
    """Piecewise linear interpolation at x between the points (xp, fp), constant outside; xp increases."""
    if len(xp.shape) != 1 or tuple(xp.shape) != tuple(fp.shape) or not xp.shape[0]:
        raise ShapeError(
            f"interp: 'xp' and 'fp' must be lists of the same length, not of the shapes {list(xp.shape)} and {list(fp.shape)}"
        )
    count = xp.shape[0]
    if count == 1:
        return fp[0] + zeros_like(x)
    try:
        points = np.array(xp.tolist(), float)
        if not np.all(points[1:] > points[:-1]):
            raise ArgumentError("interp: the points 'xp' must increase", hint="sort the points, and remove equal points")
        low = np.clip(np.searchsorted(points, np.array(x.tolist(), float), side="right") - 1, 0, count - 2)
        value = _line_through(x, take(xp, low), take(xp, low + 1), take(fp, low), take(fp, low + 1))
    except NotRecordable:  # raised by ``tolist`` of the tensor of a trace, which does not have numbers
        check_count(count, _MOST_CONDITIONS, "interp between {} points, more than {}, cannot be traced")
        value = _interpolated_by_conditions(x, xp, fp)
    return where(x < xp[0], fp[0], where(x > xp[count - 1], fp[count - 1], value))


@declare.described
def quantile(x: Value, q: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    """Quantiles q, from 0 to 1, of all elements or along dim, with linear interpolation between neighbouring elements."""
    lengths = [1] * len(x.shape)  # of the result with keepdim
    if dim is None or not x.shape:
        x, at = reshape(x, (-1,)), 0
    else:
        at = dimension(dim, len(x.shape))
        lengths = [1 if i == at else n for i, n in enumerate(x.shape)]
    if len(q.shape) > 1:
        raise ShapeError(f"quantile: 'q' must be a number or a list of numbers, but it has shape {list(q.shape)}")
    if not x.shape[at]:
        raise ShapeError("quantile of no elements")
    values = movedim(sort(x, at)[0], at, 0)
    ranks = reshape(quantile_ranks(x, q, at), (-1, *[1] * (len(x.shape) - 1)))
    result = _at_ranks(values, ranks)
    result = where(isnan(values[-1]), values[-1], result)  # nan is the last of the sorted elements
    return reshape(result, (*q.shape, *(lengths if keepdim else values.shape[1:])))


def _at_ranks(values: Value, ranks: Value) -> Any:
    """Return interpolated elements along the first dimension at ranks, a column of positions that need not be whole."""
    places = np.array(ranks.tolist(), float).reshape(-1)
    last = values.shape[0] - 1
    if not np.all((places >= 0) & (places <= last)):
        raise ArgumentError("quantile: 'q' must be from 0 to 1")
    low = np.clip(np.floor(places), 0, max(last - 1, 0)).astype(np.int64)
    weights = ranks - low.reshape(ranks.shape)
    return index_select(values, 0, low) * (1 - weights) + index_select(values, 0, np.minimum(low + 1, last)) * weights


def _difference_slopes(x: Value, spacing: Any, edge_order: int) -> Any:
    """Return slopes along the first dimension: averages of those on both sides, each weighted with the width of the other side."""
    length = x.shape[0]
    if length < edge_order + 1:
        raise GraphError("torch.gradient expected each dimension size to be at least edge_order+1")
    points = np.asarray(array_of(spacing), float)
    widths = np.full(length - 1, points) if not points.ndim else np.diff(points)
    if len(widths) != length - 1:
        raise GraphError(f"torch.gradient expected {length} coordinates along a dimension, but got {len(points)}")
    widths = widths.reshape(-1, *[1] * (len(x.shape) - 1))
    between = (x[1:] - x[:-1]) / widths
    before, after = widths[:-1], widths[1:]
    inner = (between[:-1] * after + between[1:] * before) / (before + after)
    first, last = between[:1], between[-1:]
    if edge_order == 2:  # the slope of the parabola through three points
        first, last = 2 * first - inner[:1], 2 * last - inner[-1:]
    return cat([first, inner, last], 0)


@declare.described
def gradient(x: Value, *, spacing: Any = 1, dim: Dims = None, edge_order: int = 1) -> Any:
    """Slopes of the samples x along each dimension, estimated by finite differences at distances or coordinates spacing."""
    if edge_order not in (1, 2):
        raise GraphError("torch.gradient only supports edge_order=1 and edge_order=2.")
    at = dimensions(dim, len(x.shape))
    each = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(at)
    if len(each) != len(at):
        raise GraphError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to {len(at)}, "
            f"the number of dimensions, but got a list of length {len(each)}"
        )
    return tuple(movedim(_difference_slopes(movedim(x, d, 0), s, edge_order), 0, d) for d, s in zip(at, each, strict=True))


class Extremes(NamedTuple):
    """The minimum and the maximum of ``aminmax``."""

    min: Any
    max: Any


@declare.described
def aminmax(x: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    return Extremes(amin(x, dim, keepdim), amax(x, dim, keepdim))
