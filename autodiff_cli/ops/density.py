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
from autodiff_cli.autograd.primitives.argument_kinds import TENSOR, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Operand, Value
from autodiff_cli.ops.elementary import log, log1p
from autodiff_cli.ops.factorials import digamma, lgamma, stirling_tail
from autodiff_cli.ops.logarithms import over

__all__ = ["binomial_logpmf", "normal_logpdf", "poisson_logpmf"]

declare = Declarations(__name__, elementwise=True)

_LOG_ROOT_2_PI = math.log(2 * math.pi) / 2
_STEPS = 15


def _normal(x: Array, mean: Array, std: Array) -> Any:
    z = (x - mean) / std
    return -0.5 * (z * z) - np.log(std) - _LOG_ROOT_2_PI


def _standard(x: Value, mean: Value, std: Value) -> Any:
    return (x - mean) / std


_normal_logpdf = declare(
    "normal_logpdf",
    in_one_type(_normal),
    {
        "x": lambda g, x, mean, std: g * -(_standard(x, mean, std) / std),
        "mean": lambda g, x, mean, std: g * (_standard(x, mean, std) / std),
        "std": lambda g, x, mean, std: g * ((_standard(x, mean, std) - 1) * (_standard(x, mean, std) + 1) / std),
    },
    public=False,
    decomposition="-((x - mean)/std)**2/2 - log(std) - log(2*pi)/2",
)


@takes(x=TENSOR, mean=TENSOR, std=TENSOR)
def normal_logpdf(x: Operand, mean: Operand = 0.0, std: Operand = 1.0) -> Any:
    """Logarithm of the density of the normal distribution."""
    return _normal_logpdf(x, mean, std)


describe(
    normal_logpdf,
    tensors=("x", "mean", "std"),
    methods=(),
    formula="with z = (x - mean)/std: -z/std, z/std, (z**2 - 1)/std",
    domain="std > 0",
    inside=lambda std: std > 0,
    samples=((0.7,), (0.7, -1.2, 2.5), ([0.5, 3.0], 1.0, [0.4, 2.0])),
    edges=((0.7, 0.0, 0.0), (0.7, 0.0, -1.0)),
)


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


def _is_binomial(k: Array, n: Array, p: Array) -> Any:
    return (k >= 0) & (k <= n) & (((p > 0) & (p < 1)) | ((p == 0) & (k == 0)) | ((p == 1) & (k == n)))


binomial_logpmf = declare(
    "binomial_logpmf",
    in_one_type(lambda k, n, p: binomial_values(k, n - k, p, 1 - p)),
    {
        "k": lambda g, k, n, p: g * (digamma(n - k + 1) - digamma(k + 1) + log(p) - log1p(-p)),
        "n": lambda g, k, n, p: g * (digamma(n + 1) - digamma(n - k + 1) + log1p(-p)),
        "p": lambda g, k, n, p: g * (over(k, p) - over(n - k, 1 - p)),
    },
    methods=(),
    decomposition="lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)",
    summary="logarithm of the probability of k successes in n trials with success probability p",
    formula="with respect to p: k/p - (n - k)/(1 - p)",
    domain="0 <= k <= n and 0 < p < 1, or p = 0 and k = 0, or p = 1 and k = n",
    convention="counts need not be whole numbers; gamma functions replace factorials",
    inside=_is_binomial,
    samples=((3.0, 10.0, 0.4), (2.0, 7.5, [0.1, 0.6])),
    edges=((0.0, 5.0, 0.0), (5.0, 5.0, 1.0), (3.0, 5.0, 1.5)),
)


@np.errstate(all="ignore")
def poisson_values(k: Array, rate: Array) -> Any:
    middle = -_deviance(k, rate) - _factorial_tail(k) - 0.5 * np.log(k) - _LOG_ROOT_2_PI
    few = np.where(k == 0, 0.0, k * np.log(rate)) - rate - lgamma(np.where(k < 0.5, k, 0.0) + 1)
    return np.where(k < 0.5, few, middle)[()]


poisson_logpmf = declare(
    "poisson_logpmf",
    in_one_type(poisson_values),
    {"k": lambda g, k, rate: g * (log(rate) - digamma(k + 1)), "rate": lambda g, k, rate: g * (over(k, rate) - 1)},
    methods=(),
    decomposition="xlogy(k, rate) - rate - lgamma(k + 1)",
    summary="logarithm of the probability of k events when the expected number of events is rate",
    formula="with respect to rate: k/rate - 1",
    domain="k >= 0 and rate > 0, or k = 0 and rate = 0",
    convention="counts need not be whole numbers; gamma functions replace factorials",
    inside=lambda k, rate: (k >= 0) & ((rate > 0) | ((k == 0) & (rate == 0))),
    samples=((3.0, 2.5), ([2.0, 0.5], [4.0, 1.5])),
    edges=((0.0, 0.0), (2.0, -1.0)),
)
