"""Layers of networks: normalization, attention, embeddings, gates and bilinear forms; similarity and distance of vectors."""  # made from grammar/rules/layers.rules by grammar/compile_rules.py

from typing import Any
import numpy as np
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, NUMBER, POSITIONS, TENSOR, WHOLE, WHOLES, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import unindexed, where
from autodiff_cli.errors import ArgumentError, GraphError, ShapeError
from autodiff_cli.numerics import activation as activation_arrays, layers as arrays
from autodiff_cli.numerics.activation import half_along
from autodiff_cli.numerics.arithmetic import is_plain
from autodiff_cli.numerics.arrange import joined, listed
from autodiff_cli.numerics.layers import channel_shape, is_single, last_dims, lost_dims, machine_epsilon, pair_positions
from autodiff_cli.numerics.positions import is_place, size_of
from autodiff_cli.ops.contract import einsum
from autodiff_cli.ops.positions import index_select
from autodiff_cli.ops.rules.activation import prelu_kernel, sigmoid, sigmoid_slope, softmax
from autodiff_cli.ops.rules.comparison import clamp
from autodiff_cli.ops.rules.contract import with_term
from autodiff_cli.ops.rules.elementary import rsqrt, square
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.reduce import mean, sum
from autodiff_cli.ops.rules.shape import cat
from autodiff_cli.ops.shape import reshape
from autodiff_cli.ops.views import narrow
declare = Declarations(__name__)
def normalized(x: Any, weight: Any, bias: Any, blocks: Any = (), axes: Any = (), beside: Any = (), eps: Any = 1e-5) -> Any:
    parts = standardized(reshape(x, blocks), axes, eps)
    return in_shape(weight, beside) * reshape(parts[0], x.shape) + in_shape(bias, beside)
def batch_normalized(x: Any, weight: Any, bias: Any, blocks: Any = (), axes: Any = (), beside: Any = (), eps: Any = 1e-5) -> Any:
    factor = 1.0 if weight is None else weight
    term = 0.0 if bias is None else bias
    return native_batch_norm(x, factor, term, blocks, axes, beside, eps) if is_plain(x, factor, term) else normalized(x, factor, term, blocks, axes, beside, eps)
def cotangent_of_blocks(g: Any, x: Any, weight: Any, blocks: Any = (), axes: Any = (), beside: Any = (), eps: Any = 1e-5) -> Any:
    """The cotangent of x: that of each standardized block minus its projections on the mean and on the deviation, over the deviation."""
    parts = standardized(reshape(x, blocks), axes, eps)
    normal = parts[0]
    scale = parts[1]
    inner = reshape(g * in_shape(weight, beside), blocks)
    projected = inner - mean(inner, axes, True) - normal * mean(inner * normal, axes, True)
    return reshape(projected * scale, x.shape)
def cotangent_of_weight(g: Any, x: Any, shape: Any = (), blocks: Any = (), axes: Any = (), beside: Any = (), eps: Any = 1e-5) -> Any:
    parts = standardized(reshape(x, blocks), axes, eps)
    return sum_beside(g * reshape(parts[0], x.shape), shape, beside)
def standardized(x: Any, axes: Any = (), eps: Any = 1e-5) -> Any:
    centered = x - mean(x, axes, True)
    scale = rsqrt(mean(square(centered), axes, True) + eps)
    return (centered * scale, scale)
in_shape: Any = lambda x, shape=(): x if is_single(x) else reshape(x, shape)
def sum_beside(g: Any, shape: Any = (), beside: Any = ()) -> Any:
    dims = lost_dims(g, beside)
    return sum(g) if shape == () else reshape(g if dims == () else sum(g, dims), shape)
def _prelu_composed(x: Any, weight: Any) -> Any:
    if len(weight.shape) >= 2: raise ShapeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(weight.shape)}")
    if size_of(weight.shape) != 1 and size_of(weight.shape) != size_of(x.shape[1:2]): raise ShapeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {size_of(weight.shape)} and channel size = {size_of(x.shape[1:2])}.")
    shape = ((1,) * len(x.shape)) if size_of(weight.shape) == 1 else ((1, size_of(weight.shape)) + (1,) * (len(x.shape) - 2))
    return prelu_kernel(x, weight if weight.shape == shape else reshape(weight, shape))
