"""What an evaluation did, step by step, as far as notes about it need that.

Only evaluations whose tensors are listed keep a trace.  A step is a plain tuple, as one is made for every operation;
what it means is worked out when somebody reads the notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.language.tree import Syntax

Step = tuple[FunctionInfo | None, Sequence[Any], Mapping[str, Any], Any, Syntax]
"""The function, its arguments, its keywords, its result, and where that stands.

Without a function it is a way that values take: an index, a list, a call of a function with derivatives by hand.
"""
Trace = list[Step]


def invoke(op: FunctionInfo, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Call a function as the language does; an operator whose left side is a plain number has its own way."""
    if op.reflected is not None and len(arguments) == 2 and type(arguments[1]) is Tensor and type(arguments[0]) is not Tensor:
        return op.reflected(arguments[1], arguments[0])
    return op.function(*arguments, **keywords)


def raw(value: Any) -> Any:
    """The numbers of a tensor; anything else as it is."""
    return value._data if type(value) is Tensor else value


def flat(step: Step) -> Iterator[Any]:
    """All that a step was given, sequences of tensors one by one."""
    for value in (*step[1], *step[2].values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


_NOT_POINTWISE = ("creation", "linalg", "shape", "views")


def pointwise(step: Step) -> bool:
    """Whether each element of the result comes from one element of each argument, which may broadcast."""
    op = step[0]
    if op is None or op.section in _NOT_POINTWISE or op.variadic or isinstance(step[3], tuple):
        return False
    if "dim" in op.parameters and not compares(step):
        return False
    shapes = [np.shape(raw(value)) for value in (*step[1], *step[2].values()) if type(value) is Tensor]
    try:
        return bool(np.shape(raw(step[3])) == np.broadcast_shapes(*shapes))
    except ValueError:  # positions have shapes of their own
        return False


def reach(step: Step) -> tuple[int, ...] | None:
    """The shape of what an operation does one by one, before it reduces that; ``None`` if it does nothing one by one."""
    if pointwise(step):
        return tuple(step[3].shape)
    if step[0] is None or "reduction" not in step[0].parameters:
        return None
    return np.broadcast_shapes(*(np.shape(raw(value)) for value in (*step[1], *step[2].values()) if type(value) is Tensor))


def compares(step: Step) -> bool:
    """Whether it is the element-wise form of ``max`` or ``min``, which go along a dimension without a second tensor."""
    op = step[0]
    second = step[2].get("y", step[1][1] if len(step[1]) > 1 else None)
    return op is not None and "y" in op.tensors and "dim" in op.parameters and type(second) is Tensor


def slots(step: Step) -> list[tuple[int | str, Any]]:
    """Arguments by position, keywords by name."""
    return [*enumerate(step[1]), *step[2].items()]
