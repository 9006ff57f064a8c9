"""Triangular systems, least squares, ranks and distances: functions of matrices that are composed of others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, TENSOR, TEXT, optional, takes
from autodiff_cli.autograd.primitives.types import Number, Value
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import GraphError, ShapeError
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.arrange import tril, triu
from autodiff_cli.ops.rules.matrices import inv, pinv, solve
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.reduce import sum
from autodiff_cli.ops.rules.shape import transpose, unsqueeze
from autodiff_cli.ops.rules.systems import described, scaled

__all__ = ["addbmm", "cdist", "cholesky_inverse", "cholesky_solve", "solve_triangular"]


def _check_square(name: str, A: Value) -> None:
    if len(A.shape) < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(f"{name}: A must be batches of square matrices, but they are {list(A.shape)} in size")


@described
def solve_triangular(A: Value, B: Value, upper: bool = True, left: bool = True, unitriangular: bool = False) -> Any:
    _check_square("linalg.solve_triangular", A)
    if len(B.shape) < 2:
        raise ShapeError(f"linalg.solve_triangular: B must have at least two dimensions, but it has {len(B.shape)}")
    kept = triu(A, int(unitriangular)) if upper else tril(A, -int(unitriangular))
    if unitriangular:
        kept = kept + np.eye(A.shape[-1])
    return solve(kept, B) if left else transpose(solve(transpose(kept), transpose(B)))


def _solve_triangular(A: Value, B: Value, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Call ``solve_triangular``; as in PyTorch, the options are keywords and ``upper`` is required."""
    return solve_triangular(A, B, upper, left, unitriangular)


_solve_triangular.__name__ = _solve_triangular.__qualname__ = "linalg.solve_triangular"


@described
def cholesky_solve(B: Value, L: Value, upper: bool = False) -> Any:
    _check_square("cholesky_solve", L)
    if upper:
        return solve_triangular(L, solve_triangular(transpose(L), B, False))
    return solve_triangular(transpose(L), solve_triangular(L, B, False))


@described
def cholesky_inverse(L: Value, upper: bool = False) -> Any:
    _check_square("cholesky_inverse", L)
    factor = inv(triu(L) if upper else tril(L))
    return matmul(factor, transpose(factor)) if upper else matmul(transpose(factor), factor)


class LeastSquares(NamedTuple):
    """The result of ``lstsq``."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@takes(A=TENSOR, B=TENSOR, rcond=optional(NUMBER), driver=optional(TEXT))
def lstsq(A: Value, B: Value, rcond: Number | None = None, driver: str | None = None) -> Any:
    """The X that minimizes the norm of A @ X - B, with the squares of the residuals, the rank and the singular values."""
    if len(A.shape) < 2 or len(B.shape) < 1 or A.shape[-2] != B.shape[-2 if len(B.shape) > 1 else -1]:
        raise ShapeError(
            f"linalg.lstsq: the shapes {list(A.shape)} and {list(B.shape)} do not fit", hint="B has a row for each row of A"
        )
    solution = matmul(pinv(A, rcond), B)
    rows, columns = A.shape[-2:]
    if not isinstance(A, Tensor) or type(A) is not Tensor:
        return solution
    rank = np.linalg.matrix_rank(A._data) if rcond is None else np.linalg.matrix_rank(A._data, rtol=rcond)
    empty = tensor_on(np.zeros(0, A._data.dtype))
    fits = rows > columns and bool(np.all(rank == columns))
    left = matmul(A, solution) - B
    residuals = sum(left * left, -2 if len(B.shape) > 1 else -1) if fits else empty
    return LeastSquares(solution, residuals, tensor_on(np.asarray(rank)[()]), empty)


@described
def cdist(x1: Value, x2: Value, p: Number = 2.0, compute_mode: str | None = None) -> Any:
    for name, rows in (("X1", x1), ("X2", x2)):
        if len(rows.shape) < 2:
            raise GraphError(f"cdist only supports at least 2D tensors, {name} got: {len(rows.shape)}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise GraphError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise GraphError("cdist only supports non-negative p values")
    return vector_norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p, -1)


@described
def addbmm(x: Value, batch1: Value, batch2: Value, beta: Number = 1, alpha: Number = 1) -> Any:
    if len(batch1.shape) != 3 or len(batch2.shape) != 3:
        raise ShapeError("batch1 and batch2 must be 3D tensors")
    return scaled(x, beta) + scaled(sum(matmul(batch1, batch2), 0), alpha)
