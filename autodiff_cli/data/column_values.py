"""Conversion of columns to Python values, and of cells to numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from autodiff_cli.data.row_blocks import Array, ArrowArray, Column
from autodiff_cli.report.numbers import finite_or_text


def python_values(column: Column) -> list[Any]:
    """Convert a column to Python numbers, strings and ``None``; values of other types become strings.

    A float32 becomes the float with the same decimal representation.
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


def _from_arrow(column: ArrowArray) -> list[Any]:
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_floating(kind) and column.null_count == 0:
        return python_values(column.to_numpy(zero_copy_only=False))
    if types.is_floating(kind):
        return [None if value is None else float(str(kind.to_pandas_dtype()(value))) for value in column.to_pylist()]
    if not (types.is_integer(kind) or types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind)):
        try:
            column = compute.cast(column, pa.string())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return [None if value is None else json.dumps(value, default=str, ensure_ascii=False) for value in column.to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


def cell_values(column: Column) -> list[Any]:
    """Convert a column to the values of CSV cells: numbers and strings, with JSON for lists and objects."""
    values = python_values(column)
    if isinstance(column, list) and any(isinstance(value, (dict, list)) for value in values):
        return [json_text(value) if isinstance(value, (dict, list)) else value for value in values]
    return values


def number_reprs(array: Array) -> list[str]:
    """Return the shortest text of each number that reads back as the same number."""
    return list(map(repr, python_values(array)))


def json_text(value: object) -> str:
    """Return a value as JSON, with strings for numbers that are not finite."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite_or_text(value), ensure_ascii=False)


def is_number(cell: str) -> bool:
    """Return whether a cell is a decimal number, ``nan`` or ``inf``."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def as_float(value: float | str) -> float:
    """Convert a JSON number to a float; an integer outside the range of float64 becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if isinstance(value, int) and value > 0 else float("-inf")
