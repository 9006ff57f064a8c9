"""A builder of LLVM's intermediate representation (IR), whose values are vectors and have Python's operators.

Every value is a vector with one lane for each row of a group.  The text follows LLVM's language reference:
https://llvm.org/docs/LangRef.html.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

ELEMENTS: Final = {"f64": "double", "f32": "float", "i64": "i64", "i1": "i1"}
"""The type of an element in the IR, by kind."""
_BITS: Final = {"f64": "i64", "f32": "i32"}
_ATTRIBUTES: Final = 'nounwind willreturn memory(none) noinline "prefer-vector-width"="512" "min-legal-vector-width"="512"'
"""The attributes of functions of vectors: vectors are passed in registers of up to 512 bits."""


def _operator(operation: str, swapped: bool = False) -> Callable[[Value, Value | float], Value]:
    """Return the method that appends an operation on a vector and a vector or number; if ``swapped``, the latter comes first."""

    def method(self: Value, other: Value | float) -> Value:
        second = other if isinstance(other, Value) else self.builder.constant(other, self.kind)
        return self.builder.binary(operation, *((second, self) if swapped else (self, second)))

    return method


@dataclass(slots=True, eq=False)
class Value:
    """A vector in a function: the result of an instruction, or a constant.

    Attributes:
        builder: the function that the value belongs to.
        text: its name or constant in the IR.
        kind: the kind of its elements, a key of ``ELEMENTS``.
    """

    builder: Builder
    text: str
    kind: str

    __add__, __radd__ = _operator("add"), _operator("add", swapped=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", swapped=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", swapped=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", swapped=True)
    __and__, __or__, __xor__, __lshift__ = _operator("and"), _operator("or"), _operator("xor"), _operator("shl")

    def __neg__(self) -> Value:
        return self.builder.append(f"fneg {self.builder.type(self.kind)} {self.text}", self.kind)

    def __abs__(self) -> Value:
        return self.builder.intrinsic("fabs", self)

    def __lt__(self, other: Value | float) -> Value:
        return self.builder.compare("olt" if self.kind in _BITS else "slt", self, other)

    def __gt__(self, other: Value | float) -> Value:
        return self.builder.compare("ogt" if self.kind in _BITS else "sgt", self, other)

    def at_most(self, bound: float) -> Value:
        """Return the smaller of a vector and a bound; nan stays nan."""
        return self.builder.select(self > bound, bound, self)

    def at_least(self, bound: float) -> Value:
        """Return the larger of a vector and a bound; nan stays nan."""
        return self.builder.select(self < bound, bound, self)

    def with_sign(self, sign: Value) -> Value:
        """Return the absolute value with the sign of another vector, also of its zeros."""
        return self.builder.intrinsic("copysign", self, sign)

    def equals(self, other: Value | float) -> Value:
        """Return the condition that two vectors are equal."""
        return self.builder.compare("oeq" if self.kind in _BITS else "eq", self, other)

    def __invert__(self) -> Value:
        return self ^ (-1 if self.kind != "i1" else 1)

    def unsigned_shift(self, count: int) -> Value:
        """Shift right without a sign."""
        return _operator("lshr")(self, count)


class Builder:
    """A function under construction; an instruction that is appended twice is computed once.

    Args:
        width: the number of lanes of every vector.
        inline: whether the instructions of elementary functions take the place of each call.  Calls can then share work, such as
            the reduction of the argument of sin and cos, but many calls take long to compile.

    Attributes:
        lines: the instructions so far.
        declared: the external functions that are called, as declarations by name.
        definitions: the functions of vectors that are called, as definitions by name.
    """

    def __init__(self, width: int, inline: bool = True) -> None:
        self.width = width
        self.inline = inline
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.definitions: dict[str, str] = {}
        self._known: dict[str, Value] = {}  # the results of instructions
        self._constants: dict[str, float] = {}  # by their text
        self._replaced: dict[tuple[str, ...], list[Value]] = {}  # by the names and the argument of ``replaced``

    def type(self, kind: str) -> str:
        """Return the type of a vector."""
        return f"<{self.width} x {ELEMENTS[kind]}>"

    def constant(self, number: float, kind: str = "f64") -> Value:
        """Return a vector of equal constants."""
        text = f"splat ({ELEMENTS[kind]} {literal(number, kind)})"
        self._constants[text] = number
        return Value(self, text, kind)

    def number(self, value: Value) -> float | None:
        """Return the number in all lanes of a constant; ``None`` for other values."""
        return self._constants.get(value.text)

    def append(self, instruction: str, kind: str) -> Value:
        """Append an instruction unless it is known, and return its result."""
        if instruction not in self._known:
            name = f"%v{len(self.lines)}"
            self.lines.append(f"{name} = {instruction}")
            self._known[instruction] = Value(self, name, kind)
        return self._known[instruction]

    def truth(self, value: Value) -> Value:
        """Append the condition that a value is not 0; nan is not 0."""
        return value if value.kind == "i1" else self.compare("une" if value.kind in _BITS else "ne", value, 0)

    def binary(self, operation: str, left: Value, right: Value) -> Value:
        """Append an operation on two vectors of the same kind: ``add``, ``sub``, ``mul``, ``div``, ``and``, ``shl``, ..."""
        prefix = "f" if left.kind in _BITS and operation in ("add", "sub", "mul", "div", "rem") else ""
        return self.append(f"{prefix}{operation} {self.type(left.kind)} {left.text}, {right.text}", left.kind)

    def compare(self, predicate: str, left: Value, right: Value | float) -> Value:
        """Append a comparison; the predicate is LLVM's: ``olt``, ``une``, ``uno``; ``slt`` for integers."""
        second = right if isinstance(right, Value) else self.constant(right, left.kind)
        instruction = "fcmp" if left.kind in _BITS else "icmp"
        return self.append(f"{instruction} {predicate} {self.type(left.kind)} {left.text}, {second.text}", "i1")

    def select(self, condition: Value, one: Value | float, other: Value | float) -> Value:
        """Append a choice of ``one`` in each lane where the condition holds, and ``other`` elsewhere; two numbers are doubles."""
        kind = next((value.kind for value in (one, other) if isinstance(value, Value)), "f64")
        first, second = (value if isinstance(value, Value) else self.constant(value, kind) for value in (one, other))
        vector = self.type(kind)
        return self.append(f"select {self.type('i1')} {condition.text}, {vector} {first.text}, {vector} {second.text}", kind)

    def intrinsic(self, name: str, *operands: Value) -> Value:
        """Append a call of an LLVM intrinsic whose operands and result have one type: ``fma``, ``sqrt``, ``fabs``, ``floor``."""
        kind = operands[0].kind
        full = f"llvm.{name}.v{self.width}{kind}"
        return self.call(full, operands, kind)

    def call(self, name: str, operands: Sequence[Value], kind: str) -> Value:
        """Append a call of a function of vectors, and declare it."""
        kinds = ", ".join(self.type(operand.kind) for operand in operands)
        self.declared[name] = f"declare {self.type(kind)} @{name}({kinds}) memory(none) nounwind willreturn"
        arguments = ", ".join(f"{self.type(operand.kind)} {operand.text}" for operand in operands)
        return self.append(f"call {self.type(kind)} @{name}({arguments})", kind)

    def replaced(self, usual: Sequence[Value], rare: Value, names: Sequence[str], x: Value) -> list[Value]:
        """Return the values with some lanes replaced by functions of the C library, which are called only if any lane needs them.

        Args:
            usual: the values of the other lanes, for each function.
            rare: the condition of the lanes to replace.
            names: the names of the functions in C.
            x: their argument.
        """
        key = (*names, x.text)
        if key not in self._replaced:
            self._replaced[key] = self._append_replacement(usual, rare, names, x)
        return self._replaced[key]

    def _append_replacement(self, usual: Sequence[Value], rare: Value, names: Sequence[str], x: Value) -> list[Value]:
        """Append the instructions of ``replaced``, and return their results.

        The block ``test`` branches to the block ``rare`` if any lane needs it, and in any case the code goes on in ``join``.
        """
        place, condition, vector = len(self.lines), self.type("i1"), self.type("f64")  # a place makes names unique
        reduction = f"llvm.vector.reduce.or.v{self.width}i1"
        self.declared[reduction] = f"declare i1 @{reduction}({condition})"
        self.lines += [
            f"%any{place} = call i1 @{reduction}({condition} {rare.text})",
            f"br label %test{place}",
            f"test{place}:",
            f"br i1 %any{place}, label %rare{place}, label %join{place}",
            f"rare{place}:",
        ]
        for name, value in zip(names, usual, strict=True):
            call = self.subroutine(f"vec.each.{name}", lambda x, name=name: x.builder.each_lane(name, x), [x])
            self.lines += [
                f"%{name}{place} = {call} cold",
                f"%mixed.{name}{place} = select {condition} {rare.text}, {vector} %{name}{place}, {vector} {value.text}",
            ]
        self.lines += [f"br label %join{place}", f"join{place}:"]
        return [
            self.append(f"phi {vector} [{value.text}, %test{place}], [%mixed.{name}{place}, %rare{place}]", "f64")
            for name, value in zip(names, usual, strict=True)
        ]

    def subroutine(self, name: str, function: Callable[..., Value], operands: Sequence[Value]) -> str:
        """Define a function of vectors in double precision unless it is defined; return the instruction that calls it.

        ``function`` appends the instructions of the definition, given its operands, and returns its result.
        """
        vector = self.type("f64")
        if name not in self.definitions:
            inner = Builder(self.width)
            result = function(*[Value(inner, f"%x{i}", "f64") for i in range(len(operands))])
            parameters = ", ".join(f"{vector} %x{i}" for i in range(len(operands)))
            body = "\n".join(f"  {line}" for line in [*inner.lines, f"ret {vector} {result.text}"])
            self.declared |= inner.declared
            self.definitions |= inner.definitions
            self.definitions[name] = f"define internal {vector} @{name}({parameters}) {_ATTRIBUTES} {{\n{body}\n}}"
        return f"call {vector} @{name}({', '.join(f'{vector} {one.text}' for one in operands)})"

    def each_lane(self, name: str, x: Value) -> Value:
        """Append one call of a function of the C library for each lane, declare the function, and return the vector of results."""
        self.declared[name] = f"declare double @{name}(double) memory(none) nounwind willreturn"
        result, vector = Value(self, "poison", "f64"), self.type("f64")  # undefined lanes, all of which are replaced
        for lane in range(self.width):
            element = self.append(f"extractelement {vector} {x.text}, i32 {lane}", "f64")
            number = self.append(f"call double @{name}(double {element.text})", "f64")
            result = self.append(f"insertelement {vector} {result.text}, double {number.text}, i32 {lane}", "f64")
        return result

    def convert(self, value: Value, kind: str) -> Value:
        """Append a conversion to another kind, as in C; conditions become 0 and 1."""
        if value.kind == kind:
            return value
        instruction = _CONVERSIONS[value.kind, kind]
        return self.append(f"{instruction} {self.type(value.kind)} {value.text} to {self.type(kind)}", kind)

    def bits(self, value: Value, kind: str) -> Value:
        """Append a reinterpretation of the bits of a vector as another kind of the same size."""
        return self.append(f"bitcast {self.type(value.kind)} {value.text} to {self.type(kind)}", kind)


_CONVERSIONS: Final = {("i1", "f64"): "uitofp", ("i1", "f32"): "uitofp", ("f32", "f64"): "fpext", ("f64", "f32"): "fptrunc"}
"""The instruction that converts one kind to another."""


def literal(number: float, kind: str) -> str:
    """Return a constant in the IR, exactly: a float as the hexadecimal bits of a double."""
    if kind == "i1":
        return "true" if number else "false"
    if kind not in _BITS:
        return str(int(number))
    # A float is written as the double with the same value.
    rounded = struct.unpack("<f", struct.pack("<f", number))[0] if kind == "f32" else float(number)
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
