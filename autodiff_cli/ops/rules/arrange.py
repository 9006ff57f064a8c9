"""Elements that are rearranged, repeated, padded, joined and taken apart, and grids."""  # made from grammar/rules/arrange.rules by grammar/compile_rules.py

from typing import Any
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, NUMBER, PARTS, POSITIONS, TENSOR, TEXT, WHOLE, WHOLES, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import dimension, reshaped
from autodiff_cli.errors import ArgumentError, GraphError, ShapeError
from autodiff_cli.numerics import arrange as arrays
from autodiff_cli.numerics.arithmetic import is_plain
from autodiff_cli.numerics.arrange import even_places, listed, negatives, repeat_pairs
from autodiff_cli.ops.rules.reduce import sum
from autodiff_cli.ops.rules.shape import transpose
from autodiff_cli.ops.rules.views import diagonal
from autodiff_cli.ops.shape import expand, reshape
from autodiff_cli.ops.views import split
declare = Declarations(__name__)
declare.python('flip', ('dims',), parameters=('x', 'dims'), defaults=(), tensors=('x',), kinds={'dims': WHOLES}, spread=True, summary='the elements in reverse order along the given dimensions', formula='flip(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [0]), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [0, 1]),))
def _fliplr_composed(x: Any) -> Any:
    if len(x.shape) <= 1: raise ShapeError('Input must be >= 2-d.')
    return flipped(x, (1,))
fliplr = declare.composed('fliplr', _fliplr_composed, dict(), tensors=('x',), summary='the columns in reverse order', formula='fliplr(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
def _flipud_composed(x: Any) -> Any:
    if len(x.shape) == 0: raise ShapeError('Input must be >= 1-d.')
    return flipped(x, (0,))
flipud = declare.composed('flipud', _flipud_composed, dict(), tensors=('x',), summary='the rows in reverse order', formula='flipud(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
def _roll_composed(x: Any, shifts: Any, dims: Any = None) -> Any:
    if len(listed(shifts)) != (1 if dims is None else len(listed(dims))): raise ShapeError(f"shifts and dimensions must align. shifts: {len(listed(shifts))}, dims:{0 if dims is None else len(listed(dims))}")
    return rolled(x, listed(shifts), ()) if dims is None and is_plain(x) else (reshape(rolled(reshape(x, (-1,)), listed(shifts), (0,)), x.shape) if dims is None else rolled(x, listed(shifts), listed(dims)))
roll = declare.composed('roll', _roll_composed, dict(shifts=WHOLES, dims=optional(DIMENSIONS)), tensors=('x',), summary='the elements shifted along dims, with the last elements moved to the front; without dims, x is flattened first', formula='roll(g, -shifts)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, -1], [0, 1]),))
tril = declare('tril', arrays.tril, {'x': lambda g, diagonal: tril(g, diagonal)}, statics={'diagonal': 0}, kinds={'diagonal': WHOLE}, summary='the lower triangle of a matrix, with 0 above the given diagonal', formula='tril(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], 1),))
triu = declare('triu', arrays.triu, {'x': lambda g, diagonal: triu(g, diagonal)}, statics={'diagonal': 0}, kinds={'diagonal': WHOLE}, summary='the upper triangle of a matrix, with 0 below the given diagonal', formula='triu(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], 1),))
diag_embed = declare('diag_embed', arrays.diag_embed, {'x': lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)}, statics={'offset': 0, 'dim1': -2, 'dim2': -1}, kinds={'offset': WHOLE, 'dim1': DIMENSION, 'dim2': DIMENSION}, summary='matrices with the last dimension of x on the diagonal at the given offset', formula='diagonal(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([1.0, 2.0, 3.0], 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], -1, 0, 2),))
declare.python('diag', ('diagonal',), parameters=('x', 'diagonal'), defaults=(0, ), tensors=('x',), kinds={'diagonal': WHOLE}, summary='the diagonal of a matrix, or the matrix with a vector on its diagonal', formula='diag(g)', samples=(([1.0, 2.0, 3.0],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([1.0, 2.0, 3.0], -1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1),))
declare.python('repeat', None, parameters=('x', 'sizes'), defaults=(), tensors=('x',), kinds={'sizes': WHOLES}, spread=True, summary='x repeated along each dimension; additional sizes add leading dimensions', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [2, 1]), ([1.0, 2.0, 3.0], [3, 2]),))
declare.python('tile', ('dims',), parameters=('x', 'dims'), defaults=(), tensors=('x',), kinds={'dims': WHOLES}, spread=True, summary='x repeated along its last dimensions; missing repetition counts are 1', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [2]),))
declare.python('repeat_interleave', ('repeats', 'dim'), parameters=('x', 'repeats', 'dim'), defaults=(None, ), tensors=('x',), kinds={'repeats': POSITIONS, 'dim': optional(DIMENSION)}, summary='the elements of x, or its slices along dim, each repeated consecutively', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, 2], 0),))
def _pad_composed(x: Any, pad: Any, mode: Any = 'constant', value: Any = None) -> Any:
    if mode != 'constant': raise ArgumentError(f"pad supports mode='constant' only, not '{mode}'")
    return padded(x, listed(pad), 0.0 if value is None else value)
