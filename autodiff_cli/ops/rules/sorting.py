"""Sorting, and selection by rank."""
# Made from grammar/rules/sorting.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, FLAG, WHOLE
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import extremes as extremes_arrays, sorting as arrays
from autodiff_cli.ops.rules.extremes import put_back, put_one_back

__all__ = ['argsort', 'kthvalue', 'msort', 'sort', 'topk']

_declare = Declarations(__name__)

sort: TensorFunction = _declare.composed('sort', lambda x, dim=-1, descending=False, stable=True: sorted_along(x, dim, descending), dict(dim=DIMENSION, descending=FLAG, stable=FLAG), tensors=('x',), summary='the elements sorted along dim, and their positions in x', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=extremes_arrays.is_repeated, convention='equal elements keep their order; nan is last (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]],), ([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 0, True),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
msort: TensorFunction = _declare.composed('msort', lambda x: sort(x, 0)[0], dict(), tensors=('x',), summary='the elements sorted along the first dimension', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=extremes_arrays.is_repeated, convention='equal elements keep their order; nan is last (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]],),), edges=(([5.0, 1.0, 5.0],), ([1.0, 5.0, 1.0],),))
argsort: TensorFunction = _declare.composed('argsort', lambda x, dim=-1, descending=False, stable=True: sort(x, dim, descending)[1], dict(dim=DIMENSION, descending=FLAG, stable=FLAG), tensors=('x',), summary='positions in x of the elements sorted along dim')
topk: TensorFunction = _declare.composed('topk', lambda x, k, dim=-1, largest=True, sorted=True: largest_along(x, k, dim, largest), dict(k=WHOLE, dim=DIMENSION, largest=FLAG, sorted=FLAG), tensors=('x',), summary='the k largest elements along dim in order, or the k smallest with largest=false, and their positions', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=extremes_arrays.is_repeated, convention='one of several equal elements receives the derivative (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 2), ([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 1, 0, False),), edges=(([5.0, 1.0, 5.0], 2),))
kthvalue: TensorFunction = _declare.composed('kthvalue', lambda x, k, dim=-1, keepdim=False: kth_along(x, k, dim, keepdim), dict(k=WHOLE, dim=DIMENSION, keepdim=FLAG), tensors=('x',), summary='the k-th smallest element along dim, and its position', formula='g at the positions of the values, 0 elsewhere', smooth='no two elements are equal', kink=extremes_arrays.is_repeated, convention='one of several equal elements receives the derivative (PyTorch)', samples=(([[1.0, 3.0, 2.0], [2.5, -1.0, 4.0]], 2),), edges=(([5.0, 1.0, 5.0], 2),))
sorted_along: TensorFunction = _declare.several('sort', arrays.sort, put_back, statics={'dim': -1, 'descending': False}, results=('values', 'indices'), constant=('indices',), public=False)
largest_along: TensorFunction = _declare.several('topk', arrays.topk, put_back, statics={'k': 1, 'dim': -1, 'largest': True}, results=('values', 'indices'), constant=('indices',), public=False)
kth_along: TensorFunction = _declare.several('kthvalue', arrays.kthvalue, put_one_back, statics={'k': 1, 'dim': -1, 'keepdim': False}, results=('values', 'indices'), constant=('indices',), public=False)
