"""Columns of numbers in memory, from files, from a pipe, or from arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.data.inputs import expanded
from autodiff_cli.data.pipeline import Inputs, ordered
from autodiff_cli.data.row_blocks import Block, Reader, ReadRequest
from autodiff_cli.errors import DataError, DtypeError, ShapeError, UsageError, setting
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]
    Data = Inputs | Mapping[str, ArrayLike] | Sequence[str] | str
    """Input files, or arrays by name."""


class Dataset(NamedTuple):
    """Columns of numbers.

    Attributes:
        columns: the columns by name: float64 arrays of the same length.
        places: the beginning of messages about rows, and the number of each row, for consecutive parts of the data.
        skipped: the number of rows that were left out.
        first_skipped: the message about the first of them.
    """

    columns: dict[str, Vector]
    places: list[tuple[str, Sequence[int]]]
    skipped: int = 0
    first_skipped: str = ""

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
        left = row
        for where, lines in self.places:
            if left < len(lines):
                return where, lines[left]
            left -= len(lines)
        raise IndexError(row)

    def only(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> Dataset:
        """Return the rows that a mask or their numbers in increasing order select."""
        chosen = np.flatnonzero(keep) if keep.dtype == bool else keep
        columns = {name: column[chosen] for name, column in self.columns.items()}
        places: list[tuple[str, Sequence[int]]] = []
        start = 0
        for where, lines in self.places:
            part = chosen[(chosen >= start) & (chosen < start + len(lines))] - start
            places.append((where, [lines[i] for i in part.tolist()]))
            start += len(lines)
        return self._replace(columns=columns, places=places)


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
        self._inputs: Inputs | None = None
        self._arrays: dict[str, Vector] = {}
        if not isinstance(data, Mapping):
            paths = [data] if isinstance(data, str) else data
            self._inputs = paths if isinstance(paths, Inputs) else Inputs(expanded(list(paths)))
            self._first = self._inputs.open(self._inputs.paths[0])
            self.names, self.name = tuple(self._first.columns), self._first.name
        else:
            self._arrays = {str(name): _array(str(name), data[name]) for name in data}
            self.names, self.name = tuple(self._arrays), "the data"
            lengths = {len(column) for column in self._arrays.values()}
            if len(lengths) > 1:
                shown = ", ".join(f"{name} {len(column)}" for name, column in self._arrays.items())
                raise ShapeError(f"the columns have different lengths: {shown}")

    def spelled(self, name: str) -> str:
        """Return the column with a name; many headers have a space after the comma."""
        return name if name in self.names else next((column for column in self.names if column.strip() == name), name)

    def read(self, columns: Mapping[str, str], on_error: str = "stop", threads: int = 1) -> Dataset:
        """Read columns.

        Args:
            columns: the column of each name.
            on_error: ``stop`` or ``skip``, for rows with a cell that is not a finite number.
            threads: the number of threads that read.

        Raises:
            DataError: if a cell is not a finite number and ``on_error`` is ``stop``.
            UsageError: if a column does not exist or occurs twice, or a further file does not have it.
        """
        wanted = {name: self.spelled(column) for name, column in columns.items()}
        counts = Counter(self.names)
        for column in wanted.values():
            if column not in counts:
                hint = suggestion(column, self.names) or f"its columns: {', '.join(self.names) or 'none'}"
                raise UsageError(f"{self.name} has no column '{column}'", hint=hint)
            if counts[column] > 1:
                raise UsageError(f"{self.name} has more than one column '{column}'", hint="rename one of them in the file")
        if self._inputs is None:
            rows = len(next(iter(self._arrays.values()), []))
            found = Dataset({name: self._arrays[column] for name, column in wanted.items()}, [("row", range(1, rows + 1))])
        else:
            found = self._from_files(wanted, on_error, threads)
        return _finite(found, wanted, on_error)

    def close(self) -> None:
        """Close the file that is open."""
        if self._inputs is not None:
            self._first.close()

    def _from_files(self, wanted: Mapping[str, str], on_error: str, threads: int) -> Dataset:
        assert self._inputs is not None
        used = tuple(dict.fromkeys(wanted.values()))
        blocks: list[Block] = []
        for i, path in enumerate(self._inputs.paths):
            reader = self._inputs.open(path) if i else self._first
            try:
                missing = [column for column in used if column not in reader.columns]
                if missing:
                    message = f"{reader.name} has no column '{missing[0]}', but {self.name} has"
                    raise UsageError(message, hint="fit these files separately")
                blocks.extend(_blocks(reader, ReadRequest(used, on_error=on_error), threads))
            finally:
                reader.close()
        columns = {
            name: np.concatenate([np.zeros(0), *(block.numbers[column] for block in blocks)]) for name, column in wanted.items()
        }
        first = next((block.first_bad for block in blocks if block.bad), "")
        return Dataset(columns, [(block.where, block.lines) for block in blocks], sum(block.bad for block in blocks), first)


def _blocks(reader: Reader, request: ReadRequest, threads: int) -> list[Block]:
    reader.only = list(request.numbers)
    return list(ordered(lambda piece: reader.block(piece, request), reader.pieces(), threads if reader.parallel else 1))


def _array(name: str, value: ArrayLike) -> Vector:
    try:
        column = np.ascontiguousarray(value, np.float64)
    except (TypeError, ValueError):
        raise DtypeError(f"the column '{name}' is not an array of numbers") from None
    if column.ndim != 1:
        raise ShapeError(f"the column '{name}' has {plural(column.ndim, 'dimension')}; a column has one")
    return column


def _finite(found: Dataset, names: Collection[str], on_error: str) -> Dataset:
    """Return the rows in which every number is finite."""
    good = np.ones(found.rows, bool)
    for column in found.columns.values():
        good &= np.isfinite(column)
    if good.all():
        return found
    row = int(np.argmin(good))
    name = next(name for name in names if not np.isfinite(found.columns[name][row]))
    problem = f"{found.place(row)}: column '{name}' is {found.columns[name][row]}"
    if on_error == "stop":
        raise DataError(problem, hint=f"use {setting('on_error', 'skip')} to leave out such rows")
    kept = found.only(good)
    return kept._replace(skipped=found.skipped + int(np.count_nonzero(~good)), first_skipped=found.first_skipped or problem)
