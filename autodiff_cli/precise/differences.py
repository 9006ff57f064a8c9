"""Derivatives from values alone, with steps so small that nothing is left of their error.

With a step of 1e-30 of the size of a variable, and digits enough that a value hardly rounds, a difference quotient has 50
right digits whatever the units are.  The quotients to the left and to the right, each with two steps, tell what a point
is: where they agree the function is smooth; where they disagree, and go on to do so as the step shrinks, it has a kink.
"""

from __future__ import annotations

import itertools
import math as floats
from collections.abc import Callable, Sequence
from typing import Any

from autodiff_cli.precise.number import Arithmetic

Evaluate = Callable[[Arithmetic, list[Any]], list[Any]]
"""The elements of the output for elements of the inputs, all of them mpmath's numbers."""
Index = tuple[int, ...]
"""By which elements of the inputs a derivative is, one entry for each order: ``(0, 0)`` is the second by the first."""

STEPS = (30, 40)
"""Digits of the two steps, beyond those of the size of a variable."""
SHORTER = (130, 160)
"""The same for a second look, at functions that change within the first steps."""
STEPS_AT_0 = (100, 120)
"""Digits of the steps where a variable is 0, and its size is not known."""
MOST_DIGITS = 760
"""Sums of any two floats are exact with so many."""


class Slope:
    """A derivative of one number, as the values have it.

    Attributes:
        kind: ``smooth``; ``kink``, where the sides disagree or the function jumps; ``undefined``, where there is no value;
            ``unclear``, where the quotients go nowhere.
        value: the derivative, infinite where the quotients grow without bounds; nan if there is none.
        sides: the quotients around a kink, the smallest and the largest.
        central: the central quotient, whatever it is worth.
        noise: what the digits of the values leave open, absolute.
    """

    __slots__ = ("central", "kind", "noise", "sides", "value")

    def __init__(self, kind: str, value: Any, central: Any, noise: Any, sides: tuple[Any, Any] | None = None) -> None:
        self.kind = kind
        self.value = value
        self.central = central
        self.noise = noise
        self.sides = (value, value) if sides is None else sides


class Differences:
    """Derivatives at one point.

    Args:
        evaluate: computes the function.
        inputs: the elements of the variables, floats.
        order: the highest order that will be asked for.
        digits: how many right digits are wanted.
    """

    def __init__(self, evaluate: Evaluate, inputs: Sequence[float], order: int = 1, digits: int = 50) -> None:
        self._evaluate = evaluate
        self._inputs = list(inputs)
        self._more = max(digits - 50, 0)
        self._at_0 = any(x == 0 for x in inputs)
        self._order = order
        self._enough = self._digits(STEPS_AT_0 if self._at_0 and order <= 2 else STEPS)
        self._run: _Run | None = None
        self._second: _Run | None = None

    def _digits(self, steps: tuple[int, int]) -> int:
        return (steps[1] + self._more) * (self._order + 1) + 60 + self._more

    def _made(self, digits: int, steps: tuple[int, int] = STEPS) -> _Run:
        return _Run(self._evaluate, self._inputs, digits, self._order, steps, self._more)

    @property
    def run(self) -> _Run:
        """The evaluations, with digits enough that no sum loses a term from sight, as far as floats have terms."""
        if self._run is None:
            self._run = self._made(self._enough)
            self._run.value(())
            if self._run.math.short and self._enough < MOST_DIGITS:
                self._enough = MOST_DIGITS + self._more + STEPS[1] * self._order
                self._run = self._made(self._enough)
        return self._run

    @property
    def math(self) -> Arithmetic:
        """The arithmetic of the results."""
        return self.run.math

    def values(self) -> list[Any]:
        """The elements of the output."""
        return self.run.value(())

    def slopes(self, index: Index) -> list[Slope]:
        """A derivative of each element of the output."""
        found = self.run.slopes(index)
        if all(slope.kind == "undefined" or (slope.kind == "smooth" and not self.math.mp.isinf(slope.value)) for slope in found):
            return found
        # What is not smooth has to be so with more digits and shorter steps too: else it was rounding, or a large step.
        if self._second is None:
            self._second = self._made(max(self._enough, self._digits(SHORTER)) + 150, SHORTER)
        return [_confirmed(one, other) for one, other in zip(found, self._second.slopes(index), strict=True)]

    def spread(self, index: Index, seeds: Sequence[int], reads: bool) -> list[float]:
        """How far a derivative of each element moves if all operations round as floats do.

        Args:
            index: which derivative.
            seeds: one for each trial.
            reads: whether to round variables wherever they are read, in the place of the results of operations.
        """
        exact = [slope.value for slope in self.slopes(index)]
        most = [0.0] * len(exact)
        for seed in seeds:
            run = self._made(self._enough)
            run.seed, run.reads = seed, reads
            for j, (one, other) in enumerate(zip(run.central(index), exact, strict=True)):
                distance = abs(one - run.math.mp.mpf(other))
                most[j] = floats.inf if run.math.mp.isnan(distance) else max(most[j], float(distance))
        return most

    def around(self, index: Index, j: int, distance: float) -> float:
        """The largest size of a derivative of an element where its variables are larger or smaller by a share of them."""
        sizes = []
        for side in (-1, 1):
            inputs = [x * (1 + side * distance) if i in index else x for i, x in enumerate(self._inputs)]
            run = _Run(self._evaluate, inputs, self._enough, self._order, STEPS, self._more)
            sizes.append(abs(run.central(index)[j]))
        return max((float(size) for size in sizes if not self.math.mp.isnan(size)), default=0.0)


