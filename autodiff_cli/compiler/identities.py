"""Identities of arithmetic that are exact in floating point: for infinities, nan and both zeros too.

``0*x`` is not among them, as it is nan at infinity, nor is ``x + 0``, as ``-0.0 + 0.0`` is 0.0.  The normal form in
``symbolic`` is another thing: it collects terms as algebra does, and rounding may differ.
"""

from __future__ import annotations

import functools
import math

Pattern = str | float
"""Of an operand: one of the numbers below, ``-x`` for a negation, else ``x``."""
Replacement = str | float | tuple[str, "Replacement"] | tuple[str, "Replacement", "Replacement"]
"""A number, ``x`` or ``y``, or the name of an operation and its operands."""

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
"""The shorter form of an operation, by the patterns of its operands; the first row that matches counts.

``x`` and ``y`` match any operand.  A row with a number holds for floating-point operands only: ``True*1`` is not ``True``.
"""


def pattern(number: object) -> Pattern:
    """Return the pattern of a number, or of any operand that is not a negation."""
    if not (type(number) is float or type(number) is int) or number not in (0, 1, -1):
        return "x"
    return "x" if number == 0 and math.copysign(1, number) < 0 else float(number)


@functools.cache
def exact(name: str, *operands: Pattern) -> tuple[tuple[Pattern, ...], Replacement] | None:
    """Return the row of ``EXACT`` for an operation on operands of these patterns; ``None`` if there is none."""
    for patterns, result in EXACT.get(name, {}).items():
        if len(patterns) == len(operands) and all(map(_matches, patterns, operands)):
            return patterns, result
    return None


def _matches(pattern: Pattern, given: Pattern) -> bool:
    return pattern in ("x", "y") or (given == "-x" if pattern in ("-x", "-y") else pattern == given)
