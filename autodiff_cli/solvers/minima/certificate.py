"""The proof of a minimum: feasibility, stationarity, signs of multipliers and curvature, from exact derivatives at one point.

The conditions are the second-order sufficient conditions of Nocedal and Wright, Numerical Optimization, 2nd edition, theorems
12.5 and 12.6.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.lazy import library
from autodiff_cli.solvers.minima.newton_trust_region import EPS, curvature_roots

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Matrix, Vector
    from autodiff_cli.solvers.minima.problem import MinimumProblem


_MOST_WALLS = 10
"""The maximum number of bounds and constraints with multiplier 0 between which the curvature is examined."""
_ROUNDINGS = 64
"""The number of roundings at the size of the terms that a gradient or a constraint may contain."""


class Active(NamedTuple):
    """The constraints and the bounds that hold with equality.

    Attributes:
        constraints: the mask of the constraints.
        fixed: the mask of the variables at a bound.
    """

    constraints: Mask
    fixed: Mask


class Certificate(NamedTuple):
    """What is true at a point.

    Attributes:
        x: the point.
        value: the value of f.
        multipliers: the Lagrange multiplier of each constraint; 0 for those that are not active.
        reduced: the gradient of the Lagrangian f - multipliers @ c; for a variable at a bound, the multiplier of the bound.
        active: the active constraints and bounds.
        violation: the largest violation of a constraint beyond rounding; 0 if the point is feasible.
        stationary: whether the gradient of the Lagrangian is rounding, apart from active bounds.
        signs: whether the multipliers of inequalities and bounds have the sign of a minimum.
        eigenvalues: the eigenvalues of the Hessian of the Lagrangian on the tangent space of the active constraints, ascending.
        error: an upper estimate of the error of the eigenvalues.
        curvature: ``positive``, ``negative``, ``indefinite`` or ``semidefinite``, beyond the rounding error.
        direction: a tangent direction with the lowest curvature.
    """

    x: Vector
    value: float
    multipliers: Vector
    reduced: Vector
    active: Active
    violation: float
    stationary: bool
    signs: bool
    eigenvalues: Vector
    error: float
    curvature: str
    direction: Vector

    @property
    def is_minimum(self) -> bool:
        """Whether the sufficient conditions of a strict local minimum hold."""
        return self.is_critical and self.curvature == "positive"

    @property
    def is_critical(self) -> bool:
        """Whether the first-order conditions of a minimum hold."""
        return not self.violation and self.stationary and self.signs

    @property
    def gradient_norm(self) -> float:
        """The norm of the gradient of the Lagrangian, apart from active bounds."""
        return float(np.linalg.norm(np.where(self.active.fixed, 0.0, self.reduced)))


def violations(problem: MinimumProblem, x: Vector) -> Vector:
    """Return the distance of each constraint function from its allowed range."""
    c = problem.values(x)[1]
    return np.where(problem.equality, np.abs(c), np.maximum(-c, 0.0))


def allowance(problem: MinimumProblem, x: Vector, typical: Vector) -> Vector:
    """Return the rounding error of each constraint function, estimated from the sizes of its terms."""
    _, jacobian = problem.slopes(x)
    constant = np.abs(problem.values(x)[1] - jacobian @ x)
    return _ROUNDINGS * EPS * (np.abs(jacobian) @ np.maximum(np.abs(x), typical) + constant)


def _regular(problem: MinimumProblem, x: Vector, active: Active, errors: Vector) -> bool:
    """Return whether the rounding errors of the active constraints are too small to change the gradients of these constraints."""
    jacobian = np.where(active.fixed, 0.0, problem.slopes(x)[1])
    for i in np.flatnonzero(active.constraints):
        square = float(jacobian[i] @ jacobian[i])
        if not square:
            return bool(active.fixed.any())
        moved = jacobian[i] * errors[i] / square
        changes = [np.where(active.fixed, 0.0, problem.slopes(x + sign * moved)[1][i]) - jacobian[i] for sign in (-1, 1)]
        if not max(float(np.linalg.norm(change)) for change in changes) <= 0.5 * np.sqrt(square):
            return False
    return True


def certify(problem: MinimumProblem, x: Vector, active: Active, typical: Vector) -> Certificate:
    """Return what is true at a point.

    Args:
        problem: the problem.
        x: the point.
        active: the constraints and bounds that are taken as active.
        typical: the size of each variable; a Newton step that is rounding at this size is rounding.
    """
    value, _ = problem.values(x)
    gradient, jacobian = problem.slopes(x)
    errors = allowance(problem, x, typical)
    beyond = violations(problem, x) - errors
    violation = float(np.max(beyond, initial=0.0))
    free = ~active.fixed
    multipliers = _multipliers(problem, gradient, jacobian, active)
    reduced = gradient - jacobian.T @ multipliers
    hessian = problem.hessian(x, multipliers)
    terms = np.abs(hessian) @ np.abs(x) + np.abs(gradient) + np.abs(jacobian).T @ np.abs(multipliers)
    scale = _scale(hessian)
    # The roundings of all terms add up in every element of the gradient; the scale makes the elements comparable.
    rounding = _ROUNDINGS * EPS * scale * float(np.max(terms / scale, initial=0.0))
    weak = np.abs(reduced) <= rounding
    # A constraint or a bound with multiplier 0 does not hold the point: curvature is needed in its direction too.
    strong = active.constraints & (problem.equality | (np.abs(multipliers) > _weak(multipliers)))
    inner = free | (active.fixed & weak & (problem.low < problem.high))
    basis = _tangents(jacobian[np.ix_(strong, inner)] / scale[inner])
    curvatures = basis.T @ (hessian / np.outer(scale, scale))[np.ix_(inner, inner)] @ basis
    step = _newton(hessian / np.outer(scale, scale), jacobian / scale, reduced / scale, active) / scale
    small = bool((np.abs(step) <= 8 * EPS * np.maximum(typical, np.abs(x))).all())
    solves = np.linalg.norm((reduced + hessian @ step)[free] / scale[free]) <= 0.5 * np.linalg.norm(reduced[free] / scale[free])
    small &= bool(solves or active.constraints.any()) and abs(float(reduced @ step)) <= EPS * max(
        abs(value), abs(problem.values(problem.start)[0])
    )
    stationary = bool(np.isfinite(reduced).all()) and (bool((np.abs(reduced) <= rounding)[free].all()) or small)
    stationary = stationary and _regular(problem, x, active, errors)
    kind, direction = _kind(problem, x, multipliers, curvatures, basis, scale, inner, step)
    # Some directions of the tangent space leave the bounds and the constraints with multiplier 0: only the others count.
    walls = _walls(problem, x, jacobian, active, strong, inner) / scale[inner] @ basis
    if kind in ("negative", "indefinite", "semidefinite") and len(walls):
        kind, inside = _on_cone(curvatures, walls)
        direction[inner] = basis @ inside / scale[inner]
    plain = _tangents(jacobian[np.ix_(strong, inner)])
    restricted = plain.T @ hessian[np.ix_(inner, inner)] @ plain
    eigenvalues = np.full(len(restricted), np.nan)
    if np.isfinite(restricted).all():
        eigenvalues = np.asarray(np.linalg.eigvalsh(restricted), float)
    error = 8 * EPS * len(hessian) * float(np.max(np.abs(hessian), initial=0.0))
    signs = _signs(problem, x, multipliers, reduced, active, rounding)
    proof = stationary, signs, eigenvalues, error, kind, direction
    return Certificate(x, value, multipliers, reduced, active, violation, *proof)


def _weak(multipliers: Vector) -> float:
    """Return the size below which a multiplier is rounding."""
    return 1e-10 * max(1.0, float(np.max(np.abs(multipliers), initial=0.0)))


def _scale(hessian: Matrix) -> Vector:
    """Return the sizes of the variables' units with which no element of the Hessian matrix is above 1."""
    if not np.isfinite(hessian).all():
        return np.ones(len(hessian))
    roots = curvature_roots(hessian)
    largest = float(np.max(roots, initial=0.0))
    return np.where(roots > EPS * largest, roots, max(largest, 1e-150))


