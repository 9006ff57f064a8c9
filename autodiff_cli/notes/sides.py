"""An output and its derivatives at a point, and just beside it along one variable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation

STEPS = (0.5, 0.75, 0.9)
"""The distances looked at, as powers of the precision of the type, in proportion to the place."""
STEPS_AT_0 = (2.5, 2.75, 2.9)
"""The same where a variable is 0 and its size is not known: nothing is too small to be seen there, unless a constant hides it."""
TOLERANCE = 1e-5
_SETTLED = 0.3


class Line:
    """The output along one element of one variable.

    Args:
        evaluation: the evaluation.
        name, element: the variable, and which of its elements.
        place: which element of the output; ``None`` for the sum that a sweep starts from.
    """

    def __init__(self, evaluation: Evaluation, name: str, element: tuple[int, ...], place: tuple[int, ...] | None) -> None:
        self.name = name
        self.element = element
        self._session = evaluation
        self._place = place

    @property
    def value(self) -> Any:
        """Where the point is on the line."""
        return self._session.leaves[self.name]._data[self.element]

    def look(self, shift: float, order: int) -> list[Any]:
        """The value and the derivatives along the line; the second ones by the other variables too.

        All are nan where the expression has no value.
        """
        evaluation = self._session
        leaves = dict(evaluation.leaves)
        moved = np.array(leaves[self.name]._data)
        moved[self.element] += shift
        leaves[self.name] = Tensor(moved[()])
        for name in evaluation.variables:
            leaves[name] = leaves[name].detach().requires_grad_()
        try:
            evaluator = evaluation.again(leaves)
            current = self._number(evaluator.as_tensor(evaluator.run()))
        except AutodiffError:  # a function that refuses what is outside of its domain
            return [np.array([math.nan])] * (order + 1)
        found = [np.array([float(current._data)])]
        inputs = [leaves[name] for name in evaluation.variables]
        own = list(evaluation.variables).index(self.name)
        for k in range(1, order + 1):
            if math.isnan(found[0][0]):
                found.append(np.array([math.nan]))
            elif not current._requires_grad:
                found.append(np.zeros(sum(x.numel() for x in inputs) if k == 2 else 1))
            else:
                slopes = grad(current, inputs, create_graph=k < order, materialize_grads=True)
                current = slopes[own][self.element] if self.element else slopes[own]
                found.append(np.concatenate([np.ravel(s._data) for s in slopes]) if k == 2 else np.ravel(current._data))
        return found

    def _number(self, output: Tensor) -> Tensor:
        if self._place is not None:
            return output[self._place]
        if self._session.gradient is not None:
            output = output * self._session.gradient
        return output.sum() if output.shape else output


class Sides:
    """One number at a point, and its limits from the left and from the right.

    Attributes:
        order: 0 for the value, 1 for the derivative and so on; ``index`` which of several it is.
        used: what is answered at the point.
        left, right: the limits; nan where there is no value on that side.
    """

    def __init__(self, order: int, index: int, used: float, left: Sequence[float], right: Sequence[float]) -> None:
        self.order = order
        self.index = index
        self.used = used
        (self.left, before), (self.right, after) = _limit(left), _limit(right)
        self._loose = before + after

    @property
    def settled(self) -> bool:
        """Whether both limits are reached."""
        return self._loose <= abs(self.left - self.right) / 4

    @property
    def one_sided(self) -> bool:
        """Whether the expression has values on one side only."""
        return math.isnan(self.left) != math.isnan(self.right)

    @property
    def differ(self) -> bool:
        """Whether the answer is not the limit from both sides, or of the side that there is."""
        sides = [side for side in (self.left, self.right) if not math.isnan(side)]
        if not sides:
            return False
        return any(math.isinf(side) for side in sides) or any(self._apart(a, b) for a in sides for b in (*sides, self.used))

    def _apart(self, a: float, b: float) -> bool:
        if math.isnan(b) or math.isinf(b):
            return True
        return abs(a - b) > TOLERANCE * max(abs(a), abs(b)) + self._loose


def _limit(values: Sequence[float]) -> tuple[float, float]:
    """Where numbers ever closer to a point lead, and how far they still are from it; infinite if they grow without end."""
    far, near, last = values
    if not math.isfinite(last):
        return last, 0.0
    before, after = abs(near - far), abs(last - near)
    if math.isfinite(near) and abs(last) > abs(near) > abs(far) and after > _SETTLED * before and after > 0.02 * abs(last):
        return math.copysign(math.inf, last), 0.0
    if abs(last) < 1e-3 * abs(far) and after <= _SETTLED * before:
        return 0.0, 4 * abs(last)
    return last, 4 * after


def both_sides(line: Line, order: int, eps: float) -> tuple[list[Sides], tuple[float, float] | None]:
    """What changes abruptly along a line: derivatives in which the sides differ, and the ends of a jump of the value."""
    place = abs(float(line.value))
    here = line.look(0.0, order)
    found, jump = _changes(line, here, [(place or 1.0) * eps**power for power in (STEPS if place else STEPS_AT_0)])
    if not place and not found and jump is None:
        found, jump = _changes(line, here, [eps**power for power in STEPS])
        found = [sides for sides in found if sides.settled]  # what is as small as the steps is not a kink
    return found, jump


def _changes(line: Line, here: Sequence[Any], steps: Sequence[float]) -> tuple[list[Sides], tuple[float, float] | None]:
    order = len(here) - 1
    left, right = [line.look(-step, order) for step in steps], [line.look(step, order) for step in steps]
    found = []
    for k in range(1, order + 1):
        for i, used in enumerate(here[k]):
            # A side without values has one nan for all derivatives.
            both = ([float(look[k][min(i, len(look[k]) - 1)]) for look in side] for side in (left, right))
            sides = Sides(k, i, float(used), *both)
            if sides.differ:
                found.append(sides)
    return found, _jump([look[0][0] for look in left], [look[0][0] for look in right], float(here[0][0]))


def _jump(left: Sequence[float], right: Sequence[float], here: float) -> tuple[float, float] | None:
    """The values on both sides of a jump: a difference that stays, however near one looks."""
    for a, b in ((left, right), (left, [here] * 3), ([here] * 3, right)):
        near, last = b[1] - a[1], b[2] - a[2]
        size = max(abs(a[2]), abs(b[2]), abs(here))
        if math.isfinite(near) and math.isfinite(last) and abs(last) > 1e-9 * size and abs(last - near) < 0.02 * abs(last):
            return _limit(a)[0], _limit(b)[0]
    return None
