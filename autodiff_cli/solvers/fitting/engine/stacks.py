"""Stacks of small matrices: linear and quadratic models of many functions at once, and their factorisations.

Each operation is done for all matrices at once, which is much faster than a LAPACK call for each.  Source: Golub and Van Loan,
"Matrix Computations" (2013), algorithms 3.1.1, 4.2.1 and 5.2.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from autodiff_cli.arrays import Indices, Mask, Matrix, Stack, Vector

SMALL = 9_000
"""The number of elements of a matrix that LAPACK factorises at once; libraries use several threads only for larger ones."""


class Linear(NamedTuple):
    """The linear least-squares problem of each of B functions at a point: minimise ``|factor @ step + image|**2 + rest**2``.

    Attributes:
        factor: the triangular factors R of the n columns of the weighted Jacobian matrices, of shape (B, n, n).
        image: the first n elements of Q'r, where r are the weighted residuals, of shape (B, n).
        rest: the norms of the part of r that is orthogonal to the columns: B numbers.
        value: half the sum of the squares, or of the loss: B numbers.
    """

    factor: Stack
    image: Matrix
    rest: Vector
    value: Vector

    @property
    def gradient(self) -> Matrix:
        """The gradients of half the sums of squares, of shape (B, n)."""
        return np.asarray(np.einsum("bij,bi->bj", self.factor, self.image))

    @property
    def norms(self) -> Matrix:
        """The norms of the columns of the Jacobian matrices, of shape (B, n)."""
        squares: Matrix = np.einsum("bij,bij->bj", self.factor, self.factor)
        return np.sqrt(squares)

    @property
    def scaled(self) -> Stack:
        """The triangular factors with columns of norm 1; a column of zeros stays."""
        norms = self.norms
        return self.factor / np.where(norms > 0, norms, 1.0)[:, None, :]

    @property
    def finite(self) -> Mask:
        """Whether all numbers of a problem are finite."""
        return np.asarray(np.isfinite(self.factor.sum((1, 2)) + self.image.sum(1) + self.rest + self.value))

    @property
    def offset(self) -> Vector:
        """The norm of the tangent part of the residuals relative to that of the orthogonal part; inf if only the latter is 0."""
        tangent = np.linalg.norm(self.image, axis=1)
        with np.errstate(all="ignore"):
            return np.where(self.rest > 0, tangent / self.rest, np.where(tangent > 0, np.inf, 0.0))

    def take(self, problems: Indices) -> Linear:
        """Return the problems with these numbers."""
        return Linear(*(part[problems] for part in self))

    def put(self, problems: Indices, others: Linear, where: Mask) -> None:
        """Replace, in place, those of the problems with these numbers for which ``where`` is true, by others."""
        for part, other in zip(self, others, strict=True):
            part[problems[where]] = other[where]

    def restricted(self, free: Mask) -> Linear:
        """Return the problems in which only parameters that are ``free``, of shape (B, n), move: the steps of the others are 0."""
        if free.all():
            return self
        n = free.shape[1]
        # The columns are those of the n parameters and the residuals.  The rows are the factor, the rest, and for each parameter
        # that is not free its unit vector, so that the matrix stays regular.
        rows = np.zeros((len(free), n + 1 + n, n + 1))
        rows[:, :n, :n] = self.factor * free[:, None, :]
        rows[:, :n, n] = self.image
        rows[:, n, n] = self.rest
        rows[:, n + 1 :, :n] = np.eye(n) * ~free[:, None, :]
        return split(triangles(rows), self.value)


class Quadratic(NamedTuple):
    """Functions at a point with their exact derivatives.

    Attributes:
        value: the values: B numbers.
        gradient: the first derivatives, of shape (B, n).
        hessian: the second derivatives, of shape (B, n, n).
    """

    value: Vector
    gradient: Matrix
    hessian: Stack

    @property
    def finite(self) -> Mask:
        """Whether all numbers of a function are finite."""
        return np.asarray(np.isfinite(self.value + self.gradient.sum(1) + self.hessian.sum((1, 2))))

    def newton_steps(self, free: Mask) -> tuple[Matrix, Vector, Mask]:
        """Return Newton steps ``H s = -g`` of free parameters, their norms ``sqrt(s'H s)``, and where H is positive definite."""
        # The rows and columns of parameters that are not free are those of the identity matrix, so that they stay.
        gradient = np.where(free, self.gradient, 0.0)
        are_both_free = free[:, :, None] & free[:, None, :]
        hessian = np.where(are_both_free, self.hessian, np.eye(free.shape[1]))
        diagonal = np.einsum("bii->bi", hessian)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))  # which makes the diagonal 1, so that pivots are comparable
        lower, positive = cholesky(hessian / (scale[:, :, None] * scale[:, None, :]))
        half = lower_solve(lower, -gradient / scale)  # its norm is sqrt(s'H s)
        step = upper_solve(np.swapaxes(lower, 1, 2), half) / scale
        return step, np.linalg.norm(half, axis=1), positive & (diagonal > 0).all(1)


def split(factors: Stack, value: Vector) -> Linear:
    """Return the linear problems from triangular factors of the Jacobian matrices with the residuals as the last column."""
    return Linear(factors[:, :-1, :-1].copy(), factors[:, :-1, -1].copy(), np.abs(factors[:, -1, -1]), value)


def triangle(blocks: Iterable[Matrix], n: int) -> Matrix:
    """Return the triangular factor (n, n) of a tall matrix, given in blocks of rows with n columns, by small QR factorisations.

    The sizes of the factorisations do not depend on the number of threads, and neither do the digits of the result.

    Source: Demmel, Grigori, Hoemmen, Langou, "Communication-optimal parallel and sequential QR and LU factorizations" (2012).
    """
    rows = max(SMALL // n, 2 * n)  # of one factorisation, which leaves n of them: at most half
    factors = [np.zeros((n, n))]
    for block in blocks:
        whole = len(block) - len(block) % rows
        factors += [*triangles(block[:whole].reshape(-1, rows, n)), triangles(block[whole:])]
    while len(factors) > 1:
        count = max(rows // n, 2)  # of the factors that have together about as many rows
        factors = [triangles(np.vstack(factors[i : i + count])) for i in range(0, len(factors), count)]
    return factors[0]


def triangles(stack: Stack) -> Stack:
    """Return the triangular factor of the QR factorisation of each matrix of a stack, of shape (B, min(m, n), n)."""
    return np.asarray(np.linalg.qr(stack, mode="r"))


def cholesky(matrices: Stack) -> tuple[Stack, Mask]:
    """Return the lower Cholesky factors of matrices (B, n, n), and which are positive definite; that of others is the identity."""
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
    # In reverse order of the rows and columns, the matrix is lower triangular.
    return lower_solve(upper[:, ::-1, ::-1], right[:, ::-1])[:, ::-1]


def lower_solve(lower: Stack, right: Stack) -> Stack:
    """Return the solutions of systems with lower triangular matrices by forward substitution; see ``upper_solve``."""
    solution = np.zeros_like(right)
    with np.errstate(all="ignore"):
        for i in range(right.shape[1]):
            known = np.einsum("bj,bj...->b...", lower[:, i, :i], solution[:, :i])
            pivots = lower[:, i, i].reshape(-1, *[1] * (right.ndim - 2))  # one for all m right sides of a matrix
            solution[:, i] = (right[:, i] - known) / pivots
    return solution