def _multipliers(problem: MinimumProblem, gradient: Vector, jacobian: Matrix, active: Active) -> Vector:
    """Return the multipliers for which the gradient of the Lagrangian is smallest; if they are not unique, with the right signs."""
    multipliers = np.zeros(len(jacobian))
    rows = active.constraints
    if not rows.any() or active.fixed.all():
        return multipliers
    matrix, right = jacobian[rows][:, ~active.fixed].T, gradient[~active.fixed]
    sizes = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    result, _, rank, _ = np.linalg.lstsq(matrix / sizes, right, rcond=None)
    if rank < len(result) and (result[~problem.equality[rows]] < 0).any():
        lowest = np.where(problem.equality[rows], -np.inf, 0.0)
        result = library("scipy.optimize", "minimize").lsq_linear(matrix / sizes, right, (lowest, np.inf), method="bvls").x
    multipliers[rows] = result / sizes
    return multipliers


def _signs(problem: MinimumProblem, x: Vector, multipliers: Vector, reduced: Vector, active: Active, rounding: Vector) -> bool:
    inequalities = multipliers[active.constraints & ~problem.equality]
    at_low, at_high = active.fixed & (x <= problem.low), active.fixed & (x >= problem.high)
    bounds = ((reduced < -rounding) & at_low & ~at_high).any() or ((reduced > rounding) & at_high & ~at_low).any()
    return bool((inequalities >= -_weak(multipliers)).all() and not bounds)


