"""Extreme elements, their positions, sorting, and selection by rank."""  # made from grammar/rules/extremes.rules by grammar/compile_rules.py

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, FLAG_AFTER_TWO, WHOLE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import dimension, reshaped, where
from autodiff_cli.autograd.primitives.types import array_of
from autodiff_cli.numerics import extremes as arrays
from autodiff_cli.numerics.extremes import is_dimension, lane_shape, maxima, minima
from autodiff_cli.ops.rules.comparison import isnan, maximum, minimum
from autodiff_cli.ops.rules.positions import dropped
from autodiff_cli.ops.rules.reduce import spread, sum

declare = Declarations(__name__)

mean_where: Any = lambda x, chosen, dim, keepdim: sum(where(chosen, x, 0.0), dim, keepdim) / sum(chosen, dim, keepdim)
def equal_shares(g: Any, x: Any, out: Any, dim: Any, nans: Any = True) -> Any:
    """The cotangent of an extreme value, shared evenly among the elements that are equal to it; with nans, nan equals nan."""
    g = spread(g, x.shape, dim)
    out = spread(out, x.shape, dim)
    chosen = ((x == out) | (isnan(x) & isnan(out))) if nans else (x == out)
    number = spread(sum(chosen, dim), x.shape, dim)
    return (where(chosen, g / number, 0.0)) if nans else ((g * (where(chosen, 1.0, 0.0))) / number)
