"""Difference quotients in float64 with an error estimate, for functions without an arbitrary-precision implementation.

C. J. F. Ridders, Accurate computation of F'(x) and F'(x) F''(x), Advances in Engineering Software 4 (1982): quotients with
decreasing steps are extrapolated to the step 0, and the differences of the last extrapolations estimate the error.  This
implementation starts from several initial steps, adds the rounding error of the function to the estimate, and selects the result
with the smallest error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.gradient_checking.verdicts import Verdict

Array = NDArray[np.float64]
Estimate = tuple[Array, Array]
"""The estimated derivatives and their estimated errors."""

_SHRINK, _ROWS = 1.6, 9
"""The factor by which a step decreases from row to row of an extrapolation table, and the number of rows."""
_STEPS = (0.3, 1e-2, 1e-4, 1e-6)
"""The initial steps, relative to the input."""
_STEPS_AT_0 = (1.0, 1e-3, 1e-6, 1e-9, 1e-12)
"""The initial steps at an input of 0."""
_MANY = 50
"""The number of elements above which fewer steps are tried for each element, because each step takes several evaluations."""
_KNOWN = 1e-4
"""The largest relative error of a quotient that is usable for a verdict."""
_ROUNDING = 4 * float(np.finfo(float).eps)
"""The rounding error that is assumed for a value of the function, relative to this value."""
_PROBABLE, _CERTAIN = 4, 100
"""Multiples of an estimated error, which may be too small: the error of a right number, and that of a certainly wrong number."""


class DifferenceQuotient:
    """The derivative of every element of the output with respect to one element of an input.

    Args:
        function: a function of a distance that computes the elements of the output with the input shifted by this distance.
        x: the value of the input.
        elements: the number of elements of the variable.
        largest: the largest intermediate result of a function of arrays, whose rounding error is relative to its largest element.

    Attributes:
        value, error: the estimated derivatives and their estimated errors.
        left, right: the one-sided estimates, as pairs of derivatives and errors.
    """

    def __init__(self, function: Callable[[float], Array], x: float, elements: int, largest: float = 0.0) -> None:
        scale = abs(x) if x else 1.0
        self._rounding = _ROUNDING * largest / scale
        steps = [scale * step for step in _relative_steps(x, elements)]
        at = functools.cache(function)
        self.right = _best([_extrapolated(at, step, x, side=1) for step in steps])
        self.left = _best([_extrapolated(at, step, x, side=-1) for step in steps])
        self.value, self.error = _best([_extrapolated(at, step, x, side=0) for step in steps])
        for value, error in (self.right, self.left):  # at the boundary of a domain only one side exists
            better = ~np.isfinite(self.error) & np.isfinite(error)
            self.value, self.error = np.where(better, value, self.value), np.where(better, error, self.error)

    def _is_kink(self, j: int) -> bool:
        """Return whether the one-sided derivatives of element j are certain, and differ by much more than their errors."""
        (left, left_error), (right, right_error) = ((value[j], error[j]) for value, error in (self.left, self.right))
        size = np.maximum(abs(left), abs(right))
        are_known = left_error <= _KNOWN * size and right_error <= _KNOWN * size
        least_gap = _CERTAIN * (left_error + right_error) + 1e-3 * size  # a smaller gap may be an error that the estimates miss
        return bool(are_known and abs(left - right) > least_gap)

    def judged(self, j: int, value: float) -> Verdict:
        """Return the verdict on a number said to be the derivative of the element j: ``undecided`` if no quotient is accurate."""
        if self._is_kink(j):
            return self._judged_at_kink(j, value)
        numeric, error = float(self.value[j]), float(self.error[j])
        off = abs(value - numeric)
        if not np.isfinite(error):
            return Verdict("undecided", numeric, off, 0.0, "no step gives a finite difference quotient")
        tolerance = _PROBABLE * error + 1e-9 * abs(numeric)  # the backward pass rounds, too
        if not np.isfinite(value) or off > max(tolerance, _CERTAIN * error + self._rounding):
            return Verdict("fail", numeric, off, tolerance)
        if off > tolerance:
            return Verdict("undecided", numeric, off, tolerance, "the difference quotients are not accurate enough for a verdict")
        is_known = error <= _KNOWN * max(abs(value), abs(numeric)) or error == off == 0  # or both are exactly 0
        if is_known:
            return Verdict("pass", numeric, off, tolerance)
        return Verdict(
            "undecided", numeric, off, tolerance, "no step of the difference quotients distinguishes the derivative from 0"
        )

    def _judged_at_kink(self, j: int, value: float) -> Verdict:
        """Return the verdict at a kink, where every number between the one-sided derivatives is right."""
        numeric = float(self.value[j])
        low, high = sorted((float(self.left[0][j]), float(self.right[0][j])))
        slack = float(self.left[1][j] + self.right[1][j])  # the errors of both sides
        inside = low - slack <= value <= high + slack
        return Verdict("kink" if inside else "fail", numeric, 0.0 if inside else abs(value - numeric), slack)


def _relative_steps(x: float, elements: int) -> Sequence[float]:
    """Return the initial steps relative to an input ``x``, the steps themselves for 0; one or two if the variable is large."""
    steps = _STEPS if x else _STEPS_AT_0
    if elements <= _MANY:
        return steps
    return steps[:2] if elements <= 4 * _MANY else steps[1:2]  # only the second one


def _best(estimates: Sequence[Estimate]) -> Estimate:
    """Return, for each element, the estimate with the smallest error; the estimates are in the order of decreasing steps.

    An estimate with a larger step must agree with the best one for smaller steps, as the function may be flat far from the point.
    """
    value, error = estimates[-1]
    for other, other_error in reversed(estimates[:-1]):
        agrees = ~np.isfinite(error) | (np.abs(other - value) <= 10 * (error + other_error))  # 10, as the errors are estimates
        better = agrees & (other_error < error)
        value, error = np.where(better, other, value), np.where(better, other_error, error)
    return value, error


def _extrapolated(at: Callable[[float], Array], step: float, x: float, side: int) -> Estimate:
    """Return the entry of one Ridders extrapolation table with the smallest error estimate, for each element; nan without one.

    The first distance from ``x`` is ``step``.  The ``side`` is 1 or -1 for a one-sided derivative, 0 for a central one, whose error
    has only even powers of the distance.
    """
    shape = at(0.0).shape
    best, least = np.full(shape, np.nan), np.full(shape, np.inf)
    previous: list[Array] = []  # the last row of the table
    power = _SHRINK if side else _SHRINK**2  # the factor by which the leading error decreases from row to row
    for row in range(_ROWS):
        distance = step / _SHRINK**row
        distance = (x + distance) - x  # the exact difference of the rounded sum and x
        if distance == 0:
            break
        quotient, rounding = _quotient(at, distance, side)
        current = [quotient]
        factor = power
        for k in range(row):  # each entry removes one more power of the distance from the error
            entry = (current[k] * factor - previous[k]) / (factor - 1)
            error = np.maximum(np.abs(entry - current[k]), np.abs(entry - previous[k])) + rounding
            better = error < least  # False for nan
            best, least = np.where(better, entry, best), np.where(better, error, least)
            current.append(entry)
            factor *= power
        previous = current
    return best, least


def _quotient(at: Callable[[float], Array], distance: float, side: int) -> Estimate:
    """Return a one-sided difference quotient, or the central one for the side 0, with its rounding error."""
    if side:
        up, down, width = at(side * distance), at(0.0), side * distance
    else:
        up, down, width = at(distance), at(-distance), 2 * distance
    rounding = _ROUNDING * np.maximum(np.abs(up), np.abs(down)) / distance
    return (up - down) / width, rounding
