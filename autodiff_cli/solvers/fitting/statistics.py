"""The statistics of a fit: covariance, standard errors, intervals, and measures of the residuals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.command_result import Record
from autodiff_cli.errors import FOREIGN, AutodiffError
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.precise.arithmetic import Arithmetic
from autodiff_cli.precise.evaluator import PreciseEvaluator, numbers, precise_tensor
from autodiff_cli.precise.reference import in_time
from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import EPSILON, Optimality, determined
from autodiff_cli.solvers.fitting.engine.stacks import Linear, split, triangle
from autodiff_cli.solvers.fitting.engine.sum_of_squares import SumOfSquares
from autodiff_cli.solvers.fitting.problem import FitProblem

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Matrix, Stack, Vector


def covariances(objective: SumOfSquares, point: Matrix, facts: Optimality, absolute: bool) -> Stack:
    """Return the covariance matrices of the parameters of B problems, of shape (B, n, n).

    They are nan in the rows of parameters held at a bound, and everywhere if the point is not a minimum.  A matrix is the inverse
    of J'J, from the triangular factor of J, times the variance of the residuals unless the standard deviations of the data are
    known.  For a robust loss it is the sandwich matrix.

    Args:
        objective: the objectives.
        point: the points, of shape (B, n).
        facts: the facts about the points.
        absolute: whether the standard deviations of the data are known.

    Source: Huber, "The behavior of maximum likelihood estimates under nonstandard conditions" (1967).
    """
    plain, identity = objective.loss.plain, np.eye(point.shape[1])
    rows = objective.rows(point)
    dof = rows - facts.free.sum(1)
    has_variance = (dof > 0) | (absolute and plain)  # estimated from residuals, or known
    known = facts.free & (facts.is_minimum & has_variance)[:, None]
    known_pairs = known[:, :, None] & known[:, None, :]
    if plain:
        inverse = np.linalg.inv(np.where(known.any(1)[:, None, None], facts.linear.factor, identity))
        matrices, squares = inverse @ np.swapaxes(inverse, 1, 2), facts.linear.rest**2
    else:  # a sandwich of the inverse Hessian and the products of the gradients; its factor is rows/dof
        bread = np.linalg.inv(np.where(known_pairs, facts.quadratic.hessian, identity))
        filling = np.where(known_pairs, objective.scores(point), 0.0)
        matrices, squares = bread @ filling @ bread, rows.astype(float)
    variance = np.ones(len(point)) if absolute and plain else squares / np.maximum(dof, 1)
    return np.where(known_pairs, matrices * variance[:, None, None], np.nan)


def standard_errors(matrices: Stack) -> Vector:
    """Return the square roots of the diagonals of covariance matrices of shape (..., n, n); nan where a variance is nan."""
    return np.asarray(np.sqrt(np.einsum("...ii->...i", matrices)))


def residual_squares(objective: SumOfSquares, point: Matrix, facts: Optimality) -> Vector:
    """Return the sums of the squares of the weighted residuals of B problems at points, of shape (B, n)."""
    if not objective.loss.plain:
        return objective.squares(point)
    return np.where(facts.is_minimum, facts.linear.rest**2, 2 * facts.quadratic.value)


def quantile(level: float, dof: int, absolute: bool) -> float:
    """Return the factor of a standard error in an interval: of Student's t, or of the normal distribution if ``absolute``."""
    upper = (1 + level) / 2  # without degrees of freedom there are no standard errors, and this factor is not used
    return float(from_scipy("ndtri")(upper) if absolute or dof <= 0 else from_scipy("stdtrit")(dof, upper))


