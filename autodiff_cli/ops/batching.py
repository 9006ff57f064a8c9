"""The batch rules of operations on shapes, positions and matrices, for which ``vmap`` cannot derive a rule.

A rule gets the function without the batch, the batch, and the arguments of one call; it returns an array or tensor whose first
dimension numbers the examples.  ``physical`` is such a tensor, whereas the shape of a batched argument is that of one example.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import expanded, reshaped
from autodiff_cli.autograd.primitives.types import Operand, Positions, Shape
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.autograd.transforms.batch_rules import RULES, after_batch, aligned, broadcasting, rule
from autodiff_cli.autograd.transforms.batched import Batch, Batched
from autodiff_cli.numerics.matrices import is_vector
from autodiff_cli.ops.linalg import matmul
from autodiff_cli.ops.rules.reduce import mean, sum
from autodiff_cli.ops.rules.shape import transpose, unsqueeze

RULES.update(dict.fromkeys(("alias", "clone", "fill", "zero", "tril", "triu", "pad"), broadcasting()))
RULES.update(dict.fromkeys(("inv", "cholesky", "pinv", "matrix_exp", "det", "cofactors"), broadcasting()))
RULES["copy"] = broadcasting(2)


@rule("permute")
def _permute(function: TensorFunction, batch: Batch, x: Batched, dims: Shape) -> Any:
    """Permute the dimensions after that of the batch."""
    if len(dims) != len(x.shape):
        function(np.broadcast_to(np.zeros(()), x.shape), dims)  # raises the error for one example
    return function(x.physical, (0, *after_batch(tuple(dims), len(x.shape))))


@rule("t")
def _t(function: TensorFunction, batch: Batch, x: Batched) -> Any:
    """Transpose the matrices of a batch; a batch of vectors or numbers is unchanged."""
    if len(x.shape) > 2:
        function(np.broadcast_to(np.zeros(()), x.shape))  # raises the error for one example
    return transpose(x.physical, 1, 2) if len(x.shape) == 2 else function(x.physical)


@rule("unsqueeze")
def _unsqueeze(function: TensorFunction, batch: Batch, x: Batched, dim: int) -> Any:
    return function(x.physical, after_batch(dim, len(x.shape) + 1))


@rule("diag_embed")
def _diag_embed(function: TensorFunction, batch: Batch, x: Batched, offset: int, dim1: int, dim2: int) -> Any:
    ndim = len(x.shape) + 1
    return function(x.physical, offset, after_batch(dim1, ndim), after_batch(dim2, ndim))


@rule("squeeze")
def _squeeze(function: TensorFunction, batch: Batch, x: Batched, *dim: Any) -> Any:
    """Remove one dimension after that of the batch, or all that have length 1; numbers are unchanged."""
    if dim and x.shape:
        return function(x.physical, after_batch(dim[0], len(x.shape)))
    return reshaped(x.physical, (batch.size, *(n for n in x.shape if n != 1 or dim)))


@rule("cat")
def _cat(function: TensorFunction, batch: Batch, tensors: Sequence[Tensor], dim: int) -> Any:
    return function([batch.lift(x) for x in tensors], after_batch(dim, len(tensors[0].shape)))


# Positions and masks.  Positions are plain arrays here; positions that differ by example are applied example by example.


@rule("gather")
def _gather(function: TensorFunction, batch: Batch, x: Batched, dim: int, index: Positions) -> Any:
    """Gather at positions that all examples share."""
    if not x.shape:
        return expanded(batch.physical(x, index.ndim), (batch.size, *index.shape))
    return function(x.physical, dim + 1, np.broadcast_to(index, (batch.size, *index.shape)))


@rule("scatter_add")
def _scatter_add(function: TensorFunction, batch: Batch, x: Tensor, *rest: Any) -> Any:
    """Add at positions that all examples share."""
    if not isinstance(rest[0], tuple):  # a call of the function itself: example by example
        return batch.loop(function, (x, *rest)).physical
    shape, dim, index = rest  # the derivative of gather
    if not shape:
        return reshaped(sum(reshaped(batch.lift(x), (batch.size, -1)), 1), (batch.size,))
    return function(batch.lift(x), (batch.size, *shape), dim + 1, np.broadcast_to(index, (batch.size, *index.shape)))


@rule("index_select")
def _index_select(function: TensorFunction, batch: Batch, x: Batched, dim: int, index: Positions) -> Any:
    return function(x.physical, dim + 1, index)


@rule("mm", "bmm")
def _matrices(function: TensorFunction, batch: Batch, x: Tensor, y: Tensor) -> Any:
    x, y = aligned(batch, (x, y))
    return matmul(x, y)


@rule("mv")
def _matrix_and_vector(function: TensorFunction, batch: Batch, x: Tensor, y: Tensor) -> Any:
    """Multiply a batch of matrices by one vector, one matrix by a batch of vectors, or both batches."""
    if not batch.holds(y):
        return matmul(batch.physical(x), y)
    if not batch.holds(x):
        return matmul(batch.physical(y), transpose(x, 0, 1))
    return reshaped(matmul(batch.physical(x), reshaped(batch.physical(y), (batch.size, -1, 1))), (batch.size, x.shape[0]))


@rule("dot")
def _dot(function: TensorFunction, batch: Batch, x: Tensor, y: Tensor) -> Any:
    """Sum the products of vectors, after the check of their shapes by ``function``."""
    if x.shape != y.shape:
        function(*[np.zeros(each.shape) for each in (x, y)])  # raises the error
    x, y = batch.physical(x), batch.physical(y)
    return sum(x * y, -1)


@rule("einsum")
def _einsum(function: TensorFunction, batch: Batch, x: Tensor, y: Tensor, of_x: Shape, of_y: Shape, of_out: Shape) -> Any:
    """Give the batch a label of its own, the first one in each operand that has it and in the result."""
    label = max((*of_x, *of_y, *of_out), default=-1) + 1
    of_x, of_y = ((label, *labels) if batch.holds(each) else labels for each, labels in ((x, of_x), (y, of_y)))
    return function(batch.physical(x), batch.physical(y), of_x, of_y, (label, *of_out))


@rule("solve")
def _solve(function: TensorFunction, batch: Batch, x: Tensor, y: Tensor) -> Any:
    """Solve with a batch of matrices, of right-hand sides, or both; vectors become columns."""
    vector = is_vector(x.shape, y.shape)  # whether y is one, for which a dimension is added
    a, b = (
        batch.physical(batch.wrap(batch.lift(each)), max(len(x.shape), len(y.shape) + vector))
        for each in (x, unsqueeze(y, -1) if vector else y)
    )
    result = function(a, b)
    return reshaped(result, result.shape[:-1]) if vector else result


@rule("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
def _loss(function: TensorFunction, batch: Batch, x: Tensor, target: Operand, reduction: str, *rest: Any) -> Any:
    """Reduce the losses of each example alone."""
    result = function(*aligned(batch, (x, target)), "none", *rest)
    if reduction == "none" or len(result.shape) == 1:  # an example has a single loss
        return result
    return (mean if reduction == "mean" else sum)(result, tuple(range(1, len(result.shape))))
