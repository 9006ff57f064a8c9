"""Determinants of matrices in batches, and their logarithms."""
# Made from grammar/rules/determinants.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

import math
from typing import Any

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import unindexed, where
from autodiff_cli.numerics import determinants as arrays
from autodiff_cli.numerics.determinants import is_sound, matrix_count, minor_key, minor_shape, minor_signs, uses_inverse
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.rules.matrices import inv, mT
from autodiff_cli.ops.rules.shape import unsqueeze
from autodiff_cli.ops.shape import reshape

__all__ = ['det', 'logdet', 'slogdet']

_declare = Declarations(__name__)

def cofactors_of(x: Any) -> Any:
    return (lift(det(x)) * mT(inv(x))) if uses_inverse(x) else cofactors_of_minors(x)
def minors(x: Any) -> Any:
    n = x.shape[-1]
    return reshape(getitem(reshape(x, (-1, n, n)), minor_key(n, matrix_count(x.shape))), minor_shape(x.shape))
def from_minors(g: Any, shape: Any = ()) -> Any:
    n = shape[-1]
    count = matrix_count(shape)
    return reshape(unindexed(reshape(g, (count, n, n, n - 1, n - 1)), (count, n, n), minor_key(n, count)), shape)
def lift(x: Any) -> Any:
    return unsqueeze(unsqueeze(x, -1), -1)
det: TensorFunction = _declare('det', arrays.det, {'x': lambda g, x, out: lift(g) * ((lift(out) * mT(inv(x))) if uses_inverse(x) else cofactors_of_minors(x))}, node='LinalgDetBackward0', summary='determinant of each matrix', formula='the cofactors, which are det(x)*inv(x).mT where x is not singular', convention='derivatives of every order are exact even where x is singular', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],), ([[1.0, 2.0], [2.0, 4.0]],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],),))
slogdet: TensorFunction = _declare.several('slogdet', arrays.slogdet, lambda g, x: zeros_like(x) if g[1] is None else (lift(g[1]) * (mT(inv(x)) if is_sound(x) else (cofactors_of_minors(x) / lift(det(x))))), node='LinalgSlogdetBackward0', results=('sign', 'logabsdet'), constant=('sign',), summary='sign of the determinant, and logarithm of its absolute value without overflow', formula='inv(x).mT', domain='x is not singular', convention='for a singular matrix the logarithm is -inf and its derivative is infinite; PyTorch gives other signs', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),), edges=(([[1.0, 2.0], [2.0, 4.0]],),))
def _logdet_composed(x: Any) -> Any:
    parts = slogdet(x)
    return where(parts[0] == (-1.0), math.nan, parts[1])
logdet: TensorFunction = _declare.composed('logdet', _logdet_composed, dict(), tensors=('x',), summary='logarithm of the determinant without overflow', formula='inv(x).mT', domain='det(x) > 0', convention='where the determinant is negative, the value is nan and the derivative is 0 (PyTorch)', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),), edges=(([[1.0, 2.0], [3.0, 4.0]],),))
cofactors_of_minors: TensorFunction = _declare('cofactors', arrays.cofactors, {'x': lambda g, x: zeros_like(g) if x.shape[-1] < 2 else from_minors(lift(g * minor_signs(x)) * cofactors_of(minors(x)), x.shape)}, public=False)
