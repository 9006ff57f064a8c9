"""Comparison of recorded with printed text: the same on every machine, but for the rounding of the last digits.

NumPy and the C library use other instructions on other processors, so that the 16th and 17th digits of a number, and a
difference that is only rounding, are not the same everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
_ALL_DIGITS = 15
"""Numbers with at least so many significant digits are printed in full."""


def agrees(printed: str, expected: str) -> bool:
    """Return whether two texts are equal, except for the rounding of their numbers."""
    return equal_but_for_numbers(printed, expected, _close)


def equal_but_for_numbers(printed: str, expected: str, close: Callable[[str, str], bool]) -> bool:
    """Return whether two texts are equal, and each pair of their numbers is close."""
    if _NUMBER.sub("0", printed) != _NUMBER.sub("0", expected):
        return False
    return all(map(close, _NUMBER.findall(printed), _NUMBER.findall(expected)))


def _close(one: str, other: str) -> bool:
    if one == other:
        return True
    first, second = float(one), float(other)
    if max(abs(first), abs(second)) < 1e-13:  # differences that are only rounding have few digits
        return max(map(_digits, (one, other))) <= 3
    return max(map(_digits, (one, other))) >= _ALL_DIGITS and math.isclose(first, second, rel_tol=1e-13)


def _digits(number: str) -> int:
    return len(re.sub(r"e.*|\D", "", number).lstrip("0"))
