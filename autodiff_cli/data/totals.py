"""Sums and means of results over all rows, or over the rows of each group."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.arrays import Floats, Indices, Vector
from autodiff_cli.data.column_values import json_text, numbered, numbered_keys, python_values
from autodiff_cli.data.row_blocks import Block, Column, Results, only

Number = TypeVar("Number", np.int64, np.float64, np.object_)
_BITS = 32
"""The number of bits of a digit."""
_DIGITS = 3
"""The number of digits of a float64, whose 53 bits may begin anywhere in the first digit."""
_ROWS = 1 << 14
"""The number of rows that are added together, few enough for the cache of a processor."""
_MOST_ROWS = 1 << 20
"""The maximum number of rows that are added together: a float64 represents their sum of digits exactly."""


class ExactSums:
    """The exact sums of groups of numbers.

    A float is a number in base 2**32 with few digits.  The digits at each position are added as integers, so sums of parts can
    be added in any order, and a sum is rounded only once.

    Args:
        groups: the number of groups.

    Attributes:
        numbers: the sum of the finite numbers of each group, as an integer in the unit 2**(32*lowest).
        lowest: the position of the lowest digit; at most 0.
        others: the sum of the numbers of each group that are not finite; 0 if all numbers are finite.  Arrays may be longer
            than the number of groups.
    """

    def __init__(self, groups: int) -> None:
        self.numbers = np.zeros(groups, object)
        self.lowest = 0
        self.others = np.zeros(groups)

    def add(self, values: Floats, codes: Indices) -> None:
        """Add numbers to the sums of their groups; ``codes`` are the positions of these groups."""
        groups = len(self.others)
        sums: dict[int, NDArray[np.int64]] = defaultdict(lambda: np.zeros(groups, np.int64))
        step = min(max(_ROWS, groups), _MOST_ROWS)
        for start in range(0, len(values), step):
            part, part_codes = values[start : start + step].astype(np.float64), codes[start : start + step]
            finite = np.isfinite(part)
            if not finite.all():
                with np.errstate(invalid="ignore"):  # inf - inf
                    np.add.at(self.others, part_codes[~finite], part[~finite])
                part[~finite] = 0
            for position, digits in _digits(part):
                sums[position] += np.bincount(part_codes, digits, groups).astype(np.int64)
        for position in sorted(sums):
            self._add_integers(sums[position].astype(object), position, slice(groups))

    def merge(self, more: ExactSums, places: Indices, groups: int) -> None:
        """Add other sums; ``places`` is the group of each of them, all different, and ``groups`` the number of groups then."""
        self.numbers, self.others = grown(self.numbers, groups), grown(self.others, groups)
        self._add_integers(more.numbers[: len(places)], more.lowest, places)
        with np.errstate(invalid="ignore"):
            self.others[places] += more.others[: len(places)]

    def rounded(self, divisors: NDArray[np.int64], start: int = 0) -> Vector:
        """Return the sums of groups from ``start`` on, each divided by an integer, as the nearest float64; nan if that is 0."""
        groups = slice(start, start + len(divisors))
        denominators = divisors.astype(object) << -_BITS * self.lowest  # in the unit of the sums, 2**(32*lowest)
        sums = _quotients(self.numbers[groups], denominators).astype(np.float64)
        others = self.others[groups]
        return np.where(others == 0, sums, others)

    def _add_integers(self, numbers: NDArray[np.object_], position: int, places: slice | Indices) -> None:
        """Add integers in the unit of a digit's position, which becomes the lowest one if it is lower, to the sums of groups."""
        if position < self.lowest:
            self.numbers <<= _BITS * (self.lowest - position)
            self.lowest = position
        self.numbers[places] += numbers << _BITS * (position - self.lowest)


def grown(array: NDArray[Number], length: int) -> NDArray[Number]:
    """Return an array of at least a length, with zeros after its elements; repeated growth takes linear time."""
    if len(array) >= length:
        return array
    return np.concatenate([array, np.zeros(max(length - len(array), len(array)), array.dtype)])


