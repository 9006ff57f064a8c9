"""The interface between a sum of squares and the methods that minimise it.

The methods see sums over the rows, never the rows themselves, so the memory that they need does not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Matrix, Vector


SMALL = 9_000
"""The number of elements of a matrix that LAPACK factorises at once; libraries use several threads only for larger ones."""


class Linear(NamedTuple):
    """The linear least-squares problem at a point: minimise ``|factor @ step + image|**2 + rest**2``.

    Attributes:
        factor: the triangular factor R of the n columns of the weighted Jacobian, of shape (n, n).
        image: the first n elements of Q'r, where r are the weighted residuals.
        rest: the norm of the part of r that is orthogonal to the columns.
    """

    factor: Matrix
    image: Vector
    rest: float

    @property
    def gradient(self) -> Vector:
        """The gradient of half the sum of squares: n numbers."""
        found: Vector = np.einsum("ij,i->j", self.factor, self.image)
        return found

    @property
    def norms(self) -> Vector:
        """The norms of the columns of the Jacobian."""
        found: Vector = np.sqrt(np.einsum("ij,ij->j", self.factor, self.factor))
        return found

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        return bool(np.isfinite(self.rest) and np.isfinite(self.factor).all() and np.isfinite(self.image).all())

    def of(self, free: NDArray[np.bool_]) -> Linear:
        """Return the problem in which only some parameters are free."""
        if free.all():
            return self
        columns = np.column_stack([self.factor[:, free], self.image])
        below = np.zeros((1, columns.shape[1]))
        below[0, -1] = self.rest
        return split(triangle([np.vstack([columns, below])], columns.shape[1]))


class Quadratic(NamedTuple):
    """The objective S at a point with its exact derivatives.

    Attributes:
        value: S.
        gradient: the n first derivatives.
        hessian: the second derivatives, of shape (n, n).
    """

    value: float
    gradient: Vector
    hessian: Matrix

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        return bool(np.isfinite(self.value) and np.isfinite(self.gradient).all() and np.isfinite(self.hessian).all())


class Objective(Protocol):
    """Half a sum of squares S(p), or a robust replacement of it, as a function of n parameters."""

    def value(self, p: Vector) -> float:
        """Return S."""

    def linear(self, p: Vector) -> Linear:
        """Return the linear problem at a point."""

    def along(self, p: Vector, direction: Vector) -> Vector:
        """Return J'a, where a is the second derivative of the weighted residuals in a direction: n numbers."""

    def quadratic(self, p: Vector) -> Quadratic:
        """Return S with its exact gradient and Hessian."""


def triangle(blocks: Iterable[Matrix], n: int) -> Matrix:
    """Return the triangular factor of a tall matrix, given in blocks of rows, by a tree of small QR factorisations.

    The sizes of the factorisations do not depend on the number of threads, and neither do the digits of the result.

    Args:
        blocks: matrices with n columns.
        n: the number of columns.

    Source: Demmel, Grigori, Hoemmen, Langou, "Communication-optimal parallel and sequential QR and LU factorizations" (2012).
    """
    rows = max(SMALL // n, 2 * n)
    total = np.zeros((0, n))
    for block in blocks:
        left = block
        while len(left) > rows:
            whole = len(left) // rows * rows
            factors = _factor(left[:whole].reshape(-1, rows, n))
            left = np.vstack([factors.reshape(-1, n), left[whole:]])
        total = _factor(np.vstack([total, left]))
    return np.vstack([total, np.zeros((n - len(total), n))])


def _factor(matrix: Matrix) -> Matrix:
    """Return the triangular factor of a matrix, or of each matrix of a stack."""
    found = np.linalg.qr(matrix, mode="r")
    assert isinstance(found, np.ndarray)
    return found


def split(factor: Matrix) -> Linear:
    """Return the linear problem from the triangular factor of the Jacobian with the residuals as its last column."""
    return Linear(factor[:-1, :-1], factor[:-1, -1], abs(float(factor[-1, -1])))
