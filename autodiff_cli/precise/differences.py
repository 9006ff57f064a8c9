"""Derivatives from values alone, by differences with steps so small that they leave no error.

With a step of 1e-30 of the size of a variable, and so many digits that a value hardly rounds, a difference quotient has 50
right digits in any units.  The quotients to the left and to the right, each with two steps, tell what kind of point it is:
where they agree the function is smooth; where they disagree, and still do so as the step shrinks, it has a kink.
"""

from __future__ import annotations

import itertools
import math as floats
from collections.abc import Callable, Sequence
from typing import NamedTuple

from autodiff_cli.precise.arithmetic import Arithmetic, Context, Real

Evaluate = Callable[[Arithmetic, list[Real]], list[Real]]
"""Computes the elements of the output from the elements of the inputs."""
Index = tuple[int, ...]
"""The elements of the inputs that a derivative is with respect to, one for each order: ``(0, 0)`` is a second derivative."""
Steps = tuple[int, int]
"""Digits of a step and of a smaller one, beyond those of the size of a variable."""

STEPS: Steps = (30, 40)
SHORTER: Steps = (130, 160)
"""For a second look, at functions that change within the first steps."""
STEPS_AT_0: Steps = (100, 120)
"""Where a variable is 0, so that its size is not known."""
MOST_DIGITS = 760
"""Sums of any two floats are exact with so many digits."""


class Slope(NamedTuple):
    """A derivative of one number, as its values have it.

    Attributes:
        kind: ``smooth``; ``kink``, where the sides disagree or the function jumps; ``undefined``, where it has no value;
            ``unclear``, where the quotients have no limit.
        value: the derivative, infinite where the quotients grow without bound; nan if there is none.
        central: the central quotient, whatever it is worth.
        noise: how much of it is uncertain because values have so many digits only, absolute.
        sides: the smallest and the largest quotient around a kink.
    """

    kind: str
    value: Real
    central: Real
    noise: Real
    sides: tuple[Real, Real]


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
        self._order = order
        self._enough = self._digits(STEPS_AT_0 if 0 in inputs and order <= 2 else STEPS)
        self._run: _Run | None = None
        self._second: _Run | None = None

    def _digits(self, steps: Steps) -> int:
        return (steps[1] + self._more) * (self._order + 1) + 60 + self._more

    def _made(self, digits: int, steps: Steps = STEPS, inputs: Sequence[float] | None = None) -> _Run:
        at_0 = STEPS_AT_0 if self._order <= 2 else steps
        return _Run(self._evaluate, inputs or self._inputs, digits, *([each + self._more for each in one] for one in (steps, at_0)))

    @property
    def run(self) -> _Run:
        """The evaluations, with so many digits that no sum loses a term, as far as floats have terms."""
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

    def values(self) -> list[Real]:
        """Return the elements of the output."""
        return self.run.value(())

    def slopes(self, index: Index) -> list[Slope]:
        """Return a derivative of each element of the output."""
        found = self.run.slopes(index)
        if all(slope.kind == "undefined" or (slope.kind == "smooth" and not self.math.mp.isinf(slope.value)) for slope in found):
            return found
        # A kink has to remain with more digits and shorter steps: if not it was rounding, or a large step.
        if self._second is None:
            self._second = self._made(max(self._enough, self._digits(SHORTER)) + 150, SHORTER)
        return [_confirmed(one, other) for one, other in zip(found, self._second.slopes(index), strict=True)]

    def spread(self, index: Index, seeds: Sequence[int], reads: bool) -> list[float]:
        """Return how far a derivative of each element moves if all operations round as floats do.

        Args:
            index: which derivative.
            seeds: one for each trial.
            reads: whether to round variables each time they are read, instead of the results of operations.
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
        """Return the largest size of a derivative of an element where its variables are larger or smaller by that share."""
        moved = ([x * (1 + side * distance) if i in index else x for i, x in enumerate(self._inputs)] for side in (-1, 1))
        sizes = [abs(self._made(self._enough, inputs=inputs).central(index)[j]) for inputs in moved]
        return max((float(size) for size in sizes if not self.math.mp.isnan(size)), default=0.0)


class _Run:
    """Evaluations with one number of digits, each made once.

    Args:
        steps, at_0: digits of the two steps of variables, and of those that are 0.
    """

    def __init__(self, evaluate: Evaluate, inputs: Sequence[float], digits: int, steps: Sequence[int], at_0: Sequence[int]) -> None:
        self.math = Arithmetic(digits)
        self.seed: int | None = None
        self.reads = False
        mp = self.math.mp
        self._evaluate = evaluate
        self._inputs = [mp.mpf(x) for x in inputs]
        self._known: dict[tuple[tuple[int, int, int], ...], list[Real]] = {}
        scales = [abs(x) if x and self.math.finite(x) else mp.mpf(1) for x in self._inputs]
        self._steps = [
            [mp.mpf(10) ** -exponent * scale for exponent in (steps if x else at_0)]
            for x, scale in zip(self._inputs, scales, strict=True)
        ]

    def value(self, moves: tuple[tuple[int, int, int], ...]) -> list[Real]:
        """Return the output with inputs moved: ``(i, k, s)`` moves element ``i`` by ``k`` halves of its step ``s``."""
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

    def _stencil(self, index: Index, step: int, sides: dict[int, int]) -> list[Real]:
        """Return a difference quotient: central, or to the side of each element that ``sides`` names."""
        size = self.math.mp.mpf(1)
        parts = []
        for i in dict.fromkeys(index):
            order, side = index.count(i), sides.get(i, 0)
            offsets = [(2 * k - order) if side == 0 else 2 * k * side for k in range(order + 1)]
            signs = [(-1) ** (order - k) * floats.comb(order, k) * (side or 1) ** order for k in range(order + 1)]
            parts.append([(i, offset, sign) for offset, sign in zip(offsets, signs, strict=True)])
            size *= self._steps[i][step] ** order
        terms = []
        for choice in itertools.product(*parts):
            moves = tuple((i, offset, step) for i, offset, _ in choice if offset)
            weight = floats.prod(sign for _, _, sign in choice)
            terms.append([weight * value for value in self.value(moves)])
        return [sum(several[1:], several[0]) / size for several in zip(*terms, strict=True)]

    def central(self, index: Index) -> list[Real]:
        """Return the derivative by central differences."""
        return self._stencil(index, 0, {}) if index else self.value(())

    def slopes(self, index: Index) -> list[Slope]:
        """Return the derivative by central differences, judged by the differences to all sides."""
        mp = self.math.mp
        central = self.central(index)
        elements = list(dict.fromkeys(index))
        corners = list(itertools.product((1, -1), repeat=len(elements)))
        if len(index) > 2:
            corners = [corners[0], corners[-1]]
        sided = [[self._stencil(index, step, dict(zip(elements, corner, strict=True))) for step in (0, 1)] for corner in corners]
        scale = floats.prod((self._steps[i][0] for i in index), start=mp.mpf(1))
        ratio = max((self._steps[i][0] / self._steps[i][1] for i in elements), default=mp.mpf(1)) if len(index) == 1 else mp.inf
        found = []
        for j, value in enumerate(self.value(())):
            noise = abs(value) * mp.mpf(10) ** (20 - self.math.digits) / scale
            if self.math.finite(value):
                found.append(_judged(mp, central[j], [(far[j], near[j]) for far, near in sided], noise, ratio))
            else:
                found.append(Slope("undefined", mp.nan, central[j], noise, (mp.nan, mp.nan)))
        return found


JUMP = "jump"
"""Where the quotients lead if the function has different values on both sides."""


def _limit(mp: Context, far: Real, near: Real, noise: Real, ratio: Real) -> Real | str | None:
    """Return where two quotients to one side lead, the first with a step that is ``ratio`` times that of the second.

    Returns:
        the limit, nan outside of the domain, ``JUMP``, or ``None`` if there is none.
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


