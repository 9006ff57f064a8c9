"""Factorials, gamma and zeta functions, with their derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.numerics import decompositions
from autodiff_cli.numerics.backend import from_math, from_scipy, replace_where
from autodiff_cli.numerics.decompositions import BERNOULLI
from autodiff_cli.numerics.parameter_series import Series, check_order

_LOG_ROOT_2_PI = math.log(2 * math.pi) / 2
_psi = from_scipy("psi")
_PI_COTANGENT = (math.pi**2 / 3, math.pi**4 / 45, 2 * math.pi**6 / 945)
_zeta_of_scipy, _lgamma, _polygamma = from_scipy("zeta"), from_scipy("gammaln"), from_scipy("polygamma")
_SHIFT = 20  # steps of a recurrence, after which eight terms of the Euler-Maclaurin formula have all digits
_STEPS = 14  # of the Hurwitz zeta function, before ten such terms


def _lgamma_number(x: float) -> float:
    """Return log(abs(gamma(x))), which is inf at a pole and where it overflows."""
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # x is a pole, or the result overflows
        return math.inf


def _gamma_number(x: float) -> float:
    """Return gamma(x), which is infinite where it overflows."""
    try:
        return math.gamma(x)
    except ValueError:  # as in PyTorch and SciPy: infinite with the sign of x at 0, nan at the other poles
        return math.copysign(math.inf, x) if x == 0 else math.nan
    except OverflowError:
        return math.inf if x > 0 or math.floor(x) % 2 == 0 else -math.inf


def _lgamma_elsewhere(x: Array) -> Any:
    """Return log(abs(gamma(x))) by ``math`` or SciPy, which is accurate except near the zeros at 1 and 2."""
    value = _lgamma_of_library(x)
    if isinstance(x, np.ndarray):  # SciPy returns inf for subnormal numbers, and -inf at -inf
        size = np.abs(x)
        value = np.where(size < 1e-300, -np.log(size), np.where(size == math.inf, size, value))
    return value


@np.errstate(all="ignore")
def lgamma(x: Array) -> Any:
    """Return log(abs(gamma(x))); near the zeros at 1 and 2, where the libraries are inaccurate, by a power series."""
    return replace_where(_lgamma_elsewhere(x), (x > 0.5) & (x < 2.5), _lgamma_near_its_zeros, x)


def _lgamma_near_its_zeros(x: Array) -> Any:
    """Return lgamma from its power series at 2, for x from 1/2 to 5/2."""
    low = x < 1.5
    z = np.where(low, x - 1.0, x - 2.0)
    series = 0.0
    for k in range(len(decompositions.ZETA_LESS_1) + 1, 1, -1):
        series = (-1) ** k * decompositions.ZETA_LESS_1[k - 2] / k + z * series
    value = z * ((1 - decompositions.EULER) + z * series)
    return np.where(low, value - np.log1p(z), value)


def _cotangent(offset: Array) -> Any:
    """Return cot(pi*offset), for offsets from -1/2 to 1/2."""
    size = np.abs(offset)
    # The difference 1/2 - size is exact where the cotangent is small.
    return np.sign(offset) * np.where(size < 0.25, 1 / np.tan(math.pi * size), np.tan(math.pi * (0.5 - size)))


@np.errstate(all="ignore")
def digamma(x: Array) -> Any:
    """Return the derivative of lgamma: by SciPy, but within 1/4 of a negative pole by the reflection formula."""
    offset = x - np.round(x)
    return replace_where(_psi(x), (x < 0) & (offset != 0) & (np.abs(offset) < 0.25), _digamma_near_pole, x)


def _digamma_near_pole(x: Array) -> Any:
    """Return digamma(1 - x) - pi*cot(pi*x) near a negative pole, with a power series of the cotangent within 1/1000."""
    offset = x - np.round(x)  # exact, whereas pi*x would be rounded
    square = offset * offset
    series = sum(-c * square**k for k, c in enumerate(_PI_COTANGENT)) * offset + 1 / offset
    return _psi(1 - x) - np.where(np.abs(offset) < 1e-3, series, math.pi * _cotangent(offset))


@np.errstate(all="ignore")
def polygamma(x: Array, n: int) -> Any:
    """Return the derivative of order n + 1 of lgamma, by the Hurwitz zeta function, and by reflection for negative x."""
    if n == 0:
        return digamma(x)
    sign = -1.0 if n % 2 == 0 else 1.0
    reflected = x < 0
    value = sign * float(math.factorial(n)) * _zeta_of_scipy(n + 1.0, np.where(reflected, 1 - x, x))
    if not np.any(reflected):
        return value[()]
    # For negative x, SciPy would sum about abs(x) terms.
    offset = x - np.round(x)
    *coefficients, leading = decompositions.cotangent_polynomial(n)
    cotangent, polynomial = _cotangent(offset), leading
    for coefficient in reversed(coefficients):
        polynomial = coefficient + cotangent * polynomial
    other = -sign * value - math.pi ** (n + 1) * polynomial
    return np.where(reflected, np.where(offset == 0, sign * math.inf, other), value)[()]


def _power_gap(a: Array, b: Array, m: int) -> Any:
    """Return a**-m - (a + b)**-m."""
    return -(a**-m) * np.expm1(-m * np.log1p(b / a))


@np.errstate(all="ignore")
def polygamma_gap(a: Array, b: Array, n: int) -> Any:
    """Return polygamma(a + b) - polygamma(a) of order n, where b may be small compared with a."""
    positive = (a > 0) & (b > 0)
    if np.all(positive):
        return _positive_gap(a, b, n)
    return replace_where(polygamma(a + b, n) - polygamma(a, n), positive, lambda a, b: _positive_gap(a, b, n), a, b)


def _positive_gap(a: Array, b: Array, n: int) -> Any:
    """Return the gap for positive arguments: accurate differences of powers, by recurrence and the Euler-Maclaurin formula."""
    factorial = float(math.factorial(n))
    a = a * 1.0
    total = 0.0
    for i in range(_SHIFT):
        total = total + factorial * _power_gap(a + i, b, n + 1)
    a = a + _SHIFT
    leading = np.log1p(b / a) if n == 0 else math.factorial(n - 1) * _power_gap(a, b, n)
    total = total + leading + factorial / 2 * _power_gap(a, b, n + 1)
    for k, bernoulli in enumerate(BERNOULLI[:8], start=1):
        weight = bernoulli * (math.factorial(2 * k + n - 1) / math.factorial(2 * k))
        total = total + weight * _power_gap(a, b, 2 * k + n)
    return (-1.0) ** n * total


def stirling_tail(x: Array) -> Any:
    """Return the difference between lgamma(x) and Stirling's formula for x >= 15."""
    square = x * x
    total: Array | float = 0.0
    for k in range(8, 0, -1):
        total = BERNOULLI[k - 1] / (2 * k * (2 * k - 1)) + total / square
    return total / x


