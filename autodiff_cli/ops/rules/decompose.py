"""Eigenvalues, singular values and orthogonal factors of matrices in batches; matrix norms.

Made from grammar/rules/decompose.rules by ``python grammar/compile_rules.py``.  Do not edit.
"""

from __future__ import annotations

import math

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSIONS, FLAG, NUMBER, TEXT, TYPE, either, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import decompose as arrays
from autodiff_cli.ops.factorizations import eigh_by_x, qr_by_x, svd_by_x

__all__ = ['eigh', 'eigvalsh', 'matrix_rank', 'qr', 'svd', 'svdvals']

_declare = Declarations(__name__)
described = _declare.described

eigh: TensorFunction = _declare.several('eigh', arrays.eigh, eigh_by_x, node='LinalgEighBackward0', results=('eigenvalues', 'eigenvectors'), summary='eigenvalues of a symmetric matrix in ascending order, and eigenvectors as columns', formula='V @ (diag(gL) + (V.mT @ gV)/gaps) @ V.mT, with gaps[i, j] = L[j] - L[i]', domain='x is symmetric', smooth='no two eigenvalues are equal', convention='only the symmetric part of x is used, and the derivative is symmetric', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),))
eigvalsh: TensorFunction = _declare.composed('eigvalsh', lambda x: eigh(x)[0], dict(), tensors=('x',), summary='eigenvalues of a symmetric matrix in ascending order', formula='V @ diag(g) @ V.mT', domain='x is symmetric', smooth='no two eigenvalues are equal', convention='only the symmetric part of x is used, and the derivative is symmetric', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],),))
svd: TensorFunction = _declare.several('svd', arrays.svd, svd_by_x, statics={'full_matrices': True}, kinds={'full_matrices': FLAG}, node='LinalgSvdBackward0', results=('U', 'S', 'Vh'), summary='U, S and Vh with x = U @ diag(S) @ Vh and S in descending order; full_matrices=false gives the reduced form', formula='U @ diag(g) @ Vh for S alone', smooth='no two singular values are equal, and no singular value is 0 if x is not square', convention='LAPACK determines the signs of the vectors', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],), ([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]], False), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], False),))
svdvals: TensorFunction = _declare.composed('svdvals', lambda x: svd(x, False)[1], dict(), tensors=('x',), summary='singular values of a matrix in descending order', formula='U @ diag(g) @ Vh', smooth='no two singular values are equal, and no singular value is 0', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],), ([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]],), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]],),))
qr: TensorFunction = _declare.several('qr', arrays.qr, qr_by_x, statics={'mode': 'reduced'}, kinds={'mode': TEXT}, node='LinalgQrBackward0', results=('Q', 'R'), summary='Q with orthonormal columns and upper triangular R with x = Q @ R', formula='(gQ + Q @ M) @ inv(R).mT, with M the symmetric matrix that has the lower triangle of R @ gR.mT - gQ.mT @ Q', smooth='the first columns of x are linearly independent', convention='LAPACK determines the signs of Q and R', samples=(([[2.0, 1.0], [0.5, 3.0]],), ([[[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [0.7, 0.4]]],), ([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]],), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]],),))
_declare.python('matrix_norm', ('ord', 'dim', 'keepdim', 'dtype'), parameters=('x', 'ord', 'dim', 'keepdim', 'dtype'), defaults=('fro', (-2, -1), False, None, ), tensors=('x',), kinds={'ord': either(NUMBER, TEXT), 'dim': DIMENSIONS, 'keepdim': FLAG, 'dtype': optional(TYPE)}, summary="norm of a matrix: 'fro', 'nuc', 1 or -1 (column sums), inf or -inf (row sums), 2 or -2 (singular values)", formula="x/norm(x) for 'fro', U @ Vh for 'nuc'", smooth='the extreme column sum, row sum or singular value is unique and not 0', samples=(([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], 'fro'), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], 'nuc'), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], 1), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], -1), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], 2), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], -2), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], math.inf), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]], -math.inf),))
_declare.python('cond', (), parameters=('x', 'p'), defaults=(None, ), tensors=('x',), kinds={'p': optional(either(NUMBER, TEXT))}, summary='condition number norm(x, p)*norm(inv(x), p); without p, the quotient of the extreme singular values', domain='x is a matrix; square unless p is none, 2 or -2', smooth='the extreme singular values are unique and not 0; for other p, as for matrix_norm', samples=(([[2.0, 1.0], [0.5, 3.0]], None), ([[2.0, 1.0], [0.5, 3.0]], -2), ([[2.0, 1.0], [0.5, 3.0]], 'fro'), ([[2.0, 1.0], [0.5, 3.0]], 'nuc'), ([[2.0, 1.0], [0.5, 3.0]], 1), ([[2.0, 1.0], [0.5, 3.0]], math.inf),))
matrix_rank: TensorFunction = _declare.composed('matrix_rank', lambda x, tol=None, hermitian=False, atol=None, rtol=None: ranks_above(x, atol, rtol, hermitian) if tol is None else ranks_above(x, tol, 0.0, hermitian), dict(tol=optional(NUMBER), hermitian=FLAG, atol=optional(NUMBER), rtol=optional(NUMBER)), tensors=('x',), summary='number of singular values above tol, or above the larger of atol and rtol times the largest singular value')
ranks_above: TensorFunction = _declare('matrix_rank', arrays.ranks, {'x': None}, statics={'atol': None, 'rtol': None, 'hermitian': False}, public=False)
