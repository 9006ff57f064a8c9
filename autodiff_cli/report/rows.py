"""Rows of ``map`` for the eye, and as Markdown; see ``data.block.Writer``."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from autodiff_cli.data.block import Block, Reader
from autodiff_cli.data.column_values import cell_values, number_texts, python_values
from autodiff_cli.data.writers.text import TextWriter
from autodiff_cli.report.numbers import human
from autodiff_cli.report.visible import visible

MOST_ROWS = 60


class MarkdownWriter(TextWriter):
    """A table in Markdown."""

    text = True

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Write the header."""
        self._file = file
        self._kept = tuple(kept)
        names = [visible(name) for name in (*kept, *results)]
        self._head = f"{_line(names)}|{' --- |' * len(names)}\n".encode()

    def encode(self, block: Block, results: Sequence[Any]) -> list[Any]:
        """Lines as one buffer."""
        columns = [[_text(value) for value in cell_values(block.columns[name])] for name in self._kept]
        return ["".join(map(_line, zip(*columns, *map(number_texts, results), strict=True))).encode()]


def _text(value: Any) -> str:
    return "" if value is None else visible(str(value))


def _line(cells: Sequence[str]) -> str:
    texts = (cell.replace("|", "\\|").replace("*", "\\*").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(texts)} |\n"


class TableWriter(TextWriter):
    """A table for people: of many rows the first and the last ones.

    Args:
        precision: significant digits.
        color: see ``table.console``.
    """

    def __init__(self, precision: int, color: str) -> None:
        self._precision = precision
        self._color = color
        self._first: list[list[Any]] = []
        self._last: deque[list[Any]] = deque(maxlen=MOST_ROWS // 2)
        self._rows = 0

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Remember what the columns are."""
        self._file = file
        self._kept = tuple(kept)
        self._results = tuple(results)

    def encode(self, block: Block, results: Sequence[Any]) -> tuple[int, list[list[Any]], list[list[Any]]]:
        """The first rows and the last ones."""
        columns = [block.columns[name] for name in self._kept] + list(results)
        half = MOST_ROWS // 2
        after = max(MOST_ROWS, block.rows - half)
        first, last = ([python_values(column[part]) for column in columns] for part in (slice(MOST_ROWS), slice(after, None)))
        return block.rows, [list(row) for row in zip(*first, strict=True)], [list(row) for row in zip(*last, strict=True)]

    def write(self, encoded: Any) -> None:
        """Remember the first rows and the last ones."""
        rows, first, last = encoded
        self._rows += rows
        for row in (*first, *last):
            if len(self._first) < MOST_ROWS:
                self._first.append(row)
            self._last.append(row)

    def finish(self) -> None:
        """Draw the table."""
        from rich.text import Text

        from autodiff_cli.report import table

        drawn = table.empty_table()
        rows = self._first
        half = MOST_ROWS // 2
        if self._rows > MOST_ROWS:
            rows = [*rows[:half], [], *self._last]
        for i, name in enumerate((*self._kept, *self._results)):
            right = all(isinstance(row[i], (int, float)) for row in rows if row)
            drawn.add_column(Text(visible(name)), justify="right" if right else "left", overflow="fold")
        for row in rows:
            if not row:
                drawn.add_row(Text("...", "dim"), Text(f"{self._rows - MOST_ROWS:,} more", "dim"))
                continue
            kept = [Text(self._shown(value)) for value in row[: len(self._kept)]]
            drawn.add_row(*kept, *(Text(self._shown(value), "bold cyan") for value in row[len(self._kept) :]))
        self._file.write(table.drawn([drawn], self._color).encode())

    def _shown(self, value: Any) -> str:
        return human(value, self._precision) if isinstance(value, (int, float)) else _text(value)
