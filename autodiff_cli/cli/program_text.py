"""The texts of expressions and programs, from the command line, files and standard input."""

from __future__ import annotations


def read_expression(text: str) -> str:
    """Return the text of an expression; ``-`` reads standard input and ``@file`` a file, without line breaks at the end.

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
