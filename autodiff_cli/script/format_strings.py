"""Format strings, such as ``f"step {i}: {loss.item():.4f}"``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, ParseError
from autodiff_cli.evaluation.coercion import is_plain_number
from autodiff_cli.language.tree import Syntax, new_token, unescaped
from autodiff_cli.script.display import display

_SPECIFICATION = re.compile(r"(?:.?[<>=^])?[-+ ]?#?0?(\d*)[,_]?(?:\.(\d+))?[bcdeEfFgGnosxX%]?")
_MOST_WIDE = 1_000
"""The maximum width and precision in a format specification."""


def parse_fields(token: Syntax, source: str, expression: Callable[[int, int], Syntax]) -> list[Syntax]:
    """Return the parts of a format string: texts, and ``field`` nodes with an expression and the format specification as text.

    The token includes the prefix and the quotes.  ``expression`` parses the expression between two positions of the source.

    Raises:
        ParseError: if a replacement field is invalid.
    """
    parts: list[Syntax] = []
    position, end = token.span[0] + 2, token.span[1] - 1  # without the letter f and the quotes
    text = ""
    while position < end:
        character = source[position]
        if character in "{}" and source[position + 1 : position + 2] == character:
            text += character
            position += 2
        elif character == "}":
            raise ParseError("'}' closes nothing", span=(position, position + 1), source=source, hint="write }} for a brace")
        elif character == "{":
            field = _field(source, position, end, expression)
            parts += [new_token("text", text), field]
            text, position = "", field.span[1]
        else:
            length = 2 if character == "\\" else 1  # an escape sequence has two characters
            text += unescaped(source[position : position + length])
            position += length
    return [*parts, new_token("text", text)]


def _field(source: str, start: int, end: int, expression: Callable[[int, int], Syntax]) -> Syntax:
    """Return the node of the replacement field that begins at ``start`` in a text that stops at ``end``; see ``parse_fields``."""
    colon, close = _field_ends(source, start, end)
    specification = source[colon + 1 : close] if colon < close else ""
    _check_specification(specification, (colon, close), source)
    return Syntax("field", [expression(start + 1, colon)], specification, (start, close + 1))


def _field_ends(source: str, start: int, end: int) -> tuple[int, int]:
    """Return the positions of the colon after the expression of a field, and of the closing brace: that twice without a colon."""
    depth, colon = 0, None  # a colon inside brackets is that of a slice
    for i in range(start + 1, end):
        character = source[i]
        depth += 1 if character in "([" else -1 if character in ")]" else 0
        if character == ":" and depth == 0 and colon is None:
            colon = i
        elif character == "}":
            return (i if colon is None else colon), i
    raise ParseError("'{' is never closed", span=(start, start + 1), source=source, hint="close the field with '}', or write {{")


def _check_specification(specification: str, span: tuple[int, int], source: str) -> None:
    """Raise an error if a format specification is not one of numbers, or makes too wide a text."""
    matched = _SPECIFICATION.fullmatch(specification)
    if matched is None or any(int(digits or 0) > _MOST_WIDE for digits in matched.groups()):  # the width and the precision
        hint = f"write it as in {{x:.4f}}, with at most {_MOST_WIDE} characters"
        raise ParseError("this format is not supported", span=span, source=source, hint=hint)


def format_value(value: object, specification: str) -> str:
    """Return a value in the format of a replacement field; a format that does not suit the value is an error.

    A format of integers also takes a float that is whole.  An empty specification takes any value, others a number or a string.
    """
    if not specification:
        return display(value)
    number: Any = value.item() if isinstance(value, Tensor) and value.shape == () else value
    formats_integer = specification[-1] in "bcdoxX"
    if formats_integer and is_plain_number(number) and float(number).is_integer():
        number = int(number)
    if is_plain_number(number) or isinstance(number, str):
        try:
            return format(number, specification)
        except ValueError as error:
            raise ArgumentError(str(error), hint="leave the format out, or use .4f for a number") from None
    raise ArgumentError("unsupported format string passed to Tensor.__format__", hint="format one number, as in {x.item():.4f}")
