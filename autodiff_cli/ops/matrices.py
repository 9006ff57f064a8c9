"""Inverses, linear equations, the Cholesky factor and functions of square matrices, in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DTypeLike, torch_type
from autodiff_cli.autograd.primitives.argument_kinds import FLAG, NUMBER, TENSOR, WHOLE, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Shape, Value, array_of
from autodiff_cli.errors import DtypeError, LinAlgError, ShapeError
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.shape import cat, transpose, unsqueeze

__all__ = [
    "cholesky",
    "inv",
    "matrix_exp",
    "matrix_power",
    "pinv",
    "solve",
]

declare = Declarations(__name__)

A = [[2.0, 1.0], [0.5, 3.0]]
BATCH = [A, [[1.0, -2.0], [0.7, 0.4]]]
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
SQUARE: dict[str, Any] = {"domain": "x is not singular", "samples": ((A,), (BATCH,))}


def mT(x: Value) -> Any:
    """Transpose each matrix."""
    return transpose(x, -2, -1)


def check_matrix(name: str, x: Array, square: bool = True) -> None:
    """Raise PyTorch's error if an argument does not consist of matrices of floating-point numbers.

    Raises:
        ShapeError: if there are fewer than two dimensions, or if ``square`` is true and the matrices are not square.
        DtypeError: if the elements are not floating-point numbers.
    """
    if x.ndim < 2:
        raise ShapeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices")
    if x.dtype.kind != "f":
        raise DtypeError(f"{name}: Expected a floating point or complex tensor as input. Got {torch_type(x.dtype).scalar_name}")


def converged(name: str, function: Callable[..., Any], x: Array, *rest: object) -> Any:
    """Run an iterative LAPACK routine, unless its input contains nan or infinity, for which it may not terminate.

    Raises:
        LinAlgError: if the input contains nan or infinity, or if the routine does not converge.
    """
    reason = "is ill-conditioned"
    try:
        if np.all(np.isfinite(x)):
            with np.errstate(all="ignore"):
                return function(x, *rest)
        reason = "contained non-finite values"
    except np.linalg.LinAlgError:
        pass
    raise LinAlgError(f"{name}: The algorithm failed to converge because the input matrix {reason}.")


def _zero_pivot(matrix: Array) -> int:
    """Return the number of the first zero pivot of Gaussian elimination, counted from 1, or 0 if every pivot is nonzero."""
    rows = np.array(matrix)
    for k in range(len(rows)):
        best = k + int(np.argmax(np.abs(rows[k:, k])))
        if rows[best, k] == 0:
            return k + 1
        rows[[k, best]] = rows[[best, k]]
        rows[k + 1 :] -= np.outer(rows[k + 1 :, k] / rows[k, k], rows[k])
    return 0


def _at_fault(name: str, x: Array, find: Callable[[Array], int]) -> tuple[str, int]:
    """Return the prefix of PyTorch's message for the first faulty matrix of a batch, and the result of ``find`` for this matrix."""
    for i, matrix in enumerate(x.reshape(-1, *x.shape[-2:])):
        found = find(matrix)
        if found:
            return (f"{name}: (Batch element {i}):" if x.ndim > 2 else f"{name}:"), found
    return f"{name}:", x.shape[-1]


@np.errstate(all="ignore")
def _inv(x: Array) -> Any:
    check_matrix("linalg.inv", x)
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        where_, k = _at_fault("linalg.inv", x, _zero_pivot)
        raise LinAlgError(
            f"{where_} The diagonal element {k} is zero, the inversion could not be completed because the input matrix is "
            "singular.",
            hint="use pinv(x) for the pseudo-inverse",
        ) from None


inv: TensorFunction = declare(
    "inv",
    _inv,
    {"x": lambda g, out: -matmul(mT(out), matmul(g, mT(out)))},
    node="LinalgInvExBackward0",
    aliases=("inverse",),
    summary="inverse of each matrix",
    formula="-inv(x).mT @ g @ inv(x).mT",
    **SQUARE,
)

# Linear equations


def is_vector(a_shape: Shape, b_shape: Shape) -> bool:
    """Return whether the right-hand side consists of vectors according to PyTorch's rule."""
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1]))


def _solve(a: Array, b: Array) -> Any:
    check_matrix("linalg.solve", a)
    vector = is_vector(a.shape, b.shape)
    right = b[..., None] if vector else b
    if right.ndim < 2 or right.shape[-2] != a.shape[-1]:
        shown = f"{right.shape[-2]}x{right.shape[-1]}" if right.ndim > 1 else "a number"
        raise ShapeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({a.shape[-2]}x{a.shape[-1]} and {shown})"
        )
    try:
        with np.errstate(all="ignore"):
            out = np.linalg.solve(a, right)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "torch.linalg.solve: The solver failed because the input matrix is singular.",
            hint="use pinv(A) @ b for a least-squares solution",
        ) from None
    return out[..., 0] if vector else out


def _solve_matrix_vjp(g: Value, x: Value, out: Value) -> Any:
    right = solve(mT(x), g)
    if is_vector(x.shape, g.shape):
        return -unsqueeze(right, -1) * unsqueeze(out, -2)
    return -matmul(right, mT(out))


_solve_left: TensorFunction = declare(
    "solve",
    _solve,
    {"x": _solve_matrix_vjp, "y": lambda g, x: solve(mT(x), g)},
    node="LinalgSolveExBackward0",
    public=False,
)


@takes(A=TENSOR, B=TENSOR, left=FLAG)
def solve(A: Value, B: Value, left: bool = True) -> Any:
    """Solution X of A @ X = B for a vector or matrix B, or of X @ A = B with left=false."""
    return _solve_left(A, B) if left else mT(_solve_left(mT(A), mT(B)))