prelu = declare.composed('prelu', _prelu_composed, dict(x=TENSOR, weight=TENSOR), tensors=('x', 'weight'), summary='x where x > 0, else weight*x, with one weight or one for each channel, which is the second dimension of x', formula='1 where x > 0 else weight, and 0 where x > 0 else x', smooth='x != 0, or weight = 1', kink=lambda x, weight: (x == 0) & np.any(weight != 1), convention='the derivative with respect to x at 0 is weight (PyTorch)', samples=(([0.7, -0.4], 0.25), ([[0.7, -0.4], [-1.2, -2.0]], [0.25, 0.1]), (-1.5, 0.2),), edges=((0.0, 0.25),))
def _glu_composed(x: Any, dim: Any = -1) -> Any:
    half = half_along(x.shape, dim)
    return gated(x, dim) if is_plain(x) else (narrow(x, dim, 0, half) * sigmoid(narrow(x, dim, half, half)))
glu = declare.composed('glu', _glu_composed, dict(x=TENSOR, dim=DIMENSION), tensors=('x',), summary='the first half of x along dim, multiplied by the sigmoid of the second half', formula='sigmoid(b), a*sigmoid(b)*sigmoid(-b) for the halves a and b of x', samples=(([0.3, -1.0, 2.0, 0.5],), ([[0.5, -1.0], [2.0, 0.1]], 0),), methods=())
softmin = declare.composed('softmin', lambda x, dim=-1: softmax(-x, dim), dict(x=TENSOR, dim=DIMENSION), tensors=('x',), summary='softmax(-x) along dim', formula='s*(sum(g*s) - g) with s = softmin(x)', samples=(([0.3, -1.0, 2.0],), ([[0.5, -1.0], [2.0, 0.1]], 0),), methods=())
def _embedding_composed(x: Any, weight: Any, padding_idx: Any = None) -> Any:
    if padding_idx is not None and not is_place(weight.shape, 0, padding_idx): raise ArgumentError('Padding_idx must be within num_embeddings')
    return embedding_rows(weight, x, padding_idx if padding_idx is None else (padding_idx % weight.shape[0]))
embedding = declare.composed('embedding', _embedding_composed, dict(x=POSITIONS, weight=TENSOR, padding_idx=optional(WHOLE)), tensors=('weight',), summary='rows of the matrix weight at the positions x; the row padding_idx has the derivative 0', formula='the number of times that each row is taken', samples=(([1, 0, 1], [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]), ([[0, 1], [1, 1]], [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]), (1, [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]),), methods=())
declare.python('one_hot', ('x', 'num_classes'), parameters=('x', 'num_classes'), defaults=(-1, ), tensors=(), kinds={'x': POSITIONS, 'num_classes': WHOLE}, summary='rows with a 1 at each position of x and 0 elsewhere; by default, the last class is the largest position', methods=())
declare.python('scaled_dot_product_attention', ('query', 'key', 'value', 'attn_mask', 'is_causal', 'scale', 'enable_gqa'), parameters=('query', 'key', 'value', 'attn_mask', 'is_causal', 'scale', 'enable_gqa'), defaults=(None, False, None, False, ), tensors=('query', 'key', 'value', 'attn_mask'), kinds={'query': TENSOR, 'key': TENSOR, 'value': TENSOR, 'attn_mask': optional(TENSOR), 'is_causal': FLAG, 'scale': optional(NUMBER), 'enable_gqa': FLAG}, summary='softmax(scale*query @ key.mT + attn_mask) @ value; scale is 1/sqrt(d) for rows of length d', formula='weights.mT @ g for value; through softmax for query and key', samples=(([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], [[1.0, 2.0], [0.5, -1.0], [0.2, 0.3]]), ([[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], None, True), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], [[0.0, -1.0], [0.5, 0.2]]), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], None, False, 0.3),), methods=())
def _cosine_similarity_composed(x1: Any, x2: Any, dim: Any = 1, eps: Any = 1e-08) -> Any:
    first = clamp(vector_norm(x1, 2.0, dim, True), eps)
    second = clamp(vector_norm(x2, 2.0, dim, True), eps)
    return sum(x1 / first * (x2 / second), dim)
