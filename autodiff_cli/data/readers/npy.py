"""The readers of ``.npy`` and ``.npz``, which read blocks of rows sequentially and never unpickle."""

from __future__ import annotations

import ast
import math
import os
import struct
import warnings
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from autodiff_cli.arrays import Array, Floats
from autodiff_cli.data.libraries import library_errors
from autodiff_cli.data.readers.lines import LONGEST
from autodiff_cli.data.row_blocks import BLOCK_ROWS, BadRows, Block, InputFile, Reader, ReadRequest
from autodiff_cli.errors import DataError, LimitError, setting
from autodiff_cli.language.source_text import left_in
from autodiff_cli.limits import MOST_ELEMENTS
from autodiff_cli.wording import plural

_LONGEST_HEADER = 1 << 20
_BLOCK_BYTES = 1 << 27
_PIECE = 1 << 24
"""The maximum number of bytes of one read, regardless of the size that the header states."""

Arrays = dict[str, Array]


class StoredArray:
    """An array in a file, which is read in blocks of rows.

    Args:
        file: the open file, positioned at the beginning of the array.
        name: the name of the array in messages.

    Attributes:
        dtype, shape: the type and shape of the whole array.
        by_columns: whether the array is stored column by column.

    Raises:
        DataError: if the file does not contain a whole array of plain values with at least one dimension.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file
        magic = file.read(8)
        if magic[:6] != b"\x93NUMPY" or len(magic) < 8:
            raise DataError(f"{name} is not a .npy file")
        size, encoding = (2, "latin1") if magic[6] == 1 else (4, "latin1" if magic[6] == 2 else "utf-8")
        with library_errors(f"{name} does not have a NumPy header"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python may warn about the literal in the header
            (length,) = struct.unpack("<H" if size == 2 else "<I", file.read(size))
            header = ast.literal_eval(file.read(min(length, _LONGEST_HEADER)).decode(encoding).strip())
            self.dtype = np.lib.format.descr_to_dtype(header["descr"])
            self.shape: tuple[int, ...] = header["shape"]
            self.by_columns = header["fortran_order"] and len(self.shape) > 1
            if type(self.shape) is not tuple or any(type(length) is not int or length < 0 for length in self.shape):
                raise ValueError(f"its shape is {self.shape}")
        if self.dtype.hasobject:
            raise DataError(f"{name} contains Python objects, not numbers", hint="save arrays of numbers")
        if not self.shape:
            raise DataError(f"{name} contains one number, not rows")
        self._check_length()

    def _check_length(self) -> None:
        left = left_in(self._file)
        wanted = math.prod(self.shape) * self.dtype.itemsize
        if left is not None and left < wanted:
            raise DataError(
                f"{self.name} ends before its last row",
                hint=f"its header states {wanted:,} bytes, but the file has {left:,}",
            )
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        if not self.dtype.itemsize:
            raise DataError(f"{self.name} is empty: its values have a size of 0 bytes")
        if row > LONGEST:
            raise DataError(f"{self.name} has a row of more than {LONGEST >> 20} MiB", hint="check that it is a table")

    @property
    def block_rows(self) -> int:
        """The maximum number of rows of a block."""
        return max(1, min(BLOCK_ROWS, _BLOCK_BYTES // max(1, math.prod(self.shape[1:]) * self.dtype.itemsize)))

    def blocks(self, begin: int = 0, end: int | None = None, most: int | None = None) -> Iterator[Array]:
        """Yield blocks of rows.

        Args:
            begin, end: the range of rows; the file must be seekable unless ``begin`` is 0.
            most: the maximum number of rows of a block.

        Raises:
            LimitError: if a large array is stored column by column, because it would have to be read as a whole.
        """
        end = self.shape[0] if end is None else end
        most = most or self.block_rows
        if self.by_columns:
            if math.prod(self.shape) > MOST_ELEMENTS:
                raise LimitError(
                    f"{self.name} stores {math.prod(self.shape):,} numbers column by column, so it cannot be read in blocks",
                    hint="save it row by row: numpy.ascontiguousarray",
                )
            whole = self._read(math.prod(self.shape)).reshape(self.shape, order="F")
            for start in range(begin, end, most):
                yield whole[start : min(start + most, end)]
            return
        row = self.shape[1:]
        if begin:
            self._file.seek(begin * math.prod(row) * self.dtype.itemsize, os.SEEK_CUR)
        for start in range(begin, end, most):
            rows = min(most, end - start)
            yield self._read(rows * math.prod(row)).reshape(rows, *row)

    def _read(self, elements: int) -> Array:
        wanted = elements * self.dtype.itemsize
        pieces: list[bytes] = []
        while wanted:
            with library_errors(f"cannot read {self.name}"):
                piece = self._file.read(min(wanted, _PIECE))
            if not piece:
                raise DataError(f"{self.name} ends before its last row")
            pieces.append(piece)
            wanted -= len(piece)
        array = np.frombuffer(pieces[0] if len(pieces) == 1 else b"".join(pieces), self.dtype)
        return array if self.dtype.isnative else array.astype(self.dtype.newbyteorder("="))


class _NumpyReader(Reader):
    """The base class of the NumPy readers; ``done`` and ``total`` count rows."""

    def block(self, piece: tuple[int, Arrays], request: ReadRequest) -> Block:
        """Return the rows of a piece; see ``Reader.block``.

        Raises:
            DataError: if a column contains values that are not numbers.
        """
        first, arrays = piece
        rows = len(next(iter(arrays.values())))
        bad = BadRows(f"{self.name}, row", request.on_error, request.finite)
        numbers: dict[str, Floats] = {}
        for name in request.numbers:
            array = arrays[name]
            if array.dtype.kind not in "fiub":
                raise DataError(f"{self.name}: column '{name}' contains {described(array.dtype)}, not numbers")
            numbers[name] = np.ascontiguousarray(array, np.float64)
        columns = {name: self._checked(name, arrays[name]) for name in request.kept}
        texts = {name: arrays[name] for name in request.texts}
        return bad.applied_to(Block(rows, numbers, columns, None, bad.where, range(first, first + rows), texts=texts))

    def _checked(self, name: str, array: Array) -> Array:
        """Check that the text of a column that is copied to the output is valid Unicode, and return the column."""
        if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
            points = np.ascontiguousarray(array).view(np.uint32)
            if points.max() > 0x10FFFF or ((points >= 0xD800) & (points < 0xE000)).any():
                raise DataError(
                    f"{self.name}: column '{name}' contains text that is not Unicode", hint="check that the file is complete"
                )
        return array


def described(dtype: np.dtype[Any]) -> str:
    """Return the description of an array's value type for a message."""
    return {"U": "text", "S": "bytes", "b": "true and false", "c": "complex numbers"}.get(dtype.kind, str(dtype))


