"""Loss functions; ``reduction`` is ``'mean'``, ``'sum'`` or ``'none'``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import FLAG, NUMBER, POSITIONS, TENSOR, TEXT, WHOLE, either, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import unindexed
from autodiff_cli.autograd.primitives.types import Mask, Positions, Shape, Value, array_of
from autodiff_cli.errors import ArgumentError, GraphError, IndexOutOfRange, ShapeError
from autodiff_cli.ops.comparison import clamp, where
from autodiff_cli.ops.reduce import mean, sum
from autodiff_cli.ops.rules.activation import hardtanh, log_softmax, logsigmoid, sigmoid
from autodiff_cli.ops.rules.elementary import abs, exp, log, log1p, sign, square
from autodiff_cli.ops.rules.logarithms import xlogy
from autodiff_cli.ops.shape import expand, reshape

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


def reduced(values: Array, reduction: str) -> Any:
    """Reduce the values of a loss in an array."""
    _check(reduction)
    if reduction == "none":
        return values
    total = np.add.reduce(values, axis=None)
    return total / np.size(values) if reduction == "mean" else total


def reduce_loss(values: Value, reduction: str) -> Any:
    """Reduce the values of a loss with recorded operations, because the reduction has a separate node in PyTorch."""
    _check(reduction)
    return values if reduction == "none" else mean(values) if reduction == "mean" else sum(values)


def weight_of_one(reduction: str, *values: object) -> float:
    """Return the weight of one element in the reduced loss."""
    if reduction != "mean":
        return 1.0
    shape = np.broadcast_shapes(*(getattr(value, "shape", ()) for value in values))
    return 1 / max(int(np.prod(shape, dtype=np.int64)), 1)


# Losses that depend on a difference


def _square_vjp(g: Value, x: Value, target: Value, reduction: str) -> Any:
    return g * ((x - target) * (2 * weight_of_one(reduction, x, target)))


mse_loss = declare(
    "mse_loss",
    lambda x, target, reduction: reduced(np.square(x - target), reduction),
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
    return reduce_loss(abs(x - target), reduction)


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
    return reduced(np.where(size < beta, quadratic, size - 0.5 * beta)[()], reduction)


def _smooth_vjp(g: Value, x: Value, target: Value, reduction: str, beta: float) -> Any:
    slope = hardtanh(x - target, -beta, beta) / beta if beta else sign(x - target)
    return g * (slope * weight_of_one(reduction, x, target))


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
    return reduced(np.where(size <= delta, 0.5 * (size * size), delta * (size - 0.5 * delta))[()], reduction)


def _huber_vjp(g: Value, x: Value, target: Value, reduction: str, delta: float) -> Any:
    return g * (hardtanh(x - target, -delta, delta) * weight_of_one(reduction, x, target))


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
    return reduced(-(target * positive + (1 - target) * negative), reduction)


_LEAST_PRODUCT = 1e-12


def _binary_slope_vjp(g: Value, x: Value, target: Value) -> Any:
    # The quotient rule would give a difference that loses digits near 0 and 1.
    ordinary = target / (x * x) + (1 - target) / square(1 - x)
    return g * where(x * (1 - x) < _LEAST_PRODUCT, 1 / _LEAST_PRODUCT, ordinary)


_binary_slope: TensorFunction = declare(
    "binary_cross_entropy_slope",
    lambda x, target: (x - target) / np.maximum(x * (1 - x), _LEAST_PRODUCT),
    {"x": _binary_slope_vjp, "target": lambda g, x: g * (-1 / clamp(x * (1 - x), _LEAST_PRODUCT))},
    elementwise=True,
    public=False,
    decomposition=f"(x - target)/max(x*(1 - x), {_LEAST_PRODUCT})",
)
_binary_cross_entropy = declare(
    "binary_cross_entropy",
    _binary,
    {
        "x": lambda g, x, target, reduction: g * (_binary_slope(x, target) * weight_of_one(reduction, x, target)),
        "target": lambda g, x, target, reduction: (
            g * (_beside(log1p(-x) - log(x), getattr(target, "shape", ())) * weight_of_one(reduction, x, target))
        ),
    },
    series="total",
    statics={"reduction": "mean"},
    kinds=_REDUCTION,
    public=False,
)


@takes(x=TENSOR, target=TENSOR, reduction=TEXT, weight=optional(TENSOR))
def binary_cross_entropy(x: Value, target: Value, reduction: str = "mean", weight: Value | None = None) -> Any:
    """Cross entropy of labels target and probabilities x, times the weights, reduced."""
    if weight is None:
        return _binary_cross_entropy(x, target, reduction)
    return reduce_loss(_binary_cross_entropy(x, target, "none") * weight, reduction)


describe(
    binary_cross_entropy,
    tensors=("x", "target", "weight"),
    methods=(),
    formula="(x - target)/(x*(1 - x)*n), log((1 - x)/x)/n",
    domain="0 <= x <= 1",
    smooth="0 < x < 1",
    convention="logarithms are clamped to at least -100, and x*(1 - x) to at least 1e-12 (PyTorch)",
    inside=lambda x: (x >= 0) & (x <= 1),
    kink=lambda x: (x == 0) | (x == 1),
    samples=(([0.5, 0.1, 0.9], [0.0, 1.0, 0.8]), (0.3, 0.6, "sum"), ([0.5, 0.1], [0.0, 1.0], "mean", [0.5, 2.0])),
    edges=((0.0, 0.0), (1.0, 0.0)),
)


def _logits_vjp(g: Value, x: Value, target: Value, reduction: str) -> Any:
    # This is sigmoid(x) - target, arranged so that it does not lose digits to cancellation where both are close to 1.
    slope = (1 - target) * sigmoid(x) - target * sigmoid(-x)
    return g * (slope * weight_of_one(reduction, x, target))


_of_logits = declare(
    "binary_cross_entropy_with_logits",
    # log1p(exp(-abs(x))) does not overflow and is accurate.
    lambda x, target, reduction: reduced(np.maximum(x, 0) - x * target + np.log1p(np.exp(-np.abs(x))), reduction),
    {
        "x": _logits_vjp,
        "target": lambda g, x, target_shape, reduction: (
            g * (_beside(x, target_shape) * -weight_of_one(reduction, x, np.empty(target_shape)))
        ),
    },
    node="BinaryCrossEntropyWithLogitsBackward0",
    series="total",
    statics={"reduction": "mean"},
    kinds=_REDUCTION,
    public=False,
)


@takes(x=TENSOR, target=TENSOR, reduction=TEXT, weight=optional(TENSOR), pos_weight=optional(TENSOR))
def binary_cross_entropy_with_logits(
    x: Value, target: Value, reduction: str = "mean", weight: Value | None = None, pos_weight: Value | None = None
) -> Any:
    """Cross entropy of labels target and sigmoid(x), computed from x; pos_weight multiplies the terms of positive labels."""
    if weight is None and pos_weight is None:
        return _of_logits(x, target, reduction)
    if pos_weight is None:
        loss = _of_logits(x, target, "none")
    else:
        loss = -(pos_weight * target * logsigmoid(x) + (1 - target) * logsigmoid(-x))
    return reduce_loss(loss if weight is None else loss * weight, reduction)


describe(
    binary_cross_entropy_with_logits,
    tensors=("x", "target", "weight", "pos_weight"),
    methods=(),
    formula="(sigmoid(x) - target)/n, -x/n",
    samples=(
        ([0.5, -1.0, 2.0], [0.0, 1.0, 1.0]),
        ([0.5, -1.0], [0.0, 1.0], "sum"),
        ([0.5, -1.0], [0.0, 1.0], "mean", [0.5, 2.0]),
        ([0.5, -1.0], [0.3, 1.0], "sum", None, [3.0, 0.5]),
    ),
)


@takes(x=TENSOR, target=TENSOR, reduction=TEXT, log_target=FLAG)
def kl_div(x: Value, target: Value, reduction: str = "mean", log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence target*(log(target) - x) of log-probabilities x; with log_target, target is a logarithm."""
    loss = exp(target) * (target - x) if log_target else xlogy(target, target) - target * x
    if reduction == "batchmean":
        return sum(loss) / max(x.shape[0], 1) if x.shape else sum(loss)
    return reduce_loss(loss, reduction)


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

