"""Logarithms of sums, odds and probability densities, and the Lambert W function."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.numerics.decompositions import BRANCH_REST, FROM_BRANCH
from autodiff_cli.numerics.factorials import lgamma, stirling_tail


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


lambertw, lambertw_rise = (functools.partial(_lambertw, shift=shift) for shift in (0, 1))


# Logarithms of probability densities.
#
# The binomial and Poisson distributions are computed from the deviation from their peak, because the textbook formulas
# contain differences of large terms, which lose digits.  Counts need not be whole numbers, because gamma functions replace
# factorials, so derivatives with respect to counts exist.

_LOG_ROOT_2_PI = math.log(2 * math.pi) / 2
_STEPS = 15


def _normal_logpdf(x: Array, mean: Array, std: Array) -> Any:
    z = (x - mean) / std
    return -0.5 * (z * z) - np.log(std) - _LOG_ROOT_2_PI


@np.errstate(all="ignore")
def _deviance(x: Array, mean: Array) -> Any:
    """Return x*log(x/mean) + mean - x, which is 0 at x = mean."""
    ratio = (x - mean) / (x + mean)
    square = ratio * ratio
    series: Any = 0.0
    for j in range(12, 0, -1):
        series = (series + 1 / (2 * j + 1)) * square
    near = (x - mean) * ratio + 2 * x * ratio * series
    quotient = x / mean
    apart = (quotient == 0) | (quotient == math.inf)  # the quotient underflows or overflows
    logarithm = np.where(apart, np.log(x) - np.log(mean), np.log(quotient))
    plain = np.where(x == 0, 0.0, x * logarithm) + mean - x
    return np.where(np.abs(ratio) < 0.1, near, plain)[()]


@np.errstate(all="ignore")
def _factorial_tail(x: Array) -> Any:
    """Return the difference between log(x!) and Stirling's formula for x > 0."""
    total: Any = 0.0
    for i in range(_STEPS):
        total = total + ((x + i + 0.5) * np.log1p(1 / (x + i)) - 1)
    return np.where(x < _STEPS, total + stirling_tail(x + _STEPS), stirling_tail(np.maximum(x, _STEPS)))[()]


@np.errstate(all="ignore")
def binomial_values(k: Array, rest: Array, p: Array, other: Array) -> Any:
    """Return the logarithm of the probability of k successes and ``rest`` failures, whose probabilities are p and ``other``."""
    n = k + rest
    tails = _factorial_tail(n) - _factorial_tail(k) - _factorial_tail(rest)
    middle = tails - _deviance(k, n * p) - _deviance(rest, n * other) + 0.5 * np.log(n / (k * rest)) - _LOG_ROOT_2_PI
    none, all_ = np.where(n == 0, 0.0, n * np.log1p(-p)), np.where(n == 0, 0.0, n * np.log(p))
    return np.where(k == 0, none, np.where(rest == 0, all_, middle))[()]


@np.errstate(all="ignore")
def poisson_values(k: Array, rate: Array) -> Any:
    middle = -_deviance(k, rate) - _factorial_tail(k) - 0.5 * np.log(k) - _LOG_ROOT_2_PI
    few = np.where(k == 0, 0.0, k * np.log(rate)) - rate - lgamma(np.where(k < 0.5, k, 0.0) + 1)
    return np.where(k < 0.5, few, middle)[()]


normal_logpdf, poisson_logpmf = in_one_type(_normal_logpdf), in_one_type(poisson_values)


def _binomial_logpmf(k: Array, n: Array, p: Array) -> Any:
    return binomial_values(k, n - k, p, 1 - p)


binomial_logpmf = in_one_type(_binomial_logpmf)
