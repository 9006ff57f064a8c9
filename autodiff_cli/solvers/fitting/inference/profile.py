"""Profile intervals of fitted parameters, which need not be symmetric.

The profile S(b) is the minimum of the sum of squares over all other parameters while one parameter is held at b.  With the
variance s**2 of the residuals, ``tau = sign(b - best)*sqrt((S(b) - S(best))/s**2)`` has the distribution of Student's t for a
linear model, so the interval ends where ``|tau| = k``.  Its slope is exact: ``dS/db`` is the partial derivative at the minimum.
Source: Bates and Watts, "Nonlinear Regression Analysis and Its Applications" (1988), section 6.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.errors import UsageError, setting
from autodiff_cli.solvers.fitting.engine.minimize import NOT_FINITE, Box, Minimizer

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector
    from autodiff_cli.solvers.fitting.result import Fit


MOST_TRIALS = 60
"""The maximum number of minimisations for one end of an interval."""
FARTHEST = 1e6
"""The distance from the best value, in standard errors, beyond which an interval is open."""
CLOSE = 1e-9
"""The largest difference between tau and k at an end of an interval."""


class Ends(NamedTuple):
    """The ends of a profile interval; ``None`` for an end that the data do not limit."""

    low: float | None
    high: float | None


def profiles(fit: Fit) -> dict[str, Ends]:
    """Return the profile interval of each free parameter.

    Raises:
        UsageError: if the loss is not that of least squares.
    """
    if not fit.problem.loss.plain:
        raise UsageError(
            f"{setting('profile')} needs a sum of squares, not a robust loss",
            hint=f"leave out {setting('profile')} or {setting('loss')}",
        )
    found = {}
    for i, name in enumerate(fit.problem.free):
        if np.isfinite(fit.errors[name]) and fit.errors[name] > 0:
            found[name] = Ends(_Profile(fit, i).end(-fit.k), _Profile(fit, i).end(fit.k))
    return found


class _Profile:
    """The profile of one parameter."""

    def __init__(self, fit: Fit, i: int) -> None:
        self._fit, self._i = fit, i
        self._objective, self._box = fit.problem.objective, fit.problem.box
        self._best = float(self._objective.value(fit.point[None])[0])
        self._variance = 1.0 if fit.problem.absolute else float(fit.residual["std"]) ** 2
        self._error = fit.errors[fit.problem.free[i]]
        self._nearest = fit.point

    def end(self, k: float) -> float | None:
        """Return the value at which tau is k; ``None`` if there is none within the bounds."""
        best = float(self._fit.point[self._i])
        side = math.copysign(1.0, k)
        limit = float((self._box.upper if k > 0 else self._box.lower)[self._i])
        inner, outer = best, side * math.inf
        trial = best + k * self._error
        for _ in range(MOST_TRIALS):
            trial = min(trial, limit) if k > 0 else max(trial, limit)
            tau, slope = self._tau(trial, side)
            if abs(tau - k) <= CLOSE * abs(k):
                return trial
            if side * (tau - k) < 0:
                if trial == limit or abs(trial - best) > FARTHEST * self._error:
                    return None
                inner = trial
            else:
                outer = trial
            trial = self._next(trial, (k - tau) / slope if slope > 0 else math.nan, inner, outer, best)
            if trial in (inner, outer):
                return trial
        return None

    def _next(self, trial: float, step: float, inner: float, outer: float, best: float) -> float:
        """Return the point of the Newton step if it is in the bracket, otherwise the middle or a point farther out."""
        found = trial + step
        if min(inner, outer) < found < max(inner, outer) and abs(step) <= 10 * abs(trial - best):
            return found
        return (inner + outer) / 2 if math.isfinite(outer) else best + 3 * (inner - best)

    def _tau(self, value: float, side: float) -> tuple[float, float]:
        """Return tau with its derivative; tau is infinite where the model is not finite."""
        lower, upper = self._box.lower.copy(), self._box.upper.copy()
        lower[self._i] = upper[self._i] = value
        start = self._start(value)
        outcome = Minimizer(self._objective, start[None], Box(lower, upper)).run()
        if outcome.ended[0] == NOT_FINITE:
            return side * math.inf, math.nan
        self._nearest = outcome.point[0]
        squared = 2 * (float(outcome.value[0]) - self._best) / self._variance
        tau = side * math.sqrt(max(squared, 0.0))
        slope = float(self._objective.linear(outcome.point).gradient[0, self._i])
        return tau, slope / (self._variance * tau) if tau else math.nan

    def _start(self, value: float) -> Vector:
        """Return the other parameters where the linear model has its minimum, or the last ones if they are nearer."""
        i, row = self._i, self._fit.matrix[:, self._i]
        start = self._nearest + np.nan_to_num(row / row[i]) * (value - self._nearest[i])
        start[i] = value
        inside = self._box.inside(start)
        if not np.isfinite(self._objective.value(inside[None])).all():
            inside = self._nearest.copy()
            inside[i] = value
        return inside