_IGNORED = -100
"""The class of the rows without a class, by default."""


def _classes(target: Value, shape: Shape, ignored: int) -> tuple[Positions, Mask | None]:
    """Return the classes as whole numbers, and the mask of the rows with a class; ``None`` if all rows have one.

    A row without a class has the class 0.
    """
    classes = np.asarray(array_of(target))
    if not shape:
        raise ShapeError("a loss over classes needs one value for each class, not a single number")
    expected = shape[:1] + shape[2:] if len(shape) > 1 else ()
    if classes.shape != expected:
        hint = f"give one class for each row of x, whose shape is {list(shape)}"
        if len(shape) > 1 and classes.ndim and classes.shape[0] != shape[0]:
            raise ShapeError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({classes.shape[0]}).", hint=hint)
        raise ShapeError(f"expected a target of shape {list(expected)}, but got shape {list(classes.shape)}", hint=hint)
    if classes.dtype.kind == "f":
        if np.any(classes != np.floor(classes)):
            raise ArgumentError("a class must be a nonnegative whole number", hint="give target probabilities in the shape of x")
        classes = classes.astype(np.int64)
    valid = classes != ignored
    if not np.all(valid):
        classes = np.where(valid, classes, 0)
    count = shape[1] if len(shape) > 1 else shape[0]
    outside = classes[(classes < 0) | (classes >= count)]
    if outside.size:
        raise IndexOutOfRange(
            f"Target {int(outside.flat[0])} is out of bounds.", hint=f"use a class below {count}, the number of classes in x"
        )
    return classes, None if np.all(valid) else valid


