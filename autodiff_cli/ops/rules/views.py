"""Views: selections along a dimension, diagonals, moved dimensions, and tensors split into parts."""  # made from grammar/rules/views.rules by grammar/compile_rules.py

from typing import Any
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, WHOLE, WHOLES, either
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import dimension, select_key, slice_key, stack
from autodiff_cli.numerics import arrange as arrange_arrays
from autodiff_cli.numerics.arrange import key_along, listed, part_key, parts_or_zeros, slices_or_zeros
from autodiff_cli.ops.rules.shape import cat
from autodiff_cli.ops.shape import reshape
declare = Declarations(__name__)
declare.python('select', ('dim', 'index'), parameters=('x', 'dim', 'index'), defaults=(), tensors=('x',), kinds={'dim': DIMENSION, 'index': WHOLE}, summary='the slice at one position along dim, without that dimension', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, 2),))
declare.python('narrow', ('dim', 'start', 'length'), parameters=('x', 'dim', 'start', 'length'), defaults=(), tensors=('x',), kinds={'dim': DIMENSION, 'start': WHOLE, 'length': WHOLE}, summary='the part of x along dim that begins at start and has the given length', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, 1, 2),))
diagonal = declare('diagonal', arrange_arrays.diagonal, {'x': lambda g, x_shape, offset, dim1, dim2: undiagonal(g, x_shape, offset, dim1, dim2)}, statics={'offset': 0, 'dim1': 0, 'dim2': 1}, kinds={'offset': WHOLE, 'dim1': DIMENSION, 'dim2': DIMENSION}, series='linear', view=True, summary='the diagonal of a matrix at the given offset', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, 0, 1),))
declare.python('movedim', ('source', 'destination'), parameters=('x', 'source', 'destination'), defaults=(), tensors=('x',), kinds={'source': DIMENSIONS, 'destination': DIMENSIONS}, summary='x with the source dimensions moved to the destinations; the other dimensions keep their order', aliases=('moveaxis',), samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 0, 1),))
def _unflatten_composed(x: Any, dim: Any, sizes: Any) -> Any:
    at = dimension(dim, len(x.shape))
    return reshape(x, x.shape[:at] + listed(sizes) + x.shape[(at + 1):])
unflatten = declare.composed('unflatten', _unflatten_composed, dict(dim=DIMENSION, sizes=WHOLES), tensors=('x',), summary='x with one dimension split into several dimensions of the given sizes', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [3, 1]),))
ravel = declare.composed('ravel', lambda x: reshape(x, (-1,)), dict(), tensors=('x',), summary='the elements of x as a vector', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
declare.python('contiguous', (), parameters=('x',), defaults=(), tensors=('x',), kinds={}, summary='x itself, or a copy if its elements are not contiguous in memory', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],),))
unbind = declare.several('unbind', arrange_arrays.unbind, lambda g, x_shape, dim: stack(slices_or_zeros(g, x_shape, dim), dimension(dim, len(x_shape))), statics={'dim': 0}, kinds={'dim': DIMENSION}, view=lambda x, i, dim: select_key(x, key_along(x.shape, dim, i)), summary='the slices of x along dim, as a tuple', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1),))
declare.python('split', ('split_size', 'dim'), parameters=('x', 'split_size', 'dim'), defaults=(0, ), tensors=('x',), kinds={'split_size': WHOLES, 'dim': DIMENSION}, summary='parts of x along dim, either of equal length (the last may be shorter) or of the lengths in a list', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, 1),))
declare.python('chunk', ('chunks', 'dim'), parameters=('x', 'chunks', 'dim'), defaults=(0, ), tensors=('x',), kinds={'chunks': WHOLE, 'dim': DIMENSION}, summary='x divided along dim into at most chunks parts of equal length (the last may be shorter)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2, 1),))
alias = declare('alias', lambda x: x, {'x': lambda g: g}, series='linear', view=True, public=False)
undiagonal = declare('diagonal_backward', arrange_arrays.undiagonal, {'x': lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2)}, statics={'shape': (), 'offset': 0, 'dim1': 0, 'dim2': 1}, series='linear', public=False)
split_equally = declare.several('split', arrange_arrays.parts, lambda g, x_shape, lengths, dim: cat(parts_or_zeros(g, x_shape, lengths, dim), dimension(dim, len(x_shape))), statics={'lengths': (), 'dim': 0}, node='SplitBackward0', view=lambda x, i, lengths, dim: slice_key(x, part_key(x.shape, lengths, dim, i)), public=False)
split_by_lengths = declare.several('split', arrange_arrays.parts, lambda g, x_shape, lengths, dim: cat(parts_or_zeros(g, x_shape, lengths, dim), dimension(dim, len(x_shape))), statics={'lengths': (), 'dim': 0}, node='SplitWithSizesBackward0', view=lambda x, i, lengths, dim: slice_key(x, part_key(x.shape, lengths, dim, i)), public=False)
