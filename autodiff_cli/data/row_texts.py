"""Conversion of columns of numbers to the shortest texts that read back as the same numbers, and of blocks to rows of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.data.column_values import dense, json_text, python_values
from autodiff_cli.data.native_text import Slices, is_writable
from autodiff_cli.data.row_blocks import ArrowArray, Column
from autodiff_cli.errors import MissingPackage
from autodiff_cli.lazy import library

CELL = 20
"""The approximate number of bytes of a number as text."""
_FAST_FROM = 500
"""The smallest number of values for which the conversion of whole arrays saves time."""


def number_texts(array: Array) -> list[str]:
    """Return the text of each number."""
    return row_texts([array], ",")  # without a separator, because there is one column


def row_texts(columns: Sequence[Array], separator: str, decimal: str = ".") -> list[str]:
    """Return the text of each row of columns of numbers, with a separator of one character between the numbers.

    Many rows of float64 are written by orjson; the rows in which it writes other texts than Python are written again.
    """
    if decimal != ".":
        return [text.replace(".", decimal) for text in row_texts(columns, separator)]
    if len(columns[0]) < _FAST_FROM or any(column.dtype != np.float64 for column in columns):
        return list(map(separator.join, zip(*(map(repr, python_values(column)) for column in columns), strict=True)))
    import orjson

    array = np.column_stack(columns)
    text = orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].decode()  # without the outer [[ and ]]
    texts = text.replace("],[", "\n").replace(",", separator).split("\n")
    size = np.abs(array)
    is_plain = ((size >= 1e-4) & (size < np.inf)) | (size == 0)  # where orjson and Python write the same text
    rows = np.flatnonzero(~is_plain.all(axis=1))
    for i, row in zip(rows.tolist(), array[rows].tolist(), strict=True):
        texts[i] = separator.join(map(repr, row))
    return texts


def json_texts(column: Column) -> list[str]:
    """Return the JSON of each value of a column, with strings for numbers that are not finite and null for missing ones."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        numbers = np.asarray(column)
        texts = number_texts(numbers)
        for i in np.flatnonzero(~np.isfinite(numbers)):
            texts[i] = f'"{texts[i]}"'
        for i in np.flatnonzero(getattr(column, "mask", False)):
            texts[i] = "null"
        return texts
    return list(map(json_text, python_values(column)))


def with_members(objects: Iterable[str], members: Iterable[str]) -> list[str]:
    """Return JSON objects, given as text without surrounding space, with further members such as ``"x": 1`` at their ends."""
    opened = (text[:-1].rstrip() for text in objects)  # without the closing brace
    return [f"{text}{'' if text == '{' else ', '}{more}}}" for text, more in zip(opened, members, strict=True)]


Buffers = Sequence[bytes | memoryview]
"""Buffers of text, written one after the other."""


def as_writable(column: Column, delimiter: str) -> Array | Slices | None:
    """Return a column as ``native_text.write_rows`` takes it; ``None`` for other types, and if a cell is null or needs quotes."""
    if isinstance(column, list):
        return None
    if not isinstance(column, np.ndarray):
        from pyarrow import types

        if column.null_count:
            return None
        column = dense(column)
        if types.is_string(column.type) or types.is_large_string(column.type):
            return _unquoted(column.cast("string"), delimiter)
        if not (types.is_floating(column.type) or types.is_integer(column.type)):
            return None
        column = column.to_numpy()
    if column.dtype.kind in "iu" and np.can_cast(column.dtype, np.int64):
        column = column.astype(np.int64)
    return column if is_writable(column) else None


def _unquoted(column: ArrowArray, delimiter: str) -> Slices | None:
    """Return the texts of an Arrow array of strings; ``None`` if a text needs quotes in CSV."""
    from pyarrow import compute

    if any(compute.any(compute.match_substring(column, sign)).as_py() for sign in (delimiter, '"', "\n", "\r")):
        return None
    _, offsets, text = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[column.offset :][: len(column) + 1]  # where texts begin and end
    return Slices(memoryview(text or b""), bounds[:-1], bounds[1:])


def has_pyarrow() -> bool:
    """Import pyarrow, and return whether it can be imported."""
    try:
        library("pyarrow", "")
    except MissingPackage:
        return False
    return True


def arrow_strings(slices: Slices) -> ArrowArray:
    """Return texts as an Arrow array."""
    import pyarrow as pa

    count = 2 * len(slices.starts)
    bounds = np.zeros(count + 1, np.int32)  # every second text is what stands between two of the texts
    bounds[:-1:2], bounds[1::2] = slices.starts, slices.ends
    bounds[-1:] = slices.ends[-1:]  # the end of the last one, if there are texts
    texts = pa.StringArray.from_buffers(count, pa.py_buffer(bounds), pa.py_buffer(slices.text))
    return texts.take(pa.array(np.arange(0, count, 2)))


def slices(texts: Sequence[str]) -> Slices:
    """Return texts as slices of one text."""
    parts = [text.encode() for text in texts]
    sizes = np.array([len(part) for part in parts], np.int32)
    ends = np.cumsum(sizes, dtype=np.int32)
    return Slices(b"".join(parts), ends - sizes, ends)
