"""Exact sums of floating-point numbers, so that a sum does not depend on the order of its terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.arrays import Floats, Indices, Vector

Number = TypeVar("Number", np.int64, np.float64)
_BITS = 32
"""The number of bits of a digit."""
_ROWS = 1 << 14
"""The number of rows that are added together, few enough for the cache of a processor."""
_MOST_ROWS = 1 << 20
"""The maximum number of rows that are added together: a float64 represents their sum of digits exactly."""
_CARRY = 1 << 29
"""The number of terms after which digits are carried, so that an int64 represents the sum of two sums of digits."""


class ExactSums:
    """The exact sums of groups of numbers.

    A float is a number in base 2**32 with few digits.  The digits at each position are added as integers, so sums of parts can
    be added in any order, and a sum is rounded only once.

    Args:
        groups: the number of groups.

    Attributes:
        digits: the sum of the digits of each group, by position; a digit at position k stands for multiples of 2**(32*k).
        others: the sum of the numbers of each group that are not finite; 0 if all numbers are finite.  Arrays may be longer
            than the number of groups.
        terms: the number of terms since digits were carried.
    """

    def __init__(self, groups: int) -> None:
        self.digits: dict[int, NDArray[np.int64]] = {}
        self.others = np.zeros(groups)
        self.terms = 0

    def add(self, values: Floats, codes: Indices) -> None:
        """Add numbers to the sums of their groups.

        Args:
            values: the numbers.
            codes: the group of each number.
        """
        groups = len(self.others)
        step = min(max(_ROWS, groups), _MOST_ROWS)
        for start in range(0, len(values), step):
            part, own = values[start : start + step].astype(np.float64), codes[start : start + step]
            finite = np.isfinite(part)
            if not finite.all():
                with np.errstate(invalid="ignore"):  # inf - inf
                    np.add.at(self.others, own[~finite], part[~finite])
                part[~finite] = 0
            for position, digits in _digits(part):
                self._at(position)[:] += np.bincount(own, digits, groups).astype(np.int64)
            self._count(len(part))

    def merge(self, more: ExactSums, places: Indices, groups: int) -> None:
        """Add other sums.

        Args:
            more: the sums to add.
            places: the group of each of these sums, all different.
            groups: the number of groups of the result.
        """
        self.digits = {position: grown(digits, groups) for position, digits in self.digits.items()}
        self.others = grown(self.others, groups)
        for position, digits in more.digits.items():
            self._at(position)[places] += digits[: len(places)]
        with np.errstate(invalid="ignore"):
            self.others[places] += more.others[: len(places)]
        self._count(more.terms)

    def rounded(self, divisors: NDArray[np.int64], start: int = 0) -> Vector:
        """Return the sums of consecutive groups, each divided by an integer, as the nearest float64; nan if the integer is 0.

        Args:
            divisors: the divisor of each group.
            start: the first group.
        """
        groups = slice(start, start + len(divisors))
        lowest, highest = min(self.digits, default=0), max(self.digits, default=0)
        numbers = np.zeros(len(divisors), object)
        for position in range(highest, lowest - 1, -1):
            numbers = (numbers << _BITS) + self._at(position)[groups].astype(object)
        scale, divisor_scale = 1 << max(lowest * _BITS, 0), 1 << max(-lowest * _BITS, 0)
        found = _quotients(numbers * scale, divisors.astype(object) * divisor_scale).astype(np.float64)
        others = self.others[groups]
        return np.where(others == 0, found, others)

    def _at(self, position: int) -> NDArray[np.int64]:
        """Return the sums of the digits at a position."""
        if position not in self.digits:
            self.digits[position] = np.zeros(len(self.others), np.int64)
        return self.digits[position]

    def _count(self, terms: int) -> None:
        """Count terms, and carry digits before they overflow."""
        self.terms += terms
        if self.terms < _CARRY:
            return
        self.terms = 0
        for position in range(min(self.digits, default=0), max(self.digits, default=-1) + 1):
            digits = self._at(position)
            carried = (digits + (1 << (_BITS - 1))) >> _BITS
            if carried.any():
                digits -= carried << _BITS
                self._at(position + 1)[:] += carried


def grown(array: NDArray[Number], length: int) -> NDArray[Number]:
    """Return an array of at least a length, with zeros after its elements; repeated growth takes linear time."""
    return array if len(array) >= length else np.pad(array, (0, max(length, 2 * len(array)) - len(array)))


def _digits(values: Vector) -> Iterator[tuple[int, Vector]]:
    """Yield the digits of finite numbers, with the sign of the number: the position, and the digit of each number."""
    base = 2.0**_BITS
    rest = np.trunc(values)
    fraction = values - rest
    if rest.any():
        # An integer has no bit below 1, so scaling does not lose a bit.
        top = (int(np.frexp(np.abs(rest).max())[1]) - 1) // _BITS
        rest *= base**-top
        for position in range(top, -1, -1):
            digits = np.trunc(rest)
            yield position, digits
            rest = (rest - digits) * base
    position = 0
    while fraction.any():
        position -= 1
        fraction *= base
        digits = np.trunc(fraction)
        fraction -= digits
        if digits.any():
            yield position, digits


def _quotient(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")
    except ZeroDivisionError:
        return float("nan")


_quotients = np.frompyfunc(_quotient, 2, 1)