put_back: Any = lambda g, indices, x_shape, dim: dropped(g[0], x_shape, dimension(dim, len(x_shape)), np.asarray(array_of(indices)))
put_one_back: Any = lambda g, indices, x_shape, dim, keepdim: put_back(g, indices, x_shape, dim) if keepdim or (not x_shape) else put_back((reshaped(g[0], lane_shape(x_shape, dim)),), np.asarray(array_of(indices)).reshape(lane_shape(x_shape, dim)), x_shape, dim)
amax = declare('amax', arrays.amax, {'x': lambda g, x, out, dim: equal_shares(g, x, out, dim, False)}, statics={'dim': None, 'keepdim': False}, kinds={'dim': optional(DIMENSIONS), 'keepdim': FLAG}, series=lambda x, dim, keepdim: mean_where(x, x == maxima(array_of(x), dim), dim, keepdim), selects=True, summary='maximum of all elements, or maxima along dim', formula='1 at the extreme element, 0 elsewhere', smooth='the extreme element is unique', kink=arrays.is_tied_maximum, convention='equal extreme elements share the derivative evenly (PyTorch)', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
amin = declare('amin', arrays.amin, {'x': lambda g, x, out, dim: equal_shares(g, x, out, dim, False)}, statics={'dim': None, 'keepdim': False}, kinds={'dim': optional(DIMENSIONS), 'keepdim': FLAG}, series=lambda x, dim, keepdim: mean_where(x, x == minima(array_of(x), dim), dim, keepdim), selects=True, summary='minimum of all elements, or minima along dim', formula='1 at the extreme element, 0 elsewhere', smooth='the extreme element is unique', kink=arrays.is_tied_minimum, convention='equal extreme elements share the derivative evenly (PyTorch)', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
def _max_composed(x: Any, y: Any = None, keepdim: Any = False, dim: Any = None) -> Any:
    along = (dim is None) and is_dimension(y)
    at = y if along else dim
    return maximum(x, y) if (y is not None) and (not along) else (max_of_all(x, None, False) if at is None else max_along(x, at, keepdim))
max = declare.composed('max', _max_composed, dict(keepdim=FLAG_AFTER_TWO, dim=optional(DIMENSION)), tensors=('x', 'y'), summary='maximum of all elements, or maxima along dim with their positions; for two tensors, the elementwise maximum', formula='1 at the extreme element, 0 elsewhere', smooth='the extreme element is unique', kink=arrays.ties_of_max, convention='equal extreme elements share the derivative evenly (PyTorch); along a dimension, the first extreme element receives the derivative', samples=(([1.0, -2.0, 3.0],), (1.5, -0.5), ([[1.0, 2.0], [4.0, 3.0]], None, True, 1),), edges=((1.0, 1.0), ([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
def _min_composed(x: Any, y: Any = None, keepdim: Any = False, dim: Any = None) -> Any:
    along = (dim is None) and is_dimension(y)
    at = y if along else dim
    return minimum(x, y) if (y is not None) and (not along) else (min_of_all(x, None, False) if at is None else min_along(x, at, keepdim))
min = declare.composed('min', _min_composed, dict(keepdim=FLAG_AFTER_TWO, dim=optional(DIMENSION)), tensors=('x', 'y'), summary='minimum of all elements, or minima along dim with their positions; for two tensors, the elementwise minimum', formula='1 at the extreme element, 0 elsewhere', smooth='the extreme element is unique', kink=arrays.ties_of_min, convention='equal extreme elements share the derivative evenly (PyTorch); along a dimension, the first extreme element receives the derivative', samples=(([1.0, -2.0, 3.0],), (1.5, -0.5), ([[1.0, 2.0], [4.0, 3.0]], None, True, 1),), edges=((1.0, 1.0), ([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
median = declare.composed('median', lambda x, dim=None, keepdim=False: median_of_all(x) if dim is None else median_along(x, dim, keepdim), dict(dim=optional(DIMENSION), keepdim=FLAG), tensors=('x',), summary='median of all elements, or medians along dim with their positions; the lower of two middle elements is the median', formula='1 at the median, 0 elsewhere', smooth='the median is unique', kink=arrays.is_repeated, convention='equal elements share the derivative evenly; along a dimension, one of them receives the derivative (PyTorch)', samples=(([1.0, -2.0, 3.0, 7.0],), ([[1.0, 2.5], [4.0, 3.0], [0.5, 2.0]], 0, True),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
argmax = declare('argmax', arrays.argmax, {'x': None}, statics={'dim': None, 'keepdim': False}, kinds={'dim': optional(DIMENSION), 'keepdim': FLAG}, summary='position of the maximum in the flattened x, or positions of the maxima along dim')
argmin = declare('argmin', arrays.argmin, {'x': None}, statics={'dim': None, 'keepdim': False}, kinds={'dim': optional(DIMENSION), 'keepdim': FLAG}, summary='position of the minimum in the flattened x, or positions of the minima along dim')
cummax = declare.several('cummax', arrays.cummax, put_back, statics={'dim': 0}, kinds={'dim': DIMENSION}, results=('values', 'indices'), constant=('indices',), summary='running maximum along dim, with positions', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=arrays.is_repeated, convention='the last of several equal elements receives the derivative (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 1),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
cummin = declare.several('cummin', arrays.cummin, put_back, statics={'dim': 0}, kinds={'dim': DIMENSION}, results=('values', 'indices'), constant=('indices',), summary='running minimum along dim, with positions', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=arrays.is_repeated, convention='the last of several equal elements receives the derivative (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 1),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
sort = declare.composed('sort', lambda x, dim=-1, descending=False, stable=True: sorted_along(x, dim, descending), dict(dim=DIMENSION, descending=FLAG, stable=FLAG), tensors=('x',), summary='the elements sorted along dim, and their positions in x', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=arrays.is_repeated, convention='equal elements keep their order; nan is last (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]],), ([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 0, True),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
msort = declare.composed('msort', lambda x: sort(x, 0)[0], dict(), tensors=('x',), summary='the elements sorted along the first dimension', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=arrays.is_repeated, convention='equal elements keep their order; nan is last (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]],),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
argsort = declare.composed('argsort', lambda x, dim=-1, descending=False, stable=True: sort(x, dim, descending)[1], dict(dim=DIMENSION, descending=FLAG, stable=FLAG), tensors=('x',), summary='positions in x of the elements sorted along dim')
topk = declare.composed('topk', lambda x, k, dim=-1, largest=True, sorted=True: largest_along(x, k, dim, largest), dict(k=WHOLE, dim=DIMENSION, largest=FLAG, sorted=FLAG), tensors=('x',), summary='the k largest elements along dim in order, or the k smallest with largest=false, and their positions', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=arrays.is_repeated, convention='one of several equal elements receives the derivative (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 2), ([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 1, 0, False),), edges=(([5.0, 1.0, 5.0], 2),))
kthvalue = declare.composed('kthvalue', lambda x, k, dim=-1, keepdim=False: kth_along(x, k, dim, keepdim), dict(k=WHOLE, dim=DIMENSION, keepdim=FLAG), tensors=('x',), summary='the k-th smallest element along dim, and its position', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=arrays.is_repeated, convention='one of several equal elements receives the derivative (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 2),), edges=(([5.0, 1.0, 5.0], 2),))
max_of_all = declare('max', arrays.max, {'x': lambda g, x, out, dim: equal_shares(g, x, out, dim, True)}, statics={'dim': None, 'keepdim': False}, series=lambda x, dim, keepdim: mean_where(x, x == maxima(array_of(x), dim), dim, keepdim), node='MaxBackward1', selects=True, public=False)
min_of_all = declare('min', arrays.min, {'x': lambda g, x, out, dim: equal_shares(g, x, out, dim, True)}, statics={'dim': None, 'keepdim': False}, series=lambda x, dim, keepdim: mean_where(x, x == minima(array_of(x), dim), dim, keepdim), node='MinBackward1', selects=True, public=False)
median_of_all = declare('median', arrays.median, {'x': lambda g, x, out: equal_shares(g, x, out, None)}, node='MedianBackward0', public=False)
max_along = declare.several('max', arrays.max_along, put_one_back, statics={'dim': -1, 'keepdim': False}, node='MaxBackward0', results=('values', 'indices'), constant=('indices',), public=False)
min_along = declare.several('min', arrays.min_along, put_one_back, statics={'dim': -1, 'keepdim': False}, node='MinBackward0', results=('values', 'indices'), constant=('indices',), public=False)
median_along = declare.several('median', arrays.median_along, put_one_back, statics={'dim': -1, 'keepdim': False}, node='MedianBackward1', results=('values', 'indices'), constant=('indices',), public=False)
sorted_along = declare.several('sort', arrays.sort, put_back, statics={'dim': -1, 'descending': False}, results=('values', 'indices'), constant=('indices',), public=False)
largest_along = declare.several('topk', arrays.topk, put_back, statics={'k': 1, 'dim': -1, 'largest': True}, results=('values', 'indices'), constant=('indices',), public=False)
kth_along = declare.several('kthvalue', arrays.kthvalue, put_one_back, statics={'k': 1, 'dim': -1, 'keepdim': False}, results=('values', 'indices'), constant=('indices',), public=False)
