"""The statistics of a fit: covariance, intervals, and measures of the residuals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.command_result import Record
from autodiff_cli.ops.scipy_backend import from_scipy
from autodiff_cli.solvers.fitting.engine.proof import Proof
from autodiff_cli.solvers.fitting.problem import Problem

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector


def covariance(proof: Proof, rows: int, absolute: bool) -> Matrix:
    """Return the covariance matrix of the free parameters, of shape (n, n); nan in the rows of parameters held at a bound, and
    everywhere if the point is not a minimum.

    It is the inverse of J'J, from the triangular factor of J, times the variance of the residuals unless the standard deviations
    of the data are known.
    """
    n = len(proof.free)
    found = np.full((n, n), np.nan)
    free = proof.free
    dof = rows - int(free.sum())
    if not free.any() or not proof.minimum or (dof <= 0 and not absolute):
        return found
    inverse = np.linalg.inv(proof.linear.of(free).factor)
    found[np.ix_(free, free)] = inverse @ inverse.T * (1.0 if absolute else proof.linear.of(free).rest ** 2 / dof)
    return found


def sandwich(proof: Proof, scores: Matrix, rows: int) -> Matrix:
    """Return the covariance matrix of the free parameters for a robust loss; nan where there is none.

    Args:
        proof: the facts about the solution.
        scores: the sum over the rows of the products of the derivatives of the loss, of shape (n, n).
        rows: the number of rows.

    Source: Huber, "The behavior of maximum likelihood estimates under nonstandard conditions" (1967).
    """
    n = len(proof.free)
    found = np.full((n, n), np.nan)
    dof = rows - int(proof.free.sum())
    if proof.minimum and proof.free.any() and dof > 0:
        part = np.ix_(proof.free, proof.free)
        inverse = np.linalg.inv(proof.quadratic.hessian[part])
        found[part] = inverse @ scores[part] @ inverse * (rows / dof)
    return found


def quantile(level: float, dof: int, absolute: bool) -> float:
    """Return the factor of a standard error in an interval: of Student's t distribution, or of the normal one."""
    upper = (1 + level) / 2
    return float(from_scipy("ndtri")(upper) if absolute or dof <= 0 else from_scipy("stdtrit")(dof, upper))


def robust_scale(residuals: Vector, dof: int) -> float:
    """Return the standard deviation of normal errors with the median of the absolute residuals, for ``dof`` degrees of freedom.

    Outliers do not increase it, as they increase the sum of squares.

    Source: Huber, "Robust Statistics" (1981), sections 5.1 and 7.
    """
    spread = float(np.median(np.abs(residuals))) / float(from_scipy("ndtri")(0.75))
    return spread * math.sqrt(len(residuals) / dof)


def residual_statistics(problem: Problem, point: Vector, proof: Proof, total: float | None) -> tuple[Record, Record]:
    """Return the statistics of the residuals: ``residual`` and ``statistics``.

    Args:
        problem: the problem.
        point: the free parameters.
        proof: the facts about the solution.
        total: the weighted sum of squares of the left side about its mean, if it does not depend on parameters.

    Source of AICc: Hurvich and Tsai, "Regression and time series model selection in small samples" (1989).
    """
    rows, n = problem.data.rows, int(proof.free.sum())
    dof = rows - n
    if not problem.loss.plain:
        rss = problem.objective.squares(point)
    else:
        rss = proof.linear.of(proof.free).rest ** 2 if proof.minimum else 2 * proof.quadratic.value
    std = math.sqrt(rss / dof) if dof > 0 else None
    logs = float(np.sum(np.log(problem.scale))) if problem.scale is not None else 0.0
    count = n if problem.absolute else n + 1
    with np.errstate(all="ignore"):
        if problem.absolute:
            deviance = rss + rows * math.log(2 * math.pi) - 2 * logs
        else:
            deviance = float(rows * (np.log(2 * np.pi * rss / rows) + 1) - 2 * logs)
    if not problem.loss.plain:
        deviance = math.nan
    aic = deviance + 2 * count
    aicc = aic + 2 * count * (count + 1) / (rows - count - 1) if rows > count + 1 else None
    chi2 = rss if problem.absolute and problem.loss.plain else None
    p = None
    if chi2 is not None and dof > 0:
        p = float(from_scipy("gammaincc")(dof / 2, chi2 / 2))
    statistics = {
        "r2": None if not total else 1 - rss / total,
        "aic": aic,
        "aicc": aicc,
        "bic": deviance + count * math.log(rows),
        "chi2": chi2,
        "reduced_chi2": chi2 / dof if chi2 is not None and dof > 0 else None,
        "p": p,
    }
    known = {key: None if value is None or not math.isfinite(value) else value for key, value in statistics.items()}
    residual: Record = {"rss": rss, "std": std, "dof": dof, "rows": rows}
    if not problem.loss.plain:
        residual["robust_std"] = robust_scale(problem.objective.residuals(point), dof) if dof > 0 else None
    return residual, known
