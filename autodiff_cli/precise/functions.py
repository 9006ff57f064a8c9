"""What the functions of the language do to single numbers of many digits: one table, from the names of the declarations.

Each entry takes the arithmetic and mpmath's numbers, then the plain arguments, and returns one of mpmath's numbers.  No
entry knows of derivatives: those are taken from values.  Where IEEE arithmetic answers with an infinity or with nan, so
does the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff_cli.errors import NotPrecise
from autodiff_cli.precise.number import Arithmetic

Entry = Callable[..., Any]
FUNCTIONS: dict[str, Entry] = {}


def _named(*names: str) -> Callable[[Entry], Entry]:
    def decorate(function: Entry) -> Entry:
        for name in names:
            FUNCTIONS[name] = function
        return function

    return decorate


def _plain(*names: str, of: Callable[[Any], bool] | None = None) -> None:
    """Functions that mpmath has by these names; ``of`` says where they exist, nan elsewhere."""

    def entry(name: str) -> Entry:
        def function(m: Arithmetic, x: Any) -> Any:
            return m.mp.nan if of is not None and not of(x) else getattr(m.mp, name)(x)

        return function

    for name in names:
        FUNCTIONS[name] = entry(name)


def _finite(m: Arithmetic, x: Any) -> bool:
    return not (m.mp.isnan(x) or m.mp.isinf(x))


# Elementary functions

_plain("sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh", "sign", "floor", "ceil", "erf", "erfc")
_plain("asin", "acos", of=lambda x: abs(x) <= 1)
_plain("acosh", of=lambda x: x >= 1)
_plain("sqrt", of=lambda x: x >= 0)


def _bounded(*names: str) -> None:
    """What is too expensive, or not there, for arguments whose exponentials are no numbers."""
    for name in names:
        inner = FUNCTIONS[name]

        def function(m: Arithmetic, x: Any, inner: Entry = inner, name: str = name) -> Any:
            mp = m.mp
            if mp.isnan(x):
                return mp.nan
            if mp.isinf(x) or (x and mp.mag(x) > 4000):
                at_infinity = {"sinh": x, "cosh": abs(x), "tanh": mp.sign(x), "erf": mp.sign(x), "erfc": mp.mpf(1 - mp.sign(x))}
                return at_infinity.get(name, mp.nan)
            return inner(m, x)

        FUNCTIONS[name] = function


_bounded("sin", "cos", "tan", "sinh", "cosh", "tanh", "erf", "erfc")
FUNCTIONS["abs"] = lambda m, x: abs(x)
FUNCTIONS["neg"] = lambda m, x: -x
FUNCTIONS["exp"] = lambda m, x: m.exp(x)
FUNCTIONS["add"] = lambda m, x, y: m.add(x, y).value
FUNCTIONS["sub"] = lambda m, x, y: m.add(x, -y).value
FUNCTIONS["rsub"] = lambda m, x, y: m.add(m.mp.mpf(y), -x).value
FUNCTIONS["mul"] = lambda m, x, y: x * y
FUNCTIONS["div"] = lambda m, x, y: m.div(x, y).value
FUNCTIONS["reciprocal"] = lambda m, x: m.div(m.mp.mpf(1), x).value
FUNCTIONS["pow"] = lambda m, x, y: m.power(x, m.of(y).value).value
FUNCTIONS["exp2"] = lambda m, x: m.exp(x * m.mp.ln2)
FUNCTIONS["hypot"] = lambda m, x, y: m.mp.inf if m.mp.isinf(x) or m.mp.isinf(y) else m.mp.hypot(x, y)
FUNCTIONS["deg2rad"] = lambda m, x: x * m.mp.pi / 180
FUNCTIONS["rad2deg"] = lambda m, x: x * 180 / m.mp.pi
FUNCTIONS["rsqrt"] = lambda m, x: m.mp.nan if x < 0 else m.div(m.mp.mpf(1), m.mp.sqrt(x)).value
FUNCTIONS["to"] = lambda m, x, dtype: x


def _log(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    return mp.log(x) if x > 0 else -mp.inf if x == 0 else mp.nan


def _log1p(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    return mp.log1p(x) if x > -1 else -mp.inf if x == -1 else mp.nan


FUNCTIONS["log"] = _log
FUNCTIONS["log1p"] = _log1p
FUNCTIONS["log2"] = lambda m, x: _log(m, x) / m.mp.ln2
FUNCTIONS["log10"] = lambda m, x: _log(m, x) / m.mp.ln10
FUNCTIONS["atanh"] = lambda m, x: (_log1p(m, x) - _log1p(m, -x)) / 2 if abs(x) <= 1 else m.mp.nan


@_named("expm1")
def _expm1(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if mp.isnan(x) or mp.isinf(x) or (x and mp.mag(x) > 10):
        return m.exp(x) - 1
    return mp.expm1(x)


@_named("cbrt")
def _cbrt(m: Arithmetic, x: Any) -> Any:
    return x if not x or not _finite(m, x) else m.mp.sign(x) * m.mp.cbrt(abs(x))


@_named("atan2")
def _atan2(m: Arithmetic, y: Any, x: Any) -> Any:
    return m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else m.mp.atan2(y, x)


@_named("round")
def _round(m: Arithmetic, x: Any) -> Any:
    return m.mp.nint(x) if _finite(m, x) else x


def _trunc(m: Arithmetic, x: Any) -> Any:
    if not _finite(m, x):
        return x
    return m.mp.floor(x) if x >= 0 else m.mp.ceil(x)


FUNCTIONS["trunc"] = _trunc
FUNCTIONS["frac"] = lambda m, x: x - _trunc(m, x)


def _sinc(m: Arithmetic, x: Any) -> Any:
    if not _finite(m, x):
        return m.mp.nan if m.mp.isnan(x) else m.zero
    return m.mp.sincpi(x)


FUNCTIONS["sinc"] = _sinc


def _quotient(rounded: Callable[[Arithmetic, Any], Any], remainder: bool) -> Entry:
    def function(m: Arithmetic, x: Any, y: Any) -> Any:
        y = m.of(y).value
        if not y or not _finite(m, x) or m.mp.isnan(y):
            return m.mp.nan if remainder or y else m.div(x, y).value
        whole = rounded(m, x / y)
        return x - y * whole if remainder else whole

    return function


def _floor(m: Arithmetic, x: Any) -> Any:
    return m.mp.floor(x)


FUNCTIONS["floor_divide"] = _quotient(_floor, False)
FUNCTIONS["remainder"] = _quotient(_floor, True)
FUNCTIONS["fmod"] = _quotient(_trunc, True)

# Comparisons and logic: Python's values, not numbers

FUNCTIONS["lt"] = lambda m, x, y: x < y
FUNCTIONS["le"] = lambda m, x, y: x <= y
FUNCTIONS["gt"] = lambda m, x, y: x > y
FUNCTIONS["ge"] = lambda m, x, y: x >= y
FUNCTIONS["eq"] = lambda m, x, y: x == y
FUNCTIONS["ne"] = lambda m, x, y: x != y
FUNCTIONS["logical_and"] = lambda m, x, y: bool(x) and bool(y)
FUNCTIONS["logical_or"] = lambda m, x, y: bool(x) or bool(y)
FUNCTIONS["logical_xor"] = lambda m, x, y: bool(x) != bool(y)
FUNCTIONS["logical_not"] = lambda m, x: not x
FUNCTIONS["isnan"] = lambda m, x: bool(m.mp.isnan(x))
FUNCTIONS["isinf"] = lambda m, x: bool(m.mp.isinf(x))
FUNCTIONS["isfinite"] = lambda m, x: _finite(m, x)
FUNCTIONS["where"] = lambda m, condition, x, y: x if condition else y


@_named("isclose")
def _isclose(m: Arithmetic, x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    if m.mp.isnan(x) or m.mp.isnan(y):
        return bool(equal_nan and m.mp.isnan(x) and m.mp.isnan(y))
    return bool(x == y or (_finite(m, x) and _finite(m, y) and abs(x - y) <= atol + rtol * abs(y)))


def _larger(m: Arithmetic, x: Any, y: Any) -> Any:
    return m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else max(x, y)


def _smaller(m: Arithmetic, x: Any, y: Any) -> Any:
    return m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else min(x, y)


FUNCTIONS["maximum"], FUNCTIONS["minimum"] = _larger, _smaller


@_named("clamp", "hardtanh")
def _clamp(m: Arithmetic, x: Any, low: Any, high: Any) -> Any:
    raised = x if low is None else _larger(m, x, m.of(low).value)
    return raised if high is None else _smaller(m, raised, m.of(high).value)


# Logarithms of sums, and logarithms with a factor


def softplus(m: Arithmetic, x: Any) -> Any:
    """log(1 + exp(x)) without overflow."""
    return (x if x > 0 else m.zero) + _log1p(m, m.exp(-abs(x)))


def _logaddexp(m: Arithmetic, x: Any, y: Any, base: Any = None) -> Any:
    if x == y and m.mp.isinf(x):
        return x
    scale = 1 if base is None else m.mp.log(base)
    return _larger(m, x, y) + _log1p(m, m.exp(-abs(x - y) * scale)) / scale


FUNCTIONS["logaddexp"] = _logaddexp
FUNCTIONS["logaddexp2"] = lambda m, x, y: _logaddexp(m, x, y, 2)
FUNCTIONS["xlogy"] = lambda m, x, y: m.zero if x == 0 and not m.mp.isnan(y) else x * _log(m, y)
FUNCTIONS["xlog1py"] = lambda m, x, y: m.zero if x == 0 and not m.mp.isnan(y) else x * _log1p(m, y)


@_named("logit")
def _logit(m: Arithmetic, x: Any, eps: Any) -> Any:
    p = x if eps is None else _clamp(m, x, eps, 1 - eps)
    return _log(m, m.div(p, 1 - p).value) if 0 <= p <= 1 else m.mp.nan


# Activations


def _sigmoid(m: Arithmetic, x: Any) -> Any:
    if x >= 0:
        return 1 / (1 + m.exp(-x))
    size = m.exp(x)
    return size / (1 + size)


FUNCTIONS["sigmoid"] = _sigmoid
FUNCTIONS["silu"] = lambda m, x: x * _sigmoid(m, x)
FUNCTIONS["relu"] = lambda m, x: _larger(m, x, m.zero)
FUNCTIONS["leaky_relu"] = lambda m, x, slope: x if x > 0 else x * m.of(slope).value
FUNCTIONS["hardsigmoid"] = lambda m, x: _clamp(m, x / 6 + m.mp.mpf(1) / 2, 0, 1)
FUNCTIONS["logsigmoid"] = lambda m, x: -softplus(m, -x)
FUNCTIONS["mish"] = lambda m, x: x * m.mp.tanh(softplus(m, x))


@_named("elu")
def _elu(m: Arithmetic, x: Any, alpha: Any) -> Any:
    return x if x > 0 else m.of(alpha).value * _expm1(m, x)


@_named("celu")
def _celu(m: Arithmetic, x: Any, alpha: Any) -> Any:
    return x if x > 0 else m.of(alpha).value * _expm1(m, x / m.of(alpha).value)


@_named("selu")
def _selu(m: Arithmetic, x: Any) -> Any:
    scale = m.mp.mpf(1.0507009873554804934193349852946)
    return scale * (x if x > 0 else m.mp.mpf(1.6732632423543772848170429916717) * _expm1(m, x))


@_named("softplus")
def _softplus(m: Arithmetic, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * m.of(beta).value
    return x if threshold is not None and scaled > threshold else softplus(m, scaled) / m.of(beta).value


@_named("gelu")
def _gelu(m: Arithmetic, x: Any, approximate: str) -> Any:
    if approximate == "none":
        return x * ndtr(m, x)
    mp = m.mp
    return x * _sigmoid(m, 2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))


# The normal distribution


def ndtr(m: Arithmetic, x: Any) -> Any:
    """The distribution function of the normal distribution."""
    return FUNCTIONS["erfc"](m, -x / m.mp.sqrt(2)) / 2


FUNCTIONS["ndtr"] = ndtr


@_named("log_ndtr")
def _log_ndtr(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if x > 0:
        return _log1p(m, -ndtr(m, -x))
    if not _finite(m, x) or x > -1000:
        return _log(m, ndtr(m, x))
    # The asymptotic series of the tail, whose terms shrink by far more than a digit each.
    total, term, k = mp.mpf(1), mp.mpf(1), 1
    while abs(term) > mp.eps and k < 10000:
        term *= -(2 * k - 1) / (x * x)
        total += term
        k += 1
    return -x * x / 2 - _log(m, -x) - _log(m, 2 * mp.pi) / 2 + _log(m, total)


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


@_named("ndtri")
def _ndtri(m: Arithmetic, p: Any) -> Any:
    mp = m.mp
    if not 0 < p < 1:
        return -mp.inf if p == 0 else mp.inf if p == 1 else mp.nan
    if p == 0.5:
        return m.zero
    return _quantile(m, p) if p < 0.5 else -_quantile(m, 1 - p)


@_named("erfinv")
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


# Factorials


def _pole(m: Arithmetic, x: Any) -> bool:
    return bool(x <= 0 and not m.mp.isinf(x) and m.mp.isint(x))


@_named("lgamma")
def _lgamma(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if mp.isnan(x) or mp.isinf(x) or _pole(m, x):
        return mp.nan if mp.isnan(x) else mp.inf
    return mp.re(mp.loggamma(x))


@_named("gamma")
def _gamma(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if mp.isnan(x) or x == -mp.inf or _pole(m, x):
        return mp.inf if x == 0 else mp.nan
    if x > 1e6:
        return m.exp(_lgamma(m, x))
    return mp.gamma(x)


@_named("digamma")
def _digamma(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if mp.isnan(x) or mp.isinf(x) or _pole(m, x):
        return x if x == mp.inf else -mp.inf if x == 0 else mp.nan
    return mp.digamma(x)


@_named("polygamma")
def _polygamma(m: Arithmetic, x: Any, n: int) -> Any:
    mp = m.mp
    if not _finite(m, x) or _pole(m, x):
        return m.zero if x == mp.inf else mp.inf if n % 2 and not mp.isnan(x) else mp.nan
    return mp.psi(int(n), x)


@_named("zeta")
def _zeta(m: Arithmetic, x: Any, q: Any) -> Any:
    mp = m.mp
    if x == 1:
        return mp.inf
    return mp.zeta(x, q) if x > 1 and q > 0 else mp.nan


@_named("beta")
def _beta(m: Arithmetic, a: Any, b: Any) -> Any:
    mp = m.mp
    if not (_finite(m, a) and _finite(m, b)) or _pole(m, a) or _pole(m, b):
        raise NotPrecise("beta at its poles")
    sign = mp.sign(mp.rgamma(a)) * mp.sign(mp.rgamma(b)) * mp.sign(mp.rgamma(a + b))
    return sign * m.exp(_lgamma(m, a) + _lgamma(m, b) - _lgamma(m, a + b)) if sign else m.zero


# Bessel functions


def _bessel(name: str, order: int, scaled: bool = False) -> Entry:
    def function(m: Arithmetic, x: Any) -> Any:
        mp = m.mp
        if not _finite(m, x):
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

# Densities


@_named("normal_logpdf")
def _normal_logpdf(m: Arithmetic, x: Any, mean: Any, std: Any) -> Any:
    z = m.div(x - mean, std).value
    return -z * z / 2 - _log(m, std) - _log(m, 2 * m.mp.pi) / 2


@_named("binomial_logpmf")
def _binomial_logpmf(m: Arithmetic, k: Any, n: Any, p: Any) -> Any:
    if not 0 <= k <= n:
        return m.mp.nan
    choices = _lgamma(m, n + 1) - _lgamma(m, k + 1) - _lgamma(m, n - k + 1)
    return choices + FUNCTIONS["xlogy"](m, k, p) + FUNCTIONS["xlog1py"](m, n - k, -p)


@_named("poisson_logpmf")
def _poisson_logpmf(m: Arithmetic, k: Any, rate: Any) -> Any:
    if k < 0:
        return m.mp.nan
    return FUNCTIONS["xlogy"](m, k, rate) - rate - _lgamma(m, k + 1)


def computed(name: str, m: Arithmetic, arguments: list[Any]) -> Any:
    """The result of a function of the table.

    Raises:
        NotPrecise: if it is not in the table, or mpmath cannot compute it there.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        raise NotPrecise(name)
    try:
        value = function(m, *arguments)
    except NotPrecise:
        raise
    except (ArithmeticError, ValueError, NotImplementedError, MemoryError, TypeError):
        raise NotPrecise(name) from None
    if isinstance(value, m.mp.mpc):
        return value.real if not value.imag else m.mp.nan
    return value


# Derivatives that have a name in the language

FUNCTIONS["sgn"] = FUNCTIONS["sign"]
FUNCTIONS["softsign"] = lambda m, x: m.mp.sign(x) if m.mp.isinf(x) else x / (1 + abs(x))


FUNCTIONS["bessel_i"] = lambda m, x, n: _bessel("besseli", n)(m, x)
FUNCTIONS["bessel_j"] = lambda m, x, n: _bessel("besselj", n)(m, x)


@_named("hazard")
def _hazard(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if not _finite(m, x) or abs(x) > 1e8:
        raise NotPrecise("hazard")
    return mp.npdf(x) / (mp.erfc(-x / mp.sqrt(2)) / 2)
