"""Tables that fit the terminal they are shown in, from 40 columns on.

No number is broken and no column is cut off.  A table that is too wide gives way in this order:

1. its columns move closer together;
2. matrices take a line for each row, sentences fold between words, long expressions lose their middle;
3. columns of words that are the same in every row are said once, below the table;
4. the table is split into pieces, each with the first column in front.

In a pipe a table is as wide as it needs, and nothing of this happens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

_LEAST = 20
"""What is left of a long expression or on a line of a sentence, in characters."""
_GAPS = (3, 2)
_INNER_ROW = re.compile(r"(\[*)\[([^\[\]]*)\](\]*)")


class FoldingTable(Table):
    """A rich table that gives way as this module says; its columns say how:

    ``no_wrap=True`` is for words that stay as they are, ``overflow="fold"`` for numbers, arrays and sentences; any other
    column is one of expressions, which may be shortened.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width
        strips = [_Strip.of(column, self.show_header) for column in self.columns]
        pieces, same = _pieces(strips, room)
        for number, piece in enumerate(pieces):
            if number:
                yield Text()
            yield self._drawn(piece, room, "..." if options.ascii_only else "\N{HORIZONTAL ELLIPSIS}")
        if same:
            said = ", ".join(f"{strip.title} {strip.cells[0].plain}" for strip in same)
            yield Text(f"in every row: {said}", "dim")

    def _drawn(self, piece: _Fit, room: int, dots: str) -> Table:
        table = Table(
            box=self.box,
            header_style=self.header_style,
            show_header=self.show_header,
            pad_edge=False,
            show_edge=False,
            padding=(0, piece.gap - 1, 0, 0),
            collapse_padding=True,
        )
        for index, (strip, width) in enumerate(zip(piece.strips, piece.widths, strict=True)):
            cells: list[RenderableType] = [cell if index else _hanging(cell, width) for cell in strip.fitted(width, dots)]
            table.columns.append(replace(strip.column, _index=index, _cells=cells, width=width))
        table.rows = self.rows
        return table


@dataclass
class _Strip:
    """A column and the room it takes."""

    column: Column
    cells: list[Text]
    header: int
    by_rows: bool = False

    @classmethod
    def of(cls, column: Column, show_header: bool) -> _Strip:
        cells = [cell if isinstance(cell, Text) else Text(str(cell)) for cell in column.cells]
        return cls(column, cells, _width(Text(str(column.header))) if show_header else 0)

    @property
    def title(self) -> str:
        """The header on one line."""
        return str(self.column.header).replace("\n", "")

    @property
    def widest(self) -> int:
        """The width that it takes if nothing of it is folded but matrices, once they are."""
        return max([self.header, *(_width(self._by_rows(cell)) for cell in self.cells)])

    @property
    def least(self) -> int:
        """The width that it can be brought down to."""
        if self.column.no_wrap:
            return self.widest
        if self.column.overflow != "fold":
            return max(self.header, min(self.widest, _LEAST))
        stiff = [_LEAST if _is_prose(cell.plain) else _width(self._by_rows(cell)) for cell in self.cells]
        return min(self.widest, max([self.header, *stiff]))

    def fitted(self, width: int, dots: str) -> list[Text]:
        """The cells as they are shown in this width."""
        if self.column.overflow != "fold" and not self.column.no_wrap:
            return [_shortened(cell, width, dots) for cell in self.cells]
        return [self._by_rows(cell, width if self.column.justify == "right" else 0) for cell in self.cells]

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
    """Columns that fit, with the width of each and the gap between them."""

    strips: list[_Strip]
    widths: list[int]
    gap: int


def _pieces(strips: list[_Strip], room: int) -> tuple[list[_Fit], list[_Strip]]:
    """The tables that are to be shown one below the other, and the columns that need not be."""
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
    fits = [_fit(piece, room) or _forced(piece, room) for piece in short]
    return [replace(fit, gap=min(fit.gap for fit in fits)) for fit in fits], same


def _fit(strips: list[_Strip], room: int) -> _Fit | None:
    """Columns that give way as little as they must, if that is enough."""
    for by_rows in (False, True):
        strips = [replace(strip, by_rows=by_rows) for strip in strips]
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
    """As many columns in each piece as fit in full, behind the first, which every piece has."""
    first, *others = (replace(strip, by_rows=True) for strip in strips)
    pieces: list[list[_Strip]] = []
    used = room
    for strip in others:
        if used + _GAPS[-1] + strip.widest > room:
            pieces.append([first])
            used = first.widest
        pieces[-1].append(strip)
        used += _GAPS[-1] + strip.widest
    return pieces or [[first]]


def _forced(strips: list[_Strip], room: int) -> _Fit:
    """One column that is too wide, behind the first: arrays fold between their elements, and only words in the middle."""
    gap = _GAPS[-1]
    if len(strips) == 1:
        return _Fit(strips, [room], gap)
    first, last = strips
    longest = max(cell_len(word) for cell in last.cells for word in cell.plain.split() or [""])
    width = min(first.widest, max(room - gap - longest, room // 4))
    return _Fit(strips, [width, room - gap - width], gap)


def _hanging(cell: Text, width: int) -> Text:
    """A text of the first column, folded so that it does not look like two rows."""
    if cell.spans or not _is_prose(cell.plain) or _width(cell) <= width:
        return cell
    import textwrap

    return Text("\n".join(textwrap.wrap(cell.plain, width, subsequent_indent="  ", break_on_hyphens=False)), cell.style)


def _width(text: Text) -> int:
    return max(map(cell_len, text.plain.split("\n")))


def _is_prose(text: str) -> bool:
    return " " in text and not text.startswith("[")


def _matrix_lines(text: str, aligned: bool = True) -> list[str]:
    """The rows of a matrix one below the other, their elements aligned, as NumPy prints them."""
    rows = _INNER_ROW.findall(text)
    elements = [row.split(", ") for _, row, _ in rows]
    widths = [max(map(len, column)) if aligned else 0 for column in zip(*elements, strict=True)]
    depth = len(rows[0][0])
    lines = []
    for (opening, _, closing), row in zip(rows, elements, strict=True):
        padded = ", ".join(element.rjust(width) for element, width in zip(row, widths, strict=True))
        lines.append(f"{opening.rjust(depth)}[{padded}]{closing}")
    return [f"{line}," for line in lines[:-1]] + lines[-1:]


def _shortened(cell: Text, width: int, dots: str) -> Text:
    """A text on one line without its middle, if it is too long."""
    if _width(cell) <= width:
        return cell
    half = width - len(dots)
    return Text.assemble(cell[: half - half // 2], dots, cell[len(cell) - half // 2 :], style=cell.style)
