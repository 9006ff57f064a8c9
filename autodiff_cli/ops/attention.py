"""Attention, gates, embeddings, bilinear forms, and the similarity and distance of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.structural import where
from autodiff_cli.autograd.primitives.types import Positions, Value, array_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError
from autodiff_cli.limits import check_size
from autodiff_cli.numerics.activation import half_along
from autodiff_cli.ops.arrange import repeat_interleave
from autodiff_cli.ops.contract import einsum
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.positions import index_select
from autodiff_cli.ops.rules.activation import prelu_kernel, sigmoid, softmax
from autodiff_cli.ops.rules.attention import described, embedding_rows, gated
from autodiff_cli.ops.rules.norms import vector_norm
from autodiff_cli.ops.rules.shape import transpose
from autodiff_cli.ops.shape import reshape
from autodiff_cli.ops.views import narrow

__all__ = ["bilinear", "embedding", "glu", "one_hot", "pdist", "prelu", "scaled_dot_product_attention"]


@described
def embedding(x: Positions, weight: Value, padding_idx: int | None = None) -> Any:
    if padding_idx is not None:
        count = weight.shape[0] if weight.shape else 0
        if not -count <= padding_idx < count:
            raise ArgumentError("Padding_idx must be within num_embeddings")
        padding_idx %= count
    return embedding_rows(weight, x, padding_idx)


@described
def one_hot(x: Positions, num_classes: int = -1) -> Any:
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


def _allowed(attn_mask: Value | None, is_causal: bool, rows: int, columns: int) -> Any:
    """Return the mask of the pairs that take part; ``None`` if all do, or if the mask is a number for each pair."""
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


@described
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
    return matmul(weights, _repeated(value, query) if enable_gqa else value)


def _repeated(value: Value, query: Value) -> Any:
    return repeat_interleave(value, np.array(query.shape[-3] // value.shape[-3]), -3)


def attention_weights(
    query: Value, key: Value, value: Value, attn_mask: Value | None, is_causal: bool, scale: float | None, enable_gqa: bool
) -> Any:
    """Return the weights of the rows of ``value``; see ``scaled_dot_product_attention``."""
    sizes = [len(part.shape) for part in (query, key, value)]
    if min(sizes) < 2:
        raise ShapeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {sizes[0]} key.dim: {sizes[1]} and value.dim: {sizes[2]} instead."
        )
    if enable_gqa:
        if min(sizes) < 3 or query.shape[-3] % key.shape[-3]:
            raise ShapeError("Number of heads in key and value must divide the number of heads in query")
        key = _repeated(key, query)
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    scores = matmul(query * factor, transpose(key, -2, -1))
    allowed = _allowed(attn_mask, is_causal, *scores.shape[-2:])
    if allowed is None:
        if attn_mask is None:
            return softmax(scores, -1)
        scores = scores + attn_mask
        allowed = array_of(scores) > -math.inf if type(scores) is Tensor or isinstance(scores, np.ndarray) else None
        return softmax(scores, -1) if allowed is None or np.all(np.any(allowed, -1)) else _safe(scores, np.any(allowed, -1))
    some = np.any(np.asarray(array_of(allowed)), -1)
    scores = where(allowed, scores, -math.inf)
    return softmax(scores, -1) if np.all(some) else _safe(scores, some)


def _safe(scores: Value, some: Array) -> Any:
    """Return the softmax of scores, and 0 in the rows without any pair."""
    taken = some[..., np.newaxis]
    return where(taken, softmax(where(taken, scores, 0.0), -1), 0.0)


@described
def pdist(x: Value, p: float = 2.0) -> Any:
    if len(x.shape) != 2:
        raise ShapeError(f"pdist only supports 2D tensors, got: {len(x.shape)}D")
    if p < 0:
        raise GraphError("pdist only supports non-negative p values")
    first, second = np.triu_indices(x.shape[0], 1)
    return vector_norm(index_select(x, 0, first) - index_select(x, 0, second), p, 1)


@described
def bilinear(x1: Value, x2: Value, weight: Value, bias: Value | None = None) -> Any:
    if len(weight.shape) != 3:
        raise ShapeError(f"bilinear(): weight must have 3 dimensions, but its shape is {list(weight.shape)}")
    for i, x in ((1, x1), (2, x2)):
        if not x.shape or x.shape[-1] != weight.shape[i]:
            got = x.shape[-1] if x.shape else 0
            raise ShapeError(f"bilinear(): input{i} size does not match weight size: got {got} but expected {weight.shape[i]}")
    result = einsum("...i,kij,...j->...k", x1, weight, x2)
    return result if bias is None else result + bias


# Gates, and functions with a learned slope.


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
