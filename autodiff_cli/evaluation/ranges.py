"""What to plot over: ``x=-pi:2*pi``, ``x=0:1:500``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from autodiff_cli.errors import UsageError
from autodiff_cli.evaluation.bindings import constant, named
from autodiff_cli.language.tree import pieces

MOST_SAMPLES = 1_000_000
COLON = re.compile(":")
NARROWEST = 1e-290
"""Widths below this are lost where they are multiplied by sizes of a screen."""


@dataclass(frozen=True)
class Range:
    """A variable, from where to where, and in how many samples if that was said."""

    name: str
    low: float
    high: float
    samples: int | None = None


def ranges(texts: Iterable[str], option: str = "--over") -> list[Range]:
    """The ranges of ``NAME=FROM:TO`` and ``NAME=FROM:TO:SAMPLES``; the ends are expressions of constants.

    Raises:
        UsageError: for a range that is empty, backwards, not finite or has one side only, and a name that is given twice.
    """
    found: dict[str, Range] = {}
    for text in texts:
        for name, value in named(text, option, "-3:3"):
            if name in found:
                raise UsageError(f"'{name}' is given twice with {option}", hint="give each variable one range")
            found[name] = _range(name, value, option)
    return list(found.values())


def interval(text: str, option: str) -> tuple[float, float]:
    """The two ends of ``FROM:TO``.

    Raises:
        UsageError: as ``ranges`` does.
    """
    low, high, _ = _parts(text, option, "", option)
    return low, high


def _range(name: str, text: str, option: str) -> Range:
    low, high, third = _parts(text, option, name, f"{option} {name}")
    samples = None if third is None else count(third, f"{option} {name}")
    return Range(name, low, high, samples)


def count(text: str, label: str) -> int:
    """A number of samples.

    Raises:
        UsageError: if it is none.
    """
    value = _number(text, label, "")
    if not 2 <= value <= MOST_SAMPLES or value != int(value):
        raise UsageError(f"{label}: the number of samples must be a whole one from 2 to {MOST_SAMPLES:,}, not {text.strip()}")
    return int(value)


def _parts(text: str, option: str, name: str, label: str) -> tuple[float, float, str | None]:
    def write(low: object, high: object) -> str:
        return f"write {option} {name}{'=' if name else ''}{low}:{high}"

    parts = pieces(text, COLON)
    if len(parts) > (3 if name else 2):
        wanted = "two ends and a number of samples" if name else "two ends"
        raise UsageError(
            f"{label}: a range has {wanted}, but '{text}' has {len(parts)} parts", hint=write(0, "1:500" if name else 1)
        )
    if len(parts) < 2 or not parts[0] or not parts[1]:
        given = next((part for part in parts if part), "")
        if not given:
            raise UsageError(f"{label}: the range '{text}' has no ends", hint=write(-3, 3))
        backwards = len(parts) > 1 and not parts[0]
        raise UsageError(
            f"{label}: the range '{text}' has one end only", hint=write(*("FROM", given) if backwards else (given, "TO"))
        )
    low, high = _number(parts[0], option, name), _number(parts[1], option, name)
    if not math.isfinite(high - low):
        raise UsageError(f"{label}: the range {text} is not finite", hint=write(-10, 10))
    if low > high:
        raise UsageError(f"{label}: the range {text} goes backwards", hint=write(parts[1], parts[0]))
    if high - low < max(1e4 * np.spacing(max(abs(low), abs(high))), NARROWEST):
        size = "empty" if low == high else "too narrow for floating-point numbers"
        raise UsageError(f"{label}: the range {text} is {size}", hint=write(f"{low - 1:g}", f"{high + 1:g}"))
    return low, high, parts[2] if len(parts) > 2 else None


def _number(text: str, option: str, name: str) -> float:
    value = np.asarray(constant(text, option, name))
    if value.size != 1:
        raise UsageError(f"{f'{option} {name}'.strip()}: '{text}' is no single number", hint="an end of a range is one number")
    return float(value.reshape(()))