pad = declare.composed('pad', _pad_composed, dict(pad=WHOLES, mode=TEXT, value=optional(NUMBER)), tensors=('x',), summary='x with a border of value; pad lists the widths (negative to crop) before and after each dimension, last dimension first', formula='g without the border', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, 2]), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1, -1, 0, 1], 'constant', 5.0),), methods=())
broadcast_to = declare.composed('broadcast_to', lambda x, size: expand(x, size), dict(size=WHOLES), tensors=('x',), summary='x broadcast to a shape', samples=(([1.0, 2.0], [3, 2]),))
expand_as = declare.composed('expand_as', lambda x, other: expand(x, other.shape), dict(x=TENSOR, other=TENSOR), tensors=('x', 'other'), summary='x broadcast to the shape of other', samples=(([1.0, 2.0], [[0.5, -1.0]]),))
declare.python('vstack', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='tensors joined along the first dimension; vectors become rows', samples=(([1.0, 2.0], [3.0, 4.0]),))
declare.python('hstack', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='tensors joined along the second dimension; vectors are joined end to end', samples=(([1.0, 2.0], [3.0, 4.0]),))
declare.python('dstack', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='tensors joined along the third dimension', samples=(([1.0, 2.0], [3.0, 4.0]),))
declare.python('broadcast_tensors', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='the tensors broadcast to their common shape', samples=(([1.0, 2.0], [[3.0], [4.0]]),))
declare.python('meshgrid', ('indexing',), parameters=('tensors', 'indexing'), defaults=('ij', ), tensors=('tensors',), kinds={'indexing': TEXT}, variadic=True, summary="the coordinates of a grid: the i-th tensor varies along dimension i ('xy' exchanges the first two dimensions)", samples=(([1.0, 2.0], [3.0, 4.0, 5.0]),))
declare.python('diff', ('n', 'dim'), parameters=('x', 'n', 'dim'), defaults=(1, -1, ), tensors=('x',), kinds={'n': WHOLE, 'dim': DIMENSION}, summary='differences of neighbouring elements along dim, taken n times', formula='g of the previous difference - g of the next difference', samples=(([1.0, 2.0, 3.0],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, 0),))
declare.python('tensor_split', ('indices_or_sections', 'dim'), parameters=('x', 'indices_or_sections', 'dim'), defaults=(0, ), tensors=('x',), kinds={'indices_or_sections': PARTS, 'dim': DIMENSION}, summary='parts of x along dim: a number of parts that differ in length by at most 1, or the parts between positions', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, 1), ([1.0, -2.0, 3.0], [1]),))
declare.python('hsplit', ('indices_or_sections',), parameters=('x', 'indices_or_sections'), defaults=(), tensors=('x',), kinds={'indices_or_sections': PARTS}, summary='parts of equal length, or the parts between positions, along the second dimension (of a vector, along the first)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 3),))
declare.python('vsplit', ('indices_or_sections',), parameters=('x', 'indices_or_sections'), defaults=(), tensors=('x',), kinds={'indices_or_sections': PARTS}, summary='parts of equal length, or the parts between positions, along the first dimension', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2),))
declare.python('dsplit', ('indices_or_sections',), parameters=('x', 'indices_or_sections'), defaults=(), tensors=('x',), kinds={'indices_or_sections': PARTS}, summary='parts of equal length, or the parts between positions, along the third dimension', samples=(([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]], 2),))
split_with_sizes = declare.composed('split_with_sizes', lambda x, split_sizes, dim=0: split(x, listed(split_sizes), dim), dict(split_sizes=WHOLES, dim=DIMENSION), tensors=('x',), summary='parts of x along dim with the lengths in a list', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [2, 1], 1),))
unfold = declare('unfold', arrays.unfolded, {'x': lambda g, x_shape, dim, size, step: unfold_backward(g, x_shape, dim, size, step)}, statics={'dim': 0, 'size': 1, 'step': 1}, kinds={'dim': DIMENSION, 'size': WHOLE, 'step': WHOLE}, series='linear', view=True, summary='windows of the given size along dim, at distances of step, along a new last dimension', samples=(([1.0, -2.0, 3.0], 0, 2, 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, 2, 1),))
def _rot90_composed(x: Any, k: Any = 1, dims: Any = (0, 1)) -> Any:
    """x rotated k times by 90 degrees in the plane of two dimensions, from the first towards the second."""
    if len(listed(dims)) != 2: raise GraphError(f"expected total rotation dims == 2, but got dims = {len(listed(dims))}")
    if dimension(dims[0], len(x.shape)) == dimension(dims[1], len(x.shape)): raise GraphError(f"expected rotation dims to be different, but got dim0 = {dimension(dims[0], len(x.shape))} and dim1 = {dimension(dims[1], len(x.shape))}")
    first = dimension(dims[0], len(x.shape))
    second = dimension(dims[1], len(x.shape))
    turns = k % 4
    return transpose(flipped(x, (second,)), first, second) if turns == 1 else (flipped(x, (first, second)) if turns == 2 else (flipped(transpose(x, first, second), (second,)) if turns == 3 else flipped(x, ())))
