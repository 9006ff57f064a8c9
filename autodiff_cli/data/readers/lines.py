"""Text files as whole lines, a few megabytes at a time."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_cli.errors import DataError, FileError, setting
from autodiff_cli.formats import FORMATS
from autodiff_cli.language.source_text import size_of

CHUNK = 1 << 22
"""Bytes that are read at once."""
FIRST = 1 << 16
"""Bytes of a pipe that are read first, so that ``head`` need not wait for more."""
LINES = 200_000
"""Lines that are handed on at once."""
LONGEST = 1 << 26
"""A row of more bytes is taken for a mistake."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class LineFile:
    """A file that is read in chunks of whole lines.

    Args:
        file: open for reading bytes.
        name: what messages call it.
        unbuffered: hand on what is there, without waiting for more.
        begins: whether a mark of byte order may stand at the beginning.
        soon: hand the first lines of a pipe on early.

    Attributes:
        done: bytes that were read.
        total: bytes that there are, if that is known.
    """

    def __init__(self, file: Any, name: str, unbuffered: bool = False, begins: bool = True, soon: bool = False) -> None:
        self.name = name
        self._soon = soon
        self._unbuffered = unbuffered
        self._begins = begins
        self.file = file
        self.done = 0
        self.total = size_of(file)
        self._read = file.read1 if unbuffered else file.read
        self._rest = b""
        self._ended = False
        self._whole = False
        self._lines_left = False

    def chunks(self) -> Iterator[bytes]:
        """Whole lines, each ended by a newline; without a mark of byte order.

        Raises:
            FileError: if the file cannot be read.
            DataError: for UTF-16, other formats, and for a line without an end.
        """
        first = self._begins
        while self._lines_left or not self._ended:
            data = self._rest if self._lines_left else self._rest + self._next()
            if first and data.startswith(_UTF16):
                raise DataError(f"{self.name} is UTF-16", hint="make it UTF-8: iconv -f utf-16 -t utf-8")
            if first:
                self._check_text(data[:64])
                data = data.removeprefix(codecs.BOM_UTF8)
            if self._ended and data and not data.endswith(b"\n"):
                data += b"\n"
            end = self._end(data)
            self._rest = data[end:]
            self._lines_left = b"\n" in self._rest
            if not self._lines_left and len(self._rest) > LONGEST:
                raise DataError(f"{self.name}: a row of more than {LONGEST >> 20} MiB", hint="is it a text file?")
            if end:
                first = False
                yield data[:end]

    def _check_text(self, start: bytes) -> None:
        style = next((each.name for each in FORMATS.values() if start.startswith((*each.magic, *each.stream_magic))), None)
        # A header may begin with the same letters.
        if style is not None and (start[0] > 127 or any(byte < 32 and byte not in b"\t\r\n" for byte in start)):
            raise DataError(
                f"{self.name} is {'an' if style[0] in 'an' else 'a'} {style} file, not text",
                hint=f"set {setting('input_format', style)}",
            )

    def put_back(self, data: bytes) -> None:
        """Lines that the next chunk should begin with."""
        self._rest = data + self._rest
        self._whole = True
        self._lines_left = self._lines_left and self._ended
        if len(data) > LONGEST:
            raise DataError(f"{self.name}: a row of more than {LONGEST >> 20} MiB", hint="a quote may never be closed")

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to read."""
        return self._ended and not self._rest

    def _end(self, data: bytes) -> int:
        """Where the last line ends that is handed on: short lines are many, and what is made of each is much larger."""
        whole, self._whole = self._whole, False
        if whole or data.count(b"\n") <= LINES:
            return data.rfind(b"\n") + 1
        return int(np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))[LINES - 1]) + 1

    def _next(self) -> bytes:
        size = min(CHUNK, FIRST) if self._soon and self.total is None and not self.done else CHUNK
        try:
            data: bytes = self._read(size)
            self._ended = not data
            if data and len(data) < size and not self._unbuffered:
                # Most likely the last bytes: who gets them should know.
                more: bytes = self._read(size)
                self._ended = not more
                data += more
        except OSError as error:
            raise FileError(f"cannot read {self.name}: {error.strerror or error}") from None
        self.done += len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class Section:
    """A file from one byte to another, as a file; see ``io.BufferedIOBase``."""

    def __init__(self, file: Any, start: int, stop: int) -> None:
        self._file = file
        self._left = stop - start
        file.seek(start)

    def read(self, size: int) -> bytes:
        data: bytes = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data

    read1 = read

    def close(self) -> None:
        self._file.close()


def decoded(data: bytes, name: str, line: int) -> str:
    """Text, with the line in the message where it is none.

    Raises:
        DataError: if it is no UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        raise DataError(f"{name}, line {at}: this is not UTF-8 text", hint="make it so: iconv -f latin1 -t utf-8") from None
