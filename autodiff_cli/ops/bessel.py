"""Bessel functions of order 0 and 1.

The derivative of a function of the first kind is half the sum or difference of the functions of the two neighbouring orders.
This formula also holds at 0, where the usual formulas divide by x.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import ORDER
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.ops import long_decompositions
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.elementary import AT_ZERO
from autodiff_cli.ops.scipy_backend import from_scipy

__all__ = ["bessel_i", "bessel_j", "bessel_scaled", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k1", "y0", "y1"]

declare = Declarations(__name__, elementwise=True)

_ANY = ((0.3,), (-1.7,), ([4.0, -9.5],))

_FIRST = {"iv": (from_scipy("i0"), from_scipy("i1")), "jv": (from_scipy("j0"), from_scipy("j1"))}


def _of_any_order(name: str) -> Any:
    """Return SciPy's function ``name``, replaced by the first term of its power series for tiny x, where SciPy gives nan."""
    of_order = from_scipy(name)

    @np.errstate(all="ignore")
    def function(n: float, x: Array) -> Any:
        value, small = of_order(n, x), np.abs(x) < 1e-100
        return np.where(small, (x / 2) ** int(n) / math.factorial(min(int(n), 170)), value)[()] if np.any(small) else value

    return function


def _of_order(name: str) -> Any:
    any_order = _of_any_order(name)
    return lambda x, n: _FIRST[name][n](x) if n < 2 else any_order(float(n), x)


@np.errstate(all="ignore")
def _first_kind(x: Array, n: int) -> Any:
    value = _of_order("jv")(x, n)
    far = (np.abs(x) > 30 + n * n) & np.isfinite(x)
    return np.where(far, _waves(np.where(far, x, 100.0 + n * n), n)[0], value)[()] if np.any(far) else value


def _second_kind(n: int) -> Any:
    near = from_scipy(f"y{n}")

    @np.errstate(all="ignore")
    def function(x: Array) -> Any:
        far = x > 30
        value = near(x)
        if not np.any(far):
            return value
        return np.where(far, np.where(x == math.inf, 0.0, _waves(np.where(far, x, 100.0), n)[1]), value)[()].astype(value.dtype)

    return function


