"""Columns of numbers in memory, from files, from a pipe, or from arrays."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.arrays import Floats, Indices, Mask
from autodiff_cli.autograd.primitives.argument_kinds import Argument, Kind, Unfit
from autodiff_cli.data.column_values import numbered, python_values
from autodiff_cli.data.inputs import named, reader
from autodiff_cli.data.row_blocks import Block, Input, ReadRequest
from autodiff_cli.errors import DataError, DtypeError, ShapeError, UsageError, setting
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Vector
    from autodiff_cli.data.selection import Condition

    Data = Sequence[Input] | Mapping[str, ArrayLike] | Sequence[str] | str | os.PathLike[str]
    """Input files, or arrays by name."""


def _data(value: Argument) -> Any:
    """Return an argument of the type ``Data``; raise ``Unfit`` for an argument of another type."""
    names = value if isinstance(value, (list, tuple)) else [value]
    if not isinstance(value, Mapping) and not all(isinstance(name, (str, os.PathLike, Input)) for name in names):
        raise Unfit
    return value


DATA = Kind("a file name, a list of file names, or a dictionary of columns", _data)


class Groups(NamedTuple):
    """The groups of rows that have the same value in a column.

    Attributes:
        name: the name of the column.
        labels: the values, in order of their first appearance: text or numbers.
        codes: the position in ``labels`` of each row.
    """

    name: str
    labels: list[Any]
    codes: Indices


class Dataset(NamedTuple):
    """Columns of numbers.

    Attributes:
        columns: the columns by name: float64 arrays of the same length.
        places: the beginning of messages about rows, and the number of each row, for consecutive parts of the data.
        skipped: the number of rows that were left out.
        first_skipped: the message about the first of them.
        groups: the groups of the rows, if they were requested.
    """

    columns: dict[str, Vector]
    places: list[tuple[str, Sequence[int]]]
    skipped: int = 0
    first_skipped: str = ""
    groups: Groups | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(len(lines) for _, lines in self.places)

    def line(self, row: int) -> int:
        """Return the number of a row in its file."""
        return self._place(row)[1]

    def place(self, row: int) -> str:
        """Return the place of a row for a message: ``data.csv, line 5``."""
        return "{} {}".format(*self._place(row))

    def _place(self, row: int) -> tuple[str, int]:
        """Return the beginning of messages about a row, and its number in its file."""
        position = row
        for where, lines in self.places:
            if position < len(lines):
                return where, lines[position]
            position -= len(lines)
        raise IndexError(row)

    def only(self, keep: Mask | Indices) -> Dataset:
        """Return some of the rows, given a mask, or the positions of these rows in increasing order."""
        positions = np.flatnonzero(keep) if keep.dtype == bool else keep
        columns = {name: column[positions] for name, column in self.columns.items()}
        places: list[tuple[str, Sequence[int]]] = []
        start = 0
        for where, lines in self.places:
            stop = start + len(lines)
            part = positions[(positions >= start) & (positions < stop)] - start
            places.append((where, [lines[i] for i in part.tolist()]))
            start = stop
        groups = None if self.groups is None else self.groups._replace(codes=self.groups.codes[positions])
        return self._replace(columns=columns, places=places, groups=groups)


class Source:
    """Data whose columns are known and whose rows are not read yet.

    Args:
        data: the input files, or arrays by name.

    Attributes:
        names: the names of the columns.
        name: the name of the data in messages.

    Raises:
        FileError: if a file cannot be read.
    """

    def __init__(self, data: Data) -> None:
        self._inputs: list[Input] | None = None
        self._arrays: Mapping[str, ArrayLike] = {}
        if isinstance(data, Mapping):
            self._arrays = {str(name): data[name] for name in data}
            self.names, self.name = tuple(self._arrays), "the data"
            return
        files = [data] if isinstance(data, (str, os.PathLike)) else data
        inputs = [file for file in files if isinstance(file, Input)]
        self._inputs = inputs or named([os.fspath(file) for file in files if not isinstance(file, Input)])
        self._first = reader(self._inputs[0])  # its rows are read later
        self.names, self.name = tuple(self._first.columns), self._first.name

    def spelled(self, name: str) -> str:
        """Return the column with a name, as the header spells it, which often has a space after the comma; else the name."""
        return name if name in self.names else next((column for column in self.names if column.strip() == name), name)

    def read(
        self, columns: Mapping[str, str], on_error: str = "stop", by: str | None = None, where: Condition | None = None
    ) -> Dataset:
        """Read columns.

        Args:
            columns: the column of each name.
            on_error: ``stop`` or ``skip``, for rows with a cell that is not a finite number.
            by: a column of text or numbers, whose values are the groups of the rows.
            where: a condition; rows for which it is false or nan are left out.

        Raises:
            DataError: if a cell is not a finite number and ``on_error`` is ``stop``.
            UsageError: if a column does not exist or occurs twice, or a further file does not have it.
        """
        spellings = {name: self.spelled(column) for name, column in columns.items()}
        compared = {} if where is None else {name: self.spelled(column) for name, column in where.columns.items()}
        group_columns = () if by is None else (self.spelled(by),)
        self._check_unique([*spellings.values(), *compared.values(), *group_columns])
        compared_numbers = [compared[name] for name in where.variables] if where else []
        texts = tuple(dict.fromkeys(compared[name] for name in where.texts)) if where else ()
        numbers = tuple(dict.fromkeys([*spellings.values(), *compared_numbers]))
        request = ReadRequest(numbers, group_columns, text=True, on_error=on_error, finite=True, texts=texts)

        blocks = [self._from_arrays(request)] if self._inputs is None else self._from_files(self._inputs, request)
        selected = [block if where is None else where.selected(block, compared) for block in blocks]
        dataset = _joined(selected, spellings, group_columns)
        return _with_finite_rows(dataset, spellings, on_error)

    def _check_unique(self, columns: Sequence[str]) -> None:
        """Raise ``UsageError`` if the data does not have a column, or has it twice."""
        counts = Counter(self.names)
        for column in columns:
            if column not in counts:
                hint = suggestion(column, self.names) or f"its columns: {', '.join(self.names) or 'none'}"
                raise UsageError(f"{self.name} has no column '{column}'", hint=hint)
            if counts[column] > 1:
                raise UsageError(f"{self.name} has more than one column '{column}'", hint="rename one of them in the file")

    def close(self) -> None:
        """Close the first file; arrays have none."""
        if self._inputs is not None:
            self._first.close()

    def _from_arrays(self, request: ReadRequest) -> Block:
        """Return all rows of arrays as one block; raise ``ShapeError`` if their lengths differ."""
        numbers: dict[str, Floats] = {name: _as_column(name, self._arrays[name]) for name in request.numbers}
        others = {name: np.atleast_1d(np.asarray(self._arrays[name])) for name in (*request.copies, *request.texts)}
        lengths = {name: len(column) for name, column in [*numbers.items(), *others.items()]}
        if len(set(lengths.values())) > 1:
            texts = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise ShapeError(f"the columns have different lengths: {texts}")
        rows = max(lengths.values(), default=0)
        return Block(rows, numbers, others, None, "row", range(1, rows + 1), texts=others)

    def _from_files(self, inputs: Sequence[Input], request: ReadRequest) -> Iterator[Block]:
        """Yield the blocks of all files, each of which must have the columns of the request; the first file is already open."""
        needed = [*request.numbers, *request.copies, *request.texts]
        for i, file in enumerate(inputs):
            source = reader(file) if i else self._first
            try:
                missing = [column for column in needed if column not in source.columns]
                if missing:
                    message = f"{source.name} has no column '{missing[0]}', but {self.name} has"
                    raise UsageError(message, hint="fit these files separately")
                source.only = list(dict.fromkeys(needed))
                for piece in source.pieces():
                    yield source.block(piece, request)
            finally:
                source.close()


def _joined(blocks: Sequence[Block], spellings: Mapping[str, str], group_columns: Sequence[str]) -> Dataset:
    """Return the rows of blocks as one dataset, with the column of each name in ``spellings``, and groups by at most one column."""
    columns = {name: np.concatenate([block.numbers[column] for block in blocks]) for name, column in spellings.items()}
    first_skipped = next((block.first_bad for block in blocks if block.bad), "")
    places = [(block.where, block.lines) for block in blocks]
    dataset = Dataset(columns, places, sum(block.bad for block in blocks), first_skipped)
    for column in group_columns:
        labels = [label for block in blocks for label in python_values(block.columns[column])]
        dataset = dataset._replace(groups=_groups(column.strip(), labels))
    return dataset


def _groups(name: str, values: list[Any]) -> Groups:
    """Return the groups of rows with the same value; texts become numbers if all are written as Python writes numbers."""
    codes, labels = numbered(values)
    numbers = [_as_number(label) for label in labels]
    return Groups(name, labels if None in numbers else numbers, codes)


def _as_number(label: Any) -> Any:
    """Return the number that a text is, if no digit is lost, or ``None``; return other values unchanged."""
    if not isinstance(label, str):
        return label
    for kind in (int, float):
        with suppress(ValueError, OverflowError):  # no float has the digits of a long integer
            number = kind(label)
            if str(number) == label and math.isfinite(number):
                return number
    return None


def _as_column(name: str, value: ArrayLike) -> Vector:
    """Convert the array of a column to float64; raise ``DtypeError`` or ``ShapeError`` if it is not one column of numbers."""
    try:
        column = np.ascontiguousarray(value, np.float64)
    except (TypeError, ValueError):
        raise DtypeError(f"the column '{name}' is not an array of numbers") from None
    if column.ndim != 1:
        raise ShapeError(f"the column '{name}' has {plural(column.ndim, 'dimension')}; a column has one")
    return column


def _with_finite_rows(dataset: Dataset, names: Collection[str], on_error: str) -> Dataset:
    """Return the rows in which every number is finite and the group is not empty.

    The other rows are counted as skipped; if ``on_error`` is ``stop``, they raise ``DataError``.
    """
    good = _is_finite(dataset)
    if good.all():
        return dataset
    problem = _problem(dataset, int(np.argmin(good)), names)  # of the first of the other rows
    if on_error == "stop":
        raise DataError(problem, hint=f"use {setting('on_error', 'skip')} to leave out such rows")
    skipped = dataset.skipped + int(np.count_nonzero(~good))
    return dataset.only(good)._replace(skipped=skipped, first_skipped=dataset.first_skipped or problem)


def _is_finite(dataset: Dataset) -> Mask:
    """Return in which rows every number is finite and the group is not empty."""
    good = np.ones(dataset.rows, bool)
    for column in dataset.columns.values():
        good &= np.isfinite(column)
    if dataset.groups is not None:
        empty = [i for i, label in enumerate(dataset.groups.labels) if label in (None, "") or str(label) == "nan"]
        good &= ~np.isin(dataset.groups.codes, empty)
    return good


def _problem(dataset: Dataset, row: int, names: Collection[str]) -> str:
    """Return the message about a row with a number that is not finite, or else with an empty group."""
    name = next((name for name in names if not np.isfinite(dataset.columns[name][row])), None)
    what = f"'{name}' is {dataset.columns[name][row]}" if name else f"'{dataset.groups and dataset.groups.name}' is empty"
    return f"{dataset.place(row)}: column {what}"
