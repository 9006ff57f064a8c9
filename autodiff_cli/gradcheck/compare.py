"""What ``gradcheck`` compares derivatives with: three sides of one form.

``WithDigits`` is the truth, computed with many digits.  ``WithFloats`` is for what has no form there.  ``WithSteps`` does as
it is told: central differences with the step of ``--eps``, and PyTorch's tolerances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from autodiff_cli.autograd.gradient_check import numeric_jacobian
from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ShapeError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.gradcheck.ridders import Quotient
from autodiff_cli.gradcheck.verdicts import Judge, Verdict
from autodiff_cli.precise.reference import Reference

Verdicts = list[list[Verdict]]
"""One for each element of the variable, in that one for each element of the output."""


class Side(Protocol):
    """One way to judge the derivatives of an evaluation."""

    def first(self, name: str, analytic: Any) -> Verdicts:
        """Judge the derivatives by a variable: (elements of the variable, elements of the output)."""

    def second(self, a: str, b: str, analytic: Any) -> Verdicts:
        """Judge those of the gradient by ``a``, by ``b``: (elements of ``b``, elements of ``a``)."""

    def claim(self, name: str, formula: str, exact: Any) -> tuple[Any, list[Verdict]]:
        """Judge a claim about the gradient by a variable, which a sweep found to be ``exact``; what is claimed, as floats."""


def gradient_of(output: Tensor, leaf: Tensor, start: Tensor | None, record: bool = False) -> Tensor:
    """The gradient of an output by a leaf; 0 where it does not depend on it."""
    if not output.requires_grad:
        return Tensor(np.zeros(leaf.shape))
    found: Tensor
    (found,) = grad(output, leaf, start, retain_graph=True, create_graph=record, allow_unused=True, materialize_grads=True)
    return found


def claimed_shape(name: str, shape: tuple[int, ...], leaf: Tensor) -> None:
    """Refuse a claim that has not one number for each element of its variable, nor one for all."""
    if shape not in ((), leaf.shape):
        raise ShapeError(
            f"the claim for {name} has shape {list(shape)}, but {name} has shape {list(leaf.shape)}",
            hint="a claim has one number for each element of its variable, or one for all",
        )


class WithDigits:
    """The expression with many digits; see ``language.truth``.

    Raises:
        NotPrecise: if it cannot be evaluated so.
    """

    def __init__(self, evaluation: Evaluation, order: int, atol: float | None = None, rtol: float | None = None) -> None:
        self._session = evaluation
        count = sum(leaf.numel() for leaf in evaluation.variables.values())
        self._truth = Reference(evaluation, order, evaluations=4 * count if order == 1 else 8 * count * (count + 1))
        elements = [name for name, leaf in evaluation.variables.items() for _ in range(leaf.numel())]
        self._judge = self._of_one = Judge(self._truth.differences, elements, atol, rtol)
        if evaluation.gradient is not None:
            weighted = self._truth.weighted(evaluation.gradient._data)
            self._of_one = Judge(weighted.differences, elements, atol, rtol)  # of the number that a sweep starts from

    def first(self, name: str, analytic: Any) -> Verdicts:
        start = self._truth.elements[name].start
        return [
            [self._judge.derivative(float(value), (start + i,), j) for j, value in enumerate(row)] for i, row in enumerate(analytic)
        ]

    def second(self, a: str, b: str, analytic: Any) -> Verdicts:
        of_a, of_b = self._truth.elements[a].start, self._truth.elements[b].start
        return [
            [
                self._of_one.derivative(float(value), (min(of_a + j, of_b + i), max(of_a + j, of_b + i)), 0)
                for j, value in enumerate(row)
            ]
            for i, row in enumerate(analytic)
        ]

    def claim(self, name: str, formula: str, exact: Any) -> tuple[Any, list[Verdict]]:
        leaf = self._session.variables[name]
        values, shape = self._truth.follow_up(formula)
        claimed_shape(name, shape, leaf)
        values = values * leaf.numel() if shape == () else values
        start = self._truth.elements[name].start
        verdicts = [self._of_one.claim(value, (start + i,), 0) for i, value in enumerate(values)]
        return np.array([float(value) for value in values]).reshape(leaf.shape)[()], verdicts


class _Again:
    """Evaluates the program of an evaluation with its leaves as they are now, in float64."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    def output(self) -> Tensor:
        with enable_grad():
            evaluator = self.evaluation.again()
            return evaluator.as_tensor(evaluator.run())

    def gradient(self, leaf: Tensor) -> Tensor:
        return gradient_of(self.output(), leaf, self.evaluation.gradient)


def moved(leaf: Tensor, i: int, compute: Callable[[], Tensor]) -> Callable[[float], Any]:
    """What is computed where an element of a leaf is moved; the leaf is put back."""
    original = leaf._data

    def at(distance: float) -> Any:
        array = np.array(original)
        array.reshape(-1)[i] += distance
        leaf._data = array[()] if array.ndim == 0 else array
        try:
            return compute()._data
        finally:
            leaf._data = original

    return at