def _key(classes: Positions, shape: Shape) -> tuple[Any, ...]:
    """Return the NumPy index of the elements of x that belong to the classes."""
    if len(shape) == 1:
        return (int(classes),)
    grid: list[Any] = list(np.indices(classes.shape, sparse=True))
    return (grid[0], classes, *grid[1:])


def _nll(x: Array, target: Value, reduction: str, ignore_index: int) -> Any:
    classes, valid = _classes(target, x.shape, ignore_index)
    values = -x[_key(classes, x.shape)]
    if valid is None:
        return reduced(values, reduction)
    total = reduced(
        np.where(valid, values, values * 0.0 if values.dtype == object else 0.0)[()], "none" if reduction == "none" else "sum"
    )
    with np.errstate(invalid="ignore"):
        return total / np.float64(np.sum(valid)) if reduction == "mean" else total


def _put_back(g: Value, target: Value, x_shape: Shape, reduction: str, ignore_index: int) -> Any:
    classes, valid = _classes(target, x_shape, ignore_index)
    count = classes.size if valid is None else int(np.sum(valid))
    weight = 1 / max(count, 1) if reduction == "mean" else 1.0
    rows = expand(g * -weight, classes.shape)
    return unindexed(rows if valid is None else where(valid, rows, 0.0), x_shape, _key(classes, x_shape))


_ROWS = [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]
nll_of_rows = declare(
    "nll_loss",
    _nll,
    {"x": _put_back, "target": None},
    series="linear",
    statics={"reduction": "mean", "ignore_index": _IGNORED},
    kinds={**_REDUCTION, "ignore_index": WHOLE},
    public=False,
)


