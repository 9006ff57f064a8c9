"""``gradcheck`` for expressions: derivatives of the sweep, derivatives by hand and claims, against an independent truth.

The truth is the expression itself, evaluated with many digits and differenced (``language.truth``).  What has no form with
many digits is differenced in float64 (``language.ridders``), where the verdict may be ``undecided``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from autodiff_cli.autograd.gradient_check import analytic_jacobian, mismatch
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.derivatives.pending import LazyNotes
from autodiff_cli.errors import AutodiffError, MissingValue, NotPrecise, UnknownName, UsageError
from autodiff_cli.evaluation.bindings import named
from autodiff_cli.evaluation.coercion import variable_hint
from autodiff_cli.evaluation.evaluation import Evaluation, plain
from autodiff_cli.evaluation.phrasing import note
from autodiff_cli.gradcheck.compare import Side, Verdicts, WithDigits, WithFloats, WithSteps, gradient_of
from autodiff_cli.gradcheck.verdicts import Verdict, rounded, worst
from autodiff_cli.limits import check_count
from autodiff_cli.notes import shaken
from autodiff_cli.precise.reference import MOST_SECONDS, in_time

MOST_CHECKED = 500
"""Derivatives in one check; each takes a few evaluations of the expression."""

Points = Sequence[Mapping[str, Any]]


class Report:
    """What the checks found: one entry for each derivative and claim at each point, and the words for the first that is wrong.

    Attributes:
        expression: what was checked.
        checks: the entries, as the JSON has them.
        points: how many points there were.
        failure, hint: the words.
        undecided: whether something could be neither confirmed nor refuted.
        notes: what is worth knowing about the points.
    """

    def __init__(self, expression: str, points: int = 1) -> None:
        self.expression = expression
        self.points = points
        self.checks: list[dict[str, Any]] = []
        self.failure: str | None = None
        self.hint: str | None = None
        self.notes: list[dict[str, Any]] = []

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return self.failure is None

    @property
    def undecided(self) -> dict[str, Any] | None:
        """The first entry that says neither pass nor fail, if there is one."""
        return next((entry for entry in self.checks if entry["verdict"] == "undecided"), None)

    @property
    def doubt(self) -> str:
        """What is undecided, and why."""
        entry = self.undecided
        return "" if entry is None else f"the derivative by {_by(entry['wrt'])}{_place(entry)} is undecided: {entry['reason']}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "command": "gradcheck",
            "expression": self.expression,
            "passed": self.passed,
            "checks": self.checks,
            "notes": self.notes,
        }


def check_gradient(
    expression: str,
    at: Mapping[str, Any] | Points,
    const: Mapping[str, Any] | None = None,
    *,
    wrt: Sequence[str] | None = None,
    order: int = 1,
    claims: Sequence[str] = (),
    dtype: str = "float64",
    gradient: Any = None,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
) -> Report:
    """Check every derivative of an expression, with ``order=2`` the second ones too, and claims about the first.

    Args:
        expression: a program of the language.
        at: the variables; or several such points, each of which is checked.
        const: what is not differentiated by.
        wrt: the variables to check; all if left out.
        order: 1 or 2.
        claims: ``NAME=EXPR``, several of them in one text too.
        dtype: ``float64``.
        gradient: what the elements of an output that is not a scalar weigh, for claims.
        eps: take central differences in float64 with this step, and PyTorch's tolerances.
        atol, rtol: tolerances in the place of what rounding makes of a derivative: ``atol + rtol*abs(numeric)``.

    Raises:
        AutodiffError: for what cannot be evaluated, and names of what is not a variable.
    """
    if order not in (1, 2):
        raise UsageError(f"gradcheck checks orders 1 and 2, not {order}", hint="write --order 1 or --order 2")
    given = [value for value in (atol, rtol) if value is not None]
    if not all(0 <= value < math.inf for value in given) or not (eps is None or 0 < eps < math.inf):
        raise UsageError(
            "--eps must be positive, --atol and --rtol not negative, and all of them finite",
            hint="left out, the tolerance is what rounding makes of a derivative",
        )
    points: Points = [at] if isinstance(at, Mapping) else at
    pairs = [pair for text in claims for pair in _claims(text)]
    report = Report(expression, len(points))
    last = time.process_time() + MOST_SECONDS
    for point in points:
        evaluation = Evaluation(expression, point, const, wrt, dtype, False, gradient)
        if not evaluation.variables:
            raise MissingValue("there is no variable to check", hint="give it a value with --at x=1")
        # The derivatives of float32 have 7 digits: as PyTorch, the check is about float64.
        if dtype != "float64":
            raise UsageError("gradcheck works in float64", hint="leave --dtype out")
        elements = sum(leaf.numel() for leaf in evaluation.variables.values())
        check_count(
            (elements * max(evaluation.output.numel(), 1) + (elements**2 if order == 2 else 0)) * len(points),
            MOST_CHECKED,
            "gradcheck would compare {} numbers, more than the limit of {}",
            hint="name fewer variables, or check a part of them: the rules are the same for all elements",
        )
        first = len(report.checks)
        one = _Check(report, evaluation, order, pairs, doubts=eps is None and atol is None and rtol is None)
        with np.errstate(all="ignore"):
            if eps is not None:
                entries = one.entries(WithSteps(evaluation, eps, atol, rtol))
            else:
                try:
                    with in_time(max(0.1, last - time.process_time())):
                        entries = one.entries(WithDigits(evaluation, order, atol, rtol))
                except NotPrecise:
                    entries = one.entries(WithFloats(evaluation, atol, rtol))
        for entry in entries:
            if len(points) > 1:
                entry["at"] = {name: plain(leaf._data) for name, leaf in evaluation.variables.items()}
            if entry["verdict"] == "fail" and report.failure is None:
                _failure(report, entry, evaluation, eps)
        report.checks += entries
        if report.undecided is not None and not any(each["kind"] == "undecided" for each in report.notes):
            report.notes = [*report.notes, note("undecided", report.doubt)]
        if len(report.notes) < 10:
            _add_notes(report, evaluation, report.checks[first:], order)
    return report


def _add_notes(report: Report, evaluation: Evaluation, entries: Sequence[Mapping[str, Any]], order: int) -> None:
    derivatives = [(f"the derivative by {_by(entry['wrt'])}", np.asarray(entry["analytic"])) for entry in entries]
    known = {each["message"] for each in report.notes}
    found = LazyNotes(evaluation, evaluation.notes(), lambda: derivatives, order).read()
    report.notes = [*report.notes, *(each for each in found if each["message"] not in known)]


def _by(wrt: Any) -> str:
    return wrt if isinstance(wrt, str) else ", ".join(wrt)


def _claims(text: str) -> list[tuple[str, str]]:
    """``NAME=EXPR,NAME=EXPR`` taken apart."""
    name, equals, _ = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise UsageError(f"--claim needs NAME=EXPR, but got '{text}'", hint='write --claim x="3/x"')
    return named(text, "--claim", '"3/x"')


class _Check:
    """All checks at one point.

    Attributes:
        doubts: whether rounding in the sweep excuses a derivative.
    """

    def __init__(self, report: Report, evaluation: Evaluation, order: int, claims: Sequence[tuple[str, str]], doubts: bool) -> None:
        self.report = report
        self.evaluation = evaluation
        self.order = order
        self.claims = claims
        self.doubts = doubts
        for name, _ in claims:
            if name not in evaluation.variables:
                raise UnknownName(
                    f"--claim names '{name}', which is not a variable", hint=variable_hint(name, evaluation.variables)
                )
        if order == 2 or claims:
            evaluation.require_scalar(constant=True)

    def entries(self, side: Side) -> list[dict[str, Any]]:
        """An entry for each derivative, then one for each claim.

        Raises:
            NotPrecise: if the side cannot judge them.
        """
        found = []
        output, variables = self.evaluation.output, self.evaluation.variables
        for name, leaf in variables.items():
            analytic = analytic_jacobian(output, leaf)
            verdicts = self._doubted(side.first(name, analytic), analytic, [name])
            found.append(_entry(name, 1, analytic, verdicts, output.shape + leaf.shape))
        for a, first in variables.items() if self.order == 2 else ():
            recorded = gradient_of(output, first, self.evaluation.gradient, record=True)
            for b, second in variables.items():
                analytic = analytic_jacobian(recorded, second)
                verdicts = self._doubted(side.second(a, b, analytic), analytic, [a, b])
                found.append(_entry([a, b], 2, analytic, verdicts, first.shape + second.shape))
        for name, formula in self.claims:
            found.append(self._claim(side, name, formula))
        return found

    @cached_property
    def _shaken(self) -> list[tuple[Tensor, dict[str, Tensor]]]:
        """Evaluations that round in other ways, for all derivatives that fail."""
        return [shaken.evaluated(self.evaluation, seed) for seed in range(1, 5)]

    def _doubted(self, verdicts: Verdicts, analytic: Any, names: list[str]) -> Verdicts:
        """Failures that rounding in the sweep explains are none: the derivative that it finds moves by as much."""
        failed = any(one.verdict == "fail" for row in verdicts for one in row)
        if not (failed and self.doubts and shaken.fits(self.evaluation, len(names))):
            return verdicts
        spread = np.zeros(analytic.shape)
        for output, variables in self._shaken:
            if len(names) == 2:
                output = gradient_of(output, variables[names[0]], self.evaluation.gradient, record=True)
            spread = np.fmax(spread, abs(analytic_jacobian(output, variables[names[-1]]) - analytic))
        return [
            [rounded(one, float(far)) for one, far in zip(row, away, strict=True)]
            for row, away in zip(verdicts, spread, strict=True)
        ]

    def _claim(self, side: Side, name: str, formula: str) -> dict[str, Any]:
        leaf = self.evaluation.variables[name]
        exact = gradient_of(self.evaluation.output, leaf, self.evaluation.gradient)._data
        try:
            claimed, verdicts = side.claim(name, formula, exact)
        except AutodiffError as error:
            if not isinstance(error, NotPrecise) and not error.message.startswith("the claim"):
                error.about(f"--claim {name}")
            raise
        numeric = np.array([verdict.numeric for verdict in verdicts]).reshape(leaf.shape)[()]
        one = worst(verdicts)
        return {
            "wrt": name,
            "order": 1,
            "claim": formula,
            "analytic": plain(exact),
            "numeric": plain(numeric),
            "claimed": plain(claimed),
            "exact": plain(np.where(np.isnan(numeric), exact, numeric)[()]),
            **_verdict(one),
        }


def _verdict(one: Verdict | None) -> dict[str, Any]:
    if one is None:
        return {"error": 0.0, "tolerance": 0.0, "verdict": "pass"}
    said = {"error": one.error, "tolerance": one.tolerance, "verdict": one.verdict}
    return {**said, "reason": one.reason} if one.reason else said


def _entry(wrt: Any, order: int, analytic: Any, verdicts: Verdicts, shape: tuple[int, ...]) -> dict[str, Any]:
    numeric = np.array([[one.numeric for one in row] for row in verdicts]).reshape(analytic.shape)
    return {
        "wrt": wrt,
        "order": order,
        "analytic": plain(analytic.T.reshape(shape)[()]),
        "numeric": plain(numeric.T.reshape(shape)[()]),
        **_verdict(worst([one for row in verdicts for one in row])),
    }


def _failure(report: Report, entry: Mapping[str, Any], evaluation: Evaluation, eps: float | None) -> None:
    """Put into words what is wrong with an entry."""
    place = _place(entry)
    by = _by(entry["wrt"])
    if "claim" in entry:
        said = f"the claim {by}={entry['claim']} gives {shown(entry['claimed'])}"
        report.failure = f"{said}{place}, but the derivative is {shown(entry['exact'])}"
        return
    names = list(evaluation.variables)
    of = (0, names.index(by)) if entry["order"] == 1 else (names.index(entry["wrt"][0]), names.index(entry["wrt"][1]))
    sizes = (-1, evaluation.variables[by if entry["order"] == 1 else entry["wrt"][1]].numel())
    analytic, numeric = (np.reshape(entry[side], sizes).T.astype(np.float64) for side in ("analytic", "numeric"))
    report.failure = mismatch(*of, numeric, analytic).rstrip()
    if any(function.partials is not None for function in evaluation.evaluator.functions.values()):
        report.hint = f"the derivative by {by}{place} that backward uses is not the slope of the value; see its 'with grad'"
    else:
        report.hint = (
            f"floating-point numbers lose the derivative by {by}{place} on the way: --verify says how many digits are left"
        )
    if eps is not None:
        report.hint = f"the step of --eps may not fit the derivative by {by}{place}: without --eps one is chosen that fits"


def _place(entry: Mapping[str, Any]) -> str:
    """At which point an entry is, where there are several."""
    return " at " + ", ".join(f"{name}={shown(value)}" for name, value in entry["at"].items()) if "at" in entry else ""


def shown(value: Any) -> str:
    """Numbers in the middle of a message."""
    text = str(value)
    return text if len(text) <= 200 else f"{text[:190]} ..."
