"""The tables of ``minimize`` for the terminal, and for LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.evaluation.names import element_names
from autodiff_cli.report.array_text import human
from autodiff_cli.report.result_tables import steps_table
from autodiff_cli.report.table import EXPRESSION, MOST_ROWS, NUMBER, Column, Renderable, Table, title
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.solvers.minima.minimize import Minimum

_MOST_EIGENVALUES = 6


def tables(result: Minimum, precision: int) -> list[Renderable]:
    """Return the table of the variables, the multipliers and the sensitivities, and the facts about the point."""
    if result.trace is not None:
        return [steps_table(result.trace, precision)]
    parts: list[Renderable] = [_variables(result, precision)]
    if result.multipliers:
        parts += [title("multipliers"), _pairs(("constraint", "multiplier"), result.multipliers.items(), precision)]
    for name, row in result.sensitivity.items():
        header = ("derivative", f"d/d{name}")
        parts += [title(f"sensitivity to {name}"), _pairs(header, row.items(), precision)]
    parts.append("\n" + "\n".join(f"{name:<14}  {text}" for name, text in facts(result, precision)))
    return parts


def facts(result: Minimum, precision: int) -> list[tuple[str, str]]:
    """Return the value, the gradient, the eigenvalues and the verdict, each with its name."""
    rows = [("value", human(result.value, precision)), ("gradient norm", human(result.gradient_norm, 2))]
    if len(result.eigenvalues):
        rows.append(("eigenvalues", _eigenvalues(result, precision)))
    if result.direction:
        rows.append(("direction", ", ".join(f"{name} {human(value, precision)}" for name, value in result.direction.items())))
    rows.append(("steps", f"{result.steps:,}, {plural(result.evaluations, 'evaluation')}"))
    kind, colon, rest = result.sentence.partition(": ")
    rows += [("verdict", kind), *(("", text) for text in rest.split("; ") if colon)]
    return rows


def _eigenvalues(result: Minimum, precision: int) -> str:
    """Return the eigenvalues in words: all, or the lowest and the highest one if there are many."""
    values = result.eigenvalues
    if len(values) <= _MOST_EIGENVALUES:
        return ", ".join(human(value, precision) for value in values)
    return f"{human(values[0], precision)} to {human(values[-1], precision)}"


def _variables(result: Minimum, precision: int) -> Renderable:
    """Return a table with one row for each element of each variable, without the middle rows if there are many."""
    rows: list[tuple[str, ArrayLike, ArrayLike, str]] = []
    for name, value in result.solution.items():
        labels = element_names(name, np.shape(value))
        bounds = result.at_bound.get(name) or [""] * len(labels)
        rows += zip(labels, np.ravel(value), np.ravel(result.start[name]), bounds, strict=True)
    columns = [Column("variable"), Column("value", NUMBER), Column("start", NUMBER)]
    if any(bound for _, _, _, bound in rows):
        columns.append(Column("bound", EXPRESSION))
    cells = [[name, human(value, precision), human(start, precision), bound] for name, value, start, bound in rows]
    half = MOST_ROWS // 2
    if len(rows) > 2 * half:
        cells[half:-half] = [["...", f"{len(rows) - 2 * half:,} more"]]
    return Table(columns, cells)


def _pairs(header: tuple[str, str], rows: Iterable[tuple[str, ArrayLike]], precision: int) -> Renderable:
    """Return a table of names and numbers."""
    return Table([header[0], Column(header[1], NUMBER)], [(name, human(value, precision)) for name, value in rows])
