"""Difference quotients in float64 that know their own error, for what cannot be computed with more digits.

C. J. F. Ridders, Accurate computation of F'(x) and F'(x) F''(x), Advances in Engineering Software 4 (1982): quotients with
steps that shrink are extrapolated to the step 0, and how much the last extrapolations disagree is an estimate of the error.
Here that is begun with steps of several sizes, the rounding of the function is added, and the best one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.gradcheck.verdicts import Verdict

_SHRINK = 1.6
_ROWS = 9
_STEPS = (0.3, 1e-2, 1e-4, 1e-6)
_STEPS_AT_0 = (1.0, 1e-3, 1e-6, 1e-9, 1e-12)
_MANY = 50
"""With more elements than this fewer steps are tried for each."""
_KNOWN = 1e-4
"""A quotient with a larger error, relative, says nothing of a derivative."""


class Quotient:
    """A derivative by one element of an input, of every element of the output.

    Attributes:
        value, error: the estimate, and how far it may be off.
        left, right: pairs of the same, to one side each.
    """

    __slots__ = ("error", "left", "right", "value")

    def __init__(self, function: Callable[[float], Any], x: float, many: int) -> None:
        scale = abs(x) if x else 1.0
        steps: Sequence[float] = _STEPS if x else _STEPS_AT_0
        if many > _MANY:
            steps = steps[:2] if many <= 4 * _MANY else steps[1:2]
        known: dict[float, Any] = {}

        def at(distance: float) -> Any:
            if distance not in known:
                known[distance] = np.ravel(np.asarray(function(distance), np.float64))
            return known[distance]

        self.right = _best([_extrapolated(at, scale * step, x, 1) for step in steps])
        self.left = _best([_extrapolated(at, scale * step, x, -1) for step in steps])
        self.value, self.error = _best([_extrapolated(at, scale * step, x, 0) for step in steps])
        for value, error in (self.right, self.left):  # at the end of a domain there is one side only
            better = ~np.isfinite(self.error) & np.isfinite(error)
            self.value, self.error = np.where(better, value, self.value), np.where(better, error, self.error)

    def kink(self) -> Any:
        """Where the sides disagree by more than their errors."""
        (left, of_left), (right, of_right) = self.left, self.right
        size = np.maximum(np.abs(left), np.abs(right))
        sure = (of_left <= _KNOWN * size) & (of_right <= _KNOWN * size)
        return sure & (np.abs(left - right) > 100 * (of_left + of_right) + 1e-3 * size)

    def judged(self, j: int, value: float) -> Verdict:
        """Whether a number is the derivative of the j-th element of the output."""
        found, error = float(self.value[j]), float(self.error[j])
        off = abs(value - found)
        if self.kink()[j]:
            low, high = sorted((float(self.left[0][j]), float(self.right[0][j])))
            slack = float(self.left[1][j] + self.right[1][j])
            inside = low - slack <= value <= high + slack
            return Verdict("kink" if inside else "fail", found, 0.0 if inside else off, slack)
        tolerance = 4 * error + 1e-9 * abs(found)
        if not np.isfinite(error):
            return Verdict("undecided", found, off, 0.0, "no step gives a difference quotient that is a number")
        if not np.isfinite(value) or off > tolerance:
            # An error that is large may be larger than it seems.
            certain = not np.isfinite(value) or off > 100 * error
            why = "" if certain else "the difference quotients are not exact enough to tell"
            return Verdict("fail" if certain else "undecided", found, off, tolerance, why)
        if error <= _KNOWN * max(abs(value), abs(found)) or (off == 0 and error == 0):
            return Verdict("pass", found, off, tolerance)
        return Verdict("undecided", found, off, tolerance, "no step of the difference quotients tells the derivative from 0")


def _best(found: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """For each element the estimate with the smallest error, of those with large steps first.

    One with a larger step has to agree with those with smaller ones: far away a function may be flat, for example.
    """
    value, error = found[-1]
    for other, off in reversed(found[:-1]):
        agrees = ~np.isfinite(error) | (np.abs(other - value) <= 10 * (error + off))
        better = agrees & (off < error)
        value, error = np.where(better, other, value), np.where(better, off, error)
    return value, error


def _extrapolated(at: Callable[[float], Any], step: float, x: float, side: int) -> tuple[Any, Any]:
    """One table of Ridders: the entry with the smallest estimate of its error, and that."""
    here = at(0.0)
    best, least = np.full(here.shape, np.nan), np.full(here.shape, np.inf)
    before: list[Any] = []
    power = _SHRINK if side else _SHRINK**2
    for row in range(_ROWS):
        distance = step / _SHRINK**row
        distance = (x + distance) - x  # what the float makes of it
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
