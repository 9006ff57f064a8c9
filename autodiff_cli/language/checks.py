"""``gradcheck`` for expressions: analytic derivatives, derivatives by hand, and finite differences side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.checking import analytic_jacobian, mismatch, numeric_jacobian
from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.autograd.sweep import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import MissingValue, ShapeError, UnknownName, UsageError
from autodiff_cli.language.evaluator import Evaluator
from autodiff_cli.language.operands import variable_hint
from autodiff_cli.language.session import Notes, Session, plain
from autodiff_cli.limits import check_count

MOST_CHECKED = 10_000
"""Derivatives in one check; each takes a few evaluations of the expression."""


class Report:
    """What the checks found: one entry for each derivative, and the words for the first that is wrong."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.checks: list[dict[str, Any]] = []
        self.failure: str | None = None
        self.hint: str | None = None
        self.notes: list[dict[str, Any]] = []

    @property
    def passed(self) -> bool:
        return self.failure is None

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "command": "gradcheck",
            "expression": self.expression,
            "passed": self.passed,
            "checks": self.checks,
            "notes": self.notes,
        }


def check(
    expression: str,
    at: Mapping[str, Any],
    const: Mapping[str, Any] | None = None,
    *,
    wrt: Sequence[str] | None = None,
    order: int = 1,
    claims: Sequence[str] = (),
    dtype: str = "float64",
    gradient: Any = None,
    eps: float = 1e-6,
    atol: float | None = None,
    rtol: float | None = None,
) -> Report:
    """Check every derivative of an expression, with ``order=2`` the second ones too, and claims about the first.

    Tolerances are PyTorch's, 1e-5 and 1e-3, if left out. A claim, which is compared with no difference but with the exact
    derivative, has 1e-9. A derivative at a kink, where the differences to the left and to the right disagree, passes if
    it lies between them: its verdict is ``kink``.
    """
    if order not in (1, 2):
        raise UsageError(f"gradcheck checks orders 1 and 2, not {order}", hint="write --order 1 or --order 2")
    session = Session(expression, at, const, wrt, dtype, False, gradient)
    if not session.variables:
        raise MissingValue("there is no variable to check", hint="give it a value with --at x=1")
    claim_tolerance = (1e-9 if atol is None else atol, 1e-9 if rtol is None else rtol)
    atol, rtol = 1e-5 if atol is None else atol, 1e-3 if rtol is None else rtol
    if not (0 < eps < np.inf and 0 <= atol < np.inf and 0 <= rtol < np.inf):
        raise UsageError(
            "--eps must be positive, --atol and --rtol not negative, and all of them finite",
            hint="left out, they are 1e-6, 1e-5 and 1e-3",
        )
    report = Report(expression)
    # Differences of the order of 1e-6 drown in the digits of float32: as PyTorch, the check is about float64.
    if dtype != "float64":
        raise UsageError("gradcheck works in float64", hint="leave --dtype out")
    elements = sum(leaf.numel() for leaf in session.variables.values())
    check_count(
        elements * max(session.output.numel(), 1) * order,
        MOST_CHECKED,
        "gradcheck would compare {} numbers, more than the limit of {}",
        hint="name fewer variables, or check a part of them: the rules are the same for all elements",
    )
    runner = _Runner(session)
    with np.errstate(all="ignore"):
        for index, (name, leaf) in enumerate(session.variables.items()):
            analytic = analytic_jacobian(session.output, leaf)
            numeric = numeric_jacobian(runner.output, leaf, eps)
            sides = (_one_sided(runner.output, leaf, -eps), _one_sided(runner.output, leaf, eps))
            shape = session.output.shape + leaf.shape
            _compare(report, name, 1, analytic, numeric, sides, shape, atol, rtol, (0, index))
        if order == 2:
            _second(report, session, runner, eps, atol, rtol)
        for text in claims:
            _claim(report, session, text, *claim_tolerance)
    derivatives = [(f"the derivative by {_by(entry['wrt'])}", np.asarray(entry["analytic"])) for entry in report.checks]
    report.notes = Notes(session, session.notes(), lambda: derivatives, order).read()
    return report


def _by(wrt: Any) -> str:
    return wrt if isinstance(wrt, str) else ", ".join(wrt)