def residual_statistics(problem: FitProblem, point: Vector, facts: Optimality) -> tuple[Record, Record]:
    """Return the statistics of the residuals at a solution, ``Fit.residual`` and ``Fit.statistics``; ``None`` for one not known.

    Source of AICc: Hurvich and Tsai, "Regression and time series model selection in small samples" (1989).
    """
    rows, n = problem.data.rows, int(facts.free.sum())
    dof = int(problem.objective.rows(point[None])[0]) - n
    rss = float(residual_squares(problem.objective, point[None], facts)[0])
    count = n if problem.absolute else n + 1  # the variance is estimated too
    deviance = _deviance(problem, rss)
    aic = deviance + 2 * count
    chi2 = rss if problem.absolute and problem.loss.plain else None
    total = _total_squares(problem)
    statistics = {
        "r2": 1 - rss / total if total else None,
        "aic": aic,
        "aicc": aic + 2 * count * (count + 1) / (rows - count - 1) if rows > count + 1 else None,
        "bic": deviance + count * math.log(rows),
        "chi2": chi2,
        "reduced_chi2": chi2 / dof if chi2 is not None and dof > 0 else None,
        "p": float(from_scipy("gammaincc")(dof / 2, chi2 / 2)) if chi2 is not None and dof > 0 else None,
    }
    known = {key: None if value is None or not math.isfinite(value) else value for key, value in statistics.items()}
    residual: Record = {"rss": rss, "std": math.sqrt(rss / dof) if dof > 0 else None, "dof": dof, "rows": rows}
    if not problem.loss.plain:
        # The deviation of normal errors from the median residual (Huber, "Robust Statistics", 5.1 and 7).
        spread = float(np.median(np.abs(problem.objective.residuals(point[None])))) / float(from_scipy("ndtri")(0.75))
        residual["robust_std"] = spread * math.sqrt(rows / dof) if dof > 0 else None
    return residual, known


def _deviance(problem: FitProblem, rss: float) -> float:
    """Return -2 log L for normal errors of known variance, or of the most likely one; nan for a robust loss."""
    if not problem.loss.plain:
        return math.nan
    rows = problem.data.rows
    logs = float(np.sum(np.log(problem.scale))) if problem.scale is not None else 0.0  # of 1/sigma
    if problem.absolute:
        return rss + rows * math.log(2 * math.pi) - 2 * logs
    with np.errstate(all="ignore"):
        return float(rows * (np.log(2 * np.pi * rss / rows) + 1) - 2 * logs)


def _total_squares(problem: FitProblem) -> float | None:
    """Return the weighted sum of squares of the left side about its mean; ``None`` without one, or if it depends on unknowns."""
    y = problem.response
    if y is None:
        return None
    w = np.ones_like(y) if problem.scale is None else problem.scale**2
    return float(np.sum(w * (y - np.sum(w * y) / np.sum(w)) ** 2))


MOST_CURVED = 50_000_000
"""The maximum number of operations for the curvature; for longer data, it is small."""
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


def curvature(problem: FitProblem, point: Vector, facts: Optimality) -> Curvature | None:
    """Return the curvatures at a solution; ``None`` if they are not defined, or take too long for long data.

    Source: Bates and Watts, "Relative curvature measures of nonlinearity" (1980): the second derivatives are split into the part
    tangent to the surface of the model, which depends on the choice of parameters, and the rest.
    """
    n = int(facts.free.sum())
    dof = problem.data.rows - n
    is_plain = problem.loss.plain and not problem.is_reduced and facts.free.all() and facts.is_minimum[0]
    if not is_plain or not n or dof <= 0 or problem.data.rows * n**3 > MOST_CURVED:
        return None
    inverse = np.linalg.inv(facts.linear.factor[0])
    change = _change_of_triangles(inverse)
    is_diagonal = np.equal(*np.tril_indices(n))
    whole, tangent = 0.0, np.zeros((len(change), n))
    for block in problem.objective.blocks("second", point[None]):  # first derivatives, the residual, second derivatives
        second = change @ block[n + 1 :]
        whole += _sum_of_mean_squares(second, is_diagonal)
        tangent += second @ (inverse.T @ block[:n]).T
    inside = _sum_of_mean_squares(tangent, is_diagonal)
    if problem.absolute:
        radius_squared = float(from_scipy("chdtri")(n, 0.05))
    else:
        radius_squared = float(facts.linear.rest[0]) ** 2 / dof * n * float(from_scipy("fdtri")(n, dof, 0.95))
    unit = math.sqrt(radius_squared / (n * (n + 2)))
    return Curvature(math.sqrt(inside) * unit, math.sqrt(max(whole - inside, 0.0)) * unit)


