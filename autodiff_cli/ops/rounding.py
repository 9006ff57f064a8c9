"""Rounding to whole numbers and to decimals."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import WHOLE, optional, takes
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.errors import DtypeError
from autodiff_cli.ops.rules.elementary import round_to, round_whole

__all__ = ["round"]


@takes(decimals=optional(WHOLE))
def round(x: Value, decimals: int | None = None) -> Any:
    """x rounded to the nearest whole number, or to a number of decimals, with halves rounded to even."""
    if decimals is None:
        return round_whole(x)
    if x.dtype.kind != "f":
        raise DtypeError(f"round: decimals is defined for floating-point numbers, not for {np.dtype(x.dtype)}")
    return round_to(x, decimals)


def _at_half(x: Array, decimals: int | None) -> Any:
    scaled = x * 10.0 ** (decimals or 0)
    return scaled - np.floor(scaled) == 0.5


describe(
    round,
    section="elementary",
    formula="0",
    smooth="x is not halfway between two rounded numbers",
    convention="the derivative at a jump is 0 (PyTorch)",
    kink=_at_half,
    samples=((0.3,), (-1.7,), ([0.4, -2.2],), (0.237, 2)),
    edges=((2.5,),),
)
