"""Input files: expansion of names, choice of formats, and opening."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple, cast

from autodiff_cli.data import readers, storage
from autodiff_cli.data.compression import decompressed, first_bytes
from autodiff_cli.data.readers.hive import HiveReader, Values, partition_columns
from autodiff_cli.data.readers.lines import section
from autodiff_cli.data.row_blocks import InputFile, Reader
from autodiff_cli.errors import DataError, FileError, UsageError, setting
from autodiff_cli.formats import FORMATS, READ, of_first_bytes, of_path, of_suffix, plain, suffixes, uncompressed
from autodiff_cli.language.source_text import display_name, size_of

Path = str | None
"""The path of a file, or ``None`` for standard input."""


class InputFiles(NamedTuple):
    """Input files.

    Attributes:
        paths: the paths, in reading order; ``None`` for standard input.
        partitions: the partition columns of files that were found in a folder or with a pattern, by path.
    """

    paths: list[Path]
    partitions: dict[Path, Values]


def expanded(paths: Sequence[str], style: str | None = None) -> InputFiles:
    """Return the input files; a folder is replaced by the files in it, and a pattern by its matches.

    Args:
        paths: the names that the user gave.
        style: the format of the files; ``None`` to use the files in a folder whose suffix determines a format.

    Raises:
        FileError: if a pattern matches no file, or a folder does not contain files of rows.
        UsageError: if a name is empty, standard input is named more than once, or no file is named and standard input is a
            terminal.
    """
    if not paths:
        if sys.stdin is not None and sys.stdin.isatty():
            raise UsageError(
                "no input file", hint="name a file after the expression, pipe data in, or use - to read from the terminal"
            )
        return InputFiles([None], {})
    files: list[Path] = []
    folders: dict[Path, str] = {}
    for path in paths:
        if not path:
            raise UsageError(
                "the name of an input file is empty", hint="check for an empty shell variable, or use - for standard input"
            )
        if path == "-":
            files.append(None)
            continue
        inside = _inside(path, style)
        files += inside
        if inside != [path]:
            folders |= {file: _partition_of(file, path) for file in inside}
    if files.count(None) > 1:
        raise UsageError("standard input can be read only once")
    values = partition_columns(list(folders.values()))
    return InputFiles(files, {path: one for path, one in zip(folders, values, strict=True) if one})


def _inside(path: str, style: str | None) -> list[str]:
    """Return the files in a folder or of a pattern; a path of one file is returned unchanged."""
    if storage.is_url(path):
        remote = storage.inside(path)
        return [path] if remote is None else _of_rows(remote, path, style)
    if os.path.isdir(path):
        files = sorted(os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files)
        return _of_rows(files, path, style)
    if storage.has_pattern(path) and not os.path.exists(path):
        from glob import glob

        return _of_rows(sorted(file for file in glob(path, recursive=True) if not os.path.isdir(file)), path, style)
    return [path]


def _of_rows(files: Sequence[str], path: str, style: str | None) -> list[str]:
    """Return those of the files in a folder or of a pattern that contain rows."""
    if storage.has_pattern(path):
        chosen = list(files)
    else:
        start = len(path.rstrip("/" + os.sep))
        visible = [file for file in files if not re.search(r"/[._]", file[start:].replace(os.sep, "/"))]
        chosen = [file for file in visible if style is not None or of_suffix(uncompressed(file), READ)]
    if not chosen and storage.has_pattern(path):
        raise FileError(f"no file matches '{path}'")
    if not chosen:
        raise FileError(f"the folder '{path}' does not contain files of rows", hint=f"their suffixes are {suffixes(READ)}")
    return chosen


def _partition_of(file: str, name: str) -> str:
    """Return the folders of a file that may name partition columns: those that the program found, and ``k=v`` above them."""
    parts = os.path.dirname(file).replace(os.sep, "/").split("/")
    above = re.split(r"[*?[]", name.replace(os.sep, "/"), maxsplit=1)[0].rstrip("/").split("/")
    start = len(above) if name.rstrip("/") == "/".join(above) else len(above) - 1
    while start and "=" in parts[start - 1]:
        start -= 1
    return "/".join(parts[start:])


def style_of(path: Path, style: str | None) -> str:
    """Return the format of an input: the given format, the format for its file name or of its first bytes, or CSV for a pipe.

    Raises:
        UsageError: if the name of a file on disk does not determine a format.
    """
    if style is not None:
        return style
    if path is None:
        file = sys.stdin and sys.stdin.buffer
        return (hasattr(file, "peek") and of_first_bytes(file.peek(64)[:64])) or "csv"
    if os.path.exists(path) and not os.path.isfile(path):
        return "csv"
    return of_path(storage.file_part(path), READ, "input_format")


def reader(
    path: Path,
    style: str,
    columns: Sequence[str] | None = None,
    unbuffered: bool = False,
    name: str = "",
    values: Values | None = None,
    span: tuple[int, int] | None = None,
    first: int = 1,
) -> Reader:
    """Open an input and return its reader.

    Args:
        path: the path of the file; ``None`` for standard input.
        style: the format of the input.
        columns: the names of the columns, for a file without names.
        unbuffered: whether rows are passed on as soon as they arrive.
        name: the name of the input in messages; the path by default.
        values: the partition columns of the file.
        span: the part to read: a range of bytes of a text file, of rows of ``.npy``, or of row groups of Parquet; ``None`` for all.
        first: the number of its first line or row.

    Raises:
        FileError: if the file cannot be read.
        DataError: if the file is not in this format.
        UsageError: if names are given for columns that have names, or two names are equal.
    """
    name = name or display_name(path)
    if columns is not None and span is None and not FORMATS[style].nameless:
        raise UsageError(f"{plain(style)} already names its columns", hint=f"remove {setting('columns')}")
    twice = next((column for column, count in Counter(columns or ()).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"{setting('columns')} names a column '{twice}' twice", hint="give every column a different name")
    file, is_text = opened(path, style, name), FORMATS[style].unit == "lines"
    try:
        if span is not None and is_text:
            file = section(file, *span)
        inner = readers.reader(InputFile(file, name, FORMATS[style], columns, unbuffered, first if is_text else 1))
        if span is not None and not is_text:
            inner.cut(*span, first)
        return HiveReader(inner, values) if values else inner
    except BaseException:
        file.close()
        raise


def opened(path: Path, style: str, name: str) -> BinaryIO:
    """Open a file for reading bytes; the file is seekable if its format requires it.

    Raises:
        FileError: if the file cannot be read.
        DataError: if its first bytes do not match its format.
        MissingPackage: if the file is compressed and a package that decompresses it is not installed.
    """
    try:
        if path is None and sys.stdin is None:
            raise FileError("cannot read standard input: it is closed")
        if path is None:
            file: Any = sys.stdin.buffer
        else:
            file = storage.opened(path) if storage.is_url(path) else open(path, "rb")  # noqa: SIM115
        magic = FORMATS[style].magic
        if FORMATS[style].unit == "lines":
            return decompressed(file, name, path and storage.file_part(path))
        if not magic or _goes_back(file):
            return cast("BinaryIO", file)
        begins = file.peek(8)[:8]
        if begins.startswith(magic):
            return _copied(file)
        if not FORMATS[style].stream_magic:
            raise DataError(
                f"{name} is not in {FORMATS[style].library or style} format", hint=f"it begins with {first_bytes(begins)}"
            )
        return cast("BinaryIO", file)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {name}: {error.strerror or error}") from None


def _goes_back(file: BinaryIO) -> bool:
    """Return whether a file is seekable; ``seekable()`` is also true for some devices that cannot seek."""
    return file.seekable() and (size_of(file) is not None or not hasattr(file, "peek"))


def _copied(file: BinaryIO) -> BinaryIO:
    """Copy a pipe to a temporary file, which is seekable."""
    import shutil
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115
    shutil.copyfileobj(file, copy, 1 << 20)
    copy.seek(0)
    return cast("BinaryIO", copy)
