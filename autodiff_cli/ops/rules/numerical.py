"""Polynomials, integrals, interpolation, quantiles and other statistics."""  # made from grammar/rules/numerical.rules by grammar/compile_rules.py

from typing import Any
import numpy as np
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, DIMENSIONS_OR_UNBIASED, FLAG, NUMBER, TENSOR, TYPE, WHOLE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import dimension, where
from autodiff_cli.autograd.primitives.types import array_of
from autodiff_cli.errors import ShapeError
from autodiff_cli.numerics import numerical as arrays
from autodiff_cli.numerics.arithmetic import is_ordinary_tensor
from autodiff_cli.numerics.extremes import is_repeated
from autodiff_cli.numerics.numerical import has_points, neighbour_key, positive_part, some_whole
from autodiff_cli.numerics.reduce import correction_of, count, dims_alone
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.comparison import isnan
from autodiff_cli.ops.rules.extremes import equal_shares, put_one_back
from autodiff_cli.ops.rules.reduce import cumsum, deviation, mean, over_size, spread, sum, var_vjp, variance
from autodiff_cli.ops.rules.shape import transpose
from autodiff_cli.ops.rules.views import diagonal
from autodiff_cli.ops.shape import reshape
declare = Declarations(__name__)
over_deviations: Any = lambda covariance, size: covariance / reshape(size, (-1, 1)) / size
def areas(name: Any, y: Any, x: Any, dx: Any, at: Any) -> Any:
    """The areas of the trapezoids between neighbouring samples y along dimension at, with the points x, or the distance dx if x is none; name is for errors."""
    if len(y.shape) == 0: raise ShapeError(f"{name} expects at least a 1-dimensional tensor")
    if x is not None and not has_points(x.shape, y.shape, at): raise ShapeError(f"{name}: 'x' has shape {list(x.shape)}, but 'y' has shape {list(y.shape)}", hint='give one point for each sample along dim, or a tensor of points in the shape of y')
    later = neighbour_key(at, True)
    earlier = neighbour_key(at, False)
    means = (y[later] + y[earlier]) / 2
    return (means * dx) if x is None else ((means * (x[later] - x[earlier])) if len(x.shape) > 1 else (means * reshape(x[1:] - x[:-1], (-1,) + (1,) * (len(y.shape) - at - 1))))
def sum_with_mean(by_measure: Any, g: Any, x: Any, dim: Any) -> Any:
    by_mean = None if g is None else spread(g / count(x.shape, dim), x.shape, dim)
    return by_mean if by_measure is None else (by_measure if by_mean is None else (by_measure + by_mean))
declare.python('polyval', ('c', 'x'), parameters=('c', 'x'), defaults=(), tensors=('c', 'x'), kinds={'c': TENSOR, 'x': TENSOR}, summary='polynomial with the coefficients c, highest power first, at x', formula='powers of x; with respect to x, the sum of k*c*x**(k - 1)', samples=(([2.0, -1.0, 3.0], 0.7), ([2.0, -1.0, 0.5, 3.0], [0.7, -1.2]),), methods=())
def _trapezoid_composed(y: Any, x: Any = None, dx: Any = 1.0, dim: Any = -1) -> Any:
    at = dimension(dim, len(y.shape))
    return sum(areas('trapezoid', y, x, dx, at), at)
