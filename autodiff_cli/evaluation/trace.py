"""The trace of an evaluation: the operations in order, from which notes are computed on first access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.language.tree import Syntax
from autodiff_cli.structs import Struct


class Step(Struct):
    """An operation of an evaluation.

    Attributes:
        op: the function; ``None`` for an index, an attribute, a list, and a call to a function with user-written derivatives.
        arguments, keywords: the positional and the keyword arguments.
        result: the result: a tensor, a tuple or a plain value.
        tree: the expression that was evaluated.
    """

    op: FunctionInfo | None
    arguments: Sequence[Any]
    keywords: Mapping[str, Any]
    result: Any
    tree: Syntax

    @property
    def inputs(self) -> tuple[Any, ...]:
        """All arguments, with keyword arguments last."""
        return (*self.arguments, *self.keywords.values())

    @property
    def slots(self) -> list[tuple[int | str, Any]]:
        """All arguments with their positions or keyword names."""
        return [*enumerate(self.arguments), *self.keywords.items()]

    @property
    def results(self) -> tuple[Any, ...]:
        """All results."""
        return self.result if isinstance(self.result, tuple) else (self.result,)

    def arrays(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and the keyword arguments, with tensors as arrays."""
        return [raw(value) for value in self.arguments], {name: raw(value) for name, value in self.keywords.items()}

    def again(self, values: Mapping[int | str, Any]) -> Any:
        """Call the function with other arguments, given by position and keyword as in ``slots``."""
        assert self.op is not None
        return invoke(self.op, [values[i] for i in range(len(self.arguments))], {name: values[name] for name in self.keywords})


Trace = list[Step]


def invoke(op: FunctionInfo, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Call a function, using the reflected form of an operator if the left operand is a number and the right one a tensor."""
    if op.reflected is not None and len(arguments) == 2:
        left, right = arguments
        if type(right) is Tensor and type(left) is not Tensor:
            return op.reflected(right, left)
    if keywords and not op.variadic and not op.spread:  # the parameters of PyTorch's functions have other names
        following = op.parameters[len(arguments) : len(arguments) + len(keywords)]
        if (*keywords,) == (*following,):
            return op.function(*arguments, *keywords.values())
    return op.function(*arguments, **keywords)


def raw(value: object) -> Any:
    """Return the array of a tensor, and any other value unchanged."""
    return value._data if type(value) is Tensor else value


def flat_inputs(step: Step) -> Iterator[Any]:
    """Yield the arguments of a step, with each item of a sequence of tensors separately."""
    for value in step.inputs:
        yield from value if isinstance(value, (list, tuple)) else (value,)


_NOT_POINTWISE = ("creation", "linalg", "shape", "views")


def is_pointwise(step: Step) -> bool:
    """Return whether each element of the result depends on one element of each argument, after broadcasting."""
    op = step.op
    if op is None or op.section in _NOT_POINTWISE or op.variadic or isinstance(step.result, tuple):
        return False
    if "dim" in op.parameters and not compares_tensors(step):
        return False
    try:
        return bool(np.shape(raw(step.result)) == _broadcast_shape(step))
    except ValueError:  # a tensor of indices need not broadcast with the other arguments
        return False


def elementwise_shape(step: Step) -> tuple[int, ...] | None:
    """Return the shape of the elementwise part of an operation, before any reduction; ``None`` if it does not have one."""
    if is_pointwise(step):
        return tuple(step.result.shape)
    if step.op is None or "reduction" not in step.op.parameters:
        return None
    try:
        return _broadcast_shape(step)
    except ValueError:  # the variance of gaussian_nll_loss need not have the last dimension
        return None


def _broadcast_shape(step: Step) -> tuple[int, ...]:
    """Return the shape that the tensors of a step broadcast to; raise a ``ValueError`` if they do not broadcast."""
    return np.broadcast_shapes(*(value.shape for value in step.inputs if type(value) is Tensor))


def compares_tensors(step: Step) -> bool:
    """Return whether a step is ``max`` or ``min`` of two tensors, which is elementwise and not a reduction."""
    op = step.op
    second = step.keywords.get("y", step.arguments[1] if len(step.arguments) > 1 else None)
    return op is not None and "y" in op.tensors and "dim" in op.parameters and type(second) is Tensor
