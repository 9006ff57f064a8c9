"""Comparisons, logic, and selection between values.  The gradient of an unselected value is 0."""  # made from grammar/rules/comparison.rules by grammar/compile_rules.py

import math
import operator
from typing import Any
import numpy as np
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSIONS, FLAG, NUMBER, either, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import where, zeros_of
from autodiff_cli.autograd.primitives.types import array_of
from autodiff_cli.errors import ArgumentError
from autodiff_cli.numerics import arithmetic as arithmetic_arrays, decomposition
from autodiff_cli.numerics.arithmetic import is_any_tensor
declare = Declarations(__name__, elementwise=True)
larger_share: Any = lambda g, x, y: where(x == y, g / 2, where(x < y, 0.0, g))
is_inside: Any = lambda x, min, max: (x < max) if min is None else ((x > min) if max is None else ((x > min) & (x < max)))
lt = less = declare('lt', operator.lt, {'x': None, 'y': None}, summary='true where x < y; not differentiable', aliases=('less',), operator='lt')
le = less_equal = declare('le', operator.le, {'x': None, 'y': None}, summary='true where x <= y; not differentiable', aliases=('less_equal',), operator='le')
gt = greater = declare('gt', operator.gt, {'x': None, 'y': None}, summary='true where x > y; not differentiable', aliases=('greater',), operator='gt')
ge = greater_equal = declare('ge', operator.ge, {'x': None, 'y': None}, summary='true where x >= y; not differentiable', aliases=('greater_equal',), operator='ge')
eq = declare('eq', operator.eq, {'x': None, 'y': None}, summary='true where x == y; not differentiable')
ne = not_equal = declare('ne', operator.ne, {'x': None, 'y': None}, summary='true where x != y; not differentiable', aliases=('not_equal',))
bitwise_and = declare('bitwise_and', np.bitwise_and, {'x': None, 'y': None}, decomposition='x and y', summary='the bits that are set in both of two integers or booleans', operator='and')
bitwise_or = declare('bitwise_or', np.bitwise_or, {'x': None, 'y': None}, decomposition='x or y', summary='the bits that are set in one or both of two integers or booleans', operator='or')
bitwise_xor = declare('bitwise_xor', np.bitwise_xor, {'x': None, 'y': None}, decomposition='x != y', summary='the bits that are set in exactly one of two integers or booleans', operator='xor')
bitwise_not = declare('bitwise_not', np.invert, {'x': None}, decomposition='not x', summary='the inverted bits of an integer, -x - 1; the opposite of a boolean', operator='invert')
bitwise_left_shift = declare('bitwise_left_shift', np.left_shift, {'x': None, 'y': None}, decomposition='x*2**y', summary='the bits of the integer x shifted to the left by y places', operator='lshift')
bitwise_right_shift = declare('bitwise_right_shift', np.right_shift, {'x': None, 'y': None}, decomposition='floor(x/2**y)', summary='the bits of the integer x shifted to the right by y places', operator='rshift')
logical_and = declare('logical_and', np.logical_and, {'x': None, 'y': None}, summary='true where x and y are both nonzero')
logical_or = declare('logical_or', np.logical_or, {'x': None, 'y': None}, summary='true where x or y is nonzero')
logical_xor = declare('logical_xor', np.logical_xor, {'x': None, 'y': None}, decomposition='(x != 0) != (y != 0)', summary='true where exactly one of x and y is nonzero')
logical_not = declare('logical_not', np.logical_not, {'x': None}, summary='true where x is zero')
isnan = declare('isnan', np.isnan, {'x': None}, summary='true where x is nan')
isinf = declare('isinf', np.isinf, {'x': None}, summary='true where x is infinite')
isfinite = declare('isfinite', np.isfinite, {'x': None}, summary='true where x is neither nan nor infinite')
isclose = declare('isclose', arithmetic_arrays.isclose, {'x': None, 'y': None}, statics={'rtol': 1e-5, 'atol': 1e-8, 'equal_nan': False}, kinds={'rtol': NUMBER, 'atol': NUMBER, 'equal_nan': FLAG}, decomposition=lambda equal_nan: decomposition('isclose', equal_nan), summary='true where abs(x - y) <= atol + rtol*abs(y)')
equal = declare.composed('equal', lambda x, y: np.array_equal(array_of(x), array_of(y)), dict(), tensors=('x', 'y'), summary='true if two tensors have the same shape and elements')
allclose = declare.composed('allclose', lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.all(array_of(isclose(x, y, rtol, atol, equal_nan))).item(), dict(rtol=NUMBER, atol=NUMBER, equal_nan=FLAG), tensors=('x', 'y'), summary='true if isclose holds for all elements')
all = declare('all', arithmetic_arrays.all, {'x': None}, statics={'dim': None, 'keepdim': False}, kinds={'dim': optional(DIMENSIONS), 'keepdim': FLAG}, summary='true if every element is nonzero, of x or along dim')
any = declare('any', arithmetic_arrays.any, {'x': None}, statics={'dim': None, 'keepdim': False}, kinds={'dim': optional(DIMENSIONS), 'keepdim': FLAG}, summary='true if any element is nonzero, of x or along dim')
declare.python('where', None, parameters=('condition', 'x', 'y'), defaults=(), tensors=('condition', 'x', 'y'), kinds={}, summary='x where condition is true, else y', formula='1 or 0', convention='the gradient of the unselected value is 0 (PyTorch)', samples=((True, 1.5, -0.5), ([True, False], [1.0, 2.0], [3.0, 4.0]),), methods=())
maximum = declare('maximum', np.maximum, {'x': lambda g, x, y: larger_share(g, x, y), 'y': lambda g, x, y: larger_share(g, y, x)}, selects=True, summary='elementwise maximum of x and y', formula='1 where x > y else 0, 1 where y > x else 0', smooth='x != y', kink=lambda x, y: x == y, convention='both derivatives are 1/2 where x = y (PyTorch)', samples=((1.5, -0.5), ([1.0, 5.0], [3.0, 4.0]),), edges=((1.0, 1.0),))
minimum = declare('minimum', np.minimum, {'x': lambda g, x, y: larger_share(g, y, x), 'y': lambda g, x, y: larger_share(g, x, y)}, selects=True, summary='elementwise minimum of x and y', formula='1 where x < y else 0, 1 where y < x else 0', smooth='x != y', kink=lambda x, y: x == y, convention='both derivatives are 1/2 where x = y (PyTorch)', samples=((1.5, -0.5), ([1.0, 5.0], [3.0, 4.0]),), edges=((1.0, 1.0),))
fmax = declare('fmax', np.fmax, {'x': lambda g, x, y: where(x == y, g / 2, where((x > y) | isnan(y), g, 0.0)), 'y': lambda g, x, y: where((x > y) | isnan(y), 0.0, where(x == y, g / 2, g))}, selects=True, decomposition='x if x >= y or y != y else y', summary='elementwise maximum of x and y; a number if the other is nan', formula='1 where x > y else 0, 1 where y > x else 0', smooth='x != y', kink=lambda x, y: x == y, convention='both derivatives are 1/2 where x = y (PyTorch from 2.14 on)', samples=((1.5, -0.5), ([1.0, 5.0], [3.0, 4.0]),), edges=((1.0, 1.0),))
fmin = declare('fmin', np.fmin, {'x': lambda g, x, y: where(x == y, g / 2, where((x < y) | isnan(y), g, 0.0)), 'y': lambda g, x, y: where((x < y) | isnan(y), 0.0, where(x == y, g / 2, g))}, selects=True, decomposition='x if x <= y or y != y else y', summary='elementwise minimum of x and y; a number if the other is nan', formula='1 where x < y else 0, 1 where y < x else 0', smooth='x != y', kink=lambda x, y: x == y, convention='both derivatives are 1/2 where x = y (PyTorch from 2.14 on)', samples=((1.5, -0.5), ([1.0, 5.0], [3.0, 4.0]),), edges=((1.0, 1.0),))
heaviside = declare('heaviside', np.heaviside, {'x': lambda g: zeros_of(g), 'values': lambda g, x: where(x == 0, g, 0.0)}, selects=True, decomposition='values if x == 0 else 1.0 if x > 0 else 0.0 if x < 0 else x', summary='0 where x < 0, 1 where x > 0, and values where x = 0', formula='0, 1 where x = 0 else 0', smooth='x != 0', kink=lambda x: x == 0, convention='the derivative with respect to x is 0 everywhere, at the jump too; PyTorch does not differentiate heaviside', samples=((1.5, 0.5), ([-1.0, 2.0], [0.5, 0.3]),), edges=((0.0, 0.5),))
def _clamp_composed(x: Any, min: Any = None, max: Any = None) -> Any:
    if min is None and max is None: raise ArgumentError('clamp: at least one of min or max must be given')
    return clamp_numbers(x, min, max) if not (is_any_tensor(min) or is_any_tensor(max)) else (clamp_low(x, min, math.inf) if max is None else (clamp_high(x, -math.inf, max) if min is None else clamp_both(x, min, max)))
