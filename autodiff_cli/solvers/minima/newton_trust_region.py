"""Newton's method in a trust region, for smooth functions of variables without bounds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.solvers.minima.problem import MinimumProblem

    Report = Callable[[Vector, float, float, float, str], None]
    """A function that receives each step: the point, the value, the norm of the gradient, the step length and what was done."""


EPS = float(np.finfo(float).eps)
DENSE = 200  # the largest number of variables for which Hessian matrices are built and decomposed
_FAR = 1e20  # the distance, relative to the start, at which a point counts as infinitely far away
_DEEP = 1e12  # the depth at which the value beside a point that steps cannot leave is that of a pole
_DEEPEST = 1e200  # the depth at which a descent ends: ``sinh`` of a value near -100 is bounded, and far below any other
_TOO_GOOD = 2.5
"""A ratio of the decrease to that of the model above which a step has left the surroundings of the point, as over a pole."""
_LEAST_SCALE = 1e-6  # the least unit of a variable, relative to the largest: one with little curvature must not take endless steps
_MOST_SECULAR = 100  # the maximum number of trials for the multiplier of a step; bisection alone needs about 60
_SMALLEST = 1e-3 * EPS  # the radius, relative to the point, below which no step changes the point
_TINY = 1e-100  # the size below which the start of a variable, and the root of a curvature, count as 0


class Descent(NamedTuple):
    """The end of a descent.

    Attributes:
        x: the last point.
        ending: ``stationary`` if the Newton step is rounding, ``collapsed`` if no step of any length reduces the
            value, ``unbounded`` if the value or the point is not bounded, or ``limit``.
        steps: the number of accepted steps.
        lengths: the length of each accepted step.
    """

    x: Vector
    ending: str
    steps: int
    lengths: list[float]


class TrustRegion:
    """A minimization from a point at which the value and the gradient of a function are finite.

    The step minimizes the quadratic model with the exact Hessian in a trust region, scaled by the largest curvatures so far
    (Moré and Sorensen 1983).  A trial at which the value or the gradient is not finite is a rejected step.

    Args:
        problem: the function; its constraints and bounds are left out.
        x: the start.
        report: the function that receives each accepted step.

    Attributes:
        x, value, gradient, hessian: the last accepted point, and the function there.
        height: the magnitude of the value at the start.
        typical: the largest magnitude of each variable so far.
        scale: the roots of the largest curvatures of the variables so far; a step is measured as ``scale * step``.
        lengths: the lengths of the accepted steps.
    """

    def __init__(self, problem: MinimumProblem, x: Vector, report: Report) -> None:
        self.problem = problem
        self.report = report
        self.x = x
        self.value = problem.value(x)
        self.gradient = problem.gradient(x)
        self.height = abs(self.value)
        self.typical = np.abs(x)
        self.scale = np.ones(len(x))
        self.lengths: list[float] = []
        self._last_step: Vector | None = None
        self._far = _FAR * max(1.0, float(np.abs(x).max()))
        self._refresh()
        size = self.typical if (self.typical > _TINY).any() else 1.0
        self._radius = 0.5 * float(np.linalg.norm(self.scale * size))

    def run(self, most: int) -> Descent:
        """Descend until no step reduces the value, or at most ``most`` trials."""
        for _ in range(most):
            ending = "stationary" if self._is_stationary() else self._try_step()
            if ending is not None:
                return self._end(ending)
        return self._end("limit")

    def _try_step(self) -> str | None:
        """Accept a step of at most the radius, or divide the radius; return how the descent ends, ``None`` if it goes on."""
        trial = self.x + self._step(self._radius)
        step = trial - self.x
        if not step.any() or (np.abs(step) <= 0.5 * EPS * np.abs(self.x)).all():
            return "stationary"
        value = self.problem.value(trial)
        if value == -np.inf:
            self.x, self.value = trial, value
            return "unbounded"
        gradient = self.problem.gradient(trial) if np.isfinite(value) else np.full_like(trial, np.nan)
        length = float(np.linalg.norm(self.scale * step))
        expected = -float(self.gradient @ step + step @ self.hessian @ step / 2)
        is_full = length >= 0.9 * self._radius
        ratio = self._ratio(value, gradient, expected, is_full) if np.isfinite(gradient).all() else -1.0
        if ratio is None:
            return "stationary"
        typical = np.maximum(self.typical, np.abs(trial))
        if 1e-4 < ratio < _TOO_GOOD:
            is_last = self._is_rounding(step, typical, expected) and length < 0.5 * self._radius
            self._accept(trial, value, gradient, length)
            self._radius = self._next_radius(ratio, length, step)
            if is_last:
                return "stationary"
            if np.abs(self.x).max() > self._far or self.value < -_DEEPEST * max(1.0, self.height):
                return "unbounded"
        else:
            self._radius = length / 4
        smallest = _SMALLEST * max(1e-30, float(np.linalg.norm(self.scale * np.maximum(typical, 1e-30))))
        return "collapsed" if self._radius <= smallest else None

    def _is_rounding(self, step: Vector, typical: Vector, expected: float) -> bool:
        """Return whether a step is rounding, and its expected decrease too: beside a pole, a small step still matters."""
        return expected <= EPS * self.height and bool((np.abs(step) <= EPS * typical).all())

    def _next_radius(self, ratio: float, length: float, step: Vector) -> float:
        """Return the radius after an accepted step, given the ratio of its decrease to the expected one."""
        if ratio < 0.25:
            return length / 4
        radius = self._radius if ratio < 0.75 or length < 0.8 * self._radius else 3 * self._radius
        return max(radius, float(np.linalg.norm(self.scale * step)))  # the scale may have grown

    def _is_stationary(self) -> bool:
        """Return whether the gradient is 0 without a way down, or too small to approach a degenerate minimum further."""
        if self.gradient.any():
            smallest = EPS**1.5 * np.minimum(1.0, np.abs(self.hessian)) @ self.typical
            return bool((np.abs(self.gradient) <= smallest).all())
        curvatures = np.linalg.eigvalsh(self.hessian)
        return bool(curvatures[0] >= -len(curvatures) * EPS * np.abs(curvatures).max())

    def _end(self, ending: str) -> Descent:
        """Return the end of the descent; one that collapses far below the start does so at a pole."""
        is_pole = ending == "collapsed" and self.value < -_DEEP * max(1.0, self.height)
        return Descent(self.x, "unbounded" if is_pole else ending, len(self.lengths), self.lengths)

    def _ratio(self, value: float, gradient: Vector, expected: float, is_full: bool) -> float | None:
        """Return a decrease relative to the expected one, or ``None`` if rounding hides it; a step to the boundary is full."""
        change = self.value - value
        noise = 8 * EPS * max(abs(self.value), abs(value))
        if expected > noise or abs(change) > 4 * noise:
            return change / expected if expected > 0 else -1.0
        # The values differ by rounding only: the gradient must shrink, by less if the step was limited.
        share = 0.95 if is_full else 0.5
        shrinks = np.linalg.norm(gradient / self.scale) < share * np.linalg.norm(self.gradient / self.scale)
        return 1.0 if shrinks else None

    def _accept(self, trial: Vector, value: float, gradient: Vector, length: float) -> None:
        """Move to a trial point, or beyond it to the limit of such steps, and report the step of a scaled length."""
        moved = trial - self.x
        self.x, self.value, self.gradient = trial, value, gradient
        self._extrapolate(moved)
        self.typical = np.maximum(self.typical, np.abs(self.x))
        self.lengths.append(float(np.linalg.norm(moved)))
        self.report(self.x, self.value, float(np.linalg.norm(self.gradient)), length, "step")
        self._refresh()

    def _extrapolate(self, moved: Vector) -> None:
        """Move to the limit of steps that shrink by a constant factor, as those of Newton's method at a degenerate minimum."""
        last, self._last_step = self._last_step, moved
        if last is None:
            return
        before, now = float(np.linalg.norm(last)), float(np.linalg.norm(moved))
        has_direction_of_last = moved @ last > 0.999 * before * now
        if not (0.3 * before < now < 0.95 * before and has_direction_of_last):
            return
        factor = now / before
        leap = self.x + moved * factor / (1 - factor)  # the sum of the further steps, a geometric series
        value = self.problem.value(leap)
        if np.isfinite(value) and value <= self.value:
            gradient = self.problem.gradient(leap)
            if np.linalg.norm(gradient) < 0.5 * np.linalg.norm(self.gradient):
                self.x, self.value, self.gradient, self._last_step = leap, value, gradient, None

    def _refresh(self) -> None:
        """Compute the Hessian matrix at the new point, or a substitute if it is not finite, and the scale of the variables."""
        hessian = self.problem.hessian(self.x)
        if not np.isfinite(hessian).all():
            hessian = np.diag(np.maximum(np.abs(self.gradient), 1.0))
        self.hessian = hessian
        roots = curvature_roots(hessian)
        largest = float(np.max(roots, initial=0.0))
        if largest > _TINY:
            self.scale = np.maximum(self.scale if self.lengths else _LEAST_SCALE * largest, roots)

    def _step(self, radius: float) -> Vector:
        """Return the step that minimizes the quadratic model, whose length in scaled variables is at most ``radius``."""
        scaled = self.hessian / np.outer(self.scale, self.scale)
        return exact_step(scaled, self.gradient / self.scale, radius) / self.scale