def _low_and_high(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Return the smaller and the larger argument, and whether Stirling's formula holds: it has all digits above 50."""
    small, large = np.minimum(a, b), np.maximum(a, b)
    return small, large, (small > 0) & (large > 50) & (large < math.inf)


def _log_of_two_large(low: Array, high: Array) -> Any:
    """Return log(beta(low, high)) for arguments of at least 50, from Stirling's formula."""
    total = low + high
    logs = low * np.log1p(high / low) + high * np.log1p(low / high) + 0.5 * (np.log(low) + np.log(high / total))
    return _LOG_ROOT_2_PI + stirling_tail(low) + stirling_tail(high) - stirling_tail(total) - logs


@np.errstate(all="ignore")
def _beta(a: Array, b: Array) -> Any:
    """Return the beta function, by Stirling's formula where SciPy's difference of logarithms would lose digits."""
    low, high, far = _low_and_high(a, b)
    return replace_where(from_scipy("beta")(a, b), far, _beta_of_large, low, high)


def _beta_of_large(low: Array, high: Array) -> Any:
    """Return gamma(low)*gamma(high)/gamma(high + low), where ``high`` is above 50."""
    total = low + high
    tails = stirling_tail(high) - stirling_tail(total)
    one_large = from_scipy("gamma")(low) * high**-low * np.exp(tails + low - (total - 0.5) * np.log1p(low / high))
    return np.where(low < 50, one_large, np.exp(_log_of_two_large(np.maximum(low, 50.0), high)))


@np.errstate(all="ignore")
def _betaln(a: Array, b: Array) -> Any:
    """Return the logarithm of the beta function, by Stirling's formula where SciPy's difference of logarithms would lose digits."""
    value = np.log(np.abs(from_scipy("beta")(a, b)))
    value = np.where(np.isfinite(value), value, from_scipy("betaln")(a, b))  # the beta function overflows or underflows
    low, high, far = _low_and_high(a, b)
    return replace_where(value[()], far, _betaln_of_large, low, high)


def _betaln_of_large(low: Array, high: Array) -> Any:
    """Return the logarithm of ``_beta_of_large``."""
    total = low + high
    tails = stirling_tail(high) - stirling_tail(total)
    one_large = lgamma(low) - low * np.log(high) + (tails + low - (total - 0.5) * np.log1p(low / high))
    return np.where(low < 50, one_large, _log_of_two_large(np.maximum(low, 50.0), high))


def factorial(x: Array) -> Any:
    return gamma(x + 1)


@np.errstate(all="ignore")
def zeta(x: Array, q: Array) -> Any:
    """Return the Hurwitz zeta function; also for negative q and whole x, and the Riemann zeta function for q = 1 and x < 1."""
    reflected = (q < 0) & (q != np.floor(q)) & (x == np.floor(x))
    value = _zeta_of_scipy(x, np.where(reflected, 1.0, q))  # SciPy would sum about abs(q) terms
    value = replace_where(value, reflected, _zeta_of_negative, x, q)
    value = replace_where(value, (q == 1) & (x < 1), _zeta_of_scipy, x)
    return value.astype(np.result_type(x, q, np.float32), copy=False)


def _zeta_of_negative(x: Array, q: Array) -> Any:
    """Return zeta for q < 0 and whole x: the terms with negative bases are, up to their sign, those with bases 1 - part to -q."""
    part = q - np.floor(q)
    below = np.where(x % 2 == 0, 1.0, -1.0) * (_zeta_of_scipy(x, 1 - part) - _zeta_of_scipy(x, 1 - q))
    return _zeta_of_scipy(x, part) + below


def _powers(base: Array, x: Array, order: int) -> Series:
    """Return the series of base**-x in x."""
    slope, leading = -np.log(base), base**-x
    return Series.from_function(lambda i, _: slope**i * leading / math.factorial(i), order)


def _hurwitz(x: Array, q: Array, order: int) -> Series:
    """Return the series in x of the Hurwitz zeta function, for x > 1, or for x > -1/2 if q = 1 (DLMF 25.11.28)."""
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
    """Return the series of zeta(x) = 2*(2*pi)**(x - 1)*sin(pi*x/2)*gamma(1 - x)*zeta(1 - x) for x <= -1/2 (DLMF 25.4.1)."""
    y, scale = 1 - x, math.log(2 * math.pi)
    slopes = [(-1) ** k * _polygamma(k - 1, y) / math.factorial(k) + (scale if k == 1 else 0) for k in range(1, order + 1)]
    growth = Series.from_function(lambda k, _: slopes[k - 1] if k else y, order).exp(np.exp(_lgamma(y) + x * scale) / math.pi)
    wave = Series.from_function(lambda k, _: _sine(x + k) * (math.pi / 2) ** k / math.factorial(k), order)
    mirror = _hurwitz(y, np.ones_like(y), order).coefficients
    return growth * wave * Series.from_function(lambda k, _: (-1) ** k * mirror[k, 0], order)


@np.errstate(all="ignore")
def zeta_slope(x: Array, q: Array, order: int) -> Any:
    """Return the derivative of an order from 1 on of zeta(x, q) in x; nan for q <= 0, and for x < 1 unless q = 1."""
    check_order("zeta_slope", order)
    dtype = np.result_type(x, q, np.float32)
    x, q = np.broadcast_arrays(x * 1.0, q * 1.0)
    right = ((x >= 1) & (q > 0)) | ((x > -0.5) & (q == 1))
    left = (x <= -0.5) & (q == 1)
    value = replace_where(np.full(x.shape, math.nan), right, lambda x, q: _hurwitz(x, q, order).derivative(order), x, q)
    value = replace_where(value, left, lambda x: _reflected(x, order).derivative(order), x)
    return value.astype(dtype, copy=False)[()]


_lgamma_of_library = from_math(_lgamma_number, "gammaln")
gamma = from_math(_gamma_number, "gamma")
beta, betaln = in_one_type(_beta), in_one_type(_betaln)
