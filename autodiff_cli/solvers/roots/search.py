"""The search for a root from a start: the iterations in turn, then further starts, until a root is verified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.solvers.roots.iteration import Step, Walk, newton_iteration, trust_region
from autodiff_cli.solvers.roots.problem import Point, Problem, newton, norm
from autodiff_cli.solvers.roots.verification import Check, verified

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector

MOST_STEPS = 200
MOST_SECONDS = 2.0
"""The time for further starts; the first start always gets all of its steps."""
MOST_STARTS = 30
_RANK = {"root": 0, "multiple_root": 1, "jump": 2, "undefined": 2, "minimum_of_norm": 3, "flat": 4, "not_converged": 5}


class Found:
    """The result of a search.

    Attributes:
        check: the verification of the best point.
        steps: the steps from the start that led to the point.
        starts: the number of starts that were tried.
    """

    def __init__(self, check: Check, steps: list[Step], starts: int) -> None:
        self.check = check
        self.steps = steps
        self.starts = starts


def search(problem: Problem, start: Vector, most: int = MOST_STEPS, seconds: float = MOST_SECONDS) -> Found:
    """Look for a root from a start, and from further starts if the iterations end at a minimum of the norm.

    Args:
        problem: the equations.
        start: the n starting values.
        most: the maximum number of steps of an iteration from one start.
        seconds: the time for all starts.
    """
    with np.errstate(all="ignore"):
        return _search(problem, start, Walk(problem, most, seconds))


def _search(problem: Problem, start: Vector, walk: Walk) -> Found:
    best: Found | None = None
    for number, x in enumerate(starts(start)):
        for iterate in (newton_iteration, trust_region):
            first = len(walk.steps)
            point = walk.begin(x)
            if not point.finite:
                break
            check = verified(problem, _polished(problem, iterate(walk, point)).x)
            if best is None or (_RANK[check.verdict], norm(check.point.f)) < (_RANK[best.check.verdict], norm(best.check.point.f)):
                best = Found(check, walk.steps[first:], number + 1)
            if check.converged:
                return best
            if walk.expired:
                break
        if walk.expired or number + 1 >= MOST_STARTS:
            break
    if best is None:
        best = Found(verified(problem, start), walk.steps, 1)
    best.starts = number + 1
    return best


def _polished(problem: Problem, point: Point) -> Point:
    """Return the point after further Newton steps, as long as they decrease the residuals."""
    for _ in range(10):
        if not point.finite or not point.f.any():
            return point
        reached = problem.at(point.x + newton(point.jacobian, point.f)[0])
        if not np.isfinite(reached.f).all() or norm(reached.f) >= norm(point.f):
            return point
        point = reached
    return point


def starts(start: Vector) -> Iterator[Vector]:
    """Yield the start, then points around it and further away: equal for equal starts."""
    yield start
    size = np.maximum(np.abs(start), 0.1 * float(np.max(np.abs(start), initial=0.0)) or 1.0)
    for part in (0.1, 0.01, -1.0):
        yield part * start
    yield np.ones_like(start)
    yield np.zeros_like(start)
    # The additive recurrence with the generalised golden ratio covers a box evenly in any number of dimensions.
    n = len(start)
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (n + 1))
    weights = ratio ** -np.arange(1.0, n + 1)
    for k in range(1, MOST_STARTS):
        unit = 2 * np.modf(0.5 + k * weights)[0] - 1
        yield (start + unit * size, unit * size, unit, start + 0.3 * unit * size)[k % 4]
