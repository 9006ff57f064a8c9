"""The search for a root: Newton's method, then a trust region, from the start and from further starts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.lazy import library
from autodiff_cli.solvers.minima.problem import OutOfTime
from autodiff_cli.solvers.roots.problem import EPS, Point, RootProblem, newton, norm
from autodiff_cli.solvers.roots.verification import Verification, verify

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.command_result import Record


class Walk:
    """The steps that are taken from one or several starts.

    Args:
        problem: the equations.
        seconds: the maximum processor time of all steps.

    Attributes:
        steps: one record for each accepted step from the last start: the point, the norm of the residuals, the length of the
            step and what was done.
    """

    def __init__(self, problem: RootProblem, seconds: float) -> None:
        self.problem = problem
        self.steps: list[Record] = []
        self._end = time.thread_time() + seconds

    @property
    def expired(self) -> bool:
        """Whether no time is left."""
        return time.thread_time() > self._end

    def begin(self, x: Vector) -> Point:
        """Begin at a start, and return its point."""
        self.steps = []
        point = self.problem.at(x)
        self.take(point, 0.0, "start")
        return point

    def take(self, point: Point, length: float, done: str) -> None:
        """Record an accepted step."""
        x = dict(zip(self.problem.labels, map(float, point.x), strict=True))
        self.steps.append({"step": len(self.steps), **x, "residual": norm(point.f), "length": length, "done": done})


def trust_region(walk: Walk, start: Point) -> Point:
    """Return the minimum of the norm of the residuals that SciPy's trust-region method reaches."""
    if not start.f.any():
        return start
    last, size = start, norm(start.f)

    def at(x: Vector) -> Point:
        if walk.expired:
            raise OutOfTime
        return walk.problem.at(x)

    def residuals(x: Vector) -> Vector:
        return np.nan_to_num(at(x).f / size, nan=_HUGE, posinf=_HUGE, neginf=-_HUGE)

    def jacobian(x: Vector) -> Matrix:
        """Return the Jacobian matrix at the start, or at a point that is accepted."""
        nonlocal last
        if not np.array_equal(x, last.x):
            point = at(x)
            walk.take(point, norm(x - last.x), "newton")
            last = point
        return np.nan_to_num(last.jacobian / size, nan=0.0, posinf=_HUGE, neginf=-_HUGE)

    solve = library("scipy.optimize", "root").least_squares
    scale = "jac" if len(start.f) >= len(start.x) else 1.0  # with fewer equations than unknowns, the steps are the shortest ones
    with suppress(OutOfTime):
        solve(residuals, start.x, jacobian, ftol=None, xtol=1.01 * EPS, gtol=None, x_scale=scale, max_nfev=MOST_STEPS)
    return last


_HUGE = 1e100
"""The number in place of one that is not finite."""
MOST_STEPS = 200
"""The maximum number of points of the trust region from one start."""
MOST_SECONDS = 2.0
"""The time for further starts; the first start always gets all of its steps."""
MOST_STARTS = 30
"""The maximum number of starts of one search."""
_MOST_NEWTON = 60
"""The maximum number of shortened Newton steps."""
_RANK = {"root": 0, "multiple_root": 1, "jump": 2, "undefined": 2, "minimum_of_norm": 3, "flat": 4, "not_converged": 5}


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
        check: the verification of the best point.
        steps: the steps from the start that led to the point.
        starts: the number of starts that were tried.
    """

    check: Verification
    steps: list[Record]
    starts: int


def search(problem: RootProblem, start: Vector, seconds: float = MOST_SECONDS) -> SearchResult:
    """Look for a root from a start, and from further starts if the iterations end at a minimum of the norm.

    Args:
        problem: the equations.
        start: the n starting values.
        seconds: the time for all starts.
    """
    with np.errstate(all="ignore"):
        return _search(problem, start, Walk(problem, seconds))


def _search(problem: RootProblem, start: Vector, walk: Walk) -> SearchResult:
    best: SearchResult | None = None
    for number, x in enumerate(starts(start), 1):
        for iterate in (_newton, trust_region):
            point = walk.begin(x)
            if not point.finite:
                break
            check = verify(problem, _newton(walk, iterate(walk, point), 1).x)
            if best is None or (_RANK[check.verdict], norm(check.point.f)) < (_RANK[best.check.verdict], norm(best.check.point.f)):
                best = SearchResult(check, walk.steps, number)
            if check.converged:
                return best
        if walk.expired or number == MOST_STARTS:
            break
    best = best or SearchResult(verify(problem, start), walk.steps, 1)
    return best._replace(starts=number)


def _newton(walk: Walk, point: Point, trials: int = 8) -> Point:
    """Return the point that Newton steps reach, each shortened until the residuals decrease; one trial records no steps.

    Steps that shrink by a constant factor are extrapolated to their limit, a multiple root.
    """
    last = 0.0
    for _ in range(_MOST_NEWTON):
        if not point.finite or not point.f.any():
            break
        step, _ = newton(point.jacobian, point.f)
        longest = float(np.max(np.abs(step) / (np.abs(point.x) + 1)))
        ratio, last = norm(step) / last if last else 0.0, norm(step)
        leaps = [1 / (1 - ratio)] if trials > 1 and 0.4 < ratio < 0.95 else []
        factors = [*leaps, *(1 / max(1.0, longest) / 4**k for k in range(trials))]
        points = (walk.problem.at(point.x + factor * step) for factor in factors)
        reached = next((reached for reached in points if norm(reached.f) < norm(point.f)), None)
        if reached is None:
            break
        if trials > 1:
            walk.take(reached, norm(reached.x - point.x), "newton")
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
