"""The objective of a fit: half the sum of the squares of the weighted residuals, or of a robust function of them.

The rows of each of several problems are a block of consecutive rows.  A program computes all rows of all problems in one call, with
the parameters as columns.  The rows of a single problem are computed in parts, so that the memory does not grow with their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.fitting.engine.stacks import SMALL, Linear, Quadratic, split, triangle, triangles
from autodiff_cli.solvers.fitting.losses import Loss
from autodiff_cli.solvers.fitting.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autodiff_cli.arrays import Indices, Matrix, Stack, Vector


class SumOfSquares:
    """The sums of ``loss(u)`` over the rows of B problems, where ``u = scale*r`` are the weighted residuals of a model.

    Args:
        model: the residuals r of all rows, problem by problem.
        scale: the factor of each residual, such as 1/sigma: N numbers; 1 by default.
        loss: the loss function; by default, ``u**2/2``.
        sizes: the number of rows of each of the B problems; none is 0.  By default, all rows are those of one problem.

    Attributes:
        evaluations: the number of points at which values or derivatives were computed.
        _single: whether there is one problem, whose rows are computed in several blocks; the first rows of several are ``_starts``.
    """

    def __init__(self, model: Model, scale: Vector | None = None, loss: Loss | None = None, sizes: Indices | None = None) -> None:
        self.model, self.scale, self.loss = model, scale, loss or Loss()
        self.sizes = np.array([model.rows]) if sizes is None else sizes
        self._single = sizes is None
        self._starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.intp)
        self.evaluations = 0

    def only(self, problems: Indices) -> SumOfSquares:
        """Return some of the problems, given by their different numbers in increasing order, with their rows; self for all."""
        if len(problems) == len(self.sizes):
            return self
        rows = np.flatnonzero(np.repeat(np.isin(np.arange(len(self.sizes)), problems), self.sizes))
        model = self.model.with_columns({name: column[rows] for name, column in self.model.columns.items()})
        return SumOfSquares(model, None if self.scale is None else self.scale[rows], self.loss, self.sizes[problems])

    def value(self, p: Matrix) -> Vector:
        """Return the sums: B numbers."""
        return np.asarray(sum(self._sums(self.loss.value(block[0])) for block in self.blocks("values", p)))

    def linear(self, p: Matrix) -> Linear:
        """Return the linear problems at a point of shape (B, n), whose rows have the weights of the loss."""
        value: Vector = np.zeros(len(p))

        def weighted_blocks() -> Iterator[Matrix]:
            """Yield each block of derivatives and residuals, and add its part of the value, so that one pass computes both."""
            for block in self.blocks("jacobian", p):
                u = block[-1]
                value[:] += self._sums(self.loss.value(u))
                yield block if self.loss.plain else block * np.sqrt(self.loss.weight(u))

        if self._single:
            factors = triangle((block.T for block in weighted_blocks()), p.shape[1] + 1)[None]
        else:
            (rows,) = weighted_blocks()  # several problems have one block
            factors = self._triangles(rows)
        return split(factors, value)

    def along(self, p: Matrix, direction: Matrix) -> Matrix:
        """Return J'a of each problem, weighted by the loss, for the second derivatives a of the residuals in a direction."""
        total = np.zeros_like(p)
        for block in self.blocks("along", p, direction):  # see ``Model.blocks`` for the rows of a block
            slopes, u, second = block[:-2], block[-2], block[-1]
            weighted = second if self.loss.plain else second * self.loss.weight(u)
            total += self._sums(slopes * weighted).T
        return total

    def quadratic(self, p: Matrix) -> Quadratic:
        """Return the sums at a point of shape (B, n) with their exact derivatives."""
        n = p.shape[1]
        value, gradient, hessian = np.zeros(len(p)), np.zeros_like(p), np.zeros((len(p), n, n))
        for block in self.blocks("second", p):
            slopes, u, triangle_rows = block[:n], block[n], block[n + 1 :]
            first = self.loss.first(u)
            value += self._sums(self.loss.value(u))
            gradient += self._sums(slopes * first).T
            weighted = slopes if self.loss.plain else slopes * self.loss.second(u)  # L''(u) of the plain loss is 1
            for i, start in enumerate(np.cumsum(np.arange(n))):  # row i of the triangle has i + 1 entries
                second = triangle_rows[start : start + i + 1]
                # The chain rule: L''(u) times products of slopes, plus L'(u) times second derivatives.
                hessian[:, i, : i + 1] += self._sums(slopes[i] * weighted[: i + 1] + second * first).T
        hessian = hessian + np.swapaxes(np.tril(hessian, -1), 1, 2)
        return Quadratic(value, gradient, hessian)

    def residuals(self, p: Matrix) -> Vector:
        """Return the weighted residuals: N numbers."""
        return np.concatenate([np.zeros(0), *(block[0] for block in self.blocks("values", p))])

    def rows(self, p: Matrix) -> Indices:
        """Return the numbers of residuals less those of the parameters that are eliminated: B numbers."""
        return self.sizes

    def squares(self, p: Matrix) -> Vector:
        """Return the sums of the squares of the weighted residuals: B numbers."""
        return np.asarray(sum(self._sums(block[0] ** 2) for block in self.blocks("values", p)))

    def scores(self, p: Matrix) -> Stack:
        """Return the sums over rows of ``g g'``, where g is the gradient of the loss of a row, of shape (B, n, n)."""
        n = p.shape[1]
        total = np.zeros((len(p), n, n))
        for block in self.blocks("jacobian", p):
            slopes, u = block[:-1], block[-1]
            gradients = slopes * self.loss.first(u)
            total += np.stack([self._sums(row_of_one * gradients).T for row_of_one in gradients], axis=1)
        return total

    def blocks(self, kind: str, p: Matrix, direction: Matrix | None = None) -> Iterator[Matrix]:
        """Yield ``Model.blocks`` times the scale of each row: several ranges of the rows of a single problem, else one of all."""
        self.evaluations += 1
        along = None if direction is None else self._in_rows(direction)
        blocks = self.model.blocks(kind, self._in_rows(p), along)
        scaled = (block if self.scale is None else block * self.scale[rows] for rows, block in blocks)
        return scaled if self._single else iter([np.concatenate(list(scaled), axis=1)])

    def _in_rows(self, p: Matrix) -> Matrix:
        """Return numbers for each problem, of shape (B, n), as columns for its rows, of shape (n, N); n numbers if it is single."""
        return p[0] if self._single else np.repeat(p.T, self.sizes, axis=1)

    def _sums(self, rows: Matrix) -> Matrix:
        """Return the sums over the rows of each problem, of shape (c, B) for c results of N rows, or B numbers for N."""
        if self._single:
            return np.asarray(rows.sum(axis=-1, keepdims=True))
        with np.errstate(all="ignore"):
            return np.add.reduceat(rows, self._starts, axis=-1)

    def _triangles(self, rows: Matrix) -> Stack:
        """Return the triangular factor of each problem (B, c, c) from c columns of all N rows; small ones of equal size at once."""
        count = len(rows)
        table = rows.T
        factors = np.zeros((len(self.sizes), count, count))
        for size in np.unique(self.sizes).tolist():
            problems = np.flatnonzero(self.sizes == size)
            places = self._starts[problems, None] + np.arange(size)  # the rows of each of these problems
            if size * count > SMALL:
                factors[problems] = [triangle([table[rows_of_one]], count) for rows_of_one in places]
            else:
                factors[problems, : min(size, count)] = triangles(table[places])
        return factors
