"""The parameters of a fit as a LaTeX table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff_cli.report.latex_tables import label, numeral, tabular

if TYPE_CHECKING:
    from autodiff_cli.solvers.fitting.result import Fit


def page(result: Fit, precision: int) -> str:
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
