"""Conversion of columns of numbers to the shortest texts that read back as the same numbers, and of blocks to rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.data.column_values import dense, json_text, number_reprs, python_values
from autodiff_cli.data.libraries import pyarrow_if_there
from autodiff_cli.data.row_blocks import ArrowArray, Column, Results

FAST_FROM = 50_000
"""The smallest number of values for which importing Arrow to write them saves time."""
_FAST_FROM = 500
"""The smallest number of values for which the conversion of whole arrays saves time."""
_FIRST_EXPONENT = {np.dtype(np.float64): np.inf, np.dtype(np.float32): 1e6}
"""The sizes from which orjson may write numbers in another way than Python, by type; it always does so from 1e-9 to 1e-4."""


def number_texts(array: Array) -> list[str]:
    """Return the text of each number."""
    return row_texts([array], ",")


def row_texts(columns: Sequence[Array], separator: str, decimal: str = ".") -> list[str]:
    """Return the text of each row of columns of numbers, with a separator of one character between the numbers."""
    if decimal != ".":
        return [text.replace(".", decimal) for text in row_texts(columns, separator)]
    if len(columns[0]) < _FAST_FROM or any(column.dtype != np.float64 for column in columns):
        return list(map(separator.join, zip(*map(number_reprs, columns), strict=True)))
    array = np.column_stack(columns)
    texts = _json(array)[2:-2].decode().replace("],[", "\n").replace(",", separator).split("\n")
    rows = np.flatnonzero(_is_odd(array).any(axis=1))
    for i, row in zip(rows.tolist(), array[rows].tolist(), strict=True):
        texts[i] = separator.join(map(repr, row))
    return texts


def arrow_texts(array: Array, lead: str, json: bool = False, decimal: str = ".") -> ArrowArray:
    """Return an Arrow array with the texts of numbers, each after the same text.

    Args:
        array: the numbers: integers, float64 or float32.
        lead: the text before each number.
        json: whether numbers that are not finite are strings of JSON.
        decimal: the decimal separator.
    """
    pa = pyarrow_if_there()
    if not len(array):
        return pa.array([], pa.string())
    text = _json(array)
    bounds = np.concatenate([[0], np.flatnonzero(np.frombuffer(text, np.uint8) == ord(",")), [len(text) - 1]])
    odd = np.flatnonzero(_is_odd(array))
    if len(odd):
        reprs = number_reprs(array[odd])
        quoted = [f'"{number}"' if json and number in ("nan", "inf", "-inf") else number for number in reprs]
        longer = np.zeros(len(bounds), int)
        longer[odd + 1] = np.array(list(map(len, quoted))) - np.diff(bounds)[odd] + 1
        text = _replaced(text, (bounds[odd] + 1).tolist(), bounds[odd + 1].tolist(), quoted)
        bounds += np.cumsum(longer)
    start = lead.encode()
    offsets = bounds + (len(start) - 1) * np.arange(len(bounds))
    data = start + (text[1:-1] if lead == "," else text[1:-1].replace(b",", start))
    if decimal != ".":
        data = data.replace(b".", decimal.encode())
    return pa.StringArray.from_buffers(len(array), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data))


def _replaced(text: bytes, starts: Sequence[int], ends: Sequence[int], new: Sequence[str]) -> bytes:
    """Return a text with new parts in place of its parts between the starts and the ends."""
    around = zip([0, *ends], [*starts, len(text)], [*new, ""], strict=True)
    return b"".join([part for end, start, number in around for part in (text[end:start], number.encode())])


def _json(array: Array) -> bytes:
    import orjson

    return orjson.dumps(np.ascontiguousarray(array), option=orjson.OPT_SERIALIZE_NUMPY)


def _is_odd(array: Array) -> Array:
    """Return where orjson may write another text than Python: for small and large numbers and those that are not finite."""
    if array.dtype.kind != "f":
        return np.zeros(array.shape, bool)
    size = np.abs(array)
    plain: Array = ((size >= 1e-4) & (size < _FIRST_EXPONENT[array.dtype])) | (size == 0)
    return ~plain


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


Buffer = Any
"""A pyarrow buffer; pyarrow does not have type annotations."""
Buffers = Sequence[bytes | Buffer]
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


def _joined(parts: Sequence[ArrowArray | str]) -> Buffer:
    """Return the texts of rows, each of which is the concatenation of its parts."""
    from pyarrow import compute

    texts = compute.binary_join_element_wise(*parts, "")
    end = np.frombuffer(texts.buffers()[1], np.int32)[len(texts)]
    return texts.buffers()[2].slice(0, int(end))
