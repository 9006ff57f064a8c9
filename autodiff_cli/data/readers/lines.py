"""The base class of text readers, which read whole lines in chunks of a few megabytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from autodiff_cli.data.row_blocks import ROW, SAMPLE, Input, Reader
from autodiff_cli.errors import DataError, FileError, setting
from autodiff_cli.formats import format_of_first_bytes
from autodiff_cli.language.limited_reading import file_size

CHUNK = 1 << 21
"""The number of bytes of one read; more short lines would need much memory as rows."""
FIRST = 1 << 16
"""The number of bytes of the first read from a pipe; it is small so that the first rows appear early."""
LONGEST = 1 << 26
"""The maximum number of bytes of a row; a longer row is an error."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Lines(NamedTuple):
    """Whole lines, and the number of the first line; their rows, if they are parsed."""

    data: bytes
    first: int
    rows: Any = None


class TextReader(Reader):
    """The base class of text readers, which read chunks of whole lines; ``done`` and ``total`` count bytes.

    Args:
        source, file: see ``Reader``; a byte order mark is skipped if the file begins at line 1.
        soon: whether the first chunk of a pipe is small, so that it is yielded early.

    Attributes:
        line: the number of the next line.
        ended: whether the whole file was read.
    """

    def __init__(self, source: Input, file: BinaryIO, soon: bool = False) -> None:
        super().__init__(source, file)
        self.line = source.first
        self.total = file_size(file)
        self._span_bytes: int | None = None  # the number of bytes to read; ``None`` for all
        if source.span is not None:
            begin, end = source.span
            file.seek(begin)
            self._span_bytes = end - begin
        self._soon = soon
        self._unbuffered = source.unbuffered
        # read1 returns what has arrived; BinaryIO does not declare it.
        self._read = getattr(file, "read1" if source.unbuffered else "read")
        self.parallel = find_spec("llvmlite") is not None  # machine code releases Python's global lock
        self._chunks = self.chunks()
        self._begun = b""  # the lines from the first row on in the same chunk
        self._rest = b""  # the beginning of a line at the end of what was read
        self.ended = False

    def chunks(self) -> Iterator[bytes]:
        """Yield chunks of whole lines, each ended by a newline, without a byte order mark.

        A file that cannot be read raises ``FileError``; one in UTF-16 or another format, or with too long a line, ``DataError``.
        """
        at_start = self.line == 1
        while not self.ended:
            data = self._rest + self._next()
            if at_start and data.startswith(_UTF16):
                raise DataError(f"{self.name} is UTF-16", hint="convert it to UTF-8: iconv -f utf-16 -t utf-8")
            if at_start:  # until a line was yielded
                self._check_text(data[:SAMPLE])
                data = data.removeprefix(codecs.BOM_UTF8)
            if self.ended and data and not data.endswith(b"\n"):
                data += b"\n"
            end = data.rfind(b"\n") + 1
            self._rest = data[end:]
            if len(self._rest) > LONGEST:
                raise DataError(f"{self.name} has a row of more than {LONGEST >> 20} MiB", hint="check that it is a text file")
            if end:
                at_start = False
                yield data[:end]

    def _first_line(self) -> str | None:
        """Skip blank lines, and return the first other line or ``None``.  The line remains to be read."""
        for chunk in self._chunks:
            blank_size = len(chunk) - len(chunk.lstrip())  # blank lines, and perhaps the indentation of the first other line
            start = chunk.rfind(b"\n", 0, blank_size) + 1
            self.line += chunk.count(b"\n", 0, start)
            self._begun = chunk[start:]
            if self._begun:
                return decoded(self._begun[: self._begun.index(b"\n") + 1], self.name, self.line)
        return None

    def _remaining(self) -> Iterator[bytes]:
        """Yield the chunks of lines after the header; the first one is empty only if there are no lines."""
        chunks = chain([self._begun], self._chunks)
        yield next(filter(None, chunks), b"")
        yield from chunks

    def _check_text(self, start: bytes) -> None:
        """Raise ``DataError`` if the first bytes of the file are those of a binary format."""
        style = format_of_first_bytes(start)
        if style is not None:
            article = "an" if style[0] in "an" else "a"  # an arrow file, an npy file
            raise DataError(f"{self.name} is {article} {style} file, not text", hint=f"set {setting('input_format', style)}")

    def put_back(self, data: bytes) -> None:
        """Prepend lines to the next chunk; raise ``DataError`` if they are too long for a row."""
        self._rest = data + self._rest
        if len(data) > LONGEST:
            raise DataError(f"{self.name} has a row of more than {LONGEST >> 20} MiB", hint="look for a quote that is never closed")

    @property
    def estimate(self) -> float:
        """The approximate number of rows; see ``Reader``."""
        return super().estimate / ROW

    def _next(self) -> bytes:
        """Read the next bytes of the part to read, or raise ``FileError``; then ``ended`` says whether they are the last."""
        is_first_of_pipe = self._soon and self.total is None and not self.done
        size = min(CHUNK, FIRST) if is_first_of_pipe else CHUNK
        size = size if self._span_bytes is None else min(size, self._span_bytes - self.done)
        try:
            data: bytes = self._read(size)
            self.ended = not data
            if data and len(data) < size and not self._unbuffered:
                # A short read is most likely at the end of the file; a second read confirms it, because ``ended`` must be exact.
                more: bytes = self._read(size - len(data))
                self.ended = not more
                data += more
        except OSError as error:
            raise FileError(f"cannot read {self.name}: {error.strerror or error}") from None
        self.done += len(data)
        return data


def lines_in(data: bytes) -> int:
    """Return the number of newlines; faster than ``bytes.count`` if lines are short."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def decoded(data: bytes, name: str, line: int) -> str:
    """Decode bytes of the file ``name`` that begin at a ``line``.  If they are not UTF-8, a ``DataError`` names both."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        raise DataError(f"{name}, line {at}: this is not UTF-8 text", hint="convert it: iconv -f latin1 -t utf-8") from None
