"""Expressions as Programs: written down once, computed for many rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.higher_order import partials
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.program import Compiled, Program, Terms, derivatives, terms
from autodiff_cli.compiler.tracer import BY_HAND, Cell, Instruction, Tape, Tracer
from autodiff_cli.errors import AutodiffError, NotRecordable, ShapeError, UnknownName, UsageError
from autodiff_cli.evaluation.bindings import variables as as_leaves
from autodiff_cli.evaluation.evaluation import given_values
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.names import free_names
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax
from autodiff_cli.suggest import suggestion


class TracingEvaluator(Evaluator):
    """Runs a program of expressions on tensors that are recorded."""

    most_nested = 1_000  # as no condition is known, a function that calls itself does not end

    def choose(self, node: Syntax, values: list[Any]) -> Any:
        """Each row chooses for itself: both branches are written down."""
        return self.select(node, values[0]) if isinstance(values[0], Tracer) else super().choose(node, values)

    def with_own_vjp(self, function: UserFunction, given: list[Any], node: Syntax) -> Any:
        """The value of the body, as an operation whose derivatives are those of ``with grad``."""
        arguments = [self.tensors.of(value) for value in given]
        recorded = next((argument for argument in arguments if isinstance(argument, Tracer)), None)
        if recorded is None:
            return super().with_own_vjp(function, given, node)
        value = self.within(function, function.body, arguments)
        if any(tensor.shape for tensor in (value, *arguments)):
            raise NotRecordable(f"the derivatives of '{function.name}' are written by hand, and it is called with a tensor")
        assert function.partials is not None

        def partial(body: Syntax) -> Any:
            # A derivative with a shape is summed to that of the argument, as in a sweep.
            return lambda g: FUNCTIONS["sum"].function(g * self.within(function, body, arguments))

        rules = {"value": None, **{f"x{i}": partial(body) for i, body in enumerate(function.partials)}}
        primitive = Primitive(
            name=BY_HAND,
            function=self.within,
            forward=lambda value, *_: value,
            vjps=rules,
            parameters=tuple(rules),
            series="chain",
            elementwise=True,
        )
        return self.tensors.keep(recorded.recording.apply(primitive, [value, *arguments]), node)


def compile(
    expression: str,
    wrt: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    const: Mapping[str, Any] | None = None,
    dtype: Any = "float64",
    threads: int | None = None,
    variables: Iterable[str] = (),
) -> Program | RowByRowProgram:
    """An expression and its derivatives as a program that is computed for many rows.

    Args:
        expression: a program of the language whose result is one number.
        wrt: which variables to differentiate by, as names or as ``"x,y"``; all if left out, in the order in which they occur.
        order: 0 for the value alone, 1 for first derivatives, 2 for second ones too.
        const: values of names that are the same for all rows; they may be arrays.
        dtype: ``float64`` or ``float32``.
        threads: how many work at a time; as many as there are processors if left out.
        variables: names that are variables though the language has a constant of that name, such as ``e``.

    Returns:
        a ``Program``; where an operation depends on values in a way that cannot be written down once for all rows, such as a
        determinant, a ``RowByRowProgram``, which does the same one row after the other.

    Raises:
        AutodiffError: of any kind, with its place in the expression.
    """
    if order not in (0, 1, 2):
        raise UsageError(f"the order must be 0, 1 or 2, not {order}")
    if threads is not None and threads < 1:
        raise UsageError(f"the number of threads must be 1 or more, not {threads}")
    dtype = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    wrt = [name.strip() for name in wrt.split(",")] if isinstance(wrt, str) else wrt
    names, by, leaves = names_and_values(expression, wrt, const, dtype, variables)
    wanted = terms(by, order)
    try:
        recording, cell, columns = recorded(expression, names, leaves, dtype)
        with np.errstate(all="ignore"), set_grad_enabled(False):
            results = derivatives(recording, cell, {name: columns[name] for name in by}, wanted)
        return Program(recording, results, names, wanted, threads)
    except NotRecordable as error:
        return RowByRowProgram(expression, names, leaves, wanted, dtype, error.message)
    except AutodiffError as error:
        if error.exit_code == 2 or not names:
            raise
        return RowByRowProgram(expression, names, leaves, wanted, dtype, error.message)


def names_and_values(
    expression: str,
    wrt: Sequence[str] | None,
    const: Mapping[str, Any] | None,
    dtype: str,
    variables: Iterable[str] = (),
) -> tuple[list[str], list[str], dict[str, Tensor]]:
    """The variables of an expression, those to differentiate by, and the constants as tensors; see ``compile``."""
    _, constants = given_values(None, const, dtype)
    names = list(free_names(parse(expression), constants, {*variables, *(wrt or ())}))
    by = list(names if wrt is None else wrt)
    for name in by:
        if name not in names:
            hint = "it is a constant" if name in constants else suggestion(name, names) or f"it has {', '.join(names) or 'none'}"
            raise UnknownName(f"the expression has no variable '{name}'", hint=hint)
    if len(set(by)) < len(by):
        raise UsageError(f"a variable is named twice: {', '.join(by)}")
    return names, by, as_leaves(constants, np.dtype(dtype), ())


def recorded(
    expression: str, names: Sequence[str], leaves: Mapping[str, Tensor], dtype: str, by: type[TracingEvaluator] = TracingEvaluator
) -> tuple[Tape, Cell, dict[str, Instruction]]:
    """An expression written down: the list, its result, and the variables.

    Raises:
        NotRecordable: if it cannot be.
        ShapeError: if the result is not one number.
    """
    recording = Tape(dtype)
    columns = {name: recording.variable(name) for name in names}
    writer = by(expression, {**leaves, **columns}, np.dtype(dtype))
    with np.errstate(all="ignore"), set_grad_enabled(False):
        output = one_number(writer)
    cell = output._data[()] if isinstance(output, Tracer) else output.item()
    return recording, cell, {name: column._data[()] for name, column in columns.items()}


def one_number(evaluator: Evaluator) -> Tensor:
    """The result of a program of expressions.

    Raises:
        ShapeError: if it is more than one number.
    """
    output = evaluator.as_tensor(evaluator.run())
    if output.shape:
        raise ShapeError(
            f"one number is needed, but the expression has shape {list(output.shape)}",
            span=evaluator.tree.children[-1].span,
            source=evaluator.source,
            hint="sum it, or take one of its elements",
        )
    return output


class RowByRowProgram(Compiled):
    """The same as a ``Program``, by evaluating the expression for one row after the other.

    Attributes:
        reason: why it is no ``Program``.
    """

    engine = "rows"

    def __init__(
        self, expression: str, names: Sequence[str], leaves: Mapping[str, Tensor], wanted: Terms, dtype: str, reason: str
    ) -> None:
        super().__init__(names, wanted, dtype)
        self.expression = expression
        self.reason = reason
        self._leaves = leaves
        self._tree = parse(expression)

    def run(self, columns: Mapping[str, Any], out: Sequence[Any]) -> None:
        """See ``Compiled``.

        Raises:
            AutodiffError: for the first row that has no value.
        """
        for _, error in self.failures(columns, out):
            raise error

    def failures(self, columns: Mapping[str, Any], out: Sequence[Any]) -> Iterator[tuple[int, AutodiffError]]:
        """The same as ``run``; rows that have no value are nan, and come out with what is wrong as they are reached.

        Raises:
            AutodiffError: for a mistake that has nothing to do with the numbers of a row.
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
        row = as_leaves(dict(values), self.dtype, self.wrt)
        evaluator = Evaluator(self.expression, {**self._leaves, **row}, self.dtype, self._tree)
        with np.errstate(all="ignore"):
            output = one_number(evaluator)
            order = max(map(len, self.terms))
            found = partials(output, {name: row[name] for name in self.wrt}, order) if order and output.requires_grad else {}
        found[()] = output._data
        return [found.get(term, 0.0) for term in self.terms]


__all__ = ["Instruction", "Program", "RowByRowProgram", "compile"]
