"""Evaluation of an expression and its derivatives row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.higher_order import partials
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.program import Compiled, Term
from autodiff_cli.compiler.tracer import is_of_scalars, is_per_row, takes_array
from autodiff_cli.errors import AutodiffError, UsageError, setting
from autodiff_cli.evaluation.bindings import new_leaves
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.operations import Operations
from autodiff_cli.evaluation.rows.outputs import run_scalar_outputs
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax


class FunctionOfColumn(UsageError):
    """A function of arrays has one number of each row as its argument."""


class OneNumberPerRow(Operations):
    """The operations on a row, which refuse functions of arrays if their arguments are single numbers.

    A user of ``x - mean(x)`` over rows means the mean of the column, but every row is computed separately.  The losses are
    an exception, because the loss of one row is a useful result.
    """

    def apply(self, op: FunctionInfo, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function of the language.

        Raises:
            FunctionOfColumn: if the function takes an array, but its arguments are single numbers of the row.
        """
        if takes_array(op) and not is_per_row(op, arguments, named) and is_of_scalars((*arguments, *named.values())):
            message = f"'{op.name}' takes an array, but its argument is one number, because every row is computed separately"
            hint = f"compute it for the whole column first, and give the result as a constant: {setting('const', 'm=2.5')}"
            raise FunctionOfColumn(message, hint=hint)
        return super().apply(op, arguments, named, node)


class RowEvaluator(OneNumberPerRow, Evaluator):
    """An evaluator of one row."""


def check_row(expression: str, names: Sequence[str], wrt: Sequence[str], leaves: Mapping[str, Tensor], dtype: str) -> None:
    """Evaluate an expression that cannot be traced for one row of arbitrary numbers, and ignore errors other than that below.

    Args:
        expression: the expression.
        names: its variables.
        wrt: the variables to differentiate with respect to.
        leaves: the values of other names.
        dtype: ``float64`` or ``float32``.

    Raises:
        FunctionOfColumn: if a function of arrays has one number of the row as its argument.
    """
    row = new_leaves({name: 1 + 0.1 * i for i, name in enumerate(names)}, np.dtype(dtype), wrt)
    try:
        with np.errstate(all="ignore"):
            RowEvaluator(expression, {**leaves, **row}, np.dtype(dtype)).run()
    except FunctionOfColumn:
        raise
    except AutodiffError:
        return  # other rows need not fail


class RowByRowProgram(Compiled):
    """An expression that cannot be traced; the expression and its derivatives are evaluated row by row.

    Attributes:
        reason: the reason why the expression cannot be traced.
    """

    engine = "rows"

    def __init__(
        self,
        expression: str,
        names: Sequence[str],
        leaves: Mapping[str, Tensor],
        terms: Sequence[Term],
        dtype: str,
        reason: str,
        named: Sequence[str] = (),
    ) -> None:
        super().__init__(names, terms, dtype, named)
        self.expression = expression
        self.reason = reason
        self._leaves = leaves
        self._tree = parse(expression)

    def run(self, columns: Mapping[str, Array], out: Sequence[Array]) -> None:
        """Compute all results, and write them into the caller's arrays; see ``Compiled.run``.

        Raises:
            AutodiffError: if a row cannot be evaluated; the error is from the first such row.
        """
        failure = next(self.failures(columns, out), None)  # which computes all rows, or those up to the first failure
        if failure is not None:
            raise failure[1]

    def failures(self, columns: Mapping[str, Array], out: Sequence[Array]) -> Iterator[tuple[int, AutodiffError]]:
        """Compute all results; set rows that cannot be evaluated to nan, and yield the index and the error of each such row.

        Raises:
            AutodiffError: if an error does not depend on the numbers in a row.
        """
        arrays = {name: np.broadcast_to(columns[name], len(out[0])) for name in self.variables}
        for i in range(len(out[0])):
            try:
                values = self._row({name: array[i] for name, array in arrays.items()})
            except AutodiffError as error:
                if error.exit_code == 2 or error.message == self.reason:
                    raise
                values = [np.nan] * len(out)
                yield i, error
            for array, value in zip(out, values, strict=True):
                array[i] = value

    def _row(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the results of one row, by output in the order of ``wanted``: ``()`` is the value, a missing derivative is 0."""
        row = new_leaves(dict(values), self.dtype, self.wrt)
        evaluator = Evaluator(self.expression, {**self._leaves, **row}, self.dtype, self._tree)
        with np.errstate(all="ignore"):
            outputs = run_scalar_outputs(evaluator, bool(self.named))
            order, leaves = max(map(len, self.wanted)), {name: row[name] for name in self.wrt}
            derivatives = [partials(output, leaves, order) if order and output.requires_grad else {} for output in outputs]
        results = [{**part, (): output._data} for part, output in zip(derivatives, outputs, strict=True)]
        return [result.get(term, 0.0) for result in results for term in self.wanted]
