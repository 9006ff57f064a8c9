"""Special functions and densities of numbers with many digits; the entries are as in ``elementary``."""

from __future__ import annotations

from typing import Any

from autodiff_cli.errors import NotPrecise
from autodiff_cli.precise.elementary import FUNCTIONS, Entry, finite, log, log1p, named
from autodiff_cli.precise.number import Arithmetic

__all__ = ["FUNCTIONS"]

# The normal distribution


def ndtr(m: Arithmetic, x: Any) -> Any:
    """The distribution function of the normal distribution."""
    return FUNCTIONS["erfc"](m, -x / m.mp.sqrt(2)) / 2


FUNCTIONS["ndtr"] = ndtr


@named("log_ndtr")
def _log_ndtr(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if x > 0:
        return log1p(m, -ndtr(m, -x))
    if not finite(m, x) or x > -1000:
        return log(m, ndtr(m, x))
    # The asymptotic series of the tail, whose terms shrink by far more than a digit each.
    total, term, k = mp.mpf(1), mp.mpf(1), 1
    while abs(term) > mp.eps and k < 10000:
        term *= -(2 * k - 1) / (x * x)
        total += term
        k += 1
    return -x * x / 2 - log(m, -x) - log(m, 2 * mp.pi) / 2 + log(m, total)


def _quantile(m: Arithmetic, p: Any) -> Any:
    """The normal quantile of a probability of at most one half, by Newton's method for its logarithm."""
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


@named("ndtri")
def _ndtri(m: Arithmetic, p: Any) -> Any:
    mp = m.mp
    if not 0 < p < 1:
        return -mp.inf if p == 0 else mp.inf if p == 1 else mp.nan
    if p == 0.5:
        return m.zero
    return _quantile(m, p) if p < 0.5 else -_quantile(m, 1 - p)


@named("erfinv")
def _erfinv(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if not abs(x) < 1:
        return mp.inf * x if abs(x) == 1 else mp.nan
    if not x:
        return m.zero
    if abs(x) < 0.5:  # around 0 the quantile of x/2 + 1/2 would cancel
        y = mp.mpf(float(x))
        for _ in range(60):
            step = (mp.erf(y) - x) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
            y -= step
            if abs(step) <= abs(y) * mp.eps * 64:
                break
        return y
    return -mp.sign(x) * _quantile(m, (1 - abs(x)) / 2) / mp.sqrt(2)


@named("hazard")
def _hazard(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if not finite(m, x) or abs(x) > 1e8:
        raise NotPrecise("hazard")
    return mp.npdf(x) / (mp.erfc(-x / mp.sqrt(2)) / 2)


# Factorials


def _pole(m: Arithmetic, x: Any) -> bool:
    return bool(x <= 0 and not m.mp.isinf(x) and m.mp.isint(x))


@named("lgamma")
def _lgamma(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if mp.isnan(x) or mp.isinf(x) or _pole(m, x):
        return mp.nan if mp.isnan(x) else mp.inf
    return mp.re(mp.loggamma(x))


@named("gamma")
def _gamma(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if mp.isnan(x) or x == -mp.inf or _pole(m, x):
        return mp.inf if x == 0 else mp.nan
    if x > 1e6:
        return m.exp(_lgamma(m, x))
    return mp.gamma(x)


@named("digamma")
def _digamma(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if mp.isnan(x) or mp.isinf(x) or _pole(m, x):
        return x if x == mp.inf else -mp.inf if x == 0 else mp.nan
    return mp.digamma(x)


@named("polygamma")
def _polygamma(m: Arithmetic, x: Any, n: int) -> Any:
    mp = m.mp
    if not finite(m, x) or _pole(m, x):
        return m.zero if x == mp.inf else mp.inf if n % 2 and not mp.isnan(x) else mp.nan
    return mp.psi(int(n), x)


@named("zeta")
def _zeta(m: Arithmetic, x: Any, q: Any) -> Any:
    mp = m.mp
    if x == 1:
        return mp.inf
    return mp.zeta(x, q) if x > 1 and q > 0 else mp.nan


@named("beta")
def _beta(m: Arithmetic, a: Any, b: Any) -> Any:
    mp = m.mp
    if not (finite(m, a) and finite(m, b)) or _pole(m, a) or _pole(m, b):
        raise NotPrecise("beta at its poles")
    sign = mp.sign(mp.rgamma(a)) * mp.sign(mp.rgamma(b)) * mp.sign(mp.rgamma(a + b))
    return sign * m.exp(_lgamma(m, a) + _lgamma(m, b) - _lgamma(m, a + b)) if sign else m.zero


# Bessel functions


def _bessel(name: str, order: int, scaled: bool = False) -> Entry:
    def function(m: Arithmetic, x: Any) -> Any:
        mp = m.mp
        if not finite(m, x):
            if mp.isnan(x):
                return mp.nan
            return (m.zero if scaled else mp.inf * mp.sign(x) ** order) if name == "besseli" else m.zero
        value = getattr(mp, name)(order, x)
        return value * m.exp(-abs(x)) if scaled else value

    return function


for _order in (0, 1):
    FUNCTIONS[f"j{_order}"] = _bessel("besselj", _order)
    FUNCTIONS[f"i{_order}"] = _bessel("besseli", _order)
    FUNCTIONS[f"i{_order}e"] = _bessel("besseli", _order, scaled=True)
FUNCTIONS["bessel_i"] = lambda m, x, n: _bessel("besseli", n)(m, x)
FUNCTIONS["bessel_j"] = lambda m, x, n: _bessel("besselj", n)(m, x)

# Densities


@named("normal_logpdf")
def _normal_logpdf(m: Arithmetic, x: Any, mean: Any, std: Any) -> Any:
    z = m.div(x - mean, std).value
    return -z * z / 2 - log(m, std) - log(m, 2 * m.mp.pi) / 2


@named("binomial_logpmf")
def _binomial_logpmf(m: Arithmetic, k: Any, n: Any, p: Any) -> Any:
    if not 0 <= k <= n:
        return m.mp.nan
    choices = _lgamma(m, n + 1) - _lgamma(m, k + 1) - _lgamma(m, n - k + 1)
    return choices + FUNCTIONS["xlogy"](m, k, p) + FUNCTIONS["xlog1py"](m, n - k, -p)


@named("poisson_logpmf")
def _poisson_logpmf(m: Arithmetic, k: Any, rate: Any) -> Any:
    if k < 0:
        return m.mp.nan
    return FUNCTIONS["xlogy"](m, k, rate) - rate - _lgamma(m, k + 1)
