"""Attention, embeddings, bilinear forms, and the similarity and distance of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import (
    DIMENSION,
    FLAG,
    NUMBER,
    POSITIONS,
    TENSOR,
    WHOLE,
    optional,
    takes,
)
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import unindexed
from autodiff_cli.autograd.primitives.types import Positions, Shape, Value, array_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, IndexOutOfRange, ShapeError
from autodiff_cli.limits import check_size
from autodiff_cli.ops.arrange import repeat_interleave
from autodiff_cli.ops.comparison import clamp, where
from autodiff_cli.ops.contract import einsum
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.norms import vector_norm
from autodiff_cli.ops.positions import index_select
from autodiff_cli.ops.reduce import sum
from autodiff_cli.ops.rules.activation import softmax
from autodiff_cli.ops.shape import transpose

__all__ = [
    "bilinear",
    "cosine_similarity",
    "embedding",
    "one_hot",
    "pairwise_distance",
    "pdist",
    "scaled_dot_product_attention",
]

declare = Declarations(__name__)

_ROWS = [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]
_OTHERS = [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4]]


def _rows(weight: Array, x: Positions, padding_idx: int | None) -> Any:
    if len(weight.shape) != 2:
        raise ShapeError(f"'weight' must be 2-D, but its shape is {list(weight.shape)}")
    if np.any((x < 0) | (x >= len(weight))):
        raise IndexOutOfRange("index out of range in self", hint=f"the positions of {len(weight)} rows are 0 to {len(weight) - 1}")
    return weight[x]


def _rows_vjp(g: Value, weight_shape: Shape, x: Positions, padding_idx: int | None) -> Any:
    if padding_idx is not None:
        g = where((x == padding_idx)[..., np.newaxis], 0.0, g)
    return unindexed(g, weight_shape, (x,))


_embedding = declare(
    "embedding",
    _rows,
    {"weight": _rows_vjp},
    statics={"x": None, "padding_idx": None},
    series="linear",
    public=False,
)


@takes(x=POSITIONS, weight=TENSOR, padding_idx=optional(WHOLE))
def embedding(x: Positions, weight: Value, padding_idx: int | None = None) -> Any:
    """Rows of the matrix weight at the positions x; the row padding_idx has the derivative 0."""
    if padding_idx is not None:
        count = weight.shape[0] if weight.shape else 0
        if not -count <= padding_idx < count:
            raise ArgumentError("Padding_idx must be within num_embeddings")
        padding_idx %= count
    return _embedding(weight, x, padding_idx)


describe(
    embedding,
    tensors=("weight",),
    kinds={"x": POSITIONS, "padding_idx": optional(WHOLE)},
    methods=(),
    formula="the number of times that each row is taken",
    samples=(([1, 0, 1], _ROWS), ([[0, 1], [1, 1]], _ROWS), (1, _ROWS)),
)


@takes(x=POSITIONS, num_classes=WHOLE)
def one_hot(x: Positions, num_classes: int = -1) -> Any:
    """Rows with a 1 at each position of x and 0 elsewhere; by default, the last class is the largest position."""
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


describe(one_hot, tensors=(), methods=())


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


@takes(
    query=TENSOR,
    key=TENSOR,
    value=TENSOR,
    attn_mask=optional(TENSOR),
    is_causal=FLAG,
    scale=optional(NUMBER),
    enable_gqa=FLAG,
)
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


_KEYS = [[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]]
describe(
    scaled_dot_product_attention,
    tensors=("query", "key", "value", "attn_mask"),
    methods=(),
    formula="weights.mT @ g for value; through softmax for query and key",
    samples=(
        (_ROWS, _KEYS, [[1.0, 2.0], [0.5, -1.0], [0.2, 0.3]]),
        (_KEYS, _KEYS, _KEYS, None, True),
        (_ROWS, _OTHERS, _OTHERS, [[0.0, -1.0], [0.5, 0.2]]),
        (_ROWS, _OTHERS, _OTHERS, None, False, 0.3),
    ),
)


@takes(x1=TENSOR, x2=TENSOR, dim=DIMENSION, eps=NUMBER)
def cosine_similarity(x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Any:
    """Cosine of the angle between x1 and x2 along dim; each norm is raised to at least eps."""
    first, second = (clamp(vector_norm(x, 2.0, dim, True), eps) for x in (x1, x2))
    return sum((x1 / first) * (x2 / second), dim)


def _some_zero(x1: Array, x2: Array, dim: int) -> Any:
    return np.any([np.any(np.all(x == 0, axis=dim if np.ndim(x) else None)) for x in (x1, x2)])


describe(
    cosine_similarity,
    methods=(),
    formula="(u2 - c*u1)/norm(x1) with the unit vectors u1, u2 and their cosine c",
    smooth="no norm is 0",
    convention="where a norm is 0, it is replaced by eps, and its own derivative is 0 (PyTorch)",
    kink=_some_zero,
    samples=((_ROWS, _OTHERS), (_ROWS, _OTHERS, 0), ([0.5, -1.0], [2.0, 0.1], 0)),
    edges=(([[0.0, 0.0]], [[1.0, 2.0]]),),
)


@takes(x1=TENSOR, x2=TENSOR, p=NUMBER, eps=NUMBER, keepdim=FLAG)
def pairwise_distance(x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """p-norm of x1 - x2 + eps along the last dimension."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


