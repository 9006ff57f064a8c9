"""Arbitrary-precision elementary functions and activations of scalars, keyed by the name of the declared function.

Each function takes the arithmetic, mpmath numbers and then the non-tensor arguments, and returns an mpmath number or a boolean.
The functions do not have VJP rules, since derivatives are computed from values.  Infinities and nan follow IEEE arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from autodiff_cli.precise.arithmetic import MOST_EXPONENT, Arithmetic, Number, Real

Entry = Callable[..., Any]
ScalarFunction = Callable[[Arithmetic, Real], Real]
Plain = Number | float
"""A non-tensor argument, such as a slope or a bound."""


def mpmath_function(
    name: str, exists: Callable[[Real], bool] = lambda x: True, far: Callable[[Arithmetic, Real], object] | None = None
) -> ScalarFunction:
    """Wrap an mpmath function.

    Args:
        name: the name of the mpmath function.
        exists: a predicate that is true where the function is real; the wrapper returns nan elsewhere.
        far: the value, computed from the mpmath context and the argument, at arguments for which mpmath fails or takes too long:
            infinities, and arguments whose exponential overflows; ``None`` if there are no such arguments.
    """

    def function(mp: Arithmetic, x: Real) -> Real:
        """Return the value at x; nan where the function does not exist."""
        if far is None:
            return getattr(mp, name)(x) if exists(x) else mp.nan
        if mp.isnan(x):
            return mp.nan
        if mp.isinf(x) or (x and mp.mag(x) > MOST_EXPONENT):
            return mp.mpf(far(mp, x))
        value = getattr(mp, name)(x)
        mp.note_lost_digits(value, x)  # tanh and erf, for example, tend to 1
        return value

    return function


def _expm1(mp: Arithmetic, x: Real) -> Real:
    """Return exp(x) - 1; for abs(x) >= 2**10 without mpmath's ``expm1``, which takes long there."""
    if not mp.finite(x) or (x and mp.mag(x) > 10):
        return mp.exp(x) - 1
    return mp.expm1(x)


def _trunc(mp: Arithmetic, x: Real) -> Real:
    """Return x rounded towards 0."""
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def _quotient(mp: Arithmetic, x: Real, y: Plain, rounded: ScalarFunction, remainder: bool) -> Real:
    """Return x/y rounded by ``rounded``, or with ``remainder`` the rest x - y*rounded(x/y); a division by 0 is IEEE's."""
    divisor = mp.number(y).value
    if not divisor and not remainder:
        return mp.div(x, divisor).value
    if not divisor or not mp.finite(x) or mp.isnan(divisor):
        return mp.nan
    whole = rounded(mp, x / divisor)
    return x - divisor * whole if remainder else whole


