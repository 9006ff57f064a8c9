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
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.errors import ArgumentError, LinAlgError
from autodiff_cli.numerics.matrices import is_vector
from autodiff_cli.numerics.reduce import count, dimensions, reduction
from autodiff_cli.numerics.sorting import ordered
from autodiff_cli.ops.rules.loss import nll_of_rows
from autodiff_cli.precise.arithmetic import Number

Cells = NDArray[Any]
"""An array of ``Number``."""
Dim = int | tuple[int, ...] | None

_add, _maximum, _minimum = reduction(np.add), reduction(np.maximum), reduction(np.minimum)


def boxed(value: object) -> Cells:
    """Return a zero-dimensional array of one value."""
    box = np.empty((), np.object_)
    box[()] = value
    return box


def _array(value: Cells | Number) -> Cells:
    """Return the result of a reduction as an array, even if it is a single number."""
    return value if isinstance(value, np.ndarray) else boxed(value)


def _each(function: Callable[[Number], Number], x: Cells | Number) -> Cells:
    array = _array(x)
    result = np.empty(array.shape, np.object_)
    for i, value in enumerate(array.flat):
        result.flat[i] = function(value)
    return result


def _exp(x: Cells | Number) -> Cells:
    return _each(Number.exp, x)


def _log(x: Cells | Number) -> Cells:
    return _each(Number.log, x)


def _mean(x: Cells, dim: Dim, keepdim: bool) -> Cells:
    return _array(_add(x, dim, keepdim)) / count(x.shape, dim)


def _var(x: Cells, dim: Dim, correction: float, keepdim: bool) -> Cells:
    rest = x - _mean(x, dim, True)
    return _array(_add(rest * rest, dim, keepdim)) / max(count(x.shape, dim) - correction, 0)


def _std(x: Cells, dim: Dim, correction: float, keepdim: bool) -> Cells:
    return _each(Number.sqrt, _var(x, dim, correction, keepdim))


def _norm(x: Cells, p: float, dim: Dim, keepdim: bool) -> Cells:
    size = abs(x)
    if math.isinf(p):
        return _array((_maximum if p > 0 else _minimum)(size, dim, keepdim))
    if p == 0:
        return np.asarray(_add((x != 0).astype(np.int64), dim, keepdim), dtype=object)
    if p == 1:
        return _array(_add(size, dim, keepdim))
    if p == 2:
        return _each(Number.sqrt, _add(size * size, dim, keepdim))
    total = _array(_add(size**p, dim, keepdim))
    return _array(total ** (boxed(next(iter(x.flat)).math.of(1.0)) / p))


def _logsumexp(x: Cells, dim: Dim, keepdim: bool) -> Cells:
    axes = dimensions(dim, x.ndim)
    largest = _array(_maximum(x, dim, True))
    largest = _each(lambda value: value - value if value != 0 and value + value == value else value, largest)
    total = _log(_add(_exp(x - largest), dim, True)) + largest
    return total if keepdim else np.squeeze(total, axes)


def _distances(x: Cells, dim: int) -> tuple[Cells, Cells]:
    """Return the elements minus the largest element, and the sum of the exponentials of these differences."""
    if not x.ndim:
        return boxed(x.item() - x.item()), boxed(x.item() - x.item())
    at = dimension(dim, x.ndim)
    distance = x - _array(_maximum(x, at, True))
    return distance, _array(_add(_exp(distance), at, True))


def _softmax(x: Cells, dim: int) -> Cells:
    distance, total = _distances(x, dim)
    return _exp(distance) / (total if x.ndim else _exp(total))


def _log_softmax(x: Cells, dim: int) -> Cells:
    distance, total = _distances(x, dim)
    return distance - _log(total) if x.ndim else distance


def _reduced(values: Cells, how: str) -> Cells | Number:
    if how == "none":
        return values
    total: Number = np.add.reduce(values, axis=None)
    return total / np.size(values) if how == "mean" else total


def _mse_loss(x: Cells, target: Cells, how: str) -> Cells | Number:
    return _reduced((x - target) * (x - target), how)


def _smooth_l1_loss(x: Cells, target: Cells, how: str, beta: float) -> Cells | Number:
    def one(size: Number) -> Number:
        return size * size / (2 * size.math.of(beta)) if size < beta else size - size.math.of(beta) / 2

    return _reduced(_each(one, abs(_array(x - target))), how)


def _huber_loss(x: Cells, target: Cells, how: str, delta: float) -> Cells | Number:
    def one(size: Number) -> Number:
        return size * size / 2 if size <= delta else (size - size.math.of(delta) / 2) * delta

    return _reduced(_each(one, abs(_array(x - target))), how)


def _binary_cross_entropy(x: Cells, target: Cells, how: str) -> Cells | Number:
    if not all(0 <= value <= 1 for value in _array(x).flat):
        raise ArgumentError("all elements of input should be between 0 and 1")
    positive, negative = (_each(lambda value: max(value.log(), value.math.of(-100)), part) for part in (_array(x), 1 - _array(x)))
    return _reduced(-(target * positive + (1 - target) * negative), how)


def _binary_cross_entropy_with_logits(x: Cells, target: Cells, how: str) -> Cells | Number:
    size = _array(abs(x))
    return _reduced(np.maximum(x, 0) - x * target + _log(1 + _exp(-size)), how)


