"""Taylor series of an expression, and high-order derivatives with respect to one variable.

The program is evaluated again with a power series in place of the variable; see ``autograd.taylor_mode``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.autograd.higher_order import Index, partials
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.interface_kinds import COUNT, at_a_point, checks
from autodiff_cli.autograd.taylor_mode import Expansion
from autodiff_cli.command_result import Record, plain
from autodiff_cli.derivatives.lazy_notes import DerivativeResult, all_notes
from autodiff_cli.errors import AutodiffError, MissingValue, NoSeriesError, UsageError, setting
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.names import no_variable_error
from autodiff_cli.evaluation.stack_machine import Machine
from autodiff_cli.limits import MOST_ORDERS, check_count, check_printed
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Value

MOST_EXACT = 150
"""The highest order computed by Taylor mode alone; the coefficient of x**170 in exp(x) is close to the smallest float."""
MOST_NESTED = 6
"""The highest order at which nested reverse mode is fast and replaces Taylor mode if the latter yields nan."""


class Taylor(DerivativeResult):
    """The Taylor series of an expression.

    Attributes:
        variable, at: the variable, and the point of expansion.
        coefficients: the coefficients of the powers 0 to ``order`` of ``variable - at``, with the power as the first dimension.
        derivatives: the coefficients, each multiplied by the factorial of its power.
    """

    command = "taylor"
    kinds = ("coefficients",)
    tables = "autodiff_cli.report.result_tables:taylor_tables"
    latex = "autodiff_cli.report.latex_equations:taylor"

    def __init__(self, evaluation: Evaluation, order: int, coefficients: Floats) -> None:
        (self.variable,) = evaluation.variables
        self.expression = evaluation.expression
        self.dtype = evaluation.dtype
        self.order = order
        self.at = evaluation.variables[self.variable]._data
        self.coefficients = coefficients
        self.derivatives = times_factorials(coefficients)
        # The first coefficient is the value, and not a derivative.
        self.compute_notes = partial(all_notes, evaluation, evaluation.notes(), lambda: self.numbers()[1:], order)

    def content(self) -> Record:
        """Return the JSON object."""
        content = {
            "expression": self.expression,
            "dtype": self.dtype,
            "order": self.order,
            "variable": self.variable,
            "at": plain(self.at),
            "coefficients": plain(self.coefficients),
            "derivatives": plain(self.derivatives),
        }
        return self.completed(content)

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each order, with the correct digits of its coefficient if they were requested."""
        records = []
        path = ("coefficients",)
        for order, (coefficient, derivative) in enumerate(zip(self.coefficients, self.derivatives, strict=True)):
            record = {"order": order, "coefficient": plain(coefficient), "derivative": plain(derivative)}
            if self.verified is not None:
                record["right_digits"] = self.verified.right[path][order]
                if self.verified.digits is not None:
                    record["coefficient"] = self.verified.texts[path][order]
            records.append(record)
        return records

    def numbers(self) -> list[tuple[str, Any]]:
        """Return every coefficient with the name that messages use for it."""
        return [(f"the coefficient of order {k}", c) for k, c in enumerate(self.coefficients)]


@checks(**at_a_point(), order=COUNT)
def taylor(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    order: int = 5,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    *,
    verify: bool = False,
    digits: int | None = None,
) -> Taylor:
    """Expand an expression in one variable around its value.

    Args:
        expression: a program of the language.
        at: the point of expansion, and the values of the other variables.
        const: the values of constants.
        order: the highest power in the series.
        wrt: the variable of the series, if ``at`` has several.
        dtype: ``float64`` or ``float32``.
        verify: whether to recompute all numbers with 50 digits and count the correct digits.
        digits: the number of digits to which the numbers are computed; ``None`` for floats.

    Raises:
        AutodiffError: see ``expand``.
    """
    try:
        evaluation = Evaluation(expression, at, const, wrt, dtype)
    except MissingValue as error:
        if len(error.names) == 1:
            error.hint = f"add {setting('at', f'{error.names[0]}=VALUE')} for the series around this value"
        raise
    result = expand(evaluation, order)
    if verify or digits is not None:
        from autodiff_cli.precise.right_digits import COEFFICIENTS, verified

        result.verified = verified(evaluation, order, digits, {COEFFICIENTS: result.coefficients})
    return result


