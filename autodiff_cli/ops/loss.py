"""Loss functions; ``reduction`` is ``'mean'``, ``'sum'`` or ``'none'``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import FLAG, NUMBER, POSITIONS, TENSOR, TEXT, either, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import unindexed
from autodiff_cli.autograd.primitives.types import Shape, Value, array_of
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.ops.activation import hardtanh, log_softmax, sigmoid
from autodiff_cli.ops.comparison import clamp
from autodiff_cli.ops.elementary import abs, exp, log, log1p, sign
from autodiff_cli.ops.logarithms import xlogy
from autodiff_cli.ops.reduce import mean, sum
from autodiff_cli.ops.shape import expand

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
]

declare = Declarations(__name__)

_X, _TARGET = [0.5, -1.0, 2.0], [0.1, 0.7, -1.5]
_PAIRS = ((_X, _TARGET), (_X, _TARGET, "sum"), (_X, 0.3, "none"), ([_X, [1.3, 0.2, -0.4]], _TARGET))


_REDUCTION = {"reduction": TEXT}


def _check(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"'{reduction}' is not a valid value for reduction", hint="use 'mean', 'sum' or 'none'")


def _reduced(values: Array, reduction: str) -> Any:
    _check(reduction)
    if reduction == "none":
        return values
    total = np.add.reduce(values, axis=None)
    return total / np.size(values) if reduction == "mean" else total


def _reduce(values: Value, reduction: str) -> Any:
    """Reduce the values of a loss with recorded operations, because the reduction has a separate node in PyTorch."""
    _check(reduction)
    return values if reduction == "none" else mean(values) if reduction == "mean" else sum(values)


def _weight(reduction: str, *values: object) -> float:
    """Return the weight of one element in the reduced loss."""
    if reduction != "mean":
        return 1.0
    shape = np.broadcast_shapes(*(getattr(value, "shape", ()) for value in values))
    return 1 / max(int(np.prod(shape, dtype=np.int64)), 1)


# Losses that depend on a difference


def _square_vjp(g: Value, x: Value, target: Value, reduction: str) -> Any:
    return g * ((x - target) * (2 * _weight(reduction, x, target)))


mse_loss = declare(
    "mse_loss",
    lambda x, target, reduction: _reduced(np.square(x - target), reduction),
    {
        "x": _square_vjp,
        "target": lambda g, x, target, reduction: -_square_vjp(g, x, target, reduction),
    },
    series="total",
    statics={"reduction": "mean"},
    kinds=_REDUCTION,
    methods=(),
    summary="squared differences of x and target, reduced",
    formula="2*(x - target)/n, -2*(x - target)/n",
    samples=_PAIRS,
)


@takes(x=TENSOR, target=TENSOR, reduction=TEXT)
def l1_loss(x: Value, target: Value, reduction: str = "mean") -> Any:
    """Absolute differences of x and target, reduced."""
    return _reduce(abs(x - target), reduction)


describe(
    l1_loss,
    methods=(),
    formula="sign(x - target)/n, -sign(x - target)/n",
    smooth="x != target",
    convention="the derivative where x = target is 0 (PyTorch)",
    kink=lambda x, target: x == target,
    samples=_PAIRS,
    edges=((1.0, 1.0),),
)


def _smooth(x: Array, target: Array, reduction: str, beta: float) -> Any:
    if beta < 0:
        raise ArgumentError("smooth_l1_loss does not support negative values for beta.")
    size = np.abs(x - target)
    quadratic = size * size * (0.5 / beta) if beta else size
    return _reduced(np.where(size < beta, quadratic, size - 0.5 * beta)[()], reduction)


def _smooth_vjp(g: Value, x: Value, target: Value, reduction: str, beta: float) -> Any:
    slope = hardtanh(x - target, -beta, beta) / beta if beta else sign(x - target)
    return g * (slope * _weight(reduction, x, target))


smooth_l1_loss = declare(
    "smooth_l1_loss",
    _smooth,
    {
        "x": _smooth_vjp,
        "target": lambda g, x, target, reduction, beta: -_smooth_vjp(g, x, target, reduction, beta),
    },
    node="SmoothL1LossBackward0",
    series="total",
    statics={"reduction": "mean", "beta": 1.0},
    kinds={**_REDUCTION, "beta": NUMBER},
    methods=(),
    summary="with d = x - target: d**2/(2*beta) where abs(d) < beta, else abs(d) - beta/2",
    formula="clamp(d, -beta, beta)/(beta*n), and its negative",
    convention="with beta = 0 the derivative is sign(d), which is 0 at 0; the second derivative at abs(d) = beta is 0 (PyTorch)",
    smooth="beta > 0, or x != target",
    kink=lambda x, target, beta: (x == target) & (beta == 0),
    second_kink=lambda x, target, beta: np.abs(x - target) == beta,
    samples=(*_PAIRS, (_X, _TARGET, "mean", 0.5), (_X, _TARGET, "mean", 0.0)),
    edges=((1.0, 0.0), (0.0, 0.0, "mean", 0.0)),
)


def _huber(x: Array, target: Array, reduction: str, delta: float) -> Any:
    if not delta > 0:
        raise ArgumentError("huber_loss does not support non-positive values for delta.")
    size = np.abs(x - target)
    return _reduced(np.where(size <= delta, 0.5 * (size * size), delta * (size - 0.5 * delta))[()], reduction)


def _huber_vjp(g: Value, x: Value, target: Value, reduction: str, delta: float) -> Any:
    return g * (hardtanh(x - target, -delta, delta) * _weight(reduction, x, target))


huber_loss = declare(
    "huber_loss",
    _huber,
    {
        "x": _huber_vjp,
        "target": lambda g, x, target, reduction, delta: -_huber_vjp(g, x, target, reduction, delta),
    },
    series="total",
    statics={"reduction": "mean", "delta": 1.0},
    kinds={**_REDUCTION, "delta": NUMBER},
    methods=(),
    summary="with d = x - target: d**2/2 where abs(d) <= delta, else delta*(abs(d) - delta/2)",
    formula="clamp(d, -delta, delta)/n, and its negative",
    convention="the second derivative at abs(d) = delta is 0 (PyTorch)",
    second_kink=lambda x, target, delta: np.abs(x - target) == delta,
    samples=(*_PAIRS, (_X, _TARGET, "mean", 0.5)),
    edges=((1.0, 0.0),),
)

# Losses for probabilities


def _beside(slope: Value, target_shape: Shape) -> Any:
    """Broadcast a derivative that does not depend on the target to its common shape with the target."""
    own = getattr(slope, "shape", ())  # a plain number does not have a shape
    shape = np.broadcast_shapes(own, target_shape)
    return slope if own == shape else expand(slope, shape)


def _binary(x: Array, target: Array, reduction: str) -> Any:
    if not np.all((x >= 0) & (x <= 1)):
        raise ArgumentError(
            "all elements of input should be between 0 and 1", hint="use binary_cross_entropy_with_logits for other numbers"
        )
    with np.errstate(all="ignore"):
        positive, negative = np.maximum(np.log(x), -100.0), np.maximum(np.log1p(-x), -100.0)
    return _reduced(-(target * positive + (1 - target) * negative), reduction)


binary_cross_entropy = declare(
    "binary_cross_entropy",
    _binary,
    {
        "x": lambda g, x, target, reduction: g * ((x - target) / clamp(x * (1 - x), 1e-12) * _weight(reduction, x, target)),
        "target": lambda g, x, target, reduction: (
            g * (_beside(log1p(-x) - log(x), getattr(target, "shape", ())) * _weight(reduction, x, target))
        ),
    },
    series="total",
    statics={"reduction": "mean"},
    kinds=_REDUCTION,
    methods=(),
    summary="cross entropy of labels target and probabilities x, reduced",
    formula="(x - target)/(x*(1 - x)*n), log((1 - x)/x)/n",
    domain="0 <= x <= 1",
    smooth="0 < x < 1",
    convention="logarithms are clamped to at least -100, and x*(1 - x) to at least 1e-12 (PyTorch)",
    inside=lambda x: (x >= 0) & (x <= 1),
    kink=lambda x: (x == 0) | (x == 1),
    samples=(([0.5, 0.1, 0.9], [0.0, 1.0, 0.8]), (0.3, 0.6, "sum")),
    edges=((0.0, 0.0), (1.0, 0.0)),
)


def _logits_vjp(g: Value, x: Value, target: Value, reduction: str) -> Any:
    # This is sigmoid(x) - target, arranged so that it does not lose digits to cancellation where both are close to 1.
    slope = (1 - target) * sigmoid(x) - target * sigmoid(-x)
    return g * (slope * _weight(reduction, x, target))


binary_cross_entropy_with_logits = declare(
    "binary_cross_entropy_with_logits",
    # log1p(exp(-abs(x))) does not overflow and is accurate.
    lambda x, target, reduction: _reduced(np.maximum(x, 0) - x * target + np.log1p(np.exp(-np.abs(x))), reduction),
    {
        "x": _logits_vjp,
        "target": lambda g, x, target_shape, reduction: (
            g * (_beside(x, target_shape) * -_weight(reduction, x, np.empty(target_shape)))
        ),
    },
    node="BinaryCrossEntropyWithLogitsBackward0",
    series="total",
    statics={"reduction": "mean"},
    kinds=_REDUCTION,
    methods=(),
    summary="cross entropy of labels target and sigmoid(x), computed from x",
    formula="(sigmoid(x) - target)/n, -x/n",
    samples=(([0.5, -1.0, 2.0], [0.0, 1.0, 1.0]), ([0.5, -1.0], [0.0, 1.0], "sum")),
)


@takes(x=TENSOR, target=TENSOR, reduction=TEXT, log_target=FLAG)
def kl_div(x: Value, target: Value, reduction: str = "mean", log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence target*(log(target) - x) of log-probabilities x; with log_target, target is a logarithm."""
    loss = exp(target) * (target - x) if log_target else xlogy(target, target) - target * x
    if reduction == "batchmean":
        return sum(loss) / max(x.shape[0], 1) if x.shape else sum(loss)
    return _reduce(loss, reduction)


