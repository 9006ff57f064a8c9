"""Compressed text files: gzip, bzip2, xz and Zstandard."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, cast

from autodiff_cli.data.pyarrow_import import pyarrow
from autodiff_cli.errors import DataError, FileError
from autodiff_cli.formats import compression_of
from autodiff_cli.lazy import named


class Codec(NamedTuple):
    """A codec for files: its name in messages, the first bytes of a file, and the module that opens a file."""

    name: str
    magic: bytes
    module: str

    def stream(self, file: BinaryIO, mode: str) -> Any:
        """Return a file of the data, given the compressed file; the mode is ``rb`` or ``wb``.

        Raises:
            MissingPackage: if the codec needs a package that is not installed.
        """
        if self.name == "gzip" and mode == "wb":
            return named("gzip:GzipFile")("", mode, 6, file, 0)  # without a name and a time, equal data gives equal files
        if self.name == "Zstandard" and sys.version_info < (3, 14):
            arrow = pyarrow(self.name)
            if mode == "wb":
                return arrow.CompressedOutputStream(file, "zstd")
            return io.BufferedReader(arrow.CompressedInputStream(file, "zstd"))
        return named(f"{self.module}:open")(file, mode)


CODECS = {
    ".gz": Codec("gzip", b"\x1f\x8b", "gzip"),
    ".bz2": Codec("bzip2", b"BZh", "bz2"),
    ".xz": Codec("xz", b"\xfd7zXZ\0", "lzma"),
    ".zst": Codec("Zstandard", b"\x28\xb5\x2f\xfd", "compression.zstd"),
}
"""The codecs by the suffix of file names."""


def first_bytes(begins: bytes) -> str:
    """Return the first bytes of a file for a message: its first line if it is ASCII text, and otherwise hexadecimal numbers."""
    line = begins.partition(b"\n")[0].strip()
    return f"'{line.decode()}'" if line.isascii() and line.decode().isprintable() and line else f"the bytes {begins.hex(' ')}"


def decompressed(file: BinaryIO, name: str, path: str | None) -> BinaryIO:
    """Return the data of a text file that may be compressed, as its first bytes show.

    Args:
        file: the file.
        name: the name of the file in messages.
        path: the path of the file, whose suffix must fit; ``None`` for standard input.

    Raises:
        DataError: if the suffix of the path is that of a codec, and the data does not have its first bytes.
        MissingPackage: if the codec needs a package that is not installed.
    """
    buffered: Any = file if hasattr(file, "peek") else io.BufferedReader(cast("io.RawIOBase", file))
    begins = buffered.peek(8)[:8]
    own = next((codec for codec in CODECS.values() if begins.startswith(codec.magic)), None)
    expected = CODECS.get(compression_of(path or ""))
    if expected is not None and own is not expected:
        file.close()
        raise DataError(f"{name} is not in {expected.name} format", hint=f"it begins with {first_bytes(begins)}")
    return cast("BinaryIO", buffered if own is None else _Decompressed(own.stream(buffered, "rb"), file, name, own.name))


class _Decompressed:
    """The data of a compressed file, with the reading methods of ``io.BufferedIOBase``."""

    def __init__(self, data: Any, file: BinaryIO, name: str, codec: str) -> None:
        self._data = data
        self._file = file
        self._problem = f"cannot decompress {name} ({codec})"

    def read(self, size: int) -> bytes:
        return self._checked(self._data.read, size)

    def read1(self, size: int) -> bytes:
        return self._checked(self._data.read1, size)

    def _checked(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except Exception as error:  # each library raises errors of its own
            reason = str(error).partition(" (b'")[0]  # gzip adds the bytes as Python writes them
            raise FileError(self._problem, hint=reason or None) from None

    def close(self) -> None:
        self._data.close()
        self._file.close()


@contextmanager
def compressed(file: BinaryIO, path: str | None) -> Iterator[BinaryIO]:
    """Yield a file for data that is compressed as the suffix of a path says, or the file itself.

    Raises:
        MissingPackage: if the codec needs a package that is not installed.
    """
    codec = CODECS.get(compression_of(path or ""))
    if codec is None:
        yield file
        return
    with codec.stream(file, "wb") as packed:
        yield packed
