"""Writing .npy and .npz: rows as they come, the number of rows at the end."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.data.block import Block, Column, OutputStyle, Reader
from autodiff_cli.errors import DataError, FileError

_ROOM = 20
"""Digits of the largest number of rows, for which a header keeps a place."""


def header(dtype: Any, rows: int) -> bytes:
    """What stands before the rows of an array; as long for any number of rows."""
    described = np.lib.format.dtype_to_descr(dtype)
    text = f"{{'descr': {described!r}, 'fortran_order': False, 'shape': ({rows},), }}"
    text += " " * (_ROOM - len(str(rows)))
    encoded = text.encode()
    simple = text.isascii() and len(encoded) < 65_000
    start = b"\x93NUMPY" + (b"\x01\x00" if simple else b"\x03\x00")
    size = len(start) + (2 if simple else 4)
    padding = -(size + len(encoded) + 1) % 64
    length = len(encoded) + padding + 1
    return start + struct.pack("<H" if simple else "<I", length) + encoded + b" " * padding + b"\n"


def as_array(column: Column, name: str, lines: Sequence[int]) -> Any:
    """A column as a NumPy array of numbers, or of text where NumPy gave it.

    Raises:
        DataError: for a column of text.
    """
    if isinstance(column, np.ndarray):
        return column
    if isinstance(column, list):
        from autodiff_cli.data.readers.delimited import is_number
        from autodiff_cli.data.readers.ndjson import as_float

        for i, value in enumerate(column):
            if value is None or not (is_number(value) if isinstance(value, str) else isinstance(value, (int, float))):
                raise _no_numbers(name, f"{value!r} in row {lines[i]}")
        return np.array([as_float(value) for value in column], np.float64)
    array = column.to_numpy(zero_copy_only=False)
    if array.dtype.hasobject:
        raise _no_numbers(name, str(column.type))
    return array


def _no_numbers(name: str, what: str) -> DataError:
    hint = "--no-keep leaves the input columns out; Parquet and CSV have a place for everything"
    return DataError(f"column '{name}' holds {what}, and NumPy's files hold numbers", hint=hint)


class NpyWriter:
    """A structured array with a field for each column."""

    text = False
    raw = ""
    goes_back = True
    _dtype: Any = None

    def __init__(self, style: OutputStyle) -> None:
        """Make a writer; the format says all."""

    def like(self, path: str) -> None:
        """Give the columns the types that they have in an ``.npy`` file with the same ones."""
        self._dtype = np.load(path, mmap_mode="r", allow_pickle=False).dtype

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Remember where the rows go."""
        self._file = file
        self._kept = tuple(kept)
        self._names = [*kept, *results]
        self._rows = 0
        self._begun = False

    def encode(self, block: Block, results: Sequence[Any]) -> list[Any]:
        """Columns as arrays."""
        return [*(as_array(block.columns[name], name, block.lines) for name in self._kept), *results]

    def write(self, encoded: Sequence[Any]) -> None:
        """Append rows."""
        if self._dtype is None:
            self._dtype = _row(self._names, encoded)
        if not self._begun:
            self._file.write(header(self._dtype, 0))
            self._begun = True
        rows = np.empty(len(encoded[0]), self._dtype)
        for name, array in zip(self._names, encoded, strict=True):
            _check(name, array.dtype, self._dtype[name])
            rows[name] = array
        self._file.write(rows.view(np.uint8).data if len(rows) else b"")
        self._rows += len(rows)

    def flush(self) -> None:
        """A file is of use when it is whole."""

    def finish(self) -> None:
        """Write the number of rows."""
        self._file.seek(0)
        self._file.write(header(self._dtype, self._rows))

    def close(self) -> None:
        """There is nothing to let go of."""


class NpzWriter(NpyWriter):
    """An array for each column; they wait in a temporary file until all rows are there."""

    goes_back = False

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._waiting: Any = None
        self._blocks: list[tuple[int, int]] = []

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Open the temporary file."""
        import tempfile

        super().begin(file, kept, results, source)
        self._waiting = tempfile.TemporaryFile()  # noqa: SIM115  one that is open is one that is closed

    def write(self, encoded: Sequence[Any]) -> None:
        """Append rows."""
        if self._dtype is None:
            self._dtype = _row(self._names, encoded)
        rows = len(encoded[0])
        self._blocks.append((self._waiting.tell(), rows))
        for i, (name, array) in enumerate(zip(self._names, encoded, strict=True)):
            dtype = self._dtype[i]
            _check(name, array.dtype, dtype)
            self._waiting.write(np.ascontiguousarray(array, dtype).view(np.uint8).data if rows else b"")
        self._rows += rows

    def finish(self) -> None:
        """Put the columns into the archive."""
        before = 0  # bytes of a row that stand in front of the column
        with zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED) as archive:
            for i, name in enumerate(self._names):
                size = self._dtype[i].itemsize
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    member.write(header(self._dtype[i], self._rows))
                    for begin, rows in self._blocks:
                        self._waiting.seek(begin + rows * before)
                        member.write(self._waiting.read(rows * size))
                before += size

    def close(self) -> None:
        """Remove the temporary file."""
        if self._waiting is not None:
            self._waiting.close()


def _row(names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """The type of a row.

    Raises:
        DataError: for a column that cannot be a field of one.
    """
    if any(not name or "\0" in name for name in names):
        hint = "give it a name in the header, or leave the input columns out: --no-keep"
        raise DataError("a column has no name, or one with a NUL in it, which NumPy's files have no place for", hint=hint)
    return np.dtype([(name, array.dtype) for name, array in zip(names, arrays, strict=True)])


def _check(name: str, given: Any, dtype: Any) -> None:
    """Every block has to have the type of the first.

    Raises:
        FileError: if it cannot be made so without a loss.
    """
    if not np.can_cast(given, dtype):
        raise FileError(f"column '{name}' is {given} in later rows and {dtype} in the first", hint="--no-keep leaves it out")
