"""Windows of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import add_at, dimension, strided
from autodiff_cli.autograd.primitives.types import Shape
from autodiff_cli.errors import GraphError, ShapeError


def windows(length: int, size: int, step: int) -> Any:
    """Return the positions of the windows, one window in each row."""
    return np.arange(0, length - size + 1, step)[:, None] + np.arange(size)


def unfolded(x: Array, dim: int, size: int, step: int) -> Any:
    at, length = (dimension(dim, x.ndim), x.shape[dim]) if x.ndim else (0, 1)
    if size < 0:
        raise GraphError(f"size is {size} but must be >= 0")
    if size > length:
        raise ShapeError(f"maximum size for tensor at dimension {at} is {length} but size is {size}")
    if step <= 0:
        raise GraphError(f"step is {step} but must be > 0")
    if not x.ndim:
        return x.reshape(1)[:size]
    shape = (*x.shape[:at], (length - size) // step + 1, *x.shape[at + 1 :], size)
    strides = (*x.strides[:at], x.strides[at] * step, *x.strides[at + 1 :], x.strides[at])
    return strided(x, shape, strides)


def folded(g: Array, shape: Shape, dim: int, size: int, step: int) -> Any:
    out = np.zeros(shape, g.dtype)
    if not shape:
        return (g.reshape(()) if g.size else out)[()]
    at = dimension(dim, len(shape))
    key = (slice(None),) * at + (windows(shape[at], size, step),)
    add_at(out, key, np.moveaxis(g, -1, at + 1))
    return out