class _Run:
    """Evaluations with one number of digits, each made once."""

    def __init__(
        self, evaluate: Evaluate, inputs: Sequence[float], digits: int, order: int, steps: tuple[int, int], more: int
    ) -> None:
        self.math = Arithmetic(digits)
        self.seed: int | None = None
        self.reads = False
        mp = self.math.mp
        self._evaluate = evaluate
        self._inputs = [mp.mpf(x) for x in inputs]
        self._known: dict[Any, list[Any]] = {}
        at_0 = STEPS_AT_0 if order <= 2 else steps
        self.scales = [abs(x) if x and not mp.isnan(x) and not mp.isinf(x) else mp.mpf(1) for x in self._inputs]
        self._steps = [
            tuple(mp.mpf(10) ** -(exponent + more) * scale for exponent in (steps if x else at_0))
            for x, scale in zip(self._inputs, self.scales, strict=True)
        ]

    def value(self, moves: tuple[tuple[int, int, int], ...]) -> list[Any]:
        """The output with inputs moved: ``(i, k, s)`` is half a step ``s`` of element ``i``, ``k`` times."""
        if moves not in self._known:
            inputs = list(self._inputs)
            if self.seed is not None:
                self.math.rounding(self.seed, self.reads)
            for i, count, step in moves:
                inputs[i] = inputs[i] + self._steps[i][step] * count / 2
            try:
                self._known[moves] = self._evaluate(self.math, inputs)
            finally:
                self.math.rounding(None)
        return self._known[moves]

    def _stencil(self, index: Index, step: int, sides: dict[int, int]) -> list[Any]:
        """A difference quotient: central, or to the side of each element that ``sides`` names."""
        mp = self.math.mp
        orders = {i: index.count(i) for i in dict.fromkeys(index)}
        total: list[Any] | None = None
        parts = []
        for i, order in orders.items():
            side = sides.get(i, 0)
            offsets = [(2 * k - order) if side == 0 else 2 * k * side for k in range(order + 1)]
            signs = [(-1) ** (order - k) * floats.comb(order, k) * (side or 1) ** order for k in range(order + 1)]
            parts.append([(i, offset, sign) for offset, sign in zip(offsets, signs, strict=True)])
        for choice in itertools.product(*parts):
            moves = tuple((i, offset, step) for i, offset, _ in choice if offset)
            weight = floats.prod(sign for _, _, sign in choice)
            terms = [weight * value for value in self.value(moves)]
            total = terms if total is None else [a + b for a, b in zip(total, terms, strict=True)]
        assert total is not None
        size = mp.mpf(1)
        for i, order in orders.items():
            size *= self._steps[i][step] ** order
        return [value / size for value in total]

    def central(self, index: Index) -> list[Any]:
        """The derivative by central differences."""
        return self._stencil(index, 0, {}) if index else self.value(())

    def slopes(self, index: Index) -> list[Slope]:
        """The derivative and what the sides say of it."""
        mp = self.math.mp
        values, central = self.value(()), self.central(index)
        elements = list(dict.fromkeys(index))
        corners = list(itertools.product((1, -1), repeat=len(elements)))
        if len(index) > 2:
            corners = [(1,) * len(elements), (-1,) * len(elements)]
        sided = [[self._stencil(index, step, dict(zip(elements, corner, strict=True))) for step in (0, 1)] for corner in corners]
        scale = mp.mpf(1)
        for i in index:
            scale *= self._steps[i][0]
        ratio = mp.mpf(1)
        for i in elements:
            ratio = max(ratio, self._steps[i][0] / self._steps[i][1])
        found = []
        for j, value in enumerate(values):
            noise = abs(value) * mp.mpf(10) ** (20 - self.math.digits) / scale
            if mp.isnan(value) or mp.isinf(value):
                found.append(Slope("undefined", mp.nan, central[j], noise))
                continue
            pairs = [(far[j], near[j]) for far, near in sided]
            limits = [_limit(mp, far, near, noise, ratio if len(index) == 1 else mp.inf) for far, near in pairs]
            found.append(_judged(mp, central[j], limits, pairs, noise))
        return found