def _walls(problem: MinimumProblem, x: Vector, jacobian: Matrix, active: Active, strong: Mask, inner: Mask) -> Matrix:
    """Return the rows whose product with a direction of the inner variables is not negative if the direction is feasible."""
    fixed = active.fixed[inner]
    low, high = (x <= problem.low)[inner], (x >= problem.high)[inner]
    units = np.eye(int(inner.sum()))
    rows = jacobian[np.ix_(active.constraints & ~strong, inner)]
    return np.vstack([units[fixed & low], -units[fixed & high], rows])


def _on_cone(curvatures: Matrix, walls: Matrix) -> tuple[str, Vector]:
    """Return the definiteness of a matrix on the cone of the directions that no wall forbids, and its lowest direction."""
    error = 32 * EPS * len(curvatures)
    lowest, direction = np.inf, np.zeros(len(curvatures))
    if len(walls) > _MOST_WALLS:
        return "semidefinite", direction
    walls = walls / np.maximum(np.linalg.norm(walls, axis=1, keepdims=True), 1e-300)
    for on_face in itertools.product((False, True), repeat=len(walls)):
        face = _tangents(walls[list(on_face)])
        if not face.size:
            continue
        values, vectors = np.linalg.eigh(face.T @ curvatures @ face)
        for value, vector in zip(values, (face @ vectors).T, strict=True):
            for sign in (1.0, -1.0):
                if value < lowest and (walls @ (sign * vector) >= -1e-10).all():
                    lowest, direction = value, sign * vector
    if lowest < -error:
        return "indefinite", direction
    # An eigenspace of several dimensions may meet the cone although its basis does not.
    return ("positive" if np.isfinite(lowest) and lowest > error else "semidefinite"), direction


def _tangents(jacobian: Matrix) -> Matrix:
    """Return an orthonormal basis of the null space of a matrix, as columns."""
    rows, columns = jacobian.shape
    if not rows:
        return np.eye(columns)
    sizes = np.linalg.norm(jacobian, axis=1, keepdims=True)
    _, singular, vectors = np.linalg.svd(jacobian / np.maximum(sizes, 1e-300))
    rank = int(np.sum(singular > 1e-10))
    return np.asarray(vectors[rank:].T)