describe(
    kl_div,
    methods=(),
    formula="with respect to x: -target/n",
    domain="target >= 0, or log_target",
    smooth="target > 0, or log_target",
    convention="at target = 0 the derivative with respect to target is 0, as for xlogy; PyTorch gives nan",
    inside=lambda target, log_target: (target >= 0) | np.bool_(log_target),
    kink=lambda target, log_target: (target == 0) & ~np.bool_(log_target),
    samples=(([-0.5, -1.0], [0.3, 0.7]), ([-0.5, -1.0], [-0.3, -1.7], "sum", True), ([[-0.5, -1.0]], [[0.3, 0.7]], "batchmean")),
    edges=(([-0.5, -1.0], [0.0, 0.7]), ([-0.5, -1.0], [-0.1, 0.7])),
)

# Losses for classes: the second dimension of x, or its only dimension, has one entry for each class


def _positions(target: Value, shape: Shape) -> tuple[Any, ...]:
    """Return the NumPy index of the elements of x that belong to the target classes."""
    classes = np.asarray(array_of(target))
    if not shape:
        raise ShapeError("a loss over classes needs one value for each class, not a single number")
    expected = shape[:1] + shape[2:] if len(shape) > 1 else ()
    if classes.shape != expected:
        raise ShapeError(
            f"expected a target of shape {list(expected)}, but got shape {list(classes.shape)}",
            hint=f"give one class for each row of x, whose shape is {list(shape)}",
        )
    if classes.dtype.kind == "f":
        if np.any(classes != np.floor(classes)):
            raise ArgumentError("a class must be a nonnegative whole number", hint="give target probabilities in the shape of x")
        classes = classes.astype(np.int64)
    count = shape[1] if len(shape) > 1 else shape[0]
    outside = classes[(classes < 0) | (classes >= count)]
    if outside.size:
        raise IndexOutOfRange(
            f"Target {int(outside.flat[0])} is out of bounds.", hint=f"use a class below {count}, the number of classes in x"
        )
    if len(shape) == 1:
        return (int(classes),)
    grid: list[Any] = list(np.indices(classes.shape, sparse=True))
    return (grid[0], classes, *grid[1:])


