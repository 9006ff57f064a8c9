"""Logarithms of probability densities.

The binomial and Poisson distributions are computed from the deviation from their peak, because the textbook formulas
contain differences of large terms, which lose digits.  Counts need not be whole numbers, because gamma functions replace
factorials, so derivatives with respect to counts exist.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.numerics.factorials import lgamma, stirling_tail

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
