"""Tables that fit terminals of at least 40 columns.

Numbers are never broken and columns are never cut off.  A table that is too wide is shrunk in this order:

1. the gaps between columns become smaller;
2. each row of a matrix gets its own line, sentences are wrapped between words, and long expressions lose their middle;
3. columns of words that are equal in all rows are replaced with a line below the table;
4. the table is split into parts, each of which begins with the first column.

In a pipe, a table has its natural width, unless the variable ``COLUMNS`` limits it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.styled_text import columns as columns_of
from autodiff_cli.wording import shortened

MOST_ROWS = 60
"""The number of rows from which on tables omit rows in the middle."""
_LEAST = 20
"""The minimum width of a shortened expression and of a wrapped sentence."""
_GAPS = (3, 2)
"""The number of blanks between columns: the default, and the minimum."""
_INNER_ROW = re.compile(r"(\[*)\[([^\[\]]*)\](\]*)")


class Kind(Enum):
    """What a column contains, which decides how it is aligned and shrunk."""

    NUMBER = "numbers and arrays, aligned to the right and never broken"
    TEXT = "names, numbers and sentences, which are wrapped between words"
    WORD = "words, which are neither wrapped nor shortened"
    EXPRESSION = "expressions, which may lose their middle"


NUMBER, TEXT, WORD, EXPRESSION = Kind


Cell = Text | str


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: the header; it may have several lines.
        kind: what the column contains.
        style: the style of its cells, below their own styles.
        is_right: whether the cells are aligned to the right; by default, if they are numbers.
    """

    title: str
    kind: Kind = TEXT
    style: str = ""
    is_right: bool | None = None

    @property
    def align(self) -> str:
        """The alignment, ``left`` or ``right``."""
        right = self.kind is NUMBER if self.is_right is None else self.is_right
        return "right" if right else "left"


class Table:
    """A table that shrinks to the width of the terminal.

    Args:
        columns: the columns; a title alone is a column of text.
        rows: the cells of each row; missing cells at its end are empty.
        by_rows: whether each row of a matrix gets its own line even if the table is narrow enough without that.
        most: the maximum width of a table of sentences, which are hard to read in long lines; ``None`` for no maximum.
        has_header: whether the titles of the columns are shown.
    """

    def __init__(
        self,
        columns: Iterable[Column | str],
        rows: Iterable[Sequence[Cell]] = (),
        *,
        by_rows: bool = False,
        most: int | None = None,
        has_header: bool = True,
    ) -> None:
        self.columns = [column if isinstance(column, Column) else Column(column) for column in columns]
        self.rows = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
        self.by_rows, self.most, self.has_header = by_rows, most, has_header

    def natural_columns(self) -> list[tuple[Column, list[Text]]]:
        """Return each column with its cells, without shrinking them; texts have the style of their column."""
        strips = self._strips()
        return [(strip.column, [strip.matrix(cell).styled(strip.column.style) for cell in strip.cells]) for strip in strips]

    def drawn(self, width: int, ascii_only: bool = False) -> Iterator[Text]:
        """Yield the lines of the table in a terminal of ``width`` columns, and a line for the columns that are left out."""
        room = min(width, self.most or width)
        parts, same = _parts(self._strips(), room)  # ``same``: the columns with one word in all rows that are left out
        for number, part in enumerate(parts):
            if number:  # an empty line between two parts
                yield Text()
            yield from _lines(part, self.has_header, ascii_only)
        if same:
            listed = ", ".join(f"{strip.column.title} {strip.cells[0]}" for strip in same).replace("\n", "")
            yield from Text(f"in every row: {listed}", "dim").lines(width)

    def _strips(self) -> list[_Strip]:
        """Return the columns with their cells, where missing cells are empty."""
        return [
            _Strip(column, [row[k] if k < len(row) else Text() for row in self.rows], self.has_header, self.by_rows)
            for k, column in enumerate(self.columns)
        ]


def title(text: str) -> Text:
    """Return the title of a table that follows another table, with an empty line before it."""
    return Text(f"\n{text}", "bold italic")


def more_rows(count: int) -> list[Text]:
    """Return the cells that replace omitted rows."""
    return [Text("...", "dim"), Text(f"{count:,} more", "dim")]


Renderable = Table | Text | str
"""A part of the output for people."""


