"""Exclusion of a root where residuals come so close to 0 that rounding errors hide the distance.

At a multiple root, residuals are rounding errors within a wide error bound.  An enclosure of the residuals over this bound, or
their smallest value in arithmetic with many digits, tells ``cosh(x) - 1`` from ``cosh(x) - 1 + 1e-18``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.errors import AutodiffError, NotPrecise

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.precise.arithmetic import Real
    from autodiff_cli.solvers.roots.problem import Problem

_SECONDS = 0.5
_STEPS = 130
"""The steps of golden section: the interval shrinks by a factor of 1e27."""
_LEAST = 1e-20
"""The smallest residual, relative to the residuals at the ends of the interval, that is not taken for 0 at a kink in between."""


def is_excluded(problem: Problem, x: Vector, error: Vector) -> bool:
    """Return whether the equations do not hold anywhere within the error bound of a point."""
    if not np.isfinite(error).all():
        return False
    if problem.enclosure is not None and any(not one.holds(0.0) for one in problem.enclosure(x - error, x + error)):
        return True
    if len(x) > 1 or problem.system.count > 1:
        return False
    try:
        return _stays_away(problem, x, float(error[0]))
    except AutodiffError:  # not all functions have arbitrary-precision implementations
        return False


def _stays_away(problem: Problem, x: Vector, error: float) -> bool:
    """Return whether a residual keeps its sign within an error bound, and its least magnitude there is not 0.

    Raises:
        NotPrecise: if the residual cannot be evaluated with many digits.
    """
    from autodiff_cli.precise.reference import Reference, in_time

    with in_time(_SECONDS):
        reference = Reference(problem.system.evaluation(0, x))
        mp = reference.differences.math.mp
        sign = 0

        def size(place: Real) -> Real:
            nonlocal sign
            value = reference.at([place])[0]
            if not reference.differences.math.finite(value):
                raise NotPrecise("a residual that is not defined")
            sign = sign or int(mp.sign(value))
            return abs(value) if mp.sign(value) == sign else mp.mpf(0)

        low, high = mp.mpf(float(x[0])) - mp.mpf(error), mp.mpf(float(x[0])) + mp.mpf(error)
        edge = max(size(low), size(high))
        ratio = (mp.sqrt(5) - 1) / 2
        first, second = high - ratio * (high - low), low + ratio * (high - low)
        sizes = size(first), size(second)
        for _ in range(_STEPS):
            if not min(sizes):
                return False
            if sizes[0] < sizes[1]:
                high, second = second, first
                first = high - ratio * (high - low)
                sizes = size(first), sizes[0]
            else:
                low, first = first, second
                second = low + ratio * (high - low)
                sizes = sizes[1], size(second)
        return bool(min(*sizes, size(mp.mpf(float(x[0])))) > edge * mp.mpf(_LEAST))
