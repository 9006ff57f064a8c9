"""Sums of squares of parameters that all rows share, minimised over further parameters of each block of rows.

The blocks are eliminated as in variable projection: at given shared parameters, each block is minimised over its own parameters,
and the function of the shared ones that remains has exact derivatives.  Its Hessian is the Schur complement of the blocks in the
Hessian of all parameters, and its Jacobian is what a QR factorisation leaves of the shared columns.  The cost is linear in the
number of blocks.  Source: Golub and Pereyra, "Separable nonlinear least squares: the variable projection method and its
applications" (2003); Boggs, Byrd and Schnabel, "A stable and efficient algorithm for nonlinear orthogonal distance regression"
(1987).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.solvers.fitting.blocks.batch import Batch, Linears, Prior
from autodiff_cli.solvers.fitting.blocks.many import NOT_FINITE, Descent
from autodiff_cli.solvers.fitting.blocks.stacks import cholesky, lower_solve, upper_solve
from autodiff_cli.solvers.fitting.engine.loss import Loss
from autodiff_cli.solvers.fitting.engine.minimize import Box
from autodiff_cli.solvers.fitting.engine.objective import Linear, Quadratic, split, triangle
from autodiff_cli.solvers.fitting.engine.proof import SINGULAR
from autodiff_cli.solvers.fitting.least_squares import LeastSquares
from autodiff_cli.solvers.fitting.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Matrix, Stack, Vector

    Numbers = NDArray[np.intp]

MOST_INNER = 200
"""The maximum number of steps of a block at given shared parameters."""


class Eliminated(NamedTuple):
    """The blocks of a linear problem after the elimination of their own k parameters.

    Attributes:
        own: the triangular factors of the own parameters, of shape (B, k, k).
        across: the coefficients of the s shared parameters in the same rows, of shape (B, k, s).
        below: what is left of the shared columns and of the residuals, of shape (B, s + 1, s + 1); a shared column of which only
            rounding errors are left is 0.
    """

    own: Stack
    across: Stack
    below: Stack


class Reduced(LeastSquares):
    """A sum of squares as a function of the s shared parameters, at the minimum over the k parameters of each block.

    Args:
        model: the residuals, whose parameters are the k own ones and then the s shared ones.
        own: the residuals as a function of the own parameters alone; its columns are to be completed by the shared parameters.
        sizes: the number of rows of each of the B blocks.
        start: the first values of the own parameters, of shape (B, k); without a prior, the next ones are those of the best point.
        box: the bounds of the own parameters.
        scale: the factor of each residual; 1 by default.
        loss: the loss function; by default, ``u**2/2``.
        prior: additional residuals of the own parameters.
    """

    def __init__(
        self,
        model: Model,
        own: Model,
        sizes: Numbers,
        start: Matrix,
        box: Box,
        scale: Vector | None = None,
        loss: Loss | None = None,
        prior: Prior | None = None,
    ) -> None:
        super().__init__(model, scale, loss)
        self._all = Batch(model, sizes, scale, loss, prior)
        self._model, self._sizes, self._box, self._prior = own, sizes, box, prior
        self._start, self._own = start, start
        self._values = np.full(len(sizes), np.inf)
        self._at: bytes | None = None
        self._least = np.inf

    def own(self, p: Vector) -> Matrix:
        """Return the own parameters of the blocks at the minimum for given shared parameters, of shape (B, k)."""
        if self._at != p.tobytes():
            self.evaluations += 1
            with np.errstate(all="ignore"):
                found = Descent(self._batch(p), self._start, self._box, MOST_INNER).run()
            failed = (found.ended == NOT_FINITE).any()
            self._values = np.full(len(self._sizes), np.inf) if failed else found.value
            if failed:
                return self._start
            self._own, self._at = found.point, p.tobytes()
            if self._prior is None and self._values.sum() <= self._least:
                self._start, self._least = self._own, float(self._values.sum())
        return self._own

    def values(self, p: Vector) -> Vector:
        """Return half the sum of squares of each block: B numbers."""
        self.own(p)
        return self._values

    def free(self, p: Vector) -> Mask:
        """Return which own parameters are not held at a bound, of shape (B, k)."""
        own = self.own(p)
        return self._box.free(own, self._all.linear(self._full(own, p)).gradient[:, : own.shape[1]])

    def own_linear(self, p: Vector) -> Linears:
        """Return the linear problems of the blocks at given shared parameters."""
        return self._batch(p).linear(self.own(p)).of(self.free(p))

    def residuals(self, p: Vector) -> Vector:
        """Return for each block the root of its sum of squares, with the sign of its last weighted residual."""
        own = self.own(p)
        u = self._all.residuals(self._full(own, p))
        ends = np.cumsum(self._sizes) - 1
        found: Vector = np.sign(u[ends]) * np.sqrt(2 * self._values)
        return found

    def value(self, p: Vector) -> float:
        self.own(p)
        return float(np.sum(self._values))

    def linear(self, p: Vector) -> Linear:
        parts = self.eliminated(p)
        s = len(p)
        return split(triangle([parts.below.reshape(-1, s + 1)], s + 1))

    def along(self, p: Vector, direction: Vector) -> Vector:
        parts = self.eliminated(p)
        k = parts.own.shape[1]
        own = -_solve(upper_solve, parts.own, np.einsum("bks,s->bk", parts.across, direction))
        sums = self._all.along(self._full(self.own(p), p), self._full(own, direction))
        half = _solve(lower_solve, np.swapaxes(parts.own, 1, 2), sums[:, :k])
        found: Vector = sums[:, k:].sum(0) - np.einsum("bks,bk->s", parts.across, half)
        return found

    def quadratic(self, p: Vector) -> Quadratic:
        own = self.own(p)
        k = own.shape[1]
        at = self._all.quadratic(self._full(own, p))
        free = self._box.free(own, at.gradient[:, :k])
        pairs = free[:, :, None] & free[:, None, :]
        lower, positive = cholesky(np.where(pairs, at.hessian[:, :k, :k], np.eye(k)))
        if not positive.all():
            return Quadratic(float(at.value.sum()), np.full(len(p), np.nan), np.full((len(p), len(p)), np.nan))
        half = lower_solve(lower, at.hessian[:, :k, k:] * free[:, :, None])
        rest = lower_solve(lower, at.gradient[:, :k] * free)
        gradient = at.gradient[:, k:].sum(0) - np.einsum("bks,bk->s", half, rest)
        hessian = at.hessian[:, k:, k:].sum(0) - np.einsum("bks,bkt->st", half, half)
        return Quadratic(float(at.value.sum()), gradient, hessian)

    def eliminated(self, p: Vector) -> Eliminated:
        """Return the linear problems of the blocks at given shared parameters, after the elimination of the own ones."""
        own = self.own(p)
        k = own.shape[1]
        linear: Linears = self._all.linear(self._full(own, p))
        free = np.ones((len(own), k + len(p)), bool)
        free[:, :k] = self._box.free(own, linear.gradient[:, :k])
        linear = linear.of(free)
        below = np.zeros((len(own), len(p) + 1, len(p) + 1))
        below[:, :-1, :-1] = linear.factor[:, k:, k:]
        below[:, :-1, -1] = linear.image[:, k:]
        below[:, -1, -1] = linear.rest
        left = np.linalg.norm(below[:, :, :-1], axis=(0, 1))
        whole = np.linalg.norm(linear.factor[:, :, k:], axis=(0, 1))
        below[:, :, :-1][:, :, left <= SINGULAR * whole] = 0.0
        return Eliminated(linear.factor[:, :k, :k], linear.factor[:, :k, k:], below)

    def _batch(self, p: Vector) -> Batch:
        """Return the problems of the own parameters at given shared ones."""
        names = self.model.parameters[len(self.model.parameters) - len(p) :]
        shared = {name: np.broadcast_to(value, (self.model.rows,)) for name, value in zip(names, p, strict=True)}
        return Batch(self._model.on({**self._model.columns, **shared}), self._sizes, self.scale, self.loss, self._prior)

    def _full(self, own: Matrix, shared: Vector) -> Matrix:
        return np.hstack([own, np.tile(shared, (len(own), 1))])


def _solve(method: Callable[[Stack, Matrix], Matrix], matrices: Stack, right: Matrix) -> Matrix:
    """Return the solutions of triangular systems; a singular one has the solution 0."""
    singular = ~(np.abs(np.einsum("bii->bi", matrices)) > 0).all(1)
    safe = np.where(singular[:, None, None], np.eye(matrices.shape[1]), matrices)
    return method(safe, np.where(singular[:, None], 0.0, right))
