"""Values as text: the shortest that reads back as the same number, as everywhere in the project."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from autodiff_cli.data.block import Column
from autodiff_cli.data.libraries import pyarrow_if_there, pyarrow_loaded
from autodiff_cli.report.numbers import finite_or_text

FAST_FROM = 50_000
"""Numbers from which on importing Arrow to write them pays."""


def python_values(column: Column) -> list[Any]:
    """A column as Python numbers, texts and ``None``; anything else as text.

    A float32 becomes the float that is written in the same way.
    """
    if isinstance(column, list):
        return column
    if not isinstance(column, np.ndarray):
        return _from_arrow(column)
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        return [float(str(value)) for value in column]
    if column.dtype.kind == "S":
        return [value.decode("utf-8", "replace") for value in column.tolist()]
    if column.dtype.kind in "mMc" or (column.dtype.itemsize > 8 and column.dtype.kind == "f"):
        return [str(value) for value in column]
    values: list[Any] = column.tolist()
    return values


def _from_arrow(column: Any) -> list[Any]:
    import pyarrow as pa
    from pyarrow import compute, types

    kind = column.type
    if types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if types.is_floating(kind) and column.null_count == 0:
        return python_values(column.to_numpy(zero_copy_only=False))
    if types.is_floating(kind):
        return [None if value is None else float(str(kind.to_pandas_dtype()(value))) for value in column.to_pylist()]
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
        values: list[Any] = column.to_pylist()
        return values
    try:
        texts: list[Any] = compute.cast(column, pa.string()).to_pylist()
        return texts
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return [None if value is None else json.dumps(value, default=str, ensure_ascii=False) for value in column.to_pylist()]


def cell_values(column: Column) -> list[Any]:
    """A column for csv, which writes texts and numbers as they are: lists and objects as JSON."""
    values = python_values(column)
    if isinstance(column, list) and any(isinstance(value, (dict, list)) for value in values):
        return [json_text(value) if isinstance(value, (dict, list)) else value for value in values]
    return values


def number_texts(array: Any) -> list[str]:
    """Numbers as text."""
    if (len(array) >= FAST_FROM and pyarrow_if_there() is not None) or (len(array) > 1000 and pyarrow_loaded()):
        from autodiff_cli.data.readers import arrow_csv

        texts: list[str] = arrow_csv.texts(array).to_pylist()
        return texts
    return plain_texts(array)


def plain_texts(array: Any) -> list[str]:
    """The same without Arrow."""
    return list(map(repr, python_values(array)))


def json_texts(column: Column) -> list[str]:
    """A column as JSON; a number that is not finite is a text."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        texts = number_texts(column)
        for i in np.flatnonzero(~np.isfinite(column)):
            texts[i] = f'"{texts[i]}"'
        return texts
    return list(map(json_text, python_values(column)))


def json_text(value: Any) -> str:
    """A value as JSON; a number that is not finite is a text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite_or_text(value), ensure_ascii=False)
