"""Export of an expression and its derivatives as a LaTeX document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_cli.evaluation.compile import names_and_values
from autodiff_cli.language.latex import latex
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, name_tree
from autodiff_cli.symbolic.differentiate import diff


def document(expression: str, name: str, wrt: Sequence[str] | None, order: int, const: Mapping[str, Any] | None) -> str:
    """Return the LaTeX document, with derivatives in the form that keeps its digits; ``export`` describes the arguments."""
    names, _, _ = names_and_values(expression, wrt, const, "float64")
    arguments = ", ".join(map(_symbol, names))
    lines = _equations(f"{_symbol(name)}({arguments})", parse(expression))
    for k in range(1, order + 1):
        for term, tree in diff(expression, const=const, order=k, wrt=wrt, stable=True).trees.items():
            lines += _equations(_derivative(_symbol(name), term), tree)
    begin = [r"\documentclass{article}", r"\usepackage{amsmath}", r"\allowdisplaybreaks", r"\begin{document}", r"\begin{align*}"]
    return "\n".join([*begin, " \\\\\n".join(lines), r"\end{align*}", r"\end{document}", ""])


def _symbol(name: str) -> str:
    """Return the name of a variable or a function in LaTeX."""
    return latex(name_tree(name))


def _derivative(symbol: str, term: Sequence[str]) -> str:
    """Return the partial derivative of a function with respect to the variables of a term as a fraction."""
    counts = {name: term.count(name) for name in term}
    denominator = r" \, ".join(rf"\partial {_symbol(name)}{_exponent(count)}" for name, count in counts.items())
    return rf"\frac{{\partial{_exponent(len(term))} {symbol}}}{{{denominator}}}"


def _exponent(number: int) -> str:
    """Return a number as an exponent; the exponent 1 is not written."""
    return "" if number == 1 else f"^{{{number}}}"


def _equations(left: str, program: Syntax) -> list[str]:
    """Return the equations of a program: one for each assignment before the last statement, whose value equals ``left``."""
    *before, last = program.children
    if last.kind == "assignment":
        last = last.children[1]
    assignments = [statement.children for statement in before if statement.kind == "assignment"]
    lines = [f"{latex(name)} &= {latex(value)}" for name, value in assignments]
    return [*lines, f"{left} &= {latex(last)}"]