cosine_similarity = declare.composed('cosine_similarity', _cosine_similarity_composed, dict(x1=TENSOR, x2=TENSOR, dim=DIMENSION, eps=NUMBER), tensors=('x1', 'x2'), summary='cosine of the angle between x1 and x2 along dim; each norm is raised to at least eps', formula='(u2 - c*u1)/norm(x1) with the unit vectors u1, u2 and their cosine c', smooth='no norm is 0', kink=arrays.some_zero, convention='where a norm is 0, it is replaced by eps, and its own derivative is 0 (PyTorch)', samples=(([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]]), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], 0), ([0.5, -1.0], [2.0, 0.1], 0),), edges=(([[0.0, 0.0]], [[1.0, 2.0]]),), methods=())
pairwise_distance = declare.composed('pairwise_distance', lambda x1, x2, p=2.0, eps=1e-06, keepdim=False: vector_norm(x1 - x2 + eps, p, -1, keepdim), dict(x1=TENSOR, x2=TENSOR, p=NUMBER, eps=NUMBER, keepdim=FLAG), tensors=('x1', 'x2'), summary='p-norm of x1 - x2 + eps along the last dimension', formula='(x1 - x2)/d, and its negative, for p = 2', samples=(([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]]), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], 3.0), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], 1.0, 1e-06, True), ([0.5, -1.0], [2.0, 0.1]),), methods=())
def _pdist_composed(x: Any, p: Any = 2.0) -> Any:
    if len(x.shape) != 2: raise ShapeError(f"pdist only supports 2D tensors, got: {len(x.shape)}D")
    if not (p >= 0): raise GraphError('pdist only supports non-negative p values')
    return vector_norm(index_select(x, 0, pair_positions(x.shape[0], 0)) - index_select(x, 0, pair_positions(x.shape[0], 1)), p, 1)
