"""The minima of sums of squares: Levenberg-Marquardt with geodesic acceleration, then Newton with the exact Hessian.

Many problems take their steps together.  Each has its own damping, so that its result does not depend on the others.

Sources: More, "The Levenberg-Marquardt algorithm: implementation and theory" (1978), for the scaling; Nielsen, "Damping parameter
in Marquardt's method" (1999), for the damping; Transtrum and Sethna, "Improvements to the Levenberg-Marquardt algorithm for
nonlinear least-squares minimization" (2012), for geodesic acceleration; Bates and Watts, "A relative offset orthogonality
convergence criterion for nonlinear least squares" (1981), for the measure of convergence.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.solvers.fitting.engine.stacks import Linear, Quadratic, lower_solve, triangles, upper_solve

if TYPE_CHECKING:
    from autodiff_cli.arrays import Indices, Mask, Matrix, Stack, Vector
    from autodiff_cli.solvers.fitting.engine.sum_of_squares import SumOfSquares

    Watch = Callable[[str, list[float], float, float, float], None]

DAMPING = 1e-3
"""The damping of the first step, relative to the scaled normal equations."""
GROWTH = 2.0
"""The factor of the damping after a first rejected step; it doubles with every further one (Nielsen)."""
ACCELERATION = 0.75
"""The maximum length of the acceleration of a step, relative to half of the step (the alpha of Transtrum and Sethna)."""
NEAR = 1e-3
"""The relative offset at which Newton steps are tried for the first time."""
NEAREST = 1e-12
"""The least relative offset at which they are tried again."""
SAME = 1e-9
"""The relative difference up to which two values of an objective are equal: more of it may be rounding."""
EPSILON = float(np.finfo(float).eps)
MOST_STEPS, MOST_NEWTON = 10_000, 30
"""The maximum numbers of steps of a problem, and of Newton steps in a row."""
FAR_OFF = 1e4
"""The length of a Newton step, in units of its rounding errors, from which on it must not increase the objective."""
RISE = 1e-6
"""The relative increase of the objective by a Newton step that counts as rounding."""
RUNNING, CONVERGED, STALLED, MOST, NOT_FINITE = range(5)
"""How a minimisation ended: at a minimum, without a further decrease, after the most steps, or not finite at the start."""


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


class Minimization(NamedTuple):
    """The ends of B minimisations.

    Attributes:
        point: the best points, of shape (B, n).
        value: the objectives there: B numbers.
        steps: the numbers of accepted steps.
        evaluations: the numbers of points at which values or derivatives were computed.
        ended: how each ended, such as ``CONVERGED``.
    """

    point: Matrix
    value: Vector
    steps: Indices
    evaluations: Indices
    ended: Indices


class Minimizer:
    """The minimisation of B objectives within common bounds.

    Args:
        objective: the objectives.
        start: the first points, of shape (B, n).
        box: the bounds of the n parameters.
        most: the maximum number of steps, accepted or not, of each problem.
        watch: a function that is called with every step of a single problem (B = 1): its kind, ``start``, ``damped``
            (Levenberg-Marquardt), ``rejected``, or ``newton``; the point, the objective, the norm of the scaled step, the damping.

    Attributes:
        point, linear: the best points so far, and the linear problems there.
        damping, growth: the damping of the next step of each problem, and its factor if this step is rejected.
        scale: the largest norms so far of the columns of the Jacobian matrices, of shape (B, n): the scales of the parameters.
        near: the relative offset of each problem at which Newton steps are tried.
        steps, tried, evaluations: the numbers of accepted steps, of all steps, and of points for each problem.
        ended: how each problem ended, or ``RUNNING``.
    """

    def __init__(
        self, objective: SumOfSquares, start: Matrix, box: Box, most: int = MOST_STEPS, watch: Watch | None = None
    ) -> None:
        count = len(start)
        self.objective, self.box, self.most = objective, box, most
        self.point = box.inside(start)
        self.linear = objective.linear(self.point)
        self.damping, self.growth = np.full(count, DAMPING), np.full(count, GROWTH)
        self.scale = np.zeros_like(self.point)
        self.near = np.full(count, NEAR)
        self.steps, self.tried = np.zeros(count, np.intp), np.zeros(count, np.intp)
        self.evaluations = np.ones(count, np.intp)  # of ``linear``
        self.ended = np.where(self.linear.finite, RUNNING, NOT_FINITE)
        self._watch = watch

    def run(self) -> Minimization:
        """Minimise every objective: with Levenberg-Marquardt steps, then Newton steps; if these fail, go on with the former."""
        self._report("start", self.point, self.linear.value, np.zeros(1), self.damping)
        with np.errstate(all="ignore"):
            while (active := np.flatnonzero(self.ended == RUNNING)).size:
                ended = self._levenberg(active)
                converged = self._newton(active)  # also tried where the former steps ended without a further decrease
                self.ended[active] = np.where(converged, CONVERGED, ended)
                again = np.flatnonzero(self.ended == RUNNING)
                # Try Newton steps again when the problems are much closer; at last (0) only when no other step helps.
                self.near[again] = np.where(self.near[again] > NEAREST, self.near[again] * 1e-2, 0.0)
        return Minimization(self.point, self.linear.value, self.steps, self.evaluations, self.ended)

    def _report(self, kind: str, point: Matrix, value: Vector, length: Vector, damping: Vector) -> None:
        """Call ``watch``, if there is one, with the numbers of the first problem, which is then the only one."""
        if self._watch is not None:
            self._watch(kind, point[0].tolist(), float(value[0]), float(length[0]), float(damping[0]))

    def _levenberg(self, problems: Indices) -> Indices:
        """Take Levenberg-Marquardt steps of problems; return how each ended, or ``RUNNING`` if it is near a minimum."""
        ended = np.full(len(self.point), RUNNING)  # of all B problems; only the entries of ``problems`` are returned
        active, objective = problems, self.objective.only(problems)  # those that still take steps
        while True:
            linear = self.linear.take(active)
            free = self.box.free(self.point[active], linear.gradient)
            self.scale[active] = np.maximum(self.scale[active], linear.norms)
            free_linear = linear.restricted(free)
            exhausted = self.tried[active] >= self.most
            final = ~free.any(1) | (free_linear.offset <= 0) | (linear.value == 0)  # no step can decrease the objective
            ended[active[final]] = STALLED
            ended[active[exhausted]] = MOST
            done = exhausted | final | (free_linear.offset <= self.near[active])
            if not done.all():
                stalled = self._try_steps(active, objective, free_linear, free, ~done)
                ended[active[stalled]] = STALLED
                done |= stalled
            if done.all():
                return ended[problems]
            if done.any():
                active, objective = active[~done], objective.only(np.flatnonzero(~done))

    def _try_steps(self, active: Indices, objective: SumOfSquares, free_linear: Linear, free: Mask, going: Mask) -> Mask:
        """Try a damped step of the active problems that are ``going``; take it if the objective decreases; adapt the damping.

        The active problems have the ``objective``, and the linear problems ``free_linear`` of their ``free`` parameters.  Return
        which of them have stalled: their steps are too short to move the point.
        """
        point = self.point[active]
        scale = np.where(self.scale[active] > 0, self.scale[active], 1.0)
        step, predicted, usable = _damped_steps(objective, point, free_linear, free, scale, self.damping[active])
        trial = np.where(usable[:, None], self.box.inside(point + step), point)
        length = np.linalg.norm(scale * (trial - point), axis=1)
        is_rounding = length <= 2 * EPSILON * np.linalg.norm(scale * point, axis=1)
        stalled: Mask = going & usable & is_rounding
        moving = going & ~stalled
        trial_linear = objective.linear(trial)
        self.evaluations[active] += 2  # for the acceleration and at the trial point
        gain = np.where(predicted > 0, (free_linear.value - trial_linear.value) / predicted, -1.0)
        accepted = moving & usable & (gain > 0) & trial_linear.finite
        if moving[0]:
            self._report("damped" if accepted[0] else "rejected", trial, trial_linear.value, length, self.damping[active])
        self.point[active[accepted]] = trial[accepted]
        self.linear.put(active, trial_linear, accepted)
        self.tried[active[moving]] += 1
        self.steps[active[accepted]] += 1
        self._adapt_damping(active[accepted], gain[accepted], active[moving & ~accepted])
        return stalled

    def _adapt_damping(self, accepted: Indices, gain: Vector, rejected: Indices) -> None:
        """Change the damping of problems by Nielsen's rule; the gain of an accepted step is its decrease over the predicted one."""
        self.damping[accepted] *= np.maximum(1 / 3, 1 - (2 * gain - 1) ** 3)
        self.growth[accepted] = GROWTH
        self.damping[rejected] *= self.growth[rejected]
        self.growth[rejected] *= 2

    def _newton(self, problems: Indices) -> Mask:
        """Take Newton steps until they are rounding; return which problems converged, and move those to their best points."""
        count = len(problems)
        point, value = self.point[problems], self.linear.value[problems]
        start, best = value.copy(), point.copy()
        last_length, converged = np.full(count, np.inf), np.zeros(count, bool)  # inf: no step yet
        active, objective = np.arange(count), self.objective.only(problems)  # places in ``problems``
        for _ in range(MOST_NEWTON):
            p, before = point[active], last_length[active]
            at = objective.quadratic(p)
            self.evaluations[problems[active]] += 1
            if before[0] < np.inf and at.finite[0]:  # a step led here
                self._report("newton", p, at.value, before, np.zeros(1))
            free = self.box.free(p, at.gradient)
            step, length, positive = at.newton_steps(free)
            scale = np.sqrt(np.abs(np.einsum("bii->bi", at.hessian)))
            rounding = EPSILON * np.linalg.norm(scale * p * free, axis=1)
            # Judge the steps that led here, and keep the points that are better.
            failed, better = _newton_progress(at, start[active], positive, before, length, rounding)
            last_length[active[better]], value[active[better]] = length[better], at.value[better]
            best[active[better]] = p[better]
            # Take the next steps, of the better points only, unless they do not move the point.
            trial = self.box.inside(p + step)
            taken = better & (length > rounding / 4)  # a shorter step is certainly rounding
            going = taken & ~(trial == p).all(1)
            converged[active[~failed & ~going]] = True
            point[active[going]] = trial[going]
            self.steps[problems[active[taken]]] += 1
            self.tried[problems[active[taken]]] += 1
            if not going.any():
                break
            if not going.all():
                active, objective = active[going], objective.only(np.flatnonzero(going))
        self.point[problems[converged]] = best[converged]
        self.linear.value[problems[converged]] = value[converged]
        return converged


