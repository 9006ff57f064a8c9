"""Derivatives as expressions of the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.autograd.recording import Cell, Recording
from autodiff_cli.errors import NotRecordable, UsageError
from autodiff_cli.language.algebra import Algebra, Node
from autodiff_cli.language.compiled import names_and_values, recorded
from autodiff_cli.language.lowering import lowered
from autodiff_cli.language.normal import formulas
from autodiff_cli.language.rewritten import recorded_again
from autodiff_cli.language.syntax import Syntax, unparse
from autodiff_cli.language.written import program


class Derivatives:
    """What ``autodiff diff`` shows.

    Attributes:
        expression: what was differentiated.
        order: how often.
        trees: for each derivative by what it is, and the expression.
    """

    def __init__(self, expression: str, order: int, trees: Mapping[tuple[str, ...], Syntax]) -> None:
        self.expression = expression
        self.order = order
        self.trees = dict(trees)
        self.texts = {term: unparse(tree) for term, tree in self.trees.items()}

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return {
            "schema": 1,
            "command": "diff",
            "expression": self.expression,
            "order": self.order,
            "derivatives": [{"wrt": list(term), "expression": text} for term, text in self.texts.items()],
        }


def differentiate(
    expression: str,
    wrt: Sequence[str] | None = None,
    order: int = 1,
    const: Mapping[str, Any] | None = None,
    simplify: bool = False,
) -> Derivatives:
    names, by, leaves = names_and_values(expression, wrt, const, "float64")
    recording, cell, columns = recorded(expression, names, leaves, "float64")
    algebra = Algebra(names)
    found: dict[tuple[str, ...], Node] = {}
    cells: dict[tuple[str, ...], tuple[Recording, Cell, dict[str, Any]]] = {(): (recording, cell, columns)}
    for step in range(1, order + 1):
        found = {}
        for term, (recording, cell, columns) in cells.items():
            own = len(recording.operations)
            following = by[by.index(term[-1]) if term else 0 :]
            with np.errstate(all="ignore"), set_grad_enabled(False):
                slopes = recording.gradient(cell, [columns[name] for name in following])
                slopes = lowered(recording, slopes) if step == order else slopes
            # Written as formulas in between, so that what can be collected is not differentiated term by term.
            written = formulas(algebra, slopes, own)
            found.update({(*term, name): formula for name, formula in zip(following, written, strict=True)})
        if step < order:
            cells = {}
            for term, formula in found.items():
                recording, (cell,), columns = recorded_again([formula], names)
                cells[term] = recording, cell, columns
    return Derivatives(expression, order, {term: program(formula, names) for term, formula in found.items()})
