"""Variances and standard deviations, whose parameters have two forms."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.types import Dims, Number, Value
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.rules.reduce import declare, deviation, variance


def correction_of(name: str, unbiased: bool | None, correction: Number | None) -> Number:
    """Return the correction of a variance, 1 by default; it may be given as ``unbiased``, which is PyTorch's older parameter.

    Raises:
        ArgumentError: if both are given.
    """
    if unbiased is not None and correction is not None:
        raise ArgumentError(f"{name}: give 'correction' or 'unbiased', not both")
    if correction is None:
        return 1 if unbiased is None else int(unbiased)
    return correction


@declare.described
def var(x: Value, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, correction: Number | None = None) -> Any:
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    return variance(x, dim, correction_of("var", unbiased, correction), keepdim)


@declare.described
def std(x: Value, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, correction: Number | None = None) -> Any:
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    return deviation(x, dim, correction_of("std", unbiased, correction), keepdim)
