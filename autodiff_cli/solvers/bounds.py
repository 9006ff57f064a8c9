"""Bounds of variables: intervals such as ``0:10``, ``0:`` and ``:10``."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.errors import UnknownName, UsageError, setting
from autodiff_cli.evaluation.bindings import constant_value, split_bindings
from autodiff_cli.suggest import suggestion

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array

Interval = tuple[float, float]
Ends = tuple[float | None, float | None]
"""The ends of an interval as they are written in Python; ``None`` for an end that is open."""


def pairs(values: Iterable[str] | Mapping[str, Any], name: str, example: str = "1") -> list[tuple[str, Any]]:
    """Return the pairs of a mapping, or of a name and a text from each ``b=0:10`` in texts such as ``b=0:10,c=:5``.

    See ``split_bindings`` for the setting ``name``, the ``example``, and the errors.
    """
    if isinstance(values, Mapping):
        return list(values.items())
    return [pair for text in values for pair in split_bindings(text, name, example)]


def intervals(texts: Iterable[str] | Mapping[str, str | Ends], name: str) -> dict[str, Interval]:
    """Return the intervals in texts such as ``b=0:10,c=:5``, by variable.

    Args:
        texts: the texts; or, in Python, the interval of each variable as a text or as a pair of numbers, ``None`` for an open end.
        name: the setting that contains the texts.

    Raises:
        UsageError: if an interval is not ``FROM:TO`` with numbers, is empty, or is given twice.
    """
    result: dict[str, Interval] = {}
    for variable, value in pairs(texts, name, "0:10"):
        if variable in result:
            raise UsageError(f"'{variable}' is given twice with {setting(name)}", hint="give each variable one interval")
        result[variable] = _interval(variable, value, name)
    return result


def _interval(variable: str, value: str | Ends, name: str) -> Interval:
    """Return the interval of a variable, given as a text or a pair in the setting ``name``; an open end is infinite."""
    ends: object = value.split(":") if isinstance(value, str) else value
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        message = f"{setting(name)} expects {variable}=FROM:TO, but got '{value}'"
        raise UsageError(message, hint=f"write {setting(name, f'{variable}=0:10')}, or leave out one end: {variable}=0:")
    low = _end(ends[0], -math.inf, name, variable)
    high = _end(ends[1], math.inf, name, variable)
    if not low < high:
        raise UsageError(f"the interval of '{variable}' in {setting(name)} is empty: {value}", hint="write the smaller end first")
    return low, high


def _end(end: str | float | None, default: float, name: str, variable: str) -> float:
    """Return an end of an interval as a number, ``default`` if left out; errors name the variable and the setting ``name``."""
    if end is None or (isinstance(end, str) and not end.strip()):
        return default
    value: Array = constant_value(end, name, variable) if isinstance(end, str) else np.asarray(end, float)
    if value.ndim or np.isnan(value):
        message = f"an end of the interval of '{variable}' in {setting(name)} is not a number: {end}"
        raise UsageError(message, hint="use two numbers")
    return float(value)


def check_names(names: Iterable[str], known: Collection[str], name: str, kind: str) -> None:
    """Raise an error if a setting names a variable that does not exist.

    Args:
        names: the names in the setting.
        known: the names that exist.
        name: the setting.
        kind: the kind of the names, such as ``variable`` or ``parameter``.

    Raises:
        UnknownName: if a name does not exist.
    """
    for unknown in names:
        if unknown not in known:
            hint = suggestion(unknown, known) or f"the {kind}s: {', '.join(known) or 'none'}"
            raise UnknownName(f"{setting(name)} names '{unknown}', which is not a {kind}", hint=hint)