def _change_of_triangles(inverse: Matrix) -> Matrix:
    """Return the matrix that turns triangles of second derivatives into those in coordinates q of parameters ``inverse @ q``."""
    rows, columns = np.tril_indices(len(inverse))
    both = np.einsum("ja,kb->jkab", inverse, inverse)[:, :, rows, columns]
    return np.transpose(both[rows, columns] + np.where((rows > columns)[:, None], both[columns, rows], 0.0))


def _sum_of_mean_squares(triangles: Matrix, diagonal: Mask) -> float:
    """Return the sum over symmetric matrices, of which each column is a triangle, of twice the squares plus the squared trace.

    Divided by n*(n + 2), it is the mean of the squares of their quadratic forms over all directions.
    """
    weights = np.where(diagonal, 2.0, 4.0)
    return float(weights @ np.einsum("ij,ij->i", triangles, triangles) + np.sum(triangles[diagonal].sum(axis=0) ** 2))


DIGITS = 34
"""The decimal digits of the residuals; certified values of reference data are computed with as many."""
MOST_ROWS = 5_000
"""The maximum number of rows whose residuals are computed with many digits."""
SECONDS = 3.0
"""The time in which a solution is improved with many digits."""
NOISE = 1e-8
"""The size of rounding errors, relative to the residuals, that standard errors do not show."""


def noisy(problem: FitProblem, value: float) -> bool:
    """Return whether rounding of the left side is visible in residuals (``value``: half the sum of squares); False if unknown."""
    y = problem.response
    if y is None:
        return False
    size = float(np.linalg.norm(y if problem.scale is None else y * problem.scale))
    return math.sqrt(2 * value) * NOISE < EPSILON * size


def refined_solution(problem: FitProblem, point: Vector, free: Mask) -> tuple[Vector, Linear] | None:
    """Improve a solution by one Gauss-Newton step of the free parameters with residuals of many digits.

    Returns:
        the point, and the linear problem there; ``None`` if there are too many rows, the residuals cannot be computed in
        ``SECONDS``, or the problem there is singular.
    """
    if problem.data.rows > MOST_ROWS or not problem.loss.plain or problem.is_reduced:
        return None
    try:
        with in_time(SECONDS):
            before = _precise_linear(problem, point, free)
            point = problem.box.inside(point - np.linalg.solve(before.factor[0], before.image[0]) * free)
            linear = _precise_linear(problem, point, free)
    except (AutodiffError, np.linalg.LinAlgError):
        return None
    return (point, linear) if linear.finite[0] and determined(linear)[0] else None


def _precise_linear(problem: FitProblem, point: Vector, free: Mask) -> Linear:
    """Return the linear problem of the free parameters at a point, with residuals of many digits."""
    columns = np.column_stack([problem.model.jacobian(point), _precise_residuals(problem, point)])
    columns = columns if problem.scale is None else columns * problem.scale[:, None]
    value = 0.5 * np.sum(columns[:, -1:] ** 2, axis=0)
    return split(triangle([columns], len(point) + 1)[None], value).restricted(free[None])


def _precise_residuals(problem: FitProblem, point: Vector) -> Vector:
    """Return the residuals at a point, computed with ``DIGITS`` digits and rounded; raise an error if an operation has fewer."""
    arithmetic = Arithmetic(DIGITS)
    model = problem.model
    fixed = {name: precise_tensor(arithmetic, np.asarray(value)) for name, value in model.constants.items()}
    fixed |= {name: precise_tensor(arithmetic, np.array(value)) for name, value in zip(model.parameters, point, strict=True)}
    result = np.empty(model.rows)
    for row in range(model.rows):
        # The number in a file is the shortest decimal number that rounds to its float64.
        cells = {name: arithmetic.mpf(repr(float(column[row]))) for name, column in model.columns.items()}
        data = {name: precise_tensor(arithmetic, np.array(cell, object)) for name, cell in cells.items()}
        try:
            output = PreciseEvaluator(model.source, model.tree, arithmetic, {**fixed, **data}).output()
            result[row] = float(numbers(output)[0])
        except FOREIGN as error:
            raise AutodiffError("the residuals cannot be computed with more digits") from error
    return result
