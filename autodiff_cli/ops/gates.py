"""Further activation functions: thresholds, shrinkage, gates, and functions with a learned slope."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, NUMBER, TENSOR, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ShapeError
from autodiff_cli.ops.activation import sigmoid, sigmoid_slope, softmax
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.elementary import square, tanh
from autodiff_cli.ops.long_decompositions import polynomial
from autodiff_cli.ops.shape import cat, reshape
from autodiff_cli.ops.views import narrow

__all__ = ["glu", "hardshrink", "hardswish", "prelu", "softmin", "softshrink", "tanhshrink", "threshold"]

declare = Declarations(__name__, elementwise=True)

_ANY = ((0.7,), ([1.2, -0.4],))


def _hardswish_vjp(g: Value, x: Value) -> Any:
    return where(x <= -3, 0.0, where(x >= 3, g, g * (x / 3 + 0.5)))


hardswish = declare(
    "hardswish",
    lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    {"x": _hardswish_vjp},
    methods=(),
    decomposition="x*min(max(x + 3, 0), 6)/6",
    summary="x*hardsigmoid(x)",
    formula="0 where x <= -3, 1 where x >= 3, else x/3 + 1/2",
    smooth="x != -3 and x != 3",
    convention="the derivative is 0 at -3 and 1 at 3 (PyTorch)",
    kink=lambda x: np.abs(x) == 3,
    samples=(*_ANY, ([4.0, -4.0],)),
    edges=((-3.0,), (3.0,)),
)


hardshrink = declare(
    "hardshrink",
    lambda x, lambd: np.where((x > lambd) | (x < -lambd) | np.isnan(x), x, 0.0)[()],
    {"x": lambda g, x, lambd: where((x > lambd) | (x < -lambd), g, 0.0)},
    statics={"lambd": 0.5},
    kinds={"lambd": NUMBER},
    selects=True,
    decomposition="x if abs(x) > lambd else 0",
    summary="x where abs(x) > lambd, else 0",
    formula="1 where abs(x) > lambd else 0",
    smooth="abs(x) != lambd",
    convention="the derivative where abs(x) = lambd is 0 (PyTorch)",
    kink=lambda x, lambd: np.abs(x) == lambd,
    samples=(*_ANY, ([0.5, -2.0], 1.5)),
    edges=((0.5,), (-0.5,)),
)


softshrink = declare(
    "softshrink",
    lambda x, lambd: np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0.0))[()],
    {"x": lambda g, x, lambd: where((x > lambd) | (x < -lambd), g, 0.0)},
    statics={"lambd": 0.5},
    kinds={"lambd": NUMBER},
    methods=(),
    selects=True,
    decomposition="x - lambd if x > lambd else x + lambd if x < -lambd else 0",
    summary="x moved by lambd towards 0, or 0 where abs(x) <= lambd",
    formula="1 where abs(x) > lambd else 0",
    smooth="abs(x) != lambd",
    convention="the derivative where abs(x) = lambd is 0 (PyTorch)",
    kink=lambda x, lambd: np.abs(x) == lambd,
    samples=(*_ANY, ([0.5, -2.0], 1.5)),
    edges=((0.5,), (-0.5,)),
)


threshold = declare(
    "threshold",
    lambda x, threshold, value: np.where(x <= threshold, float(value), x)[()],
    {"x": lambda g, x, threshold: where(x <= threshold, 0.0, g)},
    statics={"threshold": 0.0, "value": 0.0},
    kinds={"threshold": NUMBER, "value": NUMBER},
    methods=(),
    selects=True,
    decomposition="value if x <= threshold else x",
    summary="x where x > threshold, else value",
    formula="1 where x > threshold else 0",
    smooth="x != threshold",
    convention="the derivative at the threshold is 0 (PyTorch)",
    kink=lambda x, threshold: x == threshold,
    samples=(([0.7, -0.4], 0.1, 20.0), (1.2, 0.5, -1.0)),
    edges=((0.5, 0.5, 2.0),),
)


# x - tanh(x) loses its digits near 0, where it is x*cosh(x) - sinh(x), a power series with positive terms, divided by cosh(x).
# The operation takes tanh(x) as its second argument, which it does not use, because its graph is that of PyTorch's difference.

_SERIES = [2 * k / math.factorial(2 * k + 1) for k in range(1, 12)]


def _without_tanh(x: Array, t: object = None) -> Any:
    near = np.abs(x) < 1
    small = np.where(near, x, 0.0)
    total = np.polynomial.polynomial.polyval(small * small, _SERIES)
    return np.where(near, small * small * small * total / np.cosh(small), x - np.tanh(x)).astype(x.dtype, copy=False)[()]


_tanhshrink = declare(
    "tanhshrink",
    _without_tanh,
    {"x": lambda g, x: g * square(tanh(x)), "t": lambda g: zeros_like(g)},
    node="SubBackward0",
    public=False,
    decomposition=f"q = x*x; x*q*({polynomial(_SERIES, 'q')})/cosh(x) if abs(x) < 1 else x - t",
)


@takes(x=TENSOR)
def tanhshrink(x: Value) -> Any:
    """x - tanh(x)."""
    return _tanhshrink(x, tanh(x))


describe(tanhshrink, methods=(), formula="tanh(x)**2", samples=(*_ANY, (1e-4,)))

_prelu = declare(
    "prelu_kernel",
    lambda x, weight: np.where(x > 0, x, x * weight)[()],
    {
        "x": lambda g, x, weight: where(x > 0, g, g * weight),
        "weight": lambda g, x: where(x > 0, 0.0, g * x),
    },
    public=False,
    decomposition="x if x > 0 else weight*x",
)


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
    return _prelu(x, weight)


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
