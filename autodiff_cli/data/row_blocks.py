"""Blocks of rows, and what readers and writers have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from autodiff_cli.errors import DataError, setting
from autodiff_cli.formats import Format
from autodiff_cli.wording import shortened

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Array = np.ndarray[Any, np.dtype[Any]]
ArrowArray = Any
"""An array of pyarrow, which has no types."""
Column = list[Any] | Array | ArrowArray
"""One value for each row."""
Results = Sequence[Floats]
"""The columns of values and derivatives."""

BLOCK_ROWS = 1 << 17
"""Rows of a block: enough to keep NumPy busy, few enough to stay small."""
_LONGEST_CELL = 40
"""Characters of a cell in a message."""


@dataclass(slots=True)
class Block:
    """Consecutive rows.

    Attributes:
        rows: their number.
        numbers: the columns that the expression needs, as float64.
        columns: the columns that are passed through, as the file has them.
        raw: the rows as text for a writer that passes them on unchanged: a list with one text for each row, or bytes in
            which every row is one line.
        where: the file, and "row" or "line", for messages.
        lines: the number of each row in its file, from 1.
        bad: number of rows with a cell that is not a number.
        first_bad: the message about the first of them.
        bad_rows: the positions of those that are still in the block.
    """

    rows: int
    numbers: dict[str, Floats]
    columns: Mapping[str, Column]
    raw: list[str] | bytes | None
    where: str
    lines: Sequence[int]
    bad: int = 0
    first_bad: str = ""
    bad_rows: frozenset[int] = frozenset()


@dataclass(slots=True)
class Tally:
    """Counts of rows.

    Attributes:
        rows: rows that were written.
        bad, first_bad: see ``Block``.
        odd: rows of finite numbers whose results are not finite.
        first_odd: the place and the result of the first of them.
        first_at: the values of the variables there.
    """

    rows: int = 0
    bad: int = 0
    first_bad: str = ""
    odd: int = 0
    first_odd: str = ""
    first_at: dict[str, float] = field(default_factory=dict)

    def add(self, more: Tally) -> None:
        """Add the counts of the rows that follow."""
        self.rows += more.rows
        self.bad += more.bad
        self.first_bad = self.first_bad or more.first_bad
        if more.odd and not self.odd:
            self.first_odd, self.first_at = more.first_odd, more.first_at
        self.odd += more.odd


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What a reader has to provide.

    Attributes:
        numbers: columns that have to be numbers.
        kept: columns that are passed through.
        new: names of the columns that are added.
        text: pass columns of text files through as text.
        raw: the form of rows that the writer passes on unchanged, see ``Reader.form``; empty if it does not.
        on_error: what to do about a cell that is not a number: ``stop``, ``nan`` or ``skip``.
    """

    numbers: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    text: bool = False
    raw: str = ""
    on_error: str = "stop"


class InputFile(NamedTuple):
    """An open file that a reader is made for.

    Attributes:
        file: open for reading bytes; it can go back where the format needs that.
        name: its name in messages.
        format: its format.
        columns: names of the columns of a file that has none; for a part of a file, those of the whole.
        unbuffered: pass rows on as they come in.
        line: number of the first line, for a part of a text file.
    """

    file: BinaryIO
    name: str
    format: Format
    columns: Sequence[str] | None = None
    unbuffered: bool = False
    line: int = 1


