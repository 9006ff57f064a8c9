"""The solution of a linear system for each element, one component at a time: what the rules of several unknowns need."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.solvers.implicit.components import Components, as_rule

if TYPE_CHECKING:
    from autodiff_cli.autograd.dtypes import Array
    from autodiff_cli.autograd.primitives.primitive import VjpRule
    from autodiff_cli.precise.arithmetic import Arithmetic


def solution(matrix: Sequence[Sequence[Any]], right: Sequence[Any]) -> list[Any]:
    """Return the components of the solution of a linear system of n equations, whose entries are numbers or tensors."""
    if len(right) == 1:
        return [right[0] / matrix[0][0]]
    return [function(*(entry for row in matrix for entry in row), *right) for function in _system(len(right)).functions]


def solved(math: Arithmetic, entries: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Return the solution of n linear equations in many digits, given the entries of the matrix row by row."""
    n = len(right)
    matrix = math.context.matrix(n, n)
    for place, entry in enumerate(entries):
        matrix[place // n, place % n] = entry
    return list(math.context.lu_solve(matrix, math.context.matrix(list(right))))


@functools.cache
def _system(n: int) -> Components:
    """Return the operations of n linear equations."""
    names = [*(f"a{i}_{j}" for i in range(n) for j in range(n)), *(f"b{i}" for i in range(n))]

    def weights(k: int, arguments: Sequence[Any]) -> list[Any]:
        """Return the row k of the inverse matrix."""
        transposed = [[arguments[i * n + j] for i in range(n)] for j in range(n)]
        return solution(transposed, [1.0 if i == k else 0.0 for i in range(n)])

    def of_right(i: int, k: int) -> VjpRule:
        return as_rule(names, lambda g, out, *arguments: g * weights(k, arguments)[i])

    def of_entry(i: int, j: int, k: int) -> VjpRule:
        def rule(g: Any, out: Any, *arguments: Any) -> Any:
            component = out if j == k else system.functions[j](*arguments)
            return -(g * weights(k, arguments)[i] * component)

        return as_rule(names, rule)

    vjps = {f"b{i}": functools.partial(of_right, i) for i in range(n)}
    vjps |= {f"a{i}_{j}": functools.partial(of_entry, i, j) for i in range(n) for j in range(n)}

    def solve(*arrays: Array) -> Array:
        entries = np.stack(arrays, axis=-1)
        matrix = entries[..., : n * n].reshape(*entries.shape[:-1], n, n)
        regular = np.isfinite(entries).all(axis=-1) & (np.linalg.det(matrix) != 0)
        result = np.full((n, *entries.shape[:-1]), np.nan)
        result[:, regular] = np.linalg.solve(matrix[regular], entries[regular][:, n * n :, None])[..., 0].T
        return result

    def precise(math: Arithmetic, *cells: Any) -> list[Any]:
        return solved(math, cells[: n * n], cells[n * n :])

    system = Components("solution", names, n, solve, vjps, precise)
    return system