def _put_back(g: Value, target: Value, x_shape: Shape, reduction: str) -> Any:
    rows = x_shape[:1] + x_shape[2:] if len(x_shape) > 1 else ()
    weight = 1 / max(int(np.prod(rows, dtype=np.int64)), 1) if reduction == "mean" else 1.0
    return unindexed(expand(g * -weight, rows), x_shape, _positions(target, x_shape))


_ROWS = [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]
nll_loss = declare(
    "nll_loss",
    lambda x, target, reduction: _reduced(-x[_positions(target, x.shape)], reduction),
    {"x": _put_back, "target": None},
    series="linear",
    statics={"reduction": "mean"},
    kinds=_REDUCTION,
    methods=(),
    summary="negative log-probabilities -x at the target classes, reduced",
    formula="-1/n at the target classes, 0 elsewhere",
    samples=((_ROWS, [2, 0]), (_X, 1), (_ROWS, [1, 1], "sum"), ([_ROWS, _ROWS], [[0, 1, 0], [1, 1, 0]], "none")),
)


@takes(x=TENSOR, target=either(TENSOR, POSITIONS), reduction=TEXT)
def cross_entropy(x: Value, target: Value, reduction: str = "mean") -> Any:
    """-log(softmax(x)) at the target classes, or weighted by target probabilities with the shape of x, reduced."""
    dim = 1 if len(x.shape) > 1 else 0
    logarithms = log_softmax(x, dim)
    if not x.shape or np.shape(array_of(target)) != x.shape:
        return nll_loss(logarithms, target, reduction)
    _check(reduction)
    loss = logarithms * target
    if reduction == "none":
        return -sum(loss, dim)
    total = -sum(loss)
    return total if reduction == "sum" else total / max(math.prod(x.shape[:dim]) * math.prod(x.shape[dim + 1 :]), 1)


describe(
    cross_entropy,
    methods=(),
    formula="with respect to x: (softmax(x) - target)/n, where a target class has probability 1",
    samples=((_ROWS, [2, 0]), (_X, 1, "sum"), (_ROWS, [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]), (_ROWS, [[0.2, 0.3, 0.5]] * 2, "none")),
)
