"""Comparisons of whole tensors, and bounds that are numbers or tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import where as choose
from autodiff_cli.autograd.primitives.types import Operand, Value, array_of
from autodiff_cli.autograd.tensor import Tensor, add_methods
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.rules import comparison as rules


def _or_unequal(compare: TensorFunction) -> Any:
    """Return a method that calls ``compare``, but leaves comparisons with ``None`` and with text to Python."""
    return lambda self, other: NotImplemented if other is None or isinstance(other, str) else compare(self, other)


Tensor.__eq__ = _or_unequal(rules.eq)  # type: ignore[method-assign]
Tensor.__ne__ = _or_unequal(rules.ne)  # type: ignore[method-assign]


@rules.declare.described
def equal(x: Value, y: Value) -> bool:
    return bool(np.array_equal(array_of(x), array_of(y)))


@rules.declare.described
def allclose(x: Value, y: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(np.all(array_of(rules.isclose(x, y, rtol, atol, equal_nan))))


where = rules.declare.described(choose)


def _method_where(self: Tensor, condition: Value, other: Operand) -> Any:
    return where(condition, self, other)


add_methods(where=_method_where)


@rules.declare.described
def clamp(x: Value, min: Operand | None = None, max: Operand | None = None) -> Any:
    if min is None and max is None:
        raise ArgumentError("clamp: at least one of min or max must be given")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        kind = rules.clamp_low if max is None else rules.clamp_high if min is None else rules.clamp_both
        return kind(x, -np.inf if min is None else min, np.inf if max is None else max)
    return rules.clamp_numbers(x, min, max)


@rules.declare.described
def clamp_min(x: Value, min: Operand) -> Any:
    return (rules.clamp_min_tensor if isinstance(min, Tensor) else rules.clamp_min_number)(x, min)


@rules.declare.described
def clamp_max(x: Value, max: Operand) -> Any:
    return (rules.clamp_max_tensor if isinstance(max, Tensor) else rules.clamp_max_number)(x, max)
