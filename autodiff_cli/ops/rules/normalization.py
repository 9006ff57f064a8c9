"""Normalization: of layers, groups, batches and instances, by the root mean square, and by a norm."""
# Made from grammar/rules/normalization.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSIONS, FLAG, NUMBER, TENSOR, WHOLE, WHOLES, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import normalization as arrays
from autodiff_cli.numerics.normalization import is_single, lost_dims
from autodiff_cli.ops.comparison import clamp
from autodiff_cli.ops.rules.elementary import rsqrt, square
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.reduce import mean, sum
from autodiff_cli.ops.shape import reshape

__all__ = ['normalize']

_declare = Declarations(__name__)
described = _declare.described

def normalized(x: Any, weight: Any, bias: Any, blocks: Any = (), axes: Any = (), beside: Any = (), eps: Any = 1e-5) -> Any:
    parts = standardized(reshape(x, blocks), axes, eps)
    return (in_shape(weight, beside) * reshape(parts[0], x.shape)) + in_shape(bias, beside)
def cotangent_of_blocks(g: Any, x: Any, weight: Any, blocks: Any = (), axes: Any = (), beside: Any = (), eps: Any = 1e-5) -> Any:
    parts = standardized(reshape(x, blocks), axes, eps)
    inner = reshape(g * in_shape(weight, beside), blocks)
    outer = (inner - mean(inner, axes, True)) - (parts[0] * mean(inner * parts[0], axes, True))
    return reshape(outer * parts[1], x.shape)
def cotangent_of_weight(g: Any, x: Any, shape: Any = (), blocks: Any = (), axes: Any = (), beside: Any = (), eps: Any = 1e-5) -> Any:
    parts = standardized(reshape(x, blocks), axes, eps)
    return sum_beside(g * reshape(parts[0], x.shape), shape, beside)
def standardized(x: Any, axes: Any = (), eps: Any = 1e-5) -> Any:
    centered = x - mean(x, axes, True)
    scale = rsqrt(mean(square(centered), axes, True) + eps)
    return (centered * scale, scale)
def in_shape(x: Any, shape: Any = ()) -> Any:
    return x if is_single(x) else reshape(x, shape)
def sum_beside(g: Any, shape: Any = (), beside: Any = ()) -> Any:
    dims = lost_dims(g, beside)
    return sum(g) if shape == () else reshape(g if dims == () else sum(g, dims), shape)
