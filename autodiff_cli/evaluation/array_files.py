"""Readers for arrays in ``.npy``, ``.csv`` and ``.json`` files."""

from __future__ import annotations

import io
import json
import re
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.errors import FileError
from autodiff_cli.evaluation.coercion import flat_items
from autodiff_cli.language import limited_reading
from autodiff_cli.limits import check_size

MOST_NPY, MOST_CSV = 1 << 32, 1 << 29
"""The maximum size in bytes of a ``.npy`` file from a pipe and of a CSV file: 2**28 numbers of 16 and of 2 bytes."""
MOST_JSON = 1 << 26
"""The maximum size of a JSON file in bytes; the parsed Python objects take about thirty times as much memory."""


def read_array(path: str) -> Array:
    """Return the array in a ``.npy``, ``.csv`` or ``.json`` file.

    Raises:
        FileError: if the file cannot be read or contains anything other than numbers.
        LimitError: if the array exceeds the size limit of a tensor.
    """
    kind = Path(path).suffix.lower()
    readers = {".npy": _read_npy, ".csv": _read_csv, ".json": _read_json}
    if kind not in readers:
        raise FileError(f"unknown file type of '{path}'", hint="use a .npy, .csv or .json file")
    try:
        array = readers[kind](path)
    except FileError:
        raise
    except OSError as error:
        raise limited_reading.unreadable_error(path, error) from None
    except (ValueError, TypeError, EOFError, OverflowError, RecursionError, SyntaxError) as error:
        raise _no_array_error(path, _defect(error)) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub" or not array.size:
        raise _no_array_error(path)
    check_size(array.shape)
    return array[()] if array.ndim == 0 else array  # a number for an array without dimensions


def _no_array_error(path: str, reason: str | None = None) -> FileError:
    """Return the error for a file whose content is not an array; without a reason, it says what the file should contain."""
    return FileError(f"'{path}' does not contain an array of numbers", hint=reason or _EXPECTED[Path(path).suffix.lower()])


class _DefectiveFile(ValueError):
    """The error for a defective file; its message is shown to the user."""


_EXPECTED = {
    ".npy": "use a file that numpy.save wrote for an array of numbers",
    ".csv": "write comma-separated numbers without a header, with the same count in every row",
    ".json": "use a number, or nested lists of numbers with rows of equal length",
}


def _defect(error: Exception) -> str | None:
    """Return the description of a defect; ``None`` if the message is about NumPy internals."""
    text = str(error).partition("\n")[0]
    if isinstance(error, (_DefectiveFile, json.JSONDecodeError)):
        return text
    uneven = re.match(r"the number of columns changed from (\d+) to (\d+) at row (\d+)", text)
    if uneven:
        return f"the number of columns changes from {uneven[1]} to {uneven[2]} at row {uneven[3]}"
    word = re.match(r"could not convert string '(.*)' to float64 at row (\d+), column (\d+)", text)
    if not word:
        return None
    header = "; remove a header line" if word[2] == "0" else ""
    return f"'{word[1]}' in row {int(word[2]) + 1}, column {word[3]}, is not a number{header}"


def _read_npy(path: str) -> Array | None:
    """Return the array of a NumPy file, read from a copy if it is a pipe; ``None`` if it does not contain an array."""
    if Path(path).is_fifo():
        with TemporaryDirectory(prefix="autodiff-") as folder:
            copy = Path(folder, "array.npy")
            copy.write_bytes(limited_reading.read_bytes(path, MOST_NPY))
            return _read_npy(str(copy))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy parses the header as a Python literal, which may cause warnings
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError:
            raise
        except Exception:  # a broken header can cause any exception
            return None
    if not isinstance(array, np.ndarray):
        return None
    check_size(array.shape)
    return np.array(array)


def _read_csv(path: str) -> Array:
    """Return the numbers of a CSV file: a matrix, or a vector if there is one column or one row."""
    data = limited_reading.read_bytes(path, MOST_CSV)
    if not data.strip():
        raise _DefectiveFile("it is empty")
    if b"\0" in data:
        raise _DefectiveFile("it is not text")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns about a file that contains only comments
        array = np.loadtxt(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig"), delimiter=",", ndmin=2)
    if not array.size:
        raise _DefectiveFile("it is empty")
    if array.shape[1] == 1:
        return array[:, 0]
    return array[0] if array.shape[0] == 1 else array


def _read_json(path: str) -> Array:
    """Return the numbers of a JSON file, also those that are written as texts, in the shape of its nested lists."""
    value = json.loads(limited_reading.read_bytes(path, MOST_JSON).decode("utf-8"))
    array = np.array(value)
    if array.dtype.kind in "fiu":
        return array
    numbers = np.empty(array.size)  # of truth values, or of an array that contains texts
    for i, item in enumerate(flat_items(value)):
        numbers[i] = _json_number(item)
    return numbers.reshape(array.shape)


def _json_number(item: object) -> float:
    """Return the number for a value in a JSON file, which may be a truth value or the text of nan or inf."""
    if isinstance(item, (bool, int, float)) or item in ("nan", "inf", "-inf"):  # JSON does not have literals for nan and inf
        return float(item)
    if isinstance(item, dict):
        raise TypeError  # read_array says what the file should contain
    if item is None:
        raise _DefectiveFile('write "nan" instead of null for a missing number')
    raise _DefectiveFile(f"{json.dumps(item)[:40]} is not a number")
