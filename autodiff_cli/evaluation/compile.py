"""Compilation: an expression is traced once and then computed for many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.higher_order import partials
from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.array_functions import is_per_row, of_one_number, takes_array
from autodiff_cli.compiler.instruction import CUSTOM_VJP, Instruction, Operand
from autodiff_cli.compiler.program import Compiled, Program, Term, derivatives, terms
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import Tracer, apply, as_operand, as_operands, as_tensor
from autodiff_cli.errors import AutodiffError, NotRecordable, ShapeError, UnknownName, UsageError, setting
from autodiff_cli.evaluation.bindings import variables as as_leaves
from autodiff_cli.evaluation.evaluation import given_values
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.evaluation.names import element_names, free_names
from autodiff_cli.evaluation.operations import Operations
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from autodiff_cli.autograd.dtypes import Array


class TracingEvaluator(Evaluator):
    """An evaluator that runs a program of expressions on tracers."""

    most_nested = 1_000  # conditions are unknown during tracing, so a recursive function would never return

    def choose(self, node: Syntax, values: list[Any]) -> Any:
        """Trace both branches, because the condition may differ between rows."""
        return self.select(node, values[0]) if isinstance(values[0], Tracer) else super().choose(node, values)

    def over_index(self, node: Syntax, limits: list[Any]) -> Any:
        """Trace every term; the number of terms must be known."""
        if any(isinstance(limit, Tracer) for limit in limits):
            name = node.children[0].text
            raise NotRecordable(
                f"the limits of {name} depend on a variable, whose value is not known while the expression is traced",
                hint=f"give constant limits, as in {setting('const', 'n=10')}",
            )
        return super().over_index(node, limits)

    def with_own_vjp(self, function: UserFunction, given: list[Any], node: Syntax) -> Any:
        """Trace the body of a function as one instruction that has the derivatives in ``with grad``."""
        arguments = [self.tensors.of(value) for value in given]
        tracer = next((argument for argument in arguments if isinstance(argument, Tracer)), None)
        if tracer is None:
            return super().with_own_vjp(function, given, node)
        value = self.within(function, function.body, arguments)
        if any(tensor.shape for tensor in (value, *arguments)):
            raise NotRecordable(f"'{function.name}' has user-written derivatives and is called with a tensor that is not a scalar")
        assert function.partials is not None

        def rule(body: Syntax) -> Callable[[Tensor], Tensor]:
            # As in eager evaluation, a derivative is summed to the shape of the argument, which is a scalar here.
            return lambda g: FUNCTIONS["sum"].function(g * self.within(function, body, arguments))

        rules = {"value": None, **{f"x{i}": rule(body) for i, body in enumerate(function.partials)}}
        primitive = Primitive(
            name=CUSTOM_VJP,
            function=self.within,
            forward=lambda value, *_: value,
            vjps=rules,
            parameters=tuple(rules),
            series="chain",
            elementwise=True,
        )
        return self.tensors.keep(apply(tracer.tape, primitive, [value, *arguments]), node)


class OneNumberPerRow(Operations):
    """The operations on a row, which refuse functions of arrays if their arguments are single numbers.

    A user of ``x - mean(x)`` over rows means the mean of the column, but every row is computed separately.  The losses are
    an exception, because the loss of one row is a useful result.
    """

    def apply(self, op: FunctionInfo, given: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Apply a function of the language.

        Raises:
            UsageError: if the function takes an array, but its arguments are single numbers of the row.
        """
        if takes_array(op) and not is_per_row(op, given, named) and of_one_number((*given, *named.values())):
            value = setting("const", "m=2.5")
            raise UsageError(
                f"'{op.name}' takes an array, but its argument is one number, because every row is computed separately",
                hint=f"compute it for the whole column first, and give the result as a constant: {value}",
            )
        return super().apply(op, given, named, node)


class RowTracingEvaluator(OneNumberPerRow, TracingEvaluator):
    """A tracing evaluator whose variables are columns, with one number in each row."""


class RowEvaluator(OneNumberPerRow, Evaluator):
    """An evaluator of one row."""


