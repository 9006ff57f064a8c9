"""Logarithms of sums, odds and probability densities, and the Lambert W function.

Counts of binomial and Poisson distributions need not be whole, so that derivatives with respect to counts exist.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.numerics.backend import from_scipy, replace_where
from autodiff_cli.numerics.decompositions import BRANCH_REST, FROM_BRANCH
from autodiff_cli.numerics.factorials import lgamma, stirling_tail

_BRANCH = -1 / math.e
_MOST_P = 0.3  # up to which the power series of W at the branch point has all digits
_LOG_ROOT_2_PI = math.log(2 * math.pi) / 2
_STEPS = 15  # of the recurrence to arguments for which Stirling's formula has all digits


@np.errstate(all="ignore")
def _over_values(x: Array, y: Array) -> Any:
    """Return x/y, which is 0 where x is 0, even for y = 0."""
    return np.where((x == 0) & ~np.isnan(y), 0.0, x / y)[()]


def _times(logarithm: np.ufunc) -> Any:
    """Return the forward computation of x*logarithm(y), which is 0 where x is 0."""

    @np.errstate(all="ignore")
    def forward(x: Array, y: Array) -> Any:
        return np.where((x == 0) & ~np.isnan(y), 0.0, x * logarithm(y))[()]

    return in_one_type(forward)


@np.errstate(all="ignore")
def logit(x: Array, eps: float | None) -> Any:
    """Return log(x/(1 - x)), with x first clamped to the range from ``eps`` to 1 - ``eps`` unless ``eps`` is ``None``."""
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    # Near 1/2 the logarithm of the odds would be inaccurate, whereas 2*x - 1 is exact.
    middle = (x > 0.25) & (x < 0.75)
    return np.where(middle, 2 * np.arctanh(2 * x - 1), np.log(x / (1 - x)))[()]


@np.errstate(all="ignore")
def share(x: Array, y: Array, base: float) -> Any:
    """Return base**x/(base**x + base**y) for the base 2 or e; 1/2 where x and y are equal, even if infinite."""
    difference = np.where(x == y, 0.0, x - y)[()]
    small = np.power(base, -np.abs(difference)) if base == 2 else np.exp(-np.abs(difference))
    return np.where(difference >= 0, 1.0, small)[()] / (1 + small)


@np.errstate(all="ignore")
def _lambertw(x: Array, k: int, shift: int) -> Any:
    """Return branch k (0 or -1) of W, plus a ``shift`` of 0 or 1; W + 1 has all digits near the branch point at -1/e.

    There it is a power series in p = sqrt(2*(e*x + 1)).
    """
    exists = (x >= _BRANCH) & ((k == 0) | (x <= 0))
    value = np.where(exists, from_scipy("lambertw")(np.where(exists, x, 0.0), k).real, math.nan) + shift
    p = np.sqrt(np.maximum(2 * math.e * ((x - _BRANCH) + BRANCH_REST), 0.0))

    def at_branch(p: Array) -> Any:
        series: Any = 0.0
        for coefficient in reversed(FROM_BRANCH):
            series = p * (coefficient + series)
        return series if shift else series - 1

    value = replace_where(value, exists & (p < _MOST_P), at_branch, p if k == 0 else -p)
    return value.astype(np.result_type(x, np.float32), copy=False)[()]


def _normal_logpdf(x: Array, mean: Array, std: Array) -> Any:
    """Return the logarithm of the density of the normal distribution."""
    z = (x - mean) / std
    return -0.5 * (z * z) - np.log(std) - _LOG_ROOT_2_PI


def atanh_rest(ratio: Array) -> Any:
    """Return atanh(ratio)/ratio - 1 from the power series, which has its digits for ratios up to about 0.15."""
    square = ratio * ratio
    series: Any = 0.0
    for k in range(12, 0, -1):
        series = (series + 1 / (2 * k + 1)) * square
    return series


@np.errstate(all="ignore")
def _deviance(x: Array, mean: Array) -> Any:
    """Return x*log(x/mean) + mean - x, the deviation of binomial and Poisson probabilities from their peak, which is 0 there."""
    ratio = (x - mean) / (x + mean)
    near = (x - mean) * ratio + 2 * x * ratio * atanh_rest(ratio)
    quotient = x / mean
    apart = (quotient == 0) | (quotient == math.inf)  # the quotient underflows or overflows
    logarithm = np.where(apart, np.log(x) - np.log(mean), np.log(quotient))
    plain = np.where(x == 0, 0.0, x * logarithm) + mean - x
    return np.where(np.abs(ratio) < 0.1, near, plain)[()]


@np.errstate(all="ignore")
def _factorial_tail(x: Array) -> Any:
    """Return the difference between log(x!) and Stirling's formula for x > 0, by a recurrence for x < 15."""
    total: Any = 0.0
    for i in range(_STEPS):
        total = total + ((x + i + 0.5) * np.log1p(1 / (x + i)) - 1)
    return np.where(x < _STEPS, total + stirling_tail(x + _STEPS), stirling_tail(np.maximum(x, _STEPS)))[()]


@np.errstate(all="ignore")
def binomial_values(k: Array, rest: Array, p: Array, other: Array) -> Any:
    """Return the logarithm of the probability of k successes and ``rest`` failures of probabilities p and ``other`` = 1 - p."""
    n = k + rest
    tails = _factorial_tail(n) - _factorial_tail(k) - _factorial_tail(rest)
    middle = tails - _deviance(k, n * p) - _deviance(rest, n * other) + 0.5 * np.log(n / (k * rest)) - _LOG_ROOT_2_PI
    only_failures, only_successes = np.where(n == 0, 0.0, n * np.log1p(-p)), np.where(n == 0, 0.0, n * np.log(p))
    return np.where(k == 0, only_failures, np.where(rest == 0, only_successes, middle))[()]


@np.errstate(all="ignore")
def poisson_values(k: Array, rate: Array) -> Any:
    """Return the logarithm of the probability of k events at a mean ``rate``: near its peak, or by lgamma for k < 1/2."""
    middle = -_deviance(k, rate) - _factorial_tail(k) - 0.5 * np.log(k) - _LOG_ROOT_2_PI
    few = np.where(k == 0, 0.0, k * np.log(rate)) - rate - lgamma(np.where(k < 0.5, k, 0.0) + 1)
    return np.where(k < 0.5, few, middle)[()]


over = in_one_type(_over_values)
xlogy, xlog1py = _times(np.log), _times(np.log1p)
lambertw, lambertw_rise = (functools.partial(_lambertw, shift=shift) for shift in (0, 1))
normal_logpdf, poisson_logpmf = in_one_type(_normal_logpdf), in_one_type(poisson_values)
binomial_logpmf = in_one_type(lambda k, n, p: binomial_values(k, n - k, p, 1 - p))