def _newton_progress(
    at: Quadratic, start: Vector, positive: Mask, before: Vector, length: Vector, rounding: Vector
) -> tuple[Mask, Mask]:
    """Return which sequences of Newton steps failed, and which come closer to a minimum; the others are at one, to rounding.

    Until steps are close to their ``rounding`` errors, the objective must not rise above its value at the ``start``, and each next
    ``length`` must be less than half of that of the step ``before``, inf at first.  The Hessians must be ``positive`` definite.
    """
    risen = (at.value > start * (1 + RISE)) & (before > FAR_OFF * rounding)
    grown = length >= before / 2
    diverging = grown & (length > rounding) & (before > 100 * FAR_OFF * rounding)  # 100: nearer, rounding may lengthen steps
    failed = ~at.finite | ~positive | risen | diverging
    return failed, ~failed & ~grown


def _damped_steps(
    objective: SumOfSquares, point: Matrix, linear: Linear, free: Mask, scale: Matrix, damping: Vector
) -> tuple[Matrix, Vector, Mask]:
    """Return the damped steps with their accelerations, the predicted decreases, and which steps can be used.

    A step s solves ``(J'J + damping*D**2) s = -J'r``, where D are the scales of the ``free`` parameters, of shape (B, n).  With the
    second derivative a of r along s, its acceleration solves the same equation with ``-J'a/2`` on the right (Transtrum and Sethna).
    A step that cannot be used is not finite, or its acceleration is too long for a second-order expansion.
    """
    count, n = point.shape
    # With u = D s, the step is the least-squares solution of (J/D) u = -r and sqrt(damping) u = 0.
    rows = np.zeros((count, 2 * n, n + 1))
    rows[:, :n, :n] = linear.factor / scale[:, None, :]
    rows[:, :n, n] = -linear.image
    rows[:, n:, :n] = np.sqrt(damping)[:, None, None] * np.eye(n)
    triangle = triangles(rows)[:, :n]
    factor, right = triangle[:, :, :n], triangle[:, :, n]
    velocity = upper_solve(factor, right)  # u
    # By the linear model, the decrease is u'(damping u - g/D)/2.
    predicted = 0.5 * np.einsum("bi,bi->b", velocity, damping[:, None] * velocity - linear.gradient / scale)
    second = objective.along(point, velocity / scale) * free / scale  # J'a/D
    acceleration = -0.5 * upper_solve(factor, lower_solve(np.swapaxes(factor, 1, 2), second))
    usable = 2 * np.linalg.norm(acceleration, axis=1) <= ACCELERATION * np.linalg.norm(velocity, axis=1)
    step = (velocity + acceleration) / scale
    return step, predicted, usable & np.isfinite(step).all(1)


