"""The minimum of a sum of squares: Levenberg-Marquardt with geodesic acceleration, then Newton with the exact Hessian.

Sources: More, "The Levenberg-Marquardt algorithm: implementation and theory" (1978), for the scaling; Nielsen, "Damping parameter
in Marquardt's method" (1999), for the damping; Transtrum and Sethna, "Improvements to the Levenberg-Marquardt algorithm for
nonlinear least-squares minimization" (2012), for geodesic acceleration; Bates and Watts, "A relative offset orthogonality
convergence criterion for nonlinear least squares" (1981), for the measure of convergence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.solvers.fitting.engine.objective import Linear, Objective, triangle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Mask, Vector


DAMPING = 1e-3
"""The damping of the first step, relative to the scaled normal equations."""
ACCELERATION = 0.75
"""The maximum length of the acceleration of a step, relative to half of the step (the alpha of Transtrum and Sethna)."""
NEAR = 1e-3
"""The relative offset at which Newton steps are tried for the first time."""
NEAREST = 1e-13
"""The relative offset below which no more steps are taken if Newton steps fail."""
EPSILON = float(np.finfo(float).eps)
MOST_NEWTON = 30


class Box(NamedTuple):
    """The bounds of n parameters: ``lower <= p <= upper``."""

    lower: Vector
    upper: Vector

    def inside(self, p: Vector) -> Vector:
        """Return the nearest point within the bounds."""
        return np.minimum(np.maximum(p, self.lower), self.upper)

    def free(self, p: Vector, gradient: Vector) -> Mask:
        """Return which parameters are not held at a bound, where the objective would decrease beyond the bound."""
        return ~(((p <= self.lower) & (gradient > 0)) | ((p >= self.upper) & (gradient < 0)))


class Step(NamedTuple):
    """A step of the minimisation.

    Attributes:
        kind: ``start``, ``damped`` (Levenberg-Marquardt), ``rejected``, or ``newton``.
        point: the point reached.
        value: the objective there.
        length: the norm of the scaled step.
        damping: the damping mu of the step.
    """

    kind: str
    point: Vector
    value: float
    length: float
    damping: float


class Outcome(NamedTuple):
    """The end of a minimisation.

    Attributes:
        point: the best point.
        value: the objective there.
        steps: the number of accepted steps.
        ended: ``converged``, ``stalled`` or ``steps``.
    """

    point: Vector
    value: float
    steps: int
    ended: str


class Minimizer:
    """A minimisation of an objective within bounds.

    Args:
        objective: the objective.
        start: the first point.
        box: the bounds.
        most: the maximum number of steps, accepted or not.
        watch: a function that is called with every step.
    """

    def __init__(
        self,
        objective: Objective,
        start: Vector,
        box: Box,
        most: int = 10_000,
        watch: Callable[[Step], None] | None = None,
    ) -> None:
        self.objective = objective
        self.box = box
        self.point = box.inside(np.asarray(start, float))
        self.most = most
        self.steps = self.tried = 0
        self._watch = watch or (lambda _: None)
        self._near = NEAR

    def run(self) -> Outcome:
        """Minimise the objective from the start, at which it must be finite with its derivatives."""
        value = self.objective.value(self.point)
        linear = self.objective.linear(self.point)
        scale = np.zeros(len(self.point))
        damping, growth = DAMPING, 2.0
        self._watch(Step("start", self.point, value, 0.0, damping))
        while True:
            free = self.box.free(self.point, linear.gradient)
            scale = np.maximum(scale, linear.norms)
            if not free.any() or _offset(linear.of(free)) <= self._near or value == 0:
                polished = self._newton(value)
                if polished is not None or self._near < NEAREST or value == 0:
                    return polished or Outcome(self.point, value, self.steps, "stalled")
                self._near /= 100
            if self.tried >= self.most:
                return Outcome(self.point, value, self.steps, "steps")
            d = np.where(scale > 0, scale, 1.0)
            step, predicted = self._step(linear, d, damping, free)
            self.tried += 1
            new, gain = np.inf, -1.0
            if step is not None:
                if np.linalg.norm(d * step) <= 2 * EPSILON * np.linalg.norm(d * self.point):
                    return self._newton(value) or Outcome(self.point, value, self.steps, "stalled")
                trial = self.box.inside(self.point + step)
                new = self.objective.value(trial)
                gain = (value - new) / predicted if predicted > 0 and np.isfinite(new) else -1.0
            after = self.objective.linear(trial) if gain > 0 else None
            accepted = after is not None and after.finite
            if step is not None:
                length = float(np.linalg.norm(d * step))
                self._watch(Step("damped" if accepted else "rejected", trial, new, length, damping))
            if accepted and after is not None:
                self.point, value, linear = trial, new, after
                self.steps += 1
                damping, growth = damping * max(1 / 3, 1 - (2 * gain - 1) ** 3), 2.0
            else:
                damping, growth = damping * growth, growth * 2

    def _step(self, linear: Linear, d: Vector, damping: float, free: Mask) -> tuple[Vector | None, float]:
        """Return the damped step with its acceleration, and the decrease that the linear problem predicts without it.

        The step is ``None`` if the acceleration is too large.

        A parameter that would leave its bounds stops at the bound, and the others are solved for again.

        Args:
            linear: the linear problem at the point.
            d: the column scaling.
            damping: the damping.
            free: the parameters that may move.
        """
        step = np.zeros(len(d))
        moving = free.copy()
        while moving.any():
            n = int(moving.sum())
            image = linear.image + linear.factor @ step
            top = np.column_stack([linear.factor[:, moving] / d[moving], -image])
            factor = triangle([np.vstack([top, np.column_stack([np.sqrt(damping) * np.eye(n), np.zeros(n)])])], n + 1)
            triangular = factor[:n, :n]
            try:
                step[moving] = np.linalg.solve(triangular, factor[:n, n]) / d[moving]
            except np.linalg.LinAlgError:
                return None, 0.0
            trial = self.point + step
            out = moving & ((trial < self.box.lower) | (trial > self.box.upper))
            if not out.any():
                break
            step[out] = (self.box.inside(trial) - self.point)[out]
            moving &= ~out
            step[moving] = 0.0
        if not np.isfinite(step).all():
            return None, 0.0
        predicted = -float(linear.gradient @ step) - 0.5 * float(np.sum((linear.factor @ step) ** 2))
        if not moving.any():
            return step, predicted
        second = self.objective.along(self.point, step)[moving] / d[moving]
        bend = np.zeros(len(d))
        bend[moving] = -0.5 * np.linalg.solve(triangular, np.linalg.solve(triangular.T, second)) / d[moving]
        small = 2 * np.linalg.norm(d * bend) <= ACCELERATION * np.linalg.norm(d * step)
        return step + bend if small else None, predicted

    def _newton(self, value: float) -> Outcome | None:
        """Take Newton steps until they are rounding; return ``None`` if they do not converge."""
        point, best, size = self.point, self.point, np.inf
        start = value
        for _ in range(MOST_NEWTON):
            at = self.objective.quadratic(point)
            if not at.finite:
                return None
            if size < np.inf:
                self._watch(Step("newton", point, at.value, size, 0.0))
            free = self.box.free(point, at.gradient)
            step, scaled = newton_step(at.gradient[free], at.hessian[np.ix_(free, free)])
            if step is None:
                return None
            d = np.sqrt(np.diag(at.hessian)[free])
            rounding = EPSILON * float(np.linalg.norm(d * point[free]))
            if at.value > start * (1 + 1e-6) and size > 1e4 * rounding:
                return None
            if scaled >= size / 2 and scaled > rounding and size > 1e6 * rounding:
                return None  # not convergent
            if scaled >= size / 2:
                break
            size, best, value = scaled, point, at.value
            if scaled <= rounding / 4:
                break
            trial = point.copy()
            trial[free] += step
            trial = self.box.inside(trial)
            self.tried += 1
            self.steps += 1
            if np.array_equal(trial, point):
                break
            point = trial
        else:
            return None
        self.point = best
        return Outcome(best, value, self.steps, "converged")


def newton_step(gradient: Vector, hessian: NDArray[np.float64]) -> tuple[Vector | None, float]:
    """Return the Newton step and its norm in the metric of the Hessian; ``None`` if the Hessian is not positive definite."""
    if not len(gradient):
        return gradient, 0.0
    diagonal = np.diag(hessian)
    if not (diagonal > 0).all():
        return None, np.inf
    d = np.sqrt(diagonal)
    try:
        lower = np.linalg.cholesky(hessian / np.outer(d, d))
    except np.linalg.LinAlgError:
        return None, np.inf
    half = np.linalg.solve(lower, -gradient / d)
    return np.linalg.solve(lower.T, half) / d, float(np.linalg.norm(half))


def _offset(linear: Linear) -> float:
    """Return the relative offset: the tangent part of the residuals relative to the orthogonal part."""
    return float(np.linalg.norm(linear.image)) / linear.rest if linear.rest > 0 else (np.inf if linear.image.any() else 0.0)


__all__ = ["Box", "Minimizer", "Outcome", "Step", "newton_step"]
