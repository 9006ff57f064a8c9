"""An explanation on the terminal: the forward pass, the backward pass step by step, and the accumulated gradients."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from textwrap import wrap

from autodiff_cli.explanation.documents import Page
from autodiff_cli.explanation.model import ExplainedStep, Explanation, ForwardLine
from autodiff_cli.explanation.sentences import EquationText, Plain, Sentence, abbreviated, unsigned_zeros
from autodiff_cli.language.tree import unparse
from autodiff_cli.report import terminal
from autodiff_cli.report.array_text import human
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.table import MOST_ROWS, NUMBER, WORD, Column, Renderable, Table, more_rows, title

WIDE, NARROW = 100, 80
"""The maximum line lengths on a wide terminal and in a pipe.  Longer lines are hard to read."""
_INDENT = 4
MOST_LINES = 4
"""The maximum number of lines for the program at the top of a page; a longer program is shortened."""


def pages(result: Explanation, precision: int) -> list[Renderable]:
    """Return the parts of the page, from top to bottom."""
    page = _TerminalPage(precision)
    page.write(result)
    return page.parts


class _TerminalPage(Page):
    """A page on the terminal; ``parts`` are its tables and lines from top to bottom."""

    def __init__(self, precision: int) -> None:
        super().__init__(precision)
        self.width = min(terminal.width(), WIDE) if sys.stdout.isatty() else NARROW
        self.parts: list[Renderable] = []
        self._below_heading = False

    def add(self, parts: Sequence[Renderable]) -> None:
        """Add parts, below an empty line unless they follow a heading."""
        self.parts += parts if self._below_heading else [Text(""), *parts]
        self._below_heading = False

    def opening(self, result: Explanation) -> None:
        self.parts += _headline(result, self.notation, self.width)

    def heading(self, text: str) -> None:
        self.parts.append(title(text[0].lower() + text[1:]))
        self._below_heading = True

    def paragraph(self, text: str) -> None:
        self.add(_paragraph(text, self.width))

    def table(self, lines: Sequence[ForwardLine]) -> None:
        self.add([_forward(lines, self.precision)])

    def step(self, number: int, step: ExplainedStep, said: Sequence[Sentence]) -> None:
        """Write a step of the backward pass: its heading, and the sentences about it."""
        self.add([_heading(number, step, self.width, self.notation), *_sentence_lines(said, self.width)])

    def equations(self, equations: Sequence[EquationText]) -> None:
        """Write equations below each other, with aligned equals signs."""
        left = max(len(equation.left) for equation in equations)
        self.add([line for equation in equations for line in equation_lines(equation, 2, left, self.width)])

    def code(self, text: str) -> str:
        return text


def _headline(result: Explanation, notation: Plain, width: int) -> list[Text]:
    """Return the program and the values of its variables: on one line if they fit, else wrapped, and a long program shortened."""
    at = ", ".join(f"{name} = {notation.number(value)}" for name, value in result.given.items())
    text = re.sub(r"; ?(?=\S)", "; ", " ".join(result.expression.split()))  # break between statements, not in names
    on_one_line = f"  at {at}"
    if len(text) + len(on_one_line) <= width:
        return [Text(text, "bold").append(on_one_line if at else "", "dim")]
    if len(text) > MOST_LINES * width:
        half = (MOST_LINES * width - len(" ... ") - width) // 2  # unbroken words may waste up to one line
        beginning = text[:half].rpartition(" ")[0] or text[:half]  # whole words, if there are any
        end = text[-half:].partition(" ")[2] or text[-half:]
        text = f"{beginning} ... {end}"
    lines = [Text(line, "bold") for line in wrap(text, width, break_on_hyphens=False)]
    return [*lines, *_paragraph(f"at {at}" if at else "", width)]


def _paragraph(text: str, width: int) -> list[Text]:
    """Return the lines of a text in a dim style."""
    return [Text(line, "dim") for line in wrap(text, width, break_on_hyphens=False)]


def _forward(lines: Sequence[ForwardLine], precision: int) -> Table:
    """Return the table of the forward pass, with shapes if a value is an array; a call follows the operation of its result."""
    has_shapes = any(line.shape for line in lines)
    columns = [Column("name", style="bold"), Column("operation"), Column("value", NUMBER), Column("shape", WORD)]
    rows = []
    functions = {line.name.rpartition(".")[0] for line in lines if not line.expression}  # %1.2 is inside the function %1
    for line in abbreviated(lines, MOST_ROWS):
        if isinstance(line, int):  # the number of lines that are left out
            rows.append(more_rows(line))
            continue
        text = unparse(line.operation)
        is_leaf = line.node is None and text == line.name
        operation = Text(text, "dim" if is_leaf else "")
        if line.name in functions:
            operation.append(f"  that is {line.expression}", "dim")
        value = Text("" if line.value is None else human(unsigned_zeros(line.value), precision))
        style = "bold green" if line.node is None and line.name == line.expression else "bold"
        rows.append([Text(line.name, style), operation, value, Text(line.shape, "dim")])
    return Table(columns if has_shapes else columns[:-1], rows)  # cells without a column are not shown


def _heading(number: int, step: ExplainedStep, width: int, notation: Plain) -> Text:
    """Return the heading of a step: its number, its equation, cut off if it is too long, and the name of the node on the right."""
    equation = notation.equation(", ".join(step.names), step.operation)
    room = width - _INDENT - len(step.grad_fn) - 2  # two spaces between the equation and the node
    if len(equation) > room:
        equation = f"{equation[: room - len(' ...')]} ..."
    gap = " " * (width - _INDENT - len(equation) - len(step.grad_fn))
    return Text(f"{number:<{_INDENT}}", "dim").append(equation, "bold").append(gap).append(step.grad_fn, "magenta")


def _sentence_lines(said: Sequence[Sentence], width: int) -> list[Text]:
    """Return the lines of sentences and of at least one equation; the equals signs are aligned."""
    equations = [sentence for sentence in said if isinstance(sentence, EquationText)]
    left = max(len(f"{equation.left}+" if equation.adds else equation.left) for equation in equations)  # with the + of +=
    lines: list[Text] = []
    for sentence in said:
        if isinstance(sentence, EquationText):
            lines += equation_lines(sentence, _INDENT, left, width)
        else:
            text = sentence.replace("`", "")
            lines += [Text(" " * _INDENT + line, "italic") for line in wrap(text, width - _INDENT, break_on_hyphens=False)]
    return lines


def equation_lines(equation: EquationText, indent: int, left: int, width: int) -> list[Text]:
    """Return an equation on one line if it fits, else with each side on its own; ``left`` is the width of the text before ``=``."""
    sign, padded = ("+=", left - 1) if equation.adds else ("=", left)
    start = f"{' ' * indent}{equation.left:<{padded}} {sign} "
    remark = f"   {equation.remark.replace('`', '')}" if equation.remark else ""
    *others, last = equation.sides
    sides = [*((side, "") for side in others), (last, "bold cyan")]
    if len(start) + len(" = ".join(equation.sides)) + len(remark) > width:
        return _broken_equation(start, sides, remark, indent, width)
    line = Text(start)
    for i, (side, style) in enumerate(sides):
        line.append(" = " if i else "").append(side, style)
    return [line.append(remark, "dim")]


def _broken_equation(start: str, sides: Sequence[tuple[str, str]], remark: str, indent: int, width: int) -> list[Text]:
    """Return an equation with its sides, which have styles, below each other; a side is broken only if it is too long."""
    lines: list[Text] = []
    if len(start) > width // 2:  # the left side is a line of its own
        lines, start = [Text(start.rstrip())], " " * (indent + 4)
    room = max(width - len(start), 20)  # a page that is too narrow gets longer lines
    below_start = " " * (len(start) - 2)  # without the equals sign and a space
    margin = start  # of the next line: the left side, then an equals sign, or blanks below a broken side
    for side, style in sides:
        for piece in wrap(side, room, break_long_words=False, break_on_hyphens=False):
            lines.append(Text(margin).append(piece, style))
            margin = f"{below_start}  "
        margin = f"{below_start}= "
    if remark:
        lines.append(Text(" " * (len(start) - 3) + remark, "dim"))  # below the sides: the remark begins with three spaces
    return lines
