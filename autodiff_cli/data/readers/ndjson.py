"""The reader of NDJSON, which has one JSON object per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from autodiff_cli.arrays import Floats
from autodiff_cli.data.column_values import as_float
from autodiff_cli.data.native_text import Cells, is_fast, read_members
from autodiff_cli.data.readers.lines import Lines, TextReader, decoded, lines_in
from autodiff_cli.data.row_blocks import RENAMED, BadRows, Block, Input, ReadRequest, field_of
from autodiff_cli.data.row_texts import arrow_strings, has_pyarrow
from autodiff_cli.errors import DataError, setting

NOT_FINITE = ("nan", "inf", "-inf")
"""The numbers that JSON can represent only as strings."""

_Row = dict[str, Any]
_decode = json.JSONDecoder().raw_decode
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_TEXT = "one half of a pair of surrogates (\\ud800 to \\udfff), which is not a character"
_EXAMPLE = 'write one object per line: {"x": 1.5}'


class NdjsonReader(TextReader):
    """The reader of NDJSON.  Unless the columns are given, they are the keys of the first object; ``DataError`` without one."""

    form = "ndjson"
    nested = True

    def __init__(self, source: Input, file: BinaryIO) -> None:
        super().__init__(source, file)
        self.columns = tuple(self._first_keys() if source.columns is None else source.columns)
        self._known = frozenset(self.columns)

    def _first_keys(self) -> list[str]:
        """Return the keys of the first object, which remains to be read.  Without one, or for invalid Unicode: ``DataError``."""
        line = self._first_line()
        if line is None:
            raise DataError(f"{self.name} is empty", hint=_EXAMPLE)
        row, place = _object(line.strip()), f"{self.name}, line {self.line}"
        if isinstance(row, str):
            raise DataError(f"{place}: {row}", hint=_EXAMPLE)
        if not _is_text(list(row)):
            raise DataError(f"{place}: {_NOT_TEXT}", hint="use valid Unicode text as keys")
        return list(row)

    def pieces(self) -> Iterator[Lines]:
        """Yield pieces of whole lines."""
        for chunk in self._remaining():
            yield Lines(chunk, self.line)
            self.line += lines_in(chunk)

    def block(self, piece: Lines, request: ReadRequest) -> Block:
        """Return the rows of a piece; see ``Reader.block``.  A line is bad if it is not an object."""
        data = piece.data.replace(b"\r\n", b"\n")
        bad = BadRows(f"{self.name}, line", request.on_error, request.finite)
        cells = self._members(data, request) if is_fast(len(data)) else None
        if cells is None:
            return self._parsed(piece, request, bad)
        lines = range(piece.first, piece.first + cells.rows)
        numbers = {name: _with_unusual(cells, i, name, lines, bad) for i, name in enumerate(request.numbers)}
        first = len(numbers)  # the position of the first text among the members
        texts = {name: arrow_strings(cells.texts[i]) for i, name in enumerate(request.texts, first)}
        raw = data if request.raw == self.form else None
        return bad.applied_to(Block(cells.rows, numbers, {}, raw, bad.where, lines, texts=texts))

    def _parsed(self, piece: Lines, request: ReadRequest, bad: BadRows) -> Block:
        """Return the rows of a piece whose objects Python parses."""
        texts = decoded(piece.data, self.name, piece.first).split("\n")
        raws = [row for text in texts if (row := text.strip())]
        lines: Sequence[int] = range(piece.first, piece.first + len(raws))
        if len(raws) < len(texts) - 1:  # some lines are blank; the last text, after the last newline, always is
            lines = [piece.first + i for i, text in enumerate(texts) if text.strip()]
        objects = list(map(_object, raws))
        if request.copies and request.raw != self.form and _SURROGATE.search(piece.data):  # perhaps not Unicode: a bad line
            objects = [row if isinstance(row, str) or _is_text(row) else _NOT_TEXT for row in objects]
        rows = self._checked(objects, lines, request, bad)
        numbers = {name: _numbers(name, self._values(name, rows), lines, bad) for name in request.numbers}
        raw = raws if request.raw == self.form else None
        columns = {name: [row.get(name) for row in rows] for name in (request.copies if raw is None else ())}
        compared = {name: self._values(name, rows) for name in request.texts}
        return bad.applied_to(Block(len(rows), numbers, columns, raw, bad.where, lines, texts=compared))

    def _members(self, data: bytes, request: ReadRequest) -> Cells | None:
        """Return the members that machine code reads; ``None`` if Python has to read whole objects."""
        names = (*request.numbers, *request.texts)
        if (request.copies and request.raw != self.form) or (request.texts and not has_pyarrow()):
            return None
        paths = [[column, *fields] for column, fields in (field_of(name, self._known) for name in names)]
        refused = request.new if request.raw else ()  # a line that is copied may not have the key of a result
        count = len(request.numbers)
        return read_members(data, lines_in(data), paths, refused, range(count), range(count, len(names)))

    def _values(self, name: str, rows: list[_Row]) -> list[Any]:
        """Return the values of a column, or of a field inside a column; a missing value is ``None``."""
        column, fields = field_of(name, self._known)
        values: list[Any] = [row.get(column) for row in rows]
        for field in fields:
            values = [value.get(field) if isinstance(value, dict) else None for value in values]
        return values

    def _checked(self, candidates: list[_Row | str], lines: Sequence[int], request: ReadRequest, bad: BadRows) -> list[_Row]:
        """Return the objects, with an empty object for each candidate that is a message: its line is recorded in ``bad``.

        A key that would be lost, because it is not a column, or that is the name of a result, raises ``DataError``.
        """
        rows: list[_Row] = []
        known = self._known
        copies_columns = bool(request.copies) and not request.partial and request.raw != self.form
        for i, row in enumerate(candidates):
            if isinstance(row, str):
                hint = f"{_EXAMPLE}, or use {setting('on_error', 'skip')} to skip other lines"
                bad.add(i, lines[i], row, hint, whole=True)
                row = {}
            elif copies_columns and not row.keys() <= known:
                raise self._lost_key(row, lines[i])
            elif request.raw and not row.keys().isdisjoint(request.new):
                taken = next(key for key in row if key in request.new)
                raise DataError(f"{self.name}, line {lines[i]}: the key '{taken}' already exists", hint=RENAMED)
            rows.append(row)
        return rows

    def _lost_key(self, row: _Row, line: int) -> DataError:
        """Return the error for an object with a key that is not a column."""
        extra = next(key for key in row if key not in self._known)
        hint = f"use {setting('format', 'ndjson')} to copy lines unchanged, or {setting('no_keep')} to drop the input columns"
        return DataError(f"{self.name}, line {line}: the key '{extra}' is not in the first line", hint=hint)


def _object(text: str) -> _Row | str:
    """Return the object of a stripped line, or a description of the error in the line."""
    try:
        row, end = _decode(text)
    except ValueError as error:
        return f"not JSON ({getattr(error, 'msg', error)})"
    except RecursionError:
        return "a value is nested too deeply to be read"
    if end < len(text):
        return f"not JSON (more text follows a value of {end:,} characters)"
    return row if isinstance(row, dict) else "not a JSON object"


def _numbers(name: str, cells: list[Any], lines: Sequence[int], bad: BadRows, rows: Sequence[int] | None = None) -> Floats:
    """Convert the cells of a column to numbers, with nan for others, which are recorded in ``bad``.

    ``lines`` and ``rows`` are the line and the position in the block of each cell; without ``rows``, there is a cell for each row.
    """
    if set(map(type, cells)) <= {float}:  # the usual case, which is fast
        return np.array(cells, np.float64)
    array = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if type(cell) in (float, int, bool) or cell in NOT_FINITE:
            array[i] = as_float(cell)
        else:
            bad.add_cell(i if rows is None else rows[i], lines[i], name, cell)
    return array


def _with_unusual(cells: Cells, i: int, name: str, lines: Sequence[int], bad: BadRows) -> Floats:
    """Return the numbers of the member ``i`` in ``cells``, completed here by those that Python converts; others become bad."""
    unusual = [(row, text) for row, column, text in cells.others if column == i]
    rows = [row for row, _ in unusual]
    values = [None if text is None else json.loads(text) for _, text in unusual]
    cells.numbers[i][rows] = _numbers(name, values, [lines[row] for row in rows], bad, rows)
    return cells.numbers[i]


def _is_text(value: object) -> bool:
    """Return whether all text in a JSON value is valid Unicode; JSON escapes can contain lone surrogates."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
