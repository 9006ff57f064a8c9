"""Logarithms multiplied by a factor, logarithms of odds, logarithms of sums of powers, and the Lambert W function."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from autodiff_cli.autograd.dtypes import Array, in_one_type
from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, Kind, Unfit, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.ops import long_decompositions
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.elementary import exp, log, log1p
from autodiff_cli.ops.long_decompositions import BRANCH_REST, FROM_BRANCH
from autodiff_cli.ops.scipy_backend import from_scipy

__all__ = ["lambertw", "logaddexp", "logaddexp2", "logit", "xlog1py", "xlogy"]

declare = Declarations(__name__, elementwise=True)

_PAIRS = ((0.7, 1.2), (-2.0, 0.4), ([1.5, 3.0], [0.5, 2.5]))


@np.errstate(all="ignore")
def _over_values(x: Array, y: Array) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0.0, x / y)[()]


# The quotient x/y, but 0 where x is 0, even if y is 0.  It is a primitive because its derivative with
# respect to x must be 1/y even where x is 0; the derivative of a conditional expression would be 0 there.
over: TensorFunction = declare(
    "over",
    in_one_type(_over_values),
    {"x": lambda g, y: g / y, "y": lambda g, x, y: -g * over(over(x, y), y)},
    public=False,
    decomposition="0 if x == 0 else x/y",
)


def _times(logarithm: np.ufunc) -> Any:
    """Return the forward computation of x*logarithm(y), which is 0 where x is 0."""

    @np.errstate(all="ignore")
    def forward(x: Array, y: Array) -> Any:
        return np.where((x == 0) & ~np.isnan(y), 0.0, x * logarithm(y))[()]

    return in_one_type(forward)


xlogy = declare(
    "xlogy",
    _times(np.log),
    {"x": lambda g, x, y: where((x == 0) & (y <= 0), 0.0, g * log(y)), "y": lambda g, x, y: g * over(x, y)},
    decomposition="0 if x == 0 else x*log(y)",
    summary="x*log(y), but 0 where x is 0",
    formula="log(y), x/y",
    domain="y > 0, or x = 0",
    convention="both derivatives are 0 where x = 0 and y <= 0; PyTorch gives nan with respect to y at (0, 0)",
    inside=lambda x, y: (y > 0) | (x == 0),
    samples=_PAIRS,
    edges=((0.0, 0.0), (0.0, 2.0), (0.0, -1.0), (1.0, -1.0)),
)
xlog1py = declare(
    "xlog1py",
    _times(np.log1p),
    {"x": lambda g, x, y: where((x == 0) & (y <= -1), 0.0, g * log1p(y)), "y": lambda g, x, y: g * over(x, y + 1)},
    node="SpecialXlog1PyBackward0",
    methods=(),
    decomposition="0 if x == 0 else x*log1p(y)",
    summary="x*log(1 + y), but 0 where x is 0; accurate for small y",
    formula="log1p(y), x/(1 + y)",
    domain="y > -1, or x = 0",
    convention="both derivatives are 0 where x = 0 and y <= -1; PyTorch gives nan with respect to y at (0, -1)",
    inside=lambda x, y: (y > -1) | (x == 0),
    samples=_PAIRS,
    edges=((0.0, -1.0), (0.0, 2.0), (0.0, -2.0), (1.0, -2.0)),
)


@np.errstate(all="ignore")
def _logit(x: Array, eps: float | None) -> Any:
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    # Near 1/2 the logarithm of the odds would be inaccurate, whereas 2*x - 1 is exact.
    middle = (x > 0.25) & (x < 0.75)
    return np.where(middle, 2 * np.arctanh(2 * x - 1), np.log(x / (1 - x)))[()]


_odds_slope: TensorFunction = declare(
    "odds_slope",  # 1/(x*(1 - x)), nan outside [0, 1]
    lambda x: 1 / (x * np.where((x >= 0) & (x <= 1), 1 - x, math.nan)),
    {"x": lambda g, x, out: g * (out * out * (2 * x - 1))},
    public=False,
    decomposition="1/(x*(1 - x))",
)


def _logit_vjp(g: Value, x: Value, eps: float | None) -> Any:
    return g * _odds_slope(x) if eps is None else where((x >= eps) & (x <= 1 - eps), g * _odds_slope(x), 0.0)


def _has_odds(x: Array, eps: float | None) -> Any:
    return (x > 0) & (x < 1) if eps is None else np.isfinite(x)


def _at_eps(x: Array, eps: float | None) -> Any:
    return np.zeros(np.shape(x), bool) if eps is None else (x == eps) | (x == 1 - eps)


logit = declare(
    "logit",
    _logit,
    {"x": _logit_vjp},
    statics={"eps": None},
    kinds={"eps": optional(NUMBER)},
    decomposition=lambda eps: "log(x/(1 - x))" if eps is None else "p = min(max(x, eps), 1 - eps); log(p/(1 - p))",
    summary="log(x/(1 - x)), the inverse of sigmoid; with eps, x is first clamped to [eps, 1 - eps]",
    formula="1/(x*(1 - x))",
    domain="0 < x < 1, or everywhere if eps is given",
    convention="the value is infinite at 0 and 1, and nan outside [0, 1]; with eps the derivative is 0 outside the bounds, "
    "and equals the limit from inside at the bounds (PyTorch)",
    smooth="0 < x < 1, x != eps and x != 1 - eps",
    inside=_has_odds,
    kink=_at_eps,
    samples=((0.3,), (0.9,), ([0.5, 0.01],), (0.3, 0.1), ([0.05, 0.95, 0.4], 0.1)),
    edges=((0.0,), (1.0,), (1.5,), (0.0, 1e-3), (0.25, 0.25)),
)


@np.errstate(all="ignore")
def _share_values(x: Array, y: Array, base: float) -> Any:
    # The difference of equal infinities would be nan, but the quotient is 1/2.
    difference = np.where(x == y, 0.0, x - y)[()]
    small = np.power(base, -np.abs(difference)) if base == 2 else np.exp(-np.abs(difference))
    return np.where(difference >= 0, 1.0, small)[()] / (1 + small)


# The quotient base**x/(base**x + base**y).  Its derivatives are products of such quotients, which are accurate in
# both tails.
_share: TensorFunction = declare(
    "share",
    _share_values,
    {
        "x": lambda g, x, y, out, base: g * (out * _share(y, x, base) * math.log(base)),
        "y": lambda g, x, y, out, base: -g * (out * _share(y, x, base) * math.log(base)),
    },
    statics={"base": math.e},
    public=False,
    decomposition=lambda base: "sigmoid((x - y)*log(2))" if base == 2 else "sigmoid(x - y)",
)


def _sum_of_powers(name: str, ufunc: np.ufunc, base: float, letter: str) -> TensorFunction:
    return declare(
        name,
        lambda x, y: ufunc(x, y),
        {"x": lambda g, x, y: g * _share(x, y, base), "y": lambda g, x, y: g * _share(y, x, base)},
        decomposition="m = max(x, y); m if isinf(m) else m + "
        + ("log1p(exp2(-abs(x - y)))/log(2)" if base == 2 else "log1p(exp(-abs(x - y)))"),
        summary=f"log{'2' * (base == 2)}({letter}**x + {letter}**y) without overflow",
        formula=f"{letter}**x/({letter}**x + {letter}**y), {letter}**y/({letter}**x + {letter}**y)",
        convention="both derivatives are 1/2 where x and y are the same infinity; PyTorch gives nan",
        samples=_PAIRS,
        edges=((math.inf, math.inf), (-math.inf, -math.inf)),
    )


logaddexp = _sum_of_powers("logaddexp", np.logaddexp, math.e, "e")
logaddexp2 = _sum_of_powers("logaddexp2", np.logaddexp2, 2.0, "2")

# The Lambert W function.  Near the branch point -1/e it is a power series in p = sqrt(2*(e*x + 1)).

_BRANCH = -1 / math.e
_MOST_P = 0.3


@np.errstate(all="ignore")
def _lambertw_values(x: Array, k: int, shift: int) -> Any:
    """Return W(x) + ``shift``, with all digits near the branch point if ``shift`` is 1."""
    exists = (x >= _BRANCH) & ((k == 0) | (x <= 0))
    value = np.where(exists, from_scipy("lambertw")(np.where(exists, x, 0.0), k).real, math.nan) + shift
    p = np.sqrt(np.maximum(2 * math.e * ((x - _BRANCH) + BRANCH_REST), 0.0))
    near = exists & (p < _MOST_P)
    if np.any(near):
        p = np.where(near, p if k == 0 else -p, 0.0)
        series: Any = 0.0
        for coefficient in reversed(FROM_BRANCH):
            series = p * (coefficient + series)
        value = np.where(near, series if shift else series - 1, value)
    return value.astype(np.result_type(x, np.float32), copy=False)[()]


def _branch(value: Any) -> Literal[0, -1]:
    if value not in (0, -1) or isinstance(value, bool):
        raise Unfit
    return 0 if value == 0 else -1


_K: dict[str, Any] = {"statics": {"k": 0}, "kinds": {"k": Kind("0 or -1, a real branch", _branch)}}
_lambertw_rise: TensorFunction = declare(
    "lambertw_rise",  # W(x) + 1
    lambda x, k: _lambertw_values(x, k, 1),
    {"x": lambda g, out: g * (exp(1 - out) / out)},
    public=False,
    decomposition=lambda k: long_decompositions.lambertw(k, 1),
    **_K,
)
lambertw: TensorFunction = declare(
    "lambertw",
    lambda x, k: _lambertw_values(x, k, 0),
    {"x": lambda g, x, out, k: g * (exp(-out) / _lambertw_rise(x, k))},
    decomposition=lambda k: long_decompositions.lambertw(k, 0),
    summary="Lambert W function: the solution w of w*exp(w) = x with w >= -1, or with w <= -1 for k=-1",
    formula="exp(-lambertw(x, k))/(lambertw(x, k) + 1)",
    domain="x >= -1/e; for k=-1 also x < 0",
    smooth="x > -1/e; for k=-1 also x < 0",
    convention="the value at 0 for k=-1 is -inf; the derivative at -1/e is inf; PyTorch does not have this function",
    inside=lambda x, k: (x >= _BRANCH) & ((k == 0) | (x < 0)),
    kink=lambda x: x == _BRANCH,
    samples=((0.7,), (-0.3,), ([0.02, 35.0],), (-0.2, -1), ([-0.367, -1e-3], -1)),
    edges=((_BRANCH,), (-0.5,), (0.0, -1)),
    **_K,
)