def compile(
    expression: str,
    wrt: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    const: Mapping[str, Any] | None = None,
    dtype: DTypeLike = "float64",
    threads: int | None = None,
    variables: Iterable[str] = (),
) -> Program | RowByRowProgram:
    """Compile an expression and its derivatives for evaluation on many rows.

    Args:
        expression: a program of the language whose result is one number.
        wrt: the variables to differentiate with respect to, as names or as ``"x,y"``; by default all variables, in order of
            occurrence.
        order: 0 for the value alone, 1 for first derivatives, 2 for first and second derivatives.
        const: the values of names that are the same for all rows; they may be arrays.
        dtype: ``float64`` or ``float32``.
        threads: the number of threads; by default one for each processor.
        variables: names that are variables even if the language has a constant with that name, such as ``e``.

    Returns:
        a ``Program``; if an operation such as a determinant cannot be traced, a ``RowByRowProgram``, which evaluates the
        expression row by row.

    Raises:
        AutodiffError: if the expression is invalid or cannot be evaluated; the error has the position in the expression.
        UsageError: if a function of arrays, such as ``mean``, has one number of each row as its argument.
    """
    if order not in (0, 1, 2):
        raise UsageError(f"the order must be 0, 1 or 2, not {order}")
    if threads is not None and threads < 1:
        raise UsageError(f"the number of threads must be 1 or more, not {threads}")
    dtype = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    wrt = [name.strip() for name in wrt.split(",")] if isinstance(wrt, str) else wrt
    names, by, leaves = names_and_values(expression, wrt, const, dtype, variables)
    return compile_terms(expression, names, leaves, terms(by, order), dtype, threads)


def compile_terms(
    expression: str, names: Sequence[str], leaves: Mapping[str, Tensor], wanted: Sequence[Term], dtype: str, threads: int | None
) -> Program | RowByRowProgram:
    """Compile some derivatives of an expression, of any order.

    Args:
        expression: a program of the language whose result is one number.
        names: the variables of the expression.
        leaves: the values of other names.
        wanted: the derivatives, each as a tuple of variables.
        dtype: ``float64`` or ``float32``.
        threads: the number of threads; ``None`` for one for each processor.
    """
    by = dict.fromkeys(name for term in wanted for name in term)
    try:
        traced = trace(expression, names, leaves, dtype, RowTracingEvaluator)
        with np.errstate(all="ignore"), set_grad_enabled(False):
            results = derivatives(traced.output, {name: traced.variables[name] for name in by}, wanted)
        return Program(results, names, wanted, dtype, threads)
    except AutodiffError as error:
        if not isinstance(error, NotRecordable) and (error.exit_code == 2 or not names):
            raise
        _check_row(expression, names, leaves, dtype)
        return RowByRowProgram(expression, names, leaves, wanted, dtype, error.message)


def _check_row(expression: str, names: Sequence[str], leaves: Mapping[str, Tensor], dtype: str) -> None:
    """Evaluate an expression that cannot be traced for one row of arbitrary numbers.

    Raises:
        UsageError: if a function of arrays has one number of the row as its argument.
    """
    row = as_leaves({name: 1 + 0.1 * i for i, name in enumerate(names)}, np.dtype(dtype), names)
    try:
        with np.errstate(all="ignore"):
            RowEvaluator(expression, {**leaves, **row}, np.dtype(dtype)).run()
    except UsageError:
        raise
    except AutodiffError:
        return  # other rows need not fail


def names_and_values(
    expression: str,
    wrt: Sequence[str] | None,
    const: Mapping[str, Any] | None,
    dtype: str,
    variables: Iterable[str] = (),
) -> tuple[list[str], list[str], dict[str, Tensor]]:
    """Return the variables of an expression, the variables to differentiate with respect to, and the constants as tensors.

    The arguments are the same as for ``compile``.

    Raises:
        UnknownName: if a name in ``wrt`` is not a variable.
        UsageError: if a name occurs twice in ``wrt``, or ``dtype`` is unknown.
        ParseError: if the expression cannot be parsed.
    """
    _, constants = given_values(None, const, dtype)
    names = list(free_names(parse(expression), constants, {*variables, *(wrt or ())}))
    by = list(names if wrt is None else wrt)
    for name in by:
        if name not in names:
            hint = (
                "it is a constant"
                if name in constants
                else suggestion(name, names) or f"its variables: {', '.join(names) or 'none'}"
            )
            raise UnknownName(f"the expression has no variable '{name}'", hint=hint)
    if len(set(by)) < len(by):
        raise UsageError(f"a variable is named twice: {', '.join(by)}")
    return names, by, as_leaves(constants, np.dtype(dtype), ())


