"""Files cut into partitions: a file, or a range of it that can be read without the rest.

Text is cut at the ends of lines.  Where those are, how many lines there are before, and whether a quote could hide the end
of a line, is only known after reading, so that large text files are scanned first, by the workers too.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_cli.data import inputs, readers
from autodiff_cli.data.block import InputFile, Reader
from autodiff_cli.data.pipeline import Inputs
from autodiff_cli.data.readers.delimited import fast
from autodiff_cli.data.readers.lines import LONGEST, Section
from autodiff_cli.errors import AutodiffError
from autodiff_cli.formats import FORMATS

BYTES = 1 << 26
"""Bytes of a partition: seconds of work, against milliseconds for the scheduler."""
_STEP = 1 << 18

Range = tuple[str, int, int, str]
"""A file, bytes of it from one to another, and what stands between its cells if it may have quotes."""
Scan = tuple[int, int]
"""Where the first line begins that begins in a range, and how many lines there are from there to the first one behind it."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows of one file that follow each other.

    Attributes:
        path: the file, for any working directory.
        name: what messages call it.
        style: its format.
        size: bytes, about.
        span: from where to where: bytes of text, rows of ``.npy``, row groups of Parquet.  The whole file if missing.
        first: the number of the first line or row.
        columns: names of columns that the partition does not say itself.
    """

    path: str
    name: str
    style: str
    size: int
    span: tuple[int, int] | None = None
    first: int = 1
    columns: tuple[str, ...] | None = None

    def open(self) -> Reader:
        """Its rows.

        Raises:
            AutodiffError: as ``inputs.reader``.
        """
        if self.span is None or FORMATS[self.style].unit != "lines":
            source: Any = inputs.reader(self.path, self.style, self.columns, name=self.name)
            if self.span is not None:
                source.cut(*self.span, self.first)
            found: Reader = source
            return found
        file: Any = Section(inputs.opened(self.path, self.style, self.name), *self.span)
        try:
            return readers.reader(InputFile(file, self.name, FORMATS[self.style], self.columns, line=self.first))
        except BaseException:
            file.close()
            raise


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a partition may be.

    Attributes:
        bytes: of its file; lines and row groups are not cut.
        rows: rows; of a text file, about.
    """

    bytes: int = BYTES
    rows: int | None = None

    def rows_of(self, rows: int, size: int) -> int:
        """Rows of a partition, for a file of so many rows and bytes."""
        return self.rows or max(1, self.bytes * rows // max(size, 1))


def scan(path: str, start: int, stop: int, delimiter: str) -> Scan | str | None:
    """Look for the ends of lines in a range of a file.

    Returns:
        ``None`` if no line begins there, and a word about it if this file cannot be cut.
    """
    try:
        with open(path, "rb") as file:
            file.seek(start)
            if start:
                file.readline(LONGEST)
            begin = position = file.tell()
            if start and position > stop:
                return None
            lines = 0
            while position <= stop:
                data = file.read(min(_STEP, stop - position)) + file.readline(LONGEST)
                if not data:
                    break
                position += len(data)
                lines += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
                if delimiter and b'"' in data and not _is_regular(data, delimiter):
                    return "a cell may hold the end of a line"
    except OSError as error:
        return str(error)
    return begin, lines


def _is_regular(lines: bytes, delimiter: str) -> bool:
    simple = lines.replace(b"\r\n", b"\n").removeprefix(codecs.BOM_UTF8).removesuffix(b"\n") + b"\n"
    found: bool = fast().is_regular(simple, delimiter)
    return found


def plan(source: Inputs, limits: Limits, scans: Callable[[Sequence[Range]], Sequence[Scan | str | None]]) -> list[Partition]:
    """All rows of some files, in order.

    Args:
        source: the files; what is wrong with one of them is found by who reads it.
        limits: how large a partition may be.
        scans: ``scan`` of several ranges.
    """
    cuts = [_cut(source, str(path), limits) for path in source.paths]
    found = iter(scans([part for cut in cuts if isinstance(cut, _Lines) for part in cut.ranges]))
    return [part for cut in cuts for part in (cut.partitions(found) if isinstance(cut, _Lines) else cut)]


def _cut(source: Inputs, path: str, limits: Limits) -> list[Partition] | _Lines:
    name, style = inputs.spoken(path), inputs.style_of(path, source.style)
    size = os.path.getsize(path) if os.path.exists(path) else 0
    given = None if source.columns is None else tuple(source.columns)
    whole = Partition(os.path.abspath(path), name, style, size, None, 1, given)
    unit = FORMATS[style].unit
    if not unit or (size <= limits.bytes and limits.rows is None):
        return [whole]
    try:
        reader: Any = source.open(path)
    except AutodiffError:
        return [whole]
    try:
        if unit == "rows":
            spans = _even(reader.total, limits.rows_of(reader.total, size)) if reader.divisible else []
            return _parts(whole, [(start, stop, start + 1, stop - start) for start, stop in spans], reader.total)
        if unit == "groups":
            return _parts(whole, list(_groups(reader.rows_of_groups, limits.rows_of(reader.total, size))), reader.total)
        step = limits.bytes if limits.rows is None else max(1, int(limits.rows * _line_size(path)))
        return _Lines(
            whole, reader.columns, reader.line, [(whole.path, *span, FORMATS[style].delimiter) for span in _even(size, step)]
        )
    finally:
        reader.close()


def _even(total: int, step: int) -> list[tuple[int, int]]:
    return [(start, min(start + step, total)) for start in range(0, total, step)]


def _groups(rows: Sequence[int], most: int) -> Iterator[tuple[int, int, int, int]]:
    """Row groups that follow each other: from, to, the number of the first row, rows."""
    start, first, held = 0, 1, 0
    for i, count in enumerate(rows):
        if held and held + count > most:
            yield start, i, first, held
            start, first, held = i, first + held, 0
        held += count
    yield start, len(rows), first, held


def _parts(whole: Partition, spans: Sequence[tuple[int, int, int, int]], rows: int) -> list[Partition]:
    if len(spans) < 2:
        return [whole]
    size = whole.size / max(rows, 1)
    return [
        Partition(whole.path, whole.name, whole.style, int(count * size), (start, stop), first, whole.columns)
        for start, stop, first, count in spans
    ]


def _line_size(path: str) -> float:
    """Bytes of a line, about."""
    with open(path, "rb") as file:
        data = file.read(_STEP)
    return len(data) / max(1, data.count(b"\n"))


@dataclass(frozen=True, slots=True)
class _Lines:
    """A text file that is to be cut.

    Attributes:
        whole: the file.
        columns: its columns.
        line: the number of its first row.
        ranges: what is scanned.
    """

    whole: Partition
    columns: tuple[str, ...]
    line: int
    ranges: list[Range]

    def partitions(self, scans: Iterator[Scan | str | None]) -> list[Partition]:
        """The file, cut where the first line of each range begins; or as it is."""
        own = [next(scans) for _ in self.ranges]
        whole = self.whole
        if any(isinstance(scanned, str) for scanned in own):
            return [whole]
        cuts, number = [(0, 1)], 1
        for scanned in own:
            if scanned is None:
                continue
            assert not isinstance(scanned, str)
            begin, lines = scanned
            # The header, or the object that names the columns, stays in the first partition.
            if begin and begin < whole.size and number >= self.line:
                cuts.append((begin, number))
            number += lines
        stops = [start for start, _ in cuts[1:]] + [whole.size]
        given = self.columns if whole.style == "ndjson" else whole.columns
        return [
            Partition(whole.path, whole.name, whole.style, stop - start, (start, stop), line, self.columns if start else given)
            for (start, line), stop in zip(cuts, stops, strict=True)
        ]