_declare.python('layer_norm', ('x', 'normalized_shape', 'weight', 'bias', 'eps'), parameters=('x', 'normalized_shape', 'weight', 'bias', 'eps'), defaults=(None, None, 1e-05, ), tensors=('x', 'weight', 'bias'), kinds={'x': TENSOR, 'normalized_shape': WHOLES, 'weight': optional(TENSOR), 'bias': optional(TENSOR), 'eps': NUMBER}, summary='(x - mean)/sqrt(variance + eps)*weight + bias over the last dimensions, which have the lengths normalized_shape', formula='weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 4), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [2, 4]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [4], [1.5, 0.5, -1.0, 2.0], [0.1, -0.2, 0.3, 0.4]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [4], [1.5, 0.5, -1.0, 2.0], None, 0.1), ([0.5, -1.0, 2.0], 3),), methods=())
_declare.python('rms_norm', ('x', 'normalized_shape', 'weight', 'eps'), parameters=('x', 'normalized_shape', 'weight', 'eps'), defaults=(None, None, ), tensors=('x', 'weight'), kinds={'x': TENSOR, 'normalized_shape': WHOLES, 'weight': optional(TENSOR), 'eps': optional(NUMBER)}, summary='x/sqrt(mean(x**2) + eps)*weight over the last dimensions; by default, eps is the distance from 1 to the next float', formula='(g - y*mean(g*y))/sqrt(mean(x**2) + eps) with y = rms_norm(x)', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 4), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [2, 4]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [4], [1.5, 0.5, -1.0, 2.0]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [4], [1.5, 0.5, -1.0, 2.0], 0.1),), methods=())
_declare.python('group_norm', ('x', 'num_groups', 'weight', 'bias', 'eps'), parameters=('x', 'num_groups', 'weight', 'bias', 'eps'), defaults=(None, None, 1e-05, ), tensors=('x', 'weight', 'bias'), kinds={'x': TENSOR, 'num_groups': WHOLE, 'weight': optional(TENSOR), 'bias': optional(TENSOR), 'eps': NUMBER}, summary='normalization over groups of the channels of each row; channels are the second dimension', formula='weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 2), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 2, [1.5, 0.5, -1.0, 2.0], [0.1, -0.2, 0.3, 0.4]), ([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]], 1, [1.5, 0.5]),), methods=())
_declare.python('batch_norm', ('x', 'running_mean', 'running_var', 'weight', 'bias', 'training', 'momentum', 'eps'), parameters=('x', 'running_mean', 'running_var', 'weight', 'bias', 'training', 'momentum', 'eps'), defaults=(None, None, None, None, False, 0.1, 1e-05, ), tensors=('x', 'running_mean', 'running_var', 'weight', 'bias'), kinds={'x': TENSOR, 'running_mean': optional(TENSOR), 'running_var': optional(TENSOR), 'weight': optional(TENSOR), 'bias': optional(TENSOR), 'training': FLAG, 'momentum': NUMBER, 'eps': NUMBER}, summary='normalization of each channel over all rows: by running statistics, or with training by its mean and variance', formula='weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [0.1, 0.2, -0.3, 0.4], [1.0, 0.5, 2.0, 1.5]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [0.1, 0.2, -0.3, 0.4], [1.0, 0.5, 2.0, 1.5], [1.5, 0.5, -1.0, 2.0], [0.1, -0.2, 0.3, 0.4]), ([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]], None, None, [1.5, 0.5], [0.1, -0.2], True), ([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]], None, None, None, None, True, 0.1, 0.01),), methods=())
_declare.python('instance_norm', ('x', 'running_mean', 'running_var', 'weight', 'bias', 'use_input_stats', 'momentum', 'eps'), parameters=('x', 'running_mean', 'running_var', 'weight', 'bias', 'use_input_stats', 'momentum', 'eps'), defaults=(None, None, None, None, True, 0.1, 1e-05, ), tensors=('x', 'running_mean', 'running_var', 'weight', 'bias'), kinds={'x': TENSOR, 'running_mean': optional(TENSOR), 'running_var': optional(TENSOR), 'weight': optional(TENSOR), 'bias': optional(TENSOR), 'use_input_stats': FLAG, 'momentum': NUMBER, 'eps': NUMBER}, summary='normalization of each channel of each row over the remaining dimensions; otherwise as batch_norm', formula='weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights', samples=(([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]],), ([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]], None, None, [1.5, 0.5], [0.1, -0.2]),), methods=())
normalize: TensorFunction = _declare.composed('normalize', lambda x, p=2.0, dim=1, eps=1e-12: x / clamp(vector_norm(x, p, dim, True), eps), dict(x=TENSOR, p=NUMBER, dim=DIMENSIONS, eps=NUMBER), tensors=('x',), summary='x divided by its p-norm along dim, which is raised to at least eps', formula='(g - y*sum(g*y))/norm(x) with y = normalize(x), for p = 2', smooth='the norm is not 0', kink=arrays.has_zero_norm, convention='where the norm is 0, the derivative is 1/eps (PyTorch)', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]],), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 2.0, 0), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 3.0, -1), ([0.5, -1.0, 2.0], 2.0, 0),), edges=(([[0.0, 0.0]],),), methods=())
native_layer_norm: TensorFunction = _declare('native_layer_norm', lambda x, weight, bias, blocks, axes, beside, eps: normalized(x, weight, bias, blocks, axes, beside, eps), {'x': lambda g, x, weight, blocks, axes, beside, eps: cotangent_of_blocks(g, x, weight, blocks, axes, beside, eps), 'weight': lambda g, x, weight_shape, blocks, axes, beside, eps: cotangent_of_weight(g, x, weight_shape, blocks, axes, beside, eps), 'bias': lambda g, bias_shape, beside: sum_beside(g, bias_shape, beside)}, statics={'blocks': (), 'axes': (), 'beside': (), 'eps': 1e-5}, public=False)
native_group_norm: TensorFunction = _declare('native_group_norm', lambda x, weight, bias, blocks, axes, beside, eps: normalized(x, weight, bias, blocks, axes, beside, eps), {'x': lambda g, x, weight, blocks, axes, beside, eps: cotangent_of_blocks(g, x, weight, blocks, axes, beside, eps), 'weight': lambda g, x, weight_shape, blocks, axes, beside, eps: cotangent_of_weight(g, x, weight_shape, blocks, axes, beside, eps), 'bias': lambda g, bias_shape, beside: sum_beside(g, bias_shape, beside)}, statics={'blocks': (), 'axes': (), 'beside': (), 'eps': 1e-5}, public=False)
native_batch_norm: TensorFunction = _declare('native_batch_norm', lambda x, weight, bias, blocks, axes, beside, eps: normalized(x, weight, bias, blocks, axes, beside, eps), {'x': lambda g, x, weight, blocks, axes, beside, eps: cotangent_of_blocks(g, x, weight, blocks, axes, beside, eps), 'weight': lambda g, x, weight_shape, blocks, axes, beside, eps: cotangent_of_weight(g, x, weight_shape, blocks, axes, beside, eps), 'bias': lambda g, bias_shape, beside: sum_beside(g, bias_shape, beside)}, statics={'blocks': (), 'axes': (), 'beside': (), 'eps': 1e-5}, public=False)
