"""The reader of CSV and TSV.

Machine code reads large pieces, and refuses pieces with unusual rows.  The csv module parses these and small pieces.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.data.column_values import TRUTHS, is_number, masked
from autodiff_cli.data.native_text import Cells, is_fast, read_cells
from autodiff_cli.data.readers.lines import LONGEST, Lines, TextReader, decoded, lines_in
from autodiff_cli.data.row_blocks import ArrowArray, BadRows, Block, Column, Input, ReadRequest
from autodiff_cli.data.row_texts import arrow_strings, has_pyarrow
from autodiff_cli.errors import DataError, setting
from autodiff_cli.formats import Dialect
from autodiff_cli.language.limited_reading import display_name
from autodiff_cli.wording import plural

_LINE_ENDS = "end lines with a newline, or convert lines that end with only a carriage return: tr '\\r' '\\n' < FILE"
Wrong = list[tuple[int, str]]
"""The position of the row and the text of each cell that is not a number."""


@dataclass(slots=True)
class _Rows:
    """The cells of rows that the csv module parsed, with their text and line numbers.

    Attributes:
        cells: the cells of each row.
        raws: the text of each row.
        lines: the number of the first line of each row.
    """

    cells: list[list[str]]
    raws: Sequence[str]
    lines: Sequence[int]

    def texts(self, i: int) -> list[str]:
        """Return the cells of a column."""
        return [row[i] for row in self.cells]

    def numbers(self, i: int, dialect: Dialect) -> tuple[Floats, Wrong]:
        """Return the numbers of a column, and the cells that are not numbers."""
        cells = self.texts(i)
        array, wrong = numbers_in(cells, dialect.decimal)
        return array, [(position, cells[position]) for position in wrong]


class _ReadRows:
    """The cells of rows that machine code read; see ``_Rows``."""

    def __init__(self, cells: Cells, first: int) -> None:
        self._cells = cells
        self.lines: Sequence[int] = range(first, first + cells.rows)

    def texts(self, i: int) -> ArrowArray:
        return arrow_strings(self._cells.texts[i])

    def numbers(self, i: int, dialect: Dialect) -> tuple[Floats, Wrong]:
        """Return the numbers of a column, completed here by those that Python converts, and the cells that are not numbers."""
        unusual = [(row, (text or b"").decode()) for row, column, text in self._cells.others if column == i]  # b"": missing
        rows, cells = [row for row, _ in unusual], [cell for _, cell in unusual]
        array = self._cells.numbers[i]
        array[rows], wrong = numbers_in(cells, dialect.decimal)
        return array, [unusual[position] for position in wrong]


class DelimitedReader(TextReader):
    """The reader of CSV and TSV; a file without a header, unless the columns are given, raises ``DataError``."""

    def __init__(self, source: Input, file: BinaryIO) -> None:
        self._dialect = source.format.dialect
        super().__init__(source, file, soon=True)
        self.form = self.delimiter = source.format.delimiter
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # of this process
        self.columns = tuple(self._header() if source.columns is None else source.columns)

    def chunks(self) -> Iterator[bytes]:
        """Yield chunks of whole lines, without those that the dialect skips.  Comments become empty lines, which are counted."""
        sign = self._dialect.comment.encode()
        comments = re.compile(rb"^%b[^\n]*" % re.escape(sign), re.MULTILINE) if sign else None
        to_skip = self._dialect.skip_lines if self.line == 1 else 0  # a later part of a file does not contain them
        for chunk in super().chunks():
            start = 0
            while to_skip and start < len(chunk):
                start = chunk.index(b"\n", start) + 1
                to_skip -= 1
                self.line += 1
            data = chunk[start:]
            yield data if comments is None else comments.sub(b"", data)

    def _header(self) -> list[str]:
        """Return the names in the header, which is then read; raise ``DataError`` if it is not one whole line."""
        line = self._first_line()
        if line is None:
            hint = "write a header line, even for an empty table"
            raise DataError(f"{self.name} is empty", hint=f"name a file, or {hint}" if self.name == display_name(None) else hint)
        place = f"{self.name}, line {self.line}"
        if line.count('"') % 2:
            raise DataError(f"{place}: a quote in the header is not closed on its line")
        self.line += 1
        self._begun = self._begun.partition(b"\n")[2]
        try:
            return next(csv.reader([line], delimiter=self.delimiter))
        except csv.Error:
            raise DataError(f"{place}: the header contains a carriage return", hint=_LINE_ENDS) from None

    def pieces(self) -> Iterator[Lines]:
        """Yield pieces of whole rows; there is always at least one piece, which may be empty."""
        for chunk in self._remaining():
            piece = self._piece(chunk)
            self.line += lines_in(piece.data)
            if piece.data or not chunk:  # not only the beginning of a row
                yield piece

    def _piece(self, chunk: bytes) -> Lines:
        """Return the whole rows at the start of a chunk, and put the rest back; a file that ends in quotes is a ``DataError``."""
        simple = chunk.replace(b"\r\n", b"\n") if b"\r" in chunk else chunk
        has_plain_quotes = b'"' not in chunk or (is_fast(len(chunk)) and is_regular(simple, self.delimiter))
        if has_plain_quotes and b"\r" not in simple:  # every line is a row
            return Lines(simple, self.line)
        # Only the csv module can find the ends of rows.
        rows, used = self._parsed(chunk, self.line)  # the number of bytes of these rows
        if used < len(chunk):  # the last row is not whole
            if self.ended:
                line = self.line + chunk.count(b"\n", 0, used)
                raise DataError(f"{self.name}, line {line}: a quote that opens here is never closed")
            self.put_back(chunk[used:])
        return Lines(chunk[:used], self.line, rows)

    def _parsed(self, data: bytes, first: int) -> tuple[_Rows, int]:
        """Parse lines with the csv module, given the number of the first; return the whole rows and their number of bytes."""
        text = decoded(data, self.name, first)
        lines = text.split("\n")[:-1]
        has_blank_line = data.startswith(b"\n") or "\n\n" in text
        if not has_blank_line and '"' not in text and "\r" not in text:  # every line is a row
            cells = list(csv.reader(lines, delimiter=self.delimiter))
            return _Rows(cells, lines, range(first, first + len(lines))), len(data)
        rows, used_lines = self._parsed_lines([line + "\n" for line in lines], first)
        left = "".join(line + "\n" for line in lines[used_lines:])  # of a row that is not whole
        return rows, len(data) - len(left.encode())

    def _parsed_lines(self, lines: list[str], first: int) -> tuple[_Rows, int]:
        """Parse lines, some empty or parts of a row; return the whole rows and their number of lines.  May raise ``DataError``."""
        reader = csv.reader([*lines, "\n"], delimiter=self.delimiter)  # a row that contains the added line is not whole
        cells: list[list[str]] = []
        raws: list[str] = []
        starts: list[int] = []
        used = 0
        try:
            for row in reader:
                if reader.line_num > len(lines):
                    break
                if row:
                    cells.append(row)
                    raws.append("".join(lines[used : reader.line_num]).rstrip("\r\n"))
                    starts.append(first + used)
                used = reader.line_num
        except csv.Error:
            raise DataError(f"{self.name}, line {first + used}: the line contains a carriage return", hint=_LINE_ENDS) from None
        return _Rows(cells, raws, starts), used

    def block(self, piece: Lines, request: ReadRequest) -> Block:
        """Return the rows of a piece; see ``Reader.block``.  A row with a wrong number of cells is bad."""
        bad = BadRows(f"{self.name}, line", request.on_error, request.finite)
        copies_raw = request.raw == self.delimiter
        cells = self._fast_cells(piece.data, request) if piece.rows is None and is_fast(len(piece.data)) else None
        if cells is not None:
            return self._as_block(_ReadRows(cells, piece.first), piece.data if copies_raw else None, request, bad)
        rows = piece.rows or self._parsed(piece.data, piece.first)[0]  # ``_piece`` may have parsed them
        raw = list(rows.raws) if copies_raw else None
        widths = set(map(len, rows.cells))
        if widths - {len(self.columns)}:
            self._pad(rows, raw, bad)
        return self._as_block(rows, raw, request, bad)

    def _fast_cells(self, data: bytes, request: ReadRequest) -> Cells | None:
        """Return the cells that machine code reads; ``None`` if the csv module has to read them."""
        copies = () if request.raw == self.delimiter else request.copies  # none if whole lines are copied
        copied_texts = [name for name in copies if request.text or name not in request.numbers]
        text_names = {*request.texts, *copied_texts}
        if text_names and not has_pyarrow():  # texts become Arrow arrays
            return None
        numbers, texts = ([self.columns.index(name) for name in names] for names in (request.numbers, text_names))
        return read_cells(data, lines_in(data), self.delimiter, self._dialect.decimal, len(self.columns), numbers, texts)

    def _as_block(self, rows: _Rows | _ReadRows, raw: list[str] | bytes | None, request: ReadRequest, bad: BadRows) -> Block:
        """Return rows as a block, and record wrong cells in ``bad``.  ``raw`` is their text, or ``None`` if it is not copied."""
        place = {name: i for i, name in enumerate(self.columns)}
        numbers: dict[str, Floats] = {}
        empty: dict[str, list[int]] = {}  # the positions of empty cells, which a copied column of numbers masks
        for name in request.numbers:
            numbers[name], wrong = rows.numbers(place[name], self._dialect)
            empty[name] = [position for position, cell in wrong if not cell]
            self._add_wrong(name, wrong, rows.lines, bad)
        columns: dict[str, Column] = {}
        for name in request.copies if raw is None else ():
            as_number = name in numbers and not request.text
            columns[name] = masked(numbers[name], empty[name]) if as_number else rows.texts(place[name])
        texts = {name: rows.texts(place[name]) for name in request.texts}
        return bad.applied_to(Block(len(rows.lines), numbers, columns, raw, bad.where, rows.lines, texts=texts))

    def _add_wrong(self, name: str, cells: Wrong, lines: Sequence[int], bad: BadRows) -> None:
        """Record cells of a column that are not numbers in ``bad``, by the position of their row, with a hint for each."""
        for position, cell in cells:
            is_header = lines[position] == 1 and cell.strip() == name
            hint = f"remove {setting('columns')}, because the first line is a header" if is_header else self._decimal_hint(cell)
            bad.add_cell(position, lines[position], name, cell, hint)

    def _decimal_hint(self, cell: str) -> str | None:
        """Return a hint for a cell that is a number with a decimal comma; ``None`` for another cell."""
        has_comma = self.delimiter != "," and cell.count(",") == 1 and is_number(cell.replace(",", "."))
        quoted = setting("decimal", "','")
        return f"use {quoted} to read numbers with a decimal comma" if has_comma else None

    def _pad(self, rows: _Rows, raw: list[str] | None, bad: BadRows) -> None:
        """Pad or cut every row to the number of columns, and record as bad the rows that had a different number of cells.

        The cells of ``rows`` are changed, and so are their texts ``raw`` if they are copied to the output.
        """
        width = len(self.columns)
        for i, row in enumerate(rows.cells):
            if len(row) == width:
                continue
            is_too_long = len(row) > width
            hint = f"use {setting('on_error', 'skip')} to skip rows with too many cells" if is_too_long else None
            bad.add(i, rows.lines[i], f"{plural(len(row), 'cell')}, but there are {width} columns", hint, whole=is_too_long)
            missing = [""] * (width - len(row))
            rows.cells[i] = [*row, *missing][:width]
            if raw is not None:
                raw[i] += self.delimiter * len(missing)


def numbers_in(cells: list[str], decimal: str) -> tuple[Floats, list[int]]:
    """Convert cells to float64, and return them with the positions of invalid cells, which are nan; true and false are 1 and 0.

    ``decimal`` is the decimal separator; Python reads numbers with a point.
    """
    cells = cells if decimal == "." else [cell.replace(decimal, ".") for cell in cells]
    try:
        array = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        cells = [TRUTHS.get(cell.strip(), cell) for cell in cells]
        wrong = [i for i, cell in enumerate(cells) if not is_number(cell)]
        array = np.array([float(cell) if is_number(cell) else np.nan for cell in cells], np.float64)
        return array, wrong
    # Python reads 1_000 as a number, but in a file it is text.
    wrong = [i for i, cell in enumerate(cells) if "_" in cell] if "_" in "".join(cells) else []
    array[wrong] = np.nan
    return array, wrong


def is_regular(data: bytes, delimiter: str) -> bool:
    """Return whether every line is a row.

    This is the case if quotes only enclose cells or are doubled, and no cell contains a newline.
    """
    array = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(array == ord('"'))
    if len(quotes) % 2:
        return False
    # A doubled quote inside a cell is handled as the end of a quoted part and the beginning of the next part.
    is_boundary = np.zeros(256, bool)  # by byte
    is_boundary[[ord(delimiter), ord("\n"), ord('"')]] = True
    before, after = array[quotes[::2] - 1], array[quotes[1::2] + 1]  # of opening and of closing quotes; [-1] is a newline
    if not (is_boundary[before].all() and is_boundary[after].all()):
        return False
    newlines = np.flatnonzero(array == ord("\n"))
    return not (np.searchsorted(quotes, newlines) % 2).any()
