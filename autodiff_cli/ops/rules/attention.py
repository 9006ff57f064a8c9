"""Attention, gates, embeddings, bilinear forms, and the similarity and distance of vectors."""
# Made from grammar/rules/attention.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, FLAG, NUMBER, POSITIONS, TENSOR, WHOLE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import unindexed, where
from autodiff_cli.numerics import activation as activation_arrays, attention as arrays
from autodiff_cli.ops.comparison import clamp
from autodiff_cli.ops.rules.activation import sigmoid, sigmoid_slope, softmax
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.reduce import sum
from autodiff_cli.ops.rules.shape import cat
from autodiff_cli.ops.views import narrow

__all__ = ['cosine_similarity', 'pairwise_distance', 'softmin']

_declare = Declarations(__name__)
described = _declare.described

_declare.python('prelu', ('x', 'weight'), parameters=('x', 'weight'), defaults=(), tensors=('x', 'weight'), kinds={'x': TENSOR, 'weight': TENSOR}, summary='x where x > 0, else weight*x, with one weight or one for each channel, which is the second dimension of x', formula='1 where x > 0 else weight, and 0 where x > 0 else x', smooth='x != 0, or weight = 1', kink=lambda x, weight: (x == 0) & np.any(weight != 1), convention='the derivative with respect to x at 0 is weight (PyTorch)', samples=(([0.7, -0.4], 0.25), ([[0.7, -0.4], [-1.2, -2.0]], [0.25, 0.1]), (-1.5, 0.2),), edges=((0.0, 0.25),))
_declare.python('glu', ('x', 'dim'), parameters=('x', 'dim'), defaults=(-1, ), tensors=('x',), kinds={'x': TENSOR, 'dim': DIMENSION}, summary='the first half of x along dim, multiplied by the sigmoid of the second half', formula='sigmoid(b), a*sigmoid(b)*sigmoid(-b) for the halves a and b of x', samples=(([0.3, -1.0, 2.0, 0.5],), ([[0.5, -1.0], [2.0, 0.1]], 0),), methods=())
softmin: TensorFunction = _declare.composed('softmin', lambda x, dim=-1: softmax(-x, dim), dict(x=TENSOR, dim=DIMENSION), tensors=('x',), summary='softmax(-x) along dim', formula='s*(sum(g*s) - g) with s = softmin(x)', samples=(([0.3, -1.0, 2.0],), ([[0.5, -1.0], [2.0, 0.1]], 0),), methods=())
_declare.python('embedding', ('x', 'weight', 'padding_idx'), parameters=('x', 'weight', 'padding_idx'), defaults=(None, ), tensors=('weight',), kinds={'x': POSITIONS, 'weight': TENSOR, 'padding_idx': optional(WHOLE)}, summary='rows of the matrix weight at the positions x; the row padding_idx has the derivative 0', formula='the number of times that each row is taken', samples=(([1, 0, 1], [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]), ([[0, 1], [1, 1]], [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]), (1, [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]),), methods=())
_declare.python('one_hot', ('x', 'num_classes'), parameters=('x', 'num_classes'), defaults=(-1, ), tensors=(), kinds={'x': POSITIONS, 'num_classes': WHOLE}, summary='rows with a 1 at each position of x and 0 elsewhere; by default, the last class is the largest position', methods=())
_declare.python('scaled_dot_product_attention', ('query', 'key', 'value', 'attn_mask', 'is_causal', 'scale', 'enable_gqa'), parameters=('query', 'key', 'value', 'attn_mask', 'is_causal', 'scale', 'enable_gqa'), defaults=(None, False, None, False, ), tensors=('query', 'key', 'value', 'attn_mask'), kinds={'query': TENSOR, 'key': TENSOR, 'value': TENSOR, 'attn_mask': optional(TENSOR), 'is_causal': FLAG, 'scale': optional(NUMBER), 'enable_gqa': FLAG}, summary='softmax(scale*query @ key.mT + attn_mask) @ value; scale is 1/sqrt(d) for rows of length d', formula='weights.mT @ g for value; through softmax for query and key', samples=(([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], [[1.0, 2.0], [0.5, -1.0], [0.2, 0.3]]), ([[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], None, True), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], [[0.0, -1.0], [0.5, 0.2]]), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], None, False, 0.3),), methods=())
def _cosine_similarity_composed(x1: Any, x2: Any, dim: Any = 1, eps: Any = 1e-08) -> Any:
    first = clamp(vector_norm(x1, 2.0, dim, True), eps)
    second = clamp(vector_norm(x2, 2.0, dim, True), eps)
    return sum((x1 / first) * (x2 / second), dim)