pdist = declare.composed('pdist', _pdist_composed, dict(x=TENSOR, p=NUMBER), tensors=('x',), summary='p-norm of the difference of each two rows of a matrix, in the order (0, 1), (0, 2), ..., (1, 2), ...', formula='(x[i] - x[j])/d for x[i], and its negative for x[j], for p = 2', smooth='no two rows are equal', kink=lambda x: len(np.unique(x, axis=0)) < len(x), convention='the derivative of a distance that is 0 is 0 (PyTorch)', samples=(([[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]],), ([[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], 3.0), ([[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], 1.0),), edges=(([[1.0, 2.0], [1.0, 2.0]],),), methods=())
def _bilinear_composed(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Any:
    if len(weight.shape) != 3: raise ShapeError(f"bilinear(): weight must have 3 dimensions, but its shape is {list(weight.shape)}")
    if x1.shape[-1:] != weight.shape[1:2]: raise ShapeError(f"bilinear(): input1 size does not match weight size: got {x1.shape[-1] if x1.shape else 0} but expected {weight.shape[1]}")
    if x2.shape[-1:] != weight.shape[2:]: raise ShapeError(f"bilinear(): input2 size does not match weight size: got {x2.shape[-1] if x2.shape else 0} but expected {weight.shape[2]}")
    return with_term(einsum('...i,kij,...j->...k', x1, weight, x2), bias)
bilinear = declare.composed('bilinear', _bilinear_composed, dict(x1=TENSOR, x2=TENSOR, weight=TENSOR, bias=optional(TENSOR)), tensors=('x1', 'x2', 'weight', 'bias'), summary='x1 @ weight[k] @ x2 for each k, plus bias[k]', formula='weight[k] @ x2, x1 @ weight[k], outer(x1, x2), 1', samples=(([0.5, -1.0], [2.0, 0.1, 0.4], [[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]]), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], [[[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]]], [0.5]),), methods=())
def _layer_norm_composed(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-05) -> Any:
    """(x - mean)/sqrt(variance + eps)*weight + bias over the last dimensions, which have the lengths normalized_shape."""
    if len(listed(normalized_shape)) == 0: raise ShapeError('Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []')
    if x.shape[(len(x.shape) - len(listed(normalized_shape))):] != listed(normalized_shape): raise ShapeError(f"Given normalized_shape={list(listed(normalized_shape))}, expected input with shape [*, {joined(normalized_shape)}], but got input of size{list(x.shape)}")
    if weight is not None and weight.shape != listed(normalized_shape): raise ShapeError(f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} and normalized_shape = {list(listed(normalized_shape))}")
    if bias is not None and bias.shape != listed(normalized_shape): raise ShapeError(f"Expected bias to be of same shape as normalized_shape, but got bias of shape {list(bias.shape)} and normalized_shape = {list(listed(normalized_shape))}")
    shape = listed(normalized_shape)
    factor = 1.0 if weight is None else weight
    term = 0.0 if bias is None else bias
    return native_layer_norm(x, factor, term, x.shape, last_dims(shape), shape, eps) if is_plain(x, factor, term) else normalized(x, factor, term, x.shape, last_dims(shape), shape, eps)
layer_norm = declare.composed('layer_norm', _layer_norm_composed, dict(x=TENSOR, normalized_shape=WHOLES, weight=optional(TENSOR), bias=optional(TENSOR), eps=NUMBER), tensors=('x', 'weight', 'bias'), summary='(x - mean)/sqrt(variance + eps)*weight + bias over the last dimensions, which have the lengths normalized_shape', formula='weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 4), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [2, 4]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [4], [1.5, 0.5, -1.0, 2.0], [0.1, -0.2, 0.3, 0.4]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [4], [1.5, 0.5, -1.0, 2.0], None, 0.1), ([0.5, -1.0, 2.0], 3),), methods=())
def _rms_norm_composed(x: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """x/sqrt(mean(x**2) + eps)*weight over the last dimensions; by default, eps is the distance from 1 to the next float."""
    if len(listed(normalized_shape)) == 0: raise ShapeError('Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []')
    if x.shape[(len(x.shape) - len(listed(normalized_shape))):] != listed(normalized_shape): raise ShapeError(f"Given normalized_shape={list(listed(normalized_shape))}, expected input with shape [*{joined(normalized_shape)}], but got input of size{list(x.shape)}")
    if weight is not None and weight.shape != listed(normalized_shape): raise ShapeError(f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} and normalized_shape = {list(listed(normalized_shape))}")
    size = mean(square(x), last_dims(listed(normalized_shape)), True) + (machine_epsilon(x) if eps is None else eps)
    result = x * rsqrt(size)
    return result if weight is None else (result * weight)
rms_norm = declare.composed('rms_norm', _rms_norm_composed, dict(x=TENSOR, normalized_shape=WHOLES, weight=optional(TENSOR), eps=optional(NUMBER)), tensors=('x', 'weight'), summary='x/sqrt(mean(x**2) + eps)*weight over the last dimensions; by default, eps is the distance from 1 to the next float', formula='(g - y*mean(g*y))/sqrt(mean(x**2) + eps) with y = rms_norm(x)', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 4), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [2, 4]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [4], [1.5, 0.5, -1.0, 2.0]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [4], [1.5, 0.5, -1.0, 2.0], 0.1),), methods=())
def _group_norm_composed(x: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-05) -> Any:
    """Normalization over groups of the channels of each row; channels are the second dimension."""
    if len(x.shape) <= 1: raise ShapeError(f"Expected at least 2 dimensions for input tensor but received {len(x.shape)}")
    if not (num_groups > 0): raise ShapeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if x.shape[1] % num_groups != 0: raise ShapeError(f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(x.shape)} and num_groups={num_groups}")
    beside = channel_shape('group_norm', x.shape, weight, bias)
    blocks = (x.shape[0], num_groups, size_of(x.shape[1:]) // num_groups)
    factor = 1.0 if weight is None else weight
    term = 0.0 if bias is None else bias
    return native_group_norm(x, factor, term, blocks, (2,), beside, eps) if is_plain(x, factor, term) else normalized(x, factor, term, blocks, (2,), beside, eps)
group_norm = declare.composed('group_norm', _group_norm_composed, dict(x=TENSOR, num_groups=WHOLE, weight=optional(TENSOR), bias=optional(TENSOR), eps=NUMBER), tensors=('x', 'weight', 'bias'), summary='normalization over groups of the channels of each row; channels are the second dimension', formula='weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 2), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 2, [1.5, 0.5, -1.0, 2.0], [0.1, -0.2, 0.3, 0.4]), ([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]], 1, [1.5, 0.5]),), methods=())
declare.python('batch_norm', ('x', 'running_mean', 'running_var', 'weight', 'bias', 'training', 'momentum', 'eps'), parameters=('x', 'running_mean', 'running_var', 'weight', 'bias', 'training', 'momentum', 'eps'), defaults=(None, None, None, None, False, 0.1, 1e-05, ), tensors=('x', 'running_mean', 'running_var', 'weight', 'bias'), kinds={'x': TENSOR, 'running_mean': optional(TENSOR), 'running_var': optional(TENSOR), 'weight': optional(TENSOR), 'bias': optional(TENSOR), 'training': FLAG, 'momentum': NUMBER, 'eps': NUMBER}, summary='normalization of each channel over all rows: by running statistics, or with training by its mean and variance', formula='weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [0.1, 0.2, -0.3, 0.4], [1.0, 0.5, 2.0, 1.5]), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], [0.1, 0.2, -0.3, 0.4], [1.0, 0.5, 2.0, 1.5], [1.5, 0.5, -1.0, 2.0], [0.1, -0.2, 0.3, 0.4]), ([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]], None, None, [1.5, 0.5], [0.1, -0.2], True), ([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]], None, None, None, None, True, 0.1, 0.01),), methods=())
declare.python('instance_norm', ('x', 'running_mean', 'running_var', 'weight', 'bias', 'use_input_stats', 'momentum', 'eps'), parameters=('x', 'running_mean', 'running_var', 'weight', 'bias', 'use_input_stats', 'momentum', 'eps'), defaults=(None, None, None, None, True, 0.1, 1e-05, ), tensors=('x', 'running_mean', 'running_var', 'weight', 'bias'), kinds={'x': TENSOR, 'running_mean': optional(TENSOR), 'running_var': optional(TENSOR), 'weight': optional(TENSOR), 'bias': optional(TENSOR), 'use_input_stats': FLAG, 'momentum': NUMBER, 'eps': NUMBER}, summary='normalization of each channel of each row over the remaining dimensions; otherwise as batch_norm', formula='weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights', samples=(([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]],), ([[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]], None, None, [1.5, 0.5], [0.1, -0.2]),), methods=())
normalize = declare.composed('normalize', lambda x, p=2.0, dim=1, eps=1e-12: x / clamp(vector_norm(x, p, dim, True), eps), dict(x=TENSOR, p=NUMBER, dim=DIMENSIONS, eps=NUMBER), tensors=('x',), summary='x divided by its p-norm along dim, which is raised to at least eps', formula='(g - y*sum(g*y))/norm(x) with y = normalize(x), for p = 2', smooth='the norm is not 0', kink=arrays.has_zero_norm, convention='where the norm is 0, the derivative is 1/eps (PyTorch)', samples=(([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]],), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 2.0, 0), ([[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]], 3.0, -1), ([0.5, -1.0, 2.0], 2.0, 0),), edges=(([[0.0, 0.0]],),), methods=())
native_layer_norm = declare('native_layer_norm', lambda x, weight, bias, blocks, axes, beside, eps: normalized(x, weight, bias, blocks, axes, beside, eps), {'x': lambda g, x, weight, blocks, axes, beside, eps: cotangent_of_blocks(g, x, weight, blocks, axes, beside, eps), 'weight': lambda g, x, weight_shape, blocks, axes, beside, eps: cotangent_of_weight(g, x, weight_shape, blocks, axes, beside, eps), 'bias': lambda g, bias_shape, beside: sum_beside(g, bias_shape, beside)}, statics={'blocks': (), 'axes': (), 'beside': (), 'eps': 1e-5}, public=False)
native_group_norm = declare('native_group_norm', lambda x, weight, bias, blocks, axes, beside, eps: normalized(x, weight, bias, blocks, axes, beside, eps), {'x': lambda g, x, weight, blocks, axes, beside, eps: cotangent_of_blocks(g, x, weight, blocks, axes, beside, eps), 'weight': lambda g, x, weight_shape, blocks, axes, beside, eps: cotangent_of_weight(g, x, weight_shape, blocks, axes, beside, eps), 'bias': lambda g, bias_shape, beside: sum_beside(g, bias_shape, beside)}, statics={'blocks': (), 'axes': (), 'beside': (), 'eps': 1e-5}, public=False)
native_batch_norm = declare('native_batch_norm', lambda x, weight, bias, blocks, axes, beside, eps: normalized(x, weight, bias, blocks, axes, beside, eps), {'x': lambda g, x, weight, blocks, axes, beside, eps: cotangent_of_blocks(g, x, weight, blocks, axes, beside, eps), 'weight': lambda g, x, weight_shape, blocks, axes, beside, eps: cotangent_of_weight(g, x, weight_shape, blocks, axes, beside, eps), 'bias': lambda g, bias_shape, beside: sum_beside(g, bias_shape, beside)}, statics={'blocks': (), 'axes': (), 'beside': (), 'eps': 1e-5}, public=False)
def _embedding_rows_by_weight(g: Any, weight_shape: Any, x: Any, padding_idx: Any) -> Any:
    kept = g if padding_idx is None else where((x == padding_idx)[..., np.newaxis], 0.0, g)
    return unindexed(kept, weight_shape, (x,))
embedding_rows = declare('embedding', arrays.rows, {'weight': _embedding_rows_by_weight}, statics={'x': None, 'padding_idx': None}, series='linear', public=False)
def _gated_by_x(g: Any, x: Any, dim: Any) -> Any:
    """The cotangent of x in ``gated(x, dim)``: a*sigmoid(b) for the halves a and b of x along dim."""
    half = g.shape[dim]
    a = narrow(x, dim, 0, half)
    b = narrow(x, dim, half, half)
    gate = sigmoid(b)
    return cat((g * gate, g * a * sigmoid_slope(b, gate)), dim)
gated = declare('glu', activation_arrays.glu, {'x': _gated_by_x}, statics={'dim': -1}, public=False)
