"""The ranges of variables, such as ``x=-pi:2*pi`` and ``x=0:1:500``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.bindings import as_range, constant_value, split_bindings
from autodiff_cli.language.tree import split_outside_brackets

MOST_SAMPLES = 1_000_000
COLON = re.compile(":")
NARROWEST = 1e-290
"""The minimum width of a range; narrower ranges are lost in screen coordinates."""


@dataclass(frozen=True)
class Range:
    """The range of a variable; ``samples`` is ``None`` if the number of samples is not given."""

    name: str
    low: float
    high: float
    samples: int | None = None


def parse_ranges(texts: Iterable[str], name: str = "over") -> list[Range]:
    """Parse ``NAME=FROM:TO`` and ``NAME=FROM:TO:SAMPLES``; the ends are expressions without variables.

    Args:
        texts: the texts.
        name: the setting that contains the texts.

    Raises:
        UsageError: if a range is empty, backwards, infinite or one-sided, or a variable is given twice.
    """
    by_name: dict[str, Range] = {}
    for text in texts:
        for variable, value in split_bindings(text, name, "-3:3"):
            if variable in by_name:
                raise UsageError(f"'{variable}' is given twice with {setting(name)}", hint="give each variable one range")
            low, high, third = _range_parts(value, name, variable)
            samples = None if third is None else parse_sample_count(third, name, variable)
            by_name[variable] = Range(variable, low, high, samples)
    return list(by_name.values())


def parse_interval(text: str, name: str) -> tuple[float, float]:
    """Return the two ends of ``FROM:TO``.

    Raises:
        UsageError: if the range is empty, backwards, infinite or one-sided.
    """
    low, high, _ = _range_parts(text, name, "")
    return low, high


def parse_sample_count(text: str, name: str, variable: str = "") -> int:
    """Parse a number of samples.

    Raises:
        UsageError: if the text is not a whole number in the permitted range.
    """
    value = _single_number(text, name, variable)
    if not 2 <= value <= MOST_SAMPLES or value != int(value):
        label = setting(name, variable)
        raise UsageError(f"{label}: the number of samples must be a whole number from 2 to {MOST_SAMPLES:,}, not {text.strip()}")
    return int(value)


def _range_parts(text: str, name: str, variable: str) -> tuple[float, float, str | None]:
    label = setting(name, variable)

    def write(low: object, high: object) -> str:
        value = f"{low}:{high}"
        return f"write {setting(name, f'{variable}={value}' if variable else value)}"

    parts = split_outside_brackets(text, COLON)
    if len(parts) > (3 if variable else 2):
        form = "two ends and a number of samples" if variable else "two ends"
        hint = write(0, "1:500" if variable else 1)
        raise UsageError(f"{label}: a range has {form}, but '{text}' has {len(parts)} parts", hint=hint)
    if len(parts) < 2 or not parts[0] or not parts[1]:
        end = next((part for part in parts if part), "")
        if not end:
            raise UsageError(f"{label}: the range '{text}' has no ends", hint=write(-3, 3))
        ends = (as_range(end) or (f"FROM:{end}" if len(parts) > 1 and not parts[0] else f"{end}:TO")).split(":")
        hint = write(*ends)
        raise UsageError(f"{label}: the range '{text}' has only one end", hint=hint)
    low, high = _single_number(parts[0], name, variable), _single_number(parts[1], name, variable)
    if not math.isfinite(high - low):
        raise UsageError(f"{label}: the range {text} is not finite", hint=write(-10, 10))
    if low > high:
        raise UsageError(f"{label}: the range {text} goes backwards", hint=write(parts[1], parts[0]))
    if high - low < max(1e4 * np.spacing(max(abs(low), abs(high))), NARROWEST):
        size = "empty" if low == high else "too narrow for floating-point numbers"
        raise UsageError(f"{label}: the range {text} is {size}", hint=write(f"{low - 1:g}", f"{high + 1:g}"))
    return low, high, parts[2] if len(parts) > 2 else None


def _single_number(text: str, name: str, variable: str) -> float:
    value = np.asarray(constant_value(text, name, variable))
    if value.size != 1:
        raise UsageError(
            f"{setting(name, variable)}: '{text}' is not a single number", hint="use a single number for each end of a range"
        )
    return float(value.reshape(()))
