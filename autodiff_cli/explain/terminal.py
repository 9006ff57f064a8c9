"""An explanation in the terminal: a page with the forward pass, the sweep step by step, and what ends in ``.grad``."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence
from textwrap import wrap
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from autodiff_cli.explain.model import Explanation, Second, Step, Sweep
from autodiff_cli.explain.names import Line
from autodiff_cli.explain.sentences import Equation, Plain, Sentence, ending, plural, sentences, steps_of, through, unsigned_zeros
from autodiff_cli.language.tree import unparse
from autodiff_cli.report import table
from autodiff_cli.report.numbers import human

WIDE, NARROW = 100, 80
"""Lines of a wide terminal stop here, and those of a pipe there: longer ones are hard to read."""
_INDENT = 4
MOST_LINES = 4
"""Of the program above a page; the middle of a longer one is left out."""


def pages(result: Explanation, precision: int, color: str) -> list[RenderableType]:
    """Everything there is to say, one part below the other."""
    out = table.console(color)
    width = min(out.width, WIDE) if sys.stdout.isatty() else NARROW
    notation = Plain(precision)
    parts: list[RenderableType] = [*_headline(result, notation, width), Text("\nforward", "bold italic")]
    parts.append(_forward(result.forward, precision, result.grad, result.conditions))
    if result.sweep is None:
        return [*parts, Text("\nThere is nothing to differentiate.")]
    start = notation.derivative(result.symbol, result.output)
    opening = f"The sweep starts with {start} = {notation.number(result.sweep.start)}."
    if result.symbol != result.output:
        opening = f"{result.symbol} is the result, {result.output}. {opening}"
    parts += [Text("\nbackward", "bold italic"), *_paragraph(f"{opening} {_LEGEND}", width)]
    parts += _sweep(result.sweep, width, notation)
    parts += [Text("\nwhat ends in .grad", "bold italic"), *_ends(result.sweep, width, notation, "{}.grad", "None")]
    for second in result.seconds:
        parts += _second(result, second, width, notation)
    if result.hessian:
        shapes = {name: result.given[name].shape for name in result.hessian}
        shown = {a: {b: unsigned_zeros(value) for b, value in row.items()} for a, row in result.hessian.items()}
        parts += [table.title("second derivatives"), table.hessian_table(shown, shapes, precision)]
    return parts


_LEGEND = (
    "Each step has the gradient that arrives at a tensor, the local derivative of its operation, and their product: what an "
    "input receives."
)


def _headline(result: Explanation, notation: Plain, width: int) -> list[Text]:
    at = ", ".join(f"{name} = {notation.number(value)}" for name, value in result.given.items())
    shown = re.sub(r"; ?(?=\S)", "; ", " ".join(result.expression.split()))  # lines break between statements, not in names
    if len(shown) + len(at) + 5 <= width:
        return [Text.assemble((shown, "bold"), (f"  at {at}" if at else "", "dim"))]
    if len(shown) > MOST_LINES * width:
        half = (MOST_LINES * width - 5 - width) // 2  # a line is lost to words that are not broken
        shown = f"{shown[:half].rpartition(' ')[0] or shown[:half]} ... {shown[-half:].partition(' ')[2] or shown[-half:]}"
    lines = [Text(line, "bold") for line in wrap(shown, width, break_on_hyphens=False)]
    return [*lines, *_paragraph(f"at {at}" if at else "", width)]


def _paragraph(text: str, width: int) -> list[Text]:
    return [Text(line, "dim") for line in wrap(text, width, break_on_hyphens=False)]


def _forward(
    lines: Sequence[Line], precision: int, variables: Collection[str] = (), conditions: Any = None, meaning: str = ""
) -> Table:
    made = table.empty_table()
    made.add_column("name", style="bold", overflow="fold")
    made.add_column("operation", overflow="fold")
    made.add_column("value", justify="right", overflow="fold")
    if conditions is not None:
        made.add_column("condition", justify="right")
    if meaning:
        made.add_column("which is")
    half = table.MOST_ROWS // 2
    shown: list[Line | None] = list(lines)
    if len(shown) > table.MOST_ROWS:
        shown = [*shown[:half], None, *shown[-half:]]
    inside = {line.name.rpartition(".")[0] for line in lines if not line.expression}
    for line in shown:
        if line is None:
            made.add_row(Text("...", "dim"), Text(f"{len(lines) - table.MOST_ROWS:,} more", "dim"))
            continue
        operation = Text(unparse(line.operation), "dim" if line.node is None and unparse(line.operation) == line.name else "")
        if line.name in inside:
            operation.append(f"  that is {line.expression}", "dim")
        cells = [Text("" if line.value is None else human(unsigned_zeros(line.value), precision))]
        if conditions is not None:
            known = conditions.get(line.name)
            cells.append(Text("" if known is None else human(known, 3)))
        if meaning:
            cells.append(Text(f"d{meaning}/d{line.meaning}" if line.meaning else "", "cyan"))
        made.add_row(
            Text(line.name, "bold green" if line.node is None and line.name == line.expression else "bold"), operation, *cells
        )
    return made


def _sweep(sweep: Sweep, width: int, notation: Plain) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for number, step in steps_of(sweep):
        if step is None:
            parts += [Text(""), Text(f"... {plural(number, 'more step')} ...", "dim")]
        else:
            parts += [Text(""), _heading(number, step, width, notation), *_said(sentences(sweep, step, notation), width)]
    return parts


def _heading(number: int, step: Step, width: int, notation: Plain) -> Text:
    title = notation.equation(", ".join(step.names), step.operation)
    room = width - _INDENT - len(step.grad_fn) - 2
    if len(title) > room:
        title = f"{title[: room - 4]} ..."
    gap = " " * (width - _INDENT - len(title) - len(step.grad_fn))
    return Text.assemble((f"{number:<{_INDENT}}", "dim"), (title, "bold"), gap, (step.grad_fn, "magenta"))


def _said(said: Sequence[Sentence], width: int) -> list[Text]:
    equations = [sentence for sentence in said if isinstance(sentence, Equation)]
    left = max(len(one.left) + one.adds for one in equations)
    lines: list[Text] = []
    for sentence in said:
        if isinstance(sentence, Equation):
            lines += equation(sentence, _INDENT, left, width)
        else:
            text = sentence.replace("`", "")
            lines += [Text(" " * _INDENT + line, "italic") for line in wrap(text, width - _INDENT, break_on_hyphens=False)]
    return lines


def equation(said: Equation, indent: int, left: int, width: int) -> list[Text]:
    """One equation on as many lines as it takes, broken before its equals signs, and only then within a side."""
    start = f"{' ' * indent}{said.left:<{left - said.adds}} {'+' * said.adds}= "
    remark = f"   {said.remark.replace('`', '')}" if said.remark else ""
    whole = " = ".join(said.right)
    if len(start) + len(whole) + len(remark) <= width:
        return [Text.assemble(start, *_coloured(said.right), (remark, "dim"))]
    if len(start) > width // 2:
        lines, start = [Text(start.rstrip())], " " * (indent + 4)
    else:
        lines = []
    room = max(width - len(start), 20)
    for i, side in enumerate(said.right):
        final = "bold cyan" if i == len(said.right) - 1 else ""
        for k, piece in enumerate(wrap(side, room, break_long_words=False, break_on_hyphens=False)):
            margin = start if i == k == 0 else f"{' ' * (len(start) - 2)}{'= ' if k == 0 else '  '}"
            lines.append(Text.assemble(margin, (piece, final)))
    if remark:
        lines.append(Text(" " * (len(start) - 3) + remark, "dim"))
    return lines


def _coloured(sides: Sequence[str]) -> list[Any]:
    pieces: list[Any] = []
    for i, side in enumerate(sides):
        pieces += [" = "] if i else []
        pieces.append((side, "bold cyan" if i == len(sides) - 1 else ""))
    return pieces


def _ends(sweep: Sweep, width: int, notation: Plain, pattern: str, nothing: str = "0") -> list[RenderableType]:
    found = [(end, *ending(pattern.format(end.name), end, notation, nothing)) for end in sweep.ends]
    left = max(len(said.left) for _, said, _ in found)
    lines: list[RenderableType] = []
    for end, said, names in found:
        said.remark = through(names) if names else "" if end.parts else f"nothing arrives: {sweep.of} does not depend on {end.name}"
        lines += equation(said, 2, left, width)
    return lines


def _second(result: Explanation, second: Second, width: int, notation: Plain) -> list[RenderableType]:
    first = notation.derivative(result.symbol, second.variable)
    title = f"\nsecond derivatives by {second.variable}, from {second.symbol} = {first}"
    parts: list[RenderableType] = [Text(title, "bold italic")]
    value = notation.number(second.value)
    if not second.sweeps:
        return [*parts, *_paragraph(f"{first} = {value} depends on no variable: its derivatives are 0.", width)]
    if second.lines:
        parts += _paragraph(f"The sweep that found {first} was made of operations too. Recorded, they are:", width)
        parts += [Text(""), _forward(second.lines, notation.precision, meaning=result.symbol)]
    else:
        parts += _paragraph(f"The operations that found {first} = {value} are among those above.", width)
    for sweep in second.sweeps:
        parts += [Text(""), *_paragraph(f"A sweep through these, from {sweep.of}:", width), *_sweep(sweep, width, notation)]
        parts += [Text(""), *_ends(sweep, width, notation, f"d{sweep.of}/d{{}}")]
    return parts
