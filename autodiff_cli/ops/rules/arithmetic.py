"""Arithmetic operators and functions."""
# Made from grammar/rules/arithmetic.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

import operator

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, TENSOR
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import where, zero_cotangent
from autodiff_cli.numerics import arithmetic as arrays, decomposition
from autodiff_cli.numerics.arithmetic import falling_count, falling_count_slope, is_even, is_number, weak
from autodiff_cli.ops.rules.elementary import log, reciprocal, round

__all__ = ['add', 'div', 'divide', 'floor_divide', 'mul', 'multiply', 'neg', 'negative', 'pos', 'positive', 'sub', 'subtract', 'true_divide']

_declare = Declarations(__name__, elementwise=True)
described = _declare.described

add: TensorFunction = _declare('add', operator.add, {'x': lambda g: g, 'y': lambda g: g}, series='linear', summary='x + y', formula='1, 1', samples=((1.5, -0.5), ([1.0, 2.0], 3.0),), operator='add', reflected=lambda self, other: add(self, other))
mul: TensorFunction = _declare('mul', operator.mul, {'x': lambda g, y: g * y, 'y': lambda g, x: g * x}, series='product', summary='x * y', formula='y, x', aliases=('multiply',), samples=((1.5, -0.5), ([1.0, 2.0], 3.0),), operator='mul', reflected=lambda self, other: mul(self, other))
multiply = mul
neg: TensorFunction = _declare('neg', operator.neg, {'x': lambda g: -g}, series='linear', summary='-x', formula='-1', aliases=('negative',), samples=((1.5,),), operator='neg')
negative = neg
sub: TensorFunction = _declare('sub', operator.sub, {'x': lambda g: g, 'y': lambda g: -g}, series='linear', summary='x - y', formula='1, -1', aliases=('subtract',), samples=((1.5, -0.5), ([1.0, 2.0], 3.0),), operator='sub', reflected=lambda self, other: subtracted(self, weak(other)) if is_number(other) else sub(other, self))
subtract = sub
pos: TensorFunction = _declare.composed('pos', lambda x: x, dict(), tensors=('x',), summary='the argument x, unchanged', formula='1', aliases=('positive',), samples=((1.5,),), operator='pos')
positive = pos
div: TensorFunction = _declare('div', operator.truediv, {'x': lambda g, y: g / y, 'y': lambda g, x, y: (-g) * ((x / y) / y)}, series='quotient', summary='x / y', formula='1/y, -x/y**2', aliases=('divide', 'true_divide'), domain='y != 0', inside=lambda y: y != 0, convention='at y = 0 the value and the derivatives follow IEEE arithmetic: they are infinite, or nan for 0/0 (PyTorch)', samples=((1.5, -0.5), ([1.0, 2.0], 3.0),), edges=((1.0, 0.0),), operator='truediv', reflected=lambda self, other: (reciprocal(self) * other) if is_number(other) else div(other, self))
divide = true_divide = div
floor_divide: TensorFunction = _declare('floor_divide', np.floor_divide, {'x': lambda g: zero_cotangent(g), 'y': lambda g: zero_cotangent(g)}, series='fixed', selects=True, summary='x / y rounded down', formula='0, 0', domain='y != 0', inside=lambda y: y != 0, smooth='x / y is not a whole number', kink=lambda x, y: np.remainder(x, y) == 0, convention='the derivative at the jumps is 0, as for floor (PyTorch does not define one)', samples=((7.5, 2.0),), edges=((4.0, 2.0), (1.0, 0.0),), operator='floordiv')
_declare.python('remainder', None, parameters=('x', 'y'), defaults=(), tensors=('x', 'y'), kinds={}, summary='x - y*floor(x/y): the remainder with the sign of y', formula='1, -floor(x/y)', aliases=('mod',), domain='y != 0', inside=lambda y: y != 0, smooth='x / y is not a whole number', kink=lambda x, y: np.remainder(x, y) == 0, convention='at the jumps the derivative with respect to x is 1, and the derivative with respect to y is one-sided (PyTorch)', samples=((7.5, 3.0), (-7.5, 2.0),), edges=((6.0, 3.0), (1.0, 0.0),), operator='mod')
_declare.python('fmod', None, parameters=('x', 'y'), defaults=(), tensors=('x', 'y'), kinds={}, summary='x - y*trunc(x/y): the remainder with the sign of x', formula='1, -trunc(x/y)', domain='y != 0', inside=lambda y: y != 0, smooth='x is 0 or x / y is not a whole number', kink=lambda x, y: (np.fmod(x, y) == 0) & (x != 0), convention='at the jumps the derivative with respect to x is 1, and the derivative with respect to y is one-sided (PyTorch); at y = 0 the derivative with respect to y is nan, but PyTorch gives -inf', samples=((7.5, 3.0), (-7.5, 2.0),), edges=((6.0, 3.0), (1.0, 0.0),))
_declare.python('pow', None, parameters=('x', 'y'), defaults=(), tensors=('x', 'y'), kinds={}, summary='x to the power y', formula='y*x**(y - 1), x**y*log(x)', aliases=('power',), domain='x > 0, or x = 0 and y >= 0, or y is a whole number and x != 0', inside=arrays.power_exists, smooth='x > 0, or x = 0 and y >= 1, or y is a whole number and x != 0', kink=arrays.power_kink, convention='the derivative with respect to x is inf at x = 0 with 0 < y < 1; the derivative with respect to y is 0 at x = 0 with y >= 0, and nan at x < 0 (PyTorch)', samples=((1.3, 2.5), (2.0, 3.0), (0.7, -1.5),), edges=((0.0, 2.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.5), (0.0, -1.0), (-2.0, 3.0), (-2.0, 0.5),), operator='pow')
_declare.python('addcmul', ('x', 'tensor1', 'tensor2', 'value'), parameters=('x', 'tensor1', 'tensor2', 'value'), defaults=(1, ), tensors=('x', 'tensor1', 'tensor2'), kinds={'x': TENSOR, 'tensor1': TENSOR, 'tensor2': TENSOR, 'value': NUMBER}, summary='x + value*tensor1*tensor2', formula='1, value*tensor2, value*tensor1', samples=((1.5, -0.5, 0.7),))
_declare.python('addcdiv', ('x', 'tensor1', 'tensor2', 'value'), parameters=('x', 'tensor1', 'tensor2', 'value'), defaults=(1, ), tensors=('x', 'tensor1', 'tensor2'), kinds={'x': TENSOR, 'tensor1': TENSOR, 'tensor2': TENSOR, 'value': NUMBER}, summary='x + value*tensor1/tensor2', formula='1, value/tensor2, -value*tensor1/tensor2**2', samples=((1.5, -0.5, 0.7),))
_declare.python('lerp', ('x', 'end', 'weight'), parameters=('x', 'end', 'weight'), defaults=(), tensors=('x', 'end', 'weight'), kinds={'x': TENSOR, 'end': TENSOR, 'weight': TENSOR}, summary='linear interpolation x + weight*(end - x): x for weight 0, end for weight 1', formula='1 - weight, weight, end - x', samples=((1.5, -0.5, 0.7),))
subtracted: TensorFunction = _declare('rsub', lambda x, y: y - x, {'x': lambda g: -g}, statics={'y': 0}, node='RsubBackward1', decomposition='y - x', public=False)
add_scaled: TensorFunction = _declare('add', lambda x, y, alpha: x + (alpha * y), {'x': lambda g: g, 'y': lambda g, alpha: g * alpha}, statics={'alpha': 1}, decomposition='x + alpha*y', public=False)
sub_scaled: TensorFunction = _declare('sub', lambda x, y, alpha: x - (alpha * y), {'x': lambda g: g, 'y': lambda g, alpha: (-g) * alpha}, statics={'alpha': 1}, decomposition='x - alpha*y', public=False)
remainder_tensor: TensorFunction = _declare('remainder', np.remainder, {'x': lambda g: g, 'y': lambda g, x, y: (-g) * floor_divide(x, y)}, node='RemainderBackward1', public=False)
remainder_number: TensorFunction = _declare('remainder', np.remainder, {'x': lambda g: g}, statics={'y': 1}, node='RemainderBackward0', public=False)
fmod_tensor: TensorFunction = _declare('fmod', np.fmod, {'x': lambda g: g, 'y': lambda g, x, y, out: (-g) * round((x - out) / y)}, node='FmodBackward1', public=False)
fmod_number: TensorFunction = _declare('fmod', np.fmod, {'x': lambda g: g}, statics={'y': 1}, node='FmodBackward0', public=False)
addcmul_kernel: TensorFunction = _declare('addcmul', lambda x, tensor1, tensor2, value: x + ((value * tensor1) * tensor2), {'x': lambda g: g, 'tensor1': lambda g, tensor2, value: g * (tensor2 * value), 'tensor2': lambda g, tensor1, value: g * (tensor1 * value)}, statics={'value': 1}, decomposition='x + value*tensor1*tensor2', public=False)
addcdiv_kernel: TensorFunction = _declare('addcdiv', lambda x, tensor1, tensor2, value: x + (value * (tensor1 / tensor2)), {'x': lambda g: g, 'tensor1': lambda g, tensor2, value: g * (value / tensor2), 'tensor2': lambda g, tensor1, tensor2, value: (-g) * ((value * (tensor1 / tensor2)) / tensor2)}, statics={'value': 1}, decomposition='x + value*(tensor1/tensor2)', public=False)
lerp_number: TensorFunction = _declare('lerp', lambda x, end, weight: x + (weight * (end - x)), {'x': lambda g, weight: g * (1 - weight), 'end': lambda g, weight: g * weight}, statics={'weight': 0.5}, decomposition='x + weight*(end - x)', public=False)
lerp_tensor: TensorFunction = _declare('lerp', lambda x, end, weight: x + (weight * (end - x)), {'x': lambda g, weight: g * (1 - weight), 'end': lambda g, weight: g * weight, 'weight': lambda g, x, end: g * (end - x)}, node='LerpBackward1', decomposition='x + weight*(end - x)', public=False)
power_constant: TensorFunction = _declare('pow', arrays.power_constant, {'x': lambda g, x, y: zero_cotangent(g) if y == 0 else (g * (y * (((x ** y) / x) if is_even(y) else power_constant(x, y - 1))))}, statics={'y': 2}, series='power', node='PowBackward0', public=False)
power_tensor: TensorFunction = _declare('pow', operator.pow, {'x': lambda g, x, y: g * (where((x == 0) & (y == 0), 0.0, falling_power(x, y, 1))), 'y': lambda g, x, y, out: g * (where((x == 0) & (y >= 0), 0.0, out * log(x)))}, node='PowBackward1', public=False)
power_of_number: TensorFunction = _declare('pow', arrays.power_of_number, {'x': lambda g, x, out, y: g * (where((x >= 0) & (y == 0), 0.0, out * log(np.float64(y))))}, statics={'y': 2}, node='PowBackward2', public=False)
falling_power: TensorFunction = _declare('falling_power', arrays.falling_power, {'x': lambda g, x, y, k: g * falling_power(x, y, k + 1), 'y': lambda g, x, y, k: g * ((x ** (y - k)) * (falling_count_slope(y, k) + (where((x == 0) & (y >= k), 0.0, falling_count(y, k) * log(x)))))}, statics={'k': 1}, decomposition=lambda k: decomposition('falling_power', k), public=False)
