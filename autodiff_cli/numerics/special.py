"""Error functions, the normal distribution, the Faddeeva function, and sinc."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.errors import ArgumentError
from autodiff_cli.numerics import decompositions
from autodiff_cli.numerics.backend import from_math, from_scipy, replace_where

_ROOT_HALF, _ROOT_PI, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(math.pi), math.sqrt(2 * math.pi)

_erfcx, _erfinv, _ndtri, _dawsn, _wofz = map(from_scipy, ("erfcx", "erfinv", "ndtri", "dawsn", "wofz"))
_STEP = decompositions.STEP
_LEAST_FAR = 2.5  # abs(z) from which the quadrature of the Faddeeva function does not lose digits
erf = from_math(math.erf, "erf")
_erfc_values = from_math(math.erfc, "erfc")
_ndtr_middle = from_math(lambda x: math.erfc(-x * _ROOT_HALF) / 2, "ndtr")


@np.errstate(all="ignore")
def bell(x: Array, scale: float) -> Any:
    """Return exp(-scale*x**2), without the rounding error of x*x, which costs three digits near 1000."""
    x = np.clip(x, -60.0, 60.0)  # at these bounds the result is 0
    head = np.round(x * 16) / 16  # the leading bits of x, whose square is exact
    return np.exp(-scale * (head * head)) * np.exp(-scale * ((x - head) * (x + head)))


@np.errstate(all="ignore")
def erfc(x: Array) -> Any:
    """Return 1 - erf(x), for x > 1 in an array from ``erfcx``, because SciPy's function loses digits there."""
    value = _erfc_values(x)
    return replace_where(value, x > 1, lambda x: _erfcx(x) * bell(x, 1.0), x) if np.ndim(x) else value


@np.errstate(all="ignore")
def erfinv_slope(x: Array) -> Any:
    """Return the derivative sqrt(pi)/2*exp(y**2) for y = erfinv(x), by erfc(abs(y)) = 1 - abs(x) where y**2 is inaccurate."""
    y, size = _erfinv(x), np.abs(x)
    middle = np.exp(y * y)
    return np.where(size < 0.5, middle, np.where(size == 1, math.inf, _erfcx(np.abs(y)) / (1 - size)))[()] * (_ROOT_PI / 2)


@np.errstate(all="ignore")
def ndtr(x: Array) -> Any:
    """Return the cumulative normal distribution, from ``erfcx`` for x < -2, where ``erfc`` of an array loses digits."""
    return replace_where(_ndtr_middle(x), x < -2, lambda x: _erfcx(x * -_ROOT_HALF) * bell(x, 0.5) / 2, x)


@np.errstate(all="ignore")
def hazard(x: Array) -> Any:
    """Return the density of the standard normal distribution divided by ``ndtr``."""
    left = (2 / _ROOT_2_PI) / _erfcx(np.maximum(x * -_ROOT_HALF, 0))
    right = bell(x, 0.5) / (ndtr(np.maximum(x, 0)) * _ROOT_2_PI)
    return np.where(x < 0, left, right)[()]


@np.errstate(all="ignore")
def _fraction(t: Array, first: int) -> Any:
    """Return first/(t + (first + 1)/(t + (first + 2)/(t + ...))), for t >= 3, where 60 terms suffice."""
    value: Array | float = 0.0
    for k in range(first + 60, first - 1, -1):
        value = k / (t + value)
    return value


@np.errstate(all="ignore")
def mills_fraction(x: Array, k: int) -> Any:
    """Return the tail k/(t + (k + 1)/(t + ...)) of a continued fraction at t = -x.

    The hazard h is t + 1/(t + 2/(t + ...)).  The tails are accurate, whereas h' = -h*(x + h) and 1 - h*(x + h) lose digits.
    """
    if k < 1:
        raise ArgumentError(f"mills_fraction: 'k' must be 1 or more, not {k}")
    right = x + hazard(x)
    for i in range(1, k):
        right = x + i / right
    return np.where(x < -3, _fraction(np.maximum(-x, 3), k), right)[()]


@np.errstate(all="ignore")
def log_ndtr(x: Array) -> Any:
    """Return log(ndtr(x)), without the underflow of ndtr for x < -1."""
    left = np.minimum(x, -1)
    tail = np.log(_erfcx(left * -_ROOT_HALF) / 2) - left * left / 2
    return np.where(x < -1, tail, np.log1p(-ndtr(-np.maximum(x, -1))))[()]


@np.errstate(all="ignore")
def ndtri_slope(p: Array) -> Any:
    """Return 1/density at ndtri(p), the derivative, from the hazard, because the density is inaccurate in the tails."""
    tail = np.minimum(p, 1 - p)
    return np.where(tail == 0, math.inf, 1 / (tail * hazard(-np.abs(_ndtri(p)))))[()]


