"""The factorial and the gamma function, its logarithm and derivatives, and the beta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.autograd.primitives.argument_kinds import ORDER, WHOLE, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.autograd.tensor import add_methods
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops import long_decompositions
from autodiff_cli.ops.long_decompositions import BERNOULLI
from autodiff_cli.ops.scipy_backend import from_math, from_scipy

__all__ = ["beta", "betaln", "digamma", "factorial", "gamma", "lgamma", "polygamma", "polygamma_gap"]

declare = Declarations(__name__, elementwise=True)

_POLES: dict[str, Any] = {
    "domain": "x is not 0, -1, -2, ...",
    "inside": lambda x: (x > 0) | (x != np.floor(x)),
    "samples": ((0.3,), (2.5,), (-1.6,), ([0.7, 4.0],)),
    "edges": ((0.0,), (-1.0,)),
}


def _lgamma_number(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # x is a pole, or the result overflows
        return math.inf


def _gamma_number(x: float) -> float:
    try:
        return math.gamma(x)
    except ValueError:  # as in PyTorch and SciPy: infinite with the sign of x at 0, nan at the other poles
        return math.copysign(math.inf, x) if x == 0 else math.nan
    except OverflowError:
        return math.inf if x > 0 or math.floor(x) % 2 == 0 else -math.inf


_lgamma_of = from_math(_lgamma_number, "gammaln")


def _lgamma_elsewhere(x: Array) -> Any:
    value = _lgamma_of(x)
    if isinstance(x, np.ndarray):  # SciPy returns inf for subnormal numbers, and -inf at -inf
        size = np.abs(x)
        value = np.where(size < 1e-300, -np.log(size), np.where(size == math.inf, size, value))
    return value


@np.errstate(all="ignore")
def _lgamma(x: Array) -> Any:
    # Near the zeros at 1 and 2, where the libraries are inaccurate, use a power series.
    near = (x > 0.5) & (x < 2.5)
    if not np.any(near):
        return _lgamma_elsewhere(x)
    low = near & (x < 1.5)
    z = np.where(near, np.where(low, x - 1.0, x - 2.0), 0.0)
    series = 0.0
    for k in range(len(long_decompositions.ZETA_LESS_1) + 1, 1, -1):
        series = (-1) ** k * long_decompositions.ZETA_LESS_1[k - 2] / k + z * series
    value = z * ((1 - long_decompositions.EULER) + z * series)
    return np.where(near, np.where(low, value - np.log1p(z), value), _lgamma_elsewhere(x) if not np.all(near) else 0.0)[()]


_LOG_ROOT_2_PI = math.log(2 * math.pi) / 2
_PI_COTANGENT = (math.pi**2 / 3, math.pi**4 / 45, 2 * math.pi**6 / 945)


def _cotangent(offset: Array) -> Any:
    """Return cot(pi*offset), for offsets from -1/2 to 1/2."""
    size = np.abs(offset)
    # The difference 1/2 - size is exact where the cotangent is small.
    return np.sign(offset) * np.where(size < 0.25, 1 / np.tan(math.pi * size), np.tan(math.pi * (0.5 - size)))


@np.errstate(all="ignore")
def _digamma_values(x: Array) -> Any:
    psi = from_scipy("psi")
    # Near a negative pole, compute the cotangent from the distance to the pole, which is exact; pi*x would be rounded.
    offset = x - np.round(x)
    near = (x < 0) & (offset != 0) & (np.abs(offset) < 0.25)
    if not np.any(near):
        return psi(x)
    offset = np.where(near, offset, 0.125)
    square = offset * offset
    series = sum(-c * square**k for k, c in enumerate(_PI_COTANGENT)) * offset + 1 / offset
    other = np.where(np.abs(offset) < 1e-3, series, math.pi * _cotangent(offset))
    value = np.where(near, psi(np.where(near, 1 - x, 1.0)) - other, psi(x))
    return value.astype(np.result_type(x, np.float32), copy=False)[()]


lgamma = declare(
    "lgamma",
    _lgamma,
    {"x": lambda g, x: g * digamma(x)},
    decomposition=long_decompositions.LGAMMA,
    aliases=("gammaln",),
    summary="log(abs(gamma(x)))",
    formula="digamma(x)",
    convention="the value at 0, -1, -2, ... is inf; the derivative at 0 is -inf (PyTorch)",
    **_POLES,
)
digamma: TensorFunction = declare(
    "digamma",
    _digamma_values,
    {"x": lambda g, x: g * _polygamma(x, 1)},
    decomposition=long_decompositions.polygamma(0),
    aliases=("psi",),
    summary="derivative of lgamma",
    formula="polygamma(1, x)",
    convention="the value is -inf at 0 and nan at -1, -2, ...; the derivative at these points is inf (PyTorch gives 6.6e32 at -1)",
    **_POLES,
)
_gamma_values = from_math(_gamma_number, "gamma")
gamma = declare(
    "gamma",
    _gamma_values,
    {"x": lambda g, x, out: g * (out * digamma(x))},
    decomposition=long_decompositions.GAMMA,
    summary="gamma function: (x - 1)! for whole numbers x",
    formula="gamma(x)*digamma(x)",
    convention="the value is inf at 0, and nan at -1, -2, ...",
    **_POLES,
)
factorial = declare(
    "factorial",
    lambda x: _gamma_values(x + 1),
    {"x": lambda g, x, out: g * (out * digamma(x + 1))},
    decomposition="gamma(x + 1)",
    summary="x!, which is gamma(x + 1) for all real x",
    formula="factorial(x)*digamma(x + 1)",
    domain="x is not -1, -2, ...",
    convention="the value is inf at -1, and nan at -2, -3, ...",
    inside=lambda x: (x >= 0) | (x != np.floor(x)),
    samples=((0.3,), (4.0,), (-1.6,), ([0.7, 2.5],)),
    edges=((-1.0,), (-2.0,)),
)

_zeta = from_scipy("zeta")


@np.errstate(all="ignore")
def _polygamma_values(x: Array, n: int) -> Any:
    if n == 0:
        return _digamma_values(x)
    sign = -1.0 if n % 2 == 0 else 1.0
    reflected = x < 0
    value = sign * float(math.factorial(n)) * _zeta(n + 1.0, np.where(reflected, 1 - x, x))
    if not np.any(reflected):
        return value[()]
    # For negative x, zeta would sum about abs(x) terms, so the reflection formula is used.  Its trigonometric cotangent is computed
    # from the distance to the nearest pole.
    offset = x - np.round(x)
    *coefficients, leading = long_decompositions.cotangent_polynomial(n)
    cotangent, polynomial = _cotangent(offset), leading
    for coefficient in reversed(coefficients):
        polynomial = coefficient + cotangent * polynomial
    other = -sign * value - math.pi ** (n + 1) * polynomial
    return np.where(reflected, np.where(offset == 0, sign * math.inf, other), value)[()]


_polygamma: TensorFunction = declare(
    "polygamma",
    _polygamma_values,
    {"x": lambda g, x, n: g * _polygamma(x, n + 1)},
    statics={"n": 0},
    public=False,
    decomposition=long_decompositions.polygamma,
)


_MOST_ORDER = 150


@takes(n=WHOLE)
def polygamma(n: int, x: Value) -> Any:
    """The n-th derivative of digamma."""
    if not 0 <= n <= _MOST_ORDER:
        raise ArgumentError(f"the order of polygamma must be a whole number from 0 to {_MOST_ORDER}, not {n}")
    return _polygamma(x, n)


describe(
    polygamma,
    tensors=("x",),
    methods=(),
    formula="with respect to x: polygamma(n + 1, x)",
    domain="n = 0, 1, 2, ...; x is not 0, -1, -2, ...",
    convention="the value at 0, -1, -2, ... is infinite or nan (PyTorch)",
    inside=lambda x: (x > 0) | (x != np.floor(x)),
    samples=((1, 0.3), (2, 2.5), (1, -1.6), (2, [-0.3, 4.0])),
    edges=((1, 0.0), (2, -1.0)),
)
add_methods(polygamma=lambda self, n: polygamma(n, self))


# Differences of polygamma functions at a + b and a.  Subtraction would lose digits to cancellation where b is small
# compared with a, so the differences are computed as sums of accurate differences of powers.

_SHIFT = 20


def _power_gap(a: Array, b: Array, m: int) -> Any:
    """Return a**-m - (a + b)**-m."""
    return -(a**-m) * np.expm1(-m * np.log1p(b / a))


@np.errstate(all="ignore")
def _polygamma_gap_values(a: Array, b: Array, n: int) -> Any:
    positive = (a > 0) & (b > 0)
    if not np.all(positive):
        plain = _polygamma_values(a + b, n) - _polygamma_values(a, n)
        if not np.any(positive):
            return plain
        return np.where(positive, _polygamma_gap_values(np.where(positive, a, 1.0), np.where(positive, b, 1.0), n), plain)
    factorial = float(math.factorial(n))
    a = a * 1.0
    total = 0.0
    for i in range(_SHIFT):
        total = total + factorial * _power_gap(a + i, b, n + 1)
    a = a + _SHIFT
    leading = np.log1p(b / a) if n == 0 else math.factorial(n - 1) * _power_gap(a, b, n)
    total = total + leading + factorial / 2 * _power_gap(a, b, n + 1)
    for k, bernoulli in enumerate(BERNOULLI[:8], start=1):
        weight = bernoulli * (math.factorial(2 * k + n - 1) / math.factorial(2 * k))
        total = total + weight * _power_gap(a, b, 2 * k + n)
    return (-1.0) ** n * total


polygamma_gap: TensorFunction = declare(
    "polygamma_gap",
    _polygamma_gap_values,
    {"a": lambda g, a, b, n: g * polygamma_gap(a, b, n + 1), "b": lambda g, a, b, n: g * _polygamma(a + b, n + 1)},
    statics={"n": 0},
    kinds={"n": ORDER},
    methods=(),
    decomposition=long_decompositions.polygamma_gap,
    summary="polygamma(n, a + b) - polygamma(n, a), accurate where b is small compared with a",
    formula="polygamma_gap(a, b, n + 1), polygamma(n + 1, a + b)",
    domain="a > 0, b > 0",
    inside=lambda a, b: (a > 0) & (b > 0),
    samples=((0.7, 2.5), (30.0, 1e-3), (1.5, 0.4, 1)),
    edges=((0.0, 1.5),),
)


def stirling_tail(x: Array) -> Any:
    """Return the difference between lgamma(x) and Stirling's formula for x >= 15."""
    square = x * x
    total: Array | float = 0.0
    for k in range(8, 0, -1):
        total = BERNOULLI[k - 1] / (2 * k * (2 * k - 1)) + total / square
    return total / x


