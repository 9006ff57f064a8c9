"""Readers for arrays in ``.npy``, ``.csv`` and ``.json`` files."""

from __future__ import annotations

import io
import json
import math
import re
import warnings
from io import BufferedReader
from pathlib import Path

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.errors import FileError
from autodiff_cli.evaluation.coercion import items
from autodiff_cli.language import source_text
from autodiff_cli.limits import check_size

MOST_CSV = 1 << 29
"""The maximum size of a CSV file in bytes; a number takes at least two bytes, and a tensor has at most 2**28 numbers."""
MOST_JSON = 1 << 26
"""The maximum size of a JSON file in bytes; the parsed Python objects take about thirty times as much memory."""
_LONGEST_HEADER = 10_000
_PIECE = 1 << 24


def read_array(path: str) -> Array:
    """Return the array in a ``.npy``, ``.csv`` or ``.json`` file.

    Raises:
        FileError: if the file cannot be read or contains anything other than numbers.
        LimitError: if the array exceeds the size limit of a tensor.
    """
    kind = Path(path).suffix.lower()
    readers = {".npy": _npy, ".csv": _csv, ".json": _json}
    if kind not in readers:
        raise FileError(f"unknown file type of '{path}'", hint="use a .npy, .csv or .json file")
    try:
        array = readers[kind](path)
    except FileError:
        raise
    except OSError as error:
        raise source_text.unreadable(path, error) from None
    except (ValueError, TypeError, EOFError, OverflowError, RecursionError, SyntaxError) as error:
        raise _no_array(path, _reason(error)) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub" or not array.size:
        raise _no_array(path)
    check_size(array.shape)
    return array[()] if array.ndim == 0 else array


def _no_array(path: str, reason: str | None = None) -> FileError:
    return FileError(f"'{path}' does not contain an array of numbers", hint=reason or _WANTED[Path(path).suffix.lower()])


class _Wrong(ValueError):
    """The error for a defective file; its message is shown to the user."""


_WANTED = {
    ".npy": "use a file that numpy.save wrote for an array of numbers",
    ".csv": "write comma-separated numbers without a header, with the same count in every row",
    ".json": "use a number, or nested lists of numbers with rows of equal length",
}


def _reason(error: Exception) -> str | None:
    """Return the description of a defect; ``None`` if the message is about NumPy internals."""
    text = str(error).partition("\n")[0]
    if isinstance(error, (_Wrong, json.JSONDecodeError)):
        return text
    uneven = re.match(r"the number of columns changed from (\d+) to (\d+) at row (\d+)", text)
    if uneven:
        return f"the number of columns changes from {uneven[1]} to {uneven[2]} at row {uneven[3]}"
    word = re.match(r"could not convert string '(.*)' to float64 at row (\d+), column (\d+)", text)
    if not word:
        return None
    header = "; remove a header line" if word[2] == "0" else ""
    return f"'{word[1]}' in row {int(word[2]) + 1}, column {word[3]}, is not a number{header}"


def _npy(path: str) -> Array | None:
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):  # version 3.0 only adds Unicode field names
            return None
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy parses the header as a Python literal, which may cause warnings
            try:
                shape, by_columns, dtype = read(file, max_header_size=_LONGEST_HEADER)
            except Exception:  # a broken header can cause any exception
                return None
        if dtype.kind not in "fiub" or any(length < 0 for length in shape):
            return None
        count = math.prod(shape)
        left = source_text.left_in(file)
        if left is not None and left < count * dtype.itemsize:
            raise _Wrong(f"its header specifies {count:,} numbers, but only {left:,} bytes follow")
        check_size(shape)
        array = np.empty(count, dtype)
        _fill(file, memoryview(array.view(np.uint8)))  # type: ignore[arg-type]
    return array.reshape(shape, order="F" if by_columns else "C")


def _fill(file: BufferedReader, places: memoryview) -> None:
    """Fill a buffer with bytes from a file."""
    done = 0
    while done < len(places):
        read = file.readinto(places[done : done + _PIECE])
        if not read:
            raise _Wrong(f"its header specifies {len(places):,} bytes, but only {done:,} follow")
        done += read


def _csv(path: str) -> Array:
    data = source_text.contents(path, MOST_CSV)
    if not data.strip():
        raise _Wrong("it is empty")
    if b"\0" in data:
        raise _Wrong("it is not text")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns about a file that contains only comments
        array = np.loadtxt(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig"), delimiter=",", ndmin=2)
    if not array.size:
        raise _Wrong("it is empty")
    return array[:, 0] if array.shape[1] == 1 else array[0] if array.shape[0] == 1 else array


def _json(path: str) -> Array:
    value = json.loads(source_text.contents(path, MOST_JSON).decode("utf-8"))
    array = np.array(value)
    if array.dtype.kind in "fiu":
        return array
    numbers = np.empty(array.size)
    for i, item in enumerate(items(value)):
        numbers[i] = _number(item)
    return numbers.reshape(array.shape)


def _number(item: object) -> float:
    if isinstance(item, (bool, int, float)) or item in ("nan", "inf", "-inf"):  # JSON does not have literals for nan and inf
        return float(item)
    if isinstance(item, dict):
        raise TypeError
    if item is None:
        raise _Wrong('write "nan" instead of null for a missing number')
    raise _Wrong(f"{json.dumps(item)[:40]} is not a number")
