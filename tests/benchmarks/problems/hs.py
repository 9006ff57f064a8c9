"""Problems of Hock and Schittkowski, Test Examples for Nonlinear Programming Codes, Springer LNEMS 187, 1981.

The variables are x1, x2, ...  The minima are those of the book and, after them, other known local minima.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

Interval = tuple[float, float]
INF = math.inf


class Constrained(NamedTuple):
    """A problem of the collection.

    Attributes:
        number: the number in the book.
        objective: the function to be minimized.
        start: the start in the book.
        subject: the constraints.
        bounds: the interval of each variable that has one.
        minima: the known local minima, first the one of the book.
    """

    number: int
    objective: str
    start: tuple[float, ...]
    subject: tuple[str, ...]
    bounds: Mapping[str, Interval]
    minima: tuple[float, ...]

    @property
    def at(self) -> dict[str, float]:
        """The start by variable."""
        return {f"x{i}": value for i, value in enumerate(self.start, 1)}


def _bounds(given: Mapping[str, Sequence[float | None]]) -> dict[str, Interval]:
    return {name: (-INF if low is None else low, INF if high is None else high) for name, (low, high) in given.items()}


PROBLEMS: tuple[Constrained, ...] = tuple(
    Constrained(
        one["number"],
        one["objective"],
        tuple(one["start"]),
        tuple(one.get("subject", ())),
        _bounds(one.get("bounds", {})),
        tuple(one["minima"]),
    )
    for one in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
)
"""The problems whose functions can be stated in a few lines."""
