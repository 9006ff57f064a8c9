"""Integrals in many digits, for integrands with singularities inside their range or strong ones at its ends.

A range is split at the singularities inside.  At an end, a power as a new variable makes the integrand flat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.arrays import Vector
from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.errors import AutodiffError
from autodiff_cli.precise.arithmetic import Arithmetic

NumberFunction = Callable[[Any], Any]
"""A function of an mpmath number."""

_MOST_SPLITS = 30
"""The maximum number of places at which a range is split."""
_ACCURACY = 1e-17
"""The relative error of a range that is not split."""
_ACCEPTED = 1e-10
"""The largest relative error of an integral with a value."""
_DIGITS = (20, 40)
"""The digits of two quadratures, of which the first one is left out for an integrand without singularities."""
_POWER = 12
"""The power that removes a singularity at an end; the integral of t**-p has a value up to p = 0.97."""
_DOMINANT = 10.0
"""The second difference of a kink or a singularity, relative to the median of all."""
_PLACES, _ZOOMS = 65, 12
"""The places at which a range is examined, and how often it is divided by 32, together by more than a float resolves."""


class SingularIntegral:
    """The integral of a function that may be singular.

    Args:
        values: computes the function for an array of floats.
        in_digits: returns the function of mpmath numbers, given the arithmetic.
    """

    def __init__(self, values: Callable[[Vector], Vector], in_digits: Callable[[Arithmetic], NumberFunction]) -> None:
        self._values, self._in_digits = values, in_digits
        self._arithmetics = [Arithmetic(digits) for digits in _DIGITS]  # which keep the nodes of the quadrature

    def over(self, low: float, high: float) -> tuple[float, float]:
        """Return an integral, split as long as its error is too large, and an estimate of the error; inf without a value."""
        at_low = self._values(np.array([low, high]))[0]
        waiting = [(low, high)]
        if np.isfinite(low) and np.isinf(high) and not np.isfinite(at_low):
            waiting = [(low, low + 1.0), (low + 1.0, high)]
        value = error = size = 0.0
        splits = _MOST_SPLITS
        while waiting and error < np.inf:
            piece = waiting.pop()
            part, estimate = self._over_piece(*piece)
            is_final = estimate <= _ACCURACY * max(abs(part), size) or estimate == np.inf
            if splits and not is_final and np.isfinite(piece).all():
                place = float(roughest(self._values, *map(np.atleast_1d, piece))[0])
                if piece[0] < place < piece[1]:
                    waiting += [(piece[0], place), (place, piece[1])]
                    splits -= 1
                    continue
            value, error, size = value + part, error + estimate, size + abs(part)
        return value, error if error <= _ACCEPTED * max(abs(value), 1e-3 * size) else np.inf

    def _over_piece(self, low: float, high: float) -> tuple[float, float]:
        """Return the integral over a range without singularities inside, and an estimate of its error.

        The error is infinite if the integral diverges, and nan if the function is not finite at both ends or inside.
        """
        is_singular = ~np.isfinite(self._values(np.array([low, high]))) & np.isfinite(high - low)
        if is_singular.all():
            return np.nan, np.nan
        if is_singular[1]:
            value, error = self._over_piece(high, low)
            return -value, error
        is_regular = bool(not is_singular[0] and np.isfinite(high - low))
        results = []
        for math in self._arithmetics[is_regular:]:  # without a singularity, only the one with more digits
            try:
                value, estimate = map(float, _quadrature(math, self._in_digits, low, high, bool(is_singular[0])))
            except (AutodiffError, ArithmeticError, ValueError):
                return np.nan, np.nan
            if not np.isfinite(value):
                return np.nan, np.nan
            results.append(value)
            if not is_regular and not estimate <= _ACCEPTED * abs(value):
                return value, np.nan
        # next to an end, the quadrature leaves out a part; twice as many digits square its ratio to the whole
        change = abs(value - results[0])
        error = max(estimate, change * (change / (abs(value) or 1.0)))
        return value, error if is_regular or error <= _ACCEPTED * abs(value) else np.inf


def roughest(values: Callable[[Array], Array], low: Vector, high: Vector) -> Vector:
    """Return the float of each range at which the second difference of a function is largest, or where it is not finite.

    Without such a place, or with singularities at both ends, it is the middle.

    Args:
        values: computes the function for an array of shape (ranges, n), whose rows belong to the ranges.
        low, high: the finite ends of the ranges.
    """
    inside = values(np.linspace(low, high, _PLACES, axis=-1))
    sizes = np.abs(np.diff(inside, 2))
    is_even = np.isfinite(inside).all(-1) & (sizes.max(-1) <= _DOMINANT * np.median(sizes, -1))
    has_middle = is_even | ~np.isfinite(inside[:, [0, -1]]).any(-1)
    ranges, left, right = np.arange(len(low)), low, high
    for _ in range(_ZOOMS):
        t = np.linspace(left, right, _PLACES, axis=-1)
        inside = values(t)
        sizes = np.nan_to_num(np.abs(np.diff(inside, 2)), nan=0.0, posinf=0.0)
        k = 1 + np.argmax(np.where(np.isfinite(inside[:, 1:-1]), sizes, np.inf), -1)
        left, right = t[ranges, k - 1], t[ranges, k + 1]
    return np.where(has_middle, low / 2 + high / 2, t[ranges, k])


def _quadrature(
    math: Arithmetic, in_digits: Callable[[Arithmetic], NumberFunction], low: float, high: float, is_singular: bool
) -> Any:
    """Return an integral and an estimate of its error; singular at the lower limit a, with t = a + (b - a)*u**p in place of t."""
    if not is_singular:
        return math.context.quad(in_digits(math), [math.mpf(low), math.mpf(high)], error=True)
    wide = Arithmetic((_POWER + 4) * math.digits)  # holds the sum of the limit and the smallest power
    function = in_digits(wide)
    length = wide.mpf(high) - wide.mpf(low)

    def integrand(u: Any) -> Any:
        slope = length * wide.mpf(u) ** (_POWER - 1)
        return math.mpf(function(low + slope * u) * slope * _POWER)

    return math.context.quad(integrand, [0, 1], error=True)
