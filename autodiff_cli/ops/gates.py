"""Gates, and functions with a learned slope."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ShapeError
from autodiff_cli.numerics.activation import half_along
from autodiff_cli.ops.rules.activation import prelu_kernel, sigmoid
from autodiff_cli.ops.rules.gates import described, gated
from autodiff_cli.ops.shape import reshape
from autodiff_cli.ops.views import narrow

__all__ = ["glu", "prelu"]


@described
def prelu(x: Value, weight: Value) -> Any:
    count = int(np.prod(weight.shape, dtype=np.int64))
    if len(weight.shape) > 1:
        raise ShapeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(weight.shape)}")
    if count != 1:
        channels = x.shape[1] if len(x.shape) > 1 else 1
        if channels != count:
            raise ShapeError(
                "Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {count} and channel size = {channels}."
            )
        weight = reshape(weight, (1, -1, *[1] * (len(x.shape) - 2)))
    elif len(x.shape) != len(weight.shape):
        weight = reshape(weight, [1] * len(x.shape))
    return prelu_kernel(x, weight)


@described
def glu(x: Value, dim: int = -1) -> Any:
    if type(x) is Tensor:
        return gated(x, dim)
    half = half_along(x.shape, dim)
    return narrow(x, dim, 0, half) * sigmoid(narrow(x, dim, half, half))