describe(
    solve,
    formula="-solve(A.mT, g) @ X.mT, solve(A.mT, g)",
    domain="A is not singular",
    samples=((A, [1.0, -2.0]), (A, SINGULAR), (BATCH, [SINGULAR, A]), (A, SINGULAR, False), (BATCH, [1.0, 2.0])),
)

# Factors and functions


def symmetric(x: Value) -> Any:
    """Return the symmetric part of each matrix."""
    return (x + mT(x)) / 2


def _first_indefinite(matrix: Array) -> int:
    """Return the order of the first leading minor that is not positive definite, or 0 if all are positive definite."""
    for k in range(1, len(matrix) + 1):
        try:
            np.linalg.cholesky(matrix[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return 0


def _cholesky(x: Array) -> Any:
    check_matrix("linalg.cholesky", x)
    x = symmetric(x)
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        where_, k = _at_fault("linalg.cholesky", x, _first_indefinite)
        raise LinAlgError(
            f"{where_} The factorization could not be completed because the input is not positive-definite "
            f"(the leading minor of order {k} is not positive-definite)."
        ) from None


def _half_lower(n: int, dtype: DTypeLike) -> Any:
    """Return the matrix of factors 1 below the diagonal, 1/2 on the diagonal and 0 above the diagonal."""
    return (np.tri(n, dtype=dtype) - np.eye(n, dtype=dtype) / 2).astype(dtype)


def _cholesky_vjp(g: Value, out: Value) -> Any:
    lower = matmul(mT(out), g) * _half_lower(out.shape[-1], out.dtype)
    return symmetric(solve(mT(out), mT(solve(mT(out), mT(lower)))))


_cholesky_lower: TensorFunction = declare(
    "cholesky", _cholesky, {"x": _cholesky_vjp}, node="LinalgCholeskyExBackward0", public=False
)


@takes(x=TENSOR, upper=FLAG)
def cholesky(x: Value, upper: bool = False) -> Any:
    """Lower triangular L with L @ L.mT = x, or its transpose with upper=true."""
    return mT(_cholesky_lower(x)) if upper else _cholesky_lower(x)


_P = [[4.0, 1.0], [1.0, 3.0]]
describe(
    cholesky,
    formula="the symmetric part of inv(L).mT @ P @ inv(L), P the lower triangle of L.mT @ g with half of its diagonal",
    domain="x is symmetric and positive definite",
    convention="only the symmetric part of x is used, and the derivative is symmetric (PyTorch)",
    samples=((_P,), ([_P, [[2.0, -0.5], [-0.5, 1.0]]],), (_P, True)),
)


def _pinv(x: Array, rtol: float | None) -> Any:
    check_matrix("linalg.pinv", x, square=False)
    if not x.size:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    return converged("linalg.pinv", np.linalg.pinv, x, max(x.shape[-2:]) * np.finfo(x.dtype).eps if rtol is None else rtol)


def _pinv_vjp(g: Value, x: Value, out: Value) -> Any:
    p = mT(out)
    rows = matmul(mT(g), matmul(out, p))
    columns = matmul(matmul(p, out), mT(g))
    first = rows - matmul(x, matmul(out, rows))
    return first + columns - matmul(matmul(columns, out), x) - matmul(p, matmul(g, p))


pinv: TensorFunction = declare(
    "pinv",
    _pinv,
    {"x": _pinv_vjp},
    node="LinalgPinvBackward0",
    statics={"rtol": None},
    kinds={"rtol": optional(NUMBER)},
    aliases=("pinverse",),
    summary="pseudo-inverse of each matrix",
    formula="-P.mT @ g @ P.mT + (I - x @ P) @ g.mT @ P @ P.mT + P.mT @ P @ g.mT @ (I - P @ x) with P = pinv(x)",
    smooth="the rank of x does not change",
    samples=((A,), ([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]],), ([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]],)),
)


@takes(x=TENSOR, n=WHOLE)
def matrix_power(x: Value, n: int) -> Any:
    """Product of n factors x, or of -n factors inv(x) for negative n."""
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        check_matrix("linalg.matrix_power", array_of(x))
    base = inv(x) if n < 0 else x
    result = None
    for bit in reversed(bin(abs(n))[2:]):
        if bit == "1":
            result = base if result is None else matmul(result, base)
        base = base if abs(n) < 2 else matmul(base, base)
    return x * 0.0 + np.eye(x.shape[-1], dtype=x.dtype) if result is None else result


describe(matrix_power, tensors=("x",), domain="n >= 0, or x is not singular", samples=((A, 3), (BATCH, 2), (A, -2), (A, 0)))

_expm = from_scipy("expm", "linalg")


def _exponential(x: Array) -> Any:
    check_matrix("linalg.matrix_exp", x)
    if not x.size:
        return x
    return np.asarray(_expm(x)).astype(x.dtype, copy=False)


def _exponential_vjp(g: Value, x: Value) -> Any:
    # The upper right block of exp([[x.mT, g], [0, x.mT]]) is the cotangent of x.
    n, t = x.shape[-1], mT(x)
    block = cat([cat([t, g], -1), cat([zeros_like(g), t], -1)], -2)
    return getitem(matrix_exp(block), (..., slice(0, n), slice(n, None)))


matrix_exp: TensorFunction = declare(
    "matrix_exp",
    _exponential,
    {"x": _exponential_vjp},
    node="LinalgMatrixExpBackward0",
    aliases=("expm",),
    summary="exponential of each matrix: I + x + x @ x/2 + ...",
    formula="the upper right block of matrix_exp([[x.mT, g], [0, x.mT]])",
    samples=((A,), (BATCH,)),
)