def exact_step(hessian: Matrix, gradient: Vector, radius: float) -> Vector:
    """Return the global minimizer of ``g @ s + s @ H @ s / 2`` for steps of at most ``radius``.

    The multiplier of the radius solves the secular equation by Newton's method, safeguarded by bisection (Moré and Sorensen,
    SIAM J. Sci. Stat. Comput. 4, 1983).  In the hard case, a multiple of the eigenvector of the lowest eigenvalue is added.
    """
    if is_positive_definite(hessian):  # a Newton step takes a small part of the time of the eigenvalues
        with suppress(np.linalg.LinAlgError):
            step = -np.linalg.solve(hessian, gradient)
            if np.linalg.norm(step) <= radius:
                return np.asarray(step, float)
    values, vectors = np.linalg.eigh(hessian)
    along = vectors.T @ gradient  # in the basis of the eigenvectors
    lowest, size = values[0], float(np.linalg.norm(gradient))
    low = max(0.0, -lowest)
    is_lowest = values - lowest <= EPS * max(abs(lowest), abs(values[-1]))
    others = np.where(is_lowest, 0.0, -along / np.where(is_lowest, 1.0, values + low))
    is_hard = lowest <= 0 and np.linalg.norm(along[is_lowest]) <= EPS * size and np.linalg.norm(others) <= radius
    if is_hard:
        missing = np.sqrt(max(radius**2 - float(others @ others), 0.0))
        others[0] += missing if along[0] <= 0 else -missing
        return np.asarray(vectors @ others)
    high = low + size / radius + EPS * max(1.0, abs(lowest))
    multiplier = _secular_root(values, along, radius, low, high)
    step = vectors @ (-along / np.maximum(values + multiplier, 1e-300))
    return np.asarray(step * min(1.0, radius / max(float(np.linalg.norm(step)), 1e-300)))


