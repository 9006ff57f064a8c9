"""Arbitrary-precision elementary functions and activations of scalars, keyed by the name of the declared function.

Each function takes the arithmetic, mpmath numbers and then the non-tensor arguments, and returns an mpmath number or a boolean.
The functions do not have VJP rules, since derivatives are computed from values.  Infinities and nan follow IEEE arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from autodiff_cli.precise.arithmetic import MOST_EXPONENT, Arithmetic, Context, Number, Real

Entry = Callable[..., Any]
ScalarFunction = Callable[[Arithmetic, Real], Real]
Plain = Number | float
"""A non-tensor argument, such as a slope or a bound."""


def mpmath_function(
    name: str, exists: Callable[[Real], bool] = lambda x: True, far: Callable[[Context, Real], object] | None = None
) -> ScalarFunction:
    """Wrap an mpmath function.

    Args:
        name: the name of the mpmath function.
        exists: a predicate that is true where the function is real; the wrapper returns nan elsewhere.
        far: the value, computed from the mpmath context and the argument, at arguments for which mpmath fails or takes too long:
            infinities, and arguments whose exponential overflows.
    """

    def function(m: Arithmetic, x: Real) -> Real:
        mp = m.mp
        if far is None:
            return getattr(mp, name)(x) if exists(x) else mp.nan
        if mp.isnan(x):
            return mp.nan
        if mp.isinf(x) or (x and mp.mag(x) > MOST_EXPONENT):
            return mp.mpf(far(mp, x))
        return m.rounded(getattr(mp, name)(x), x)

    return function


def _expm1(m: Arithmetic, x: Real) -> Real:
    mp = m.mp
    if not m.finite(x) or (x and mp.mag(x) > 10):
        return m.exp(x) - 1
    return mp.expm1(x)


def _trunc(m: Arithmetic, x: Real) -> Real:
    if not m.finite(x):
        return x
    return m.mp.floor(x) if x >= 0 else m.mp.ceil(x)


def _quotient(m: Arithmetic, x: Real, y: Plain, rounded: ScalarFunction, remainder: bool) -> Real:
    """Return the rounded quotient of two numbers, or the remainder."""
    divisor = m.number(y).value
    if not divisor or not m.finite(x) or m.mp.isnan(divisor):
        nan = m.mp.nan
        return nan if remainder or divisor else m.div(x, divisor).value
    whole = rounded(m, x / divisor)
    return x - divisor * whole if remainder else whole


def _isclose(m: Arithmetic, x: Real, y: Real, rtol: float, atol: float, equal_nan: bool) -> bool:
    if m.mp.isnan(x) or m.mp.isnan(y):
        return bool(equal_nan and m.mp.isnan(x) and m.mp.isnan(y))
    return bool(x == y or (m.finite(x) and m.finite(y) and abs(x - y) <= atol + rtol * abs(y)))


def _maximum(m: Arithmetic, x: Real, y: Real) -> Real:
    return m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else max(x, y)


def _minimum(m: Arithmetic, x: Real, y: Real) -> Real:
    return m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else min(x, y)


def _clamp(m: Arithmetic, x: Real, low: Plain | None, high: Plain | None) -> Real:
    raised = x if low is None else _maximum(m, x, m.number(low).value)
    return raised if high is None else _minimum(m, raised, m.number(high).value)


def _logit(m: Arithmetic, x: Real, eps: float | None) -> Real:
    p = x if eps is None else _clamp(m, x, eps, 1 - eps)
    return m.log(m.div(p, 1 - p).value) if 0 <= p <= 1 else m.mp.nan


# Activations


def _sigmoid(m: Arithmetic, x: Real) -> Real:
    if x >= 0:
        return 1 / (1 + m.exp(-x))
    size = m.exp(x)
    return size / (1 + size)


def _softplus(m: Arithmetic, x: Real, beta: Plain, threshold: float | None) -> Real:
    scaled = x * m.number(beta).value
    if threshold is not None and scaled > threshold:
        return x
    return ((scaled if scaled > 0 else m.zero) + m.log1p(m.exp(-abs(scaled)))) / m.number(beta).value


def ndtr(m: Arithmetic, x: Real) -> Real:
    """Return the cumulative distribution function of the standard normal distribution."""
    return _erfc(m, -x / m.mp.sqrt(2)) / 2


def _gelu(m: Arithmetic, x: Real, approximate: str) -> Real:
    if approximate == "none":
        return x * ndtr(m, x)
    mp = m.mp
    return x * _sigmoid(m, 2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))


_erfc = mpmath_function("erfc", far=lambda mp, x: 1 - mp.sign(x))
_floor, _sign = mpmath_function("floor"), mpmath_function("sign")

ELEMENTARY: dict[str, Entry] = {
    **{name: mpmath_function(name) for name in ("atan", "asinh", "ceil")},
    **{name: mpmath_function(name, far=lambda mp, x: mp.nan) for name in ("sin", "cos", "tan")},
    **{name: mpmath_function(name, far=lambda mp, x: mp.sign(x)) for name in ("tanh", "erf")},
    **{name: mpmath_function(name, lambda x: abs(x) <= 1) for name in ("asin", "acos")},
    "sinh": mpmath_function("sinh", far=lambda mp, x: x),
    "cosh": mpmath_function("cosh", far=lambda mp, x: abs(x)),
    "erfc": _erfc,
    "acosh": mpmath_function("acosh", lambda x: x >= 1),
    "sqrt": mpmath_function("sqrt", lambda x: x >= 0),
    "abs": lambda m, x: abs(x),
    "neg": lambda m, x: -x,
    "add": lambda m, x, y: m.add(x, y).value,
    "sub": lambda m, x, y: m.sub(x, y).value,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: m.div(x, y).value,
    "pow": lambda m, x, y: m.power(x, m.number(y).value).value,
    "power of a number": lambda m, x, y: m.power(m.number(y).value, x).value,
    "exp": Arithmetic.exp,
    "expm1": _expm1,
    "log": Arithmetic.log,
    "log1p": Arithmetic.log1p,
    "log2": lambda m, x: m.log(x) / m.mp.ln2,
    "log10": lambda m, x: m.log(x) / m.mp.ln10,
    "atanh": lambda m, x: (m.log1p(x) - m.log1p(-x)) / 2 if abs(x) <= 1 else m.mp.nan,
    "atan2": lambda m, y, x: m.mp.nan if m.mp.isnan(x) or m.mp.isnan(y) else m.mp.atan2(y, x),
    "hypot": lambda m, x, y: m.mp.inf if m.mp.isinf(x) or m.mp.isinf(y) else m.mp.hypot(x, y),
    "sinc": lambda m, x: m.mp.sincpi(x) if m.finite(x) else m.mp.nan if m.mp.isnan(x) else m.zero,
    "to": lambda m, x, dtype: x,
    "sign": _sign,
    "floor": _floor,
    "round": lambda m, x: m.mp.nint(x) if m.finite(x) else x,
    "round_to": lambda m, x, decimals: m.mp.nint(x * m.mp.mpf(10) ** decimals) / m.mp.mpf(10) ** decimals if m.finite(x) else x,
    "trunc": _trunc,
    "floor_divide": partial(_quotient, rounded=_floor, remainder=False),
    "remainder": partial(_quotient, rounded=_floor, remainder=True),
    "fmod": partial(_quotient, rounded=_trunc, remainder=True),
    "lt": lambda m, x, y: x < y,
    "le": lambda m, x, y: x <= y,
    "gt": lambda m, x, y: x > y,
    "ge": lambda m, x, y: x >= y,
    "eq": lambda m, x, y: x == y,
    "ne": lambda m, x, y: x != y,
    "logical_and": lambda m, x, y: bool(x) and bool(y),
    "logical_or": lambda m, x, y: bool(x) or bool(y),
    "logical_not": lambda m, x: not x,
    "isnan": lambda m, x: bool(m.mp.isnan(x)),
    "isinf": lambda m, x: bool(m.mp.isinf(x)),
    "isfinite": Arithmetic.finite,
    "isclose": _isclose,
    "where": lambda m, condition, x, y: x if condition else y,
    "maximum": _maximum,
    "minimum": _minimum,
    "clamp": _clamp,
    "logit": _logit,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "ndtr": ndtr,
    "gelu": _gelu,
}
