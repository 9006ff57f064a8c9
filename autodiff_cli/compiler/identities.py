"""Arithmetic identities that are exact in floating point, including infinities, nan and signed zeros.

``0*x = 0`` is not included because ``0*inf`` is nan, and ``x + 0 = x`` is not included because ``-0.0 + 0.0`` is 0.0.
The normal form in ``symbolic`` uses further identities: it collects terms algebraically, and the rounding may differ.
"""

from __future__ import annotations

import functools
import math

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
"""The shorter form of each operation for given operand patterns; the first matching row applies.

``x`` and ``y`` match any operand.  A row with a number applies to floating-point operands only, because ``True*1`` is not ``True``.
"""


def pattern(number: object) -> Pattern:
    """Return the pattern of an operand that is not a negation."""
    if not (type(number) is float or type(number) is int) or number not in (0, 1, -1):
        return "x"
    return "x" if number == 0 and math.copysign(1, number) < 0 else float(number)


@functools.cache
def exact(name: str, *operands: Pattern) -> tuple[tuple[Pattern, ...], Replacement] | None:
    """Return the row of ``EXACT`` for an operation with these operand patterns; ``None`` if no row matches."""
    for patterns, result in EXACT.get(name, {}).items():
        if len(patterns) == len(operands) and all(map(_matches, patterns, operands)):
            return patterns, result
    return None


def _matches(pattern: Pattern, given: Pattern) -> bool:
    return pattern in ("x", "y") or (given == "-x" if pattern in ("-x", "-y") else pattern == given)
