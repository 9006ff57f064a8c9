"""An explanation as a page of markdown, or as a LaTeX document that compiles as it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from autodiff_cli.errors import AutodiffError
from autodiff_cli.explain.model import Explanation, Second, Step, Sweep
from autodiff_cli.explain.names import Line
from autodiff_cli.explain.sentences import Equation, Latex, Plain, Sentence, ending, plural, sentences, steps_of, through
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import escaped, unnamed_letter
from autodiff_cli.report.numbers import human
from autodiff_cli.report.table import MOST_ROWS

_STEP = (
    "Each step has the gradient that arrives at a tensor, the local derivative of its operation, and their product: what an "
    "input receives."
)


_WIDEST = 64
"""About as many characters fit on a line of the document."""


def page(style: str, result: Explanation, precision: int) -> str:
    """The whole page, for ``markdown`` or ``latex``."""
    writer = _Markdown(precision) if style == "markdown" else _Document(precision)
    writer.write(result)
    return "\n".join(writer.lines).rstrip("\n") + "\n"


class _Page:
    """What both have in common: the order of things."""

    notation: Plain
    none = "None"

    def __init__(self, precision: int) -> None:
        self.precision = precision
        self.lines: list[str] = []

    def write(self, result: Explanation) -> None:
        self.opening(result)
        self.heading("Forward")
        self.table(result.forward, result.conditions, "")
        if result.sweep is None:
            self.paragraph("There is nothing to differentiate.")
        else:
            self.heading("Backward")
            start = self.math(f"{self.derivative(result.symbol, result.output)} = {self.notation.number(result.sweep.start)}")
            named = f"{self.name(result.symbol)} is the result, {self.name(result.output)}. "
            self.paragraph(f"{named if result.symbol != result.output else ''}The sweep starts with {start}. {_STEP}")
            self.sweep(result.sweep)
            self.heading(f"What ends in {self.code('.grad')}")
            self.ends(result.sweep, self.grad_of, self.none)
        for second in result.seconds:
            self.second(result, second)
        self.closing()

    def second(self, result: Explanation, second: Second) -> None:
        first = self.derivative(result.symbol, second.variable)
        self.heading(f"Second derivatives by {self.name(second.variable)}")
        value = self.math(f"{self.notation.name(second.symbol)} = {first} = {self.notation.number(second.value)}")
        if not second.sweeps:
            self.paragraph(f"{value} depends on no variable: its derivatives are 0.")
            return
        if second.lines:
            self.paragraph(f"The sweep that found {value} was made of operations too. Recorded, they are:")
            self.table(second.lines, None, result.symbol)
        else:
            self.paragraph(f"The operations that found {value} are among those above.")
        for sweep in second.sweeps:
            self.paragraph(f"A sweep through these, from {self.name(sweep.of)}:")
            self.sweep(sweep)
            self.ends(sweep, lambda name, of=sweep.of: self.derivative(of, name))

    def sweep(self, sweep: Sweep) -> None:
        for number, step in steps_of(sweep):
            if step is None:
                self.paragraph(f"... {plural(number, 'more step')} ...")
            else:
                self.step(number, step, sentences(sweep, step, self.notation))

    def ends(self, sweep: Sweep, left: Any, nothing: str = "0") -> None:
        for end in sweep.ends:
            said, names = ending(left(end.name), end, self.notation, nothing)
            remark = through([self.name(n) for n in names]) if names else ""
            if not end.parts:
                remark = f"nothing arrives: {self.name(sweep.of)} does not depend on {self.name(end.name)}"
            self.result(said, remark)

    def derivative(self, of: str, by: str) -> str:
        return self.notation.derivative(of, by)

    def shortened(self, lines: Sequence[Line]) -> list[Line | None]:
        """The lines of a table; one ``None`` for the middle of very many."""
        half = MOST_ROWS // 2
        return list(lines) if len(lines) <= MOST_ROWS else [*lines[:half], None, *lines[-half:]]

    # What each has its own way for

    def opening(self, result: Explanation) -> None:
        raise NotImplementedError

    def closing(self) -> None:
        """The end of the page."""

    def heading(self, text: str) -> None:
        raise NotImplementedError

    def paragraph(self, text: str) -> None:
        raise NotImplementedError

    def table(self, lines: Sequence[Line], conditions: Any, meaning: str) -> None:
        raise NotImplementedError

    def step(self, number: int, step: Step, said: Sequence[Sentence]) -> None:
        raise NotImplementedError

    def result(self, said: Equation, remark: str) -> None:
        raise NotImplementedError

    def grad_of(self, name: str) -> str:
        raise NotImplementedError

    def math(self, text: str) -> str:
        raise NotImplementedError

    def name(self, text: str) -> str:
        raise NotImplementedError

    def code(self, text: str) -> str:
        raise NotImplementedError


class _Markdown(_Page):
    def __init__(self, precision: int) -> None:
        super().__init__(precision)
        self.notation = Plain(precision)

    def opening(self, result: Explanation) -> None:
        self.lines.append(f"# {self.code(result.expression)}")
        at = ", ".join(self.code(f"{name} = {self.notation.number(value)}") for name, value in result.given.items())
        if at:
            self.paragraph(f"at {at}")

    def heading(self, text: str) -> None:
        self.lines += ["", f"## {text}"]

    def paragraph(self, text: str) -> None:
        self.lines += ["", text]

    def table(self, lines: Sequence[Line], conditions: Any, meaning: str) -> None:
        heads = [
            "name",
            "operation",
            "value",
            *(["condition"] if conditions is not None else []),
            *(["which is"] if meaning else []),
        ]
        self.lines += ["", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
        for line in self.shortened(lines):
            if line is None:
                self.lines.append(f"| ... | {len(lines) - MOST_ROWS:,} more |{' |' * (len(heads) - 2)}")
                continue
            cells = [self.code(line.name), self.code(self.notation.formula(line.operation))]
            cells.append("" if line.value is None else self.notation.number(line.value))
            if conditions is not None:
                known = conditions.get(line.name)
                cells.append("" if known is None else human(known, 3))
            if meaning:
                cells.append(self.code(f"d{meaning}/d{line.meaning}") if line.meaning else "")
            self.lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")

    def step(self, number: int, step: Step, said: Sequence[Sentence]) -> None:
        title = self.notation.equation(", ".join(step.names), step.operation)
        self.lines += ["", f"**{number}.** {self.code(title)} ({step.grad_fn})", ""]
        for sentence in said:
            self.lines.append(f"- {self._equation(sentence) if isinstance(sentence, Equation) else sentence}")

    def _equation(self, said: Equation) -> str:
        text = self.code(f"{said.left} {'+=' if said.adds else '='} {' = '.join(said.right)}")
        return f"{text}, {said.remark}" if said.remark else text

    def result(self, said: Equation, remark: str) -> None:
        self.lines += ["", self._equation(said) + (f", {remark}" if remark else "")]

    def grad_of(self, name: str) -> str:
        return f"{name}.grad"

    def math(self, text: str) -> str:
        return self.code(text)

    def name(self, text: str) -> str:
        return self.code(text)

    def code(self, text: str) -> str:
        text = " ".join(text.split())
        return f"`` {text} ``" if "`" in text else f"`{text}`"


class _Document(_Page):
    """LaTeX with amsmath: tensors without a name are ``v_1``, ``v_2``, with another letter where the program has that one."""

    none = r"\texttt{None}"

    def __init__(self, precision: int) -> None:
        super().__init__(precision)
        self.notation = Latex(precision)

    def opening(self, result: Explanation) -> None:
        written = re.findall(r"[^\W\d]\w*", result.expression)
        symbols = [result.symbol, *(second.symbol for second in result.seconds)]
        self.notation = Latex(self.precision, unnamed_letter(name for name in (*written, *symbols) if name))
        self.lines += [
            r"\documentclass{article}",
            r"\usepackage[margin=25mm]{geometry}",
            r"\usepackage[fleqn]{amsmath}",
            r"\allowdisplaybreaks",
            r"\setlength{\parindent}{0pt}",
            r"\begin{document}",
        ]
        try:
            shown = latex(result.expression)
        except AutodiffError:  # a program of lines that a formula cannot hold
            shown = rf"\text{{{escaped(result.expression)}}}"
        at = ", ".join(f"{self.notation.name(name)} = {self.notation.number(value)}" for name, value in result.given.items())
        self.lines += [r"\[", shown + (rf"\quad\text{{at}}\quad {at}" if at else ""), r"\]"]

    def closing(self) -> None:
        self.lines.append(r"\end{document}")

    def heading(self, text: str) -> None:
        self.lines += ["", rf"\section*{{{text}}}"]

    def paragraph(self, text: str) -> None:
        self.lines += ["", text]

    def table(self, lines: Sequence[Line], conditions: Any, meaning: str) -> None:
        rows = []
        for line in self.shortened(lines):
            if line is None:
                rows.append(rf"& \;\;\vdots && \text{{{len(lines) - MOST_ROWS:,} more}}")
                continue
            name, operation = self.notation.name(line.name), self.notation.formula(line.operation)
            value = "" if line.value is None else f"= {self.notation.number(line.value)}"
            row = rf"{name} &= {operation} && \quad {value}" if operation != name else f"{name} &{value}"
            if conditions is not None and conditions.get(line.name) is not None:
                row += rf" && \qquad \text{{condition }} {self.notation.number(conditions[line.name])}"
            if meaning and line.meaning:
                row += rf" && \quad = {self.derivative(meaning, line.meaning)}"
            rows.append(row)
        self._aligned(rows, "alignat*}{3")

    def _aligned(self, rows: Sequence[str], kind: str = "align*") -> None:
        name = kind.partition("}")[0]
        self.lines += [rf"\begin{{{kind}}}", *(f"{row} \\\\" for row in rows[:-1]), rows[-1], rf"\end{{{name}}}"]

    def step(self, number: int, step: Step, said: Sequence[Sentence]) -> None:
        title = self.notation.equation(", ".join(step.names), step.operation)
        self.lines += ["", r"\medskip", rf"\textbf{{{number}.}} ${title}$ \hfill \texttt{{{escaped(step.grad_fn)}}}"]
        rows: list[str] = []
        for sentence in said:
            if isinstance(sentence, Equation):
                rows += self._rows(sentence)
            else:
                rows.append(rf"&\text{{{self._words(sentence)}}}")
        self._aligned(rows)

    def _rows(self, said: Equation) -> list[str]:
        """An equation, with a line of its own for each side where they are long."""
        sign = r"\mathrel{+}=" if said.adds else "="
        remark = rf" \quad \text{{{self._words(said.remark)}}}" if said.remark else ""
        seen = re.sub(r"\\[a-z]+|[{}\s]", "", "".join(said.right))
        if len(seen) <= _WIDEST:
            return [f"{said.left} &{sign} {' = '.join(said.right)}{remark}"]
        return [f"{said.left} &{sign} {said.right[0]}{remark}", *(f"&= {side}" for side in said.right[1:])]

    def _words(self, text: str) -> str:
        """A sentence as text, with names between backticks in math."""
        parts = text.split("`")
        return "".join(self.name(part) if i % 2 else self._prose(part) for i, part in enumerate(parts))

    def _prose(self, text: str) -> str:
        pieces = re.split(r"(%[\d.]+)", text)
        return "".join(self.name(piece) if i % 2 else escaped(piece) for i, piece in enumerate(pieces))

    def result(self, said: Equation, remark: str) -> None:
        self._aligned([*self._rows(said), *([rf"&\text{{{remark}}}"] if remark else [])])

    def grad_of(self, name: str) -> str:
        return rf"{self.notation.name(name)}\texttt{{.grad}}"

    def math(self, text: str) -> str:
        return f"${text}$"

    def name(self, text: str) -> str:
        return f"${self.notation.name(text)}$"

    def code(self, text: str) -> str:
        return rf"\texttt{{{escaped(text)}}}"
