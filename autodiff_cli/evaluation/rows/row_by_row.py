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
    """The error for a function of arrays, such as ``mean``, that has one number of each row as its argument."""


class OneNumberPerRow(Operations):
    """The operations on a row, which refuse functions of arrays if their arguments are single numbers.

    A user of ``x - mean(x)`` over rows means the mean of the column, but every row is computed separately.  The losses are
    an exception, because the loss of one row is a useful result.
    """

    def apply(self, op: FunctionInfo, arguments: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Return ``op`` applied to positional arguments and to keyword arguments ``named``; ``node`` is its place in the program.

        Raises:
            FunctionOfColumn: if the function takes an array, but its arguments are single numbers of the row.
        """
        needs_array = takes_array(op) and not is_per_row(op, arguments, named)  # a loss, and max(x, 2), are of one row
        if needs_array and is_of_scalars((*arguments, *named.values())):
            message = f"'{op.name}' takes an array, but its argument is one number, because every row is computed separately"
            hint = f"compute it for the whole column first, and give the result as a constant: {setting('const', 'm=2.5')}"
            raise FunctionOfColumn(message, hint=hint)
        return super().apply(op, arguments, named, node)


class RowEvaluator(OneNumberPerRow, Evaluator):
    """An evaluator of one row."""


def refuse_functions_of_columns(
    expression: str, names: Sequence[str], wrt: Sequence[str], leaves: Mapping[str, Tensor], dtype: str
) -> None:
    """Evaluate an expression for one example row, and raise an error for functions of arrays that are applied to single numbers.

    ``names`` are the variables, of which those in ``wrt`` require grad; ``leaves`` are the values of the other names.

    Raises:
        FunctionOfColumn: if a function of arrays has one number of the row as its argument.  Other errors are ignored.
    """
    example = {name: 1 + 0.1 * i for i, name in enumerate(names)}  # any numbers will do; these differ from each other
    row = new_leaves(example, np.dtype(dtype), wrt)
    try:
        with np.errstate(all="ignore"):
            RowEvaluator(expression, {**leaves, **row}, np.dtype(dtype)).run()
    except FunctionOfColumn:
        raise
    except AutodiffError:
        return  # the numbers of the example may be outside of the domain, and those of real rows inside


class RowByRowProgram(Compiled):
    """An expression that cannot be traced; the expression and its derivatives are evaluated row by row.

    Args:
        expression: a program of the language.
        names: its variables, whose values are columns.
        leaves: the values of the other names, which are the same in all rows.
        terms: the derivatives of each output, each as a tuple of variables; ``()`` is the value.
        dtype: ``float64`` or ``float32``.
        reason: the message of the error that prevented tracing.
        named: the names of the outputs if the program ends with a list; empty for one output.
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
        """Compute all results, and write them into the caller's arrays ``out``, one for each result; see ``Compiled.run``.

        Raises:
            AutodiffError: if a row cannot be evaluated; the error is from the first such row.
        """
        for _, error in self.failures(columns, out):  # which computes all rows unless one fails
            raise error

    def failures(self, columns: Mapping[str, Array], out: Sequence[Array]) -> Iterator[tuple[int, AutodiffError]]:
        """Compute the rows, write them into the arrays ``out``, and yield the index and the error of each row that fails.

        A row is computed only when the iterator reaches it.  The results of a row that fails become nan when the iterator goes on.

        Raises:
            AutodiffError: if an error does not depend on the numbers in a row.
        """
        count = len(out[0])  # of rows
        arrays = {name: np.broadcast_to(columns[name], count) for name in self.variables}
        for i in range(count):
            try:
                results = self._results({name: array[i] for name, array in arrays.items()})
            except AutodiffError as error:
                if self._fails_in_every_row(error):
                    raise
                results = [np.nan] * len(out)
                yield i, error
            for array, result in zip(out, results, strict=True):
                array[i] = result

    def _fails_in_every_row(self, error: AutodiffError) -> bool:
        """Return whether the expression itself is wrong (exit code 2), or the error is the one that prevented tracing."""
        return error.exit_code == 2 or error.message == self.reason

    def _results(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the results of the row in which the variables have these values: all of the first output, then of the next."""
        variables = new_leaves(values, self.dtype, self.wrt)
        evaluator = Evaluator(self.expression, {**self._leaves, **variables}, self.dtype, self._tree)
        order = max(map(len, self.wanted))  # the highest; 0 if only values are wanted
        wrt = {name: variables[name] for name in self.wrt}
        results: list[Any] = []
        with np.errstate(all="ignore"):
            for output in run_scalar_outputs(evaluator, several=bool(self.named)):
                derivatives = partials(output, wrt, order) if order and output.requires_grad else {}
                by_term = {**derivatives, (): output._data}
                results += [by_term.get(term, 0.0) for term in self.wanted]  # a derivative that is missing is 0
        return results
