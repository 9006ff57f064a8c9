"""Minima of functions of many variables, from gradients and Hessian-vector products alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.lazy import library
from autodiff_cli.solvers.minima.certificate import Active, Certificate, definiteness
from autodiff_cli.solvers.minima.newton_trust_region import EPS, Descent

if TYPE_CHECKING:
    from collections.abc import Callable

    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.solvers.minima.newton_trust_region import Report
    from autodiff_cli.solvers.minima.problem import MinimumProblem

_MEMORY = 20  # the number of past steps from which L-BFGS-B estimates the curvature
_TRIALS = 3  # the number of neighbouring points that show the rounding errors of a gradient
_MOST_RESTARTS, _MOST_CONJUGATE = 100, 1_000
"""The most iterations of the Lanczos method and of conjugate gradients; each is one product with the Hessian."""
_PARTS = (1.0, 0.25, 0.0625)  # the parts of a Newton step that are tried
_DEEP, _FAR = 1e200, 1e20  # the depth of a value and the distance of a point that are taken as unbounded


def _outward(x: Vector, gradient: Vector, low: Vector, high: Vector) -> Mask:
    """Return the mask of the variables at a bound that a descent would cross."""
    return np.asarray(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))


def _projected_gradient(problem: MinimumProblem, x: Vector) -> Vector:
    """Return the gradient at a point without the elements of variables at a bound that a descent would cross."""
    gradient = problem.gradient(x)
    return np.where(_outward(x, gradient, problem.low, problem.high), 0.0, gradient)


def descend_large(problem: MinimumProblem, x: Vector, most: int, report: Report) -> Descent:
    """Minimize a function of many variables by L-BFGS-B, then by at most ``most`` Newton steps with conjugate gradients."""
    optimize = library("scipy.optimize", "minimize")
    bounds = optimize.Bounds(problem.low, problem.high)
    options = {"maxiter": 10 * most, "maxfun": 20 * most, "maxcor": _MEMORY, "ftol": 1e-12, "gtol": 1e-8}

    def value(point: Vector) -> float:
        """Return f, with a high value in place of one that is not defined."""
        result = problem.value(point)
        return result if np.isfinite(result) or result == -np.inf else 1e300

    with np.errstate(all="ignore"):
        end = optimize.minimize(value, x, jac=problem.gradient, method="L-BFGS-B", bounds=bounds, options=options)
    x = end.x if np.isfinite(problem.gradient(end.x)).all() else x
    is_endless = not problem.value(x) > -_DEEP or float(np.max(np.abs(x))) > _FAR
    steps = int(end.nit)
    lengths: list[float] = []
    while not is_endless and len(lengths) < most and (lower := _newton_point(problem, x)) is not None:
        lengths.append(float(np.linalg.norm(lower - x)))
        x = lower
        report(x, problem.value(x), float(np.linalg.norm(_projected_gradient(problem, x))), lengths[-1], "step")
    return Descent(x, "unbounded" if is_endless else "stationary", steps + len(lengths), lengths)


def _newton_point(problem: MinimumProblem, x: Vector) -> Vector | None:
    """Return the point after a part of a Newton step that halves the gradient and does not raise the value, or ``None``."""
    slope = _projected_gradient(problem, x)
    if not slope.any():
        return None
    step = _conjugate_step(problem, x, slope)
    for part in _PARTS:
        trial = np.clip(x + part * step, problem.low, problem.high)
        is_lower = problem.value(trial) <= problem.value(x) + 8 * EPS * abs(problem.value(x))
        if is_lower and np.linalg.norm(_projected_gradient(problem, trial)) < 0.5 * np.linalg.norm(slope):
            return trial
    return None


def _conjugate_step(problem: MinimumProblem, x: Vector, slope: Vector) -> Vector:
    """Return the Newton step, by conjugate gradients, of the variables whose element of the projected gradient is not 0."""
    linalg = library("scipy.sparse.linalg", "minimize")
    operator = linalg.LinearOperator((len(x), len(x)), matvec=lambda v: _product(problem, x, slope != 0, v), dtype=float)
    return np.asarray(linalg.cg(operator, -slope, maxiter=_MOST_CONJUGATE)[0])


def _product(problem: MinimumProblem, x: Vector, free: Mask, direction: Vector) -> Vector:
    """Return the Hessian matrix times a direction, restricted to the free variables."""
    return np.where(free, problem.product(x, np.where(free, direction, 0.0)), 0.0)


def certify_large(problem: MinimumProblem, x: Vector, typical: Vector) -> Certificate:
    """Return what is true at a point of a problem without constraints, with the extreme eigenvalues by the Lanczos method."""
    value, gradient = problem.value(x), problem.gradient(x)
    fixed = _outward(x, gradient, problem.low, problem.high)
    active, multipliers = Active(np.zeros(0, bool), fixed), np.zeros(0)
    violation, is_stationary, has_signs = 0.0, _is_stationary(problem, x, typical), True
    eigenvalues, direction = _extremes(partial(_product, problem, x, ~fixed), ~fixed)
    error = 1e-6 * float(np.max(np.abs(eigenvalues)))  # an estimate for the Lanczos method
    proof = violation, is_stationary, has_signs, eigenvalues, error, definiteness(eigenvalues, error), direction
    return Certificate(x, value, multipliers, gradient, active, *proof)


def _is_stationary(problem: MinimumProblem, x: Vector, typical: Vector) -> bool:
    """Return whether the projected gradient is rounding, or the Newton step and the change of the value along it are."""
    gradient, slope = problem.gradient(x), _projected_gradient(problem, x)
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (_TRIALS, len(x)))
    changes = np.array([problem.slopes(x * (1 + EPS * sign))[0] - gradient for sign in signs])
    rounding = 32 * np.maximum(np.max(np.abs(changes), axis=0), EPS**2)
    if (np.abs(slope) <= rounding).all():
        return True
    step = _conjugate_step(problem, x, slope)
    largest_value = max(abs(problem.value(x)), abs(problem.value(problem.start)))
    is_small = (np.abs(step) <= 4 * EPS * np.maximum(typical, np.abs(x))).all()
    return bool(is_small) and abs(float(slope @ step)) <= EPS * largest_value


def _extremes(product: Callable[[Vector], Vector], free: Mask) -> tuple[Vector, Vector]:
    """Return the lowest and highest eigenvalue of the free part of a matrix, nan if not found, and the lowest eigenvector."""
    linalg = library("scipy.sparse.linalg", "minimize")
    count = int(free.sum())
    vector = np.zeros(len(free))
    if count < 2:  # the Lanczos method needs two variables; without any, the eigenvalues are 0
        vector[free] = 1.0
        return np.array([vector @ product(vector)] * 2), vector

    def free_product(part: Vector) -> Vector:
        whole = np.zeros(len(free))
        whole[free] = np.ravel(part)
        return product(whole)[free]

    operator = linalg.LinearOperator((count, count), matvec=free_product, dtype=float)
    start = np.random.default_rng(0).standard_normal(count)
    try:
        highest = linalg.eigsh(operator, 1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)
        lowest, vectors = linalg.eigsh(operator, 1, which="SA", v0=start, tol=1e-4, ncv=min(count, 40), maxiter=_MOST_RESTARTS)
    except linalg.ArpackError:
        return np.array([np.nan, np.nan]), vector
    vector[free] = vectors[:, 0]
    return np.array([lowest[0], highest[0]]), vector
