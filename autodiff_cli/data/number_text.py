"""Conversion of columns of numbers to the shortest texts that read back as the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autodiff_cli.data.column_values import json_text, number_reprs, python_values
from autodiff_cli.data.libraries import pyarrow_if_there
from autodiff_cli.data.row_blocks import Array, ArrowArray, Column

FAST_FROM = 50_000
"""The smallest number of values for which importing Arrow to write them saves time."""
_FAST_FROM = 500
"""The smallest number of values for which the conversion of whole arrays saves time."""


def number_texts(array: Array) -> list[str]:
    """Return the text of each number."""
    return row_texts([array], ",")


def row_texts(columns: Sequence[Array], separator: str) -> list[str]:
    """Return the text of each row of columns of numbers, with a separator of one character between the numbers."""
    if len(columns[0]) >= _FAST_FROM and all(column.dtype == np.float64 for column in columns):
        from autodiff_cli.data.shortest import joined_texts

        return joined_texts(columns, separator)
    return list(map(separator.join, zip(*map(number_reprs, columns), strict=True)))


def arrow_number_texts(array: Array) -> ArrowArray:
    """Return an Arrow array with the same texts of numbers as ``number_reprs``."""
    from pyarrow import compute

    pa = pyarrow_if_there()
    strings = compute.cast(pa.array(array), pa.string())
    size = np.abs(array)
    # Arrow writes 1 for 1.0, 0.00001 for 1e-05 and 1e+10 for 10000000000.0.
    same = (size >= 1e-4) & (size < 1e9) & (array != np.rint(array))
    if same.all():
        return strings
    other = ~same
    return compute.replace_with_mask(strings, pa.array(other), pa.array(number_reprs(array[other]), pa.string()))


def arrow_json_texts(array: Array) -> ArrowArray:
    """Return an Arrow array with the JSON of each number, with strings for numbers that are not finite."""
    from pyarrow import compute

    pa = pyarrow_if_there()
    texts, finite = arrow_number_texts(array), np.isfinite(array)
    if finite.all():
        return texts
    quoted = [f'"{text}"' for text in number_reprs(array[~finite])]
    return compute.replace_with_mask(texts, pa.array(~finite), pa.array(quoted, pa.string()))


def json_texts(column: Column) -> list[str]:
    """Return the JSON of each value of a column, with strings for numbers that are not finite."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        texts = number_texts(column)
        for i in np.flatnonzero(~np.isfinite(column)):
            texts[i] = f'"{texts[i]}"'
        return texts
    return list(map(json_text, python_values(column)))
