"""The texts of expressions and programs, from the command line, files and standard input."""

from __future__ import annotations


def read_expression(text: str) -> str:
    """Return the text of an expression; ``-`` reads standard input and ``@file`` a file, without line breaks at the end."""
    is_in_file = text == "-" or text.startswith("@")
    return read_file(text.removeprefix("@")).rstrip("\n") if is_in_file else text


def read_file(path: str) -> str:
    """Return the text of a file, or of standard input for ``-``; raise ``FileError``, or ``LimitError`` for a long text."""
    from autodiff_cli.language import limited_reading

    return limited_reading.read_program(None if path == "-" else path)
