"""Small fixed parts of the programs in ``tests/accuracy``, with their earlier results."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.jacobians import jacobian_of
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.derivatives.taylor import expand
from autodiff_cli.evaluation.evaluation import Evaluation
from tests.accuracy.explained import calls, wrong
from tests.accuracy.scan import SAMPLE, eager, sample_of, scan
from tests.accuracy.truth import ONE, TWO, truths
from tests.shell import run

KNOWN = json.loads(SAMPLE.read_text())
LOSING = {"beta(x, y)", "norm([x, y])", "norm([x, y], 3)", "norm([x, y], 1.5)", "logsumexp([x, y])", "softmax([x, y])[0]"}
"""Whose second derivatives are differences that lose digits: docs/accuracy.md says where."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("expression", ONE)
def test_a_function_of_one_number(expression: str) -> None:
    assert list(scan(expression, KNOWN, sample_of(expression))) == []


@pytest.mark.parametrize("x", [1e-8, 1e-6, 1e-4, 0.01, 0.3, 0.7, 0.9999])
@pytest.mark.parametrize(
    ("expression", "truth"),
    [
        ("tanhshrink(x)", lambda x: x - mpmath.tanh(x)),
        ("glu([0.7, x])[0]", lambda x: 0.7 / (1 + mpmath.exp(-x))),
        ("binary_cross_entropy(x, 0.0)", lambda x: -mpmath.log1p(-x)),
        ("binary_cross_entropy(x, 1.0)", lambda x: -mpmath.log(x)),
        ("binary_cross_entropy(x, 0.25)", lambda x: -mpmath.log(x) / 4 - mpmath.log1p(-x) * 3 / 4),
    ],
)
def test_the_digits_near_0_and_1(expression: str, truth: Any, x: float) -> None:
    found = eager(expression, (x,))
    for index, wanted in truths(truth, (x,)).items():
        assert found[index] == pytest.approx(wanted, rel=1e-12), index


@pytest.mark.sampled(3)
@pytest.mark.parametrize("expression", sorted({*TWO} - LOSING))
def test_a_function_of_two_numbers(expression: str) -> None:
    assert list(scan(expression, KNOWN, sample_of(expression))) == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("start", range(4))
def test_every_formula_of_explain_gives_its_number(start: int) -> None:
    found = [one for expression, at in calls(start, 4) for one in wrong(expression, at)]
    assert found == []


@pytest.mark.parametrize(
    ("expression", "at"),
    [
        ("i1(x)", {"x": 0.0}),
        ("x**y", {"x": 0.0, "y": 0.0}),
        ("hypot(3, x)", {"x": 4.0}),
        ("hypot(x, 3)*atan2(x, 3)", {"x": 4.0}),
        ("tanh(x)*sigmoid(x)*softsign(x)", {"x": 20.0}),
        ("norm([x, 0, 2], 1.5)", {"x": -3.0}),
        ("acosh(x)**y", {"x": 1e160, "y": 0.5}),
    ],
)
def test_formulas_of_explain_at_edges(expression: str, at: dict[str, float]) -> None:
    assert list(wrong(expression, at)) == []


def test_what_explain_knows_of_a_call() -> None:
    assert "x/hypot(x, 3)" in run('autodiff explain "hypot(x, 3)" -a x=4')
    assert "constant" not in run('autodiff explain "hypot(3, x)" -a x=4')
    at_zero = run('autodiff explain "i1(x)" -a x=0')
    assert "i1(x)/x" not in at_zero
    assert "0.5" in at_zero


@pytest.mark.parametrize("p", [0.5, 1.1, 1.5, 2, 2.5, 3])
@pytest.mark.parametrize("dim", [None, 0])
def test_the_hessian_of_a_norm_beside_0(p: float, dim: int | None) -> None:
    x = [-1.0, 0.0, 2.0]
    hessian = ad.evaluate(f"sum(norm(x, {p}, dim={'none' if dim is None else dim}))", {"x": x}, order=2).hessian["x"]["x"]
    commanded = ad.autograd.functional.hessian(lambda v: ad.norm(v, p, dim).sum(), ad.tensor(x)).numpy()
    assert np.array_equal(hessian, commanded, equal_nan=True)
    with mpmath.workdps(40):
        size = (mpmath.mpf(1) + mpmath.mpf(2) ** p) ** (mpmath.mpf(1) / p)
        for i, j in ((0, 0), (0, 2), (2, 2)):
            shares = [mpmath.sign(x[k]) * (abs(x[k]) / size) ** (p - 1) for k in (i, j)]
            own = (abs(x[i]) / size) ** (p - 2) if i == j else 0
            assert hessian[i][j] == pytest.approx(float((p - 1) / size * (own - shares[0] * shares[1])), rel=1e-13)
    assert hessian[0][1] == hessian[1][0] == hessian[1][2] == 0
    assert hessian[1][1] == {0.5: -math.inf, 1.1: math.inf, 1.5: math.inf, 2: hessian[1][1]}.get(p, 0.0)


