"""``minimize``: a local minimum of an expression, and its verification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli import limits
from autodiff_cli.autograd.primitives.argument_kinds import optional
from autodiff_cli.autograd.primitives.interface_kinds import EXPRESSION, NAMES, VALUES, VALUES_OR_TEXTS, checks
from autodiff_cli.command_result import Named, Record, plain
from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.note_phrases import note
from autodiff_cli.solvers.bounds import Ends, check_names, intervals
from autodiff_cli.solvers.minima.newton_trust_region import DENSE
from autodiff_cli.solvers.minima.problem import MinimumProblem, check_start
from autodiff_cli.solvers.minima.search import Search
from autodiff_cli.solvers.solution import Solution, plain_values
from autodiff_cli.solvers.system import System
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.evaluation.evaluation import Value
    from autodiff_cli.solvers.minima.certificate import Certificate

_MOST_NAMED = 5  # the maximum number of variables that a note names
MOST_SECONDS = 4.0  # the time for the evaluations of a search of up to ``DENSE`` variables


class Minimum(Solution):
    """The result of ``minimize``.

    Attributes:
        solution: the value of each variable.
        start: the start of each variable.
        at_bound: for each element of each variable, ``low``, ``high`` or an empty text.
        value: the value of the expression.
        gradient_norm: the norm of the gradient of the Lagrangian, apart from active bounds.
        eigenvalues: the eigenvalues of the Hessian matrix on the tangent space of the active constraints and bounds, ascending.
        multipliers: the Lagrange multiplier of each constraint, and of each active bound as ``x >= 0``.
        direction: the way down from a saddle point, or a direction in which a minimum is flat, if there is one.
        sentence: the verdict in words, and what proves it.
        trace: one record for each step, if they were requested.
        sensitivity: the derivative of each variable, and of the value, with respect to each constant that was named.
    """

    command = "minimize"
    tables = "autodiff_cli.solvers.minima.tables:tables"

    def __init__(self, problem: MinimumProblem, search: Search, traced: bool) -> None:
        super().__init__(expression=problem.expression, converged=search.converged, verdict=search.verdict)
        self.reason = "" if search.converged else search.sentence
        self.advice = search.advice
        self.steps, self.evaluations = search.steps, problem.system.evaluations
        self.solution, self.start = problem.named(search.x), problem.named(problem.system.start)
        self.at_bound = _at_bound(problem, search.x)
        self.value = problem.sign * problem.value(search.x)
        self.gradient_norm, self.eigenvalues = search.gradient_norm, search.eigenvalues
        self.multipliers = _multipliers(problem, search.certificate)
        direction = search.direction
        self.direction = {} if direction is None or not direction.any() else problem.system.named(direction)
        self.sentence = search.sentence
        self.trace = search.trace if traced else None
        self.sensitivity: dict[str, dict[str, Vector | float]] = {}

    def answer(self) -> Record:
        """Return the entries for JSON; ``proof`` only with a verified minimum, and others only if there are any."""
        return {
            "solution": plain_values(self.solution),
            "value": self.value,
            "gradient_norm": self.gradient_norm,
            "eigenvalues": plain(self.eigenvalues),
            "multipliers": self.multipliers,
            **({"proof": self.sentence} if self.converged else {}),
            **({"direction": plain_values(self.direction)} if self.direction else {}),
            **({"sensitivity": plain_values(self.sensitivity)} if self.sensitivity else {}),
            **({"trace": self.trace} if self.trace is not None else {}),
        }

    def numbers(self) -> list[Named]:
        return [*self.solution.items(), ("value", self.value)]

    def bare(self) -> list[Vector]:
        return list(self.solution.values())

    def records(self) -> list[Record]:
        """Return the steps if they were recorded, else one record for each variable and one for the value."""
        if self.trace is not None:
            return self.trace
        bounds = {name: ",".join(dict.fromkeys(filter(None, self.at_bound.get(name, [])))) for name in self.solution}
        rows = [
            {"name": name, "value": plain(value), "start": plain(self.start[name]), "bound": bounds[name]}
            for name, value in self.solution.items()
        ]
        return [*rows, {"name": "value", "value": self.value}]


@np.errstate(all="ignore")
@checks(expression=EXPRESSION, at=VALUES, const=optional(VALUES), bounds=VALUES_OR_TEXTS, subject=NAMES, sensitivity=NAMES)
def minimize(
    expression: str,
    at: Mapping[str, Value],
    const: Mapping[str, Value] | None = None,
    *,
    bounds: Iterable[str] | Mapping[str, str | Ends] = (),
    subject: str | Sequence[str] = (),
    maximize: bool = False,
    sensitivity: Sequence[str] = (),
    trace: bool = False,
) -> Minimum:
    """Find a local minimum of an expression, and verify it.

    Args:
        expression: a program of the language whose result is a number.
        at: the variables with their values at the start; arrays are allowed.
        const: the values of constants.
        bounds: the interval of variables, as ``{"x": (0, 10)}``, ``{"x": "0:"}`` or texts such as ``x=0:10``.
        subject: the constraints: texts with ``==``, ``<=`` or ``>=``, such as ``x + y == 1``.
        maximize: whether to find a maximum.
        sensitivity: the constants with respect to which the solution is differentiated.
        trace: whether to record every step.

    Returns:
        The point, the value and what was verified; ``converged`` is false if the point is not a verified minimum.

    Raises:
        NotSolved: if the expression or its gradient is not finite at the start.
        AutodiffError: if a text is invalid.
    """
    subject = [subject] if isinstance(subject, str) else list(subject)
    problem = MinimumProblem(expression, at, const, subject, intervals(bounds, "bounds"), maximize)
    notes = [note("unused", f"'{name}' does not occur in the expression") for name in problem.unused]
    _check_sensitivity(sensitivity, const or {})
    check_start(problem)
    moved = [problem.system.labels[i] for i in np.flatnonzero(problem.start != problem.system.start)]
    if moved:
        message = f"the start of {listed(moved[:_MOST_NAMED])} is outside its bounds, and was moved to the nearest bound"
        notes.append(note("bounds", message))
    if problem.size <= DENSE and not limits.lifted():
        problem.seconds = MOST_SECONDS
    search = Search(problem)
    search.run()
    result = Minimum(problem, search, trace)
    result.notes = notes
    if sensitivity and result.converged and search.certificate is not None:
        result.sensitivity = sensitivities(problem, search.certificate, const or {}, sensitivity)
    return result


def _check_sensitivity(names: Sequence[str], const: Mapping[str, Value]) -> None:
    """Raise an error if a name of ``sensitivity`` is not that of a constant that is a number."""
    check_names(names, const, "sensitivity", "constant")
    for name in names:
        if np.ndim(const[name]):
            raise UsageError(f"{setting('sensitivity')} needs a number, but '{name}' is an array", hint="name scalar constants")


def _at_bound(problem: MinimumProblem, x: Vector) -> dict[str, list[str]]:
    """Return ``low``, ``high`` or an empty text for each element of each variable."""
    ends = np.where(x <= problem.low, "low", np.where(x >= problem.high, "high", ""))
    return {name: [str(end) for end in np.ravel(part)] for name, part in problem.system.named(ends).items()}


def _multipliers(problem: MinimumProblem, certificate: Certificate | None) -> dict[str, float]:
    """Return the multipliers of the constraints and of the active bounds, by their texts; none without a certificate."""
    if certificate is None:
        return {}
    pairs = zip(problem.constraints, certificate.multipliers, strict=True)
    multipliers = {constraint.text: problem.sign * float(value) for constraint, value in pairs}
    for i in np.flatnonzero(certificate.active.fixed):
        is_low = certificate.x[i] <= problem.low[i]
        sign, bound = (">=", problem.low[i]) if is_low else ("<=", problem.high[i])
        multipliers[f"{problem.system.labels[i]} {sign} {bound:.12g}"] = problem.sign * abs(float(certificate.reduced[i]))
    return multipliers


def sensitivities(
    problem: MinimumProblem, certificate: Certificate, const: Mapping[str, Value], names: Sequence[str]
) -> dict[str, dict[str, Vector | float]]:
    """Return the derivative of each element of the solution and of the value with respect to each named one of the constants.

    The first-order conditions hold for every value of a constant a.  Their derivative is a linear system with the Hessian matrix H
    of the Lagrangian and the Jacobian matrix A of the active constraints: H dx - A.T dm = -d(grad L)/da and A dx = -dc/da.  The
    derivative of the value is the partial derivative of the Lagrangian with respect to a (Fiacco, Introduction to Sensitivity and
    Stability Analysis in Nonlinear Programming, 1983).
    """
    system, n = problem.system, problem.size
    others = {name: value for name, value in const.items() if name not in names}
    at = {**system.named(certificate.x), **{name: const[name] for name in names}}
    wider = System(system.source, system.programs, at, others)  # the variables are followed by the constants
    weights = problem.weights(certificate.multipliers)
    hessian, jacobian = wider.hessian(wider.start, weights), wider.jacobian(wider.start)
    free = np.flatnonzero(~certificate.active.fixed)
    rows = 1 + np.flatnonzero(certificate.active.constraints)  # the first row is that of f
    normals = jacobian[np.ix_(rows, free)]
    matrix = np.block([[hessian[np.ix_(free, free)], -normals.T], [normals, np.zeros((len(rows), len(rows)))]])
    result: dict[str, dict[str, Vector | float]] = {}
    for k, name in enumerate(names, start=n):
        right = -np.concatenate([hessian[free, k], jacobian[rows, k]])
        slopes = np.zeros(n)
        slopes[free] = np.linalg.lstsq(matrix, right, rcond=None)[0][: len(free)]
        value_slope = float(problem.sign * (weights @ jacobian[:, k]))
        result[name] = {**system.named(slopes + 0.0), "value": value_slope + 0.0}  # without a sign of 0
    return result
