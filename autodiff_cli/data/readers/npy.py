"""Reading .npy and .npz from front to back, without the whole of it in memory; nothing in them is ever unpickled."""

from __future__ import annotations

import ast
import math
import os
import struct
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_cli.data.block import BLOCK_ROWS, BadRows, Block, InputFile, Wish
from autodiff_cli.data.libraries import foreign
from autodiff_cli.data.readers.lines import LONGEST
from autodiff_cli.errors import DataError, LimitError
from autodiff_cli.language.source_text import left_in
from autodiff_cli.limits import MOST_ELEMENTS

_LONGEST_HEADER = 1 << 20
_BLOCK_BYTES = 1 << 27
_PIECE = 1 << 24
"""Bytes that are read at once, whatever the header promises."""


class Stored:
    """An array in a file that is read row by row.

    Args:
        file: open at the beginning of the array.
        name: what messages call it.

    Attributes:
        dtype, shape: of the whole array.
        by_columns: whether it is stored column after column.

    Raises:
        DataError: for what is no array, or one of Python objects.
    """

    def __init__(self, file: Any, name: str) -> None:
        self.name = name
        self._file = file
        magic = file.read(8)
        if magic[:6] != b"\x93NUMPY" or len(magic) < 8:
            raise DataError(f"{name} is no .npy file")
        size, encoding = (2, "latin1") if magic[6] == 1 else (4, "latin1" if magic[6] == 2 else "utf-8")
        with foreign(f"{name} has no header that NumPy would write"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python about what stands in it
            (length,) = struct.unpack("<H" if size == 2 else "<I", file.read(size))
            header = ast.literal_eval(file.read(min(length, _LONGEST_HEADER)).decode(encoding).strip())
            self.dtype = np.lib.format.descr_to_dtype(header["descr"])
            self.shape: tuple[int, ...] = header["shape"]
            self.by_columns = header["fortran_order"] and len(self.shape) > 1
            if type(self.shape) is not tuple or any(type(length) is not int or length < 0 for length in self.shape):
                raise ValueError(f"its shape is {self.shape}")
        if self.dtype.hasobject:
            raise DataError(f"{name} holds Python objects, not numbers", hint="save arrays of one type of number")
        if not self.shape:
            raise DataError(f"{name} holds one number, not rows")
        self._check_length()

    def _check_length(self) -> None:
        left = left_in(self._file)
        wanted = math.prod(self.shape) * self.dtype.itemsize
        if left is not None and left < wanted:
            raise DataError(
                f"{self.name} ends before its last row", hint=f"its header promises {wanted:,} bytes, and {left:,} follow"
            )
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        if not self.dtype.itemsize:
            raise DataError(f"{self.name} holds nothing: its values have no bytes")
        if row > LONGEST:
            raise DataError(f"{self.name}: a row of more than {LONGEST >> 20} MiB", hint="is it a table?")

    @property
    def block_rows(self) -> int:
        """How many rows are handed on at once."""
        return max(1, min(BLOCK_ROWS, _BLOCK_BYTES // max(1, math.prod(self.shape[1:]) * self.dtype.itemsize)))

    def blocks(self, begin: int = 0, end: int | None = None, most: int | None = None) -> Iterator[Any]:
        """Some rows at a time, from one to another; not from the first only where the file can go back."""
        end = self.shape[0] if end is None else end
        most = most or self.block_rows
        if self.by_columns:
            if math.prod(self.shape) > MOST_ELEMENTS:
                raise LimitError(
                    f"{self.name} holds {math.prod(self.shape):,} numbers column after column, which has to be read as a whole",
                    hint="save it row after row: numpy.ascontiguousarray",
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

    def _read(self, elements: int) -> Any:
        wanted = elements * self.dtype.itemsize
        pieces: list[bytes] = []
        while wanted:
            with foreign(f"cannot read {self.name}"):
                piece = self._file.read(min(wanted, _PIECE))
            if not piece:
                raise DataError(f"{self.name} ends before its last row")
            pieces.append(piece)
            wanted -= len(piece)
        array = np.frombuffer(pieces[0] if len(pieces) == 1 else b"".join(pieces), self.dtype)
        return array if self.dtype.isnative else array.astype(self.dtype.newbyteorder("="))


class _NumpyReader:
    """What both kinds of files share; see ``block.Reader``."""

    form = ""
    parallel = True
    name: str
    columns: tuple[str, ...]
    total: int | None
    done: int

    def block(self, piece: tuple[int, dict[str, Any]], wish: Wish) -> Block:
        """The rows of a piece.

        Raises:
            DataError: for a column that holds no numbers.
        """
        first, arrays = piece
        rows = len(next(iter(arrays.values())))
        bad = BadRows(f"{self.name}, row", wish.on_error)
        numbers = {}
        for name in wish.numbers:
            array = arrays[name]
            if array.dtype.kind not in "fiu":
                raise DataError(f"{self.name}: column '{name}' holds {described(array.dtype)}, no numbers")
            numbers[name] = np.ascontiguousarray(array, np.float64)
        columns = {name: self._text(name, arrays[name]) for name in wish.kept}
        return bad.filed(Block(rows, numbers, columns, None, bad.where, range(first, first + rows)))

    def _text(self, name: str, array: Any) -> Any:
        """A column that is passed on; text in it has to be of characters."""
        if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
            points = np.ascontiguousarray(array).view(np.uint32)
            if points.max() > 0x10FFFF or ((points >= 0xD800) & (points < 0xE000)).any():
                raise DataError(f"{self.name}: column '{name}' holds text with what is no character", hint="is the file whole?")
        return array


def described(dtype: Any) -> str:
    """What an array holds, for messages."""
    return {"U": "text", "S": "bytes", "b": "true and false", "c": "complex numbers"}.get(dtype.kind, str(dtype))


class NpyReader(_NumpyReader):
    """A structured array, whose fields are the columns, or a 1-d or 2-d array whose columns are given names.

    Args:
        file: open for reading bytes.
        name: what messages call it.
        columns: names for an array without fields.

    Attributes:
        divisible: whether some rows can be read without the others.

    Raises:
        DataError: if it is something else.
    """

    def __init__(self, source: InputFile) -> None:
        file, name, columns = source.file, source.name, source.columns
        self.name = name
        self._file = file
        self._stored = Stored(file, name)
        shape, fields = self._stored.shape, self._stored.dtype.names
        width = 1 if len(shape) == 1 else shape[1]
        if len(shape) > 2 or (fields is not None and len(shape) > 1):
            raise DataError(f"{name} holds an array of shape {list(shape)}, not a table")
        if fields is None and columns is None:
            raise DataError(f"{name} has no names of columns", hint=f"name its {width} with --columns x,y")
        names = fields if columns is None else columns
        assert names is not None
        if fields is None and len(names) != width:
            raise DataError(f"{name} has {width} columns, but --columns names {len(names)}")
        if fields is not None and len(names) != len(fields):
            raise DataError(f"{name} has {len(fields)} columns, but --columns names {len(names)}")
        self.columns = tuple(names)
        self.total = shape[0]
        self.done = 0
        self._rows: tuple[int, int | None] = (0, None)
        self.divisible = not self._stored.by_columns

    def cut(self, start: int, stop: int, first: int) -> None:
        """Read the rows from ``start`` to ``stop`` only, and call the first one ``first``."""
        self._rows = (start, stop)
        self.done = first - 1

    def pieces(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Some rows at a time, and the number of the first."""
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

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class NpzReader(_NumpyReader):
    """One 1-d array for each column.

    Args:
        file: open for reading bytes, and for going back.
        name: what messages call it.

    Raises:
        DataError: if it is something else.
    """

    def __init__(self, source: InputFile) -> None:
        file, name = source.file, source.name
        self.name = name
        self._file = file
        with foreign(f"{name} is no .npz file"):
            self._archive = zipfile.ZipFile(file)
            members = {info.filename.removesuffix(".npy"): info for info in self._archive.infolist()}
            self._stored = {key: Stored(self._archive.open(info), f"{name}: {key}") for key, info in members.items()}
        self.columns = tuple(self._stored)
        lengths = {key: stored.shape for key, stored in self._stored.items()}
        if not lengths or any(len(shape) > 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
            shapes = ", ".join(f"{key} {list(shape)}" for key, shape in lengths.items())
            raise DataError(f"{name} is no table: its columns have the shapes {shapes or 'of nothing'}")
        self.total = next(iter(lengths.values()))[0]
        self.done = 0

    def pieces(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Some rows at a time, and the number of the first."""
        if not self.total:
            yield 1, {key: np.empty(0, stored.dtype) for key, stored in self._stored.items()}
        most = min(stored.block_rows for stored in self._stored.values())
        for blocks in zip(*(stored.blocks(most=most) for stored in self._stored.values()), strict=True):
            first = self.done + 1
            self.done += len(blocks[0])
            yield first, dict(zip(self.columns, blocks, strict=True))

    def close(self) -> None:
        """Close the file."""
        self._archive.close()
        self._file.close()