cosine_similarity: TensorFunction = _declare.composed('cosine_similarity', _cosine_similarity_composed, dict(x1=TENSOR, x2=TENSOR, dim=DIMENSION, eps=NUMBER), tensors=('x1', 'x2'), summary='cosine of the angle between x1 and x2 along dim; each norm is raised to at least eps', formula='(u2 - c*u1)/norm(x1) with the unit vectors u1, u2 and their cosine c', smooth='no norm is 0', kink=arrays.some_zero, convention='where a norm is 0, it is replaced by eps, and its own derivative is 0 (PyTorch)', samples=(([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]]), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], 0), ([0.5, -1.0], [2.0, 0.1], 0),), edges=(([[0.0, 0.0]], [[1.0, 2.0]]),), methods=())
pairwise_distance: TensorFunction = _declare.composed('pairwise_distance', lambda x1, x2, p=2.0, eps=1e-06, keepdim=False: vector_norm((x1 - x2) + eps, p, -1, keepdim), dict(x1=TENSOR, x2=TENSOR, p=NUMBER, eps=NUMBER, keepdim=FLAG), tensors=('x1', 'x2'), summary='p-norm of x1 - x2 + eps along the last dimension', formula='(x1 - x2)/d, and its negative, for p = 2', samples=(([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]]), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], 3.0), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], 1.0, 1e-06, True), ([0.5, -1.0], [2.0, 0.1]),), methods=())
_declare.python('pdist', ('x', 'p'), parameters=('x', 'p'), defaults=(2.0, ), tensors=('x',), kinds={'x': TENSOR, 'p': NUMBER}, summary='p-norm of the difference of each two rows of a matrix, in the order (0, 1), (0, 2), ..., (1, 2), ...', formula='(x[i] - x[j])/d for x[i], and its negative for x[j], for p = 2', smooth='no two rows are equal', kink=arrays.has_equal_rows, convention='the derivative of a distance that is 0 is 0 (PyTorch)', samples=(([[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]],), ([[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], 3.0), ([[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]], 1.0),), edges=(([[1.0, 2.0], [1.0, 2.0]],),), methods=())
_declare.python('bilinear', ('x1', 'x2', 'weight', 'bias'), parameters=('x1', 'x2', 'weight', 'bias'), defaults=(None, ), tensors=('x1', 'x2', 'weight', 'bias'), kinds={'x1': TENSOR, 'x2': TENSOR, 'weight': TENSOR, 'bias': optional(TENSOR)}, summary='x1 @ weight[k] @ x2 for each k, plus bias[k]', formula='weight[k] @ x2, x1 @ weight[k], outer(x1, x2), 1', samples=(([0.5, -1.0], [2.0, 0.1, 0.4], [[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]]), ([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]], [[[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]]], [0.5]),), methods=())
def _embedding_rows_by_weight(g: Any, weight_shape: Any, x: Any, padding_idx: Any) -> Any:
    kept = g if padding_idx is None else where((x == padding_idx)[..., np.newaxis], 0.0, g)
    return unindexed(kept, weight_shape, (x,))
embedding_rows: TensorFunction = _declare('embedding', arrays.rows, {'weight': _embedding_rows_by_weight}, statics={'x': None, 'padding_idx': None}, series='linear', public=False)
def _gated_by_x(g: Any, x: Any, dim: Any) -> Any:
    half = g.shape[dim]
    a = narrow(x, dim, 0, half)
    b = narrow(x, dim, half, half)
    gate = sigmoid(b)
    return cat((g * gate, (g * a) * sigmoid_slope(b, gate)), dim)
gated: TensorFunction = _declare('glu', activation_arrays.glu, {'x': _gated_by_x}, statics={'dim': -1}, public=False)