SINGULAR = 100 * EPSILON
"""The ratio of singular values of the column-scaled Jacobian below which a direction is not determined by the data."""
SMALL_OFFSET = 1e-6
"""The largest relative offset of a minimum."""
ENOUGH_DIGITS = 8.0
"""The number of digits of all parameters that prove a minimum; without residuals, those of the vector of parameters."""
DISTANCE = 4.0
"""The distance of neighbouring points in each parameter, in units in the last place."""
SAFETY = 4.0
"""The factor of the measured effect of rounding."""


class Optimality(NamedTuple):
    """The facts about a point of each of B problems.

    Attributes:
        linear: the linear problems of the parameters that are not held at a bound.
        quadratic: the objectives with their derivatives.
        free: which parameters are not held at a bound, of shape (B, n).
        step: the Newton steps.
        digits: the numbers of certain decimal digits, at most 16, from the Newton step and the effect of rounding on it; nan for
            a parameter that is held.
        offset: the relative offsets of Bates and Watts.
        certain: whether the digits prove a minimum whatever the relative offset, as in data without errors.
        finite: whether all derivatives are finite.
        positive: whether the Hessian of the free parameters is positive definite.
        singular: the singular values of the column-scaled Jacobian matrices, descending, of shape (B, n).
        directions: the right singular vectors as rows, as changes of the parameters, of shape (B, n, n).
    """

    linear: Linear
    quadratic: Quadratic
    free: Mask
    step: Matrix
    digits: Matrix
    offset: Vector
    certain: Mask
    finite: Mask
    positive: Mask
    singular: Matrix
    directions: Stack

    @property
    def missing(self) -> Mask:
        """Which directions the data do not determine, of shape (B, n)."""
        return np.asarray(self.finite[:, None] & (self.singular <= SINGULAR * np.maximum(self.singular[:, :1], 1.0)))

    @property
    def is_minimum(self) -> Mask:
        """Whether the points are proven to be local minima, to rounding."""
        return self.finite & self.positive & ~self.missing.any(1) & ((self.offset <= SMALL_OFFSET) | self.certain)

    @property
    def null(self) -> Matrix:
        """The directions that the data of the first problem do not determine, as rows of changes of all parameters."""
        return np.asarray(self.directions[0][self.missing[0]])

    @property
    def condition(self) -> float:
        """The condition number of the column-scaled Jacobian matrix of the first problem."""
        largest, least = self.singular[0, 0], self.singular[0, -1]
        return float(largest / least) if least > 0 else np.inf


