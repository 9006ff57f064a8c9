"""The values of variables and constants, given as expressions without variables or as files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.autograd.dtypes import Array, DType
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.errors import AutodiffError, MissingValue, UsageError, setting
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.language.parser import comma_number_hint
from autodiff_cli.language.tree import STATEMENTS, split_outside_brackets
from autodiff_cli.limits import hold

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

RESERVED = ("if", "else", "or", "and", "not", "true", "false", "none")
"""Names that are words of the language."""
_WITH_UNIT = r"\s*[-+]?[\d.]+(?:e[-+]?\d+)?\s*(?!(?:pi|e|inf|nan)\b)[^\W\d]\w*\s*"
"""A number that is followed by a word, as in ``5 km``."""
_NAME_AND_VALUE = r"([^\W\d]\w*)(?:\s*:\s*|\s+)([^\s].*)"
"""A name and a value without ``=``."""
_RANGE_SEPARATOR = r"\s*(?:\.{2,}|[,;]|\bto\b|(?<=[\d)])-(?=[\d.]))\s*"
"""What separates the ends of a range elsewhere."""
_BINDING_COMMA = r",(?=\s*[^\W\d]\w*\s*=[^=])"
"""A comma that is followed by another ``NAME=``."""


def bindings(texts: Iterable[str], name: str) -> dict[str, Array]:
    """Return the arrays in texts such as ``NAME=VALUE,NAME=VALUE``, by name; ``name`` is the setting of the texts, such as ``at``.

    A value is an expression without names, or a file ``@file``; anything else, and a name that is given twice, are errors.
    """
    return {
        variable: from_file(value[1:]) if value.startswith("@") else constant_value(value, name, variable)
        for variable, value in value_texts(texts, name).items()
    }


def value_texts(texts: Iterable[str], name: str) -> dict[str, str]:
    """Return the text of each value in texts such as ``NAME=VALUE,NAME=VALUE``, by name; ``name`` is the setting of the texts.

    An empty text, and a name that is given twice, are an error.
    """
    values: dict[str, str] = {}
    for text in texts:
        for variable, value in split_bindings(text, name):
            if variable in values:
                raise UsageError(f"'{variable}' is given twice with {setting(name)}", hint="give each variable one value")
            if not value:
                hint = f"write {setting(name, f'{variable}=1')}"
                raise UsageError(f"the value of '{variable}' in {setting(name)} is empty", hint=hint)
            values[variable] = value
    return values


def split_bindings(text: str, name: str, example: str = "1") -> list[tuple[str, str]]:
    """Split ``NAME=TEXT,NAME=TEXT`` at the commas outside of brackets that are followed by a name and ``=``.

    The text is that of the setting ``name``; the hint of an error has ``example`` as a value.

    Raises:
        UsageError: if ``=`` is missing, or the text before ``=`` is not a valid name.
    """
    parts = split_outside_brackets(text, re.compile(_BINDING_COMMA)) if "," in text else [text.strip()]
    return [_split_binding(part, name, example) for part in parts]


def _split_binding(text: str, name: str, example: str) -> tuple[str, str]:
    """Split ``NAME=TEXT`` at the first ``=``; the arguments are those of ``split_bindings``."""
    variable, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not _is_free_name(variable):
        reserved = f"; '{variable}' is a keyword" if variable in RESERVED else ""
        form = "NAME=FROM:TO" if ":" in example else "NAME=VALUE"
        hint = f"write {setting(name, _suggested_binding(text, example))}"
        raise UsageError(f"{setting(name)} expects {form}, but got '{text}'{reserved}", hint=hint)
    return variable, value


def _is_free_name(text: str) -> bool:
    return text.isidentifier() and text not in RESERVED


def _suggested_binding(text: str, example: str) -> str:
    """Return the ``NAME=VALUE`` that a text without it may mean; the example, a value or a range, is what the text lacks."""
    is_range = ":" in example
    name, equals, value = (part.strip() for part in text.partition("="))
    pair = None if equals else re.fullmatch(_NAME_AND_VALUE, name, re.DOTALL)
    is_pair = pair is not None and (":" in pair[2] or not is_range)
    if pair is not None and is_pair:  # as in x 1, or x: 1
        name, value = pair.groups()
    elif not equals and not _is_free_name(name):
        name, value = "", name  # the text is a value
    elif value.isidentifier() and not name.isidentifier():
        name, value = value, name  # as in 1=x
    if is_range and ":" not in value:
        value = as_range(value) or example
    return f"{name if _is_free_name(name) else 'x'}={value or example}"


def as_range(text: str) -> str | None:
    """Return ``0:6`` for a range written as ``0..6``, ``0,6``, ``[0, 6]``, ``0-6`` or ``0 to 6``; ``None`` for another text."""
    ends = re.split(_RANGE_SEPARATOR, text[1:-1] if text[:1] + text[-1:] in ("[]", "()") else text)
    whole = [end for end in ends if end and end.count("(") == end.count(")")]
    return ":".join(whole) if len(whole) == len(ends) == 2 else None


def constant_value(text: str, name: str, variable: str = "") -> Array:
    """Return the value of an expression without variables, in float64.

    Any other text is an error, which names the setting ``name`` that contains the text, and the variable that gets the value.
    """
    label = setting(name, variable)
    try:
        evaluator = Evaluator(text, {}, np.dtype(np.float64))
        *others, last = evaluator.tree.children
        if others or last.kind in STATEMENTS:
            hint = f"separate variables with commas: {setting(name, 'x=1,y=2')}"
            raise UsageError("a value is one expression, not a program", span=last.span, source=text, hint=hint)
        with np.errstate(all="ignore"):
            value: Array = evaluator.as_tensor(evaluator.run()).detach()._data
        return value
    except MissingValue as error:
        message, hint = f"the value of {label} is not constant: {error.message}", "use numbers, pi, e, and functions of them"
        raise UsageError(message, span=error.span, source=error.source, hint=hint) from None
    except AutodiffError as error:
        way_out = _value_hint(error, text, name, variable)
        if way_out is not None:
            error.hint = way_out
        error.about(label)
        raise


def _value_hint(error: AutodiffError, text: str, name: str, variable: str) -> str | None:
    """Return a hint for a text that looks like a range, a vector or a number with a unit; ``None`` for any other text."""
    if error.message == "unexpected ':'":
        typed = f"{variable}={text}"
        return f"give one value; for a range, use {setting('over', typed)} or {setting('bounds', typed)}"
    if error.message == "unexpected ','":
        vector = setting(name, f'"{variable}=[{text}]"')
        number = error.span and comma_number_hint(text, error.span[0])
        several = f"write a vector as {vector}, and several variables as {setting(name, 'x=1,y=2')}"
        return f"write {number}; {several}" if number else several
    if ".." in text:
        return f"write a vector as {setting(name, f'{variable}=linspace(1,5,5)')}"
    if re.fullmatch(_WITH_UNIT, text, re.IGNORECASE):
        return "write the number without its unit, and all values in one system of units"
    return None


def from_file(path: str) -> Array:
    """Return the array in a file; see ``array_files.read_array``."""
    from autodiff_cli.evaluation.array_files import read_array  # importing the modules for files takes 8 ms

    return read_array(path)


def new_leaves(values: Mapping[str, ArrayLike | Tensor], dtype: DType, requires_grad: Iterable[str]) -> dict[str, Tensor]:
    """Return a leaf for each value, which must be numeric; the leaves named in ``requires_grad`` require grad."""
    leaf_names = set(requires_grad)
    leaves = {}
    for name, value in values.items():
        data = value._data if isinstance(value, Tensor) else value
        try:
            with np.errstate(all="ignore"):  # 1e308 is inf in float32
                leaves[name] = new_tensor(np.array(data, dtype=dtype), requires_grad=name in leaf_names)
            hold(leaves[name]._data)
        except (ValueError, TypeError):
            raise UsageError(f"the value of '{name}' is not an array of numbers") from None
    return leaves