def _high(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Return the smaller and the larger argument, and whether asymptotic formulas hold; elsewhere replace them by 1 and 60."""
    small, large = np.minimum(a, b), np.maximum(a, b)
    far = (small > 0) & (large > 50) & (large < math.inf)
    return np.where(far, small, 1.0), np.where(far, large, 60.0), far


def _log_of_two_large(low: Array, high: Array) -> Any:
    """Return log(beta(low, high)) for arguments of at least 50, from Stirling's formula."""
    total = low + high
    logs = low * np.log1p(high / low) + high * np.log1p(low / high) + 0.5 * (np.log(low) + np.log(high / total))
    return _LOG_ROOT_2_PI + stirling_tail(low) + stirling_tail(high) - stirling_tail(total) - logs


@np.errstate(all="ignore")
def _beta(a: Array, b: Array) -> Any:
    low, high, far = _high(a, b)
    if not np.any(far):
        return from_scipy("beta")(a, b)
    # Compute gamma(small) * gamma(large)/gamma(large + small), because SciPy's difference of logarithms would lose digits.
    total = low + high
    tails = stirling_tail(high) - stirling_tail(total)
    one_large = from_scipy("gamma")(low) * high**-low * np.exp(tails + low - (total - 0.5) * np.log1p(low / high))
    value = np.where(low < 50, one_large, np.exp(_log_of_two_large(np.maximum(low, 50.0), high)))
    return np.where(far, value, from_scipy("beta")(a, b))[()]


beta = declare(
    "beta",
    in_one_type(_beta),
    {
        "a": lambda g, a, b, out: g * -(out * polygamma_gap(a, b)),
        "b": lambda g, a, b, out: g * -(out * polygamma_gap(b, a)),
    },
    methods=(),
    decomposition=long_decompositions.BETA,
    summary="gamma(a)*gamma(b)/gamma(a + b)",
    formula="-beta(a, b)*polygamma_gap(a, b), -beta(a, b)*polygamma_gap(b, a)",
    domain="a > 0, b > 0",
    inside=lambda a, b: (a > 0) & (b > 0),
    samples=((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 2.0])),
    edges=((0.0, 1.5),),
)


