"""Arbitrary-precision special functions of scalars; see ``elementary`` for their signatures."""

from __future__ import annotations

import math as floats
from collections.abc import Callable
from functools import partial

from autodiff_cli.errors import NotPrecise
from autodiff_cli.precise.arithmetic import MOST_EXPONENT, Arithmetic, Real
from autodiff_cli.precise.bessel import BESSEL
from autodiff_cli.precise.elementary import Entry, ndtr

_MOST_BITS = 2000
"""The limit on the number of additional bits, with which a function still takes milliseconds."""


def _log_ndtr(mp: Arithmetic, x: Real) -> Real:
    """Return log(ndtr(x)), for x <= -1000 as the logarithm of exp(-z**2)*erfcx(z)/2 with z = -x/sqrt(2)."""
    if x > 0:
        return mp.log1p(-ndtr(mp, -x))
    if not mp.finite(x) or x > -1000:
        return mp.log(ndtr(mp, x))
    return mp.log(_erfcx(mp, -x / mp.sqrt(2)) / 2) - x * x / 2


def _quantile(mp: Arithmetic, p: Real) -> Real:
    """Return the normal quantile of a probability of at most 1/2, by Newton's method on the logarithm of the probability."""
    target = mp.log(p)
    x = -mp.sqrt(-2 * target) if target < -2 else mp.erfinv(2 * mp.mpf(float(p)) - 1) * mp.sqrt(2)  # near the quantile
    for _ in range(200):
        value = _log_ndtr(mp, x)
        slope = mp.context.exp(-x * x / 2 - value) / mp.sqrt(2 * mp.pi)  # the density divided by ndtr(x)
        step = (value - target) / slope
        x -= step
        if abs(step) <= abs(x) * mp.eps * 64 + mp.eps * mp.eps:  # a few rounding errors, also at x = 0
            break
    return x


def _ndtri(mp: Arithmetic, p: Real) -> Real:
    """Return the quantile of the normal distribution: infinite at 0 and 1, and nan outside."""
    if not 0 < p < 1:
        return -mp.inf if p == 0 else mp.inf if p == 1 else mp.nan
    if p == 0.5:
        return mp.zero
    return _quantile(mp, p) if p < 0.5 else -_quantile(mp, 1 - p)  # by symmetry


def _erfinv(mp: Arithmetic, x: Real) -> Real:
    """Return the inverse of erf by Newton's method near 0, from the normal quantile elsewhere, and nan beyond 1 and -1."""
    if not abs(x) < 1:
        return mp.inf * mp.sign(x) if abs(x) == 1 else mp.nan
    if not x:
        return mp.zero
    if abs(x) < 0.5:  # near 0, the quantile of x/2 + 1/2 would lose digits by cancellation
        y = mp.mpf(float(x))  # erfinv(x) is about x
        for _ in range(60):
            step = (mp.erf(y) - x) * mp.sqrt(mp.pi) / 2 * mp.context.exp(y * y)  # divided by the derivative of erf
            y -= step
            if abs(step) <= abs(y) * mp.eps * 64:  # a few rounding errors
                break
        return y
    return -mp.sign(x) * _quantile(mp, (1 - abs(x)) / 2) / mp.sqrt(2)


def _hazard(mp: Arithmetic, x: Real) -> Real:
    """Return the density of the normal distribution divided by ndtr."""
    if not mp.finite(x) or abs(x) > 1e8:
        raise NotPrecise("hazard")
    return mp.npdf(x) / (mp.erfc(-x / mp.sqrt(2)) / 2)


def _asymptotic(mp: Arithmetic, z: Real, sign: int) -> Real:
    """Return sum((-sign)**k*(1/2)_k/z**(2*k + 1)), with Pochhammer's (1/2)_k, for large z: sqrt(pi)*erfcx(z) or 2*dawsn(z).

    It is the asymptotic series of DLMF 7.12.1 for erfcx (sign 1), and that of Dawson's integral (sign -1).
    """
    total = term = 1 / z
    for k in range(10000):
        term *= -sign * (k + mp.mpf(1) / 2) / (z * z)
        total += term
        if abs(term) <= abs(total) * mp.eps:
            break
    return total


def _is_far(mp: Arithmetic, z: Real) -> bool:
    """Return whether the asymptotic series reaches the precision, where its smallest term is about exp(-abs(z)**2)."""
    return bool(abs(z) * abs(z) > mp.context.prec + 30)