def _isclose(mp: Arithmetic, x: Real, y: Real, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Return whether numbers differ by at most atol + rtol*abs(y), are equal, or are both nan if ``equal_nan``."""
    if mp.isnan(x) or mp.isnan(y):
        return bool(equal_nan and mp.isnan(x) and mp.isnan(y))
    return bool(x == y or (mp.finite(x) and mp.finite(y) and abs(x - y) <= atol + rtol * abs(y)))


def _extreme(mp: Arithmetic, x: Real, y: Real, choose: Callable[[Real, Real], Real]) -> Real:
    """Return the number that ``choose``, which is max or min, chooses from two; nan if one of them is nan."""
    return mp.nan if mp.isnan(x) or mp.isnan(y) else choose(x, y)


def _clamp(mp: Arithmetic, x: Real, low: Plain | None, high: Plain | None) -> Real:
    """Return x between two bounds; ``None`` does not limit."""
    raised = x if low is None else _extreme(mp, x, mp.number(low).value, max)
    return raised if high is None else _extreme(mp, raised, mp.number(high).value, min)


def _logit(mp: Arithmetic, x: Real, eps: float | None) -> Real:
    """Return log(p/(1 - p)), with ``x`` limited to the range from ``eps`` to ``1 - eps`` unless ``eps`` is missing."""
    p = x if eps is None else _clamp(mp, x, eps, 1 - eps)
    return mp.log(mp.div(p, 1 - p).value) if 0 <= p <= 1 else mp.nan


def _sigmoid(mp: Arithmetic, x: Real) -> Real:
    """Return 1/(1 + exp(-x)); exp of a float does not overflow in this arithmetic."""
    return 1 / (1 + mp.exp(-x))


def _softplus(mp: Arithmetic, x: Real, beta: Plain, threshold: float | None) -> Real:
    """Return log(1 + exp(beta*x))/beta, or ``x`` where beta*x is above the threshold, unless that is ``None``."""
    factor = mp.number(beta).value
    scaled = x * factor
    if threshold is not None and scaled > threshold:
        return x
    return mp.log1p(mp.exp(scaled)) / factor  # exp of a float does not overflow in this arithmetic


def ndtr(mp: Arithmetic, x: Real) -> Real:
    """Return the cumulative distribution function of the standard normal distribution."""
    return _erfc(mp, -x / mp.sqrt(2)) / 2


def _gelu(mp: Arithmetic, x: Real, approximate: str) -> Real:
    """Return the Gaussian error linear unit, or its approximation with tanh (of 0.044715*x**3) unless that is "none"."""
    if approximate == "none":
        return x * ndtr(mp, x)
    return x * _sigmoid(mp, 2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))


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
    "abs": lambda mp, x: abs(x),
    "neg": lambda mp, x: -x,
    "add": lambda mp, x, y: mp.add(x, y).value,
    "sub": lambda mp, x, y: mp.sub(x, y).value,
    "mul": lambda mp, x, y: x * y,
    "div": lambda mp, x, y: mp.div(x, y).value,
    "pow": lambda mp, x, y: mp.power(x, mp.number(y).value).value,
    "power of a number": lambda mp, x, y: mp.power(mp.number(y).value, x).value,
    "exp": Arithmetic.exp,
    "expm1": _expm1,
    "log": Arithmetic.log,
    "log1p": Arithmetic.log1p,
    "log2": lambda mp, x: mp.log(x) / mp.ln2,
    "log10": lambda mp, x: mp.log(x) / mp.ln10,
    "atanh": lambda mp, x: (mp.log1p(x) - mp.log1p(-x)) / 2 if abs(x) <= 1 else mp.nan,
    "atan2": lambda mp, y, x: mp.nan if mp.isnan(x) or mp.isnan(y) else mp.atan2(y, x),
    "hypot": lambda mp, x, y: mp.inf if mp.isinf(x) or mp.isinf(y) else mp.hypot(x, y),
    "sinc": lambda mp, x: mp.sincpi(x) if mp.finite(x) else mp.nan if mp.isnan(x) else mp.zero,
    "to": lambda mp, x, dtype: x,
    "sign": _sign,
    "floor": _floor,
    "round": lambda mp, x: mp.nint(x) if mp.finite(x) else x,
    "round_to": lambda mp, x, decimals: mp.nint(x * mp.mpf(10) ** decimals) / mp.mpf(10) ** decimals if mp.finite(x) else x,
    "trunc": _trunc,
    "floor_divide": partial(_quotient, rounded=_floor, remainder=False),
    "remainder": partial(_quotient, rounded=_floor, remainder=True),
    "fmod": partial(_quotient, rounded=_trunc, remainder=True),
    "lt": lambda mp, x, y: x < y,
    "le": lambda mp, x, y: x <= y,
    "gt": lambda mp, x, y: x > y,
    "ge": lambda mp, x, y: x >= y,
    "eq": lambda mp, x, y: x == y,
    "ne": lambda mp, x, y: x != y,
    "logical_and": lambda mp, x, y: bool(x) and bool(y),
    "logical_or": lambda mp, x, y: bool(x) or bool(y),
    "logical_not": lambda mp, x: not x,
    "isnan": lambda mp, x: bool(mp.isnan(x)),
    "isinf": lambda mp, x: bool(mp.isinf(x)),
    "isfinite": Arithmetic.finite,
    "isclose": _isclose,
    "where": lambda mp, condition, x, y: x if condition else y,
    "maximum": partial(_extreme, choose=max),
    "minimum": partial(_extreme, choose=min),
    "clamp": _clamp,
    "logit": _logit,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "ndtr": ndtr,
    "gelu": _gelu,
}
