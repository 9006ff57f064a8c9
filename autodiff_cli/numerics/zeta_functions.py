"""The zeta functions of Riemann and Hurwitz, with derivatives with respect to both arguments.

Derivatives with respect to the exponent are coefficients of power series in it.  The series are computed with the Euler-Maclaurin
formula (DLMF 25.11.28), and for the Riemann zeta function below -1/2 with the reflection formula (DLMF 25.4.1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.numerics.decompositions import BERNOULLI
from autodiff_cli.numerics.parameter_series import Series, check_order

_zeta_of_scipy, _lgamma, _polygamma = from_scipy("zeta"), from_scipy("gammaln"), from_scipy("polygamma")


@np.errstate(all="ignore")
def zeta(x: Array, q: Array) -> Any:
    reflected = (q < 0) & (q != np.floor(q)) & (x == np.floor(x))
    value = _zeta_of_scipy(x, np.where(reflected, 1.0, q))
    if np.any(reflected):
        # SciPy would sum about abs(q) terms.  The sum of the terms with a negative base is, up to its sign, the sum of the terms
        # with bases from 1 - part to -q.
        part = q - np.floor(q)
        below = np.where(x % 2 == 0, 1.0, -1.0) * (_zeta_of_scipy(x, 1 - part) - _zeta_of_scipy(x, np.where(reflected, 1 - q, 1.0)))
        value = np.where(reflected, _zeta_of_scipy(x, part) + below, value)
    continued = (q == 1) & (x < 1)
    if np.any(continued):
        value = np.where(continued, _zeta_of_scipy(np.where(continued, x, 2.0)), value)
    return value[()].astype(np.result_type(x, q, np.float32), copy=False)


def _powers(base: Array, x: Array, order: int) -> Series:
    """Return the series of base**-x in x."""
    slope, leading = -np.log(base), base**-x
    return Series.of(lambda i, _: slope**i * leading / math.factorial(i), order)


_STEPS = 14


def _hurwitz(x: Array, q: Array, order: int) -> Series:
    """Return the series in x of the Hurwitz zeta function, for x > 1, or for x > -1/2 if q = 1."""
    end = q + _STEPS
    total, power = _powers(q + _STEPS - 1, x, order), _powers(end, x, order)
    for k in reversed(range(_STEPS - 1)):
        total = total + _powers(q + k, x, order)
    rest = power.scaled(end).over(x - 1) + power.scaled(0.5)
    term = power.scaled(1 / end).times(x)
    for k, bernoulli in enumerate(BERNOULLI, start=1):
        rest = rest + term.scaled(bernoulli / math.factorial(2 * k))
        term = term.scaled(1 / (end * end)).times(x + (2 * k - 1)).times(x + 2 * k)
    return total + rest


def _sine(x: Array) -> Any:
    """Return sin(pi*x/2); the reduction to -1 <= x <= 1 is exact."""
    turn = np.mod(x, 4.0)
    return np.sin(math.pi / 2 * np.where(turn > 3, turn - 4, np.where(turn > 1, 2 - turn, turn)))


def _reflected(x: Array, order: int) -> Series:
    """Return the series of the Riemann zeta function for x <= -1/2: 2*(2*pi)**(x - 1)*sin(pi*x/2)*gamma(1 - x)*zeta(1 - x)."""
    y, scale = 1 - x, math.log(2 * math.pi)
    slopes = [(-1) ** k * _polygamma(k - 1, y) / math.factorial(k) + (scale if k == 1 else 0) for k in range(1, order + 1)]
    growth = Series.of(lambda k, _: slopes[k - 1] if k else y, order).exp(np.exp(_lgamma(y) + x * scale) / math.pi)
    wave = Series.of(lambda k, _: _sine(x + k) * (math.pi / 2) ** k / math.factorial(k), order)
    mirror = _hurwitz(y, np.ones_like(y), order).coefficients
    return growth * wave * Series.of(lambda k, _: (-1) ** k * mirror[k, 0], order)


@np.errstate(all="ignore")
def zeta_slope(x: Array, q: Array, order: int) -> Any:
    check_order("zeta_slope", order)
    dtype = np.result_type(x, q, np.float32)
    x, q = np.broadcast_arrays(x * 1.0, q * 1.0)
    right = ((x >= 1) & (q > 0)) | ((x > -0.5) & (q == 1))
    left = (x <= -0.5) & (q == 1)
    value = np.where(right, _hurwitz(np.where(right, x, 2.0), np.where(right, q, 1.0), order).derivative(order), math.nan)
    if np.any(left):
        value = np.where(left, _reflected(np.where(left, x, -1.0), order).derivative(order), value)
    return value.astype(dtype, copy=False)[()]
