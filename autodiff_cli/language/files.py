"""Arrays in files, as ``@file`` names them."""

from __future__ import annotations

import json
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
        raise FileError(f"cannot read '{path}': {error.strerror or error}") from None
    except (ValueError, TypeError, EOFError, OverflowError, RecursionError, zipfile.BadZipFile) as error:
        raise FileError(f"'{path}' does not hold an array of numbers", hint=str(error).partition("\n")[0] or None) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fib" or not array.size:
        raise FileError(f"'{path}' does not hold an array of numbers")
    return array[()] if array.ndim == 0 else array


def _npy(path: str) -> Any:
    return np.load(path, allow_pickle=False)


def _csv(path: str) -> Any:
    if not Path(path).read_bytes().strip():
        raise ValueError("it is empty")
    array = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    return array[:, 0] if array.shape[1] == 1 else array[0] if array.shape[0] == 1 else array


def _json(path: str) -> Any:
    return np.array(json.loads(Path(path).read_text(encoding="utf-8")), dtype=np.float64)