def optimality(objective: SumOfSquares, point: Matrix, box: Box, patterns: int = 1) -> Optimality:
    """Return the facts about points, which are computed with derivatives of second order.

    Args:
        objective: the objectives.
        point: the points, of shape (B, n).
        box: the bounds.
        patterns: the number of patterns of signs in which neighbouring points lie; they show the effect of rounding.
    """
    with np.errstate(all="ignore"):
        linear, quadratic = objective.linear(point), objective.quadratic(point)
        finite = quadratic.finite & linear.finite
        free = np.where(finite[:, None], box.free(point, quadratic.gradient), True)  # all where it is not known
        step, _, positive = quadratic.newton_steps(free)
        linear = linear.restricted(free)
        error = np.abs(step) + _rounding_of_minimum(objective, point, step, free, patterns)
        digits = np.clip(-np.log10(error / np.where(point == 0, 1.0, np.abs(point))), 0, 16)
        has_all_digits = np.where(free, digits >= ENOUGH_DIGITS, True).all(1)
        certain = has_all_digits | _is_exact(linear.norms * free, point, error, quadratic.value)
        count = free.sum(1)  # of free parameters
        freedom = objective.rows(point) - count
        # Bates and Watts: the tangent part of the residuals per parameter, relative to the other part per degree of freedom.
        offset = linear.offset / np.sqrt(np.maximum(count, 1)) * np.sqrt(np.maximum(freedom, 1))
        singular, directions = _singular_directions(linear)
    digits = np.where(free & (finite & positive)[:, None], digits, np.nan)
    return Optimality(linear, quadratic, free, step, digits, offset, certain, finite, positive, singular, directions)


