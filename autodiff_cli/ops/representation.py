"""Signs, mantissas and exponents of floating-point numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.autograd.primitives.argument_kinds import VALUE, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Operand, Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import DtypeError
from autodiff_cli.ops.arithmetic import POWER, pow
from autodiff_cli.ops.casts import to
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.rules.elementary import sign

__all__ = ["copysign", "float_power", "frexp", "ldexp", "signbit"]

declare = Declarations(__name__, elementwise=True)

# atan2(0.0, y) distinguishes the two zeros: it is 0 for 0.0 and pi for -0.0.
_NEGATIVE = "atan2(0.0, {}) > 1"
signbit = declare(
    "signbit",
    np.signbit,
    {"x": None},
    decomposition=_NEGATIVE.format("x"),
    summary="true where the sign of x is negative, also of -0.0",
)


_copied_sign = in_one_type(np.copysign)


def _size_vjp(g: Value, x: Value, out: Value) -> Any:
    return g * (sign(x) * sign(out))


_DECOMPOSITION = f"-abs(x) if {_NEGATIVE.format('y')} else abs(x)"
_copysign_tensor = declare(
    "copysign",
    _copied_sign,
    {"x": _size_vjp, "y": lambda g: zeros_like(g)},
    selects=("y",),
    public=False,
    decomposition=_DECOMPOSITION,
)
_copysign_number = declare(
    "copysign",
    _copied_sign,
    {"x": _size_vjp},
    node="CopysignBackward1",
    statics={"y": 1.0},
    public=False,
    decomposition=_DECOMPOSITION,
)


@takes(y=VALUE)
def copysign(x: Operand, y: Operand) -> Any:
    """The absolute value of x with the sign of y."""
    return _copysign_number(x, float(y)) if isinstance(x, Tensor) and isinstance(y, (int, float)) else _copysign_tensor(x, y)


describe(
    copysign,
    formula="sign(x)*sign(y), 0",
    smooth="x != 0 and y != 0",
    convention="the derivative with respect to x is 0 at x = 0, and the derivative with respect to y is 0 (PyTorch)",
    kink=lambda x, y: (x == 0) | (y == 0),
    samples=((1.5, -0.5), ([1.0, -2.0], 3.0)),
    edges=((0.0, 1.0), (1.5, 0.0)),
)

# Mantissas and exponents


@in_one_type
def _scaled(x: Array, y: Array) -> Any:
    half = np.floor(y / 2)  # one power of two may overflow where the product does not
    return x * np.exp2(half) * np.exp2(y - half)


ldexp: TensorFunction = declare(
    "ldexp",
    np.errstate(all="ignore")(_scaled),
    {"x": lambda g, y: ldexp(g, y), "y": lambda g, out: g * out * math.log(2)},
    decomposition="x*2**y",
    summary="x*2**y",
    formula="2**y, x*2**y*log(2)",
    samples=((1.5, 3.0), ([1.0, -2.0], [2.0, -1.0])),
)


def _parts(x: Array) -> Any:
    if x.dtype.kind != "f":
        raise DtypeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(x)
    return mantissa, np.where(np.isfinite(x), exponent, 0).astype(np.int32)[()]


frexp = declare.several(
    "frexp",
    _parts,
    lambda g, exponent: ldexp(g[0], -exponent),
    results=("mantissa", "exponent"),
    constant=("exponent",),
    summary="mantissa and exponent of x = mantissa*2**exponent, with 1/2 <= abs(mantissa) < 1",
    formula="2**(-exponent) for the mantissa",
    smooth="x is not a power of 2",
    convention="the derivative at a power of 2 is one-sided (PyTorch)",
    kink=lambda x: np.abs(np.frexp(x)[0]) == 0.5,
    samples=(([1.5],), ([0.3, -5.0],)),
    edges=(([2.0],),),
)


@takes(input=VALUE, exponent=VALUE)
def float_power(input: Operand, exponent: Operand) -> Any:
    """x to the power y, computed in float64."""
    return pow(
        *(to(each, np.float64) if isinstance(each, Tensor) else np.asarray(each, np.float64)[()] for each in (input, exponent))
    )


describe(float_power, kinds={}, **POWER)
