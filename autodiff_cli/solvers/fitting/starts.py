"""The choice of starting values for parameters without one, and for those with a range: a deterministic search.

Parameters in which the model is linear are solved for at each trial, as in variable projection (Golub and Pereyra, "The
differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate", 1973).  The other parameters
follow a Halton sequence over signs and magnitudes, or over their range.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import NotSolved, setting
from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import Minimizer
from autodiff_cli.solvers.fitting.problem import FitProblem
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.arrays import Mask, Vector
    from autodiff_cli.solvers.bounds import Interval


TRIALS = 600
"""The number of points at which the objective is compared."""
SOLVED = 10
"""The number of points from which the problem is solved."""
STEPS = 150
"""The maximum number of steps of such a solution."""
ROWS = 2_000
"""The maximum number of rows of the search."""
FEW_TRIALS, FEW_ROWS, FEW_SOLVED, FEW_STEPS = 40, 20, 3, 20
"""The same numbers for a model whose rows are evaluated separately."""
DECADES = 2.0
"""The magnitudes of a parameter without a range: from 10**-DECADES to 10**DECADES, and further with the size of the data."""
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)


def with_starts(problem: FitProblem) -> FitProblem:
    """Return the problem with a start for every parameter.

    Raises:
        UsageError, DataError: if the model does not have parameters, or the rows are too few.
        NotSolved: if the model is not finite at any point that was tried.
    """
    problem.check_size()
    names = [name for name in problem.free if name in problem.ranges]
    if not names:
        return problem
    every = -(-problem.data.rows // (ROWS if problem.model.reason is None else FEW_ROWS))
    small = problem.only(np.arange(0, problem.data.rows, every)) if every > 1 else problem
    small = replace(small, errors={}) if problem.errors else small
    points = _points(small, names)
    best: list[tuple[float, int, Vector]] = []
    with np.errstate(all="ignore"):
        for i, point in enumerate(points):
            linear = small.objective.linear(point[None])
            if linear.finite[0]:
                best.append((float(linear.value[0]), i, point))
        if not best:
            if len(points) == 1:
                replace(problem, start={**problem.start, **dict(zip(problem.free, points[0].tolist(), strict=True))}).check()
            raise NotSolved(
                f"no start for {listed(names)}: the model is not finite at any of the {len(points)} points that were tried",
                hint=f"give starting values with {setting('at', ','.join(f'{name}=1' for name in names))}",
            )
        best.sort(key=lambda candidate: candidate[:2])
        solved, steps = (SOLVED, STEPS) if problem.model.reason is None else (FEW_SOLVED, FEW_STEPS)
        points = [point for _, _, point in best[:solved]]
        values = [float(Minimizer(small.objective, point[None], small.box, steps).run().value[0]) for point in points]
    chosen = next(point for value, point in zip(values, points, strict=True) if value <= min(values) * (1 + 1e-9) + 1e-300)
    start = {**problem.start, **dict(zip(problem.free, (float(f"{value:.4g}") for value in chosen), strict=True))}
    return replace(problem, start=start, tried=len(points))


def _points(problem: FitProblem, names: list[str]) -> list[Vector]:
    """Return the points to try: those of the sequence, with the linear parameters solved for."""
    linear = _linear(problem, names)
    others = [i for i, name in enumerate(problem.free) if name in names and not linear[i]]
    size = max((float(np.max(np.abs(column))) for column in problem.data.columns.values()), default=1.0)
    reach = DECADES + abs(math.log10(size)) if size > 0 else DECADES
    places = [(float(np.min(column)), float(np.max(column))) for column in problem.data.columns.values()]
    result = []
    trials = TRIALS if problem.model.reason is None else FEW_TRIALS
    for k in range(trials if others else 1):
        point = problem.first.copy()
        for dimension, i in enumerate(others):
            u, v = (_halton(k + 1, _PRIMES[(2 * dimension + side) % len(_PRIMES)]) for side in (0, 1))
            known = problem.ranges[problem.free[i]] or problem.bounds.get(problem.free[i])
            # Every other value is a place among the data, such as the position of a peak.
            place = places[int(2 * v * len(places)) % len(places)] if v >= 0.5 and known is None else known
            point[i] = _placed(u, place, reach)
        result.append(problem.box.inside(_solved_for(problem, point, linear) if linear.any() else point))
    return result


def _linear(problem: FitProblem, names: list[str]) -> Mask:
    """Return which parameters without a range the model is linear in, all of them together."""
    zero = problem.model.mixed_zero()
    result = np.zeros(len(problem.free), bool)
    for i, name in enumerate(problem.free):
        if name in names and problem.ranges[name] is None and zero[i, result | (np.arange(len(result)) == i)].all():
            result[i] = True
    return result


def _solved_for(problem: FitProblem, point: Vector, linear: Mask) -> Vector:
    """Return the point with the best values of the parameters that the model is linear in."""
    point = point.copy()
    point[linear] = 0.0
    part = problem.objective.linear(point[None]).restricted(linear[None])
    if part.finite[0]:
        norms = np.where(part.norms > 0, part.norms, 1.0)[0]
        solution = np.linalg.lstsq(part.scaled[0], part.image[0], rcond=1e-12)[0] / norms
        point[linear] = -solution[linear]
    return point


def _halton(k: int, base: int) -> float:
    """Return element k of the van der Corput sequence of a base."""
    value, unit = 0.0, 1.0
    while k:
        unit /= base
        value += unit * (k % base)
        k //= base
    return value


def _placed(u: float, interval: Interval | None, reach: float) -> float:
    """Return the number at a fraction of an interval, or of all signs and magnitudes."""
    low, high = interval or (-math.inf, math.inf)
    if math.isfinite(low) and math.isfinite(high):
        if low > 0 and high / low > 100:
            return low * math.pow(high / low, u)
        if high < 0 and low / high > 100:
            return high * math.pow(low / high, u)
        return low + u * (high - low)
    if low >= 0 or high <= 0:  # one sign
        start, sign = (low, 1.0) if low >= 0 else (high, -1.0)
        return start + sign * 10 ** (reach * (2 * u - 1))
    return math.copysign(10 ** (reach * (2 * abs(2 * u - 1) - 1)), u - 0.5)
