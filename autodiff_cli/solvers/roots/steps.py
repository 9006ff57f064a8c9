"""Steps from one point to the next: Newton, Gauss-Newton and Levenberg-Marquardt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.solvers.roots.problem import Point


def norm(vector: Vector) -> float:
    """Return the Euclidean norm, without overflow; inf if an element is not finite."""
    largest = float(np.max(np.abs(vector), initial=0.0))
    if not np.isfinite(largest):
        return np.inf
    return largest * float(np.linalg.norm(vector / largest)) if largest else 0.0


def scaled(matrix: Matrix) -> tuple[Matrix, Vector, Vector]:
    """Return a matrix with rows and then columns of maximum 1, and the divisors of the rows and of the columns."""
    rows = _divisors(matrix, 1)
    even = matrix / rows[:, None]
    columns = _divisors(even, 0)
    return even / columns, rows, columns


def _divisors(matrix: Matrix, axis: int) -> Vector:
    sizes = np.max(np.abs(matrix), axis=axis, initial=0.0)
    return np.where(sizes > 0, sizes, 1.0)


def newton(jacobian: Matrix, f: Vector, cutoff: float = 1e-13) -> tuple[Vector, int]:
    """Return the full Newton step, and the rank of the Jacobian matrix.

    The step is the solution of ``J @ step = -f``; the least-squares solution if there are more equations than unknowns, and the
    shortest solution if there are fewer, or if the matrix is singular.

    Args:
        jacobian: the Jacobian matrix, of shape (m, n).
        f: the m residuals.
        cutoff: the singular values below this part of the largest one count as 0.
    """
    m, n = jacobian.shape
    if m > n:  # a change of the rows would change the least-squares solution
        columns = _divisors(jacobian, 0)
        size = float(np.max(np.abs(f), initial=0.0)) or 1.0
        step, _, rank, _ = np.linalg.lstsq(jacobian / columns, -f / size, cutoff)
        return step * size / columns, int(rank)
    matrix, rows, columns = scaled(jacobian)
    if m < n:  # a change of the columns would change the shortest solution
        matrix, columns = matrix * columns, np.ones(n)
    step, _, rank, _ = np.linalg.lstsq(matrix, -f / rows, cutoff)
    return step / columns, int(rank)


def damped(point: Point, scale: Vector, damping: float) -> Vector:
    """Return the Levenberg-Marquardt step: the minimum of ``|f + J p|**2 + damping*|scale*p|**2``."""
    n = len(point.x)
    matrix = np.vstack([point.jacobian / scale, np.sqrt(damping) * np.eye(n)])
    right = np.concatenate([-point.f, np.zeros(n)])
    step, *_ = np.linalg.lstsq(matrix, right, None)
    return np.asarray(step / scale)
