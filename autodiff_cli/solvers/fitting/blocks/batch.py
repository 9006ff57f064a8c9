"""Many small least-squares problems of one model: their sums over rows, computed for all of them at once.

The rows of a problem are a block of consecutive rows.  A program computes all rows of all blocks in one call, with the parameters
as columns, and NumPy factorises a stack of small matrices in one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.solvers.fitting.blocks.stacks import triangles
from autodiff_cli.solvers.fitting.engine.loss import Loss
from autodiff_cli.solvers.fitting.engine.objective import SMALL, triangle
from autodiff_cli.solvers.fitting.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Matrix, Stack, Vector

    Numbers = NDArray[np.intp]

GROWTH = 1.2
"""The ratio of consecutive padded sizes of blocks."""


class Linears(NamedTuple):
    """The linear least-squares problem of each block at a point; see ``engine.objective.Linear``.

    Attributes:
        factor: the triangular factors, of shape (B, n, n).
        image: the first n elements of Q'r, of shape (B, n).
        rest: the norms of the other elements: B numbers.
        value: half the sum of the squares, or of the loss: B numbers.
    """

    factor: Stack
    image: Matrix
    rest: Vector
    value: Vector

    @property
    def gradient(self) -> Matrix:
        """The gradients, of shape (B, n)."""
        found: Matrix = np.einsum("bij,bi->bj", self.factor, self.image)
        return found

    @property
    def norms(self) -> Matrix:
        """The norms of the columns of the Jacobian matrices, of shape (B, n)."""
        found: Matrix = np.sqrt(np.einsum("bij,bij->bj", self.factor, self.factor))
        return found

    @property
    def finite(self) -> Mask:
        """Whether all numbers of a block are finite."""
        found: Mask = np.isfinite(self.factor.sum((1, 2)) + self.image.sum(1) + self.rest + self.value)
        return found

    @property
    def offset(self) -> Vector:
        """The norm of the tangent part of the residuals relative to that of the orthogonal part."""
        tangent = np.linalg.norm(self.image, axis=1)
        with np.errstate(all="ignore"):
            return np.where(self.rest > 0, tangent / self.rest, np.where(tangent > 0, np.inf, 0.0))

    def take(self, blocks: Numbers) -> Linears:
        """Return the problems of some blocks."""
        return Linears(*(part[blocks] for part in self))

    def put(self, blocks: Numbers, of: Linears, where: Mask) -> None:
        """Replace the problems of those blocks for which ``where`` is true."""
        for part, other in zip(self, of, strict=True):
            part[blocks[where]] = other[where]

    def of(self, free: Mask) -> Linears:
        """Return the problems in which only some parameters are free; the columns of the others are unit vectors of their own."""
        if free.all():
            return self
        n = free.shape[1]
        rows = np.zeros((len(free), 2 * n + 1, n + 1))
        rows[:, :n, :n] = self.factor * free[:, None, :]
        rows[:, :n, n] = self.image
        rows[:, n, n] = self.rest
        rows[:, n + 1 :, :n] = np.eye(n) * ~free[:, None, :]
        return split(triangles(rows), self.value)


class Quadratics(NamedTuple):
    """The objective of each block at a point with its exact derivatives.

    Attributes:
        value: the objectives: B numbers.
        gradient: the first derivatives, of shape (B, n).
        hessian: the second derivatives, of shape (B, n, n).
    """

    value: Vector
    gradient: Matrix
    hessian: Stack

    @property
    def finite(self) -> Mask:
        """Whether all numbers of a block are finite."""
        found: Mask = np.isfinite(self.value + self.gradient.sum(1) + self.hessian.sum((1, 2)))
        return found


class Prior(NamedTuple):
    """Additional residuals ``weight*(p - target)`` of the first k parameters of each block, both of shape (B, k)."""

    target: Matrix
    weight: Matrix

    def residuals(self, p: Matrix) -> Matrix:
        """Return the residuals, of shape (B, k)."""
        return self.weight * (p[:, : self.target.shape[1]] - self.target)


class Batch:
    """Least-squares problems of consecutive rows, each with its own values of the n parameters.

    Args:
        model: the residuals of all rows, block by block.
        sizes: the number of rows of each of the B blocks; none is 0.
        scale: the factor of each residual; 1 by default.
        loss: the loss function; by default, ``u**2/2``.
        prior: additional residuals.
    """

    def __init__(
        self, model: Model, sizes: Numbers, scale: Vector | None = None, loss: Loss | None = None, prior: Prior | None = None
    ) -> None:
        self.model, self.sizes, self.scale, self.loss, self.prior = model, sizes, scale, loss or Loss(), prior
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)

    def only(self, blocks: Numbers) -> Batch:
        """Return the problems of some blocks, given by their numbers in increasing order."""
        if len(blocks) == len(self.sizes):
            return self
        rows = np.flatnonzero(np.repeat(np.isin(np.arange(len(self.sizes)), blocks), self.sizes))
        model = self.model.on({name: column[rows] for name, column in self.model.columns.items()})
        prior = self.prior and Prior(*(part[blocks] for part in self.prior))
        return Batch(model, self.sizes[blocks], None if self.scale is None else self.scale[rows], self.loss, prior)

    def linear(self, p: Matrix) -> Linears:
        """Return the linear problems at a point of shape (B, n)."""
        out = self._rows("jacobian", p)
        value = self._sums(self.loss.value(out[-1]))
        extra = np.zeros((len(p), 0, len(out)))
        if self.prior is not None:
            r = self.prior.residuals(p)
            extra = np.zeros((len(p), r.shape[1], len(out)))
            np.einsum("bii->bi", extra[:, :, : r.shape[1]])[:] = self.prior.weight
            extra[:, :, -1] = r
            value = value + 0.5 * np.einsum("bk,bk->b", r, r)
        if not self.loss.plain:
            out = out * np.sqrt(self.loss.weight(out[-1]))
        return split(self._triangles(out, extra), value)

    def along(self, p: Matrix, direction: Matrix) -> Matrix:
        """Return J'a of each block, where a is the second derivative of the residuals in the direction of the block."""
        out = self._rows("along", p, direction)
        second = out[-1] if self.loss.plain else out[-1] * self.loss.weight(out[-2])
        return self._sums(out[:-2] * second).T

    def quadratic(self, p: Matrix) -> Quadratics:
        """Return the objectives at a point of shape (B, n) with their exact derivatives."""
        n = p.shape[1]
        out = self._rows("second", p)
        slopes, u = out[:n], out[n]
        first = self.loss.first(u)
        value, gradient = self._sums(self.loss.value(u)), self._sums(slopes * first).T
        rows, columns = np.tril_indices(n)
        weighted = slopes if self.loss.plain else slopes * self.loss.second(u)
        hessian = np.empty((len(p), n, n))
        hessian[:, rows, columns] = self._sums(slopes[rows] * weighted[columns] + out[n + 1 :] * first).T
        hessian[:, columns, rows] = hessian[:, rows, columns]
        if self.prior is not None:
            r = self.prior.residuals(p)
            k = r.shape[1]
            value = value + 0.5 * np.einsum("bk,bk->b", r, r)
            gradient[:, :k] += self.prior.weight * r
            np.einsum("bii->bi", hessian[:, :k, :k])[:] += self.prior.weight**2
        return Quadratics(value, gradient, hessian)

    def residuals(self, p: Matrix) -> Vector:
        """Return the scaled residuals of all rows."""
        found: Vector = self._rows("values", p)[0]
        return found

    def scores(self, p: Matrix) -> tuple[Stack, Vector]:
        """Return the sums of the products of the derivatives of the loss, of shape (B, n, n), and of the squared residuals."""
        out = self._rows("jacobian", p)
        n = p.shape[1]
        first = out[:-1] * self.loss.first(out[-1])
        products = self._sums((first[:, None] * first).reshape(n * n, -1)).T.reshape(-1, n, n)
        return products, self._sums(out[-1] ** 2)

    def _rows(self, kind: str, p: Matrix, direction: Matrix | None = None) -> Matrix:
        """Return the scaled results of the model for all rows; see ``Model.blocks``."""
        own = np.repeat(p.T, self.sizes, axis=1)
        along = None if direction is None else np.repeat(direction.T, self.sizes, axis=1)
        out = np.concatenate([block for _, block in self.model.blocks(kind, own, along)], axis=1)
        return out if self.scale is None else out * self.scale

    def _sums(self, rows: Matrix) -> Matrix:
        """Return the sums over the rows of each block."""
        with np.errstate(all="ignore"):
            return np.add.reduceat(rows, self.starts, axis=-1)

    def _triangles(self, out: Matrix, extra: Stack) -> Stack:
        """Return the triangular factor of the rows of each block with its additional rows, of shape (B, c, c)."""
        c = len(out)
        table = np.vstack([out.T, np.zeros((1, c))])
        found = np.zeros((len(self.sizes), c, c))
        padded = np.ceil(GROWTH ** np.ceil(np.log(self.sizes) / np.log(GROWTH) - 1e-9)).astype(np.intp)
        for size in np.unique(padded).tolist():
            blocks = np.flatnonzero(padded == size)
            if size * c > SMALL:
                for b in blocks.tolist():
                    rows = table[self.starts[b] : self.starts[b] + self.sizes[b]]
                    found[b] = triangle([np.vstack([rows, extra[b]])], c)
                continue
            places = np.arange(size)
            numbers = np.where(places < self.sizes[blocks, None], self.starts[blocks, None] + places, len(table) - 1)
            stack = np.concatenate([table[numbers], extra[blocks]], axis=1)
            factors = triangles(stack)
            found[blocks, : factors.shape[1]] = factors
        return found


def split(factors: Stack, value: Vector) -> Linears:
    """Return the linear problems from triangular factors of the Jacobian matrices with the residuals as the last column."""
    return Linears(factors[:, :-1, :-1].copy(), factors[:, :-1, -1].copy(), np.abs(factors[:, -1, -1]), value)
