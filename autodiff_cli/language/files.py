"""Arrays in files, as ``@file`` names them."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_cli.errors import FileError


def read_array(path: str) -> Any:
    """The array in a ``.npy``, ``.csv`` or ``.json`` file.

    Raises:
        FileError: if it cannot be read or holds something else than numbers.
    """
    kind = Path(path).suffix.lower()
    readers = {".npy": _npy, ".csv": _csv, ".json": _json}
    if kind not in readers:
        raise FileError(f"cannot tell what is in '{path}'", hint="use a .npy, .csv or .json file")
    try:
        array = readers[kind](path)
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror or error}", hint=nearby(path)) from None
    except (ValueError, TypeError, EOFError, OverflowError, RecursionError, zipfile.BadZipFile) as error:
        reason = _reason(str(error).partition("\n")[0]) or _WANTED[kind]
        raise FileError(f"'{path}' does not hold an array of numbers", hint=reason) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fib" or not array.size:
        raise FileError(f"'{path}' does not hold an array of numbers", hint=_WANTED[kind])
    return array[()] if array.ndim == 0 else array


_WANTED = {
    ".npy": "it needs to be what numpy.save writes for an array of numbers",
    ".csv": "it needs to have numbers with commas between them, the same count in every row, and no header",
    ".json": "it needs to be a number or nested lists of numbers, the rows of one length",
}


def _reason(text: str) -> str | None:
    """What NumPy and json say of the place, in plain words; ``None`` if that is about their own workings."""
    uneven = re.match(r"the number of columns changed from (\d+) to (\d+) at row (\d+)", text)
    if uneven:
        return f"row {uneven[3]} has {uneven[2]} of the {uneven[1]} numbers that the rows above have"
    word = re.match(r"could not convert string '(.*)' to float64 at row (\d+), column (\d+)", text)
    if word:
        return f"'{word[1]}' in row {int(word[2]) + 1}, column {word[3]}, is no number"
    return text if "line" in text or text == "it is empty" else None


def nearby(path: str) -> str | None:
    """``did you mean 'data.csv'?`` for a file that does not exist, if one beside it has nearly its name."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        close = get_close_matches(name, os.listdir(folder or "."), 1, 0.75)
    except OSError:
        return None
    return f"did you mean '{os.path.join(folder, close[0])}'?" if close else None


def _npy(path: str) -> Any:
    return np.load(path, allow_pickle=False)


def _csv(path: str) -> Any:
    if not Path(path).read_bytes().strip():
        raise ValueError("it is empty")
    array = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    return array[:, 0] if array.shape[1] == 1 else array[0] if array.shape[0] == 1 else array


def _json(path: str) -> Any:
    return np.array(json.loads(Path(path).read_text(encoding="utf-8")), dtype=np.float64)
