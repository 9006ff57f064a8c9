"""Difference quotients in float64 that estimate their own error, for what cannot be computed with more digits.

C. J. F. Ridders, Accurate computation of F'(x) and F'(x) F''(x), Advances in Engineering Software 4 (1982): quotients with
steps that shrink are extrapolated to the step 0, and the differences of the last extrapolations estimate the error.
Here this begins with steps of several sizes, the rounding of the function is added, and the best result is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.gradcheck.verdicts import Verdict

Array = NDArray[np.float64]
Estimate = tuple[Array, Array]
"""Derivatives, and how far they may be off."""

_SHRINK = 1.6
_ROWS = 9
_STEPS = (0.3, 1e-2, 1e-4, 1e-6)
_STEPS_AT_0 = (1.0, 1e-3, 1e-6, 1e-9, 1e-12)
_MANY = 50
"""With more elements than this fewer steps are tried for each."""
_KNOWN = 1e-4
"""A quotient with a larger error, relative, says nothing about a derivative."""


class Quotient:
    """The derivative of every element of the output with respect to one element of an input.

    Args:
        function: computes the elements of the output where the input is moved by a distance.
        x: the input.
        many: how many elements the variable has.

    Attributes:
        value, error: the estimate.
        left, right: the estimates from one side each.
    """

    def __init__(self, function: Callable[[float], Array], x: float, many: int) -> None:
        scale = abs(x) if x else 1.0
        steps: Sequence[float] = _STEPS if x else _STEPS_AT_0
        if many > _MANY:
            steps = steps[:2] if many <= 4 * _MANY else steps[1:2]
        known: dict[float, Array] = {}

        def at(distance: float) -> Array:
            if distance not in known:
                known[distance] = function(distance)
            return known[distance]

        self.right, self.left, (self.value, self.error) = (
            _best([_extrapolated(at, scale * step, x, side) for step in steps]) for side in (1, -1, 0)
        )
        for value, error in (self.right, self.left):  # at the end of a domain there is one side only
            better = ~np.isfinite(self.error) & np.isfinite(error)
            self.value, self.error = np.where(better, value, self.value), np.where(better, error, self.error)

    def _kink(self, j: int) -> bool:
        """Whether the sides disagree by more than their errors."""
        (left, of_left), (right, of_right) = ((value[j], error[j]) for value, error in (self.left, self.right))
        size = np.maximum(abs(left), abs(right))
        sure = of_left <= _KNOWN * size and of_right <= _KNOWN * size
        return bool(sure and abs(left - right) > 100 * (of_left + of_right) + 1e-3 * size)

    def judged(self, j: int, value: float) -> Verdict:
        """Judge whether a number is the derivative of the j-th element of the output."""
        found, error = float(self.value[j]), float(self.error[j])
        off = abs(value - found)
        if self._kink(j):
            low, high = sorted((float(self.left[0][j]), float(self.right[0][j])))
            slack = float(self.left[1][j] + self.right[1][j])
            inside = low - slack <= value <= high + slack
            return Verdict("kink" if inside else "fail", found, 0.0 if inside else off, slack)
        tolerance = 4 * error + 1e-9 * abs(found)
        if not np.isfinite(error):
            return Verdict("undecided", found, off, 0.0, "no step gives a difference quotient that is a number")
        if not np.isfinite(value) or off > tolerance:
            # A large error may be larger than it seems.
            if not np.isfinite(value) or off > 100 * error:
                return Verdict("fail", found, off, tolerance)
            return Verdict("undecided", found, off, tolerance, "the difference quotients are not exact enough to tell")
        if error <= _KNOWN * max(abs(value), abs(found)) or (off == 0 and error == 0):
            return Verdict("pass", found, off, tolerance)
        return Verdict("undecided", found, off, tolerance, "no step of the difference quotients tells the derivative from 0")


def _best(found: Sequence[Estimate]) -> Estimate:
    """Return for each element the estimate with the smallest error.

    An estimate with a larger step has to agree with those with smaller ones: far away the function may be flat, for example.
    """
    value, error = found[-1]
    for other, off in reversed(found[:-1]):
        agrees = ~np.isfinite(error) | (np.abs(other - value) <= 10 * (error + off))
        better = agrees & (off < error)
        value, error = np.where(better, other, value), np.where(better, off, error)
    return value, error


def _extrapolated(at: Callable[[float], Array], step: float, x: float, side: int) -> Estimate:
    """Return the entry of one table of Ridders with the smallest estimate of its error."""
    here = at(0.0)
    best, least = np.full(here.shape, np.nan), np.full(here.shape, np.inf)
    before: list[Array] = []
    power = _SHRINK if side else _SHRINK**2
    for row in range(_ROWS):
        distance = step / _SHRINK**row
        distance = (x + distance) - x  # the distance after rounding
        if distance == 0:
            break
        if side:
            moved = at(side * distance)
            quotient, size = side * (moved - here) / distance, np.maximum(np.abs(moved), np.abs(here))
        else:
            up, down = at(distance), at(-distance)
            quotient, size = (up - down) / (2 * distance), np.maximum(np.abs(up), np.abs(down))
        rounding = 4 * np.finfo(np.float64).eps * size / distance
        current = [quotient]
        factor = power
        for k in range(row):
            current.append((current[k] * factor - before[k]) / (factor - 1))
            factor *= power
            error = np.maximum(np.abs(current[-1] - current[-2]), np.abs(current[-1] - before[k])) + rounding
            better = error < least  # nan is not
            best, least = np.where(better, current[-1], best), np.where(better, error, least)
        before = current
    return best, least