class WithFloats:
    """Difference quotients in float64 that know their error; see ``language.ridders``."""

    def __init__(self, evaluation: Evaluation, atol: float | None = None, rtol: float | None = None) -> None:
        self._session = evaluation
        self._again = _Again(evaluation)
        self._given = None if atol is None and rtol is None else (atol or 0.0, rtol or 0.0)
        self._kinks: set[str] = set()

    def first(self, name: str, analytic: Any) -> Verdicts:
        verdicts = self._judged(self._session.variables[name], analytic, self._again.output)
        if any(one.verdict == "kink" for row in verdicts for one in row):
            self._kinks.add(name)
        return verdicts

    def second(self, a: str, b: str, analytic: Any) -> Verdicts:
        first = self._session.variables[a]
        verdicts = self._judged(self._session.variables[b], analytic, lambda: self._again.gradient(first))
        # Where the value has a kink the gradient jumps, and no difference of it means anything.
        if self._kinks & {a, b}:
            return [[one if one.verdict == "pass" else one._replace(verdict="kink", reason="") for one in row] for row in verdicts]
        return verdicts

    def _judged(self, leaf: Tensor, analytic: Any, compute: Callable[[], Tensor]) -> Verdicts:
        rows = []
        for i, row in enumerate(analytic):
            quotient = Quotient(moved(leaf, i, compute), float(np.ravel(leaf._data)[i]), len(analytic))
            rows.append([self._tolerant(quotient.judged(j, float(value))) for j, value in enumerate(row)])
        return rows

    def _tolerant(self, verdict: Verdict) -> Verdict:
        if self._given is None or not np.isfinite(verdict.error):
            return verdict
        return _within(verdict, *self._given)

    def claim(self, name: str, formula: str, exact: Any) -> tuple[Any, list[Verdict]]:
        return _float_claim(self._session, name, formula, exact, self._given or (0.0, 1e-12))


def _within(verdict: Verdict, atol: float, rtol: float) -> Verdict:
    tolerance = atol + rtol * abs(verdict.numeric)
    good = verdict.error <= tolerance or verdict.error == 0
    return verdict._replace(verdict="pass" if good else "fail", tolerance=tolerance, reason="")


def _float_claim(
    evaluation: Evaluation, name: str, formula: str, exact: Any, given: tuple[float, float]
) -> tuple[Any, list[Verdict]]:
    """A claim computed in float64, against the derivative of the sweep."""
    leaf = evaluation.variables[name]
    value = evaluation.follow_up(formula, {})._data
    claimed_shape(name, np.shape(value), leaf)
    claimed = np.broadcast_to(value, leaf.shape)
    verdicts = []
    for one, other in zip(np.ravel(claimed), np.ravel(exact), strict=True):
        same = one == other or (np.isnan(one) and np.isnan(other))
        error = 0.0 if same else float(abs(one - other))
        tolerance = given[0] + given[1] * abs(float(other)) if np.isfinite(other) else 0.0
        verdicts.append(Verdict("pass" if error <= tolerance else "fail", float(other), error, tolerance))
    return claimed[()], verdicts


class WithSteps:
    """Central differences with the step of ``--eps``, and PyTorch's tolerances."""

    def __init__(self, evaluation: Evaluation, eps: float, atol: float | None, rtol: float | None) -> None:
        self._session = evaluation
        self._again = _Again(evaluation)
        self._eps = eps
        self._given = (1e-5 if atol is None else atol, 1e-3 if rtol is None else rtol)
        self._of_claims = (0.0 if atol is None else atol, 1e-12 if rtol is None else rtol)

    def first(self, name: str, analytic: Any) -> Verdicts:
        return self._judged(self._session.variables[name], analytic, self._again.output)

    def second(self, a: str, b: str, analytic: Any) -> Verdicts:
        leaf = self._session.variables[a]
        return self._judged(self._session.variables[b], analytic, lambda: self._again.gradient(leaf))

    def _judged(self, leaf: Tensor, analytic: Any, compute: Callable[[], Tensor]) -> Verdicts:
        numeric = numeric_jacobian(compute, leaf, self._eps)
        here = np.ravel(compute()._data).astype(np.float64)
        rows = []
        for i, row in enumerate(analytic):
            at = moved(leaf, i, compute)
            low, high = ((np.ravel(at(step)) - here) / step for step in (-self._eps, self._eps))
            rows.append([self._one(float(v), *map(float, others)) for v, *others in zip(row, numeric[i], low, high, strict=True)])
        return rows

    def _one(self, value: float, numeric: float, left: float, right: float) -> Verdict:
        atol, rtol = self._given
        tolerance = atol + rtol * abs(numeric)
        error = 0.0 if value == numeric else abs(value - numeric)
        if not np.isfinite(numeric):
            reason = "a step of --eps leaves what floats can hold, or the domain"
            return Verdict("pass" if error == 0.0 else "undecided", numeric, error, 0.0, "" if error == 0.0 else reason)
        if error <= tolerance:
            return Verdict("pass", numeric, error, tolerance)
        low, high = min(left, right), max(left, right)
        if high - low > 2 * tolerance and low - tolerance <= value <= high + tolerance:
            return Verdict("kink", numeric, error, tolerance)
        return Verdict("fail", numeric, error, tolerance)

    def claim(self, name: str, formula: str, exact: Any) -> tuple[Any, list[Verdict]]:
        return _float_claim(self._session, name, formula, exact, self._of_claims)