@np.errstate(all="ignore")
def sinc(x: Array, order: int) -> Any:
    """Return the derivative of the given order, with respect to x, of sin(u)/u at u = pi*x."""
    x = x * 1.0
    u, power = math.pi * x, math.pi**order
    near = np.abs(u) < order + 1
    series: Any = 0.0
    if np.any(near):  # quotients would lose digits to cancellation: use the Taylor series
        small = np.where(near, u, 0.0)
        square = small * small
        for k in range(order + 14, (order + 1) // 2 - 1, -1):
            series = series * square + (-1) ** k / (math.factorial(2 * k - order) * (2 * k + 1))
        if order % 2:
            series = series * small
        if not np.any(~near):
            return series * power
    # Subtract whole numbers from x before the multiplication by pi, because this subtraction is exact.
    whole = np.round(np.where(np.isinf(x), 0.0, x))
    rest = np.where(np.isinf(x), 0.0, x - whole)
    sign = 1 - 2 * (whole - 2 * np.floor(whole / 2))
    sine, cosine = sign * np.sin(math.pi * rest), sign * np.sin(math.pi * (0.5 - np.abs(rest)))
    value: Any = 0.0
    for m in range(order + 1):
        value = ((sine, cosine, -sine, -cosine)[m % 4] - m * value) / math.pi / x
    return np.where(near, series, value)[()] * power


# The scaled complementary error function, Dawson's integral, the Faddeeva function and the Voigt profile.
#
# Each function f satisfies f' = sign*(2*z*f - c) with a constant c, so its derivatives follow from a recurrence of three terms.
# For large z, where the terms of the recurrence cancel, the asymptotic series (DLMF 7.12) is differentiated term by term.


def _far(z: Array, order: int, sign: int) -> Any:
    """Return the derivative of an order of the asymptotic series of f, where f' = sign*(2*z*f - c), divided by c/2."""
    inverse = 1 / z
    square = -sign * (inverse * inverse)
    total: Any = 0.0
    for coefficient in reversed(decompositions.far_terms(order)):
        total = coefficient + total * square
    for _ in range(order + 1):
        total = total * inverse
    return total


def _near(value: Array, z: Array, order: int, sign: int, constant: complex) -> Any:
    """Return the derivative from the ``value``: f[1] = sign*(2*z*f - constant), f[n + 1] = sign*(2*z*f[n] + 2*n*f[n - 1])."""
    previous, current = value, sign * (2 * z * value - constant)
    for n in range(1, order):
        previous, current = current, sign * (2 * z * current + 2 * n * previous)
    return current if order else value


def _derivative(values: Any, sign: int, constant: float) -> Any:
    """Return the function (x, order) of the derivatives of a real f with f' = sign*(2*x*f - constant), given its ``values``."""

    @np.errstate(all="ignore")
    def forward(x: Array, order: int) -> Any:
        if order == 0:
            return values(x)
        size = x if sign > 0 else np.abs(x)  # erfcx has no asymptotic series for negative x
        near = _near(values(x), x, order, sign, constant)
        result = replace_where(near, size > decompositions.far_faddeeva(order), lambda x: _far(x, order, sign) * (constant / 2), x)
        return result.astype(np.result_type(x, np.float32), copy=False)

    return forward


# The Faddeeva function w(z) = exp(-z**2)*erfc(-i*z) of z = x + i*y, and its convolution with a scale.  The function w(z/s)/s is
# analytic in z, and it solves the heat equation, because its real part is the convolution of a Gauss and a Lorentz profile: its
# derivative with respect to s is s/2 times its second derivative.
#
# For small z, derivatives follow from the recurrence.  Elsewhere w is the integral of i/pi*exp(-t**2)/(z - t), by the trapezoidal
# or the midpoint rule, whichever has its nodes farther from z, with a correction for the pole at t = z (M. Al Azah and S. N.
# Chandler-Wilde, SIAM Journal on Numerical Analysis 59, 2021); both are differentiated term by term, without cancellation.


def _complex(x: Array, y: Array) -> Any:
    """Return x + i*y, also for an infinite y, for which x + 1j*y is nan."""
    z = np.empty(np.shape(x), complex)
    z.real, z.imag = x, y
    return z


def _integral(z: Array, scale: Array, shift: Array, order: int) -> Any:
    """Return the derivative of the sum of h*i/pi*exp(-t**2)/(z - t*scale) over the nodes t = (k + shift)*h, for abs(z) = 1.

    The terms of t and -t are added exactly, because their sum may be much smaller than each of them.
    """
    powers = [np.ones_like(z)]
    for _ in range(order + 1):
        powers.append(powers[-1] * z)
    total: Any = 0.0
    for k in range(13):
        t = (k + shift) * _STEP
        u = t * scale
        denominator = _complex((z.real - u) * (z.real + u) - z.imag**2, 2 * z.real * z.imag) ** (order + 1)
        numerator = sum(math.comb(order + 1, j) * powers[order + 1 - j] * u**j for j in range(0, order + 2, 2))
        total = total + np.where(t == 0, 1.0, 2.0) * np.exp(-t * t) * (numerator / denominator)
    return total * (1j * _STEP / math.pi * (-1) ** order * math.factorial(order))


def _bells(z: Array, order: int) -> list[Any]:
    """Return exp(-z**2) and its derivatives."""
    bell = np.exp(-z * z)
    return [_near(bell, z, n, -1, 0.0) for n in range(order + 1)]


def _pole(z: Array, shift: Array, order: int) -> Any:
    """Return the derivative of 2*exp(-z**2)/(1 - exp(2*pi*i*(shift - z/h))), the correction for the pole; shift is 0 or 1/2."""
    rate = -2j * math.pi / _STEP
    b = 1 / (1 - np.where(shift == 0, 1.0, -1.0) * np.exp(rate * z))
    bells, total, polynomial = _bells(z, order), 0.0 * z, [0.0, 1.0]
    for j in range(order + 1):
        total = total + 2 * math.comb(order, j) * bells[order - j] * sum(c * b**i for i, c in enumerate(polynomial)) * (-rate) ** j
        slope = [i * c for i, c in enumerate(polynomial)]  # b' = -rate*(b - b**2)
        polynomial = [p - q for p, q in zip([*slope, 0.0], [0.0, *slope], strict=True)]
    return total


@np.errstate(all="ignore")
def faddeeva(x: Array, y: Array, scale: Array, order: int, imaginary: bool) -> Any:
    """Return a part of the derivative of w(z/scale)/scale of the given order in z = x + i*y; nan for a negative scale."""
    dtype = np.result_type(x, y, scale, np.float32)
    x, y, scale = np.broadcast_arrays(*(np.asarray(value, float) for value in (x, y, scale)))
    exists, far = scale >= 0, np.hypot(x, y) > scale * _LEAST_FAR
    value: Any = np.full(x.shape, complex(np.nan, np.nan))
    value = replace_where(value, exists & ~far, lambda x, y, s: _near_faddeeva(x, y, s, order), x, y, scale)  # s: scale
    value = replace_where(value, exists & far, lambda x, y, s: _far_faddeeva(x, y, s, order), x, y, scale)
    return (value.imag if imaginary else value.real).astype(dtype, copy=False)[()]


def _near_faddeeva(x: Array, y: Array, scale: Array, order: int) -> Any:
    """Return the derivative of w(z/scale)/scale by the recurrence, for z/scale near 0."""
    unit = np.where(scale == 0, 1.0, scale)
    z = _complex(x / unit, y / unit)
    value = _near(_wofz(z), z, order, -1, 2j / _ROOT_PI)
    return _complex(_scaled(value.real, scale, order), _scaled(value.imag, scale, order))


def _far_faddeeva(x: Array, y: Array, scale: Array, order: int) -> Any:
    """Return the derivative of w(z/scale)/scale by quadrature; in the lower half plane, w(z) is 2*exp(-z**2) - w(-z)."""
    lower = y < 0
    side = np.where(lower, -1.0, 1.0)
    value = _beyond(_complex(x * side, y * side), scale, order)
    if not np.any(lower):
        return value
    return np.where(lower, 2 * _bells(_complex(x, y) / scale, order)[order] - (-1) ** order * value, value)


def _scaled(value: Any, scale: Array, order: int) -> Any:
    """Return value/scale**(order + 1), divided step by step, because the power may overflow."""
    for _ in range(order + 1):
        value = value / scale
    return value


def _beyond(z: Array, scale: Array, order: int) -> Any:
    """Return the derivative of w(z/scale)/scale for z in the upper half plane, with abs(z) > 2.5*scale; 0 at infinity."""
    place = np.abs(z.real) / np.where(scale == 0, 1.0, scale) / _STEP
    place = place - np.floor(place)
    shift = np.where((place >= 0.25) & (place <= 0.75), 0.0, 0.5)
    size = np.abs(z)
    value = _integral(z / size, scale / size, shift, order)
    value = _complex(_scaled(value.real, size, order), _scaled(value.imag, size, order))
    value[np.isinf(size)] = 0.0
    near = (z.imag < scale * (math.pi / _STEP)) & (np.abs(z.real) < 28 * scale)  # beyond, exp(-z**2) underflows
    if np.any(near):
        unit = scale[near]
        value[near] += _scaled(_pole(z[near] / unit, shift[near], order), unit, order)
    return value


erfcx_slope = _derivative(_erfcx, 1, 2 / math.sqrt(math.pi))
dawsn_slope = _derivative(_dawsn, -1, 1.0)


@np.errstate(all="ignore")
def voigt(x: Array, sigma: Array, gamma: Array) -> Any:
    """Return the Voigt profile, the convolution of a normal density (``sigma``) and a Lorentz profile (``gamma``)."""
    value = faddeeva(x, gamma, sigma * math.sqrt(2), 0, False) / _ROOT_PI
    return np.where((sigma >= 0) & (gamma >= 0), value, np.nan)[()].astype(np.result_type(x, sigma, gamma))


def wofz_part(x: Array, y: Array, imaginary: bool) -> Any:
    """Return the real or imaginary part of the Faddeeva function at x + i*y."""
    return faddeeva(x, y, np.ones(()), 0, imaginary).astype(np.result_type(x, y), copy=False)
