"""Results as text for programs: JSON, NDJSON, CSV, TSV, Markdown, plain text and bare numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.command_result import CommandResult
from autodiff_cli.limits import check_printed
from autodiff_cli.report.array_text import exact, exact_array, finite_or_text
from autodiff_cli.report.control_characters import visible, visible_json

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def to_json(value: object) -> str:
    """Return a value as one line of JSON."""
    ascii_only = "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    return visible_json(json.dumps(finite_or_text(value), ensure_ascii=ascii_only, allow_nan=False))


def render(style: str, result: CommandResult) -> str:
    """Return the text of a result in a format for programs: a name in ``WRITERS``, or a format with a delimiter."""
    if style in WRITERS:
        return WRITERS[style](result)  # without the import of all formats
    from autodiff_cli.formats import FORMATS

    return delimited(_cells(result), FORMATS[style].delimiter)


def _plain(result: CommandResult) -> str:
    """Return aligned columns, with ``None`` for missing cells and control characters escaped."""
    texts = [list(map(visible, row)) for row in _cells(result, "None")]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in texts)


WRITERS: dict[str, Callable[[CommandResult], str]] = {
    "json": lambda result: to_json(result.to_dict()) + "\n",
    "ndjson": lambda result: "".join(to_json(line) + "\n" for line in result.lines()),
    "markdown": lambda result: markdown(*_cells(result)),
    "plain": _plain,
}
"""The functions that write a result in each format without a delimiter."""


def _cells(result: CommandResult, nothing: str = "") -> list[list[str]]:
    """Return the header row and one row of text for each record; ``nothing`` stands for a missing column or value."""
    records = result.records()
    columns = list(dict.fromkeys(column for record in records for column in record))
    return [columns, *([_cell(record.get(column), nothing) for column in columns] for record in records)]


def _cell(value: ArrayLike | None, nothing: str) -> str:
    """Return the text of a cell: numbers and lists with all digits, ``None`` as ``nothing``, and all else as ``str``."""
    if value is None:
        return nothing
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, (int, float)):
        return exact(value)
    return exact_array(value) if isinstance(value, list) else str(value)


class _ListFile(list[str]):
    """A file for ``csv.writer``, which calls ``write`` once for each row."""

    write = list[str].append


def delimited(rows: Iterable[Iterable[object]], delimiter: str) -> str:
    r"""Return rows as CSV with lines that end in ``\n``; a cell that contains ``\n`` or ``\r`` is quoted."""
    import csv

    lines = _ListFile()
    csv.writer(lines, delimiter=delimiter, lineterminator="\r\n").writerows(rows)  # it quotes the characters of its line end
    return "".join([line.removesuffix("\r\n") + "\n" for line in lines])


def markdown(head: Sequence[str], *rows: Sequence[str]) -> str:
    """Return a Markdown table."""
    return f"{markdown_line(head)}|{' --- |' * len(head)}\n{''.join(map(markdown_line, rows))}"


def markdown_line(cells: Iterable[str]) -> str:
    """Return one row of a Markdown table."""
    return f"| {' | '.join(visible(cell).translate(_MARKDOWN) for cell in cells)} |\n"


_MARKDOWN = str.maketrans({"|": "\\|", "*": "\\*", "<": "&lt;", "\n": " "})
"""The characters that would end a cell, emphasize text or begin HTML."""


def bare(values: Iterable[object]) -> str:
    """Return bare numbers, one on each line; the elements of an array are in row-major order, and ``None`` is left out.

    More numbers than an output may contain raise ``LimitError``.
    """
    arrays = [np.asarray(value) for value in values if value is not None]
    check_printed(sum(array.size for array in arrays))
    return "".join(f"{exact(element)}\n" for array in arrays for element in array.ravel())
