"""Layers of networks: normalization, attention, embeddings, gates and bilinear forms; similarity and distance of vectors."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.structural import where
from autodiff_cli.autograd.primitives.types import Positions, Shape, Value, array_of
from autodiff_cli.autograd.tensor import Tensor, shared_array, tensor_on
from autodiff_cli.autograd.views_and_versions import mark_changed
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError
from autodiff_cli.limits import check_size
from autodiff_cli.numerics.layers import channel_shape
from autodiff_cli.ops.arrange import repeat_interleave
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.activation import softmax
from autodiff_cli.ops.rules.elementary import rsqrt
from autodiff_cli.ops.rules.layers import batch_normalized, declare
from autodiff_cli.ops.rules.shape import transpose
from autodiff_cli.ops.shape import reshape


def _move_running_statistics(
    running_mean: Value | None, running_var: Value | None, x: Value, blocks: Shape, axes: Shape, momentum: float
) -> None:
    """Move running statistics, if not ``None``, in place towards those of x, reshaped to ``blocks``, over ``axes``."""
    has_any = isinstance(running_mean, Tensor) or isinstance(running_var, Tensor)  # else x may not be an array
    data: Any = np.reshape(array_of(x), blocks) if has_any else None
    channels = blocks[1]
    for running, statistic in ((running_mean, np.mean), (running_var, partial(np.var, ddof=1))):
        if isinstance(running, Tensor):
            values = np.mean(np.reshape(statistic(data, axes), (-1, channels)), 0)  # over the rows that have their own
            mark_changed(running)
            shared_array(running)[...] = (1 - momentum) * np.asarray(running._data) + momentum * values


@declare.described
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
    beside = channel_shape("batch_norm", x.shape, running_mean, running_var, weight, bias)
    axes = tuple(i for i in range(len(x.shape)) if i != 1)
    if training:
        count = math.prod(x.shape[i] for i in axes)
        if count == 1:
            raise ArgumentError(f"Expected more than 1 value per channel when training, got input size torch.Size({list(x.shape)})")
        result = batch_normalized(x, weight, bias, x.shape, axes, beside, eps)
        _move_running_statistics(running_mean, running_var, x, x.shape, axes, momentum)
        return result
    if running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise ShapeError(f"{missing} must be defined in evaluation mode", hint="pass training=True")
    result = (x - reshape(running_mean, beside)) * rsqrt(reshape(running_var, beside) + eps)
    result = result if weight is None else result * reshape(weight, beside)
    return result if bias is None else result + reshape(bias, beside)


@declare.described
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
    """Normalization of each channel of each row over the remaining dimensions; without use_input_stats as batch_norm."""
    if len(x.shape) < 2:
        raise ShapeError(f"instance_norm expects at least 2 dimensions, the second of channels, but got shape {list(x.shape)}")
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, training=False, momentum=momentum, eps=eps)
    beside = channel_shape("instance_norm", x.shape, running_mean, running_var, weight, bias)
    rows, channels, *lengths = x.shape
    if math.prod(lengths) == 1:
        raise ArgumentError(f"Expected more than 1 spatial element when training, got input size torch.Size({list(x.shape)})")
    blocks = (rows, channels, math.prod(lengths))
    _move_running_statistics(running_mean, running_var, x, blocks, (2,), momentum)
    return batch_normalized(x, weight, bias, blocks, (2,), beside, eps)


@declare.described
def one_hot(x: Positions, num_classes: int = -1) -> Any:
    """Rows with a 1 at each position of x and 0 elsewhere; by default (-1), the last class is the largest position."""
    if not x.size and num_classes < 0:
        raise GraphError("Can not infer total number of classes from empty tensor.", hint="give num_classes")
    if np.any(x < 0):
        raise GraphError("Class values must be non-negative.")
    count = int(x.max()) + 1 if num_classes == -1 else num_classes
    if num_classes < -1 or (num_classes == 0 and not x.size):
        raise GraphError("num_classes should be positive")
    if np.any(x >= count):
        raise GraphError("Class values must be smaller than num_classes.")
    check_size((*x.shape, count))
    return tensor_on((x[..., np.newaxis] == np.arange(count)).astype(np.int64))


def _allowed_pairs(attn_mask: Value | None, is_causal: bool, rows: int, columns: int) -> Any:
    """Return the mask of the pairs (query, key) that take part; ``None`` if all do, or ``attn_mask`` has numbers to be added."""
    if is_causal:
        if attn_mask is not None:
            raise GraphError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        return np.tri(rows, columns, dtype=np.bool_)
    if attn_mask is None:
        return None
    kind = np.asarray(array_of(attn_mask)).dtype.kind
    if kind == "i":
        raise DtypeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: long int")
    return attn_mask if kind == "b" else None


@declare.described
def scaled_dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(scale*query @ key.mT + attn_mask) @ value; scale is 1/sqrt(d) for rows of length d.

    A mask of booleans excludes the pairs that are false, and is_causal excludes keys after the query.  A row without any pair
    gives 0."""
    weights = attention_weights(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    return matmul(weights, repeated_heads(value, query) if enable_gqa else value)


def repeated_heads(value: Value, query: Value) -> Any:
    """Return keys or values with each head repeated, as often as heads of the query share it (grouped query attention)."""
    return repeat_interleave(value, np.array(query.shape[-3] // value.shape[-3]), -3)


def attention_weights(
    query: Value, key: Value, value: Value, attn_mask: Value | None, is_causal: bool, scale: float | None, enable_gqa: bool
) -> Any:
    """Return the weights of the rows of ``value``, 0 for a query without any pair; see ``scaled_dot_product_attention``."""
    sizes = [len(part.shape) for part in (query, key, value)]
    if min(sizes) < 2:
        raise ShapeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {sizes[0]} key.dim: {sizes[1]} and value.dim: {sizes[2]} instead."
        )
    if enable_gqa:
        if min(sizes) < 3 or query.shape[-3] % key.shape[-3]:
            raise ShapeError("Number of heads in key and value must divide the number of heads in query")
        key = repeated_heads(key, query)
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    scores = matmul(query * factor, transpose(key, -2, -1))
    allowed = _allowed_pairs(attn_mask, is_causal, *scores.shape[-2:])
    if allowed is None:
        if attn_mask is None:
            return softmax(scores, -1)
        scores = scores + attn_mask
        known = type(scores) is Tensor or isinstance(scores, np.ndarray)  # a trace does not know which rows have a pair
        has_pair = np.any(array_of(scores) > -math.inf, -1, keepdims=True) if known else np.True_
    else:
        has_pair = np.any(np.asarray(array_of(allowed)), -1, keepdims=True)
        scores = where(allowed, scores, -math.inf)
    if np.all(has_pair):
        return softmax(scores, -1)
    return where(has_pair, softmax(where(has_pair, scores, 0.0), -1), 0.0)  # 0 in the rows without any pair
