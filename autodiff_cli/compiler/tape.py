"""The tape: a straight list of instructions, each of which computes one number from those before it.

Equal instructions are one, operations on constants are computed at once, and an operation is replaced by a shorter one
where that is exact for every number (``compiler.simplify``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.primitives.arguments import UNFIT, mismatch
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.compiler.instruction import Instruction, Operand, identity
from autodiff_cli.compiler.simplify import simplified
from autodiff_cli.errors import NotRecordable

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from autodiff_cli.autograd.dtypes import DType

MOST_INSTRUCTIONS = 200_000


class Tape:
    """A list of instructions.

    Args:
        dtype: float64 or float32, the type of the variables.

    Attributes:
        instructions: all, in order: each comes after its operands.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype: DType = np.dtype(dtype)
        self.instructions: list[Instruction] = []
        self._known: dict[tuple[object, ...], Instruction] = {}
        self._dtypes: dict[tuple[object, ...], DType] = {}

    def variable(self, name: str) -> Instruction:
        """Append a number that is not known yet."""
        return self._appended(Instruction(self, None, (), (), self.dtype, len(self.instructions), name))

    def of(self, name: str, *operands: Operand) -> Operand:
        """Return the result of the function of this name."""
        return self.record(PRIMITIVES[FUNCTIONS[name].function], operands)

    def record(self, primitive: Primitive, operands: tuple[Operand, ...], statics: tuple[Any, ...] = ()) -> Operand:
        """Return the result of a primitive: an instruction, new or not, or a constant.

        Args:
            primitive: of single numbers.
            operands: a number for each of its tensors.
            statics: its other arguments.

        Raises:
            NotRecordable: if the tape gets too long, or a static argument cannot be compared with others.
        """
        conditions = [o.dtype.kind == "b" if type(o) is Instruction else type(o) is bool for o in operands]
        if True in conditions and self._dtype(primitive, operands, statics) == np.float16:
            # NumPy computes functions of booleans in half precision.
            operands = tuple(self._counted(v) if condition else v for v, condition in zip(operands, conditions, strict=True))
        if Instruction not in map(type, operands):
            return self._folded(primitive, operands, statics)
        arguments = (*operands, *statics)
        shorter = simplified(self, primitive, arguments)
        if shorter is not None:
            return shorter
        key: tuple[object, ...] = (primitive, *[a if type(a) is Instruction else identity(a) for a in arguments])
        if primitive.name in ("add", "mul"):
            key = (primitive, frozenset(key[1:]))
        if key not in self._known:
            dtype = self._dtype(primitive, operands, statics)
            self._known[key] = self._appended(Instruction(self, primitive, operands, statics, dtype, len(self.instructions)))
        return self._known[key]

    def _appended(self, instruction: Instruction) -> Instruction:
        if len(self.instructions) >= MOST_INSTRUCTIONS:
            raise NotRecordable(f"the derivatives take more than {MOST_INSTRUCTIONS:,} operations")
        self.instructions.append(instruction)
        return instruction

    def _folded(self, primitive: Primitive, operands: tuple[Operand, ...], statics: tuple[Any, ...]) -> float:
        constants = [self.dtype.type(value) if type(value) is float else np.asarray(value)[()] for value in operands]
        with np.errstate(all="ignore"):
            value = primitive.forward(*constants, *statics)
        folded: float = value.item() if hasattr(value, "item") else value
        return folded

    def _counted(self, condition: Operand) -> Operand:
        """Return a condition as 1.0 or 0.0."""
        return self.of("mul", condition, 1.0) if type(condition) is Instruction else float(condition)

    def _dtype(self, primitive: Primitive, operands: tuple[Operand, ...], statics: tuple[Any, ...]) -> DType:
        """Return the type of a result: that of the function of ones."""
        kinds = [operand.dtype if type(operand) is Instruction else type(operand) for operand in operands]
        if primitive.series != "fixed" and all(kind is self.dtype or kind is float or kind is int for kind in kinds):
            return self.dtype
        key = (primitive, *kinds)
        if key not in self._dtypes:
            ones = [np.ones(1, v.dtype) if type(v) is Instruction else v for v in operands]
            with np.errstate(all="ignore"):
                try:
                    made = primitive.forward(*ones, *statics)
                except UNFIT as error:
                    raise mismatch(primitive.name, error, ones) from None
            self._dtypes[key] = np.asarray(made).dtype  # a custom VJP may return a plain number
        return self._dtypes[key]
