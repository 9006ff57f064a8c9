"""The writers of ``.npy`` and ``.npz``, whose headers need the number of rows: a temporary file stores the rows until the end."""

from __future__ import annotations

import io
import re
import tempfile
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.data.column_values import as_float, is_number
from autodiff_cli.data.row_blocks import Block, Column, OutputStyle, Reader, Results, Writer
from autodiff_cli.errors import DataError, FileError, setting

_DType = np.dtype[Any]


def as_array(column: Column, name: str, lines: Sequence[int]) -> Array:
    """Convert a column to a NumPy array of numbers.  A NumPy array is returned unchanged, even one of text.

    Values of a list or an Arrow array that are not numbers raise ``DataError``, which names the column and one of ``lines``.
    """
    if isinstance(column, np.ndarray):
        return column
    if isinstance(column, list):
        for i, value in enumerate(column):
            is_valid = is_number(value) if isinstance(value, str) else isinstance(value, (int, float))
            if not is_valid:
                raise _not_numbers(name, f"{value!r} in row {lines[i]}")
        return np.array([as_float(value) for value in column], np.float64)
    array: Array = column.to_numpy(zero_copy_only=False)
    if array.dtype.hasobject:  # such as text
        raise _not_numbers(name, str(column.type))
    return array


def _not_numbers(name: str, what: str) -> DataError:
    """Return the error for a column that contains ``what``."""
    hint = f"use {setting('no_keep')} to drop the input columns, or write Parquet or CSV, which can contain any column"
    return DataError(f"column '{name}' contains {what}, but NumPy files contain only numbers", hint=hint)


class NpyWriter(Writer):
    """The writer of a structured array with a field for each column."""

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._dtype: _DType | None = None
        self._stored: Any = None
        self._rows = 0

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Open the temporary file."""
        self._stored = tempfile.TemporaryFile()  # noqa: SIM115  close() closes it
        super().begin(file, copies, results, source)

    def types(self) -> bytes:
        """Return the content of a ``.npy`` file without rows."""
        file = io.BytesIO()
        np.save(file, np.empty(0, self._dtype), allow_pickle=False)
        return file.getvalue()

    def take_types(self, types: bytes) -> None:
        """Set the type of a row that ``types`` of another writer returned."""
        self._dtype = np.load(io.BytesIO(types), allow_pickle=False).dtype

    def encode(self, block: Block, results: Results) -> list[Array]:
        """Convert columns to arrays."""
        return [*(as_array(block.columns[name], name, block.lines) for name in self._copies), *results]

    def _row_type(self, arrays: Sequence[Array]) -> _DType:
        """Return the type of a row, given the first rows as ``arrays``; ``DataError`` if it cannot have the name of a column."""
        names = (*self._copies, *self._results)
        if any(not name or "\0" in name for name in names):
            hint = f"name the column in the header, or use {setting('no_keep')} to drop the input columns"
            raise DataError("NumPy files cannot have a column without a name or with a NUL in its name", hint=hint)
        return np.dtype([(name, array.dtype) for name, array in zip(names, arrays, strict=True)])

    def write(self, encoded: Sequence[Array]) -> None:
        """Store rows; the first rows determine the type of a row, and a type of later rows that does not fit is a ``FileError``."""
        if self._dtype is None:
            self._dtype = self._row_type(encoded)
        rows = np.empty(len(encoded[0]), self._dtype)
        for i, (name, array) in enumerate(zip(self._dtype.names or (), encoded, strict=True)):
            if not np.can_cast(array.dtype, self._dtype[i]):
                message = f"column '{name}' is {array.dtype} in later rows and {self._dtype[i]} in the first rows"
                raise FileError(message, hint=f"use {setting('no_keep')} to drop it")
            rows[name] = array
        self._stored.write(rows.view(np.uint8).data if len(rows) else b"")  # the bytes, without a copy
        self._rows += len(rows)

    def finish(self) -> None:
        """Write the array of all rows, mapped to memory from the temporary file unless this is empty."""
        self._stored.flush()
        assert self._dtype is not None  # because ``write`` is called even without rows
        rows: Array = np.memmap(self._stored, self._dtype, "r", shape=self._rows) if self._rows else np.empty(0, self._dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns about names that are not ASCII
            self._save(rows)

    def _save(self, rows: Array) -> None:
        """Write a structured array."""
        np.lib.format.write_array(self._file, rows, allow_pickle=False)

    def close(self) -> None:
        """Remove the temporary file."""
        if self._stored is not None:
            self._stored.close()


class NpzWriter(NpyWriter):
    """The writer of an archive with an array for each column."""

    def _save(self, rows: Array) -> None:
        """Write the columns of a structured array as the members of an archive; ``DataError`` for a name that leads out of it."""
        for name in rows.dtype.names or ():
            folders_and_name = re.split(r"[/\\]", name)
            if ".." in folders_and_name or "" in folders_and_name:
                hint = f"rename the column, or use {setting('no_keep')} to drop the input columns"
                raise DataError(f"NumPy archives cannot have a column '{name}', whose name is a path to another folder", hint=hint)
        with zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED) as archive:
            for name in rows.dtype.names or ():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, rows[name], allow_pickle=False)
