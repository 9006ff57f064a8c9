"""Compilation: an expression is traced once and then computed for many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.argument_kinds import optional
from autodiff_cli.autograd.primitives.interface_kinds import COUNT, EXPRESSION, NAMES, VALUES, checks
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.instruction import CUSTOM_VJP, Instruction, Operand
from autodiff_cli.compiler.program import ENGINES, Program, Term, derivatives, terms
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import Tracer, apply, as_operand, as_operands, as_tensor
from autodiff_cli.errors import AutodiffError, NotRecordable, UnknownName, UsageError, setting
from autodiff_cli.evaluation.bindings import new_leaves
from autodiff_cli.evaluation.evaluation import evaluated_inputs, name_list
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.names import check_no_module, element_names, free_names
from autodiff_cli.evaluation.rows.outputs import output_names, run_scalar_outputs, with_list_output
from autodiff_cli.evaluation.rows.row_by_row import OneNumberPerRow, RowByRowProgram, refuse_functions_of_columns
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class TracingEvaluator(Evaluator):
    """An evaluator that runs a program of expressions on tracers."""

    most_nested = 1_000  # conditions are unknown during tracing, so a recursive function would never return

    def choose(self, node: Syntax, values: list[Any]) -> Any:
        """Trace both branches, because the condition may differ between rows."""
        return self.select(node, values[0]) if isinstance(values[0], Tracer) else super().choose(node, values)

    def over_index(self, node: Syntax, limits: list[Any]) -> Any:
        """Trace every term; the number of terms must be known."""
        if any(isinstance(limit, Tracer) for limit in limits):
            limits_text = f"the limits of {node.children[0].text}"
            message = f"{limits_text} depend on a variable, whose value is not known while the expression is traced"
            raise NotRecordable(message, hint=f"give constant limits, as in {setting('const', 'n=10')}")
        return super().over_index(node, limits)

    def with_own_vjp(self, function: UserFunction, operands: list[Any], node: Syntax) -> Any:
        """Trace the body of a function as one instruction that has the derivatives in ``with grad``."""
        arguments = [self.tensors.as_tensor(value) for value in operands]
        tracer = next((argument for argument in arguments if isinstance(argument, Tracer)), None)
        if tracer is None:
            return super().with_own_vjp(function, operands, node)
        value = self.evaluate_body(function, function.body, arguments)
        if not value.is_floating_point():
            return value  # as in PyTorch, a comparison does not have a derivative
        if any(tensor.shape for tensor in (value, *arguments)):
            raise NotRecordable(f"'{function.name}' has user-written derivatives and is called with a tensor that is not a scalar")
        assert function.partials is not None

        def rule(body: Syntax) -> Callable[[Tensor], Tensor]:
            """Return a VJP rule; as in eager evaluation, a derivative is summed to the argument's shape, a scalar here."""
            return lambda g: FUNCTIONS["sum"].function(g * self.evaluate_body(function, body, arguments))

        rules = {"value": None, **{f"x{i}": rule(body) for i, body in enumerate(function.partials)}}
        primitive = Primitive(
            name=CUSTOM_VJP,
            function=self.evaluate_body,
            forward=lambda value, *_: value,
            vjps=rules,
            parameters=tuple(rules),
            series="chain",
            elementwise=True,
        )
        return self.tensors.keep(apply(tracer.tape, primitive, [value, *arguments]), node)


class RowTracingEvaluator(OneNumberPerRow, TracingEvaluator):
    """A tracing evaluator whose variables are columns, with one number in each row."""


