"""The curvature of a model at its solution, which says whether intervals from the linear approximation can be trusted.

Source: Bates and Watts, "Relative curvature measures of nonlinearity" (1980), with the root mean square over all directions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Matrix


SMALL = 0.3
"""The largest curvature, times the radius of the 95 % region, at which a linear approximation is adequate."""


class Curvature(NamedTuple):
    """The root mean square curvatures, times the radius of the 95 % confidence region.

    Attributes:
        parameters: the parameter-effects curvature, which depends on the choice of parameters.
        intrinsic: the intrinsic curvature, which does not.
    """

    parameters: float
    intrinsic: float

    @property
    def linear(self) -> bool:
        """Whether intervals from the linear approximation can be trusted."""
        return max(self.parameters, self.intrinsic) <= SMALL


def curvature(blocks: Iterable[Matrix], factor: Matrix, radius: float) -> Curvature:
    """Return the curvatures of the residuals as a function of n parameters.

    Args:
        blocks: for blocks of m rows, arrays of shape (n + 1 + n*(n+1)/2, m): the first derivatives, the residuals, and the lower
            triangle of the second derivatives, row by row.
        factor: the triangular factor of the Jacobian, of shape (n, n).
        radius: the radius of the confidence region in the space of the residuals.
    """
    n = len(factor)
    inverse = np.linalg.inv(factor)
    whole = 0.0
    tangent = np.zeros((n, n, n))
    rows, columns = np.tril_indices(n)
    for block in blocks:
        second = np.empty((n, n, block.shape[1]))
        second[rows, columns] = second[columns, rows] = block[n + 1 :]
        second = np.einsum("ja,jkm,kb->abm", inverse, second, inverse, optimize=True)
        whole += _squares(second.transpose(2, 0, 1))
        tangent += np.einsum("ji,jm,abm->iab", inverse, block[:n], second, optimize=True)
    inside = _squares(tangent)
    unit = radius / math.sqrt(n * (n + 2))
    return Curvature(math.sqrt(inside) * unit, math.sqrt(max(whole - inside, 0.0)) * unit)


def _squares(arrays: NDArray[np.float64]) -> float:
    """Return the sum over arrays (.., n, n) of twice the squares of all elements plus the square of the trace."""
    return float(2 * np.sum(arrays**2) + np.sum(np.einsum("iaa->i", arrays) ** 2))
