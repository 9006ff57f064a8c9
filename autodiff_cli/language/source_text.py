"""Reading with a bound: a file that never ends, such as a device, is refused before it fills the memory."""

from __future__ import annotations

import os
import stat
import sys
from itertools import islice
from typing import Any

from autodiff_cli.errors import FileError, LimitError
from autodiff_cli.limits import lifted
from autodiff_cli.suggest import closest

MOST_TEXT = 1 << 22
"""Bytes of a program; ``parser.MOST_TOKENS`` is about what is in them."""
_PIECE = 1 << 20
_MOST_NAMES = 10_000
"""Files of a folder among which one is looked for that may have been meant."""


def spoken(path: str | None) -> str:
    """What messages call a file; ``None`` is standard input."""
    return "standard input" if path is None else f"'{path}'"


def text(path: str | None) -> str:
    """The text of a program in a file, in standard input for ``None``.

    Raises:
        FileError: if it cannot be read, and for what is no text.
        LimitError: for more than ``MOST_TEXT``.
    """
    data = contents(path, MOST_TEXT)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise FileError(f"{spoken(path)} is not UTF-8 text", hint="numbers in other files are read with --at x=@file") from None


def contents(path: str | None, most: int) -> bytes:
    """All bytes of a file, of standard input for ``None``.

    Raises:
        FileError: if it cannot be read.
        LimitError: if there are more than ``most``.
    """
    try:
        with opened(path) as file:
            return _all(file, most, spoken(path))
    except OSError as error:
        raise error if isinstance(error, FileError) else unreadable(path, error) from None


def opened(path: str | None) -> Any:
    """A file open for reading bytes; standard input stays open.

    Raises:
        OSError: if it cannot be read.
    """
    if path is not None:
        return open(path, "rb")
    if sys.stdin is None:
        hint = "write the text on the command line, or name a file"
        raise FileError("cannot read standard input: it is closed", hint=hint)
    return _Kept(sys.stdin.buffer)


class _Kept:
    """A stream that is not closed by ``with``."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __enter__(self) -> Any:
        return self._stream

    def __exit__(self, *_: object) -> None:
        pass


def _all(file: Any, most: int, name: str) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := file.read(_PIECE):
        size += len(piece)
        if size > most and not lifted():
            raise too_long(name, most)
        pieces.append(piece)
    return b"".join(pieces)


def size_of(file: Any) -> int | None:
    """How many bytes a file has, if it is one on disk; ``None`` for a pipe or a device."""
    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def left_in(file: Any) -> int | None:
    """How many bytes follow in a file on disk; ``None`` for a pipe or a device."""
    size = size_of(file)
    return None if size is None else max(0, size - int(file.tell()))


def too_long(name: str, most: int) -> LimitError:
    """The error for a file of too many bytes."""
    hint = "is it the right file? commands that have --no-limits read it with that"
    return LimitError(f"{name} is longer than {most >> 20:,} MiB", hint=hint)


def unreadable(path: str | None, error: OSError) -> FileError:
    """The error for a file that cannot be opened or read, with what may have been meant."""
    return FileError(f"cannot read {spoken(path)}: {error.strerror or error}", hint=None if path is None else _way_out(path))


def _way_out(path: str) -> str | None:
    if os.path.isdir(path):
        return "it is a folder: name a file in it"
    if os.path.islink(path):
        return f"it is a link to '{os.readlink(path)}', which leads nowhere"
    return None if os.path.exists(path) else nearby(path)


def nearby(path: str) -> str | None:
    """``did you mean 'data.csv'?`` for a file that does not exist, if one beside it has nearly its name."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            others = [entry.name for entry in islice(entries, _MOST_NAMES) if entry.name != name]
        close = closest(name, others, 0.75)
    except OSError:
        return None
    return f"did you mean '{os.path.join(folder, close)}'?" if close else None
