"""The instructions of a tape, and their operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.errors import NotRecordable

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import DType
    from autodiff_cli.compiler.tape import Tape

CUSTOM_VJP = "custom_vjp"
"""The name of the primitive that returns its first operand and has user-written derivatives."""


def _arithmetic(name: str, swapped: bool = False) -> Callable[[Instruction, Operand], Operand]:
    """Return the method of an operator that records a function; ``swapped`` if the instruction is the second operand."""

    def method(self: Instruction, other: Operand) -> Operand:
        return self.tape.call(name, other, self) if swapped else self.tape.call(name, self, other)

    return method


@final
@dataclass(slots=True, eq=False)
class Instruction:
    """A scalar on a tape: a variable or the result of a primitive.

    Attributes:
        tape: the tape that contains the instruction.
        primitive: the primitive that computes the scalar; ``None`` for a variable.
        operands: the operands of the primitive.
        statics: the static arguments of the primitive.
        dtype: the type of the scalar.
        index: the position on the tape.
        variable: the name of the variable; empty for the result of a primitive.
    """

    tape: Tape
    primitive: Primitive | None
    operands: tuple[Operand, ...]
    statics: tuple[Any, ...]
    dtype: DType
    index: int
    variable: str = ""

    @property
    def inputs(self) -> list[Instruction]:
        """The instructions among the operands."""
        return [operand for operand in self.operands if type(operand) is Instruction]

    def is_(self, name: str) -> bool:
        """Return whether the instruction computes the primitive with this name."""
        return self.primitive is not None and self.primitive.name == name

    # NumPy calls these operators on the elements of an object array.

    __add__, __radd__ = _arithmetic("add"), _arithmetic("add", swapped=True)
    __sub__, __rsub__ = _arithmetic("sub"), _arithmetic("sub", swapped=True)
    __mul__, __rmul__ = _arithmetic("mul"), _arithmetic("mul", swapped=True)
    __truediv__ = _arithmetic("div")

    def __neg__(self) -> Operand:
        return self.tape.call("neg", self)

    def __getitem__(self, key: tuple[()]) -> Instruction:
        return self  # NumPy returns the sum of all elements as an instruction, and functions apply [()] to it

    def __bool__(self) -> bool:
        raise undecided()

    def __float__(self) -> float:
        raise undecided()

    __int__ = __index__ = __float__


Operand: TypeAlias = Instruction | float
"""An instruction, or a constant: a Python float, int or bool."""


def undecided() -> NotRecordable:
    """Return the error for control flow that depends on a value."""
    return NotRecordable("the choice of the next operation depends on a value, which is not known while the expression is traced")


def identity(argument: object) -> object:
    """Return a key by which 1, 1.0 and True differ, as 0.0 and -0.0 do.  An argument such as an array is ``NotRecordable``."""
    if type(argument) is Instruction:
        return argument
    try:
        hash(argument)
    except TypeError:
        raise NotRecordable("an argument is not a plain number") from None
    return (type(argument), repr(argument) if type(argument) is float else argument)