@checks(expression=EXPRESSION, const=optional(VALUES), wrt=optional(NAMES), order=COUNT)
def compile(
    expression: str,
    wrt: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    const: Mapping[str, Any] | None = None,
    dtype: DTypeLike = "float64",
    threads: int | None = None,
    variables: Iterable[str] = (),
    engine: str = "auto",
) -> Program | RowByRowProgram:
    """Compile an expression and its derivatives for evaluation on many rows.

    Args:
        expression: a program of the language whose result is one number.  If it ends with ``u, v``, it has several outputs,
            which are called ``u`` and ``v``; an output that is not a name is called ``value1`` or ``value2``, after its position.
        wrt: the variables to differentiate with respect to, as names or as ``"x,y"``; by default all variables, in order of
            occurrence.
        order: 0 for the value alone, 1 for first derivatives, 2 for first and second derivatives.
        const: the values of names that are the same for all rows; they may be arrays.
        dtype: ``float64`` or ``float32``.
        threads: the number of threads; by default one for each processor.
        variables: names that are variables even if the language has a constant with that name, such as ``e``.
        engine: ``llvm`` for machine code, which needs llvmlite; ``numpy``; ``auto`` for machine code if there are enough rows
            to repay the time for compiling it, and llvmlite is installed.

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
    if engine not in ENGINES:
        raise UsageError(f"unknown engine '{engine}'", hint=f"the engines are {', '.join(ENGINES)}")
    expression = with_list_output(expression)
    dtype = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    wrt = [name.strip() for name in wrt.split(",")] if isinstance(wrt, str) else wrt
    names, by, leaves = names_and_values(expression, wrt, const, dtype, variables)
    return compile_terms(expression, names, leaves, terms(by, order), dtype, threads, output_names(parse(expression)), engine)


def compile_terms(
    expression: str,
    names: Sequence[str],
    leaves: Mapping[str, Tensor],
    terms: Sequence[Term],
    dtype: str,
    threads: int | None,
    named: Sequence[str] = (),
    engine: str = "auto",
) -> Program | RowByRowProgram:
    """Compile some derivatives of an expression, of any order.

    Args:
        expression: a program of the language whose result is one number.
        names, leaves: the variables of the expression, and the values of its other names.
        terms: the derivatives, each as a tuple of variables.
        dtype: ``float64`` or ``float32``.
        threads, engine: see ``compile``.
        named: the names of the outputs if the program ends with a list; otherwise, the result must be one number.
    """
    by = dict.fromkeys(name for term in terms for name in term)
    try:
        traced = trace(expression, names, leaves, dtype, RowTracingEvaluator, several=bool(named))
        variables = {name: traced.variables[name] for name in by}
        with np.errstate(all="ignore"), set_grad_enabled(False):
            results = [result for output in traced.outputs for result in derivatives(output, variables, terms)]
        return Program(results, names, terms, dtype, threads, named, engine)
    except AutodiffError as error:
        if not isinstance(error, NotRecordable) and (error.exit_code == 2 or not names):
            raise
        refuse_functions_of_columns(expression, names, list(by) or names, leaves, dtype)
        return RowByRowProgram(expression, names, leaves, terms, dtype, error.message, named)


def names_and_values(
    expression: str, wrt: Sequence[str] | None, const: Mapping[str, Any] | None, dtype: str, variables: Iterable[str] = ()
) -> tuple[list[str], list[str], dict[str, Tensor]]:
    """Return the variables of an expression, the variables to differentiate with respect to, and the constants as tensors.

    The arguments are those of ``compile``.  Unknown and repeated names in ``wrt``, and Python modules, are errors.
    """
    _, constants = evaluated_inputs(None, const, dtype)
    wrt_names = None if wrt is None else name_list(wrt)
    result = free_names(parse(expression), constants, {*variables, *(wrt_names or ())})
    check_no_module(result, expression, variables)
    names = list(result)
    by = list(names) if wrt_names is None else wrt_names
    for name in by:
        if name not in names:
            known = suggestion(name, names) or f"its variables: {', '.join(names) or 'none'}"
            hint = "it is a constant" if name in constants else known
            raise UnknownName(f"the expression has no variable '{name}'", hint=hint)
    if len(set(by)) < len(by):
        raise UsageError(f"a variable is named twice: {', '.join(by)}")
    return names, by, new_leaves(constants, np.dtype(dtype), ())


class Traced(NamedTuple):
    """A traced expression: its tape, its results, which are instructions or constants, and the instruction of each variable."""

    tape: Tape
    outputs: list[Operand]
    variables: dict[str, Instruction]


def trace(
    expression: str,
    names: Sequence[str],
    leaves: Mapping[str, Tensor],
    dtype: str,
    evaluator: type[TracingEvaluator] = TracingEvaluator,
    several: bool = False,
) -> Traced:
    """Trace an expression on a new tape, with an evaluator of a given class; see ``compile_terms`` for the other arguments.

    If ``several``, the list at the end of the program is several outputs.  It is an error if the expression cannot be traced, or an
    output is not a scalar.
    """
    tape = Tape(dtype)
    variables = {name: tape.variable(name) for name in names}
    tracers = {name: as_tensor(tape, variable) for name, variable in variables.items()}
    with np.errstate(all="ignore"), set_grad_enabled(False):
        outputs = run_scalar_outputs(evaluator(expression, {**leaves, **tracers}, np.dtype(dtype)), several)
    return Traced(tape, [as_operand(output) for output in outputs], variables)


def trace_elements(
    source: str,
    programs: Sequence[Syntax],
    shapes: Mapping[str, tuple[int, ...]],
    leaves: Mapping[str, Tensor],
    dtype: str,
    formulas: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
) -> tuple[list[Instruction], list[Operand]]:
    """Trace several programs of the same variables on one new tape; one that cannot be traced is an error.

    The programs are trees of the text ``source``.  The variables have the ``shapes``, and other names the values ``leaves``.
    ``formulas`` are the functions of arrays that are traced as formulas of their elements; see ``Tape``.

    Returns:
        The instructions of the elements of the variables, and the operands of the elements of the results, in order.
    """
    tape = Tape(dtype, formulas)
    elements = {name: [tape.variable(label) for label in element_names(name, shape)] for name, shape in shapes.items()}
    tracers = {name: as_tensor(tape, np.array(elements[name], object).reshape(shape)) for name, shape in shapes.items()}
    results: list[Operand] = []
    with np.errstate(all="ignore"), set_grad_enabled(False):
        for program in programs:
            evaluator = TracingEvaluator(source, {**leaves, **tracers}, np.dtype(dtype), program)
            results.extend(as_operands(evaluator.as_tensor(evaluator.run())).flat)
    all_elements = [element for group in elements.values() for element in group]
    return all_elements, results


__all__ = ["Instruction", "Program", "RowByRowProgram", "compile"]
