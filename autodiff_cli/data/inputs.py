"""Input files: expansion of names, choice of formats, and opening."""

from __future__ import annotations

import io
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from autodiff_cli.data import readers, storage
from autodiff_cli.data.compression import decompressed, first_bytes
from autodiff_cli.data.readers.hive import HiveReader, partition_columns
from autodiff_cli.data.row_blocks import Input, PartitionValue, Reader
from autodiff_cli.errors import DataError, FileError, UsageError, setting
from autodiff_cli.formats import (
    FORMATS,
    READ,
    format_of_first_bytes,
    format_of_path,
    format_of_suffix,
    plain,
    suffixes,
    uncompressed,
)
from autodiff_cli.language.limited_reading import file_size


def named(
    names: Sequence[str], style: str | None = None, columns: Sequence[str] | None = None, unbuffered: bool = False
) -> list[Input]:
    """Return the input files; a folder is replaced by the files in it, and a pattern by its matches.

    Args:
        names: the names that the user gave.
        style: the format of the files; ``None`` to use their suffixes, and of the files in a folder those with a known suffix.
        columns: the names of the columns, for files without names.
        unbuffered: whether rows are passed on as soon as they arrive.

    Raises:
        FileError: if a pattern matches no file, or a folder does not contain files of rows.
        UsageError: if a name is empty, does not determine a format, or standard input is named more than once; if no file is
            named and standard input is a terminal; if names are given for columns that have names, or two of them are equal.
    """
    paths, values = _expanded(names, style)
    files = [
        Input(path, style_of(path, style), None if columns is None else tuple(columns), values.get(path, {}), unbuffered)
        for path in paths
    ]
    for file in files if columns is not None else ():
        if not file.format.nameless:
            raise UsageError(f"{plain(file.style)} already names its columns", hint=f"remove {setting('columns')}")
    twice = next((column for column, count in Counter(columns or ()).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"{setting('columns')} names a column '{twice}' twice", hint="give every column a different name")
    return files


def _expanded(paths: Sequence[str], style: str | None) -> tuple[list[str | None], dict[str | None, dict[str, PartitionValue]]]:
    """Return the paths of the input files, and the partition columns of files that were found in a folder or with a pattern."""
    if not paths:
        if sys.stdin is not None and sys.stdin.isatty():
            raise UsageError(
                "no input file", hint="name a file after the expression, pipe data in, or use - to read from the terminal"
            )
        return [None], {}
    files: list[str | None] = []
    folders: dict[str | None, str] = {}
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
    return files, {path: columns for path, columns in zip(folders, values, strict=True) if columns}


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
        chosen = [file for file in visible if style is not None or format_of_suffix(uncompressed(file), READ)]
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


def style_of(path: str | None, style: str | None) -> str:
    """Return the format of an input: the given format, the format for its file name or of its first bytes, or CSV for a pipe.

    Raises:
        UsageError: if the name of a file on disk does not determine a format.
    """
    if style is not None:
        return style
    if path is None:
        file = sys.stdin and sys.stdin.buffer
        return (hasattr(file, "peek") and format_of_first_bytes(file.peek(64)[:64])) or "csv"
    if os.path.exists(path) and not os.path.isfile(path):
        return "csv"
    return format_of_path(storage.file_part(path), READ, "input_format")


def reader(source: Input) -> Reader:
    """Open an input and return its reader.

    Raises:
        FileError: if the file cannot be read.
        DataError: if the file is not in this format.
    """
    file = opened(source.path, source.style, source.title)
    try:
        inner = readers.reader(source, file)
        return cast("Reader", HiveReader(inner, source.values)) if source.values else inner
    except BaseException:
        file.close()
        raise


def opened(path: str | None, style: str, name: str) -> BinaryIO:
    """Open a file for reading bytes; the file is seekable if its format requires it.

    Raises:
        FileError: if the file cannot be read.
        DataError: if its first bytes do not match its format.
        MissingPackage: if the file is compressed and a package that decompresses it is not installed.
    """
    try:
        if path is None and sys.stdin is None:
            raise FileError("cannot read standard input: it is closed")
        file: Any = sys.stdin.buffer if path is None else storage.opened(path)
        file = file if hasattr(file, "peek") else io.BufferedReader(file)
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
    return file.seekable() and file_size(file) is not None


def _copied(file: BinaryIO) -> BinaryIO:
    """Copy a pipe to a temporary file, which is seekable."""
    import shutil
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115
    shutil.copyfileobj(file, copy, 1 << 20)
    copy.seek(0)
    return cast("BinaryIO", copy)