describe(
    pairwise_distance,
    methods=(),
    formula="(x1 - x2)/d, and its negative, for p = 2",
    samples=((_ROWS, _OTHERS), (_ROWS, _OTHERS, 3.0), (_ROWS, _OTHERS, 1.0, 1e-6, True), ([0.5, -1.0], [2.0, 0.1])),
)


@takes(x=TENSOR, p=NUMBER)
def pdist(x: Value, p: float = 2.0) -> Any:
    """p-norm of the difference of each two rows of a matrix, in the order (0, 1), (0, 2), ..., (1, 2), ..."""
    if len(x.shape) != 2:
        raise ShapeError(f"pdist only supports 2D tensors, got: {len(x.shape)}D")
    if p < 0:
        raise GraphError("pdist only supports non-negative p values")
    first, second = np.triu_indices(x.shape[0], 1)
    return vector_norm(index_select(x, 0, first) - index_select(x, 0, second), p, 1)


describe(
    pdist,
    methods=(),
    formula="(x[i] - x[j])/d for x[i], and its negative for x[j], for p = 2",
    smooth="no two rows are equal",
    convention="the derivative of a distance that is 0 is 0 (PyTorch)",
    kink=lambda x: len(np.unique(x, axis=0)) < len(x),
    samples=((_KEYS,), (_KEYS, 3.0), (_KEYS, 1.0)),
    edges=(([[1.0, 2.0], [1.0, 2.0]],),),
)


@takes(x1=TENSOR, x2=TENSOR, weight=TENSOR, bias=optional(TENSOR))
def bilinear(x1: Value, x2: Value, weight: Value, bias: Value | None = None) -> Any:
    """x1 @ weight[k] @ x2 for each k, plus bias[k]."""
    if len(weight.shape) != 3:
        raise ShapeError(f"bilinear(): weight must have 3 dimensions, but its shape is {list(weight.shape)}")
    for i, x in ((1, x1), (2, x2)):
        if not x.shape or x.shape[-1] != weight.shape[i]:
            got = x.shape[-1] if x.shape else 0
            raise ShapeError(f"bilinear(): input{i} size does not match weight size: got {got} but expected {weight.shape[i]}")
    made = einsum("...i,kij,...j->...k", x1, weight, x2)
    return made if bias is None else made + bias


describe(
    bilinear,
    tensors=("x1", "x2", "weight", "bias"),
    methods=(),
    formula="weight[k] @ x2, x1 @ weight[k], outer(x1, x2), 1",
    samples=(
        ([0.5, -1.0], [2.0, 0.1, 0.4], [[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]]]),
        (_ROWS, _OTHERS, [[[0.3, 0.8, -0.2], [1.1, -0.6, 0.4], [-0.7, 0.2, 0.9]]], [0.5]),
    ),
)
