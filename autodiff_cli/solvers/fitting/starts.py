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
from autodiff_cli.solvers.fitting.engine.levenberg_marquardt import SAME, Minimizer
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
    is_fast = problem.model.reason is None
    every = -(-problem.data.rows // (ROWS if is_fast else FEW_ROWS))  # rounded up
    small = problem.only(np.arange(0, problem.data.rows, every)) if every > 1 else problem
    small = replace(small, errors={}) if problem.errors else small
    points = _points(small, names, TRIALS if is_fast else FEW_TRIALS)
    with np.errstate(all="ignore"):
        best = _finite_points(small, points)
        if not best:
            raise _no_start(problem, names, points)
        best, steps = (best[:SOLVED], STEPS) if is_fast else (best[:FEW_SOLVED], FEW_STEPS)
        minima = [float(Minimizer(small.objective, point[None], small.box, steps).run().value[0]) for point in best]
    is_least = np.array(minima) <= min(minima) * (1 + SAME) + 1e-300  # the last term is for a minimum of 0
    chosen = (float(f"{value:.4g}") for value in best[int(np.argmax(is_least))])  # with four digits, to be easily written
    return replace(problem, start={**problem.start, **dict(zip(problem.free, chosen, strict=True))}, tried=len(best))


def _no_start(problem: FitProblem, names: list[str], points: list[Vector]) -> NotSolved:
    """Return the error that the model is not finite at any of the points; for one point, raise that of ``FitProblem.check``."""
    if len(points) == 1:  # that error names the row and the operation
        replace(problem, start={**problem.start, **dict(zip(problem.free, points[0].tolist(), strict=True))}).check()
    message = f"no start for {listed(names)}: the model is not finite at any of the {len(points)} points that were tried"
    return NotSolved(message, hint=f"give starting values with {setting('at', ','.join(f'{name}=1' for name in names))}")


def _finite_points(problem: FitProblem, points: list[Vector]) -> list[Vector]:
    """Return the points at which the objective and its derivatives are finite, in ascending order of the objective."""
    linears = [problem.objective.linear(point[None]) for point in points]
    finite = [i for i, linear in enumerate(linears) if linear.finite[0]]
    return [points[i] for i in sorted(finite, key=lambda i: float(linears[i].value[0]))]


def _points(problem: FitProblem, names: list[str], count: int) -> list[Vector]:
    """Return ``count`` points to try for the named parameters, or one if all are linear; linear parameters are solved for."""
    linear = _linear_parameters(problem, names)
    others = [name for name, is_linear in zip(problem.free, linear, strict=True) if name in names and not is_linear]
    spans = [(float(np.min(column)), float(np.max(column))) for column in problem.data.columns.values()]
    result = []
    for number in range(1, (count if others else 1) + 1):
        point = problem.first.copy()
        for dimension, name in enumerate(others):
            bases = (_PRIMES[(2 * dimension + side) % len(_PRIMES)] for side in (0, 1))
            u, v = (_van_der_corput(number, base) for base in bases)  # two coordinates of a Halton point
            interval = problem.ranges[name] or problem.bounds.get(name)
            point[problem.free.index(name)] = _trial_value(interval, spans, u, v)
        result.append(problem.box.inside(_with_linear_solution(problem, point, linear) if linear.any() else point))
    return result


def _trial_value(interval: Interval | None, spans: list[Interval], u: float, v: float) -> float:
    """Return a value to try for a parameter with an interval or ``None``, given the spans of the columns, and u, v from 0 to 1."""
    # Every other value without an interval is a place among the data, such as the position of a peak.
    if interval is None and v >= 0.5:
        interval = spans[int(2 * v * len(spans)) % len(spans)]
    size = max((abs(end) for span in spans for end in span), default=1.0)
    return _placed(u, interval, DECADES + abs(math.log10(size)) if size > 0 else DECADES)


def _linear_parameters(problem: FitProblem, names: list[str]) -> Mask:
    """Return which of the named parameters without a range are in a set, chosen greedily, in which the model is linear."""
    zero = problem.model.zero_second_derivatives()
    result = np.zeros(len(problem.free), bool)
    for i, name in enumerate(problem.free):
        is_itself = np.arange(len(result)) == i
        result[i] = name in names and problem.ranges[name] is None and zero[i, result | is_itself].all()
    return result


def _with_linear_solution(problem: FitProblem, point: Vector, linear: Mask) -> Vector:
    """Return the point with the best values of the parameters that the model is linear in; 0 if the model is not finite there."""
    point = point.copy()
    point[linear] = 0.0
    part = problem.objective.linear(point[None]).restricted(linear[None])
    if part.finite[0]:
        norms = np.where(part.norms > 0, part.norms, 1.0)[0]
        solution = np.linalg.lstsq(part.scaled[0], part.image[0], rcond=1e-12)[0] / norms  # rcond: rounding errors
        point[linear] = -solution[linear]
    return point


def _van_der_corput(k: int, base: int) -> float:
    """Return element k of the van der Corput sequence of a base: its digits in this base, mirrored at the decimal point."""
    value, unit = 0.0, 1.0
    while k:
        unit /= base
        value += unit * (k % base)
        k //= base
    return value


def _placed(u: float, interval: Interval | None, reach: float) -> float:
    """Return the number at a fraction u of an interval; ``None`` stands for all signs and magnitudes, with infinite ends.

    Towards an infinite end, the distances from the other end, or from 0, are 10**-reach to 10**reach.
    """
    low, high = interval or (-math.inf, math.inf)
    if math.isfinite(low) and math.isfinite(high):
        if low > 0 and high / low > 100:  # over two decades, on a logarithmic scale
            return low * math.pow(high / low, u)
        if high < 0 and low / high > 100:
            return high * math.pow(low / high, u)
        return low + u * (high - low)
    if low >= 0 or high <= 0:  # one sign
        start, sign = (low, 1.0) if low >= 0 else (high, -1.0)
        return start + sign * 10 ** (reach * (2 * u - 1))
    return math.copysign(10 ** (reach * (2 * abs(2 * u - 1) - 1)), u - 0.5)
