"""Positions, counts and sets of elements, which are not differentiable, and operations that write to places of a tensor."""  # made from grammar/rules/counting.rules by grammar/compile_rules.py

from typing import Any
import numpy as np
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, FLAG, MASK, POSITIONS, SIDE, TENSOR, TEXT, WHOLE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import unindexed, where
from autodiff_cli.errors import ArgumentError, GraphError, IndexOutOfRange, ShapeError
from autodiff_cli.numerics import positions as positions_arrays
from autodiff_cli.numerics.arrange import key_along
from autodiff_cli.numerics.positions import counts, extreme_shares, first_key, is_place, places_at, range_along, size_of, zero_elements, zeros_at
from autodiff_cli.ops.creation import ones_like, zeros_like
from autodiff_cli.ops.positions import scatter
from autodiff_cli.ops.rules.positions import picked
from autodiff_cli.ops.rules.views import diagonal, unbind
from autodiff_cli.ops.shape import broadcast_shape, expand, reshape
declare = Declarations(__name__)
def replaced(x: Any, src: Any, places: Any) -> Any:
    if src.shape != places.shape: raise ShapeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(places.shape)}")
    return reshape(scatter(reshape(x, (-1,)), 0, places.reshape(-1), reshape(src, (-1,))), x.shape)
def extreme_by_x(g: Any, x: Any, src: Any, out: Any, dim: Any = 0, index: Any = None, include_self: Any = True) -> Any:
    shares = extreme_shares(x, src, out, dim, index, include_self)
    return where(shares[0], g / shares[2], 0.0)
def extreme_by_src(g: Any, x: Any, src: Any, out: Any, dim: Any = 0, index: Any = None, include_self: Any = True) -> Any:
    shares = extreme_shares(x, src, out, dim, index, include_self)
    return where(shares[1], picked(g / shares[2], dim, index), 0.0)
def product_by_src(g: Any, x: Any, src: Any, dim: Any = 0, index: Any = None, include_self: Any = True) -> Any:
    """The cotangent of src in products of its elements at each place: g times the product of the other factors there."""
    is_zero = zero_elements(src)
    zeros = zeros_at(src, x.shape, dim, index)
    nonzero = where(is_zero, 1.0, src)
    product = picked(reduced_at(x, nonzero, dim, index, 'prod', include_self), dim, index)
    by_only_zero = where(is_zero * (zeros == 1), product, 0.0)
    return picked(g, dim, index) * where(zeros == 0, product / nonzero, by_only_zero)
argwhere = declare('argwhere', np.argwhere, {'x': None}, summary='the positions of the elements that are not 0, one position in each row')
nonzero = declare.composed('nonzero', lambda x, as_tuple=False: unbind(argwhere(x if x.shape else reshape(x, (1,))), 1) if as_tuple else argwhere(x), dict(as_tuple=FLAG), tensors=('x',), summary='the positions of the elements that are not 0, one position in each row, or a tuple with one tensor for each dimension')
searchsorted = declare.composed('searchsorted', lambda sorted_sequence, x, *, out_int32=False, right=False, side=None: search(sorted_sequence, x, right or side == 'right'), dict(sorted_sequence=TENSOR, x=TENSOR, out_int32=FLAG, right=FLAG, side=optional(SIDE)), tensors=('sorted_sequence', 'x'), summary='the positions in a sorted sequence before which the elements of x would be inserted; after equal elements with right=true', methods=())
def _bucketize_composed(x: Any, boundaries: Any, *, out_int32: Any = False, right: Any = False) -> Any:
    if len(boundaries.shape) != 1: raise GraphError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({len(boundaries.shape)})")
    return search(boundaries, x, right)
bucketize = declare.composed('bucketize', _bucketize_composed, dict(x=TENSOR, boundaries=TENSOR, out_int32=FLAG, right=FLAG), tensors=('x', 'boundaries'), summary='the number of the interval between sorted boundaries that each element of x belongs to', methods=())
declare.python('bincount', ('weights', 'minlength'), parameters=('x', 'weights', 'minlength'), defaults=(None, 0, ), tensors=('x',), kinds={'weights': optional(TENSOR), 'minlength': WHOLE}, summary='how often each whole number from 0 on is among the elements of a vector, or the sums of their weights')
declare.python('isin', ('test_elements', 'elements', 'assume_unique', 'invert'), parameters=('x', 'test_elements'), defaults=(), tensors=('x', 'test_elements'), kinds={'test_elements': TENSOR, 'elements': TENSOR, 'assume_unique': FLAG, 'invert': FLAG}, summary='true for the elements of x that are among the test elements', methods=('isin',))
declare.python('unique', ('sorted', 'return_inverse', 'return_counts', 'dim'), parameters=('x', 'sorted', 'return_inverse', 'return_counts', 'dim'), defaults=(True, False, False, None, ), tensors=('x',), kinds={'sorted': FLAG, 'return_inverse': FLAG, 'return_counts': FLAG, 'dim': optional(DIMENSION)}, summary='the distinct elements of x in ascending order, or its distinct slices along dim')
declare.python('unique_consecutive', ('return_inverse', 'return_counts', 'dim'), parameters=('x', 'return_inverse', 'return_counts', 'dim'), defaults=(False, False, None, ), tensors=('x',), kinds={'return_inverse': FLAG, 'return_counts': FLAG, 'dim': optional(DIMENSION)}, summary='the elements of x without repetitions of the previous element, or the slices along dim')
def _masked_scatter_composed(x: Any, mask: Any, source: Any) -> Any:
    shape = broadcast_shape('masked_scatter', x.shape, mask.shape)
    return masked_put(x if x.shape == shape else expand(x, shape), source, np.broadcast_to(mask, shape))
