"""Reverse mode on a tape; the derivatives are appended as instructions, which can be differentiated again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import Primitive, argument_names
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.compiler.instruction import Instruction, Operand
from autodiff_cli.compiler.tape import Tape
from autodiff_cli.compiler.tracer import as_operand, as_tensor
from autodiff_cli.errors import FOREIGN, AutodiffError, NotRecordable
from autodiff_cli.postorder import postorder


def gradient(output: Operand, wrt: Sequence[Instruction]) -> list[Operand]:
    """Append the derivatives of an output to its tape, and return them: 0.0 for what the output does not depend on.

    The VJP rules come from the declarations of the primitives.  A branch that is not selected does not contribute, because
    every cotangent is stored with the condition under which its branch is selected.  Eager evaluation uses masked cotangents
    for the same purpose (``autograd.primitives.selection_masks``).  If a rule cannot be traced, ``NotRecordable`` is raised.
    """
    if type(output) is not Instruction:
        return [0.0] * len(wrt)
    tape = output.tape
    active = _active(output, wrt)
    cotangents: dict[Instruction, tuple[Operand, Operand]] = {output: (1.0, True)}  # each with its condition; ``True`` is always
    for instruction in reversed(active):
        if instruction.primitive is None or instruction not in cotangents:
            continue
        cotangent, condition = cotangents[instruction]
        for operand, part, selected in _contributions(instruction, instruction.primitive, cotangent, condition, active):
            if operand in cotangents:
                before, earlier = cotangents[operand]
                cotangents[operand] = tape.call("add", before, part), _either(tape, earlier, selected)
            else:
                cotangents[operand] = part, selected
    return [cotangents[variable][0] if variable in cotangents else 0.0 for variable in wrt]


def _active(output: Instruction, wrt: Sequence[Instruction]) -> dict[Instruction, None]:
    """Return the differentiable instructions on the paths from ``wrt`` to the output, as the keys in tape order."""
    inputs = set(wrt)
    active: dict[Instruction, None] = {}
    for instruction in sorted(postorder([output], _differentiable), key=lambda i: i.index):
        if instruction in inputs or any(operand in active for operand in _differentiable(instruction)):
            active[instruction] = None
    return active


def _differentiable(instruction: Instruction) -> list[Instruction]:
    """Return the operands with respect to which an instruction is differentiable; constants are left out."""
    primitive = instruction.primitive
    if primitive is None or primitive.series == "fixed":  # not differentiable
        return []
    operands = [instruction.operands[i] for i in primitive.differentiable_args]
    return [operand for operand in operands if type(operand) is Instruction]


def _contributions(
    instruction: Instruction, primitive: Primitive, cotangent: Operand, selected: Operand, active: Mapping[Instruction, None]
) -> Iterable[tuple[Instruction, Operand, Operand]]:
    """Yield each active operand, what it receives of the cotangent of the instruction, and the condition of its selection.

    ``selected`` is the condition under which the instruction is selected; a condition that always holds is ``True``.
    """
    tape = instruction.tape
    for operand, (name, rule) in zip(instruction.operands, primitive.vjps.items(), strict=True):
        if rule is None or type(operand) is not Instruction or operand not in active:
            continue
        saved = [_saved_value(instruction, primitive, parameter) for parameter in argument_names(rule)[1:]]
        part = _apply_rule(primitive, rule, cotangent, saved)
        condition = selected
        if name in primitive.selects:  # such as a branch of ``where``: its derivative, the rule for 1, is 1 or 0
            slope = _apply_rule(primitive, rule, 1.0, saved)
            is_chosen = tape.call("ne", slope, 0.0)
            condition = _both(tape, selected, is_chosen)
        if condition is not True and primitive.series != "linear":  # a linear rule returns 0 for the cotangent 0
            part = tape.call("where", condition, part, 0.0)
        yield operand, part, condition


def _saved_value(instruction: Instruction, primitive: Primitive, name: str) -> object:
    """Return the argument of a VJP rule with this name: the result of the instruction, an operand, or a static argument."""
    if name == "out":
        return as_tensor(instruction.tape, instruction)
    if name not in primitive.parameters:
        return ()  # the shape of a scalar
    position = primitive.parameters.index(name)
    if position < primitive.arity:
        return _rule_argument(instruction.operands[position])
    return instruction.statics[position - primitive.arity]


def _rule_argument(operand: Operand) -> Tensor | np.float64:
    """Return an operand as a VJP rule expects it; a constant becomes a NumPy float64, which allows division by 0."""
    return as_tensor(operand.tape, operand) if type(operand) is Instruction else np.float64(operand)


def _apply_rule(primitive: Primitive, rule: Callable[..., Any], cotangent: Operand, saved: Sequence[object]) -> Operand:
    """Return what a VJP rule computes from a cotangent and its other arguments, or ``NotRecordable`` if it cannot be traced."""
    try:
        with np.errstate(all="ignore"):
            return as_operand(rule(_rule_argument(cotangent), *saved))
    except FOREIGN as error:
        why = f": {error.message}" if isinstance(error, AutodiffError) else ""  # messages of other exceptions do not help the user
        raise NotRecordable(f"the derivative of '{primitive.name}' has no elementwise formula{why}") from error


def _both(tape: Tape, left: Operand, right: Operand) -> Operand:
    """Return the conjunction of two conditions, without an instruction if one is always true."""
    if left is True or right is True:
        return right if left is True else left
    return tape.call("logical_and", left, right)


def _either(tape: Tape, left: Operand, right: Operand) -> Operand:
    """Return the disjunction of two conditions, without an instruction if one is always true."""
    return True if left is True or right is True else tape.call("logical_or", left, right)
