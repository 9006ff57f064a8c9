"""The budget of ``propagate`` as a LaTeX table."""

from __future__ import annotations

import math

from autodiff_cli.errors import AutodiffError
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import escaped
from autodiff_cli.report.latex_tables import label, numeral, tabular
from autodiff_cli.solvers.uncertainty.result import Outcome, Propagation
from autodiff_cli.solvers.uncertainty.written import estimate, percent

_HEAD = ("quantity", "estimate", "$u$", "distribution", r"$\nu$", "$c$", r"$c\,u$", "share")


def page(result: Propagation, precision: int) -> str:
    """Return a table for each output, with the result in its last line."""
    return "".join(_table(outcome, precision) for outcome in result.outputs)


def _table(outcome: Outcome, precision: int) -> str:
    rows = []
    for row in outcome.budget:
        cells = [row["name"]] + [""] * 5
        if row["kind"] == "quantity":
            dof = r"$\infty$" if math.isinf(row["dof"]) else numeral(row["dof"], 3)
            value, u = numeral(estimate(row["value"], row["u"], precision)), numeral(row["u"], precision)
            cells = [label(row["name"]), value, u, row["distribution"], dof, numeral(row["sensitivity"], precision)]
        rows.append([*cells, numeral(row["contribution"], precision), rf"{percent(row['share'])}\,\%"])
    mantissa, _, power = outcome.result.replace("±", r"\pm").partition("e")
    value = rf"{mantissa} \cdot 10^{{{power}}}" if power else mantissa
    low, high = (numeral(estimate(end, outcome.u, precision)) for end in outcome.interval)
    said = rf"$U$ = {numeral(outcome.U, 2)}, $k$ = {numeral(outcome.k, 3)}, {100 * outcome.level:.4g}\,\% interval {low} to {high}"
    return tabular("lrrlrrrr", _HEAD, rows, [f"${_expression(outcome.name)} = {value}$; {said}"])


def _expression(name: str) -> str:
    try:
        return latex(name)
    except AutodiffError:
        return rf"\text{{{escaped(name)}}}"
