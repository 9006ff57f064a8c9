"""Text files as whole lines, a few megabytes at a time."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO, cast

import numpy as np

from autodiff_cli.data.row_blocks import InputFile, Reader
from autodiff_cli.errors import DataError, FileError, setting
from autodiff_cli.formats import FORMATS
from autodiff_cli.language.source_text import size_of

CHUNK = 1 << 22
"""Bytes that are read at once."""
FIRST = 1 << 16
"""Bytes of a pipe that are read first, so that ``head`` need not wait for more."""
LINES = 200_000
"""Lines of a chunk at most."""
LONGEST = 1 << 26
"""A row of more bytes is taken for a mistake."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextReader(Reader):
    """Base class of readers of text, in chunks of whole lines; done and total are bytes.

    Args:
        source: the file; a mark of byte order is skipped if it begins at line 1.
        soon: yield the first lines of a pipe early.

    Attributes:
        line: number of the line that comes next.
    """

    def __init__(self, source: InputFile, soon: bool = False) -> None:
        super().__init__(source)
        self.line = source.line
        self.total = size_of(source.file)
        self._soon = soon
        self._unbuffered = source.unbuffered
        # A buffered file has read1 too, which BinaryIO does not say.
        self._read = getattr(source.file, "read1" if source.unbuffered else "read")
        self._chunks = self.chunks()
        self._begun = b""  # lines behind the header that were read with it
        self._rest = b""
        self._ended = False
        self._whole = False
        self._lines_left = False

    def chunks(self) -> Iterator[bytes]:
        """Yield whole lines, each ended by a newline, without a mark of byte order.

        Raises:
            FileError: if the file cannot be read.
            DataError: for UTF-16, for other formats, and for a line without an end.
        """
        first = self.line == 1
        while self._lines_left or not self._ended:
            data = self._rest if self._lines_left else self._rest + self._next()
            if first and data.startswith(_UTF16):
                raise DataError(f"{self.name} is UTF-16", hint="convert it to UTF-8: iconv -f utf-16 -t utf-8")
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

    def _remaining(self) -> Iterator[bytes]:
        """Yield the lines behind the header; the first chunk may be empty."""
        yield self._begun
        yield from self._chunks

    def _check_text(self, start: bytes) -> None:
        found = next((each.name for each in FORMATS.values() if start.startswith((*each.magic, *each.stream_magic))), None)
        # A header may begin with the same letters.
        if found is not None and (start[0] > 127 or any(byte < 32 and byte not in b"\t\r\n" for byte in start)):
            article = "an" if found[0] in "an" else "a"
            raise DataError(f"{self.name} is {article} {found} file, not text", hint=f"set {setting('input_format', found)}")

    def put_back(self, data: bytes) -> None:
        """Let the next chunk begin with these lines."""
        self._rest = data + self._rest
        self._whole = True
        self._lines_left = self._lines_left and self._ended
        if len(data) > LONGEST:
            raise DataError(f"{self.name}: a row of more than {LONGEST >> 20} MiB", hint="is there a quote that is never closed?")

    @property
    def ended(self) -> bool:
        """Whether all of the file was handed out."""
        return self._ended and not self._rest

    def _end(self, data: bytes) -> int:
        """Return where a chunk ends: after ``LINES`` lines, as what is made of many short lines takes far more memory."""
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
                # These are most likely the last bytes; the caller has to know.
                more: bytes = self._read(size)
                self._ended = not more
                data += more
        except OSError as error:
            raise FileError(f"cannot read {self.name}: {error.strerror or error}") from None
        self.done += len(data)
        return data


class _Section:
    """A range of bytes of a file, as a file; see ``io.BufferedIOBase``."""

    def __init__(self, file: BinaryIO, start: int, stop: int) -> None:
        self._file = file
        self._left = stop - start
        file.seek(start)

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data

    read1 = read

    def close(self) -> None:
        self._file.close()


def section(file: BinaryIO, start: int, stop: int) -> BinaryIO:
    """Return a range of bytes of a file as a file that can be read from front to back."""
    return cast("BinaryIO", _Section(file, start, stop))


def decoded(data: bytes, name: str, line: int) -> str:
    """Return bytes as text.

    Args:
        name: of the file, for the message.
        line: number of the first line.

    Raises:
        DataError: if they are not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        raise DataError(f"{name}, line {at}: this is not UTF-8 text", hint="convert it: iconv -f latin1 -t utf-8") from None
