"""Products of vectors and matrices, and products that are summed over dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.types import Number, Shape
from autodiff_cli.errors import ShapeError
from autodiff_cli.limits import check_size


def _product(x: Array, y: Array) -> Any:
    """Return the product of operands that have dimensions; the error for lengths that do not fit is PyTorch's."""
    try:
        return x @ y
    except ValueError:
        if x.ndim == y.ndim == 2:
            raise ShapeError(
                f"mat1 and mat2 shapes cannot be multiplied ({x.shape[0]}x{x.shape[1]} and {y.shape[0]}x{y.shape[1]})"
            ) from None
        raise ShapeError(
            f"shapes {list(x.shape)} and {list(y.shape)} cannot be multiplied: "
            f"the first has {x.shape[-1]} columns, but the second has {y.shape[max(y.ndim - 2, 0)]} rows"
        ) from None


def _ranked(name: str, *ranks: int) -> Callable[[Array, Array], Any]:
    """Return ``_product`` restricted to operands with the given numbers of dimensions."""

    def forward(x: Array, y: Array) -> Any:
        if (x.ndim, y.ndim) != ranks:
            raise ShapeError(
                f"{name} expects {ranks[0]}D and {ranks[1]}D tensors, but got {x.ndim}D and {y.ndim}D",
                hint="use @ for any product of vectors and matrices",
            )
        return _product(x, y)

    return forward


mm, mv = _ranked("mm", 2, 2), _ranked("mv", 2, 1)


def dot(x: Array, y: Array) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors", hint="use @ for matrices")
    if x.shape != y.shape:
        raise ShapeError(
            f"inconsistent tensor size, expected tensor [{len(x)}] and src [{len(y)}] to have the same number of elements"
        )
    return np.dot(x, y)


def bmm(x: Array, y: Array) -> Any:
    for name, batch in (("batch1", x), ("batch2", y)):
        if batch.ndim < 2:
            raise ShapeError(f"bmm: {name} must be a 3D tensor, got {batch.ndim}D")
    return _product(x, y)


def outer_shape(shape: Shape, other: Shape) -> Shape:
    """Return the shape of a vector as a column, for a product with a vector of another shape."""
    if len(shape) != 1 or len(other) != 1:
        raise ShapeError(f"outer: expected 1-D tensors, but got {len(shape)}-D and {len(other)}-D")
    return (shape[0], 1)


def trace(x: Array) -> Any:
    if x.ndim != 2:
        raise ShapeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    return np.trace(x)


Labels = tuple[int, ...]


def einsum(x: Array, y: Array, of_x: Labels, of_y: Labels, of_out: Labels) -> Any:
    lengths = {label: n for v, labels in ((x, of_x), (y, of_y)) for label, n in zip(labels, v.shape, strict=True) if n != 1}
    check_size(tuple(lengths.get(label, 1) for label in of_out))
    product: Any = np.einsum
    return product(x, of_x, y, of_y, of_out, optimize=True)[()]


def addmm(x: Array, mat1: Array, mat2: Array, beta: Number, alpha: Number) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        shapes = " and ".join("x".join(map(str, m.shape)) for m in (mat1, mat2))
        raise ShapeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")
    product = alpha * (mat1 @ mat2) if alpha != 1 else mat1 @ mat2
    total = product + (beta * x if beta != 1 else x)
    if total.shape != product.shape:
        raise ShapeError(
            f"The expanded size of the tensor ({list(product.shape)}) must match the existing size ({list(np.shape(x))})"
        )
    return total


def cross(x: Array, y: Array, dim: int) -> Any:
    a, b = np.moveaxis(x, dim, 0), np.moveaxis(y, dim, 0)
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return np.stack(parts, dim)