class _Strip:
    """A column with its cells.

    Attributes:
        title: the header, which is empty if headers are hidden.
        by_rows: whether each row of a matrix gets its own line.
        widest: the width of the column without shortening or wrapping.
    """

    def __init__(self, column: Column, cells: list[Text], has_header: bool, by_rows: bool) -> None:
        self.column, self.cells, self.has_header, self.by_rows = column, cells, has_header, by_rows
        self.title = Text(column.title if has_header else "", "bold")
        self.widest = max([self.title.width, *(self.matrix(cell).width for cell in cells)])

    def folded(self) -> _Strip:
        """Return the column with a line for each row of a matrix."""
        return _Strip(self.column, self.cells, self.has_header, by_rows=True)

    @property
    def least(self) -> int:
        """The minimum width of the column."""
        if self.column.kind is WORD:
            return self.widest
        if self.column.kind is EXPRESSION:
            return max(self.title.width, min(self.widest, _LEAST))
        least_widths = [_LEAST if _is_prose(cell.plain) else self.matrix(cell).width for cell in self.cells]
        return min(self.widest, max([self.title.width, *least_widths]))

    @property
    def repeats_a_word(self) -> bool:
        """Whether the cells of several rows are one and the same word."""
        return self.column.kind is WORD and len(self.cells) > 1 and len({cell.plain for cell in self.cells}) == 1

    def lines(self, cell: Text, width: int, dots: str, hanging: bool) -> list[Text]:
        """Return the lines of a cell in a width; ``dots`` replace an omitted middle, ``hanging`` indents lines after the first."""
        if self.column.kind is EXPRESSION and cell.width > width:
            cell = Text(shortened(cell.plain, width, dots), cell.style)
        elif hanging and len(cell.pieces) == 1 and _is_prose(cell.plain) and cell.width > width:
            return _hanging_lines(cell, width)
        matrix = self.matrix(cell, width if self.column.align == "right" else 0)  # the cell itself if it is not a matrix
        lines = list(matrix.lines(width))
        if matrix is not cell:  # its rows stay one below the other, also in a column that is aligned to the right
            lines = [line.append(" " * (width - line.width)) for line in lines]
        return lines

    def matrix(self, cell: Text, width: int = 0) -> Text:
        """Return a cell with a line for each row if it is a matrix, aligned to the right of a width as a block; 0 for no width."""
        text = cell.plain
        is_matrix = text.startswith("[[") and text.endswith("]") and self.column.kind in (NUMBER, TEXT)
        if not (self.by_rows and is_matrix):
            return cell
        lines = _matrix_lines(text)
        if 0 < width < max(map(len, lines)):
            lines = _matrix_lines(text, aligned=False)  # which is narrower
        margin = " " * (width - max(map(len, lines)))  # empty for a negative number
        return Text("\n".join(margin + line for line in lines), cell.style)


def _hanging_lines(cell: Text, width: int) -> list[Text]:
    """Return the lines of a cell of one piece, with an indent after the first, which shows that the lines are one row."""
    first = next(cell.lines(width))
    rest = Text(cell.plain[len(first) :].lstrip(), cell.style)
    return [first, *(Text("  ").append(line) for line in rest.lines(max(width - 2, 1)))]


class _Fit(NamedTuple):
    """A part of a table that fits the terminal: its columns, their widths, and the gap between columns."""

    strips: list[_Strip]
    widths: list[int]
    gap: int


def _lines(part: _Fit, has_header: bool, ascii_only: bool) -> Iterator[Text]:
    """Yield the lines of a part of a table: the titles, which end on one line, with a rule below, and the rows."""
    dots = "..." if ascii_only else "\N{HORIZONTAL ELLIPSIS}"
    if has_header:
        titles = [list(strip.title.lines(width)) for strip, width in zip(part.strips, part.widths, strict=True)]
        height = max(map(len, titles))
        yield from _row([[Text()] * (height - len(lines)) + lines for lines in titles], part)  # empty lines above lower titles
        rule = "-" if ascii_only else "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
        yield Text(rule * (sum(part.widths) + part.gap * (len(part.widths) - 1)))
    for cells in zip(*(strip.cells for strip in part.strips), strict=True):
        columns = zip(part.strips, cells, part.widths, strict=True)
        row = [strip.lines(cell, width, dots, hanging=k == 0) for k, (strip, cell, width) in enumerate(columns)]
        styles = [strip.column.style for strip in part.strips]
        yield from _row([[line.styled(style) for line in lines] for lines, style in zip(row, styles, strict=True)], part)


