"""Activation functions of neural networks.

Made from grammar/rules/activation.rules by ``python grammar/compile_rules.py``.  Do not edit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, NUMBER, TENSOR, TEXT, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import largest, where, zero_cotangent
from autodiff_cli.numerics import activation as arrays
from autodiff_cli.ops.rules.elementary import abs, exp, expm1, log, sign, square, tanh, tanh_slope
from autodiff_cli.ops.rules.reduce import sum
from autodiff_cli.ops.rules.special import ndtr, normal_density

__all__ = ['celu', 'elu', 'expit', 'gelu', 'hardshrink', 'hardsigmoid', 'hardswish', 'hardtanh', 'leaky_relu', 'log_softmax', 'logsigmoid', 'mish', 'relu', 'relu6', 'selu', 'sigmoid', 'silu', 'softmax', 'softplus', 'softshrink', 'softsign', 'swish', 'tanhshrink', 'threshold']

_declare = Declarations(__name__, elementwise=True)

def _decompositions() -> Any:
    from autodiff_cli.numerics import decompositions

    return decompositions

sigmoid: TensorFunction = _declare('sigmoid', arrays.sigmoid, {'x': lambda g, x, out: g * sigmoid_slope(x, out)}, recover=arrays.logit, decomposition='1/(1 + exp(-x))', summary='1 / (1 + exp(-x))', formula='sigmoid(x)*(1 - sigmoid(x))', aliases=('expit',), samples=None)
expit = sigmoid
logsigmoid: TensorFunction = _declare('logsigmoid', arrays.logsigmoid, {'x': lambda g, x: g * sigmoid(-x)}, node='LogSigmoidBackward0', decomposition='min(x, 0) - log1p(exp(-abs(x)))', summary='log(sigmoid(x)) without overflow', formula='sigmoid(-x)', samples=None, methods=())
def _softplus_by_x(g: Any, x: Any, beta: Any, threshold: Any) -> Any:
    slope = g * sigmoid(x * beta)
    return slope if threshold is None else (where((x * beta) > threshold, g, slope))
softplus: TensorFunction = _declare('softplus', arrays.softplus, {'x': _softplus_by_x}, statics={'beta': 1, 'threshold': None}, kinds={'beta': NUMBER, 'threshold': optional(NUMBER)}, decomposition=lambda threshold: _decompositions().softplus(threshold), summary='log(1 + exp(beta*x))/beta without overflow, or x where beta*x exceeds threshold', formula='sigmoid(beta*x)', smooth='no threshold is given, or beta*x != threshold', kink=lambda x, beta, threshold: (x * beta) == (math.nan if threshold is None else threshold), convention='the derivative at the threshold is sigmoid(beta*x) (PyTorch); by default no threshold applies, but PyTorch uses 20', samples=((0.3,), (-1.7,), ([0.5, -2.0],), ([0.5, -2.0], 2.0), ([0.5, 2.0], 1, 1.5),), edges=((1.5, 1, 1.5),), methods=())
silu: TensorFunction = _declare('silu', arrays.silu, {'x': lambda g, x: g * (sigmoid(x) * (1 + (x * sigmoid(-x))))}, decomposition='x*sigmoid(x)', summary='x*sigmoid(x)', formula='sigmoid(x)*(1 + x*sigmoid(-x))', aliases=('swish',), samples=None, methods=())
swish = silu
def _mish_by_x(g: Any, x: Any) -> Any:
    s = softplus(x)
    t = tanh(s)
    return g * (t + (x * (tanh_slope(s, t) * sigmoid(x))))
mish: TensorFunction = _declare('mish', arrays.mish, {'x': _mish_by_x}, decomposition='x*tanh(softplus(x))', summary='x*tanh(softplus(x))', formula='tanh(s) + x*(1 - tanh(s)**2)*sigmoid(x) with s = softplus(x)', samples=None, methods=())
def _gelu_by_x(g: Any, x: Any, approximate: Any) -> Any:
    u = x if approximate == 'none' else gelu_cubic(x, 0.044715, 0)
    return g * ((ndtr(x) + (x * normal_density(x))) if approximate == 'none' else (sigmoid(u) * (1 + (gelu_cubic(x, 3 * 0.044715, 0) * sigmoid(-u)))))
gelu: TensorFunction = _declare('gelu', arrays.gelu, {'x': _gelu_by_x}, statics={'approximate': 'none'}, kinds={'approximate': TEXT}, decomposition=lambda approximate: _decompositions().gelu(approximate), summary='x*ndtr(x), or its tanh approximation', formula='ndtr(x) + x*exp(-x**2/2)/sqrt(2*pi)', samples=((0.3,), (-1.7,), ([0.5, -2.0],), (0.7, 'tanh'), ([-1.2, 2.0], 'tanh'),), methods=())
relu: TensorFunction = _declare('relu', lambda x: np.maximum(x, 0), {'x': lambda g, out: threshold_backward(g, out)}, selects=True, decomposition='max(x, 0)', summary='x where x > 0, else 0', formula='1 where x > 0 else 0', smooth='x != 0', kink=lambda x: x == 0, convention='the derivative at 0 is 0 (PyTorch)', samples=None, edges=None)
leaky_relu: TensorFunction = _declare('leaky_relu', lambda x, negative_slope: np.where(x > 0, x, x * negative_slope)[()], {'x': lambda g, x, negative_slope: hardtanh_backward(g, x, 0.0, math.nan, negative_slope)}, statics={'negative_slope': 0.01}, kinds={'negative_slope': NUMBER}, decomposition='x if x > 0 else negative_slope*x', summary='x where x > 0, else negative_slope*x', formula='1 where x > 0 else negative_slope', smooth='x != 0', kink=lambda x: x == 0, convention='the derivative at 0 is negative_slope (PyTorch)', samples=((0.3,), (-1.7,), ([0.5, -2.0],), ([0.5, -2.0], 0.2),), edges=None, methods=())
hardtanh: TensorFunction = _declare('hardtanh', lambda x, min_val, max_val: np.minimum(np.maximum(x, min_val), max_val), {'x': lambda g, x, min_val, max_val: hardtanh_backward(g, x, min_val, max_val, 0.0)}, statics={'min_val': -1.0, 'max_val': 1.0}, kinds={'min_val': NUMBER, 'max_val': NUMBER}, selects=True, decomposition='min(max(x, min_val), max_val)', summary='x clamped to [min_val, max_val]', formula='1 where min_val < x < max_val else 0', smooth='x != min_val and x != max_val', kink=lambda x, min_val, max_val: np.logical_not(((x != min_val) & (x != max_val))), convention='the derivative at the bounds is 0 (PyTorch)', samples=((0.3,), (-1.7,), ([0.5, -2.0],), ([0.5, -2.0], -3.0, 0.2),), edges=((-1.0,), (1.0,),), methods=())
relu6: TensorFunction = _declare.composed('relu6', lambda x: hardtanh(x, 0.0, 6.0), dict(), tensors=('x',), summary='x clamped to [0, 6]', formula='1 where 0 < x < 6 else 0', smooth='x != 0 and x != 6', kink=lambda x: np.logical_not(((x != 0) & (x != 6))), convention='the derivative at 0 and 6 is 0 (PyTorch)', samples=((0.3,), (-1.7,), ([0.5, -2.0],), (7.0,),), edges=((0.0,), (6.0,),), methods=())
hardsigmoid: TensorFunction = _declare('hardsigmoid', lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6, {'x': lambda g, x: hardtanh_backward(g, x, -3.0, 3.0, 0.0) / 6}, selects=True, decomposition='min(max(x + 3, 0), 6)/6', summary='x/6 + 1/2 clamped to [0, 1]', formula='1/6 where -3 < x < 3 else 0', smooth='x != -3 and x != 3', kink=lambda x: np.logical_not(((x != (-3)) & (x != 3))), convention='the derivative at -3 and 3 is 0 (PyTorch)', samples=((0.3,), (-1.7,), ([0.5, -2.0],), (4.0,),), edges=((-3.0,), (3.0,),), methods=())
hardswish: TensorFunction = _declare('hardswish', arrays.hardswish, {'x': lambda g, x: where(x <= (-3), 0.0, where(x >= 3, g, g * ((x / 3) + 0.5)))}, decomposition='x*min(max(x + 3, 0), 6)/6', summary='x*hardsigmoid(x)', formula='0 where x <= -3, 1 where x >= 3, else x/3 + 1/2', smooth='x != -3 and x != 3', kink=lambda x: np.logical_not(((x != (-3)) & (x != 3))), convention='the derivative is 0 at -3 and 1 at 3 (PyTorch)', samples=((0.7,), ([1.2, -0.4],), ([4.0, -4.0],),), edges=((-3.0,), (3.0,),), methods=())
hardshrink: TensorFunction = _declare('hardshrink', arrays.hardshrink, {'x': lambda g, x, lambd: where((x > lambd) | (x < (-lambd)), g, 0.0)}, statics={'lambd': 0.5}, kinds={'lambd': NUMBER}, selects=True, decomposition='x if abs(x) > lambd else 0', summary='x where abs(x) > lambd, else 0', formula='1 where abs(x) > lambd else 0', smooth='abs(x) != lambd', kink=lambda x, lambd: abs(x) == lambd, convention='the derivative where abs(x) = lambd is 0 (PyTorch)', samples=((0.7,), ([1.2, -0.4],), ([0.5, -2.0], 1.5),), edges=((0.5,), (-0.5,),))
softshrink: TensorFunction = _declare('softshrink', arrays.softshrink, {'x': lambda g, x, lambd: where((x > lambd) | (x < (-lambd)), g, 0.0)}, statics={'lambd': 0.5}, kinds={'lambd': NUMBER}, selects=True, decomposition='x - lambd if x > lambd else x + lambd if x < -lambd else 0', summary='x moved by lambd towards 0, or 0 where abs(x) <= lambd', formula='1 where abs(x) > lambd else 0', smooth='abs(x) != lambd', kink=lambda x, lambd: abs(x) == lambd, convention='the derivative where abs(x) = lambd is 0 (PyTorch)', samples=((0.7,), ([1.2, -0.4],), ([0.5, -2.0], 1.5),), edges=((0.5,), (-0.5,),), methods=())
threshold: TensorFunction = _declare('threshold', lambda x, threshold, value: np.where(x <= threshold, value * 1.0, x)[()], {'x': lambda g, x, threshold: where(x <= threshold, 0.0, g)}, statics={'threshold': 0.0, 'value': 0.0}, kinds={'threshold': NUMBER, 'value': NUMBER}, selects=True, decomposition='value if x <= threshold else x', summary='x where x > threshold, else value', formula='1 where x > threshold else 0', smooth='x != threshold', kink=lambda x, threshold: x == threshold, convention='the derivative at the threshold is 0 (PyTorch)', samples=(([0.7, -0.4], 0.1, 20.0), (1.2, 0.5, -1.0),), edges=((0.5, 0.5, 2.0),), methods=())
tanhshrink: TensorFunction = _declare.composed('tanhshrink', lambda x: tanhshrink_of(x, tanh(x)), dict(x=TENSOR), tensors=('x',), summary='x - tanh(x)', formula='tanh(x)**2', samples=((0.7,), ([1.2, -0.4],), (1e-4,),), methods=())
softsign: TensorFunction = _declare('softsign', arrays.softsign, {'x': lambda g, x: g * softsign_slope(x, 2)}, node='DivBackward0', decomposition='x/(1 + abs(x))', summary='x/(1 + abs(x))', formula='1/(1 + abs(x))**2', second_kink=lambda x: x == 0, convention='at 0 the derivative is 1 and the second derivative is 0 (PyTorch); the value at inf is 1, but PyTorch gives nan', samples=None, edges=None, methods=())
elu: TensorFunction = _declare('elu', lambda x, alpha: arrays.bent(x, alpha, 1.0, 1.0), {'x': lambda g, x, alpha: g * (where(x > 0, 1.0, left_exp(x, 1.0) * alpha))}, statics={'alpha': 1.0}, kinds={'alpha': NUMBER}, decomposition='x if x > 0 else alpha*expm1(x)', summary='x where x > 0, else alpha*(exp(x) - 1)', formula='1 where x > 0 else alpha*exp(x)', smooth='x != 0, or alpha = 1', kink=lambda x, alpha: (x == 0) & (alpha != 1), second_kink=lambda x: x == 0, convention='the derivative at 0 is alpha (PyTorch)', samples=((0.3,), (-1.7,), ([0.5, -2.0],), ([0.5, -2.0], 1.5),), edges=((0.0,), (0.0, 1.5),), methods=())
celu: TensorFunction = _declare('celu', arrays.celu, {'x': lambda g, x, alpha: g * (where(x > 0, 1.0, left_exp(x, 1 / alpha)))}, statics={'alpha': 1.0}, kinds={'alpha': NUMBER}, decomposition='x if x > 0 else alpha*expm1(x/alpha)', summary='x where x > 0, else alpha*(exp(x/alpha) - 1)', formula='1 where x > 0 else exp(x/alpha)', second_kink=lambda x: x == 0, convention='the second derivative at 0 is 0 (PyTorch)', samples=((0.3,), (-1.7,), ([0.5, -2.0],), ([0.5, -2.0], 1.5),), edges=((0.0,), (0.0, 1.5),), methods=())
selu: TensorFunction = _declare('selu', arrays.selu, {'x': lambda g, x: g * (where(x > 0, 1.0507009873554805, left_exp(x, 1.0) * 1.7580993408473766))}, node='EluBackward0', decomposition='1.0507009873554805*(x if x > 0 else 1.6732632423543772*expm1(x))', summary='elu with the two constants of self-normalizing networks', formula='1.0507... where x > 0 else 1.7580...*exp(x)', smooth='x != 0', kink=lambda x: x == 0, convention='the derivative at 0 is 1.7580... (PyTorch)', samples=None, edges=None, methods=())
def _softmax_series(x: Any, dim: Any) -> Any:
    powers = exp(x - largest(x, dim))
    return powers / sum(powers, dim, True)
softmax: TensorFunction = _declare('softmax', arrays.softmax, {'x': lambda g, out, dim: out * (g - sum(g * out, dim, True))}, statics={'dim': -1}, kinds={'dim': DIMENSION}, series=_softmax_series, summary='exp(x)/sum(exp(x)) along dim', formula='s*(g - sum(g*s)) with s = softmax(x)', samples=(([0.3, -1.0, 2.0],), ([[0.5, -1.0], [2.0, 0.1]], 0),))
def _log_softmax_series(x: Any, dim: Any) -> Any:
    shifted = x - largest(x, dim)
    return shifted - log(sum(exp(shifted), dim, True))
log_softmax: TensorFunction = _declare('log_softmax', arrays.log_softmax, {'x': lambda g, out, dim: ((-g) * expm1(out)) - (exp(out) * (sum(g, dim, True) - g))}, statics={'dim': -1}, kinds={'dim': DIMENSION}, series=_log_softmax_series, summary='log(softmax(x)) along dim without overflow', formula='g - softmax(x)*sum(g)', samples=(([0.3, -1.0, 2.0],), ([[0.5, -1.0], [2.0, 0.1]], 0),))
sigmoid_slope: TensorFunction = _declare('sigmoid_slope', arrays.sigmoid_slope, {'x': lambda g, x, out: g * (out * (-tanh(x / 2))), 's': None}, decomposition='sigmoid(x)*sigmoid(-x)', public=False)
gelu_cubic: TensorFunction = _declare('gelu_cubic', arrays.gelu_cubic, {'x': lambda g, x, cube, order: g * gelu_cubic(x, cube, order + 1)}, statics={'cube': 0.044715, 'order': 0}, decomposition=lambda cube, order: _decompositions().gelu_cubic(cube, order), public=False)
threshold_backward: TensorFunction = _declare('threshold_backward', lambda x, y: np.where(y <= 0, 0.0, x)[()], {'x': lambda g, y: where(y <= 0, 0.0, g), 'y': lambda g: zero_cotangent(g)}, node='ThresholdBackwardBackward0', selects=('y',), decomposition='0 if y <= 0 else x', public=False)
hardtanh_backward: TensorFunction = _declare('hardtanh_backward', arrays.hardtanh_backward, {'x': lambda g, y, low, high, outside: hardtanh_backward(g, y, low, high, outside), 'y': lambda g: zero_cotangent(g)}, statics={'low': 0.0, 'high': math.nan, 'outside': 0.0}, node='HardtanhBackwardBackward0', selects=('y',), decomposition=lambda low, high, outside: _decompositions().hardtanh_backward(low, high, outside), public=False)
softsign_slope: TensorFunction = _declare('softsign_slope', lambda x, n: (1 + np.abs(x)) ** np.negative(n * 1.0), {'x': lambda g, x, n: g * (((-n) * sign(x)) * softsign_slope(x, n + 1))}, statics={'n': 2}, decomposition=lambda n: _decompositions().softsign_slope(n), public=False)
left_exp: TensorFunction = _declare('left_exp', lambda x, inner: np.where(x > 0, 0.0, np.exp(np.minimum(x, 0) * inner))[()], {'x': lambda g, x, out, inner: where(x < 0, g * (out * inner), 0.0)}, statics={'inner': 1.0}, decomposition='0 if x > 0 else exp(inner*x)', public=False)
tanhshrink_of: TensorFunction = _declare('tanhshrink', arrays.tanhshrink, {'x': lambda g, x: g * square(tanh(x)), 't': lambda g: zero_cotangent(g)}, node='SubBackward0', decomposition=lambda: _decompositions().TANHSHRINK, public=False)
prelu_kernel: TensorFunction = _declare('prelu_kernel', lambda x, weight: np.where(x > 0, x, x * weight)[()], {'x': lambda g, x, weight: where(x > 0, g, g * weight), 'weight': lambda g, x: where(x > 0, 0.0, g * x)}, decomposition='x if x > 0 else weight*x', public=False)
