"""The distributions of an input: their standard uncertainties, moments and random numbers, and their names in texts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.errors import UsageError
from autodiff_cli.evaluation.bindings import constant_value
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import listed

if TYPE_CHECKING:
    from autodiff_cli.arrays import Vector

_ALIASES = {
    **{"rectangular": "rect", "uniform": "rect", "triangular": "triangle", "gaussian": "normal"},
    **{name: name for name in ("normal", "t", "rect", "triangle", "arcsine", "ctrap")},
}
_PARAMETERS = {"t": "9", "ctrap": "0.1"}
"""The distributions with a parameter, each with an example of it."""
_WORD = re.compile(r"(.*?)\s+([^\W\d_]\w*)(?::(\S+))?$", re.DOTALL)
"""A number and the name of a distribution, to which a parameter may be added after a colon."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A symmetric distribution about 0.

    Attributes:
        kind: ``normal``, ``t``, ``rect``, ``triangle``, ``arcsine`` or ``ctrap``, a rectangle with inexactly known ends.
        size: the standard uncertainty of ``normal`` and the scale of ``t``; the half-width of the others.
        dof: the degrees of freedom of the standard uncertainty.
        error: the largest error of the half-width of ``ctrap``.
    """

    kind: str = "normal"
    size: float = 0.0
    dof: float = math.inf
    error: float = 0.0

    @property
    def u(self) -> float:
        """The standard uncertainty; for ``t`` the scale, as in JCGM 100, not the standard deviation."""
        if self.kind == "ctrap":
            return math.hypot(self.size, self.error / math.sqrt(3)) / math.sqrt(3)
        return self.size / math.sqrt(_SHAPES[self.kind].divisor)

    @property
    def excess(self) -> float:
        """The fourth moment divided by ``u**4``, minus 3; ``t`` counts as a normal distribution whose ``u`` is estimated."""
        if self.kind != "ctrap":
            return _SHAPES[self.kind].excess
        if self.u == 0:
            return 0.0
        # A rectangle of half-width a has the moment a**4/5, and a is uniform between w - d and w + d.
        w, d = self.size, self.error
        mean_of_fourth_power = w**4 + 2 * w**2 * d**2 + d**4 / 5
        return mean_of_fourth_power / 5 / self.u**4 - 3

    def draw(self, generator: np.random.Generator, count: int) -> Vector:
        """Return random numbers from the distribution."""
        return _SHAPES[self.kind].draw(self, generator, count)


class _Shape(NamedTuple):
    """A kind of distribution: the square of the size divided by the variance, the excess, and random numbers."""

    divisor: float
    excess: float
    draw: Callable[[Distribution, np.random.Generator, int], Vector]


_SHAPES = {
    "normal": _Shape(1, 0, lambda own, generator, count: own.size * generator.standard_normal(count)),
    "t": _Shape(1, 0, lambda own, generator, count: own.size * generator.standard_t(own.dof, count)),
    "rect": _Shape(3, -6 / 5, lambda own, generator, count: own.size * generator.uniform(-1, 1, count)),
    "triangle": _Shape(6, -3 / 5, lambda own, generator, count: own.size * (generator.random(count) - generator.random(count))),
    "arcsine": _Shape(2, -3 / 2, lambda own, generator, count: own.size * np.sin(2 * math.pi * generator.random(count))),
    "ctrap": _Shape(
        math.nan,
        math.nan,
        lambda own, generator, count: (own.size + own.error * generator.uniform(-1, 1, count)) * generator.uniform(-1, 1, count),
    ),
}
"""The kinds; the moments of ``ctrap`` depend on the error of its half-width."""


def split_distribution(text: str) -> tuple[str, Distribution]:
    """Split ``0.002 rect`` or ``0.002 t:9`` into the text of the number and the distribution, of size 0; ``normal`` by default.

    Raises:
        UsageError: if the distribution does not exist, or its parameter is missing or not positive.
    """
    match = _WORD.match(text)
    if match is None:
        return text, Distribution()
    number, word, argument = match.groups()
    kind = _ALIASES.get(word.lower())
    if kind is None:
        hint = suggestion(word, _ALIASES) or f"use {listed(('normal', 't:9', 'rect', 'triangle', 'arcsine', 'ctrap:0.1'), 'or')}"
        raise UsageError(f"'{word}' is not a distribution: {text}", hint=hint)
    if kind not in _PARAMETERS:
        if argument is not None:
            raise UsageError(f"the distribution {word} does not take a parameter: {text}", hint=f"write {number} {word}")
        return number, Distribution(kind)
    parameter = float(constant_value(argument, "u")) if argument else math.nan  # which is not positive
    if not parameter > 0:
        what = "degrees of freedom" if kind == "t" else "the largest error of the half-width"
        message = f"the distribution {word} needs {what}, a positive number: {text}"
        raise UsageError(message, hint=f"write {number} {word}:{_PARAMETERS[kind]}")
    return number, Distribution("t", dof=parameter) if kind == "t" else Distribution(kind, error=parameter)
