"""Simplification of single instructions during tracing; every rule is exact for all floating-point numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.compiler.instruction import Instruction, Operand, identity

Pattern = str | float
"""The pattern of an operand: 0.0, 1.0 or -1.0, ``-x`` for a negation, and ``x`` for any other operand."""
Replacement = str | float | tuple[str, "Replacement"] | tuple[str, "Replacement", "Replacement"]
"""The replacement of an operation: a number, ``x``, ``y``, or an operation name followed by its operands."""

EXACT: dict[str, dict[tuple[Pattern, ...], Replacement]] = {
    "neg": {("-x",): "x"},
    "add": {("x", "-y"): ("sub", "x", "y"), ("-x", "y"): ("sub", "y", "x")},
    "sub": {("x", "-y"): ("add", "x", "y"), ("x", 0.0): "x"},
    "mul": {
        (1.0, "y"): "y",
        (-1.0, "y"): ("neg", "y"),
        ("-x", "y"): ("neg", ("mul", "x", "y")),
        ("x", 1.0): "x",
        ("x", -1.0): ("neg", "x"),
        ("x", "-y"): ("neg", ("mul", "y", "x")),
    },
    "div": {("-x", "y"): ("neg", ("div", "x", "y")), ("x", 1.0): "x"},
    "pow": {("x", 0.0): 1.0, ("x", 1.0): "x"},
}
"""The shorter form of each operation for given operand patterns, with the same bits; the first matching row applies.

``0*x = 0`` is not a row because ``0*inf`` is nan, and ``x + 0 = x`` is not one because ``-0.0 + 0.0`` is 0.0.
``x`` and ``y`` match any operand.  A row with a number applies to floating-point operands only, because ``True*1`` is not ``True``.
"""


def pattern(operand: object) -> Pattern:
    """Return the pattern of an operand; -0.0 is ``x``, because it has other signs than 0.0."""
    if type(operand) is Instruction:
        return "-x" if operand.is_("neg") else "x"
    if not (type(operand) is float or type(operand) is int) or operand not in (0, 1, -1):
        return "x"
    return "x" if operand == 0 and math.copysign(1, operand) < 0 else float(operand)


@functools.cache
def exact(name: str, *operands: Pattern) -> tuple[tuple[Pattern, ...], Replacement] | None:
    """Return the first row of ``EXACT`` that an operation with these operand patterns matches; ``None`` if there is none."""
    for patterns, result in EXACT.get(name, {}).items():
        if len(patterns) == len(operands) and all(map(_matches, patterns, operands)):
            return patterns, result
    return None


def _matches(pattern: Pattern, actual: Pattern) -> bool:
    """Return whether a pattern of ``EXACT`` fits that of an operand: a letter fits all, and ``-x`` and ``-y`` fit negations."""
    return pattern in ("x", "y") or (actual == "-x" if pattern in ("-x", "-y") else pattern == actual)


Record = Callable[..., Operand]
"""``Tape.call``, which returns the result of a function, given its name and operands."""


def simplified(call: Record, primitive: Primitive, arguments: tuple[Any, ...]) -> Operand | None:
    """Return a simpler operand for a primitive of operands and statics, recorded by ``call``; ``None`` if no rule applies."""
    name = primitive.name
    if primitive.series == "chain":  # the primitive for a constant to the power of x is also named pow
        return None
    if name in EXACT:
        return _by_exact_row(call, name, arguments)
    rule = _CONDITION_RULES.get(name)
    return None if rule is None else rule(call, *arguments)


def _by_exact_row(call: Record, name: str, arguments: tuple[Any, ...]) -> Operand | None:
    """Return the result of the row of ``EXACT`` for an operation; ``None`` without one, or if it applies to floats only."""
    row = exact(name, *map(pattern, arguments))
    if row is None:
        return None
    patterns, result = row
    has_number = any(isinstance(part, float) for part in patterns)
    needs_floats = has_number and not isinstance(result, float)  # True*1 is not True, but True**0 is 1.0
    if needs_floats and not all(map(_is_float, arguments)):
        return None
    letters = {  # ``-x`` stands for a negation, and ``x`` for its operand
        part[-1]: argument.operands[0] if part[0] == "-" else argument
        for part, argument in zip(patterns, arguments, strict=True)
        if isinstance(part, str)
    }
    return _recorded_replacement(call, result, letters)


def _recorded_replacement(call: Record, result: Replacement, letters: dict[str, Operand]) -> Operand:
    """Return the result of a replacement, whose operations are recorded; its letters stand for operands."""
    if isinstance(result, tuple):
        return call(result[0], *[_recorded_replacement(call, part, letters) for part in result[1:]])
    return letters[result] if isinstance(result, str) else result


def _is_float(argument: object) -> bool:
    """Return whether an operand is not a condition: a constant, or an instruction of a floating-point type."""
    return type(argument) is not Instruction or argument.dtype.kind == "f"


def _simplified_and(_: Record, x: Operand, y: Operand) -> Operand | None:
    """Simplify a conjunction of a condition and ``True`` or ``False``; return ``None`` for another one."""
    for condition, other in ((x, y), (y, x)):
        if type(condition) is bool and type(other) is Instruction and other.dtype.kind == "b":
            return other if condition else False
    return None


def _simplified_where(call: Record, condition: Operand, x: Operand, y: Operand) -> Operand | None:
    """Simplify a choice with a constant or negated condition, a choice in a choice, or equal branches; else return ``None``."""
    if type(condition) is not Instruction:
        return x if condition else y
    if condition.is_("logical_not"):
        return call("where", condition.operands[0], y, x)
    first, second = _branch(x, condition, position=1), _branch(y, condition, position=2)
    if first is not x or second is not y:
        return call("where", condition, first, second)
    return x if identity(x) == identity(y) else None


def _branch(value: Operand, condition: Instruction, position: int) -> Operand:
    """Return the branch of a nested ``where`` with the same condition, its operand 1 or 2; another value unchanged."""
    if type(value) is Instruction and value.is_("where") and value.operands[0] is condition:
        return value.operands[position]
    return value


def _simplified_ne(call: Record, x: Operand, y: Operand) -> Operand | None:
    """Simplify ``x != 0`` to conditions if x is a ``where`` of a zero and a nonzero constant, or a chain of them; else ``None``."""
    if type(x) is not Instruction or not x.is_("where") or pattern(y) != 0:
        return None
    condition, value, other = x.operands
    if type(value) is Instruction:
        return None
    if type(other) is Instruction:  # a choice with a nonzero constant, or else another choice
        is_chain = other.is_("where") and value != 0
        return call("logical_or", condition, call("ne", other, 0.0)) if is_chain else None
    if (value == 0) == (other == 0):  # both branches are zero, or both are not
        return None
    return condition if other == 0 else call("logical_not", condition)


_CONDITION_RULES: dict[str, Callable[..., Operand | None]] = {
    "bitwise_and": _simplified_and,
    "ne": _simplified_ne,
    "where": _simplified_where,
}