def _median(x: Cells, *along: Any) -> Any:
    """Return the median of all elements, or, given a dimension and ``keepdim``, the medians along it and their indices."""
    if not along:
        flat = x.reshape(-1)
        return flat[ordered(flat, 0, False)[(flat.size - 1) // 2]]
    dim, keepdim = along
    at = dimension(dim, x.ndim)
    lanes = x if x.ndim else x.reshape(1)
    index = np.take(ordered(lanes, at, False), [(lanes.shape[at] - 1) // 2], at)
    values = np.take_along_axis(lanes, index, at)
    if not x.ndim:
        return values[0], index[0]
    return (values, index) if keepdim else (np.squeeze(values, at), np.squeeze(index, at))


def _running(better: Callable[[Number, Number], bool]) -> Callable[[Cells, int], tuple[Cells, Cells]]:
    def forward(x: Cells, dim: int) -> tuple[Cells, Cells]:
        at = dimension(dim, x.ndim)
        lanes = np.moveaxis(np.array(x if x.ndim else x.reshape(1)), at, 0)
        values, indices = lanes.copy(), np.zeros(lanes.shape, np.int64)
        for k in range(1, len(lanes)):
            for place in np.ndindex(lanes.shape[1:]):
                taken = better(lanes[(k, *place)], values[(k - 1, *place)])
                values[(k, *place)] = lanes[(k, *place)] if taken else values[(k - 1, *place)]
                indices[(k, *place)] = k if taken else indices[(k - 1, *place)]
        first, second = (np.moveaxis(part, 0, at).reshape(x.shape) for part in (values, indices))
        return first, second

    return forward


def _logcumsumexp(x: Cells, dim: int) -> Cells:
    lanes = np.moveaxis(np.array(x), dimension(dim, x.ndim), 0)
    result = np.empty(lanes.shape, object)
    for k in range(len(lanes)):
        result[k] = np.reshape(_logsumexp(lanes[: k + 1], 0, False), lanes.shape[1:])[()]
    return np.moveaxis(result, 0, dimension(dim, x.ndim))


def _nll_loss(x: Cells, target: Cells, how: str, ignored: int) -> Cells | Number:
    found: Cells | Number = PRIMITIVES[nll_of_rows].forward(x, target.astype(np.float64), how, ignored)
    return found


def _eliminate(rows: Cells, right: Cells) -> Number | int:
    """Return the determinant of a matrix, and overwrite right-hand sides with their solutions unless the determinant is 0.

    The method is Gaussian elimination with partial pivoting, which overwrites the matrix.
    """
    n, sign = len(rows), 1
    product: Number | int = rows.flat[0].math.of(1.0) if n else 1
    for k in range(n):
        pivot = max(range(k, n), key=lambda row: abs(rows[row, k].value))
        if rows[pivot, k] == 0:
            singular: Number = rows[pivot, k]
            return singular
        if pivot != k:
            rows[[k, pivot]], right[[k, pivot]], sign = rows[[pivot, k]], right[[pivot, k]], -sign
        product = product * rows[k, k]
        for below in range(k + 1, n):
            factor = rows[below, k] / rows[k, k]
            rows[below, k:] = rows[below, k:] - rows[k, k:] * factor
            right[below] = right[below] - right[k] * factor
    for k in reversed(range(n)):
        for later in range(k + 1, n):
            right[k] = right[k] - right[later] * rows[k, later]
        right[k] = right[k] / rows[k, k]
    return product * sign if sign < 0 else product


def _determinant(x: Cells) -> Cells:
    stack = np.array(x).reshape(-1, *x.shape[-2:])
    found = np.empty(len(stack), object)
    for i, rows in enumerate(stack):
        found[i] = _eliminate(rows, np.empty((len(rows), 0), object))
    return found.reshape(x.shape[:-2])


def _solve(x: Cells, y: Cells) -> Cells:
    vector = is_vector(x.shape, y.shape)
    right = y[..., None] if vector else y
    batch = np.broadcast_shapes(x.shape[:-2], right.shape[:-2])
    stack, found = (np.array(np.broadcast_to(each, (*batch, *each.shape[-2:]))) for each in (x, right))
    for place in np.ndindex(batch):
        if _eliminate(stack[place], found[place]) == 0:
            raise LinAlgError("the matrix is singular")
    return found[..., 0] if vector else found


def _inverse(x: Cells) -> Cells:
    if not x.size:
        return x
    of = next(iter(x.flat)).math.of
    identity = np.array([[of(float(i == j)) for j in range(x.shape[-1])] for i in range(x.shape[-1])], object)
    return _solve(x, np.broadcast_to(identity, x.shape))


ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mean": _mean,
    "median": _median,
    "var": _var,
    "std": _std,
    "linalg_vector_norm": _norm,
    "logsumexp": _logsumexp,
    "logcumsumexp": _logcumsumexp,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "mse_loss": _mse_loss,
    "smooth_l1_loss": _smooth_l1_loss,
    "huber_loss": _huber_loss,
    "binary_cross_entropy": _binary_cross_entropy,
    "binary_cross_entropy_with_logits": _binary_cross_entropy_with_logits,
    "nll_loss": _nll_loss,
    "cummax": _running(lambda one, other: one >= other),
    "cummin": _running(lambda one, other: one <= other),
    "det": _determinant,
    "inv": _inverse,
    "solve": _solve,
}
"""The implementations, keyed by the name of the declared function."""
