"""Decompositions of matrices, matrix norms, systems of equations and distances."""  # made from grammar/rules/decompose.rules by grammar/compile_rules.py

import math
from typing import Any
import numpy as np
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, DIMENSIONS, FLAG, NUMBER, TENSOR, TEXT, TYPE, either, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.structural import dimension, where
from autodiff_cli.errors import ArgumentError, GraphError, ShapeError
from autodiff_cli.numerics import matrices as matrices_arrays
from autodiff_cli.numerics.arrange import listed
from autodiff_cli.numerics.norms import is_matrix_order
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.arrange import diag_embed, tril, triu
from autodiff_cli.ops.rules.extremes import amax, amin
from autodiff_cli.ops.rules.linalg import outer
from autodiff_cli.ops.rules.matrices import inv, mT, slogdet, solve, symmetric
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.reduce import of_type, sum
from autodiff_cli.ops.rules.shape import cat, transpose, unsqueeze
from autodiff_cli.ops.views import movedim
declare = Declarations(__name__)
norm_of_matrix: Any = lambda x, ord, rows, columns, keepdim: vector_norm(x, 2, (rows, columns), keepdim) if ord == 'fro' else (with_dims(norm_of_values(svdvals(movedim(x, (rows, columns), (-2, -1))), ord), rows, columns, keepdim) if ord == 'nuc' or ord == 2 or ord == -2 else (extreme_sum(x, ord, rows, columns, keepdim) if ord == 1 or ord == -1 else extreme_sum(x, ord, columns, rows, keepdim)))
norm_of_values: Any = lambda values, ord: sum(values, -1) if ord == 'nuc' else (amax(values, -1) if ord == 2 else amin(values, -1))
with_dims: Any = lambda x, rows, columns, keepdim: (unsqueeze(unsqueeze(x, rows), columns) if rows < columns else unsqueeze(unsqueeze(x, columns), rows)) if keepdim else x
def extreme_sum(x: Any, ord: Any, summed: Any, other: Any, keepdim: Any) -> Any:
    sums = vector_norm(x, 1, summed, True)
    return amax(sums, (summed, other), keepdim) if ord > 0 else amin(sums, (summed, other), keepdim)
extreme_quotient: Any = lambda values, p: (values[..., -1] / values[..., 0]) if p == -2 else (values[..., 0] / values[..., -1])
def norm_product(x: Any, p: Any) -> Any:
    singular = slogdet(x)[0] == 0
    regular = where(unsqueeze(unsqueeze(singular, -1), -1), np.eye(x.shape[-1], dtype=x.dtype), x)
    return where(singular, math.inf, matrix_norm(x, p) * matrix_norm(inv(regular), p))
