"""Fast conversion of large blocks to CSV and NDJSON with Arrow, with the same text as the writers of ``text``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.data.column_values import dense, json_text
from autodiff_cli.data.libraries import pyarrow_if_there
from autodiff_cli.data.number_text import arrow_texts
from autodiff_cli.data.row_blocks import ArrowArray, Column, Results

Buffers = list[bytes | memoryview]
"""Buffers of text, written one after the other."""


def joined(columns: Sequence[Column], delimiter: str, decimal: str) -> Buffers | None:
    """Return columns as lines of CSV; ``None`` if a column needs Python's conversion."""
    if pyarrow_if_there() is None:
        return None
    parts: list[ArrowArray | str] = []
    for column in columns:
        cells = _cells(column, delimiter if parts else "\n", delimiter, decimal)
        if cells is None:
            return None
        parts += cells
    return [_joined(parts)[1:], b"\n"]


def _cells(column: Column, lead: str, delimiter: str, decimal: str) -> list[ArrowArray | str] | None:
    """Return the parts of the cells of a column of numbers, or of strings that need no quoting; ``None`` for other columns."""
    from pyarrow import compute, types

    pa = pyarrow_if_there()
    if isinstance(column, np.ndarray):
        is_number = column.dtype.kind in "iu" or column.dtype in (np.float32, np.float64)
        return [arrow_texts(column, lead, decimal=decimal)] if is_number else None
    if isinstance(column, list) or column.null_count:
        return None
    column = dense(column)
    if types.is_large_string(column.type):
        column = compute.cast(column, pa.string())
    if types.is_float64(column.type) or types.is_float32(column.type) or types.is_integer(column.type):
        return [arrow_texts(column.to_numpy(), lead, decimal=decimal)]
    if types.is_string(column.type) and not any(
        compute.any(compute.match_substring(column, sign)).as_py() for sign in (delimiter, '"', "\n", "\r")
    ):
        return [lead, column]
    return None


def appended(raw: bytes, delimiter: str, decimal: str, results: Results) -> Buffers:
    """Return the lines of ``raw`` with the results appended to each line."""
    lines = _cut(raw, np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("\n")))
    return [_joined([lines, *(arrow_texts(array, delimiter, decimal=decimal) for array in results)]), b"\n"]


def appended_members(raw: bytes, names: Sequence[str], results: Results) -> Buffers:
    """Return lines of JSON objects with the results as further members of each object.

    Args:
        raw: lines that end with ``}`` and a newline; no object is empty.
        names: the names of the results.
        results: the results.
    """
    lines = _cut(raw, np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("\n")) - 1)
    members = [arrow_texts(array, f", {json_text(name)}: ", json=True) for name, array in zip(names, results, strict=True)]
    return [_joined([lines, *members]), b"}\n"]


def _cut(raw: bytes, ends: Array) -> ArrowArray:
    """Return an Arrow array whose element i is the text between the ends i - 1 and i, with ``raw`` as its buffer.

    An element therefore begins with the end of the line before it, and only the end of the last line is missing.
    """
    pa = pyarrow_if_there()
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(raw))


def _joined(parts: Sequence[ArrowArray | str]) -> memoryview:
    """Return the texts of rows, each of which is the concatenation of its parts."""
    from pyarrow import compute

    texts = compute.binary_join_element_wise(*parts, "")
    end = np.frombuffer(texts.buffers()[1], np.int32)[len(texts)]
    return memoryview(texts.buffers()[2])[: int(end)]
