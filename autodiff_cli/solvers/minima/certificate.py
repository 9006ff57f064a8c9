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


_MOST_WALLS = 10  # the maximum number of bounds and constraints with multiplier 0 between which the curvature is examined
_ROUNDINGS = 64  # the number of roundings at the size of the terms that a gradient or a constraint may contain


class Active(NamedTuple):
    """The constraints and the bounds that hold with equality: the masks of the constraints and of the variables at a bound."""

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


def _are_gradients_certain(problem: MinimumProblem, x: Vector, active: Active, errors: Vector) -> bool:
    """Return whether the gradients of active constraints, in the free variables, hardly change within errors of the constraints."""
    jacobian = np.where(active.fixed, 0.0, problem.slopes(x)[1])
    for i in np.flatnonzero(active.constraints):
        normal = jacobian[i]
        square = float(normal @ normal)
        if not square:  # bounds may fix all variables of the constraint
            return bool(active.fixed.any())
        step = normal * errors[i] / square  # which changes the constraint by its error
        changes = [np.where(active.fixed, 0.0, problem.slopes(x + sign * step)[1][i]) - normal for sign in (-1, 1)]
        if not max(float(np.linalg.norm(change)) for change in changes) <= 0.5 * np.sqrt(square):
            return False
    return True


def certify(problem: MinimumProblem, x: Vector, active: Active, typical: Vector) -> Certificate:
    """Return what is true at a point with an active set; a Newton step may be rounding at the typical size of each variable."""
    errors = allowance(problem, x, typical)
    violation = float(np.max(violations(problem, x) - errors, initial=0.0))
    at = _Conditions(problem, x, active, typical)
    is_stationary = at.is_stationary() and _are_gradients_certain(problem, x, active, errors)
    has_signs, eigenvalues = at.has_signs_of_minimum(), at.eigenvalues()
    error = 8 * EPS * len(at.hessian) * float(np.max(np.abs(at.hessian), initial=0.0))
    curvature, direction = at.curvature()
    proof = violation, is_stationary, has_signs, eigenvalues, error, curvature, direction
    return Certificate(x, at.value, at.multipliers, at.reduced, active, *proof)


