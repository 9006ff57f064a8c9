"""The function with which a page computes the numbers of a lesson for other inputs.

All operations of an explanation are traced on one tape, and a backward pass on this tape computes the contributions.  Each use of a
tensor by an operation is an instruction of its own, whose gradient is the contribution of the operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.code_generation.export import results_in_javascript
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.compiler.instruction import CUSTOM_VJP, Instruction, Operand
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import Tracer, as_operands, as_tensor
from autodiff_cli.errors import AutodiffError, NotRecordable
from autodiff_cli.evaluation.compile import TracingEvaluator
from autodiff_cli.explanation.model import CotangentContribution, ExplainedStep, Explanation, ForwardLine, Sweep
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.limits import check_count

if TYPE_CHECKING:
    from autodiff_cli.compiler.tracer import Operands

NAME = "lessonCode"
"""The name of the function in the page."""
MOST_ELEMENTS = 64
"""The most elements of inputs, each of which has a field in the page."""
MOST_INSTRUCTIONS = 30_000
"""The most instructions of the function, which takes some milliseconds then."""


def function_source(result: Explanation) -> str:
    """Return the source of a JavaScript function of the elements of all inputs, in their order.

    It returns the elements of the values of all lines, and then, for each contribution, the elements of the local derivative, if it
    has one, and of the contribution.

    Raises:
        LimitError: if the inputs have more than ``MOST_ELEMENTS`` elements, or the function is too long.
        NotRecordable: if a step cannot be computed by JavaScript.
    """
    if result.sweep is None:
        raise NotRecordable("the result does not depend on a variable")
    elements = sum(value.size for value in map(np.asarray, result.given.values()))
    check_count(elements, MOST_ELEMENTS, "the inputs have {} elements, more than the limit of {}")
    with np.errstate(all="ignore"), set_grad_enabled(False):
        tracing = _Tracing(result)
        results = [*tracing.values(), *tracing.contributions(result.sweep)]
    check_count(len(tracing.tape.instructions), MOST_INSTRUCTIONS, "the numbers take {} operations, more than the limit of {}")
    return results_in_javascript(tracing.tape, results, tracing.inputs, NAME)


_USE = Primitive(
    name=CUSTOM_VJP,
    forward=lambda value, x: value,
    vjps={"value": None, "x": lambda g: g},
    parameters=("value", "x"),
    series="linear",
    elementwise=True,
)
"""The identity, whose gradient is that of one use of its operand."""


class _Evaluator(TracingEvaluator):
    """A tracing evaluator that makes an instruction for each use of the elements of a tensor."""

    uses: dict[str, list[Operands]] | None = None
    """The instructions of each use, by the name of the tensor; ``None`` if uses are not recorded."""

    def name(self, node: Syntax) -> Any:
        """Return the value of a name, which is a new use of a tensor unless the name is local to a function."""
        value = super().name(node)
        name = node.children[0].text
        if self.uses is None or name in self._scope or not isinstance(value, Tracer):
            return value
        use = np.array([_use(value.tape, operand) for operand in value._data.flat], object).reshape(value.shape)
        self.uses.setdefault(name, []).append(use)
        return as_tensor(value.tape, use)


class _Tracing:
    """The operations of an explanation on a tape.

    Attributes:
        inputs: the names of the elements of the inputs.
        uses: the uses of each tensor by the operation of a line, by the name of the line.
    """

    def __init__(self, result: Explanation) -> None:
        self.result = result
        self.tape = Tape("float64")
        self.inputs: list[str] = []
        self.uses: dict[str, dict[str, list[Operands]]] = {}
        self.evaluator = _Evaluator(result.expression, {}, self.tape.dtype)
        self.evaluator.tensors.listing = False
        for statement in parse(result.expression).children:  # so that operations may call the functions of the program
            if statement.kind.startswith("definition"):
                self.evaluator.evaluate(statement)

    def values(self) -> list[Operand]:
        """Trace all lines, and return the elements of their values."""
        return [operand for line in self.result.forward for operand in self.trace_line(line).flat]

    def trace_line(self, line: ForwardLine) -> Operands:
        """Trace an input or an operation, name the result, and return its elements; raise ``NotRecordable`` for another shape."""
        if line.name in self.result.given:
            tensor = self.input(np.shape(self.result.given[line.name]))
        else:
            self.evaluator.uses = self.uses[line.name] = {}  # the evaluator fills it
            tensor = self.value(line.operation)
        if line.value is None or tensor.shape != np.shape(line.value):
            raise _unknown(unparse(line.operation))
        self.evaluator.names[line.name] = tensor
        return as_operands(tensor)

    def input(self, shape: tuple[int, ...]) -> Tensor:
        """Return the next input, whose elements are new variables of the tape."""
        names = [f"input{len(self.inputs) + i}" for i in range(int(np.prod(shape)))]
        self.inputs += names
        return as_tensor(self.tape, np.array([self.tape.variable(name) for name in names], object).reshape(shape))

    def value(self, tree: Syntax) -> Tensor:
        """Return the value of an expression, traced on the tape; an operation that fails is ``NotRecordable``."""
        try:
            return self.evaluator.tensors.as_tensor(self.evaluator.evaluate(tree))
        except NotRecordable:
            raise
        except AutodiffError:  # an operation inside a function is a description, which may leave out arguments
            raise _unknown(unparse(tree)) from None

    def contributions(self, sweep: Sweep) -> list[Operand]:
        """Return, for each contribution, the local derivative if it is known, and the value: the gradient of its uses, added."""
        parts = [(step, contribution) for step in sweep.steps for contribution in step.contributions]
        uses_of_parts = [self.uses_of_input(step, contribution) for step, contribution in parts]
        slopes = iter(self.slopes_of_uses([use for uses in uses_of_parts for use in uses], sweep))
        self.evaluator.uses = None  # the formulas of derivatives are not uses
        results: list[Operand] = []
        for (step, contribution), uses in zip(parts, uses_of_parts, strict=True):
            if contribution.local is not None:
                results += self.local(step, contribution, np.shape(contribution.local))
            slopes_by_use = [[next(slopes) for _ in use.flat] for use in uses]
            results += [self.sum(slopes_of_element) for slopes_of_element in zip(*slopes_by_use, strict=True)]
        return results

    def slopes_of_uses(self, uses: Sequence[Operands], sweep: Sweep) -> Sequence[Operand]:
        """Return the gradient of the weighted output with respect to the elements of uses, in order."""
        output = as_operands(self.evaluator.names[self.result.output])
        weights = np.ravel(sweep.start).tolist()
        total = self.sum([self.tape.call("mul", element, weight) for element, weight in zip(output.flat, weights, strict=True)])
        elements = [element for use in uses for element in use.flat]
        instructions = [element for element in elements if type(element) is Instruction]
        if len(instructions) < len(elements):
            raise _unknown(self.result.expression)
        return gradient(total, instructions)

    def uses_of_input(self, step: ExplainedStep, contribution: CotangentContribution) -> list[Operands]:
        """Return the uses that a contribution sums, all or one of several; raise ``NotRecordable`` if they do not match."""
        uses = self.uses.get(step.names[0], {}).get(contribution.to, []) if len(step.names) == 1 else []
        to_same_input = [other for other in step.contributions if other.to == contribution.to]
        if not uses or len(to_same_input) not in (1, len(uses)):
            raise _unknown(unparse(step.operation))
        return uses if len(to_same_input) == 1 else [uses[to_same_input.index(contribution)]]

    def local(self, step: ExplainedStep, contribution: CotangentContribution, shape: tuple[int, ...]) -> list[Operand]:
        """Return the elements of the local derivative of a contribution, computed by its formula and broadcast to ``shape``."""
        if contribution.formula is None:
            raise NotRecordable(f"the derivative of {unparse(step.operation)} does not have a formula")
        return list(np.broadcast_to(as_operands(self.value(contribution.formula)), shape).flat)

    def sum(self, operands: Sequence[Operand]) -> Operand:
        """Return the sum of operands, computed on the tape."""
        return reduce(partial(self.tape.call, "add"), operands)


def _use(tape: Tape, operand: Operand) -> Operand:
    """Append an instruction for one use of an operand and return it; an operand that is not a float remains itself."""
    is_float = type(operand) is float or (type(operand) is Instruction and operand.dtype.kind == "f")
    if not is_float:
        return operand
    use = Instruction(tape, _USE, (operand, operand), (), tape.dtype, len(tape.instructions))  # its value and its operand
    tape.instructions.append(use)
    return use


def _unknown(operation: str) -> NotRecordable:
    """Return the error of an operation whose numbers the page cannot compute."""
    return NotRecordable(f"the page cannot compute {operation} from its inputs")
