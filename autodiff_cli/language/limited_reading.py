"""Functions that read files up to a size limit, so that an endless file such as a device cannot fill the memory."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import IO, BinaryIO

from autodiff_cli.errors import FileError, LimitError, setting
from autodiff_cli.limits import lifted
from autodiff_cli.suggest import closest

MOST_TEXT = 1 << 22
"""The maximum size of a program in bytes; ``parser.MOST_TOKENS`` limits the number of its tokens."""
_PIECE = 1 << 20
_MOST_NAMES = 10_000
"""The maximum number of files in a folder that are compared with a missing file name."""


def display_name(path: str | None) -> str:
    """Return the name of a file for messages; the path ``None`` is standard input."""
    return "standard input" if path is None else f"'{path}'"


def read_program(path: str | None) -> str:
    """Return the text of a program file; the path ``None`` is standard input.

    Line ends become ``\\n``, and a byte order mark is dropped.  A file that cannot be read, is not UTF-8 text or is larger than
    ``MOST_TEXT`` is an error.
    """
    data = read_bytes(path, MOST_TEXT)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        hint = f"use {setting('at', 'x=@file')} to read numbers from a file"
        raise FileError(f"{display_name(path)} is not UTF-8 text", hint=hint) from None


def read_bytes(path: str | None, most: int) -> bytes:
    """Return all bytes of a file; the path ``None`` is standard input.

    A file that cannot be read or, unless the user lifts the limits, has more than ``most`` bytes is an error.
    """
    try:
        pieces: list[bytes] = []
        size = 0
        with open_bytes(path) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                if size > most and not lifted():
                    raise too_long_error(display_name(path), most)
                pieces.append(piece)
        return b"".join(pieces)
    except FileError:  # from ``open_bytes``
        raise
    except OSError as error:
        raise unreadable_error(path, error) from None


def open_bytes(path: str | None) -> AbstractContextManager[BinaryIO]:
    """Open a file, or for ``None`` standard input, which ``with`` keeps open; raise ``OSError``, or ``FileError`` if closed."""
    if path is not None:
        return open(path, "rb")
    if sys.stdin is None:
        hint = "write the text on the command line, or give the name of a file"
        raise FileError("cannot read standard input: it is closed", hint=hint)
    return nullcontext(sys.stdin.buffer)  # which closes nothing


def file_size(file: IO[bytes]) -> int | None:
    """Return the size of a file on disk or of an object in bytes; ``None`` for a pipe or a device."""
    object_size: int | None = getattr(getattr(file, "raw", None), "size", None)  # of an object in a store
    if object_size is not None:
        return object_size
    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError, ValueError):  # a stream without a file, or a closed one
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def too_long_error(name: str, most: int) -> LimitError:
    """Return the error for a file that exceeds the size limit."""
    hint = f"check the file name, or lift the limit with {setting('no_limits')} if the command supports it"
    return LimitError(f"{name} is longer than {most >> 20:,} MiB", hint=hint)


def unreadable_error(path: str | None, error: OSError) -> FileError:
    """Return the error for a file that cannot be opened or read."""
    hint = None if path is None else _unreadable_hint(path)
    return FileError(f"cannot read {display_name(path)}: {error.strerror or error}", hint=hint)


def _unreadable_hint(path: str) -> str | None:
    """Return a hint for a path that cannot be read: a folder, a broken link, or a misspelled name; ``None`` for any other."""
    if os.path.isdir(path):
        return "name a file in this folder"
    if os.path.islink(path):
        return f"it is a link to '{os.readlink(path)}', which does not exist"
    return None if os.path.exists(path) else similar_name_hint(path)


def similar_name_hint(path: str) -> str | None:
    """Return the hint ``did you mean 'data.csv'?`` for a missing file; ``None`` if its folder has no file with a similar name."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            others = [entry.name for entry in islice(entries, _MOST_NAMES) if entry.name != name]
        close = closest(name, others, 0.75)  # stricter than for words, because files of a folder often have similar names
    except OSError:
        return None
    return f"did you mean '{os.path.join(folder, close)}'?" if close else None