def _digits(values: Vector) -> Iterator[tuple[int, Vector]]:
    """Yield the digits of finite numbers, with the sign of the number: the position, and the digit of each number."""
    base = 2.0**_BITS
    mantissas, exponents = np.frexp(values)
    places, shifts = np.divmod(exponents, _BITS)
    numbers = np.ldexp(mantissas, shifts)  # with one digit before the point
    for place in np.unique(places[values != 0]).tolist():  # the position of the first digit; other numbers are 0 here
        rest = np.where(places == place, numbers, 0.0)
        for position in range(place, place - _DIGITS, -1):
            digits = np.trunc(rest)
            yield position, digits
            rest = (rest - digits) * base


def _quotient(numerator: int, denominator: int) -> float:
    """Return the nearest float to a quotient: infinite if it is too large, nan if the denominator is 0."""
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")
    except ZeroDivisionError:
        return float("nan")


_quotients = np.frompyfunc(_quotient, 2, 1)


class Totals:
    """The sums of results over groups of rows; a group consists of the rows with equal values in all copied columns.

    Without copied columns, all rows are one group, even without rows.

    Args:
        results: the number of results.

    Attributes:
        sums: the sums of each result.
        rows: the number of rows of each group.
        firsts: the first row of each group, in order of their first occurrence.
    """

    def __init__(self, results: int) -> None:
        self.sums = [ExactSums(0) for _ in range(results)]
        self.rows = np.zeros(0, np.int64)
        self.firsts: list[Block] = []
        self._places: dict[Hashable, int] = {}

    @classmethod
    def from_block(cls, block: Block, results: Results) -> Totals:
        """Return the totals of the rows of a block."""
        codes, keys = _grouped(block)
        totals = cls(0)
        totals._places = {key: i for i, key in enumerate(keys)}
        totals.rows = np.bincount(codes, minlength=len(keys)).astype(np.int64)
        for values in results:
            totals.sums.append(ExactSums(len(keys)))
            totals.sums[-1].add(values, codes)
        is_first = np.zeros(block.rows, bool)
        is_first[np.unique(codes, return_index=True)[1]] = True
        one_row = Block(1, {}, {}, None, block.where, [0])  # for the group of all rows, even without rows
        totals.firsts = [only(block, is_first) if block.columns else one_row]
        return totals

    def add(self, more: Totals) -> None:
        """Add the totals of later rows; the first rows of groups that are new are appended to ``firsts``."""
        known = len(self._places)
        places = np.array([self._places.setdefault(key, len(self._places)) for key in more._places], np.intp)
        groups = len(self._places)
        for own, other in zip(self.sums, more.sums, strict=True):
            own.merge(other, places, groups)
        self.rows = grown(self.rows, groups)
        self.rows[places] += more.rows[: len(places)]
        is_new, start = places >= known, 0  # the first rows are in the order of the groups
        for block in more.firsts:
            new = is_new[start : start + block.rows]
            start += block.rows
            if new.any() or not self.firsts:
                self.firsts.append(block if new.all() else only(block, new))

    def results(self, mean: bool) -> Iterator[tuple[Block, list[Vector]]]:
        """Yield the first rows of groups with the sum, or the mean, of each result; there is at least one block."""
        start = 0
        for block in self.firsts:
            rows = self.rows[start : start + block.rows]
            yield block, [total.rounded(rows if mean else np.ones_like(rows), start) for total in self.sums]
            start += block.rows


def _grouped(block: Block) -> tuple[Indices, list[Hashable]]:
    """Return the group of each row, and a key for each group, in order of their first occurrence."""
    codes = np.zeros(block.rows, np.intp)
    keys: list[tuple[Hashable, ...]] = [()]
    for column in block.columns.values():
        column_codes, labels = numbered_keys(column, _keys)
        count = len(labels)
        codes, pairs = numbered((codes * count + column_codes).tolist())  # a group so far and a label, as one number
        keys = [(*keys[pair // count], labels[pair % count]) for pair in pairs]
    return codes, list(keys)


def _keys(column: Column) -> list[Hashable]:
    """Return the key of each value of a column, which is the value itself if all are strings and integers."""
    values = python_values(column)
    return values if set(map(type, values)) <= {str, int} else list(map(_key, values))


def _key(value: Any) -> Hashable:
    """Return a key that is equal for equal values; in Python, nan is not equal to nan, but 1 is equal to true."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
    return value if is_number or isinstance(value, str) else (json_text(value),)
