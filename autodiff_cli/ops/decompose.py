"""Decompositions of matrices, matrix norms, systems of equations and distances."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.dtypes import DTypeLike
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSIONS, FLAG, NUMBER, TENSOR, TEXT, TYPE, either, optional, takes
from autodiff_cli.autograd.primitives.structural import dimension, where
from autodiff_cli.autograd.primitives.types import Dims, Number, Value
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.comparison import eq
from autodiff_cli.ops.rules.decompose import declare, solve_triangular, svdvals
from autodiff_cli.ops.rules.extremes import amax, amin
from autodiff_cli.ops.rules.matrices import inv, pinv, slogdet
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.reduce import of_type, sum
from autodiff_cli.ops.rules.shape import unsqueeze
from autodiff_cli.ops.views import movedim

_ORDER = either(NUMBER, TEXT)


@declare.described
def matrix_norm(
    x: Value, ord: Number | str | None = "fro", dim: Dims = (-2, -1), keepdim: bool = False, dtype: DTypeLike | None = None
) -> Any:
    x = of_type(x, dtype)
    ndim = len(x.shape)
    if ndim < 2:
        raise ShapeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if not isinstance(dim, (list, tuple)) or len(dim) != 2:
        raise ShapeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    rows, columns = (dimension(d, ndim) for d in dim)
    if rows == columns:
        raise ShapeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(x, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        values = svdvals(movedim(x, (rows, columns), (-2, -1)))
        result = sum(values, -1) if ord == "nuc" else (amax if ord == 2 else amin)(values, -1)
        for d in sorted((rows, columns)) if keepdim else ():
            result = unsqueeze(result, d)
        return result
    if ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(x, 1, summed, True)
    result = (amax if ord > 0 else amin)(sums, (summed, kept), keepdim)
    return result


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


norm_of.__name__ = "linalg.norm"


@declare.described
def cond(x: Value, p: Number | str | None = None) -> Any:
    if len(x.shape) < 2:
        raise ShapeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p in (None, 2, -2):
        values = svdvals(x)
        largest, smallest = getitem(values, (..., 0)), getitem(values, (..., -1))
        return smallest / largest if p == -2 else largest / smallest
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise ArgumentError(f"linalg.cond got an invalid norm type: {p}", hint="use none, 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'")
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"linalg.cond: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices")
    singular = eq(slogdet(x)[0], 0)
    regular = where(unsqueeze(unsqueeze(singular, -1), -1), np.eye(x.shape[-1], dtype=x.dtype), x)
    return where(singular, math.inf, matrix_norm(x, p) * matrix_norm(inv(regular), p))


# Triangular systems, least squares, ranks and distances: functions of matrices that are composed of others.


def _solve_triangular(A: Value, B: Value, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Call ``solve_triangular``; as in PyTorch, the options are keywords and ``upper`` is required."""
    return solve_triangular(A, B, upper, left, unitriangular)


_solve_triangular.__name__ = _solve_triangular.__qualname__ = "linalg.solve_triangular"


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
