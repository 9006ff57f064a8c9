"""Partitions: whole files, or ranges of files that can be read independently.

Text is split at the ends of lines.  The number of preceding lines and the presence of quoted newlines are known only after
reading, so a worker reads a large text file first.
"""

from __future__ import annotations

import codecs
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from autodiff_cli.data import inputs, storage
from autodiff_cli.data.readers.delimited import is_regular
from autodiff_cli.data.readers.lines import LONGEST, lines_in
from autodiff_cli.data.row_blocks import Input
from autodiff_cli.errors import AutodiffError

if TYPE_CHECKING:
    from autodiff_cli.data.readers.lines import TextReader
    from autodiff_cli.data.row_blocks import Reader

BYTES = 1 << 26
"""The default number of bytes of a partition, large enough that its overhead of milliseconds is negligible."""
_STEP = 1 << 18
"""The number of bytes that are read at a time, few enough for the cache of a processor."""

Cuts = list[tuple[int, int]]
"""The start of each partition in the unit of ``Input.span``, and the number of its first row or line; last of all, the end."""


def split(file: Input, most: int) -> list[Input]:
    """Return the partitions of a file in row order.

    A partition has at most ``most`` bytes, but lines and row groups are not split.  A file that cannot be divided is one partition,
    and so is an invalid file, whose worker reports the error.
    """
    path = str(file.path)
    size = storage.size_of(path) or 0
    whole = replace(file, size=size)
    is_remote_array = file.format.unit == "rows" and storage.is_url(path)  # each partition would copy it as a whole
    if not file.format.unit or size <= most or is_remote_array:
        return [whole]
    try:
        with closing(inputs.reader(replace(file, values={}))) as reader:  # without the columns of folders
            if not reader.total:  # the size of a compressed file is unknown
                return [whole]
            cuts = _cuts(reader, file, size, most)
    except (AutodiffError, OSError):
        return [whole]
    end, _ = cuts[-1]
    return [
        replace(
            whole,
            span=(start, stop),
            first=first,
            size=size * (stop - start) // end,
            columns=reader.columns if start or file.style == "ndjson" else file.columns,  # a later part has no header
        )
        for (start, first), (stop, _) in pairwise(cuts)
    ]


def _cuts(reader: Reader, file: Input, size: int, most: int) -> Cuts:
    """Return where a file of ``size`` bytes is cut, in the unit of its format; a partition has about ``most`` bytes."""
    if file.format.unit == "lines":
        return _line_cuts(str(file.path), file.format.delimiter, cast("TextReader", reader).line, most)
    rows = reader.total or 0
    most_rows = max(1, most * rows // size)
    if file.format.unit == "groups":
        groups = range(reader.metadata.num_row_groups)
        return _group_cuts([reader.metadata.row_group(i).num_rows for i in groups], most_rows)
    starts = [*range(0, rows, most_rows), rows]
    return [(start, start + 1) for start in starts]  # rows are numbered from 1


def _line_cuts(path: str, delimiter: str, line: int, most: int) -> Cuts:
    """Return where a text file is cut: at the first end of a line after every ``most`` bytes.

    It is not cut before ``line``, the number of the first line after the header, and not at all if a quoted cell may contain a
    newline; without a delimiter, the lines are JSON, and there are no such cells.
    """
    cuts, lines_are_rows = [], True
    position, number = 0, 1  # the bytes that were read, and the number of the line that follows them
    due = most  # the position after which the next cut is made
    with storage.opened(path) as file:
        while data := file.read(max(1, min(_STEP, due - position))) + file.readline(LONGEST):
            position += len(data)
            number += lines_in(data)
            if lines_are_rows and delimiter and b'"' in data:
                lines_are_rows = _has_one_row_a_line(data, delimiter)
            if position >= due and number >= line:
                cuts.append((position, number))
                due = position + most
    end = (position, number)
    inner = [cut for cut in cuts if cut != end] if lines_are_rows else []
    return [(0, 1), *inner, end]


def _has_one_row_a_line(data: bytes, delimiter: str) -> bool:
    """Return whether each line of CSV is a row, because the quotes around cells do not contain newlines."""
    lines = data.replace(b"\r\n", b"\n").removeprefix(codecs.BOM_UTF8).removesuffix(b"\n") + b"\n"
    return is_regular(lines, delimiter)


def _group_cuts(counts: list[int], most: int) -> Cuts:
    """Return where a Parquet file is cut, given the rows of each group.  A part has at most ``most`` rows, or is one group."""
    cuts = [(0, 1)]
    first = row = 1  # the numbers of the first row of the current partition, and of the next group
    for i, count in enumerate(counts):
        has_groups = row > first
        if has_groups and row + count - first > most:
            cuts.append((i, row))
            first = row
        row += count
    return [*cuts, (len(counts), row)]