masked_scatter = declare.composed('masked_scatter', _masked_scatter_composed, dict(mask=MASK, source=TENSOR), tensors=('x', 'mask', 'source'), summary='x with its elements replaced by the first elements of source, in order, where mask is true', formula='g where mask is false', samples=(([1.0, -2.0, 3.0], [True, False, True], [5.0, 6.0]),))
def _select_scatter_composed(x: Any, src: Any, dim: Any, index: Any) -> Any:
    if not is_place(x.shape, dim, index): raise IndexOutOfRange(f"select_scatter(): index out of range for the shape {list(x.shape)}")
    return replaced(x, src, places_at(x.shape, key_along(x.shape, dim, index)))
select_scatter = declare.composed('select_scatter', _select_scatter_composed, dict(src=TENSOR, dim=DIMENSION, index=WHOLE), tensors=('x', 'src'), summary='x with the slice at one position along dim replaced by src', formula='g without the slice', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [7.0, 8.0], 1, 2),))
def _slice_scatter_composed(x: Any, src: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    if not (step > 0): raise ArgumentError('slice_scatter: step must be greater than zero')
    if len(x.shape) == 0: raise IndexOutOfRange(f"slice_scatter(): index out of range for the shape {list(x.shape)}")
    return replaced(x, src, places_at(x.shape, range_along(x.shape, dim, start, end, step)))
slice_scatter = declare.composed('slice_scatter', _slice_scatter_composed, dict(src=TENSOR, dim=DIMENSION, start=optional(WHOLE), end=optional(WHOLE), step=WHOLE), tensors=('x', 'src'), summary='x with the slices from start to end along dim replaced by src', formula='g without the slices', samples=(([1.0, -2.0, 3.0], [7.0, 8.0], 0, 1),))
diagonal_scatter = declare.composed('diagonal_scatter', lambda x, src, offset=0, dim1=0, dim2=1: replaced(x, src, diagonal(places_at(x.shape, ()), offset, dim1, dim2)), dict(src=TENSOR, offset=WHOLE, dim1=DIMENSION, dim2=DIMENSION), tensors=('x', 'src'), summary='x with a diagonal replaced by src', formula='g without the diagonal', samples=(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [7.0, 8.0]),))
declare.python('scatter_reduce', ('dim', 'index', 'src', 'reduce', 'include_self'), parameters=('x', 'dim', 'index', 'src', 'reduce', 'include_self'), defaults=(True, ), tensors=('x', 'index', 'src'), kinds={'dim': DIMENSION, 'index': POSITIONS, 'src': TENSOR, 'reduce': TEXT, 'include_self': FLAG}, summary="x with elements of src added ('sum'), multiplied ('prod'), averaged ('mean') or compared ('amax', 'amin') along dim", formula='g, or shares of g', convention='equal extremes receive equal shares of the derivative (PyTorch)', samples=(([1.0, -2.0, 3.0], 0, [0, 0, 2], [5.0, 6.0, 7.0], 'sum'), ([1.0, -2.0, 3.0], 0, [0, 0, 2], [5.0, 6.0, 7.0], 'mean', False), ([1.0, -2.0, 3.0], 0, [0, 0, 2], [5.0, 6.0, 7.0], 'prod'), ([1.0, -2.0, 3.0], 0, [0, 0, 2], [5.0, 6.0, 7.0], 'amax'), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1, [[0, 0], [2, 1]], [[5.0, 6.0], [7.0, 8.0]], 'amin', False),))
search = declare('searchsorted', positions_arrays.searched, {'sequence': None, 'x': None}, statics={'right': False}, public=False)
occurrences = declare('bincount', lambda x, minlength: counts(x, None, minlength), {'x': None}, statics={'minlength': 0}, public=False)
elements_in = declare('isin', lambda x, test_elements, invert: np.asarray(np.isin(x, test_elements, invert=invert))[()], {'x': None, 'test_elements': None}, statics={'invert': False}, public=False)
unique_parts = declare('unique', positions_arrays.set_of, {'x': None}, statics={'part': 'values', 'dim': None}, public=False)
run_parts = declare('unique_consecutive', positions_arrays.runs_of, {'x': None}, statics={'part': 'values', 'dim': None}, public=False)
masked_put = declare('masked_scatter', positions_arrays.put_masked, {'x': lambda g, mask: where(mask, 0.0, g), 'source': lambda g, source_shape, mask: reshape(unindexed(g[mask], (size_of(source_shape),), first_key(mask)), source_shape)}, statics={'mask': None}, public=False)
reduced_at = declare('scatter_reduce', positions_arrays.reduced, {'x': lambda g, x, src, out, dim, index, reduce, include_self: extreme_by_x(g, x, src, out, dim, index, include_self) if reduce != 'prod' else ((g * reduced_at(ones_like(x), src, dim, index, 'prod', True)) if include_self else scatter(g, dim, index, zeros_like(src))), 'src': lambda g, x, src, out, dim, index, reduce, include_self: product_by_src(g, x, src, dim, index, include_self) if reduce == 'prod' else extreme_by_src(g, x, src, out, dim, index, include_self)}, statics={'dim': 0, 'index': None, 'reduce': 'prod', 'include_self': True}, public=False)
