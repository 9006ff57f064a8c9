"""Reading CSV and TSV: Python's csv where there are quotes, splitting where there are none, Arrow where it pays.

This reader is the truth about what a file holds.  ``fast`` does the same on large pieces and gives up on any doubt.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_cli.data.block import BadRows, Block, InputFile, Wish
from autodiff_cli.data.libraries import pyarrow_loaded
from autodiff_cli.data.readers.lines import LONGEST, LineFile, decoded
from autodiff_cli.errors import DataError

FAST_FROM = 1 << 20
"""Bytes of a piece from which on importing Arrow pays."""
FAST_FROM_THEN = 1 << 16
"""Bytes from which on using it pays, when it is imported."""
FAST_FROM_EACH = 64
"""Bytes for each column."""

_LINE_ENDS = "lines end with a newline; if they end with a carriage return alone: tr '\\r' '\\n' < FILE"


@dataclass(slots=True)
class Piece:
    """Whole lines.

    Attributes:
        data: the lines; if ``rows`` is missing, without carriage returns, and every line is a row.
        first: the number of the first line.
        rows, raws, lines: what csv made of them: cells, the text of each row and its line.
    """

    data: bytes
    first: int
    rows: list[list[str]] | None = None
    raws: Sequence[str] = ()
    lines: Sequence[int] = ()


class DelimitedReader:
    """Read CSV or TSV; see ``block.Reader``.

    Raises:
        DataError: without a header.
    """

    def __init__(self, source: InputFile) -> None:
        self.name = source.name
        self.form = self.delimiter = source.format.delimiter
        self._file = LineFile(source.file, source.name, source.unbuffered, begins=source.line == 1, soon=True)
        self._chunks = self._file.chunks()
        self._line = source.line
        self._started = b""
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST))
        self.columns = tuple(self._header() if source.columns is None else source.columns)

    @property
    def parallel(self) -> bool:
        """Only Arrow works outside of Python's lock."""
        from importlib.util import find_spec

        return find_spec("pyarrow") is not None

    @property
    def done(self) -> int:
        """Bytes that were read."""
        return self._file.done

    @property
    def total(self) -> int | None:
        """Bytes that there are."""
        return self._file.total

    @property
    def line(self) -> int:
        """The number of the line that comes next."""
        return self._line

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _header(self) -> list[str]:
        for chunk in self._chunks:
            position = 0
            while position < len(chunk):
                end = chunk.index(b"\n", position) + 1
                line = decoded(chunk[position:end], self.name, self._line)
                if line.strip("\r\n"):
                    if line.count('"') % 2:
                        raise DataError(f"{self.name}, line {self._line}: a quote in the header is not closed on its line")
                    self._line += 1
                    self._started = chunk[end:]
                    try:
                        return next(csv.reader([line], delimiter=self.delimiter))
                    except csv.Error:
                        message = f"{self.name}, line {self._line - 1}: a carriage return inside of the header"
                        raise DataError(message, hint=_LINE_ENDS) from None
                self._line += 1
                position = end
        raise DataError(f"{self.name} is empty", hint="a file with columns but no rows has a header")

    def pieces(self) -> Iterator[Piece]:
        """Whole rows; at least one piece, which may be empty."""
        yielded = False
        for chunk in self._remaining():
            piece = self._piece(chunk)
            self._line += piece.data.count(b"\n")
            if piece.data:
                yielded = True
                yield piece
        if not yielded:
            yield Piece(b"", self._line)

    def _piece(self, chunk: bytes) -> Piece:
        simple = chunk.replace(b"\r\n", b"\n") if b"\r" in chunk else chunk
        if b"\r" not in simple and (b'"' not in chunk or (self._is_large(chunk) and fast().is_regular(simple, self.delimiter))):
            return Piece(simple, self._line)
        # Where a row ends, csv alone can say; one that ends in a later chunk is put back.
        rows, raws, lines, used = self._parsed(chunk, self._line)
        if used < len(chunk):
            if self._file.ended:
                line = self._line + chunk.count(b"\n", 0, used)
                raise DataError(f"{self.name}, line {line}: a quote that opens here is never closed")
            self._file.put_back(chunk[used:])
        return Piece(chunk[:used], self._line, rows, raws, lines)

    def _remaining(self) -> Iterator[bytes]:
        if self._started:
            yield self._started
        yield from self._chunks

    def _parsed(self, data: bytes, first: int) -> tuple[list[list[str]], list[str], list[int], int]:
        """What csv makes of lines: cells, the text of each row, its line, and how many bytes are whole rows."""
        lines = [line + "\n" for line in decoded(data, self.name, first).split("\n")[:-1]]
        given = _Given(lines)
        reader = csv.reader(given, delimiter=self.delimiter)
        rows, raws, starts = [], [], []
        used = 0
        try:
            for row in reader:
                if given.exhausted:
                    break  # the lines ended inside of a quoted cell
                if row:
                    rows.append(row)
                    raws.append("".join(lines[used : reader.line_num]).rstrip("\r\n"))
                    starts.append(first + used)
                used = reader.line_num
        except csv.Error:
            raise DataError(f"{self.name}, line {first + used}: a carriage return inside of a line", hint=_LINE_ENDS) from None
        whole = len(data) if used == len(lines) else len(data) - len("".join(lines[used:]).encode())
        return rows, raws, starts, whole

    def block(self, piece: Piece, wish: Wish) -> Block:
        """The rows of a piece.

        Raises:
            DataError: for a row with too few or too many cells, and a cell that is no number.
        """
        rows, raws, lines = piece.rows, piece.raws, piece.lines
        if rows is None and self._is_large(piece.data):
            block: Block | None = fast().parsed(piece.data, self.name, piece.first, self.columns, self.delimiter, wish)
            if block is not None:
                return block
        if rows is None and b'"' in piece.data:
            rows, raws, lines, _ = self._parsed(piece.data, piece.first)
        elif rows is None:
            raws = decoded(piece.data, self.name, piece.first).split("\n")[:-1]
            lines = range(piece.first, piece.first + len(raws))
            if "" in raws:
                lines = [line for line, raw in zip(lines, raws, strict=True) if raw]
                raws = [raw for raw in raws if raw]
            delimiter = self.delimiter
            rows = [raw.split(delimiter) for raw in raws]
        return self._checked(rows, raws, lines, wish)

    def _checked(self, rows: list[list[str]], raws: Sequence[str], lines: Sequence[int], wish: Wish) -> Block:
        bad = BadRows(f"{self.name}, line", wish.on_error)
        width = len(self.columns)
        raw = list(raws) if wish.raw == self.delimiter else None
        if not set(map(len, rows)) <= {width}:
            rows, raw = self._mended(rows, raw, lines, bad)
        place = {name: i for i, name in enumerate(self.columns)}
        numbers = {}
        for name in wish.numbers:
            cells = [row[place[name]] for row in rows]
            numbers[name], wrong = numbers_in(cells)
            for position in wrong:
                header = lines[position] == 1 and cells[position].strip() == name
                hint = "the first line is a header; leave --columns away" if header else None
                bad.cell(position, lines[position], name, cells[position], hint)
        columns: dict[str, Any] = {}
        for name in wish.kept if raw is None else ():
            as_number = name in numbers and not wish.text
            columns[name] = numbers[name] if as_number else [row[place[name]] for row in rows]
        return bad.filed(Block(len(rows), numbers, columns, raw, bad.where, lines))

    def _mended(
        self, rows: list[list[str]], raw: list[str] | None, lines: Sequence[int], bad: BadRows
    ) -> tuple[list[list[str]], list[str] | None]:
        """Rows of the right width, those that had another one noted as bad."""
        width = len(self.columns)
        rows = list(rows)
        for i, row in enumerate(rows):
            if len(row) == width:
                continue
            hint = None
            if len(row) > width and bad.on_error == "nan":
                bad.on_error, hint = "stop", "--on-error skip leaves such rows out; there is no column for these cells"
            cells = f"{len(row)} cell{'s' if len(row) > 1 else ''}, but there are {width} columns"
            bad.add(i, lines[i], cells, hint)
            missing = [""] * (width - len(row))
            rows[i] = [*row, *missing][:width]
            if raw is not None:
                raw[i] += self.delimiter * len(missing)
        return rows, raw

    def _is_large(self, data: bytes) -> bool:
        """Whether Arrow is quicker: it does a lot for each column of a piece, however few its rows."""
        return len(data) >= max(FAST_FROM_THEN if pyarrow_loaded() else FAST_FROM, FAST_FROM_EACH * len(self.columns))


def fast() -> Any:
    """What works with Arrow."""
    from autodiff_cli.data.readers import arrow_csv as module

    return module


class _Given:
    """Lines for csv, and whether it asked for more than there are."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = iter(lines)
        self.exhausted = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.exhausted = True
            raise StopIteration
        return line


def numbers_in(cells: list[str]) -> tuple[Any, list[int]]:
    """Cells as float64, and the positions of those that are no numbers, which are nan."""
    try:
        array = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        wrong = [i for i, cell in enumerate(cells) if not is_number(cell)]
        array = np.array([float(cell) if is_number(cell) else np.nan for cell in cells], np.float64)
        return array, wrong
    # Python reads 1_000; nobody writes it into a file.
    wrong = [i for i, cell in enumerate(cells) if "_" in cell] if "_" in "".join(cells) else []
    array[wrong] = np.nan
    return array, wrong


def is_number(cell: str) -> bool:
    """Whether a cell is a number: digits, a sign, a point, an exponent, or nan and inf."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
