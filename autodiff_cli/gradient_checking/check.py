"""``gradcheck``: a comparison of reverse-mode derivatives, user-written derivatives and claims with an independent reference.

The reference consists of difference quotients of the expression in arbitrary precision (``precise.reference``).  If
arbitrary precision is not available for the expression, the quotients are computed in float64 (``gradient_checking.ridders``), and
the verdict may be ``undecided``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.checks.finite_differences import analytic_jacobian, mismatch
from autodiff_cli.autograd.primitives.interface_kinds import COUNT, NAMES, POINTS, at_a_point, checks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.command_result import CommandResult, Record, plain
from autodiff_cli.errors import AutodiffError, NotPrecise, UnknownName, UsageError, setting
from autodiff_cli.evaluation.bindings import split_bindings
from autodiff_cli.evaluation.coercion import variable_hint
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.names import GRADIENT_STOPS, element_names, no_variable_error
from autodiff_cli.evaluation.note_phrases import note
from autodiff_cli.gradient_checking.methods import Extrapolated, HighPrecision, Method, Verdicts, gradient_of
from autodiff_cli.gradient_checking.verdicts import FAILED, Verdict, rounded, worst
from autodiff_cli.language.tree import called_name, walk
from autodiff_cli.limits import check_count
from autodiff_cli.notes import rounding_trials
from autodiff_cli.notes.kinks import discontinuity
from autodiff_cli.precise.reference import MOST_SECONDS, in_time

MOST_CHECKED = 500
"""The largest number of derivatives in one check; each derivative takes a few evaluations of the expression."""

_MANY_NOTES = 10
"""The number of notes from which on further points add none."""

Point = Mapping[str, Any]
Entry = dict[str, Any]


@dataclass(slots=True, repr=False)
class Report(CommandResult):
    """The result of ``gradcheck``.

    Attributes:
        expression, points: the checked expression, and the number of points.
        checks: an entry for each derivative and claim at each point, in the JSON format.
        failure, hint: the message and the hint for the first entry that fails.
        notes: the notes on the points.
    """

    command = "gradcheck"
    tables = "autodiff_cli.report.result_tables:check_tables"

    expression: str
    points: int = 1
    checks: list[Entry] = field(default_factory=list)
    failure: str | None = None
    hint: str | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether no entry failed."""
        return self.failure is None

    @property
    def undecided(self) -> Entry | None:
        """The first undecided entry, or ``None``."""
        return next((entry for entry in self.checks if entry["verdict"] == "undecided"), None)

    @property
    def doubt(self) -> str:
        """A message with the first undecided derivative and the reason, or an empty string."""
        entry = self.undecided
        return "" if entry is None else f"{_derivative(entry)}{_place(entry)} is undecided: {entry['reason']}"

    def content(self) -> Record:
        return {"expression": self.expression, "passed": self.passed, "checks": self.checks, "notes": self.notes}

    def records(self) -> list[Record]:
        return self.checks

    def bare(self) -> list[str]:
        """Return one word: the verdict of the first entry that failed, ``undecided`` or ``pass``."""
        wrong = next((entry["verdict"] for entry in self.checks if entry["verdict"] in FAILED), None)
        return [wrong or ("undecided" if self.undecided else "pass")]


