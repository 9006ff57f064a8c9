"""Normalization: of layers, groups, batches and instances, by the root mean square, and by a norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.memory import mark_changed
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSIONS, FLAG, NUMBER, TENSOR, WHOLE, WHOLES, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Number, Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor, shared_array
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.ops.comparison import clamp
from autodiff_cli.ops.norms import vector_norm
from autodiff_cli.ops.reduce import mean, sum
from autodiff_cli.ops.rules.elementary import rsqrt, square
from autodiff_cli.ops.shape import reshape

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "normalize", "rms_norm"]

declare = Declarations(__name__)

# In the next functions, x is first brought into the shape ``blocks``, and each of its blocks along ``axes`` is standardized to
# the mean 0 and the variance 1.  The weight and the bias then apply in the shape ``beside``, which broadcasts with x.


def _standardized(x: Value, axes: Shape, eps: float) -> tuple[Any, Any]:
    """Return the standardized blocks and the reciprocals of their deviations."""
    centered = x - mean(x, axes, True)
    scale = rsqrt(mean(square(centered), axes, True) + eps)
    return centered * scale, scale


def _normalized(
    x: Value, weight: Value | Number, bias: Value | Number, blocks: Shape, axes: Shape, beside: Shape, eps: float
) -> Any:
    standard, _ = _standardized(reshape(x, blocks), axes, eps)
    return _beside(weight, beside) * reshape(standard, x.shape) + _beside(bias, beside)


def _beside(value: Value | Number, shape: Shape) -> Any:
    return value if isinstance(value, (int, float)) or not value.shape else reshape(value, shape)


def _own(g: Value, shape: Shape, beside: Shape) -> Any:
    """Sum a cotangent over the dimensions along which a weight was broadcast."""
    if not shape:
        return sum(g)
    ahead = len(g.shape) - len(beside)
    dims = (*range(ahead), *(ahead + i for i, length in enumerate(beside) if length == 1))
    return reshape(sum(g, dims), shape) if dims else reshape(g, shape)


def _x_vjp(g: Value, x: Value, weight: Value, blocks: Shape, axes: Shape, beside: Shape, eps: float) -> Any:
    standard, scale = _standardized(reshape(x, blocks), axes, eps)
    inner = reshape(g * _beside(weight, beside), blocks)
    # The cotangent minus its projections on the mean and on the deviation, which do not depend on x.
    outer = inner - mean(inner, axes, True) - standard * mean(inner * standard, axes, True)
    return reshape(outer * scale, x.shape)


def _weight_vjp(g: Value, x: Value, weight_shape: Shape, blocks: Shape, axes: Shape, beside: Shape, eps: float) -> Any:
    standard, _ = _standardized(reshape(x, blocks), axes, eps)
    return _own(g * reshape(standard, x.shape), weight_shape, beside)


def _normalization(name: str) -> TensorFunction:
    """Declare a normalization with the node of PyTorch's ``native`` function of this name."""
    fused = declare(
        f"native_{name}",
        _normalized,
        {
            "x": _x_vjp,
            "weight": _weight_vjp,
            "bias": lambda g, bias_shape, beside: _own(g, bias_shape, beside),
        },
        statics={"blocks": (), "axes": (), "beside": (), "eps": 1e-5},
        public=False,
    )

    def function(
        x: Value, weight: Value | None, bias: Value | None, blocks: Sequence[int], axes: Shape, beside: Sequence[int], eps: float
    ) -> Any:
        factor, term = 1.0 if weight is None else weight, 0.0 if bias is None else bias
        plain = not any(isinstance(value, Tensor) and type(value) is not Tensor for value in (x, factor, term))
        return (fused if plain else _normalized)(x, factor, term, tuple(blocks), axes, tuple(beside), eps)

    return function


_layer, _group, _batch = _normalization("layer_norm"), _normalization("group_norm"), _normalization("batch_norm")

_KINDS = {"x": TENSOR, "weight": optional(TENSOR), "bias": optional(TENSOR), "eps": NUMBER}
_X = [[0.5, -1.0, 2.0, 0.3], [0.1, 0.7, -1.5, 1.45]]
_WEIGHT, _BIAS = [1.5, 0.5, -1.0, 2.0], [0.1, -0.2, 0.3, 0.4]


def _lengths(name: str, x: Value, normalized_shape: Wholes) -> Shape:
    shape = tuple(normalized_shape) if isinstance(normalized_shape, (list, tuple)) else (normalized_shape,)
    if not shape:
        raise ShapeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
            "but got normalized_shape = []"
        )
    if tuple(x.shape[-len(shape) :]) != shape or len(x.shape) < len(shape):
        wanted = ", ".join(["*", *map(str, shape)]) if name == "layer_norm" else f"*{', '.join(map(str, shape))}"
        raise ShapeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{wanted}], but got input of size{list(x.shape)}"
        )
    return shape


