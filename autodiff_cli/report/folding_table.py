"""Tables that fit terminals of at least 40 columns.

Numbers are never broken and columns are never cut off; a ``rich.table.Table`` breaks numbers and cuts off columns even on a
terminal of 80 columns.  A table that is too wide is shrunk in this order:

1. the gaps between columns become smaller;
2. each row of a matrix gets its own line, sentences are wrapped between words, and long expressions lose their middle;
3. columns of words that are equal in all rows are replaced with a line below the table;
4. the table is split into parts, each of which begins with the first column.

In a pipe, a table has its natural width, unless the variable ``COLUMNS`` limits it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from autodiff_cli.wording import shortened

_LEAST = 20
"""The minimum width of a shortened expression and of a wrapped sentence."""
_GAPS = (3, 2)
"""The number of blanks between columns: the default, and the minimum."""
_INNER_ROW = re.compile(r"(\[*)\[([^\[\]]*)\](\]*)")


class FoldingTable(Table):
    """A rich table that shrinks to the width of the terminal.

    A column with ``no_wrap=True`` contains words, which are not wrapped or shortened.  A column with ``overflow="fold"``
    contains numbers, arrays and sentences.  Any other column contains expressions, which may be shortened.

    Attributes:
        by_rows: whether each row of a matrix gets its own line even if the table is narrow enough without that.
        most: the maximum width of a table of sentences, which are hard to read in long lines; ``None`` for no maximum.
    """

    by_rows: bool = False
    most: int | None = None

    def natural_columns(self) -> list[tuple[str, str, list[Text]]]:
        """Return the title, the alignment and the cells of each column, without shrinking them.

        Matrices have one line for each row if ``by_rows`` is set, and texts have the style of their column.
        """
        strips = [_Strip.of(column, self.show_header, self.by_rows) for column in self.columns]
        return [
            (strip.title, strip.column.justify, [strip.styled(cell) for cell in strip.fitted(strip.widest, "")]) for strip in strips
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = min(options.max_width, self.most or options.max_width)
        strips = [_Strip.of(column, self.show_header, self.by_rows) for column in self.columns]
        parts, same = _parts(strips, room)
        for number, part in enumerate(parts):
            if number:
                yield Text()
            yield self._drawn(part, "..." if options.ascii_only else "\N{HORIZONTAL ELLIPSIS}")
        if same:
            listed = ", ".join(f"{strip.title} {strip.cells[0].plain}" for strip in same)
            yield Text(f"in every row: {listed}", "dim")

    def _drawn(self, part: _Fit, dots: str) -> Table:
        table = Table(
            box=self.box,
            header_style=self.header_style,
            show_header=self.show_header,
            pad_edge=False,
            show_edge=False,
            padding=(0, part.gap - 1, 0, 0),
            collapse_padding=True,
        )
        for index, (strip, width) in enumerate(zip(part.strips, part.widths, strict=True)):
            cells: list[RenderableType] = [cell if index else _hanging(cell, width) for cell in strip.fitted(width, dots)]
            table.columns.append(replace(strip.column, _index=index, _cells=cells, width=width))
        table.rows = self.rows
        return table


@dataclass
class _Strip:
    """A column, its cells, and the width of its header.

    Attributes:
        column: the column of the rich table.
        cells: the cells of the column.
        header: the width of the header; 0 if headers are hidden.
        by_rows: whether each row of a matrix gets its own line.
    """

    column: Column
    cells: list[Text]
    header: int
    by_rows: bool = False

    @classmethod
    def of(cls, column: Column, show_header: bool, by_rows: bool) -> _Strip:
        cells = [cell if isinstance(cell, Text) else Text(str(cell)) for cell in column.cells]
        return cls(column, cells, _width(Text(str(column.header))) if show_header else 0, by_rows)

    @property
    def title(self) -> str:
        """The header on one line."""
        return str(self.column.header).replace("\n", "")

    @property
    def widest(self) -> int:
        """The width of the column without shortening or wrapping."""
        return max([self.header, *(_width(self._by_rows(cell)) for cell in self.cells)])

    @property
    def least(self) -> int:
        """The minimum width of the column."""
        if self.column.no_wrap:
            return self.widest
        if self.column.overflow != "fold":
            return max(self.header, min(self.widest, _LEAST))
        stiff = [_LEAST if _is_prose(cell.plain) else _width(self._by_rows(cell)) for cell in self.cells]
        return min(self.widest, max([self.header, *stiff]))

    def fitted(self, width: int, dots: str) -> list[Text]:
        """Return the cells, changed to fit a width."""
        if self.column.overflow != "fold" and not self.column.no_wrap:
            return [Text(shortened(cell.plain, width, dots), cell.style) if _width(cell) > width else cell for cell in self.cells]
        return [self._by_rows(cell, width if self.column.justify == "right" else 0) for cell in self.cells]

    def styled(self, cell: Text) -> Text:
        """Return a cell in the style of the column, to which its own style is added."""
        return Text("", self.column.style).append_text(cell)

    def _by_rows(self, cell: Text, width: int = 0) -> Text:
        if not self.by_rows or self.column.overflow != "fold" or not (cell.plain.startswith("[[") and cell.plain.endswith("]")):
            return cell
        lines = _matrix_lines(cell.plain)
        if 0 < width < max(map(len, lines)):
            lines = _matrix_lines(cell.plain, aligned=False)
        margin = " " * (width - max(map(len, lines)))
        return Text("\n".join(margin + line for line in lines), cell.style, justify="left")


@dataclass
class _Fit:
    """A part of a table that fits the terminal: its columns, their widths, and the gap between columns."""

    strips: list[_Strip]
    widths: list[int]
    gap: int


def _parts(strips: list[_Strip], room: int) -> tuple[list[_Fit], list[_Strip]]:
    """Return the parts of a table, and the columns that a line below the table replaces."""
    whole = _fit(strips, room)
    if whole is not None:
        return [whole], []
    kept = list(strips)
    same: list[_Strip] = []
    for strip in reversed(strips[1:]):
        if len(strip.cells) > 1 and strip.column.no_wrap and len({cell.plain for cell in strip.cells}) == 1:
            kept.remove(strip)
            same.insert(0, strip)
            whole = _fit(kept, room)
            if whole is not None:
                return [whole], same
    split, short = _split(strips, room), _split(kept, room)
    if len(short) == len(split):
        short, same = split, []
    fits = [_fit(part, room) or _forced(part, room) for part in short]
    return [replace(fit, gap=min(fit.gap for fit in fits)) for fit in fits], same


def _fit(strips: list[_Strip], room: int) -> _Fit | None:
    """Shrink columns as little as possible, and return the result; ``None`` if the columns do not fit."""
    for by_rows in (False, True):
        strips = [replace(strip, by_rows=by_rows or strip.by_rows) for strip in strips]
        widths = [strip.widest for strip in strips]
        for gap in _GAPS:
            if sum(widths) + gap * (len(strips) - 1) <= room:
                return _Fit(strips, widths, gap)
    room -= _GAPS[-1] * (len(strips) - 1)
    least = [strip.least for strip in strips]
    if sum(least) > room:
        return None
    for widest in range(room, 0, -1):
        lowered = [max(low, min(width, widest)) for low, width in zip(least, widths, strict=True)]
        if sum(lowered) <= room:
            return _Fit(strips, lowered, _GAPS[-1])
    return None


def _split(strips: list[_Strip], room: int) -> list[list[_Strip]]:
    """Split a table into parts that fit without further shrinking; every part begins with the first column."""
    first, *others = (replace(strip, by_rows=True) for strip in strips)
    parts: list[list[_Strip]] = []
    used = room
    for strip in others:
        if used + _GAPS[-1] + strip.widest > room:
            parts.append([first])
            used = first.widest
        parts[-1].append(strip)
        used += _GAPS[-1] + strip.widest
    return parts or [[first]]


def _forced(strips: list[_Strip], room: int) -> _Fit:
    """Return a part with a column that is too wide.

    Arrays in it are wrapped between elements, and words may be broken.
    """
    gap = _GAPS[-1]
    if len(strips) == 1:
        return _Fit(strips, [room], gap)
    first, last = strips
    longest = max(cell_len(word) for cell in last.cells for word in cell.plain.split() or [""])
    width = min(first.widest, max(room - gap - longest, room // 4))
    return _Fit(strips, [width, room - gap - width], gap)


def _hanging(cell: Text, width: int) -> Text:
    """Return a cell of the first column, wrapped with a hanging indent, so that it does not look like two rows."""
    if cell.spans or not _is_prose(cell.plain) or _width(cell) <= width:
        return cell
    import textwrap

    return Text("\n".join(textwrap.wrap(cell.plain, width, subsequent_indent="  ", break_on_hyphens=False)), cell.style)


def _width(text: Text) -> int:
    return max(map(cell_len, text.plain.split("\n")))


def _is_prose(text: str) -> bool:
    return " " in text and not text.startswith("[")


def _matrix_lines(text: str, aligned: bool = True) -> list[str]:
    """Return the lines of a matrix, one for each row, with aligned elements, as NumPy prints it."""
    rows = _INNER_ROW.findall(text)
    elements = [row.split(", ") for _, row, _ in rows]
    widths = [max(map(len, column)) if aligned else 0 for column in zip(*elements, strict=True)]
    depth = len(rows[0][0])
    lines = []
    for (opening, _, closing), row in zip(rows, elements, strict=True):
        padded = ", ".join(element.rjust(width) for element, width in zip(row, widths, strict=True))
        lines.append(f"{opening.rjust(depth)}[{padded}]{closing}")
    return [f"{line}," for line in lines[:-1]] + lines[-1:]