class _Conditions:
    """The first-order and second-order conditions of a minimum at a point; the arguments are those of ``certify``.

    Attributes:
        reduced, hessian: the gradient, which is 0 up to its ``rounding``, and the Hessian matrix of the Lagrangian.
        scale: the units in which the variables are comparable, see ``_scale``.
        strong, inner: the masks of the active constraints with a multiplier, and of the variables that no bound holds.
        basis, curvatures: a basis of the tangent space of these, in scaled variables, as columns, and the Hessian matrix in it.
        step: the Newton step of the first-order conditions.
    """

    def __init__(self, problem: MinimumProblem, x: Vector, active: Active, typical: Vector) -> None:
        self.problem, self.x, self.active, self.typical = problem, x, active, typical
        self.value, _ = problem.values(x)
        self.gradient, self.jacobian = problem.slopes(x)
        self.multipliers = _multipliers(problem, self.gradient, self.jacobian, active)
        self.reduced = self.gradient - self.jacobian.T @ self.multipliers
        self.hessian = problem.hessian(x, self.multipliers)
        self.scale = scale = _scale(self.hessian)
        terms = np.abs(self.hessian) @ np.abs(x) + np.abs(self.gradient) + np.abs(self.jacobian).T @ np.abs(self.multipliers)
        # The roundings of all terms add up in every element of the gradient; the scale makes the elements comparable.
        self.rounding = _ROUNDINGS * EPS * scale * float(np.max(terms / scale, initial=0.0))
        is_weak_bound = active.fixed & (np.abs(self.reduced) <= self.rounding) & (problem.low < problem.high)
        self.strong = active.constraints & (problem.equality | (np.abs(self.multipliers) > _negligible(self.multipliers)))
        self.inner = ~active.fixed | is_weak_bound
        scaled = self.hessian / np.outer(scale, scale)
        self.basis = _tangents(self.jacobian[np.ix_(self.strong, self.inner)] / scale[self.inner])
        self.curvatures = self.basis.T @ scaled[np.ix_(self.inner, self.inner)] @ self.basis
        self.step = _newton_step(scaled, self.jacobian / scale, self.reduced / scale, active) / scale

    def is_stationary(self) -> bool:
        """Return whether the gradient of the Lagrangian, or the Newton step, is rounding for the variables that are not fixed."""
        is_small_step = self._is_small_step()
        is_rounding = bool((np.abs(self.reduced) <= self.rounding)[~self.active.fixed].all())
        return bool(np.isfinite(self.reduced).all()) and (is_rounding or is_small_step)

    def _is_small_step(self) -> bool:
        """Return whether the Newton step is rounding although it solves the conditions, and changes the value by rounding only."""
        free, scale = ~self.active.fixed, self.scale
        before, after = (vector[free] / scale[free] for vector in (self.reduced, self.reduced + self.hessian @ self.step))
        is_solution = np.linalg.norm(after) <= 0.5 * np.linalg.norm(before) or self.active.constraints.any()
        largest_value = max(abs(self.value), abs(self.problem.values(self.problem.start)[0]))
        keeps_value = abs(float(self.reduced @ self.step)) <= EPS * largest_value
        is_rounding = (np.abs(self.step) <= 8 * EPS * np.maximum(self.typical, np.abs(self.x))).all()
        return bool(is_solution and keeps_value and is_rounding)

    def has_signs_of_minimum(self) -> bool:
        """Return whether no multiplier of an inequality or of a bound says that the value falls away from it into the inside."""
        problem, fixed, x = self.problem, self.active.fixed, self.x
        inequalities = self.multipliers[self.active.constraints & ~problem.equality]
        at_low, at_high = fixed & (x <= problem.low), fixed & (x >= problem.high)
        leaves_low = (self.reduced < -self.rounding) & at_low & ~at_high
        leaves_high = (self.reduced > self.rounding) & at_high & ~at_low
        return bool((inequalities >= -_negligible(self.multipliers)).all() and not (leaves_low | leaves_high).any())

    def eigenvalues(self) -> Vector:
        """Return the eigenvalues of the Hessian matrix on the tangent space, in units of the variables; nan if it is not finite."""
        plain = _tangents(self.jacobian[np.ix_(self.strong, self.inner)])
        restricted = plain.T @ self.hessian[np.ix_(self.inner, self.inner)] @ plain
        if not np.isfinite(restricted).all():
            return np.full(len(restricted), np.nan)
        return np.asarray(np.linalg.eigvalsh(restricted), float)

    def curvature(self) -> tuple[str, Vector]:
        """Return the definiteness of the Hessian matrix in the feasible tangent directions, and the one of lowest curvature."""
        kind, lowest = self._tangent_curvature()
        walls = self._walls() / self.scale[self.inner] @ self.basis
        if kind in ("negative", "indefinite", "semidefinite") and len(walls):
            kind, lowest = _on_cone(self.curvatures, walls)  # other directions leave weak bounds and constraints
        direction = np.zeros(len(self.x))
        if lowest is not None:
            direction[self.inner] = self.basis @ lowest / self.scale[self.inner]
        return kind, direction

    def _tangent_curvature(self) -> tuple[str, Vector | None]:
        """Return the definiteness of the curvatures in all tangent directions, and the lowest direction or ``None``."""
        if not self.basis.size:
            return "positive", None
        if not np.isfinite(self.curvatures).all():
            return "unknown", None
        values, vectors = np.linalg.eigh(self.curvatures)
        kind = definiteness(values, 32 * EPS * len(values))
        if kind == "positive" and not self._stays_positive(values[0]):
            kind = "semidefinite"
        return kind, vectors[:, 0]

    def _stays_positive(self, lowest: float) -> bool:
        """Return whether the curvatures, whose lowest is positive, keep half of it within twice the Newton step to both sides."""
        for factor in (-2, 2):
            moved = self.problem.hessian(self.x + factor * self.step, self.multipliers) / np.outer(self.scale, self.scale)
            change = self.basis.T @ moved[np.ix_(self.inner, self.inner)] @ self.basis - self.curvatures
            if not np.isfinite(change).all() or np.linalg.norm(change, 2) > 0.5 * lowest:
                return False
        return True

    def _walls(self) -> Matrix:
        """Return the rows whose product with a direction of the inner variables is not negative if the direction is feasible."""
        fixed = self.active.fixed[self.inner]
        low, high = (self.x <= self.problem.low)[self.inner], (self.x >= self.problem.high)[self.inner]
        units = np.eye(int(self.inner.sum()))
        rows = self.jacobian[np.ix_(self.active.constraints & ~self.strong, self.inner)]
        return np.vstack([units[fixed & low], -units[fixed & high], rows])


def _negligible(multipliers: Vector) -> float:
    """Return the size below which a multiplier is rounding."""
    return 1e-10 * max(1.0, float(np.max(np.abs(multipliers), initial=0.0)))


def _scale(hessian: Matrix) -> Vector:
    """Return the sizes of the variables' units with which no element of the Hessian matrix is above 1."""
    if not np.isfinite(hessian).all():
        return np.ones(len(hessian))
    roots = curvature_roots(hessian)
    largest = float(np.max(roots, initial=0.0))
    return np.where(roots > EPS * largest, roots, max(largest, 1e-150))  # the largest for a variable without curvature


def _multipliers(problem: MinimumProblem, gradient: Vector, jacobian: Matrix, active: Active) -> Vector:
    """Return the multipliers for which the gradient of the Lagrangian is smallest; if they are not unique, with the right signs."""
    multipliers = np.zeros(len(jacobian))
    rows = active.constraints
    if not rows.any() or active.fixed.all():
        return multipliers
    normals, right = jacobian[rows][:, ~active.fixed].T, gradient[~active.fixed]
    sizes = np.maximum(np.linalg.norm(normals, axis=0), 1e-300)
    result, _, rank, _ = np.linalg.lstsq(normals / sizes, right, rcond=None)
    is_unique, has_wrong_sign = rank == len(result), (result[~problem.equality[rows]] < 0).any()
    if has_wrong_sign and not is_unique:
        lowest = np.where(problem.equality[rows], -np.inf, 0.0)
        result = library("scipy.optimize", "minimize").lsq_linear(normals / sizes, right, (lowest, np.inf), method="bvls").x
    multipliers[rows] = result / sizes
    return multipliers


