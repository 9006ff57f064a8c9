"""The expression of a command and the values of its names, as texts of the command line.

This module does not import click, so that a small evaluation loads neither; see ``plain_evaluation``.
"""

from __future__ import annotations

from typing import Any

from autodiff_cli.errors import UsageError
from autodiff_cli.structs import Struct


class PointOptions(Struct):
    """An expression with the values of its names, as texts from the command line."""

    expr: str
    at: tuple[str, ...]
    const: tuple[str, ...]
    wrt: str | None = None
    dtype: str = "float64"
    gradient: str | None = None

    @property
    def source(self) -> str:
        """The text of the expression; see ``read_expression``."""
        return read_expression(self.expr)

    def keywords(self) -> dict[str, Any]:
        """Return the options as keyword arguments of library functions such as ``evaluate`` and ``Evaluation``.

        Raises:
            UsageError: if a value is not constant.
            FileError: if a file cannot be read.
        """
        from autodiff_cli.evaluation.bindings import bindings, value_or_file

        return {
            "expression": self.source,
            "at": bindings(self.at, "at"),
            "const": bindings(self.const, "const"),
            "wrt": name_list(self.wrt),
            "dtype": self.dtype,
            **({} if self.gradient is None else {"gradient": value_or_file(self.gradient)}),
        }


def read_expression(text: str) -> str:
    """Return the text of the expression, read from standard input for ``-`` and from a file for ``@file``.

    Raises:
        FileError: if the input cannot be read.
        LimitError: if the text is too long.
    """
    return read_file(text.removeprefix("@")).rstrip("\n") if text == "-" or text.startswith("@") else text


def read_file(path: str) -> str:
    """Return the text of a file, or of standard input for ``-``.

    Raises:
        FileError: if the file cannot be read.
        LimitError: if the text is too long.
    """
    from autodiff_cli.language import limited_reading

    return limited_reading.read_program(None if path == "-" else path)


def name_list(text: str | None) -> list[str] | None:
    """Split ``x,y`` into a list of names; a name with a comma is quoted as in CSV.

    Raises:
        UsageError: if the text is not a list of names.
    """
    if text is None:
        return None
    import csv

    try:
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True, strict=True))]
    except csv.Error:
        hint = "separate names with commas, and quote a name with a comma: 'x,\"a,b\"'"
        raise UsageError(f"'{text}' is not a list of names", hint=hint) from None
    if not names or not all(names):
        raise UsageError(f"a name is missing in '{text}'", hint="separate names with commas: x,y")
    return names
