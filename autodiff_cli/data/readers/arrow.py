"""Reading Parquet, Arrow IPC and Feather, some rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_cli.data.block import BLOCK_ROWS, BadRows, Block, InputFile, Wish
from autodiff_cli.data.libraries import foreign, pyarrow
from autodiff_cli.errors import DataError


class ArrowReader:
    """See ``block.Reader``.

    Args:
        file: open for reading bytes; Parquet, and an Arrow file that is no stream, are read back and forth.
        name: what messages call it.
        style: ``parquet``, ``arrow`` or ``feather``.

    Attributes:
        schema: types and metadata of the columns.
        only: the columns to read, if not all.
        groups: the row groups of Parquet to read, if not all: what another engine takes for a partition.

    Raises:
        DataError: if it is something else.
        MissingPackage: without pyarrow.
    """

    form = ""
    parallel = True

    def __init__(self, source: InputFile) -> None:
        file, name, style = source.file, source.name, source.format.name
        self._arrow = pyarrow(source.format.library)
        self.name = name
        self.only: list[str] | None = None
        self.groups: list[int] | None = None
        self.done = 0
        self._file = file
        self._style = style
        self._opened: Any
        with foreign(f"{name} is no {style} file"):
            # Arrow reads a file by itself better than through Python.
            name_of = getattr(file, "name", None)
            if isinstance(name_of, str) and os.path.isfile(name_of):
                self._file = self._arrow.OSFile(name_of)
                file.close()
            if style == "parquet":
                from pyarrow import parquet

                self._opened = parquet.ParquetFile(self._file, pre_buffer=False)  # else it keeps all that it has read
                self.schema = self._opened.schema_arrow
                self.total: int | None = self._opened.metadata.num_rows
            else:
                self._opened, self.total = self._ipc(self._file)
                self.schema = self._opened.schema
            self.columns: tuple[str, ...] = tuple(self.schema.names)

    def _ipc(self, file: Any) -> tuple[Any, int | None]:
        ipc = self._arrow.ipc
        if file.seekable():
            begins = file.read(6)
            file.seek(0)
            if begins[:4] == b"FEA1":
                raise OSError("it is a Feather file of version 1: write it anew with pyarrow.feather")
            if begins == b"ARROW1":
                opened = ipc.open_file(file)
                return opened, None
        return ipc.open_stream(file), None

    @property
    def rows_of_groups(self) -> list[int]:
        """How many rows each row group of a Parquet file has."""
        parts = self._opened.metadata if self._style == "parquet" else None
        return [] if parts is None else [parts.row_group(i).num_rows for i in range(parts.num_row_groups)]

    def cut(self, start: int, stop: int, first: int) -> None:
        """Read the row groups from ``start`` to ``stop`` only, and call the first row ``first``."""
        self.groups = list(range(start, stop))
        self.done = first - 1

    def pieces(self) -> Iterator[tuple[int, Any]]:
        """Batches, and the number of the first row."""
        empty = True
        for batch in self._batches():
            empty = False
            yield self.done + 1, batch
            self.done += batch.num_rows
        if empty:
            schema = self.schema if self.only is None else self._arrow.schema([self.schema.field(n) for n in self.only])
            yield 1, self._arrow.RecordBatch.from_arrays([self._arrow.array([], f.type) for f in schema], schema=schema)

    def _batches(self) -> Iterator[Any]:
        """Batches that hold what they say: what follows reads them without looking."""
        batches = self._unchecked()
        while True:
            with foreign(f"cannot read {self.name}"):
                batch = next(batches, None)
                if batch is None:
                    return
                batch.validate(full=True)
            yield batch

    def _unchecked(self) -> Iterator[Any]:
        if self._style == "parquet":
            yield from self._opened.iter_batches(BLOCK_ROWS, self.groups, self.only)
        elif hasattr(self._opened, "num_record_batches"):
            for i in range(self._opened.num_record_batches):
                yield from self._parts(self._opened.get_batch(i))
        else:
            for batch in self._opened:
                yield from self._parts(batch)

    def _parts(self, batch: Any) -> Iterator[Any]:
        if self.only is not None:
            batch = batch.select(self.only)
        for start in range(0, batch.num_rows, BLOCK_ROWS):
            yield batch.slice(start, BLOCK_ROWS)

    def block(self, piece: tuple[int, Any], wish: Wish) -> Block:
        """The rows of a piece.

        Raises:
            DataError: for a column that holds no numbers, or none in some row.
        """
        first, batch = piece
        lines = range(first, first + batch.num_rows)
        bad = BadRows(f"{self.name}, row", wish.on_error)
        numbers = {name: self._numbers(batch.column(name), name, lines, bad) for name in wish.numbers}
        columns = {name: batch.column(name) for name in wish.kept}
        return bad.filed(Block(batch.num_rows, numbers, columns, None, bad.where, lines))

    def _numbers(self, column: Any, name: str, lines: range, bad: BadRows) -> Any:
        types = self._arrow.types
        if types.is_dictionary(column.type):
            with foreign(f"cannot read {self.name}: column '{name}'"):
                column = column.dictionary_decode()
        kind = column.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)):
            raise DataError(f"{self.name}: column '{name}' holds {kind}, no numbers")
        for position in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)) if column.null_count else ():
            bad.cell(int(position), lines[position], name, None)
        with foreign(f"{self.name}: column '{name}' holds {kind}, which cannot be made float64"):
            if not types.is_float64(kind):
                column = column.cast(self._arrow.float64(), safe=False)
            return column.to_numpy(zero_copy_only=False)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
