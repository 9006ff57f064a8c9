"""Arbitrary-precision implementations of array functions that do more than move, add and multiply elements.

Each function has the signature of the forward computation in its declaration, with arrays of ``Number`` in place of tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.primitives.primitive import PRIMITIVES
from autodiff_cli.autograd.primitives.structural import dimension, dimensions
from autodiff_cli.errors import LinAlgError
from autodiff_cli.numerics.matrices import is_vector
from autodiff_cli.numerics.reduce import count, reduction
from autodiff_cli.ops.rules.loss import nll_of_rows, smooth_l1_loss
from autodiff_cli.precise.arithmetic import Number

Cells = NDArray[Any]
"""An array of ``Number``."""
Dim = int | tuple[int, ...] | None

_add, _maximum, _minimum = reduction(np.add), reduction(np.maximum), reduction(np.minimum)


def _mean(x: Cells, dim: Dim, keepdim: bool) -> Any:
    return _add(x, dim, keepdim) / count(x.shape, dim)


def _var(x: Cells, dim: Dim, correction: float, keepdim: bool) -> Any:
    """Return the variance along dimensions, whose divisor is the count minus ``correction``, or 0 for a negative one."""
    rest = np.asarray(x - _mean(x, dim, True), object)  # of no dimensions, a difference is a number
    return _add(rest * rest, dim, keepdim) / max(count(x.shape, dim) - correction, 0)


def _norm(x: Cells, p: float, dim: Dim, keepdim: bool) -> Any:
    """Return the p-norm sum(abs(x)**p)**(1/p) along dimensions; for p = 0, inf, -inf: the number of nonzeros, largest, smallest."""
    sizes = np.asarray(abs(x), object)
    if math.isinf(p):
        return (_maximum if p > 0 else _minimum)(sizes, dim, keepdim)
    if p == 0:
        return np.asarray(_add((x != 0).astype(np.int64), dim, keepdim), dtype=object)
    if p == 1:
        return _add(sizes, dim, keepdim)
    if p == 2:
        return np.sqrt(_add(sizes * sizes, dim, keepdim))
    return np.asarray(_add(sizes**p, dim, keepdim), object) ** np.array(_exact(x, 1.0) / p, object)  # 1/p in many digits


def _logsumexp(x: Cells, dim: Dim, keepdim: bool) -> Any:
    """Return log(sum(exp(x))) along dimensions, with the largest element factored out."""
    largest = _maximum(x, dim, True)
    total = np.log(_add(np.asarray(np.exp(x - largest), object), dim, True)) + largest
    return total if keepdim else np.squeeze(total, dimensions(dim, x.ndim))


def _exact(x: Cells, value: float) -> Number:
    """Return a number in the arithmetic of some cells, of which there is at least one."""
    number: Number = x.flat[0].math.number(value)
    return number


def _logcumsumexp(x: Cells, dim: int) -> Cells:
    """Return the logarithms of running sums of exponentials along a dimension, each computed from all its elements."""
    axis = dimension(dim, x.ndim)
    first = np.moveaxis(np.array(x), axis, 0)  # with the dimension in front
    result = np.empty(first.shape, object)
    for k in range(len(first)):
        result[k] = np.reshape(_logsumexp(first[: k + 1], 0, False), first.shape[1:])[()]
    return np.moveaxis(result, 0, axis)


def _gaussian_elimination(matrix: Cells, right: Cells) -> tuple[Number | int, Cells]:
    """Return the determinant of a matrix and the solutions for right-hand sides, by elimination with partial pivoting.

    For a determinant of 0 the array of solutions holds numbers without a meaning; the determinant of no rows is the integer 1.
    """
    rows, right = matrix.copy(), right.copy()
    n, sign = len(rows), 1
    product: Number | int = _exact(rows, 1.0) if n else 1  # of the pivots
    for k in range(n):  # make the column below the diagonal 0
        pivot = max(range(k, n), key=lambda row: abs(rows[row, k].value))
        if rows[pivot, k] == 0:
            return rows[pivot, k], right
        if pivot != k:
            rows[[k, pivot]], right[[k, pivot]] = rows[[pivot, k]], right[[pivot, k]]
            sign = -sign
        product = product * rows[k, k]
        for below in range(k + 1, n):
            factor = rows[below, k] / rows[k, k]
            rows[below, k:] = rows[below, k:] - rows[k, k:] * factor
            right[below] = right[below] - right[k] * factor
    for k in reversed(range(n)):  # back substitution
        for later in range(k + 1, n):
            right[k] = right[k] - right[later] * rows[k, later]
        right[k] = right[k] / rows[k, k]
    return product * sign if sign < 0 else product, right


def _determinant(x: Cells) -> Cells:
    """Return the determinants of matrices in batches, from eliminations without right-hand sides."""
    determinants = np.empty(x.shape[:-2], object)
    for place in np.ndindex(determinants.shape):
        determinants[place], _ = _gaussian_elimination(x[place], np.empty((x.shape[-1], 0), object))
    return determinants


def _solve(x: Cells, y: Cells) -> Cells:
    """Return the solutions of linear equations in batches, of vectors or matrices; raise ``LinAlgError`` for a singular matrix."""
    takes_vectors = is_vector(x.shape, y.shape)
    right = y[..., None] if takes_vectors else y
    batch = np.broadcast_shapes(x.shape[:-2], right.shape[:-2])
    matrices, results = (np.array(np.broadcast_to(operand, (*batch, *operand.shape[-2:]))) for operand in (x, right))
    for place in np.ndindex(batch):
        determinant, results[place] = _gaussian_elimination(matrices[place], results[place])
        if determinant == 0:
            raise LinAlgError("the matrix is singular")
    return results[..., 0] if takes_vectors else results


def _inverse(x: Cells) -> Cells:
    if not x.size:  # the arithmetic of the identity is that of a cell, and there is none
        return x
    identity = np.eye(x.shape[-1]).astype(object) * _exact(x, 1.0)
    return _solve(x, np.broadcast_to(identity, x.shape))


ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mean": _mean,
    "var": _var,
    "std": lambda *arguments: np.sqrt(_var(*arguments)),
    "linalg_vector_norm": _norm,
    "logsumexp": _logsumexp,
    "logcumsumexp": _logcumsumexp,
    "smooth_l1_loss": lambda x, target, how, beta: PRIMITIVES[smooth_l1_loss].forward(x, target, how, _exact(x, beta)),
    "nll_loss": lambda x, target, *rest: PRIMITIVES[nll_of_rows].forward(x, target.astype(np.float64), *rest),
    "det": _determinant,
    "inv": _inverse,
    "solve": _solve,
}
"""The implementations, keyed by the name of the declared function."""