def _judged(mp: Context, central: Real, pairs: list[tuple[Real, Real]], noise: Real, ratio: Real) -> Slope:
    """Return the derivative that the quotients to all sides allow, each with a step and a smaller one."""

    def slope(kind: str, value: Real = mp.nan, sides: tuple[Real, Real] | None = None) -> Slope:
        return Slope(kind, value, central, noise, sides or (value, value))

    limits = [_limit(mp, far, near, noise, ratio) for far, near in pairs]
    inside = [not (limit is not None and not isinstance(limit, str) and mp.isnan(limit)) for limit in limits]
    limits, pairs = list(itertools.compress(limits, inside)), list(itertools.compress(pairs, inside))
    numbers = [limit for limit in limits if limit is not None and not isinstance(limit, str)]
    if not limits:
        return slope("undefined")
    if JUMP in limits:
        return slope("kink", sides=(-mp.inf, mp.inf))
    if len(numbers) < len(limits):
        return slope("unclear")
    low, high = min(numbers), max(numbers)
    if mp.isinf(low) or mp.isinf(high):
        return slope("smooth", low) if low == high else slope("kink", sides=(low, high))
    size = max(abs(low), abs(high)) * mp.mpf("1e-12")
    apart = [max(quotients) - min(quotients) for quotients in zip(*pairs, strict=True)]
    if high - low > size and apart[0] / 2 < apart[1] < apart[0] * 2:
        return slope("kink", sides=(low, high))
    everywhere = all(inside) and not mp.isnan(central)
    if everywhere and low == high == 0:
        # Either it shrinks with the step, or sides that agree meet at a corner.
        corner = abs(central) > noise and abs(central) > max(abs(far) for far, _ in pairs) * 1000
        return slope("kink", sides=(low, high)) if corner else slope("smooth", mp.mpf(0))
    if not everywhere:
        return slope("smooth", numbers[0])
    if abs(central - low) > max(size, high - low) * 1000 + noise:
        return slope("kink", sides=(low, high))
    return slope("smooth", central)


def _confirmed(one: Slope, other: Slope) -> Slope:
    """Return one of two judgements, the second with more digits: a difference that shrinks with the digits was rounding."""
    smooth = one._replace(kind="smooth", value=other.central, central=other.central, sides=(other.central, other.central))
    if other.kind != "undefined" and abs(one.central) > 0 and abs(other.central) < abs(one.central) * 1e-60:
        return smooth
    if one.kind == other.kind == "kink":
        alike = all(a == b or abs(a - b) <= (abs(a) + abs(b)) / 100 for a, b in zip(one.sides, other.sides, strict=True))
        return one if alike else smooth._replace(value=(other.sides[0] + other.sides[1]) / 2)
    return other
