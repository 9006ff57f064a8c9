"""The generator of ``docs/matrix_derivatives.md``: the Matrix Cookbook and losses, as ``diff`` prints their derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from tests.matrix_tables import Row, rows
from tests.pages.markdown import code, table

_HEAD = """# Derivatives of vectors and matrices

`diff` with `--shape` ([how](symbolic.md#vectors-and-matrices)) prints the formulas of this page. The tests compare each of them
with the formula that a person writes, with central differences, and with the engine at random values. {short} of {all} formulas are
at most 1.35 times as long as the formula of the person.

A letter with two lengths is a matrix, one with one length a vector, and another one a number; `!` is `--symmetric`. The second
derivative has two variables.

## The Matrix Cookbook

The identities of chapter 2 of the Matrix Cookbook (K. B. Petersen and M. S. Pedersen, version of November 15, 2012) that the
language can say, with the numbers of the equations. The language cannot say identities of single elements, of general functions, of
eigenvectors, of complex and of structured matrices (Toeplitz, diagonal), and functions of matrices such as the sine in (128).
"""


def page() -> str:
    """Return the text of the page."""
    cookbook, losses, others = rows("cookbook"), rows("losses"), rows("derivatives")
    together = [*cookbook, *losses, *others]
    short = sum(not row.is_longer(1.35) for row in together)
    parts = [
        _HEAD.format(short=short, all=len(together)),
        _table(cookbook),
        "## Losses of machine learning and statistics\n",
        _table(losses),
    ]
    return "\n".join(parts)


def _table(cases: Sequence[Row]) -> str:
    def cells(row: Row) -> list[str]:
        shapes = ", ".join(f"{name}: {dims}{'!' * (name in row.symmetric)}" for name, dims in row.shape.items())
        numbers = [f"({row.number})"] if row.number else []
        return [*numbers, code(row.expression), shapes, code(", ".join(row.wrt)), code(row.derivative)]

    numbers = ["equation"] if cases[0].number else []
    return table([*numbers, "expression", "lengths", "with respect to", "derivative"], map(cells, cases))
