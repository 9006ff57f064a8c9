"""Reading NDJSON: one JSON object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_cli.data.block import BadRows, Block, InputFile, Wish
from autodiff_cli.data.readers.lines import LineFile, decoded
from autodiff_cli.errors import DataError

NOT_FINITE = ("nan", "inf", "-inf")
"""Numbers that JSON has no other way to write than as text."""


_decode = json.JSONDecoder().raw_decode


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NO_TEXT = "one half of a pair of surrogates (\\ud800 to \\udfff), which is no character"


@dataclass(slots=True)
class Piece:
    """Whole lines, and the number of the first."""

    data: bytes
    first: int


class NdjsonReader:
    """Read NDJSON; see ``block.Reader``.  The columns are the keys of the first object, if they are not given.

    Raises:
        DataError: without a first object.
    """

    form = "ndjson"
    parallel = False

    def __init__(self, source: InputFile) -> None:
        self.name = source.name
        self._file = LineFile(source.file, source.name, source.unbuffered, begins=source.line == 1)
        self._chunks = self._file.chunks()
        self._line = source.line
        self._begun: bytes = b""
        self.columns = tuple(self._first_keys() if source.columns is None else source.columns)

    @property
    def line(self) -> int:
        """A line before which there is no object."""
        return self._line

    @property
    def done(self) -> int:
        """Bytes that were read."""
        return self._file.done

    @property
    def total(self) -> int | None:
        """Bytes that there are."""
        return self._file.total

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _first_keys(self) -> list[str]:
        for chunk in self._chunks:
            for i, line in enumerate(chunk.split(b"\n")):
                if line.strip():
                    self._begun = chunk
                    row = self._object(decoded(line, self.name, self._line + i).strip())
                    if not isinstance(row, dict):
                        raise DataError(f"{self.name}, line {self._line + i}: {row}", hint='a line is one object: {"x": 1.5}')
                    if not _is_text(list(row)):
                        raise DataError(f"{self.name}, line {self._line + i}: {_NO_TEXT}", hint="a key has to be text")
                    return list(row)
            self._line += chunk.count(b"\n")
        raise DataError(f"{self.name} is empty", hint='a line is one object: {"x": 1.5}')

    def pieces(self) -> Iterator[Piece]:
        """Whole lines."""
        line = self._line
        for chunk in self._all():
            yield Piece(chunk, line)
            line += chunk.count(b"\n")

    def _all(self) -> Iterator[bytes]:
        yield self._begun
        yield from self._chunks

    def block(self, piece: Piece, wish: Wish) -> Block:
        """The rows of a piece.

        Raises:
            DataError: for a line that is no object, and a value that is no number.
        """
        texts = decoded(piece.data, self.name, piece.first).split("\n")
        raws = [row for text in texts if (row := text.strip())]
        lines: Sequence[int] = range(piece.first, piece.first + len(raws))
        if len(raws) < len(texts) - 1:
            lines = [piece.first + i for i, text in enumerate(texts) if text.strip()]
        bad = BadRows(f"{self.name}, line", wish.on_error)
        rows = [self._object(raw) for raw in raws]
        known = set(self.columns)
        if wish.kept and wish.raw != self.form and _SURROGATE.search(piece.data):
            rows = [row if isinstance(row, str) or _is_text(row) else _NO_TEXT for row in rows]
        for i, row in enumerate(rows):
            if isinstance(row, str):
                if bad.on_error == "nan":
                    bad.on_error = "stop"
                bad.add(i, lines[i], row, "a line is one object; --on-error skip leaves others out")
                rows[i] = {}
            elif wish.kept and wish.raw != self.form and not row.keys() <= known:
                extra = next(key for key in row if key not in known)
                message = f"{self.name}, line {lines[i]}: a key '{extra}', which the first line does not have"
                raise DataError(message, hint="--format ndjson passes lines as they are, --no-keep leaves them out")
            elif wish.raw and not row.keys().isdisjoint(wish.new):
                taken = next(key for key in row if key in wish.new)
                message = f"{self.name}, line {lines[i]}: a key '{taken}' already"
                raise DataError(message, hint="--value-name and --derivative-name call the new ones otherwise")
        numbers = {name: self._numbers(name, rows, lines, bad) for name in wish.numbers}
        raw = raws if wish.raw == self.form else None
        columns = {name: [row.get(name) for row in rows] for name in (wish.kept if raw is None else ())}
        return bad.filed(Block(len(rows), numbers, columns, raw, bad.where, lines))

    @staticmethod
    def _object(text: str) -> Any:
        """The object of a line without blanks around it, or what is wrong with it."""
        try:
            row, end = _decode(text)
        except (ValueError, RecursionError) as error:
            return f"no JSON ({getattr(error, 'msg', error)})"
        if end < len(text):
            return f"no JSON (something follows the {end:,} characters of a value)"
        return row if isinstance(row, dict) else "no JSON object"

    def _numbers(self, name: str, rows: list[Any], lines: Sequence[int], bad: BadRows) -> Any:
        cells = [row.get(name) for row in rows]
        if set(map(type, cells)) <= {float}:
            return np.array(cells, np.float64)
        array = np.full(len(cells), np.nan)
        for i, cell in enumerate(cells):
            if type(cell) is float or type(cell) is int or cell in NOT_FINITE:
                array[i] = as_float(cell)
            elif i not in bad.found:
                bad.cell(i, lines[i], name, cell)
        return array


def _is_text(value: Any) -> bool:
    """Whether all text in a value of JSON can be written: half of a character, which JSON can say, cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def as_float(value: Any) -> float:
    """A JSON number, however large."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
