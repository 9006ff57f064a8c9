"""What the functions of the language do to single numbers of many digits: one table, from the names of the declarations.

Each entry takes the arithmetic and mpmath's numbers, then the plain arguments, and returns one of mpmath's numbers.  No
entry knows of derivatives: those are taken from values.  Where IEEE arithmetic answers with an infinity or with nan, so
does the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff_cli.precise.number import Arithmetic

Entry = Callable[..., Any]
FUNCTIONS: dict[str, Entry] = {}


def named(*names: str) -> Callable[[Entry], Entry]:
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


def finite(m: Arithmetic, x: Any) -> bool:
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
            return m.rounded(inner(m, x), x)

        FUNCTIONS[name] = function


_bounded("sin", "cos", "tan", "sinh", "cosh", "tanh", "erf", "erfc")
FUNCTIONS["sgn"] = FUNCTIONS["sign"]
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


def log(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    return mp.log(x) if x > 0 else -mp.inf if x == 0 else mp.nan


def log1p(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    return mp.log1p(x) if x > -1 else -mp.inf if x == -1 else mp.nan


FUNCTIONS["log"] = log
FUNCTIONS["log1p"] = log1p
FUNCTIONS["log2"] = lambda m, x: log(m, x) / m.mp.ln2
FUNCTIONS["log10"] = lambda m, x: log(m, x) / m.mp.ln10
FUNCTIONS["atanh"] = lambda m, x: (log1p(m, x) - log1p(m, -x)) / 2 if abs(x) <= 1 else m.mp.nan


@named("expm1")
def _expm1(m: Arithmetic, x: Any) -> Any:
    mp = m.mp
    if mp.isnan(x) or mp.isinf(x) or (x and mp.mag(x) > 10):
        return m.exp(x) - 1
    return mp.expm1(x)


@named("cbrt")
def _cbrt(m: Arithmetic, x: Any) -> Any:
    return x if not x or not finite(m, x) else m.mp.sign(x) * m.mp.cbrt(abs(x))


@named("atan2")
def _atan2(m: Arithmetic, y: Any, x: Any) -> Any:
    return m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else m.mp.atan2(y, x)


@named("round")
def _round(m: Arithmetic, x: Any) -> Any:
    return m.mp.nint(x) if finite(m, x) else x


def _trunc(m: Arithmetic, x: Any) -> Any:
    if not finite(m, x):
        return x
    return m.mp.floor(x) if x >= 0 else m.mp.ceil(x)


FUNCTIONS["trunc"] = _trunc
FUNCTIONS["frac"] = lambda m, x: x - _trunc(m, x)


def _sinc(m: Arithmetic, x: Any) -> Any:
    if not finite(m, x):
        return m.mp.nan if m.mp.isnan(x) else m.zero
    return m.mp.sincpi(x)


FUNCTIONS["sinc"] = _sinc


def _quotient(rounded: Callable[[Arithmetic, Any], Any], remainder: bool) -> Entry:
    def function(m: Arithmetic, x: Any, y: Any) -> Any:
        y = m.of(y).value
        if not y or not finite(m, x) or m.mp.isnan(y):
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
FUNCTIONS["isfinite"] = lambda m, x: finite(m, x)
FUNCTIONS["where"] = lambda m, condition, x, y: x if condition else y


@named("isclose")
def _isclose(m: Arithmetic, x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    if m.mp.isnan(x) or m.mp.isnan(y):
        return bool(equal_nan and m.mp.isnan(x) and m.mp.isnan(y))
    return bool(x == y or (finite(m, x) and finite(m, y) and abs(x - y) <= atol + rtol * abs(y)))


def _larger(m: Arithmetic, x: Any, y: Any) -> Any:
    return m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else max(x, y)


def _smaller(m: Arithmetic, x: Any, y: Any) -> Any:
    return m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else min(x, y)


FUNCTIONS["maximum"], FUNCTIONS["minimum"] = _larger, _smaller


@named("clamp", "hardtanh")
def _clamp(m: Arithmetic, x: Any, low: Any, high: Any) -> Any:
    raised = x if low is None else _larger(m, x, m.of(low).value)
    return raised if high is None else _smaller(m, raised, m.of(high).value)


# Logarithms of sums, and logarithms with a factor


def softplus(m: Arithmetic, x: Any) -> Any:
    """log(1 + exp(x)) without overflow."""
    return (x if x > 0 else m.zero) + log1p(m, m.exp(-abs(x)))


def _logaddexp(m: Arithmetic, x: Any, y: Any, base: Any = None) -> Any:
    if x == y and m.mp.isinf(x):
        return x
    scale = 1 if base is None else m.mp.log(base)
    return _larger(m, x, y) + log1p(m, m.exp(-abs(x - y) * scale)) / scale


FUNCTIONS["logaddexp"] = _logaddexp
FUNCTIONS["logaddexp2"] = lambda m, x, y: _logaddexp(m, x, y, 2)
FUNCTIONS["xlogy"] = lambda m, x, y: m.zero if x == 0 and not m.mp.isnan(y) else x * log(m, y)
FUNCTIONS["xlog1py"] = lambda m, x, y: m.zero if x == 0 and not m.mp.isnan(y) else x * log1p(m, y)


@named("logit")
def _logit(m: Arithmetic, x: Any, eps: Any) -> Any:
    p = x if eps is None else _clamp(m, x, eps, 1 - eps)
    return log(m, m.div(p, 1 - p).value) if 0 <= p <= 1 else m.mp.nan


# Activations


def _sigmoid(m: Arithmetic, x: Any) -> Any:
    if x >= 0:
        return 1 / (1 + m.exp(-x))
    size = m.exp(x)
    return size / (1 + size)


FUNCTIONS["sigmoid"] = _sigmoid
FUNCTIONS["silu"] = lambda m, x: x * _sigmoid(m, x)
FUNCTIONS["softsign"] = lambda m, x: m.mp.sign(x) if m.mp.isinf(x) else x / (1 + abs(x))
FUNCTIONS["relu"] = lambda m, x: _larger(m, x, m.zero)
FUNCTIONS["leaky_relu"] = lambda m, x, slope: x if x > 0 else x * m.of(slope).value
FUNCTIONS["hardsigmoid"] = lambda m, x: _clamp(m, x / 6 + m.mp.mpf(1) / 2, 0, 1)
FUNCTIONS["logsigmoid"] = lambda m, x: -softplus(m, -x)
FUNCTIONS["mish"] = lambda m, x: x * m.mp.tanh(softplus(m, x))


@named("elu")
def _elu(m: Arithmetic, x: Any, alpha: Any) -> Any:
    return x if x > 0 else m.of(alpha).value * _expm1(m, x)


@named("celu")
def _celu(m: Arithmetic, x: Any, alpha: Any) -> Any:
    return x if x > 0 else m.of(alpha).value * _expm1(m, x / m.of(alpha).value)


@named("selu")
def _selu(m: Arithmetic, x: Any) -> Any:
    scale = m.mp.mpf(1.0507009873554804934193349852946)
    return scale * (x if x > 0 else m.mp.mpf(1.6732632423543772848170429916717) * _expm1(m, x))


@named("softplus")
def _softplus(m: Arithmetic, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * m.of(beta).value
    return x if threshold is not None and scaled > threshold else softplus(m, scaled) / m.of(beta).value


@named("gelu")
def _gelu(m: Arithmetic, x: Any, approximate: str) -> Any:
    if approximate == "none":
        return x * FUNCTIONS["ndtr"](m, x)
    mp = m.mp
    return x * _sigmoid(m, 2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))