def _erfcx(mp: Arithmetic, x: Real) -> Real:
    """Return exp(x**2)*erfc(x)."""
    if not mp.finite(x):
        return mp.nan if mp.isnan(x) else mp.zero if x > 0 else mp.inf
    return _asymptotic(mp, x, 1) / mp.sqrt(mp.pi) if x > 0 and _is_far(mp, x) else mp.exp(x * x) * mp.erfc(x)


def _dawsn(mp: Arithmetic, x: Real) -> Real:
    """Return Dawson's integral exp(-x**2)*sqrt(pi)/2*erfi(x)."""
    if not mp.finite(x):
        return mp.nan if mp.isnan(x) else mp.zero
    return _asymptotic(mp, x, -1) / 2 if _is_far(mp, x) else mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _wofz(mp: Arithmetic, x: Real, y: Real, imaginary: bool) -> Real:
    """Return the real or the imaginary part of the Faddeeva function exp(-z**2)*erfc(-i*z) at z = x + i*y."""
    if not (mp.finite(x) and mp.finite(y)):
        raise NotPrecise("the Faddeeva function at infinity")
    z = mp.mpc(x, y)
    if y >= 0 and _is_far(mp, z):
        value = mp.mpc(0, 1) / mp.sqrt(mp.pi) * _asymptotic(mp, z, -1)
        if y * abs(x) < 1:
            value += mp.context.exp(-z * z)  # on the real axis, the real part is this exponential
    elif abs(z) > 1000:
        raise NotPrecise("the Faddeeva function in the lower half plane")
    else:
        with mp.extraprec(2 * int(abs(z) * abs(z)) + 20):  # bits that 1 - erf loses
            value = mp.context.exp(-z * z) * (1 - mp.erf(mp.mpc(y, -x)))  # erfc of mpmath takes longer
    return +value.imag if imaginary else +value.real  # + rounds


def _voigt(mp: Arithmetic, x: Real, sigma: Real, gamma: Real) -> Real:
    """Return the Voigt profile, re(w((x + i*gamma)/(sqrt(2)*sigma)))/(sqrt(2*pi)*sigma), a Lorentz profile for sigma = 0."""
    if sigma < 0 or gamma < 0 or mp.isnan(x + sigma + gamma):
        return mp.nan
    if not sigma:
        return mp.div(gamma, mp.pi * (x * x + gamma * gamma)).value if x or gamma else mp.inf
    scale = sigma * mp.sqrt(2)
    return _wofz(mp, x / scale, gamma / scale, False) / (scale * mp.sqrt(mp.pi))


def _is_pole(mp: Arithmetic, x: Real) -> bool:
    """Return whether gamma has a pole: at 0 and the negative whole numbers."""
    return bool(x <= 0 and not mp.isinf(x) and mp.isint(x))


def _lgamma(mp: Arithmetic, x: Real) -> Real:
    """Return log(abs(gamma(x))), which is inf at the poles and at infinity."""
    finite = mp.finite(x) and not _is_pole(mp, x)
    return mp.re(mp.loggamma(x)) if finite else mp.nan if mp.isnan(x) else mp.inf


def _gamma(mp: Arithmetic, x: Real) -> Real:
    """Return gamma(x), from its logarithm for large x, and nan at negative poles."""
    if x > 1e6:
        return mp.exp(_lgamma(mp, x))
    if x == 0:
        return mp.inf
    exists = not (mp.isnan(x) or x == -mp.inf or _is_pole(mp, x))
    return mp.gamma(x) if exists else mp.nan


def _digamma(mp: Arithmetic, x: Real) -> Real:
    """Return the derivative of lgamma, with PyTorch's values where there is none: -inf at 0, and nan at the other poles."""
    exists = mp.finite(x) and not _is_pole(mp, x)
    return mp.digamma(x) if exists else x if x == mp.inf else -mp.inf if x == 0 else mp.nan


def _polygamma(mp: Arithmetic, x: Real, n: int) -> Real:
    """Return the derivative of order n + 1 of lgamma: 0 at inf; at poles and -inf, inf for odd n and nan for even n."""
    exists = mp.finite(x) and not _is_pole(mp, x)
    return mp.psi(int(n), x) if exists else mp.zero if x == mp.inf else mp.inf if n % 2 and not mp.isnan(x) else mp.nan


