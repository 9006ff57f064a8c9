"""The parameters of a fit as a LaTeX table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff_cli.language.latex_names import identifier, number
from autodiff_cli.report.numbers import human

if TYPE_CHECKING:
    from autodiff_cli.solvers.fitting.result import Fit


def page(result: Fit, precision: int) -> str:
    """Return a table with a row for each parameter, and the statistics in its last line."""
    lines = [
        r"\begin{tabular}{lrrr}",
        r"\hline",
        rf"parameter & value & standard error & {100 * result.level:g}\,\% interval \\",
        r"\hline",
    ]
    for name, record in result.parameters.items():
        error, interval = record["std_error"], record["interval"]
        cells = [
            f"${identifier(name)}$",
            _number(record["value"], precision),
            "" if error is None else _number(error, max(precision - 2, 2)),
            "" if interval is None else " to ".join(_number(end, max(precision - 1, 2)) for end in interval),
        ]
        lines.append(" & ".join(cells) + r" \\")
    residual = result.residual
    facts = [f"{residual['rows']} rows", f"{residual['dof']} degrees of freedom", f"RSS = {_number(residual['rss'], precision)}"]
    if residual["std"] is not None:
        facts.append(f"$s$ = {_number(residual['std'], precision)}")
    return "\n".join([*lines, r"\hline", rf"\multicolumn{{4}}{{l}}{{{', '.join(facts)}}} \\", r"\end{tabular}", ""])


def _number(value: float, precision: int) -> str:
    return f"${number(human(value, precision))}$"
