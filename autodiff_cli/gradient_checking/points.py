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

    Attributes:
        values: the list of values of each variable.
        ranges: the lower and the upper end of the range of each sampled variable.
        samples: the largest number of points of a range, which all ranges have; 0 without ranges.

    Raises:
        UsageError: if a variable does not have a value, or has more than one range or both a range and values.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.values: dict[str, list[Any]] = {}
        self.ranges: dict[str, tuple[float, float]] = {}
        self.samples = 0
        for name, value in (pair for text in texts for pair in split_bindings(text, "at")):
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
        """Return every combination of values, each with the points of the ranges, which are sampled with a seed.

        Raises:
            LimitError: if there are more than 10,000 points.
        """
        count = math.prod(map(len, self.values.values())) * (self.samples if self.ranges else 1)
        check_count(count, MOST_POINTS, "gradcheck would check {} points, more than the limit of {}")
        fixed = [dict(zip(self.values, chosen, strict=True)) for chosen in itertools.product(*self.values.values())]
        if not self.ranges:
            return fixed
        places = self._drawn(self.samples, seed).tolist()
        return [{**point, **dict(zip(self.ranges, place, strict=True))} for point in fixed for place in places]

    def _drawn(self, samples: int, seed: int) -> NDArray[np.float64]:
        """Draw a stratified sample of the ranges, sorted by the first range, with both ends; the shape is (samples, ranges)."""
        generator = np.random.default_rng(seed)
        columns = []
        for i, (low, high) in enumerate(self.ranges.values()):
            parts = np.arange(samples - 2) if i == 0 else generator.permutation(samples - 2)
            inner = low + (parts + generator.random(samples - 2)) / max(samples - 2, 1) * (high - low)
            columns.append(np.concatenate([[low], inner, [high]]))
        return np.array(columns).T
