"""Minima with constraints or bounds: SciPy's SLSQP searches, and Newton's method with an active set ends at the minimum.

The multipliers of the active set have the signs of a minimum, or one constraint after the other leaves it.  Source of the search:
Kraft, "A software package for sequential quadratic programming" (1988).
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.lazy import library
from autodiff_cli.solvers.minima.certificate import Active, Certificate, certify, refine, violations
from autodiff_cli.solvers.minima.newton_trust_region import Descent

if TYPE_CHECKING:
    from collections.abc import Callable

    from autodiff_cli.arrays import Mask, Matrix, Vector
    from autodiff_cli.solvers.minima.newton_trust_region import Report
    from autodiff_cli.solvers.minima.problem import MinimumProblem

_PARTS = (0.1, 1.0, 0.01, 10.0, 0.0)  # the distances from the start, relative to its size, of further starts
_MOST_STEPS, _MOST_RUNS = 300, 4  # the maximum number of steps of SLSQP, and of its runs without constraints
_HUGE = 1e100  # the number in place of one that is not finite
_TOLERANCE = 1e-12  # the change of the value, in units of the first gradient, at which SLSQP ends
_NEAR = 1e-6  # the distance from a constraint, relative to the size of the variables, at which it is taken as active at first
_DEEP = 1e12  # the depth of a value that is taken as unbounded


def minimize_constrained(problem: MinimumProblem, report: Report) -> tuple[Certificate | None, Vector, int]:
    """Find a minimum of a problem with constraints, and report each step.

    Each search starts from a better place than the end of the one before: beside a saddle point, or a feasible point downhill.

    Returns:
        The certificate of the minimum, or ``None``; the last point, which is endless if such a point was reached; and the number
        of steps.
    """
    start, steps, typical = problem.start, 0, np.abs(problem.start)
    saddle: Certificate | None = None
    ends: list[Vector] = []
    for part in _PARTS:
        points = _sqp_points(problem, start, report)
        steps += len(points)
        typical = np.maximum(typical, np.max(np.abs(points), axis=0))
        ends.append(points[-1])
        result = _certificate_near(problem, points[-1], typical)
        if result is None or result.violation:
            start = _nearest_feasible(problem, _downhill(problem, part))
        elif not result.is_critical:
            start = result.x
        elif result.curvature in ("negative", "indefinite"):
            saddle, start = result, _beside_saddle(problem, result)
        else:
            return result, result.x, steps
    if saddle is not None:
        return saddle, saddle.x, steps
    last = next((x for x in ends if is_endless(problem, x)), None)
    if last is None:
        last = _nearest_feasible(problem, min(ends, key=lambda x: float(np.linalg.norm(violations(problem, x)))))
    return None, last, steps


def _certificate_near(problem: MinimumProblem, x: Vector, typical: Vector) -> Certificate | None:
    """Return the certificate of the point that Newton's method finds from two guesses of the active set, or ``None``."""
    if is_endless(problem, x):
        return None
    sizes = np.linalg.norm(problem.slopes(x)[1], axis=1)
    is_near = problem.values(x)[1] <= _NEAR * sizes * max(1.0, float(np.max(np.abs(x))))
    guesses = (is_near, problem.equality)  # the constraints close to the point, or the equations alone
    results = [solve_active_set(problem, x, guess, typical) for guess in guesses]
    return next((result for result in results if result is not None and result.is_critical), results[0])


def is_endless(problem: MinimumProblem, x: Vector) -> bool:
    """Return whether a point satisfies the constraints, and the value there is so low that it has no bound."""
    violation = float(np.max(violations(problem, x), initial=0.0))
    return violation <= _NEAR * float(np.max(np.abs(x))) and problem.values(x)[0] < min(-_DEEP, problem.values(problem.start)[0])


def descend_between(problem: MinimumProblem, start: Vector, report: Report) -> Descent:
    """Minimize a function between bounds."""
    points = _sqp_points(problem, start, report)
    lengths = [float(np.linalg.norm(after - before)) for before, after in itertools.pairwise(points)]
    return Descent(points[-1], "unbounded" if is_endless(problem, points[-1]) else "stationary", len(lengths), lengths)


def _sqp_points(problem: MinimumProblem, start: Vector, report: Report) -> list[Vector]:
    """Return the start, the points of sequential quadratic programming, and its end, on the bounds that are close to it."""
    points = [start]

    def accept(x: Vector) -> None:
        """Record and report a step of SLSQP, unless its end is not finite."""
        if not np.isfinite(x).all():
            return
        points.append(np.clip(x, problem.low, problem.high))
        slope = float(np.linalg.norm(problem.slopes(points[-1])[0]))
        report(points[-1], problem.values(points[-1])[0], slope, float(np.linalg.norm(points[-1] - points[-2])), "step")

    for _ in range(_MOST_RUNS):
        value = problem.value(start)
        end = _run_slsqp(problem, start, accept)
        start = points[-1]
        if problem.constraints or not problem.value(start) < value - 1e-3 * abs(value):  # another run hardly decreases it
            break
    x = end if np.isfinite(end).all() else points[-1]
    for bound in (problem.low, problem.high):
        x = np.where(np.abs(x - bound) <= _NEAR * np.maximum(1.0, np.abs(x)), bound, x)
    return [*points, np.clip(x, problem.low, problem.high)]


def _run_slsqp(problem: MinimumProblem, start: Vector, accept: Callable[[Vector], None]) -> Vector:
    """Return the end of one run of SciPy's SLSQP, which calls ``accept`` with each of its points."""
    optimize = library("scipy.optimize", "minimize")
    unit = min(1.0, max(float(np.linalg.norm(problem.gradient(start))), 1e-100))  # the tolerance is not relative
    result = optimize.minimize(
        lambda x: float(_finite(np.asarray(problem.value(x) / unit))),
        start,
        jac=lambda x: _finite(problem.gradient(x) / unit),
        bounds=optimize.Bounds(problem.low, problem.high),
        constraints=_scipy_constraints(problem),
        method="SLSQP",
        options={"maxiter": _MOST_STEPS, "ftol": _TOLERANCE},
        callback=accept,
    )
    return np.asarray(result.x)


