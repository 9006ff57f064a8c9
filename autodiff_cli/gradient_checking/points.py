"""Points for ``gradcheck``: lists of values, and samples of ranges."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.evaluation.bindings import constant_value, from_file, split_bindings
from autodiff_cli.evaluation.ranges import COLON, parse_ranges
from autodiff_cli.language.tree import split_outside_brackets
from autodiff_cli.limits import check_count

MOST_POINTS = 10_000
_SAMPLES = 20
"""The number of points in a range that does not state it."""
_COMMA = re.compile(",")
_AT = setting("at")

Point = dict[str, Any]


class At:
    """The values of variables, parsed from ``x=1``, ``x=1,2,3`` or ``x=-2:2:50``; several texts may add values of one variable.

    A variable without a value, with more than one range, or with both a range and values is an error.

    Attributes:
        values: the list of values of each variable.
        ranges: the lower and the upper end of the range of each sampled variable.
        samples: the largest number of points of a range, which all ranges have; 0 without ranges.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.values: dict[str, list[Any]] = {}
        self.ranges: dict[str, tuple[float, float]] = {}
        self.samples = 0
        for text in texts:
            for name, value in split_bindings(text, "at"):
                self._add(name, value)

    def _add(self, name: str, value: str) -> None:
        """Add the values of a variable, or its range; ``@file`` is one value, the array in the file; an empty text is an error."""
        if not value:
            raise UsageError(f"the value of '{name}' in {_AT} is empty", hint=f"write {setting('at', f'{name}=1')}")
        is_file = value.startswith("@")
        is_range = not is_file and len(split_outside_brackets(value, COLON)) > 1
        if name in self.ranges or (is_range and name in self.values):
            raise UsageError(f"'{name}' is given twice with {_AT}", hint="give each variable either one range or values")
        if is_range:
            (span,) = parse_ranges([f"{name}={value}"], "at")
            self.ranges[name] = span.low, span.high
            self.samples = max(self.samples, span.samples or _SAMPLES)
        elif is_file:
            self.values.setdefault(name, []).append(from_file(value[1:]))
        else:
            numbers = [constant_value(part, "at", name) for part in split_outside_brackets(value, _COMMA)]
            self.values.setdefault(name, []).extend(numbers)

    def points(self, seed: int = 0) -> list[Point]:
        """Return every combination of values, each with every sample of the ranges, drawn by the seed; too many are an error."""
        count = math.prod(map(len, self.values.values())) * (self.samples if self.ranges else 1)
        check_count(count, MOST_POINTS, "gradcheck would check {} points, more than the limit of {}")
        points = [dict(zip(self.values, values, strict=True)) for values in itertools.product(*self.values.values())]
        if not self.ranges:
            return points
        samples = [dict(zip(self.ranges, row, strict=True)) for row in self._latin_hypercube(self.samples, seed).tolist()]
        return [{**point, **sample} for point in points for sample in samples]

    def _latin_hypercube(self, samples: int, seed: int) -> NDArray[np.float64]:
        """Return a random sample of the ranges, sorted by the first range; the shape is (samples, ranges).

        The first and the last row are the lower and the upper ends.  For the other rows, each range is divided into equal parts,
        and each part contains one value of the sample (Latin hypercube sampling).
        """
        generator = np.random.default_rng(seed)
        inner = samples - 2  # rows between the first and the last
        columns = []
        for i, (low, high) in enumerate(self.ranges.values()):
            parts = np.arange(inner) if i == 0 else generator.permutation(inner)  # the part that each row takes
            fractions = (parts + generator.random(inner)) / max(inner, 1)
            columns.append(np.concatenate([[low], low + fractions * (high - low), [high]]))
        return np.array(columns).T
