"""Hessian matrices by formula in ``hessian`` and ``minimize``: the numbers of automatic differentiation, in less time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.derivatives import matrices_and_products
from autodiff_cli.solvers import system as systems
from autodiff_cli.symbolic.matrices.diff import hessian_by_formula

LOGISTIC = "mean(log1p(exp(-y*(X @ w)))) + c*sum(w**2)"
RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 10))
CONST: dict[str, Any] = {"X": X, "y": np.sign(X.sum(1) + RNG.normal(size=60)), "c": 0.01}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices_and_products, "LEAST_BY_FORMULA", 3_000)
    monkeypatch.setattr(systems, "LEAST_DESCENT", 3_000)


CASES = [
    (LOGISTIC, {"w": np.linspace(-1, 1, 10)}, CONST),
    ("sum((T - U @ V.T)**2)", {"U": RNG.normal(size=(12, 2)), "V": RNG.normal(size=(10, 2))}, {"T": RNG.normal(size=(12, 10))}),
    ("r = A @ x - b; sum(r**2)*s + exp(s)", {"x": np.ones(20), "s": 0.3}, {"A": RNG.normal(size=(40, 20)), "b": np.ones(40)}),
    ("norm(x)", {"x": np.zeros(60)}, {}),  # the formula is not finite here
    ("sum(sort(x)[0]**2)", {"x": np.linspace(2.0, 1.0, 60)}, {}),  # sort has no formula
]


@pytest.mark.parametrize(("expression", "at", "const"), CASES, ids=[case[0] for case in CASES])
def test_hessian_has_the_same_numbers(
    expression: str, at: dict[str, Any], const: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    exactly = ad.hessian(expression, at=at, const=const).to_dict()["hessian"]
    request.getfixturevalue("always")
    found = ad.hessian(expression, at=at, const=const).to_dict()["hessian"]
    for a in at:
        for b in at:
            np.testing.assert_allclose(found[a][b], exactly[a][b], rtol=1e-10, atol=1e-12)
            assert np.shape(found[a][b]) == np.shape(exactly[a][b])


def test_minimize_ends_at_the_same_minimum(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "LEAST_DESCENT", 10**12)
    exactly = ad.minimize(LOGISTIC, at={"w": np.zeros(10)}, const=CONST)
    request.getfixturevalue("always")
    traced = []
    monkeypatch.setattr(systems, "trace_elements", lambda *_: traced.append(1))
    found = ad.minimize(LOGISTIC, at={"w": np.zeros(10)}, const=CONST)
    assert found.converged
    assert found.verdict == exactly.verdict
    assert not traced
    np.testing.assert_allclose(found.solution["w"], exactly.solution["w"], rtol=1e-9)
    np.testing.assert_allclose(found.eigenvalues, exactly.eigenvalues, rtol=1e-7)
    lowest = ad.minimize(f"-({LOGISTIC})", at={"w": np.zeros(10)}, const=CONST, maximize=True)
    np.testing.assert_allclose(lowest.solution["w"], exactly.solution["w"], rtol=1e-9)


def test_a_small_expression_is_left_to_automatic_differentiation() -> None:
    assert hessian_by_formula("sum(x**2)", {"x": np.ones(3)}, ["x"], 1_000) is None
    assert hessian_by_formula("x**2", {"x": np.float64(1)}, ["x"], 0) is None
    assert hessian_by_formula("sum(x**2)", {"x": np.ones(3)}, ["x"], 0) is not None
