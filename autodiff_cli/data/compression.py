"""Compressed text files: gzip, bzip2, xz and Zstandard."""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from autodiff_cli.data.storage import library_errors
from autodiff_cli.errors import DataError
from autodiff_cli.formats import compression_of
from autodiff_cli.lazy import library, named

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_GZIP_LEVEL = 4
"""The level takes half of the time of level 6 for rows of NDJSON, and makes them 5 % larger."""
_GZIP_FORMAT = 16 + zlib.MAX_WBITS
"""The number by which zlib names the format of gzip."""
_SAMPLE = 1 << 15
"""The number of bytes in which DEFLATE looks for repeated text."""
_HAS_ZSTANDARD = sys.version_info >= (3, 14)
"""Whether Python has the module ``compression.zstd``; otherwise, pyarrow is used."""
FIRST_BYTES = 8
"""The number of first bytes of a file that tell its format."""


class Codec(NamedTuple):
    """A codec for files: its name in messages, the first bytes of a file, and the module that opens a file.

    Both methods raise ``MissingPackage`` if the codec needs a package that is not installed.
    """

    name: str
    magic: bytes
    module: str

    def opened(self, file: BinaryIO) -> Any:
        """Return a file of the data of a compressed file."""
        if self.name == "Zstandard" and not _HAS_ZSTANDARD:
            return io.BufferedReader(library("pyarrow", self.name, "use csv").CompressedInputStream(file, "zstd"))
        return named(f"{self.module}:open")(file, "rb")

    def packer(self) -> Callable[[bytes], bytes]:
        """Return the function that compresses a part of a file; a compressed file may be a sequence of such parts."""
        if self.name == "gzip":
            return _gzipped
        if self.name == "Zstandard" and not _HAS_ZSTANDARD:
            return partial(library("pyarrow", self.name, "use csv").Codec("zstd").compress, asbytes=True)
        packer: Callable[[bytes], bytes] = named(f"{self.module}:compress")
        return packer


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
    is_text = line and line.isascii() and line.decode().isprintable()
    return f"'{line.decode()}'" if is_text else f"the bytes {begins.hex(' ')}"


def decompressed(file: BinaryIO, name: str, path: str | None) -> BinaryIO:
    """Return the data of a text file, which has ``peek`` and may be compressed, as its first bytes show.

    If the suffix of the path, which is ``None`` for standard input, is that of another codec, the file is closed and ``DataError``
    is raised.  If the codec needs a package that is not installed, ``MissingPackage`` is raised.
    """
    begins = file.peek(FIRST_BYTES)[:FIRST_BYTES]  # type: ignore[attr-defined]
    codec = next((codec for codec in CODECS.values() if begins.startswith(codec.magic)), None)
    expected = CODECS.get(compression_of(path or ""))
    if expected is not None and codec is not expected:
        file.close()
        raise DataError(f"{name} is not in {expected.name} format", hint=f"it begins with {first_bytes(begins)}")
    return cast("BinaryIO", file if codec is None else _Decompressed(codec.opened(file), file, name, codec.name))


class _Decompressed:
    """The data of a compressed file, with the reading methods of ``io.BufferedIOBase``; errors of the codec are ``DataError``."""

    def __init__(self, data: Any, file: BinaryIO, name: str, codec: str) -> None:
        self._data = data
        self._file = file
        self._problem = f"cannot decompress {name} ({codec})"

    def read(self, size: int) -> Any:
        with library_errors(self._problem):
            return self._data.read(size)

    def read1(self, size: int) -> Any:
        with library_errors(self._problem):
            return self._data.read1(size)

    def close(self) -> None:
        self._data.close()
        self._file.close()


class Packed(bytes):
    """Compressed data."""


class CompressedFile:
    """A file whose parts are compressed one by one, so that threads can compress parts that are written later."""

    def __init__(self, file: BinaryIO, codec: Codec) -> None:
        self._file = file
        self._packer = codec.packer()
        self._is_empty = True

    def pack(self, parts: Iterable[ReadableBuffer]) -> Packed:
        """Compress the data of parts for a later ``write``.  This method is thread-safe."""
        return Packed(self._packer(b"".join(parts)))

    def write(self, part: ReadableBuffer) -> None:
        """Append a part, which is compressed unless it is ``Packed``."""
        if part:
            self._file.write(part if isinstance(part, Packed) else self.pack([part]))
            self._is_empty = False

    def flush(self) -> None:
        self._file.flush()

    def finish(self) -> None:
        """Write the compressed form of no data if nothing was written: a file of 0 bytes is not a compressed file."""
        if self._is_empty:
            self._file.write(self.pack([]))


def _gzipped(data: bytes) -> bytes:
    """Return data as a member of a gzip file (RFC 1952), which has no time, so that equal data gives equal files.

    A sample decides whether to look for repeated text, which takes time and saves nothing in columns of numbers.
    """
    sample = data[:_SAMPLE]
    strategies = zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY
    return _gzipped_with(min(strategies, key=lambda strategy: len(_gzipped_with(strategy, sample))), data)


def _gzipped_with(strategy: int, data: bytes) -> bytes:
    """Return data as a member of a gzip file, compressed with one of the strategies of zlib."""
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_FORMAT, strategy=strategy)
    return packer.compress(data) + packer.flush()


@contextmanager
def compressed(file: BinaryIO, path: str | None) -> Iterator[BinaryIO]:
    """Yield a file for data that is compressed as the suffix of a path says, else the file itself; for errors, see ``Codec``."""
    suffix = compression_of(path or "")
    if suffix not in CODECS:
        yield file
        return
    packing = CompressedFile(file, CODECS[suffix])
    yield cast("BinaryIO", packing)
    packing.finish()
