"""Operations that take elements at positions or by a mask, and put elements at positions or by a mask."""  # made from grammar/rules/positions.rules by grammar/compile_rules.py

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, FLAG, MASK, NUMBER, POSITIONS, TENSOR, VALUE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import unindexed, where
from autodiff_cli.errors import ShapeError
from autodiff_cli.numerics import positions as arrays
from autodiff_cli.numerics.arithmetic import is_any_tensor
from autodiff_cli.numerics.positions import place_along, size_of, slices_at, slices_of
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.shape import broadcast_shape, expand, reshape

declare = Declarations(__name__)

gather = declare.composed('gather', lambda x, dim, index: reshape(gather(x, dim, index.reshape(1)), ()) if (index.ndim == 0) and (len(x.shape) == 1) else picked(x, place_along(x.shape, dim, index), index), dict(dim=DIMENSION, index=POSITIONS), tensors=('x', 'index'), summary='elements at positions along dim, one for each element of index', formula='sums of g at the positions, 0 elsewhere', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [[2, 2], [0, 1]]), ([1.0, -2.0, 3.0], 0, [1, 1]),))
declare.python('take_along_dim', ('indices', 'dim'), parameters=('x', 'indices', 'dim'), defaults=(None, ), tensors=('x', 'indices'), kinds={'indices': POSITIONS, 'dim': optional(DIMENSION)}, summary='elements at positions along dim, where x and indices broadcast; without dim, elements at positions in the flattened x', formula='sums of g at the positions, 0 elsewhere', aliases=('take_along_axis',), samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[2, 0]], 1), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [4, 4]),))
take = declare.composed('take', lambda x, index: taken(x, index), dict(index=POSITIONS), tensors=('x', 'index'), summary='elements at positions in the flattened x', formula='sums of g at the positions, 0 elsewhere', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[4, 4], [0, -1]]),))
declare.python('index_select', ('dim', 'index'), parameters=('x', 'dim', 'index'), defaults=(), tensors=('x', 'index'), kinds={'dim': DIMENSION, 'index': POSITIONS}, summary='slices at positions along dim', formula='sums of g at the positions, 0 elsewhere', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [2, 2, 0]),))
def _masked_select_composed(x: Any, mask: Any) -> Any:
    shape = broadcast_shape('masked_select', x.shape, mask.shape)
    return masked(x if x.shape == shape else expand(x, shape), np.broadcast_to(mask, shape))
masked_select = declare.composed('masked_select', _masked_select_composed, dict(mask=MASK), tensors=('x', 'mask'), summary='the elements where mask is true, as a vector', formula='g where mask is true, else 0', samples=(([1.0, -2.0, 3.0], [True, False, True]),))
def _masked_fill_composed(x: Any, mask: Any, value: Any) -> Any:
    if is_any_tensor(value) and value.shape: raise ShapeError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    return fill_tensor(x, value, mask) if is_any_tensor(value) else fill_number(x, mask, value)
masked_fill = declare.composed('masked_fill', _masked_fill_composed, dict(mask=MASK, value=VALUE), tensors=('x', 'mask', 'value'), summary='x with its elements replaced by value where mask is true', formula='0 where mask is true, else g', samples=(([1.0, -2.0, 3.0], [True, False, True], 5.0), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [True, False, True], 2.0),))
declare.python('scatter', ('dim', 'index', 'src'), parameters=('x', 'dim', 'index', 'src'), defaults=(), tensors=('x', 'index', 'src'), kinds={'dim': DIMENSION, 'index': POSITIONS, 'src': VALUE}, summary='x with the elements at positions along dim replaced by elements of src or by one number', formula='g, but 0 at the positions; g at the positions', convention='if a position is written twice, both sources receive the gradient (PyTorch)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [[2, 0], [1, 2]], [[10.0, 20.0], [30.0, 40.0]]), ([1.0, -2.0, 3.0], 0, [1], 5.0),))
declare.python('scatter_add', ('dim', 'index', 'src'), parameters=('x', 'dim', 'index', 'src'), defaults=(), tensors=('x', 'index', 'src'), kinds={'dim': DIMENSION, 'index': POSITIONS, 'src': TENSOR}, summary='x with elements of src added at positions along dim', formula='g, g at the positions', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [[2, 0], [1, 2]], [[10.0, 20.0], [30.0, 40.0]]), ([1.0, -2.0, 3.0], 0, [1, 1], [5.0, 6.0]),))
index_add = declare.composed('index_add', lambda x, dim, index, source, alpha=1: index_added(x, source if alpha == 1 else (source * alpha), slices_of('index_add', x.shape, dim, index), True), dict(dim=DIMENSION, index=POSITIONS, source=TENSOR, alpha=NUMBER), tensors=('x', 'index', 'source'), summary='x with slices of source, multiplied by alpha, added at positions along dim', formula='g, alpha*g at the positions', samples=(([1.0, -2.0, 3.0], 0, [1, 1], [5.0, 6.0]), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [2, 0], [[1.0, 2.0], [3.0, 4.0]], 2),))
index_copy = declare.composed('index_copy', lambda x, dim, index, source: index_copied(x, source, slices_of('index_copy', x.shape, dim, index), False), dict(dim=DIMENSION, index=POSITIONS, source=TENSOR), tensors=('x', 'index', 'source'), summary='x with the slices at positions along dim replaced by slices of source', formula='g, but 0 at the positions; g at the positions', convention='if a position is written twice, both sources receive the gradient (PyTorch)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [2, 0], [[1.0, 2.0], [3.0, 4.0]]),))
declare.python('index_fill', ('dim', 'index', 'value'), parameters=('x', 'dim', 'index', 'value'), defaults=(), tensors=('x', 'index', 'value'), kinds={'dim': DIMENSION, 'index': POSITIONS, 'value': VALUE}, summary='x with the slices at positions along dim filled with one value', formula='g, but 0 at the positions', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [2, 0], 7.0),))
def _put_composed(x: Any, index: Any, source: Any, accumulate: Any = False) -> Any:
    if index.size != size_of(source.shape): raise ShapeError(f"put_(): Expected source and index to have same number of elements, but got source.numel() = {size_of(source.shape)}, index.numel() = {index.size}")
    flat = index_putted(reshape(x, (-1,)), reshape(source, (-1,)), (index.reshape(-1),), accumulate)
    return reshape(flat, x.shape)
