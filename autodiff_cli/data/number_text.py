"""Conversion of columns of numbers to the shortest texts that read back as the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.data.column_values import json_text, number_reprs, python_values
from autodiff_cli.data.libraries import pyarrow_if_there
from autodiff_cli.data.row_blocks import ArrowArray, Column

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
        quoted = [f'"{one}"' if json and one in ("nan", "inf", "-inf") else one for one in reprs]
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
    return b"".join([part for end, start, one in around for part in (text[end:start], one.encode())])


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
