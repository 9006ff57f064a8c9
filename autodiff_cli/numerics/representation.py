"""Signs, mantissas and exponents of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.autograd.primitives.types import Operand
from autodiff_cli.errors import DtypeError

copysign = in_one_type(np.copysign)


@np.errstate(all="ignore")
@in_one_type
def ldexp(x: Array, y: Array) -> Any:
    half = np.floor(y / 2)  # one power of two may overflow where the product does not
    return x * np.exp2(half) * np.exp2(y - half)


def frexp(x: Array) -> Any:
    if x.dtype.kind != "f":
        raise DtypeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(x)
    return mantissa, np.where(np.isfinite(x), exponent, 0).astype(np.int32)[()]


def in_float64(x: Operand) -> Any:
    return np.asarray(x, np.float64)[()]
