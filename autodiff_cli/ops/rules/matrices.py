"""Inverses, linear equations, the Cholesky factor, determinants and functions of square matrices, in batches."""  # made from grammar/rules/matrices.rules by grammar/compile_rules.py

import math
from typing import Any
from autodiff_cli.autograd.primitives.argument_kinds import FLAG, NUMBER, TENSOR, WHOLE, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import unindexed, where
from autodiff_cli.numerics import matrices as arrays
from autodiff_cli.numerics.matrices import half_lower, is_sound, is_vector, minor_key, minor_signs, uses_inverse
from autodiff_cli.numerics.positions import size_of
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.shape import cat, transpose, unsqueeze
from autodiff_cli.ops.shape import reshape
declare = Declarations(__name__)
mT: Any = lambda x: transpose(x, -2, -1)
symmetric: Any = lambda x: (x + mT(x)) / 2
cofactors_of: Any = lambda x: (lift(det(x)) * mT(inv(x))) if uses_inverse(x) else cofactors_of_minors(x)
def minors(x: Any) -> Any:
    n = x.shape[-1]
    return reshape(getitem(reshape(x, (-1, n, n)), minor_key(n, size_of(x.shape[:-2]))), x.shape[:-2] + (n, n, n - 1, n - 1))
def from_minors(g: Any, shape: Any = ()) -> Any:
    n = shape[-1]
    count = size_of(shape[:-2])
    return reshape(unindexed(reshape(g, (count, n, n, n - 1, n - 1)), (count, n, n), minor_key(n, count)), shape)
lift: Any = lambda x: unsqueeze(unsqueeze(x, -1), -1)
inv = inverse = declare('inv', arrays.inv, {'x': lambda g, out: -matmul(mT(out), matmul(g, mT(out)))}, node='LinalgInvExBackward0', summary='inverse of each matrix', formula='-inv(x).mT @ g @ inv(x).mT', aliases=('inverse',), domain='x is not singular', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),))
solve = declare.composed('solve', lambda A, B, left=True: solve_left(A, B) if left else mT(solve_left(mT(A), mT(B))), dict(A=TENSOR, B=TENSOR, left=FLAG), tensors=('A', 'B'), summary='solution X of A @ X = B for a vector or matrix B, or of X @ A = B with left=false', formula='-solve(A.mT, g) @ X.mT, solve(A.mT, g)', domain='A is not singular', samples=(([[2.0, 1.0], [0.5, 3.0]], [1.0, -2.0]), ([[2.0, 1.0], [0.5, 3.0]], [[1.0, 2.0], [2.0, 4.0]]), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]], [[[1.0, 2.0], [2.0, 4.0]], [[2.0, 1.0], [0.5, 3.0]]]), ([[2.0, 1.0], [0.5, 3.0]], [[1.0, 2.0], [2.0, 4.0]], False), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]], [1.0, 2.0]),))
cholesky = declare.composed('cholesky', lambda x, upper=False: mT(cholesky_lower(x)) if upper else cholesky_lower(x), dict(x=TENSOR, upper=FLAG), tensors=('x',), summary='lower triangular L with L @ L.mT = x, or its transpose with upper=true', formula='the symmetric part of inv(L).mT @ P @ inv(L), P the lower triangle of L.mT @ g with half of its diagonal', domain='x is symmetric and positive definite', convention='only the symmetric part of x is used, and the derivative is symmetric (PyTorch)', samples=(([[4.0, 1.0], [1.0, 3.0]],), ([[[4.0, 1.0], [1.0, 3.0]], [[2.0, -0.5], [-0.5, 1.0]]],), ([[4.0, 1.0], [1.0, 3.0]], True),))
def _pinv_by_x(g: Any, x: Any, out: Any) -> Any:
    """The cotangent of x in ``pinv(x, rtol)``: -P.mT @ g @ P.mT + (I - x @ P) @ g.mT @ P @ P.mT + P.mT @ P @ g.mT @ (I - P @ x) with P = pinv(x)."""
    transposed = mT(out)
    second = matmul(mT(g), matmul(out, transposed))
    third = matmul(matmul(transposed, out), mT(g))
    difference = second - matmul(x, matmul(out, second))
    return difference + third - matmul(matmul(third, out), x) - matmul(transposed, matmul(g, transposed))
