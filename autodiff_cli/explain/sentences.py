"""The explanation of a sweep as sentences: equations and words, in a notation for the terminal or for LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.explain.local_derivatives import ARRIVING, filled_in, name
from autodiff_cli.explain.model import Contribution, End, Step, Sweep
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import UNNAMED, identifier
from autodiff_cli.language.latex_names import number as latex_number
from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.report.numbers import human

MOST_STEPS = 60
MOST_PARTS = 8
FIRST_TIMES = ("first", "second", "third", "fourth", "fifth")


class Equation:
    """``left = one = other = last``; the left side receives something on top of what it has where ``adds`` is true."""

    __slots__ = ("adds", "left", "remark", "right")

    def __init__(self, left: str, right: Sequence[str], adds: bool = False, remark: str = "") -> None:
        self.left = left
        self.right = [text for i, text in enumerate(right) if i == 0 or text != right[i - 1]]
        self.adds = adds
        self.remark = remark


class Words(str):
    """A sentence about names; what is code in it stands between backticks."""

    __slots__ = ()


Sentence = Equation | Words


def unsigned_zeros(value: Any) -> Any:
    """Numbers with 0 for -0, whose sign is no news in a lesson."""
    array = np.asarray(value)
    return value if array.dtype == np.bool_ else np.where(array == 0, np.zeros((), array.dtype), array)


class Plain:
    """How the terminal and markdown write mathematics."""

    times = " * "
    dots = "..."

    def __init__(self, precision: int) -> None:
        self.precision = precision

    def number(self, value: Any) -> str:
        return human(unsigned_zeros(value), self.precision)

    def name(self, text: str) -> str:
        return text

    def derivative(self, of: str, by: str) -> str:
        return f"d{of}/d{by}"

    def formula(self, tree: Syntax, gradient: str = "") -> str:
        return unparse(filled_in(tree, {ARRIVING: name(gradient)}) if gradient else tree)

    def summed(self, product: str) -> str:
        return f"sum of {product}"

    def equation(self, called: str, tree: Syntax) -> str:
        shown = unparse(tree)
        return called if shown == called else f"{called} = {shown}"


class Latex(Plain):
    """How LaTeX does, in math mode."""

    times = r" \cdot "
    dots = r"\ldots"

    def __init__(self, precision: int, unnamed: str = UNNAMED[0]) -> None:
        super().__init__(precision)
        self.unnamed = unnamed

    def number(self, value: Any) -> str:
        text = human(unsigned_zeros(value), self.precision).replace("true", r"\text{true}").replace("false", r"\text{false}")
        text = re.sub(r"-?(\d[\d.]*(e[-+]?\d+)?|inf\b|nan\b)", lambda match: latex_number(match[0]), text)
        return text.replace("...", r"\ldots").replace(" x ", r" \times ").replace("] (", r"] \; (")

    def name(self, text: str) -> str:
        base, bracket, element = text.partition("[")
        return identifier(base, self.unnamed) + bracket + element

    def derivative(self, of: str, by: str) -> str:
        return rf"\frac{{\partial {self.name(of)}}}{{\partial {self.name(by)}}}"

    def formula(self, tree: Syntax, gradient: str = "") -> str:
        return latex(tree, {ARRIVING: gradient} if gradient else None, self.unnamed)

    def summed(self, product: str) -> str:
        return rf"\sum {product}"

    def equation(self, called: str, tree: Syntax) -> str:
        left, right = self.name(called), self.formula(tree)
        return left if left == right else f"{left} = {right}"


def steps_of(sweep: Sweep) -> list[tuple[int, Step | None]]:
    """The steps with their numbers; the middle of very many as one ``None`` with how many it stands for."""
    numbered: list[tuple[int, Step | None]] = list(enumerate(sweep.steps, 1))
    if len(numbered) <= MOST_STEPS:
        return numbered
    half = MOST_STEPS // 2
    return [*numbered[:half], (len(numbered) - MOST_STEPS, None), *numbered[-half:]]


def sentences(sweep: Sweep, step: Step, notation: Plain) -> list[Sentence]:
    """What happens at one node: the gradient that arrives, then for each input what it receives and why."""
    of = sweep.of
    said: list[Sentence] = [
        Equation(notation.derivative(of, called), [notation.number(gradient)])
        for called, gradient in zip(step.names, step.gradients, strict=True)
    ]
    for contribution in step.contributions:
        said += _contribution(of, step, contribution, notation)
    return said


def _contribution(of: str, step: Step, made: Contribution, notation: Plain) -> list[Sentence]:
    total, value = notation.derivative(of, made.to), notation.number(made.value)
    arriving = notation.derivative(of, step.names[0])
    said: list[Sentence] = []
    adds = made.before is not None
    if made.local is not None:
        local = notation.derivative(step.names[0], made.to)
        number = notation.number(_alike(made.local))
        formula = [notation.formula(made.formula)] if made.formula else []
        if step.names[0] == of and np.all(step.gradients[0] == 1) and not (made.is_broadcast or made.place or made.words):
            # The result itself: there is nothing to multiply with.
            said.append(Equation(total, [*formula, value], adds))
            return said
        remark = f"for the {_nth(made.place)} `{made.to}`" if made.place else ""
        said.append(Equation(local, [*formula, number], remark=remark))
        if made.words:
            said.append(Words(f"at this point by convention: {made.words}"))
        product = f"{_factor(notation.number(step.gradients[0]))}{notation.times}{_factor(number)}"
        if made.is_broadcast:
            said.append(Words(_broadcast(made)))
            said.append(Equation(total, [notation.summed(product), value], adds))
        else:
            said.append(Equation(total, [f"{arriving}{notation.times}{local}", product, value], adds))
        if made.untaken:
            said.append(Words("what was not taken contributes 0, whatever its derivative is"))
    elif made.formula is not None:
        said.append(Equation(total, [notation.formula(made.formula, arriving), value], adds))
    else:
        said.append(Words(made.words or ""))
        said.append(Equation(total, [value], adds))
    if adds and made.before is not None:
        with np.errstate(all="ignore"):  # inf - inf
            both = made.before + made.value
        said.append(Equation(total, [_sum([made.before, made.value], notation), notation.number(both)]))
    return said


def _nth(place: int | None) -> str:
    assert place is not None
    return FIRST_TIMES[place - 1] if place <= len(FIRST_TIMES) else f"{place}th"


def _alike(value: Any) -> Any:
    """One number for an array of nothing else."""
    array = np.asarray(value)
    return array.flat[0] if array.size and np.all(array == array.flat[0]) else value


def _factor(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _broadcast(made: Contribution) -> str:
    shape, to = list(np.shape(made.value)), list(np.shape(made.part))
    where = f"from {shape} to {to}" if shape else f"to {to}"
    if not made.summed:
        return f"`{made.to}` was broadcast {where}"
    listed = " and ".join(map(str, made.summed))
    return f"`{made.to}` was broadcast {where}: its gradient is summed over dimension{'s' * (len(made.summed) > 1)} {listed}"


def _sum(values: Sequence[Any], notation: Plain) -> str:
    """``1 + 0.6 - 2``."""
    texts = [notation.number(value) for value in values]
    if len(texts) > MOST_PARTS:
        half = MOST_PARTS // 2
        texts = [*texts[:half], notation.dots, *texts[-half:]]
    shown = texts[0]
    for text in texts[1:]:
        shown += f" - {text[1:]}" if text.startswith("-") else f" + {text}"
    return shown


def ending(left: str, end: End, notation: Plain, nothing: str = "0") -> tuple[Equation, list[str]]:
    """What is left at a variable, ``nothing`` where no gradient arrived, and the names of the tensors that it came through."""
    values = [value for _, value in end.parts]
    right = [_sum(values, notation)] if values else []
    total = notation.number(end.value) if values else nothing
    return Equation(left, [*right, total]), list(dict.fromkeys(n for n, _ in end.parts if n))


def through(names: Sequence[str]) -> str:
    """``through %3 and %1``."""
    if len(names) > MOST_PARTS:
        return f"through {len(names):,} tensors"
    return f"through {' and '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names)}"


def plural(count: int, noun: str) -> str:
    """``1 step``, ``1,940 steps``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
