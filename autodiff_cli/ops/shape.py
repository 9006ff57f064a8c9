"""Shapes given as several arguments, and transposed views; ``grammar/rules/shape.rules`` describes the functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import TENSOR, whole_numbers
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import dimension, expanded, reshaped
from autodiff_cli.autograd.primitives.structural import stack as join
from autodiff_cli.autograd.primitives.types import Shape, Value, Wholes
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ShapeError
from autodiff_cli.ops.rules.shape import declare, permuted, transpose


def broadcast_shape(name: str, *shapes: Shape) -> Shape:
    """Return the common shape of several shapes after broadcasting; it is an error if there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"{name}: shapes {' and '.join(str(list(shape)) for shape in shapes)} do not broadcast") from None


def lanes(x: Value, operation: TensorFunction, dim: int, *rest: bool) -> Any:
    """Apply ``operation``, with further arguments, along a dimension; treat a number as a vector of length 1."""
    at = dimension(dim, len(x.shape))
    return operation(x, at, *rest) if len(x.shape) else reshape(operation(reshape(x, (1,)), 0, *rest), ())


def tensor_list(name: str, parameter: str, arguments: Sequence[Value | Sequence[Value]]) -> list[Any]:
    """Return a list of tensors that were given as separate arguments or as one list."""
    tensors = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)) else arguments
    return [TENSOR(tensor, name, parameter) for tensor in tensors]


@declare.described
def expand(x: Value, *shape: Wholes) -> Any:
    return expanded(x, whole_numbers("expand", "shape", shape))


@declare.described
def reshape(x: Value, *numbers: Wholes, shape: Wholes = ()) -> Any:
    return reshaped(x, whole_numbers("reshape", "shape", numbers or (shape,)))


@declare.described
def view(x: Value, *shape: Wholes) -> Any:
    """The elements of x in another shape, sharing the memory of x; a length of -1 is inferred from the other lengths."""
    result = reshape(x, *shape)
    data = x._data if isinstance(x, Tensor) else None
    if isinstance(data, np.ndarray) and data.size and data.dtype != object and not np.may_share_memory(result._data, data):
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return result


@declare.described
def permute(x: Value, *numbers: Wholes, dims: Wholes = ()) -> Any:
    return permuted(x, whole_numbers("permute", "dims", numbers or (dims,)))


stack = declare.described(join)
Tensor.T = property(lambda x: permuted(x, tuple(reversed(range(x.ndim)))), doc="The tensor with all dimensions in reverse order.")  # type: ignore[attr-defined]
Tensor.mT = property(lambda x: transpose(x), doc="The tensor with its last two dimensions exchanged.")  # type: ignore[attr-defined]
