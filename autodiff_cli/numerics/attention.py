"""Rows of embeddings, and points where a similarity or distance has a kink."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.types import Positions
from autodiff_cli.errors import IndexOutOfRange, ShapeError


def rows(weight: Array, x: Positions, padding_idx: int | None) -> Any:
    if len(weight.shape) != 2:
        raise ShapeError(f"'weight' must be 2-D, but its shape is {list(weight.shape)}")
    if np.any((x < 0) | (x >= len(weight))):
        raise IndexOutOfRange("index out of range in self", hint=f"the positions of {len(weight)} rows are 0 to {len(weight) - 1}")
    return weight[x]


def some_zero(x1: Array, x2: Array, dim: int) -> Any:
    return np.any([np.any(np.all(x == 0, axis=dim if np.ndim(x) else None)) for x in (x1, x2)])


def has_equal_rows(x: Array) -> bool:
    return len(np.unique(x, axis=0)) < len(x)
