"""An explanation on the terminal: the forward pass, the backward pass step by step, and the accumulated gradients."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from textwrap import wrap

from autodiff_cli.explanation.model import ExplainedStep, Explanation, ForwardLine, SecondDerivatives, Sweep
from autodiff_cli.explanation.sentences import (
    LEGEND,
    EquationText,
    Plain,
    Sentence,
    accumulated,
    lines_of,
    sentences,
    steps_of,
    unsigned_zeros,
)
from autodiff_cli.language.tree import unparse
from autodiff_cli.report import result_tables, terminal
from autodiff_cli.report.numbers import human
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.table import EXPRESSION, NUMBER, Column, Renderable, Table, more_rows, title
from autodiff_cli.wording import plural

WIDE, NARROW = 100, 80
"""The maximum line lengths on a wide terminal and in a pipe.  Longer lines are hard to read."""
_INDENT = 4
MOST_LINES = 4
"""The maximum number of lines for the program at the top of a page; a longer program is shortened."""


def pages(result: Explanation, precision: int) -> list[Renderable]:
    """Return the parts of the page, from top to bottom."""
    width = min(terminal.width(), WIDE) if sys.stdout.isatty() else NARROW
    notation = Plain(precision)
    parts: list[Renderable] = [*_headline(result, notation, width), title("forward")]
    parts.append(_forward(result.forward, precision))
    if result.sweep is None:
        return [*parts, Text("\nThe output does not depend on a variable through recorded operations.")]
    start = notation.derivative(result.symbol, result.output)
    opening = f"The backward pass starts with {start} = {notation.number(result.sweep.start)}."
    if result.symbol != result.output:
        opening = f"{result.symbol} is the result, {result.output}. {opening}"
    parts += [title("backward"), *_paragraph(f"{opening} {LEGEND}", width)]
    parts += _sweep(result.sweep, width, notation)
    parts += [title("accumulated in .grad"), *_accumulated(result.sweep, width, notation, "{}.grad", "None")]
    if result.memory is not None:
        parts += [Text(""), *_paragraph(result.memory.text, width)]
    for second in result.seconds:
        parts += _second(result, second, width, notation)
    if result.hessian:
        shapes = {name: result.given[name].shape for name in result.hessian}
        shown = {a: {b: unsigned_zeros(value) for b, value in row.items()} for a, row in result.hessian.items()}
        parts += [title("second derivatives"), result_tables.hessian_table(shown, shapes, precision)]
    return parts


def _headline(result: Explanation, notation: Plain, width: int) -> list[Text]:
    at = ", ".join(f"{name} = {notation.number(value)}" for name, value in result.given.items())
    shown = re.sub(r"; ?(?=\S)", "; ", " ".join(result.expression.split()))  # break between statements, not in names
    if len(shown) + len(at) + 5 <= width:
        return [Text(shown, "bold").append(f"  at {at}" if at else "", "dim")]
    if len(shown) > MOST_LINES * width:
        half = (MOST_LINES * width - 5 - width) // 2  # unbroken words may waste up to one line
        shown = f"{shown[:half].rpartition(' ')[0] or shown[:half]} ... {shown[-half:].partition(' ')[2] or shown[-half:]}"
    lines = [Text(line, "bold") for line in wrap(shown, width, break_on_hyphens=False)]
    return [*lines, *_paragraph(f"at {at}" if at else "", width)]


def _paragraph(text: str, width: int) -> list[Text]:
    return [Text(line, "dim") for line in wrap(text, width, break_on_hyphens=False)]


def _forward(lines: Sequence[ForwardLine], precision: int, of: str = "") -> Table:
    """Return the table of a forward pass or, if ``of`` is given, of a recorded backward pass with derivatives of ``of``."""
    columns = [Column("name", style="bold"), Column("operation"), Column("value", NUMBER)]
    columns += [Column("derivative", EXPRESSION)] if of else []
    rows = []
    inside = {line.name.rpartition(".")[0] for line in lines if not line.expression}
    for line in lines_of(lines):
        if isinstance(line, int):
            rows.append(more_rows(line))
            continue
        shown = unparse(line.operation)
        operation = Text(shown, "dim" if line.node is None and shown == line.name else "")
        if line.name in inside:
            operation.append(f"  that is {line.expression}", "dim")
        cells = [Text("" if line.value is None else human(unsigned_zeros(line.value), precision))]
        if of:
            cells.append(Text(f"d{of}/d{line.meaning}" if line.meaning else "", "cyan"))
        style = "bold green" if line.node is None and line.name == line.expression else "bold"
        rows.append([Text(line.name, style), operation, *cells])
    return Table(columns, rows)


def _sweep(sweep: Sweep, width: int, notation: Plain) -> list[Renderable]:
    parts: list[Renderable] = []
    for item in steps_of(sweep):
        if isinstance(item, int):
            parts += [Text(""), Text(f"... {plural(item, 'more step')} ...", "dim")]
        else:
            number, step = item
            parts += [Text(""), _heading(number, step, width, notation), *_said(sentences(sweep, step, notation), width)]
    return parts


def _heading(number: int, step: ExplainedStep, width: int, notation: Plain) -> Text:
    equation = notation.equation(", ".join(step.names), step.operation)
    room = width - _INDENT - len(step.grad_fn) - 2
    if len(equation) > room:
        equation = f"{equation[: room - 4]} ..."
    gap = " " * (width - _INDENT - len(equation) - len(step.grad_fn))
    return Text(f"{number:<{_INDENT}}", "dim").append(equation, "bold").append(gap).append(step.grad_fn, "magenta")


def _said(said: Sequence[Sentence], width: int) -> list[Text]:
    equations = [sentence for sentence in said if isinstance(sentence, EquationText)]
    left = max(len(one.left) + one.adds for one in equations)
    lines: list[Text] = []
    for sentence in said:
        if isinstance(sentence, EquationText):
            lines += equation(sentence, _INDENT, left, width)
        else:
            text = sentence.replace("`", "")
            lines += [Text(" " * _INDENT + line, "italic") for line in wrap(text, width - _INDENT, break_on_hyphens=False)]
    return lines


def equation(said: EquationText, indent: int, left: int, width: int) -> list[Text]:
    """Return the lines of an equation: break it before equals signs, and inside a side only if the side is too long."""
    start = f"{' ' * indent}{said.left:<{left - said.adds}} {'+' * said.adds}= "
    remark = f"   {said.remark.replace('`', '')}" if said.remark else ""
    sides = said.sides
    styles = [*[""] * (len(sides) - 1), "bold cyan"]
    if len(start) + len(" = ".join(sides)) + len(remark) <= width:
        line = Text(start)
        for i, (side, style) in enumerate(zip(sides, styles, strict=True)):
            line.append(" = " if i else "").append(side, style)
        return [line.append(remark, "dim")]
    if len(start) > width // 2:
        lines, start = [Text(start.rstrip())], " " * (indent + 4)
    else:
        lines = []
    room = max(width - len(start), 20)
    for i, (side, style) in enumerate(zip(sides, styles, strict=True)):
        for k, piece in enumerate(wrap(side, room, break_long_words=False, break_on_hyphens=False)):
            margin = start if i == k == 0 else f"{' ' * (len(start) - 2)}{'= ' if k == 0 else '  '}"
            lines.append(Text(margin).append(piece, style))
    if remark:
        lines.append(Text(" " * (len(start) - 3) + remark, "dim"))
    return lines


def _accumulated(sweep: Sweep, width: int, notation: Plain, pattern: str, none: str = "0") -> list[Renderable]:
    equations = [accumulated(pattern.format(one.name), sweep.target, one, notation, none) for one in sweep.accumulated]
    left = max(len(said.left) for said in equations)
    return [line for said in equations for line in equation(said, 2, left, width)]


def _second(result: Explanation, second: SecondDerivatives, width: int, notation: Plain) -> list[Renderable]:
    first = notation.derivative(result.symbol, second.variable)
    parts: list[Renderable] = [title(f"second derivatives with respect to {second.variable}, from {second.symbol} = {first}")]
    value = notation.number(second.value)
    if not second.sweeps:
        return [*parts, *_paragraph(f"{first} = {value} does not depend on any variable, so its derivatives are 0.", width)]
    if second.lines:
        parts += _paragraph(f"The recorded backward pass for {first} consists of these operations:", width)
        parts += [Text(""), _forward(second.lines, notation.precision, of=result.symbol)]
    else:
        parts += _paragraph(f"All operations of {first} = {value} are listed above.", width)
    for sweep in second.sweeps:
        parts += [Text(""), *_paragraph(f"A backward pass through these operations, from {sweep.target}:", width)]
        parts += [*_sweep(sweep, width, notation), Text(""), *_accumulated(sweep, width, notation, f"d{sweep.target}/d{{}}")]
    return parts
