"""The VJP rules of factorizations of matrices; the cotangents of unused results are ``None``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.errors import GraphError
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.indexing import getitem
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.arrange import diag_embed
from autodiff_cli.ops.rules.matrices import mT, solve, symmetric
from autodiff_cli.ops.rules.shape import cat, unsqueeze


def _gaps(values: Value) -> Any:
    """Return the differences of all pairs of values, with 1 on the diagonal to avoid division by zero."""
    eye = np.eye(values.shape[-1], dtype=values.dtype)
    return unsqueeze(values, -2) - unsqueeze(values, -1) + eye


def _off_diagonal(x: Value) -> Any:
    n = x.shape[-1]
    return x * (1 - np.eye(n, dtype=x.dtype))


def eigh_by_x(g: list[Any], eigenvalues: Value, eigenvectors: Value) -> Any:
    """Return the cotangent of a matrix from those of the results of ``eigh``."""
    inner: Any = None if g[0] is None else diag_embed(g[0])
    if g[1] is not None:
        turned = _off_diagonal(matmul(mT(eigenvectors), g[1])) / _gaps(eigenvalues)
        inner = turned if inner is None else inner + turned
    return symmetric(matmul(eigenvectors, matmul(inner, mT(eigenvectors))))


def _skew(x: Value) -> Any:
    return x - mT(x)


def _across(basis: Value, x: Value) -> Any:
    """Return the part of ``x`` that is orthogonal to the columns of ``basis``."""
    return x - matmul(basis, matmul(mT(basis), x))


def svd_by_x(g: list[Any], U: Value, S: Value, Vh: Value, full_matrices: bool) -> Any:
    """Return the cotangent of a matrix from those of the results of ``svd``."""
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


def qr_by_x(g: list[Any], x: Value, Q: Value, R: Value, mode: str) -> Any:
    """Return the cotangent of a matrix from those of the results of ``qr``."""
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
