"""The iterations that search for a root: damped Newton steps, and a trust region where these steps stall.

Damped Newton is the error-oriented algorithm NLEQ-ERR (Deuflhard, Newton Methods for Nonlinear Problems, Springer 2004,
section 2.2 and 3.3): a step is accepted if the next simplified Newton step is shorter, which does not depend on the scale of
the equations.  The trust region is that of ``minimize``, with Gauss-Newton steps for the norm of the residuals.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.solvers.minima.descent import descend
from autodiff_cli.solvers.minima.problem import OutOfTime
from autodiff_cli.solvers.roots.problem import Point, RootProblem, newton, norm
from autodiff_cli.solvers.roots.verification import Verification, verify

if TYPE_CHECKING:
    from autodiff_cli.arrays import Matrix, Vector
    from autodiff_cli.command_result import Record

SMALLEST_FACTOR = 1e-9
"""The smallest part of a Newton step."""
FARTHEST = 1.0
"""The longest step of an unknown, relative to its magnitude plus 1."""
CLOSE = 1e-7
"""A relative step below which a point may be a root to rounding."""

_VANISHING = 1e-20
"""A part of the magnitude of the unknowns below which they are 0 to rounding: steps to a multiple root at 0 do not end."""


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

    def take(self, point: Point, length: float, done: str) -> bool:
        """Record an accepted step; return whether more steps are allowed."""
        x = dict(zip(self.problem.labels, map(float, point.x), strict=True))
        self.steps.append({"step": len(self.steps), **x, "residual": norm(point.f), "length": length, "done": done})
        return len(self.steps) <= MOST_STEPS and not self.expired

    def settled(self, point: Point) -> bool:
        """Return whether the residuals are as small as their rounding errors."""
        return bool(np.all(np.abs(point.f) <= self.problem.noise(point)))


def newton_iteration(walk: Walk, point: Point) -> Point:
    """Take damped Newton steps until the residuals are rounding errors, or no step is accepted; return the last point."""
    problem = walk.problem
    scale = _scale(point.x)
    factor, before = 1.0, None
    size = norm(point.x)
    history: list[tuple[Vector, float]] = []
    while point.finite:
        step, _ = newton(point.jacobian, point.f)
        scale = np.maximum(_scale(point.x), 0.1 * scale)
        length = norm(step / scale)
        if not np.isfinite(length) or length == 0:
            return point
        if length < CLOSE and walk.settled(point):
            return point
        if before is not None:
            factor = min(1.0, factor * before[0] * norm(before[1] / scale) / (norm((before[1] - step) / scale) * length or 1e-300))
        factor = 1.0 if factor > 0.99 else factor
        factor = min(factor, FARTHEST / float(np.max(np.abs(step) / (np.abs(point.x) + 1.0))))
        result = _shortened(problem, point, step, scale, factor)
        if result is None:
            return point
        reached, bar, factor = result
        before = (length, bar)
        done = "newton" if factor == 1 else "damped"
        history = [*history[-2:], (step, factor)]
        times = _multiplicity([norm(each / scale) for each, _ in history], [part for _, part in history])
        if times > 1:  # at a multiple root, each step covers the same part of the distance
            far = problem.at(point.x + times * step)
            if far.finite and norm(far.f) < 0.5 * norm(reached.f):
                reached, done, before, history = far, f"newton x{times}", None, []
        moved = norm(reached.x - point.x)
        if moved == 0:
            return reached
        point = reached
        size = max(size, norm(point.x))
        if not walk.take(point, moved, done) or norm(point.x) < _VANISHING * size:
            return point
    return point


def _scale(x: Vector) -> Vector:
    """Return the magnitude of each unknown; a small unknown has a part of the magnitude of the largest."""
    size = np.abs(x)
    return np.maximum(size, 1e-3 * float(np.max(size, initial=0.0)) or 1e-3)


def _shortened(
    problem: RootProblem, point: Point, step: Vector, scale: Vector, factor: float
) -> tuple[Point, Vector, float] | None:
    """Return the first point along a step at which the simplified Newton step is shorter, that step, and the part of the step."""
    length = norm(step / scale)
    raised = False
    while factor >= SMALLEST_FACTOR:
        reached = problem.at(point.x + factor * step)
        if not np.isfinite(reached.f).all():
            factor /= 4
            raised = True
            continue
        bar, _ = newton(point.jacobian, reached.f)
        ratio = norm(bar / scale) / length
        curve = norm((bar - (1 - factor) * step) / scale)
        better = 0.5 * length * factor**2 / curve if curve else 1.0
        if ratio >= 1 - factor / 8 if factor < 1 else ratio >= 1:
            factor = min(better, factor / 2)
            raised = True
        elif not raised and factor < 1 and better >= 4 * factor:
            factor, raised = min(1.0, better), True
        else:
            return reached, bar, factor
    return None


def _multiplicity(lengths: list[float], factors: list[float]) -> int:
    """Return the multiplicity m of the root that three Newton steps approach; 1 if they do not agree on one."""
    if len(lengths) < 3 or not lengths[2] < lengths[1] < lengths[0]:
        return 1
    first, last = (factors[i] / (1 - lengths[i + 1] / lengths[i]) for i in range(2))
    return round(last) if abs(last - first) < 0.2 * last and last < 100 else 1


class _SquaredNorm:
    """Half the square of the norm of the residuals, relative to that at the start, as a function to minimize."""

    def __init__(self, walk: Walk, start: Point) -> None:
        self._walk, self._point, self._size = walk, start, norm(start.f)
        self.low, self.high = np.full_like(start.x, -np.inf), np.full_like(start.x, np.inf)

    def _at(self, x: Vector) -> tuple[Vector, Matrix]:
        if self._walk.expired:
            raise OutOfTime
        if not np.array_equal(x, self._point.x):
            self._point = self._walk.problem.at(x)
        return self._point.f / self._size, self._point.jacobian / self._size

    def value(self, x: Vector) -> float:
        return float(np.square(norm(self._at(x)[0])) / 2)

    def gradient(self, x: Vector) -> Vector:
        f, jacobian = self._at(x)
        return jacobian.T @ f

    def hessian(self, x: Vector) -> Matrix:
        """Return the Hessian matrix without the second derivatives of the residuals, which vanish at a root."""
        jacobian = self._at(x)[1]
        return jacobian.T @ jacobian

    def product(self, x: Vector, direction: Vector) -> Vector:
        jacobian = self._at(x)[1]
        return jacobian.T @ (jacobian @ direction)


def trust_region(walk: Walk, start: Point) -> Point:
    """Decrease the norm of the residuals until a minimum of the norm is reached."""
    if not start.f.any():
        return start
    last = start

    def taken(x: Vector, value: float, slope: float, length: float, done: str) -> None:
        nonlocal last
        last = walk.problem.at(x)
        walk.take(last, length, "trust region")

    with suppress(OutOfTime):
        descend(_SquaredNorm(walk, start), start.x, MOST_STEPS, report=taken)
    return last


MOST_STEPS = 200
MOST_SECONDS = 2.0
"""The time for further starts; the first start always gets all of its steps."""
MOST_STARTS = 30
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
    for number, x in enumerate(starts(start)):
        for iterate in (newton_iteration, trust_region):
            point = walk.begin(x)
            if not point.finite:
                break
            check = verify(problem, _polished(problem, iterate(walk, point)).x)
            if best is None or (_RANK[check.verdict], norm(check.point.f)) < (_RANK[best.check.verdict], norm(best.check.point.f)):
                best = SearchResult(check, walk.steps, number + 1)
            if check.converged:
                return best
            if walk.expired:
                break
        if walk.expired or number + 1 >= MOST_STARTS:
            break
    if best is None:
        best = SearchResult(verify(problem, start), walk.steps, 1)
    return best._replace(starts=number + 1)


def _polished(problem: RootProblem, point: Point) -> Point:
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
