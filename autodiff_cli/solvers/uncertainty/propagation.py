"""``propagate``: the uncertainty of a result from those of its inputs, after the GUM (JCGM 100:2008)."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import optional
from autodiff_cli.autograd.primitives.interface_kinds import EXPRESSION, VALUES, checks
from autodiff_cli.errors import NotSolved, ShapeError, UsageError, setting
from autodiff_cli.evaluation.bindings import constant_value
from autodiff_cli.evaluation.note_phrases import note
from autodiff_cli.language.parser import parse
from autodiff_cli.solvers.equations import names_in
from autodiff_cli.solvers.system import MOST_TRACED, System
from autodiff_cli.solvers.uncertainty import law
from autodiff_cli.solvers.uncertainty.covariances import NOTHING, covariance
from autodiff_cli.solvers.uncertainty.joint import Joint, joint_distribution
from autodiff_cli.solvers.uncertainty.monte_carlo import compare, samples
from autodiff_cli.solvers.uncertainty.outputs import ProgramOutput, outputs
from autodiff_cli.solvers.uncertainty.result import Outcome, Propagation, tolerance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from autodiff_cli.arrays import Mask, Matrix, Vector
    from autodiff_cli.command_result import Record
    from autodiff_cli.data.columns import Data
    from autodiff_cli.solvers.uncertainty.covariances import Covariance
    from autodiff_cli.solvers.uncertainty.joint import Correlations
    from autodiff_cli.solvers.uncertainty.quantities import Stated

_SMALLEST, _LARGEST = 1e-76, 1e76
"""The uncertainties whose fourth powers are floating-point numbers with all digits."""
_FAR = 0.5
"""The distance of a value from its expansion that is noted, in standard uncertainties of the result."""
_ROUNDING = 1e-9
"""The distance, relative to the value, that may be rounding."""


@overload
def propagate(
    expression: str,
    at: Mapping[str, Stated] | None = None,
    const: Mapping[str, Any] | None = None,
    *,
    data: Data,
    u: Mapping[str, str | ArrayLike] | None = None,
    corr: Correlations | None = None,
    order: int = 1,
) -> dict[str, Vector | Mask]: ...


@overload
def propagate(
    expression: str,
    at: Mapping[str, Stated] | None = None,
    const: Mapping[str, Any] | None = None,
    *,
    u: Mapping[str, str | ArrayLike] | None = None,
    dof: Mapping[str, str | ArrayLike] | None = None,
    corr: Correlations | None = None,
    cov: Covariance | None = None,
    level: float | None = None,
    order: int = 1,
    monte_carlo: int | str | None = None,
    seed: int = 0,
) -> Propagation: ...


@checks(expression=EXPRESSION, at=optional(VALUES), const=optional(VALUES), u=optional(VALUES), dof=optional(VALUES))
def propagate(
    expression: str,
    at: Mapping[str, Stated] | None = None,
    const: Mapping[str, Any] | None = None,
    *,
    u: Mapping[str, str | ArrayLike] | None = None,
    dof: Mapping[str, str | ArrayLike] | None = None,
    corr: Correlations | None = None,
    cov: Covariance | None = None,
    level: float | None = None,
    order: int = 1,
    monte_carlo: int | str | None = None,
    seed: int = 0,
    data: Data | None = None,
) -> Propagation | dict[str, Vector | Mask]:
    """Compute the uncertainty of a result from the uncertainties of its inputs.

    Args:
        expression: a program of the language; several expressions, or only named results, are several outputs.
        at: the quantities: texts such as ``"0.994(1)"`` or ``"0.994±0.001 rect"``, or pairs ``(0.994, 0.001)``; a number does
            not have an uncertainty.
        const: the values of constants.
        u: further uncertainties: numbers, or texts with a distribution, such as ``"0.002 rect"``.
        dof: the degrees of freedom of uncertainties that were estimated from observations.
        corr: correlation coefficients, by ``"L,T"`` or ``("L", "T")``.
        cov: a covariance matrix with names: a file, an object, or the result of a fit, which also gives the values.
        level: the probability of the interval, 0.95 by default.
        order: 1 for the law of propagation of uncertainty (first order), 2 to add the terms of second order.
        monte_carlo: the number of trials of the Monte Carlo method; ``None`` to leave it out.
        seed: the seed of the random numbers.
        data: columns of numbers, or the name of a file: every row is computed. A column ``x`` contains values, a column ``u_x``
            their uncertainties.

    Returns:
        The result; for ``data``, the columns ``value``, ``u`` and ``share_x`` for each quantity, and with order 1 whether first
        order is ``enough``.

    Raises:
        UsageError: if an uncertainty is negative, the correlations are impossible, or nothing is uncertain.
        NotSolved: if the value or a sensitivity is not finite.
    """
    law.check_order(order)
    if data is not None:
        from autodiff_cli.solvers.uncertainty.rows import propagate_columns

        single = {"dof": dof, "cov": cov, "level": level, "monte_carlo": monte_carlo}
        for name, value in single.items():
            if value is not None:
                raise UsageError(f"{setting(name)} does not apply to rows", hint="leave it out, or compute one row without data")
        return propagate_columns(expression, data, at or {}, const or {}, u or {}, corr or {}, order)
    tree = parse(expression)
    known = NOTHING if cov is None else covariance(cov).restricted(names_in(tree))
    inputs = joint_distribution(at or {}, u or {}, dof or {}, corr or {}, known)
    parts = outputs(expression, tree, inputs.values)
    system = System(expression, [output.program for output in parts], inputs.values, const)
    if not inputs.u.any():
        raise UsageError("no quantity has an uncertainty", hint=_with_uncertainty(inputs.values, at or {}))
    if not system.count:
        raise ShapeError("the result is an empty tensor", hint="check the shapes in the expression")
    calculation = _Calculation(expression, system, inputs, parts, 0.95 if level is None else level, order)
    with np.errstate(all="ignore"):
        result = calculation.run()
        if monte_carlo is not None:
            calculation.add_trials(result, _trial_count(monte_carlo), seed)
    return result


def _trial_count(trials: int | str) -> int:
    """Return the number of trials, which may be a text such as ``1e6``; raise an error if it is not an integer."""
    number = float(constant_value(trials, "monte_carlo")) if isinstance(trials, str) else float(trials)
    if not number.is_integer():
        raise UsageError(f"{setting('monte_carlo')} must be a whole number, not {trials}", hint="use 1e6, for example")
    return int(number)


def _check_range(sizes: Sequence[float]) -> None:
    """Raise an error if the fourth power of an uncertainty (not of 0), which moments need, is not a float with all digits."""
    for size in map(abs, sizes):
        if size and not _SMALLEST <= size <= _LARGEST:
            what = "small" if size < 1 else "large"
            raise NotSolved(f"an uncertainty is too {what} to compute with: {size:.3g}", hint="use other units of measurement")


def _with_uncertainty(values: Mapping[str, NDArray[np.float64]], statements: Mapping[str, Stated]) -> str:
    """Return a hint with two ways to state an uncertainty of the first quantity: in brackets after its digits, and with ``u``."""
    name, value = next(iter(values.items()), ("x", np.ones(())))
    apart = setting("u", f"{name}=0.001")
    statement = statements.get(name)
    number = repr(float(value)).removesuffix(".0") if np.ndim(value) == 0 else ""
    digits = statement.strip() if isinstance(statement, str) else number  # as the user wrote them
    if not _DIGITS.fullmatch(digits):  # such as an array or an expression
        return f"write {apart}"
    return f"write {setting('at', f'{name}={digits}(1)')} or {apart}"


_DIGITS = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
"""A number to which the uncertainty of its last digits can be added in brackets."""


def _correlation(covariance: Matrix) -> Matrix:
    """Return the correlation matrix of outputs; the correlation of an output without uncertainty is nan."""
    deviations = np.sqrt(np.diag(covariance))
    correlation = np.clip(covariance / deviations[:, None] / deviations, -1, 1)
    np.fill_diagonal(correlation, np.where(deviations > 0, 1.0, np.nan))
    return correlation


_NEGATIVE_VARIANCE = "too large for a series: with the terms of second order, its variance is negative"


def _changes_by_second_order(u: float, shift: float, added: float) -> list[str]:
    """Return what terms of second order, a ``shift`` and ``added`` variance, change in the digits of an output; none if not any."""
    variance = u * u + added
    if not variance >= 0:
        return [_NEGATIVE_VARIANCE]
    new_u = math.sqrt(variance)
    allowed = tolerance(new_u)  # nan for 0, and then nothing changes
    changes = [f"shift the value by {shift:.2g}"] if abs(shift) > allowed else []
    changes += [f"change u from {u:.3g} to {new_u:.3g}"] if abs(new_u - u) > allowed else []
    return changes


@dataclass(slots=True)
class _Calculation:
    """The propagation of the uncertainties of quantities through a system; its methods add to ``notes``."""

    expression: str
    system: System
    joint: Joint
    outputs: Sequence[ProgramOutput]
    level: float
    order: int
    notes: list[Record] = field(default_factory=list)

    def run(self) -> Propagation:
        """Return the result, with notes on what is doubtful about it."""
        values = self.system.values(self.joint.x)
        jacobian = self.system.jacobian(self.joint.x)
        self._check_estimates(values, jacobian)
        for name in self.system.names:
            if not any(name in output.names for output in self.outputs):
                self._note("unused", f"'{name}' does not occur in the expression")
        shaped = zip(self.outputs, self.system.result_shapes, strict=True)
        elements = [(name, output.names) for output, shape in shaped for name in output.elements(shape)]
        result = [self._outcome(i, name, used, float(values[i]), jacobian[i]) for i, (name, used) in enumerate(elements)]
        self._note_distant_values(result, values, jacobian)
        covariance = jacobian @ self.joint.covariance @ jacobian.T
        correlation = _correlation(covariance)
        return Propagation(self.expression, result, covariance, correlation, self.system.evaluations, self.notes)

    def add_trials(self, result: Propagation, count: int, seed: int) -> None:
        """Add the Monte Carlo method, of ``count`` trials, to the result of ``run``; note trials that are not as stated."""
        correlated = [j for group in self.joint.groups if len(group) > 1 for j in group]
        for j in correlated:
            kind = self.joint.distributions[j].kind
            if kind not in ("normal", "t"):
                self._note("trials", f"'{self.joint.labels[j]}' is correlated, so its trials are normal, not {kind}")
        trials = samples(self.system, self.joint, count, seed)
        result.evaluations = self.system.evaluations  # with the trials
        for outcome, sample in zip(result.outputs, trials, strict=True):
            outcome.monte_carlo = {**compare(sample, outcome.interval, outcome.level, outcome.u), "seed": seed}
            missing = outcome.monte_carlo["not_finite"]
            if missing:
                self._note("trials", f"{missing:,} of {sample.trials:,} trials are not finite and were left out")

    def _note_distant_values(self, outcomes: Sequence[Outcome], values: Vector, jacobian: Matrix) -> None:
        """Note the quantities within two standard uncertainties of which an output is not finite, or far from its expansion."""
        joint = self.joint
        uncertain = np.flatnonzero(joint.u > 0)
        is_expansion_noted = any(remark["kind"] == "second_order" for remark in self.notes)  # that first order is not enough
        curvatures = [np.diag(self.system.hessian(joint.x, row))[uncertain] for row in np.eye(len(values))]
        for distance in (-2.0, -1.0, 1.0, 2.0):
            steps = distance * joint.u[uncertain]
            points = joint.x[:, None] + np.zeros(len(uncertain))  # as columns, each with one quantity changed
            points[uncertain, np.arange(len(uncertain))] += steps
            for i, (outcome, output) in enumerate(zip(outcomes, self.system.columns(points), strict=True)):
                expansion = values[i] + jacobian[i, uncertain] * steps + curvatures[i] * steps**2 / 2
                is_near = abs(output - expansion) <= _FAR * outcome.u + _ROUNDING * abs(values[i])
                is_finite = np.isfinite(output)
                for j in np.flatnonzero(~is_near & ~(is_expansion_noted & is_finite)):  # unless a note says it already
                    self._note_distant_value(outcome.name, joint.labels[int(uncertain[j])], bool(is_finite[j]))

    def _note_distant_value(self, output: str, quantity: str, is_finite: bool) -> None:
        """Note that an output, which is finite or not, is far from its expansion in a quantity."""
        of_output = f"of {output} " if len(self.outputs) > 1 else ""
        what = "differs from its Taylor expansion" if is_finite else "is not finite"
        self._note("range", f"the value {of_output}{what} within two standard uncertainties of '{quantity}': try random trials")

    def _check_estimates(self, values: Vector, jacobian: Matrix) -> None:
        """Note the kinks at the estimates; raise an error if a value or a sensitivity there is not finite."""
        from autodiff_cli.notes import notes_on

        first = 0
        for i, shape in enumerate(self.system.result_shapes):
            part = slice(first, first + math.prod(shape))  # the elements of program i
            first = part.stop
            sensitivities = [
                (f"the derivative with respect to {label}", column.reshape(shape)[()])
                for label, column in zip(self.joint.labels, jacobian[part].T, strict=True)
            ]
            notes = notes_on(self.system.evaluation(i, self.joint.x), sensitivities, 1)
            is_finite = bool(np.isfinite(values[part]).all())
            if not (is_finite and np.isfinite(jacobian[part]).all()):
                raise self._not_finite("a sensitivity" if is_finite else "the value", notes)
            self.notes += [remark for remark in notes if remark["kind"] == "kink"]

    def _not_finite(self, what: str, notes: Sequence[Record]) -> NotSolved:
        """Return the error that something is not finite at the estimates, with the place and the reason that notes may contain."""
        origin = next((remark for remark in notes if remark["kind"] in ("domain", "nonfinite")), None)
        message = f"{what} is not finite" + (f": {origin['message']}" if origin else "")
        span = tuple(origin["span"]) if origin and origin["span"] else None
        hint = "change the estimates: the value and the derivatives must be finite there"
        return NotSolved(message, span=span, source=self.expression, hint=hint)

    def _budget(self, used: Collection[str], gradient: Vector, parts: Mapping[str, float]) -> list[Record]:
        """Return the rows of a budget: the used quantities, then those further ``parts`` of the variance that are not 0."""
        joint = self.joint
        contributions = gradient * joint.u + 0.0  # no -0.0 in tables
        variance = float(gradient @ joint.covariance @ gradient) + parts["second order"]
        rows: list[Record] = [
            {
                "kind": "quantity",
                "name": label,
                "value": float(joint.x[j]),
                "u": float(joint.u[j]),
                "distribution": joint.distributions[j].kind,
                "dof": joint.distributions[j].dof,
                "sensitivity": float(gradient[j]),
                "contribution": float(contributions[j]),
                "share": float(contributions[j] ** 2 / variance) if variance > 0 else 0.0,
            }
            for j, label in enumerate(joint.labels)
            if label.partition("[")[0] in used
        ]
        for kind, part in parts.items():
            if part:
                size = math.copysign(math.sqrt(abs(part)), part)  # a standard uncertainty, with the sign of the part
                rows.append({"kind": kind, "name": kind, "contribution": size, "share": part / variance if variance > 0 else 0.0})
        return rows

    def _outcome(self, i: int, name: str, used: Collection[str], value: float, gradient: Vector) -> Outcome:
        """Return the result for element i of the outputs, which depends on the used quantities, and note what is doubtful."""
        joint = self.joint
        gradient = gradient + 0.0  # no -0.0 in tables
        contributions = gradient * joint.u
        _check_range([*joint.u, *contributions])
        variance = float(gradient @ joint.covariance @ gradient)
        has_third = self.order == 2 or len(joint.x) <= MOST_TRACED  # too slow for many quantities, if only for a note
        shift, second = (float(part[0]) for part in law.second_order_of_output(self.system, joint, i, gradient, has_third))
        first_u = math.sqrt(max(variance, 0.0))
        changes = _changes_by_second_order(first_u, shift, second)
        self._note_changes(name, changes)
        center, added = (value + shift, second) if self.order == 2 else (value, 0.0)
        u = math.sqrt(variance + added) if variance + added >= 0 else math.nan
        dof, k = self._coverage(gradient)
        correlated = variance - float(contributions @ contributions) if len(joint.groups) < len(joint.x) else 0.0
        budget = self._budget(used, gradient, {"correlation": correlated, "second order": added})
        interval = center - k * u, center + k * u
        outcome = Outcome(name, center, u, None if math.isnan(dof) else dof, k, k * u, interval, self.level, budget)
        if self.order == 2:
            first = {"value": value, "u": first_u}
            outcome.second_order = {"shift": shift, "u": u, "enough": not changes, "first_order": first}
        return outcome

    def _coverage(self, gradient: Vector) -> tuple[float, float]:
        """Return the degrees of freedom of an output and its coverage factor; note if the former are not defined (nan)."""
        dof = law.effective_dof(self.joint, gradient)
        if math.isnan(dof):
            self._note("dof", "correlated quantities with different degrees of freedom: k is that of a normal distribution")
        return dof, law.coverage_factor(self.level, dof)

    def _note_changes(self, name: str, changes: Sequence[str]) -> None:
        """Note what terms of second order change in an output; if they are included, only a negative variance counts: an error."""
        of_output = f" of {name}" if len(self.outputs) > 1 else ""
        if _NEGATIVE_VARIANCE in changes:
            message = f"the uncertainties{of_output} are {_NEGATIVE_VARIANCE}"
            if self.order == 2:
                raise NotSolved(message, hint=f"use {setting('monte_carlo', '1e6')} without {setting('order', '2')}")
            self._note("second_order", message)
        elif changes and self.order == 1:
            self._note("second_order", f"first order is not enough: terms of second order{of_output} {' and '.join(changes)}")

    def _note(self, kind: str, message: str) -> None:
        """Add a note, unless its message was already noted."""
        if not any(remark["message"] == message for remark in self.notes):
            self.notes.append(note(kind, message))