rot90 = declare.composed('rot90', _rot90_composed, dict(k=WHOLE, dims=WHOLES), tensors=('x',), summary='x rotated k times by 90 degrees in the plane of two dimensions, from the first towards the second', formula='rot90(g, -k)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 3), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, [1, 0]),))
def _adjoint_composed(x: Any) -> Any:
    if len(x.shape) == 1: raise GraphError('tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.')
    return transpose(x, -2, -1) if x.shape else x
adjoint = declare.composed('adjoint', _adjoint_composed, dict(), tensors=('x',), summary='the transposes of the matrices in the last two dimensions', formula='transpose(g)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
declare.python('atleast_1d', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x with at least one dimension', formula='reshape(g, shape of x)', samples=(([1.0, -2.0, 3.0],),))
declare.python('atleast_2d', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x with at least two dimensions: a vector is a row', formula='reshape(g, shape of x)', samples=(([1.0, -2.0, 3.0],),))
declare.python('atleast_3d', None, parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x with at least three dimensions', formula='reshape(g, shape of x)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
declare.python('column_stack', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='vectors as the columns of a matrix, beside matrices', samples=(([1.0, -2.0, 3.0], [4.0, 5.0, 6.0]),))
declare.python('block_diag', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='matrices along the diagonal of a larger matrix, with zeros elsewhere', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[7.0]]),))
declare.python('cartesian_prod', None, parameters=('tensors',), defaults=(), tensors=('tensors',), kinds={}, variadic=True, summary='all combinations of one element from each vector, one combination in each row', samples=(([1.0, -2.0, 3.0], [4.0, 5.0]),))
declare.python('combinations', ('r', 'with_replacement'), parameters=('x', 'r', 'with_replacement'), defaults=(2, False, ), tensors=('x',), kinds={'r': WHOLE, 'with_replacement': FLAG}, summary='all combinations of r elements of a vector, one combination in each row', samples=(([1.0, -2.0, 3.0],), ([1.0, -2.0, 3.0], 2, True),))
diagflat = declare.composed('diagflat', lambda x, offset=0: diag_embed(reshape(x, (-1,)), offset), dict(offset=WHOLE), tensors=('x',), summary='A matrix with the elements of x on a diagonal and zeros elsewhere', formula='diagonal of g', samples=(([1.0, -2.0, 3.0],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1),))
declare.python('vander', ('N', 'increasing'), parameters=('x', 'N', 'increasing'), defaults=(None, False, ), tensors=('x',), kinds={'N': optional(WHOLE), 'increasing': FLAG}, summary='the matrix whose columns are powers of a vector; the number of columns is N, or the length of x', formula='k*x**(k - 1) in each column', samples=(([1.0, -2.0, 3.0],), ([1.0, -2.0, 3.0], 4, True),))
flipped = declare('flip', arrays.flip, {'x': lambda g, dims: flipped(g, dims)}, statics={'dims': ()}, series='linear', public=False)
rolled = declare('roll', arrays.roll, {'x': lambda g, shifts, dims: rolled(g, negatives(shifts), dims)}, statics={'shifts': (), 'dims': ()}, series='linear', public=False)
tiled = declare('repeat', arrays.repeat, {'x': lambda g, x_shape, sizes: reshaped(sum(reshaped(g, repeat_pairs(x_shape, sizes)), even_places(sizes)), x_shape) if len(sizes) > 0 else g}, statics={'sizes': ()}, series='linear', public=False)
padded = declare('pad', arrays.pad, {'x': lambda g, widths: padded(g, negatives(widths), 0.0)}, statics={'widths': (), 'value': 0.0}, node='ConstantPadNdBackward0', public=False)
unfold_backward = declare('unfold_backward', arrays.folded, {'x': lambda g, dim, size, step: unfold(g, dim, size, step)}, statics={'shape': (), 'dim': 0, 'size': 1, 'step': 1}, series='linear', public=False)
