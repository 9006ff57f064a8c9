"""The scaled complementary error function, Dawson's integral, and their relatives.

Each function f satisfies f' = sign*(2*z*f - c) with a constant c, so its derivatives follow from a recurrence of three terms.
For large z, where the terms of the recurrence cancel, the asymptotic series (DLMF 7.12) is differentiated term by term.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import ORDER
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.ops import long_decompositions
from autodiff_cli.ops.scipy_backend import from_scipy

__all__ = ["dawsn", "dawsn_slope", "erfcx", "erfcx_slope"]

declare = Declarations(__name__, elementwise=True)

_ANY = ((0.3,), (-1.7,), ([0.4, 2.2],))


def _is_far(size: Array, order: int) -> Any:
    """Return whether the asymptotic series of the derivative is accurate, for arguments with this absolute value."""
    return size > long_decompositions.far_faddeeva(order)


def _far(z: Array, order: int, sign: int) -> Any:
    """Return the derivative of the asymptotic series of f, divided by c/2."""
    inverse = 1 / z
    square = -sign * (inverse * inverse)
    total: Any = 0.0
    for coefficient in reversed(long_decompositions.far_terms(order)):
        total = coefficient + total * square
    for _ in range(order + 1):
        total = total * inverse
    return total


def _near(value: Array, z: Array, order: int, sign: int, constant: float) -> Any:
    """Return the derivative from the value of the function, by the recurrence f[n + 1] = sign*(2*z*f[n] + 2*n*f[n - 1])."""
    previous, current = value, sign * (2 * z * value - constant)
    for n in range(1, order):
        previous, current = current, sign * (2 * z * current + 2 * n * previous)
    return current if order else value


def _derivative(values: Any, sign: int, constant: float) -> Any:
    """Return the forward computation of the derivative of a real function for which SciPy computes the ``values``."""

    @np.errstate(all="ignore")
    def forward(x: Array, order: int) -> Any:
        if order == 0:
            return values(x)
        far = _is_far(x if sign > 0 else np.abs(x), order)  # erfcx has no asymptotic series for negative x
        middle = np.where(far, 1.0, x)
        near = _near(values(middle), middle, order, sign, constant)
        found = np.where(far, _far(np.where(far, x, 1.0), order, sign) * (constant / 2), near)
        return found[()].astype(np.result_type(x, np.float32), copy=False)

    return forward


_erfcx, _dawsn = from_scipy("erfcx"), from_scipy("dawsn")
_ORDERS: dict[str, Any] = {"statics": {"order": 1}, "kinds": {"order": ORDER}, "methods": ()}
erfcx_slope: TensorFunction = declare(
    "erfcx_slope",
    _derivative(_erfcx, 1, 2 / math.sqrt(math.pi)),
    {"x": lambda g, x, order: g * erfcx_slope(x, order + 1)},
    decomposition=long_decompositions.erfcx,
    summary="derivative of the given order of erfcx",
    formula="erfcx_slope(x, order + 1)",
    samples=(*_ANY, (30.0,), (0.7, 2)),
    **_ORDERS,
)
erfcx: TensorFunction = declare(
    "erfcx",
    _erfcx,
    {"x": lambda g, x: g * erfcx_slope(x, 1)},
    node="SpecialErfcxBackward0",
    methods=(),
    decomposition=long_decompositions.erfcx(),
    summary="exp(x**2)*erfc(x) without overflow for large x",
    formula="2*x*erfcx(x) - 2/sqrt(pi)",
    samples=(*_ANY, (30.0,)),
)
dawsn_slope: TensorFunction = declare(
    "dawsn_slope",
    _derivative(_dawsn, -1, 1.0),
    {"x": lambda g, x, order: g * dawsn_slope(x, order + 1)},
    decomposition=long_decompositions.dawsn,
    summary="derivative of the given order of dawsn",
    formula="dawsn_slope(x, order + 1)",
    samples=(*_ANY, (30.0,), (0.7, 2)),
    **_ORDERS,
)
dawsn: TensorFunction = declare(
    "dawsn",
    _dawsn,
    {"x": lambda g, x: g * dawsn_slope(x, 1)},
    aliases=("dawson",),
    methods=(),
    decomposition=long_decompositions.dawsn(),
    summary="Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x",
    formula="1 - 2*x*dawsn(x)",
    samples=(*_ANY, (30.0,)),
)
