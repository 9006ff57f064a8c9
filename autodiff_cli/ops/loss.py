"""Loss functions; reduction is 'mean', 'sum' or 'none'."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.structural import where
from autodiff_cli.autograd.primitives.types import Mask, Positions, Value, array_of
from autodiff_cli.errors import GraphError, IndexOutOfRange, ShapeError
from autodiff_cli.numerics.loss import classes_of, known_reduction
from autodiff_cli.ops.rules.activation import log_softmax, relu
from autodiff_cli.ops.rules.loss import declare, nll_of_rows, reduce_loss
from autodiff_cli.ops.rules.positions import gather
from autodiff_cli.ops.rules.reduce import sum
from autodiff_cli.ops.rules.shape import unsqueeze
from autodiff_cli.ops.shape import reshape


def _class_weights(weight: Value, classes: Positions, valid: Mask | None, count: int) -> Any:
    """Return the weight of the class of each row, and 0 for the rows without a class, which are false in ``valid``."""
    if tuple(weight.shape) != (count,):
        raise ShapeError(
            f"weight tensor should be defined either for all {count} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )
    taken = weight[classes]
    return taken if valid is None else where(valid, taken, 0.0)


def _class_count(x: Value) -> int:
    """Return the number of classes, the length of the second or only dimension; 0 for a single number."""
    return int(x.shape[1] if len(x.shape) > 1 else x.shape[0]) if x.shape else 0


@declare.described
def nll_loss(x: Value, target: Value, reduction: str = "mean", ignore_index: int = -100, weight: Value | None = None) -> Any:
    """Negative log-probabilities -x at the target classes, times the weights of the classes, reduced.

    The mean is over the weights; rows with the class ignore_index do not count."""
    if weight is None:
        return nll_of_rows(x, target, reduction, ignore_index)
    known_reduction(reduction)
    weights = _class_weights(weight, *classes_of(target, tuple(x.shape), ignore_index), _class_count(x))
    loss = nll_of_rows(x, target, "none", ignore_index) * weights
    return loss if reduction == "none" else sum(loss) / sum(weights) if reduction == "mean" else sum(loss)


@declare.described
def cross_entropy(
    x: Value,
    target: Value,
    reduction: str = "mean",
    ignore_index: int = -100,
    weight: Value | None = None,
    label_smoothing: float = 0.0,
) -> Any:
    """-log(softmax(x)) at the target classes, or weighted by target probabilities with the shape of x, reduced.

    With label_smoothing, this part of the probability is shared by all classes."""
    if not 0 <= label_smoothing <= 1:
        raise GraphError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    dim = 1 if len(x.shape) > 1 else 0
    logarithms = log_softmax(x, dim)
    if x.shape and np.shape(array_of(target)) == x.shape:
        return _of_probabilities(logarithms, target, reduction, weight, label_smoothing, dim)
    loss = nll_loss(logarithms, target, reduction, ignore_index, weight)
    if not label_smoothing:
        return loss
    equal = _loss_of_all_classes(logarithms, target, reduction, ignore_index, weight)
    return loss * (1 - label_smoothing) + equal * (label_smoothing / _class_count(x))


def _loss_of_all_classes(logarithms: Value, target: Value, reduction: str, ignore_index: int, weight: Value | None) -> Any:
    """Return the sum of the losses of all classes, as if each was the target, reduced like ``nll_loss``; see there."""
    dim = 1 if len(logarithms.shape) > 1 else 0
    classes, valid = classes_of(target, tuple(logarithms.shape), ignore_index)
    total = -sum(logarithms if weight is None else logarithms * _class_weight_shape(weight, logarithms, dim), dim)
    total = total if valid is None else where(valid, total, 0.0)
    if reduction != "none":
        total = sum(total)
    if reduction == "mean":
        rows = classes.size if valid is None else int(np.sum(valid))
        weights = None if weight is None else _class_weights(weight, classes, valid, _class_count(logarithms))
        total = total / (max(rows, 1) if weights is None else sum(weights))
    return total


def _class_weight_shape(weight: Value, x: Value, dim: int) -> Any:
    """Return the weights of the classes in a shape that broadcasts along the dimension of the classes."""
    return reshape(weight, (-1, *[1] * (len(x.shape) - dim - 1)))


def _of_probabilities(
    logarithms: Value, target: Value, reduction: str, weight: Value | None, label_smoothing: float, dim: int
) -> Any:
    """Return the reduced cross entropy of target probabilities; classes are along ``dim``, and a mean is over rows, not weights."""
    known_reduction(reduction)
    shape = logarithms.shape
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / shape[dim]
    loss = logarithms * target
    if weight is not None:
        loss = loss * _class_weight_shape(weight, logarithms, dim)
    if reduction == "none":
        return -sum(loss, dim)
    total = -sum(loss)
    return total if reduction == "sum" else total / max(math.prod(shape[:dim]) * math.prod(shape[dim + 1 :]), 1)


@declare.described
def multilabel_margin_loss(x: Value, target: Positions, reduction: str = "mean") -> Any:
    """Mean over the classes of max(0, 1 - x[label] + x[other]), summed over labels; the labels of a row end at the first -1."""
    if len(x.shape) not in (1, 2) or target.shape != tuple(x.shape) or not x.shape[-1]:
        raise ShapeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(x.shape)}")
    count = x.shape[-1]
    if np.any((target < -1) | (target >= count)):
        raise IndexOutOfRange("target out of range", hint=f"use classes below {count}, and -1 at the end")
    rows = target.reshape(-1, count)
    valid = np.cumprod(rows >= 0, -1).astype(np.bool_)  # before the first -1
    is_label = np.zeros(rows.shape, np.bool_)
    for row, labels, used in zip(is_label, rows, valid, strict=True):
        row[labels[used]] = True
    values = reshape(x, rows.shape)
    chosen = gather(values, -1, np.where(valid, rows, 0))
    gaps = relu(1 - unsqueeze(chosen, 2) + unsqueeze(values, 1))
    loss = sum(where(valid[:, :, np.newaxis] & ~is_label[:, np.newaxis, :], gaps, 0.0), (1, 2)) / count
    return reduce_loss(loss if len(x.shape) == 2 else reshape(loss, ()), reduction)
