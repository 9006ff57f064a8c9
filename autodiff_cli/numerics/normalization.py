"""Points where a normalization has a kink."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.types import Number, Shape, Value, Wholes


def has_zero_norm(x: Array, dim: Wholes) -> Any:
    """Return whether a norm along the dimensions is 0."""
    return np.any(np.all(x == 0, axis=dim if isinstance(dim, int) else tuple(dim)))


def is_single(x: Value | Number) -> bool:
    return isinstance(x, (int, float)) or not x.shape


def lost_dims(g: Value, beside: Shape) -> Shape:
    """Return the dimensions of a cotangent along which a weight of the shape ``beside`` was broadcast."""
    ahead = len(g.shape) - len(beside)
    return (*range(ahead), *(ahead + i for i, length in enumerate(beside) if length == 1))
