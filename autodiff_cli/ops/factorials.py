"""The derivatives of digamma as a function of the order and the argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import WHOLE, takes
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import add_methods
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.rules.factorials import polygamma_at

__all__ = ["polygamma"]

_MOST_ORDER = 150


@takes(n=WHOLE)
def polygamma(n: int, x: Value) -> Any:
    """The n-th derivative of digamma."""
    if not 0 <= n <= _MOST_ORDER:
        raise ArgumentError(f"the order of polygamma must be a whole number from 0 to {_MOST_ORDER}, not {n}")
    return polygamma_at(x, n)


describe(
    polygamma,
    tensors=("x",),
    methods=(),
    formula="with respect to x: polygamma(n + 1, x)",
    domain="n = 0, 1, 2, ...; x is not 0, -1, -2, ...",
    convention="the value at 0, -1, -2, ... is infinite or nan (PyTorch)",
    inside=lambda x: (x > 0) | (x != np.floor(x)),
    samples=((1, 0.3), (2, 2.5), (1, -1.6), (2, [-0.3, 4.0])),
    edges=((1, 0.0), (2, -1.0)),
)
add_methods(polygamma=lambda self, n: polygamma(n, self))
