"""The tables of a root for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.report.array_text import human
from autodiff_cli.report.result_tables import steps_table
from autodiff_cli.report.table import NUMBER, WORD, Column, Renderable, Table
from autodiff_cli.solvers.roots.root import Root
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from autodiff_cli.arrays import Vector


_MOST_STEPS, _SMALLEST = 60, 1e-99  # steps, of which the last ones are shown, and the smallest error that is shown


def root_tables(result: Root, precision: int) -> list[Renderable]:
    """Return the table of the root, of all roots or of the steps, and what was verified; without a root, the steps at most."""
    if result.traced:
        table = steps_table(result.trace[-_MOST_STEPS:], precision)
    elif result.roots:
        table = _listed(result.roots, precision)
    else:
        table = _unknowns(result, precision)
    if not result.converged:
        return [table] if result.traced else []
    if result.roots and not result.traced:
        return [table, *(["\nproven: the range has no other roots"] if result.is_proven else [])]
    return [table, f"\n{_verified(result)}"]


def _unknowns(result: Root, precision: int) -> Table:
    """Return a table with one row for each unknown: its value, its error and its derivatives."""
    constants = list(next(iter(result.sensitivity.values()), {}))
    columns = [Column("unknown", style="bold green"), Column("value", NUMBER, "bold cyan"), Column("error", NUMBER)]
    rows = []
    for name, value in result.solution.items():
        slopes = [human(result.sensitivity[name][a], precision) for a in constants]
        rows.append([name, human(value, precision), human(_shown(result.error_bound[name]), 2), *slopes])
    return Table([*columns, *(Column(f"d/d{a}", NUMBER, "cyan") for a in constants)], rows)


def _listed(roots: Sequence[Root], precision: int) -> Table:
    """Return a table with one row for each root, with as many digits, up to 17, as tell all roots apart."""
    first = roots[0]
    columns = [Column(label, NUMBER, "bold cyan") for label in first.problem.system.labels]
    slopes = [(x, a) for x, row in first.sensitivity.items() for a in row]
    columns += [Column(f"d{x}/d{a}", NUMBER, "cyan") for x, a in slopes]
    columns += [Column(header, WORD, is_right=header != "proof") for header in ("error", "multiplicity", "proof")]

    def solutions(digits: int) -> list[tuple[str, ...]]:
        return [tuple(human(value, digits) for value in root.solution.values()) for root in roots]

    digits = next((n for n in range(precision, 18) if len(set(solutions(n))) == len(roots)), precision)
    rows = []
    for root, solution in zip(roots, solutions(digits), strict=True):
        derivatives = [human(root.sensitivity[x][a], precision) for x, a in slopes]
        error = human(_shown(root.record()["error_bound"]), 2)
        rows.append([*solution, *derivatives, error, str(root.multiplicity), root.proof])
    return Table(columns, rows)


def _shown(error: ArrayLike) -> Vector:
    """Return errors with 0 in place of those of exact roots, which are too small to be of interest."""
    return np.where(np.asarray(error) < _SMALLEST, 0.0, error)


def _verified(result: Root) -> str:
    """Return what was verified about the root, in lines: its kind and its proof, the residual, the digits, and other roots."""
    residual = f"{float(np.max(np.abs(result.residual), initial=0.0)):.2g}"
    noise = f"{float(np.max(result.noise, initial=0.0)):.2g}"
    how = {
        "interval Newton": "proven by interval Newton; no other root within the error",
        "residual and Newton step": "verified by the residual and the Newton step",
        "residual": "verified by the residual",
        "zero residual": "verified: the residual is exactly 0",
        "sign change": "proven by a change of sign",
        "touching": "not proven: the residual is zero within rounding and does not change sign",
    }[result.proof]
    is_regular = np.isfinite(result.condition)
    condition = f"{result.condition:.2g}" if is_regular else "singular"
    kinds = {0: "root that is not isolated", 1: "simple root" if is_regular else "root"}
    kind = kinds.get(result.multiplicity, f"root of multiplicity {result.multiplicity}")
    order = "" if result.convergence_order is None else f", convergence of order {result.convergence_order:g}"
    steps = f"{plural(result.steps, 'step')}{order}; " if result.steps else ""
    lines = [
        f"{kind}, {how}",
        f"residual {residual} (rounding: up to {noise}); last step {result.last_step:.2g}; condition {condition}",
        f"{steps}{result.digits} certain digits",
        *(["proven: the range has no other roots"] if result.is_proven and not result.others else []),
    ]
    return "\n".join(lines)
