"""Activation functions of neural networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, NUMBER, TEXT, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Number, Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.elementary import AT_ZERO, exp, expm1, log, sign, tanh, tanh_slope
from autodiff_cli.ops.reduce import sum
from autodiff_cli.ops.special import ndtr, normal_density

__all__ = [
    "celu",
    "elu",
    "gelu",
    "hardsigmoid",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
]

declare = Declarations(__name__, elementwise=True)

_ANY = ((0.3,), (-1.7,), ([0.5, -2.0],))

# Sigmoid, softplus, silu and mish


def _sigmoid(x: Array) -> Any:
    # The argument of exp is never positive, so exp does not overflow and both tails have full precision.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small)[()] / (1 + small)


def _sigmoid_slope(x: Array, s: Array) -> Any:
    rest = 1 - s
    # Where 1 - s loses digits to cancellation, replace it with sigmoid(-x).
    far = rest < 0.03
    if not isinstance(rest, np.ndarray):
        return s * (np.where(far, _sigmoid(-x), rest)[()] if np.any(far) else rest)
    if far.any():
        rest[far] = _sigmoid(-x[far])
    return s * rest


sigmoid_slope: TensorFunction = declare(
    "sigmoid_slope",
    _sigmoid_slope,
    {"x": lambda g, x, out: g * (out * -tanh(x / 2)), "s": None},  # 1 - 2*s would be inaccurate near x = 0
    public=False,
    decomposition="sigmoid(x)*sigmoid(-x)",
)
sigmoid: TensorFunction = declare(
    "sigmoid",
    _sigmoid,
    {"x": lambda g, x, out: g * sigmoid_slope(x, out)},
    recover=lambda out: np.log(out / (1 - out)),
    aliases=("expit",),
    decomposition="1/(1 + exp(-x))",
    summary="1 / (1 + exp(-x))",
    formula="sigmoid(x)*(1 - sigmoid(x))",
    samples=_ANY,
)
logsigmoid = declare(
    "logsigmoid",
    lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    {"x": lambda g, x: g * sigmoid(-x)},
    node="LogSigmoidBackward0",
    methods=(),
    decomposition="min(x, 0) - log1p(exp(-abs(x)))",
    summary="log(sigmoid(x)) without overflow",
    formula="sigmoid(-x)",
    samples=_ANY,
)


def _softplus(x: Array, beta: Number, threshold: Number | None) -> Any:
    # The formula log(1 + exp(beta*x))/beta can overflow where the result is finite.
    value = (np.maximum if beta > 0 else np.minimum)(x, 0) + np.log1p(np.exp(-np.abs(x * beta))) / beta
    return value if threshold is None else np.where(x * beta > threshold, x, value)[()]


def _softplus_vjp(g: Value, x: Value, beta: Number, threshold: Number | None) -> Any:
    slope = g * sigmoid(x * beta)
    return slope if threshold is None else where(x * beta > threshold, g, slope)


softplus = declare(
    "softplus",
    _softplus,
    {"x": _softplus_vjp},
    statics={"beta": 1, "threshold": None},
    kinds={"beta": NUMBER, "threshold": optional(NUMBER)},
    decomposition=lambda threshold: (
        ("" if threshold is None else "x if beta*x > threshold else ") + "(max(beta*x, 0) + log1p(exp(-abs(beta*x))))/beta"
    ),
    methods=(),
    summary="log(1 + exp(beta*x))/beta without overflow, or x where beta*x exceeds threshold",
    formula="sigmoid(beta*x)",
    convention="the derivative at the threshold is sigmoid(beta*x) (PyTorch); by default no threshold applies, but PyTorch uses 20",
    smooth="no threshold is given, or beta*x != threshold",
    kink=lambda x, beta, threshold: np.equal(x * beta, math.nan if threshold is None else threshold),
    samples=(*_ANY, ([0.5, -2.0], 2.0), ([0.5, 2.0], 1, 1.5)),
    edges=((1.5, 1, 1.5),),
)


def _silu_vjp(g: Value, x: Value) -> Any:
    return g * (sigmoid(x) * (1 + x * sigmoid(-x)))


silu = declare(
    "silu",
    lambda x: x * _sigmoid(x),
    {"x": _silu_vjp},
    aliases=("swish",),
    decomposition="x*sigmoid(x)",
    methods=(),
    summary="x*sigmoid(x)",
    formula="sigmoid(x)*(1 + x*sigmoid(-x))",
    samples=_ANY,
)


def _mish_vjp(g: Value, x: Value) -> Any:
    smooth = softplus(x)
    t = tanh(smooth)
    return g * (t + x * (tanh_slope(smooth, t) * sigmoid(x)))


mish = declare(
    "mish",
    lambda x: x * np.tanh(np.logaddexp(0, x)),
    {"x": _mish_vjp},
    methods=(),
    decomposition="x*tanh(softplus(x))",
    summary="x*tanh(softplus(x))",
    formula="tanh(s) + x*(1 - tanh(s)**2)*sigmoid(x) with s = softplus(x)",
    samples=_ANY,
)

# gelu multiplies x by the probability that a standard normal variable is below x.

_GELU_SCALE, _GELU_CUBE = 2 * math.sqrt(2 / math.pi), 0.044715


def _cubic_values(x: Array, cube: float, order: int) -> Any:
    # For abs(x) >= 40 the sigmoid of the result is 0 or 1; clipping keeps x**3 finite.
    near = np.clip(x, -40.0, 40.0)
    parts = (near + cube * near**3, 1 + 3 * cube * near**2, 6 * cube * near, 6 * cube + 0 * near, 0 * near)
    return _GELU_SCALE * parts[min(order, 4)]


def _cubic_decomposition(cube: float, order: int) -> str:
    scale = _GELU_SCALE
    return (
        f"{scale!r}*(x + {cube!r}*x**3)",
        f"{scale!r}*(1 + {3 * cube!r}*x**2)",
        f"{6 * scale * cube!r}*x",
        f"{6 * scale * cube!r}",
        "0",
    )[min(order, 4)]


_cubic: TensorFunction = declare(
    "gelu_cubic",  # the derivative of the given order of scale*(x + cube*x**3), with x clipped to [-40, 40]
    _cubic_values,
    {"x": lambda g, x, cube, order: g * _cubic(x, cube, order + 1)},
    statics={"cube": _GELU_CUBE, "order": 0},
    public=False,
    decomposition=_cubic_decomposition,
)


def _tanh_argument(x: Value) -> Any:
    # (1 + tanh(u))/2 equals sigmoid(2*u), which does not lose digits to cancellation for negative u.
    return _cubic(x, _GELU_CUBE, 0)


def _gelu(x: Array, approximate: str) -> Any:
    if approximate not in ("none", "tanh"):
        raise ArgumentError(f"approximate must be 'none' or 'tanh', not '{approximate}'")
    return x * (ndtr(x) if approximate == "none" else _sigmoid(_tanh_argument(x)))


def _gelu_vjp(g: Value, x: Value, approximate: str) -> Any:
    if approximate == "none":
        return g * (ndtr(x) + x * normal_density(x))
    u = _tanh_argument(x)
    return g * (sigmoid(u) * (1 + _cubic(x, 3 * _GELU_CUBE, 0) * sigmoid(-u)))  # x*du/dx is also a cubic polynomial


gelu = declare(
    "gelu",
    _gelu,
    {"x": _gelu_vjp},
    statics={"approximate": "none"},
    kinds={"approximate": TEXT},
    decomposition=lambda approximate: (
        "x*ndtr(x)" if approximate == "none" else f"x*sigmoid({_GELU_SCALE!r}*(x + {_GELU_CUBE!r}*x**3))"
    ),
    methods=(),
    summary="x*ndtr(x), or its tanh approximation",
    formula="ndtr(x) + x*exp(-x**2/2)/sqrt(2*pi)",
    samples=(*_ANY, (0.7, "tanh"), ([-1.2, 2.0], "tanh")),
)

# Piecewise linear functions.  The next two operations have PyTorch's names.  Their argument y selects the branch; the
# cotangent of y is zero.

_threshold = declare(
    "threshold_backward",
    lambda x, y: np.where(y <= 0, 0.0, x)[()],  # where y is nan, the result is x
    {"x": lambda g, y: where(y <= 0, 0.0, g), "y": lambda g: zeros_like(g)},
    node="ThresholdBackwardBackward0",
    selects=("y",),
    public=False,
    decomposition="0 if y <= 0 else x",
)


def _gate_decomposition(low: float, high: float, outside: float) -> str:
    sides = [f"y {sign} {name}" for sign, name, bound in (("<=", "low", low), (">=", "high", high)) if not math.isnan(bound)]
    return f"{'outside*x' if outside else '0'} if {' or '.join(sides)} else x"


_gate: TensorFunction = declare(
    "hardtanh_backward",
    lambda x, y, low, high, outside: np.where((y <= low) | (y >= high), x * outside if outside else 0.0, x)[()],
    {"x": lambda g, y, low, high, outside: _gate(g, y, low, high, outside), "y": lambda g: zeros_like(g)},
    node="HardtanhBackwardBackward0",
    selects=("y",),
    statics={"low": 0.0, "high": math.nan, "outside": 0.0},  # y = inf reaches a bound of inf, but not a bound of nan
    public=False,
    decomposition=_gate_decomposition,
)
relu = declare(
    "relu",
    lambda x: np.maximum(x, 0),
    {"x": lambda g, out: _threshold(g, out)},
    selects=True,
    decomposition="max(x, 0)",
    summary="x where x > 0, else 0",
    formula="1 where x > 0 else 0",
    convention="the derivative at 0 is 0 (PyTorch)",
    samples=_ANY,
    **AT_ZERO,
)
leaky_relu = declare(
    "leaky_relu",
    lambda x, negative_slope: np.where(x > 0, x, x * negative_slope)[()],
    {"x": lambda g, x, negative_slope: _gate(g, x, 0.0, math.nan, negative_slope)},
    statics={"negative_slope": 0.01},
    kinds={"negative_slope": NUMBER},
    decomposition="x if x > 0 else negative_slope*x",
    methods=(),
    summary="x where x > 0, else negative_slope*x",
    formula="1 where x > 0 else negative_slope",
    convention="the derivative at 0 is negative_slope (PyTorch)",
    samples=(*_ANY, ([0.5, -2.0], 0.2)),
    **AT_ZERO,
)
hardtanh: TensorFunction = declare(
    "hardtanh",
    lambda x, min_val, max_val: np.minimum(np.maximum(x, min_val), max_val),
    {"x": lambda g, x, min_val, max_val: _gate(g, x, min_val, max_val, 0.0)},
    statics={"min_val": -1.0, "max_val": 1.0},
    kinds={"min_val": NUMBER, "max_val": NUMBER},
    decomposition="min(max(x, min_val), max_val)",
    methods=(),
    selects=True,
    summary="x clamped to [min_val, max_val]",
    formula="1 where min_val < x < max_val else 0",
    smooth="x != min_val and x != max_val",
    convention="the derivative at the bounds is 0 (PyTorch)",
    kink=lambda x, min_val, max_val: (x == min_val) | (x == max_val),
    samples=(*_ANY, ([0.5, -2.0], -3.0, 0.2)),
    edges=((-1.0,), (1.0,)),
)


def relu6(x: Value) -> Any:
    """x clamped to [0, 6]."""
    return hardtanh(x, 0.0, 6.0)


describe(
    relu6,
    methods=(),
    formula="1 where 0 < x < 6 else 0",
    smooth="x != 0 and x != 6",
    convention="the derivative at 0 and 6 is 0 (PyTorch)",
    kink=lambda x: (x == 0) | (x == 6),
    samples=(*_ANY, (7.0,)),
    edges=((0.0,), (6.0,)),
)
hardsigmoid = declare(
    "hardsigmoid",
    lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    {"x": lambda g, x: _gate(g, x, -3.0, 3.0, 0.0) / 6},
    methods=(),
    selects=True,
    decomposition="min(max(x + 3, 0), 6)/6",
    summary="x/6 + 1/2 clamped to [0, 1]",
    formula="1/6 where -3 < x < 3 else 0",
    smooth="x != -3 and x != 3",
    convention="the derivative at -3 and 3 is 0 (PyTorch)",
    kink=lambda x: np.abs(x) == 3,
    samples=(*_ANY, (4.0,)),
    edges=((-3.0,), (3.0,)),
)


@np.errstate(all="ignore")
def _softsign(x: Array) -> Any:
    return np.where(np.isinf(x), np.sign(x), x / (np.abs(x) + 1))[()]


_softsign_slope: TensorFunction = declare(
    "softsign_slope",  # (1 + abs(x))**-n; the quotient rule would give a difference that loses digits
    lambda x, n: (1 + np.abs(x)) ** float(-n),
    {"x": lambda g, x, n: g * (-n * sign(x) * _softsign_slope(x, n + 1))},
    statics={"n": 2},
    public=False,
    decomposition=lambda n: f"1/(1 + abs(x))**{n}",
)
softsign = declare(
    "softsign",
    _softsign,
    {"x": lambda g, x: g * _softsign_slope(x, 2)},
    node="DivBackward0",
    methods=(),
    decomposition="x/(1 + abs(x))",
    summary="x/(1 + abs(x))",
    formula="1/(1 + abs(x))**2",
    convention="at 0 the derivative is 1 and the second derivative is 0 (PyTorch); the value at inf is 1, but PyTorch gives nan",
    second_kink=lambda x: x == 0,
    samples=_ANY,
    edges=((0.0,),),
)

# The functions elu, selu and celu equal a*(exp(b*x) - 1) for x <= 0 and c*x for x > 0.

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _bent(x: Array, left: float, inner: float, right: float) -> Any:
    return np.where(x > 0, x * right, float(left) * np.expm1(np.minimum(x, 0) * inner))[()]


_left_exp: TensorFunction = declare(
    "left_exp",  # exp(inner*x) where x <= 0, else 0
    lambda x, inner: np.where(x > 0, 0.0, np.exp(np.minimum(x, 0) * inner))[()],
    {"x": lambda g, x, out, inner: where(x < 0, g * (out * inner), 0.0)},
    statics={"inner": 1.0},
    public=False,
    decomposition="0 if x > 0 else exp(inner*x)",
)


def _bent_vjp(g: Value, x: Value, left: float, inner: float, right: float) -> Any:
    return g * where(x > 0, right, _left_exp(x, inner) * (left * inner))


_KINK: dict[str, Any] = {
    "samples": (*_ANY, ([0.5, -2.0], 1.5)),
    "edges": ((0.0,), (0.0, 1.5)),
    "methods": (),
}
elu = declare(
    "elu",
    lambda x, alpha: _bent(x, alpha, 1.0, 1.0),
    {"x": lambda g, x, alpha: _bent_vjp(g, x, alpha, 1.0, 1.0)},
    statics={"alpha": 1.0},
    kinds={"alpha": NUMBER},
    decomposition="x if x > 0 else alpha*expm1(x)",
    summary="x where x > 0, else alpha*(exp(x) - 1)",
    formula="1 where x > 0 else alpha*exp(x)",
    smooth="x != 0, or alpha = 1",
    convention="the derivative at 0 is alpha (PyTorch)",
    kink=lambda x, alpha: (x == 0) & (alpha != 1),
    second_kink=lambda x: x == 0,
    **_KINK,
)


def _celu(x: Array, alpha: float) -> Any:
    if alpha == 0:
        raise ArgumentError("alpha cannot be 0 for CELU")
    return _bent(x, alpha, 1 / alpha, 1.0)


celu = declare(
    "celu",
    _celu,
    {"x": lambda g, x, alpha: _bent_vjp(g, x, alpha, 1 / alpha, 1.0)},
    statics={"alpha": 1.0},
    kinds={"alpha": NUMBER},
    decomposition="x if x > 0 else alpha*expm1(x/alpha)",
    summary="x where x > 0, else alpha*(exp(x/alpha) - 1)",
    formula="1 where x > 0 else exp(x/alpha)",
    convention="the second derivative at 0 is 0 (PyTorch)",
    second_kink=lambda x: x == 0,
    **_KINK,
)
selu = declare(
    "selu",
    lambda x: _bent(x, _SELU_ALPHA * _SELU_SCALE, 1.0, _SELU_SCALE),
    {"x": lambda g, x: _bent_vjp(g, x, _SELU_ALPHA * _SELU_SCALE, 1.0, _SELU_SCALE)},
    node="EluBackward0",
    methods=(),
    decomposition=f"{_SELU_SCALE!r}*(x if x > 0 else {_SELU_ALPHA!r}*expm1(x))",
    summary="elu with the two constants of self-normalizing networks",
    formula="1.0507... where x > 0 else 1.7580...*exp(x)",
    convention="the derivative at 0 is 1.7580... (PyTorch)",
    samples=_ANY,
    **AT_ZERO,
)

# Softmax


def _shifted(x: Array, dim: int) -> tuple[Any, int | None]:
    axis: int | None = dimension(dim, x.ndim)
    if not x.ndim:
        axis = None
    x = x * 1.0
    x -= np.max(x, axis=axis, keepdims=True, initial=-math.inf)
    return x, axis


@np.errstate(all="ignore")
def _softmax(x: Array, dim: int) -> Any:
    shifted, axis = _shifted(x, dim)
    powers = np.exp(shifted)
    powers /= np.add.reduce(powers, axis=axis, keepdims=True)
    return powers


@np.errstate(all="ignore")
def _log_softmax(x: Array, dim: int) -> Any:
    shifted, axis = _shifted(x, dim)
    if axis is None or x.shape[axis] == 0:
        return shifted
    powers = np.exp(shifted)
    # The largest exponential is 1.  log1p of the sum of the other exponentials is accurate even for terms far below 1.
    np.put_along_axis(powers, np.argmax(shifted, axis=axis, keepdims=True), 0.0, axis)
    return shifted - np.log1p(np.add.reduce(powers, axis=axis, keepdims=True))


def _softmax_series(x: Tensor, dim: int) -> Any:
    powers = exp(x - _largest(x, dim))
    return powers / sum(powers, dim, True)


def _log_softmax_series(x: Tensor, dim: int) -> Any:
    shifted = x - _largest(x, dim)
    return shifted - log(sum(exp(shifted), dim, True))


def _largest(x: Tensor, dim: int) -> Any:
    return np.max(x._data, axis=dimension(dim, x.ndim) if x.ndim else None, keepdims=True)


softmax = declare(
    "softmax",
    _softmax,
    {"x": lambda g, out, dim: out * (g - sum(g * out, dim, True))},
    series=_softmax_series,
    statics={"dim": -1},
    kinds={"dim": DIMENSION},
    summary="exp(x)/sum(exp(x)) along dim",
    formula="s*(g - sum(g*s)) with s = softmax(x)",
    samples=(([0.3, -1.0, 2.0],), ([[0.5, -1.0], [2.0, 0.1]], 0)),
)
log_softmax = declare(
    "log_softmax",
    _log_softmax,
    # This is g - exp(out)*sum(g), arranged so that it does not lose digits to cancellation where exp(out) is close to 1.
    {"x": lambda g, out, dim: -g * expm1(out) - exp(out) * (sum(g, dim, True) - g)},
    series=_log_softmax_series,
    statics={"dim": -1},
    kinds={"dim": DIMENSION},
    summary="log(softmax(x)) along dim without overflow",
    formula="g - softmax(x)*sum(g)",
    samples=(([0.3, -1.0, 2.0],), ([[0.5, -1.0], [2.0, 0.1]], 0)),
)
