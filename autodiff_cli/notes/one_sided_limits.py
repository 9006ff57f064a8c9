"""One-sided limits of an output and its derivatives along one variable."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, new_tensor
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.names import element_names
from autodiff_cli.number_text import number_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.evaluation.trace import Trace
    from autodiff_cli.precise.difference_quotients import Slope

    Array = NDArray[np.float64]

STEPS = (0.5, 0.75, 0.9)
"""The distances from the point relative to the variable, as exponents of the machine epsilon."""
STEPS_AT_0 = (2.5, 2.75, 2.9)
"""The absolute distances from the point if the variable is 0 and its scale is unknown, as exponents of the machine epsilon."""
FAR_STEPS = (0.25, 0.3, 0.35)
"""The distances where rounding hides nearer points, as in ``floor(cos(x))`` at 0: the cosine is 1 up to the distance 1e-8."""
TOLERANCE = 1e-5
"""The relative difference up to which derivatives are equal."""
_SETTLED = 0.3  # numbers converge if each difference is at most this share of the difference before it
_LEAST_CHANGE = 0.02  # a smaller relative change from one distance to the next may be a rounding error
_MOST_SECONDS = 1.0  # the processor time for limits with many digits


class Line(NamedTuple):
    """The output along one element of one variable.

    Attributes:
        evaluation: the evaluation.
        name, element: the name of the variable, and the index of the element.
        place: the index of the output element; ``None`` for the scalar that the backward pass starts from.
    """

    evaluation: Evaluation
    name: str
    element: tuple[int, ...]
    place: tuple[int, ...] | None

    @property
    def value(self) -> float:
        """The coordinate of the point on the line."""
        return float(self.evaluation.leaves[self.name]._data[self.element])

    def values_and_derivatives(self, shift: float, order: int) -> list[Array]:
        """Return by order the value and the derivatives along the line, ``(1,)``; of order 2, also the mixed ones, ``(n,)``.

        Each of them is one nan if the expression is undefined at the shifted point.
        """
        undefined = np.array([math.nan])
        leaves = {name: leaf.detach().requires_grad_() for name, leaf in self.evaluation.variables.items()}
        leaves[self.name] = self._moved(shift)
        try:
            current = self._number(self.evaluation.recomputed(leaves))
        except AutodiffError:  # a function rejects an argument outside of its domain
            return [undefined] * (order + 1)
        if math.isnan(float(current._data)):
            return [undefined] * (order + 1)
        result = [np.array([float(current._data)])]
        inputs = list(leaves.values())
        for k in range(1, order + 1):  # ``current`` is the derivative of the order before along the line
            if not current._requires_grad:
                result.append(np.zeros(sum(leaf.numel() for leaf in inputs) if k == 2 else 1))
                continue
            slopes = dict(zip(leaves, grad(current, inputs, create_graph=k < order, materialize_grads=True), strict=True))
            current = slopes[self.name][self.element] if self.element else slopes[self.name]
            shown = slopes.values() if k == 2 else [current]
            result.append(np.concatenate([np.ravel(slope._data) for slope in shown]))
        return result

    def steps(self, shift: float) -> Trace:
        """Return the trace of the program at the shifted point; it ends where a function rejects its argument."""
        evaluator = self.evaluation.again({self.name: self._moved(shift)})
        evaluator.tensors.listing = True
        result: Trace = []
        evaluator.tensors.steps = result
        with suppress(AutodiffError):
            evaluator.run()
        return result

    def _moved(self, shift: float) -> Tensor:
        """Return the variable with one element shifted."""
        moved = np.array(self.evaluation.leaves[self.name]._data)
        moved[self.element] += shift
        return new_tensor(moved[()], requires_grad=True)

    def _number(self, output: Tensor) -> Tensor:
        """Return the number that is differentiated: an element of the output, or its weighted sum."""
        if self.place is not None:
            return output[self.place]
        if self.evaluation.gradient is not None:
            output = output * self.evaluation.gradient
        return output.sum() if output.shape else output


class Change(NamedTuple):
    """One derivative at a point, and its limits from the left and from the right.

    Attributes:
        order, component: the order, and the index among the derivatives of that order.
        used: the derivative that the answer contains.
        left, right: the one-sided limits; nan if the expression is undefined on that side.
        loose: the estimated error of the one-sided limits.
    """

    order: int
    component: int
    used: float
    left: float
    right: float
    loose: float

    @property
    def settled(self) -> bool:
        """Whether both limits have converged: their error is at most a quarter of their difference."""
        return self.loose <= abs(self.left - self.right) / 4

    @property
    def one_sided(self) -> bool:
        """Whether the expression has values on only one side."""
        return math.isnan(self.left) != math.isnan(self.right)

    @property
    def differs(self) -> bool:
        """Whether the answer differs from a one-sided limit, or the one-sided limits differ."""
        sides = [side for side in (self.left, self.right) if not math.isnan(side)]
        return any(math.isinf(side) for side in sides) or any(self._apart(a, b) for a in sides for b in (*sides, self.used))

    def _apart(self, a: float, b: float) -> bool:
        """Return whether two derivatives differ by more than the errors of the limits."""
        return not math.isfinite(b) or abs(a - b) > TOLERANCE * max(abs(a), abs(b)) + self.loose


def _limit(values: Sequence[float]) -> tuple[float, float]:
    """Return the limit of three numbers at decreasing distances, infinite if they diverge, and the estimate of its error."""
    far, near, last = values
    if not math.isfinite(last):
        return last, 0.0
    first_change, last_change = abs(near - far), abs(last - near)
    converges = last_change <= _SETTLED * first_change
    grows = math.isfinite(near) and abs(last) > abs(near) > abs(far)
    if grows and not converges and last_change > _LEAST_CHANGE * abs(last):
        return math.copysign(math.inf, last), 0.0
    if converges and abs(last) < 1e-3 * abs(far):  # such as a power of the distance
        return 0.0, 4 * abs(last)
    return last, 4 * last_change


class Discontinuity(NamedTuple):
    """A point at which a value is not continuous.

    Attributes:
        kind: ``jump`` if the limits differ from each other or from the value, ``undefined`` if the value is not defined.
        where: the point, such as ``x = 2``.
        left, right: the limits of the value from both sides; nan if ``undefined``.
    """

    kind: str
    where: str
    left: float = math.nan
    right: float = math.nan

    @property
    def sentence(self) -> str:
        """The one sentence that every command prints."""
        if self.kind == "undefined":
            return f"the value is not defined at {self.where}"
        return f"the value jumps from {number_text(self.left)} to {number_text(self.right)} at {self.where}"


def exact_jump(evaluation: Evaluation) -> Discontinuity | None:
    """Return a jump of the value that is found with many digits, or ``None``.

    It is hidden in floats if the value is steep on one side, or the jump is small beside the values around it.
    """
    try:
        result = _first_exact(evaluation, ("jump",))
    except AutodiffError:
        return None
    if result is None:
        return None
    where, slope = result
    negligible = 1e-20 * max(map(abs, slope.sides))  # the sides are values at a small distance, so a limit of 0 is not exact
    left, right = (0.0 if abs(side) < negligible else float(side) for side in slope.sides)
    return Discontinuity("jump", where, left, right)


def is_exactly_continuous(evaluation: Evaluation) -> bool:
    """Return whether the value is continuous along each variable, as far as many digits show."""
    try:
        return _first_exact(evaluation, ("jump", "undefined", "unclear")) is None
    except AutodiffError:
        return False


def _first_exact(evaluation: Evaluation, kinds: Collection[str]) -> tuple[str, Slope] | None:
    """Return the first derivative of one of some kinds (see ``Slope``), and its place, such as ``x = 2``; ``None`` without one.

    Raises:
        AutodiffError: if derivatives cannot be computed with many digits, or not in time.
    """
    from autodiff_cli.precise.reference import Reference, in_time

    with in_time(_MOST_SECONDS):
        reference = Reference(evaluation)
        for name, leaf in evaluation.variables.items():
            elements = zip(reference.indices([name]), element_names(name, leaf.shape), np.ravel(leaf._data), strict=True)
            for index, label, value in elements:
                for slope in reference.differences.slopes(index):
                    if slope.kind in kinds:
                        return f"{label} = {number_text(value)}", slope
    return None


def changes(line: Line, order: int, eps: float) -> tuple[list[Change], tuple[float, float] | None]:
    """Return the derivatives whose limits along a line differ, and the values beside a jump; at 0, with tiny steps first."""
    size = abs(line.value)
    here = line.values_and_derivatives(0.0, order)
    differences, jump = _changes(line, here, [(size or 1.0) * eps**power for power in (STEPS if size else STEPS_AT_0)])
    if not size and not differences and jump is None:
        differences, jump = _changes(line, here, [eps**power for power in STEPS])
        differences = [change for change in differences if change.settled]  # a change that shrinks with the steps is not a kink
    return differences, jump


def far_changes(line: Line, order: int, eps: float) -> tuple[list[Change], tuple[float, float] | None]:
    """Return the same as ``changes``, of points at which a movement is larger than rounding errors that hide it nearer by."""
    steps = [(abs(line.value) or 1.0) * eps**power for power in FAR_STEPS]
    differences, jump = _changes(line, line.values_and_derivatives(0.0, order), steps)
    return [change for change in differences if change.settled], jump


def nearest(line: Line, eps: float) -> float:
    """Return the smallest distance that ``changes`` examines, unless the variable is 0 and its scale is small."""
    return float((abs(line.value) or 1.0) * eps ** STEPS[-1])


def _changes(line: Line, here: Sequence[Array], steps: Sequence[float]) -> tuple[list[Change], tuple[float, float] | None]:
    """Return the derivatives whose limits, from the distances ``steps``, are not those ``here``, and the values beside a jump."""
    order = len(here) - 1
    left, right = ([line.values_and_derivatives(side * step, order) for step in steps] for side in (-1, 1))
    result = []
    for k in range(1, order + 1):
        for i, used in enumerate(here[k]):
            # A side without values has a single nan for all derivatives.
            sides = ([float(point[k][min(i, len(point[k]) - 1)]) for point in side] for side in (left, right))
            (before, error_before), (after, error_after) = map(_limit, sides)
            result.append(Change(k, i, float(used), before, after, error_before + error_after))
    left_values, right_values = ([float(point[0][0]) for point in side] for side in (left, right))
    return [change for change in result if change.differs], limits_at_jump(left_values, right_values, float(here[0][0]))


def limits_at_jump(left: Sequence[float], right: Sequence[float], here: float) -> tuple[float, float] | None:
    """Return the limits of the values on both sides of a jump, from three values at decreasing distances on each; else ``None``.

    At a jump, the values on both sides, or on a side and ``here``, at the point, have a difference that is more than a rounding
    error (1e-9 of them) and does not shrink with the distance.
    """
    for one, other in ((left, right), (left, [here] * 3), ([here] * 3, right)):
        _, near, last = (b - a for a, b in zip(one, other, strict=True))
        size = max(abs(one[-1]), abs(other[-1]), abs(here))
        is_finite = math.isfinite(near) and math.isfinite(last)
        if is_finite and abs(last) > 1e-9 * size and abs(last - near) < _LEAST_CHANGE * abs(last):
            return _limit(one)[0], _limit(other)[0]
    return None
