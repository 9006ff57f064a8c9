"""The method of multipliers, for constraints: minimize an augmented Lagrangian between bounds, then correct the multipliers.

An inequality c >= 0 becomes c - s = 0 with a slack s >= 0.  The algorithm is 17.4 of Nocedal and Wright, Numerical Optimization,
2nd edition; after each minimization, Newton's method on the first-order conditions is tried with the constraints that are active.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.minima.certificate import Active, Certificate, certify, refine, violations
from autodiff_cli.solvers.minima.descent import descend

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Matrix, Vector
    from autodiff_cli.solvers.minima.descent import Descent, Report
    from autodiff_cli.solvers.minima.problem import MinimumProblem

_FACTORS = (1.0, 100.0, 1e4)
"""The factors of the first penalty in successive attempts."""
_MOST_DESCENTS = 3
_MOST_OUTER = 40
_LARGEST_PENALTY = 1e12


class _Budget:
    """The trial steps that are left: those of a few descents of at most ``most`` steps."""

    def __init__(self, most: int) -> None:
        self._most, self._left = most, _MOST_DESCENTS * most

    @property
    def share(self) -> int:
        """The largest number of trials of the next descent."""
        return min(self._most, self._left)

    def spent(self, done: Descent) -> Descent:
        """Subtract the trials of a descent, and return it."""
        self._left -= done.trials
        return done


class Augmented:
    """The augmented Lagrangian factor*f - multipliers @ r + penalty/2 * r @ r with r = c - s, as a function of x and the slacks s.

    Without constraints, it is the objective f; with the factor 0, the violation of the constraints.
    """

    def __init__(
        self, problem: MinimumProblem, scale: Vector, multipliers: Vector, penalty: float = 1.0, factor: float = 1.0
    ) -> None:
        self.problem, self.scale, self.multipliers, self.penalty = problem, scale, multipliers, penalty
        self.factor = factor
        self.slack = np.flatnonzero(~problem.equality)
        none = np.zeros(len(self.slack))
        self.low = np.concatenate([problem.low, none])
        self.high = np.concatenate([problem.high, none + np.inf])

    def split(self, z: Vector) -> tuple[Vector, Vector]:
        """Return the variables and the residuals of the constraints, c - s."""
        x = z[: self.problem.size]
        residual = self.problem.values(x)[1] * self.scale
        residual[self.slack] -= z[self.problem.size :]
        return x, residual

    def with_slacks(self, x: Vector) -> Vector:
        """Return x with the best slacks."""
        c = self.problem.values(x)[1] * self.scale
        return np.concatenate([x, np.maximum(0.0, c - self.multipliers / self.penalty)[self.slack]])

    def _pull(self, residual: Vector) -> Vector:
        return self.multipliers - self.penalty * residual

    def value(self, z: Vector) -> float:
        x, residual = self.split(z)
        value = self.problem.values(x)[0] if self.factor else 0.0
        return float(value - self.multipliers @ residual + self.penalty / 2 * (residual @ residual))

    def gradient(self, z: Vector) -> Vector:
        x, residual = self.split(z)
        gradient, jacobian = self.problem.slopes(x)
        pull = self._pull(residual)
        return np.concatenate([self.factor * gradient - jacobian.T @ (pull * self.scale), pull[self.slack]])

    def _jacobian(self, x: Vector) -> Matrix:
        """Return the Jacobian matrix of the residuals with respect to x and the slacks."""
        inner = self.problem.slopes(x)[1] * self.scale[:, None]
        outer = np.zeros((len(inner), len(self.slack)))
        outer[self.slack, np.arange(len(self.slack))] = -1.0
        return np.hstack([inner, outer])

    def hessian(self, z: Vector) -> Matrix:
        x, residual = self.split(z)
        jacobian = self._jacobian(x)
        hessian = self.penalty * jacobian.T @ jacobian
        hessian[: len(x), : len(x)] += self.problem.hessian(x, self._pull(residual) * self.scale, self.factor)
        return np.asarray(hessian)

    def product(self, z: Vector, direction: Vector) -> Vector:
        x, residual = self.split(z)
        jacobian = self._jacobian(x)
        result = self.penalty * jacobian.T @ (jacobian @ direction)
        result[: len(x)] += self.problem.product(x, direction[: len(x)], self._pull(residual) * self.scale, self.factor)
        return np.asarray(result)


class Unbounded(Exception):
    """The end of a search at a point that satisfies the constraints, where the value decreases without bound."""

    def __init__(self, x: Vector) -> None:
        self.x = x


def minimize_constrained(problem: MinimumProblem, most: int, report: Report | None) -> tuple[Certificate | None, Vector, int]:
    """Find a minimum of a problem with constraints.

    Args:
        problem: the problem.
        most: the largest number of trials of each minimization.
        report: the function that receives each accepted step.

    Returns:
        The certificate of the minimum, or ``None``; the last point; and the number of steps.

    Raises:
        Unbounded: if the value decreases without bound.
    """
    steps = 0
    budget = _Budget(most)
    best: tuple[float, Vector] = (np.inf, problem.start)
    result: Certificate | None = None
    start: Vector | None = problem.start
    for factor in _FACTORS:
        if start is None:
            start, more = _restored(problem, problem.start, budget)
            steps += more
        result, x, more = _multiplied(problem, start, factor, budget, report)
        steps += more
        start = None
        if result is not None and result.is_critical:
            if result.curvature not in ("negative", "indefinite") or factor == _FACTORS[-1]:
                return result, x, steps
            start = _beside(problem, result)
            continue
        violation = float(np.max(violations(problem, x), initial=0.0))
        if violation < best[0]:
            best = (violation, x)
        if result is not None and not result.violation:
            break
    if result is None or result.violation:
        x, more = _restored(problem, best[1], _Budget(most))
        return None, x, steps + more
    return result, x, steps


def _beside(problem: MinimumProblem, certificate: Certificate) -> Vector:
    """Return the lower of two points beside a saddle point, in the direction of the lowest curvature."""
    size = max(1.0, float(np.max(np.abs(certificate.x)))) / max(float(np.max(np.abs(certificate.direction))), 1e-300)
    points = [np.clip(certificate.x + sign * 0.1 * size * certificate.direction, problem.low, problem.high) for sign in (1, -1)]
    return min(points, key=lambda point: problem.values(point)[0])


def _scales(problem: MinimumProblem, x: Vector) -> Vector:
    """Return factors with which no constraint has a large gradient."""
    sizes = np.max(np.abs(problem.slopes(x)[1]), axis=1, initial=0.0)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(sizes), 1 / np.maximum(1.0, sizes / 10), 1.0)


def _restored(problem: MinimumProblem, x: Vector, budget: _Budget) -> tuple[Vector, int]:
    """Return the nearest point that a minimization of the violation reaches, and the number of its steps."""
    scale = _scales(problem, x)
    function = Augmented(problem, scale, np.zeros(len(scale)), factor=0.0)
    done = budget.spent(descend(function, function.with_slacks(x), budget.share))
    return done.x[: problem.size], done.steps


def _multiplied(
    problem: MinimumProblem, x: Vector, factor: float, budget: _Budget, report: Report | None
) -> tuple[Certificate | None, Vector, int]:
    """Run the method of multipliers from a point."""
    scale = _scales(problem, x)
    multipliers = np.zeros(len(scale))
    value = abs(problem.values(x)[0])
    size = float(np.sum((violations(problem, x) * scale) ** 2))
    penalty = factor * min(1e3, max(10.0, 2 * value / size if size else 10.0))
    typical, steps = np.abs(x), 0
    allowed, accuracy = 0.1, 0.1
    result: Certificate | None = None
    critical = False

    def shown(z: Vector, value: float, norm: float, length: float, what: str) -> None:
        if report is not None:
            report(z[: problem.size], problem.values(z[: problem.size])[0], norm, length, what)

    for _ in range(_MOST_OUTER):
        function = Augmented(problem, scale, multipliers, penalty)
        if not budget.share:
            break
        done = budget.spent(descend(function, function.with_slacks(x), budget.share, accuracy, shown))
        steps += done.steps
        x, residual = function.split(done.x)
        if done.ending == "unbounded" or not np.isfinite(residual).all():
            if np.linalg.norm(residual) <= 1e-6 * np.linalg.norm(x) and problem.values(x)[0] < min(
                -1e12, problem.values(problem.start)[0]
            ):
                raise Unbounded(x)
            penalty *= 100
            x = problem.start
            if penalty > _LARGEST_PENALTY:
                break
            continue
        typical = np.maximum(typical, np.abs(x))
        slack = np.ones(len(multipliers), bool)
        slack[function.slack] = done.x[problem.size :] <= 0
        result = solve_active_set(problem, x, slack, typical)
        if result is not None and (result.is_minimum or (critical and result.is_critical and result.curvature == "semidefinite")):
            return result, result.x, steps + 1
        critical = result is not None and result.is_critical
        size = float(np.linalg.norm(residual))
        if size <= allowed:
            multipliers = multipliers - penalty * residual
            allowed, accuracy = max(allowed / penalty**0.5, 1e-14), max(accuracy / 10, 1e-12)
        else:
            penalty *= 10
            allowed = max(1 / penalty**0.1 * 0.1, 1e-14)
        if penalty > _LARGEST_PENALTY:
            break
    return result, x if result is None else result.x, steps


def solve_active_set(problem: MinimumProblem, x: Vector, constraints: Mask, typical: Vector) -> Certificate | None:
    """Return the certificate of the point that Newton's method finds with an active set, which is corrected by the signs.

    Args:
        problem: the problem.
        x: the start.
        constraints: the mask of the constraints that are probably active.
        typical: the sizes of the variables.
    """
    rows = constraints | problem.equality
    fixed = (x <= problem.low) | (x >= problem.high)
    tried: set[bytes] = set()
    result: Certificate | None = None
    for _ in range(3 * (len(rows) + len(fixed)) + 3):
        key = np.concatenate([rows, fixed]).tobytes()
        if key in tried:
            break
        tried.add(key)
        active = Active(rows, fixed)
        point = refine(problem, x, active)
        if np.linalg.norm(point - x) > 10 * max(1.0, float(np.linalg.norm(typical))) or not np.isfinite(point).all():
            return result
        if not np.isfinite(problem.hessian(point)).all():
            return result
        result = certify(problem, point, active, typical)
        x = point
        if result.is_critical:
            return result
        c = problem.values(point)[1]
        broken = ~problem.equality & ~rows & (c < 0)
        beyond = ~fixed & ((point <= problem.low) | (point >= problem.high))
        if broken.any() or beyond.any():
            rows, fixed = rows | broken, fixed | beyond
            continue
        wrong = rows & ~problem.equality & (result.multipliers < 0)
        pushed = (result.reduced < 0) & (point <= problem.low) | (result.reduced > 0) & (point >= problem.high)
        pushed &= fixed & (problem.low < problem.high)
        if wrong.any():
            worst = np.argmin(np.where(wrong, result.multipliers, np.inf))
            rows = rows & (np.arange(len(rows)) != worst)
        elif pushed.any():
            worst = np.argmax(np.where(pushed, np.abs(result.reduced), -1.0))
            fixed = fixed & (np.arange(len(fixed)) != worst)
        else:
            break
    return result
