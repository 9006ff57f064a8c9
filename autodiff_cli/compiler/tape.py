"""The tape: a linear list of instructions, each of which computes one scalar from earlier instructions.

Equal instructions are stored once, operations on constants are evaluated immediately, and an operation is replaced by a
simpler one if the result is exactly the same for all numbers (``compiler.simplify``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
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
"""The maximum length of a tape, which bounds the time and memory of tracing."""


class Tape:
    """A linear list of instructions.

    Args:
        dtype: the element type of the variables, float64 or float32.
        formulas: the functions of arrays that are traced as formulas of their elements, by the names of the primitives.

    Attributes:
        instructions: all instructions in order; each instruction follows its operands.
    """

    def __init__(self, dtype: DTypeLike, formulas: Mapping[str, Callable[..., Any]] = MappingProxyType({})) -> None:
        self.dtype: DType = np.dtype(dtype)
        self.formulas = formulas
        self.instructions: list[Instruction] = []
        self._known: dict[tuple[object, ...], Instruction] = {}  # by primitive and arguments
        self._dtypes: dict[tuple[object, ...], DType] = {}  # of results, by primitive and types of the operands

    def variable(self, name: str) -> Instruction:
        """Append a variable, and return its instruction."""
        return self._append(Instruction(self, None, (), (), self.dtype, len(self.instructions), name))

    def call(self, name: str, *operands: Operand) -> Operand:
        """Return the result of the function with this name."""
        return self.record(PRIMITIVES[FUNCTIONS[name].function], operands)

    def record(self, primitive: Primitive, operands: tuple[Operand, ...], statics: tuple[Any, ...] = ()) -> Operand:
        """Return the result of a primitive of scalars for its operands and static arguments: an instruction or a constant.

        If the tape becomes too long, or a static argument is not hashable, ``NotRecordable`` is raised.
        """
        are_conditions = [o.dtype.kind == "b" if type(o) is Instruction else type(o) is bool for o in operands]
        if True in are_conditions and self._dtype(primitive, operands, statics) == np.float16:
            # NumPy computes functions of booleans in half precision.
            operands = tuple(self._as_number(o) if is_bool else o for o, is_bool in zip(operands, are_conditions, strict=True))
        if Instruction not in map(type, operands):  # all are constants
            return self._constant_result(primitive, operands, statics)
        arguments = (*operands, *statics)
        shorter = simplified(self.call, primitive, arguments)
        if shorter is not None:
            return shorter
        key: tuple[object, ...] = (primitive, *[a if type(a) is Instruction else identity(a) for a in arguments])
        if primitive.name in ("add", "mul"):  # their operands have no order
            key = (primitive, frozenset(key[1:]))
        if key not in self._known:
            dtype = self._dtype(primitive, operands, statics)
            self._known[key] = self._append(Instruction(self, primitive, operands, statics, dtype, len(self.instructions)))
        return self._known[key]

    def _append(self, instruction: Instruction) -> Instruction:
        """Append an instruction, and return it; raise ``NotRecordable`` if the tape becomes too long."""
        if len(self.instructions) >= MOST_INSTRUCTIONS:
            raise NotRecordable(f"the derivatives need more than {MOST_INSTRUCTIONS:,} operations")
        self.instructions.append(instruction)
        return instruction

    def _constant_result(self, primitive: Primitive, operands: tuple[Operand, ...], statics: tuple[Any, ...]) -> float:
        """Return the result of a primitive for constants, as a Python number; floats are computed in the type of the tape."""
        constants = [self.dtype.type(value) if type(value) is float else np.asarray(value)[()] for value in operands]
        with np.errstate(all="ignore"):
            value = primitive.forward(*constants, *statics)
        folded: float = value.item() if hasattr(value, "item") else value
        return folded

    def _as_number(self, condition: Operand) -> Operand:
        """Convert a condition to 1.0 or 0.0."""
        return self.call("mul", condition, 1.0) if type(condition) is Instruction else float(condition)

    def _dtype(self, primitive: Primitive, operands: tuple[Operand, ...], statics: tuple[Any, ...]) -> DType:
        """Return the element type of a result: that of the tape for floats, else that of the primitive's result for ones."""
        kinds = [operand.dtype if type(operand) is Instruction else type(operand) for operand in operands]
        if primitive.series != "fixed" and all(kind is self.dtype or kind is float or kind is int for kind in kinds):
            return self.dtype
        key = (primitive, *kinds)
        if key not in self._dtypes:
            ones = [np.ones(1, operand.dtype) if type(operand) is Instruction else operand for operand in operands]
            with np.errstate(all="ignore"):
                try:
                    result = primitive.forward(*ones, *statics)
                except UNFIT as error:
                    raise mismatch(primitive.name, error, ones) from None
            self._dtypes[key] = np.asarray(result).dtype  # a custom VJP may return a plain number
        return self._dtypes[key]
