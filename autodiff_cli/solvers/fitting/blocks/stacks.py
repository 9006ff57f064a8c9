"""Factorisations of stacks of small matrices.

Each operation is done for all matrices at once, which is much faster than a LAPACK call for each.  Source: Golub and Van Loan,
"Matrix Computations" (2013), algorithms 3.1.1, 4.2.1 and 5.2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Stack


def triangles(stack: Stack) -> Stack:
    """Return the triangular factor of the QR factorisation of each matrix of a stack.

    Args:
        stack: B matrices of shape (m, n), as an array of shape (B, m, n).

    Returns:
        an array of shape (B, min(m, n), n).
    """
    size = np.abs(stack).max((1, 2), initial=0.0)[:, None, None]
    a = stack / np.where((size > 0) & np.isfinite(size), size, 1.0)
    least = min(a.shape[1:])
    for j in range(least):
        v = a[:, j:, j].copy()
        norm = np.sqrt(np.einsum("bi,bi->b", v, v))
        v[:, 0] += np.where(v[:, 0] > 0, norm, -norm)
        square = np.einsum("bi,bi->b", v, v)
        factor = np.where(square > 0, 2 / np.where(square > 0, square, 1.0), 0.0)
        products = np.einsum("bi,bij->bj", v, a[:, j:, j:]) * factor[:, None]
        a[:, j:, j:] -= v[:, :, None] * products[:, None, :]
    found: Stack = np.triu(a[:, :least]) * np.where(size > 0, size, 1.0)
    return found


def cholesky(matrices: Stack) -> tuple[Stack, Mask]:
    """Return the Cholesky factors of a stack of matrices, and which matrices are positive definite; the others have factor 1."""
    n = matrices.shape[1]
    lower = np.zeros_like(matrices)
    positive = np.ones(len(matrices), bool)
    with np.errstate(all="ignore"):
        for j in range(n):
            column = matrices[:, j:, j] - np.einsum("bik,bk->bi", lower[:, j:, :j], lower[:, j, :j])
            positive &= column[:, 0] > 0
            lower[:, j:, j] = column / np.sqrt(column[:, :1])
    lower[~positive] = np.eye(n)
    return lower, positive


def upper_solve(upper: Stack, right: Stack) -> Stack:
    """Return the solutions of systems with upper triangular matrices, of shape (B, n, n).

    Args:
        upper: the matrices.
        right: the right sides, of shape (B, n) or (B, n, m).
    """
    return lower_solve(upper[:, ::-1, ::-1], right[:, ::-1])[:, ::-1]


def lower_solve(lower: Stack, right: Stack) -> Stack:
    """Return the solutions of systems with lower triangular matrices; see ``upper_solve``."""
    found = np.zeros_like(right)
    more = (slice(None), *[None] * (right.ndim - 2))
    with np.errstate(all="ignore"):
        for i in range(right.shape[1]):
            found[:, i] = (right[:, i] - np.einsum("bj,bj...->b...", lower[:, i, :i], found[:, :i])) / lower[:, i, i][more]
    return found
