"""Operations that rearrange elements: flip, roll, repeat, pad and join; triangles, diagonals and grids."""
# Made from grammar/rules/arrange.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, NUMBER, POSITIONS, TENSOR, TEXT, WHOLE, WHOLES, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import reshaped
from autodiff_cli.numerics import arrange as arrays
from autodiff_cli.numerics.arrange import even_places, negatives, repeat_pairs
from autodiff_cli.ops.rules.reduce import sum
from autodiff_cli.ops.rules.views import diagonal
from autodiff_cli.ops.shape import expand

__all__ = ['broadcast_to', 'diag_embed', 'expand_as', 'tril', 'triu']

_declare = Declarations(__name__)
described = _declare.described

_declare.python('flip', ('dims',), parameters=('x', 'dims'), defaults=(), tensors=('x',), kinds={'dims': WHOLES}, spread=True, summary='the elements in reverse order along the given dimensions', formula='flip(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [0]), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [0, 1]),))
_declare.python('fliplr', (), parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='the columns in reverse order', formula='fliplr(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
_declare.python('flipud', (), parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='the rows in reverse order', formula='flipud(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
_declare.python('roll', ('shifts', 'dims'), parameters=('x', 'shifts', 'dims'), defaults=(None, ), tensors=('x',), kinds={'shifts': WHOLES, 'dims': optional(DIMENSIONS)}, summary='the elements shifted along dims, with the last elements moved to the front; without dims, x is flattened first', formula='roll(g, -shifts)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, -1], [0, 1]),))
tril: TensorFunction = _declare('tril', arrays.tril, {'x': lambda g, diagonal: tril(g, diagonal)}, statics={'diagonal': 0}, kinds={'diagonal': WHOLE}, summary='the lower triangle of a matrix, with 0 above the given diagonal', formula='tril(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], 1),))
triu: TensorFunction = _declare('triu', arrays.triu, {'x': lambda g, diagonal: triu(g, diagonal)}, statics={'diagonal': 0}, kinds={'diagonal': WHOLE}, summary='the upper triangle of a matrix, with 0 below the given diagonal', formula='triu(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], 1),))
diag_embed: TensorFunction = _declare('diag_embed', arrays.diag_embed, {'x': lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)}, statics={'offset': 0, 'dim1': -2, 'dim2': -1}, kinds={'offset': WHOLE, 'dim1': DIMENSION, 'dim2': DIMENSION}, summary='matrices with the last dimension of x on the diagonal at the given offset', formula='diagonal(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([1.0, 2.0, 3.0], 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], -1, 0, 2),))
_declare.python('diag', ('diagonal',), parameters=('x', 'diagonal'), defaults=(0, ), tensors=('x',), kinds={'diagonal': WHOLE}, summary='the diagonal of a matrix, or the matrix with a vector on its diagonal', formula='diag(g)', samples=(([1.0, 2.0, 3.0],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([1.0, 2.0, 3.0], -1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1),))
_declare.python('repeat', None, parameters=('x', 'sizes'), defaults=(), tensors=('x',), kinds={'sizes': WHOLES}, spread=True, summary='x repeated along each dimension; additional sizes add leading dimensions', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [2, 1]), ([1.0, 2.0, 3.0], [3, 2]),))
_declare.python('tile', ('dims',), parameters=('x', 'dims'), defaults=(), tensors=('x',), kinds={'dims': WHOLES}, spread=True, summary='x repeated along its last dimensions; missing repetition counts are 1', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [2]),))
_declare.python('repeat_interleave', ('repeats', 'dim'), parameters=('x', 'repeats', 'dim'), defaults=(None, ), tensors=('x',), kinds={'repeats': POSITIONS, 'dim': optional(DIMENSION)}, summary='the elements of x, or its slices along dim, each repeated consecutively', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, 2], 0),))
_declare.python('pad', ('pad', 'mode', 'value'), parameters=('x', 'pad', 'mode', 'value'), defaults=('constant', None, ), tensors=('x',), kinds={'pad': WHOLES, 'mode': TEXT, 'value': optional(NUMBER)}, summary='x with a border of value; pad lists the widths (negative to crop) before and after each dimension, last dimension first', formula='g without the border', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, 2]), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, -1, 0, 1], 'constant', 5.0),), methods=())
broadcast_to: TensorFunction = _declare.composed('broadcast_to', lambda x, size: expand(x, size), dict(size=WHOLES), tensors=('x',), summary='x broadcast to a shape', samples=(([1.0, 2.0], [3, 2]),))
expand_as: TensorFunction = _declare.composed('expand_as', lambda x, other: expand(x, other.shape), dict(x=TENSOR, other=TENSOR), tensors=('x', 'other'), summary='x broadcast to the shape of other', samples=(([1.0, 2.0], [[0.5, -1.0]]),))
_declare.python('vstack', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='tensors joined along the first dimension; vectors become rows', samples=(([1.0, 2.0], [3.0, 4.0]),))
_declare.python('hstack', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='tensors joined along the second dimension; vectors are joined end to end', samples=(([1.0, 2.0], [3.0, 4.0]),))
_declare.python('dstack', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='tensors joined along the third dimension', samples=(([1.0, 2.0], [3.0, 4.0]),))
_declare.python('broadcast_tensors', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='the tensors broadcast to their common shape', samples=(([1.0, 2.0], [[3.0], [4.0]]),))
_declare.python('meshgrid', ('indexing',), parameters=('tensors', 'indexing'), defaults=('ij', ), tensors=('tensors',), kinds={'indexing': TEXT}, variadic=True, summary="the coordinates of a grid: the i-th tensor varies along dimension i ('xy' exchanges the first two dimensions)", samples=(([1.0, 2.0], [3.0, 4.0, 5.0]),))
_declare.python('diff', ('n', 'dim'), parameters=('x', 'n', 'dim'), defaults=(1, -1, ), tensors=('x',), kinds={'n': WHOLE, 'dim': DIMENSION}, summary='differences of neighbouring elements along dim, taken n times', formula='g of the previous difference - g of the next difference', samples=(([1.0, 2.0, 3.0],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, 0),))
flipped: TensorFunction = _declare('flip', arrays.flip, {'x': lambda g, dims: flipped(g, dims)}, statics={'dims': ()}, series='linear', public=False)
rolled: TensorFunction = _declare('roll', arrays.roll, {'x': lambda g, shifts, dims: rolled(g, negatives(shifts), dims)}, statics={'shifts': (), 'dims': ()}, series='linear', public=False)
tiled: TensorFunction = _declare('repeat', arrays.repeat, {'x': lambda g, x_shape, sizes: reshaped(sum(reshaped(g, repeat_pairs(x_shape, sizes)), even_places(sizes)), x_shape) if len(sizes) > 0 else g}, statics={'sizes': ()}, series='linear', public=False)
padded: TensorFunction = _declare('pad', arrays.pad, {'x': lambda g, widths: padded(g, negatives(widths), 0.0)}, statics={'widths': (), 'value': 0.0}, node='ConstantPadNdBackward0', public=False)
