"""Derivatives computed from function values alone, by difference quotients with negligible truncation error.

With a step of 1e-30 relative to a variable, and enough digits to make rounding negligible, a difference quotient has 50 correct
digits at any scale.  The left and right quotients, each computed with two steps, classify the point: if they agree, the
function is smooth; if they disagree and the disagreement remains with the smaller step, the function has a kink.
"""

from __future__ import annotations

import itertools
import math as floats
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from autodiff_cli.precise.arithmetic import Arithmetic, Real

Evaluate = Callable[[Arithmetic, list[Real]], list[Real]]
"""A function that computes the elements of the output from the elements of the inputs."""
Index = tuple[int, ...]
"""The input elements to differentiate with respect to, one for each order: ``(0, 0)`` is a second derivative."""
Steps = tuple[int, int]
"""The negative decimal exponents of a step and of a smaller step, relative to the size of a variable."""

STEPS: Steps = (30, 40)
SHORTER: Steps = (130, 160)
"""The steps of the second run, for functions that change within the steps of the first run."""
STEPS_AT_0: Steps = (100, 120)
"""The steps for a variable that is 0, whose scale is unknown."""
MOST_DIGITS = 760
"""The number of digits with which the sum of any two floats is exact."""
JUMP, UNCLEAR = "jump", "unclear"
"""What stands in place of a limit for quotients of a function that jumps between the two sides, and for others without a limit."""


class Quotient(NamedTuple):
    """A difference quotient of one output element.

    Attributes:
        value: the quotient.
        noise: its absolute error caused by the finite number of digits.
    """

    value: Real
    noise: Real

    @property
    def lost(self) -> bool:
        """Whether the quotient consists only of rounding errors."""
        return bool(abs(self.value) <= self.noise)

    def slope(self, kind: str, value: Real, sides: tuple[Real, Real] | None = None) -> Slope:
        """Return a derivative of which this is the central quotient; by default, the limits from both sides are its value."""
        return Slope(kind, value, self.value, self.noise, sides or (value, value))


class Slope(NamedTuple):
    """A derivative of one output element, estimated from function values.

    Attributes:
        kind: ``smooth``; ``kink`` if the sides disagree; ``jump`` if the function jumps; ``undefined`` if the function is
            undefined; ``unclear`` if the quotients do not converge.
        value: the derivative; infinite if the quotients grow without bound, and nan if it does not exist.
        central: the central difference quotient, even if the derivative does not exist.
        noise: the absolute error of the central quotient caused by the finite number of digits.
        sides: the smallest and the largest one-sided limit at a kink; the values on the left and on the right of a jump.
    """

    kind: str
    value: Real
    central: Real
    noise: Real
    sides: tuple[Real, Real]


