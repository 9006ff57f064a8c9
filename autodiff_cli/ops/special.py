"""Error functions, the normal distribution, and sinc.

Tails are computed from scaled functions, so that values far below 1 and their derivatives are accurate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import ORDER
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.types import Mask, Value
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops import long_decompositions
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.scipy_backend import from_math, from_scipy

__all__ = ["erf", "erfc", "erfinv", "hazard", "log_ndtr", "mills_fraction", "ndtr", "ndtri", "sinc", "sinc_slope"]

declare = Declarations(__name__, elementwise=True)

_ANY = ((0.3,), (-1.7,), ([0.4, -2.2],))
_TAILS = (*_ANY, (-5.0,), (3.0,))
_ROOT_HALF, _ROOT_PI, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(math.pi), math.sqrt(2 * math.pi)

_erfcx = from_scipy("erfcx")


@np.errstate(all="ignore")
def _bell_values(x: Array, scale: float) -> Any:
    # The square of the leading bits of x is exact, whereas the rounding error of x*x near 1000 would cost three digits.
    x = np.clip(x, -60.0, 60.0)
    head = np.round(x * 16) / 16
    return np.exp(-scale * (head * head)) * np.exp(-scale * ((x - head) * (x + head)))


_bell: TensorFunction = declare(
    "bell",  # exp(-scale*x**2)
    _bell_values,
    {"x": lambda g, x, out, scale: g * (x * out * (-2 * scale))},
    statics={"scale": 1.0},
    public=False,
    decomposition="exp(-scale*x**2)",
)


def normal_density(x: Value) -> Any:
    """Return the density of the standard normal distribution."""
    return _bell(x, 0.5) * (1 / _ROOT_2_PI)


def _with_tail(value: Array, x: Array, far: Mask, tail: Callable[[Array], Array]) -> Any:
    """Replace the elements of ``value`` where ``far`` is true with ``tail`` of the corresponding elements of ``x``."""
    if not isinstance(x, np.ndarray):
        return np.where(far, tail(x), value)[()] if np.any(far) else value
    places = np.flatnonzero(far)  # indexing with positions is much faster than indexing with a mask
    if not places.size:
        return value
    value = np.array(value)
    value.reshape(-1)[places] = tail(np.asarray(x).reshape(-1)[places])
    return value[()]


# Error functions

_erfc_values = from_math(math.erfc, "erfc")


@np.errstate(all="ignore")
def _erfc(x: Array) -> Any:
    value = _erfc_values(x)
    return _with_tail(value, x, x > 1, lambda x: _erfcx(x) * _bell_values(x, 1.0)) if np.ndim(x) else value


erf = declare(
    "erf",
    from_math(math.erf, "erf"),
    {"x": lambda g, x: g * (_bell(x, 1.0) * (2 / _ROOT_PI))},
    summary="error function",
    decomposition=long_decompositions.ERF,
    formula="2/sqrt(pi)*exp(-x**2)",
    samples=_ANY,
)
erfc = declare(
    "erfc",
    _erfc,
    {"x": lambda g, x: g * (_bell(x, 1.0) * (-2 / _ROOT_PI))},
    summary="1 - erf(x), accurate for large x",
    decomposition=long_decompositions.ERFC,
    formula="-2/sqrt(pi)*exp(-x**2)",
    samples=_TAILS,
)
_erfinv = from_scipy("erfinv")


@np.errstate(all="ignore")
def _erfinv_slope_values(x: Array) -> Any:
    # The slope is sqrt(pi)/2 * exp(y**2) at y = erfinv(x).  Near abs(x) = 1 the square would be inaccurate, whereas
    # erfc(abs(y)) = 1 - abs(x) is accurate.
    y, size = _erfinv(x), np.abs(x)
    middle = np.exp(y * y)
    return np.where(size < 0.5, middle, np.where(size == 1, math.inf, _erfcx(np.abs(y)) / (1 - size)))[()] * (_ROOT_PI / 2)


_erfinv_slope: TensorFunction = declare(
    "erfinv_slope",
    _erfinv_slope_values,
    {"x": lambda g, x, out: g * (2 * erfinv(x) * (out * out))},
    public=False,
    decomposition="sqrt(pi)/2*exp(erfinv(x)**2)",
)
erfinv: TensorFunction = declare(
    "erfinv",
    _erfinv,
    {"x": lambda g, x: g * _erfinv_slope(x)},
    decomposition=long_decompositions.ERFINV,
    summary="inverse of erf",
    formula="sqrt(pi)/2*exp(erfinv(x)**2)",
    domain="-1 < x < 1",
    convention="at -1 and 1 the value is infinite and the derivative is inf (PyTorch)",
    inside=lambda x: np.abs(x) < 1,
    samples=((0.3,), (-0.8,), ([0.5, -0.1],)),
    edges=((-1.0,), (1.0,)),
)

# The normal distribution

_ndtr_middle = from_math(lambda x: math.erfc(-x * _ROOT_HALF) / 2, "ndtr")


@np.errstate(all="ignore")
def _ndtr(x: Array) -> Any:
    return _with_tail(_ndtr_middle(x), x, x < -2, lambda x: _erfcx(x * -_ROOT_HALF) * _bell_values(x, 0.5) / 2)


ndtr = declare(
    "ndtr",
    _ndtr,
    {"x": lambda g, x: g * normal_density(x)},
    node="SpecialNdtrBackward0",
    methods=(),
    decomposition="erfc(-x/sqrt(2))/2",
    summary="probability that a standard normal variable is below x",
    formula="exp(-x**2/2)/sqrt(2*pi)",
    samples=_TAILS,
)


@np.errstate(all="ignore")
def _hazard_values(x: Array) -> Any:
    left = (2 / _ROOT_2_PI) / _erfcx(np.maximum(x * -_ROOT_HALF, 0))
    right = _bell_values(x, 0.5) / (_ndtr(np.maximum(x, 0)) * _ROOT_2_PI)
    return np.where(x < 0, left, right)[()]


@np.errstate(all="ignore")
def _fraction(t: Array, first: int) -> Any:
    """Return first/(t + (first + 1)/(t + (first + 2)/(t + ...))), for t >= 3."""
    value: Array | float = 0.0
    for k in range(first + 60, first - 1, -1):
        value = k / (t + value)
    return value


# For large t = -x the hazard h = density/ndtr is t + 1/(t + 2/(t + ...)).  The derivative of h is -h*(x + h), and the derivative
# of x + h is 1 - h*(x + h).  Both would lose digits to cancellation, so they are computed from the tails
# k/(t + (k + 1)/(t + ...)) of the continued fraction, which are accurate.


@np.errstate(all="ignore")
def _mills_fraction_values(x: Array, k: int) -> Any:
    if k < 1:
        raise ArgumentError(f"mills_fraction: 'k' must be 1 or more, not {k}")
    right = x + _hazard_values(x)
    for i in range(1, k):
        right = x + i / right
    return np.where(x < -3, _fraction(np.maximum(-x, 3), k), right)[()]


hazard: TensorFunction = declare(
    "hazard",
    _hazard_values,
    {"x": lambda g, x, out: g * -(out * mills_fraction(x))},
    methods=(),
    decomposition=long_decompositions.HAZARD,
    summary="standard normal density divided by ndtr: the derivative of log_ndtr",
    formula="-hazard(x)*mills_fraction(x)",
    samples=_TAILS,
)
mills_fraction: TensorFunction = declare(
    "mills_fraction",
    _mills_fraction_values,
    {"x": lambda g, x, out, k: g * where(x < -3, out * (mills_fraction(x, k + 1) - out), k - out * (out - x))},
    statics={"k": 1},
    kinds={"k": ORDER},
    methods=(),
    decomposition=long_decompositions.mills_fraction,
    summary="x + hazard(x) without cancellation; for k > 1 the continued fraction k/(t + (k + 1)/(t + ...)) with t = -x",
    formula="mills_fraction(x, k)*(mills_fraction(x, k + 1) - mills_fraction(x, k))",
    samples=(*_TAILS, (-0.4, 2)),
)


@np.errstate(all="ignore")
def _log_ndtr(x: Array) -> Any:
    left = np.minimum(x, -1)
    tail = np.log(_erfcx(left * -_ROOT_HALF) / 2) - left * left / 2
    return np.where(x < -1, tail, np.log1p(-_ndtr(-np.maximum(x, -1))))[()]


log_ndtr = declare(
    "log_ndtr",
    _log_ndtr,
    {"x": lambda g, x: g * hazard(x)},
    node="SpecialLogNdtrBackward0",
    methods=(),
    decomposition="-x*x/2 - log(2*pi)/2 - log(hazard(x)) if x < -1 else log1p(-erfc(x/sqrt(2))/2)",
    summary="log(ndtr(x)), accurate in both tails",
    formula="hazard(x)",
    samples=_TAILS,
)
_ndtri = from_scipy("ndtri")


@np.errstate(all="ignore")
def _ndtri_slope_values(p: Array) -> Any:
    # The slope is 1/density at ndtri(p), computed from the hazard, because the density is inaccurate in the tails.
    tail = np.minimum(p, 1 - p)
    return np.where(tail == 0, math.inf, 1 / (tail * _hazard_values(-np.abs(_ndtri(p)))))[()]


_ndtri_slope: TensorFunction = declare(
    "ndtri_slope",
    _ndtri_slope_values,
    {"x": lambda g, x, out: g * (ndtri(x) * (out * out))},
    public=False,
    decomposition="sqrt(2*pi)*exp(ndtri(x)**2/2)",
)
ndtri: TensorFunction = declare(
    "ndtri",
    _ndtri,
    {"x": lambda g, x: g * _ndtri_slope(x)},
    node="SpecialNdtriBackward0",
    methods=(),
    decomposition=long_decompositions.NDTRI,
    summary="inverse of ndtr: the quantile of the standard normal distribution",
    formula="sqrt(2*pi)*exp(ndtri(x)**2/2)",
    domain="0 < x < 1",
    convention="at 0 and 1 the value is infinite and the derivative is inf (PyTorch)",
    inside=lambda x: (x > 0) & (x < 1),
    samples=((0.3,), (0.02,), ([0.5, 0.9],)),
    edges=((0.0,), (1.0,)),
)

# sin(pi*x)/(pi*x)


@np.errstate(all="ignore")
def _sinc(x: Array, order: int) -> Any:
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


sinc_slope: TensorFunction = declare(
    "sinc_slope",
    _sinc,
    {"x": lambda g, x, order: g * sinc_slope(x, order + 1)},
    statics={"order": 1},
    kinds={"order": ORDER},
    methods=(),
    decomposition=long_decompositions.sinc_slope,
    summary="derivative of the given order of sinc",
    formula="sinc_slope(x, order + 1)",
    samples=(*_ANY, (0.0,), (1e-4,), (0.7, 2)),
)
sinc = declare(
    "sinc",
    lambda x: _sinc(x, 0),
    {"x": lambda g, x: g * sinc_slope(x)},
    decomposition=long_decompositions.sinc_slope(0),
    summary="sin(pi*x)/(pi*x), but 1 at 0",
    formula="sinc_slope(x)",
    samples=(*_ANY, (0.0,), (1e-4,)),
)