@np.errstate(all="ignore")
def _betaln(a: Array, b: Array) -> Any:
    value = np.log(np.abs(from_scipy("beta")(a, b)))
    value = np.where(np.isfinite(value), value, from_scipy("betaln")(a, b))  # the beta function overflows or underflows
    low, high, far = _high(a, b)
    if not np.any(far):
        return value[()]
    total = low + high
    tails = stirling_tail(high) - stirling_tail(total)
    one_large = _lgamma(low) - low * np.log(high) + (tails + low - (total - 0.5) * np.log1p(low / high))
    large = np.where(low < 50, one_large, _log_of_two_large(np.maximum(low, 50.0), high))
    return np.where(far, large, value)[()]


betaln = declare(
    "betaln",
    in_one_type(_betaln),
    {"a": lambda g, a, b: g * -polygamma_gap(a, b), "b": lambda g, a, b: g * -polygamma_gap(b, a)},
    methods=(),
    decomposition=long_decompositions.BETALN,
    summary="log(beta(a, b)), without overflow and underflow",
    formula="-polygamma_gap(a, b), -polygamma_gap(b, a)",
    domain="a > 0, b > 0",
    inside=lambda a, b: (a > 0) & (b > 0),
    samples=((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 2000.0])),
    edges=((0.0, 1.5),),
)
