"""The tables of a fit for each group of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff_cli.report.table import MOST_ROWS, rows_table
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.report.table import Renderable
    from autodiff_cli.solvers.fitting.group_result import GroupFit

ERRORS = {
    "sigma": "from the given standard deviations",
    "weights": "scaled by the residuals, with relative weights",
    "residuals": "scaled by the residuals",
    "sandwich": "from the sandwich matrix of the loss",
}


def tables(result: GroupFit, precision: int) -> list[Renderable]:
    """Return the table of the groups, and what was proven."""
    hidden = {"converged", *([] if any(not row["converged"] for row in result.groups) else ["verdict"])}
    names = [name for name in result.groups[0] if name not in hidden]
    left_out = max(len(result.groups) - MOST_ROWS, 0)
    half = MOST_ROWS // 2
    shown = [*result.groups[:half], *result.groups[-half:]] if left_out else result.groups
    rows = [[row[name] for name in names] for row in shown]
    return [rows_table(names[:1], names[1:], rows, left_out, precision), "\n".join(sentences(result))]


def sentences(result: GroupFit) -> list[str]:
    """Return what is known about the fits, in short sentences."""
    solved = sum(row["converged"] for row in result.groups)
    return [
        f"{plural(len(result.groups), 'group')}; standard errors u {ERRORS[result.scaled]}.",
        f"Minimum with a positive definite Hessian in {plural(solved, 'group')}.",
    ]
