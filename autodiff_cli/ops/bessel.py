"""Bessel functions of order 0 and 1.

Their derivatives are halves of sums and differences of the two neighbouring orders, which holds at 0 too, where the
usual formulas divide by x.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.declare import declare
from autodiff_cli.autograd.op import Function
from autodiff_cli.ops.borrowed import from_scipy

__all__ = ["i0", "i0e", "i1", "i1e", "j0", "j1"]

ELEMENTWISE = True  # all that is declared here, unless it has a dimension

_ANY = ((0.3,), (-1.7,), ([4.0, -9.5],))

_FIRST = {"iv": (from_scipy("i0"), from_scipy("i1")), "jv": (from_scipy("j0"), from_scipy("j1"))}


def _of_any_order(name: str) -> Any:
    """SciPy's function, by its first term where x is tiny: SciPy has nan there."""
    of_order = from_scipy(name)

    @np.errstate(all="ignore")
    def function(n: float, x: Any) -> Any:
        value, small = of_order(n, x), np.abs(x) < 1e-100
        return np.where(small, (x / 2) ** int(n) / math.factorial(min(int(n), 170)), value)[()] if np.any(small) else value

    return function


def _of_order(name: str) -> Any:
    any_order = _of_any_order(name)
    return lambda x, n: _FIRST[name][n](x) if n < 2 else any_order(float(n), x)


@np.errstate(all="ignore")
def _first_kind(x: Any, n: int) -> Any:
    value = _of_order("jv")(x, n)
    far = (np.abs(x) > 30 + n * n) & np.isfinite(x)
    return np.where(far, _waves(np.where(far, x, 100.0 + n * n), n), value)[()] if np.any(far) else value


def _waves(x: Any, n: int) -> Any:
    """The function of the first kind far out, by Hankel's series: its sine and cosine are those of x itself."""
    size = np.abs(x) * 1.0
    parts, term = [0.0, 0.0], 1.0
    for k in range(24):
        parts[k % 2] = parts[k % 2] + (-1) ** (k // 2) * term
        term = term * (4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1) * size)
    # Half a turn is taken off for every two orders, an eighth of one in any case.
    sine, cosine = np.sin(size), np.cos(size)
    turned = ((cosine + sine, sine - cosine), (sine - cosine, -cosine - sine))[n % 2]
    value = (parts[0] * turned[0] - parts[1] * turned[1]) * (-1) ** (n // 2) / np.sqrt(math.pi * size)
    return value * np.sign(x) ** (n % 2)


def _recurrence(letter: str, sign: str) -> Any:
    """Formulas for whole orders from those of the orders 0 and 1."""

    def written(n: int) -> str:
        lines = [f"b0 = {letter}0(x)", f"b1 = {letter}1(x)"]
        lines += [f"b{k} = 0 if x == 0 else {sign}({2 * k - 2}/x*b{k - 1} - b{k - 2})" for k in range(2, n + 1)]
        return "; ".join([*lines, f"b{n}"])

    return written


_i: Function = declare(
    "bessel_i",
    _of_order("iv"),
    {"x": lambda g, x, n: g * ((_i(x, abs(n - 1)) + _i(x, n + 1)) / 2)},
    series="chain",
    statics={"n": 0},
    public=False,
    written=_recurrence("i", "-"),
)
_j: Function = declare(
    "bessel_j",
    _first_kind,
    {"x": lambda g, x, n: g * ((_j(x, n - 1) - _j(x, n + 1)) / 2) if n else -g * _j(x, 1)},
    series="chain",
    statics={"n": 0},
    public=False,
    written=_recurrence("j", ""),
)
i0 = declare(
    "i0",
    _FIRST["iv"][0],
    {"x": lambda g, x: g * _i(x, 1)},
    series="chain",
    summary="modified Bessel function of the first kind, order 0",
    formula="i1(x)",
    samples=_ANY,
)
i1 = declare(
    "i1",
    _FIRST["iv"][1],
    {"x": lambda g, x: g * ((_i(x, 0) + _i(x, 2)) / 2)},
    series="chain",
    node="SpecialI1Backward0",
    methods=(),
    summary="modified Bessel function of the first kind, order 1",
    formula="i0(x) - i1(x)/x",
    samples=(*_ANY, (0.0,)),
)
j0 = declare(
    "j0",
    lambda x: _first_kind(x, 0),
    {"x": lambda g, x: -g * _j(x, 1)},
    series="chain",
    node="SpecialBesselJ0Backward0",
    aliases=("bessel_j0",),
    methods=(),
    summary="Bessel function of the first kind, order 0",
    formula="-j1(x)",
    samples=_ANY,
)
j1 = declare(
    "j1",
    lambda x: _first_kind(x, 1),
    {"x": lambda g, x: g * ((_j(x, 0) - _j(x, 2)) / 2)},
    series="chain",
    node="SpecialBesselJ1Backward0",
    aliases=("bessel_j1",),
    methods=(),
    summary="Bessel function of the first kind, order 1",
    formula="j0(x) - j1(x)/x",
    samples=(*_ANY, (0.0,)),
)

# exp(-abs(x)) times i0 and i1.  Far out their derivatives are small differences: from 20 on they are those of the
# asymptotic series, term by term.

_FAR = 20.0
_SCALED = (from_scipy("i0e"), from_scipy("i1e"))


@np.errstate(all="ignore")
def _scaled_values(x: Any, n: int, order: int) -> Any:
    size, sign = np.abs(x), np.sign(x)
    far = size > _FAR
    beyond = _far_out(np.maximum(size, _FAR), n, order) * sign ** ((n + order) % 2)
    if np.all(far):
        return beyond
    ive = _of_any_order("ive")
    near: Any = 0.0
    for j in range(order + 1):
        for i in range(n + j + 1):  # the derivative of order n + j of i0
            k = abs(n + j - 2 * i)
            term = math.comb(n + j, i) / 2 ** (n + j) * (_SCALED[k](x) if k < 2 else ive(float(k), x))
            near = near + math.comb(order, j) * (-sign) ** (order - j) * term
    return np.where(far, beyond, near)[()]


def _far_out(x: Any, n: int, order: int) -> Any:
    """The derivative of that order of exp(-x)*I_n(x), for large positive x."""
    total, factor = 0.0, 1 / math.sqrt(2 * math.pi)
    for k in range(28):
        power = -k - 0.5
        total = total + factor * math.prod(power - i for i in range(order)) * x ** (power - order)
        factor *= -(4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1))
    return total


