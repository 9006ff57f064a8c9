"""The budget of ``propagate`` as a LaTeX table."""

from __future__ import annotations

import math

from autodiff_cli.errors import AutodiffError
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import escaped, identifier, number
from autodiff_cli.report.numbers import human
from autodiff_cli.solvers.uncertainty.result import Outcome, Propagation
from autodiff_cli.solvers.uncertainty.written import estimate, percent

_HEAD = r"quantity & estimate & $u$ & distribution & $\nu$ & $c$ & $c\,u$ & share \\"


def page(result: Propagation, precision: int) -> str:
    """Return a table for each output, with the result in its last line."""
    return "\n".join(line for outcome in result.outputs for line in _table(outcome, precision)) + "\n"


def _table(outcome: Outcome, precision: int) -> list[str]:
    lines = [r"\begin{tabular}{lrrlrrrr}", r"\hline", _HEAD, r"\hline"]
    for row in outcome.budget:
        cells = [row["name"]] + [""] * 5
        if row["kind"] == "quantity":
            dof = r"$\infty$" if math.isinf(row["dof"]) else _number(row["dof"], 3)
            value, u = _math(estimate(row["value"], row["u"], precision)), _number(row["u"], precision)
            cells = [_quantity(row["name"]), value, u, row["distribution"], dof, _number(row["sensitivity"], precision)]
        lines.append(" & ".join([*cells, _number(row["contribution"], precision), rf"{percent(row['share'])}\,\%"]) + r" \\")
    mantissa, _, power = outcome.result.replace("±", r"\pm").partition("e")
    value = rf"{mantissa} \cdot 10^{{{power}}}" if power else mantissa
    low, high = (_math(estimate(end, outcome.u, precision)) for end in outcome.interval)
    said = rf"$U$ = {_number(outcome.U, 2)}, $k$ = {_number(outcome.k, 3)}, {100 * outcome.level:.4g}\,\% interval {low} to {high}"
    return [*lines, r"\hline", rf"\multicolumn{{8}}{{l}}{{${_expression(outcome.name)} = {value}$; {said}}} \\", r"\end{tabular}"]


def _quantity(name: str) -> str:
    head, _, index = name.partition("[")
    return f"${{{identifier(head)}}}_{{{index[:-1]}}}$" if index else f"${identifier(head)}$"


def _expression(name: str) -> str:
    try:
        return latex(name)
    except AutodiffError:
        return rf"\text{{{escaped(name)}}}"


def _number(value: float, precision: int) -> str:
    return _math(human(value, precision))


def _math(text: str) -> str:
    return f"${number(text)}$"