class NpyReader(_NumpyReader):
    """The reader of a structured array with its fields as columns, or of a 1-d or 2-d array with given column names.

    Attributes:
        divisible: whether ranges of rows can be read independently.

    Raises:
        DataError: if the array is not a table, or the number of names differs from the number of columns.
    """

    def __init__(self, source: InputFile) -> None:
        super().__init__(source)
        name, columns = source.name, source.columns
        self._stored = StoredArray(source.file, name)
        shape, fields = self._stored.shape, self._stored.dtype.names
        width = 1 if len(shape) == 1 else shape[1]
        if len(shape) > 2 or (fields is not None and len(shape) > 1):
            raise DataError(f"{name} contains an array of shape {list(shape)}, not a table")
        if fields is None and columns is None:
            raise DataError(
                f"{name} does not name its columns", hint=f"name its {plural(width, 'column')} with {setting('columns', 'x,y')}"
            )
        names = fields if columns is None else columns
        assert names is not None
        width = width if fields is None else len(fields)
        if len(names) != width:
            raise DataError(f"{name} has {plural(width, 'column')}, but {setting('columns')} names {len(names)}")
        self.columns = tuple(names)
        self.total = shape[0]
        self._rows: tuple[int, int | None] = (0, None)
        self.divisible = not self._stored.by_columns

    def cut(self, start: int, stop: int, first: int) -> None:
        """Restrict the reader to the rows from ``start`` to ``stop``, the first of which has the number ``first``."""
        self._rows = (start, stop)
        self.done = first - 1

    def pieces(self) -> Iterator[tuple[int, Arrays]]:
        """Yield each block of rows with the number of its first row."""
        fields = self._stored.dtype.names
        for block in (
            self._stored.blocks(*self._rows) if self.total else [np.empty((0, *self._stored.shape[1:]), self._stored.dtype)]
        ):
            first = self.done + 1
            self.done += len(block)
            if fields is not None:
                yield first, {name: block[field] for name, field in zip(self.columns, fields, strict=True)}
            else:
                yield first, dict(zip(self.columns, block.reshape(len(block), len(self.columns)).T, strict=True))


class NpzReader(_NumpyReader):
    """The reader of an archive with one 1-d array for each column.

    Raises:
        DataError: if the file is not an archive of 1-d arrays of the same length.
    """

    def __init__(self, source: InputFile) -> None:
        super().__init__(source)
        name = source.name
        with library_errors(f"{name} is not a .npz file"):
            self._archive = zipfile.ZipFile(source.file)
            members = {info.filename.removesuffix(".npy"): info for info in self._archive.infolist()}
            self._stored = {key: StoredArray(self._archive.open(info), f"{name}: {key}") for key, info in members.items()}
        self.columns = tuple(self._stored)
        lengths = {key: stored.shape for key, stored in self._stored.items()}
        if not lengths or any(len(shape) > 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
            shapes = ", ".join(f"{key} {list(shape)}" for key, shape in lengths.items())
            raise DataError(f"{name} is not a table: {f'its columns have shapes {shapes}' if shapes else 'it has no columns'}")
        self.total = next(iter(lengths.values()))[0]

    def pieces(self) -> Iterator[tuple[int, Arrays]]:
        """Yield each block of rows with the number of its first row."""
        if not self.total:
            yield 1, {key: np.empty(0, stored.dtype) for key, stored in self._stored.items()}
        most = min(stored.block_rows for stored in self._stored.values())
        for blocks in zip(*(stored.blocks(most=most) for stored in self._stored.values()), strict=True):
            first = self.done + 1
            self.done += len(blocks[0])
            yield first, dict(zip(self.columns, blocks, strict=True))

    def close(self) -> None:
        """Close the archive and the file."""
        self._archive.close()
        super().close()