@checks(**{**at_a_point("autograd.gradcheck"), "at": POINTS, "claims": NAMES, "order": COUNT})
def gradcheck(
    expression: str,
    at: Point | Sequence[Point],
    const: Mapping[str, Any] | None = None,
    *,
    wrt: Sequence[str] | None = None,
    order: int = 1,
    claims: Sequence[str] = (),
    dtype: str = "float64",
    gradient: Any = None,
) -> Report:
    """Check every derivative of an expression, and claims about its first derivatives.

    Args:
        expression: a program of the language.
        at: the values of the variables, or a sequence of such points, all of which are checked.
        const: the values of constants, which are not differentiated.
        wrt: the variables to check; by default, all variables.
        order: 1 to check the first derivatives, or 2 to include the second derivatives.
        claims: claims of the form ``NAME=EXPR``; one text may contain several claims. With one variable, ``EXPR`` is enough.
        dtype: the data type, which must be ``float64``.
        gradient: the weights of the elements of a non-scalar output, for claims and second derivatives.

    Raises:
        AutodiffError: if the expression cannot be evaluated, an argument is invalid, or there are too many derivatives to check.
    """
    if order not in (1, 2):
        hint = f"use {setting('order', '1')} or {setting('order', '2')}"
        raise UsageError(f"gradcheck checks orders 1 and 2, not {order}", hint=hint)
    points = [at] if isinstance(at, Mapping) else at
    names = wrt or next(iter(points), {})  # by default, those of the first point
    variables = [name for name in names if name not in (const or {})]
    pairs = [pair for text in claims for pair in _claim_pairs(text, variables)]
    report = Report(expression, len(points))
    deadline = time.process_time() + MOST_SECONDS  # for arbitrary precision, at all points together
    for point in points:
        evaluation = Evaluation(expression, point, const, wrt, dtype, gradient=gradient)
        _require_checkable(evaluation, order, len(points), dtype)
        with np.errstate(all="ignore"):
            entries = _Check(evaluation, order, pairs).entries(deadline - time.process_time())
        if len(points) > 1:
            for entry in entries:
                entry["at"] = {name: plain(leaf._data) for name, leaf in evaluation.variables.items()}
        report.checks += entries
        _add_failure(report, evaluation, entries)
        _add_notes(report, evaluation, entries, order)
    return report


def _require_checkable(evaluation: Evaluation, order: int, points: int, dtype: str) -> None:
    """Raise an error if there is nothing to check, too much at the number of ``points``, or a data type with too few digits."""
    if not evaluation.variables:
        raise no_variable_error("gradcheck")
    if dtype != "float64":  # derivatives in float32 have only 7 digits; PyTorch's gradcheck requires float64, too
        raise UsageError("gradcheck works in float64", hint=f"leave out {setting('dtype')}")
    inputs = sum(leaf.numel() for leaf in evaluation.variables.values())
    first_derivatives = inputs * max(evaluation.output.numel(), 1)  # an output without elements takes time, too
    second_derivatives = inputs**2 if order == 2 else 0  # of a scalar output
    check_count(
        (first_derivatives + second_derivatives) * points,
        MOST_CHECKED,
        "gradcheck would compare {} numbers, more than the limit of {}",
        hint="name fewer variables, or check fewer elements: all elements use the same VJP rules",
    )


def _add_failure(report: Report, evaluation: Evaluation, entries: Sequence[Entry]) -> None:
    """Set the failure and the hint of a report, once, from the first entry that fails; add to it the likely mistake of a claim."""
    entry = next((entry for entry in entries if entry["verdict"] in FAILED), None)
    if entry is not None and report.failure is None:
        _add_mistake(entry, evaluation)
        report.failure, report.hint = _failure(entry, evaluation)


def _add_notes(report: Report, evaluation: Evaluation, entries: Sequence[Entry], order: int) -> None:
    """Add the notes on a point to a report: on the first undecided derivative, and on the point while there are few notes."""
    from autodiff_cli.notes import notes_on

    if report.undecided is not None and not any(record["kind"] == "undecided" for record in report.notes):
        report.notes.append(note("undecided", report.doubt))
    if len(report.notes) >= _MANY_NOTES:
        return
    derivatives = [(_derivative(entry), np.asarray(entry["analytic"])) for entry in entries]
    notes = [*evaluation.notes(), *_note_on_constants(evaluation), *notes_on(evaluation, derivatives, order)]
    known = {record["message"] for record in report.notes}  # from earlier points
    report.notes += [record for record in notes if record["message"] not in known]