class _Runner:
    """Evaluates the program again with the session's leaves as they are now."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def output(self) -> Tensor:
        with enable_grad():
            evaluator = Evaluator(self.session.expression, self.session.leaves, np.dtype(self.session.dtype))
            return evaluator.as_tensor(evaluator.run())

    def gradient(self, leaf: Tensor, record: bool = False) -> Tensor:
        output = self.output()
        if not output.requires_grad:
            return Tensor(np.zeros(leaf.shape))
        start = self.session.gradient
        found: Tensor
        (found,) = grad(output, leaf, start, create_graph=record, allow_unused=True, materialize_grads=True)
        return found


def _one_sided(function: Any, leaf: Tensor, step: float) -> Any:
    """Differences to one side: (inputs, outputs)."""
    original, here = leaf._data, np.ravel(function()._data).astype(np.float64)
    rows = []
    try:
        for i in range(leaf.numel()):
            moved = np.array(original)
            moved.reshape(-1)[i] += step
            leaf._data = moved[()] if moved.ndim == 0 else moved
            rows.append((np.ravel(function()._data).astype(np.float64) - here) / step)
    finally:
        leaf._data = original
    return np.array(rows).reshape(leaf.numel(), here.size)


def _compare(
    report: Report,
    wrt: Any,
    order: int,
    analytic: Any,
    numeric: Any,
    sides: tuple[Any, Any] | None,
    shape: tuple[int, ...],
    atol: float,
    rtol: float,
    place: tuple[int, int],
    kink: bool = False,
) -> None:
    error = np.abs(analytic - numeric)
    tolerance = atol + rtol * np.abs(numeric)
    same = analytic == numeric
    good = np.all(same | (error <= tolerance))
    verdict = "pass" if good else "kink" if kink else "fail"
    if sides is not None:
        low, high = np.minimum(*sides), np.maximum(*sides)
        broken = high - low > 2 * tolerance
        if (
            np.all(np.isfinite(analytic))
            and np.any(broken)
            and np.all(same | (error <= tolerance) | (broken & (analytic >= low - tolerance) & (analytic <= high + tolerance)))
        ):
            verdict = "kink"
    # The place that is worst, nan before anything else.
    excess = np.where(same, -1.0, np.where(np.isnan(error - tolerance), np.inf, error - tolerance))
    worst = np.unravel_index(np.argmax(excess), error.shape) if error.size else None
    report.checks.append(
        {
            "wrt": wrt,
            "order": order,
            "analytic": plain(analytic.T.reshape(shape)[()]),
            "numeric": plain(numeric.T.reshape(shape)[()]),
            "error": 0.0 if worst is None or same[worst] else float(error[worst]),
            "tolerance": atol if worst is None else float(tolerance[worst]),
            "verdict": verdict,
        }
    )
    if verdict == "fail" and report.failure is None:
        by = wrt if isinstance(wrt, str) else " and ".join(wrt)
        report.failure = mismatch(*place, numeric, analytic).rstrip()
        report.hint = (
            "the differences are nan here: a step leaves the domain, or the point is none of it; try a smaller --eps"
            if np.any(np.isnan(numeric))
            else f"the derivative by {by} that backward uses is not the slope of the value; see its 'with grad', "
            "or try another --eps if a step of 1e-6 does not fit the size of the variable"
        )


def _second(report: Report, session: Session, runner: _Runner, eps: float, atol: float, rtol: float) -> None:
    """Differences of the gradient against its own analytic derivative."""
    session.require_scalar()
    names = list(session.variables)
    kinks = {entry["wrt"] for entry in report.checks if entry["verdict"] == "kink"}
    for i, a in enumerate(names):
        first = session.variables[a]
        recorded = runner.gradient(first, record=True)
        for j, b in enumerate(names):
            second = session.variables[b]
            analytic = analytic_jacobian(recorded, second)
            numeric = numeric_jacobian(lambda: runner.gradient(first), second, eps)  # noqa: B023
            # Where the value has a kink the gradient jumps, and no difference of it means anything.
            place, kink = (i, j), bool(kinks & {a, b})
            _compare(report, [a, b], 2, analytic, numeric, None, first.shape + second.shape, atol, rtol, place, kink)


def _claim(report: Report, session: Session, text: str, atol: float, rtol: float) -> None:
    """A derivative by hand, ``NAME=EXPR``, against the one of the sweep."""
    name, equals, formula = text.partition("=")
    name = name.strip()
    if not equals:
        raise UsageError(f"--claim needs NAME=EXPR, but got '{text}'", hint='write --claim x="3/x"')
    if name not in session.variables:
        raise UnknownName(f"--claim names '{name}', which is no variable", hint=variable_hint(name, session.variables))
    leaf = session.variables[name]
    if session.output.numel() != 1 and session.gradient is None:
        session.require_scalar()
    value = session.follow_up(formula, {})._data
    if np.shape(value) not in ((), leaf.shape):
        raise ShapeError(
            f"the claim for {name} has shape {list(np.shape(value))}, but {name} has shape {list(leaf.shape)}",
            hint="a claim has one number for each element of its variable, or one for all",
        )
    claimed = np.broadcast_to(value, leaf.shape)
    exact = _Runner(session).gradient(leaf)._data
    error, tolerance = np.abs(claimed - exact), atol + rtol * np.abs(exact)
    good = bool(np.all((claimed == exact) | (error <= tolerance)))
    report.checks.append(
        {
            "wrt": name,
            "order": 1,
            "analytic": plain(claimed[()]),
            "numeric": plain(exact),
            "error": float(np.max(error, initial=0)),
            "tolerance": float(np.max(tolerance, initial=0)),
            "verdict": "pass" if good else "fail",
            "claim": formula.strip(),
        }
    )
    if not good and report.failure is None:
        report.failure = f"the claim {name}={formula.strip()} gives {plain(claimed[()])}, but the derivative is {plain(exact)}"
