"""The solution of a linear system for each element, one component at a time: what the rules of several unknowns need."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.language.tree import Syntax, call_tree, new_tree
from autodiff_cli.solvers.implicit.components import Components

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.precise.arithmetic import Arithmetic


def solution(matrix: Sequence[Sequence[Any]], right: Sequence[Any]) -> list[Any]:
    """Return the components of the solution of a linear system of n equations, whose entries are numbers or tensors."""
    if len(right) == 1:
        return [right[0] / matrix[0][0]]
    return [function(*(entry for row in matrix for entry in row), *right) for function in _system(len(right)).functions]


def solved(math: Arithmetic, entries: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Return the solution of n linear equations in many digits, given the entries of the matrix row by row."""
    n = len(right)
    matrix = math.context.matrix([list(entries[i * n : (i + 1) * n]) for i in range(n)])
    return list(math.context.lu_solve(matrix, math.context.matrix(list(right))))


class _LinearSystem(Components):
    """The solution of n equations, whose arguments are the entries of the matrix row by row, and then the right side."""

    def __init__(self, n: int) -> None:
        self._n = n
        super().__init__("solution", [*(f"a{i}" for i in range(n * n)), *(f"b{i}" for i in range(n))], 0, n)

    def solve(self, *arrays: Array) -> Array:
        """Return the solutions for arrays of all entries and right sides; nan for a singular matrix."""
        n, entries = self._n, np.stack(arrays, axis=-1)
        matrix = entries[..., : n * n].reshape(*entries.shape[:-1], n, n)
        regular = np.isfinite(entries).all(axis=-1) & (np.linalg.det(matrix) != 0)
        result = np.full((n, *entries.shape[:-1]), np.nan)
        result[:, regular] = np.linalg.solve(matrix[regular], entries[regular][:, n * n :, None])[..., 0].T
        return result

    def vjp(self, i: int, k: int, g: Any, out: Any, *arguments: Any) -> Any:
        """Return g times the derivative of x = A^-1 b: dx_k/db_i = w_i, and dx_k/dA_ij = -w_i x_j, for row k of A^-1 as w."""
        n = self._n
        transposed = [[arguments[row * n + column] for row in range(n)] for column in range(n)]
        weights = solution(transposed, [1.0 if row == k else 0.0 for row in range(n)])  # row k of the inverse matrix
        if i >= n * n:
            return g * weights[i - n * n]
        component = out if i % n == k else self.functions[i % n](*arguments)
        return -(g * weights[i // n] * component)

    def tree(self, arguments: list[Syntax]) -> Syntax:
        rows = [new_tree("list", *arguments[i : i + self._n]) for i in range(0, len(arguments), self._n)]
        return call_tree("solve", new_tree("list", *rows[:-1]), rows[-1])

    def precise(self, math: Arithmetic, *cells: Any) -> list[Any]:
        return solved(math, cells[: self._n**2], cells[self._n**2 :])


_system = functools.cache(_LinearSystem)
"""The linear system of a size."""