def _check_like(what: str, value: Value | None, shape: Shape) -> None:
    if value is not None and tuple(value.shape) != shape:
        raise ShapeError(
            f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape {list(value.shape)} "
            f"and normalized_shape = {list(shape)}"
        )


@takes(normalized_shape=WHOLES, **_KINDS)
def layer_norm(
    x: Value, normalized_shape: Wholes, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5
) -> Any:
    """(x - mean)/sqrt(variance + eps)*weight + bias over the last dimensions, which have the lengths normalized_shape."""
    shape = _lengths("layer_norm", x, normalized_shape)
    _check_like("weight", weight, shape)
    _check_like("bias", bias, shape)
    return _layer(x, weight, bias, x.shape, tuple(range(-len(shape), 0)), shape, eps)


_FORMULA = "weight*(g - mean(g) - y*mean(g*y))/sqrt(variance + eps) with the standardized y, for equal weights"

describe(
    layer_norm,
    tensors=("x", "weight", "bias"),
    methods=(),
    formula=_FORMULA,
    samples=(
        (_X, 4),
        (_X, [2, 4]),
        (_X, [4], _WEIGHT, _BIAS),
        (_X, [4], _WEIGHT, None, 0.1),
        ([0.5, -1.0, 2.0], 3),
    ),
)


def _machine_epsilon(x: Value) -> float:
    return float(
        np.finfo(np.float32 if getattr(x._data if isinstance(x, Tensor) else x, "dtype", None) == np.float32 else float).eps
    )


@takes(x=TENSOR, normalized_shape=WHOLES, weight=optional(TENSOR), eps=optional(NUMBER))
def rms_norm(x: Value, normalized_shape: Wholes, weight: Value | None = None, eps: float | None = None) -> Any:
    """x/sqrt(mean(x**2) + eps)*weight over the last dimensions; by default, eps is the distance from 1 to the next float."""
    shape = _lengths("rms_norm", x, normalized_shape)
    _check_like("weight", weight, shape)
    dims = tuple(range(-len(shape), 0))
    made = x * rsqrt(mean(square(x), dims, True) + (_machine_epsilon(x) if eps is None else eps))
    return made if weight is None else made * weight


describe(
    rms_norm,
    tensors=("x", "weight"),
    methods=(),
    formula="(g - y*mean(g*y))/sqrt(mean(x**2) + eps) with y = rms_norm(x)",
    samples=((_X, 4), (_X, [2, 4]), (_X, [4], _WEIGHT), (_X, [4], _WEIGHT, 0.1)),
)


