"""Loss functions; reduction is 'mean', 'sum' or 'none'."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.types import Mask, Positions, Shape, Value, array_of
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.numerics.activation import softplus
from autodiff_cli.numerics.arithmetic import is_plain


def known_reduction(reduction: str) -> str:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"'{reduction}' is not a valid value for reduction", hint="use 'mean', 'sum' or 'none'")
    return reduction


def common_shape(slope: Value, shape: Shape) -> Shape:
    """Return the shape of a derivative, which may be a number, after broadcasting with a shape."""
    return np.broadcast_shapes(getattr(slope, "shape", ()), shape)


def is_smaller(slope: Value, shape: Shape) -> bool:
    """Return whether broadcasting with a shape changes the shape of a derivative."""
    return tuple(getattr(slope, "shape", ())) != common_shape(slope, shape)


def row_count(x: Value) -> int:
    """Return the number of rows, but 1 for no rows, as a divisor."""
    return max(x.shape[0], 1)


def reduced(values: Array, reduction: str) -> Any:
    """Return the mean or the sum of losses, or the losses for 'none'."""
    known_reduction(reduction)
    if reduction == "none":
        return values
    total = np.add.reduce(values, axis=None)
    return total / np.size(values) if reduction == "mean" else total


def weight_of_one(reduction: str, *values: object) -> float:
    """Return the weight of one element in the reduced loss: 1, or for 'mean' 1/n for the common size n of values or shapes."""
    if reduction != "mean":
        return 1.0
    shape = np.broadcast_shapes(*(value if isinstance(value, tuple) else getattr(value, "shape", ()) for value in values))
    return 1 / max(int(np.prod(shape, dtype=np.int64)), 1)


def smooth_l1(x: Array, target: Array, reduction: str, beta: float) -> Any:
    """Return the reduction of r**2/(2*beta) where abs(r) < beta, else abs(r) - beta/2, for r = x - target."""
    if beta < 0:
        raise ArgumentError("smooth_l1_loss does not support negative values for beta.")
    size = np.abs(x - target)
    quadratic = size * size * (0.5 / beta) if beta else size
    return reduced(np.where(size < beta, quadratic, size - 0.5 * beta)[()], reduction)


def huber(x: Array, target: Array, reduction: str, delta: float) -> Any:
    """Return the reduction of r**2/2 where abs(r) <= delta, else delta*(abs(r) - delta/2), for r = x - target."""
    if not delta > 0:
        raise ArgumentError("huber_loss does not support non-positive values for delta.")
    size = np.abs(x - target)
    return reduced(np.where(size <= delta, 0.5 * (size * size), delta * (size - 0.5 * delta))[()], reduction)


def binary_cross_entropy(x: Array, target: Array, reduction: str) -> Any:
    """Return the reduction of -target*log(x) - (1 - target)*log(1 - x); a logarithm is at least -100, as in PyTorch."""
    if not np.all((x >= 0) & (x <= 1)):
        raise ArgumentError(
            "all elements of input should be between 0 and 1", hint="use binary_cross_entropy_with_logits for other numbers"
        )
    with np.errstate(all="ignore"):
        positive, negative = np.maximum(np.log(x), -100.0), np.maximum(np.log1p(-x), -100.0)
    return reduced(-(target * positive + (1 - target) * negative), reduction)


def classes_of(target: Value, shape: Shape, ignored: int) -> tuple[Positions, Mask | None]:
    """Return the classes of the rows of x, of the given shape, and the mask of rows with a class: ``None`` if all have one.

    A row without a class has the class ``ignored`` in the target, and the class 0 in the result.
    """
    classes = np.asarray(array_of(target))
    if not shape:
        raise ShapeError("a loss over classes needs one value for each class, not a single number")
    _check_class_shape(classes.shape, shape)
    if classes.dtype.kind == "f":
        if np.any(classes != np.floor(classes)):
            raise ArgumentError("a class must be a nonnegative whole number", hint="give target probabilities in the shape of x")
        classes = classes.astype(np.int64)
    valid = classes != ignored
    if not np.all(valid):
        classes = np.where(valid, classes, 0)
    count = shape[1] if len(shape) > 1 else shape[0]
    outside = classes[(classes < 0) | (classes >= count)]
    if outside.size:
        raise IndexOutOfRange(
            f"Target {int(outside.flat[0])} is out of bounds.", hint=f"use a class below {count}, the number of classes in x"
        )
    return classes, None if np.all(valid) else valid


def _check_class_shape(shape: Shape, x_shape: Shape) -> None:
    """Raise PyTorch's error unless there is one class for each row of x; classes are the second or the only dimension of x."""
    expected = x_shape[:1] + x_shape[2:] if len(x_shape) > 1 else ()
    if shape == expected:
        return
    hint = f"give one class for each row of x, whose shape is {list(x_shape)}"
    if len(x_shape) > 1 and shape and shape[0] != x_shape[0]:
        raise ShapeError(f"Expected input batch_size ({x_shape[0]}) to match target batch_size ({shape[0]}).", hint=hint)
    raise ShapeError(f"expected a target of shape {list(expected)}, but got shape {list(shape)}", hint=hint)