put = declare.composed('put', _put_composed, dict(index=POSITIONS, source=TENSOR, accumulate=FLAG), tensors=('x', 'index', 'source'), summary='x with the elements at positions of the flattened x replaced by elements of source, or increased with accumulate=true', formula='g, but 0 at the positions; g at the positions', convention='if a position is written twice, both sources receive the gradient (PyTorch)', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [5, 0], [7.0, 8.0]), ([1.0, -2.0, 3.0], [1, 1], [5.0, 6.0], True),))
declare.python('index_put', ('values', 'accumulate'), parameters=('x', 'indices', 'values', 'accumulate'), defaults=(False, ), tensors=('x', 'indices', 'values'), kinds={'values': TENSOR, 'accumulate': FLAG}, summary='x with the elements at a tuple of indices replaced by values, or increased by values with accumulate=true', formula='g, but 0 at the positions; g at the positions', convention='if a position is written twice, both sources receive the gradient (PyTorch)', samples=(([1.0, -2.0, 3.0], [1], 7.0), ([1.0, -2.0, 3.0], [1, 1], [5.0, 6.0], True),))
picked = declare('gather', arrays.pick, {'x': lambda g, x_shape, dim, index: dropped(g, x_shape, dim, index)}, statics={'dim': 0, 'index': None}, public=False)
dropped = declare('scatter_add', arrays.drop, {'x': lambda g, dim, index: picked(g, dim, index)}, statics={'shape': (), 'dim': 0, 'index': None}, public=False)
taken = declare('take', arrays.take, {'x': lambda g, x_shape, index: reshape(unindexed(g, (size_of(x_shape),), (index,)), x_shape)}, statics={'index': None}, series='linear', selects=True, public=False)
selected = declare('index_select', lambda x, dim, index: x[arrays.slices_at(dim, index)], {'x': lambda g, x_shape, dim, index: unindexed(g, x_shape, slices_at(dim, index))}, statics={'dim': 0, 'index': None}, series='linear', selects=True, public=False)
masked = declare('masked_select', lambda x, mask: x[mask].reshape(-1), {'x': lambda g, x_shape, mask: unindexed(g, x_shape, (mask,))}, statics={'mask': None}, series='linear', selects=True, public=False)
fill_number = declare('masked_fill', lambda x, mask, value: arrays.fill(x, x.dtype.type(value), mask), {'x': lambda g, mask: where(mask, 0.0, g)}, statics={'mask': None, 'value': 0.0}, public=False)
fill_tensor = declare('masked_fill', arrays.fill, {'x': lambda g, mask: where(mask, 0.0, g), 'value': lambda g, mask: where(mask, g, 0.0)}, statics={'mask': None}, node='MaskedFillBackward1', public=False)
scattered = declare('scatter', arrays.put, {'x': lambda g, key, accumulate: g if accumulate else index_filled(g, key, 0.0), 'source': lambda g, key: getitem(g, key)}, statics={'key': (), 'accumulate': False}, public=False)
scatter_added = declare('scatter_add', arrays.put, {'x': lambda g, key, accumulate: g if accumulate else index_filled(g, key, 0.0), 'source': lambda g, key: getitem(g, key)}, statics={'key': (), 'accumulate': False}, public=False)
index_added = declare('index_add', arrays.put, {'x': lambda g, key, accumulate: g if accumulate else index_filled(g, key, 0.0), 'source': lambda g, key: getitem(g, key)}, statics={'key': (), 'accumulate': False}, public=False)
index_copied = declare('index_copy', arrays.put, {'x': lambda g, key, accumulate: g if accumulate else index_filled(g, key, 0.0), 'source': lambda g, key: getitem(g, key)}, statics={'key': (), 'accumulate': False}, public=False)
index_putted = declare('index_put', arrays.put, {'x': lambda g, key, accumulate: g if accumulate else index_filled(g, key, 0.0), 'source': lambda g, key: getitem(g, key)}, statics={'key': (), 'accumulate': False}, public=False)
index_filled = declare('index_fill', lambda x, key, value: arrays.put(x, value, key, False), {'x': lambda g, key: index_filled(g, key, 0.0)}, statics={'key': (), 'value': 0.0}, public=False)
scatter_filled = declare('scatter', lambda x, key, value: arrays.put(x, value, key, False), {'x': lambda g, key: index_filled(g, key, 0.0)}, statics={'key': (), 'value': 0.0}, node='ScatterBackward1', public=False)
