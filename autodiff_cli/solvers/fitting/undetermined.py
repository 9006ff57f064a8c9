"""Parameters that the data do not determine, named in words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.fitting.engine.minimize import Objective
from autodiff_cli.solvers.fitting.engine.optimality import determined
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.arrays import Vector


PART = 1e-4
"""The smallest relative change of a parameter along a direction that counts."""
TINY = 1e-100
"""The size below which a parameter counts as 0."""
SAME = 1e-9
"""The largest relative difference of two values of the objective that are equal up to rounding."""

_PAIRS: tuple[tuple[str, Callable[[float, float, float], tuple[float, float]]], ...] = (
    ("{}*{}", lambda a, b, t: (a * t, b / t)),
    ("{}/{}", lambda a, b, t: (a * t, b * t)),
    ("{} + {}", lambda a, b, t: (a + t, b - t)),
    ("{} - {}", lambda a, b, t: (a + t, b + t)),
)
"""Combinations of two parameters, each with a movement that does not change the combination."""


def undetermined(objective: Objective, point: Vector, names: tuple[str, ...], null: NDArray[np.float64]) -> str:
    """Return a sentence that names what the data do not determine.

    A pair of parameters that occurs only as a product, quotient, sum or difference is recognised by moving along it: the
    objective must not change.

    Args:
        objective: the objective.
        point: the parameters.
        names: their names.
        null: the directions in which the residuals do not change, as rows of changes of the parameters.
    """
    sizes = np.abs(null) / np.where(np.abs(point) < TINY, 1.0, np.abs(point))
    moving = (sizes > PART * np.max(sizes, axis=1, keepdims=True)).any(axis=0)
    involved = [i for i in range(len(names)) if moving[i]] or list(range(len(names)))
    alone = [names[i] for i in involved if _unmoved(objective, point, {i: point[i] * 1.5 + 0.1})]
    if alone or len(involved) == 1:
        return f"the data do not determine {listed(alone or [names[i] for i in involved])}"
    for i, j in itertools.combinations(involved, 2):
        for text, move in _PAIRS:
            trials = [move(float(point[i]), float(point[j]), t) for t in (1.25, 0.8)]
            if point[i] and point[j] and all(_unmoved(objective, point, {i: a, j: b}) for a, b in trials):
                return f"the data determine only {text.format(names[i], names[j])}, not {names[i]} and {names[j]}"
    return f"the data determine only a combination of {listed(names[i] for i in involved)}, not each of them"


def all_determined(objective: Objective, point: Vector) -> bool:
    """Return whether the data determine all parameters near a point, such as the start, to first order."""
    linear = objective.linear(point[None])
    return bool(linear.finite[0] and determined(linear)[0])


def _unmoved(objective: Objective, point: Vector, moves: dict[int, float]) -> bool:
    """Return whether the objective keeps its value when parameters move."""
    moved = point[None].copy()
    for i, value in moves.items():
        moved[0, i] = value
    before, after = (float(objective.value(each)[0]) for each in (point[None], moved))
    return bool(abs(after - before) <= SAME * abs(before)) if before else after == 0
