"""A root, or all roots in a range, as a LaTeX table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.report.latex_tables import label, numeral, tabular

if TYPE_CHECKING:
    from autodiff_cli.solvers.roots.root import Root


def page(result: Root, precision: int) -> str:
    """Return a table with a row for each root, and a column for each element of the unknowns and for the error."""
    rows = []
    for one in result.roots or ([result] if result.converged else []):
        values = np.concatenate([np.ravel(value) for value in one.solution.values()])
        errors = np.concatenate([np.ravel(error) for error in one.error_bound.values()])
        rows.append([*(numeral(value, precision) for value in values), numeral(errors.max(), 2)])
    return tabular("r" * (len(result.labels) + 1), [*map(label, result.labels), "error"], rows)
