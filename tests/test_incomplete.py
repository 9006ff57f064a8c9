"""Factorials, exponential integrals, the Lambert W function, and the incomplete gamma and beta functions, against mpmath."""

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
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.rules.factorials import zeta_slope
from tests.shell import run


def _log_uniform(low: float, high: float, count: int = 60, seed: int = 0) -> list[float]:
    return [float(v) for v in 10 ** np.random.default_rng(seed).uniform(math.log10(low), math.log10(high), count)]


def _differ(found: Any, true: Callable[..., Any], *columns: list[float], least: float = 0.0) -> float:
    """The largest relative error; errors are relative to ``least`` where the truth is smaller."""
    worst = 0.0
    with mpmath.workdps(40):
        for value, *point in zip(np.atleast_1d(found), *columns, strict=True):
            truth = true(*map(mpf, point))
            worst = max(worst, float(abs(mpf(float(value)) - truth) / max(abs(truth), mpf(least) or mpf("1e-400"))))
    return worst


def _orders(expression: str, x: list[float]) -> tuple[Any, Any, Any]:
    result = ad.evaluate(f"sum({expression})", {"x": x}, order=2)
    return ad.evaluate(expression, const={"x": x}).value, result.grad["x"], np.diag(result.hessian["x"]["x"])


ONE_ARGUMENT: dict[str, tuple[list[float], tuple[Callable[[Any], Any], ...]]] = {
    "factorial(x)": (
        [*_log_uniform(1e-8, 160), -0.3, -1.5, -20.25],
        (
            lambda x: mpmath.gamma(x + 1),
            lambda x: mpmath.gamma(x + 1) * mpmath.digamma(x + 1),
            lambda x: mpmath.gamma(x + 1) * (mpmath.digamma(x + 1) ** 2 + mpmath.psi(1, x + 1)),
        ),
    ),
    "expi(x)": (
        [*_log_uniform(1e-8, 700), *(-x for x in _log_uniform(1e-8, 700))],
        (mpmath.ei, lambda x: mpmath.exp(x) / x, lambda x: mpmath.exp(x) * (x - 1) / x**2),
    ),
    "exp1(x)": (_log_uniform(1e-8, 700), (mpmath.e1, lambda x: -mpmath.exp(-x) / x, lambda x: mpmath.exp(-x) * (x + 1) / x**2)),
}


@pytest.mark.parametrize("expression", ONE_ARGUMENT)
def test_functions_of_one_argument(expression: str) -> None:
    x, truths = ONE_ARGUMENT[expression]
    for found, true in zip(_orders(expression, x), truths, strict=True):
        assert _differ(found, true, x) < 1e-12


@pytest.mark.parametrize("k", [0, -1])
def test_lambertw_has_all_digits_up_to_the_branch_point(k: int) -> None:
    x = [-math.exp(-1) + gap for gap in _log_uniform(1e-16, 0.36)]
    x += [-v for v in _log_uniform(1e-100, 0.3)] if k else [*_log_uniform(1e-200, 1e200), *(-v for v in _log_uniform(1e-200, 0.3))]

    def w(x: Any) -> Any:
        return mpmath.re(mpmath.lambertw(x, k))

    found = _orders(f"lambertw(x, k={k})", x)
    truths = (w, lambda x: mpmath.exp(-w(x)) / (1 + w(x)), lambda x: -mpmath.exp(-2 * w(x)) * (2 + w(x)) / (1 + w(x)) ** 3)
    for each, true in zip(found[:2], truths[:2], strict=True):
        assert _differ(each, true, x) < 1e-12
    assert _differ(found[2], truths[2], x, least=1e-3) < 1e-10


def test_lambertw_at_its_edges() -> None:
    out = run('autodiff grad "lambertw(x)" --at x=-0.36787944117144233 -q')
    assert out.startswith("inf\n")
    assert "the derivative used is inf (PyTorch does not have this function)" in out
    assert ad.lambertw(0.0) == 0
    assert ad.lambertw(0.0, -1) == -math.inf
    assert np.isnan(ad.lambertw(np.array([-0.4, math.nan]))).all()
    assert np.isnan(ad.lambertw(np.array([0.1, -0.4]), -1)).all()
    assert ad.lambertw(math.inf) == math.inf
    with pytest.raises(ArgumentError, match="'k' must be 0 or -1, a real branch, not 1"):
        ad.lambertw(0.5, 1)


