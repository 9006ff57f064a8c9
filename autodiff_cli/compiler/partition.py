"""The division of a program into what is computed once and what is computed for every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.compiler.instruction import CUSTOM_VJP, Instruction, Operand
from autodiff_cli.postorder import postorder

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array, DType


def resolved(operand: Operand) -> Operand:
    """Return the operand that computes the value; for a custom VJP, this is the first operand of the instruction."""
    while type(operand) is Instruction and operand.is_(CUSTOM_VJP):
        operand = operand.operands[0]
    return operand


def computing(operands: Iterable[Operand]) -> list[Instruction]:
    """Return the instructions that compute the operands; operands that are constants, or resolve to constants, are omitted."""
    return [operand for operand in map(resolved, operands) if type(operand) is Instruction]


def needed(results: Iterable[Operand]) -> list[Instruction]:
    """Return the instructions that the results depend on, in tape order."""
    instructions = postorder(computing(results), lambda instruction: computing(instruction.operands))
    return sorted(instructions, key=lambda instruction: instruction.index)


class ProgramPartition(NamedTuple):
    """The instructions of a program, for a given set of variables that have one value for all rows.

    Attributes:
        scalars: the variables that have one value.
        columns: the other variables.
        once: the instructions that depend on scalars only, in tape order.
        rows: the instructions to compute for every row, in tape order.
    """

    scalars: list[Instruction]
    columns: list[Instruction]
    once: list[Instruction]
    rows: list[Instruction]

    def constants(self, columns: Mapping[str, Array], dtype: DType) -> dict[Instruction, Any]:
        """Return the values of ``scalars`` and ``once``, given those of all variables by name; ``dtype`` is the type of scalars."""
        values: dict[Instruction, Any] = {}
        with np.errstate(all="ignore"):  # 1e308 is inf in float32
            for variable in self.scalars:
                values[variable] = dtype.type(columns[variable.variable])
            for instruction in self.once:
                values[instruction] = evaluated(instruction, values)
        return values


def evaluated(instruction: Instruction, values: Mapping[Instruction, Any]) -> Any:
    """Return the result of an instruction that is not a variable, given the values of the instructions among its operands."""
    assert instruction.primitive is not None
    operands = [values[operand] if type(operand) is Instruction else operand for operand in map(resolved, instruction.operands)]
    return instruction.primitive.forward(*operands, *instruction.statics)


def partition(instructions: Iterable[Instruction], scalars: frozenset[str]) -> ProgramPartition:
    """Divide the instructions of a program, given in tape order; ``scalars`` are the names of the variables with one value."""
    parts = ProgramPartition([], [], [], [])
    constants: set[Instruction] = set()  # the instructions with one value for all rows
    for instruction in instructions:
        if instruction.primitive is None:
            is_constant = instruction.variable in scalars
            (parts.scalars if is_constant else parts.columns).append(instruction)
        else:
            is_constant = constants.issuperset(computing(instruction.operands))
            (parts.once if is_constant else parts.rows).append(instruction)
        if is_constant:
            constants.add(instruction)
    return parts
