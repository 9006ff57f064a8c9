"""Standard streams that never stop the work: messages that cannot be printed are lost, a closed output is an error."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from autodiff_cli.report.control_characters import visible


class Messages(io.TextIOBase):
    """Standard error: control characters are shown, not sent, and what cannot be written is left out.

    Args:
        stream: where text goes; ``None`` if it is closed.

    Attributes:
        unescaped: the stream itself, for what moves the cursor on purpose.
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
    """Standard output where there is none."""

    def writable(self) -> bool:
        return True

    def write(self, _: object) -> int:
        raise io.UnsupportedOperation("standard output is closed")


@contextmanager
def guarded() -> Iterator[None]:
    """Put the streams above in the place of Python's."""
    before = sys.stdout, sys.stderr
    sys.stderr = Messages(before[1])
    if before[0] is None:
        sys.stdout = io.TextIOWrapper(_Closed(), encoding="utf-8", write_through=True)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def abandon_output() -> None:
    """Let what is still to be written go nowhere: the reader went away, and the interpreter must not try again."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
