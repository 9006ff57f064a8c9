"""Sums, means, products, variances and running sums, over all elements or along dimensions."""  # made from grammar/rules/reduce.rules by grammar/compile_rules.py

import math
from typing import Any
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, DIMENSIONS_OR_UNBIASED, FLAG, NUMBER, TYPE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import dimension, expanded, kept_shape, reshaped, where
from autodiff_cli.numerics import reduce as arrays
from autodiff_cli.numerics.reduce import correction_of, count, dims_alone
from autodiff_cli.ops.casts import to
from autodiff_cli.ops.views import neighbour
declare = Declarations(__name__)
of_type: Any = lambda x, dtype: x if dtype is None else to(x, dtype)
kept: Any = lambda g, x_shape, dim: reshaped(g, kept_shape(x_shape, dim)) if g.shape else g
spread: Any = lambda g, x_shape, dim: expanded(kept(g, x_shape, dim), x_shape)
others: Any = lambda x, dim: reshaped(others_along(reshaped(x, (-1,)), 0), x.shape) if dim is None else others_along(x, dim)
others_along: Any = lambda x, dim: neighbour(running_product(x, dim, False), dim, False, 1.0) * neighbour(running_product(x, dim, True), dim, True, 1.0)
def var_vjp(g: Any, x: Any, dim: Any, correction: Any) -> Any:
    free = count(x.shape, dim) - correction
    return (x - mean(x, dim, True)) * (spread(g, x.shape, dim) * ((2 / free) if free != 0 else math.inf))
