"""Eigenvalues, singular values and orthogonal factors of matrices in batches; matrix norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DTypeLike
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSIONS, FLAG, NUMBER, TEXT, TYPE, either, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Dims, Number, Value
from autodiff_cli.errors import ArgumentError, GraphError, ShapeError
from autodiff_cli.limits import check_size
from autodiff_cli.ops.arrange import diag_embed
from autodiff_cli.ops.comparison import eq, where
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.determinants import slogdet
from autodiff_cli.ops.extremes import amax, amin
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.matrices import check_matrix, converged, inv, mT, solve, symmetric
from autodiff_cli.ops.norms import vector_norm
from autodiff_cli.ops.reduce import of_type, sum
from autodiff_cli.ops.shape import cat, unsqueeze
from autodiff_cli.ops.views import movedim

__all__ = ["cond", "eigh", "eigvalsh", "matrix_norm", "matrix_rank", "qr", "svd", "svdvals"]

declare = Declarations(__name__)

_A = [[2.0, 1.0], [0.5, 3.0]]
_TALL, _WIDE = [[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]], [[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]]
_BATCH = [_A, [[1.0, -2.0], [0.7, 0.4]]]


def _gaps(values: Value) -> Any:
    """Return the differences of all pairs of values, with 1 on the diagonal to avoid division by zero."""
    eye = np.eye(values.shape[-1], dtype=values.dtype)
    return unsqueeze(values, -2) - unsqueeze(values, -1) + eye


def _off_diagonal(x: Value) -> Any:
    n = x.shape[-1]
    return x * (1 - np.eye(n, dtype=x.dtype))


def _eigh(x: Array) -> Any:
    check_matrix("linalg.eigh", x)
    return converged("linalg.eigh", np.linalg.eigh, symmetric(x))


def _eigh_vjp(g: list[Any], eigenvalues: Value, eigenvectors: Value) -> Any:
    inner: Any = None if g[0] is None else diag_embed(g[0])
    if g[1] is not None:
        turned = _off_diagonal(matmul(mT(eigenvectors), g[1])) / _gaps(eigenvalues)
        inner = turned if inner is None else inner + turned
    return symmetric(matmul(eigenvectors, matmul(inner, mT(eigenvectors))))


_EIGEN: dict[str, Any] = {
    "domain": "x is symmetric",
    "convention": "only the symmetric part of x is used, and the derivative is symmetric",
}
eigh: TensorFunction = declare.several(
    "eigh",
    _eigh,
    _eigh_vjp,
    results=("eigenvalues", "eigenvectors"),
    node="LinalgEighBackward0",
    summary="eigenvalues of a symmetric matrix in ascending order, and eigenvectors as columns",
    formula="V @ (diag(gL) + (V.mT @ gV)/gaps) @ V.mT, with gaps[i, j] = L[j] - L[i]",
    smooth="no two eigenvalues are equal",
    samples=((_A,), (_BATCH,)),
    **_EIGEN,
)


def eigvalsh(x: Value) -> Any:
    """Eigenvalues of a symmetric matrix in ascending order."""
    return eigh(x)[0]


describe(
    eigvalsh,
    formula="V @ diag(g) @ V.mT",
    smooth="no two eigenvalues are equal",
    samples=((_A,), (_BATCH,)),
    **_EIGEN,
)

# Singular values


def _svd(x: Array, full_matrices: bool) -> Any:
    check_matrix("linalg.svd", x, square=False)
    if full_matrices:
        for length in x.shape[-2:]:
            check_size((*x.shape[:-2], length, length))
    return converged("linalg.svd", np.linalg.svd, x, bool(full_matrices))


def _skew(x: Value) -> Any:
    return x - mT(x)


def _across(basis: Value, x: Value) -> Any:
    """Return the part of ``x`` that is orthogonal to the columns of ``basis``."""
    return x - matmul(basis, matmul(mT(basis), x))


def _svd_vjp(g: list[Any], U: Value, S: Value, Vh: Value, full_matrices: bool) -> Any:
    k = S.shape[-1]
    if full_matrices and U.shape[-2] != Vh.shape[-1]:
        # Singular vectors without a singular value are neither unique nor differentiable, so their cotangents are ignored, as in
        # PyTorch.
        U, Vh = getitem(U, (..., slice(0, k))), getitem(Vh, (..., slice(0, k), slice(None)))
        g = [
            None if g[0] is None else getitem(g[0], (..., slice(0, k))),
            g[1],
            None if g[2] is None else getitem(g[2], (..., slice(0, k), slice(None))),
        ]
    row, column, v = unsqueeze(S, -2), unsqueeze(S, -1), mT(Vh)
    squares = _gaps(S * S)
    inner: Any = None if g[1] is None else diag_embed(g[1])
    extra = None
    if g[0] is not None:
        turned = _off_diagonal(_skew(matmul(mT(U), g[0]))) / squares * row
        inner = turned if inner is None else inner + turned
        if U.shape[-2] > k:
            extra = matmul(_across(U, g[0]) / row, Vh)
    if g[2] is not None:
        turned = _off_diagonal(_skew(matmul(Vh, mT(g[2])))) / squares * column
        inner = turned if inner is None else inner + turned
        if Vh.shape[-1] > k:
            beside = matmul(U, mT(_across(v, mT(g[2])) / row))
            extra = beside if extra is None else extra + beside
    total = matmul(U, matmul(inner, Vh))
    return total if extra is None else total + extra


svd: TensorFunction = declare.several(
    "svd",
    _svd,
    _svd_vjp,
    results=("U", "S", "Vh"),
    node="LinalgSvdBackward0",
    statics={"full_matrices": True},
    kinds={"full_matrices": FLAG},
    summary="U, S and Vh with x = U @ diag(S) @ Vh and S in descending order; full_matrices=false gives the reduced form",
    formula="U @ diag(g) @ Vh for S alone",
    smooth="no two singular values are equal, and no singular value is 0 if x is not square",
    convention="LAPACK determines the signs of the vectors",
    samples=((_A,), (_BATCH,), (_TALL, False), (_WIDE, False)),
)


def svdvals(x: Value) -> Any:
    """Singular values of a matrix in descending order."""
    return svd(x, False)[1]


describe(
    svdvals,
    formula="U @ diag(g) @ Vh",
    smooth="no two singular values are equal, and no singular value is 0",
    samples=((_A,), (_BATCH,), (_TALL,), (_WIDE,)),
)

# Orthogonal and triangular factors


def _qr(x: Array, mode: str) -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    check_matrix("linalg.qr", x, square=False)
    if mode == "complete":
        check_size((*x.shape[:-1], x.shape[-2]))
    with np.errstate(all="ignore"):
        return (
            (np.zeros(0, x.dtype), np.linalg.qr(x, "r"))
            if mode == "r"
            else np.linalg.qr(x, "complete" if mode == "complete" else "reduced")
        )


def _qr_vjp(g: list[Any], x: Value, Q: Value, R: Value, mode: str) -> Any:
    rows, columns = x.shape[-2:]
    if mode == "r":
        raise GraphError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
            "Please use linalg.qr(A, mode='reduced') if you are going to require gradients through Q."
        )
    if mode == "complete" and rows > columns:
        raise GraphError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    g_q = zeros_like(Q) if g[0] is None else g[0]
    g_r = zeros_like(R) if g[1] is None else g[1]
    if columns <= rows:
        return _tall_slope(g_q, g_r, Q, R)
    # Beyond the square part, the columns of x are Q times the corresponding columns of R.
    left, right = (..., slice(0, rows)), (..., slice(rows, None))
    beside = getitem(g_r, right)
    g_q = g_q + matmul(getitem(x, right), mT(beside))
    return cat([_tall_slope(g_q, getitem(g_r, left), Q, getitem(R, left)), matmul(Q, beside)], -1)


def _tall_slope(g_q: Value, g_r: Value, q: Value, r: Value) -> Any:
    n = r.shape[-1]
    inner = matmul(r, mT(g_r)) - matmul(mT(g_q), q)
    lower = np.tri(n, dtype=r.dtype)
    mirrored = inner * lower + mT(inner * np.tri(n, k=-1, dtype=r.dtype))
    return mT(solve(r, mT(g_q + matmul(q, mirrored))))


qr: TensorFunction = declare.several(
    "qr",
    _qr,
    _qr_vjp,
    results=("Q", "R"),
    node="LinalgQrBackward0",
    statics={"mode": "reduced"},
    kinds={"mode": TEXT},
    summary="Q with orthonormal columns and upper triangular R with x = Q @ R",
    formula="(gQ + Q @ M) @ inv(R).mT, with M the symmetric matrix that has the lower triangle of R @ gR.mT - gQ.mT @ Q",
    smooth="the first columns of x are linearly independent",
    convention="LAPACK determines the signs of Q and R",
    samples=((_A,), (_BATCH,), (_TALL,), (_WIDE,)),
)

# Matrix norms

_ORDER = either(NUMBER, TEXT)


@takes(ord=_ORDER, dim=DIMENSIONS, keepdim=FLAG, dtype=optional(TYPE))
def matrix_norm(
    x: Value, ord: Number | str | None = "fro", dim: Dims = (-2, -1), keepdim: bool = False, dtype: DTypeLike | None = None
) -> Any:
    """Norm of a matrix: 'fro', 'nuc', 1 or -1 (column sums), inf or -inf (row sums), 2 or -2 (singular values)."""
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
        found = sum(values, -1) if ord == "nuc" else (amax if ord == 2 else amin)(values, -1)
        for d in sorted((rows, columns)) if keepdim else ():
            found = unsqueeze(found, d)
        return found
    if ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(x, 1, summed, True)
    found = (amax if ord > 0 else amin)(sums, (summed, kept), keepdim)
    return found


describe(
    matrix_norm,
    formula="x/norm(x) for 'fro', U @ Vh for 'nuc'",
    smooth="the extreme column sum, row sum or singular value is unique and not 0",
    samples=tuple((_WIDE, ord) for ord in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)),
)


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


@takes()
def cond(x: Value, p: Number | str | None = None) -> Any:
    """Condition number norm(x, p)*norm(inv(x), p); without p, the quotient of the extreme singular values."""
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


describe(
    cond,
    kinds={"p": optional(either(NUMBER, TEXT))},
    domain="x is a matrix; square unless p is none, 2 or -2",
    smooth="the extreme singular values are unique and not 0; for other p, as for matrix_norm",
    samples=tuple((_A, p) for p in (None, -2, "fro", "nuc", 1, math.inf)),
)

_rank: TensorFunction = declare(
    "matrix_rank",
    lambda x, atol, rtol, hermitian: _ranks(x, atol, rtol, hermitian),
    {"x": None},
    statics={"atol": None, "rtol": None, "hermitian": False},
    public=False,
)


def _ranks(x: Array, atol: float | None, rtol: float | None, hermitian: bool) -> Any:
    if x.ndim < 2:
        raise ShapeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if not x.size:
        return np.zeros(x.shape[:-2], np.int64)[()]
    check_matrix("linalg.matrix_rank", x, square=hermitian)
    sizes = np.abs(np.linalg.eigvalsh(x)) if hermitian else np.linalg.svd(x, compute_uv=False)
    if rtol is None:
        rtol = 0.0 if atol else float(np.finfo(x.dtype).eps) * max(x.shape[-2:])
    limit = np.maximum(atol or 0.0, rtol * sizes.max(-1, keepdims=True))
    return np.count_nonzero(sizes > limit, axis=-1)


@takes(tol=optional(NUMBER), hermitian=FLAG, atol=optional(NUMBER), rtol=optional(NUMBER))
def matrix_rank(
    x: Value, tol: float | None = None, hermitian: bool = False, *, atol: float | None = None, rtol: float | None = None
) -> Any:
    """Number of singular values above tol, or above the larger of atol and rtol times the largest singular value."""
    return _rank(x, atol, rtol, hermitian) if tol is None else _rank(x, tol, 0.0, hermitian)


describe(matrix_rank, parameters=("x", "tol", "hermitian", "atol", "rtol"), defaults=(None, False, None, None))
