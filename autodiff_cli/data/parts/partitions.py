"""Partitions: whole files, or ranges of files that can be read independently.

Text is split at the ends of lines.  The positions of these ends, the number of preceding lines, and the presence of quoted
newlines are known only after reading, so the workers scan large text files first.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from autodiff_cli.data import inputs, storage
from autodiff_cli.data.pipeline import ordered
from autodiff_cli.data.readers.delimited import is_regular
from autodiff_cli.data.readers.lines import LONGEST, lines_in
from autodiff_cli.data.row_blocks import Input
from autodiff_cli.errors import AutodiffError

if TYPE_CHECKING:
    from autodiff_cli.data.readers.arrow import ArrowReader
    from autodiff_cli.data.readers.lines import TextReader

Made = TypeVar("Made")
BYTES = 1 << 26
"""The default number of bytes of a partition, large enough that its overhead of milliseconds is negligible."""
_STEP = 1 << 18
_REQUESTS = 16
"""The number of requests to a server at the same time."""

Range = tuple[str, int, int, str]
"""The path of a file, the start and stop of a range of bytes, and the delimiter if the file may have quotes."""
Scan = tuple[int, int]
"""The position of the first line that begins in a range, and the number of lines that begin in the range."""


def scan(path: str, start: int, stop: int, delimiter: str) -> Scan | str | None:
    """Count lines in a range of a file.

    Returns:
        the position and the count; ``None`` if no line begins in the range; the reason if the file cannot be split.
    """
    try:
        with _opened(path) as file:
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
                lines += lines_in(data)
                if delimiter and b'"' in data and not _is_regular(data, delimiter):
                    return "a cell may contain a newline"
    except OSError as error:
        return str(error)
    return begin, lines


def _opened(path: str) -> BinaryIO:
    return storage.opened(path) if storage.is_url(path) else open(path, "rb")


def _is_regular(lines: bytes, delimiter: str) -> bool:
    simple = lines.replace(b"\r\n", b"\n").removeprefix(codecs.BOM_UTF8).removesuffix(b"\n") + b"\n"
    return is_regular(simple, delimiter)


def for_each(look: Callable[[Input], Made], files: Sequence[Input]) -> list[Made]:
    """Return the result of a function for each of many files; while a server answers one request, others are sent."""
    return list(ordered(look, files, _REQUESTS if any(storage.is_url(file.path) for file in files) else 1))


def plan(files: Sequence[Input], most: int, scans: Callable[[Sequence[Range]], Iterable[Scan | str | None]]) -> list[Input]:
    """Split files into partitions.

    Args:
        files: the input files; an invalid file becomes one partition, whose worker reports the error.
        most: the maximum number of bytes of a partition; lines and row groups are not split.
        scans: the function that calls ``scan`` for several ranges.

    Returns:
        the partitions, in row order.
    """
    cuts = for_each(lambda file: _cut(file, most), files)
    results = iter(scans([part for cut in cuts if isinstance(cut, _TextFile) for part in cut.ranges]))
    return [part for cut in cuts for part in (cut.partitions(results) if isinstance(cut, _TextFile) else cut)]


def _cut(file: Input, most: int) -> list[Input] | _TextFile:
    """Return the partitions of a file, or the ranges to scan of a text file."""
    path, unit = str(file.path), file.format.unit
    size = storage.size_of(path) or 0
    whole = replace(file, path=storage.absolute(path), name=file.title, size=size)
    if not unit or size <= most or (unit == "rows" and storage.is_url(path)):
        return [whole]
    try:
        reader = inputs.reader(replace(file, values={}))
    except AutodiffError:
        return [whole]
    with closing(reader):
        rows = reader.total or 0
        if unit == "lines":
            if not rows:  # a compressed file
                return [whole]
            ranges = [(str(whole.path), *span, file.format.delimiter) for span in _even(size, most)]
            return _TextFile(whole, reader.columns, cast("TextReader", reader).line, ranges)
        most_rows = max(1, most * rows // size)
        if unit == "groups":
            return _parts(whole, list(_groups(cast("ArrowReader", reader).rows_of_groups, most_rows)), rows)
        return _parts(whole, [(start, stop, start + 1, stop - start) for start, stop in _even(rows, most_rows)], rows)


def _even(total: int, step: int) -> list[tuple[int, int]]:
    return [(start, min(start + step, total)) for start in range(0, total, step)]


def _groups(rows: Sequence[int], most: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield ranges of row groups: start, stop, the number of the first row, and the number of rows."""
    start, first, held = 0, 1, 0
    for i, count in enumerate(rows):
        if held and held + count > most:
            yield start, i, first, held
            start, first, held = i, first + held, 0
        held += count
    yield start, len(rows), first, held


def _parts(whole: Input, spans: Sequence[tuple[int, int, int, int]], rows: int) -> list[Input]:
    if len(spans) < 2:
        return [whole]
    size = whole.size / max(rows, 1)
    return [replace(whole, size=int(count * size), span=(start, stop), first=first) for start, stop, first, count in spans]


@dataclass(frozen=True, slots=True)
class _TextFile:
    """A text file to be split.

    Attributes:
        whole: the partition that contains the whole file.
        columns: the names of the columns.
        line: the number of the line of the first row.
        ranges: the ranges to scan.
    """

    whole: Input
    columns: tuple[str, ...]
    line: int
    ranges: list[Range]

    def partitions(self, scans: Iterator[Scan | str | None]) -> list[Input]:
        """Split the file at the first line of each range; return one partition if the file cannot be split."""
        own, whole = [next(scans) for _ in self.ranges], self.whole
        cuts, number = [(0, 1)], 1
        for scanned in own:
            if isinstance(scanned, str):
                return [whole]
            begin, lines = scanned or (0, 0)
            # The first partition contains the header, or the first object.
            if begin and begin < whole.size and number >= self.line:
                cuts.append((begin, number))
            number += lines
        stops = [start for start, _ in cuts[1:]] + [whole.size]
        named = self.columns if whole.style == "ndjson" else whole.columns
        return [
            replace(whole, size=stop - start, span=(start, stop), first=line, columns=self.columns if start else named)
            for (start, line), stop in zip(cuts, stops, strict=True)
        ]