class Differences:
    """Derivatives at one point.

    Args:
        evaluate: the function to differentiate.
        inputs: the elements of the variables, as floats.
        order: the highest order of derivative to compute.
        digits: the required number of correct digits.
    """

    def __init__(self, evaluate: Evaluate, inputs: Sequence[float], order: int = 1, digits: int = 50) -> None:
        self._evaluate = evaluate
        self.inputs = list(inputs)
        self._more = max(digits - 50, 0)  # what the steps and the digits of an evaluation exceed the usual ones by
        self._order = order
        self._enough = self._digits(STEPS_AT_0 if 0 in inputs and order <= 2 else STEPS)
        self._run: _Run | None = None
        self._second: _Run | None = None  # with shorter steps

    def _digits(self, steps: Steps) -> int:
        """Return the number of digits with which the highest order is accurate: each order loses those of a step, and 60 remain."""
        return (steps[1] + self._more) * (self._order + 1) + 60 + self._more

    def _new_run(
        self, digits: int, steps: Steps = STEPS, inputs: Sequence[float] | None = None, seed: int | None = None, reads: bool = False
    ) -> _Run:
        """Return evaluations at the inputs or at others, with shorter steps for more digits; for the rest see ``_Run``."""
        steps_at_0 = STEPS_AT_0 if self._order <= 2 else steps  # those of a higher order would take too many digits
        usual, at_0 = ((larger + self._more, smaller + self._more) for larger, smaller in (steps, steps_at_0))
        return _Run(self._evaluate, inputs or self.inputs, digits, usual, at_0, seed, reads)

    @property
    def run(self) -> _Run:
        """The evaluations, with enough digits that no sum of two floats loses a term."""
        if self._run is None:
            self._run = self._new_run(self._enough)
            self._run.value(())  # an evaluation sets ``short`` if a sum lost a term, for example
            if self._run.math.short and self._enough < MOST_DIGITS:
                self._enough = MOST_DIGITS + self._more + STEPS[1] * self._order
                self._run = self._new_run(self._enough)
        return self._run

    @property
    def math(self) -> Arithmetic:
        """The arithmetic of the derivatives."""
        return self.run.math

    def values(self) -> list[Real]:
        """Return the elements of the output."""
        return self.run.value(())

    def slopes(self, index: Index) -> list[Slope]:
        """Return the derivative of each element of the output with respect to ``index``."""
        slopes = self.run.slopes(index)
        if all(self._is_certain(slope) for slope in slopes):
            return slopes
        # Confirm a kink or noise with more digits and smaller steps: rounding or too large a step may have caused it.
        if self._second is None:
            digits = max(self._enough, self._digits(SHORTER)) + 150  # with 150 to spare
            self._second = self._new_run(digits, SHORTER)
        return [_choose_confirmed(slope, finer) for slope, finer in zip(slopes, self._second.slopes(index), strict=True)]

    def _is_certain(self, slope: Slope) -> bool:
        """Return whether a derivative is undefined, or smooth, finite, and either 0 or more than rounding errors."""
        if slope.kind != "smooth" or self.math.isinf(slope.value):
            return slope.kind == "undefined"
        return not slope.central or bool(abs(slope.central) > slope.noise)

    def spread(self, index: Index, seeds: Sequence[int], reads: bool) -> list[float]:
        """Return the largest change of each output element's derivative when all operations round as in float64; inf for nan.

        There is a trial for each seed.  With ``reads``, variables are rounded each time they are read, and not the results of
        operations.
        """
        exact_slopes = [slope.value for slope in self.slopes(index)]
        most = [0.0] * len(exact_slopes)
        for seed in seeds:
            run = self._new_run(self._enough, seed=seed, reads=reads)
            for j, (rounded_slope, exact_slope) in enumerate(zip(run.central(index), exact_slopes, strict=True)):
                distance = abs(rounded_slope - run.math.mpf(exact_slope))
                most[j] = floats.inf if run.math.isnan(distance) else max(most[j], float(distance))
        return most

    def around(self, index: Index, j: int, distance: float) -> float:
        """Return the largest magnitude of a derivative of output ``j``, except nan, with variables scaled by ``1 ± distance``."""
        moved = ([x * (1 + side * distance) if i in index else x for i, x in enumerate(self.inputs)] for side in (-1, 1))
        sizes = [abs(self._new_run(self._enough, inputs=inputs).central(index)[j]) for inputs in moved]
        return max((float(size) for size in sizes if not self.math.isnan(size)), default=0.0)