def _class_weights(weight: Value, classes: Positions, valid: Mask | None, count: int) -> Any:
    """Return the weight of each row."""
    if tuple(weight.shape) != (count,):
        raise ShapeError(
            f"weight tensor should be defined either for all {count} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )
    taken = weight[classes]
    return taken if valid is None else where(valid, taken, 0.0)


def _over_classes(x: Value) -> int:
    return int(x.shape[1] if len(x.shape) > 1 else x.shape[0]) if x.shape else 0


@takes(x=TENSOR, target=either(TENSOR, POSITIONS), reduction=TEXT, ignore_index=WHOLE, weight=optional(TENSOR))
def nll_loss(x: Value, target: Value, reduction: str = "mean", ignore_index: int = _IGNORED, weight: Value | None = None) -> Any:
    """Negative log-probabilities -x at the target classes, times the weights of the classes, reduced.

    The mean is over the weights; rows with the class ignore_index do not count."""
    if weight is None:
        return nll_of_rows(x, target, reduction, ignore_index)
    _check(reduction)
    weights = _class_weights(weight, *_classes(target, tuple(x.shape), ignore_index), _over_classes(x))
    loss = nll_of_rows(x, target, "none", ignore_index) * weights
    return loss if reduction == "none" else sum(loss) / sum(weights) if reduction == "mean" else sum(loss)


describe(
    nll_loss,
    tensors=("x", "target", "weight"),
    methods=(),
    formula="-1/n at the target classes, 0 elsewhere",
    samples=(
        (_ROWS, [2, 0]),
        (_X, 1),
        (_ROWS, [1, 1], "sum"),
        ([_ROWS, _ROWS], [[0, 1, 0], [1, 1, 0]], "none"),
        (_ROWS, [-100, 1]),
        (_ROWS, [2, 0], "mean", 2, [0.5, 1.5, 2.0]),
    ),
)


@takes(
    x=TENSOR,
    target=either(TENSOR, POSITIONS),
    reduction=TEXT,
    ignore_index=WHOLE,
    weight=optional(TENSOR),
    label_smoothing=NUMBER,
)
def cross_entropy(
    x: Value,
    target: Value,
    reduction: str = "mean",
    ignore_index: int = _IGNORED,
    weight: Value | None = None,
    label_smoothing: float = 0.0,
) -> Any:
    """-log(softmax(x)) at the target classes, or weighted by target probabilities with the shape of x, reduced.

    With label_smoothing, this part of the probability is shared by all classes."""
    if not 0 <= label_smoothing <= 1:
        raise GraphError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    dim = 1 if len(x.shape) > 1 else 0
    logarithms = log_softmax(x, dim)
    if x.shape and np.shape(array_of(target)) == x.shape:
        return _of_probabilities(logarithms, target, reduction, weight, label_smoothing, dim)
    loss = nll_loss(logarithms, target, reduction, ignore_index, weight)
    if not label_smoothing:
        return loss
    classes, valid = _classes(target, tuple(x.shape), ignore_index)
    count = _over_classes(x)
    spread = -sum(logarithms if weight is None else logarithms * _beside_classes(weight, x, dim), dim)
    spread = spread if valid is None else where(valid, spread, 0.0)
    if reduction != "none":
        spread = sum(spread)
    if reduction == "mean":
        rows = classes.size if valid is None else int(np.sum(valid))
        spread = spread / (max(rows, 1) if weight is None else sum(_class_weights(weight, classes, valid, count)))
    return loss * (1 - label_smoothing) + spread * (label_smoothing / count)


def _beside_classes(weight: Value, x: Value, dim: int) -> Any:
    return reshape(weight, (-1, *[1] * (len(x.shape) - dim - 1)))


def _of_probabilities(
    logarithms: Value, target: Value, reduction: str, weight: Value | None, label_smoothing: float, dim: int
) -> Any:
    _check(reduction)
    shape = logarithms.shape
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / shape[dim]
    loss = logarithms * target
    if weight is not None:
        loss = loss * _beside_classes(weight, logarithms, dim)
    if reduction == "none":
        return -sum(loss, dim)
    total = -sum(loss)
    return total if reduction == "sum" else total / max(math.prod(shape[:dim]) * math.prod(shape[dim + 1 :]), 1)


_PROBABILITIES = [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]
describe(
    cross_entropy,
    tensors=("x", "target", "weight"),
    methods=(),
    formula="with respect to x: (softmax(x) - target)/n, where a target class has probability 1",
    samples=(
        (_ROWS, [2, 0]),
        (_X, 1, "sum"),
        (_ROWS, _PROBABILITIES),
        (_ROWS, [[0.2, 0.3, 0.5]] * 2, "none"),
        (_ROWS, [2, 1], "mean", 2, [0.5, 1.5, 2.0], 0.1),
        (_ROWS, [2, 1], "sum", -100, None, 0.3),
        (_ROWS, _PROBABILITIES, "mean", -100, [0.5, 1.5, 2.0], 0.1),
    ),
)
