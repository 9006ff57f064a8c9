"""The results of the solvers as LaTeX tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.errors import AutodiffError
from autodiff_cli.language.latex import latex
from autodiff_cli.language.latex_names import escaped
from autodiff_cli.report.latex_tables import label, numeral, tabular
from autodiff_cli.solvers.uncertainty.result import estimate, percent

if TYPE_CHECKING:
    from autodiff_cli.solvers.fitting.result import Fit
    from autodiff_cli.solvers.minima.minimize import Minimum
    from autodiff_cli.solvers.roots.root import Root
    from autodiff_cli.solvers.uncertainty.result import Outcome, Propagation

_BUDGET = ("quantity", "estimate", "$u$", "distribution", r"$\nu$", "$c$", r"$c\,u$", "share")


def page(result: Any, precision: int) -> str:
    """Return the table of a ``Fit``, ``Root``, ``Minimum`` or ``Propagation``."""
    tables: dict[str, Callable[[Any, int], str]] = {"fit": _fit, "root": _root, "minimize": _minimum, "propagate": _budgets}
    return tables[result.command](result, precision)


def _fit(result: Fit, precision: int) -> str:
    """Return a table with a row for each parameter, and the statistics in its last line."""
    rows = []
    for name, record in result.parameters.items():
        error, interval = record["std_error"], record["interval"]
        cells = [
            label(name),
            numeral(record["value"], precision),
            "" if error is None else numeral(error, max(precision - 2, 2)),
            "" if interval is None else " to ".join(numeral(end, max(precision - 1, 2)) for end in interval),
        ]
        rows.append(cells)
    residual = result.residual
    facts = [f"{residual['rows']} rows", f"{residual['dof']} degrees of freedom", f"RSS = {numeral(residual['rss'], precision)}"]
    if residual["std"] is not None:
        facts.append(f"$s$ = {numeral(residual['std'], precision)}")
    head = ["parameter", "value", "standard error", rf"{100 * result.level:g}\,\% interval"]
    return tabular("lrrr", head, rows, [", ".join(facts)])


def _root(result: Root, precision: int) -> str:
    """Return a table with a row for each root, and a column for each element of the unknowns and for the error."""
    rows = []
    for root in result.roots or ([result] if result.converged else []):
        values = np.concatenate([np.ravel(value) for value in root.solution.values()])
        errors = np.concatenate([np.ravel(error) for error in root.error_bound.values()])
        rows.append([*(numeral(value, precision) for value in values), numeral(errors.max(), 2)])
    return tabular("r" * (len(result.labels) + 1), [*map(label, result.labels), "error"], rows)


def _minimum(result: Minimum, precision: int) -> str:
    """Return a table with a row for each variable, and the value, the gradient and the multipliers below it."""
    rows = [[label(name), numeral(value, precision)] for name, value in result.solution.items()]
    foot = [f"value {numeral(result.value, precision)}, norm of the gradient {numeral(result.gradient_norm, 2)}"]
    foot += [
        rf"multiplier of \texttt{{{escaped(name)}}}: {numeral(value, precision)}" for name, value in result.multipliers.items()
    ]
    return tabular("lr", ["variable", "value"], rows, foot)


def _budgets(result: Propagation, precision: int) -> str:
    """Return a table for each output, with the result in its last line."""
    return "".join(_budget(outcome, precision) for outcome in result.outputs)


def _budget(outcome: Outcome, precision: int) -> str:
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
    return tabular("lrrlrrrr", _BUDGET, rows, [f"${_expression(outcome.name)} = {value}$; {said}"])


def _expression(name: str) -> str:
    try:
        return latex(name)
    except AutodiffError:
        return rf"\text{{{escaped(name)}}}"
