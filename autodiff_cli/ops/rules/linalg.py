"""Products of vectors and matrices."""  # made from grammar/rules/linalg.rules by grammar/compile_rules.py

import numpy as np
from autodiff_cli.autograd.primitives.argument_kinds import TENSOR
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import reshaped
from autodiff_cli.numerics import matrices as matrices_arrays
from autodiff_cli.numerics.matrices import outer_shape
from autodiff_cli.ops.rules.shape import t, transpose, unsqueeze
declare = Declarations(__name__)
dot = declare('dot', matrices_arrays.dot, {'x': lambda g, y: g * y, 'y': lambda g, x: g * x}, series='bilinear', summary='dot product of two vectors', formula='y, x', samples=(([1.0, 2.0], [3.0, -4.0]),))
mm = declare('mm', matrices_arrays.mm, {'x': lambda g, y: mm(g, t(y)), 'y': lambda g, x: mm(t(x), g)}, series='bilinear', summary='product of two matrices', formula='g @ y.T, x.T @ g', samples=(([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]),))
mv = declare('mv', matrices_arrays.mv, {'x': lambda g, y: outer(g, y), 'y': lambda g, x: mv(t(x), g)}, series='bilinear', summary='product of a matrix and a vector', formula='outer(g, y), x.T @ g', samples=(([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]),))
bmm = declare('bmm', matrices_arrays.bmm, {'x': lambda g, y: bmm(g, transpose(y, -2, -1)), 'y': lambda g, x: bmm(transpose(x, -2, -1), g)}, series='bilinear', summary='products of the matrices in two batches, which broadcast', formula='g @ y.mT, x.mT @ g', samples=(([[[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]], [[[0.5, -1.0], [2.0, 0.3]], [[1.0, 2.0], [3.0, 4.0]]]),))
declare.python('matmul', None, parameters=('x', 'y'), defaults=(), tensors=('x', 'y'), kinds={}, summary='product of vectors, matrices, or batches of matrices', formula='g @ y.mT, x.mT @ g', samples=(([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]), ([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]), ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]), ([1.0, 2.0], [3.0, -4.0]), ([[[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]], [1.0, 2.0]),), operator='matmul')
outer = declare.composed('outer', lambda x, y: reshaped(x, outer_shape(x.shape, y.shape)) * y, dict(x=TENSOR, y=TENSOR), tensors=('x', 'y'), summary='outer product: every element of x multiplied by every element of y', formula='g @ y, g.T @ x', samples=(([1.0, 2.0], [3.0, -4.0]),))
trace = declare('trace', matrices_arrays.trace, {'x': lambda g, x_shape: g * np.eye(x_shape[0], x_shape[1])}, series='linear', summary='sum of the diagonal of a matrix', formula='eye(n)', samples=(([[1.0, 2.0], [3.0, 4.0]],),))
squeeze_matrix = declare('squeeze_', lambda x, dim: np.squeeze(x, dim), {'x': lambda g, dim: unsqueeze(g, dim)}, statics={'dim': 0}, series='linear', node='SqueezeBackward4', public=False)
