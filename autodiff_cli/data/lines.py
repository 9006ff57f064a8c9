"""Text files as whole lines, a few megabytes at a time."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from typing import Any

from autodiff_cli.errors import DataError, FileError

CHUNK = 1 << 22
"""Bytes that are read at once."""
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

    Attributes:
        done: bytes that were read.
        total: bytes that there are, if that is known.
    """

    def __init__(self, file: Any, name: str, unbuffered: bool = False, begins: bool = True) -> None:
        self.name = name
        self._begins = begins
        self.file = file
        self.done = 0
        self.total = size_of(file)
        self._read = file.read1 if unbuffered else file.read
        self._rest = b""
        self._ended = False

    def chunks(self) -> Iterator[bytes]:
        """Whole lines, each ended by a newline; without a mark of byte order.

        Raises:
            FileError: if the file cannot be read.
            DataError: for UTF-16, and for a line without an end.
        """
        first = self._begins
        while not self._ended:
            data = self._rest + self._next()
            if first and data.startswith(_UTF16):
                raise DataError(f"{self.name} is UTF-16", hint="make it UTF-8: iconv -f utf-16 -t utf-8")
            if first:
                data = data.removeprefix(codecs.BOM_UTF8)
            if self._ended and data and not data.endswith(b"\n"):
                data += b"\n"
            end = data.rfind(b"\n") + 1
            self._rest = data[end:]
            if len(self._rest) > LONGEST:
                raise DataError(f"{self.name}: a row of more than {LONGEST >> 20} MiB", hint="is it a text file?")
            if end:
                first = False
                yield data[:end]

    def put_back(self, data: bytes) -> None:
        """Lines that the next chunk should begin with."""
        self._rest = data + self._rest
        if len(self._rest) > LONGEST:
            raise DataError(f"{self.name}: a row of more than {LONGEST >> 20} MiB", hint="a quote may never be closed")

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to read."""
        return self._ended

    def _next(self) -> bytes:
        try:
            data: bytes = self._read(CHUNK)
        except OSError as error:
            raise FileError(f"cannot read {self.name}: {error.strerror or error}") from None
        self.done += len(data)
        self._ended = not data
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


def size_of(file: Any) -> int | None:
    """How many bytes a file has, if it is one on disk."""
    import stat

    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
