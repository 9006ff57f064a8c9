"""Writing a table for people."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from autodiff_cli.data.block import Block, OutputStyle, Reader
from autodiff_cli.data.column_values import python_values
from autodiff_cli.data.writers.text import TextWriter
from autodiff_cli.report.table import MOST_ROWS, drawn, rows_table

_HALF = MOST_ROWS // 2


class _Ends(NamedTuple):
    """How many rows a block has, its first ones, and its last ones where those are others."""

    rows: int
    first: list[tuple[object, ...]]
    last: list[tuple[object, ...]]


class TableWriter(TextWriter):
    """Write a table; of many rows only the first and the last ones."""

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._first: list[tuple[object, ...]] = []
        self._last: deque[tuple[object, ...]] = deque(maxlen=_HALF)
        self._rows = 0

    def begin(self, file: BinaryIO, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Remember the columns."""
        self._file = file
        self._kept = tuple(kept)
        self._results = tuple(results)

    def encode(self, block: Block, results: Sequence[np.ndarray]) -> _Ends:
        """Return the first and the last rows."""
        columns = [*(block.columns[name] for name in self._kept), *results]
        ends = (slice(MOST_ROWS), slice(max(MOST_ROWS, block.rows - _HALF), None))
        first, last = (list(zip(*(python_values(column[part]) for column in columns), strict=True)) for part in ends)
        return _Ends(block.rows, first, last)

    def write(self, encoded: Any) -> None:
        """Remember the first and the last rows."""
        self._rows += encoded.rows
        self._first += [*encoded.first, *encoded.last][: MOST_ROWS - len(self._first)]
        self._last.extend((*encoded.first, *encoded.last))

    def finish(self) -> None:
        """Draw the table."""
        left_out = max(0, self._rows - MOST_ROWS)
        rows = [*self._first[:_HALF], *self._last] if left_out else self._first
        table = rows_table(self._kept, self._results, rows, left_out, self._style.precision)
        self._file.write(drawn([table], self._style.color).encode())
