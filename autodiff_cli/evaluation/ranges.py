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
"""The maximum number of samples of a range; as many take about a second."""
COLON = re.compile(":")
NARROWEST = 1e-290
"""The minimum width of a range; narrower ranges are lost in screen coordinates."""
_FEWEST_STEPS = 1e4
"""The minimum width of a range as a multiple of the distance of floating-point numbers at its ends."""


@dataclass(frozen=True)
class Range:
    """The range of a variable; ``samples`` is ``None`` if the number of samples is not given."""

    name: str
    low: float
    high: float
    samples: int | None = None


def parse_ranges(texts: Iterable[str], name: str = "over") -> list[Range]:
    """Parse texts such as ``NAME=FROM:TO`` and ``NAME=FROM:TO:SAMPLES`` of the setting ``name``; the ends are constant expressions.

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
    """Return the two ends of ``FROM:TO``; the errors are those of ``parse_ranges``."""
    return _range_parts(text, name, "")[:2]


def parse_sample_count(text: str, name: str, variable: str = "") -> int:
    """Return a number of samples; a text that is not a whole number in the permitted range is an error."""
    value = _single_number(text, name, variable)
    if not 2 <= value <= MOST_SAMPLES or value != int(value):
        label = setting(name, variable)
        raise UsageError(f"{label}: the number of samples must be a whole number from 2 to {MOST_SAMPLES:,}, not {text.strip()}")
    return int(value)


def _range_parts(text: str, name: str, variable: str) -> tuple[float, float, str | None]:
    """Return the ends of a range, which must be finite and ascending, and the text of its number of samples or ``None``."""
    low_text, high_text, *samples = _range_texts(text, name, variable)
    low, high = _single_number(low_text, name, variable), _single_number(high_text, name, variable)
    problem, ends = None, ("-10", "10")  # the ends of the range in the hint
    if not math.isfinite(high - low):
        problem = "is not finite"
    elif low > high:
        problem, ends = "goes backwards", (high_text, low_text)
    elif high - low < max(_FEWEST_STEPS * np.spacing(max(abs(low), abs(high))), NARROWEST):
        problem = "is empty" if low == high else "is too narrow for floating-point numbers"
        ends = (f"{low - 1:g}", f"{high + 1:g}")
    if problem is not None:
        raise UsageError(f"{setting(name, variable)}: the range {text} {problem}", hint=_range_hint(name, variable, *ends))
    return low, high, samples[0] if samples else None


def _range_hint(name: str, variable: str, low: object, high: object) -> str:
    """Return how to write a range in the setting ``name``; ``variable`` is empty if the setting is the range itself."""
    return f"write {setting(name, f'{variable}={low}:{high}' if variable else f'{low}:{high}')}"


def _range_texts(text: str, name: str, variable: str) -> list[str]:
    """Return the texts of the two ends of a range, and that of its number of samples, which only one of a variable may have."""
    label = setting(name, variable)
    parts = split_outside_brackets(text, COLON)
    if len(parts) > (3 if variable else 2):
        form = "two ends and a number of samples" if variable else "two ends"
        hint = _range_hint(name, variable, 0, "1:500" if variable else 1)
        raise UsageError(f"{label}: a range has {form}, but '{text}' has {len(parts)} parts", hint=hint)
    if len(parts) < 2 or not parts[0] or not parts[1]:
        end = next((part for part in parts if part), "")
        if not end:
            raise UsageError(f"{label}: the range '{text}' has no ends", hint=_range_hint(name, variable, -3, 3))
        ends = as_range(end) or (f"FROM:{end}" if len(parts) > 1 and not parts[0] else f"{end}:TO")
        raise UsageError(f"{label}: the range '{text}' has only one end", hint=_range_hint(name, variable, *ends.split(":")))
    return parts


def _single_number(text: str, name: str, variable: str) -> float:
    """Return the value of an expression that is one number."""
    value = np.asarray(constant_value(text, name, variable))
    if value.size != 1:
        hint = "use a single number for each end of a range"
        raise UsageError(f"{setting(name, variable)}: '{text}' is not a single number", hint=hint)
    return float(value.reshape(()))
