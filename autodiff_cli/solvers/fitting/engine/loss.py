"""Loss functions: the square of a residual, and functions that grow less for large residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector


LOSSES = ("squares", "huber", "soft_l1", "cauchy")


class Loss(NamedTuple):
    """A loss function L(u) of a weighted residual, which is ``u**2/2`` for small residuals.

    Attributes:
        name: ``squares``, ``huber``, ``soft_l1`` or ``cauchy``.
        scale: the residual c at which the loss begins to differ from a square.

    Source: Huber, "Robust Estimation of a Location Parameter" (1964); Holland and Welsch, "Robust regression using iteratively
    reweighted least-squares" (1977).
    """

    name: str = "squares"
    scale: float = 1.0

    @property
    def plain(self) -> bool:
        """Whether the loss is the square."""
        return self.name == "squares"

    def value(self, u: Vector) -> Vector:
        """Return L(u)."""
        if self.plain:
            return u * u / 2
        z = u / self.scale
        if self.name == "huber":
            inner = np.minimum(np.abs(z), 1)
            found = inner * (np.abs(z) - inner / 2)
        elif self.name == "soft_l1":
            found = z * z / (np.sqrt(1 + z * z) + 1)
        else:
            found = np.log1p(z * z) / 2
        return np.asarray(found * self.scale**2)

    def weight(self, u: Vector) -> Vector:
        """Return L'(u)/u, the weight of a row in iteratively reweighted least squares."""
        z = u / self.scale
        if self.name == "huber":
            return 1 / np.maximum(np.abs(z), 1)
        if self.name == "soft_l1":
            return 1 / np.sqrt(1 + z * z)
        if self.name == "cauchy":
            return 1 / (1 + z * z)
        return np.ones_like(u)

    def first(self, u: Vector) -> Vector:
        """Return L'(u)."""
        return u if self.plain else u * self.weight(u)

    def second(self, u: Vector) -> Vector:
        """Return L''(u)."""
        z = u / self.scale
        if self.name == "huber":
            return (np.abs(z) <= 1).astype(float)
        if self.name == "soft_l1":
            return (1 + z * z) ** -1.5
        if self.name == "cauchy":
            return (1 - z * z) / (1 + z * z) ** 2
        return np.ones_like(u)
