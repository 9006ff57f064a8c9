"""The search for a root: Newton's method, then a trust region, from the start and from further starts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.lazy import library
from autodiff_cli.solvers.minima.problem import OutOfTime
from autodiff_cli.solvers.roots.problem import EPS, Point, RootProblem, newton_step, norm
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
        """Record an accepted step: where it led, its length, and what was done, such as ``newton``."""
        x = dict(zip(self.problem.system.labels, map(float, point.x), strict=True))
        self.steps.append({"step": len(self.steps), **x, "residual": norm(point.f), "length": length, "done": done})


def trust_region(walk: Walk, start: Point) -> Point:
    """Return the minimum of the norm of the residuals that SciPy's trust-region method reaches, or the last point in time."""
    if not start.f.any():
        return start
    last, unit = start, norm(start.f)  # the last accepted point, and the unit of the residuals

    def residuals(x: Vector) -> Vector:
        """Return the residuals at a point that SciPy tries, unless the time is over."""
        if walk.expired:
            raise OutOfTime
        return np.nan_to_num(walk.problem.at(x).f / unit, nan=_HUGE, posinf=_HUGE, neginf=-_HUGE)

    def jacobian(x: Vector) -> Matrix:
        """Return the Jacobian matrix at the start, or at a point that is thereby accepted, and record that step."""
        nonlocal last
        if not np.array_equal(x, last.x):
            point = walk.problem.at(x)
            walk.take(point, norm(x - last.x), "newton")
            last = point
        return np.nan_to_num(last.jacobian / unit, nan=0.0, posinf=_HUGE, neginf=-_HUGE)

    solve = library("scipy.optimize", "root").least_squares
    scale = "jac" if len(start.f) >= len(start.x) else 1.0  # with fewer equations than unknowns, the steps are the shortest ones
    with suppress(OutOfTime):
        solve(residuals, start.x, jacobian, ftol=None, xtol=1.01 * EPS, gtol=None, x_scale=scale, max_nfev=MOST_STEPS)
    return last


_HUGE = 1e100  # the number in place of one that is not finite
MOST_STEPS = 200  # the maximum number of points of the trust region from one start
MOST_SECONDS = 2.0  # the processor time for further starts; the first start always gets all of its steps
MOST_STARTS = 30  # the maximum number of starts of one search
_MOST_NEWTON = 60  # the maximum number of shortened Newton steps
_MOST_SHORTENED = 8  # lengths that are tried for a Newton step
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


@np.errstate(all="ignore")
def search(problem: RootProblem, start: Vector, seconds: float = MOST_SECONDS) -> SearchResult:
    """Return the first root that Newton steps or a trust region reach in time, from a start or others; else the best point."""
    walk = Walk(problem, seconds)
    best: SearchResult | None = None
    for number, x in enumerate(starts(start), 1):
        for iterate in (_newton, trust_region):
            point = walk.begin(x)
            if not point.finite:
                break
            polished = _newton(walk, iterate(walk, point), is_polish=True)
            check = verify(problem, polished.x)
            if best is None or _rank(check) < _rank(best.check):
                best = SearchResult(check, walk.steps, number)
            if check.converged:
                return best
        if walk.expired or number == MOST_STARTS:
            break
    best = best or SearchResult(verify(problem, start), walk.steps, 1)
    return best._replace(starts=number)


def _rank(check: Verification) -> tuple[int, float]:
    """Return the rank of a point among others: first by its verdict, then by its residuals; the best one has the lowest rank."""
    return _RANK[check.verdict], norm(check.point.f)


def _newton(walk: Walk, point: Point, is_polish: bool = False) -> Point:
    """Return the point that Newton steps reach, each divided by 4 until the residuals decrease.

    Steps that shrink by a constant factor leap to their limit, a multiple root.  A polish takes full steps and records none.
    """
    last_length = 0.0
    for _ in range(_MOST_NEWTON):
        if not point.finite or not point.f.any():
            break
        step, _ = newton_step(point.jacobian, point.f)
        length = norm(step)
        ratio = length / last_length if last_length else 0.0
        last_length = length
        full = 1 / max(1.0, float(np.max(np.abs(step) / (np.abs(point.x) + 1))))  # at most, |x| becomes 2*|x| + 1
        factors = [full] if is_polish else [full / 4**k for k in range(_MOST_SHORTENED)]
        if not is_polish and 0.4 < ratio < 0.95:
            factors.insert(0, 1 / (1 - ratio))  # the sum of this step and all after it, if each has this ratio to the one before
        points = (walk.problem.at(point.x + factor * step) for factor in factors)
        reached = next((reached for reached in points if norm(reached.f) < norm(point.f)), None)
        if reached is None:
            break
        if not is_polish:
            walk.take(reached, norm(reached.x - point.x), "newton")
        point = reached
    return point


def starts(start: Vector) -> Iterator[Vector]:
    """Yield a start, then points around it and around 0, from a sequence with low discrepancy (Roberts 2018)."""
    yield from (start, 0.1 * start, 0.01 * start, -start, np.ones_like(start), np.zeros_like(start))
    size = np.maximum(np.abs(start), 0.1 * float(np.max(np.abs(start), initial=0.0)) or 1.0)
    n = len(start)
    ratio = 2.0
    for _ in range(60):  # converges to the generalized golden ratio, the root of ratio**(n + 1) = ratio + 1
        ratio = (1 + ratio) ** (1 / (n + 1))
    weights = ratio ** -np.arange(1.0, n + 1)
    for k in range(1, MOST_STARTS):
        unit = 2 * np.modf(0.5 + k * weights)[0] - 1  # a point of the cube between -1 and 1
        yield (start + unit * size, unit * size, unit, start + 0.3 * unit * size, start + 10 * unit * size)[k % 5]
