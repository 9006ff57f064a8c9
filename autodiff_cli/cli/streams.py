"""Standard error that drops messages that cannot be written, and a closed standard output that raises an error."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from autodiff_cli.report.control_characters import visible


class Messages(io.TextIOBase):
    """Standard error that makes control characters visible and ignores write errors.

    Attributes:
        unescaped: the stream itself, for text whose control characters must reach the terminal; ``None`` if it is closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.unescaped = stream

    def write(self, text: str) -> int:
        if self.unescaped is not None:
            with suppress(OSError, ValueError):
                self.unescaped.write(visible(text))
        return len(text)

    def flush(self) -> None:
        if self.unescaped is not None:
            with suppress(OSError, ValueError):
                self.unescaped.flush()

    def isatty(self) -> bool:
        return self.unescaped is not None and bool(self.unescaped.isatty())

    def fileno(self) -> int:
        if self.unescaped is None:
            raise io.UnsupportedOperation("standard error is closed")
        return int(self.unescaped.fileno())

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self.unescaped, "encoding", None) or "utf-8"


class _Closed(io.RawIOBase):
    """A closed standard output, in which every write is an error."""

    def writable(self) -> bool:
        return True

    def write(self, _: object) -> int:
        raise io.UnsupportedOperation("standard output is closed")


@contextmanager
def guarded() -> Iterator[None]:
    """Replace standard error, and standard output if it is closed, with the streams of this module inside a ``with`` block."""
    before = sys.stdout, sys.stderr
    sys.stderr = Messages(before[1])
    if before[0] is None:
        sys.stdout = io.TextIOWrapper(_Closed(), encoding="utf-8", write_through=True)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def abandon_output() -> None:
    """Discard buffered output after a broken pipe, so that the interpreter does not try to write it at exit."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
