"""Arbitrary-precision special functions of scalars; see ``elementary`` for their signatures."""

from __future__ import annotations

import math as floats
from collections.abc import Callable
from functools import partial

from autodiff_cli.errors import NotPrecise
from autodiff_cli.precise.arithmetic import MOST_EXPONENT, Arithmetic, Real
from autodiff_cli.precise.bessel import BESSEL
from autodiff_cli.precise.elementary import Entry, ndtr

# The normal distribution


def _log_ndtr(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    if x > 0:
        return m.log1p(-ndtr(m, -x))
    if not m.finite(x) or x > -1000:
        return m.log(ndtr(m, x))
    # Sum the asymptotic series of the tail; each term is smaller than the previous one by several digits.
    total = mp.mpf(1)
    term, k = total, 1
    while abs(term) > mp.eps and k < 10000:
        term *= -(2 * k - 1) / (x * x)
        total += term
        k += 1
    return -x * x / 2 - m.log(-x) - m.log(2 * mp.pi) / 2 + m.log(total)


def _quantile(m: Arithmetic, p: Real) -> Real:
    """Return the normal quantile of a probability of at most 1/2, by Newton's method on the logarithm of the probability."""
    mp = m.mp
    target = mp.log(p)
    x = -mp.sqrt(-2 * target) if target < -2 else mp.erfinv(2 * mp.mpf(float(p)) - 1) * mp.sqrt(2)
    for _ in range(200):
        value = _log_ndtr(m, x)
        slope = mp.exp(-x * x / 2 - value) / mp.sqrt(2 * mp.pi)
        step = (value - target) / slope
        x -= step
        if abs(step) <= abs(x) * mp.eps * 64 + mp.eps * mp.eps:
            break
    return x


def _ndtri(m: Arithmetic, p: Real) -> Real:
    mp = m.mp
    if not 0 < p < 1:
        return -mp.inf if p == 0 else mp.inf if p == 1 else mp.nan
    if p == 0.5:
        return m.zero
    return _quantile(m, p) if p < 0.5 else -_quantile(m, 1 - p)


def _erfinv(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    if not abs(x) < 1:
        return mp.inf * mp.sign(x) if abs(x) == 1 else mp.nan
    if not x:
        return m.zero
    if abs(x) < 0.5:  # near 0, the quantile of x/2 + 1/2 would lose digits by cancellation
        y = mp.mpf(float(x))
        for _ in range(60):
            step = (mp.erf(y) - x) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
            y -= step
            if abs(step) <= abs(y) * mp.eps * 64:
                break
        return y
    return -mp.sign(x) * _quantile(m, (1 - abs(x)) / 2) / mp.sqrt(2)


def _hazard(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    if not m.finite(x) or abs(x) > 1e8:
        raise NotPrecise("hazard")
    return mp.npdf(x) / (mp.erfc(-x / mp.sqrt(2)) / 2)


def _asymptotic(m: Arithmetic, z: Real, sign: int) -> Real:
    """Return the sum of (-sign)**k*(1/2)_k/z**(2*k + 1), for large z."""
    total = term = 1 / z
    for k in range(10000):
        term *= -sign * (k + m.mp.mpf(1) / 2) / (z * z)
        total += term
        if abs(term) <= abs(total) * m.mp.eps:
            break
    return total


def _is_far(m: Arithmetic, z: Real) -> bool:
    """Return whether the asymptotic series reaches the precision, where its smallest term is about exp(-abs(z)**2)."""
    return bool(abs(z) * abs(z) > m.mp.prec + 30)


def _erfcx(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    if not m.finite(x):
        return mp.nan if mp.isnan(x) else m.zero if x > 0 else mp.inf
    return _asymptotic(m, x, 1) / mp.sqrt(mp.pi) if x > 0 and _is_far(m, x) else m.exp(x * x) * mp.erfc(x)


def _dawsn(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    if not m.finite(x):
        return mp.nan if mp.isnan(x) else m.zero
    return _asymptotic(m, x, -1) / 2 if _is_far(m, x) else mp.sqrt(mp.pi) / 2 * m.exp(-x * x) * mp.erfi(x)


def _wofz(m: Arithmetic, x: Real, y: Real, imaginary: bool) -> Real:
    """Return a part of the Faddeeva function exp(-z**2)*erfc(-i*z) at z = x + i*y."""
    mp = m.mp
    if not (m.finite(x) and m.finite(y)):
        raise NotPrecise("the Faddeeva function at infinity")
    z = mp.mpc(x, y)
    if y >= 0 and _is_far(m, z):
        value = mp.mpc(0, 1) / mp.sqrt(mp.pi) * _asymptotic(m, z, -1)
        if y * abs(x) < 1:
            value += mp.exp(-z * z)  # on the real axis, the real part is this exponential
    elif abs(z) > 1000:
        raise NotPrecise("the Faddeeva function in the lower half plane")
    else:
        with mp.extraprec(2 * int(abs(z) * abs(z)) + 20):  # bits that 1 - erf loses
            value = mp.exp(-z * z) * (1 - mp.erf(mp.mpc(y, -x)))  # erfc of mpmath takes longer
    part: Real = +value.imag if imaginary else +value.real
    return part


def _voigt(m: Arithmetic, x: Real, sigma: Real, gamma: Real) -> Real:
    mp = m.mp
    if sigma < 0 or gamma < 0 or mp.isnan(x + sigma + gamma):
        return mp.nan
    if not sigma:
        return m.div(gamma, mp.pi * (x * x + gamma * gamma)).value if x or gamma else mp.inf
    scale = sigma * mp.sqrt(2)
    return _wofz(m, x / scale, gamma / scale, False) / (scale * mp.sqrt(mp.pi))


# Gamma and related functions


def _pole(m: Arithmetic, x: Real) -> bool:
    return bool(x <= 0 and not m.mp.isinf(x) and m.mp.isint(x))


def _lgamma(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    finite = m.finite(x) and not _pole(m, x)
    return mp.re(mp.loggamma(x)) if finite else mp.nan if mp.isnan(x) else mp.inf


def _gamma(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    if x > 1e6:
        return m.exp(_lgamma(m, x))
    exists = not (mp.isnan(x) or x == -mp.inf or _pole(m, x))
    return mp.gamma(x) if exists else mp.inf if x == 0 else mp.nan


def _digamma(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    exists = m.finite(x) and not _pole(m, x)
    return mp.digamma(x) if exists else x if x == mp.inf else -mp.inf if x == 0 else mp.nan


def _polygamma(m: Arithmetic, x: Real, n: int) -> Real:
    mp = m.mp
    exists = m.finite(x) and not _pole(m, x)
    return mp.psi(int(n), x) if exists else m.zero if x == mp.inf else mp.inf if n % 2 and not mp.isnan(x) else mp.nan


def _zeta(m: Arithmetic, x: Real, q: Real, order: int = 0) -> Real:
    mp = m.mp
    if x < -1e3 or (x > 1e3 and q != 1):  # mpmath takes seconds
        raise NotPrecise("zeta")
    exists = (x > 1 and q > 0) or (x < 1 and q == 1)
    return mp.inf if x == 1 else mp.zeta(x, q, order) if exists else mp.nan


def _beta(m: Arithmetic, a: Real, b: Real) -> Real:
    mp = m.mp
    if not (m.finite(a) and m.finite(b)) or _pole(m, a) or _pole(m, b):
        raise NotPrecise("beta at its poles")
    sign = mp.sign(mp.rgamma(a)) * mp.sign(mp.rgamma(b)) * mp.sign(mp.rgamma(a + b))
    return sign * m.exp(_lgamma(m, a) + _lgamma(m, b) - _lgamma(m, a + b)) if sign else m.zero


# The exponential integrals and the Lambert W function


def _expi(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    if not x or not m.finite(x):
        return -mp.inf if not x else x if x > 0 else -m.zero if x < 0 else mp.nan
    if mp.mag(x) > 20:
        raise NotPrecise("expi")
    return mp.ei(x)


def _lambertw(m: Arithmetic, x: Real, k: int) -> Real:
    mp = m.mp
    if float(x) == -1 / floats.e and x * mp.e < -1:
        return mp.mpf(-1)  # the float nearest to the branch point is below it
    if not (x * mp.e >= -1 and (k == 0 or x <= 0)):
        return mp.nan
    return x if mp.isinf(x) else -mp.inf if k and not x else mp.re(mp.lambertw(x, k))


# The incomplete gamma and beta functions.  Power series with positive terms; the precision covers what the differences from 1 lose.

_MOST_BITS = 2000


def _with_bits(m: Arithmetic, bits: Real | float, compute: Callable[[], Real], name: str) -> Real:
    """Return ``compute()`` with additional bits."""
    mp = m.mp
    if not bits < _MOST_BITS:
        raise NotPrecise(name)
    with mp.extraprec(int(bits) + 30):
        return compute()


def _sum_of_series(m: Arithmetic, ratio: Callable[[int], Real], name: str) -> Real:
    """Return 1 + ratio(0) + ratio(0)*ratio(1) + ..."""
    total = term = m.mp.mpf(1)
    for k in range(5000):
        factor = ratio(k)
        term *= factor
        total += term
        if factor < 0.75 and term < total * m.mp.eps:
            return total
    raise NotPrecise(name)


def _gammainc(m: Arithmetic, a: Real, x: Real, upper: bool = False) -> Real:
    mp = m.mp
    if not (a >= 0 and x >= 0) or not (a or x):
        return mp.nan
    if not a or not x or mp.isinf(x):
        return mp.mpf(int(upper != bool(x)))
    if mp.isinf(a):
        raise NotPrecise("gammainc")

    def compute() -> Real:
        factor = m.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
        below = factor * _sum_of_series(m, lambda k: x / (a + k + 1), "gammainc")
        return 1 - below if upper else below

    # The upper function is larger than about a*exp(-x).
    return _with_bits(m, 1.5 * x + 2 * abs(mp.mag(a)) + abs(mp.mag(x)), compute, "gammainc")


def _betainc(m: Arithmetic, a: Real, b: Real, x: Real) -> Real:
    mp = m.mp
    if not (a > 0 and b > 0 and 0 <= x <= 1):
        return mp.nan
    if x in (0, 1) or mp.isinf(a) or mp.isinf(b):
        if x in (0, 1):
            return x
        raise NotPrecise("betainc")

    def log_factor() -> Real:
        return a * mp.log(x) + b * mp.log1p(-x) - mp.loggamma(a + 1) - mp.loggamma(b + 1) + mp.loggamma(a + b + 1)

    def series(a: Real, b: Real, x: Real) -> Real:
        factor = m.exp(log_factor()) * (b / (a + b))
        return factor * _sum_of_series(m, lambda k: x * (a + b + k) / (a + 1 + k), "betainc")

    sizes = abs(mp.mag(a)) + abs(mp.mag(b)) + abs(mp.mag(x)) + abs(mp.mag(1 - x))
    # The function is not smaller than the first term of its series.
    lost = _with_bits(m, 4 * sizes, lambda: abs(log_factor()), "betainc") * 1.5 + 2 * sizes
    return _with_bits(m, lost, lambda: series(a, b, x) if x < 0.5 else 1 - series(b, a, 1 - x), "betainc")


def _tanhshrink(m: Arithmetic, x: Real, t: Real) -> Real:
    mp = m.mp
    if not x or not m.finite(x):
        return x
    lost = max(0, -2 * mp.mag(x))
    return _with_bits(m, lost, lambda: x - (mp.tanh(x) if mp.mag(x) < MOST_EXPONENT else mp.sign(x)), "tanhshrink")


# Bessel functions


def _bessel_j(m: Arithmetic, x: Real, n: int) -> Real:
    return m.mp.besselj(n, x) if m.finite(x) else m.mp.nan if m.mp.isnan(x) else m.zero


def _bessel_i(m: Arithmetic, x: Real, n: int) -> Real:
    mp = m.mp
    return mp.besseli(n, x) if m.finite(x) else mp.nan if mp.isnan(x) else mp.inf * mp.sign(x) ** n


# Densities


def _xlogy(m: Arithmetic, x: Real, y: Real, log: Callable[[Arithmetic, Real], Real] = Arithmetic.log) -> Real:
    return m.zero if x == 0 and not m.mp.isnan(y) else x * log(m, y)


def _binomial_logpmf(m: Arithmetic, k: Real, n: Real, p: Real) -> Real:
    if not 0 <= k <= n:
        return m.mp.nan
    choices = _lgamma(m, n + 1) - _lgamma(m, k + 1) - _lgamma(m, n - k + 1)
    return choices + _xlogy(m, k, p) + _xlogy(m, n - k, -p, Arithmetic.log1p)


SPECIAL: dict[str, Entry] = {
    "log_ndtr": _log_ndtr,
    "ndtri": _ndtri,
    "erfinv": _erfinv,
    "hazard": _hazard,
    "erfcx": _erfcx,
    "dawsn": _dawsn,
    "wofz_real": partial(_wofz, imaginary=False),
    "wofz_imag": partial(_wofz, imaginary=True),
    "voigt": _voigt,
    "lgamma": _lgamma,
    "gamma": _gamma,
    "digamma": _digamma,
    "polygamma": _polygamma,
    "zeta": _zeta,
    "zeta_slope": _zeta,
    "beta": _beta,
    "betaln": lambda m, a, b: m.log(_beta(m, a, b)) if a > 0 and b > 0 else m.mp.nan,
    "expi": _expi,
    "exp1": lambda m, x: -_expi(m, -x) if x >= 0 else m.mp.nan,
    "gammainc": _gammainc,
    "gammaincc": partial(_gammainc, upper=True),
    "betainc": _betainc,
    "tanhshrink": _tanhshrink,
    "lambertw": _lambertw,
    **{f"j{n}": partial(_bessel_j, n=n) for n in (0, 1)},
    **{f"i{n}": partial(_bessel_i, n=n) for n in (0, 1)},
    "i0e": lambda m, x: m.zero if m.mp.isinf(x) else _bessel_i(m, x, 0) * m.exp(-abs(x)),
    "i1e": lambda m, x: m.zero if m.mp.isinf(x) else _bessel_i(m, x, 1) * m.exp(-abs(x)),
    "bessel_i": _bessel_i,
    "bessel_j": _bessel_j,
    **BESSEL,
    "binomial_logpmf": _binomial_logpmf,
    "poisson_logpmf": lambda m, k, rate: m.mp.nan if k < 0 else _xlogy(m, k, rate) - rate - _lgamma(m, k + 1),
}
