"""Factorials, exponential integrals, the Lambert W function, and the incomplete gamma and beta functions, against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import autodiff_cli as ad
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.zeta_functions import zeta_slope
from tests.shell import run

RANDOM = np.random.default_rng(0)


def _log_uniform(low: float, high: float, count: int = 60) -> list[float]:
    return [float(v) for v in 10 ** RANDOM.uniform(math.log10(low), math.log10(high), count)]


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
    "exp1(x)": (
        _log_uniform(1e-8, 700),
        (mpmath.e1, lambda x: -mpmath.exp(-x) / x, lambda x: mpmath.exp(-x) * (x + 1) / x**2),
    ),
}


@pytest.mark.parametrize("expression", ONE_ARGUMENT)
def test_functions_of_one_argument(expression: str) -> None:
    x, truths = ONE_ARGUMENT[expression]
    for found, true in zip(_orders(expression, x), truths, strict=True):
        assert _differ(found, true, x) < 1e-12


@pytest.mark.parametrize("k", [0, -1])
def test_lambertw_has_all_digits_up_to_the_branch_point(k: int) -> None:
    x = [-math.exp(-1) + gap for gap in _log_uniform(1e-16, 0.36)]
    x += [-v for v in _log_uniform(1e-200, 0.3)] if k else [*_log_uniform(1e-200, 1e200), *(-v for v in _log_uniform(1e-200, 0.3))]

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
    assert "the derivative used is inf (PyTorch lacks this function)" in out
    assert ad.lambertw(0.0) == 0
    assert ad.lambertw(0.0, -1) == -math.inf
    assert np.isnan(ad.lambertw(np.array([-0.4, math.nan]))).all()
    assert np.isnan(ad.lambertw(np.array([0.1, -0.4]), -1)).all()
    assert ad.lambertw(math.inf) == math.inf
    with pytest.raises(ArgumentError, match="'k' must be 0 or -1, a real branch, not 1"):
        ad.lambertw(0.5, 1)


def test_betaln_does_not_overflow() -> None:
    a = [*_log_uniform(1e-300, 1e300), *_log_uniform(1e-3, 1e5)]
    b = [*_log_uniform(1e-300, 1e300), *_log_uniform(1e-3, 1e5)]

    def true(a: Any, b: Any) -> Any:
        with mpmath.workdps(700):
            return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)

    assert _differ(ad.betaln(np.array(a), np.array(b)), true, a, b, least=1) < 1e-13
    slope = ad.evaluate("sum(betaln(a, b))", {"a": a[60:], "b": b[60:]}).grad["a"]
    assert _differ(slope, lambda a, b: mpmath.digamma(a) - mpmath.digamma(a + b), a[60:], b[60:]) < 1e-13


ZETA: list[tuple[list[float], list[float]]] = [
    ([1 + v for v in _log_uniform(1e-6, 50)], _log_uniform(1e-3, 1e4)),
    ([1 + v for v in _log_uniform(1e-6, 50)], [1.0] * 60),
    ([float(v) for v in RANDOM.uniform(-0.5, 1, 40)], [1.0] * 40),
    ([-v for v in _log_uniform(0.5, 150)], [1.0] * 60),
]


@pytest.mark.parametrize(("x", "q"), ZETA)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_zeta_has_derivatives_with_respect_to_its_exponent(x: list[float], q: list[float], order: int) -> None:
    found = zeta_slope(np.array(x), np.array(q), order)

    def true(x: Any, q: Any) -> Any:
        with mpmath.workdps(150):  # mpmath loses the digits of small values
            return mpmath.zeta(x, q, order)

    assert _differ(found, true, x, q) < 1e-12


def test_zeta_has_mixed_derivatives() -> None:
    found = ad.evaluate("zeta(x, q)", {"x": 2.5, "q": 0.7}, order=2, digits=15)
    assert found.to_dict()["verified"]["hessian"]["x"]["q"] >= 13
    assert ad.zeta(2.0) == pytest.approx(math.pi**2 / 6, rel=1e-15)
    assert ad.zeta(-1.0) == pytest.approx(-1 / 12, rel=1e-15)
    assert run("autodiff grad zeta(x) --at x=0 -q").strip().startswith(f"{-math.log(2 * math.pi) / 2:.15f}"[:14])
