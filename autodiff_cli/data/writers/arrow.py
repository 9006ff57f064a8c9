"""The writer of Parquet, Arrow IPC and Feather files."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.data.column_values import dense, nullable, without_views
from autodiff_cli.data.row_blocks import ArrowArray, Block, OutputStyle, Reader, Results, Writer
from autodiff_cli.errors import DataError, setting
from autodiff_cli.formats import plain
from autodiff_cli.lazy import library

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

GROUP_ROWS, GROUP_BYTES = 1 << 20, 1 << 27
"""The maximum number of rows and bytes of a Parquet row group."""
_CODECS = {
    "UNCOMPRESSED": "none",
    "SNAPPY": "snappy",
    "GZIP": "gzip",
    "BROTLI": "brotli",
    "ZSTD": "zstd",
    "LZ4": "lz4",
    "LZ4_RAW": "lz4",
}
"""The codecs that pyarrow can write, by their names in Parquet."""
_Column = list[object] | ArrowArray
_Columns = tuple[list[_Column], list[ArrowArray]]
"""The copied columns and the results."""


class ArrowWriter(Writer):
    """The writer of Arrow formats; columns keep their input types, and columns of a text file are text.

    Raises:
        MissingPackage: if pyarrow is not installed.
    """

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._arrow = library("pyarrow", style.format.library, "use csv")
        self._is_parquet = plain(style.format.name) == "parquet"
        self._out: _Sink | None = None
        self._sink: Any = None
        self._schema: Any = None
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0
        self._dictionaries: dict[int, ArrowArray] = {}
        # One table is compressed while the next one is computed.
        self._pool = ThreadPoolExecutor(1, "autodiff-arrow")
        self._written: Future[None] | None = None

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Store the names of the columns and the schema of the input."""
        super().begin(file, copies, results, source)
        self._out = _Sink(file)
        self._input_schema: Any = source.schema
        self._one_dictionary = source.is_random_access
        parts = source.metadata
        self._parts = [parts.row_group(i) for i in range(parts.num_row_groups)] if parts is not None and parts.num_rows else []
        self._group_rows = min(max((group.num_rows for group in self._parts), default=GROUP_ROWS), GROUP_ROWS)

    def encode(self, block: Block, results: Results) -> _Columns:
        """Convert columns to Arrow arrays, except lists, whose type follows from the first rows of the output."""
        columns = [block.columns[name] for name in self._copies]
        columns = [self._arrow.array(column) if isinstance(column, np.ndarray) else column for column in columns]
        return columns, list(map(self._array, nullable(block, results)))

    def _array(self, numbers: Floats) -> ArrowArray:
        """Return numbers as an Arrow array; without nulls, in a way that does not import the masked arrays of NumPy."""
        if type(numbers) is not np.ndarray:
            return self._arrow.array(numbers)
        kind, buffer = self._arrow.from_numpy_dtype(numbers.dtype), self._arrow.py_buffer(np.ascontiguousarray(numbers))
        return self._arrow.Array.from_buffers(kind, len(numbers), [None, buffer])

    def types(self) -> bytes:
        """Return the schema; empty before the first rows."""
        return b"" if self._schema is None else bytes(self._schema.serialize())

    def take_types(self, types: bytes) -> None:
        self._schema = self._arrow.ipc.read_schema(self._arrow.py_buffer(types))

    def without_slices(self, encoded: _Columns) -> _Columns:
        columns, results = encoded
        return [self._arrow.concat_arrays([c]) if isinstance(c, self._arrow.Array) else c for c in columns], results

    def write(self, encoded: _Columns) -> None:
        if self._schema is None:
            if not len(encoded[1][0]):
                self._empty = encoded
                return
            self._schema = self._inferred_schema(*encoded)
        if self._sink is None:
            self._open()
        columns, results = encoded
        arrays = [self._fitting(column, i) for i, column in enumerate(columns)]
        batch = self._arrow.RecordBatch.from_arrays([*arrays, *results], schema=self._schema)
        while self._rows + batch.num_rows >= self._group_rows:
            end = self._group_rows - self._rows
            self._add(batch.slice(0, end))
            self._write_table()
            batch = batch.slice(end)
        self._add(batch)
        if self._bytes >= GROUP_BYTES:
            self._write_table()

    def _add(self, batch: Any) -> None:
        if batch.num_rows:
            self._waiting.append(batch)
            self._rows += batch.num_rows
            self._bytes += batch.nbytes

    def _inferred_schema(self, columns: list[_Column], results: list[ArrowArray]) -> Any:
        fields = [self._field(name, column) for name, column in zip(self._copies, columns, strict=True)]
        fields += [self._arrow.field(name, result.type) for name, result in zip(self._results, results, strict=True)]
        return self._arrow.schema(fields, None if self._input_schema is None else self._input_schema.metadata)

    def _open(self) -> None:
        if self._is_parquet:
            from pyarrow import _parquet  # pyarrow.parquet imports what object stores need

            versions = {"version": "2.6", "writer_engine_version": "V2"}  # the defaults of pyarrow.parquet
            self._sink = _parquet.ParquetWriter(self._out, self._schema, **versions, **self._parquet_options())
        else:
            codec = "lz4" if self._style.format.name == "feather" else None
            options = self._arrow.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
            self._sink = self._arrow.ipc.new_file(self._out, self._schema, options=options)

    def _parquet_options(self) -> dict[str, object]:
        """Return the codecs and dictionaries of the input; without a Parquet input, Snappy, and dictionaries except for floats."""
        if not self._parts:
            repeating = [field.name for field in self._schema if not self._arrow.types.is_floating(field.type)]
            return {"use_dictionary": repeating, "compression": "snappy"}
        columns = [self._parts[0].column(i) for i in range(self._parts[0].num_columns)]
        codecs = {column.path_in_schema: _CODECS.get(column.compression, "snappy") for column in columns}
        dictionaries = [column.path_in_schema for column in columns if column.has_dictionary_page and _repeats(column)]
        usual = Counter(codecs.values()).most_common(1)[0][0]
        results = dict.fromkeys(self._results, usual)
        same = set(codecs.values()) == {usual}
        return {"use_dictionary": dictionaries, "compression": usual if same else codecs | results}

    def _field(self, name: str, column: _Column) -> Any:
        if isinstance(column, list):
            return self._arrow.field(name, self._inferred(name, column))
        if self._input_schema is None:
            return self._arrow.field(name, column.type)
        field = self._input_schema.field(name)
        if not self._arrow.types.is_dictionary(field.type):
            return field
        kind = field.type
        if self._is_parquet and str(kind.value_type) in ("string_view", "binary_view"):
            values = self._arrow.large_string() if str(kind.value_type) == "string_view" else self._arrow.large_binary()
            return field.with_type(self._arrow.dictionary(kind.index_type, values, kind.ordered))
        # An Arrow file has one dictionary per column, but batches of other files may have different dictionaries.
        return field if self._is_parquet or self._one_dictionary else field.with_type(kind.value_type)

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
            if not self._arrow.types.is_dictionary(kind):
                column = dense(column)
            elif not self._arrow.types.is_dictionary(column.type):
                column = column.dictionary_encode()
            if self._arrow.types.is_dictionary(kind):
                return column if self._is_parquet and column.type == kind else self._encoded(column, kind, i)
            return column if column.type == kind else column.cast(kind)
        except (self._arrow.ArrowException, OverflowError) as error:
            message = f"column '{self._schema.field(i).name}' is {kind} in the first rows, but not in later ones: {error}"
            hint = f"use {setting('no_keep')} to drop the input columns, or {setting('format', 'ndjson')}, which takes any value"
            raise DataError(message, hint=hint) from None

    def _encoded(self, column: ArrowArray, kind: Any, i: int) -> ArrowArray:
        """Return a dictionary column whose dictionary begins with that of the column before, as an Arrow file needs it."""
        pa, known = self._arrow, self._dictionaries.get(i)
        values, indices = column.dictionary, column.indices
        if known is not None and not values.equals(known):
            from pyarrow import compute

            values, known = without_views(values), without_views(known)
            new = values.filter(compute.is_null(compute.index_in(values, known)))
            known = pa.concat_arrays([known, new.cast(known.type)])
            indices = compute.index_in(values, known).take(indices)
            values = known
        values, indices = values.cast(kind.value_type), indices.cast(kind.index_type)
        self._dictionaries[i] = values
        return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)

    def _write_table(self) -> None:
        table = self._arrow.Table.from_batches(self._waiting, self._schema)
        self._waiting, self._rows, self._bytes = [], 0, 0
        self._wait()
        size = {"row_group_size": self._group_rows} if self._is_parquet else {}
        self._written = self._pool.submit(self._sink.write_table, table, **size)

    def _wait(self) -> None:
        """Wait until the current table is written."""
        if self._written is not None:
            self._written.result()

    def finish(self) -> None:
        """Write the last rows and the footer."""
        if self._schema is None:
            self._schema = self._inferred_schema(*self._empty)
        if self._sink is None:
            self._open()
        if self._waiting or self._written is None:
            self._write_table()
        self._wait()
        self._sink.close()

    def close(self) -> None:
        """Stop writing; without a previous ``finish``, the file stays incomplete."""
        self._pool.shutdown(cancel_futures=True)
        if self._out is not None:
            self._out.ended = True


def _repeats(column: Any) -> bool:
    """Return whether values of a Parquet column repeat: a dictionary of different numbers saves nothing."""
    sizes = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
    return bool(column.total_uncompressed_size < column.num_values * sizes.get(column.physical_type, 1 << 30))


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
