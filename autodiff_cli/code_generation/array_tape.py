"""Formulas of vectors and matrices on one tape: each instruction stands for an array, and equal parts are computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import as_operand, as_tensor, takes_array
from autodiff_cli.errors import NotRecordable
from autodiff_cli.evaluation.coercion import flat_items
from autodiff_cli.evaluation.compile import TracingEvaluator
from autodiff_cli.language.tree import Syntax

CREATORS = ("eye", "ones", "zeros")


class _Shape(NamedTuple):
    """The shape of an array."""

    array: Operand


class ArrayTracingEvaluator(TracingEvaluator):
    """A tracing evaluator whose variables are arrays.

    Attributes:
        tape: the tape that records the operations.
    """

    tape: Tape

    def apply(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Any:
        """Record a function of arrays as one instruction, others as for numbers; ``NotRecordable`` if these return an array."""
        if op.name in CREATORS:  # the first instruction is a variable, whose type the new array has
            return self._recorded(op.name, [self.tape.instructions[0], *operands])
        if op.name in ("reshape", "flatten"):
            lengths = [-1] if op.name == "flatten" else flat_items(operands[1:])  # -1 stands for the number of elements
            return self._recorded("reshape", [operands[0], *lengths])
        if op.name == "einsum":
            equation, *arrays = operands
            return self._recorded(op.name, arrays, [equation])
        if op.name in ("matmul", "diag", "diagonal") or takes_array(op):
            return self._function(op, operands, named, node)
        result = super().apply(op, operands, named, node)
        if isinstance(result, Tensor) and result.shape:
            raise NotRecordable("a list of numbers is not exported", span=node.span, source=self.source)
        return result

    def _function(self, op: FunctionInfo, operands: list[Any], named: dict[str, Any], node: Syntax) -> Tensor:
        """Record a function of arrays.  Last arguments that are defaults are left out, but a dimension only if it is ``None``."""
        arguments, keywords = self.tensors.arguments(op, operands, named, node)
        defaults = dict(zip(op.parameters[op.required :], op.defaults, strict=True))
        values = {**defaults, **dict(zip(op.parameters, arguments, strict=False)), **keywords}
        arrays = [values.pop(parameter) for parameter in op.tensors]
        for parameter, value in reversed(list(values.items())):  # up to the last that is needed
            is_needed = value is not None and (parameter == "dim" or value != defaults[parameter])
            if is_needed:
                break
            del values[parameter]
        return self._recorded(op.name, arrays, list(values.values()))

    def _recorded(self, name: str, operands: Sequence[Any], statics: Sequence[Any] = ()) -> Tensor:
        """Record a function of operands and of ``statics``, its other arguments; ``NotRecordable`` if all operands are numbers."""
        instructions = tuple(map(as_operand, operands))
        if not any(type(instruction) is Instruction for instruction in instructions):
            raise NotRecordable(f"'{name}' of constants is not exported")
        return as_tensor(self.tape, self.tape.record(_primitive(name), instructions, tuple(statics)))

    def attribute(self, thing: object, name: str, node: Syntax) -> Any:
        """Return the shape of an array, or for any other name, which is ``T`` in formulas, its transpose."""
        return _Shape(as_operand(thing)) if name == "shape" else self._recorded("T", [thing])

    def element(self, thing: object, keys: list[Any], node: Syntax) -> Any:
        """Return elements, rows or columns of an array, or an element of a shape."""
        if isinstance(thing, _Shape):
            return self._recorded("shape", [thing.array], keys)
        return self._recorded("index", [thing], list(map(_subscript, keys)))


def _subscript(key: object) -> str:
    """Return an index as text: a number, ``None`` or ``:``; raise ``NotRecordable`` for another one."""
    if key is not None and key != slice(None) and type(key) is not int:
        raise NotRecordable("an index is a number, none or a whole slice in formulas of arrays")
    return ":" if isinstance(key, slice) else str(key)


@cache
def _primitive(name: str) -> Primitive:
    """Return a primitive that stands for a function of arrays in the code; the tape asks it only for the type of its result."""
    return Primitive(name=name, forward=lambda *_: 1.0, parameters=(), vjps={}, series="linear")


def array_tape(trees: Sequence[Syntax], names: Sequence[str], numbers: Mapping[str, Tensor]) -> tuple[Tape, list[Operand]]:
    """Return a tape on which each instruction stands for an array, and the results of the formulas ``trees`` in order.

    ``names`` are the variables, and ``numbers`` the values of constants.
    """
    tape, results = Tape("float64"), list[Operand]()
    values = {**numbers, **{name: as_tensor(tape, tape.variable(name)) for name in names}}
    for tree in trees:
        evaluator = ArrayTracingEvaluator("", values, np.dtype("float64"), tree)  # "": a derived formula has no source text
        evaluator.tape = tape
        with np.errstate(all="ignore"), set_grad_enabled(False):
            results.append(as_operand(evaluator.as_tensor(evaluator.program(tree))))
    return tape, results