clamp = clip = declare.composed('clamp', _clamp_composed, dict(), tensors=('x', 'min', 'max'), summary='x clamped to [min, max]; either bound is optional', formula='1 where min < x < max else 0', aliases=('clip',), smooth='x != min and x != max', kink=arithmetic_arrays.is_at_bound, convention='the derivative is 0 at a bound that is a number, and 1/2 for x and for an equal bound that is a tensor (PyTorch from 2.14 on)', samples=((0.5, 0.0, 1.0), ([-2.0, 0.3, 5.0], -1.0, 1.0),), edges=((0.0, 0.0, 1.0), (1.0, 0.0, 1.0),))
clamp_min = declare.composed('clamp_min', lambda x, min: clamp_min_tensor(x, min) if is_any_tensor(min) else clamp_min_number(x, min), dict(), tensors=('x', 'min'), summary='the larger of x and min', formula='1 where x > min else 0', smooth='x != min', kink=lambda x, min: x == min, convention='the derivative is 0 at a bound that is a number, and 1/2 for x and for an equal bound that is a tensor (PyTorch from 2.14 on)', samples=((0.5, 0.0), ([-2.0, 0.3], -1.0),), edges=((0.0, 0.0),))
clamp_max = declare.composed('clamp_max', lambda x, max: clamp_max_tensor(x, max) if is_any_tensor(max) else clamp_max_number(x, max), dict(), tensors=('x', 'max'), summary='the smaller of x and max', formula='1 where x < max else 0', smooth='x != max', kink=lambda x, max: x == max, convention='the derivative is 0 at a bound that is a number, and 1/2 for x and for an equal bound that is a tensor (PyTorch from 2.14 on)', samples=((0.5, 1.0), ([-2.0, 5.0], 1.0),), edges=((1.0, 1.0),))
clamp_numbers = declare('clamp', arithmetic_arrays.clamp, {'x': lambda g, x, min, max: where(is_inside(x, min, max), g, 0.0)}, statics={'min': None, 'max': None}, node='ClampBackward1', selects=True, decomposition=lambda min, max: decomposition('clamp', min, max), public=False)
clamp_low = declare('clamp', arithmetic_arrays.clamp, {'x': lambda g, x, min: larger_share(g, x, min), 'min': lambda g, x, min: larger_share(g, min, x), 'max': lambda g: zeros_of(g)}, node='ClampBackward0', selects=True, decomposition='min(max(x, min), max)', public=False)
clamp_high = declare('clamp', arithmetic_arrays.clamp, {'x': lambda g, x, max: larger_share(g, max, x), 'min': lambda g: zeros_of(g), 'max': lambda g, x, max: larger_share(g, x, max)}, node='ClampBackward0', selects=True, decomposition='min(max(x, min), max)', public=False)
clamp_both = declare('clamp', arithmetic_arrays.clamp, {'x': lambda g, x, min, max: where((x < min) | (x > max), 0.0, where(((x == min) | (x == max)) & (min < max), g / 2, g)), 'min': lambda g, x, min, max: where((x < min) & (min <= max), g, where((x == min) & (min < max), g / 2, 0.0)), 'max': lambda g, x, min, max: where((x > max) | (max < min), g, where((x == max) & (min < max), g / 2, 0.0))}, node='ClampBackward0', selects=True, decomposition='min(max(x, min), max)', public=False)
clamp_min_number = declare('clamp_min', np.maximum, {'x': lambda g, x, bound: where(x > bound, g, 0.0)}, statics={'bound': 0.0}, node='ClampMinBackward0', selects=True, decomposition='max(x, bound)', public=False)
clamp_min_tensor = declare('clamp_min', np.maximum, {'x': lambda g, x, bound: larger_share(g, x, bound), 'bound': lambda g, x, bound: larger_share(g, bound, x)}, node='ClampMinBackward1', selects=True, decomposition='max(x, bound)', public=False)
clamp_max_number = declare('clamp_max', np.minimum, {'x': lambda g, x, bound: where(x < bound, g, 0.0)}, statics={'bound': 0.0}, node='ClampMaxBackward0', selects=True, decomposition='min(x, bound)', public=False)
clamp_max_tensor = declare('clamp_max', np.minimum, {'x': lambda g, x, bound: larger_share(g, bound, x), 'bound': lambda g, x, bound: larger_share(g, x, bound)}, node='ClampMaxBackward1', selects=True, decomposition='min(x, bound)', public=False)
