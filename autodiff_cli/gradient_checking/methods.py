"""Two methods that compute the reference for ``gradcheck``, with the same three checks.

``HighPrecision`` computes the reference in arbitrary precision.  ``Extrapolated`` uses float64, for functions without an
arbitrary-precision implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.checks.finite_differences import temporarily_shifted
from autodiff_cli.autograd.jacobians import filled, gradients_of
from autodiff_cli.autograd.modes import enable_grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ShapeError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.trace import is_pointwise, raw
from autodiff_cli.gradient_checking.ridders import DifferenceQuotient
from autodiff_cli.gradient_checking.verdicts import CLOSE, Judge, Verdict
from autodiff_cli.precise.reference import Reference

Array = NDArray[np.float64]
Verdicts = list[list[Verdict]]
"""The verdicts in nested lists: one list for each element of the variable, with one verdict for each element of the output."""


def gradient_of(output: Tensor, leaf: Tensor, start: Tensor | None, record: bool = False) -> Tensor:
    """Return the gradient of an output with respect to a leaf, 0 without one, from the first cotangent ``start`` or 1."""
    starts = None if start is None else [start]
    return filled(gradients_of([output], [leaf], starts, record), [leaf])[0]


def _require_shape(name: str, formula: str, claimed: Array, exact: Array) -> None:
    """Raise an error that also judges the transpose if a claim is neither a number nor of the shape of the derivative ``exact``."""
    if claimed.shape in ((), exact.shape):
        return
    message = f"the claim for {name} has shape {list(claimed.shape)}, but {name} has shape {list(exact.shape)}"
    hint = "claim one number for each element of the variable, or one number for all elements"
    transpose = claimed.T
    if transpose.shape == exact.shape:
        worst = np.unravel_index(np.argmax(np.abs(transpose - exact)), exact.shape)  # the position with the largest error
        if np.isclose(transpose[worst], exact[worst], rtol=1e-9):
            message, hint = f"{message}: the claim is the transpose of the derivative", f"claim ({formula}).T"
        else:
            numbers = f"it is {transpose[worst]:.6g}, but the derivative is {exact[worst]:.6g}"
            message += f", and its transpose is wrong at {name}{[int(index) for index in worst]}: {numbers}"
    raise ShapeError(message, hint=hint)


class HighPrecision:
    """The check up to an order in arbitrary precision; ``NotPrecise`` if the expression has none; see ``precise.reference``."""

    def __init__(self, evaluation: Evaluation, order: int) -> None:
        self._variables = evaluation.variables
        self._reference = Reference(evaluation, order)
        names_of_elements = [name for name, leaf in evaluation.variables.items() for _ in range(leaf.numel())]
        self._judge = Judge(self._reference.differences, names_of_elements)
        # Second derivatives and claims are those of one number: of the output, or of its elements with the weights of a gradient.
        self._judge_of_sum = self._judge
        if evaluation.gradient is not None:
            weighted = self._reference.weighted(evaluation.gradient._data)
            self._judge_of_sum = Judge(weighted.differences, names_of_elements)

    def first(self, name: str, analytic: Array) -> Verdicts:
        """Check the derivatives with respect to a variable: a row for each element of the variable."""
        indices = zip(self._reference.indices([name]), analytic, strict=True)
        return [[self._judge.derivative(float(value), index, j) for j, value in enumerate(row)] for index, row in indices]

    def second(self, a: str, b: str, analytic: Array) -> Verdicts:
        """Check the second derivatives with respect to ``a`` and ``b``: a row for each element of ``b``."""
        indices = iter(self._reference.indices([b, a]))
        return [[self._judge_of_sum.derivative(float(value), next(indices), 0) for value in row] for row in analytic]

    def claim(self, name: str, formula: str, exact: Array) -> tuple[Array, list[Verdict]]:
        """Return the numbers of a claimed gradient, and a verdict for each; only the shape of ``exact``, the gradient, is used."""
        leaf = self._variables[name]
        values, shape = self._reference.evaluate_formula(formula)
        claimed = np.array([float(value) for value in values]).reshape(shape)
        _require_shape(name, formula, claimed, exact)
        if shape == ():
            values = values * leaf.numel()  # a list of one number, which is claimed for each element
        elements = zip(self._reference.elements[name], values, strict=True)
        verdicts = [self._judge_of_sum.claim(value, (element,), 0) for element, value in elements]
        return np.broadcast_to(claimed, leaf.shape)[()], verdicts


def _moved(leaf: Tensor, i: int, compute: Callable[[], Tensor]) -> Callable[[float], Array]:
    """Return a function of a distance that shifts the ``i``-th element of a leaf, computes the result and restores the leaf."""

    def shifted(distance: float) -> Array:
        with temporarily_shifted(leaf, distance, i):
            return np.ravel(np.asarray(compute()._data, np.float64))

    return shifted


class Extrapolated:
    """The check by difference quotients with an error estimate; see ``gradient_checking.ridders``."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._constants: dict[Any, Any] = {}  # the values of detach(...) at the point
        self._output()  # stores them
        self._kinks: set[str] = set()  # the variables with a kink at the point
        self._largest = _largest_result(evaluation)

    def _output(self) -> Tensor:
        """Evaluate the expression for the present values of its variables; the first evaluation sets ``_constants``."""
        with enable_grad():
            return self._evaluation.recomputed(constants=self._constants)

    def first(self, name: str, analytic: Array) -> Verdicts:
        """Check the derivatives with respect to a variable, a row for each of its elements; add one with a kink to ``_kinks``."""
        verdicts = self._judged(self._evaluation.variables[name], analytic, self._output)
        if any(verdict.verdict == "kink" for row in verdicts for verdict in row):
            self._kinks.add(name)
        return verdicts

    def second(self, a: str, b: str, analytic: Array) -> Verdicts:
        """Check the second derivatives with respect to ``a`` and ``b``: a row for each element of ``b``."""
        variables, start = self._evaluation.variables, self._evaluation.gradient
        verdicts = self._judged(variables[b], analytic, lambda: gradient_of(self._output(), variables[a], start))
        # At a kink of the value the gradient jumps, and its difference quotients are meaningless.
        if self._kinks & {a, b}:
            return [[_at_kink(verdict) for verdict in row] for row in verdicts]
        return verdicts

    def claim(self, name: str, formula: str, exact: Array) -> tuple[Array, list[Verdict]]:
        """Return the numbers of a claimed gradient, and a verdict for each.

        The reference is the gradient of the backward pass, ``exact``, because difference quotients have fewer digits.
        """
        leaf = self._evaluation.variables[name]
        value = self._evaluation.evaluate_formula(formula, {})._data
        _require_shape(name, formula, np.asarray(value), exact)
        claimed = np.broadcast_to(value, leaf.shape)
        verdicts = []
        for claim, derivative in zip(np.ravel(claimed), np.ravel(exact), strict=True):
            is_same = claim == derivative or (np.isnan(claim) and np.isnan(derivative))
            error = 0.0 if is_same else float(abs(claim - derivative))
            tolerance = CLOSE * abs(float(derivative)) if np.isfinite(derivative) else 0.0  # inf and nan must be the same
            verdicts.append(Verdict("pass" if error <= tolerance else "fail", float(derivative), error, tolerance))
        return claimed[()], verdicts

    def _judged(self, leaf: Tensor, analytic: Array, compute: Callable[[], Tensor]) -> Verdicts:
        """Return the verdicts on the derivatives with respect to a leaf of the result of ``compute``: a row for each element."""
        rows = []
        elements = np.ravel(leaf._data)
        for i, row in enumerate(analytic):
            function = _moved(leaf, i, compute)
            quotient = DifferenceQuotient(function, float(elements[i]), elements=len(elements), largest=self._largest)
            rows.append([quotient.judged(j, float(value)) for j, value in enumerate(row)])
        return rows


def _largest_result(evaluation: Evaluation) -> float:
    """Return the largest absolute value in the results of functions of arrays that are finite everywhere; 0 if there are none."""
    steps = [step for step in evaluation.trace if not is_pointwise(step)]
    arrays = [np.abs(raw(result)) for step in steps for result in step.results]
    finite = [array for array in arrays if np.size(array) and np.isfinite(array).all()]
    return max((float(np.max(array)) for array in finite), default=0.0)


def _at_kink(verdict: Verdict) -> Verdict:
    """Return the verdict on a second derivative at a kink: ``kink`` in place of ``fail`` and ``undecided``."""
    return verdict if verdict.verdict == "pass" else verdict._replace(verdict="kink", reason="")


Method: TypeAlias = HighPrecision | Extrapolated
"""A method to check the derivatives of an evaluation."""
