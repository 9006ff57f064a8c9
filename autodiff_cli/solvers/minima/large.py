"""Minima of functions of many variables, from gradients and Hessian-vector products alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.lazy import library
from autodiff_cli.solvers.minima.certificate import Active, Certificate, definiteness
from autodiff_cli.solvers.minima.descent import Descent, descend, outward, projected
from autodiff_cli.solvers.minima.steps import EPS, conjugate_step

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.solvers.minima.descent import Report, Smooth
    from autodiff_cli.solvers.minima.problem import MinimumProblem
    from autodiff_cli.solvers.minima.steps import Product

_MEMORY = 20
_TRIALS = 3
_MOST_RESTARTS = 100


def descend_large(function: Smooth, x: Vector, most: int, tolerance: float = 0.0, report: Report | None = None) -> Descent:
    """Minimize a function of many variables by L-BFGS-B, then by Newton's method with conjugate gradients.

    The arguments and the result are those of ``descend``.
    """
    optimize = library("scipy.optimize", "minimize")
    bounds = optimize.Bounds(function.low, function.high)
    options = {"maxiter": 10 * most, "maxfun": 20 * most, "maxcor": _MEMORY, "ftol": 1e-12, "gtol": 1e-8}

    def value(point: Vector) -> float:
        result = function.value(point)
        return result if np.isfinite(result) or result == -np.inf else 1e300

    with np.errstate(all="ignore"):
        done = optimize.minimize(value, x, jac=function.gradient, method="L-BFGS-B", bounds=bounds, options=options)
    better = np.isfinite(function.value(done.x)) and np.isfinite(function.gradient(done.x)).all()
    ended = descend(function, done.x if better else x, most, tolerance, report, np.maximum(np.abs(x), np.abs(done.x)))
    return ended._replace(steps=ended.steps + int(done.nit))


def certify_large(problem: MinimumProblem, x: Vector, typical: Vector) -> Certificate:
    """Return what is true at a point, with the extreme eigenvalues of the Hessian matrix by the Lanczos method.

    Args:
        problem: a problem without constraints.
        x: the point.
        typical: the size of each variable.
    """
    gradient = problem.slopes(x)[0]
    fixed = outward(x, gradient, problem.low, problem.high)
    free = ~fixed

    def product(direction: Vector) -> Vector:
        return np.where(free, problem.product(x, np.where(free, direction, 0.0)), 0.0)

    slope = projected(x, gradient, problem.low, problem.high)
    step = conjugate_step(product, slope, np.inf, 1e-6)
    moved = [problem.slopes(x * (1 + EPS * sign))[0] for sign in np.random.default_rng(0).choice((-1.0, 1.0), (_TRIALS, len(x)))]
    rounding = 32 * np.maximum(np.max(np.abs(np.array(moved) - gradient), axis=0), EPS**2)
    small = bool((np.abs(step) <= 4 * EPS * np.maximum(typical, np.abs(x))).all())
    small &= abs(float(slope @ step)) <= EPS * max(abs(problem.values(x)[0]), abs(problem.values(problem.start)[0]))
    stationary = bool((np.abs(slope) <= rounding).all()) or small
    ends, vector = _extremes(product, free)
    error = 1e-6 * float(np.max(np.abs(ends)))
    kind = definiteness(ends, error)
    value = problem.values(x)[0]
    active = Active(np.zeros(0, bool), fixed)
    return Certificate(x, value, np.zeros(0), gradient, active, 0.0, stationary, True, ends, error, kind, vector)


def _extremes(product: Product, free: Mask) -> tuple[Vector, Vector]:
    """Return the lowest and the highest eigenvalue of the free part of a matrix, and the eigenvector of the lowest one."""
    linalg = library("scipy.sparse.linalg", "minimize")

    count = int(free.sum())
    vector = np.zeros(len(free))
    if count < 2:
        vector[free] = 1.0
        return np.array([vector @ product(vector)] * 2), vector

    def within(part: Vector) -> Vector:
        whole = np.zeros(len(free))
        whole[free] = np.ravel(part)
        return product(whole)[free]

    operator = linalg.LinearOperator((count, count), matvec=within, dtype=float)
    start = np.random.default_rng(0).standard_normal(count)
    try:
        highest = linalg.eigsh(operator, 1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)
        lowest, vectors = linalg.eigsh(operator, 1, which="SA", v0=start, tol=1e-4, ncv=min(count, 40), maxiter=_MOST_RESTARTS)
    except linalg.ArpackError:
        return np.array([np.nan, np.nan]), vector
    vector[free] = vectors[:, 0]
    return np.array([lowest[0], highest[0]]), vector