def _scipy_constraints(problem: MinimumProblem) -> list[dict[str, object]]:
    """Return the equations and the inequalities in the form that SciPy's ``minimize`` takes."""

    def values(rows: Mask, x: Vector) -> Vector:
        return _finite(problem.values(x)[1][rows])

    def slopes(rows: Mask, x: Vector) -> Matrix:
        return _finite(problem.slopes(x)[1][rows])

    kinds = [(kind, rows) for kind, rows in (("eq", problem.equality), ("ineq", ~problem.equality)) if rows.any()]
    return [{"type": kind, "fun": partial(values, rows), "jac": partial(slopes, rows)} for kind, rows in kinds]


def _downhill(problem: MinimumProblem, part: float) -> Vector:
    """Return a point downhill at a part of the size of the start, where the gradients of constraints may be independent."""
    x, gradient = problem.start, problem.slopes(problem.start)[0]
    size = part * max(1.0, float(np.max(np.abs(x)))) / max(float(np.linalg.norm(gradient)), 1e-300)
    return np.clip(x - size * gradient, problem.low, problem.high)


def _finite(numbers: Vector) -> Vector:
    """Return numbers with large ones in place of those that are not finite."""
    return np.asarray(np.nan_to_num(numbers, nan=_HUGE, posinf=_HUGE, neginf=-_HUGE))


def _nearest_feasible(problem: MinimumProblem, x: Vector) -> Vector:
    """Return the point, near another one, at which the violation of the constraints is smallest, by least squares."""

    def violation(x: Vector) -> Vector:
        c = problem.values(x)[1]
        return _finite(np.where(problem.equality, c, np.minimum(c, 0.0)))

    def slopes(x: Vector) -> Matrix:
        c, jacobian = problem.values(x)[1], problem.slopes(x)[1]
        return _finite(np.where((problem.equality | (c < 0))[:, None], jacobian, 0.0))

    solve = library("scipy.optimize", "minimize").least_squares
    start = _finite(np.clip(x, problem.low, problem.high))
    return np.asarray(solve(violation, start, slopes, (problem.low, problem.high), x_scale="jac").x)


def _beside_saddle(problem: MinimumProblem, certificate: Certificate) -> Vector:
    """Return the lowest of some points beside a saddle point, in the direction of the lowest curvature up to the bounds."""
    x, direction = certificate.x, certificate.direction
    size = max(1.0, float(np.max(np.abs(x))))
    unit = direction * size / max(float(np.max(np.abs(direction))), 1e-300)
    points = []
    for step in (unit, -unit):
        with np.errstate(all="ignore"):  # the steps from each variable to its bound
            steps = np.where(step > 0, (problem.high - x) / step, np.where(step < 0, (problem.low - x) / step, np.inf))
        points += [np.clip(x + min(part, float(np.min(steps))) * step, problem.low, problem.high) for part in (0.1, 1.0)]
    return min(points, key=lambda point: problem.values(point)[0])


def solve_active_set(problem: MinimumProblem, x: Vector, constraints: Mask, typical: Vector) -> Certificate | None:
    """Return the certificate of the point that Newton's method finds with an active set, or ``None``.

    The set begins with a mask of the constraints that are probably active, and is corrected, until it occurs again, by what is
    violated and by the signs of multipliers.  ``None`` means that the first point is far away or not finite.
    """
    active = Active(constraints | problem.equality, (x <= problem.low) | (x >= problem.high))
    tried: set[bytes] = set()
    result: Certificate | None = None
    for _ in range(3 * (len(active.constraints) + len(active.fixed)) + 3):  # each enters and leaves the set a few times
        key = np.concatenate(active).tobytes()
        if key in tried:
            break
        tried.add(key)
        point = refine(problem, x, active)
        is_far = np.linalg.norm(point - x) > 10 * max(1.0, float(np.linalg.norm(typical)))
        if is_far or not np.isfinite(point).all() or not np.isfinite(problem.hessian(point)).all():
            return result
        x, result = point, certify(problem, point, active, typical)
        corrected = None if result.is_critical else _corrected(problem, result)
        if corrected is None:
            break
        active = corrected
    return result


def _corrected(problem: MinimumProblem, certificate: Certificate) -> Active | None:
    """Return a better active set: with what the point violates, or without what holds it most wrongly; ``None`` without either."""
    x, (constraints, fixed) = certificate.x, certificate.active
    is_violated = ~problem.equality & ~constraints & (problem.values(x)[1] < 0)
    is_beyond = ~fixed & ((x <= problem.low) | (x >= problem.high))
    if is_violated.any() or is_beyond.any():
        return Active(constraints | is_violated, fixed | is_beyond)
    is_wrong = constraints & ~problem.equality & (certificate.multipliers < 0)
    if is_wrong.any():
        worst = np.argmin(np.where(is_wrong, certificate.multipliers, np.inf))
        return Active(constraints & (np.arange(len(constraints)) != worst), fixed)
    falls_inside = (certificate.reduced < 0) & (x <= problem.low) | (certificate.reduced > 0) & (x >= problem.high)
    falls_inside &= fixed & (problem.low < problem.high)
    if falls_inside.any():
        worst = np.argmax(np.where(falls_inside, np.abs(certificate.reduced), -1.0))
        return Active(constraints, fixed & (np.arange(len(fixed)) != worst))
    return None
