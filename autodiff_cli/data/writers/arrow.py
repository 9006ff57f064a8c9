"""The writer of Parquet, Arrow IPC and Feather files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from autodiff_cli.data.libraries import pyarrow
from autodiff_cli.data.row_blocks import ArrowArray, Block, OutputStyle, Reader, Results, Writer
from autodiff_cli.errors import DataError, setting

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

GROUP_ROWS, GROUP_BYTES = 1 << 20, 1 << 27
"""The maximum number of rows and bytes of a Parquet row group."""
_Column = list[object] | ArrowArray
_Columns = tuple[list[_Column], list[ArrowArray]]
"""The kept columns and the results."""


class ArrowWriter(Writer):
    """The writer of Arrow formats; columns keep their input types, and columns of a text file are text.

    Raises:
        MissingPackage: if pyarrow is not installed.
    """

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._arrow = pyarrow(style.format.library)
        self._is_parquet = style.format.name == "parquet"
        self._out: _Sink | None = None
        self._sink: Any = None
        self._schema: Any = None
        self._waiting: list[Any] = []
        # One table is compressed while the next one is computed.
        self._pool = ThreadPoolExecutor(1, "autodiff-arrow")
        self._written: Future[None] | None = None

    def begin(self, file: BinaryIO, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Store the names of the columns and the schema of the input."""
        super().begin(file, kept, results, source)
        self._out = _Sink(file)
        self._given = getattr(source, "schema", None)

    def encode(self, block: Block, results: Results) -> _Columns:
        """Convert columns to Arrow arrays, except lists, whose type follows from the first rows of the output."""
        columns = [block.columns[name] for name in self._kept]
        columns = [self._arrow.array(column) if isinstance(column, np.ndarray) else column for column in columns]
        return columns, [self._arrow.array(result) for result in results]

    def take_types(self, path: str) -> None:
        """Take the column types from an Arrow file."""
        with self._arrow.memory_map(path) as file:
            self._schema = self._arrow.ipc.open_file(file).schema

    def write(self, encoded: _Columns) -> None:
        if self._sink is None:
            self._schema = self._schema or self._inferred_schema(*encoded)
            self._open()
        columns, results = encoded
        arrays = [self._fitting(column, i) for i, column in enumerate(columns)]
        self._waiting.append(self._arrow.RecordBatch.from_arrays([*arrays, *results], schema=self._schema))
        many = sum(batch.num_rows for batch in self._waiting) >= GROUP_ROWS
        if many or sum(batch.nbytes for batch in self._waiting) >= GROUP_BYTES:
            self._write_table()

    def _inferred_schema(self, columns: list[_Column], results: list[ArrowArray]) -> Any:
        fields = [self._field(name, column) for name, column in zip(self._kept, columns, strict=True)]
        fields += [self._arrow.field(name, result.type) for name, result in zip(self._results, results, strict=True)]
        return self._arrow.schema(fields, None if self._given is None else self._given.metadata)

    def _open(self) -> None:
        if self._is_parquet:
            from pyarrow import parquet

            # Numbers rarely repeat, so a dictionary of them would only cost time.
            repeating = [field.name for field in self._schema if not self._arrow.types.is_floating(field.type)]
            self._sink = parquet.ParquetWriter(self._out, self._schema, use_dictionary=repeating)
        else:
            options = self._arrow.ipc.IpcWriteOptions(compression="lz4" if self._style.format.name == "feather" else None)
            self._sink = self._arrow.ipc.new_file(self._out, self._schema, options=options)

    def _field(self, name: str, column: _Column) -> Any:
        if isinstance(column, list):
            return self._arrow.field(name, self._inferred(name, column))
        if self._given is None:
            return self._arrow.field(name, column.type)
        field = self._given.field(name)
        dictionary = self._arrow.types.is_dictionary(field.type)
        # An Arrow file has one dictionary per column, but batches of the input may have different dictionaries.
        return field.with_type(field.type.value_type) if dictionary else field

    def _inferred(self, name: str, column: list[Any]) -> Any:
        """Return the Arrow type of Python values: text from a text file, or JSON values in the first rows."""
        try:
            kind = self._arrow.infer_type(column)
        except self._arrow.ArrowException:
            raise DataError(f"column '{name}' has values of several types", hint=f"use {setting('no_keep')} to drop it") from None
        return self._arrow.string() if self._arrow.types.is_null(kind) else kind

    def _fitting(self, column: _Column, i: int) -> Any:
        kind = self._schema.field(i).type
        try:
            if isinstance(column, list):
                return self._arrow.array(column, kind)
            if self._arrow.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            return column if column.type == kind else column.cast(kind)
        except (self._arrow.ArrowException, OverflowError) as error:
            message = f"column '{self._schema.field(i).name}' is {kind} in the first rows, but not in later ones: {error}"
            hint = f"use {setting('no_keep')} to drop the input columns, or {setting('format', 'ndjson')}, which takes any value"
            raise DataError(message, hint=hint) from None

    def _write_table(self) -> None:
        table = self._arrow.Table.from_batches(self._waiting, self._schema)
        self._waiting = []
        self._wait()
        size = {"row_group_size": GROUP_ROWS} if self._is_parquet else {}
        self._written = self._pool.submit(self._sink.write_table, table, **size)

    def _wait(self) -> None:
        """Wait until the current table is written."""
        if self._written is not None:
            self._written.result()

    def finish(self) -> None:
        """Write the last rows and the footer."""
        self._write_table()
        self._wait()
        self._sink.close()

    def close(self) -> None:
        """Stop writing; without a previous ``finish``, the file stays incomplete."""
        self._pool.shutdown(cancel_futures=True)
        if self._out is not None:
            self._out.ended = True


class _Sink(io.RawIOBase):
    """A file for Arrow that can ignore writes, because Arrow writes a footer even after an error.

    Attributes:
        ended: whether further bytes are ignored.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.ended = False

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        if not self.ended:
            self._file.write(data)
        return memoryview(data).nbytes