def class_key(classes: Positions, shape: Shape) -> tuple[Any, ...]:
    """Return the NumPy index of the elements of x that belong to the classes; in a vector, that is one element."""
    if len(shape) == 1:
        return (int(classes),)
    grid: list[Any] = list(np.indices(classes.shape, sparse=True))
    return (grid[0], classes, *grid[1:])


def weight_of_row(classes: Positions, valid: Mask | None, reduction: str) -> float:
    """Return the weight of one row with a class in the reduced loss; ``valid`` is as in ``classes_of``."""
    return 1 / max(classes.size if valid is None else int(np.sum(valid)), 1) if reduction == "mean" else 1.0


def nll(x: Array, target: Value, reduction: str, ignore_index: int) -> Any:
    """Return the reduction of -x at the target classes; rows with the class ``ignore_index`` are 0 and do not count in a mean."""
    classes, valid = classes_of(target, x.shape, ignore_index)
    values = -x[class_key(classes, x.shape)]
    if valid is None:
        return reduced(values, reduction)
    zero = values * 0.0 if values.dtype == object else 0.0  # the elements of a trace have a type of their own
    total = reduced(np.where(valid, values, zero)[()], "none" if reduction == "none" else "sum")
    with np.errstate(invalid="ignore"):
        return total / np.float64(np.sum(valid)) if reduction == "mean" else total


def soft_margin(x: Array, target: Array, reduction: str) -> Any:
    return reduced(softplus(-target * x, 1, None), reduction)


def cosine_at_margin(x1: Array, x2: Array, target: Array, margin: float) -> Any:
    """Return whether pairs with the target -1 have exactly the cosine ``margin``, where the embedding loss has a kink."""
    dim = np.ndim(target)
    cosine = np.sum(x1 * x2, dim) / np.sqrt((np.sum(x1 * x1, dim) + 1e-12) * (np.sum(x2 * x2, dim) + 1e-12))
    return (target == -1) & (cosine == margin)


def class_columns(name: str, shape: Shape, target: Positions) -> Positions:
    """Return the class of each row of x, which has the given shape, as a column, after a check for the function ``name``."""
    rows: Shape = tuple(shape[:-1])
    if len(shape) not in (1, 2) or target.shape not in (rows, rows or (1,)):
        raise ShapeError(
            f"{name}: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size {list(rows)}, but got {list(target.shape)}. Input has shape {list(shape)}."
        )
    if np.any((target < 0) | (target >= shape[-1])):
        raise IndexOutOfRange("target out of range", hint=f"use a class below {shape[-1]}, the number of classes in x")
    return target.reshape((*rows, 1))


def some_negative(x: Value) -> bool:
    """Return whether an element is negative; that of a trace, or of another arithmetic, is not known."""
    return is_plain(x) and bool(np.any(np.asarray(array_of(x)) < 0))


def lacks_dimension(shape: Shape, other: Shape) -> bool:
    """Return whether variances have all dimensions of x but the last; shapes other than this and that of x are an error."""
    shape, other = tuple(shape), tuple(other)
    if not other or shape == other or shape[:-1] == other:
        return bool(other) and shape != other
    if len(shape) != len(other) or np.sum([b for a, b in zip(shape, other, strict=True) if a != b]) != 1:
        raise ArgumentError("var is of incorrect size", hint=f"the shape of x is {list(shape)}, and that of var {list(other)}")
    return False


def at_margin(x: Array, target: Array, margin: float) -> Any:
    """Return whether elements of x are exactly ``margin`` below that of the target class, where the margin loss has a kink."""
    classes = np.asarray(target, np.int64)[..., np.newaxis]
    met = margin - np.take_along_axis(np.asarray(x), classes, -1) + x == 0
    return met & (np.arange(np.shape(x)[-1]) != classes)


def some_met(x: Array, target: Array) -> Any:
    """Return whether elements in a row of x differ by exactly 1, where the multilabel margin loss may have a kink."""
    return np.any(np.subtract.outer(x, x) == 1) if x.ndim == 1 else any(np.any(np.subtract.outer(row, row) == 1) for row in x)
