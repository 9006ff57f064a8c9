"""A root, or all roots in a range, as a LaTeX table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.language.latex_names import identifier, number
from autodiff_cli.report.numbers import human

if TYPE_CHECKING:
    from autodiff_cli.solvers.roots.root import Root


def page(result: Root, precision: int) -> str:
    """Return a table with a row for each root, and a column for each element of the unknowns and for the error."""
    roots = result.roots or ([result] if result.converged else [])
    labels = [_label(each) for each in result.labels]
    lines = [rf"\begin{{tabular}}{{{'r' * (len(labels) + 1)}}}", r"\hline", " & ".join([*labels, "error"]) + r" \\", r"\hline"]
    for one in roots:
        values = np.concatenate([np.ravel(value) for value in one.solution.values()])
        errors = np.concatenate([np.ravel(error) for error in one.error_bound.values()])
        cells = [*(_number(value, precision) for value in values), _number(errors.max(), 2)]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _label(label: str) -> str:
    name, bracket, index = label.partition("[")
    return f"${identifier(name)}{f'_{{{index[:-1]}}}' if bracket else ''}$"


def _number(value: float, precision: int) -> str:
    return f"${number(human(value, precision))}$"