class Reader:
    """Base class of inputs.

    Attributes:
        name: its name in messages.
        columns: the names of its columns.
        form: the form of its rows as text: a delimiter or ``ndjson``; empty for a binary format.
        parallel: whether several threads can work on blocks at the same time.
        done: how much of it was read.
        total: its size in the unit of ``done``, if it is known.
        only: the columns to read; other columns need not be read.
    """

    columns: tuple[str, ...]
    form = ""
    parallel = True
    total: int | None = None
    only: list[str] | None = None

    def __init__(self, source: InputFile) -> None:
        self.name = source.name
        self.done = 0
        self._file: IO[bytes] = source.file

    def cut(self, start: int, stop: int, first: int) -> None:
        """Read only a range of a binary file; its first row has the number ``first``."""
        raise NotImplementedError

    def pieces(self) -> Iterator[Any]:
        """Yield the pieces that blocks are made of, in order; at least one."""
        raise NotImplementedError

    def block(self, piece: Any, request: ReadRequest) -> Block:
        """Return the rows of a piece.  Several threads may call this.

        Raises:
            DataError: for rows that cannot be read, and for values that are not numbers if these are errors.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class OutputStyle(NamedTuple):
    """How rows are written.

    Attributes:
        format: the format.
        head: the first keys of a JSON object, before its rows.
        bare: leave out the header.
        precision, color: of a table; see ``report.table``.
    """

    format: Format
    head: Mapping[str, object] = MappingProxyType({})
    bare: bool = False
    precision: int = 6
    color: str = "auto"


class Writer:
    """Base class of outputs.

    Attributes:
        text: whether columns of text files are wanted as text.
        raw: the form of rows that are passed on unchanged; see ``Reader.form``.
        goes_back: whether the beginning of the file is written last.
    """

    text = False
    raw = ""
    goes_back = False
    _file: BinaryIO

    def __init__(self, style: OutputStyle) -> None:
        self._style = style

    def take_types(self, path: str) -> None:
        """Give the columns the types of those in a part of the output; text has no types."""

    def begin(self, file: BinaryIO, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Start a file with these columns."""
        self._file = file
        self._kept = tuple(kept)
        self._results = tuple(results)

    def encode(self, block: Block, results: Results) -> Any:
        """Return rows in the form that ``write`` takes.  Several threads may call this."""
        raise NotImplementedError

    def write(self, encoded: Any) -> None:
        """Append rows."""
        raise NotImplementedError

    def flush(self) -> None:
        """Write out what is complete; files of most formats are of use only when they are whole."""

    def finish(self) -> None:
        """Write the end of the file."""

    def close(self) -> None:
        """Release resources, after ``finish`` or after an error."""


@dataclass(slots=True)
class BadRows:
    """The unusable rows of a block.

    Attributes:
        where: see ``Block``.
        on_error: see ``ReadRequest``.
        found: the messages, by the position in the block.
    """

    where: str
    on_error: str
    found: dict[int, str] = field(default_factory=dict)

    def add(self, position: int, line: int, problem: str, hint: str | None = None) -> None:
        """Note a bad row.

        Raises:
            DataError: if bad rows are errors.
        """
        message = f"{self.where} {line}: {problem}"
        if self.on_error == "stop":
            skip, nan = setting("on_error", "skip"), setting("on_error", "nan")
            raise DataError(message, hint=hint or f"{skip} leaves such rows out, {nan} makes such numbers nan")
        self.found.setdefault(position, message)

    def add_cell(self, position: int, line: int, column: str, cell: object, hint: str | None = None) -> None:
        """Note a cell that is not a number."""
        if cell is None or cell == "":
            self.add(position, line, f"column '{column}' is empty", hint)
        else:
            shown = repr(cell if len(str(cell)) < _LONGEST_CELL else shortened(str(cell), _LONGEST_CELL))
            self.add(position, line, f"column '{column}' contains {shown}, which is not a number", hint)

    def applied_to(self, block: Block) -> Block:
        """Return the block with its bad rows counted, and left out if they are to be skipped."""
        if not self.found:
            return block
        block.bad = len(self.found)
        block.first_bad = self.found[min(self.found)]
        if self.on_error == "skip":
            return without(block, set(self.found))
        block.bad_rows = frozenset(self.found)
        return block


def without(block: Block, positions: set[int]) -> Block:
    """Return a block without some of its rows."""
    keep = np.ones(block.rows, bool)
    keep[list(positions)] = False
    places: list[int] = np.flatnonzero(keep).tolist()
    raw = block.raw.decode().split("\n")[:-1] if isinstance(block.raw, bytes) else block.raw

    def chosen(column: Column) -> Column:
        if isinstance(column, list):
            return [column[i] for i in places]
        return column[keep] if isinstance(column, np.ndarray) else column.take(places)

    return Block(
        rows=len(places),
        numbers={name: column[keep] for name, column in block.numbers.items()},
        columns={name: chosen(column) for name, column in block.columns.items()},
        raw=None if raw is None else [raw[i] for i in places],
        where=block.where,
        lines=[block.lines[i] for i in places],
        bad=block.bad,
        first_bad=block.first_bad,
    )