def test_betaln_does_not_overflow() -> None:
    a = [*_log_uniform(1e-150, 1e150), *_log_uniform(1e-3, 1e5)]
    b = [*_log_uniform(1e-150, 1e150, seed=1), *_log_uniform(1e-3, 1e5, seed=1)]

    def true(a: Any, b: Any) -> Any:
        with mpmath.workdps(350 if max(a, b, 1 / a, 1 / b) > 1e9 else 60):
            return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)

    assert _differ(ad.betaln(np.array(a), np.array(b)), true, a, b, least=1) < 1e-13
    slope = ad.evaluate("sum(betaln(a, b))", {"a": a[60:], "b": b[60:]}).grad["a"]
    assert _differ(slope, lambda a, b: mpmath.digamma(a) - mpmath.digamma(a + b), a[60:], b[60:]) < 1e-13


ZETA: list[tuple[list[float], list[float]]] = [
    ([1 + v for v in _log_uniform(1e-6, 50)], _log_uniform(1e-3, 1e4, seed=1)),
    ([1 + v for v in _log_uniform(1e-6, 50)], [1.0] * 60),
    ([float(v) for v in np.linspace(-0.5, 0.99, 40)], [1.0] * 40),
    ([-v for v in _log_uniform(0.5, 150, 20)], [1.0] * 20),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("x", "q"), ZETA)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_zeta_has_derivatives_with_respect_to_its_exponent(x: list[float], q: list[float], order: int) -> None:
    found = zeta_slope(np.array(x), np.array(q), order)

    def true(x: Any, q: Any) -> Any:
        with mpmath.workdps(150 if x > 1 else 40):  # mpmath loses the digits of small values
            return mpmath.zeta(x, q, order)

    assert _differ(found, true, x, q) < 1e-12


def test_zeta_has_mixed_derivatives() -> None:
    found = ad.evaluate("zeta(x, q)", {"x": 2.5, "q": 0.7}, order=2, digits=15)
    assert found.to_dict()["verified"]["hessian"]["x"]["q"] >= 13
    assert ad.zeta(2.0) == pytest.approx(math.pi**2 / 6, rel=1e-15)
    assert ad.zeta(-1.0) == pytest.approx(-1 / 12, rel=1e-15)
    assert run("autodiff grad zeta(x) --at x=0 -q").strip().startswith(f"{-math.log(2 * math.pi) / 2:.15f}"[:14])


# The incomplete gamma and beta functions: the truth is a difference quotient of a power series with positive terms.


def _series(ratio: Callable[[int], Any]) -> Any:
    total = term = mpf(1)
    k = 0
    while True:
        factor = ratio(k)
        term *= factor
        total += term
        k += 1
        if factor < 0.9 and term < total * mpmath.mp.eps:
            return total


def _gamma_true(a: Any, x: Any) -> Any:
    return mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a + 1)) * _series(lambda k: x / (a + k + 1))


def _beta_true(a: Any, b: Any, x: Any) -> Any:
    if x > 0.5:
        return 1 - _beta_true(b, a, 1 - x)
    logarithm = a * mpmath.log(x) + b * mpmath.log1p(-x) - mpmath.loggamma(a) - mpmath.loggamma(b) + mpmath.loggamma(a + b)
    return mpmath.exp(logarithm) / a * _series(lambda k: x * (a + b + k) / (a + 1 + k))


STENCILS = (((0, 1.0),), ((-1, -0.5), (1, 0.5)), ((-1, 1.0), (0, -2.0), (1, 1.0)), ((-2, -0.5), (-1, 1.0), (1, -1.0), (2, 0.5)))


