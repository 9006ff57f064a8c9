"""The tables of derivatives of vectors and matrices in ``tests/cases/matrix_*.txt``, with the formulas that a person writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from autodiff_cli.symbolic.differentiate import diff

CASES = Path(__file__).parent / "cases"


class Row(NamedTuple):
    """A derivative.

    Attributes:
        expression: the expression.
        wrt: the variables, one for each order.
        shape: the dimensions of names.
        symmetric: the names of symmetric matrices.
        written: the formula that a person writes.
        number: the number of an equation of the Matrix Cookbook, or an empty text.
    """

    expression: str
    wrt: tuple[str, ...]
    shape: dict[str, str]
    symmetric: tuple[str, ...]
    written: str
    number: str = ""

    @property
    def derivative(self) -> str:
        """The formula that ``diff`` prints."""
        result = diff(self.expression, wrt=[self.wrt[0]], order=len(self.wrt), shape=self.shape, symmetric=self.symmetric)
        return result.texts[self.wrt]

    def is_longer(self, factor: float) -> bool:
        """Return whether the formula of ``diff`` is longer than a multiple of the formula that a person writes."""
        printed, written = (len(text.replace(" ", "")) for text in (self.derivative, self.written))
        return printed > factor * written


def rows(name: str) -> list[Row]:
    """Return the rows of a table: ``derivatives``, ``losses`` or ``cookbook``."""
    lines = (CASES / f"matrix_{name}.txt").read_text(encoding="utf-8").splitlines()
    return [_row(line) for line in lines if line and not line.startswith("#")]


def _row(line: str) -> Row:
    number, expression, wrt, shapes, written = ["", *re.split(r"  +", line)][-5:]
    pairs = [one.split("=") for one in shapes.split()]
    symmetric = tuple(name for name, dims in pairs if dims.endswith("!"))
    shape = {name: dims.rstrip("!") for name, dims in pairs}
    return Row(expression, tuple(wrt.split(",")), shape, symmetric, written, number)
