"""Comparisons of whole tensors, and bounds that are numbers or tensors."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import where as choose
from autodiff_cli.autograd.primitives.types import Operand, Value
from autodiff_cli.autograd.tensor import Tensor, add_methods
from autodiff_cli.ops.rules import comparison as rules


def _or_unequal(compare: TensorFunction) -> Any:
    """Return a method that calls ``compare``, but leaves comparisons with ``None`` and with text to Python."""
    return lambda self, other: NotImplemented if other is None or isinstance(other, str) else compare(self, other)


Tensor.__eq__ = _or_unequal(rules.eq)  # type: ignore[method-assign]
Tensor.__ne__ = _or_unequal(rules.ne)  # type: ignore[method-assign]


where = rules.declare.described(choose)


def _method_where(self: Tensor, condition: Value, other: Operand) -> Any:
    return where(condition, self, other)


add_methods(where=_method_where)
