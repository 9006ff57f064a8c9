"""The objective of a fit: half the sum of the squares of the weighted residuals, or of a robust function of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.fitting.engine.loss import Loss
from autodiff_cli.solvers.fitting.engine.objective import Linear, Quadratic, split, triangle
from autodiff_cli.solvers.fitting.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autodiff_cli.arrays import Matrix, Vector


class LeastSquares:
    """The sum of ``loss(u)`` over the rows, where ``u = scale*r`` are the weighted residuals of a model.

    Args:
        model: the residuals r.
        scale: the factor of each residual, such as 1/sigma: N numbers; 1 by default.
        loss: the loss function; by default, ``u**2/2``.

    Attributes:
        evaluations: the number of points at which values or derivatives were computed.
    """

    def __init__(self, model: Model, scale: Vector | None = None, loss: Loss | None = None) -> None:
        self.model, self.scale, self.loss = model, scale, loss or Loss()
        self.evaluations = 0

    def value(self, p: Vector) -> float:
        return sum(float(np.sum(self.loss.value(block[0]))) for _, block in self.blocks("values", p))

    def linear(self, p: Vector) -> Linear:
        def matrices() -> Iterator[Matrix]:
            for _, block in self.blocks("jacobian", p):
                yield (block if self.loss.plain else block * np.sqrt(self.loss.weight(block[-1]))).T

        return split(triangle(matrices(), len(p) + 1))

    def along(self, p: Vector, direction: Vector) -> Vector:
        total = np.zeros(len(p))
        for _, block in self.blocks("along", p, direction):
            second = block[-1] if self.loss.plain else block[-1] * self.loss.weight(block[-2])
            total += np.einsum("km,m->k", block[:-2], second)
        return total

    def quadratic(self, p: Vector) -> Quadratic:
        n = len(p)
        value, gradient, below = 0.0, np.zeros(n), np.zeros(n * (n + 1) // 2)
        products = np.zeros((n, n))
        for _, block in self.blocks("second", p):
            slopes, u = block[:n], block[n]
            first = self.loss.first(u)
            value += float(np.sum(self.loss.value(u)))
            gradient += np.einsum("km,m->k", slopes, first)
            products += np.einsum("im,jm->ij", slopes, slopes if self.loss.plain else slopes * self.loss.second(u))
            below += np.einsum("km,m->k", block[n + 1 :], first)
        hessian = np.zeros((n, n))
        hessian[np.tril_indices(n)] = below
        return Quadratic(value, gradient, products + hessian + np.tril(hessian, -1).T)

    def scores(self, p: Vector) -> Matrix:
        """Return the sum over the rows of the products of the derivatives of the loss with respect to the parameters."""
        total = np.zeros((len(p), len(p)))
        for _, block in self.blocks("jacobian", p):
            total += np.einsum("im,jm->ij", block[:-1], block[:-1] * self.loss.first(block[-1]) ** 2)
        return total

    def residuals(self, p: Vector) -> Vector:
        """Return the weighted residuals: N numbers."""
        return np.concatenate([np.zeros(0), *(block[0] for _, block in self.blocks("values", p))])

    def squares(self, p: Vector) -> float:
        """Return the sum of the squares of the weighted residuals."""
        return sum(float(np.sum(block[0] ** 2)) for _, block in self.blocks("values", p))

    def blocks(self, kind: str, p: Vector, direction: Vector | None = None) -> Iterator[tuple[slice, Matrix]]:
        """Yield the blocks of the model with every result multiplied by the scale of its row."""
        self.evaluations += 1
        for rows, block in self.model.blocks(kind, p, direction):
            if self.scale is not None:
                block *= self.scale[rows]
            yield rows, block
