"""The problems of Moré, Garbow and Hillstrom whose minimum is not 0; see ``mgh`` for the others and for the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.problems import mgh


class Residuals(NamedTuple):
    """A problem of the collection.

    Attributes:
        number: the number in the paper.
        name: the name in the paper, with the dimension where the paper leaves a choice.
        residuals: the program whose last expression is the vector of the residuals.
        start: the standard start.
        minima: the known local minima of the sum of squares, to the six digits of the paper; the second minimum of Chebyquad for
            n = 10 is lower than the one of the paper.
    """

    number: int
    name: str
    residuals: str
    start: dict[str, float | list[float]]
    minima: tuple[float, ...]

    @property
    def objective(self) -> str:
        """The program of the sum of squares."""
        *definitions, last = self.residuals.split("; ")
        return "; ".join([*definitions, f"sum(({last})**2)"])


_OTHERS = [Residuals(**problem) for problem in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))]
_FURTHER = {2: (48.9842,), 18: (5.65565e-3,), 26: (2.79506e-5,), 27: (1.0,)}
"""The local minima of problems that also have the minimum 0."""
PROBLEMS: tuple[Residuals, ...] = tuple(
    sorted(
        [
            *_OTHERS,
            *(
                Residuals(each.number, each.name, each.residuals, {"x": list(each.start)}, (0.0, *_FURTHER.get(each.number, ())))
                for each in mgh.PROBLEMS
            ),
        ],
        key=lambda problem: problem.number,
    )
)
"""All problems; those with a choice of the dimension in dimensions for which the paper states the minimum."""