def _secular_root(values: Vector, along: Vector, radius: float, low: float, high: float) -> float:
    """Return the shift with which ``-along / (values + shift)`` has the length ``radius``, by Newton steps between two bounds."""
    shift = high
    for _ in range(_MOST_SECULAR):
        step = along / (values + shift)
        length = float(np.linalg.norm(step))
        if abs(length - radius) <= 1e-10 * radius:
            break
        low, high = (shift, high) if length > radius else (low, shift)
        slope = float(np.sum(step**2 / (values + shift)))  # of length**2, times -1/2
        shift += (length - radius) / radius * length**2 / slope if slope else 0.0  # a Newton step for 1/length = 1/radius
        if not low < shift < high:
            shift = (low + high) / 2
            if shift in (low, high):
                break
    return shift


def curvature_roots(hessian: Matrix) -> Vector:
    """Return the root of the curvature of each variable: of the diagonal of the matrix with eigenvalues without signs."""
    if is_positive_definite(hessian):
        return np.sqrt(np.diag(hessian))
    values, vectors = np.linalg.eigh(hessian)
    return np.asarray(np.sqrt(vectors**2 @ np.abs(values)))


def is_positive_definite(matrix: Matrix) -> bool:
    """Return whether a symmetric matrix is positive definite: whether it has a Cholesky factor."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
