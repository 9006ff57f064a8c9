"""Maxima and minima of all elements, along a dimension, or of two tensors."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from autodiff_cli.autograd.primitives.types import Operand, Value
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.rules import extremes as rules
from autodiff_cli.ops.rules.comparison import maximum, minimum


def _is_dimension(y: object) -> TypeGuard[int]:
    return isinstance(y, (int, np.integer)) and not isinstance(y, bool)


def _extreme_of(name: str, x: Value, y: Operand | None, keepdim: bool, dim: int | None) -> Any:
    if not isinstance(keepdim, (bool, np.bool_)):
        raise ArgumentError(f"{name} takes one tensor or two arguments", hint=f"use {name}([a, b, c]) or {name}({name}(a, b), c)")
    of_all, along, of_two = _EXTREMES[name]
    if dim is None and _is_dimension(y):
        y, dim = None, y
    if y is not None:
        return of_two(x, y)
    return of_all(x, None, False) if dim is None else along(x, dim, keepdim)


_EXTREMES = {
    "max": (rules.max_of_all, rules.max_along, maximum),
    "min": (rules.min_of_all, rules.min_along, minimum),
}


@rules.declare.described
def max(x: Value, y: Operand | None = None, keepdim: bool = False, dim: int | None = None) -> Any:
    return _extreme_of("max", x, y, keepdim, dim)


@rules.declare.described
def min(x: Value, y: Operand | None = None, keepdim: bool = False, dim: int | None = None) -> Any:
    return _extreme_of("min", x, y, keepdim, dim)
