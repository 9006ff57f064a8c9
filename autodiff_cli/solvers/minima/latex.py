"""A minimum as a LaTeX table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff_cli.language.latex_names import escaped
from autodiff_cli.report.latex_tables import label, numeral, tabular

if TYPE_CHECKING:
    from autodiff_cli.solvers.minima.minimize import Minimum


def page(result: Minimum, precision: int) -> str:
    """Return a table with a row for each variable, and the value, the gradient and the multipliers below it."""
    rows = [[label(name), numeral(value, precision)] for name, value in result.solution.items()]
    foot = [f"value {numeral(result.value, precision)}, norm of the gradient {numeral(result.gradient_norm, 2)}"]
    foot += [
        rf"multiplier of \texttt{{{escaped(name)}}}: {numeral(value, precision)}" for name, value in result.multipliers.items()
    ]
    return tabular("lr", ["variable", "value"], rows, foot)
