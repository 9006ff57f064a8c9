"""Exponential integrals, and the regularized incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.autograd.primitives.argument_kinds import ORDER
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.ops import incomplete_derivatives as derivatives
from autodiff_cli.ops.elementary import exp
from autodiff_cli.ops.parameter_series import check_order
from autodiff_cli.ops.scipy_backend import from_scipy

__all__ = ["betainc", "betainc_density", "betainc_slope", "exp1", "expi"]
__all__ += ["gammainc", "gammainc_density", "gammainc_slope", "gammaincc"]

declare = Declarations(__name__, elementwise=True)

expi = declare(
    "expi",
    from_scipy("expi"),
    {"x": lambda g, x: g * (exp(x) / x)},
    decomposition=lambda: None,
    summary="exponential integral Ei(x), the principal value of the integral of exp(t)/t from -inf to x",
    formula="exp(x)/x",
    domain="x is not 0",
    convention="the value is -inf at 0",
    inside=lambda x: x != 0,
    samples=((0.3,), (-1.7,), ([4.0, -9.5],)),
    edges=((0.0,),),
)
exp1 = declare(
    "exp1",
    from_scipy("exp1"),
    {"x": lambda g, x: -g * (exp(-x) / x)},
    decomposition=lambda: None,
    summary="exponential integral E1(x), the integral of exp(-t)/t from x to inf",
    formula="-exp(-x)/x",
    domain="x > 0",
    convention="the value is inf at 0, and nan for x < 0",
    inside=lambda x: np.asarray(x) > 0,
    samples=((0.3,), (1.7,), ([4.0, 9.5],)),
    edges=((0.0,), (-1.0,)),
)

# The incomplete gamma function


def _gamma_slopes(a: Array, x: Array, order: int) -> Any:
    check_order("gammainc_slope", order)
    inside = (a >= 0) & (a < math.inf) & (x > 0) & (x < math.inf)
    ends = np.where((a > 0) & ((x == 0) | (x == math.inf)), 0.0, math.nan)
    return derivatives.evaluated(lambda a, x: derivatives.gammainc_derivative(a, x, order), inside, ends, a, x)


def _gamma_densities(a: Array, x: Array, order: int) -> Any:
    check_order("gammainc_density", order, 0)
    inside = (a > 0) & (a < math.inf) & (x > 0) & (x < math.inf)
    ends = np.where((a > 0) & (x == math.inf), 0.0, np.where((a > 0) & (x == 0), _at_end(a, 1.0, order), math.nan))
    return derivatives.evaluated(lambda a, x: derivatives.gamma_density(a, x, order), inside, ends, a, x)


def _at_end(power: Array, height: Array | float, order: int) -> Any:
    """Return a density, or its derivative, at an end of the interval, where it is a power of the distance from the end."""
    if order:
        return np.where(power > 1, 0.0, math.nan)
    return np.where(power > 1, 0.0, np.where(power == 1, height, math.inf))


def _gamma_density_by_x(g: Value, a: Value, x: Value, out: Value, order: int) -> Any:
    slope = (a - 1 - x) / x * out
    return g * (slope + order / x * gammainc_density(a, x, order - 1)) if order else g * slope


_GAMMA: dict[str, Any] = {
    "domain": "a > 0, x >= 0",
    "inside": lambda a, x: (a > 0) & (x >= 0),
    "samples": ((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 55.0])),
    "edges": ((-1.0, 1.5), (1.5, 0.0)),
    "convention": "PyTorch has no derivative with respect to a",
}
_ORDERED: dict[str, Any] = {"kinds": {"order": ORDER}, "methods": (), **_GAMMA}
gammainc_density: TensorFunction = declare(
    "gammainc_density",
    _gamma_densities,
    {"a": lambda g, a, x, order: g * gammainc_density(a, x, order + 1), "x": _gamma_density_by_x},
    statics={"order": 0},
    decomposition=lambda order: None if order else "exp(xlogy(a - 1, x) - x - lgamma(a))",
    summary="x**(a - 1)*exp(-x)/gamma(a), or its derivative of the given order with respect to a",
    formula="gammainc_density(a, x, order + 1), (a - 1 - x)/x*gammainc_density(a, x)",
    **_ORDERED,
)
gammainc_slope: TensorFunction = declare(
    "gammainc_slope",
    _gamma_slopes,
    {
        "a": lambda g, a, x, order: g * gammainc_slope(a, x, order + 1),
        "x": lambda g, a, x, order: g * gammainc_density(a, x, order),
    },
    statics={"order": 1},
    decomposition=lambda order: None,
    summary="derivative of the given positive order of gammainc(a, x) with respect to a",
    formula="gammainc_slope(a, x, order + 1), gammainc_density(a, x, order)",
    **_ORDERED,
)
gammainc = declare(
    "gammainc",
    in_one_type(from_scipy("gammainc")),
    {"a": lambda g, a, x: g * gammainc_slope(a, x, 1), "x": lambda g, a, x: g * gammainc_density(a, x, 0)},
    node="IgammaBackward0",
    aliases=("igamma",),
    methods=("igamma",),
    decomposition=lambda: None,
    summary="regularized lower incomplete gamma function P(a, x): the gamma distribution function",
    formula="gammainc_slope(a, x), x**(a - 1)*exp(-x)/gamma(a)",
    **_GAMMA,
)
gammaincc = declare(
    "gammaincc",
    in_one_type(from_scipy("gammaincc")),
    {"a": lambda g, a, x: -g * gammainc_slope(a, x, 1), "x": lambda g, a, x: -g * gammainc_density(a, x, 0)},
    node="IgammacBackward0",
    aliases=("igammac",),
    methods=("igammac",),
    decomposition=lambda: None,
    summary="regularized upper incomplete gamma function Q(a, x) = 1 - gammainc(a, x), accurate for large x",
    formula="-gammainc_slope(a, x), -x**(a - 1)*exp(-x)/gamma(a)",
    **_GAMMA,
)

# The incomplete beta function


def _between(a: Array, b: Array, x: Array) -> Any:
    return (a > 0) & (a < math.inf) & (b > 0) & (b < math.inf) & (x > 0) & (x < 1)


def _beta_slopes(a: Array, b: Array, x: Array, i: int, j: int) -> Any:
    check_order("betainc_slope", i + j)
    ends = np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), 0.0, math.nan)
    return derivatives.evaluated(lambda a, b, x: derivatives.betainc_derivative(a, b, x, i, j), _between(a, b, x), ends, a, b, x)


def _beta_densities(a: Array, b: Array, x: Array, i: int, j: int) -> Any:
    check_order("betainc_density", i + j, 0)
    low, high = np.where(x == 0, _at_end(a, b, i + j), math.nan), np.where(x == 1, _at_end(b, a, i + j), math.nan)
    ends = np.where((a > 0) & (b > 0), np.where(x == 0, low, high), math.nan)
    return derivatives.evaluated(lambda a, b, x: derivatives.beta_density(a, b, x, i, j), _between(a, b, x), ends, a, b, x)


def _beta_density_by_x(g: Value, a: Value, b: Value, x: Value, out: Value, i: int, j: int) -> Any:
    slope = ((a - 1) / x - (b - 1) / (1 - x)) * out
    if i:
        slope = slope + i / x * betainc_density(a, b, x, i - 1, j)
    if j:
        slope = slope - j / (1 - x) * betainc_density(a, b, x, i, j - 1)
    return g * slope


_BETA: dict[str, Any] = {
    "methods": (),
    "domain": "a > 0, b > 0, 0 <= x <= 1",
    "inside": lambda a, b, x: (a > 0) & (b > 0) & (x >= 0) & (x <= 1),
    "samples": ((0.7, 2.5, 0.3), (3.0, 1.2, 0.9), ([1.5, 60.0], [0.4, 20.0], [0.2, 0.7])),
    "edges": ((-1.0, 1.5, 0.5), (1.5, 1.5, 1.5)),
}
_BY_PARAMETERS: dict[str, Any] = {"kinds": {"i": ORDER, "j": ORDER}, **_BETA}
betainc_density: TensorFunction = declare(
    "betainc_density",
    _beta_densities,
    {
        "a": lambda g, a, b, x, i, j: g * betainc_density(a, b, x, i + 1, j),
        "b": lambda g, a, b, x, i, j: g * betainc_density(a, b, x, i, j + 1),
        "x": _beta_density_by_x,
    },
    statics={"i": 0, "j": 0},
    decomposition=lambda i, j: None if i or j else "exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))",
    summary="x**(a - 1)*(1 - x)**(b - 1)/beta(a, b), or its derivative of order i with respect to a and j with respect to b",
    formula="with respect to a: betainc_density(a, b, x, i + 1, j)",
    **_BY_PARAMETERS,
)
betainc_slope: TensorFunction = declare(
    "betainc_slope",
    _beta_slopes,
    {
        "a": lambda g, a, b, x, i, j: g * betainc_slope(a, b, x, i + 1, j),
        "b": lambda g, a, b, x, i, j: g * betainc_slope(a, b, x, i, j + 1),
        "x": lambda g, a, b, x, i, j: g * betainc_density(a, b, x, i, j),
    },
    statics={"i": 1, "j": 0},
    decomposition=lambda i, j: None,
    summary="derivative of betainc(a, b, x) of order i with respect to a and j with respect to b, where i + j is positive",
    formula="with respect to x: betainc_density(a, b, x, i, j)",
    **_BY_PARAMETERS,
)
betainc = declare(
    "betainc",
    in_one_type(from_scipy("betainc")),
    {
        "a": lambda g, a, b, x: g * betainc_slope(a, b, x, 1, 0),
        "b": lambda g, a, b, x: g * betainc_slope(a, b, x, 0, 1),
        "x": lambda g, a, b, x: g * betainc_density(a, b, x, 0, 0),
    },
    decomposition=lambda: None,
    summary="regularized incomplete beta function: the beta distribution function",
    formula="betainc_slope(a, b, x, 1, 0), betainc_slope(a, b, x, 0, 1), x**(a - 1)*(1 - x)**(b - 1)/beta(a, b)",
    **_BETA,
)
