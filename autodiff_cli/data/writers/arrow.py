"""The writer of Parquet, Arrow IPC and Feather files."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.data.column_values import WITHOUT_VIEWS, dense, with_nulls, without_views
from autodiff_cli.data.row_blocks import ArrowArray, Block, OutputStyle, Reader, Results, Writer
from autodiff_cli.errors import DataError, setting
from autodiff_cli.formats import plain
from autodiff_cli.lazy import library

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

GROUP_ROWS, GROUP_BYTES = 1 << 20, 1 << 27
"""The maximum number of rows and bytes of a Parquet row group."""
_CODECS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4", **{name.upper(): name for name in ("snappy", "gzip", "brotli", "zstd", "lz4")}}
"""The codecs that pyarrow can write, by their names in Parquet."""
_Column = list[object] | ArrowArray
_Columns = tuple[list[_Column], list[ArrowArray]]
"""The copied columns and the results."""


class ArrowWriter(Writer):
    """The writer of Arrow formats; columns keep their input types, and columns of a text file are text."""

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._arrow = library("pyarrow", style.format.library, otherwise="use csv")
        self._is_parquet = plain(style.format.name) == "parquet"
        self._sink: _Sink | None = None
        self._out: Any = None  # the writer of pyarrow
        self._schema: Any = None
        self._empty: _Columns = [], []  # columns without rows, whose types are those of an output without rows
        self._waiting: list[Any] = []  # the batches of the next table, whose size is the next two numbers
        self._rows = self._bytes = 0
        self._dictionaries: dict[int, ArrowArray] = {}  # the last dictionary of each column
        # One table is compressed while the next one is computed.
        self._pool = ThreadPoolExecutor(1, "autodiff-arrow")
        self._written: Future[None] | None = None  # the writing of the last table

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Store what the output takes from the input: the schema, and for a Parquet file the row groups and their largest size."""
        super().begin(file, copies, results, source)
        self._sink = _Sink(file)
        self._input_schema: Any = source.schema
        self._one_dictionary = source.is_random_access  # for a column in all batches
        metadata = source.metadata
        has_groups = metadata is not None and metadata.num_rows > 0
        self._groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)] if has_groups else []
        largest = max((group.num_rows for group in self._groups), default=GROUP_ROWS)
        self._group_rows = min(largest, GROUP_ROWS)

    def encode(self, block: Block, results: Results) -> _Columns:
        """Convert NumPy columns and results to Arrow arrays; lists stay, because their types follow from the first rows."""
        columns = [block.columns[name] for name in self._copies]
        copies = [self._arrow.array(column) if isinstance(column, np.ndarray) else column for column in columns]
        return copies, list(map(self._array, with_nulls(block, results)))

    def _array(self, numbers: Floats) -> ArrowArray:
        """Return numbers as an Arrow array; masked numbers become nulls."""
        if type(numbers) is not np.ndarray:  # a masked array; for others, ``array`` would also import NumPy's masked arrays
            return self._arrow.array(numbers)
        kind, buffer = self._arrow.from_numpy_dtype(numbers.dtype), self._arrow.py_buffer(np.ascontiguousarray(numbers))
        return self._arrow.Array.from_buffers(kind, len(numbers), [None, buffer])

    def types(self) -> bytes:
        """Return the schema; empty before the first rows."""
        return b"" if self._schema is None else bytes(self._schema.serialize())

    def take_types(self, types: bytes) -> None:
        """Set the schema that ``types`` of another writer returned."""
        self._schema = self._arrow.ipc.read_schema(self._arrow.py_buffer(types))

    def without_slices(self, encoded: _Columns) -> _Columns:
        """Return encoded rows with copies of the columns, because a slice is sent with its whole buffer; results are not slices."""
        columns, results = encoded
        copies = [self._arrow.concat_arrays([column]) if isinstance(column, self._arrow.Array) else column for column in columns]
        return copies, results

    def write(self, encoded: _Columns) -> None:
        """Append rows, which are written in tables of one row group.  Before the first rows, only the column types are stored."""
        columns, results = encoded
        if self._schema is None and len(results[0]) == 0:  # the types of lists are not known yet
            self._empty = encoded
            return
        self._open(encoded)
        arrays = [self._as_field(column, i) for i, column in enumerate(columns)]
        batch = self._arrow.RecordBatch.from_arrays([*arrays, *results], schema=self._schema)
        while self._rows + batch.num_rows >= self._group_rows:  # the batch completes a table
            missing = self._group_rows - self._rows
            self._append_waiting(batch.slice(0, missing))
            self._write_table()
            batch = batch.slice(missing)
        self._append_waiting(batch)
        if self._bytes >= GROUP_BYTES:
            self._write_table()

    def _append_waiting(self, batch: Any) -> None:
        """Append a batch to the rows of the next table; one without rows is left out."""
        if batch.num_rows:
            self._waiting.append(batch)
            self._rows += batch.num_rows
            self._bytes += batch.nbytes

    def _inferred_schema(self, columns: list[_Column], results: list[ArrowArray]) -> Any:
        """Return the schema of the output, given its first rows: copied fields and results, with its metadata."""
        fields = [self._field(name, column) for name, column in zip(self._copies, columns, strict=True)]
        fields += [self._arrow.field(name, result.type) for name, result in zip(self._results, results, strict=True)]
        return self._arrow.schema(fields, None if self._input_schema is None else self._input_schema.metadata)

    def _open(self, first: _Columns) -> None:
        """Open the writer of pyarrow unless it is open; the first rows determine the schema, unless ``take_types`` has set it."""
        if self._schema is None:
            self._schema = self._inferred_schema(*first)
        if self._out is not None:
            return
        if self._is_parquet:
            from pyarrow import _parquet  # pyarrow.parquet imports what object stores need

            versions = {"version": "2.6", "writer_engine_version": "V2"}  # the defaults of pyarrow.parquet
            self._out = _parquet.ParquetWriter(self._sink, self._schema, **versions, **self._parquet_options())
        else:
            codec = "lz4" if self._style.format.name == "feather" else None  # as in pyarrow.feather
            options = self._arrow.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
            self._out = self._arrow.ipc.new_file(self._sink, self._schema, options=options)

    def _parquet_options(self) -> dict[str, object]:
        """Return the codecs and dictionaries of the first row group; of several codecs, the results get that of most columns.

        Without such a group, the codec is Snappy, and columns that are not floats have dictionaries.
        """
        if not self._groups:
            repeating = [field.name for field in self._schema if not self._arrow.types.is_floating(field.type)]
            return {"use_dictionary": repeating, "compression": "snappy"}
        columns = [self._groups[0].column(i) for i in range(self._groups[0].num_columns)]
        codecs = {column.path_in_schema: _CODECS.get(column.compression, "snappy") for column in columns}
        dictionaries = [column.path_in_schema for column in columns if column.has_dictionary_page and _repeats(column)]
        most_used = Counter(codecs.values()).most_common(1)[0][0]
        has_one_codec = set(codecs.values()) == {most_used}
        compression = most_used if has_one_codec else codecs | dict.fromkeys(self._results, most_used)
        return {"use_dictionary": dictionaries, "compression": compression}

    def _field(self, name: str, column: _Column) -> Any:
        """Return the field of a copied column: that of the input, without a dictionary or views that the output cannot have."""
        if isinstance(column, list):  # of text or of JSON
            return self._arrow.field(name, self._inferred(name, column))
        if self._input_schema is None:
            return self._arrow.field(name, column.type)
        field = self._input_schema.field(name)
        if not self._arrow.types.is_dictionary(field.type):
            return field
        kind = field.type
        type_without_views = WITHOUT_VIEWS.get(str(kind.value_type))
        if self._is_parquet and type_without_views is not None:  # pyarrow does not write dictionaries of views to Parquet
            value_type = self._arrow.type_for_alias(type_without_views)
            return field.with_type(self._arrow.dictionary(kind.index_type, value_type, kind.ordered))
        # An Arrow file has one dictionary per column, but batches of other files may have different dictionaries.
        return field if self._is_parquet or self._one_dictionary else field.with_type(kind.value_type)

    def _inferred(self, name: str, column: list[Any]) -> Any:
        """Return the Arrow type of Python values; that of text if all are ``None``.  Several types are a ``DataError``."""
        try:
            kind = self._arrow.infer_type(column)
        except self._arrow.ArrowException:
            raise DataError(f"column '{name}' has values of several types", hint=f"use {setting('no_keep')} to drop it") from None
        return self._arrow.string() if self._arrow.types.is_null(kind) else kind

    def _as_field(self, column: _Column, i: int) -> Any:
        """Return a column as an array of the type of the column ``i`` in the schema; raise ``DataError`` if it does not fit."""
        kind = self._schema.field(i).type
        try:
            if isinstance(column, list):
                return self._arrow.array(column, kind)
            if not self._arrow.types.is_dictionary(kind):
                column = dense(column)  # without its dictionary
                return column if column.type == kind else column.cast(kind)
            if not self._arrow.types.is_dictionary(column.type):
                column = column.dictionary_encode()
            # In Parquet, each row group has dictionaries of its own.
            return column if self._is_parquet and column.type == kind else self._with_longer_dictionary(column, kind, i)
        except (self._arrow.ArrowException, OverflowError) as error:
            message = f"column '{self._schema.field(i).name}' is {kind} in the first rows, but not in later ones: {error}"
            hint = f"use {setting('no_keep')} to drop the input columns, or {setting('format', 'ndjson')}, which takes any value"
            raise DataError(message, hint=hint) from None

    def _with_longer_dictionary(self, column: ArrowArray, kind: Any, i: int) -> ArrowArray:
        """Return a dictionary column as the type ``kind``, with the dictionary of earlier rows extended by its new values.

        An Arrow file can only extend a dictionary, so it is stored as that of the column ``i`` for later rows.
        """
        pa, known = self._arrow, self._dictionaries.get(i)
        values, indices = column.dictionary, column.indices
        if known is not None and not values.equals(known):
            from pyarrow import compute

            values, known = without_views(values), without_views(known)
            new = values.filter(compute.is_null(compute.index_in(values, known)))  # the values that are not known
            known = pa.concat_arrays([known, new.cast(known.type)])
            indices = compute.index_in(values, known).take(indices)
            values = known
        values, indices = values.cast(kind.value_type), indices.cast(kind.index_type)
        self._dictionaries[i] = values
        return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)

    def _write_table(self) -> None:
        """Wait until the table before is written, and let the thread write the waiting rows as the next one."""
        table = self._arrow.Table.from_batches(self._waiting, self._schema)
        self._waiting, self._rows, self._bytes = [], 0, 0
        self._wait()
        size = {"row_group_size": self._group_rows} if self._is_parquet else {}
        self._written = self._pool.submit(self._out.write_table, table, **size)

    def _wait(self) -> None:
        """Wait until the current table, if there is one, is written; raise the error of its thread."""
        if self._written is not None:
            self._written.result()

    def finish(self) -> None:
        """Write the last rows and the footer."""
        self._open(self._empty)  # if there were no rows
        if self._waiting or self._written is None:  # a file without rows has an empty table
            self._write_table()
        self._wait()
        self._out.close()

    def close(self) -> None:
        """Stop writing; without a previous ``finish``, the file stays incomplete."""
        self._pool.shutdown(cancel_futures=True)
        if self._sink is not None:
            self._sink.ended = True


def _repeats(column: Any) -> bool:
    """Return whether the numbers of a Parquet column with a dictionary repeat, so that it saves bytes; true for other values."""
    size = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}.get(column.physical_type)
    return size is None or bool(column.total_uncompressed_size < column.num_values * size)


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