def _newton(hessian: Matrix, jacobian: Matrix, reduced: Vector, active: Active) -> Vector:
    """Return the Newton step of the first-order conditions; the active constraints stay satisfied."""
    step = np.zeros(len(reduced))
    free = ~active.fixed
    basis = _tangents(jacobian[np.ix_(active.constraints, free)])
    if basis.size and np.isfinite(hessian).all():
        matrix = basis.T @ hessian[np.ix_(free, free)] @ basis
        step[free] = basis @ np.linalg.lstsq(matrix, -(basis.T @ reduced[free]), rcond=EPS * len(matrix))[0]
    return step


def _kind(
    problem: MinimumProblem,
    x: Vector,
    multipliers: Vector,
    curvatures: Matrix,
    basis: Matrix,
    scale: Vector,
    inner: Mask,
    step: Vector,
) -> tuple[str, Vector]:
    """Return the definiteness of the Hessian matrix on the tangent space, and the direction of its lowest eigenvalue."""
    direction = np.zeros(len(x))
    if not basis.size:
        return "positive", direction
    if not np.isfinite(curvatures).all():
        return "unknown", direction
    values, vectors = np.linalg.eigh(curvatures)
    direction[inner] = basis @ vectors[:, 0] / scale[inner]
    kind = definiteness(values, 32 * EPS * len(values))
    if kind != "positive":
        return kind, direction
    for sign in (-2, 2):
        moved = problem.hessian(x + sign * step, multipliers) / np.outer(scale, scale)
        change = basis.T @ moved[np.ix_(inner, inner)] @ basis - curvatures
        if not np.isfinite(change).all() or np.linalg.norm(change, 2) > 0.5 * values[0]:
            return "semidefinite", direction
    return "positive", direction


def definiteness(eigenvalues: Vector, error: float) -> str:
    """Return the definiteness of a matrix, see ``Certificate.curvature``, from its eigenvalues and their error."""
    if np.isnan(eigenvalues).any():
        return "unknown"
    if eigenvalues[0] > error:
        return "positive"
    if eigenvalues[0] >= -error:
        return "semidefinite"
    return "negative" if eigenvalues[-1] < -error else "indefinite"


def refine(problem: MinimumProblem, x: Vector, active: Active, most: int = 20) -> Vector:
    """Return a point that satisfies the first-order conditions for given active constraints better, by Newton's method.

    Args:
        problem: the problem.
        x: the start.
        active: the active constraints and bounds, which become equations.
        most: the largest number of steps.
    """
    best, point, normal_only = np.inf, x, x
    free = ~active.fixed
    rows = active.constraints
    for _ in range(most):
        _, c = problem.values(x)
        gradient, jacobian = problem.slopes(x)
        if not (np.isfinite(c).all() and np.isfinite(gradient).all() and np.isfinite(jacobian).all()):
            break
        multipliers = _multipliers(problem, gradient, jacobian, active)
        hessian = problem.hessian(x, multipliers)
        if not np.isfinite(hessian).all():
            break
        scale = _scale(hessian)
        scale = np.maximum(scale, 1e-5 * np.max(scale))
        sizes = np.maximum(np.linalg.norm(jacobian / scale, axis=1), 1e-300)
        reduced = (gradient - jacobian.T @ multipliers) / scale
        normal = jacobian / scale / sizes[:, None]
        residual = float(np.hypot(np.linalg.norm(reduced[free]), np.linalg.norm((c / sizes)[rows])))
        if residual >= best * 0.9:
            if normal_only is point:
                return point
            # Along a degenerate direction, the whole step may be wrong; the part that satisfies the constraints is not.
            x, normal_only = normal_only, point
            continue
        best, point = residual, x
        if residual == 0:
            break
        scaled = hessian / np.outer(scale, scale)
        step = np.zeros(len(x))
        if rows.any():
            step[free] = np.linalg.lstsq(normal[np.ix_(rows, free)], -(c / sizes)[rows], rcond=None)[0]
        normal_only = np.clip(x + step / scale, problem.low, problem.high)
        step += _newton(scaled, normal, reduced + scaled @ step, active)
        x = np.clip(x + step / scale, problem.low, problem.high)
    return point
