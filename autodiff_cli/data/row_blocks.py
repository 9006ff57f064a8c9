"""Blocks of rows, and the base classes of readers and writers."""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from types import MappingProxyType
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from autodiff_cli.arrays import Array, Floats, Mask
from autodiff_cli.errors import DataError, setting
from autodiff_cli.formats import FORMATS, Format
from autodiff_cli.language.limited_reading import display_name
from autodiff_cli.wording import shortened

ArrowArray = Any
"""A pyarrow array; pyarrow does not have type annotations."""
Column = list[Any] | Array | ArrowArray
"""The values of a column, one for each row."""
Results = Sequence[Floats]
"""The value column and the derivative columns."""

BLOCK_ROWS = 1 << 17
"""The number of rows of a block of Arrow or NumPy; text is read by bytes, see ``lines.CHUNK``.

It is large enough for efficient NumPy operations, and small enough to use little memory.
"""
RENAMED = "name the result in the expression: 'v = EXPR; v,' has the columns v and d_v_x"
"""The hint for a result that has the name of an input column."""
_LONGEST_CELL = 40
"""The maximum number of characters of a cell in a message."""


@dataclass(slots=True)
class Block:
    """A block of consecutive rows.

    Attributes:
        rows: the number of rows.
        numbers: the columns that the expression needs, as float64.
        columns: the columns that are copied to the output, with the types of the file.
        raw: the text of the rows, for a writer that copies it unchanged: a list with one string for each row, or, if Arrow is
            imported, bytes in which every row is one line.
        where: the beginning of messages: the name of the file, and "row" or "line".
        lines: the number of each row or line in its file, from 1.
        bad: the number of bad rows, such as rows with a cell that is not a number.
        first_bad: the message about the first bad row.
        problems: the message about each bad row that is not skipped, by its position.
        texts: the columns that a condition compares as text.
        missing: the positions of the rows in which a number is missing, as an empty cell or null, and which are not skipped.
    """

    rows: int
    numbers: dict[str, Floats]
    columns: Mapping[str, Column]
    raw: list[str] | bytes | None
    where: str
    lines: Sequence[int]
    bad: int = 0
    first_bad: str = ""
    problems: dict[int, str] = field(default_factory=dict)
    texts: Mapping[str, Column] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Tally:
    """The counts of rows.

    Attributes:
        rows: the number of computed rows.
        bad, first_bad: see ``Block``.
        odd: the number of rows with finite inputs whose results are not finite.
        first_odd: the message about the first row that ``odd`` counts: its place and its result.
        first_at: the values of the variables in the row of ``first_odd``.
    """

    rows: int = 0
    bad: int = 0
    first_bad: str = ""
    odd: int = 0
    first_odd: str = ""
    first_at: dict[str, float] = field(default_factory=dict)

    def add(self, more: Tally) -> None:
        """Add the counts of later rows."""
        self.rows += more.rows
        self.bad += more.bad
        self.first_bad = self.first_bad or more.first_bad
        if more.odd and not self.odd:
            self.first_odd, self.first_at = more.first_odd, more.first_at
        self.odd += more.odd


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request to a reader.

    Attributes:
        numbers: the columns to convert to numbers.
        copies: the columns that are copied to the output.
        new: the names of the new columns.
        text: whether copied columns of text files stay text.
        raw: the form of rows that the writer copies unchanged (see ``Reader.form``); empty if it does not copy rows.
        partial: whether the input may have further columns, which are not copied.
        on_error: the treatment of a cell that is not a number: ``stop``, ``nan`` or ``skip``.
        finite: whether all numbers must be finite, so ``nan`` is not a treatment.
        texts: the columns that a condition compares as text.
    """

    numbers: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    text: bool = False
    raw: str = ""
    on_error: str = "stop"
    partial: bool = False
    finite: bool = False
    texts: tuple[str, ...] = ()


class PartitionValue(NamedTuple):
    """The value of a partition column in all rows of a file, and the type of the column in Arrow: int32 or string."""

    value: int | str | None
    type: str


@dataclass(frozen=True, slots=True)
class Input:
    """A file of rows, or consecutive rows of it.

    Attributes:
        path: the path or URL of the file; ``None`` for standard input.
        style: the name of the format.
        columns: the names of the columns, for a file without names or a part that does not contain them.
        values: the partition columns of the file.
        unbuffered: whether rows are passed on as soon as they arrive.
        span: the range in bytes (text), rows (``.npy``) or row groups (Parquet); ``None`` for the whole file.
        first: the number of the first line or row.
        size: the approximate number of bytes of a part.
        name: the name of the file in messages; that of the path by default.
    """

    path: str | None
    style: str
    columns: tuple[str, ...] | None = None
    values: Mapping[str, PartitionValue] = field(default_factory=dict)
    unbuffered: bool = False
    span: tuple[int, int] | None = None
    first: int = 1
    size: int = 0
    name: str = ""

    @property
    def title(self) -> str:
        """The name of the file in messages."""
        return self.name or display_name(self.path)

    @property
    def format(self) -> Format:
        """The format of the file."""
        return FORMATS[self.style]


ROW = 20
"""The approximate number of bytes of a row."""
SAMPLE = 64
"""The number of first bytes that show whether a file is text or has a binary format."""


class Reader:
    """The base class of readers.

    Args:
        source: the file and the part of it to read.
        file: the file, open for reading bytes; it is seekable if the format or the part requires it.

    Attributes:
        name: the name of the input in messages.
        columns: the names of the columns.
        form: the form of rows as text: a delimiter or ``ndjson``; empty for a binary format.
        parallel: whether several threads can usefully read blocks at the same time.
        done: the number of bytes or rows that were read.
        total: the size in the unit of ``done``; ``None`` if it is unknown.
        only: the columns that are needed; ``None`` for all columns.
        nested: whether a column may have fields, which are named ``a.x``.
        schema: the Arrow schema of the file; ``None`` if it does not have one.
        is_random_access: whether the file is an Arrow IPC file, which has one dictionary for each column.
        metadata: the metadata of a Parquet file, with its row groups; ``None`` for other files.
    """

    columns: tuple[str, ...]
    form = ""
    parallel = True
    total: int | None = None
    only: list[str] | None = None
    nested = False
    schema: Any = None
    is_random_access = False
    metadata: Any = None

    def __init__(self, source: Input, file: IO[bytes]) -> None:
        self.name = source.title
        self.done = 0
        self._file = file

    @property
    def estimate(self) -> float:
        """The approximate number of rows; infinite if it is unknown."""
        return math.inf if self.total is None else min(self.total, sys.maxsize)  # a header may lie

    def pieces(self) -> Iterator[Any]:
        """Yield the pieces to pass to ``block``, in row order; there is always at least one piece."""
        raise NotImplementedError

    def block(self, piece: Any, request: ReadRequest) -> Block:
        """Return the rows of a piece.  This method is thread-safe.

        Raises:
            DataError: if rows cannot be read, or a value is not a number and ``on_error`` is ``stop``.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class OutputStyle(NamedTuple):
    """The style of the output.

    Attributes:
        format: the output format.
        head: the members of a JSON object that precede its rows.
        bare: whether the header is omitted.
        precision, color: the digits and color of a table; see ``report.terminal``.
        total: ``sum`` or ``mean`` to write the totals of groups of rows instead of the rows; otherwise empty.
        strict: whether a total that is not finite is an error.
    """

    format: Format
    head: Mapping[str, object] = MappingProxyType({})
    bare: bool = False
    precision: int = 6
    color: str = "auto"
    total: str = ""
    strict: bool = False


