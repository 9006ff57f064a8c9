"""Values and kinks of loss functions of margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.numerics.activation import softplus
from autodiff_cli.numerics.loss import reduced


def soft_margin(x: Array, target: Array, reduction: str) -> Any:
    return reduced(softplus(-target * x, 1, None), reduction)


def cosine_at_margin(x1: Array, x2: Array, target: Array, margin: float) -> Any:
    dim = np.ndim(target)
    cosine = np.sum(x1 * x2, dim) / np.sqrt((np.sum(x1 * x1, dim) + 1e-12) * (np.sum(x2 * x2, dim) + 1e-12))
    return (target == -1) & (cosine == margin)


def at_margin(x: Array, target: Array, margin: float) -> Any:
    classes = np.asarray(target, np.int64)[..., np.newaxis]
    met = margin - np.take_along_axis(np.asarray(x), classes, -1) + x == 0
    return met & (np.arange(np.shape(x)[-1]) != classes)


def some_met(x: Array, target: Array) -> Any:
    return np.any(np.subtract.outer(x, x) == 1) if x.ndim == 1 else any(np.any(np.subtract.outer(row, row) == 1) for row in x)