def _scaled_written(n: int, order: int) -> str:
    """A program: the functions of higher orders, then one row of derivatives after the other."""
    lines = ["s = sign(x)", "b0 = i0e(x)", "b1 = i1e(x)"]
    lines += [f"b{m} = 0 if x == 0 else b{m - 2} - {2 * m - 2}/x*b{m - 1}" for m in range(2, n + order + 1)]
    row = "b"
    for k in range(1, order + 1):
        above, row = row, f"d{k}b"
        for m in range(n + order - k + 1):
            lines.append(f"{row}{m} = ({above}{abs(m - 1)} + {above}{m + 1})/2 - s*{above}{m}")
    return "; ".join([*lines, f"{row}{n}"])


_scaled: Function = declare(
    "bessel_scaled",
    _scaled_values,
    {"x": lambda g, x, n, order: g * _scaled(x, n, order + 1)},
    series="chain",
    statics={"n": 0, "order": 0},
    public=False,
    written=_scaled_written,
)
i0e = declare(
    "i0e",
    _SCALED[0],
    {"x": lambda g, x: g * _scaled(x, 0, 1)},
    series="chain",
    node="SpecialI0EBackward0",
    methods=(),
    summary="exp(-abs(x))*i0(x), without overflow",
    formula="i1e(x) - sign(x)*i0e(x)",
    domain="everywhere",
    smooth="x != 0",
    convention="the derivative at 0 is 0 (PyTorch)",
    kink=lambda x: x == 0,
    samples=(*_ANY, (30.0,)),
    edges=((0.0,),),
)
i1e = declare(
    "i1e",
    _SCALED[1],
    {"x": lambda g, x: g * _scaled(x, 1, 1)},
    series="chain",
    node="SpecialI1EBackward0",
    methods=(),
    summary="exp(-abs(x))*i1(x), without overflow",
    formula="i0e(x) - i1e(x)*(sign(x) + 1/x)",
    domain="everywhere",
    convention="the derivative at 0 is 1/2 (PyTorch)",
    bend=lambda x: x == 0,
    samples=(*_ANY, (30.0,)),
    edges=((0.0,),),
)