class Writer:
    """The base class of writers.

    Attributes:
        text: whether copied columns of text files stay text.
        raw: the form of rows that are copied unchanged; see ``Reader.form``.
        binary: whether the format is binary.
    """

    text = False
    raw = ""
    _file: BinaryIO

    def __init__(self, style: OutputStyle) -> None:
        self._style = style
        self.binary = style.format.binary

    def types(self) -> bytes:
        """Return the column types, which follow from the first rows that were written; empty for a text format or without rows."""
        return b""

    def take_types(self, types: bytes) -> None:
        """Set the column types that another writer of the same output returned."""

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        """Start a file with the copied columns of the input and the result columns."""
        self._file = file
        self._copies = tuple(copies)
        self._results = tuple(results)

    def encode(self, block: Block, results: Results) -> Any:
        """Convert rows to the argument of ``write``.  This method is thread-safe."""
        raise NotImplementedError

    def pack(self, encoded: Any) -> Any:
        """Return encoded rows in the form that is written to the file, as far as this takes time.  This method is thread-safe."""
        return encoded

    def without_slices(self, encoded: Any) -> Any:
        """Return encoded rows for another process, without slices of larger buffers."""
        return encoded

    def write(self, encoded: Any) -> None:
        """Append encoded rows."""
        raise NotImplementedError

    def flush(self) -> None:
        """Flush all complete rows; by default, do nothing, because a file in most formats is readable only when it is complete."""

    def finish(self) -> None:
        """Write the end of the file."""

    def close(self) -> None:
        """Release resources after ``finish`` or an error."""


