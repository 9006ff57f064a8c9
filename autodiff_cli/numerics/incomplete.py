"""Exponential integrals, and the regularized incomplete gamma and beta functions, with derivatives by their parameters.

Both functions are integrals of a density, t**(a - 1)*exp(-t) or t**(a - 1)*(1 - t)**(b - 1), up to x, divided by the integral
over all t.  The integral from x away from the mean is small, and nothing cancels in it; the derivatives of the other integral are
its derivatives with the opposite sign.  It consists of the first terms of a power series in x (DLMF 8.11.4, 8.17.7), and of the
rest, which is an integral of the same kind with a larger parameter.  The integrand of the rest has one peak, and no singularity
near the path, so that a Gauss-Legendre rule computes it.  Every step is done on truncated power series in the parameters, whose
coefficients give the derivatives.  The number of operations does not depend on the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.numerics.backend import from_scipy, replace_where
from autodiff_cli.numerics.decompositions import BERNOULLI
from autodiff_cli.numerics.factorials import betaln, polygamma_gap
from autodiff_cli.numerics.log_probabilities import atanh_rest, binomial_values, poisson_values
from autodiff_cli.numerics.parameter_series import Series, check_order
from autodiff_cli.numerics.quadrature import gauss_legendre, in_blocks

_polygamma = from_scipy("polygamma")
gammainc, gammaincc, betainc = (in_one_type(from_scipy(name)) for name in ("gammainc", "gammaincc", "betainc"))

_NODES = 64  # of the quadrature
_TERMS = 20  # of a power series, before the quadrature of the rest
_TERMS_AT_END = 30  # of the power series in z = 1 - y
_FAR = 42.0
"""The negative logarithm of the integrand at the end of the quadrature, relative to its value at x."""
_HALVINGS = 14  # of the binary exponents from -1074 to 1023: the end is known to about 10 %


def _excess(z: Array) -> Any:
    """Return z - log1p(z)."""
    ratio = z / (2 + z)
    return np.where(np.abs(z) < 0.3, z * ratio - 2 * ratio * atanh_rest(ratio), z - np.log1p(z))


def _moments(slope: Array, a: Array, u: Array | float, b: Array | float, w: Array | float, i: int, j: int) -> Series:
    """Return the integral over v > 0 of exp(-slope*v)*((1 + u*v)*exp(-u*v))**a*((1 + w*v)*exp(-w*v))**b, as a series in a and b.

    The coefficients contain powers of both log1p.  Where u = -1, the integral ends at v = 1.  Without a second factor, w is 0.
    """

    def decay(v: Array) -> Any:
        return slope * v + a * _excess(u * v) + (b * _excess(w * v) if np.ndim(w) else 0.0)

    low, high = np.full_like(slope, -1074.0), np.full_like(slope, 1023.0)
    for _ in range(_HALVINGS):  # bisection of the binary exponent of the end, where the integrand is negligible
        middle = (low + high) / 2
        far = ~(decay(np.exp2(middle)) < _FAR)
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    end = np.exp2(np.where(u == -1, np.minimum(high, 0.0), high))
    nodes, weights = (column[:, None] for column in gauss_legendre(_NODES))
    v = end * nodes
    height = np.exp(-decay(v)) * weights * end
    first = np.log1p(u * v) if i else height  # a factor of order 0 is not used
    second = np.log1p(w * v) if j else height

    def coefficient(k: int, m: int) -> Any:
        weighed = height * first**k if k else height
        weighed = weighed * second**m if m else weighed
        return np.sum(weighed, axis=0) / (math.factorial(k) * math.factorial(m))

    return Series.from_function(coefficient, i, j)


def _unit(like: Array, i: int, j: int = 0) -> Series:
    """Return the series 1 + 0*s + ..., up to s**i * t**j, for arrays of the shape of ``like``."""
    return Series.from_function(lambda k, m: np.full_like(like, float(not (k or m))), i, j)


def gamma_factor(a: Array, x: Array, order: int) -> Series:
    """Return x**a*exp(-x)/gamma(a + 1) as a series in a."""
    square, tail = a * a, np.zeros_like(a)
    for k in range(8, 0, -1):
        tail = (BERNOULLI[k - 1] / (2 * k) + tail) / square
    # For large a, the difference of log(x) and digamma(a + 1) is computed from the logarithm of x/a.
    near = np.where(np.abs(x - a) < a / 2, np.log1p((x - a) / a), np.log(x) - np.log(a))
    slope = np.where(a > 20, near - (1 / (2 * a) - tail), np.log(x) - _polygamma(0, a + 1))
    slopes = [slope, *(-_polygamma(k, a + 1) / math.factorial(k + 1) for k in range(1, order))]
    return Series.from_function(lambda k, _: slopes[k - 1] if k else a, order).exp(np.exp(poisson_values(a, x)))


def _gamma_below(a: Array, x: Array, order: int) -> Series:
    """Return gammainc(a, x) as a series in a, from its power series in x, for x up to about a (DLMF 8.11.4)."""
    term = total = _unit(a, order)
    for n in range(1, _TERMS):
        term = term.over(a + n).scaled(x)
        total = total + term
    power = a + (_TERMS - 1)
    rest = term.scaled(x) * _moments(power - x, power, -1.0, 0.0, 0.0, order, 0)
    return gamma_factor(a, x, order) * (total + rest)


def _gamma_above(a: Array, x: Array, order: int) -> Series:
    """Return gammaincc(a, x) as a series in a, for x above a."""
    rest = _moments(x - (a - 1), a - 1, 1.0, 0.0, 0.0, order, 0)
    return gamma_factor(a, x, order).times(a) * rest


def gammainc_derivative(a: Array, x: Array, order: int) -> Any:
    """Return the derivative of a positive order of gammainc(a, x) with respect to a, for one-dimensional arrays."""
    below = (x <= a + 1) | (x <= 2)
    value = replace_where(np.empty_like(a), below, lambda a, x: _gamma_below(a, x, order).derivative(order), a, x)
    return replace_where(value, ~below, lambda a, x: -_gamma_above(a, x, order).derivative(order), a, x)


# The incomplete beta function.  Both ends of the interval are treated in the same way: p and y are the parameter and the
# distance of x from one end, q and z from the other end.


def _growth(p: Array, q: Array, y: Array, z: Array, log_y: Array | float, i: int, j: int) -> Series:
    """Return exp(p*log_y)*z**q*gamma(p + q + 1)/(gamma(p + 1)*gamma(q + 1)) as a series in p and q; ``log_y`` may be 0."""

    def slope(k: int, m: int) -> Any:
        """Return the coefficient of s**k * t**m in the logarithm, from differences of polygamma functions."""
        if k and m:
            return _polygamma(k + m - 1, p + q + 1) / (math.factorial(k) * math.factorial(m))
        if k:
            return polygamma_gap(p + 1, q, k - 1) / math.factorial(k) + (log_y if k == 1 else 0.0)
        if m:
            return polygamma_gap(q + 1, p, m - 1) / math.factorial(m) + (_log_of(z, y) if m == 1 else 0.0)
        return p  # any array of the shape, because ``exp`` does not use this coefficient

    direct = p * log_y + q * _log_of(z, y) - betaln(p + 1, q + 1) - np.log1p(p + q)
    middle = binomial_values(p, q, y, z) - p * (_log_of(y, z) - log_y)
    return Series.from_function(slope, i, j).exp(np.exp(np.where(np.minimum(p, q) < 0.5, direct, middle)))


def _log_of(y: Array, z: Array) -> Any:
    """Return log(y) for y = 1 - z."""
    return np.where(y > 0.5, np.log1p(-z), np.log(y))


def beta_factor(p: Array, q: Array, y: Array, z: Array, i: int, j: int) -> Series:
    """Return y**p*z**q/(p*beta(p, q)) as a series in p and q."""
    unit = _unit(p, i, j)
    small, rest = unit.times(q, 0, 1).over(p + q, 1, 1), unit + unit.times(p).over(p + q, 1, 1).scaled(-1.0)
    share = Series.from_function(lambda k, m: np.where(q < p, small.coefficients[k, m], rest.coefficients[k, m]), i, j)  # q/(p + q)
    return _growth(p, q, y, z, _log_of(y, z), i, j) * share


def _beta_below(p: Array, q: Array, y: Array, z: Array, i: int, j: int) -> Series:
    """Return betainc(p, q, y) as a series in p and q, from its power series in y (DLMF 8.17.7), where z = 1 - y."""
    term = total = _unit(p, i, j)
    for n in range(_TERMS - 1):
        term = term.times(p + q + n, 1, 1).over(p + n + 1).scaled(y)
        total = total + term
    power, odds = p + (_TERMS - 1), y / z
    integral = _moments(power - (q - 1) * odds, power, -1.0, q - 1, odds, i, j)
    rest = term.times(p + q + (_TERMS - 1), 1, 1).scaled(y / z) * integral
    return beta_factor(p, q, y, z, i, j) * (total + rest)


def _beta_at_end(p: Array, q: Array, y: Array, z: Array, i: int, j: int) -> Series:
    """Return 1 - betainc(p, q, y) for small z = 1 - y as a series, from the power series in z with q before all terms with p."""
    unit = _unit(p, i, j)
    term, total = unit, unit.scaled(0.0)
    for n in range(1, _TERMS_AT_END):
        term = term.times(n - p, -1).scaled(z / n)
        total = total + term.over(q + n, 0, 1)
    share = unit + unit.times(q, 0, 1).over(p + q, 1, 1).scaled(-1.0)
    return _growth(p, q, y, z, 0.0, i, j) * share * (unit + total.times(q, 0, 1))


def _beta_side(p: Array, q: Array, y: Array, z: Array, i: int, j: int) -> Any:
    """Return the derivative of betainc(p, q, y) of orders i in p and j in q, where y is below the mean and z = 1 - y."""
    end = z * (p + _TERMS) < 2  # the integrand is singular near z = 0
    value = replace_where(np.empty_like(p), ~end, lambda p, q, y, z: _beta_below(p, q, y, z, i, j).derivative(i, j), p, q, y, z)
    return replace_where(value, end, lambda p, q, y, z: -_beta_at_end(p, q, y, z, i, j).derivative(i, j), p, q, y, z)


def betainc_derivative(a: Array, b: Array, x: Array, i: int, j: int) -> Any:
    """Return the derivative of betainc(a, b, x) of order i with respect to a and j with respect to b, where i + j is positive."""
    low = x <= a / (a + b)
    value = replace_where(np.empty_like(a), low, lambda a, b, x: _beta_side(a, b, x, 1 - x, i, j), a, b, x)
    return replace_where(value, ~low, lambda a, b, x: -_beta_side(b, a, 1 - x, x, j, i), a, b, x)


def evaluate_inside(function: Callable[..., Any], inside: Any, otherwise: Any, *arguments: Array | float) -> Any:
    """Return ``function`` of the arguments where ``inside`` is true, computed in blocks, and ``otherwise`` elsewhere."""
    dtype = np.result_type(*arguments, np.float32)
    inside, value, *columns = np.broadcast_arrays(inside, otherwise, *(np.asarray(v, np.float64) for v in arguments))
    value = replace_where(value.astype(np.float64), inside, lambda *columns: in_blocks(function, *columns), *columns)
    return value.astype(dtype, copy=False)[()]


def gammainc_slope(a: Array, x: Array, order: int) -> Any:
    """Return the derivative of gammainc(a, x) of an order from 1 on in a: 0 at x = 0 and infinity, and nan outside."""
    check_order("gammainc_slope", order)
    inside = (a >= 0) & (a < math.inf) & (x > 0) & (x < math.inf)
    ends = np.where((a > 0) & ((x == 0) | (x == math.inf)), 0.0, math.nan)
    return evaluate_inside(lambda a, x: gammainc_derivative(a, x, order), inside, ends, a, x)


def gammainc_density(a: Array, x: Array, order: int) -> Any:
    """Return the derivative in a of the given order of the density x**(a - 1)*exp(-x)/gamma(a): nan outside."""
    check_order("gammainc_density", order, 0)
    inside = (a > 0) & (a < math.inf) & (x > 0) & (x < math.inf)
    ends = np.where((a > 0) & (x == math.inf), 0.0, np.where((a > 0) & (x == 0), _at_end(a, 1.0, order), math.nan))
    return evaluate_inside(lambda a, x: gamma_factor(a, x, order).times(a).derivative(order) / x, inside, ends, a, x)


def _at_end(power: Array, height: Array | float, order: int) -> Any:
    """Return a density, or with an order its derivative, at an end of the interval, where it is height*distance**(power - 1)."""
    if order:
        return np.where(power > 1, 0.0, math.nan)
    return np.where(power > 1, 0.0, np.where(power == 1, height, math.inf))


def _between(a: Array, b: Array, x: Array) -> Any:
    """Return whether a and b are positive and finite, and x is between 0 and 1, without the ends."""
    return (a > 0) & (a < math.inf) & (b > 0) & (b < math.inf) & (x > 0) & (x < 1)


def betainc_slope(a: Array, b: Array, x: Array, i: int, j: int) -> Any:
    """Return the derivative of betainc(a, b, x) of orders i in a and j in b, i + j >= 1: 0 at x = 0 and 1, and nan outside."""
    check_order("betainc_slope", i + j)
    ends = np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), 0.0, math.nan)
    return evaluate_inside(lambda a, b, x: betainc_derivative(a, b, x, i, j), _between(a, b, x), ends, a, b, x)


def betainc_density(a: Array, b: Array, x: Array, i: int, j: int) -> Any:
    """Return the derivative of orders i in a and j in b of the density x**(a - 1)*(1 - x)**(b - 1)/beta(a, b)."""
    check_order("betainc_density", i + j, 0)
    low, high = np.where(x == 0, _at_end(a, b, i + j), math.nan), np.where(x == 1, _at_end(b, a, i + j), math.nan)
    ends = np.where((a > 0) & (b > 0), np.where(x == 0, low, high), math.nan)

    def density(a: Array, b: Array, x: Array) -> Any:
        return beta_factor(a, b, x, 1 - x, i, j).times(a).derivative(i, j) / (x * (1 - x))

    return evaluate_inside(density, _between(a, b, x), ends, a, b, x)
