"""Values of ``--at`` and ``--const``: constants of the language, or files."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, FileError, MissingValue, UsageError
from autodiff_cli.language.evaluator import Evaluator

RESERVED = ("if", "else", "or", "and", "not", "true", "false", "none")


def bindings(texts: Iterable[str], option: str) -> dict[str, Any]:
    """``NAME=VALUE`` and ``NAME=VALUE,NAME=VALUE`` as arrays by name.

    Raises:
        UsageError: without ``=``, with a value that is no constant, or with a name that is given twice.
        FileError: for ``@file`` that cannot be read.
    """
    values: dict[str, Any] = {}
    for text in texts:
        for name, value in _split(text, option):
            if name in values:
                raise UsageError(f"'{name}' is given twice with {option}", hint="give each variable one value")
            values[name] = from_file(value[1:]) if value.startswith("@") else constant(value, option, name)
    return values


_NEXT = re.compile(r",(?=\s*[^\W\d]\w*\s*=[^=])")


def _split(text: str, option: str) -> list[tuple[str, str]]:
    """Split at commas outside brackets that a name and ``=`` follow."""
    pieces, start, depth = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth <= 0 and _NEXT.match(text, i):
            pieces.append(text[start:i])
            start = i + 1
    pieces.append(text[start:])
    return [_named(piece, option) for piece in pieces]


def _named(text: str, option: str) -> tuple[str, str]:
    head, equals, rest = text.partition("=")
    name = head.strip()
    if not equals or not name.isidentifier() or name in RESERVED:
        reserved = f"; '{name}' is a word of the language" if name in RESERVED else ""
        raise UsageError(
            f"{option} needs NAME=VALUE, but got '{text}'{reserved}",
            hint=f"write {option} {name if name.isidentifier() and name not in RESERVED else 'x'}=1",
        )
    return name, rest.strip()


def constant(text: str, option: str, name: str = "") -> Any:
    """The value of an expression of constants, in float64."""
    label = f"{option} {name}".strip()
    try:
        evaluator = Evaluator(text, {}, np.dtype(np.float64))
        statements = evaluator.tree.children
        if len(statements) > 1 or statements[0].kind in ("assignment", "definition", "definition_with_grad"):
            raise UsageError(
                f"{label}: a value is one expression, not a program",
                span=statements[-1].span,
                source=text,
                hint=f"several variables are separated by commas: {option} x=1,y=2",
            )
        with np.errstate(all="ignore"):
            return evaluator.as_tensor(evaluator.run()).detach()._data
    except MissingValue as error:
        raise UsageError(
            f"the value of {label} is no constant: {error.message}",
            span=error.span,
            source=error.source,
            hint="use numbers, pi, e, and functions of them",
        ) from None
    except AutodiffError as error:
        if not error.message.startswith(label):
            error.message = f"{label}: {error.message}"
        raise


def value_or_file(text: str | None) -> Any:
    """The array in the file of ``@file``; any other text as it is."""
    return from_file(text[1:]) if text is not None and text.startswith("@") else text


def from_file(path: str) -> Any:
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


def variables(values: dict[str, Any], dtype: Any, requires_grad: Iterable[str]) -> dict[str, Tensor]:
    """Leaves for named values; those in ``requires_grad`` require grad."""
    wanted = set(requires_grad)
    leaves = {}
    for name, value in values.items():
        given = value._data if isinstance(value, Tensor) else value
        try:
            leaves[name] = Tensor(np.array(given, dtype=dtype), requires_grad=name in wanted)
        except (ValueError, TypeError):
            raise UsageError(f"the value of '{name}' is not an array of numbers") from None
    return leaves
