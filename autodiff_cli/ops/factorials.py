"""The derivatives of digamma as a function of the order and the argument."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import add_methods
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.rules.factorials import declare, polygamma_at

_MOST_ORDER = 150


@declare.described
def polygamma(n: int, x: Value) -> Any:
    if not 0 <= n <= _MOST_ORDER:
        raise ArgumentError(f"the order of polygamma must be a whole number from 0 to {_MOST_ORDER}, not {n}")
    return polygamma_at(x, n)


add_methods(polygamma=lambda self, n: polygamma(n, self))