class _Run:
    """Cached evaluations with a fixed number of digits.

    Args:
        evaluate, inputs: the function and its arguments.
        digits: the number of decimal digits.
        steps, at_0: the negative decimal exponents of the two steps, and of those for variables that are 0.
        seed, reads: the simulated rounding, as for ``Arithmetic.simulate_rounding``.
    """

    def __init__(
        self, evaluate: Evaluate, inputs: Sequence[float], digits: int, steps: Steps, at_0: Steps, seed: int | None, reads: bool
    ) -> None:
        self.math = Arithmetic(digits)
        self._seed, self._reads = seed, reads
        mp = self.math
        self._evaluate = evaluate
        self._inputs = [mp.mpf(x) for x in inputs]
        self._known: dict[tuple[tuple[int, int, int], ...], list[Real]] = {}  # the outputs by moves, see ``value``
        self._steps: list[list[Real]] = []  # the larger and the smaller step of each input
        for x in self._inputs:
            size = mp.mag(x) if x and mp.finite(x) else 0
            exponents = [size - round(exponent * floats.log2(10)) for exponent in (steps if x else at_0)]
            self._steps.append([mp.ldexp(1, exponent) for exponent in exponents])  # powers of 2: shifted inputs are exact

    def value(self, moves: tuple[tuple[int, int, int], ...]) -> list[Real]:
        """Return the output for shifted inputs: ``(i, k, s)`` shifts element ``i`` by ``k/2`` times its step ``s``."""
        if moves not in self._known:
            inputs = list(self._inputs)
            for i, half_steps, step in moves:
                inputs[i] = inputs[i] + self._steps[i][step] * half_steps / 2
            self.math.simulate_rounding(self._seed, self._reads)
            try:
                self._known[moves] = self._evaluate(self.math, inputs)
            finally:
                self.math.simulate_rounding(None)
        return self._known[moves]

    def _quotients(self, index: Index, step: int, sides: dict[int, int]) -> list[Quotient]:
        """Return the difference quotient of each output: of order k in an element that is k times in ``index``.

        ``step`` is 0 for the larger step and 1 for the smaller one.  The difference in an element of ``sides`` is one-sided, to the
        right (1) or to the left (-1); others are central.
        """
        divisor = self.math.mpf(1)
        differences = []
        for i in dict.fromkeys(index):
            order = index.count(i)
            differences.append([(i, *term) for term in _finite_difference(order, sides.get(i, 0))])
            divisor *= self._steps[i][step] ** order
        terms = []  # each a value for each output
        for choice in itertools.product(*differences):  # the mixed difference is the product of those in the elements
            moves = tuple((i, half_steps, step) for i, half_steps, _weight in choice if half_steps)
            weight = floats.prod(weight for _i, _half_steps, weight in choice)
            terms.append([weight * value for value in self.value(moves)])
        error = self.math.mpf(10) ** (20 - self.math.digits) / divisor  # evaluations may lose up to 20 digits
        quotients = []
        for first, *rest in zip(*terms, strict=True):
            largest = max(map(abs, filter(self.math.finite, (first, *rest))), default=0)
            quotients.append(Quotient(sum(rest, first) / divisor, largest * error))
        return quotients

    def central(self, index: Index) -> list[Real]:
        """Return the derivative computed by central differences; the value itself for no index."""
        return [quotient.value for quotient in self._quotients(index, 0, {})] if index else self.value(())

    def slopes(self, index: Index) -> list[Slope]:
        """Return the derivative computed by central differences, classified by the one-sided differences."""
        mp = self.math
        central = self._quotients(index, 0, {})
        elements = list(dict.fromkeys(index))
        corners = list(itertools.product((1, -1), repeat=len(elements)))  # a side of each element
        if len(index) > 2:  # all corners would need too many evaluations
            corners = [corners[0], corners[-1]]
        sides = [dict(zip(elements, corner, strict=True)) for corner in corners]
        one_sided = [[self._quotients(index, step, side) for step in (0, 1)] for side in sides]
        ratio = mp.inf  # of the steps, for a first derivative
        if len(index) == 1:
            larger, smaller = self._steps[index[0]]
            ratio = larger / smaller
        slopes = []
        for j, value in enumerate(self.value(())):
            if not mp.finite(value):
                slopes.append(Slope("undefined", mp.nan, *central[j], (mp.nan, mp.nan)))
                continue
            slope = _classify(mp, central[j], [(far[j], near[j]) for far, near in one_sided], ratio)
            if slope.kind == "jump":
                left, right = (self.value(((index[0], half_steps, 1),))[j] for half_steps in (-2, 2))  # one smaller step away
                slope = slope._replace(sides=(left, right))
            slopes.append(slope)
        return slopes


def _finite_difference(order: int, side: int) -> list[tuple[int, int]]:
    """Return the terms of a finite difference, each a shift in half steps and a weight; ``side`` is 0 for a central difference."""
    shifts = [2 * k - order if side == 0 else 2 * k * side for k in range(order + 1)]
    weights = [(-1) ** (order - k) * floats.comb(order, k) * (side or 1) ** order for k in range(order + 1)]
    return list(zip(shifts, weights, strict=True))


def _limit(mp: Arithmetic, quotients: tuple[Quotient, Quotient], ratio: Real) -> Any:
    """Return the limit of one-sided quotients with a larger and a smaller step, whose ratio is given.

    It is nan outside of the domain, ``JUMP`` for quotients that grow like those of a jump, and ``UNCLEAR`` if there is none: not
    within 12 digits of each other, not shrinking by half (to 0), and not growing (to infinity) with one sign.
    """
    far, near = (quotient.value for quotient in quotients)
    if mp.isnan(far) or mp.isnan(near):
        return mp.nan
    if mp.isinf(far) or mp.isinf(near):
        return JUMP
    if all(quotient.lost for quotient in quotients):
        return mp.mpf(0)
    if abs(far - near) <= max(abs(far), abs(near)) * mp.mpf("1e-12"):
        return near
    if abs(near) <= abs(far) / 2:
        return mp.mpf(0)
    if far and far * near < 0:
        return UNCLEAR
    growth = abs(near) / abs(far) if far else mp.inf
    if growth > ratio * 0.9:  # like 1/step, up to rounding
        return JUMP
    return mp.sign(near) * mp.inf if growth > 1 else UNCLEAR


