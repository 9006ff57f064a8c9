"""Whether the functions of a system are continuous and defined at a point: no root and no minimum is claimed where they are not.

Interval arithmetic proves continuity on a box around the point.  If it does not, each coordinate line through the point is
bisected down to two neighbouring floats between which a function may not be continuous, and the limits of the values from both
sides of them are compared with each other and with the values there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.language.tree import walk
from autodiff_cli.notes.one_sided_limits import STEPS, STEPS_AT_0, Discontinuity, exact_jump, is_exactly_continuous, limits_at_jump

if TYPE_CHECKING:
    from collections.abc import Callable

    from autodiff_cli.arrays import Vector
    from autodiff_cli.language.tree import Syntax
    from autodiff_cli.solvers.intervals.enclosure import Enclosure
    from autodiff_cli.solvers.system import System

_MOST_LINES = 24
"""The maximum number of variables along which a system is examined."""
_NEAR_0 = 1e-300
"""The size below which a number counts as 0: outward rounding cannot tell subnormal numbers from 0."""
_EPS = float(np.finfo(float).eps)


def discontinuity(system: System, enclosure: Enclosure | None, x: Vector, reach: Vector) -> Discontinuity | None:
    """Return where a function jumps or is not defined within a distance of a point, along ``_MOST_LINES`` variables, or ``None``.

    Args:
        system: the functions.
        enclosure: the functions over boxes; ``None`` if they cannot be traced: then only the point itself is examined, unless
            they are continuous everywhere.
        x, reach: the point, and the distance in each of the n variables, which is at least a few units in the last place.
    """
    low, high = x - reach, x + reach
    if enclosure is None and all(map(is_continuous_everywhere, system.programs)):
        return None
    if enclosure is not None and enclosure.is_regular(low, high):
        return None
    for i in range(min(len(x), _MOST_LINES)):
        point = float(x[i])
        places = [(point, point)] if enclosure is None else _irregular_places(enclosure, x, i, float(low[i]), float(high[i]))
        for first, last in places:
            if (result := _discontinuity_between(system, enclosure, x, i, first, last)) is not None:
                return result
    return None


_CONTINUOUS = "sum mean exp sin cos tanh erf sigmoid softplus logsumexp softmax log_softmax square abs relu"
"""Functions that are continuous everywhere."""
_JOINING = "start assignment add sub mul neg matmul name number NAME NUMBER arguments keyword list"
"""The kinds of nodes of a tree whose values are continuous where those of their children are."""


def is_continuous_everywhere(program: Syntax) -> bool:
    """Return whether a program has only operations that are defined and continuous for all numbers."""

    def is_continuous(node: Syntax) -> bool:
        """Return whether the values of a node are continuous where those of its children are."""
        if node.kind == "call":
            return node.children[0].text in _CONTINUOUS.split()
        if node.kind == "pow":
            exponent = node.children[1]
            return exponent.kind == "number" and exponent.children[0].text.isdigit()  # x**-1 and x**0.5 are not defined everywhere
        return node.kind in _JOINING.split()

    return all(map(is_continuous, walk(program)))


def _on_line(x: Vector, i: int, value: float) -> Vector:
    """Return the point x with another value of variable i."""
    point = x.copy()
    point[i] = value
    return point


def _irregular_places(enclosure: Enclosure, x: Vector, i: int, low: float, high: float) -> list[tuple[float, float]]:
    """Return ranges of variable i in which a function may jump: the lowest neighbouring floats, and from these to the highest."""

    def is_regular(a: float, b: float) -> bool:
        return enclosure.is_regular(_on_line(x, i, a), _on_line(x, i, b))

    if is_regular(low, high):
        return []
    lowest, highest = (_irregular_pair(is_regular, low, high, lower_first) for lower_first in (True, False))
    return [lowest] if lowest == highest else [lowest, (lowest[0], highest[1])]


def _irregular_pair(is_regular: Callable[[float, float], bool], low: float, high: float, lower_first: bool) -> tuple[float, float]:
    """Bisect a range that is not regular to the lowest neighbouring floats (or highest, without ``lower_first``) that are not."""
    while low < (middle := low / 2 + high / 2) < high:  # until there is no float between them
        lower, upper = (low, middle), (middle, high)
        first, second = (lower, upper) if lower_first else (upper, lower)
        low, high = second if is_regular(*first) else first
    return low, high


def _discontinuity_between(
    system: System, enclosure: Enclosure | None, x: Vector, i: int, low: float, high: float
) -> Discontinuity | None:
    """Return the discontinuity at x with variable i between two close values, if any; ``None`` if no side is defined.

    In this order: undefined between the values; a jump between the limits on both sides; a jump that the enclosure found and an
    exact evaluation confirms.
    """
    if max(abs(low), abs(high)) < _NEAR_0:
        low = high = 0.0
    steps = _steps_beside(low, high)
    left = [system.values(_on_line(x, i, low - step)) for step in steps]
    right = [system.values(_on_line(x, i, high + step)) for step in steps]
    here = [system.values(_on_line(x, i, end)) for end in (low, high)]
    is_defined_beside = [bool(np.isfinite(side).all()) for side in (left, right)]
    if not any(is_defined_beside):
        return None
    # At an end of the domain, only one of the two floats is in it.
    is_defined_here = np.isfinite(here).all() if all(is_defined_beside) else np.isfinite(here).all(axis=1).any()
    # Functions are unbounded at a hole between two floats, or at the open end of a domain.  Without a tape, the enclosure is that
    # of a formula, which may divide by a pivot of 0 where the function itself is defined.
    own_enclosure = None if system.tape is None else enclosure
    has_hole = own_enclosure is not None and not own_enclosure.is_bounded(_on_line(x, i, low), _on_line(x, i, high))
    where = f"{system.labels[i]} = {high + 0.0:.6g}"
    if not is_defined_here or has_hole:
        return Discontinuity("undefined", where)
    if not all(is_defined_beside):
        return None
    ends = {low, high}  # which may be one number
    evaluations = (system.evaluation(k, _on_line(x, i, end)) for k in range(len(system.programs)) for end in ends)
    if (limits := _limits_of_jump(left, right, here, steps, high - low)) is not None:
        # The values of a function of arrays may differ as much beside a pole that is as close as the floats.
        is_continuous = system.tape is None and all(map(is_exactly_continuous, evaluations))
        return None if is_continuous else Discontinuity("jump", where, *limits)
    if enclosure is None:
        return None
    return next((hidden for evaluation in evaluations if (hidden := exact_jump(evaluation)) is not None), None)


def _steps_beside(low: float, high: float) -> list[float]:
    """Return three decreasing distances from two floats to values beside them: relative to their size, or absolute at 0."""
    size = max(abs(low), abs(high), (high - low) / _EPS ** STEPS[-1])  # so that the last distance is at least their gap
    return [size * _EPS**power for power in STEPS] if size else [_EPS**power for power in STEPS_AT_0]


def _limits_of_jump(
    left: list[Vector], right: list[Vector], here: list[Vector], steps: list[float], gap: float
) -> tuple[float, float] | None:
    """Return the left and the right limit of the first function that jumps, or ``None``.

    Its values are known at two floats with a gap between them, ``here``, and at distances ``steps`` to the left and the right.
    """
    for j in range(len(here[0])):
        before, after = ([float(values[j]) for values in side] for side in (left, right))
        slope = max(abs(side[1] - side[2]) / (steps[1] - steps[2]) for side in (before, after))  # between the two nearest points
        for value in (float(point[j]) for point in here):
            limits = limits_at_jump(before, after, value)
            # A continuous function may differ between neighbouring floats by its slope times the gap; 4 is a margin.
            if limits is not None and abs(limits[1] - limits[0]) > 4 * slope * gap:
                return limits
    return None