def _on_cone(curvatures: Matrix, walls: Matrix) -> tuple[str, Vector]:
    """Return the definiteness of a matrix, and its lowest direction, on the cone of the directions in which no wall decreases.

    The lowest direction is an eigenvector of the matrix on a face of the cone, on which some of the walls stay 0.
    """
    error = 32 * EPS * len(curvatures)
    lowest, direction = np.inf, np.zeros(len(curvatures))
    if len(walls) > _MOST_WALLS:
        return "semidefinite", direction
    walls = walls / np.maximum(np.linalg.norm(walls, axis=1, keepdims=True), 1e-300)
    for on_face in itertools.product((False, True), repeat=len(walls)):
        face = _tangents(walls[list(on_face)])
        values, vectors = np.linalg.eigh(face.T @ curvatures @ face)
        for value, vector in zip(values, (face @ vectors).T, strict=True):
            for signed in (vector, -vector):
                if value < lowest and (walls @ signed >= -1e-10).all():
                    lowest, direction = value, signed
    if lowest < -error:
        return "indefinite", direction
    # An eigenspace of several dimensions may meet the cone although its basis does not.
    return ("positive" if error < lowest < np.inf else "semidefinite"), direction


def _tangents(jacobian: Matrix) -> Matrix:
    """Return an orthonormal basis of the null space of a matrix, as columns."""
    rows, columns = jacobian.shape
    if not rows:
        return np.eye(columns)
    sizes = np.linalg.norm(jacobian, axis=1, keepdims=True)
    _, singular, vectors = np.linalg.svd(jacobian / np.maximum(sizes, 1e-300))
    rank = int(np.sum(singular > 1e-10))
    return np.asarray(vectors[rank:].T)


def _newton_step(hessian: Matrix, jacobian: Matrix, reduced: Vector, active: Active) -> Vector:
    """Return the Newton step of the first-order conditions of a Lagrangian; the active constraints stay satisfied."""
    step = np.zeros(len(reduced))
    free = ~active.fixed
    basis = _tangents(jacobian[np.ix_(active.constraints, free)])
    if basis.size and np.isfinite(hessian).all():
        matrix = basis.T @ hessian[np.ix_(free, free)] @ basis
        step[free] = basis @ np.linalg.lstsq(matrix, -(basis.T @ reduced[free]), rcond=EPS * len(matrix))[0]
    return step


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
    """Return a point where first-order conditions hold better, by at most ``most`` Newton steps with an active set of equations."""
    best, point, normal_only = np.inf, x, x
    free, rows = ~active.fixed, active.constraints
    for _ in range(most):
        conditions = _scaled_conditions(problem, x, active)
        if conditions is None:
            break
        scale, hessian, reduced, normals, c = conditions
        residual = float(np.hypot(np.linalg.norm(reduced[free]), np.linalg.norm(c[rows])))
        if residual >= best * 0.9:
            if normal_only is point:
                return point
            # Along a degenerate direction, the whole step may be wrong; the part that satisfies the constraints is not.
            x, normal_only = normal_only, point
            continue
        best, point = residual, x
        if residual == 0:
            break
        step = np.zeros(len(x))
        if rows.any():
            step[free] = np.linalg.lstsq(normals[np.ix_(rows, free)], -c[rows], rcond=None)[0]
        normal_only = np.clip(x + step / scale, problem.low, problem.high)
        step += _newton_step(hessian, normals, reduced + hessian @ step, active)
        x = np.clip(x + step / scale, problem.low, problem.high)
    return point


def _scaled_conditions(problem: MinimumProblem, x: Vector, active: Active) -> tuple[Vector, Matrix, Vector, Matrix, Vector] | None:
    """Return the scale of the variables, then what is measured in it; ``None`` if a value or a derivative is not finite.

    They are the Hessian matrix and the gradient of the Lagrangian, and the constraints: unit normals as rows, and distances.
    """
    _, c = problem.values(x)
    gradient, jacobian = problem.slopes(x)
    if not (np.isfinite(c).all() and np.isfinite(gradient).all() and np.isfinite(jacobian).all()):
        return None
    multipliers = _multipliers(problem, gradient, jacobian, active)
    hessian = problem.hessian(x, multipliers)
    if not np.isfinite(hessian).all():
        return None
    scale = _scale(hessian)
    scale = np.maximum(scale, 1e-5 * np.max(scale))  # so that a variable with little curvature does not take endless steps
    sizes = np.maximum(np.linalg.norm(jacobian / scale, axis=1), 1e-300)
    reduced = (gradient - jacobian.T @ multipliers) / scale
    return scale, hessian / np.outer(scale, scale), reduced, jacobian / scale / sizes[:, None], c / sizes