trapezoid = trapz = declare.composed('trapezoid', _trapezoid_composed, dict(y=TENSOR, x=optional(TENSOR), dx=TENSOR, dim=DIMENSION), tensors=('y', 'x', 'dx'), summary='integral along dim by the trapezoidal rule, for samples y at the points x, or at points with the distance dx', formula='half the distance of the two neighbouring points; with respect to x, half of (previous sample - next sample)', aliases=('trapz',), samples=(([1.0, -2.0, 3.0], [0.0, 0.5, 2.0]), ([[1.0, 2.0], [3.0, 5.0]], None, 0.5, 0), ([[1.0, 2.0], [3.0, 5.0]], [0.0, 2.0], 1.0, 0),))
declare.python('interp', ('x', 'xp', 'fp'), parameters=('x', 'xp', 'fp'), defaults=(), tensors=('x', 'xp', 'fp'), kinds={'x': TENSOR, 'xp': TENSOR, 'fp': TENSOR}, summary='piecewise linear interpolation at x between the points (xp, fp), constant outside; xp increases', formula='slope of the segment; for fp, the weights of its two points; for xp, -slope times these weights', smooth='x is not one of the points xp', kink=lambda x, xp: np.isin(x, xp), convention='the derivative at a point xp is the slope on its right, at the last point on its left; PyTorch does not have this function', samples=((0.7, [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]), ([-1.0, 0.2, 2.5, 7.0], [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]),), edges=((1.0, [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]), (0.0, [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]), (3.0, [0.0, 1.0, 3.0], [2.0, -1.0, 0.5]),), methods=())
declare.python('quantile', ('x', 'q', 'dim', 'keepdim'), parameters=('x', 'q', 'dim', 'keepdim'), defaults=(None, False, ), tensors=('x', 'q'), kinds={'x': TENSOR, 'q': TENSOR, 'dim': optional(DIMENSION), 'keepdim': FLAG}, summary='quantiles q, from 0 to 1, of all elements or along dim, with linear interpolation between neighbouring elements', formula='the weights of the two neighbouring elements; with respect to q, (n - 1) times their difference', smooth='no two elements are equal, and q*(n - 1) is not a whole number', kink=lambda x, q, dim: is_repeated(x) | some_whole(x, q, dim), convention='where q*(n - 1) is whole, the derivative is that on the right, where PyTorch and JAX return 0 with respect to q; one of several equal elements receives the derivative (PyTorch)', samples=(([1.0, -2.0, 3.0, 7.0], 0.3), ([[1.0, 2.5], [4.0, 3.0], [0.5, 2.0]], [0.2, 0.9], 0), ([[1.0, 2.5, 4.0]], 0.7, 1, True),), edges=(([5.0, 1.0, 5.0], 0.7), ([1.0, 2.0, 4.0], 0.5),))
declare.python('gradient', ('dim', 'edge_order'), parameters=('x',), defaults=(), tensors=('x',), kinds={'dim': optional(DIMENSIONS), 'edge_order': WHOLE}, summary='slopes of the samples x along each dimension, estimated by finite differences at distances or coordinates spacing', samples=(([1.0, -2.0, 3.0, 7.0],), ([[1.0, 2.0], [3.0, 5.0]],),), methods=())
def _var_mean_composed(x: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, correction: Any = None) -> Any:
    correction = correction_of('var_mean', dim, unbiased, correction)
    dims = dims_alone(dim)
    return variance_and_mean(x, dims, correction, keepdim) if is_ordinary_tensor(x) else (variance(x, dims, correction, keepdim), mean(x, dims, keepdim))
var_mean = declare.composed('var_mean', _var_mean_composed, dict(dim=optional(DIMENSIONS_OR_UNBIASED), unbiased=optional(FLAG), keepdim=FLAG, correction=optional(NUMBER)), tensors=('x',), summary='the variance and the mean of all elements, or along dim', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0], [3.0, 5.0]], 1), ([[1.0, 2.0], [3.0, 5.0]], 0, False, True),))
def _std_mean_composed(x: Any, dim: Any = None, unbiased: Any = None, keepdim: Any = False, correction: Any = None) -> Any:
    correction = correction_of('std_mean', dim, unbiased, correction)
    dims = dims_alone(dim)
    return deviation_and_mean(x, dims, correction, keepdim) if is_ordinary_tensor(x) else (deviation(x, dims, correction, keepdim), mean(x, dims, keepdim))
