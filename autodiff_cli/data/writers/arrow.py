"""Writing Parquet, Arrow IPC and Feather."""

from __future__ import annotations

import io
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from autodiff_cli.data.block import Block, Column, OutputStyle, Reader
from autodiff_cli.data.libraries import pyarrow
from autodiff_cli.errors import DataError

GROUP_ROWS, GROUP_BYTES = 1 << 20, 1 << 27
"""Rows of a row group of Parquet, or bytes, whichever is less."""


class ArrowWriter:
    """Columns of the types that they have in the input; what was text in a text file is text.

    Args:
        style: ``parquet``, ``arrow`` or ``feather``.

    Raises:
        MissingPackage: without pyarrow.
    """

    text = False
    raw = ""
    goes_back = False

    def __init__(self, style: OutputStyle) -> None:
        self._arrow = pyarrow(style.format.library)
        self._style = style.format.name
        self._file: _Sink | None = None
        self._sink: Any = None
        self._schema: Any = None
        self._waiting: list[Any] = []
        # One table is compressed while the next one is made.
        self._pool = ThreadPoolExecutor(1, "autodiff-arrow")
        self._written: Future[None] | None = None

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Remember what the columns are."""
        self._file = _Sink(file)
        self._kept = tuple(kept)
        self._results = tuple(results)
        self._given = getattr(source, "schema", None)

    def encode(self, block: Block, results: Sequence[Any]) -> tuple[list[Column], list[Any]]:
        """Columns as Arrow arrays, except those whose type depends on the rows before."""
        columns = [block.columns[name] for name in self._kept]
        columns = [self._arrow.array(column) if isinstance(column, np.ndarray) else column for column in columns]
        return columns, [self._arrow.array(result) for result in results]

    def like(self, path: str) -> None:
        """Give the columns the types that they have in an Arrow file with the same ones."""
        with self._arrow.memory_map(path) as file:
            self._schema = self._arrow.ipc.open_file(file).schema

    def write(self, encoded: tuple[list[Column], list[Any]]) -> None:
        """Append rows."""
        if self._sink is None:
            self._schema = self._schema or self._inferred_schema(*encoded)
            self._open()
        columns, results = encoded
        arrays = [self._fitting(column, i) for i, column in enumerate(columns)]
        self._waiting.append(self._arrow.RecordBatch.from_arrays([*arrays, *results], schema=self._schema))
        many = sum(batch.num_rows for batch in self._waiting) >= GROUP_ROWS
        if many or sum(batch.nbytes for batch in self._waiting) >= GROUP_BYTES:
            self._flush()

    def _inferred_schema(self, columns: list[Column], results: list[Any]) -> Any:
        fields = [self._field(name, column) for name, column in zip(self._kept, columns, strict=True)]
        fields += [self._arrow.field(name, result.type) for name, result in zip(self._results, results, strict=True)]
        return self._arrow.schema(fields, None if self._given is None else self._given.metadata)

    def _open(self) -> None:
        if self._style == "parquet":
            from pyarrow import parquet

            # Numbers rarely repeat: a dictionary of them is work for nothing.
            repeating = [field.name for field in self._schema if not self._arrow.types.is_floating(field.type)]
            self._sink = parquet.ParquetWriter(self._file, self._schema, use_dictionary=repeating)
        else:
            options = self._arrow.ipc.IpcWriteOptions(compression="lz4" if self._style == "feather" else None)
            self._sink = self._arrow.ipc.new_file(self._file, self._schema, options=options)

    def _field(self, name: str, column: Column) -> Any:
        if isinstance(column, list):
            return self._arrow.field(name, self._inferred(name, column))
        if self._given is None:
            return self._arrow.field(name, column.type)
        field = self._given.field(name)
        dictionary = self._arrow.types.is_dictionary(field.type)
        # A file has one dictionary only, and the batches of the input may have others.
        return field.with_type(field.type.value_type) if dictionary else field

    def _inferred(self, name: str, column: list[Any]) -> Any:
        """The type of Python values: text of a text file, or what JSON had in the first rows."""
        try:
            kind = self._arrow.infer_type(column)
        except self._arrow.ArrowException:
            raise DataError(f"column '{name}' holds values of several types", hint="--no-keep leaves it out") from None
        return self._arrow.string() if self._arrow.types.is_null(kind) else kind

    def _fitting(self, column: Column, i: int) -> Any:
        kind = self._schema.field(i).type
        try:
            if isinstance(column, list):
                return self._arrow.array(column, kind)
            if self._arrow.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            return column if column.type == kind else column.cast(kind)
        except (self._arrow.ArrowException, OverflowError) as error:
            message = f"column '{self._schema.field(i).name}' is {kind} in the first rows, and later is not: {error}"
            raise DataError(message, hint="--no-keep leaves the input columns out, --format ndjson takes any value") from None

    def _flush(self) -> None:
        table = self._arrow.Table.from_batches(self._waiting, self._schema)
        self._waiting = []
        self._settle()
        size = {"row_group_size": GROUP_ROWS} if self._style == "parquet" else {}
        self._written = self._pool.submit(self._sink.write_table, table, **size)

    def _settle(self) -> None:
        """Wait for the table that is being written."""
        if self._written is not None:
            self._written.result()

    def flush(self) -> None:
        """A file is of use when it is whole."""

    def finish(self) -> None:
        """Write the last rows and what says where everything is."""
        self._flush()
        self._settle()
        self._sink.close()

    def close(self) -> None:
        """Let go of the file; if ``finish`` was not called, it stays without an end."""
        self._pool.shutdown(cancel_futures=True)
        if self._file is not None:
            self._file.ended = True


class _Sink(io.RawIOBase):
    """A file for Arrow, which would write the end of a file even after an error."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.ended = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self.ended:
            self._file.write(data)
        return len(data)
