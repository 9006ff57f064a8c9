"""The body of a definition, such as ``y**3 + y = x`` in ``root(y=1, y**3 + y = x)``, on a tape of its own.

The tape has a variable for each element of a bound name, and for each element of every other tensor that the body reads.  If the
body applies to numbers only, it is traced for one element, and a tensor has one variable: the definition then holds for every
element of the tensors, as in ``map`` for every row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import Tracer, as_operands, as_tensor
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.coercion import is_plain_number
from autodiff_cli.evaluation.compile import RowTracingEvaluator, TracingEvaluator
from autodiff_cli.evaluation.names import element_names
from autodiff_cli.language.tree import Syntax, new_tree
from autodiff_cli.precise.arithmetic import Exact

if TYPE_CHECKING:
    from autodiff_cli.evaluation.stack_machine import Machine

    Shapes = Mapping[str, tuple[int, ...]]


class Body:
    """The traced body of a definition.

    Args:
        machine: the evaluator of the program, which has the values of the other names.
        names: the bound names with the shapes of their values.
        trees: the expressions of the body.

    Attributes:
        unknowns: the variable of each element of the bound names.
        parameters: the variable of each element of the tensors that the body reads.
        arguments: the value of each parameter.
        sources: the name from which each parameter was read; empty for a value without one.
        results: the elements of the values of the expressions.
    """

    def __init__(self, machine: Machine, names: Shapes, trees: Sequence[Syntax]) -> None:
        if any(names.values()):
            self._trace(machine, names, trees, whole=True)
            return
        try:
            self._trace(machine, names, trees, whole=False)
        except AutodiffError:  # a function of arrays, which the second trace reports if it is an error
            self._trace(machine, names, trees, whole=True)

    def _trace(self, machine: Machine, names: Shapes, trees: Sequence[Syntax], whole: bool) -> None:
        """Set the attributes from a trace: of whole tensors, or else of one element, for which a tensor has one variable."""
        tape = Tape(np.float64)
        bound = {name: _variables(tape, element_names(name, shape), shape) for name, shape in names.items()}
        self.unknowns: list[Instruction] = [element for elements in bound.values() for element in elements.flat]
        evaluator = (_WholeBody if whole else _ElementBody)(machine, tape, bound, trees)
        with np.errstate(all="ignore"), set_grad_enabled(False), evaluator.tensors.unlisted():
            values = [evaluator.tensors.as_tensor(evaluator.evaluate(tree)) for tree in trees]
        self.results: list[Operand] = [operand for value in values for operand in as_operands(value).flat]
        self.parameters, self.sources = evaluator.parameters, evaluator.sources
        self.arguments = [part for tensor in evaluator.read for part in (elements_of(tensor) if whole else [tensor])]


class _WholeBody(TracingEvaluator):
    """An evaluator of a body: a tensor of the program, listed in ``read``, becomes variables, if ``whole`` one for each element."""

    whole = True

    def __init__(self, machine: Machine, tape: Tape, bound: Mapping[str, Any], trees: Sequence[Syntax]) -> None:
        super().__init__(machine.source, {}, machine.dtype, new_tree("start", *trees))
        self._machine = machine
        self._tape = tape
        self._known: dict[int, Tensor] = {}
        self.functions = machine.functions
        self._scope = {name: as_tensor(tape, elements) for name, elements in bound.items()}
        self.parameters: list[Instruction] = []
        self.read: list[Tensor] = []
        self.sources: list[str] = []

    def name(self, node: Syntax) -> Any:
        """Return the value of a name that the body binds, or of one around it, whose tensors become variables."""
        value = self._scope.get(node.children[0].text)
        if value is None:
            value = self._outside(node)
        if isinstance(value, tuple):
            return type(value)(map(self._traced, value))
        return self._traced(value, node.children[0].text)

    def _outside(self, node: Syntax) -> Any:
        """Return the value of a name that the body does not bind; a function does not see the locals of its caller."""
        machine = self._machine
        scope = machine._scope
        if self._depth:
            machine._scope = {}
        try:
            return machine.name(node)
        finally:
            machine._scope = scope

    def apply(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        if all(map(is_plain_number, (*operands, *named.values()))):  # as exactly as the program computes it
            return self._traced(self._machine.apply(op, operands, named, node))
        return super().apply(op, operands, named, node)

    def _traced(self, value: Any, source: str = "") -> Any:
        """Return a tensor of the program as variables of the tape; return any other value unchanged."""
        if isinstance(value, Exact) and value.exact.value != float(value):
            from autodiff_cli.precise.evaluator import precise_tensor

            value = precise_tensor(value.exact.math, value)
        if not isinstance(value, Tensor) or (isinstance(value, Tracer) and value.tape is self._tape):
            return value
        if id(value) not in self._known:
            shape = value.shape if self.whole else ()
            elements = _variables(self._tape, element_names(f"p{len(self.read)}.", shape), shape)
            self.parameters += elements.flat
            self.read.append(value)
            self.sources += [source] * elements.size
            self._known[id(value)] = as_tensor(self._tape, elements)
        return self._known[id(value)]


class _ElementBody(_WholeBody, RowTracingEvaluator):
    """An evaluator of a body for one element of the tensors."""

    whole = False


def elements_of(tensor: Tensor) -> list[Tensor]:
    """Return the elements of a tensor as scalars."""
    return list(FUNCTIONS["unbind"].function(FUNCTIONS["reshape"].function(tensor, [-1]))) if tensor.shape else [tensor]


def _variables(tape: Tape, labels: Sequence[str], shape: tuple[int, ...]) -> Any:
    """Append a variable for each element of a value to the tape, and return them as an array."""
    elements = np.empty(shape, object)
    for i, label in enumerate(labels):
        elements.flat[i] = tape.variable(label)
    return elements
