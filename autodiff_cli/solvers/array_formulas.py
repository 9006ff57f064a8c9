"""Functions of arrays as formulas of their elements, for enclosures: interval rules exist for functions of numbers only.

A formula has the arguments of its primitive, and tensors of operands in the place of arrays.  It has the value of the function for
all real numbers, but not its accuracy: determinants are expanded, and equations are solved with cofactors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from autodiff_cli.autograd.primitives.structural import dimensions, stack, where
from autodiff_cli.errors import NotRecordable
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.comparison import maximum, minimum
from autodiff_cli.ops.rules.elementary import abs, log, sqrt, square
from autodiff_cli.ops.rules.log_probabilities import logaddexp
from autodiff_cli.ops.rules.matrices import mT
from autodiff_cli.ops.rules.reduce import sum
from autodiff_cli.ops.rules.shape import unsqueeze
from autodiff_cli.ops.shape import permute, reshape

if TYPE_CHECKING:
    from autodiff_cli.autograd.primitives.types import Dims, Value

_LARGEST = 5
"""The maximum number of rows of a matrix whose determinant is expanded."""


def _join_along(x: Value, dim: Dims, keepdim: bool, join: Callable[[Any, Any], Any]) -> Any:
    """Join the elements along ``dim`` (``None``: all) by a function of two elements; ``keepdim`` leaves dimensions of size 1."""
    axes = dimensions(dim, x.ndim)
    others = [d for d in range(x.ndim) if d not in axes]
    axes_first = permute(x, [*axes, *others]) if x.ndim else x  # a scalar has no axes
    slices = reshape(axes_first, [-1, *(x.shape[d] for d in others)])  # one for each place along the axes
    joined = functools.reduce(join, [slices[i] for i in range(slices.shape[0])])
    return reshape(joined, [1 if d in axes else x.shape[d] for d in range(x.ndim)]) if keepdim else joined


def _determinant(x: Value) -> Any:
    """Return the determinant of each matrix by Laplace expansion; raise ``NotRecordable`` for more than ``_LARGEST`` rows."""
    n = x.shape[-1]
    if n > _LARGEST:
        raise NotRecordable(f"the determinant of a matrix of {n} rows is not expanded")
    minors: dict[tuple[int, ...], Any] = {(): 1.0}  # by columns: the determinant of the rows so far and of these columns
    for row in range(n):
        larger_minors: dict[tuple[int, ...], Any] = {}
        for columns, minor in minors.items():
            for column in set(range(n)) - set(columns):
                more_columns = tuple(sorted((*columns, column)))
                sign = (-1) ** (row + more_columns.index(column))
                term = sign * x[..., row, column] * minor
                larger_minors[more_columns] = larger_minors[more_columns] + term if more_columns in larger_minors else term
        minors = larger_minors
    return minors[tuple(range(n))]


def _cofactors(x: Value) -> Any:
    """Return the cofactor matrix: the determinants without row i and column j, times (-1)**(i + j); 1 for a matrix of one row."""
    n = x.shape[-1]
    if n == 1:
        return x * 0 + 1  # in the shape of x
    rows = []
    for i in range(n):
        other_rows = stack([x[..., k, :] for k in range(n) if k != i], -2)
        parts = [stack([other_rows[..., k] for k in range(n) if k != j], -1) for j in range(n)]
        rows.append(stack([(-1) ** (i + j) * _determinant(part) for j, part in enumerate(parts)], -1))
    return stack(rows, -2)


def _inverse(x: Value) -> Any:
    """Return the transposed cofactor matrix divided by the determinant."""
    return mT(_cofactors(x)) / unsqueeze(unsqueeze(_determinant(x), -1), -1)


def _solution(x: Value, y: Value) -> Any:
    """Return the solution of ``x @ result = y`` by Cramer's rule; y may be a vector or a matrix of columns."""
    determinant = _determinant(x)
    product = matmul(mT(_cofactors(x)), y)
    for _ in range(product.ndim - determinant.ndim):
        determinant = unsqueeze(determinant, -1)  # one divisor for all elements of a solution
    return product / determinant


def _norm(x: Value, ord: float, dim: Dims, keepdim: bool) -> Any:
    """Return ``sum(abs(x)**ord)**(1/ord)`` along ``dim``; for 0, inf, -inf: the count of nonzeros, the largest, the least size."""
    size = abs(x)
    if math.isinf(ord):
        return _join_along(size, dim, keepdim, maximum if ord > 0 else minimum)
    if ord == 0:
        return sum(where(x == 0, 0.0, 1.0), dim, keepdim)
    if ord == 1:
        return sum(size, dim, keepdim)
    if ord == 2:
        return sqrt(sum(square(x), dim, keepdim))
    return sum(size**ord, dim, keepdim) ** (1 / ord)


FORMULAS: Mapping[str, Callable[..., Any]] = {
    "det": _determinant,
    "cofactors": _cofactors,
    "slogdet": lambda x: (where(_determinant(x) < 0, -1.0, where(_determinant(x) > 0, 1.0, 0.0)), log(abs(_determinant(x)))),
    "inv": _inverse,
    "solve": _solution,
    "vdot": lambda x, y: sum(x * y),
    "linalg_vector_norm": _norm,
    "logsumexp": lambda x, dim, keepdim: _join_along(x, dim, keepdim, logaddexp),
    **dict.fromkeys(("amax", "max"), lambda x, dim, keepdim: _join_along(x, dim, keepdim, maximum)),
    **dict.fromkeys(("amin", "min"), lambda x, dim, keepdim: _join_along(x, dim, keepdim, minimum)),
}
"""The formulas by the names of the primitives."""
