"""Functions of arrays that ask more of their elements than to be moved, added and multiplied.

Each has the arguments of the forward computation in its declaration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import PRIMITIVES
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.extremes import _ordered
from autodiff_cli.ops.loss import nll_loss
from autodiff_cli.ops.reduce import count, dimensions, reduction

_add, _maximum, _minimum = reduction(np.add), reduction(np.maximum), reduction(np.minimum)


def _array(value: Any) -> Any:
    """What a reduction gives as an array, also where that is one element."""
    if isinstance(value, np.ndarray):
        return value
    box = np.empty((), object)
    box[()] = value
    return box


def _each(function: Callable[[Any], Any], x: Any) -> Any:
    result = np.empty(np.shape(x), object)
    for i, value in enumerate(_array(x).flat):
        result.flat[i] = function(value)
    return result


def _exp(x: Any) -> Any:
    return _each(lambda value: value.exp(), x)


def _log(x: Any) -> Any:
    return _each(lambda value: value.log(), x)


def _sqrt(x: Any) -> Any:
    return _each(lambda value: value.sqrt(), x)


def _mean(x: Any, dim: Any, keepdim: bool) -> Any:
    return _array(_add(x, dim, keepdim)) / count(x.shape, dim)


def _var(x: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    rest = x - _mean(x, dim, True)
    return _array(_add(rest * rest, dim, keepdim)) / max(count(x.shape, dim) - correction, 0)


def _std(x: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _sqrt(_var(x, dim, correction, keepdim))


def _norm(x: Any, p: float, dim: Any, keepdim: bool) -> Any:
    size = abs(x)
    if math.isinf(p):
        return (_maximum if p > 0 else _minimum)(size, dim, keepdim)
    if p == 0:
        return np.asarray(_add((x != 0).astype(np.int64), dim, keepdim), dtype=object)
    if p == 1:
        return _add(size, dim, keepdim)
    if p == 2:
        return _sqrt(_add(size * size, dim, keepdim))
    total = _array(_add(size**p, dim, keepdim))
    one = _array(next(iter(x.flat)).math.of(1.0))
    return total ** (one / p)


def _logsumexp(x: Any, dim: Any, keepdim: bool) -> Any:
    axes = dimensions(dim, x.ndim)
    largest = _array(_maximum(x, dim, True))
    largest = _each(lambda value: value - value if value != 0 and value + value == value else value, largest)
    total = _log(_add(_exp(x - largest), dim, True)) + largest
    return total if keepdim else np.squeeze(total, axes)


def _shares(x: Any, dim: int) -> tuple[Any, Any]:
    if not x.ndim:
        return _array(x.item() - x.item()), _array(x.item() - x.item())
    at = dimension(dim, x.ndim)
    distance = x - _array(_maximum(x, at, True))
    return distance, _array(_add(_exp(distance), at, True))


def _softmax(x: Any, dim: int) -> Any:
    distance, total = _shares(x, dim)
    return _exp(distance) / (total if x.ndim else _exp(total))


def _log_softmax(x: Any, dim: int) -> Any:
    distance, total = _shares(x, dim)
    return distance - _log(total) if x.ndim else distance


def _reduced(values: Any, how: str) -> Any:
    if how == "none":
        return values
    total = np.add.reduce(values, axis=None)
    return total / np.size(values) if how == "mean" else total


def _mse_loss(x: Any, target: Any, how: str) -> Any:
    return _reduced((x - target) * (x - target), how)


def _smooth_l1_loss(x: Any, target: Any, how: str, beta: float) -> Any:
    def one(size: Any) -> Any:
        return size * size / (2 * size.math.of(beta)) if size < beta else size - size.math.of(beta) / 2

    return _reduced(_each(one, abs(_array(x - target))), how)


def _huber_loss(x: Any, target: Any, how: str, delta: float) -> Any:
    def one(size: Any) -> Any:
        return size * size / 2 if size <= delta else (size - size.math.of(delta) / 2) * delta

    return _reduced(_each(one, abs(_array(x - target))), how)


def _binary_cross_entropy(x: Any, target: Any, how: str) -> Any:
    if not all(0 <= value <= 1 for value in _array(x).flat):
        raise ArgumentError("all elements of input should be between 0 and 1")
    positive, negative = (_each(lambda value: max(value.log(), -100), part) for part in (_array(x), 1 - _array(x)))
    return _reduced(-(target * positive + (1 - target) * negative), how)


def _logits(x: Any, target: Any, how: str) -> Any:
    size = _array(abs(x))
    return _reduced(np.maximum(x, 0) - x * target + _log(1 + _exp(-size)), how)


def _middle(x: Any) -> Any:
    """The element in the middle, the lower one of two."""
    flat = x.reshape(-1)
    return flat[_ordered(flat, 0, False)[(flat.size - 1) // 2]]


def _middles(x: Any, dim: int, keepdim: bool) -> Any:
    at = dimension(dim, x.ndim)
    lanes = x if x.ndim else x.reshape(1)
    index = np.take(_ordered(lanes, at, False), [(lanes.shape[at] - 1) // 2], at)
    values = np.take_along_axis(lanes, index, at)
    if not x.ndim:
        return values[0], index[0]
    return (values, index) if keepdim else (np.squeeze(values, at), np.squeeze(index, at))


def _running(better: Callable[[Any, Any], bool]) -> Any:
    def forward(x: Any, dim: int) -> Any:
        at = dimension(dim, x.ndim)
        lanes = np.moveaxis(np.array(x if x.ndim else x.reshape(1)), at, 0)
        values, indices = lanes.copy(), np.zeros(lanes.shape, np.int64)
        for k in range(1, len(lanes)):
            for place in np.ndindex(lanes.shape[1:]):
                taken = better(lanes[(k, *place)], values[(k - 1, *place)])
                values[(k, *place)] = lanes[(k, *place)] if taken else values[(k - 1, *place)]
                indices[(k, *place)] = k if taken else indices[(k - 1, *place)]
        return tuple(np.moveaxis(part, 0, at).reshape(x.shape) for part in (values, indices))

    return forward


def _logcumsumexp(x: Any, dim: int) -> Any:
    lanes = np.moveaxis(np.array(x), dimension(dim, x.ndim), 0)
    result = np.empty(lanes.shape, object)
    for k in range(len(lanes)):
        result[k] = np.reshape(_logsumexp(lanes[: k + 1], 0, False), lanes.shape[1:])[()]
    return np.moveaxis(result, 0, dimension(dim, x.ndim))


def _nll_loss(x: Any, target: Any, how: str) -> Any:
    return PRIMITIVES[nll_loss].forward(x, target.astype(np.float64), how)


def _determinant(x: Any) -> Any:
    """By elimination with the largest pivot, in batches."""
    stack = np.array(x).reshape(-1, *x.shape[-2:])
    found = np.empty(len(stack), object)
    for i, rows in enumerate(stack):
        n, sign = len(rows), 1
        product: Any = rows.flat[0].math.of(1.0) if n else 1
        for k in range(n):
            pivot = max(range(k, n), key=lambda row: abs(rows[row, k].value))
            if rows[pivot, k] == 0:
                product = rows[pivot, k]
                break
            if pivot != k:
                rows[[k, pivot]], sign = rows[[pivot, k]], -sign
            product = product * rows[k, k]
            for below in range(k + 1, n):
                rows[below, k:] = rows[below, k:] - rows[k, k:] * (rows[below, k] / rows[k, k])
        found[i] = product * sign if sign < 0 else product
    return found.reshape(x.shape[:-2])


SHAPED: dict[str, Callable[..., Any]] = {
    "mean": _mean,
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
    "binary_cross_entropy_with_logits": _logits,
    "nll_loss": _nll_loss,
    "cummax": _running(lambda one, other: one >= other),
    "cummin": _running(lambda one, other: one <= other),
    "det": _determinant,
}
"""By the names of the declarations."""


def _median(x: Any, *along: Any) -> Any:
    return _middles(x, *along) if along else _middle(x)


SHAPED["median"] = _median