JUMP = "jump"
"""What a value does that does not come nearer as the step shrinks."""


def _limit(mp: Any, far: Any, near: Any, noise: Any, ratio: Any) -> Any:
    """Where two quotients to one side lead, the first with a step that is ``ratio`` times that of the second.

    Returns:
        the limit, nan outside of the domain, ``JUMP``, or ``None`` where they lead nowhere.
    """
    if mp.isnan(far) or mp.isnan(near):
        return mp.nan
    if mp.isinf(far) or mp.isinf(near):
        return JUMP
    if abs(far - near) <= max(abs(far), abs(near)) * mp.mpf("1e-12") or max(abs(far), abs(near)) <= noise:
        return near
    if abs(near) <= abs(far) / 2:
        return mp.mpf(0)
    if far and far * near < 0:
        return None
    growth = abs(near) / abs(far) if far else mp.inf
    if growth > ratio * 0.9:
        return JUMP
    return mp.sign(near) * mp.inf if growth > 1 else None


def _outside(mp: Any, limit: Any) -> bool:
    return limit is not None and limit != JUMP and bool(mp.isnan(limit))


def _judged(mp: Any, central: Any, limits: list[Any], pairs: list[tuple[Any, Any]], noise: Any) -> Slope:
    """What the limits from all sides say together."""
    both = [(limit, pair) for limit, pair in zip(limits, pairs, strict=True) if not _outside(mp, limit)]
    numbers = [limit for limit, _ in both if limit is not None and limit != JUMP]
    if not both:
        return Slope("undefined", mp.nan, central, noise)
    if any(limit == JUMP for limit, _ in both):
        return Slope("kink", mp.nan, central, noise, (-mp.inf, mp.inf))
    if len(numbers) < len(both):
        return Slope("unclear", mp.nan, central, noise)
    low, high = min(numbers), max(numbers)
    everywhere = len(both) == len(limits) and not mp.isnan(central)
    if mp.isinf(low) or mp.isinf(high):
        return Slope("smooth", low, central, noise) if low == high else Slope("kink", mp.nan, central, noise, (low, high))
    size = max(abs(low), abs(high)) * mp.mpf("1e-12")
    apart = [max(quotients) - min(quotients) for quotients in zip(*[pair for _, pair in both], strict=True)]
    if high - low > size and apart[0] / 2 < apart[1] < apart[0] * 2:
        return Slope("kink", mp.nan, central, noise, (low, high))
    if everywhere and low == high == 0:
        # Either it shrinks with the step, or sides that agree meet at a corner.
        corner = abs(central) > noise and abs(central) > max(abs(far) for _, (far, _) in both) * 1000
        return Slope("kink", mp.nan, central, noise, (low, high)) if corner else Slope("smooth", mp.mpf(0), central, noise)
    if not everywhere:
        return Slope("smooth", numbers[0], central, noise)
    if abs(central - low) > max(size, high - low) * 1000 + noise:
        return Slope("kink", mp.nan, central, noise, (low, high))
    return Slope("smooth", central, central, noise)


def _confirmed(one: Slope, other: Slope) -> Slope:
    """What two runs say together, the second one with more digits: what shrinks with the digits was rounding."""
    if other.kind != "undefined" and abs(one.central) > 0 and abs(other.central) < abs(one.central) * 1e-60:
        return Slope("smooth", other.central, other.central, one.noise)
    if one.kind == other.kind == "kink":
        alike = all(a == b or abs(a - b) <= (abs(a) + abs(b)) / 100 for a, b in zip(one.sides, other.sides, strict=True))
        return one if alike else Slope("smooth", (other.sides[0] + other.sides[1]) / 2, other.central, one.noise)
    return other
