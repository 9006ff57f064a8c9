"""The tables of a fit for each group of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff_cli.report.result_tables import rows_table
from autodiff_cli.report.table import MOST_ROWS, title
from autodiff_cli.solvers.fitting.group_result import SharedFit
from autodiff_cli.solvers.fitting.printed.tables import parameter_table
from autodiff_cli.wording import listed, plural

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
    shared = result if isinstance(result, SharedFit) else None
    hidden = {"converged", *([] if any(not row["converged"] for row in result.groups) else ["verdict"])}
    if shared is None:
        hidden.add("rss")
    else:
        hidden |= {column for name in shared.shared for column in (name, f"u_{name}")}
    names = [name for name in result.groups[0] if name not in hidden]
    left_out = max(len(result.groups) - MOST_ROWS, 0)
    half = MOST_ROWS // 2
    shown = [*result.groups[:half], *result.groups[-half:]] if left_out else result.groups
    rows = [[row[name] for name in names] for row in shown]
    parts: list[Renderable] = [rows_table(names[:1], names[1:], rows, left_out, precision), "\n".join(sentences(result))]
    return parts if shared is None else [parameter_table(shared, precision), title("groups"), *parts]


def sentences(result: GroupFit) -> list[str]:
    """Return what is known about the fits, in short sentences."""
    solved = sum(row["converged"] for row in result.groups)
    if isinstance(result, SharedFit):
        rows, s = result.residual["rows"], result.residual["std"]
        found = [
            f"{plural(rows, 'row')} in {plural(len(result.groups), 'group')}; standard errors u {ERRORS[result.scaled]}.",
            f"{listed(result.shared)} shared by all groups; {plural(result.residual['dof'], 'degree')} of freedom"
            + ("." if s is None else f", s = {s:.6g}."),
        ]
        proven = f"Minimum after {plural(result.steps, 'step')}: Hessian positive definite."
        return [*found, proven if result.converged else f"Not solved: {result.reason}."]
    return [
        f"{plural(len(result.groups), 'group')}; standard errors u {ERRORS[result.scaled]}.",
        f"Minimum with a positive definite Hessian in {plural(solved, 'group')}.",
    ]
