"""The search for a minimum: descents, escapes from saddle points, and the verdict on the point where the search ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.command_result import Record
from autodiff_cli.errors import setting
from autodiff_cli.solvers.jumps import discontinuity
from autodiff_cli.solvers.minima.certificate import Active, Certificate, certify, violations
from autodiff_cli.solvers.minima.constrained import descend_between, is_endless, minimize_constrained, solve_active_set
from autodiff_cli.solvers.minima.degenerate import has_hidden_slope, is_curved, kink_near, probe
from autodiff_cli.solvers.minima.large import certify_large, descend_large
from autodiff_cli.solvers.minima.newton_trust_region import DENSE, EPS, Descent, TrustRegion
from autodiff_cli.solvers.minima.problem import OutOfTime

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.solvers.minima.problem import MinimumProblem

_MOST_STEPS = 1_000  # the largest number of trial steps of a descent
_NEAR = 1e-4  # the distance, relative to the size of the variables, by which Newton's method may move the end of a search
_MOST_NEIGHBOURS = 50  # the largest number of variables for which the values close to a minimum are compared with it
_SUBNORMAL = float(np.finfo(float).tiny) / EPS
"""The magnitude below which the rounding errors of subnormal numbers are larger than relative rounding errors."""
_MANY = 20  # the number of last steps whose lengths are compared
_MOST_ESCAPES = 20  # the largest number of saddle points and inflection points that a search leaves


class Search:
    """A search for a local minimum from the start of a problem.

    Args:
        problem: the problem.

    Attributes:
        x: the last point.
        typical: the largest magnitude of each variable so far.
        certificate: the certificate of the last point; ``None`` if there is none.
        verdict, converged, sentence, advice: see ``Solution`` and ``Minimum``.
        direction: the way down from a saddle point, or a direction in which a minimum is flat.
        steps: the number of accepted steps.
        trace: one record for each step.
    """

    def __init__(self, problem: MinimumProblem) -> None:
        self.problem = problem
        self.x = problem.start
        self.typical = np.abs(self.x)
        self.certificate: Certificate | None = None
        self._kink_norm: float | None = None
        self.verdict, self.converged = "not_converged", False
        self.sentence = ""
        self.advice: str | None = None
        self.direction: Vector | None = None
        self.steps = 0
        self.trace: list[Record] = []
        words = ("maximum", "negative", "increases") if problem.sign < 0 else ("minimum", "positive", "decreases")
        self._kind, self._positive, self._falls = words
        self._first_value, self._first_norm = self._value_and_slope()
        self._report(self.x, self._first_value, self._first_norm, 0.0, "start")

    def run(self) -> None:
        """Search, and set the attributes."""
        try:
            with np.errstate(all="ignore"):
                if self.problem.constraints:
                    self._constrained()
                else:
                    self._between_bounds()
                if self.converged or self.verdict == "not_converged":
                    self._confirm()
        except OutOfTime:
            seconds, self.problem.seconds = self.problem.seconds, np.inf
            self.x, self.certificate, self.steps = self._reached, None, len(self.trace) - 1
            advice = f"lift the limit with {setting('no_limits')}, or {_again()}"
            self._failed(f"not converged after evaluations of {seconds:g} s", advice=advice)

    @property
    def gradient_norm(self) -> float:
        """The norm of the gradient of the Lagrangian, or of the shortest convex combination of gradients at a kink."""
        if self.certificate is not None:
            return self.certificate.gradient_norm
        return float(np.linalg.norm(self.problem.slopes(self.x)[0])) if self._kink_norm is None else self._kink_norm

    @property
    def eigenvalues(self) -> Vector:
        """The eigenvalues of the certificate with the sign of the objective, ascending; none if they are not finite."""
        if self.certificate is None or not np.isfinite(self.certificate.eigenvalues).all():
            return np.zeros(0)
        return np.sort(self.problem.sign * self.certificate.eigenvalues)

    def _confirm(self) -> None:
        """Set the verdict of a failure where the value is not continuous, or where its changes underflow."""
        system, size = self.problem.system, np.maximum(np.abs(self.x), self.typical)
        reach = 1e3 * EPS * size + 8 * np.spacing(np.abs(self.x))
        broken = discontinuity(system, system.enclosure, self.x, reach)
        is_tiny = self.certificate is not None and np.max(np.abs(self.certificate.eigenvalues), initial=0.0) < _SUBNORMAL
        if broken is not None:
            self._failed(f"no {self._kind} found: {broken.sentence}", broken.kind)
        elif (self.verdict == "flat" or is_tiny) and self._is_free and has_hidden_slope(self.problem, self.x):
            place = ", ".join(f"{label} = {value:.6g}" for label, value in list(zip(system.labels, self.x, strict=True))[:3])
            hidden = "the value changes by less than its rounding errors"
            self._failed(f"no {self._kind} found: at {place}, {hidden}", "underflow")

    @property
    def _is_free(self) -> bool:
        """Whether neither a constraint nor a bound holds the last point; a bound does not hold a flat one."""
        if self.certificate is None or self.certificate.active.constraints.any():
            return False
        return self.verdict == "flat" or not self.certificate.active.fixed.any()

    def _value_and_slope(self) -> tuple[float, float]:
        """Return the value and the norm of the gradient at the last point."""
        return self.problem.value(self.x), float(np.linalg.norm(self.problem.slopes(self.x)[0]))

    def _report(self, x: Vector, value: float, norm: float, length: float, what: str) -> None:
        """Record a step, with the norm of the gradient, its length and what was done; of large problems, only the first steps."""
        self.typical = np.maximum(self.typical, np.abs(x))
        self._reached = x
        if len(x) > DENSE and what == "step" and len(self.trace) > DENSE:
            return
        point = dict(zip(self.problem.system.labels, map(float, x), strict=True))
        row = {"step": len(self.trace), **point, "value": self.problem.sign * value}
        self.trace.append({**row, "gradient_norm": norm, "step_length": length, "action": what})

    # Searches

    def _between_bounds(self) -> None:
        """Descend, and descend again from each lower point beside a saddle point, until there is a verdict."""
        for _ in range(_MOST_ESCAPES):
            if self.problem.size > DENSE:
                done = descend_large(self.problem, self.x, _MOST_STEPS, self._report)
            elif np.isfinite([self.problem.low, self.problem.high]).any():
                done = descend_between(self.problem, self.x, self._report)
            else:
                done = TrustRegion(self.problem, self.x, self._report).run(_MOST_STEPS)
            self.x, self.steps = done.x, self.steps + done.steps
            self.typical = np.maximum(self.typical, np.abs(self.x))
            if done.ending == "unbounded" or self._leaves(done):
                return self._unbounded()
            lower = self._judged(done)
            if lower is None:
                return None
            self.x = lower
            self._report(lower, *self._value_and_slope(), 0.0, "escape")
        return self._failed("no minimum was found after many saddle points")

    def _judged(self, done: Descent) -> Vector | None:
        """Set the verdict on the end of a descent and return ``None``; or return a lower point from which to go on."""
        lower, result = None, self._certificate()
        if result is not None:
            self.certificate, self.x = result, result.x
        if result is None or not result.stationary or not result.signs:
            self._kink(done)
        elif result.is_minimum and (not self._is_free or is_curved(self.problem, result.x)):
            lower = self._beyond_jump()
            if lower is None:
                self._proven()
        elif result.curvature in ("negative", "indefinite"):
            lower = self._saddle(result)
        elif result.curvature == "unknown":
            self._failed("the curvature at the end could not be determined")
        elif self.problem.size > DENSE:
            self._flat(result.direction)
        else:
            lower = self._judged_degenerate(done, result)
        return lower

    def _judged_degenerate(self, done: Descent, result: Certificate) -> Vector | None:
        """Set the verdict on a point with a singular Hessian matrix and return ``None``; or return a lower point close to it."""
        around = probe(self.problem, result, self.typical)
        if around.lower is not None:
            return around.lower
        if result.active.fixed.any():
            self._flat(result.direction)
        elif not around.rises:
            self._flat(around.direction)
        elif around.order:
            self._proven(f"the first derivative that is not zero, of order {around.order}, is {self._positive}")
        elif kink_near(self.problem, self.x, self.typical, moves=False) is not None:
            self._kink(done)
        else:
            verb = "increases" if self._falls == "decreases" else "decreases"
            self._proven(f"the Hessian matrix is singular; the value {verb} in every direction that was tried")
        return None

    def _beyond_jump(self) -> Vector | None:
        """Return a point, 1e-6 of a variable beside a minimum, with a value so low that there must be a jump, or ``None``."""
        problem, x = self.problem, self.x
        if problem.size > _MOST_NEIGHBOURS:
            return None
        too_low = problem.value(x) - 1e5 * EPS * max(abs(problem.value(x)), abs(self._first_value))
        for i, size in enumerate(np.maximum(self.typical, 1e-3)):
            for sign in (1, -1):
                point = x.copy()
                point[i] = np.clip(x[i] + sign * 1e-6 * size, problem.low[i], problem.high[i])
                if problem.value(point) < too_low and np.isfinite(problem.gradient(point)).all():
                    return point
        return None

    def _certificate(self) -> Certificate | None:
        """Return the certificate of the last point, or of a better point nearby; ``None`` if the Hessian matrix is not finite."""
        problem = self.problem
        if problem.size > DENSE:
            return certify_large(problem, self.x, self.typical)
        if not np.isfinite(problem.hessian(self.x)).all():
            return None
        no_constraints, value = np.zeros(0, bool), problem.value(self.x)
        result = solve_active_set(problem, self.x, no_constraints, self.typical)
        if result is not None:
            is_near = (np.abs(result.x - self.x) <= _NEAR * np.maximum(self.typical, 1.0)).all()
            if is_near and result.value <= value + 1e-8 * abs(value):
                return result
        fixed = (self.x <= problem.low) | (self.x >= problem.high)
        return certify(problem, self.x, Active(no_constraints, fixed), self.typical)

    def _constrained(self) -> None:
        """Minimize with the constraints, and set the verdict from the certificate."""
        result, self.x, self.steps = minimize_constrained(self.problem, self._report)
        self.certificate = result
        if result is None and is_endless(self.problem, self.x):
            self._unbounded()
        elif result is None or not result.is_critical:
            self._unsolved()
        elif result.is_minimum:
            self._proven()
        elif result.curvature == "semidefinite":
            self._flat(result.direction)
        else:
            self.direction = result.direction
            what = "the second derivative of the Lagrangian has the wrong sign in a tangent direction"
            self._failed(f"a saddle point: {what}", "saddle")

    # Verdicts

    def _unsolved(self) -> None:
        """Set the verdict of a search with constraints that did not reach a critical point: which constraint is violated most."""
        beyond = violations(self.problem, self.x)
        worst = int(np.argmax(beyond))
        if beyond[worst] > 1e-8 * max(1.0, float(np.max(np.abs(self.x)))):
            text, self.certificate = self.problem.constraints[worst].text, None
            self._failed(
                f"no point that satisfies the constraints was found: '{text}' is violated by {beyond[worst]:.3g} at the end",
                "infeasible",
                "check that the constraints do not contradict each other, or start closer to a point that satisfies them",
            )
        else:
            self._failed(
                "the point satisfies the constraints, but the conditions of a minimum could not be verified",
                advice=f"the gradients of the active constraints may be linearly dependent there; {_again()}",
            )

    def _proven(self, curvature: str = "") -> None:
        """Set the verdict of a minimum; ``curvature`` says what proves it if the Hessian matrix does not."""
        result = self.certificate
        assert result is not None
        is_at_bound = bool(result.active.fixed.any())
        self.verdict, self.converged = "at_bound" if is_at_bound else self._kind, True
        matrix, gradient = "the Hessian matrix", "the gradient"
        if self.problem.constraints:
            matrix, gradient = "its Hessian matrix", "the gradient of the Lagrangian"
        free = " in the free variables" if is_at_bound else ""
        if not len(result.eigenvalues):
            what = "the constraints and bounds leave no direction free"
        elif curvature:
            what = curvature
        elif result.eigenvalues[0] <= result.error:
            what = f"the second derivative is {self._positive} in every direction that the bounds and constraints allow"
        else:
            tangent = " on the tangent space" if result.active.constraints.any() else free
            what = f"{matrix} is {self._positive} definite{tangent}"
        self.sentence = f"{self._kind}: {gradient}{free} is zero within rounding; {what}"

    def _saddle(self, certificate: Certificate) -> Vector | None:
        """Return a lower point beside a saddle point; if rounding errors hide it, set the verdict and return ``None``."""
        lower = self._below(certificate.direction)
        if lower is None:
            self.direction = certificate.direction
            sentence = f"a saddle point: the gradient is zero within rounding; the value {self._falls} along a direction"
            self._failed(sentence, "saddle")
        return lower

    def _below(self, direction: Vector) -> Vector | None:
        """Return the lower of two points on both sides in a direction, as far as one is lower at all; ``None`` if none is."""
        problem = self.problem
        unit = np.maximum(self.typical, 1e-3 * max(1.0, float(np.max(self.typical))))
        size = float(np.max(np.abs(direction) / unit))
        lowest, least = None, problem.value(self.x)
        for distance in 10.0 ** -np.arange(0, 8):
            for sign in (1.0, -1.0):
                trial = np.clip(self.x + sign * distance / size * direction, problem.low, problem.high)
                value = problem.value(trial)
                if value < least and np.isfinite(problem.gradient(trial)).all():
                    lowest, least = trial, value
            if lowest is not None:
                break
        return lowest

    def _flat(self, direction: Vector) -> None:
        """Set the verdict of a point from which the value stays the same within rounding in a direction."""
        self.verdict, self.converged = "flat", True
        self.direction = direction
        what = "the Hessian matrix is singular"
        result = self.certificate
        if result is not None and len(result.eigenvalues) and result.eigenvalues[0] < -result.error:
            what = "the second derivative is zero in a direction that the bounds and constraints allow"
        self.sentence = f"flat: the gradient is zero within rounding; {what}; no lower value was found"
        if self._kind == "maximum":
            self.sentence = self.sentence.replace("lower", "higher")

    def _kink(self, done: Descent) -> None:
        """Set the verdict on a point at which a descent ended although the gradient is not zero."""
        kink = kink_near(self.problem, self.x, self.typical, moves=True) if self.problem.size <= DENSE else None
        if kink is not None:
            self.x, self.verdict, self.certificate, self.converged = kink.x, "kink", None, True
            self._kink_norm = kink.norm
            self.sentence = f"{self._kind} at a kink: {kink.reason}"
            return
        if done.ending == "limit":
            self._failed(f"not converged after {_MOST_STEPS:,} trial steps")
        else:
            advice = f"the expression may have a jump or a kink there; {_again()}"
            self._failed("the search stopped at a point where the gradient is not zero", advice=advice)

    def _leaves(self, done: Descent) -> bool:
        """Return whether a descent moved away in equal or growing steps until the derivatives vanished, as for ``exp(-x)``."""
        lengths = done.lengths
        if len(lengths) < _MANY or self.problem.size > DENSE:
            return False
        away, recent = self.x - self.problem.start, lengths[-_MANY:]
        has_vanished = float(np.linalg.norm(self.problem.gradient(self.x))) <= 1e-12 * max(self._first_norm, 1e-300)
        goes_on = min(recent) > 0.9 * max(lengths) / 4
        is_far = float(np.linalg.norm(away)) > 5 * max(recent)
        if not (has_vanished and goes_on and is_far):
            return False
        # The derivatives vanish at a kink, too, beyond which the value rises.
        further = np.clip(self.x + away, self.problem.low, self.problem.high)
        return not self.problem.values(further)[0] > self.problem.value(self.x)

    def _unbounded(self) -> None:
        """Set the verdict of a descent without an end, and say which variable moves away; far away, the value may have a limit."""
        farthest = int(np.argmax(np.abs(self.x - self.problem.start)))
        name, far = self.problem.system.labels[farthest], self.x[farthest]
        value = self.problem.sign * self.problem.value(self.x)
        is_near = abs(far) <= 1e6 * max(1.0, float(np.max(np.abs(self.problem.start))))
        is_endless = np.isinf(value) or (abs(value) > 1e12 if is_near else self._goes_on())
        how = "without bound" if is_endless else f"as {name} {'increases' if far > 0 else 'decreases'} without bound"
        self._failed(
            f"no {self._kind}: the value {self._falls} {how}; it is {value:.3g} at {name} = {far:.3g}",
            "unbounded" if is_endless else "not_converged",
            f"limit the variables with {setting('bounds')}, or {_again()}",
        )

    def _goes_on(self) -> bool:
        """Return whether the value decreases as much with each power of 10 of the distance, as that of ``-log(x)``."""
        away = np.abs(self.x - self.problem.start)
        is_far = away > 0.1 * np.max(away)
        near, far, farthest = (self.problem.value(np.where(is_far, part * self.x, self.x)) for part in (0.01, 0.1, 1.0))
        return bool(far - farthest >= 0.9 * (near - far) > 0)

    def _failed(self, sentence: str, verdict: str = "not_converged", advice: str = "") -> None:
        """Set the verdict of a failure, with its reason; without other advice, another start is advised."""
        self.verdict, self.sentence, self.advice, self.converged = verdict, sentence, advice or _again(), False


def _again() -> str:
    """Return the advice to use another start."""
    return f"use another start with {setting('at')}"