class Traced(NamedTuple):
    """A traced expression.

    Attributes:
        tape: the tape of the expression.
        output: the instruction or constant that is the result.
        variables: the instruction of each variable.
    """

    tape: Tape
    output: Operand
    variables: dict[str, Instruction]


def trace(
    expression: str,
    names: Sequence[str],
    leaves: Mapping[str, Tensor],
    dtype: str,
    evaluator: type[TracingEvaluator] = TracingEvaluator,
) -> Traced:
    """Trace an expression on a new tape.

    Args:
        expression: a program of the language.
        names: the variables of the expression.
        leaves: the values of other names.
        dtype: ``float64`` or ``float32``.
        evaluator: the class that runs the expression.

    Raises:
        NotRecordable: if the expression cannot be traced.
        ShapeError: if the result is not a scalar.
    """
    tape = Tape(dtype)
    variables = {name: tape.variable(name) for name in names}
    tracers = {name: as_tensor(tape, variable) for name, variable in variables.items()}
    with np.errstate(all="ignore"), set_grad_enabled(False):
        output = one_number(evaluator(expression, {**leaves, **tracers}, np.dtype(dtype)))
    return Traced(tape, as_operand(output), variables)


def trace_elements(
    source: str, programs: Sequence[Syntax], shapes: Mapping[str, tuple[int, ...]], leaves: Mapping[str, Tensor], dtype: str
) -> tuple[list[Instruction], list[Operand]]:
    """Trace several programs of the same variables on one new tape.

    Args:
        source: the text of the programs.
        programs: the tree of each program.
        shapes: the shape of each variable.
        leaves: the values of other names.
        dtype: ``float64`` or ``float32``.

    Returns:
        The instructions of the elements of the variables, and the operands of the elements of the results, in order.

    Raises:
        NotRecordable: if a program cannot be traced.
    """
    tape = Tape(dtype)
    elements = {name: [tape.variable(label) for label in element_names(name, shape)] for name, shape in shapes.items()}
    tracers: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        operands = np.empty(len(elements[name]), object)
        operands[:] = elements[name]
        tracers[name] = as_tensor(tape, operands.reshape(shape))
    results: list[Operand] = []
    with np.errstate(all="ignore"), set_grad_enabled(False):
        for program in programs:
            evaluator = TracingEvaluator(source, {**leaves, **tracers}, np.dtype(dtype), program)
            results.extend(as_operands(evaluator.as_tensor(evaluator.run())).flat)
    return [element for each in elements.values() for element in each], results


def one_number(evaluator: Evaluator) -> Tensor:
    """Run a program of expressions, and return its result, which must be a scalar.

    Raises:
        ShapeError: if the result is not a scalar.
    """
    output = evaluator.as_tensor(evaluator.run())
    if output.shape:
        raise ShapeError(
            f"expected one number, but the expression has shape {list(output.shape)}",
            span=evaluator.tree.children[-1].span,
            source=evaluator.source,
            hint="sum it, or take one of its elements",
        )
    return output


class RowByRowProgram(Compiled):
    """An expression that cannot be traced; the expression and its derivatives are evaluated row by row.

    Attributes:
        reason: the reason why the expression cannot be traced.
    """

    engine = "rows"

    def __init__(
        self, expression: str, names: Sequence[str], leaves: Mapping[str, Tensor], wanted: Sequence[Term], dtype: str, reason: str
    ) -> None:
        super().__init__(names, wanted, dtype)
        self.expression = expression
        self.reason = reason
        self._leaves = leaves
        self._tree = parse(expression)

    def run(self, columns: Mapping[str, Array], out: Sequence[Array]) -> None:
        """Compute all results, and write them into the caller's arrays; see ``Compiled.run``.

        Raises:
            AutodiffError: if a row cannot be evaluated; the error is from the first such row.
        """
        for _, error in self.failures(columns, out):
            raise error

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
        row = as_leaves(dict(values), self.dtype, self.wrt)
        evaluator = Evaluator(self.expression, {**self._leaves, **row}, self.dtype, self._tree)
        with np.errstate(all="ignore"):
            output = one_number(evaluator)
            order = max(map(len, self.terms))
            found = partials(output, {name: row[name] for name in self.wrt}, order) if order and output.requires_grad else {}
        found[()] = output._data
        return [found.get(term, 0.0) for term in self.terms]


__all__ = ["Instruction", "Program", "RowByRowProgram", "compile"]