@pytest.mark.parametrize(
    "exponent",
    [
        *("hardtanh(x)", "clamp(x, -1, 1)", "2*hardtanh(x)", "hardtanh(x)/1", "hardtanh(x*x)", "hardsigmoid(2*x)", "relu6(4*x)/6"),
        *(
            "floor(x)",
            "round(x)",
            "sign(x)",
            "min(x, 2)",
            "maximum(1, x/10)",
            "where(x > 0, 1, x)",
            "1 + relu(-x)",
            "amax([x/9, 3])",
        ),
    ],
)
def test_the_series_of_a_power_with_a_constant_exponent(exponent: str) -> None:
    expression = f"(x - 5)**({exponent})"
    n = float(ad.evaluate(exponent, {"x": 2.4}).value)
    found = expand(Evaluation(expression, {"x": 2.4}), 3).derivatives
    falling = [1, n, n * (n - 1), n * (n - 1) * (n - 2)]
    assert found == pytest.approx([f * (-2.6) ** (n - k) if f else 0.0 for k, f in enumerate(falling)], rel=1e-13)


@pytest.mark.parametrize("expression", ONE)
def test_outside_of_a_domain_the_hessian_is_symmetric(expression: str) -> None:
    other = re.sub(r"\bx\b", "y", expression)
    for y in (-1.0, -0.3, 1.5):
        session = Evaluation(f"x*({other})", {"x": 1.0, "y": y})
        inputs = [session.variables[name] for name in "xy"]
        rows = [jacobian_of(first, inputs) for first in grad(session.output, inputs, create_graph=True, materialize_grads=True)]
        assert np.array_equal(rows[0][1].numpy(), rows[1][0].numpy(), equal_nan=True), y


def test_logit_is_nan_to_every_order_outside() -> None:
    for x in (-1.0, 1.5):
        found = ad.evaluate("logit(x)", {"x": x}, order=3)
        assert np.isnan([found.value, found.grad["x"], *found.derivatives.values()]).all()


@pytest.mark.parametrize("x", [-0.999999999, -1 + 1e-12, -1.0000001, -2.0 - 1e-9, -3.0001, -100.000001, -7.3, -0.6])
def test_the_digits_of_the_gamma_functions_beside_a_pole(x: float) -> None:
    with mpmath.workdps(40):
        for n, expression in enumerate(("digamma(x)", "polygamma(1, x)", "polygamma(2, x)")):
            assert float(ad.evaluate(expression, {"x": x}).value) == pytest.approx(float(mpmath.psi(n, mpmath.mpf(x))), rel=1e-14)
        assert float(ad.evaluate("lgamma(x)", {"x": x}).grad["x"]) == pytest.approx(float(mpmath.psi(0, mpmath.mpf(x))), rel=1e-14)


def test_lists_are_shown_as_what_they_are() -> None:
    for expression, rows in (
        ("sum([x, y])", ["[x, y]", "sum([x, y])"]),
        ("norm([x,y])", ["[x,y]", "norm([x,y])"]),
        ("[x,y]@[1,2]", ["[x,y]", "[1, 2]", "[x,y]@[1,2]"]),
        ("sum([[x, y], [1, 2]])", ["[x, y]", "[[x, y], [1, 2]]", "sum([[x, y], [1, 2]])"]),
        ("sum(cat([x], [y]))", ["[x]", "[y]", "cat([x], [y])", "sum(cat([x], [y]))"]),
        ("f(v) = sum(v)*x; f([x, y])", ["[x, y]", "sum(v)", "sum(v)*x"]),
    ):
        result = ad.evaluate(expression, {"x": 1.0, "y": 2.0})
        assert [tensor.expression for tensor in result.tensors[2:]] == rows
    assert "%1     [x, y]" in run('autodiff explain "sum([x, y])" -a x=1,y=2')
    assert "stack   [x, y]" in run('autodiff graph "sum([x, y])"')


def test_the_names_of_nodes_are_those_of_pytorch() -> None:
    x = ad.tensor(2.0, requires_grad=True)
    names = {"deg2rad": "Deg2Rad", "rad2deg": "Rad2Deg", "sign": "Sign", "sgn": "Sgn"}
    assert {name: getattr(ad, name)(x).grad_fn.name() for name in names} == {k: f"{v}Backward0" for k, v in names.items()}


def test_counts_are_numbers_of_arithmetic() -> None:
    assert float(ad.evaluate("count_nonzero([1, 2])**100 + 0*x", {"x": 1.0}).value) == 2.0**100