joint: Any = lambda x, y: y if x is None else (x if y is None else (x + y))
gaps: Any = lambda values: unsqueeze(values, -2) - unsqueeze(values, -1) + np.eye(values.shape[-1], dtype=values.dtype)
off_diagonal: Any = lambda x: x * (1 - np.eye(x.shape[-1], dtype=x.dtype))
skew: Any = lambda x: x - mT(x)
across: Any = lambda basis, x: x - matmul(basis, matmul(mT(basis), x))
def eigh_by_x(g: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    turned = None if g[1] is None else (off_diagonal(matmul(mT(eigenvectors), g[1])) / gaps(eigenvalues))
    inner = joint(None if g[0] is None else diag_embed(g[0]), turned)
    return symmetric(matmul(eigenvectors, matmul(inner, mT(eigenvectors))))
def svd_by_x(g: Any, U: Any, S: Any, Vh: Any, full_matrices: Any) -> Any:
    k = S.shape[-1]
    return reduced_by_x(g[1], None if g[0] is None else g[0][..., :k], None if g[2] is None else g[2][..., :k, :], U[..., :k], S, Vh[..., :k, :])
def reduced_by_x(g_s: Any, g_u: Any, g_v: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The cotangent of x = U @ diag(S) @ Vh from those of S, U and Vh, of which the unused ones are none: a part U @ inner @ Vh, and what is orthogonal to U and to Vh."""
    row = unsqueeze(S, -2)
    column = unsqueeze(S, -1)
    inner_u = None if g_u is None else (off_diagonal(skew(matmul(mT(U), g_u))) / gaps(S * S) * row)
    inner_v = None if g_v is None else (off_diagonal(skew(matmul(Vh, mT(g_v)))) / gaps(S * S) * column)
    inner = joint(joint(None if g_s is None else diag_embed(g_s), inner_u), inner_v)
    outside_u = None if g_u is None or U.shape[-2] == S.shape[-1] else matmul(across(U, g_u) / row, Vh)
    outside_v = None if g_v is None or Vh.shape[-1] == S.shape[-1] else matmul(U, mT(across(mT(Vh), mT(g_v)) / row))
    return joint(matmul(U, matmul(inner, Vh)), joint(outside_u, outside_v))
def qr_by_x(g: Any, x: Any, Q: Any, R: Any, mode: Any) -> Any:
    """The cotangent of x = Q @ R from those of Q and R, g, of which an unused one is none; beyond the square part, the columns of x are Q times those of R."""
    if mode == 'r': raise GraphError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to require gradients through Q.")
    if mode == 'complete' and x.shape[-2] > x.shape[-1]: raise GraphError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    rows = x.shape[-2]
    g_q = zeros_like(Q) if g[0] is None else g[0]
    g_r = zeros_like(R) if g[1] is None else g[1]
    return tall_by_x(g_q, g_r, Q, R) if x.shape[-1] <= rows else wide_by_x(g_q, g_r, x, Q, R, rows)
def wide_by_x(g_q: Any, g_r: Any, x: Any, Q: Any, R: Any, n: Any) -> Any:
    square = tall_by_x(g_q + matmul(x[..., n:], mT(g_r[..., n:])), g_r[..., :n], Q, R[..., :n])
    return cat((square, matmul(Q, g_r[..., n:])), -1)
def tall_by_x(g_q: Any, g_r: Any, Q: Any, R: Any) -> Any:
    inner = matmul(R, mT(g_r)) - matmul(mT(g_q), Q)
    ones = np.tri(R.shape[-1], dtype=R.dtype)
    mirrored = inner * ones + mT(inner * (ones - np.eye(R.shape[-1], dtype=R.dtype)))
    return mT(solve(R, mT(g_q + matmul(Q, mirrored))))
scaled: Any = lambda x, factor=1: x if factor == 1 else (x * factor)
eigh = declare.several('eigh', matrices_arrays.eigh, eigh_by_x, node='LinalgEighBackward0', results=('eigenvalues', 'eigenvectors'), summary='eigenvalues of a symmetric matrix in ascending order, and eigenvectors as columns', formula='V @ (diag(gL) + (V.mT @ gV)/gaps) @ V.mT, with gaps[i, j] = L[j] - L[i]', domain='x is symmetric', smooth='no two eigenvalues are equal', convention='only the symmetric part of x is used, and the derivative is symmetric', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),))
eigvalsh = declare.composed('eigvalsh', lambda x: eigh(x)[0], dict(), tensors=('x',), summary='eigenvalues of a symmetric matrix in ascending order', formula='V @ diag(g) @ V.mT', domain='x is symmetric', smooth='no two eigenvalues are equal', convention='only the symmetric part of x is used, and the derivative is symmetric', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),))
svd = declare.several('svd', matrices_arrays.svd, svd_by_x, statics={'full_matrices': True}, kinds={'full_matrices': FLAG}, node='LinalgSvdBackward0', results=('U', 'S', 'Vh'), summary='U, S and Vh with x = U @ diag(S) @ Vh and S in descending order; full_matrices=false gives the reduced form', formula='U @ diag(g) @ Vh for S alone', smooth='no two singular values are equal, and no singular value is 0 if x is not square', convention='LAPACK determines the signs of the vectors', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],), ([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]], False), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], False),))
svdvals = declare.composed('svdvals', lambda x: svd(x, False)[1], dict(), tensors=('x',), summary='singular values of a matrix in descending order', formula='U @ diag(g) @ Vh', smooth='no two singular values are equal, and no singular value is 0', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],), ([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]],), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]],),))
qr = declare.several('qr', matrices_arrays.qr, qr_by_x, statics={'mode': 'reduced'}, kinds={'mode': TEXT}, node='LinalgQrBackward0', results=('Q', 'R'), summary='Q with orthonormal columns and upper triangular R with x = Q @ R', formula='(gQ + Q @ M) @ inv(R).mT, with M the symmetric matrix that has the lower triangle of R @ gR.mT - gQ.mT @ Q', smooth='the first columns of x are linearly independent', convention='LAPACK determines the signs of Q and R', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],), ([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]],), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]],),))
def _matrix_norm_composed(x: Any, ord: Any = 'fro', dim: Any = (-2, -1), keepdim: Any = False, dtype: Any = None) -> Any:
    """Norm of a matrix: 'fro', 'nuc', 1 or -1 (column sums), inf or -inf (row sums), 2 or -2 (singular values)."""
    if len(x.shape) <= 1: raise ShapeError('linalg.matrix_norm: The input tensor A must have at least 2 dimensions.')
    if len(listed(dim)) != 2: raise ShapeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    if dimension(dim[0], len(x.shape)) == dimension(dim[1], len(x.shape)): raise ShapeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if not is_matrix_order(ord): raise ArgumentError(f"linalg.matrix_norm: Order {ord} not supported.")
    return norm_of_matrix(of_type(x, dtype), ord, dimension(dim[0], len(x.shape)), dimension(dim[1], len(x.shape)), keepdim)
matrix_norm = declare.composed('matrix_norm', _matrix_norm_composed, dict(ord=either(NUMBER, TEXT), dim=DIMENSIONS, keepdim=FLAG, dtype=optional(TYPE)), tensors=('x',), summary="norm of a matrix: 'fro', 'nuc', 1 or -1 (column sums), inf or -inf (row sums), 2 or -2 (singular values)", formula="x/norm(x) for 'fro', U @ Vh for 'nuc'", smooth='the extreme column sum, row sum or singular value is unique and not 0', samples=(([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], 'fro'), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], 'nuc'), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], 1), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], -1), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], 2), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], -2), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], math.inf), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], -math.inf),))
def _cond_composed(x: Any, p: Any = None) -> Any:
    if len(x.shape) <= 1: raise ShapeError('linalg.cond: The input tensor must have at least 2 dimensions.')
    if p is not None and not is_matrix_order(p): raise ArgumentError(f"linalg.cond got an invalid norm type: {p}", hint="use none, 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'")
    if p is not None and p != 2 and p != -2 and x.shape[-1] != x.shape[-2]: raise ShapeError(f"linalg.cond: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices")
    return extreme_quotient(svdvals(x), p) if p is None or p == 2 or p == -2 else norm_product(x, p)
cond = declare.composed('cond', _cond_composed, dict(p=optional(either(NUMBER, TEXT))), tensors=('x',), summary='condition number norm(x, p)*norm(inv(x), p); without p, the quotient of the extreme singular values', domain='x is a matrix; square unless p is none, 2 or -2', smooth='the extreme singular values are unique and not 0; for other p, as for matrix_norm', samples=(([[2.0, 1.0], [0.5, 3.0]], None), ([[2.0, 1.0], [0.5, 3.0]], -2), ([[2.0, 1.0], [0.5, 3.0]], 'fro'), ([[2.0, 1.0], [0.5, 3.0]], 'nuc'), ([[2.0, 1.0], [0.5, 3.0]], 1), ([[2.0, 1.0], [0.5, 3.0]], math.inf),))
matrix_rank = declare.composed('matrix_rank', lambda x, tol=None, hermitian=False, atol=None, rtol=None: ranks_above(x, atol, rtol, hermitian) if tol is None else ranks_above(x, tol, 0.0, hermitian), dict(tol=optional(NUMBER), hermitian=FLAG, atol=optional(NUMBER), rtol=optional(NUMBER)), tensors=('x',), summary='number of singular values above tol, or above the larger of atol and rtol times the largest singular value')
def _solve_triangular_composed(A: Any, B: Any, upper: Any = True, left: Any = True, unitriangular: Any = False) -> Any:
    """The solution X of A @ X = B (with left=false, of X @ A = B) for a triangular matrix A, whose other triangle is ignored."""
    if len(A.shape) <= 1 or A.shape[-1] != A.shape[-2]: raise ShapeError(f"linalg.solve_triangular: A must be batches of square matrices, but they are {list(A.shape)} in size")
    if len(B.shape) <= 1: raise ShapeError(f"linalg.solve_triangular: B must have at least two dimensions, but it has {len(B.shape)}")
    part = triu(A, 1 if unitriangular else 0) if upper else tril(A, -1 if unitriangular else 0)
    whole = (part + np.eye(A.shape[-1])) if unitriangular else part
    return solve(whole, B) if left else transpose(solve(transpose(whole), transpose(B)))
solve_triangular = declare.composed('solve_triangular', _solve_triangular_composed, dict(A=TENSOR, B=TENSOR, upper=FLAG, left=FLAG, unitriangular=FLAG), tensors=('A', 'B'), summary='the solution X of A @ X = B (with left=false, of X @ A = B) for a triangular matrix A, whose other triangle is ignored', domain='the diagonal of A has no zeros', samples=(([[2.0, 0.5], [0.0, 1.5]], [[1.0], [2.0]]), ([[2.0, 0.0], [0.5, 1.5]], [[1.0, 2.0]], False, False),), methods=())
def _cholesky_solve_composed(B: Any, L: Any, upper: Any = False) -> Any:
    if len(L.shape) <= 1 or L.shape[-1] != L.shape[-2]: raise ShapeError(f"cholesky_solve: A must be batches of square matrices, but they are {list(L.shape)} in size")
    return solve_triangular(L, solve_triangular(transpose(L), B, False)) if upper else solve_triangular(transpose(L), solve_triangular(L, B, False))
cholesky_solve = declare.composed('cholesky_solve', _cholesky_solve_composed, dict(B=TENSOR, L=TENSOR, upper=FLAG), tensors=('B', 'L'), summary='the solution X of A @ X = B for a matrix A with the Cholesky factor L', domain='the diagonal of L has no zeros', samples=(([[1.0], [2.0]], [[2.0, 0.0], [0.5, 1.5]]), ([[1.0], [2.0]], [[2.0, 0.5], [0.0, 1.5]], True),))
def _cholesky_inverse_composed(L: Any, upper: Any = False) -> Any:
    if len(L.shape) <= 1 or L.shape[-1] != L.shape[-2]: raise ShapeError(f"cholesky_inverse: A must be batches of square matrices, but they are {list(L.shape)} in size")
    factor = inv(triu(L) if upper else tril(L))
    return matmul(factor, transpose(factor)) if upper else matmul(transpose(factor), factor)
cholesky_inverse = declare.composed('cholesky_inverse', _cholesky_inverse_composed, dict(upper=FLAG), tensors=('L',), summary='the inverse of a matrix with the Cholesky factor L', domain='the diagonal of L has no zeros', samples=(([[2.0, 0.0], [0.5, 1.5]],), ([[2.0, 0.5], [0.0, 1.5]], True),))
vecdot = declare.composed('vecdot', lambda x, y, dim=-1: sum(x * y, dim), dict(x=TENSOR, y=TENSOR, dim=DIMENSION), tensors=('x', 'y'), summary='the dot products of the vectors along dim', formula='y, x', samples=(([1.0, -2.0], [0.5, 3.0]), ([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], [[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], 0),), methods=())
def _cdist_composed(x1: Any, x2: Any, p: Any = 2.0, compute_mode: Any = None) -> Any:
    """The p-norm distances between each row of x1 and each row of x2."""
    if len(x1.shape) <= 1: raise GraphError(f"cdist only supports at least 2D tensors, X1 got: {len(x1.shape)}D")
    if len(x2.shape) <= 1: raise GraphError(f"cdist only supports at least 2D tensors, X2 got: {len(x2.shape)}D")
    if x1.shape[-1] != x2.shape[-1]: raise GraphError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if not (p >= 0): raise GraphError('cdist only supports non-negative p values')
    return vector_norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p, -1)
cdist = declare.composed('cdist', _cdist_composed, dict(x1=TENSOR, x2=TENSOR, p=NUMBER, compute_mode=optional(TEXT)), tensors=('x1', 'x2'), summary='the p-norm distances between each row of x1 and each row of x2', convention='the derivative is 0 where a distance is 0 (PyTorch)', samples=(([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], [[0.5, 0.25], [4.0, 1.0]]), ([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], [[0.5, 0.25]], 1.0),), methods=())
dist = declare.composed('dist', lambda x, y, p=2: vector_norm(x - y, p), dict(x=TENSOR, y=TENSOR, p=NUMBER), tensors=('x', 'y'), summary='the p-norm of x - y', convention='the derivative is 0 where the distance is 0 (PyTorch)', samples=(([1.0, -2.0], [0.5, 3.0]), ([1.0, -2.0], [0.5, 3.0], 3.0),))
addmv = declare.composed('addmv', lambda x, mat, vec, beta=1, alpha=1: scaled(x, beta) + scaled(matmul(mat, vec), alpha), dict(x=TENSOR, mat=TENSOR, vec=TENSOR, beta=NUMBER, alpha=NUMBER), tensors=('x', 'mat', 'vec'), summary='beta*x + alpha*(mat @ vec)', samples=(([1.0, -2.0], [[1.0, 2.0], [3.0, 4.0]], [0.5, 3.0]),))
addr = declare.composed('addr', lambda x, vec1, vec2, beta=1, alpha=1: scaled(x, beta) + scaled(outer(vec1, vec2), alpha), dict(x=TENSOR, vec1=TENSOR, vec2=TENSOR, beta=NUMBER, alpha=NUMBER), tensors=('x', 'vec1', 'vec2'), summary='beta*x + alpha*outer(vec1, vec2)', samples=(([[1.0, 2.0], [3.0, 4.0]], [1.0, -2.0], [0.5, 3.0], 2.0, 0.5),))
def _addbmm_composed(x: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    if len(batch1.shape) != 3 or len(batch2.shape) != 3: raise ShapeError('batch1 and batch2 must be 3D tensors')
    return scaled(x, beta) + scaled(sum(matmul(batch1, batch2), 0), alpha)
addbmm = declare.composed('addbmm', _addbmm_composed, dict(x=TENSOR, batch1=TENSOR, batch2=TENSOR, beta=NUMBER, alpha=NUMBER), tensors=('x', 'batch1', 'batch2'), summary='beta*x + alpha times the sum of the products of the matrices in two batches', samples=(([[1.0, 2.0], [3.0, 4.0]], [[[2.0, 0.0], [0.5, 1.5]], [[2.0, 0.5], [0.0, 1.5]]], [[[2.0, 0.5], [0.0, 1.5]], [[2.0, 0.0], [0.5, 1.5]]]),))
ranks_above = declare('matrix_rank', matrices_arrays.ranks, {'x': None}, statics={'atol': None, 'rtol': None, 'hermitian': False}, public=False)
