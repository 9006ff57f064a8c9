"""Arbitrary-precision Bessel and Airy functions and elliptic integrals of scalars; see ``elementary`` for their signatures.

mpmath takes minutes for some arguments, such as modified Bessel functions of whole orders.  These functions are computed here
from an integral; the others are refused where mpmath would take long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from autodiff_cli.errors import NotPrecise
from autodiff_cli.precise.arithmetic import Arithmetic, Real
from autodiff_cli.precise.elementary import Entry

_LARGEST_PHASE = 1e30
"""The largest argument of an oscillating function, whose phase needs more digits than this exponent."""
_LARGEST_ORDER = 300
"""The largest order for which mpmath does not need thousands of terms or a very long working precision."""


def _power_series(mp: Arithmetic, v: Real, x: Real, sign: int) -> Real:
    """Return I_v(x) (sign 1) or J_v(x) (sign -1) from the power series, for x <= 1 (DLMF 10.2.2 and 10.25.2)."""
    q = sign * x * x / 4
    term = mp.rgamma(v + 1)
    total, k = term, 1
    while k < 3 or abs(term) > abs(total) * mp.eps:  # the first terms may be 0 at negative whole orders
        term = term * q / (k * (k + v))
        total, k = total + term, k + 1
    power: Real = mp.context.power(x / 2, v)
    return power * total


def bessel_k(mp: Arithmetic, v: Real, x: Real) -> Real:
    """Return K_v(x), the modified Bessel function of the second kind, with its limits at 0 and infinity, or nan for x < 0."""
    v = abs(v)
    if mp.isnan(x) or mp.isnan(v) or x < 0 or (mp.isinf(x) and mp.isinf(v)):
        return mp.nan
    if mp.isinf(x):
        return mp.zero
    if mp.isinf(v) or not x:
        return mp.inf
    return _difference_of_first_kinds(mp, v, x, 1) if x < 1 else _k_by_quadrature(mp, v, x)


def _restoring_precision(compute: Callable[..., Real]) -> Callable[..., Real]:
    """Make a function that raises the precision restore it at its end, and round its result to it."""

    def function(mp: Arithmetic, *arguments: Any) -> Real:
        with mp.extraprec(0):  # restores the precision at its end
            value = compute(mp, *arguments)
        return value * 1  # rounds

    return function


@_restoring_precision
def _difference_of_first_kinds(mp: Arithmetic, v: Real, x: Real, sign: int) -> Real:
    """Return K_v(x) (sign 1) or Y_v(x) (sign -1) for x <= 1, with the bits that their differences lose (DLMF 10.27.4, 10.2.3)."""
    if abs(v) > 1e6:
        raise NotPrecise("a Bessel function of a large order")
    precision = mp.context.prec
    mp.context.prec = precision + 20 + 2 * max(mp.mag(v) if v else 0, 0)
    to_whole = abs(v - mp.nint(v))
    if to_whole < mp.mpf(2) ** -precision:  # the difference vanishes at whole orders: use an order beside
        to_whole = mp.mpf(2) ** -(precision + 20)
        mp.context.prec *= 2
        v = v + to_whole
    mp.context.prec += max(-mp.mag(to_whole), 0)
    negative, positive = _power_series(mp, -v, x, sign), _power_series(mp, v, x, sign)
    if sign > 0:
        return (negative - positive) * mp.pi / (2 * mp.sinpi(v))
    return (mp.cospi(v) * positive - negative) / mp.sinpi(v)


@_restoring_precision
def _k_by_quadrature(mp: Arithmetic, v: Real, x: Real) -> Real:
    """Return K_v(x) as the integral of exp(-x*cosh(t) + v*t)/2 over all t, by the trapezoidal rule (DLMF 10.32.9)."""
    size = mp.hypot(x, v)
    mp.context.prec += 20 + max(mp.mag(size), 0)
    log_precision = float(mp.context.prec) * math.log(2)  # minus the logarithm of the smallest significant part
    # The step follows from the growth of the integrand at the distance ``strip``, below pi/2, from the real axis.
    strip = min(1.5, math.sqrt(2 * log_precision / float(min(size, mp.mpf(10) ** 300))))
    step = mp.mpf(2 * math.pi * strip) / (log_precision + size * strip**2)
    peak = mp.asinh(v / x)  # where the integrand is largest
    log_of_peak = v * peak - x * mp.cosh(peak)
    total = mp.mpf(1)  # relative to the largest value, from the peak to both sides
    for direction in (1, -1):
        t, term = peak, mp.mpf(1)
        while term > total * mp.eps:
            t = t + direction * step
            term = mp.context.exp(v * t - x * mp.cosh(t) - log_of_peak)
            total = total + term
    return total * step * mp.exp(log_of_peak) / 2


def _bessel_y(mp: Arithmetic, v: Real, x: Real) -> Real:
    """Return Y_v(x) with its limits at 0 and infinity, or nan for x < 0, where mpmath does not take long."""
    if mp.isnan(x) or x < 0 or not mp.finite(v):
        return mp.nan
    if mp.isinf(x):
        return mp.zero
    if not x:
        return -mp.inf if v > -0.5 else mp.nan
    if x > _LARGEST_PHASE:
        raise NotPrecise("yv of a large argument")
    if abs(v) > _LARGEST_ORDER:
        raise NotPrecise("yv of a large order")
    return _difference_of_first_kinds(mp, v, x, -1) if x < 1 else mp.bessely(v, x)


def _bessel_i_or_j(mp: Arithmetic, v: Real, x: Real, sign: int) -> Real:
    """Return I_v(x) (sign 1) or J_v(x) (sign -1), or nan for x < 0 unless v is whole, where mpmath does not take long."""
    if not (mp.finite(v) and mp.finite(x)):
        raise NotPrecise("a Bessel function at infinity")
    if x < 0 and not mp.isint(v):
        return mp.nan
    if not x:
        return mp.mpf(1) if not v else mp.zero if v > 0 or mp.isint(v) else mp.inf * mp.rgamma(v + 1)
    if abs(v) > _LARGEST_ORDER or abs(x) > (_LARGEST_PHASE if sign < 0 else 1e6):  # I_v(x) grows like exp(x)
        raise NotPrecise("a Bessel function of a large order or argument")
    if mp.isint(v) and v < 0:  # I_{-n} is I_n, and J_{-n} is (-1)**n*J_n
        return _bessel_i_or_j(mp, -v, x, sign) * (1 if sign > 0 or not int(v) % 2 else -1)
    if 0 < x < 1:
        with mp.extraprec(30 + max(mp.mag(v) if v else 0, 0)):
            value = _power_series(mp, v, x, sign)
        return value * 1  # rounds
    return mp.besseli(v, x) if sign > 0 else mp.besselj(v, x)


def _airy(mp: Arithmetic, x: Real, name: str, derivative: int) -> Real:
    """Return mpmath's Airy function ``airyai`` or ``airybi`` (``name``), or its derivative of order 1, with limits at infinity."""
    if mp.isnan(x) or (x == -mp.inf and derivative):  # the derivatives oscillate with a growing amplitude
        return mp.nan
    if mp.isinf(x):
        return mp.zero if x < 0 or name == "airyai" else mp.inf
    if abs(x) > _LARGEST_PHASE:
        raise NotPrecise("an Airy function of a large argument")
    value: Real = getattr(mp, name)(x, derivative=derivative)
    return value


BESSEL: dict[str, Entry] = {
    "k0": lambda mp, x: bessel_k(mp, mp.zero, x),
    "k1": lambda mp, x: bessel_k(mp, mp.mpf(1), x),
    "y0": lambda mp, x: _bessel_y(mp, mp.zero, x),
    "y1": lambda mp, x: _bessel_y(mp, mp.mpf(1), x),
    "jv": partial(_bessel_i_or_j, sign=-1),
    "iv": partial(_bessel_i_or_j, sign=1),
    "yv": _bessel_y,
    "kv": bessel_k,
    **{f"airy_{kind}": partial(_airy, name=f"airy{kind}", derivative=0) for kind in ("ai", "bi")},
    **{f"airy_{kind}_prime": partial(_airy, name=f"airy{kind}", derivative=1) for kind in ("ai", "bi")},
    "ellipk": lambda mp, x: mp.nan if mp.isnan(x) or x > 1 else mp.zero if mp.isinf(x) else mp.ellipk(x),
    "ellipe": lambda mp, x: mp.nan if mp.isnan(x) or x > 1 else mp.inf if mp.isinf(x) else mp.ellipe(x),
}
