"""Conversion of columns to Python values, and of cells to numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.arrays import Array, Floats, Indices
from autodiff_cli.data.row_blocks import ArrowArray, Block, Column, Results
from autodiff_cli.report.array_text import finite_or_text

TRUTHS = {**dict.fromkeys(("false", "False", "FALSE"), "0"), **dict.fromkeys(("true", "True", "TRUE"), "1")}
"""The numbers for the words of CSV that stand for false and true."""


def python_values(column: Column) -> list[Any]:
    """Convert a column to Python numbers, strings and ``None`` for missing values; values of other types become strings.

    A float32 becomes the float with the same decimal representation.
    """
    if isinstance(column, list):
        return column
    if not isinstance(column, np.ndarray):
        return _from_arrow(column)
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:  # float32 or float16
        return [float(str(value)) for value in column]
    if column.dtype.kind == "S":  # bytes
        return [value.decode("utf-8", "replace") for value in column.tolist()]
    if column.dtype.kind in "mMc" or (column.dtype.itemsize > 8 and column.dtype.kind == "f"):
        return [str(value) for value in column]  # times, complex numbers, and floats longer than those of Python
    values: list[Any] = column.tolist()
    return values


def _from_arrow(column: ArrowArray) -> list[Any]:
    """Convert an Arrow array as ``python_values`` does; lists, structures and bytes become JSON values, and dates become text."""
    from pyarrow import types

    column = dense(column)
    kind = column.type
    is_bytes = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    if types.is_nested(kind) or is_bytes:
        return [_json_value(value) for value in column.to_pylist(maps_as_pydicts="lossy" if types.is_map(kind) else None)]
    if types.is_floating(kind) and column.null_count == 0:
        return python_values(column.to_numpy(zero_copy_only=False))
    if types.is_floating(kind):
        scalar = kind.to_pandas_dtype()  # its text has the digits of a float32, not those of the same float64
        return [None if value is None else float(str(scalar(value))) for value in column.to_pylist()]
    is_text = types.is_string(kind) or types.is_large_string(kind)
    if not (is_text or types.is_integer(kind) or types.is_boolean(kind)):
        return _arrow_texts(column)
    values: list[Any] = column.to_pylist()
    return values


def _arrow_texts(column: ArrowArray) -> list[str | None]:
    """Return the values of an Arrow array as Arrow writes them, or as JSON if Arrow cannot; ``None`` for missing values."""
    import pyarrow as pa
    from pyarrow import compute

    try:
        texts: list[str | None] = compute.cast(column, pa.string()).to_pylist()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return [None if value is None else json.dumps(value, default=str, ensure_ascii=False) for value in column.to_pylist()]
    return texts


def _json_value(value: Any) -> Any:
    """Return a nested value of Arrow as a JSON value: bytes become base64, and other types become strings."""
    if isinstance(value, bytes):
        import base64

        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): _json_value(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(part) for part in value]
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def dense(column: ArrowArray) -> ArrowArray:
    """Return an Arrow array without a dictionary, with strings in the layout that all functions of Arrow support."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        return without_views(column.dictionary).take(column.indices)
    return without_views(column)


def without_views(column: ArrowArray) -> ArrowArray:
    """Return an Arrow array of strings as an array without views; return other arrays unchanged."""
    plain = WITHOUT_VIEWS.get(str(column.type))
    return column if plain is None else column.cast(plain)


WITHOUT_VIEWS = {"string_view": "large_string", "binary_view": "large_binary"}
"""The types with the same values that all functions of Arrow support."""


def cell_values(column: Column) -> list[Any]:
    """Convert a column to the values of CSV cells: numbers and strings, ``true`` and ``false``, JSON for lists and objects."""
    values = python_values(column)
    if any(isinstance(value, (dict, list, bool)) for value in values):
        return [json_text(value) if isinstance(value, (dict, list, bool)) else value for value in values]
    return values


def numbered_keys(column: Column, keys: Callable[[Column], list[Any]]) -> tuple[Indices, list[Any]]:
    """Number the keys of a column as ``numbered`` does; ``keys`` returns the keys of values.

    Of an Arrow array, Arrow finds the different values first, which is faster.
    """
    if isinstance(column, (list, np.ndarray)) or str(column.type).startswith(_NESTED):
        return numbered(keys(column))
    encoded = dense(column).dictionary_encode("encode")
    codes, labels = numbered(keys(encoded.dictionary))
    return codes[encoded.indices.to_numpy()], labels


_NESTED = ("struct", "list", "large_list", "fixed_size_list", "map")
"""The types of Arrow that have no dictionary."""


def texts_of_cells(column: Column) -> list[str]:
    """Return the values of a column as the texts of CSV cells; that of a missing value is empty."""
    return ["" if value is None else str(value) for value in cell_values(column)]


def numbered(values: Sequence[Any]) -> tuple[Indices, list[Any]]:
    """Number values in order of their first occurrence; return the number of each value, and the different values."""
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.intp, len(values))
    return codes, list(numbers)


def with_nulls(block: Block, results: Results) -> Results:
    """Return the results for a format that has null: masked where they are nan in rows in which a number is missing."""
    rows = np.array(sorted(block.missing), int)
    return [masked(result, rows[np.isnan(result[rows])]) for result in results]


def masked(numbers: Floats, positions: Sequence[int] | Array) -> Floats:
    """Return numbers as an array in which those at the positions are masked, which stands for null."""
    if not len(positions):
        return numbers
    array: Floats = np.ma.array(numbers)
    array[positions] = np.ma.masked
    return array


def json_text(value: object) -> str:
    """Return a value as JSON, with strings for numbers that are not finite."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(finite_or_text(value), ensure_ascii=False)


def is_number(cell: str) -> bool:
    """Return whether a cell is a decimal number, ``nan`` or ``inf``; ``1_000``, which Python also reads, is text in a file."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def as_float(value: float | str) -> float:
    """Convert a JSON number, or the text of one, to a float; an integer outside the range of float64 becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if isinstance(value, int) and value > 0 else float("-inf")
