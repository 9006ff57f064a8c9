"""Tensors taken apart and put together: parts at positions, windows, columns, blocks and products of sets."""
# Made from grammar/rules/pieces.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, FLAG, PARTS, WHOLE, WHOLES, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import pieces as arrays
from autodiff_cli.ops.rules.arrange import diag_embed
from autodiff_cli.ops.shape import reshape

__all__ = ['diagflat', 'unfold']

_declare = Declarations(__name__)
described = _declare.described

_declare.python('tensor_split', ('indices_or_sections', 'dim'), parameters=('x', 'indices_or_sections', 'dim'), defaults=(0, ), tensors=('x',), kinds={'indices_or_sections': PARTS, 'dim': DIMENSION}, summary='parts of x along dim: a number of parts that differ in length by at most 1, or the parts between positions', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, 1), ([1.0, -2.0, 3.0], [1]),))
_declare.python('hsplit', ('indices_or_sections',), parameters=('x', 'indices_or_sections'), defaults=(), tensors=('x',), kinds={'indices_or_sections': PARTS}, summary='parts of equal length, or the parts between positions, along the second dimension (of a vector, along the first)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 3),))
_declare.python('vsplit', ('indices_or_sections',), parameters=('x', 'indices_or_sections'), defaults=(), tensors=('x',), kinds={'indices_or_sections': PARTS}, summary='parts of equal length, or the parts between positions, along the first dimension', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2),))
_declare.python('dsplit', ('indices_or_sections',), parameters=('x', 'indices_or_sections'), defaults=(), tensors=('x',), kinds={'indices_or_sections': PARTS}, summary='parts of equal length, or the parts between positions, along the third dimension', samples=(([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]], 2),))
_declare.python('split_with_sizes', ('split_sizes', 'dim'), parameters=('x', 'split_sizes', 'dim'), defaults=(0, ), tensors=('x',), kinds={'split_sizes': WHOLES, 'dim': DIMENSION}, summary='parts of x along dim with the lengths in a list', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [2, 1], 1),))
unfold: TensorFunction = _declare('unfold', arrays.unfolded, {'x': lambda g, x_shape, dim, size, step: unfold_backward(g, x_shape, dim, size, step)}, statics={'dim': 0, 'size': 1, 'step': 1}, kinds={'dim': DIMENSION, 'size': WHOLE, 'step': WHOLE}, series='linear', view=True, summary='windows of the given size along dim, at distances of step, along a new last dimension', samples=(([1.0, -2.0, 3.0], 0, 2, 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, 2, 1),))
_declare.python('rot90', ('k', 'dims'), parameters=('x', 'k', 'dims'), defaults=(1, (0, 1), ), tensors=('x',), kinds={'k': WHOLE, 'dims': WHOLES}, summary='x rotated k times by 90 degrees in the plane of two dimensions, from the first towards the second', formula='rot90(g, -k)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 3), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, [1, 0]),))
_declare.python('adjoint', (), parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='the transposes of the matrices in the last two dimensions', formula='transpose(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
_declare.python('atleast_1d', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x with at least one dimension', formula='reshape(g, shape of x)', samples=(([1.0, -2.0, 3.0],),))
_declare.python('atleast_2d', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x with at least two dimensions: a vector is a row', formula='reshape(g, shape of x)', samples=(([1.0, -2.0, 3.0],),))
_declare.python('atleast_3d', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x with at least three dimensions', formula='reshape(g, shape of x)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
_declare.python('column_stack', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='vectors as the columns of a matrix, beside matrices', samples=(([1.0, -2.0, 3.0], [4.0, 5.0, 6.0]),))
_declare.python('block_diag', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='matrices along the diagonal of a larger matrix, with zeros elsewhere', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[7.0]]),))
_declare.python('cartesian_prod', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='all combinations of one element from each vector, one combination in each row', samples=(([1.0, -2.0, 3.0], [4.0, 5.0]),))
_declare.python('combinations', ('r', 'with_replacement'), parameters=('x', 'r', 'with_replacement'), defaults=(2, False, ), tensors=('x',), kinds={'r': WHOLE, 'with_replacement': FLAG}, summary='all combinations of r elements of a vector, one combination in each row', samples=(([1.0, -2.0, 3.0],), ([1.0, -2.0, 3.0], 2, True),))
diagflat: TensorFunction = _declare.composed('diagflat', lambda x, offset=0: diag_embed(reshape(x, (-1,)), offset), dict(offset=WHOLE), tensors=('x',), summary='A matrix with the elements of x on a diagonal and zeros elsewhere', formula='diagonal of g', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1),))
_declare.python('vander', ('N', 'increasing'), parameters=('x', 'N', 'increasing'), defaults=(None, False, ), tensors=('x',), kinds={'N': optional(WHOLE), 'increasing': FLAG}, summary='the matrix whose columns are powers of a vector; the number of columns is N, or the length of x', formula='k*x**(k - 1) in each column', samples=(([1.0, -2.0, 3.0],), ([1.0, -2.0, 3.0], 4, True),))
unfold_backward: TensorFunction = _declare('unfold_backward', arrays.folded, {'x': lambda g, dim, size, step: unfold(g, dim, size, step)}, statics={'shape': (), 'dim': 0, 'size': 1, 'step': 1}, series='linear', public=False)
