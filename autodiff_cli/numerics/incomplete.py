"""Exponential integrals, and the regularized incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.numerics import incomplete_derivatives as derivatives
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.numerics.parameter_series import check_order

gammainc, gammaincc, betainc = (in_one_type(from_scipy(name)) for name in ("gammainc", "gammaincc", "betainc"))

# The incomplete gamma function


def gammainc_slope(a: Array, x: Array, order: int) -> Any:
    check_order("gammainc_slope", order)
    inside = (a >= 0) & (a < math.inf) & (x > 0) & (x < math.inf)
    ends = np.where((a > 0) & ((x == 0) | (x == math.inf)), 0.0, math.nan)
    return derivatives.evaluated(lambda a, x: derivatives.gammainc_derivative(a, x, order), inside, ends, a, x)


def gammainc_density(a: Array, x: Array, order: int) -> Any:
    check_order("gammainc_density", order, 0)
    inside = (a > 0) & (a < math.inf) & (x > 0) & (x < math.inf)
    ends = np.where((a > 0) & (x == math.inf), 0.0, np.where((a > 0) & (x == 0), _at_end(a, 1.0, order), math.nan))
    return derivatives.evaluated(lambda a, x: derivatives.gamma_density(a, x, order), inside, ends, a, x)


def _at_end(power: Array, height: Array | float, order: int) -> Any:
    """Return a density, or its derivative, at an end of the interval, where it is a power of the distance from the end."""
    if order:
        return np.where(power > 1, 0.0, math.nan)
    return np.where(power > 1, 0.0, np.where(power == 1, height, math.inf))


# The incomplete beta function


def _between(a: Array, b: Array, x: Array) -> Any:
    return (a > 0) & (a < math.inf) & (b > 0) & (b < math.inf) & (x > 0) & (x < 1)


def betainc_slope(a: Array, b: Array, x: Array, i: int, j: int) -> Any:
    check_order("betainc_slope", i + j)
    ends = np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), 0.0, math.nan)
    return derivatives.evaluated(lambda a, b, x: derivatives.betainc_derivative(a, b, x, i, j), _between(a, b, x), ends, a, b, x)


def betainc_density(a: Array, b: Array, x: Array, i: int, j: int) -> Any:
    check_order("betainc_density", i + j, 0)
    low, high = np.where(x == 0, _at_end(a, b, i + j), math.nan), np.where(x == 1, _at_end(b, a, i + j), math.nan)
    ends = np.where((a > 0) & (b > 0), np.where(x == 0, low, high), math.nan)
    return derivatives.evaluated(lambda a, b, x: derivatives.beta_density(a, b, x, i, j), _between(a, b, x), ends, a, b, x)