def _zeta(mp: Arithmetic, x: Real, q: Real, order: int = 0) -> Real:
    """Return a derivative, of the given order in x, of the Hurwitz zeta function sum((k + q)**-x), unless mpmath takes long."""
    if x < -1e3 or (x > 1e3 and q != 1):  # mpmath takes seconds
        raise NotPrecise("zeta")
    exists = (x > 1 and q > 0) or (x < 1 and q == 1)
    return mp.inf if x == 1 else mp.zeta(x, q, order) if exists else mp.nan


def _beta(mp: Arithmetic, a: Real, b: Real) -> Real:
    """Return the beta function from logarithms of gamma, with its sign, which is 0 where gamma(a + b) has a pole."""
    if not (mp.finite(a) and mp.finite(b)) or _is_pole(mp, a) or _is_pole(mp, b):
        raise NotPrecise("beta at its poles")
    sign = mp.sign(mp.rgamma(a)) * mp.sign(mp.rgamma(b)) * mp.sign(mp.rgamma(a + b))
    return sign * mp.exp(_lgamma(mp, a) + _lgamma(mp, b) - _lgamma(mp, a + b)) if sign else mp.zero


def _expi(mp: Arithmetic, x: Real) -> Real:
    """Return the exponential integral Ei(x), with its limits at 0 (-inf), inf (inf) and -inf (0); refuse abs(x) >= 2**20."""
    if not x:
        return -mp.inf
    if not mp.finite(x):
        return mp.nan if mp.isnan(x) else x if x > 0 else mp.zero
    if mp.mag(x) > 20:
        raise NotPrecise("expi")
    return mp.ei(x)


def _lambertw(mp: Arithmetic, x: Real, k: int) -> Real:
    """Return branch ``k`` (0 or -1) of the Lambert W function, and nan where it is not real."""
    if float(x) == -1 / floats.e and x * mp.e < -1:
        return mp.mpf(-1)  # the float nearest to the branch point is below it
    if not (x * mp.e >= -1 and (k == 0 or x <= 0)):
        return mp.nan
    if mp.isinf(x):
        return x
    return -mp.inf if k and not x else mp.re(mp.lambertw(x, k))


# The incomplete gamma and beta functions.  Power series with positive terms; the precision covers what the differences from 1 lose.


def _with_bits(mp: Arithmetic, bits: Real | float, compute: Callable[[], Real], name: str) -> Real:
    """Return ``compute()`` with ``bits`` + 30 additional bits; refuse the function ``name`` if they are too many."""
    if not bits < _MOST_BITS:
        raise NotPrecise(name)
    with mp.extraprec(int(bits) + 30):
        return compute()


def _sum_of_series(mp: Arithmetic, ratio: Callable[[int], Real], name: str) -> Real:
    """Return 1 + ratio(0) + ratio(0)*ratio(1) + ... until the terms are below the precision, or refuse ``name``."""
    total = term = mp.mpf(1)
    for k in range(5000):
        factor = ratio(k)
        term *= factor
        total += term
        if factor < 0.75 and term < total * mp.eps:  # the rest is at most three times this term
            return total
    raise NotPrecise(name)


def _gammainc(mp: Arithmetic, a: Real, x: Real, upper: bool = False) -> Real:
    """Return the regularized incomplete gamma function, the lower or the ``upper`` one, from a series (DLMF 8.11.4)."""
    if not (a >= 0 and x >= 0) or not (a or x):
        return mp.nan
    if not a or not x or mp.isinf(x):
        lower = 1 if x else 0  # everything is below x for a = 0 or an infinite x
        return mp.mpf(1 - lower if upper else lower)
    if mp.isinf(a):
        raise NotPrecise("gammainc")

    def compute() -> Real:
        factor = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
        lower = factor * _sum_of_series(mp, lambda k: x / (a + k + 1), "gammainc")
        return 1 - lower if upper else lower

    lost = 1.5 * x + 2 * abs(mp.mag(a)) + abs(mp.mag(x))  # by 1 - lower, as the upper function is larger than about a*exp(-x)
    return _with_bits(mp, lost, compute, "gammainc")


def _betainc(mp: Arithmetic, a: Real, b: Real, x: Real) -> Real:
    """Return the regularized incomplete beta function from a series (DLMF 8.17.7)."""
    if not (a > 0 and b > 0 and 0 <= x <= 1):
        return mp.nan
    if x in (0, 1):
        return x
    if mp.isinf(a) or mp.isinf(b):
        raise NotPrecise("betainc")
    sizes = abs(mp.mag(a)) + abs(mp.mag(b)) + abs(mp.mag(x)) + abs(mp.mag(1 - x))
    # The function is not smaller than the first term of its series, so these bits and a half more cover its difference from 1.
    first = _with_bits(mp, 4 * sizes, lambda: _log_of_first_term(mp, a, b, x), "betainc")
    lost = abs(first) * 1.5 + 2 * sizes
    # The series converges fast for small x; I_x(a, b) is 1 - I_{1-x}(b, a).
    compute = partial(_beta_series, mp, a, b, x) if x < 0.5 else lambda: 1 - _beta_series(mp, b, a, 1 - x)
    return _with_bits(mp, lost, compute, "betainc")


