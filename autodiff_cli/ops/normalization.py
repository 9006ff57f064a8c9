"""Normalization: of layers, groups, batches and instances, by the root mean square, and by a norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.memory import mark_changed
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.types import Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor, shared_array
from autodiff_cli.errors import ArgumentError, ShapeError
from autodiff_cli.ops.rules.elementary import rsqrt, square
from autodiff_cli.ops.rules.normalization import described, native_batch_norm, native_group_norm, native_layer_norm, normalized
from autodiff_cli.ops.rules.reduce import mean
from autodiff_cli.ops.shape import reshape

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]


def _applied(
    fused: TensorFunction,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    blocks: Sequence[int],
    axes: Shape,
    beside: Sequence[int],
    eps: float,
) -> Any:
    """Apply a normalization; inside transformations, as a composition."""
    factor, term = 1.0 if weight is None else weight, 0.0 if bias is None else bias
    plain = not any(isinstance(value, Tensor) and type(value) is not Tensor for value in (x, factor, term))
    return (fused if plain else normalized)(x, factor, term, tuple(blocks), axes, tuple(beside), eps)


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


@described
def layer_norm(
    x: Value, normalized_shape: Wholes, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5
) -> Any:
    shape = _lengths("layer_norm", x, normalized_shape)
    _check_like("weight", weight, shape)
    _check_like("bias", bias, shape)
    return _applied(native_layer_norm, x, weight, bias, x.shape, tuple(range(-len(shape), 0)), shape, eps)


def _machine_epsilon(x: Value) -> float:
    return float(
        np.finfo(np.float32 if getattr(x._data if isinstance(x, Tensor) else x, "dtype", None) == np.float32 else float).eps
    )


@described
def rms_norm(x: Value, normalized_shape: Wholes, weight: Value | None = None, eps: float | None = None) -> Any:
    shape = _lengths("rms_norm", x, normalized_shape)
    _check_like("weight", weight, shape)
    dims = tuple(range(-len(shape), 0))
    result = x * rsqrt(mean(square(x), dims, True) + (_machine_epsilon(x) if eps is None else eps))
    return result if weight is None else result * weight


@described
def group_norm(x: Value, num_groups: int, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5) -> Any:
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
    return _applied(native_group_norm, x, weight, bias, (rows, num_groups, math.prod(x.shape[1:]) // num_groups), (2,), beside, eps)


def _of_channels(name: str, x: Value, *values: Value | None) -> Shape:
    """Return the shape of one number for each channel beside x, after a check of the lengths of the values."""
    channels = x.shape[1]
    for value in values:
        if value is not None and tuple(value.shape) != (channels,):
            raise ShapeError(f"{name} needs one number for each of the {channels} channels, but got shape {list(value.shape)}")
    return (channels, *[1] * (len(x.shape) - 2))


def _follow(running: Value | None, values: Value, momentum: float) -> None:
    """Move running statistics towards new values in place; they are not part of the graph."""
    if isinstance(running, Tensor):
        data = np.asarray(values._data if isinstance(values, Tensor) else values)
        mark_changed(running)
        shared_array(running)[...] = (1 - momentum) * np.asarray(running._data) + momentum * data.reshape(running._data.shape)


@described
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
        result = _applied(native_batch_norm, x, weight, bias, x.shape, axes, beside, eps)
        if isinstance(running_mean, Tensor) or isinstance(running_var, Tensor):
            data = x._data if isinstance(x, Tensor) else x
            _follow(running_mean, np.mean(data, axes), momentum)
            _follow(running_var, np.var(data, axes, ddof=1), momentum)
        return result
    if running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise ShapeError(f"{missing} must be defined in evaluation mode", hint="pass training=True")
    result = (x - reshape(running_mean, beside)) * rsqrt(reshape(running_var, beside) + eps)
    result = result if weight is None else result * reshape(weight, beside)
    return result if bias is None else result + reshape(bias, beside)


@described
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
    if len(x.shape) < 2:
        raise ShapeError(f"instance_norm expects at least 2 dimensions, the second of channels, but got shape {list(x.shape)}")
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    beside = _of_channels("instance_norm", x, running_mean, running_var, weight, bias)
    rows, channels, *lengths = x.shape
    if math.prod(lengths) == 1:
        raise ArgumentError(f"Expected more than 1 spatial element when training, got input size torch.Size({list(x.shape)})")
    result = _applied(native_batch_norm, x, weight, bias, (rows, channels, math.prod(lengths)), (2,), beside, eps)
    if isinstance(running_mean, Tensor) or isinstance(running_var, Tensor):
        data = np.reshape(x._data if isinstance(x, Tensor) else x, (rows, channels, -1))
        _follow(running_mean, np.mean(data, (0, 2)), momentum)
        _follow(running_var, np.mean(np.var(data, 2, ddof=1), 0), momentum)
    return result
