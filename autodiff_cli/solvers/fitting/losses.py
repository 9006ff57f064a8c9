"""The losses of a fit: functions of a weighted residual that grow more slowly than its square, so that outliers count less."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from autodiff_cli.arrays import Vector

    Shape = Callable[[Vector], Vector]

_SHAPES: dict[str, tuple[Shape, Shape, Shape]] = {
    "squares": (lambda z: z * z / 2, np.ones_like, np.ones_like),
    "huber": (
        lambda z: np.minimum(np.abs(z), 1) * (np.abs(z) - np.minimum(np.abs(z), 1) / 2),
        lambda z: 1 / np.maximum(np.abs(z), 1),
        lambda z: (np.abs(z) <= 1).astype(float),
    ),
    "soft_l1": (lambda z: z * z / (np.sqrt(1 + z * z) + 1), lambda z: 1 / np.sqrt(1 + z * z), lambda z: (1 + z * z) ** -1.5),
    "cauchy": (lambda z: np.log1p(z * z) / 2, lambda z: 1 / (1 + z * z), lambda z: (1 - z * z) / (1 + z * z) ** 2),
}
"""For each loss L of residuals of scale 1: L(z), L'(z)/z and L''(z).  A new loss is a row, and a word in the help of --loss."""
LOSSES = tuple(_SHAPES)


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
        value, *_ = _SHAPES[self.name]
        return u * u / 2 if self.plain else value(u / self.scale) * self.scale**2

    def weight(self, u: Vector) -> Vector:
        """Return L'(u)/u, the weight of a row in iteratively reweighted least squares."""
        _, weight, _ = _SHAPES[self.name]
        return weight(u / self.scale)

    def first(self, u: Vector) -> Vector:
        """Return L'(u)."""
        return u if self.plain else u * self.weight(u)

    def second(self, u: Vector) -> Vector:
        """Return L''(u)."""
        *_, second = _SHAPES[self.name]
        return second(u / self.scale)