over_size: Any = lambda g, size: where(size == 0, 0.0, g / where(size == 0, 1.0, size))
sum = declare.composed('sum', lambda x, dim=None, keepdim=False, dtype=None: sum_along(of_type(x, dtype), dim, keepdim) if dim is not None or keepdim else sum_of_all(of_type(x, dtype), None, False), dict(dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE)), tensors=('x',), summary='sum of all elements, or sums along dim; sum(i=1..10, x**i) is a sum over an index', formula='1', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True),))
mean = declare.composed('mean', lambda x, dim=None, keepdim=False, dtype=None: mean_along(of_type(x, dtype), dim, keepdim) if dim is not None or keepdim else mean_of_all(of_type(x, dtype), None, False), dict(dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE)), tensors=('x',), summary='mean of all elements, or means along dim', formula='1/n', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True),))
prod = declare.composed('prod', lambda x, dim=None, keepdim=False, dtype=None: prod_along(of_type(x, dtype), dim, keepdim) if dim is not None or keepdim else prod_of_all(of_type(x, dtype), None, False), dict(dim=optional(DIMENSION), keepdim=FLAG, dtype=optional(TYPE)), tensors=('x',), summary='product of all elements, or products along dim; prod(i=1..10, x + i) is a product over an index', formula='products of the other elements', convention='derivatives of every order are exact where elements are 0', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([[1.0, 2.0], [3.0, 4.0]], 0, True), ([2.0, 0.0, 4.0],), ([[0.0, 2.0], [0.0, 3.0]], 0), (2.0,),))
cumsum = declare.composed('cumsum', lambda x, dim=0, dtype=None: running_sum(of_type(x, dtype), dim), dict(dim=DIMENSION, dtype=optional(TYPE)), tensors=('x',), summary='running sums along dim', formula='reverse running sum of g', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1),))
cumprod = declare.composed('cumprod', lambda x, dim=0, dtype=None: running_product(of_type(x, dtype), dimension(dim, len(x.shape))) if x.shape else reshaped(running_product(reshaped(of_type(x, dtype), (1,)), dimension(dim, 0)), ()), dict(dim=DIMENSION, dtype=optional(TYPE)), tensors=('x',), summary='running products along dim', formula='products of the other elements', convention='derivatives of every order are exact where elements are 0', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 4.0]], 1), ([2.0, 0.0, 4.0, 0.0, 3.0],),))
var = declare.composed('var', lambda x, dim=None, unbiased=None, keepdim=False, correction=None: variance(x, dims_alone(dim), correction_of('var', dim, unbiased, correction), keepdim), dict(dim=optional(DIMENSIONS_OR_UNBIASED), unbiased=optional(FLAG), keepdim=FLAG, correction=optional(NUMBER)), tensors=('x',), summary='variance: sum of squared deviations divided by n - correction, or by n with unbiased=false', formula='2*(x - mean(x))/(n - 1)', convention='the value is nan or infinite where n is not greater than the correction (PyTorch)', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 5.0]], 1), ([[1.0, 2.0], [3.0, 5.0]], 0, False, True),))
std = declare.composed('std', lambda x, dim=None, unbiased=None, keepdim=False, correction=None: deviation(x, dims_alone(dim), correction_of('std', dim, unbiased, correction), keepdim), dict(dim=optional(DIMENSIONS_OR_UNBIASED), unbiased=optional(FLAG), keepdim=FLAG, correction=optional(NUMBER)), tensors=('x',), summary='standard deviation: square root of var', formula='(x - mean(x))/((n - 1)*std(x))', smooth='not all elements are equal', kink=arrays.is_constant, convention='the derivative is 0 where all elements are equal (PyTorch)', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0], [3.0, 5.0]], 1), ([[1.0, 2.0], [3.0, 5.0]], 0, False, True),), edges=(([1.0, 1.0],),))
count_nonzero = declare('count_nonzero', arrays.count_nonzero, {'x': None}, statics={'dim': None}, kinds={'dim': optional(DIMENSIONS)}, summary='number of nonzero elements of x, or numbers of nonzero elements along dim')
sum_of_all = declare('sum', arrays.sum, {'x': lambda g, x_shape, dim: spread(g, x_shape, dim)}, statics={'dim': None, 'keepdim': False}, series='linear', node='SumBackward0', public=False)
sum_along = declare('sum', arrays.sum, {'x': lambda g, x_shape, dim: spread(g, x_shape, dim)}, statics={'dim': None, 'keepdim': False}, series='linear', node='SumBackward1', public=False)
mean_of_all = declare('mean', arrays.mean, {'x': lambda g, x_shape, dim: spread(g / count(x_shape, dim), x_shape, dim)}, statics={'dim': None, 'keepdim': False}, series='linear', node='MeanBackward0', public=False)
mean_along = declare('mean', arrays.mean, {'x': lambda g, x_shape, dim: spread(g / count(x_shape, dim), x_shape, dim)}, statics={'dim': None, 'keepdim': False}, series='linear', node='MeanBackward1', public=False)
prod_of_all = declare('prod', arrays.prod, {'x': lambda g, x, dim: kept(g, x.shape, dim) * others(x, dim if x.shape else None)}, statics={'dim': None, 'keepdim': False}, node='ProdBackward0', public=False)
prod_along = declare('prod', arrays.prod, {'x': lambda g, x, dim: kept(g, x.shape, dim) * others(x, dim if x.shape else None)}, statics={'dim': None, 'keepdim': False}, node='ProdBackward1', public=False)
running_sum = declare('cumsum', arrays.running_sum, {'x': lambda g, dim, reverse: running_sum(g, dim, not reverse)}, statics={'dim': 0, 'reverse': False}, series='linear', public=False)
running_product = declare('cumprod', arrays.running_product, {'x': lambda g, x, out, dim, reverse: recurrence(g, neighbour(x, dim, not reverse, 0.0), dim, not reverse) * neighbour(out, dim, reverse, 1.0)}, statics={'dim': 0, 'reverse': False}, public=False)
recurrence = declare('recurrence', arrays.recurrence, {'x': lambda g, decay, dim, reverse: recurrence(g, neighbour(decay, dim, not reverse, 0.0), dim, not reverse), 'decay': lambda g, decay, out, dim, reverse: recurrence(g, neighbour(decay, dim, not reverse, 0.0), dim, not reverse) * neighbour(out, dim, reverse, 0.0)}, statics={'dim': 0, 'reverse': False}, public=False)
variance = declare('var', arrays.var, {'x': lambda g, x, dim, correction: var_vjp(g, x, dim, correction)}, statics={'dim': None, 'correction': 1, 'keepdim': False}, public=False)
deviation = declare('std', arrays.std, {'x': lambda g, x, out, dim, correction: var_vjp(over_size(g, out * 2), x, dim, correction)}, statics={'dim': None, 'correction': 1, 'keepdim': False}, public=False)