pinv = pinverse = declare('pinv', arrays.pinv, {'x': _pinv_by_x}, statics={'rtol': None}, kinds={'rtol': optional(NUMBER)}, node='LinalgPinvBackward0', summary='pseudo-inverse of each matrix', formula='-P.mT @ g @ P.mT + (I - x @ P) @ g.mT @ P @ P.mT + P.mT @ P @ g.mT @ (I - P @ x) with P = pinv(x)', aliases=('pinverse',), smooth='the rank of x does not change', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]],), ([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]],),))
declare.python('matrix_power', ('x', 'n'), parameters=('x', 'n'), defaults=(), tensors=('x',), kinds={'x': TENSOR, 'n': WHOLE}, summary='product of n factors x, or of -n factors inv(x) for negative n', domain='n >= 0, or x is not singular', samples=(([[2.0, 1.0], [0.5, 3.0]], 3), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]], 2), ([[2.0, 1.0], [0.5, 3.0]], -2), ([[2.0, 1.0], [0.5, 3.0]], 0),))
def _matrix_exp_by_x(g: Any, x: Any) -> Any:
    n = x.shape[-1]
    transposed = mT(x)
    block = cat((cat((transposed, g), -1), cat((zeros_like(g), transposed), -1)), -2)
    return matrix_exp(block)[..., :n, n:]
matrix_exp = expm = declare('matrix_exp', arrays.matrix_exp, {'x': _matrix_exp_by_x}, node='LinalgMatrixExpBackward0', summary='exponential of each matrix: I + x + x @ x/2 + ...', formula='the upper right block of matrix_exp([[x.mT, g], [0, x.mT]])', aliases=('expm',), samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),))
det = declare('det', arrays.det, {'x': lambda g, x, out: lift(g) * ((lift(out) * mT(inv(x))) if uses_inverse(x) else cofactors_of_minors(x))}, node='LinalgDetBackward0', summary='determinant of each matrix', formula='the cofactors, which are det(x)*inv(x).mT where x is not singular', convention='derivatives of every order are exact even where x is singular', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],), ([[1.0, 2.0], [2.0, 4.0]],), ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],),))
slogdet = declare.several('slogdet', arrays.slogdet, lambda g, x: zeros_like(x) if g[1] is None else (lift(g[1]) * (mT(inv(x)) if is_sound(x) else (cofactors_of_minors(x) / lift(det(x))))), node='LinalgSlogdetBackward0', results=('sign', 'logabsdet'), constant=('sign',), summary='sign of the determinant, and logarithm of its absolute value without overflow', formula='inv(x).mT', domain='x is not singular', convention='for a singular matrix the logarithm is -inf and its derivative is infinite; PyTorch gives other signs', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),), edges=(([[1.0, 2.0], [2.0, 4.0]],),))
def _logdet_composed(x: Any) -> Any:
    parts = slogdet(x)
    return where(parts[0] == -1.0, math.nan, parts[1])
logdet = declare.composed('logdet', _logdet_composed, dict(), tensors=('x',), summary='logarithm of the determinant without overflow', formula='inv(x).mT', domain='det(x) > 0', convention='where the determinant is negative, the value is nan and the derivative is 0 (PyTorch)', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),), edges=(([[1.0, 2.0], [3.0, 4.0]],),))
def _solve_left_by_x(g: Any, x: Any, out: Any) -> Any:
    right = solve(mT(x), g)
    return (-unsqueeze(right, -1) * unsqueeze(out, -2)) if is_vector(x.shape, g.shape) else (-matmul(right, mT(out)))
solve_left = declare('solve', arrays.solve, {'x': _solve_left_by_x, 'y': lambda g, x: solve(mT(x), g)}, node='LinalgSolveExBackward0', public=False)
def _cholesky_lower_by_x(g: Any, out: Any) -> Any:
    lower = matmul(mT(out), g) * half_lower(out.shape[-1], out.dtype)
    return symmetric(solve(mT(out), mT(solve(mT(out), mT(lower)))))
cholesky_lower = declare('cholesky', arrays.cholesky, {'x': _cholesky_lower_by_x}, node='LinalgCholeskyExBackward0', public=False)
cofactors_of_minors = declare('cofactors', arrays.cofactors, {'x': lambda g, x: zeros_like(g) if x.shape[-1] < 2 else from_minors(lift(g * minor_signs(x)) * cofactors_of(minors(x)), x.shape)}, public=False)
