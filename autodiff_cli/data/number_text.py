"""Columns of numbers as text: the shortest that reads back as the same number, as everywhere in the project."""

from __future__ import annotations

import numpy as np

from autodiff_cli.data.column_values import json_text, number_reprs, python_values
from autodiff_cli.data.libraries import pyarrow_if_there, pyarrow_loaded
from autodiff_cli.data.row_blocks import Array, ArrowArray, Column

FAST_FROM = 50_000
"""Numbers from which on importing Arrow to write them pays."""
_FAST_FROM_THEN = 1000
"""Numbers from which on using it pays, when it is imported."""


def number_texts(array: Array) -> list[str]:
    """Return numbers as text."""
    if (len(array) >= FAST_FROM and pyarrow_if_there() is not None) or (len(array) > _FAST_FROM_THEN and pyarrow_loaded()):
        texts: list[str] = arrow_number_texts(array).to_pylist()
        return texts
    return number_reprs(array)


def arrow_number_texts(array: Array) -> ArrowArray:
    """Return numbers as an Arrow array of the same texts."""
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


def json_texts(column: Column) -> list[str]:
    """Return a column as JSON; a number that is not finite is a text."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        texts = number_texts(column)
        for i in np.flatnonzero(~np.isfinite(column)):
            texts[i] = f'"{texts[i]}"'
        return texts
    return list(map(json_text, python_values(column)))