def _log_of_first_term(mp: Arithmetic, a: Real, b: Real, x: Real) -> Real:
    """Return the logarithm of x**a*(1 - x)**b*gamma(a + b + 1)/(gamma(a + 1)*gamma(b + 1))."""
    return a * mp.log(x) + b * mp.log1p(-x) - mp.loggamma(a + 1) - mp.loggamma(b + 1) + mp.loggamma(a + b + 1)


def _beta_series(mp: Arithmetic, a: Real, b: Real, x: Real) -> Real:
    """Return betainc(a, b, x) from its power series, for x < 1/2 or so."""
    factor = mp.exp(_log_of_first_term(mp, a, b, x)) * (b / (a + b))
    return factor * _sum_of_series(mp, lambda k: x * (a + b + k) / (a + 1 + k), "betainc")


def _tanhshrink(mp: Arithmetic, x: Real, t: Real) -> Real:
    """Return x - tanh(x), with the digits that the difference loses near 0."""
    if not x or not mp.finite(x):
        return x
    lost = max(0, -2 * mp.mag(x))  # in bits: the difference is about x**3/3
    return _with_bits(mp, lost, lambda: x - (mp.tanh(x) if mp.mag(x) < MOST_EXPONENT else mp.sign(x)), "tanhshrink")


def _bessel_j(mp: Arithmetic, x: Real, n: int) -> Real:
    """Return J_n(x), which is 0 at infinity."""
    return mp.besselj(n, x) if mp.finite(x) else mp.nan if mp.isnan(x) else mp.zero


def _bessel_i(mp: Arithmetic, x: Real, n: int) -> Real:
    """Return I_n(x), which is infinite at infinity, with the sign of x for an odd n."""
    return mp.besseli(n, x) if mp.finite(x) else mp.nan if mp.isnan(x) else mp.inf * mp.sign(x) ** n


def _xlogy(mp: Arithmetic, x: Real, y: Real, log: Callable[[Arithmetic, Real], Real] = Arithmetic.log) -> Real:
    """Return x*log(y), or 0 at x = 0; ``log`` may be ``log1p``."""
    return mp.zero if x == 0 and not mp.isnan(y) else x * log(mp, y)


def _binomial_logpmf(mp: Arithmetic, k: Real, n: Real, p: Real) -> Real:
    """Return the logarithm of the binomial probability of k successes in n trials; counts need not be whole."""
    if not 0 <= k <= n:
        return mp.nan
    choices = _lgamma(mp, n + 1) - _lgamma(mp, k + 1) - _lgamma(mp, n - k + 1)
    return choices + _xlogy(mp, k, p) + _xlogy(mp, n - k, -p, Arithmetic.log1p)


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
    "betaln": lambda mp, a, b: mp.log(_beta(mp, a, b)) if a > 0 and b > 0 else mp.nan,
    "expi": _expi,
    "exp1": lambda mp, x: -_expi(mp, -x) if x >= 0 else mp.nan,
    "gammainc": _gammainc,
    "gammaincc": partial(_gammainc, upper=True),
    "betainc": _betainc,
    "tanhshrink": _tanhshrink,
    "lambertw": _lambertw,
    **{f"j{n}": partial(_bessel_j, n=n) for n in (0, 1)},
    **{f"i{n}": partial(_bessel_i, n=n) for n in (0, 1)},
    "i0e": lambda mp, x: mp.zero if mp.isinf(x) else _bessel_i(mp, x, 0) * mp.exp(-abs(x)),
    "i1e": lambda mp, x: mp.zero if mp.isinf(x) else _bessel_i(mp, x, 1) * mp.exp(-abs(x)),
    "bessel_i": _bessel_i,
    "bessel_j": _bessel_j,
    **BESSEL,
    "binomial_logpmf": _binomial_logpmf,
    "poisson_logpmf": lambda mp, k, rate: mp.nan if k < 0 else _xlogy(mp, k, rate) - rate - _lgamma(mp, k + 1),
}
