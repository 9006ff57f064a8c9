"""Bessel functions of real order and their derivatives, compared with mpmath."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import autodiff_cli as ad
from autodiff_cli.errors import ArgumentError, NotPrecise
from autodiff_cli.precise.arithmetic import Arithmetic
from autodiff_cli.precise.bessel import BESSEL
from tests.shell import run

TRUE: dict[str, Callable[[Any, Any], Any]] = {f"{kind}v": getattr(mpmath, f"bessel{kind}") for kind in "jyik"}
POINTS = (
    *((0.5, 1e-200), (0.3, 1e-8), (1e-3, 0.4), (0.0, 2.5), (0.0, 14.0), (3.0, 1.5), (0.7, 9.0), (2.4, 30.0), (12.3, 4.0)),
    *((7.0, 200.0), (30.5, 31.0), (-0.4, 2.0), (-2.7, 11.0), (45.0, 300.0)),
)


def _gradient(name: str, *at: float) -> list[float]:
    leaves = [ad.tensor(float(value), requires_grad=True) for value in at]
    return [part.item() for part in ad.autograd.grad(getattr(ad, name)(*leaves), leaves)]


def _truth(name: str, v: float, x: float) -> tuple[Any, Any, Any]:
    """The value and central differences with a step of 1e-18 at 60 digits."""
    function, step = TRUE[name], mpf(10) ** -18
    by_order = (function(v + step, mpf(x)) - function(v - step, mpf(x))) / (2 * step)
    sign = 1 if name in ("iv", "kv") else -1
    by_x = (function(mpf(v) - 1, mpf(x)) + sign * function(mpf(v) + 1, mpf(x))) / (-2 if name == "kv" else 2)
    return function(mpf(v), mpf(x)), by_order, by_x


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize(("v", "x"), POINTS)
def test_against_mpmath(name: str, v: float, x: float) -> None:
    found = (getattr(ad, name)(ad.tensor(v), ad.tensor(x)).item(), *_gradient(name, v, x))
    with mpmath.workdps(60):
        exact = _truth(name, mpf(v), x)
        # Near a zero of an oscillating function, an error is compared with the amplitude.
        others = _truth({"jv": "yv", "yv": "jv"}[name], mpf(v), x) if name in ("jv", "yv") and x > abs(v) else exact
        for got, true, other in zip(found, exact, others, strict=True):
            size = mpmath.hypot(true, other)
            assert abs(mpf(got) - true) <= mpf("1e-12") * size or size < 1e-290, (got, float(true))


@pytest.mark.parametrize("name", TRUE)
def test_second_derivatives(name: str) -> None:
    v, x = 1.3, 2.2
    hessian = ad.evaluate(f"{name}(v, x)", {"v": v, "x": x}, order=2).hessian
    with mpmath.workdps(60):
        for first, second in itertools.product("vx", "vx"):
            index = ((first == "v") + (second == "v"), (first == "x") + (second == "x"))
            exact = float(mpmath.diff(TRUE[name], (mpf(v), mpf(x)), index))
            assert hessian[first][second] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize(("name", "n", "whole"), [("jv", 0, "j0"), ("yv", 1, "y1"), ("iv", 1, "i1"), ("kv", 0, "k0")])
def test_whole_orders_are_the_functions_of_that_order(name: str, n: int, whole: str) -> None:
    for x in (0.2, 3.0, 60.0):
        at = ad.tensor(x, requires_grad=True)
        (slope,) = ad.autograd.grad(getattr(ad, whole)(at), at)
        assert getattr(ad, name)(n, ad.tensor(x)).item() == pytest.approx(getattr(ad, whole)(at).item(), rel=1e-13)
        assert _gradient(name, n, x)[1] == pytest.approx(slope.item(), rel=1e-13)


def test_order_0_of_the_modified_functions() -> None:
    # DLMF 10.38.4 and 10.38.5
    for x in (0.3, 5.0, 40.0):
        assert _gradient("iv", 0, x)[0] == pytest.approx(-ad.k0(ad.tensor(x)).item(), rel=1e-12)
        assert _gradient("kv", 0, x)[0] == 0


def test_tiny_arguments_of_whole_orders() -> None:
    assert ad.iv(1, ad.tensor(1e-200)).item() == pytest.approx(5e-201, rel=1e-12)
    assert ad.iv(-1, ad.tensor(1e-200)).item() == pytest.approx(5e-201, rel=1e-12)


def test_far_out_the_phase_has_all_digits() -> None:
    with mpmath.workdps(60):
        for x in (1e6, 1e12):
            assert ad.yv(0.5, ad.tensor(x)).item() == pytest.approx(float(mpmath.bessely(mpf(0.5), mpf(x))), rel=1e-13)
            assert _gradient("jv", 0.25, x)[0] == pytest.approx(float(_truth("jv", mpf(0.25), x)[1]), rel=1e-12)


def test_edges() -> None:
    assert _gradient("jv", 0, 0)[1] == 0
    assert _gradient("jv", 1, 0)[1] == 0.5
    assert _gradient("jv", 2.5, 0) == [0, 0]
    assert _gradient("jv", 2, -3)[1] == pytest.approx(-_gradient("jv", 2, 3)[1], rel=1e-14)
    assert _gradient("kv", 0.5, 0)[1] == -math.inf
    for name in TRUE:
        assert all(math.isnan(part) for part in (getattr(ad, name)(0.5, ad.tensor(-1.0)).item(), *_gradient(name, 0.5, -1)))
    assert math.isnan(_gradient("jv", 2000.0, 2500.0)[0])


@pytest.mark.filterwarnings("error")
def test_any_arguments_are_answered() -> None:
    odd = np.array([0.0, 5e-324, 2.0**53 + 1, 1e300, -2.07, math.nan, math.inf, -math.inf, 0.5, 1e5, -300.0])
    v, x = (grid.ravel() for grid in np.meshgrid(odd, odd))
    for name in TRUE:
        leaves = ad.tensor(v, requires_grad=True), ad.tensor(x, requires_grad=True)
        for part in ad.autograd.grad(getattr(ad, name)(*leaves).sum(), leaves):
            assert part.shape == v.shape


@pytest.mark.parametrize("name", TRUE)
def test_types_and_shapes(name: str) -> None:
    v, x = ad.full((2, 1), 0.3, dtype=ad.float32).requires_grad_(), ad.full((3,), 1.7, dtype=ad.float32)
    result = getattr(ad, name)(v, x)
    (slope,) = ad.autograd.grad(result.sum(), v)
    assert (result.shape, slope.shape, result.dtype, slope.dtype) == ((2, 3), (2, 1), ad.float32, ad.float32)
    assert getattr(ad, name)(0.25, x).dtype == ad.float32


@pytest.mark.parametrize("name", TRUE)
@pytest.mark.parametrize(("v", "x"), [(0.3, "0.2"), (2.0, "0.2"), (-3.0, "0.2"), (-0.6, "1e-200"), (2.5, "7"), (1e-9, "30")])
def test_many_digits(name: str, v: float, x: str) -> None:
    m = Arithmetic(50)
    found = BESSEL[name](m, m.mpf(v), m.mpf(x))
    with mpmath.workdps(70):
        exact = TRUE[name](mpf(v), mpf(str(m.nstr(m.mpf(x), 60))))
        assert abs(mpf(found) / exact - 1) < mpf(10) ** -44


def test_orders_for_which_many_digits_take_long_are_refused() -> None:
    m = Arithmetic(50)
    for name in ("jv", "yv", "iv"):
        with pytest.raises(NotPrecise):
            BESSEL[name](m, m.mpf(1e5), m.mpf(1e5))


def test_as_a_user_types_it() -> None:
    assert run("autodiff diff kv(2,x) --wrt x") == 'bessel_partial(2, x, "kv", 0, 1)\n'
    with pytest.raises(ArgumentError, match="'kind' must be one of 'jv', 'yv', 'iv', 'kv'"):
        ad.bessel_partial(1.0, 2.0, "hv", 1, 0)
    assert "jv(v, x)" in run("autodiff functions jv")


@pytest.mark.parametrize(
    ("name", "by_order", "by_x"),
    [
        *(("jv", 3, 0), ("jv", 2, 1), ("iv", 3, 0), ("iv", 1, 2), ("kv", 3, 0)),
        *(pytest.param("yv", *orders, marks=pytest.mark.exhaustive) for orders in ((3, 0), (2, 1), (1, 2))),
    ],
)
def test_third_derivatives(name: str, by_order: int, by_x: int) -> None:
    with mpmath.workdps(60):
        for v, x in [(0.5, 5.0), (2.0, 0.7), (-1.3, 2.2)]:
            exact = float(mpmath.diff(TRUE[name], (mpf(v), mpf(x)), (by_order, by_x)))
            assert ad.bessel_partial(v, x, name, by_order, by_x) == pytest.approx(exact, rel=1e-7)
