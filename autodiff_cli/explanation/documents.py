"""An explanation as a Markdown page or a complete LaTeX document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from autodiff_cli.errors import AutodiffError
from autodiff_cli.explanation.model import ExplainedStep, Explanation, ForwardLine, Sweep
from autodiff_cli.explanation.sentences import EquationText, Latex, Plain, Sentence, abbreviated, accumulated, sentences
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import escaped, unnamed_letter
from autodiff_cli.report.table import MOST_ROWS
from autodiff_cli.wording import plural

_MOST_STEPS = 60
"""The largest number of steps that a page shows; of more steps, it shows the first and the last ones."""
_LEGEND = (
    "Each step shows the upstream gradient, the local derivative of its operation, and their product (the downstream gradient)."
)
_WIDEST = 64
"""The approximate maximum number of characters of an equation on one line."""


def page(style: str, result: Explanation, precision: int) -> str:
    """Return the whole page in the style ``markdown`` or ``latex``."""
    writer = Page(precision) if style == "markdown" else _LatexPage(precision)
    writer.write(result)
    return "\n".join([*writer.lines, *writer.end]).rstrip("\n") + "\n"


class Page:
    """A Markdown page, and the base class of other pages; ``none`` is the text of a missing gradient, ``end`` the last lines."""

    none = "None"
    end: Sequence[str] = ()

    def __init__(self, precision: int) -> None:
        self.precision = precision
        self.notation = Plain(precision)
        self.lines: list[str] = []

    def write(self, result: Explanation) -> None:
        """Write all parts of the page."""
        self.opening(result)
        self.heading("Forward")
        self.table(result.forward)
        if result.sweep is None:
            self.paragraph("The output does not depend on a variable through recorded operations.")
            return
        self.heading("Backward")
        self.sweep(result.sweep, result.output)
        self.heading(f"Accumulated in {self.code('.grad')}")
        gradients = result.sweep.accumulated
        self.equations([accumulated(self.grad_of(g.name), result.symbol, g, self.notation, self.none) for g in gradients])
        chains = [(self.notation.derivative(result.symbol, g.name), g.chain) for g in gradients if g.chain is not None]
        if chains:
            self.heading("The chain rule multiplied out")
            self.equations([EquationText(left, [self.notation.formula(chain)]) for left, chain in chains])

    def sweep(self, sweep: Sweep, output: str) -> None:
        """Write the start of the backward pass at the tensor ``output``, and the steps; of many, only the first and last ones."""
        start = self.math(f"{self.notation.derivative(sweep.target, output)} = {self.notation.number(sweep.start)}")
        text = f"The backward pass starts with {start}. {_LEGEND}"
        if sweep.target != output:
            text = f"{self.name(sweep.target)} is the result, {self.name(output)}. {text}"
        self.paragraph(text)
        for item in abbreviated([*enumerate(sweep.steps, 1)], _MOST_STEPS):
            if isinstance(item, int):  # the number of steps that are left out
                self.paragraph(f"... {plural(item, 'more step')} ...")
            else:
                number, step = item
                self.step(number, step, sentences(sweep, step, self.notation))

    # The parts of the page in Markdown

    def opening(self, result: Explanation) -> None:
        """Write the expression and the values of its variables."""
        self.lines.append(f"# {self.code(result.expression)}")
        at = ", ".join(self.code(f"{name} = {self.notation.number(value)}") for name, value in result.given.items())
        if at:
            self.paragraph(f"at {at}")

    def heading(self, text: str) -> None:
        self.lines += ["", f"## {text}"]

    def paragraph(self, text: str) -> None:
        self.lines += ["", text]

    def table(self, lines: Sequence[ForwardLine]) -> None:
        """Write the table of the forward pass, with shapes if a value is an array."""
        has_shapes = any(line.shape for line in lines)
        heads = ["name", "operation", "value", "shape"] if has_shapes else ["name", "operation", "value"]
        self.lines += ["", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
        for line in abbreviated(lines, MOST_ROWS):
            if isinstance(line, int):  # the number of lines that are left out
                self.lines.append(f"| ... | {line:,} more |{' |' * (len(heads) - 2)}")
                continue
            cells = [self.code(line.name), self.code(self.notation.formula(line.operation))]
            value = "" if line.value is None else self.notation.number(line.value)
            cells += [value, line.shape] if has_shapes else [value]
            escaped_cells = [cell.replace("|", r"\|") for cell in cells]
            self.lines.append(f"| {' | '.join(escaped_cells)} |")

    def step(self, number: int, step: ExplainedStep, said: Sequence[Sentence]) -> None:
        """Write a step of the backward pass: its number, its operation, its node, and the sentences about it."""
        title = self.notation.equation(", ".join(step.names), step.operation)
        self.lines += ["", f"**{number}.** {self.code(title)} ({step.grad_fn})", ""]
        self.lines += [f"- {self._equation(sentence) if isinstance(sentence, EquationText) else sentence}" for sentence in said]

    def _equation(self, equation: EquationText) -> str:
        """Return an equation as code, followed by its remark."""
        text = self.code(f"{equation.left} {'+=' if equation.adds else '='} {' = '.join(equation.sides)}")
        return f"{text}, {equation.remark}" if equation.remark else text

    def equations(self, equations: Sequence[EquationText]) -> None:
        for equation in equations:
            self.paragraph(self._equation(equation))

    def grad_of(self, name: str) -> str:
        return f"{name}.grad"

    def math(self, text: str) -> str:
        """Return a formula inside a sentence."""
        return self.code(text)

    def name(self, text: str) -> str:
        """Return the name of a tensor inside a sentence."""
        return self.code(text)

    def code(self, text: str) -> str:
        """Return a text of the program, on one line, as code; backticks in it require a delimiter of two."""
        text = " ".join(text.split())
        return f"`` {text} ``" if "`" in text else f"`{text}`"


class _LatexPage(Page):
    """A LaTeX page that uses the package amsmath.

    Unnamed tensors are written ``v_1``, ``v_2``; if the program uses the name ``v``, another letter replaces it.
    """

    none = r"\texttt{None}"
    end = (r"\end{document}",)

    def opening(self, result: Explanation) -> None:
        """Write the preamble, and the formula with the values of its variables; choose the letter of unnamed tensors."""
        names = re.findall(r"[^\W\d]\w*", result.expression)
        self.notation = Latex(self.precision, unnamed_letter(filter(None, (*names, result.symbol))))
        self.lines += [r"\documentclass{article}", r"\usepackage[margin=25mm]{geometry}", r"\usepackage[fleqn]{amsmath}"]
        self.lines += [r"\allowdisplaybreaks", r"\setlength{\parindent}{0pt}", r"\begin{document}"]
        try:
            formula = latex(result.expression)
        except AutodiffError:  # the program contains statements that a formula cannot represent
            formula = rf"\text{{{escaped(result.expression)}}}"
        at = ", ".join(f"{self.notation.name(name)} = {self.notation.number(value)}" for name, value in result.given.items())
        self.lines += [r"\[", formula + (rf"\quad\text{{at}}\quad {at}" if at else ""), r"\]"]

    def heading(self, text: str) -> None:
        self.lines += ["", rf"\section*{{{text}}}"]

    def table(self, lines: Sequence[ForwardLine]) -> None:
        """Write the forward pass as aligned equations: name, operation (but not for a leaf), and value with its shape."""
        rows = []
        for line in abbreviated(lines, MOST_ROWS):
            if isinstance(line, int):  # the number of lines that are left out
                rows.append(rf"& \;\;\vdots && \text{{{line:,} more}}")
                continue
            name, operation = self.notation.name(line.name), self.notation.formula(line.operation)
            value = "" if line.value is None else f"= {self.notation.number(line.value)}"
            if line.shape:
                times = line.shape.replace(" x ", r" \times ")
                value += rf" \in \mathbb{{R}}^{{{times}}}"
            rows.append(rf"{name} &= {operation} && \quad {value}" if operation != name else f"{name} &{value}")
        self._aligned(rows, "alignat*", "{3}")

    def _aligned(self, rows: Sequence[str], environment: str = "align*", argument: str = "") -> None:
        """Write at least one row in an environment of amsmath, which may have an argument, such as the number of columns."""
        *others, last = rows  # no line break after the last one
        self.lines += [rf"\begin{{{environment}}}{argument}", *(f"{row} \\\\" for row in others), last, rf"\end{{{environment}}}"]

    def step(self, number: int, step: ExplainedStep, said: Sequence[Sentence]) -> None:
        """Write a step of the backward pass; its sentences are rows among the equations."""
        title = self.notation.equation(", ".join(step.names), step.operation)
        self.lines += ["", r"\medskip", rf"\textbf{{{number}.}} ${title}$ \hfill \texttt{{{escaped(step.grad_fn)}}}"]
        rows: list[str] = []
        for sentence in said:
            rows += self._rows(sentence) if isinstance(sentence, EquationText) else [rf"&\text{{{self._words(sentence)}}}"]
        self._aligned(rows)

    def _rows(self, equation: EquationText) -> list[str]:
        """Return the rows of an equation: a single row if the sides fit, else one row for each side."""
        sign = r"\mathrel{+}=" if equation.adds else "="
        remark = rf" \quad \text{{{self._words(equation.remark)}}}" if equation.remark else ""
        first, *others = equation.sides
        visible = re.sub(r"\\[a-z]+|[{}\s]", "", "".join(equation.sides))  # without commands, braces and spaces
        if len(visible) <= _WIDEST:
            return [f"{equation.left} &{sign} {' = '.join(equation.sides)}{remark}"]
        return [f"{equation.left} &{sign} {first}{remark}", *(f"&= {side}" for side in others)]

    def _words(self, text: str) -> str:
        """Return a sentence in LaTeX, with the names between backticks in math mode."""
        parts = text.split("`")
        return "".join(self.name(part) if i % 2 else self._prose(part) for i, part in enumerate(parts))

    def _prose(self, text: str) -> str:
        """Return words in LaTeX, with names such as ``%2.1`` in math mode."""
        pieces = re.split(r"(%[\d.]+)", text)
        return "".join(self.name(piece) if i % 2 else escaped(piece) for i, piece in enumerate(pieces))

    def equations(self, equations: Sequence[EquationText]) -> None:
        """Write equations, each with its remark below."""
        for equation in equations:
            remark = [rf"&\text{{{self._words(equation.remark)}}}"] if equation.remark else []
            self._aligned([*self._rows(replace(equation, remark="")), *remark])

    def grad_of(self, name: str) -> str:
        return rf"{self.notation.name(name)}\texttt{{.grad}}"

    def math(self, text: str) -> str:
        return f"${text}$"

    def name(self, text: str) -> str:
        return f"${self.notation.name(text)}$"

    def code(self, text: str) -> str:
        return rf"\texttt{{{escaped(text)}}}"
