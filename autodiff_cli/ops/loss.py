"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.declare import declare
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.activation import sigmoid

__all__ = ["binary_cross_entropy_with_logits"]


def _reduced(values: Any, reduction: str) -> Any:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"'{reduction}' is not a valid value for reduction", hint="use 'mean', 'sum' or 'none'")
    if reduction == "none":
        return values
    total = np.add.reduce(values, axis=None)
    return total / np.size(values) if reduction == "mean" else total


def _weight(shape: tuple[int, ...], reduction: str) -> float:
    return 1 / int(np.prod(shape, dtype=np.int64)) if reduction == "mean" else 1


binary_cross_entropy_with_logits = declare(
    "binary_cross_entropy_with_logits",
    # log(1 + exp(-|z|)) neither overflows nor loses digits.
    lambda z, y, reduction: _reduced(np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z))), reduction),
    {
        "z": lambda g, z, y, z_shape, reduction: g * ((sigmoid(z) - y) * _weight(z_shape, reduction)),
        "y": lambda g, z, y_shape, reduction: g * (z * -_weight(y_shape, reduction)),
    },
    node="BinaryCrossEntropyWithLogitsBackward0",
    statics={"reduction": "mean"},
    summary="cross entropy of the labels y and sigmoid(z), from z itself",
    formula="(sigmoid(z) - y)/n, -z/n",
    samples=(([0.5, -1.0, 2.0], [0.0, 1.0, 1.0]), ([0.5, -1.0], [0.0, 1.0], "sum")),
)
