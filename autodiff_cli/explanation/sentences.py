"""A backward pass as sentences and equations, in the notation of the terminal, of Markdown or of LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.explanation.local_derivatives import ARRIVING, filled_in
from autodiff_cli.explanation.model import AccumulatedGradient, CotangentContribution, ExplainedStep, Sweep
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import UNNAMED, identifier
from autodiff_cli.language.latex_names import number as latex_number
from autodiff_cli.language.tree import Syntax, name_tree, unparse
from autodiff_cli.report.array_text import human
from autodiff_cli.wording import listed, plural

MOST_PARTS = 8
"""The largest number of terms of a sum, and of names in a list."""
FIRST_TIMES = ("first", "second", "third", "fourth", "fifth")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class EquationText:
    """An equation ``left = one = other = last``, or ``left += one = other = last`` if ``adds`` is true, and a remark on it."""

    left: str
    right: Sequence[str]
    adds: bool = False
    remark: str = ""

    @property
    def sides(self) -> list[str]:
        """The right sides, without consecutive duplicates."""
        return [text for text, _ in groupby(self.right)]


Sentence = EquationText | str
"""An equation, or a sentence with names between backticks."""


def unsigned_zeros(value: Array | float) -> Array | float:
    """Replace -0 with 0."""
    array = np.asarray(value)
    return value if array.dtype == np.bool_ else np.where(array == 0, np.zeros((), array.dtype), array)


class Plain:
    """The notation of the terminal and Markdown."""

    times = " * "
    dots = "..."

    def __init__(self, precision: int) -> None:
        self.precision = precision

    def number(self, value: Array | float) -> str:
        """Return a number or an array, which may be abbreviated."""
        return human(unsigned_zeros(value), self.precision)

    def name(self, text: str) -> str:
        return text

    def derivative(self, target: str, by: str) -> str:
        """Return the symbol of the derivative of ``target`` with respect to ``by``."""
        return f"d{target}/d{by}"

    def formula(self, tree: Syntax, gradient: str = "") -> str:
        """Return a formula; if there is a name of the upstream gradient, it replaces ``%gradient``."""
        return unparse(filled_in(tree, {ARRIVING: name_tree(gradient)}) if gradient else tree)

    def summed(self, product: str) -> str:
        return f"sum of {product}"

    def equation(self, name: str, tree: Syntax) -> str:
        """Return the equation of a tensor and its operation; the name alone if the operation is the name, as for a leaf."""
        left, right = self.name(name), self.formula(tree)
        return left if left == right else f"{left} = {right}"


class Latex(Plain):
    """The notation of LaTeX in math mode."""

    times = r" \cdot "
    dots = r"\ldots"

    def __init__(self, precision: int, unnamed: str = UNNAMED[0]) -> None:
        super().__init__(precision)
        self.unnamed = unnamed

    def number(self, value: Array | float) -> str:
        """Return a number or an array, with exponents, dots and signs of LaTeX."""
        text = human(unsigned_zeros(value), self.precision).replace("true", r"\text{true}").replace("false", r"\text{false}")
        text = re.sub(r"-?(\d[\d.]*(e[-+]?\d+)?|inf\b|nan\b)", lambda match: latex_number(match[0]), text)
        return text.replace("...", r"\ldots").replace(" x ", r" \times ").replace("] (", r"] \; (")

    def name(self, text: str) -> str:
        """Return the name of a tensor; an element such as ``x[0]`` keeps its brackets."""
        base, bracket, element = text.partition("[")
        return identifier(base, self.unnamed) + bracket + element

    def derivative(self, target: str, by: str) -> str:
        return rf"\frac{{\partial {self.name(target)}}}{{\partial {self.name(by)}}}"

    def formula(self, tree: Syntax, gradient: str = "") -> str:
        return latex(tree, {ARRIVING: gradient} if gradient else None, self.unnamed)

    def summed(self, product: str) -> str:
        return rf"\sum {product}"


def abbreviated(items: Sequence[Item], most: int) -> list[Item | int]:
    """Return the items; if there are more than ``most``, with the number of those in the middle in their place."""
    half = most // 2
    return list(items) if len(items) <= most else [*items[:half], len(items) - most, *items[-half:]]


def sentences(sweep: Sweep, step: ExplainedStep, notation: Plain) -> list[Sentence]:
    """Return the sentences about one node: the upstream gradients and the contribution to each input."""
    target = sweep.target
    said: list[Sentence] = [
        EquationText(notation.derivative(target, name), [notation.number(gradient)])
        for name, gradient in zip(step.names, step.gradients, strict=True)
    ]
    for contribution in step.contributions:
        said += _contribution(target, step, contribution, notation)
    return said


def _contribution(target: str, step: ExplainedStep, part: CotangentContribution, notation: Plain) -> list[Sentence]:
    """Return the sentences about the contribution ``part``: the rule with its result, then the sum with earlier contributions."""
    total, value = notation.derivative(target, part.to), notation.number(part.value)
    upstream_is_one = step.names[0] == target and np.all(step.gradients[0] == 1)
    formula = [notation.formula(part.formula, notation.derivative(target, step.names[0]))] if part.formula else []
    result = EquationText(total, [*formula, value], adds=part.before is not None)
    said: list[Sentence]
    if part.local is None:  # the rule does not multiply by a local derivative
        said = [result] if formula else [part.words or "", result]
    elif upstream_is_one and not (part.is_broadcast or part.place or part.words):
        return [result]  # the local derivative times 1
    else:
        said = _product(target, step, part, notation)
    if part.before is not None:
        with np.errstate(all="ignore"):  # inf - inf
            said.append(EquationText(total, [_sum([part.before, part.value], notation), notation.number(part.total)]))
    return said


def _product(target: str, step: ExplainedStep, part: CotangentContribution, notation: Plain) -> list[Sentence]:
    """Return the sentences about the local derivative of ``part``, and about its product with the upstream gradient."""
    total, value = notation.derivative(target, part.to), notation.number(part.value)
    local = notation.derivative(step.names[0], part.to)
    number = notation.number(_first_if_equal(np.asarray(part.local)))
    formula = [notation.formula(part.formula)] if part.formula else []
    remark = f"for the {_nth(part.place)} `{part.to}`" if part.place else ""
    said: list[Sentence] = [EquationText(local, [*formula, number], remark=remark)]
    if part.words:
        said.append(f"{'at this point by convention: ' if part.is_convention else ''}{part.words}")
    product = f"{_factor(notation.number(step.gradients[0]))}{notation.times}{_factor(number)}"
    if part.is_broadcast:
        said += [broadcast_text(part), EquationText(total, [notation.summed(product), value], adds=part.before is not None)]
    else:
        chain = f"{notation.derivative(target, step.names[0])}{notation.times}{local}"
        said.append(EquationText(total, [chain, product, value], adds=part.before is not None))
    if part.masked:
        said.append("elements that are not selected contribute 0, even if their derivative is inf or nan")
    return said


def _nth(place: int) -> str:
    """Return the ordinal number of a place, which is counted from 1."""
    return FIRST_TIMES[place - 1] if place <= len(FIRST_TIMES) else f"{place}th"


def _first_if_equal(value: Array) -> Array:
    """Return the first element if all elements of an array are equal, else the array."""
    return value.flat[0] if value.size and np.all(value == value.flat[0]) else value


def _factor(text: str) -> str:
    """Return a number as a factor: a negative number gets brackets."""
    return f"({text})" if text.startswith("-") else text


def broadcast_text(part: CotangentContribution) -> str:
    """Return the sentence on an input that was broadcast, with the dimensions over which its gradient is summed."""
    shape = list(np.shape(part.value))
    source = f"from {shape} " if shape else ""
    sentence = f"`{part.to}` was broadcast {source}to {list(np.shape(part.part))}"
    dimensions = "dimensions" if len(part.summed) > 1 else "dimension"
    return f"{sentence}: its gradient is summed over {dimensions} {listed(map(str, part.summed))}"


def _sum(values: Sequence[Array], notation: Plain) -> str:
    """Return a sum as text: ``1 + 0.6 - 2``; dots replace the middle of more than ``MOST_PARTS`` terms."""
    parts = abbreviated([notation.number(value) for value in values], MOST_PARTS)
    texts = [notation.dots if isinstance(part, int) else part for part in parts]
    result = texts[0]
    for text in texts[1:]:
        result += f" - {text[1:]}" if text.startswith("-") else f" + {text}"
    return result


def accumulated(left: str, target: str, gradient: AccumulatedGradient, notation: Plain, none: str = "0") -> EquationText:
    """Return the gradient of ``target`` by a variable, ``left``, as the sum of its contributions; as ``none`` if there are none."""
    if not gradient.parts:
        return EquationText(left, [none], remark=f"no gradient arrives: `{target}` does not depend on `{gradient.name}`")
    sources = [f"`{name}`" for name in dict.fromkeys(name for name, _ in gradient.parts) if name]
    remark = ""
    if sources:
        remark = f"through {plural(len(sources), 'tensor') if len(sources) > MOST_PARTS else listed(sources)}"
    values = [value for _, value in gradient.parts]
    return EquationText(left, [_sum(values, notation), notation.number(gradient.value)], remark=remark)