def expand(evaluation: Evaluation, order: int) -> Taylor:
    """Return the Taylor series of an expression in its variable; scalars without a rule use nested reverse mode.

    Args:
        evaluation: the evaluated expression, with one variable; all elements of an array variable are shifted equally, so that an
            elementwise expression gives the series of each element.
        order: the highest power, 0 or more.

    Raises:
        UsageError: if there are several variables, or if the order is negative.
        MissingValue: if the expression does not have variables.
        LimitError: if the order is above 1,000, or the series has too many numbers, and limits are not lifted.
        NoSeriesError: if an operation does not have a power-series rule and the variable or the output is not a scalar.
    """
    name = _only_variable(evaluation)
    if order < 0:
        raise UsageError(f"the order must be 0 or more, not {order}", hint="give the highest power of the series")
    check_count(order, MOST_ORDERS, "order {} is more than the limit of {}")
    check_printed((order + 1) * evaluation.output.numel())
    is_scalar = not evaluation.output.shape and not evaluation.variables[name].shape
    try:
        coefficients = series(evaluation, order)
        if is_scalar and order <= MOST_NESTED:
            coefficients = _without_avoidable_nan(evaluation, name, coefficients)
    except NoSeriesError as error:
        if not is_scalar:
            error.hint = "use a scalar variable and a scalar output to expand functions without a rule"
            raise
        coefficients = _by_nested_reverse_mode(evaluation, name, order)
    return Taylor(evaluation, order, coefficients)


def _without_avoidable_nan(evaluation: Evaluation, name: str, coefficients: Floats) -> Floats:
    """Return coefficients of Taylor mode.  If one is nan at a finite value, numbers of nested reverse mode replace them.

    Reverse mode can avoid nan, because it masks the cotangents of the branches that were not selected.
    """
    if not np.isnan(coefficients).any() or not np.isfinite(evaluation.output._data):
        return coefficients
    nested = _by_nested_reverse_mode(evaluation, name, len(coefficients) - 1)
    return np.where(np.isnan(nested), coefficients, nested)


def _only_variable(evaluation: Evaluation) -> str:
    """Return the name of the only variable; ``MissingValue`` is raised if there is none, and ``UsageError`` for several."""
    names = list(evaluation.variables)
    if not names:
        raise no_variable_error("a Taylor series")
    if len(names) > 1:
        raise UsageError(
            f"a Taylor series is in one variable, not in {listed(names)}",
            hint=f"choose one with {setting('wrt', names[0])}; the other variables become constants",
        )
    return names[0]


def series(evaluation: Evaluation, order: int) -> Floats:
    """Return the Taylor coefficients of the output in the single variable of an evaluation, with the order as the first dimension.

    Beside that variable there may be others without elements.  An operation without a power-series rule raises ``NoSeriesError``.
    """
    with_elements = {name: leaf for name, leaf in evaluation.variables.items() if leaf.numel()}
    ((name, leaf),) = (with_elements or evaluation.variables).items()  # if it has no elements, it is the only one
    expansion = Expansion(order)
    values = {**evaluation.leaves, name: expansion.variable(leaf._data)}
    machine = Machine(evaluation.expression, values, np.dtype(evaluation.dtype), listing=False)  # without rows of tensors
    with np.errstate(all="ignore"), set_grad_enabled(False):
        output = machine.program(evaluation.evaluator.tree)
        return expansion.coefficients(machine.tensors.as_tensor(output))


def derivatives_by_taylor_mode(evaluation: Evaluation, order: int) -> dict[Index, Floats] | None:
    """Return the derivatives up to ``order`` with respect to the single variable, or ``None`` if reverse mode must compute them."""
    ((name, leaf),) = evaluation.variables.items()
    if leaf.shape or order > MOST_EXACT:
        return None
    try:
        derivatives = times_factorials(series(evaluation, order))
    except AutodiffError:  # the evaluation succeeded, so only Taylor mode fails
        return None
    if order <= MOST_NESTED and np.isnan(derivatives[1:]).any():  # reverse mode is fast enough, and can avoid nan
        return None
    if evaluation.gradient is not None:
        derivatives = derivatives * evaluation.gradient._data  # the weights of the elements of the output
    sums = derivatives.reshape(order + 1, -1).sum(1)  # over these elements; a scalar output has one
    return {(name,) * k: sums[k] for k in range(1, order + 1)}


def times_factorials(coefficients: Floats) -> Floats:
    """Multiply each coefficient by the factorial of its order: by its first 64 bits, and then by a power of 2.

    Two factors give finite derivatives for small coefficients, although 171! and larger factorials exceed the range of floats.
    """
    result = np.empty_like(coefficients)
    for order, coefficient in enumerate(coefficients):
        factorial = math.factorial(order)
        exponent = max(factorial.bit_length() - 64, 0)
        with np.errstate(all="ignore"):  # a derivative may overflow
            result[order] = np.ldexp(coefficient * float(factorial >> exponent), exponent)
    return result


def _by_nested_reverse_mode(evaluation: Evaluation, name: str, order: int) -> Floats:
    """Return the Taylor coefficients of a scalar output in a scalar variable, computed by nested reverse mode."""
    result = {(): evaluation.output._data, **partials(evaluation.output, evaluation.variables, order)}
    return np.array([result[(name,) * k] / math.factorial(k) for k in range(order + 1)], evaluation.output.dtype)
