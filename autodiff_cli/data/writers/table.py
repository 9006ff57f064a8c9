"""The writer of tables for the terminal."""

from __future__ import annotations

from collections import deque

from autodiff_cli.data.column_values import python_values
from autodiff_cli.data.row_blocks import Block, Column, OutputStyle, Results, Writer
from autodiff_cli.report.result_tables import rows_table
from autodiff_cli.report.table import MOST_ROWS
from autodiff_cli.report.terminal import drawn

_HALF = MOST_ROWS // 2  # the rows at each end of a long table
_Row = tuple[object, ...]
_Ends = tuple[int, list[_Row], list[_Row]]
"""The number of rows of a block, its first rows, and the last rows that are not among the first rows."""


class TableWriter(Writer):
    """The writer of a table; a long table contains only the first and last rows."""

    def __init__(self, style: OutputStyle) -> None:
        super().__init__(style)
        self._first: list[_Row] = []
        self._last: deque[_Row] = deque(maxlen=_HALF)
        self._rows = 0

    def encode(self, block: Block, results: Results) -> _Ends:
        """Return the rows of a block that the table may show; see ``_Ends``."""
        columns = [*(block.columns[name] for name in self._copies), *results]
        last_start = max(MOST_ROWS, block.rows - _HALF)
        return block.rows, _rows(columns, slice(MOST_ROWS)), _rows(columns, slice(last_start, None))

    def write(self, encoded: _Ends) -> None:
        """Store the first ``MOST_ROWS`` rows of the output, and the last rows so far, which may be among the first."""
        count, first, last = encoded
        self._rows += count
        rows = [*first, *last]
        missing = MOST_ROWS - len(self._first)
        self._first += rows[:missing]
        self._last.extend(rows)  # a queue of limited length, which drops earlier rows

    def finish(self) -> None:
        """Draw the table: all rows, or the first and the last ``_HALF`` if there are more than ``MOST_ROWS``."""
        left_out = max(0, self._rows - MOST_ROWS)
        rows = [*self._first[:_HALF], *self._last] if left_out else self._first
        table = rows_table(self._copies, self._results, rows, left_out, self._style.precision)
        self._file.write(drawn([table], self._style.color).encode())


def _rows(columns: list[Column], part: slice) -> list[_Row]:
    """Return some rows of columns as tuples of Python values."""
    return list(zip(*(python_values(column[part]) for column in columns), strict=True))
