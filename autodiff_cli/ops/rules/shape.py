"""Operations on shapes: reshape, transpose, add and remove dimensions, and join tensors."""  # made from grammar/rules/shape.rules by grammar/compile_rules.py

from typing import Any
import numpy as np
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, WHOLES, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import dimension, reshaped, slice_key
from autodiff_cli.errors import ArgumentError
from autodiff_cli.numerics import arrange as arrange_arrays
from autodiff_cli.numerics.arrange import inverse_order, joined_key
declare = Declarations(__name__)
declare.python('expand', None, parameters=('x', 'shape'), defaults=(), tensors=('x',), kinds={'shape': WHOLES}, spread=True, summary='x broadcast to a shape; -1 keeps the length of a dimension', samples=(([1.0, 2.0], [3, 2]),))
declare.python('view', None, parameters=('x', 'shape'), defaults=(), tensors=('x',), kinds={'shape': WHOLES}, spread=True, summary='the elements of x in another shape, sharing the memory of x; a length of -1 is inferred from the other lengths', formula='reshape(g, shape of x)', samples=(([[1.0, 2.0]], [2]),))
declare.python('reshape', None, parameters=('x', 'shape'), defaults=(), tensors=('x',), kinds={'shape': WHOLES}, spread=True, summary='the elements of x in another shape; a length of -1 is inferred from the other lengths', formula='reshape(g, shape of x)', samples=(([[1.0, 2.0], [3.0, 4.0]], [4]),))
def _flatten_composed(x: Any, start_dim: Any = 0, end_dim: Any = -1) -> Any:
    if dimension(start_dim, len(x.shape)) > dimension(end_dim, len(x.shape)) and len(x.shape) != 1: raise ArgumentError('flatten() has invalid args: start_dim cannot come after end_dim')
    return x if len(x.shape) == 1 else reshaped(x, x.shape[:dimension(start_dim, len(x.shape))] + (-1,) + x.shape[(dimension(end_dim, len(x.shape)) + 1):])
flatten = declare.composed('flatten', _flatten_composed, dict(start_dim=DIMENSION, end_dim=DIMENSION), tensors=('x',), summary='the dimensions from start_dim to end_dim merged into one', samples=(([[1.0, 2.0], [3.0, 4.0]],),))
declare.python('permute', None, parameters=('x', 'dims'), defaults=(), tensors=('x',), kinds={'dims': WHOLES}, spread=True, summary='the dimensions of x in another order', samples=(([[1.0, 2.0], [3.0, 4.0]], [1, 0]),))
transpose = swapaxes = swapdims = declare('transpose', arrange_arrays.transpose, {'x': lambda g, dim0, dim1: transpose(g, dim0, dim1)}, statics={'dim0': -2, 'dim1': -1}, kinds={'dim0': DIMENSION, 'dim1': DIMENSION}, series='linear', view=True, summary='x with two dimensions exchanged', formula='transpose(g)', aliases=('swapaxes', 'swapdims'), samples=(([[1.0, 2.0], [3.0, 4.0]], 0, 1),))
t = declare('t', arrange_arrays.t, {'x': lambda g: t(g)}, series='linear', node='TBackward0', view=True, summary='transpose of a matrix', samples=(([[1.0, 2.0], [3.0, 4.0]],),))
unsqueeze = declare('unsqueeze', arrange_arrays.unsqueeze, {'x': lambda g, x_shape: reshaped(g, x_shape)}, statics={'dim': 0}, kinds={'dim': DIMENSION}, series='linear', view=True, summary='x with a new dimension of length 1 at position dim', samples=(([1.0, 2.0], 0),))
squeeze = declare.composed('squeeze', lambda x, dim=None: squeeze_all(x) if dim is None else squeeze_one(x, dim), dict(dim=optional(DIMENSION)), tensors=('x',), summary='x without its dimensions of length 1, or only without dimension dim if its length is 1', samples=(([[1.0, 2.0]], 0), ([[1.0], [2.0]],),))
clone = declare('clone', lambda x: x.copy(), {'x': lambda g: g}, series='linear', summary='copy of x', formula='g', samples=(([1.0, 2.0],),))
declare.python('stack', None, parameters=('tensors', 'dim'), defaults=(0, ), tensors=('tensors',), kinds={'dim': DIMENSION}, variadic=True, summary='tensors of equal shape joined along a new dimension', samples=((1.0, 2.0),))
def _cat_by_tensors(g: Any, i: Any, shapes: Any, dim: Any) -> Any:
    part = slice_key(g, joined_key(shapes, i, dim))
    return reshaped(part, shapes[i]) if shapes[i] == (0,) else part
cat = concat = concatenate = declare.sequence('cat', arrange_arrays.cat, _cat_by_tensors, statics={'dim': 0}, kinds={'dim': DIMENSION}, series='linear', node='CatBackward0', summary='tensors joined along an existing dimension', aliases=('concat', 'concatenate'), samples=(([1.0, 2.0], [3.0]),))
permuted = declare('permute', arrange_arrays.permute, {'x': lambda g, dims: permuted(g, inverse_order(dims))}, statics={'dims': ()}, series='linear', view=True, public=False)
squeeze_all = declare('squeeze', lambda x: np.squeeze(x), {'x': lambda g, x_shape: reshaped(g, x_shape)}, series='linear', view=True, public=False)
squeeze_one = declare('squeeze', arrange_arrays.squeeze, {'x': lambda g, x_shape: reshaped(g, x_shape)}, statics={'dim': 0}, series='linear', node='SqueezeBackward1', view=True, public=False)
