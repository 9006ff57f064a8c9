"""Steps of trust-region methods: minimizers of a quadratic model within a radius and within bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Matrix, Vector

    Within = Callable[[Vector, "NDArray[np.bool_]", float], Vector]
    """A function of a gradient, the mask of free variables and a radius that returns a step in the free variables."""

EPS = float(np.finfo(float).eps)
_MOST_SECULAR = 100


def exact_step(hessian: Matrix, gradient: Vector, radius: float) -> Vector:
    """Return the global minimizer of ``g @ s + s @ H @ s / 2`` for steps of at most ``radius``.

    The multiplier of the radius solves the secular equation by Newton's method, safeguarded by bisection (Moré and Sorensen,
    SIAM J. Sci. Stat. Comput. 4, 1983).  In the hard case, a multiple of the eigenvector of the lowest eigenvalue is added.
    """
    values, vectors = np.linalg.eigh(hessian)
    along = vectors.T @ gradient
    lowest, size = values[0], float(np.linalg.norm(gradient))
    if lowest > 0:
        step = -along / values
        if np.linalg.norm(step) <= radius:
            return np.asarray(vectors @ step)
    low = max(0.0, -lowest)
    high = low + size / radius + EPS * max(1.0, abs(lowest))
    nearest = values - lowest <= EPS * max(abs(lowest), abs(values[-1]))
    shift = high
    regular = np.where(nearest, 0.0, -along / np.where(nearest, 1.0, values + low))
    if lowest <= 0 and np.linalg.norm(along[nearest]) <= EPS * size and np.linalg.norm(regular) <= radius:
        missing = np.sqrt(max(radius**2 - float(regular @ regular), 0.0))
        regular[0] += missing if along[0] <= 0 else -missing
        return np.asarray(vectors @ regular)
    for _ in range(_MOST_SECULAR):
        divided = along / (values + shift)
        length = float(np.linalg.norm(divided))
        if abs(length - radius) <= 1e-10 * radius:
            break
        low, high = (shift, high) if length > radius else (low, shift)
        slope = float(np.sum(divided**2 / (values + shift)))
        shift += (length - radius) / radius * length**2 / slope if slope else 0.0
        if not low < shift < high:
            shift = (low + high) / 2
            if shift in (low, high):
                break
    step = vectors @ (-along / np.maximum(values + shift, 1e-300))
    return np.asarray(step * min(1.0, radius / max(float(np.linalg.norm(step)), 1e-300)))


def bounded_step(within: Within, hessian: Matrix, gradient: Vector, low: Vector, high: Vector, radius: float) -> Vector:
    """Return a step between bounds that reduces the quadratic model.

    The free variables are minimized within the radius; those that reach a bound are fixed there, and the rest is minimized again.

    Args:
        within: the function that minimizes the model in the free variables.
        hessian: the Hessian matrix.
        gradient: the gradient at the point.
        low, high: the bounds of the step.
        radius: the largest length of each minimization.
    """
    step = np.zeros_like(gradient)
    free = ~(((low >= 0) & (gradient > 0)) | ((high <= 0) & (gradient < 0)))
    for _ in range(len(gradient) + 1):
        if not free.any():
            break
        slope = gradient + hessian @ step
        part = within(slope, free, radius)
        if not part.any():
            break
        beyond = (step + part < low) | (step + part > high)
        if not beyond.any():
            return step + part
        with np.errstate(all="ignore"):
            room = np.where(part > 0, (high - step) / part, np.where(part < 0, (low - step) / part, np.inf))
        share = float(np.min(room))
        projected = np.clip(step + part, low, high) - step
        if slope @ projected + projected @ hessian @ projected / 2 < share * (slope @ part + share * (part @ hessian @ part) / 2):
            step, free = step + projected, free & ~beyond
        else:
            step, free = np.clip(step + share * part, low, high), free & (room > share)
    return step