@takes(num_groups=WHOLE, **_KINDS)
def group_norm(x: Value, num_groups: int, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5) -> Any:
    """Normalization over groups of the channels of each row; channels are the second dimension."""
    if len(x.shape) < 2:
        raise ShapeError(f"Expected at least 2 dimensions for input tensor but received {len(x.shape)}")
    if num_groups <= 0:
        raise ShapeError(f"Expected num groups to be greater than 0, got {num_groups}")
    rows, channels = x.shape[:2]
    if channels % num_groups:
        raise ShapeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(x.shape)} "
            f"and num_groups={num_groups}"
        )
    beside = _of_channels("group_norm", x, weight, bias)
    return _group(x, weight, bias, (rows, num_groups, math.prod(x.shape[1:]) // num_groups), (2,), beside, eps)


def _of_channels(name: str, x: Value, *values: Value | None) -> Shape:
    """Return the shape of one number for each channel beside x, after a check of the lengths of the values."""
    channels = x.shape[1]
    for value in values:
        if value is not None and tuple(value.shape) != (channels,):
            raise ShapeError(f"{name} needs one number for each of the {channels} channels, but got shape {list(value.shape)}")
    return (channels, *[1] * (len(x.shape) - 2))


_IMAGES = [[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.2, 0.4, -0.3], [0.9, -0.8, 0.6]]]
describe(
    group_norm,
    tensors=("x", "weight", "bias"),
    methods=(),
    formula=_FORMULA,
    samples=((_X, 2), (_X, 2, _WEIGHT, _BIAS), (_IMAGES, 1, [1.5, 0.5])),
)


def _follow(running: Value | None, values: Value, momentum: float) -> None:
    """Move running statistics towards new values in place; they are not part of the graph."""
    if isinstance(running, Tensor):
        data = np.asarray(values._data if isinstance(values, Tensor) else values)
        mark_changed(running)
        shared_array(running)[...] = (1 - momentum) * np.asarray(running._data) + momentum * data.reshape(running._data.shape)


@takes(running_mean=optional(TENSOR), running_var=optional(TENSOR), training=FLAG, momentum=NUMBER, **_KINDS)
def batch_norm(
    x: Value,
    running_mean: Value | None = None,
    running_var: Value | None = None,
    weight: Value | None = None,
    bias: Value | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalization of each channel over all rows: by running statistics, or with training by its mean and variance.

    With training, the running statistics are moved towards the new ones in place."""
    if len(x.shape) < 2:
        raise ShapeError(f"batch_norm expects at least 2 dimensions, the second of channels, but got shape {list(x.shape)}")
    beside = _of_channels("batch_norm", x, running_mean, running_var, weight, bias)
    axes = tuple(i for i in range(len(x.shape)) if i != 1)
    if training:
        count = math.prod(x.shape[i] for i in axes)
        if count == 1:
            raise ArgumentError(f"Expected more than 1 value per channel when training, got input size torch.Size({list(x.shape)})")
        made = _batch(x, weight, bias, x.shape, axes, beside, eps)
        if isinstance(running_mean, Tensor) or isinstance(running_var, Tensor):
            data = x._data if isinstance(x, Tensor) else x
            _follow(running_mean, np.mean(data, axes), momentum)
            _follow(running_var, np.var(data, axes, ddof=1), momentum)
        return made
    if running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise ShapeError(f"{missing} must be defined in evaluation mode", hint="pass training=True")
    made = (x - reshape(running_mean, beside)) * rsqrt(reshape(running_var, beside) + eps)
    made = made if weight is None else made * reshape(weight, beside)
    return made if bias is None else made + reshape(bias, beside)


describe(
    batch_norm,
    tensors=("x", "running_mean", "running_var", "weight", "bias"),
    methods=(),
    formula=_FORMULA,
    samples=(
        (_X, [0.1, 0.2, -0.3, 0.4], [1.0, 0.5, 2.0, 1.5]),
        (_X, [0.1, 0.2, -0.3, 0.4], [1.0, 0.5, 2.0, 1.5], _WEIGHT, _BIAS),
        (_IMAGES, None, None, [1.5, 0.5], [0.1, -0.2], True),
        (_IMAGES, None, None, None, None, True, 0.1, 0.01),
    ),
)


@takes(running_mean=optional(TENSOR), running_var=optional(TENSOR), use_input_stats=FLAG, momentum=NUMBER, **_KINDS)
def instance_norm(
    x: Value,
    running_mean: Value | None = None,
    running_var: Value | None = None,
    weight: Value | None = None,
    bias: Value | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalization of each channel of each row over the remaining dimensions; otherwise as batch_norm."""
    if len(x.shape) < 2:
        raise ShapeError(f"instance_norm expects at least 2 dimensions, the second of channels, but got shape {list(x.shape)}")
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    beside = _of_channels("instance_norm", x, running_mean, running_var, weight, bias)
    rows, channels, *lengths = x.shape
    if math.prod(lengths) == 1:
        raise ArgumentError(f"Expected more than 1 spatial element when training, got input size torch.Size({list(x.shape)})")
    made = _batch(x, weight, bias, (rows, channels, math.prod(lengths)), (2,), beside, eps)
    if isinstance(running_mean, Tensor) or isinstance(running_var, Tensor):
        data = np.reshape(x._data if isinstance(x, Tensor) else x, (rows, channels, -1))
        _follow(running_mean, np.mean(data, (0, 2)), momentum)
        _follow(running_var, np.mean(np.var(data, 2, ddof=1), 0), momentum)
    return made


describe(
    instance_norm,
    tensors=("x", "running_mean", "running_var", "weight", "bias"),
    methods=(),
    formula=_FORMULA,
    samples=((_IMAGES,), (_IMAGES, None, None, [1.5, 0.5], [0.1, -0.2])),
)


@takes(x=TENSOR, p=NUMBER, dim=DIMENSIONS, eps=NUMBER)
def normalize(x: Value, p: float = 2.0, dim: Wholes = 1, eps: float = 1e-12) -> Any:
    """x divided by its p-norm along dim, which is raised to at least eps."""
    return x / clamp(vector_norm(x, p, dim, True), eps)


describe(
    normalize,
    methods=(),
    formula="(g - y*sum(g*y))/norm(x) with y = normalize(x), for p = 2",
    smooth="the norm is not 0",
    convention="where the norm is 0, the derivative is 1/eps (PyTorch)",
    kink=lambda x, dim: np.any(np.all(x == 0, axis=_axes(x, dim))),
    samples=((_X,), (_X, 2.0, 0), (_X, 3.0, -1), ([0.5, -1.0, 2.0], 2.0, 0)),
    edges=(([[0.0, 0.0]],),),
)


def _axes(x: Array, dim: Wholes) -> Any:
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim
