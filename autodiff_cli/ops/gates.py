"""Gates, and functions with a learned slope."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, TENSOR, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ShapeError
from autodiff_cli.ops.rules.activation import prelu_kernel, sigmoid, sigmoid_slope, softmax
from autodiff_cli.ops.shape import cat, reshape
from autodiff_cli.ops.views import narrow

__all__ = ["glu", "prelu", "softmin"]

declare = Declarations(__name__)


@takes(x=TENSOR, weight=TENSOR)
def prelu(x: Value, weight: Value) -> Any:
    """x where x > 0, else weight*x, with one weight or one for each channel, which is the second dimension of x."""
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


describe(
    prelu,
    formula="1 where x > 0 else weight, and 0 where x > 0 else x",
    smooth="x != 0, or weight = 1",
    convention="the derivative with respect to x at 0 is weight (PyTorch)",
    kink=lambda x, weight: (x == 0) & np.any(weight != 1),
    samples=(([0.7, -0.4], 0.25), ([[0.7, -0.4], [-1.2, -2.0]], [0.25, 0.1]), (-1.5, 0.2)),
    edges=((0.0, 0.25),),
)


def _halves(x: Value, dim: int) -> tuple[Any, Any]:
    if not x.shape:
        raise ShapeError("glu does not support scalars because halving size must be even")
    at = dimension(dim, len(x.shape))
    length = x.shape[at]
    if length % 2:
        raise ShapeError(f"Halving dimension must be even, but dimension {at} is size {length}")
    return narrow(x, at, 0, length // 2), narrow(x, at, length // 2, length // 2)


def _glu_forward(x: Value, dim: int) -> Any:
    a, b = _halves(x, dim)
    return a * sigmoid(b)


def _glu_vjp(g: Value, x: Value, dim: int) -> Any:
    a, b = _halves(x, dim)
    gate = sigmoid(b)
    return cat([g * gate, g * a * sigmoid_slope(b, gate)], dim)


_glu = declare("glu", _glu_forward, {"x": _glu_vjp}, statics={"dim": -1}, kinds={"dim": DIMENSION}, public=False)


@takes(x=TENSOR, dim=DIMENSION)
def glu(x: Value, dim: int = -1) -> Any:
    """The first half of x along dim, multiplied by the sigmoid of the second half."""
    return _glu(x, dim) if type(x) is Tensor else _glu_forward(x, dim)


describe(
    glu,
    methods=(),
    formula="sigmoid(b), a*sigmoid(b)*sigmoid(-b) for the halves a and b of x",
    samples=(([0.3, -1.0, 2.0, 0.5],), ([[0.5, -1.0], [2.0, 0.1]], 0)),
)


@takes(x=TENSOR, dim=DIMENSION)
def softmin(x: Value, dim: int = -1) -> Any:
    """softmax(-x) along dim."""
    return softmax(-x, dim)


describe(
    softmin,
    methods=(),
    formula="s*(sum(g*s) - g) with s = softmin(x)",
    samples=(([0.3, -1.0, 2.0],), ([[0.5, -1.0], [2.0, 0.1]], 0)),
)
