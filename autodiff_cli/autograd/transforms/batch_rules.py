"""Batch rules: how an operation is computed for all examples of ``vmap`` at once.

Most rules are derived from declarations.  An elementwise operation is applied to the physical tensors with aligned dimensions.  An
operation along a dimension is applied to the next dimension of the physical tensor.  Operations on shapes and positions, and
products of matrices, have a rule of their own in ``RULES``.  All other operations are applied to one example after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import promote
from autodiff_cli.autograd.primitives.argument_kinds import Argument
from autodiff_cli.autograd.primitives.multi_output import MultiOutput
from autodiff_cli.autograd.primitives.primitive import Declared, Primitive, TensorFunction
from autodiff_cli.autograd.primitives.structural import cast, dimension, reshaped
from autodiff_cli.autograd.primitives.types import Key, Shape
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.autograd.transforms.batched import Batch, Batched, dtype_of, without_dimensions

BatchRule = Callable[..., Any]
"""A function ``rule(function, batch, *args)`` that applies the function of an operation to physical tensors.  ``args`` are the
arguments for one example.  It returns a physical result, or a tuple of them."""

RULES: dict[str, BatchRule] = {}
"""The rules of operations for which no rule can be derived, by the name of the operation."""

_DIMENSIONS = frozenset(("dim", "dim0", "dim1", "dim2", "dims"))
_INDEPENDENT = frozenset(
    ("keepdim", "reverse", "correction", "ord", "offset", "descending", "largest", "sorted", "stable", "k", "lengths")
)
"""Names of plain parameters that mean the same for one example and for a batch."""


def rule(*names: str) -> Callable[[BatchRule], BatchRule]:
    """Return a decorator that makes a function the batch rule of operations."""

    def register(rule_function: BatchRule) -> BatchRule:
        RULES.update(dict.fromkeys(names, rule_function))
        return rule_function

    return register


def apply(batch: Batch, primitive: Primitive, args: Sequence[Argument]) -> Tensor:
    """Return the batched result of a primitive for all examples, by its batch rule, or example by example without one."""
    function, batch_rule = primitive.function, _rule_of(primitive)
    first_plain = 1 if primitive.of_sequence else primitive.arity
    if batch_rule is None or any(batch.holds(value) for value in args[first_plain:]):  # plain arguments that differ by example
        return batch.loop(function, args)  # type: ignore[no-any-return]
    return batch.wrap(batch_rule(function, batch, *args))


def apply_several(batch: Batch, operation: MultiOutput, args: Sequence[Argument]) -> Sequence[Tensor]:
    """Return the results of an operation with several results for all examples, as batched tensors."""
    function, batch_rule = operation.function, _rule_of(operation)
    if batch_rule is None:
        return batch.loop(function, args)  # type: ignore[no-any-return]
    return [batch.wrap(part) for part in batch_rule(function, batch, *args)]


@cache
def _rule_of(operation: Declared) -> BatchRule | None:
    """Return the batch rule of an operation; ``None`` if it is applied example by example."""
    if isinstance(operation, Primitive) and operation.elementwise:
        return broadcasting(operation.arity)
    if operation.name in RULES:
        return RULES[operation.name]
    if _has_dimension(operation.parameters[operation.arity :]) and not operation.of_sequence:
        return _rule_along_dimensions(operation.parameters, operation.arity)
    return None


def _has_dimension(plain: Sequence[str]) -> bool:
    """Return whether plain parameters name dimensions, and all others mean the same for a batch."""
    return bool(_DIMENSIONS.intersection(plain)) and _DIMENSIONS.union(_INDEPENDENT).issuperset(plain)


def most_dimensions(values: Sequence[Argument]) -> int:
    """Return the greatest number of dimensions of an example among tensors, arrays and numbers."""
    return max(len(getattr(value, "shape", ())) for value in values)


def aligned(batch: Batch, values: Sequence[Argument]) -> list[Any]:
    """Return the physical tensors of arguments that broadcast against each other, in their common type if they are floats."""
    ndim = most_dimensions(values)
    physical = [batch.physical(value, ndim) for value in values]
    types = {dtype for value in values if (dtype := dtype_of(value)) is not None}
    return _cast_to_common_type(values, physical) if len(types) > 1 else physical


def _cast_to_common_type(values: Sequence[Argument], physical: list[Any]) -> list[Any]:
    """Convert floats to the common type of the ``values`` of an example, in which a 0-d tensor does not widen others."""
    typed = [value for value in values if dtype_of(value) is not None]
    # Arrays of the least size stand for the values, because ``promote`` looks at the types and the numbers of dimensions.
    common, *others = [np.zeros(() if without_dimensions(value) else (1,), dtype_of(value)) for value in typed]
    for stand_in in others:
        common = max(promote(common, stand_in), key=np.ndim)  # both have one type now; the other dimensions must win
    return [
        cast(value, common.dtype) if isinstance(value, Tensor) and value._data.dtype.kind == "f" == common.dtype.kind else value
        for value in physical
    ]


def broadcasting(arity: int = 1) -> BatchRule:
    """Return the rule of an operation on ``arity`` tensors that broadcast, be it only before their last dimensions (matmul)."""
    if arity == 1:
        return lambda function, batch, x, *plain: function(x.physical, *plain)
    return lambda function, batch, *args: function(*aligned(batch, args[:arity]), *args[arity:])


def _rule_along_dimensions(parameters: Sequence[str], arity: int) -> BatchRule:
    """Return the rule of an operation along dimensions, which are the next ones of the physical tensor.

    The first ``arity`` of the ``parameters`` take tensors.  A scalar example gets a dimension, which the result does not have.
    """
    names = parameters[arity:]

    def batched(function: TensorFunction, batch: Batch, *args: Argument) -> Any:
        """Apply the function to the physical tensors; without a ``dim``, all elements of an example become one dimension."""
        operands, plain = args[:arity], dict(zip(names, args[arity:], strict=True))
        ndim = most_dimensions(operands)
        if arity > 1:  # some operands may be shared by the examples
            operands = tuple([batch.wrap(batch.lift(value)) for value in operands])
        tensors = [batch.physical(value, max(ndim, 1)) for value in operands]
        result_shape: Shape | None = None if ndim else (batch.size,)  # if the result has another shape
        dim = plain.get("dim", 0)
        is_over_all = dim is None or (isinstance(dim, (list, tuple)) and not dim)
        if is_over_all:
            tensors = [reshaped(x, (batch.size, math.prod(tensors[0].shape[1:]))) for x in tensors]
            plain["dim"] = 1
            if plain.get("keepdim"):
                result_shape = (batch.size, *(1,) * ndim)
        else:
            plain |= {name: after_batch(value, ndim) for name, value in plain.items() if name in _DIMENSIONS}
        result = function(*tensors, *plain.values())
        if result_shape is None:
            return result
        if isinstance(result, tuple):
            return type(result)(*[reshaped(x, result_shape) for x in result])
        return reshaped(result, result_shape)

    return batched


def after_batch(dim: Argument, ndim: int) -> Any:
    """Return a dimension of an example, or a sequence of them, as dimensions of the physical tensor, counted from the front."""
    if isinstance(dim, (list, tuple)):
        return tuple([after_batch(d, ndim) for d in dim])
    return dimension(dim, ndim) + 1


def key_after_batch(batch: Batch, key: Key) -> Key:
    """Return an index of an example as an index of the physical tensor; every example is indexed in the same way."""
    places = [i for i, part in enumerate(key) if isinstance(part, np.ndarray)]
    are_adjacent = not places or places[-1] - places[0] + 1 == len(places)
    if are_adjacent:
        return (slice(None), *key)
    # NumPy moves the dimensions of arrays that are apart to the front, so the batch must be one of these arrays.
    parts: list[Any] = []  # of the key, with the positions that a mask selects in place of the mask
    for part in key:
        parts += np.nonzero(part) if isinstance(part, np.ndarray) and part.dtype.kind == "b" else [part]
    ndim = len(np.broadcast_shapes(*[part.shape for part in parts if isinstance(part, np.ndarray)]))
    return (np.arange(batch.size).reshape(-1, *(1,) * ndim), *parts)


@rule("reshape")
def _reshape_rule(function: TensorFunction, batch: Batch, x: Batched, shape: Shape) -> Any:
    """Reshape each example; a stand-in without memory of its own gives the length for -1, or the error."""
    if -1 in shape or math.prod(shape) != math.prod(x.shape):
        shape = function(np.broadcast_to(np.zeros(()), x.shape), shape).shape
    return function(x.physical, (batch.size, *shape))


@rule("expand")
def _expand_rule(function: TensorFunction, batch: Batch, x: Batched, shape: Shape) -> Any:
    """Expand each example; a stand-in without memory of its own gives the lengths for -1, or the error."""
    shape = function(np.broadcast_to(np.zeros(()), x.shape), shape).shape
    return function(batch.physical(x, len(shape)), (batch.size, *shape))


@rule("sum_to")
def _sum_to_rule(function: TensorFunction, batch: Batch, x: Batched, shape: Shape) -> Any:
    """Sum each example to a shape: first over dimensions that are kept with length 1, between the batch and the others."""
    extra = len(x.shape) - len(shape)  # the number of the dimensions that disappear
    result = function(x.physical, (batch.size, *(1,) * max(extra, 0), *shape))
    return reshaped(result, (batch.size, *shape)) if extra > 0 else result


@rule("unindex")
def _unindex_rule(function: TensorFunction, batch: Batch, x: Batched, shape: Shape, key: Key) -> Any:
    return function(x.physical, (batch.size, *shape), key_after_batch(batch, key))


@rule("diagonal_backward")
def _diagonal_rule(function: TensorFunction, batch: Batch, x: Batched, shape: Shape, offset: int, *dims: int) -> Any:
    return function(x.physical, (batch.size, *shape), offset, *[after_batch(dim, len(shape)) for dim in dims])


@rule("select", "slice", "index")
def _index_rule(function: TensorFunction, batch: Batch, x: Batched, key: Key) -> Any:
    return function(x.physical, key_after_batch(batch, key))


@rule("stack")
def _stack_rule(function: TensorFunction, batch: Batch, tensors: Sequence[Tensor], dim: int) -> Any:
    return function([batch.lift(x) for x in tensors], after_batch(dim, len(tensors[0].shape) + 1))
