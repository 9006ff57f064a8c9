"""Input files: expansion of names, choice of formats, and opening."""

from __future__ import annotations

import io
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from autodiff_cli import lazy
from autodiff_cli.data import storage
from autodiff_cli.data.compression import FIRST_BYTES, decompressed, first_bytes
from autodiff_cli.data.readers.hive import HiveReader, partition_columns
from autodiff_cli.data.row_blocks import SAMPLE, Input, PartitionValue, Reader
from autodiff_cli.errors import DataError, FileError, UsageError, setting
from autodiff_cli.formats import (
    FORMATS,
    READ,
    Format,
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
    if columns is not None:
        _check_columns(columns, files)
    return files


def _check_columns(columns: Sequence[str], files: Sequence[Input]) -> None:
    """Raise ``UsageError`` if the user names columns of files that name them already, or two columns by one name."""
    for file in files:
        if not file.format.nameless:
            raise UsageError(f"{plain(file.style)} already names its columns", hint=f"remove {setting('columns')}")
    twice = next((column for column, count in Counter(columns).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"{setting('columns')} names a column '{twice}' twice", hint="give every column a different name")


def _expanded(paths: Sequence[str], style: str | None) -> tuple[list[str | None], dict[str | None, dict[str, PartitionValue]]]:
    """Return the paths of the input files, and the partition columns of files that were found in a folder or with a pattern.

    A path ``-``, and no path at all, is ``None``: standard input.
    """
    if not paths:
        if sys.stdin is not None and sys.stdin.isatty():
            hint = "name a file after the expression, pipe data in, or use - to read from the terminal"
            raise UsageError("no input file", hint=hint)
        return [None], {}
    files: list[str | None] = []
    folders: dict[str | None, str] = {}
    for path in paths:
        if path == "-":
            files.append(None)
            continue
        inside = _inside(path, style)
        files += inside
        if inside != [path]:  # a folder or a pattern
            folders |= {file: _partition_folders(file, path) for file in inside}
    if files.count(None) > 1:
        raise UsageError("standard input can be read only once")
    values = partition_columns(list(folders.values()))
    return files, {path: columns for path, columns in zip(folders, values, strict=True) if columns}


def _inside(path: str, style: str | None) -> list[str]:
    """Return the files in a folder or of a pattern; only the path itself if it is that of one file."""
    if not path:
        raise UsageError(
            "the name of an input file is empty", hint="check for an empty shell variable, or use - for standard input"
        )
    if storage.is_url(path):
        remote = storage.inside(path)
        return [path] if remote is None else _row_files(remote, path, style)
    if os.path.isdir(path):
        files = sorted(os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files)
        return _row_files(files, path, style)
    if storage.has_pattern(path) and not os.path.exists(path):
        from glob import glob

        return _row_files(sorted(file for file in glob(path, recursive=True) if not os.path.isdir(file)), path, style)
    return [path]


def _row_files(files: Sequence[str], path: str, style: str | None) -> list[str]:
    """Return the files of rows: all matches of a pattern; in a folder, those that are not hidden and have a known suffix.

    With a format, ``style``, the suffix does not matter.  If there are no files, ``FileError`` is raised.
    """
    if storage.has_pattern(path):
        if not files:
            raise FileError(f"no file matches '{path}'")
        return list(files)
    start = len(path.rstrip("/" + os.sep))  # the folder itself may be in a hidden folder
    visible = [file for file in files if not re.search(r"/[._]", file[start:].replace(os.sep, "/"))]
    known = [file for file in visible if style is not None or format_of_suffix(uncompressed(file), READ)]
    if not known:
        raise FileError(f"the folder '{path}' does not contain files of rows", hint=f"their suffixes are {suffixes(READ)}")
    return known


def _partition_folders(file: str, name: str) -> str:
    """Return the folders of a file that may name partition columns: those found in ``name`` of the user, and ``k=v`` above them.

    It is ``k=1/l=2`` for the file ``data/k=1/l=2/a.csv`` if the user named ``data``, ``data/k=1`` or ``data/k=*``.
    """
    folders = os.path.dirname(file).replace(os.sep, "/").split("/")
    given = re.split(r"[*?[]", name.replace(os.sep, "/"), maxsplit=1)[0].rstrip("/").split("/")
    is_whole = name.rstrip("/") == "/".join(given)  # otherwise a pattern begins in the last of the given folders
    start = len(given) if is_whole else len(given) - 1
    while start and "=" in folders[start - 1]:
        start -= 1
    return "/".join(folders[start:])


def style_of(path: str | None, style: str | None) -> str:
    """Return the format of an input: the given ``style``, the format for its file name or of its first bytes, or CSV for a pipe.

    If the name of a file on disk does not determine a format, ``UsageError`` is raised.
    """
    if style is not None:
        return style
    if path is None:
        file = sys.stdin and sys.stdin.buffer  # ``None`` if it is closed
        if not hasattr(file, "peek"):
            return "csv"
        return format_of_first_bytes(file.peek(SAMPLE)[:SAMPLE]) or "csv"
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe
        return "csv"
    return format_of_path(storage.file_part(path), READ, "input_format")


def reader(source: Input) -> Reader:
    """Open an input and return its reader.

    Raises:
        FileError: if the file cannot be read.
        DataError: if the file is not in this format.
        UsageError: if the given column names do not fit the file.
        MissingPackage: if the format needs a package that is not installed.
    """
    file = opened(source.path, source.style, source.title)
    try:
        inner: Reader = lazy.named(f"autodiff_cli.data.readers.{source.format.reader}")(source, file)
        return cast("Reader", HiveReader(inner, source.values)) if source.values else inner
    except BaseException:
        file.close()
        raise


def opened(path: str | None, style: str, name: str) -> BinaryIO:
    """Open a file for reading bytes; the file is seekable if its format requires it.

    The errors are those of ``reader``, and ``MissingPackage`` if the package that decompresses a file is not installed.
    """
    file_format = FORMATS[style]
    try:
        if path is None and sys.stdin is None:
            raise FileError("cannot read standard input: it is closed")
        file: Any = sys.stdin.buffer if path is None else storage.opened(path)
        file = file if hasattr(file, "peek") else io.BufferedReader(file)
        if file_format.unit == "lines":
            return decompressed(file, name, path and storage.file_part(path))
        needs_seek = bool(file_format.magic)
        # seekable() is also true for some devices that cannot seek.
        can_seek = needs_seek and file.seekable() and file_size(file) is not None
        return _seekable(file, file_format, name) if needs_seek and not can_seek else cast("BinaryIO", file)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {name}: {error.strerror or error}") from None


def _seekable(file: Any, file_format: Format, name: str) -> BinaryIO:
    """Return a seekable copy of a pipe; the pipe itself if it may contain a stream, or ``DataError`` if it has another format."""
    begins = file.peek(FIRST_BYTES)[:FIRST_BYTES]
    if begins.startswith(file_format.magic):
        import shutil
        import tempfile

        copy = tempfile.TemporaryFile()  # noqa: SIM115
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        return cast("BinaryIO", copy)
    if not file_format.stream_magic:
        title = file_format.library or file_format.name
        raise DataError(f"{name} is not in {title} format", hint=f"it begins with {first_bytes(begins)}")
    return cast("BinaryIO", file)
