"""Taylor series of an expression, and high orders of derivatives in one variable.

The program runs again, with a power series in the place of the variable; see ``autograd.taylor_mode``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.higher_order import Index, partials
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.taylor_mode import Expansion
from autodiff_cli.command_result import CommandResult, Record, plain
from autodiff_cli.derivatives.lazy_notes import LazyNotes
from autodiff_cli.errors import AutodiffError, MissingValue, NoSeriesError, UsageError, setting
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.stack_machine import Machine
from autodiff_cli.limits import MOST_ORDERS, check_count, check_printed
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.precise.right_digits import Verified

Array = NDArray[np.floating]
MOST_EXACT = 150
"""The coefficient of x**170 in exp(x) is nearly as small as a float can be."""
MOST_NESTED = 6
"""Up to this order nested reverse mode is fast, and is preferred where Taylor mode yields nan."""


class Taylor(CommandResult):
    """The Taylor series of an expression.

    Attributes:
        variable, at: its variable, and the value it is around.
        coefficients: of the powers 0 to ``order`` of ``variable - at``, the power as the first dimension.
        derivatives: each coefficient times the factorial of its power.
    """

    command = "taylor"
    kinds = ("coefficients",)

    def __init__(self, evaluation: Evaluation, order: int, coefficients: Array) -> None:
        (self.variable,) = evaluation.variables
        self.expression = evaluation.expression
        self.dtype = evaluation.dtype
        self.order = order
        self.at = evaluation.variables[self.variable]._data
        self.coefficients = coefficients
        self.derivatives = scaled(coefficients)
        self.verified: Verified | None = None
        self._notes = LazyNotes(evaluation, evaluation.notes(), lambda: self.numbers()[1:], order)

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What is worth knowing about the coefficients."""
        return self._notes.read()

    def content(self) -> Record:
        result = {
            "expression": self.expression,
            "dtype": self.dtype,
            "order": self.order,
            "variable": self.variable,
            "at": plain(self.at),
            "coefficients": plain(self.coefficients),
            "derivatives": plain(self.derivatives),
        }
        if self.verified is not None:
            result |= self.verified.to_dict()
        return {**result, "notes": self.notes}

    def records(self) -> list[dict[str, Any]]:
        """One record for each order."""
        both = zip(self.coefficients, self.derivatives, strict=True)
        records = [{"order": k, "coefficient": plain(c), "derivative": plain(d)} for k, (c, d) in enumerate(both)]
        if self.verified is not None:
            path = ("coefficients",)
            for k, record in enumerate(records):
                record["right_digits"] = self.verified.right[path][k]
                if self.verified.digits is not None:
                    record["coefficient"] = self.verified.texts[path][k]
        return records

    def numbers(self) -> list[tuple[str, Any]]:
        """Return every coefficient with its name in messages."""
        return [(f"the coefficient of order {k}", c) for k, c in enumerate(self.coefficients)]


def expand(evaluation: Evaluation, order: int) -> Taylor:
    """Return the Taylor series of an expression in its variable.

    Args:
        evaluation: the evaluated expression, with one variable; if that is an array, the same distance is added to every
            element, so that an expression that works element by element gives the series of each.
        order: the highest power, 0 or more.

    Raises:
        UsageError: with several variables, or a negative order.
        MissingValue: without a variable.
        LimitError: for an order above 1,000, unless limits are lifted.
        NoSeriesError: if an operation has no rule for power series, and the variable or the output is not a scalar.
    """
    names = list(evaluation.variables)
    if not names:
        raise MissingValue("there is no variable to expand in", hint=f"give it a value with {setting('at', 'x=1')}")
    if len(names) > 1:
        raise UsageError(
            f"a Taylor series is in one variable, not in {listed(names)}",
            hint=f"choose one with {setting('wrt', names[0])}; the others are constants then",
        )
    if order < 0:
        raise UsageError(f"the order must be 0 or more, not {order}", hint="it is the highest power in the series")
    check_count(order, MOST_ORDERS, "order {} is more than the limit of {}")
    check_printed((order + 1) * evaluation.output.numel())
    scalar = not evaluation.output.shape and not evaluation.variables[names[0]].shape
    try:
        coefficients = series(evaluation, order)
    except NoSeriesError as error:
        if not scalar:
            error.hint = "functions without one can be expanded if the variable and the output are scalars"
            raise
        coefficients = _by_nested_reverse_mode(evaluation, names[0], order)
    else:
        if order <= MOST_NESTED and scalar and np.isnan(coefficients).any() and np.isfinite(evaluation.output._data):
            # Reverse mode masks the elements of branches that were not taken.
            nested = _by_nested_reverse_mode(evaluation, names[0], order)
            coefficients = np.where(np.isnan(nested), coefficients, nested)
    return Taylor(evaluation, order, coefficients)


def verify(evaluation: Evaluation, result: Taylor, digits: int | None) -> None:
    """Add the right digits of the coefficients to a result."""
    from autodiff_cli.precise.right_digits import verifying

    with verifying(evaluation, result.order, digits, np.size(result.coefficients)) as verified:
        verified.coefficients(result.coefficients)
    result.verified = verified


def series(evaluation: Evaluation, order: int) -> Array:
    """Return the Taylor coefficients of the output in the one variable of an evaluation, the order as the first dimension.

    Raises:
        NoSeriesError: if an operation has no rule for power series.
    """
    ((name, leaf),) = evaluation.variables.items()
    expansion = Expansion(order)
    values = {**evaluation.leaves, name: expansion.variable(leaf._data)}
    machine = Machine(evaluation.expression, values, np.dtype(evaluation.dtype), listing=False)
    value: Any = None
    with np.errstate(all="ignore"), set_grad_enabled(False):
        for statement in evaluation.evaluator.tree.children:
            value = machine.statement(statement)
        return expansion.coefficients(machine.tensors.of(value))


def derivatives(evaluation: Evaluation, order: int) -> dict[Index, Array] | None:
    """Return the derivatives up to an order with respect to the one variable; ``None`` if reverse mode has to find them."""
    ((name, leaf),) = evaluation.variables.items()
    if leaf.shape or order > MOST_EXACT:
        return None
    try:
        found = scaled(series(evaluation, order))
    except AutodiffError:  # an error of the expression itself would have been raised before
        return None
    if order <= MOST_NESTED and np.isnan(found[1:]).any():
        return None
    if evaluation.gradient is not None:
        found = found * evaluation.gradient._data
    found = found.reshape(order + 1, -1).sum(1)
    return {(name,) * k: found[k] for k in range(1, order + 1)}


def scaled(coefficients: Array) -> Array:
    """Return each coefficient times the factorial of its order."""
    result = np.empty_like(coefficients)
    for k, coefficient in enumerate(coefficients):
        factorial = math.factorial(k)
        exponent = max(factorial.bit_length() - 64, 0)  # from 171! on a factorial is not a float
        with np.errstate(all="ignore"):  # a derivative may be larger than any float
            result[k] = np.ldexp(coefficient * float(factorial >> exponent), exponent)
    return result


def _by_nested_reverse_mode(evaluation: Evaluation, name: str, order: int) -> Array:
    """Return the coefficients of a scalar in a scalar by nested reverse mode."""
    found = {(): evaluation.output._data, **partials(evaluation.output, evaluation.variables, order)}
    return np.array([found[(name,) * k] / math.factorial(k) for k in range(order + 1)], evaluation.output.dtype)
