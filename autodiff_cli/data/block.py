"""Rows on their way from a reader to a writer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, Protocol

from autodiff_cli.errors import DataError
from autodiff_cli.formats import Format

Column = Any
"""A list of Python values, a NumPy array or an Arrow array; one value for each row."""

BLOCK_ROWS = 1 << 17
"""Rows that are handed on at once: enough to keep NumPy busy, few enough to stay small."""


@dataclass(slots=True)
class Block:
    """Rows that follow each other.

    Attributes:
        rows: how many.
        numbers: the columns that the expression needs, as float64.
        columns: the columns that are passed through, as the file has them.
        raw: the rows themselves as text, where the writer can pass them on as they are: one for each row, or all of them
            as bytes in which every row is one line.
        where: the file, and what a row is called in it.
        lines: where each row stands in its file, as a person counts.
        bad: rows with a cell that is no number.
        first_bad: what is wrong with the first of them.
        bad_rows: the positions of those that are still there.
    """

    rows: int
    numbers: dict[str, Any]
    columns: dict[str, Column]
    raw: list[str] | bytes | None
    where: str
    lines: Sequence[int]
    bad: int = 0
    first_bad: str = ""
    bad_rows: frozenset[int] = frozenset()


@dataclass(slots=True)
class Tally:
    """What became of rows.

    Attributes:
        rows: how many were written.
        bad, first_bad: see ``Block``.
        odd: rows whose numbers are finite and whose results are not.
        first_odd: where the first of them is, and which result it is about; ``first_at`` the values of its variables.
    """

    rows: int = 0
    bad: int = 0
    first_bad: str = ""
    odd: int = 0
    first_odd: str = ""
    first_at: dict[str, float] = field(default_factory=dict)

    def add(self, more: Tally) -> None:
        """Count the rows that follow."""
        self.rows += more.rows
        self.bad += more.bad
        self.first_bad = self.first_bad or more.first_bad
        if more.odd and not self.odd:
            self.first_odd, self.first_at = more.first_odd, more.first_at
        self.odd += more.odd


@dataclass(frozen=True, slots=True)
class Wish:
    """What a reader is asked for.

    Attributes:
        numbers: columns that have to be numbers.
        kept: columns that are passed through.
        text: pass columns as the text that stands in the file, where it is a text file.
        new: names that the results have.
        raw: the form of rows that the writer passes on as they are: a delimiter, ``ndjson``, or nothing.
        on_error: what to do about a cell that is no number: ``stop``, ``nan`` or ``skip``.
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
        unbuffered: hand rows on as they come in.
        line: number of the first line, for a part of a text file.
    """

    file: BinaryIO
    name: str
    format: Format
    columns: Sequence[str] | None = None
    unbuffered: bool = False
    line: int = 1


class OutputStyle(NamedTuple):
    """How rows are written.

    Attributes:
        format: the format.
        head: what a JSON object says before its rows.
        bare: leave out the header.
        precision, color: of a table; see ``report.table``.
    """

    format: Format
    head: Mapping[str, object] = MappingProxyType({})
    bare: bool = False
    precision: int = 6
    color: str = "auto"


class Reader(Protocol):
    """One input.

    Attributes:
        name: what messages call it.
        columns: the names of its columns.
        total: its size, in the unit of ``done``, if that is known.
        done: how much of it was read.
        parallel: whether several threads can work on blocks at the same time.
        form: the form of its rows, as ``Wish.raw`` names it.
    """

    name: str
    columns: tuple[str, ...]
    form: str

    @property
    def total(self) -> int | None: ...

    @property
    def done(self) -> int: ...

    @property
    def parallel(self) -> bool: ...

    def pieces(self) -> Iterator[Any]:
        """What blocks are made of, in order; at least one."""

    def block(self, piece: Any, wish: Wish) -> Block:
        """The rows of a piece.  Several threads may call this."""

    def close(self) -> None:
        """Close the file."""


class Writer(Protocol):
    """One output.

    Attributes:
        text: whether columns are wanted as the text that stands in the file.
        raw: the form of rows that are passed on as they are.
        goes_back: whether the beginning of the file is written at the end.
    """

    text: bool
    raw: str
    goes_back: bool

    def like(self, path: str) -> None:
        """Give the columns the types that they have in a file with the same ones: Arrow, or ``.npy``."""

    def begin(self, file: Any, kept: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Start a file with these columns."""

    def encode(self, block: Block, results: Sequence[Any]) -> Any:
        """Turn rows into what ``write`` takes.  Several threads may call this."""

    def write(self, encoded: Any) -> None:
        """Append rows."""

    def flush(self) -> None:
        """Hand on what there is, where the format allows it."""

    def finish(self) -> None:
        """Write what belongs to the end."""

    def close(self) -> None:
        """Let go of everything, after ``finish`` or after an error."""


@dataclass(slots=True)
class BadRows:
    """The rows of a block that cannot be used, and what becomes of them.

    Attributes:
        where: the file, and what a row is called in it.
        on_error: see ``Wish``.
        found: what is wrong, by the position in the block.
    """

    where: str
    on_error: str
    found: dict[int, str] = field(default_factory=dict)

    def add(self, position: int, line: int, wrong: str, hint: str | None = None) -> None:
        """Note a bad row.

        Raises:
            DataError: if bad rows are errors.
        """
        message = f"{self.where} {line}: {wrong}"
        if self.on_error == "stop":
            raise DataError(message, hint=hint or "--on-error skip leaves such rows out, --on-error nan makes such numbers nan")
        self.found.setdefault(position, message)

    def cell(self, position: int, line: int, column: str, cell: Any, hint: str | None = None) -> None:
        """Note a cell that is no number."""
        shown = repr(cell if len(str(cell)) < 40 else f"{str(cell)[:37]}...")
        wrong = f"column '{column}' is empty" if cell is None or cell == "" else f"column '{column}' holds {shown}, no number"
        self.add(position, line, wrong, hint)

    def filed(self, block: Block) -> Block:
        """The block with its bad rows counted, and left out if they are to be skipped."""
        if not self.found:
            return block
        block.bad = len(self.found)
        block.first_bad = self.found[min(self.found)]
        if self.on_error == "skip":
            return without(block, set(self.found))
        block.bad_rows = frozenset(self.found)
        return block


def without(block: Block, positions: set[int]) -> Block:
    """A block without some of its rows."""
    import numpy as np

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
