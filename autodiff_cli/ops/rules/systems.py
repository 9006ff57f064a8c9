"""Triangular systems, least squares, ranks and distances: functions of matrices that are composed of others."""
# Made from grammar/rules/systems.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, FLAG, NUMBER, TENSOR, TEXT, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.linalg import outer
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.reduce import sum

__all__ = ['addmv', 'addr', 'dist', 'vecdot']

_declare = Declarations(__name__)
described = _declare.described

def scaled(x: Any, factor: Any = 1) -> Any:
    return x if factor == 1 else (x * factor)
_declare.python('solve_triangular', ('A', 'B', 'upper', 'left', 'unitriangular'), parameters=('A', 'B', 'upper', 'left', 'unitriangular'), defaults=(True, True, False, ), tensors=('A', 'B'), kinds={'A': TENSOR, 'B': TENSOR, 'upper': FLAG, 'left': FLAG, 'unitriangular': FLAG}, summary='the solution X of A @ X = B (with left=false, of X @ A = B) for a triangular matrix A, whose other triangle is ignored', domain='the diagonal of A has no zeros', samples=(([[2.0, 0.5], [0.0, 1.5]], [[1.0], [2.0]]), ([[2.0, 0.0], [0.5, 1.5]], [[1.0, 2.0]], False, False),), methods=())
_declare.python('cholesky_solve', ('B', 'L', 'upper'), parameters=('B', 'L', 'upper'), defaults=(False, ), tensors=('B', 'L'), kinds={'B': TENSOR, 'L': TENSOR, 'upper': FLAG}, summary='the solution X of A @ X = B for a matrix A with the Cholesky factor L', domain='the diagonal of L has no zeros', samples=(([[1.0], [2.0]], [[2.0, 0.0], [0.5, 1.5]]), ([[1.0], [2.0]], [[2.0, 0.5], [0.0, 1.5]], True),))
_declare.python('cholesky_inverse', ('upper',), parameters=('L', 'upper'), defaults=(False, ), tensors=('L',), kinds={'upper': FLAG}, summary='the inverse of a matrix with the Cholesky factor L', domain='the diagonal of L has no zeros', samples=(([[2.0, 0.0], [0.5, 1.5]],), ([[2.0, 0.5], [0.0, 1.5]], True),))
vecdot: TensorFunction = _declare.composed('vecdot', lambda x, y, dim=-1: sum(x * y, dim), dict(x=TENSOR, y=TENSOR, dim=DIMENSION), tensors=('x', 'y'), summary='the dot products of the vectors along dim', formula='y, x', samples=(([1.0, -2.0], [0.5, 3.0]), ([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], [[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], 0),), methods=())
_declare.python('cdist', ('x1', 'x2', 'p', 'compute_mode'), parameters=('x1', 'x2', 'p', 'compute_mode'), defaults=(2.0, None, ), tensors=('x1', 'x2'), kinds={'x1': TENSOR, 'x2': TENSOR, 'p': NUMBER, 'compute_mode': optional(TEXT)}, summary='the p-norm distances between each row of x1 and each row of x2', convention='the derivative is 0 where a distance is 0 (PyTorch)', samples=(([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], [[0.5, 0.25], [4.0, 1.0]]), ([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], [[0.5, 0.25]], 1.0),), methods=())
dist: TensorFunction = _declare.composed('dist', lambda x, y, p=2: vector_norm(x - y, p), dict(x=TENSOR, y=TENSOR, p=NUMBER), tensors=('x', 'y'), summary='the p-norm of x - y', convention='the derivative is 0 where the distance is 0 (PyTorch)', samples=(([1.0, -2.0], [0.5, 3.0]), ([1.0, -2.0], [0.5, 3.0], 3.0),))
addmv: TensorFunction = _declare.composed('addmv', lambda x, mat, vec, beta=1, alpha=1: scaled(x, beta) + scaled(matmul(mat, vec), alpha), dict(x=TENSOR, mat=TENSOR, vec=TENSOR, beta=NUMBER, alpha=NUMBER), tensors=('x', 'mat', 'vec'), summary='beta*x + alpha*(mat @ vec)', samples=(([1.0, -2.0], [[1.0, 2.0], [3.0, 4.0]], [0.5, 3.0]),))
addr: TensorFunction = _declare.composed('addr', lambda x, vec1, vec2, beta=1, alpha=1: scaled(x, beta) + scaled(outer(vec1, vec2), alpha), dict(x=TENSOR, vec1=TENSOR, vec2=TENSOR, beta=NUMBER, alpha=NUMBER), tensors=('x', 'vec1', 'vec2'), summary='beta*x + alpha*outer(vec1, vec2)', samples=(([[1.0, 2.0], [3.0, 4.0]], [1.0, -2.0], [0.5, 3.0], 2.0, 0.5),))
_declare.python('addbmm', ('x', 'batch1', 'batch2', 'beta', 'alpha'), parameters=('x', 'batch1', 'batch2', 'beta', 'alpha'), defaults=(1, 1, ), tensors=('x', 'batch1', 'batch2'), kinds={'x': TENSOR, 'batch1': TENSOR, 'batch2': TENSOR, 'beta': NUMBER, 'alpha': NUMBER}, summary='beta*x + alpha times the sum of the products of the matrices in two batches', samples=(([[1.0, 2.0], [3.0, 4.0]], [[[2.0, 0.0], [0.5, 1.5]], [[2.0, 0.5], [0.0, 1.5]]], [[[2.0, 0.5], [0.0, 1.5]], [[2.0, 0.0], [0.5, 1.5]]]),))
