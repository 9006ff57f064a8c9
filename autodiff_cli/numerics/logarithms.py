"""Logarithms multiplied by a factor, logarithms of odds, logarithms of sums of powers, and the Lambert W function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.numerics.decompositions import BRANCH_REST, FROM_BRANCH


@np.errstate(all="ignore")
def _over_values(x: Array, y: Array) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0.0, x / y)[()]


over = in_one_type(_over_values)


def _times(logarithm: np.ufunc) -> Any:
    """Return the forward computation of x*logarithm(y), which is 0 where x is 0."""

    @np.errstate(all="ignore")
    def forward(x: Array, y: Array) -> Any:
        return np.where((x == 0) & ~np.isnan(y), 0.0, x * logarithm(y))[()]

    return in_one_type(forward)


xlogy, xlog1py = _times(np.log), _times(np.log1p)


@np.errstate(all="ignore")
def logit(x: Array, eps: float | None) -> Any:
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    # Near 1/2 the logarithm of the odds would be inaccurate, whereas 2*x - 1 is exact.
    middle = (x > 0.25) & (x < 0.75)
    return np.where(middle, 2 * np.arctanh(2 * x - 1), np.log(x / (1 - x)))[()]


@np.errstate(all="ignore")
def share(x: Array, y: Array, base: float) -> Any:
    # The difference of equal infinities would be nan, but the quotient is 1/2.
    difference = np.where(x == y, 0.0, x - y)[()]
    small = np.power(base, -np.abs(difference)) if base == 2 else np.exp(-np.abs(difference))
    return np.where(difference >= 0, 1.0, small)[()] / (1 + small)


# The Lambert W function.  Near the branch point -1/e it is a power series in p = sqrt(2*(e*x + 1)).

_BRANCH = -1 / math.e
_MOST_P = 0.3


@np.errstate(all="ignore")
def _lambertw(x: Array, k: int, shift: int) -> Any:
    """Return W(x) + ``shift``, with all digits near the branch point if ``shift`` is 1."""
    exists = (x >= _BRANCH) & ((k == 0) | (x <= 0))
    value = np.where(exists, from_scipy("lambertw")(np.where(exists, x, 0.0), k).real, math.nan) + shift
    p = np.sqrt(np.maximum(2 * math.e * ((x - _BRANCH) + BRANCH_REST), 0.0))
    near = exists & (p < _MOST_P)
    if np.any(near):
        p = np.where(near, p if k == 0 else -p, 0.0)
        series: Any = 0.0
        for coefficient in reversed(FROM_BRANCH):
            series = p * (coefficient + series)
        value = np.where(near, series if shift else series - 1, value)
    return value.astype(np.result_type(x, np.float32), copy=False)[()]


def lambertw(x: Array, k: int) -> Any:
    return _lambertw(x, k, 0)


def lambertw_rise(x: Array, k: int) -> Any:
    return _lambertw(x, k, 1)