def _note_on_constants(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the note on the first ``detach`` or ``no_grad``, whose value the check holds constant; an empty list without one."""
    evaluator = evaluation.evaluator
    for node in walk(evaluator.tree):
        name = called_name(node)
        if name in GRADIENT_STOPS and name not in evaluator.functions:  # the program may define its own function of this name
            return [note("constant", f"the numeric derivatives hold the value of {name} constant, as the gradient does", node.span)]
    return []


def _names(entry: Entry) -> list[str]:
    """Return the variables of a derivative, one for each order; those of the first order are a single text in an entry."""
    wrt = entry["wrt"]
    return [wrt] if isinstance(wrt, str) else wrt


def _derivative(entry: Entry) -> str:
    """Return the name of the derivative of an entry."""
    return f"the derivative with respect to {', '.join(_names(entry))}"


def _claim_pairs(text: str, variables: Sequence[str]) -> list[tuple[str, str]]:
    """Split ``NAME=EXPR,NAME=EXPR`` into pairs of names and expressions; the only variable needs no name, others are an error."""
    name, equals, _ = text.partition("=")
    if equals and name.strip().isidentifier():
        return split_bindings(text, "claims", '"3/x"')
    if len(variables) == 1 and text.strip():
        return [(variables[0], text)]
    example = setting("claims", f'{next(iter(variables), "x")}="{text.strip() or "3/x"}"')
    raise UsageError(f"expected a claim NAME=EXPR, but got '{text}'", hint=f"name the variable: {example}")


@dataclass
class _Check:
    """All checks at one point: of the derivatives up to an order, and of claims, pairs of a variable and an expression."""

    evaluation: Evaluation
    order: int
    claims: Sequence[tuple[str, str]]

    def __post_init__(self) -> None:
        """Raise an error if a claim does not name a variable, or if claims or second derivatives lack a scalar output."""
        variables = self.evaluation.variables
        for name, _ in self.claims:
            if name not in variables:
                message = f"{setting('claims')}: '{name}' is not a variable of the expression"
                raise UnknownName(message, hint=variable_hint(name, variables))
        if self.order == 2 or self.claims:
            self.evaluation.require_scalar()

    def entries(self, seconds: float) -> list[Entry]:
        """Return an entry for each derivative and claim; a check that takes longer than ``seconds`` is repeated in float64.

        Where the expression jumps or is undefined, every verdict except ``fail`` says so instead.
        """
        entries = self._best_entries(seconds)
        is_doubtful = any(entry["verdict"] in ("kink", "undecided") for entry in entries)  # as at every jump
        problem = discontinuity(self.evaluation) if is_doubtful else None
        for entry in entries:
            if problem is not None and entry["verdict"] != "fail":
                entry.update(verdict=problem.kind, reason=problem.sentence)
        return entries

    def _best_entries(self, seconds: float) -> list[Entry]:
        """Return the entries checked in arbitrary precision, or in float64 if arbitrary precision fails or takes too long."""
        try:
            with in_time(max(0.1, seconds)):  # there may be no time left after earlier points
                return self._entries_by(HighPrecision(self.evaluation, self.order))
        except NotPrecise:
            return self._entries_by(Extrapolated(self.evaluation))

    def _entries_by(self, method: Method) -> list[Entry]:
        """Return the entries that a method checks: the first derivatives, the second ones if they are wanted, and the claims."""
        entries = self._first_derivatives(method)
        if self.order == 2:
            entries += self._second_derivatives(method)
        return entries + [self._claim(method, name, formula) for name, formula in self.claims]

    def _first_derivatives(self, method: Method) -> list[Entry]:
        """Return an entry for each variable, with the derivatives of all elements of the output."""
        output = self.evaluation.output
        entries = []
        for name, leaf in self.evaluation.variables.items():
            analytic = analytic_jacobian(output, leaf)
            verdicts = self._without_rounding(method.first(name, analytic), analytic, [name])
            entries.append(_entry(name, 1, analytic, verdicts, output.shape + leaf.shape))
        return entries

    def _second_derivatives(self, method: Method) -> list[Entry]:
        """Return an entry for each pair of variables: the gradient of the first one is differentiated by the second."""
        variables = self.evaluation.variables
        entries = []
        for a, first in variables.items():
            gradient = gradient_of(self.evaluation.output, first, self.evaluation.gradient, record=True)  # for the next derivative
            for b, second in variables.items():
                analytic = analytic_jacobian(gradient, second)
                verdicts = self._without_rounding(method.second(a, b, analytic), analytic, [a, b])
                entries.append(_entry([a, b], 2, analytic, verdicts, first.shape + second.shape))
        return entries

    @cached_property
    def _trials(self) -> list[tuple[Tensor, dict[str, Tensor]]]:
        """Evaluations with perturbed rounding errors, shared by all derivatives that fail."""
        return [rounding_trials.repeat_evaluation(self.evaluation, seed) for seed in range(1, 5)]

    def _without_rounding(self, verdicts: Verdicts, analytic: NDArray[np.float64], names: list[str]) -> Verdicts:
        """Replace failures that rounding errors can cause; see ``rounded``.  In a large evaluation, they are not measured.

        The derivatives ``analytic`` are those with respect to the variable in ``names``, or second ones with respect to two.
        """
        has_failure = any(verdict.verdict == "fail" for row in verdicts for verdict in row)
        if not (has_failure and rounding_trials.is_small_enough(self.evaluation, len(names))):
            return verdicts
        spread = np.zeros(analytic.shape)  # the largest change of each derivative in the trials
        for output, variables in self._trials:
            if len(names) == 2:
                output = gradient_of(output, variables[names[0]], self.evaluation.gradient, record=True)
            change = abs(analytic_jacobian(output, variables[names[-1]]) - analytic)
            spread = np.fmax(spread, change)  # ignores nan
        return [
            [rounded(verdict, float(change)) for verdict, change in zip(row, changes, strict=True)]
            for row, changes in zip(verdicts, spread, strict=True)
        ]

    def _claim(self, method: Method, name: str, formula: str) -> Entry:
        """Return the entry of the claim that ``formula`` is the derivative by ``name``, with its wrong ``elements``."""
        leaf = self.evaluation.variables[name]
        gradient = gradient_of(self.evaluation.output, leaf, self.evaluation.gradient)._data
        try:
            claimed, verdicts = method.claim(name, formula, gradient)
        except AutodiffError as error:
            is_about_claim = error.message.startswith("the claim")  # as that of a wrong shape
            if not isinstance(error, NotPrecise) and not is_about_claim:
                error.about(f"{setting('claims')} {name}")
            raise
        numeric = np.array([verdict.numeric for verdict in verdicts]).reshape(leaf.shape)[()]
        entry = {
            "wrt": name,
            "order": 1,
            "claim": formula,
            "analytic": plain(gradient),
            "numeric": plain(numeric),
            "claimed": plain(claimed),
            "exact": plain(np.where(np.isnan(numeric), gradient, numeric)[()]),  # nan: a reference is missing
            **_verdict(worst(verdicts)),
        }
        elements = zip(element_names(name, leaf.shape), verdicts, strict=True)
        wrong = [element for element, verdict in elements if verdict.verdict == "fail"]
        return {**entry, "elements": wrong} if wrong and leaf.shape else entry


def _verdict(verdict: Verdict) -> Entry:
    """Return the part of an entry that states a verdict; the key ``reason`` is left out without a reason."""
    entry = {"error": verdict.error, "tolerance": verdict.tolerance, "verdict": verdict.verdict}
    return {**entry, "reason": verdict.reason} if verdict.reason else entry


def _entry(wrt: str | list[str], order: int, analytic: NDArray[np.float64], verdicts: Verdicts, shape: tuple[int, ...]) -> Entry:
    """Return the entry of a derivative with respect to a variable, or of a second one with respect to two.

    ``analytic``, the derivatives, and the verdicts on them have a row for each element of the last variable.  The numbers in the
    entry have the ``shape`` in which the dimensions of this variable are the last ones.
    """
    numeric = np.array([[verdict.numeric for verdict in row] for row in verdicts]).reshape(analytic.shape)
    return {
        "wrt": wrt,
        "order": order,
        "analytic": plain(analytic.T.reshape(shape)[()]),  # a number for the shape ()
        "numeric": plain(numeric.T.reshape(shape)[()]),
        **_verdict(worst([verdict for row in verdicts for verdict in row])),
    }


def _failure(entry: Entry, evaluation: Evaluation) -> tuple[str, str | None]:
    """Return the message and the hint for an entry that fails; ``None`` as the hint for a claim without a known mistake."""
    if entry["verdict"] != "fail":  # the expression jumps or is undefined at the point
        return f"{entry['reason']}, so the derivative does not exist{_place(entry)}", f"check another point with {setting('at')}"
    if "claim" in entry:
        return _wrong_claim(entry), entry.get("mistake")
    derivative = f"{_derivative(entry)}{_place(entry)}"
    if _has_own_rules(evaluation):
        hint = f"check the 'with grad' rule: {derivative} used by the backward pass does not match finite differences"
    else:
        hint = f"use {setting('verify')} to count the correct digits, because {derivative} may be dominated by rounding errors"
    return _mismatch_message(entry, evaluation), hint


def _mismatch_message(entry: Entry, evaluation: Evaluation) -> str:
    """Return PyTorch's message for a derivative that differs from the reference, with the numbers of an output and an input."""
    names = _names(entry)
    positions = [list(evaluation.variables).index(name) for name in names]
    output = positions[0] if len(names) == 2 else 0  # of a second derivative, the gradient of the first variable
    sizes = (-1, evaluation.variables[names[-1]].numel())  # rows for the output, columns for the last variable
    analytic, numeric = (np.reshape(entry[side], sizes).T.astype(np.float64) for side in ("analytic", "numeric"))
    return mismatch(output, positions[-1], numeric, analytic).rstrip()


def _has_own_rules(evaluation: Evaluation) -> bool:
    """Return whether a function of the program has user-written derivatives."""
    return any(function.partials is not None for function in evaluation.evaluator.functions.values())


def _add_mistake(entry: Entry, evaluation: Evaluation) -> None:
    """Add the likely mistake of a wrong claim, or ``None``, to its entry as ``mistake``; leave all other entries unchanged."""
    is_wrong_claim = "claim" in entry and entry["verdict"] == "fail"
    has_formula = evaluation.gradient is None and not _has_own_rules(evaluation)  # that of the expression alone
    if is_wrong_claim and has_formula:
        from autodiff_cli.gradient_checking.mistakes import mistake

        values = {key: value._data for key, value in evaluation.evaluator.variables.items()}
        entry["mistake"] = mistake(evaluation.expression, values, entry["wrt"], entry["claim"])


def _wrong_claim(entry: Entry) -> str:
    """Return the message on a wrong claim, with the first wrong element of an array."""
    name, claimed, exact = entry["wrt"], entry["claimed"], entry["exact"]
    claim, where = f"the claim {name}={entry['claim']}", _place(entry)
    if not entry.get("elements"):
        return f"{claim} gives {_shown(claimed)}{where}, but the derivative is {_shown(exact)}"
    first, *others = entry["elements"]
    positions = first.removeprefix(f"{name}[").removesuffix("]")  # such as 0, 1
    index = tuple(map(int, positions.split(", ")))
    count = f"{len(others) + 1} elements" if others else "one element"
    claimed, exact = (plain(np.asarray(numbers, dtype=np.float64)[index]) for numbers in (claimed, exact))
    return f"{claim} is wrong in {count}: {first} is {claimed}{where}, but the derivative is {exact}"


def _place(entry: Entry) -> str:
    """Return the point of an entry, such as `` at x=1``, or an empty string if there is only one point."""
    return " at " + ", ".join(f"{name}={_shown(value)}" for name, value in entry["at"].items()) if "at" in entry else ""


def _shown(value: object) -> str:
    """Return a value as a text; of one with more than 200 characters, only the beginning is shown."""
    text = str(value)
    return text if len(text) <= 200 else f"{text[:190]} ..."