def _quotient(function: Callable[..., Any], orders: tuple[int, ...], *point: Any) -> Any:
    """The derivative of these orders with respect to the first arguments."""
    with mpmath.workdps(320):
        total = mpf(0)
        steps = [mpf(10) ** -40 * x for x in point[: len(orders)]]
        for choice in itertools.product(*(STENCILS[order] for order in orders)):
            moved = [x + shift * step for x, step, (shift, _) in zip(point, steps, choice, strict=False)]
            total += math.prod(weight for _, weight in choice) * function(*moved, *point[len(orders) :])
        return total / math.prod([step**order for step, order in zip(steps, orders, strict=True)], start=mpf(1))


def _around(centres: list[float]) -> list[float]:
    shifts = np.random.default_rng(2).normal(scale=0.4, size=len(centres))
    return [float(centre * 10**shift) for centre, shift in zip(centres, shifts, strict=True)]


SHAPES = _log_uniform(1e-3, 200, 24)
GAMMA_POINTS = ([*SHAPES, 30.0, 1e-9, 0.5, 1.0, 150.0], [*_around([a + 0.2 for a in SHAPES]), 30.5, 2.5, 1.999, 2.001, 150.0])
OTHERS = _log_uniform(1e-3, 200, 24, seed=1)
ODDS = _around([a / b for a, b in zip(SHAPES, OTHERS, strict=True)])
BETA_POINTS = (
    [*SHAPES, 1e-9, 150.0, 0.5, 3.0],
    [*OTHERS, 2.0, 1e-6, 0.7, 4.0],
    [*(float(np.clip(odds / (1 + odds), 1e-12, 1 - 1e-9)) for odds in ODDS), 0.1, 0.999, 0.4, 1e-20],
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_gammainc_has_derivatives_with_respect_to_a(order: int) -> None:
    found = ad.gammainc_slope(*map(np.array, GAMMA_POINTS), order)
    assert _differ(found, lambda a, x: _quotient(_gamma_true, (order,), a, x), *GAMMA_POINTS) < (1e-12 if order == 1 else 1e-10)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("orders", [(1, 0), (0, 1), (2, 0), (1, 1), (1, 2)])
def test_betainc_has_derivatives_with_respect_to_its_parameters(orders: tuple[int, int]) -> None:
    found = ad.betainc_slope(*map(np.array, BETA_POINTS), *orders)
    least = 1e-250  # of a function and its derivatives, some are near the smallest float64
    error = _differ(found, lambda a, b, x: _quotient(_beta_true, orders, a, b, x), *BETA_POINTS, least=least)
    assert error < (1e-12 if sum(orders) == 1 else 1e-10)


def test_values_and_densities_of_the_incomplete_functions() -> None:
    a, x = GAMMA_POINTS
    assert _differ(ad.gammainc(np.array(a), np.array(x)), lambda a, x: _quotient(_gamma_true, (), a, x), a, x) < 1e-12
    assert _differ(ad.gammaincc(np.array(a), np.array(x)), lambda a, x: 1 - _quotient(_gamma_true, (), a, x), a, x) < 1e-12
    assert _differ(ad.betainc(*map(np.array, BETA_POINTS)), lambda *at: _quotient(_beta_true, (), *at), *BETA_POINTS) < 1e-12
    for order in (0, 1):
        found = ad.gammainc_density(np.array(a), np.array(x), order)
        density = lambda a, x: mpmath.exp((a - 1) * mpmath.log(x) - x) * mpmath.rgamma(a)  # noqa: E731
        assert _differ(found, lambda a, x: _quotient(density, (order,), a, x), a, x) < 1e-11  # noqa: B023
    found = ad.betainc_density(*map(np.array, BETA_POINTS))
    assert _differ(found, lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b), *BETA_POINTS) < 1e-12


def test_gradients_are_those_of_every_argument() -> None:
    found = ad.evaluate("gammainc(a, x) + gammaincc(a, x)**2", {"a": 2.5, "x": 1.7}, order=2, digits=15).to_dict()["verified"]
    assert min(found["value"], *found["grad"].values(), *(v for row in found["hessian"].values() for v in row.values())) >= 12
    at = {"a": 2.5, "b": 0.7, "x": 0.3}
    found = ad.evaluate("betainc(a, b, x)", at, order=2, digits=15).to_dict()["verified"]
    assert min(found["value"], *found["grad"].values(), *(v for row in found["hessian"].values() for v in row.values())) >= 12


