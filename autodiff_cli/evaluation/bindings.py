"""Values of ``--at`` and ``--const``: constants of the language, or files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError, MissingValue, UsageError
from autodiff_cli.evaluation.expression import Evaluator
from autodiff_cli.language.tree import STATEMENTS, pieces
from autodiff_cli.limits import hold

RESERVED = ("if", "else", "or", "and", "not", "true", "false", "none")


def bindings(texts: Iterable[str], option: str) -> dict[str, Any]:
    """``NAME=VALUE`` and ``NAME=VALUE,NAME=VALUE`` as arrays by name.

    Raises:
        UsageError: without ``=``, with a value that is no constant, or with a name that is given twice.
        FileError: for ``@file`` that cannot be read.
    """
    values: dict[str, Any] = {}
    for text in texts:
        for name, value in named(text, option):
            if name in values:
                raise UsageError(f"'{name}' is given twice with {option}", hint="give each variable one value")
            if not value:
                raise UsageError(f"{option} gives '{name}' no value", hint=f"write {option} {name}=1")
            values[name] = from_file(value[1:]) if value.startswith("@") else constant(value, option, name)
    return values


_NEXT = re.compile(r",(?=\s*[^\W\d]\w*\s*=[^=])")


def named(text: str, option: str, example: str = "1") -> list[tuple[str, str]]:
    """``NAME=TEXT,NAME=TEXT`` taken apart at commas outside brackets that a name and ``=`` follow.

    Raises:
        UsageError: without ``=``, or with a name that is none; the hint shows the ``example``.
    """
    return [_named(piece, option, example) for piece in pieces(text, _NEXT)]


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    head, equals, rest = text.partition("=")
    name = head.strip()
    if not equals or not name.isidentifier() or name in RESERVED:
        reserved = f"; '{name}' is a word of the language" if name in RESERVED else ""
        wanted = "NAME=VALUE" if example == "1" else "NAME=FROM:TO"
        raise UsageError(
            f"{option} needs {wanted}, but got '{text}'{reserved}",
            hint=f"write {option} {name if name.isidentifier() and name not in RESERVED else 'x'}={example}",
        )
    return name, rest.strip()


def constant(text: str, option: str, name: str = "") -> Any:
    """The value of an expression of constants, in float64."""
    label = f"{option} {name}".strip()
    try:
        evaluator = Evaluator(text, {}, np.dtype(np.float64))
        statements = evaluator.tree.children
        if len(statements) > 1 or statements[0].kind in STATEMENTS:
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
        if error.message == "unexpected ','":
            error.hint = f'a vector is written {option} "{name}=[{text}]", several variables {option} x=1,y=2'
        if not error.message.startswith(label):
            error.about(label)
        raise


def value_or_file(text: str | None) -> Any:
    """The array in the file of ``@file``; any other text as it is."""
    return from_file(text[1:]) if text is not None and text.startswith("@") else text


def from_file(path: str) -> Any:
    """The array in a ``.npy``, ``.csv`` or ``.json`` file.

    Raises:
        FileError: if it cannot be read or holds something else than numbers.
    """
    from autodiff_cli.evaluation.array_files import read_array  # what reads files takes 8 ms to import

    return read_array(path)


def variables(values: dict[str, Any], dtype: Any, requires_grad: Iterable[str]) -> dict[str, Tensor]:
    """Leaves for named values; those in ``requires_grad`` require grad."""
    wanted = set(requires_grad)
    leaves = {}
    for name, value in values.items():
        given = value._data if isinstance(value, Tensor) else value
        try:
            with np.errstate(all="ignore"):  # 1e308 is inf in float32
                leaves[name] = Tensor(np.array(given, dtype=dtype), requires_grad=name in wanted)
            hold(leaves[name]._data)
        except (ValueError, TypeError):
            raise UsageError(f"the value of '{name}' is not an array of numbers") from None
    return leaves
