"""Products summed over chosen dimensions: einsum, tensordot, linear layers and others."""  # made from grammar/rules/contract.rules by grammar/compile_rules.py

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import COUNT_OR_PAIR, DIMENSION, NUMBER, TENSOR, TEXT, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.errors import ShapeError
from autodiff_cli.numerics import matrices as matrices_arrays
from autodiff_cli.numerics.arithmetic import is_plain
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.linalg import mm
from autodiff_cli.ops.rules.shape import t, transpose

declare = Declarations(__name__)

with_term: Any = lambda product, term: product if term is None else (product + term)
declare.python('einsum', None, parameters=('equation', 'operands'), defaults=(), tensors=('operands',), kinds={'equation': TEXT}, spread=True, summary="sums of products over the indices of an equation such as 'ij,jk->ik'", formula='einsum of g with the other operands', samples=(('ij,jk->ik', [[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]), ('ii->i', [[1.0, 2.0], [3.0, 4.0]]), ('ij->', [[1.0, 2.0], [3.0, 4.0]]), ('i,ij,j', [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], [3.0, -4.0]), ('...i,i->...', [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]), ('ij,kj->ki', [[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]),), methods=())
declare.python('tensordot', ('x', 'y', 'dims'), parameters=('x', 'y', 'dims'), defaults=(2, ), tensors=('x', 'y'), kinds={'x': TENSOR, 'y': TENSOR, 'dims': COUNT_OR_PAIR}, summary='sum of products over the last dims dimensions of x and the first dims dimensions of y, or over two lists of dimensions', formula='tensordot of g with the other operand', samples=(([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]), ([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]], 1), ([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]], [[0], [1]]),))
declare.python('inner', ('x', 'y'), parameters=('x', 'y'), defaults=(), tensors=('x', 'y'), kinds={'x': TENSOR, 'y': TENSOR}, summary='sum of products over the last dimension of x and y', formula='g @ y, g.T @ x', samples=(([1.0, 2.0], [3.0, -4.0]), ([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]), ([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]),))
def _vdot_composed(x: Any, y: Any) -> Any:
    if (len(x.shape) != 1) or (len(y.shape) != 1): raise ShapeError(f"1D tensors expected, but got {len(x.shape)}D and {len(y.shape)}D tensors")
    return vdot_kernel(x, y) if is_plain(x, y) else matmul(x, y)
vdot = declare.composed('vdot', _vdot_composed, dict(x=TENSOR, y=TENSOR), tensors=('x', 'y'), summary='dot product of two vectors', formula='y, x', samples=(([1.0, 2.0], [3.0, -4.0]),))
declare.python('kron', ('x', 'y'), parameters=('x', 'y'), defaults=(), tensors=('x', 'y'), kinds={'x': TENSOR, 'y': TENSOR}, summary='the Kronecker product: every element of x multiplied by the whole of y', formula='sums of g times the other operand', samples=(([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]), ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]),))
addmm = declare('addmm', matrices_arrays.addmm, {'x': lambda g, beta: g * beta, 'mat1': lambda g, mat2, alpha: mm(g, t(mat2)) * alpha, 'mat2': lambda g, mat1, alpha: mm(t(mat1), g) * alpha}, statics={'beta': 1, 'alpha': 1}, kinds={'beta': NUMBER, 'alpha': NUMBER}, summary='beta*x + alpha*(mat1 @ mat2)', formula='beta, alpha*(g @ mat2.T), alpha*(mat1.T @ g)', samples=(([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]), ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]], 2, 0.5),))
baddbmm = declare.composed('baddbmm', lambda x, batch1, batch2, beta=1, alpha=1: baddbmm_kernel(x, batch1, batch2, beta, alpha) if is_plain(x, batch1, batch2) else ((x * beta) + (matmul(batch1, batch2) * alpha)), dict(x=TENSOR, batch1=TENSOR, batch2=TENSOR, beta=NUMBER, alpha=NUMBER), tensors=('x', 'batch1', 'batch2'), summary='beta*x + alpha*(batch1 @ batch2) for batches of matrices', samples=(([[[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]], [[[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]], [[[0.5, -1.0], [2.0, 0.3]], [[1.0, 2.0], [3.0, 4.0]]], 2, 3),))
linear = declare.composed('linear', lambda x, weight, bias=None: addmm(bias, x, t(weight)) if (bias is not None) and (len(x.shape) == 2) else with_term(matmul(x, t(weight) if len(weight.shape) < 3 else transpose(weight, -2, -1)), bias), dict(x=TENSOR, weight=TENSOR, bias=optional(TENSOR)), tensors=('x', 'weight', 'bias'), summary='x @ weight.T + bias', samples=(([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]], [1.0, 2.0]), ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]), ([[[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]], [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]),), methods=())
declare.python('chain_matmul', None, parameters=('matrices',), defaults=(), tensors=('matrices',), kinds={}, variadic=True, summary='product of several matrices, computed in the order with the fewest multiplications', formula='products of g with the other matrices', aliases=('multi_dot',), samples=(([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], [[1.5], [0.2], [-0.7]]), ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], [3.0, -4.0]),))
declare.python('cross', ('x', 'y', 'dim'), parameters=('x', 'y', 'dim'), defaults=(None, ), tensors=('x', 'y'), kinds={'x': TENSOR, 'y': TENSOR, 'dim': optional(DIMENSION)}, summary='vector product along dim, by default the first dimension of length 3', formula='cross(y, g), cross(g, x)', samples=(([1.0, 2.0, 3.0], [0.5, -1.0, 2.0]), ([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], [[0.3, 1.0, -2.0]], 1),))
contracted = declare('einsum', matrices_arrays.einsum, {'x': lambda g, y, of_x, of_y, of_out: contracted(g, y, of_out, of_y, of_x), 'y': lambda g, x, of_x, of_y, of_out: contracted(g, x, of_out, of_x, of_y)}, statics={'of_x': (), 'of_y': (), 'of_out': ()}, series='bilinear', public=False)
vdot_kernel = declare('vdot', np.dot, {'x': lambda g, y: g * y, 'y': lambda g, x: g * x}, node='VdotBackward0', public=False)
baddbmm_kernel = declare('baddbmm', lambda x, batch1, batch2, beta, alpha: (x * beta) + ((batch1 @ batch2) * alpha), {'x': lambda g, beta: g * beta, 'batch1': lambda g, batch2, alpha: matmul(g, transpose(batch2, -2, -1)) * alpha, 'batch2': lambda g, batch1, alpha: matmul(transpose(batch1, -2, -1), g) * alpha}, statics={'beta': 1, 'alpha': 1}, public=False)
cross_kernel = declare('cross', matrices_arrays.cross, {'x': lambda g, y, dim: cross_kernel(y, g, dim), 'y': lambda g, x, dim: cross_kernel(g, x, dim)}, statics={'dim': -1}, series='bilinear', node='LinalgCrossBackward0', public=False)