def _classify(mp: Arithmetic, central: Quotient, pairs: list[tuple[Quotient, Quotient]], ratio: Real) -> Slope:
    """Classify a derivative by its one-sided quotients, each a pair of quotients with a larger and a smaller step.

    An infinite ``ratio`` of the steps stands for a derivative of a higher order, which is not classified as a jump.
    """
    limits = [_limit(mp, pair, ratio) for pair in pairs]
    inside = [isinstance(limit, str) or not mp.isnan(limit) for limit in limits]  # the domain, on this side
    limits, pairs = list(itertools.compress(limits, inside)), list(itertools.compress(pairs, inside))
    if not limits:
        return central.slope("undefined", mp.nan)
    if JUMP in limits:
        return central.slope("jump" if mp.isfinite(ratio) else "kink", mp.nan, (-mp.inf, mp.inf))
    if UNCLEAR in limits:
        return central.slope("unclear", mp.nan)
    low, high = min(limits), max(limits)
    if mp.isinf(low) or mp.isinf(high):
        return central.slope("smooth", low) if low == high else central.slope("kink", mp.nan, (low, high))
    is_inner = all(inside) and not mp.isnan(central.value)
    if _is_kink(mp, central, pairs, (low, high), is_inner):
        return central.slope("kink", mp.nan, (low, high))
    if not is_inner:  # at the end of the domain, only the one-sided quotients exist
        return central.slope("smooth", limits[0])
    return central.slope("smooth", mp.mpf(0) if low == high == 0 else central.value)


def _is_kink(
    mp: Arithmetic, central: Quotient, pairs: list[tuple[Quotient, Quotient]], limits: tuple[Real, Real], is_inner: bool
) -> bool:
    """Return whether the lowest and highest one-sided limit, which are finite, differ, or the central quotient from them."""
    low, high = limits
    negligible = max(abs(low), abs(high)) * mp.mpf("1e-20")  # such a difference of the sides comes from the steps
    far_difference, near_difference = (max(side).value - min(side).value for side in zip(*pairs, strict=True))
    if high - low > negligible and far_difference / 2 < near_difference < far_difference * 2:  # it does not shrink with the step
        return True
    if not is_inner:
        return False
    if low == high == 0:
        # Either the quotient shrinks with the step, or the point is a corner at which both one-sided limits are 0.
        return not central.lost and bool(abs(central.value) > max(abs(far.value) for far, _near in pairs) * 1000)
    return bool(abs(central.value - low) > max(negligible, high - low) * 1000 + central.noise)


def _sides_agree(first: tuple[Real, Real], second: tuple[Real, Real]) -> bool:
    """Return whether two pairs of one-sided limits agree to 1 %."""
    return all(a == b or abs(a - b) <= (abs(a) + abs(b)) / 100 for a, b in zip(first, second, strict=True))


def _choose_confirmed(first: Slope, finer: Slope) -> Slope:
    """Choose between two results, the ``finer`` of which was computed with more digits and smaller steps.

    If a derivative, or a difference between the two sides, is much smaller in the finer result, it was a rounding error.
    """
    # A derivative that is still not larger than its rounding error is the 0 of its arithmetic.
    central = finer.central if abs(finer.central) > finer.noise else finer.central * 0
    smooth = first._replace(kind="smooth", value=central, central=central, sides=(central, central))
    both_kinks = first.kind == finer.kind == "kink"
    if first.kind == finer.kind == "jump":
        return finer
    if both_kinks and first.sides[0] < first.sides[1] and _sides_agree(first.sides, finer.sides):
        return first  # the central quotient of abs(x*(x - 1)) tends to 0
    if finer.kind == "smooth" and not central:
        return smooth
    if finer.kind != "undefined" and abs(first.central) > 0 and abs(central) < abs(first.central) * 1e-60:
        return smooth
    if both_kinks:  # if their sides differ, as those of rounding errors do, the mean is the derivative
        return first if _sides_agree(first.sides, finer.sides) else smooth._replace(value=(finer.sides[0] + finer.sides[1]) / 2)
    return finer