std_mean = declare.composed('std_mean', _std_mean_composed, dict(dim=optional(DIMENSIONS_OR_UNBIASED), unbiased=optional(FLAG), keepdim=FLAG, correction=optional(NUMBER)), tensors=('x',), summary='the standard deviation and the mean of all elements, or along dim', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0], [3.0, 5.0]], 1), ([[1.0, 2.0], [3.0, 5.0]], 0, False, True),))
declare.python('aminmax', ('dim', 'keepdim'), parameters=('x', 'dim', 'keepdim'), defaults=(None, False, ), tensors=('x',), kinds={'dim': optional(DIMENSION), 'keepdim': FLAG}, summary='the minimum and the maximum of all elements, or along dim', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0], [3.0, 5.0]], 1),))
nan_to_num = declare('nan_to_num', arrays.numbers_for, {'x': lambda g, x: where(np.isfinite(array_of(x)), g, 0.0)}, statics={'nan': 0.0, 'posinf': None, 'neginf': None}, kinds={'nan': optional(NUMBER), 'posinf': optional(NUMBER), 'neginf': optional(NUMBER)}, selects=True, summary='x with nan replaced by a number (0 if left out), and infinities by numbers (the largest and smallest if left out)', formula='1 where x is finite, else 0', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0], [3.0, 5.0]], 1.0, 2.0, 3.0),))
nansum = declare.composed('nansum', lambda x, dim=None, keepdim=False, dtype=None: sum(where(isnan(x), 0.0, x), dim, keepdim, dtype), dict(dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE)), tensors=('x',), summary='the sum of the elements that are not nan, or sums along dim', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0], [3.0, 5.0]], 1), ([[1.0, 2.0], [3.0, 5.0]], 0, True),))
def _nanmean_composed(x: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    bad = isnan(x)
    return sum(where(bad, 0.0, x), dim, keepdim, dtype) / sum(where(bad, 0.0, 1.0), dim, keepdim)
nanmean = declare.composed('nanmean', _nanmean_composed, dict(dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE)), tensors=('x',), summary='the mean of the elements that are not nan, or means along dim', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0], [3.0, 5.0]], 1), ([[1.0, 2.0], [3.0, 5.0]], 0, True),))
nanmedian = declare.composed('nanmedian', lambda x, dim=None, keepdim=False: nanmedian_of_all(x) if dim is None else nanmedian_along(x, dim, keepdim), dict(dim=optional(DIMENSION), keepdim=FLAG), tensors=('x',), summary='the lower median of the elements that are not nan; along dim, the medians and their positions', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0], [3.0, 5.0]], 1),))
mode = declare.composed('mode', lambda x, dim=-1, keepdim=False: mode_along(x, dim, keepdim), dict(dim=DIMENSION, keepdim=FLAG), tensors=('x',), summary='the most frequent element along dim, the smallest of several, and its last position', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0], [3.0, 5.0]], 1),))
def _cov_composed(x: Any, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of the rows of x, whose columns are observations, with optional weights."""
    if len(x.shape) >= 3: raise ShapeError(f"cov(): expected input to have two or fewer dimensions but got an input with {len(x.shape)} dimensions")
    weights = fweights if aweights is None else (aweights if fweights is None else (fweights * aweights))
    rows = reshape(x, (1, -1)) if len(x.shape) < 2 else x
    total = rows.shape[1] if weights is None else sum(weights)
    deviations = rows - (mean(rows, 1, True) if weights is None else (sum(rows * weights, 1, True) / total))
    degrees = total - correction * (1 if aweights is None else (sum(weights * aweights) / total))
    result = matmul(deviations if weights is None else (deviations * weights), transpose(deviations)) / positive_part(degrees)
    return reshape(result, ()) if len(x.shape) < 2 else result
cov = declare.composed('cov', _cov_composed, dict(correction=NUMBER, fweights=optional(TENSOR), aweights=optional(TENSOR)), tensors=('x',), summary='the covariance matrix of the rows of x, whose columns are observations, with optional weights', samples=(([1.0, -2.0, 3.5],), ([[1.0, 2.0, 4.0], [0.5, -1.0, 2.0]],),))
def _corrcoef_composed(x: Any) -> Any:
    if len(x.shape) >= 3: raise ShapeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {len(x.shape)} dimensions")
    covariance = cov(x)
    return over_deviations(covariance, diagonal(covariance) ** 0.5) if covariance.shape else (covariance / covariance)
corrcoef = declare.composed('corrcoef', _corrcoef_composed, dict(), tensors=('x',), summary='the matrix of correlation coefficients of the rows of x, whose columns are observations', samples=(([[1.0, 2.0, 4.0], [0.5, -1.0, 2.0]],),))
def _cumulative_trapezoid_composed(y: Any, x: Any = None, *, dx: Any = 1, dim: Any = -1) -> Any:
    at = dimension(dim, len(y.shape))
    return cumsum(areas('cumulative_trapezoid', y, x, dx, at), at)
cumulative_trapezoid = declare.composed('cumulative_trapezoid', _cumulative_trapezoid_composed, dict(y=TENSOR, x=optional(TENSOR), dx=NUMBER, dim=DIMENSION), tensors=('y', 'x'), summary='the integrals from the first point to each further point by the trapezoidal rule, at distances dx or at points x', samples=(([1.0, -2.0, 3.5],), ([1.0, -2.0, 3.5], [0.0, 1.0, 3.0]),))
def _variance_and_mean_by_x(g: Any, x: Any, dim: Any, correction: Any) -> Any:
    by_measure = None if g[0] is None else var_vjp(g[0], x, dim, correction)
    return sum_with_mean(by_measure, g[1], x, dim)
variance_and_mean = declare.several('var_mean', arrays.variance_and_mean, _variance_and_mean_by_x, statics={'dim': None, 'correction': 1, 'keepdim': False}, public=False)
def _deviation_and_mean_by_x(g: Any, x: Any, dim: Any, correction: Any) -> Any:
    by_measure = None if g[0] is None else var_vjp(over_size(g[0], reshape(deviation(x, dim, correction, False), g[0].shape) * 2), x, dim, correction)
    return sum_with_mean(by_measure, g[1], x, dim)
deviation_and_mean = declare.several('std_mean', arrays.deviation_and_mean, _deviation_and_mean_by_x, statics={'dim': None, 'correction': 1, 'keepdim': False}, public=False)
nanmedian_along = declare.several('nanmedian', arrays.nanmedian_along, put_one_back, statics={'dim': -1, 'keepdim': False}, node='NanmedianBackward1', results=('values', 'indices'), constant=('indices',), public=False)
nanmedian_of_all = declare('nanmedian', arrays.nanmedian, {'x': lambda g, x, out: equal_shares(g, x, out, None)}, node='NanmedianBackward0', public=False)
mode_along = declare.several('mode', arrays.most_frequent, put_one_back, statics={'dim': -1, 'keepdim': False}, results=('values', 'indices'), constant=('indices',), public=False)
