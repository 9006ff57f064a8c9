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
"""The name of a primitive whose result is its first operand, and whose derivatives a program states."""


def _arithmetic(name: str, swapped: bool = False) -> Callable[[Instruction, Operand], Operand]:
    def method(self: Instruction, other: Operand) -> Operand:
        return self.tape.of(name, other, self) if swapped else self.tape.of(name, self, other)

    return method


@final
@dataclass(slots=True, eq=False)
class Instruction:
    """One number of a tape: a variable, or the result of a primitive.

    Attributes:
        tape: the tape that it is on.
        primitive: what computes it; ``None`` for a variable.
        operands: the numbers that the primitive takes.
        statics: the other arguments of the primitive.
        dtype: the type of the number.
        index: its place on the tape.
        variable: the name of a variable; empty for a result.
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
        """Return whether it computes the primitive of this name."""
        return self.primitive is not None and self.primitive.name == name

    # NumPy needs these of the elements of an array.

    __add__, __radd__ = _arithmetic("add"), _arithmetic("add", swapped=True)
    __sub__, __rsub__ = _arithmetic("sub"), _arithmetic("sub", swapped=True)
    __mul__, __rmul__ = _arithmetic("mul"), _arithmetic("mul", swapped=True)
    __truediv__ = _arithmetic("div")

    def __neg__(self) -> Operand:
        return self.tape.of("neg", self)

    def __getitem__(self, key: tuple[()]) -> Instruction:
        return self  # NumPy's functions take a sum of all elements out of an array without dimensions

    def __bool__(self) -> bool:
        raise undecided()

    def __float__(self) -> float:
        raise undecided()

    __int__ = __index__ = __float__


Operand: TypeAlias = Instruction | float
"""An instruction, or a constant: a float, an integer or a boolean of Python."""


def undecided() -> NotRecordable:
    """Return the error for a computation whose steps depend on a value."""
    return NotRecordable("the next operation depends on a value, which is not known while the expression is traced")


def identity(argument: object) -> object:
    """Return a key that equal arguments share: 1, 1.0 and True are not equal, nor are 0.0 and -0.0.

    Raises:
        NotRecordable: for an argument that has no hash.
    """
    if type(argument) is Instruction:
        return argument
    try:
        hash(argument)
    except TypeError:
        raise NotRecordable("an argument is not a plain number") from None
    return (type(argument), repr(argument) if type(argument) is float else argument)