def test_the_ends_of_the_incomplete_functions() -> None:
    x = np.array([0.0, math.inf, -1.0, math.nan])
    np.testing.assert_array_equal(ad.gammainc_slope(np.full(4, 2.0), x, 1), [0, 0, math.nan, math.nan])
    np.testing.assert_array_equal(ad.gammainc_density(np.array([0.5, 1.0, 2.0, -1.0]), np.zeros(4)), [math.inf, 1, 0, math.nan])
    x = np.array([0.0, 1.0, -0.5, 1.5])
    np.testing.assert_array_equal(ad.betainc_slope(np.full(4, 2.0), np.full(4, 3.0), x, 1, 0), [0, 0, math.nan, math.nan])
    np.testing.assert_array_equal(
        ad.betainc_density(np.array([0.5, 1.0, 3.0]), np.array([2.0, 2.5, 1.0]), np.array([0, 0, 1.0])), [math.inf, 2.5, 3.0]
    )
    assert run("autodiff grad 'gammainc(a, 0)' --at a=2 -q").split() == ["0.0"]


WEIRD = [5e-324, 1e-300, 1e-17, 0.4, 5.0, 1000.0, 2.0**53 + 1, 1e100, 1e300, -2.07, 0.0, math.nan, math.inf, 1.0]


@pytest.mark.exhaustive
def test_every_argument_has_an_answer() -> None:
    a, x = map(np.array, zip(*itertools.product(WEIRD, WEIRD), strict=True))
    value, slope = ad.gammainc(a, x), ad.gammainc_slope(a, x, 1)
    assert np.isfinite(slope[(a > 0) & (a < math.inf) & (x >= 0)]).all()
    assert np.isnan(slope[np.isnan(value) & (a < math.inf)]).all()
    a, b, x = map(np.array, zip(*itertools.product(WEIRD, WEIRD, WEIRD), strict=True))
    slope = ad.betainc_slope(a, b, x, 1, 0)
    usual = (a >= 1e-300) & (a < 1e200) & (b >= 1e-300) & (b < 1e200) & (x >= 0) & (x <= 1)
    assert np.isfinite(slope[usual]).all()
    assert np.isnan(slope[np.isnan(a) | np.isnan(b) | np.isnan(x)]).all()
    command = "autodiff hessian 'prod(betainc(A, A, A))' --at 'A=[[1000,-2.07,.4],[5e-324,5,0],[1.36,5,9007199254740993]]' -q"
    assert run(command).startswith("nan")


def test_exports_have_the_functions_that_a_library_has() -> None:
    assert "special.gammainc(2, x)" in run("autodiff export 'gammainc(2, x)' --to numpy")
    assert "special.betainc(2, 3, x)" in run("autodiff export 'betainc(2, 3, x)' --to jax")
    assert "C has no function 'gammainc'" in run("autodiff export 'gammainc(2, x)' --to c")


def test_orders_are_limited_in_words() -> None:
    assert "gammainc_slope: the order of the derivative must be from 1 to 20, not 21" in run(
        "autodiff taylor gammainc(a,1) --at a=2 --order 21"
    )
    with pytest.raises(ArgumentError, match="betainc_slope: the order of the derivative must be from 1 to 20, not 0"):
        ad.betainc_slope(1.0, 2.0, 0.3, 0, 0)
    with pytest.raises(ArgumentError, match="from 1 to 20, not 40"):
        ad.betainc_slope(1.0, 2.0, 0.3, 20, 20)


def test_float32_stays_float32() -> None:
    at = [ad.tensor([0.7, 2.5], dtype=ad.float32, requires_grad=True) for _ in range(2)]
    x = ad.tensor([0.3, 0.6], dtype=ad.float32, requires_grad=True)
    for value, inputs in ((ad.betainc(*at, x), [*at, x]), (ad.gammainc(at[0], x), [at[0], x]), (ad.zeta(at[0] + 1, x), [at[0], x])):
        slopes = ad.autograd.grad(value.sum(), inputs, create_graph=True)
        assert {value.dtype, *(slope.dtype for slope in slopes)} == {ad.float32}
