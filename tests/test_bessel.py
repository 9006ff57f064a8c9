"""Bessel functions of the second kind, Airy functions and elliptic integrals, compared with mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import autodiff_cli as ad
from autodiff_cli.errors import NotPrecise
from autodiff_cli.precise.arithmetic import Arithmetic
from autodiff_cli.precise.bessel import BESSEL
from tests.shell import run

INF = math.inf
K: dict[int, Callable[[Any], Any]] = {n: lambda x, n=n: mpmath.besselk(n, x) for n in range(4)}
Y: dict[int, Callable[[Any], Any]] = {n: lambda x, n=n: mpmath.bessely(n, x) for n in range(4)}


def _elliptic(p: int, second: bool) -> Callable[[Any], Any]:
    """The derivative of order p from the hypergeometric function (DLMF 19.5.1, 19.5.2 and 15.5.2)."""
    a, b = (mpf(-1) / 2, mpf(1) / 2) if second else (mpf(1) / 2, mpf(1) / 2)
    factor = mpmath.pi / 2 * mpmath.rf(a, p) * mpmath.rf(b, p) / mpmath.factorial(p)
    return lambda m: factor * mpmath.hyp2f1(a + p, b + p, 1 + p, m)


def _airy(function: Any) -> tuple[Callable[[Any], Any], ...]:
    value, slope = function, lambda x: function(x, derivative=1)
    return value, slope, lambda x: x * value(x), lambda x: value(x) + x * slope(x)


_AI, _BI = _airy(mpmath.airyai), _airy(mpmath.airybi)
_WAVES = (1e-200, 1e-8, 0.3, 2.7, 11.0, 45.0, 1e6, 1e12)
_DECAYS = (1e-200, 1e-8, 0.3, 1.9, 2.1, 45.0, 690.0)
_MODULI = (-1e200, -1e5, -3.0, -1e-9, 0.0, 1e-20, 0.3, 0.97, 1 - 1e-9, 1 - 2.0**-53)
_LINE = (-1e6, -25.0, -19.0, -3.3, -1e-9, 0.0, 0.7, 12.0, 80.0)
CASES: dict[str, tuple[tuple[float, ...], tuple[Callable[[Any], Any], ...]]] = {
    "y0": (_WAVES, (Y[0], lambda x: -Y[1](x), lambda x: (Y[2](x) - Y[0](x)) / 2)),
    "y1": (_WAVES, (Y[1], lambda x: (Y[0](x) - Y[2](x)) / 2, lambda x: (Y[3](x) - 3 * Y[1](x)) / 4)),
    "k0": (_DECAYS, (K[0], lambda x: -K[1](x), lambda x: (K[0](x) + K[2](x)) / 2)),
    "k1": (_DECAYS, (K[1], lambda x: -(K[0](x) + K[2](x)) / 2, lambda x: (3 * K[1](x) + K[3](x)) / 4)),
    "ellipk": (_MODULI, (_elliptic(0, False), _elliptic(1, False), _elliptic(2, False))),
    "ellipe": (_MODULI, (_elliptic(0, True), _elliptic(1, True), _elliptic(2, True))),
    "airy_ai": (_LINE, _AI[:3]),
    "airy_ai_prime": (_LINE, _AI[1:]),
    "airy_bi": (_LINE, _BI[:3]),
    "airy_bi_prime": (_LINE, _BI[1:]),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "x"), [(name, x) for name, (points, _) in CASES.items() for x in points])
def test_against_mpmath(name: str, x: float) -> None:
    result = ad.evaluate(f"{name}(x)", {"x": x}, order=2)
    with mpmath.workdps(80):
        for got, truth in zip((result.value, result.grad["x"], result.hessian["x"]["x"]), CASES[name][1], strict=True):
            exact = truth(mpf(x))
            assert float(got) == pytest.approx(float(exact), rel=1e-12, abs=0), (name, x)


@pytest.mark.parametrize(
    ("function", "x", "value", "slope"),
    [
        ("y0", 0.0, -INF, INF),
        ("y1", 0.0, -INF, INF),
        ("k0", 0.0, INF, -INF),
        ("k1", 0.0, INF, -INF),
        ("y0", INF, 0.0, 0.0),
        ("k0", INF, 0.0, 0.0),
        ("ellipk", 1.0, INF, INF),
        ("ellipe", 1.0, 1.0, -INF),
        ("ellipk", -INF, 0.0, 0.0),
        *((function, -1.0, math.nan, math.nan) for function in ("y0", "y1", "k0", "k1")),
        *((function, 1.5, math.nan, math.nan) for function in ("ellipk", "ellipe")),
    ],
)
def test_ends_of_the_domain_and_outside(function: str, x: float, value: float, slope: float) -> None:
    at = ad.tensor(x, requires_grad=True)
    result = getattr(ad, function)(at)
    (found,) = ad.autograd.grad(result, at)
    np.testing.assert_array_equal([result.item(), found.item()], [value, slope])


@pytest.mark.parametrize("name", CASES)
def test_arrays_keep_their_shape_and_type(name: str) -> None:
    for shape in ((), (0,), (2, 3)):
        x = ad.full(shape, 0.3, dtype=ad.float32).requires_grad_()
        result = getattr(ad, name)(x)
        (slope,) = ad.autograd.grad(result.sum(), x)
        assert result.dtype == slope.dtype == ad.float32
        assert result.shape == slope.shape == shape
    many = ad.tensor([0.1 + 0.001 * i for i in range(700)], requires_grad=True)
    (slope,) = ad.autograd.grad(getattr(ad, name)(many).sum(), many)
    last = ad.tensor(0.1 + 0.001 * 699, requires_grad=True)
    (alone,) = ad.autograd.grad(getattr(ad, name)(last), last)
    assert slope[699].item() == pytest.approx(alone.item(), rel=1e-15)


@pytest.mark.parametrize("name", ["k0", "k1", "y0", "y1"])
@pytest.mark.parametrize("x", ["5e-324", "1e-30", "0.9", "1.1", "37", "1e6"])
def test_many_digits(name: str, x: str) -> None:
    m = Arithmetic(50)
    found = BESSEL[name](m, m.mpf(x))
    with mpmath.workdps(60):
        exact = {"k": mpmath.besselk, "y": mpmath.bessely}[name[0]](int(name[1]), mpf(x))
        assert abs(mpf(found) / exact - 1) < mpf(10) ** -47


def test_what_would_take_long_with_many_digits_is_refused() -> None:
    m = Arithmetic(50)
    for name in ("y0", "airy_ai"):
        with pytest.raises(NotPrecise):
            BESSEL[name](m, m.mpf("1e300"))


def test_the_room_of_special_functions_has_their_other_names() -> None:
    assert ad.special.modified_bessel_k1 is ad.k1
    assert ad.special.bessel_y0 is ad.y0
    assert ad.special.airy_ai is ad.airyai
    assert ad.special.bessel_j0 is ad.j0 is ad.bessel_j0
    assert ad.special.gammaln is ad.lgamma
    assert ad.special.psi is ad.digamma
    assert ad.special.expit is ad.sigmoid
    assert run("autodiff grad k0(x) --at x=1 -q") == "-0.6019072301972346\n"
