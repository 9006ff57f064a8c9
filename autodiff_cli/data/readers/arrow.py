"""The reader of Parquet, Arrow IPC and Feather files, which reads the rows in batches."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from itertools import accumulate, groupby
from typing import IO, Any

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.data import storage
from autodiff_cli.data.column_values import dense
from autodiff_cli.data.row_blocks import BLOCK_ROWS, ROW, ArrowArray, BadRows, Block, Input, Reader, ReadRequest, field_of
from autodiff_cli.data.storage import library_errors
from autodiff_cli.errors import DataError
from autodiff_cli.language.limited_reading import file_size
from autodiff_cli.lazy import library

_PORTION = 1 << 26
"""The number of bytes of the row groups that are requested from a server in one step."""
RecordBatch = Any
"""A pyarrow record batch; pyarrow does not have type annotations."""


class ArrowReader(Reader):
    """The reader of Parquet files and of Arrow IPC files and streams; ``done`` and ``total`` count rows.

    Attributes:
        groups: the Parquet row groups to read; ``None`` for all.

    Raises:
        DataError: if the file has another format.
        MissingPackage: if pyarrow is not installed.
    """

    nested = True

    def __init__(self, source: Input, file: IO[bytes]) -> None:
        super().__init__(source, file)
        self._size = file_size(file)
        self._arrow = library("pyarrow", source.format.library, otherwise="use csv")
        self.done = source.first - 1  # the rows before the part
        self.groups = None if source.span is None else list(range(*source.span))
        self._is_parquet = source.format.name == "parquet"
        self._is_remote = storage.is_url(source.path)
        with library_errors(f"{self.name} is not in {source.format.library} format"):
            self._file = self._opened_by_path(file)
            self._opened = self._parquet(self._file) if self._is_parquet else self._ipc(self._file)
            if self._is_parquet:
                self.schema = self._opened.schema_arrow
                self.metadata = self._opened.metadata
                self.total = self.metadata.num_rows
            else:
                self.schema = self._opened.schema
                self.is_random_access = hasattr(self._opened, "num_record_batches")  # a stream does not know their number
            self.columns = tuple(self.schema.names)

    def _opened_by_path(self, file: IO[bytes]) -> Any:
        """Close a file on disk and return it as opened by Arrow, which reads it faster.  Return another file unchanged."""
        path = getattr(file, "name", None)
        if not isinstance(path, str) or not os.path.isfile(path):
            return file
        file.close()
        return self._arrow.OSFile(path)

    def _parquet(self, file: IO[bytes]) -> Any:
        """Return the reader of pyarrow for a Parquet file."""
        from pyarrow import _parquet  # pyarrow.parquet imports what object stores need

        opened = _parquet.ParquetReader()
        opened.open(file, pre_buffer=self._is_remote)  # a buffer keeps all requested row groups in memory
        return opened

    def _ipc(self, file: IO[bytes]) -> Any:
        """Return pyarrow's reader of an Arrow IPC file or stream, by its first bytes.  An old Feather file is an ``OSError``."""
        ipc = self._arrow.ipc
        if file.seekable():
            begins = file.read(len(b"ARROW1"))
            file.seek(0)
            if begins.startswith(b"FEA1"):
                raise OSError("it is a Feather file of version 1: convert it with pyarrow.feather")
            if begins == b"ARROW1":
                return ipc.open_file(file)
        return ipc.open_stream(file)

    @property
    def estimate(self) -> float:
        """The approximate number of rows; see ``Reader``."""
        return super().estimate if self._size is None or self.total is not None else self._size / ROW

    def pieces(self) -> Iterator[tuple[int, RecordBatch]]:
        """Yield each batch with the number of its first row; one batch without rows if there are none."""
        empty = True
        for batch in self._batches():
            empty = False
            yield self.done + 1, batch
            self.done += batch.num_rows
        if empty:
            schema = self.schema if self.only is None else self._arrow.schema([self.schema.field(name) for name in self.only])
            arrays = [self._arrow.array([], field.type) for field in schema]
            yield 1, self._arrow.RecordBatch.from_arrays(arrays, schema=schema)

    def _batches(self) -> Iterator[RecordBatch]:
        """Yield validated batches, because later accesses to their values are unchecked; an invalid one raises ``DataError``."""
        batches = self._unchecked()
        while True:
            with library_errors(f"cannot read {self.name}"):
                batch = next(batches, None)
                if batch is None:
                    return
                batch.validate(full=True)
            yield batch

    def _unchecked(self) -> Iterator[RecordBatch]:
        """Yield the batches of the needed columns as pyarrow reads them, with at most ``BLOCK_ROWS`` rows."""
        if self._is_parquet:
            names = self.columns if self.only is None else self.only
            # A nested column has several leaves; the path of a leaf begins with the name of the column.
            leaves = [i for i, path in enumerate(self._opened.column_paths) if path[0] in names]
            for groups in self._portions():
                yield from self._opened.iter_batches(BLOCK_ROWS, groups, leaves)
        elif self.is_random_access:
            for i in range(self._opened.num_record_batches):
                yield from self._slices(self._opened.get_batch(i))
        else:
            for batch in self._opened:
                yield from self._slices(batch)

    def _portions(self) -> Iterator[list[int]]:
        """Yield the row groups to read in one step: all, or about ``_PORTION`` bytes that are requested from a server together."""
        groups = list(range(self.metadata.num_row_groups)) if self.groups is None else self.groups
        if not self._is_remote:
            yield groups
            return
        ends = accumulate(self.metadata.row_group(group).total_byte_size for group in groups)
        portion_numbers = [end // _PORTION for end in ends]  # equal for groups that are read together
        for _, portion in groupby(zip(portion_numbers, groups, strict=True), operator.itemgetter(0)):
            yield [group for _, group in portion]

    def _slices(self, batch: RecordBatch) -> Iterator[RecordBatch]:
        """Yield slices of the needed columns of a batch, with at most ``BLOCK_ROWS`` rows."""
        if self.only is not None:
            batch = batch.select(self.only)
        for start in range(0, batch.num_rows, BLOCK_ROWS):
            yield batch.slice(start, BLOCK_ROWS)

    def block(self, piece: tuple[int, RecordBatch], request: ReadRequest) -> Block:
        """Return the rows of a batch; raise ``DataError`` if a column does not contain numbers.  See ``Reader.block``."""
        first, batch = piece
        lines = range(first, first + batch.num_rows)
        bad = BadRows(f"{self.name}, row", request.on_error, request.finite)
        numbers = {name: self._numbers(self._column(batch, name), name, lines, bad) for name in request.numbers}
        columns = {name: batch.column(name) for name in request.copies}
        texts = {name: self._column(batch, name) for name in request.texts}
        return bad.applied_to(Block(batch.num_rows, numbers, columns, raw=None, where=bad.where, lines=lines, texts=texts))

    def _column(self, batch: RecordBatch, name: str) -> ArrowArray:
        """Return a column or a field inside a column.  A field of a null is null.  An unknown field is a ``DataError``."""
        top, fields = field_of(name, self.columns)
        column = batch.column(top)
        for field in fields:
            struct = column.type if self._arrow.types.is_struct(column.type) else self._arrow.struct([])  # without fields
            if struct.get_field_index(field) < 0:
                known = ", ".join(f"'{top}.{member.name}'" for member in struct)
                hint = f"its fields: {known}" if known else f"'{top}' has no fields"
                raise DataError(f"{self.name} has no field '{name}'", hint=hint)
            from pyarrow import compute

            column, top = compute.struct_field(column, field), f"{top}.{field}"  # the name so far, for the hint
        return column

    def _numbers(self, column: ArrowArray, name: str, lines: range, bad: BadRows) -> Floats:
        """Convert a column to float64; nulls become nan and are recorded in ``bad``.  Other types are a ``DataError``."""
        types = self._arrow.types
        with library_errors(f"cannot read {self.name}: column '{name}'"):
            column = dense(column)
        kind = column.type
        is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
        if not (is_number or types.is_null(kind)):
            raise DataError(f"{self.name}: column '{name}' contains {kind}, not numbers")
        for position in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)) if column.null_count else ():
            bad.add_cell(int(position), lines[position], name, None)
        with library_errors(f"{self.name}: column '{name}' contains {kind}, which cannot be converted to float64"):
            if not types.is_float64(kind):
                column = column.cast(self._arrow.float64(), safe=False)
            numbers: Floats = column.to_numpy(zero_copy_only=False)
        return numbers