def _row(cells: Sequence[Sequence[Text]], part: _Fit) -> Iterator[Text]:
    """Yield the lines of a row from the lines of its cells; ``part`` says the widths, the gap and the alignment of columns."""
    for number in range(max(map(len, cells))):
        line = Text()
        for k, (lines, width, strip) in enumerate(zip(cells, part.widths, part.strips, strict=True)):
            text = lines[number] if number < len(lines) else Text()  # below the last line of a lower cell
            blanks = " " * (width - text.width)
            gap = " " * part.gap if k else ""
            if strip.column.align == "right":
                line.append(gap + blanks).append(text)
            else:
                line.append(gap).append(text).append(blanks)
        yield line


def _parts(strips: list[_Strip], room: int) -> tuple[list[_Fit], list[_Strip]]:
    """Return the parts of a table, and the columns that a line below the table replaces.

    As few of these columns as possible are taken out, from the right; they stay if the table is then still in as many parts.
    """
    whole = _fit(strips, room)
    if whole is not None:
        return [whole], []
    rest = list(strips)
    same: list[_Strip] = []
    for strip in reversed(strips[1:]):
        if strip.repeats_a_word:
            rest.remove(strip)
            same.insert(0, strip)
            whole = _fit(rest, room)
            if whole is not None:
                return [whole], same
    all_parts, parts = _split(strips, room), _split(rest, room)
    if len(parts) == len(all_parts):
        parts, same = all_parts, []
    fits = [_fit(part, room) or _forced(part, room) for part in parts]
    return [fit._replace(gap=min(fit.gap for fit in fits)) for fit in fits], same


def _fit(strips: list[_Strip], room: int) -> _Fit | None:
    """Shrink columns as little as possible, and return the result; ``None`` if the columns do not fit.

    First the gaps become smaller, then matrices are folded, and then all wide columns get the same width.
    """
    for is_folded in (False, True):
        strips = [strip.folded() for strip in strips] if is_folded else strips
        widths = [strip.widest for strip in strips]
        for gap in _GAPS:
            if sum(widths) + gap * (len(strips) - 1) <= room:
                return _Fit(strips, widths, gap)
    room -= _GAPS[-1] * (len(strips) - 1)
    least = [strip.least for strip in strips]
    if sum(least) > room:
        return None
    for widest in range(room, 0, -1):  # the greatest common width that fits
        lowered = [max(low, min(width, widest)) for low, width in zip(least, widths, strict=True)]
        if sum(lowered) <= room:
            return _Fit(strips, lowered, _GAPS[-1])
    return None


def _split(strips: list[_Strip], room: int) -> list[list[_Strip]]:
    """Split a table into parts that fit, unless the first column and one other do not; every part begins with the first."""
    first, *others = (strip.folded() for strip in strips)
    parts: list[list[_Strip]] = []
    used = room  # so that the first column begins a part
    for strip in others:
        if used + _GAPS[-1] + strip.widest > room:  # always for the first of the others
            parts.append([first])
            used = first.widest
        parts[-1].append(strip)
        used += _GAPS[-1] + strip.widest
    return parts or [[first]]


def _forced(strips: list[_Strip], room: int) -> _Fit:
    """Return a part of one or two columns that is too wide for ``room``: arrays are wrapped between elements, words may break."""
    gap = _GAPS[-1]
    if len(strips) == 1:
        return _Fit(strips, [room], gap)
    first, last = strips
    words = [word for cell in last.cells for word in cell.plain.split()]
    longest = max(map(columns_of, words), default=0)  # it should not be broken
    width = min(first.widest, max(room - gap - longest, room // 4))  # the first column keeps at least a quarter
    return _Fit(strips, [width, room - gap - width], gap)


def _is_prose(text: str) -> bool:
    """Return whether a text has several words and is not an array."""
    return " " in text and not text.startswith("[")


def _matrix_lines(text: str, aligned: bool = True) -> list[str]:
    """Return the lines of a matrix, one for each row, with aligned elements, as NumPy prints it."""
    rows = _INNER_ROW.findall(text)  # the brackets before a row, the row, and the brackets after it
    elements = [row.split(", ") for _, row, _ in rows]
    widths = [max(map(len, column)) if aligned else 0 for column in zip(*elements, strict=True)]
    depth = len(rows[0][0])  # the number of brackets before that of the first row
    lines = []
    for (opening, _, closing), row in zip(rows, elements, strict=True):
        padded = ", ".join(element.rjust(width) for element, width in zip(row, widths, strict=True))
        lines.append(f"{opening.rjust(depth)}[{padded}]{closing}")
    return [f"{line}," for line in lines[:-1]] + lines[-1:]