def _waves(x: Array, n: int) -> tuple[Any, Any]:
    """Return J_n(x) and Y_n(x) for large x from Hankel's expansion, written in terms of sin(x) and cos(x)."""
    size = np.abs(x) * 1.0
    parts: list[Array | float] = [0.0, 0.0]
    term: Array | float = 1.0
    for k in range(24):
        parts[k % 2] = parts[k % 2] + (-1) ** (k // 2) * term
        term = term * (4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1) * size)
    # The phase is x - n*pi/2 - pi/4.
    sine, cosine = np.sin(size), np.cos(size)
    turned = ((cosine + sine, sine - cosine), (sine - cosine, -cosine - sine))[n % 2]
    height = (-1) ** (n // 2) / np.sqrt(math.pi * size)
    first, second = parts[0] * turned[0] - parts[1] * turned[1], parts[0] * turned[1] + parts[1] * turned[0]
    return first * height * np.sign(x) ** (n % 2), second * height


_ORDERS: dict[str, Any] = {"statics": {"n": 0}, "kinds": {"n": ORDER}, "methods": ()}
bessel_i: TensorFunction = declare(
    "bessel_i",
    _of_order("iv"),
    {"x": lambda g, x, n: g * ((bessel_i(x, abs(n - 1)) + bessel_i(x, n + 1)) / 2)},
    decomposition=long_decompositions.bessel_i,
    summary="modified Bessel function of the first kind of integer order n",
    formula="(bessel_i(x, n - 1) + bessel_i(x, n + 1))/2",
    samples=(*_ANY, (0.4, 2), (-1.3, 3)),
    **_ORDERS,
)
bessel_j: TensorFunction = declare(
    "bessel_j",
    _first_kind,
    {"x": lambda g, x, n: g * ((bessel_j(x, n - 1) - bessel_j(x, n + 1)) / 2) if n else -g * bessel_j(x, 1)},
    decomposition=long_decompositions.bessel_j,
    summary="Bessel function of the first kind of integer order n",
    formula="(bessel_j(x, n - 1) - bessel_j(x, n + 1))/2",
    samples=(*_ANY, (0.4, 2), (-1.3, 3)),
    **_ORDERS,
)
i0: TensorFunction = declare(
    "i0",
    _FIRST["iv"][0],
    {"x": lambda g, x: g * i1(x)},
    decomposition=long_decompositions.bessel_i(0),
    summary="modified Bessel function of the first kind of order 0",
    formula="i1(x)",
    samples=_ANY,
)
i1: TensorFunction = declare(
    "i1",
    _FIRST["iv"][1],
    {"x": lambda g, x: g * ((i0(x) + bessel_i(x, 2)) / 2)},
    decomposition=long_decompositions.bessel_i(1),
    node="SpecialI1Backward0",
    methods=(),
    summary="modified Bessel function of the first kind of order 1",
    formula="(i0(x) + bessel_i(x, 2))/2",
    samples=(*_ANY, (0.0,)),
)
j0: TensorFunction = declare(
    "j0",
    lambda x: _first_kind(x, 0),
    {"x": lambda g, x: -g * j1(x)},
    decomposition=long_decompositions.bessel_j(0),
    node="SpecialBesselJ0Backward0",
    aliases=("bessel_j0",),
    methods=(),
    summary="Bessel function of the first kind of order 0",
    formula="-j1(x)",
    samples=_ANY,
)
j1: TensorFunction = declare(
    "j1",
    lambda x: _first_kind(x, 1),
    {"x": lambda g, x: g * ((j0(x) - bessel_j(x, 2)) / 2)},
    decomposition=long_decompositions.bessel_j(1),
    node="SpecialBesselJ1Backward0",
    aliases=("bessel_j1",),
    methods=(),
    summary="Bessel function of the first kind of order 1",
    formula="(j0(x) - bessel_j(x, 2))/2",
    samples=(*_ANY, (0.0,)),
)

_POSITIVE: dict[str, Any] = {
    "methods": (),
    "domain": "x > 0",
    "inside": lambda x: x > 0,
    "samples": ((0.3,), (2.7,), ([4.0, 9.5],), (45.0,)),
    "edges": ((0.0,), (-1.0,)),
}
y0: TensorFunction = declare(
    "y0",
    _second_kind(0),
    {"x": lambda g, x: -g * y1(x)},
    decomposition=long_decompositions.bessel_y(0),
    node="SpecialBesselY0Backward0",
    aliases=("bessel_y0",),
    summary="Bessel function of the second kind of order 0",
    formula="-y1(x)",
    convention="at 0 the value is -inf and the derivative is inf",
    **_POSITIVE,
)
y1: TensorFunction = declare(
    "y1",
    _second_kind(1),
    {"x": lambda g, x: g * where(x == 0, math.inf, y0(x) - y1(x) / x)},
    decomposition=long_decompositions.bessel_y(1),
    node="SpecialBesselY1Backward0",
    aliases=("bessel_y1",),
    summary="Bessel function of the second kind of order 1",
    formula="y0(x) - y1(x)/x",
    convention="at 0 the value is -inf and the derivative is inf",
    **_POSITIVE,
)
k0: TensorFunction = declare(
    "k0",
    from_scipy("k0"),
    {"x": lambda g, x: -g * k1(x)},
    decomposition=long_decompositions.bessel_k(0),
    node="SpecialModifiedBesselK0Backward0",
    aliases=("modified_bessel_k0",),
    summary="modified Bessel function of the second kind of order 0",
    formula="-k1(x)",
    convention="at 0 the value is inf and the derivative is -inf",
    **_POSITIVE,
)
k1: TensorFunction = declare(
    "k1",
    from_scipy("k1"),
    {"x": lambda g, x: -g * (k0(x) + k1(x) / x)},
    decomposition=long_decompositions.bessel_k(1),
    node="SpecialModifiedBesselK1Backward0",
    aliases=("modified_bessel_k1",),
    summary="modified Bessel function of the second kind of order 1",
    formula="-k0(x) - k1(x)/x",
    convention="at 0 the value is inf and the derivative is -inf",
    **_POSITIVE,
)

# The functions i0 and i1 multiplied by exp(-abs(x)).  For large x their derivatives are small differences of large terms, so
# the asymptotic series is differentiated term by term for abs(x) > 20.

_FAR = 20.0
_SCALED = (from_scipy("i0e"), from_scipy("i1e"))


@np.errstate(all="ignore")
def _scaled_values(x: Array, n: int, order: int) -> Any:
    size, sign = np.abs(x), np.sign(x)
    far = size > _FAR
    beyond = _far_out(np.maximum(size, _FAR), n, order) * sign ** ((n + order) % 2)
    if np.all(far):
        return beyond
    ive = _of_any_order("ive")
    near: Any = 0.0
    for j in range(order + 1):
        for i in range(j + 1):  # the j-th derivative of I_n
            k = abs(n + j - 2 * i)
            term = math.comb(j, i) / 2**j * (_SCALED[k](x) if k < 2 else ive(float(k), x))
            near = near + math.comb(order, j) * (-sign) ** (order - j) * term
    return np.where(far, beyond, near)[()]


@np.errstate(all="ignore")
def _far_out(x: Array, n: int, order: int) -> Any:
    """Return the derivative of the given order of exp(-x)*I_n(x), for large positive x."""
    total: Any = 0.0
    for coefficient in reversed(long_decompositions.far_out(n, order)):
        total = coefficient + total / x
    return total * x ** (-0.5 - order)


bessel_scaled: TensorFunction = declare(
    "bessel_scaled",
    _scaled_values,
    {"x": lambda g, x, n, order: g * bessel_scaled(x, n, order + 1)},
    statics={"n": 0, "order": 0},
    kinds={"n": ORDER, "order": ORDER},
    methods=(),
    decomposition=long_decompositions.bessel_scaled,
    summary="derivative of the given order of exp(-abs(x))*bessel_i(x, n)",
    formula="bessel_scaled(x, n, order + 1)",
    convention="the derivative at 0 is the mean of the one-sided derivatives (PyTorch, for i0e and i1e)",
    samples=(*_ANY, (30.0,), (0.7, 1, 1), (-2.0, 0, 1)),
    **AT_ZERO,
)
i0e = declare(
    "i0e",
    _SCALED[0],
    {"x": lambda g, x: g * bessel_scaled(x, 0, 1)},
    decomposition=long_decompositions.bessel_scaled(0, 0),
    node="SpecialI0EBackward0",
    methods=(),
    summary="exp(-abs(x))*i0(x) without overflow",
    formula="bessel_scaled(x, 0, 1)",
    convention="the derivative at 0 is 0 (PyTorch)",
    samples=(*_ANY, (30.0,)),
    **AT_ZERO,
)
i1e = declare(
    "i1e",
    _SCALED[1],
    {"x": lambda g, x: g * bessel_scaled(x, 1, 1)},
    decomposition=long_decompositions.bessel_scaled(1, 0),
    node="SpecialI1EBackward0",
    methods=(),
    summary="exp(-abs(x))*i1(x) without overflow",
    formula="bessel_scaled(x, 1, 1)",
    convention="the derivative at 0 is 1/2 (PyTorch)",
    second_kink=lambda x: x == 0,
    samples=(*_ANY, (30.0,)),
    edges=((0.0,),),
)