def _is_exact(scale: Matrix, point: Matrix, error: Matrix, value: Vector) -> Mask:
    """Return for which problems errors of parameters, times ``scale``, and residuals are negligible beside ``scale*point``."""
    inexact = np.linalg.norm(np.column_stack([scale * error, np.sqrt(2 * value)]), axis=1)  # 2*value: the sum of squares
    return np.asarray(inexact <= 10**-ENOUGH_DIGITS * np.linalg.norm(scale * point, axis=1))


def _rounding_of_minimum(objective: SumOfSquares, point: Matrix, step: Matrix, free: Mask, patterns: int) -> Matrix:
    """Return how far minima ``point + step`` may be wrong by rounding; inf if unknown.

    Newton steps are taken at neighbouring points too, on both sides of the point in each pattern of signs of the parameters.
    Without rounding, they would all lead to the same minimum.
    """
    target = point + step
    result = np.spacing(np.abs(target))
    for pattern, side in itertools.product(range(patterns), (1.0, -1.0)):
        signs = np.where(np.arange(point.shape[1]) >> pattern & 1, -side, side)  # + - + - ..., + + - - ..., and so on
        near = point + free * signs * DISTANCE * np.spacing(np.abs(point))
        quadratic = objective.quadratic(near)
        near_step, _, positive = quadratic.newton_steps(free)
        distance = SAFETY * np.abs(near + near_step - target)
        result = np.maximum(result, np.where((positive & quadratic.finite)[:, None], distance, np.inf))
    return result


def _singular_directions(linear: Linear) -> tuple[Matrix, Stack]:
    """Return the singular values of the column-scaled Jacobians (0 if not finite), and rows: the change of parameters for each."""
    norms = linear.norms
    scaled = np.where(linear.finite[:, None, None], linear.scaled, 0.0)
    _, singular, vectors = np.linalg.svd(scaled)
    return singular, vectors / np.where(norms > 0, norms, 1.0)[:, None, :]


def determined(linear: Linear) -> Mask:
    """Return for which problems the data determine all parameters."""
    singular, _ = _singular_directions(linear)
    return singular[:, -1] > SINGULAR * np.maximum(singular[:, 0], 1.0)
