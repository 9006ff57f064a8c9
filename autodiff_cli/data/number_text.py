"""Conversion of columns of numbers to the shortest texts that read back as the same numbers."""

from __future__ import annotations

import numpy as np

from autodiff_cli.data.column_values import json_text, number_reprs, python_values
from autodiff_cli.data.libraries import pyarrow_if_there, pyarrow_loaded
from autodiff_cli.data.row_blocks import Array, ArrowArray, Column

FAST_FROM = 50_000
"""The smallest number of values for which importing Arrow to write them saves time."""
_FAST_FROM_THEN = 1000
"""The number of values above which Arrow saves time if it is already imported."""


def number_texts(array: Array) -> list[str]:
    """Return the text of each number."""
    if (len(array) >= FAST_FROM and pyarrow_if_there() is not None) or (len(array) > _FAST_FROM_THEN and pyarrow_loaded()):
        texts: list[str] = arrow_number_texts(array).to_pylist()
        return texts
    return number_reprs(array)


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
