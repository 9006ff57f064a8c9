"""Which files are read, and how."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from autodiff_cli.data import readers
from autodiff_cli.data.block import InputFile, Reader
from autodiff_cli.errors import DataError, FileError, UsageError
from autodiff_cli.formats import FORMATS, READ, of_path
from autodiff_cli.language.source_text import size_of

Path = str | None
"""A file, or ``None`` for standard input."""


def expanded(paths: Sequence[str]) -> list[Path]:
    """Files in the order in which they are read; a pattern that the shell left alone is all files that fit it.

    Raises:
        FileError: if a pattern fits no file, and for a folder.
        UsageError: for an empty name, if standard input is among several, or a terminal that nobody mentioned.
    """
    if not paths:
        if sys.stdin is not None and sys.stdin.isatty():
            raise UsageError("no input file", hint="name one behind the expression, or pipe one in; - reads what is typed")
        return [None]
    found: list[Path] = []
    for path in paths:
        if not path:
            raise UsageError("the name of an input file is empty", hint="is a variable of the shell empty? - is standard input")
        if path == "-":
            found.append(None)
        elif any(sign in path for sign in "*?[") and not os.path.exists(path):
            from glob import glob

            fitting = sorted(glob(path, recursive=True))
            if not fitting:
                raise FileError(f"no file fits '{path}'")
            found += fitting
        else:
            found.append(path)
        if found[-1] is not None and os.path.isdir(found[-1]):
            raise FileError(f"'{path}' is a folder", hint=f"name its files: {os.path.join(path, '*.csv')}")
    if found.count(None) > 1:
        raise UsageError("standard input can be read once only")
    return found


def style_of(path: Path, style: str | None) -> str:
    """The format of an input: what the option says, else what its name says, else CSV for a pipe.

    Raises:
        UsageError: if a file on disk has a name that says nothing.
    """
    if style is not None:
        return style
    if path is None or (os.path.exists(path) and not os.path.isfile(path)):
        return "csv"
    return of_path(path, READ, "input_format")


def spoken(path: Path) -> str:
    """What messages call an input."""
    return "standard input" if path is None else f"'{path}'"


def reader(path: Path, style: str, columns: Sequence[str] | None = None, unbuffered: bool = False, name: str = "") -> Reader:
    """Open an input.

    Args:
        path: the file, ``None`` for standard input.
        style: its format.
        columns: names of the columns of a file that has none.
        unbuffered: hand rows on as they come in.
        name: what messages call it, if that is not its path.

    Raises:
        FileError: if it cannot be read.
        DataError: if it is not what its format says.
        UsageError: if its columns have names already.
    """
    name = name or spoken(path)
    if columns is not None and style not in ("csv", "tsv", "npy"):
        raise UsageError(f"--columns names the columns of a file without names, and {style} has them")
    twice = next((column for column in columns or () if list(columns or ()).count(column) > 1), None)
    if twice is not None:
        raise UsageError(f"--columns names a column '{twice}' twice", hint="give every column a name of its own")
    file = opened(path, style, name)
    try:
        return readers.reader(InputFile(file, name, FORMATS[style], columns, unbuffered))
    except BaseException:
        file.close()
        raise


def opened(path: Path, style: str, name: str) -> Any:
    """A file for reading bytes, which can go back where its format needs that."""
    try:
        if path is None and sys.stdin is None:
            raise FileError("cannot read standard input: it is closed")
        file: Any = sys.stdin.buffer if path is None else open(path, "rb")  # noqa: SIM115
        magic = FORMATS[style].magic
        if not magic or _goes_back(file):
            return file
        begins = file.peek(8)[:8]
        if begins.startswith(magic):
            return _on_disk(file)
        if style in ("npz", "parquet"):
            raise DataError(f"{name} is not a {'.npz' if style == 'npz' else style} file", hint=f"it begins with {begins!r}")
        return file
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {name}: {error.strerror or error}") from None


def _goes_back(file: Any) -> bool:
    """Whether a file can be read back and forth; devices only say so."""
    return bool(file.seekable()) and (size_of(file) is not None or not hasattr(file, "peek"))


def _on_disk(file: Any) -> Any:
    """A copy of a pipe that can be read back and forth."""
    import shutil
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115
    shutil.copyfileobj(file, copy, 1 << 20)
    copy.seek(0)
    return copy
