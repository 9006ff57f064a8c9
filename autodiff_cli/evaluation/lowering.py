"""Lowering: primitives that a target does not support are replaced by their decompositions.

A VJP rule may use primitives that are not functions of the language, because a formula of functions would lose digits.
For readable output and for other programming languages, the declaration of such a primitive contains an equivalent
formula (``decomposition``).  Lowering traces the decomposition on the operands of the instruction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.primitives.primitive import Primitive, argument_names
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.partition import computing, needed, resolved
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import as_operand, as_tensor
from autodiff_cli.errors import NotRecordable
from autodiff_cli.evaluation.compile import TracingEvaluator

Known = Callable[[Primitive, tuple[Any, ...]], bool]
"""A predicate that is true if a target supports a primitive with the given static arguments."""


def is_function(primitive: Primitive, _: tuple[Any, ...] = ()) -> bool:
    """Return whether a primitive, with any static arguments, is a function with the same parameters or writes itself as one."""
    if primitive.notation is not None:
        return True
    return primitive.name in FUNCTIONS and set(primitive.parameters) <= set(FUNCTIONS[primitive.name].parameters)


def decomposition(primitive: Primitive, statics: Sequence[Any]) -> str | None:
    """Return the declared decomposition of a primitive as text; ``None`` if the primitive does not have one."""
    declared = primitive.decomposition
    if not callable(declared):
        return declared
    values = dict(zip(primitive.parameters[primitive.arity :], statics, strict=True))
    return declared(*[values[name] for name in argument_names(declared)])


def lower(tape: Tape, results: Sequence[Operand], known: Known = is_function) -> list[Operand]:
    """Express results with the primitives for which ``known`` is true, and append new instructions to the tape.

    An instruction is lowered after its operands, and the instructions of a decomposition are lowered in turn.  A primitive that is
    neither known nor has a decomposition is an error.
    """
    lowered: dict[Operand, Operand] = {}

    def replaced(operand: Operand) -> Operand:
        """Return what stands for an operand that is lowered; a constant stands for itself."""
        operand = resolved(operand)
        return lowered[operand] if type(operand) is Instruction else operand

    # A replaced instruction stays on the stack until its decomposition, the second item, is lowered.
    stack: list[tuple[Instruction, Instruction | None]] = [(instruction, None) for instruction in needed(results)[::-1]]
    while stack:
        instruction, replacement = stack.pop()
        primitive = instruction.primitive
        if replacement is not None:
            lowered[instruction] = lowered[replacement]
        if instruction in lowered:
            continue
        if primitive is None:  # a variable
            lowered[instruction] = instruction
            continue
        missing = [operand for operand in computing(instruction.operands) if operand not in lowered]
        if missing:
            stack += [(instruction, None), *((operand, None) for operand in missing)]
            continue
        operands = tuple(map(replaced, instruction.operands))
        if known(primitive, instruction.statics):
            result = tape.record(primitive, operands, instruction.statics)
            lowered[instruction] = lowered[result] = result
            continue
        result = trace_decomposition(tape, primitive, operands, instruction.statics)
        if type(result) is Instruction:
            stack += [(instruction, result), (result, None)]
        else:  # a constant
            lowered[instruction] = lowered[result] = result
    return [replaced(result) for result in results]


def trace_decomposition(tape: Tape, primitive: Primitive, operands: tuple[Operand, ...], statics: tuple[Any, ...]) -> Operand:
    """Append the decomposition of a primitive to the tape, and return the result; a primitive without one is an error."""
    text = decomposition(primitive, statics)
    if text is None:
        raise NotRecordable(f"'{primitive.name}' has no decomposition")
    evaluator = _decomposition_evaluator(text, tape.dtype)
    evaluator.start_counting()  # of this use
    tensors = [as_tensor(tape, operand) if type(operand) is Instruction else operand for operand in operands]
    evaluator.names = dict(zip(primitive.parameters, (*tensors, *statics), strict=True))
    with set_grad_enabled(False), evaluator.tensors.unlisted():
        value = evaluator.program(evaluator.tree)
    return as_operand(evaluator.tensors.as_tensor(value))


@functools.lru_cache(256)
def _decomposition_evaluator(text: str, dtype: np.dtype[Any]) -> TracingEvaluator:
    """Return the evaluator of a decomposition, which is parsed once and used with new names each time."""
    return TracingEvaluator(text, {}, dtype)
