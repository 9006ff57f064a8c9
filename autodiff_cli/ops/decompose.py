"""Powers and norms of matrices, and least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.dtypes import DTypeLike
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSIONS, FLAG, NUMBER, TENSOR, TEXT, TYPE, either, optional, takes
from autodiff_cli.autograd.primitives.types import Dims, Number, Value, array_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ShapeError
from autodiff_cli.numerics.matrices import check_matrix
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.decompose import matrix_norm, solve_triangular
from autodiff_cli.ops.rules.matrices import declare, inv, pinv
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.reduce import sum

_ORDER = either(NUMBER, TEXT)


@takes(ord=optional(_ORDER), dim=optional(DIMENSIONS), keepdim=FLAG, dtype=optional(TYPE))
def norm_of(
    x: Value, ord: Number | str | None = None, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None
) -> Any:
    """``torch.linalg.norm``: the 2-norm of all elements without ord, otherwise a vector norm, or a matrix norm over two dims."""
    if ord is None or (dim is None and len(x.shape) == 1) or (dim is not None and not isinstance(dim, (list, tuple))):
        return vector_norm(x, 2 if ord is None else ord, dim, keepdim, dtype)
    if dim is None:
        if len(x.shape) != 2:
            raise ShapeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {len(x.shape)}D.")
        dim = (0, 1)
    return vector_norm(x, ord, dim, keepdim, dtype) if len(dim) == 1 else matrix_norm(x, ord, dim, keepdim, dtype)


def _solve_triangular(A: Value, B: Value, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Call ``solve_triangular``; as in PyTorch, the options are keywords and ``upper`` is required."""
    return solve_triangular(A, B, upper, left, unitriangular)


norm_of.__name__ = "linalg.norm"
_solve_triangular.__name__ = _solve_triangular.__qualname__ = "linalg.solve_triangular"


@declare.described
def matrix_power(x: Value, n: int) -> Any:
    """Product of n factors x, or of -n factors inv(x) for negative n, by repeated squaring."""
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        check_matrix("linalg.matrix_power", array_of(x))
    base = inv(x) if n < 0 else x
    result = None
    for bit in reversed(bin(abs(n))[2:]):  # the binary digits, the lowest first
        if bit == "1":
            result = base if result is None else matmul(result, base)
        base = base if abs(n) < 2 else matmul(base, base)
    return x * 0.0 + np.eye(x.shape[-1], dtype=x.dtype) if result is None else result  # the identity in the graph, for n = 0


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
    if type(A) is not Tensor:  # an array, or a tensor of a transformation, which does not have a rank: the solution alone
        return solution
    rank = np.linalg.matrix_rank(A._data) if rcond is None else np.linalg.matrix_rank(A._data, rtol=rcond)
    empty = tensor_on(np.zeros(0, A._data.dtype))  # as PyTorch: no singular values; residuals if A has full rank and more rows
    fits = rows > columns and bool(np.all(rank == columns))
    left = matmul(A, solution) - B
    residuals = sum(left * left, -2 if len(B.shape) > 1 else -1) if fits else empty
    return LeastSquares(solution, residuals, tensor_on(np.asarray(rank)[()]), empty)