@dataclass(slots=True)
class BadRows:
    """The bad rows of a block.

    Attributes:
        where: see ``Block``.
        on_error, finite: see ``ReadRequest``.
        messages: the messages, by position in the block.
        missing: see ``Block``.
    """

    where: str
    on_error: str
    finite: bool
    messages: dict[int, str] = field(default_factory=dict)
    missing: set[int] = field(default_factory=set)

    def add(self, position: int, line: int, problem: str, hint: str | None = None, whole: bool = False) -> None:
        """Record a bad row, given its position in the block and its number in the file; of several messages, the first stays.

        If ``on_error`` does not accept the row, ``DataError`` is raised; its hint by default names the settings that accept it.
        With ``whole``, not only a cell is bad, so that ``nan`` cannot take its place, and only ``skip`` accepts the row.
        """
        message = f"{self.where} {line}: {problem}"
        if self.on_error == "stop" or (whole and self.on_error != "skip"):
            skip, nan = setting("on_error", "skip"), setting("on_error", "nan")
            or_nan = "" if self.finite else f", or {nan} to read such cells as nan"
            raise DataError(message, hint=hint or f"use {skip} to skip such rows{or_nan}")
        self.messages.setdefault(position, message)

    def add_cell(self, position: int, line: int, column: str, cell: object, hint: str | None = None) -> None:
        """Record the row of a cell that is not a number, or is missing: ``None`` or an empty text; see ``add``."""
        if cell is None or cell == "":
            self.missing.add(position)
            self.add(position, line, f"column '{column}' is empty", hint)
        else:
            text = repr(cell if len(str(cell)) < _LONGEST_CELL else shortened(str(cell), _LONGEST_CELL))
            self.add(position, line, f"column '{column}' contains {text}, which is not a number", hint)

    def applied_to(self, block: Block) -> Block:
        """Return a block with these bad rows counted beside its own, and without them if ``on_error`` is ``skip``."""
        if not self.messages:
            return block
        messages = self.messages | block.problems
        problems = {position: messages[position] for position in sorted(messages)}
        skipped = block.bad - len(block.problems)  # the rows that the block does not contain any more
        first_bad = block.first_bad if skipped else next(iter(problems.values()))
        counted = replace(block, bad=skipped + len(problems), first_bad=first_bad)
        if self.on_error == "skip":
            return without(counted, set(problems))
        return replace(counted, problems=problems, missing=block.missing | self.missing)


def field_of(name: str, columns: Container[str]) -> tuple[str, tuple[str, ...]]:
    """Return the longest column name in a name such as ``a.x``, and the fields after it; without one, the whole name and none."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        column = ".".join(parts[:i])
        if column in columns:
            return column, tuple(parts[i:])
    return name, ()


def without(block: Block, positions: set[int]) -> Block:
    """Return a copy of a block without the rows at the given positions."""
    keep = np.ones(block.rows, bool)
    keep[list(positions)] = False
    return only(block, keep)


def only(block: Block, keep: Mask) -> Block:
    """Return a copy of a block with the rows that a mask selects; bad rows that it does not select are not counted."""
    positions: list[int] = np.flatnonzero(keep).tolist()
    problems = {new: block.problems[old] for new, old in enumerate(positions) if old in block.problems}
    return Block(
        rows=len(positions),
        numbers={name: column[keep] for name, column in block.numbers.items()},
        columns={name: _only_values(column, keep) for name, column in block.columns.items()},
        texts={name: _only_values(column, keep) for name, column in block.texts.items()},
        raw=_only_lines(block.raw, keep),
        where=block.where,
        lines=[block.lines[i] for i in positions],
        bad=block.bad - len(block.problems) + len(problems),  # skipped rows have no problems, and stay counted
        first_bad=next(iter(problems.values()), "") if block.problems else block.first_bad,
        problems=problems,
        missing={new for new, old in enumerate(positions) if old in block.missing},
    )


def _only_values(column: Column, keep: Mask) -> Column:
    """Return the values of a column that a mask selects."""
    if isinstance(column, list):
        return list(compress(column, keep))
    if isinstance(column, np.ndarray):
        return column[keep]
    positions, name = np.flatnonzero(keep), str(column.type)
    if name.endswith("_view"):  # Arrow cannot take values of views
        return column.cast(f"large_{name.removesuffix('_view')}").take(positions).cast(column.type)
    return column.take(positions)


def _only_lines(raw: list[str] | bytes | None, keep: Mask) -> list[str] | bytes | None:
    """Return the texts of rows that a mask selects, in the form of ``Block.raw``, which may be ``None``."""
    if not isinstance(raw, bytes):
        return raw and list(compress(raw, keep))
    characters = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(characters == ord("\n")) + 1
    lengths = np.diff(ends, prepend=0)
    return characters[np.repeat(keep, lengths)].tobytes()
