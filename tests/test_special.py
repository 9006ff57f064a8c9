"""Special functions compared with mpmath: value, first and second derivative, at ordinary and extreme arguments."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import autodiff_cli as ad
from autodiff_cli.cli.main import main
from autodiff_cli.errors import ArgumentError, MissingPackage
from autodiff_cli.numerics import backend
from tests.truth import EXTREME, records

TRUTH = {case: known for case, known in records(EXTREME).items() if case[1] in EXTREME[case[0]]}


@pytest.mark.parametrize(("expression", "point"), TRUTH)
def test_against_mpmath(expression: str, point: float) -> None:
    result = ad.evaluate(expression, {"x": point}, order=2)
    with mpmath.workdps(40):
        for got, wanted in zip((result.value, result.grad["x"], result.hessian["x"]["x"]), TRUTH[expression, point], strict=True):
            assert abs(mpf(float(got)) - wanted) <= mpf("2e-13") * abs(wanted)


@pytest.mark.parametrize("expression", [one for one in EXTREME if "(x)" in one])
def test_a_vector_is_its_elements(expression: str) -> None:
    points = EXTREME[expression]
    together = ad.evaluate(f"sum({expression.replace('(x', '(v')})", {"v": list(points)}, order=2)
    one_by_one = [ad.evaluate(expression, {"x": point}, order=2) for point in points]
    assert np.allclose(together.grad["v"], [r.grad["x"] for r in one_by_one], rtol=1e-14, atol=0)
    assert np.allclose(np.diag(together.hessian["v"]["v"]), [r.hessian["x"]["x"] for r in one_by_one], rtol=1e-14, atol=0)


FLOATS = (
    *("erf", "erfc", "erfinv", "lgamma", "digamma", "gamma", "ndtr", "ndtri", "log_ndtr", "i0", "i1", "i0e", "i1e", "j0", "j1"),
    *("sinc", "logit", "normal_logpdf", "tanh", "sigmoid", "gelu", "mish", "softplus", "elu", "log_softmax", "hardsigmoid"),
)


@pytest.mark.parametrize("name", ["erfc", "ndtr", "lgamma", "digamma", "j0", "y1"])
def test_a_transposed_matrix_keeps_its_digits(name: str) -> None:
    matrix = ad.tensor([[2.0, 5.3, 90.0], [-11.7, -30.2, 1.1]])
    assert repr(getattr(ad, name)(matrix.T).tolist()) == repr(getattr(ad, name)(ad.tensor(matrix.T.tolist())).tolist())


@pytest.mark.parametrize("shape", [(), (0,), (2,), (2, 1)])
@pytest.mark.parametrize("name", FLOATS)
def test_float32_stays_float32(name: str, shape: tuple[int, ...]) -> None:
    function = getattr(ad, name)
    x = ad.tensor(np.full(shape, 0.3), dtype=ad.float32, requires_grad=True)
    value = function(x)
    (slope,) = ad.autograd.grad(value.sum(), x, create_graph=True)
    (bend,) = ad.autograd.grad(slope.sum(), x)
    for tensor in (value, slope, bend):
        assert tensor.dtype == ad.float32
        assert tensor.shape == shape
        assert isinstance(tensor._data, np.ndarray) == bool(shape)
    assert function(np.full(shape, 0.3)).dtype == ad.float64
    reference = function(ad.tensor(np.full(shape, 0.3)))
    assert np.allclose(value.detach().numpy(), reference.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["beta", "xlogy", "xlog1py", "logaddexp", "logaddexp2", "normal_logpdf", "poisson_logpmf", "zeta"])
def test_a_plain_number_does_not_widen(name: str) -> None:
    function = getattr(ad, name)
    x = ad.tensor([1.5, 2.5], dtype=ad.float32)
    assert function(x, 2.25).dtype == ad.float32
    assert function(2.25, x).dtype == ad.float32
    assert function(ad.tensor([2, 3]), ad.tensor([4, 5])).dtype == ad.float64


# What PyTorch 2.13 prints for these; the others are in the recorded graphs.
NODES = {
    "polygamma(1, x)": "PolygammaBackward0",
    "ndtri(x)": "SpecialNdtriBackward0",
    "log_ndtr(x)": "SpecialLogNdtrBackward0",
    "i0(x)": "I0Backward0",
    "i1(x)": "SpecialI1Backward0",
    "i0e(x)": "SpecialI0EBackward0",
    "i1e(x)": "SpecialI1EBackward0",
    "zeta(2, x)": "SpecialZetaBackward0",
    "logaddexp2(x, x)": "Logaddexp2Backward0",
    "xlog1py(x, x)": "SpecialXlog1PyBackward0",
    "relu6(x)": "HardtanhBackward0",
    "celu(x)": "CeluBackward0",
    "hardsigmoid(x)": "HardsigmoidBackward0",
    "softsign(x)": "DivBackward0",
    "l1_loss([x, 1], [1, x])": "MeanBackward0",
    "smooth_l1_loss(x, 1)": "SmoothL1LossBackward0",
    "huber_loss(x, 1)": "HuberLossBackward0",
    "kl_div(x, 1, 'sum')": "SumBackward0",
    "binary_cross_entropy(x, 1)": "BinaryCrossEntropyBackward0",
    "cross_entropy([x, 1], 0)": "NllLossBackward0",
}


@pytest.mark.parametrize("expression", NODES)
def test_names_of_nodes(expression: str) -> None:
    last = ad.evaluate(expression, {"x": 0.3}).to_dict()["tensors"][-1]
    assert last["grad_fn"] == NODES[expression]


def _gradient(function: Callable[..., Any], *at: float) -> list[float]:
    leaves = [ad.tensor(float(x), requires_grad=True) for x in at]
    return [g.item() for g in ad.autograd.grad(function(*leaves), leaves)]


INF = math.inf


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        ("hypot", (0, 0), [0, 0]),
        ("xlogy", (0, 0), [0, 0]),
        ("xlogy", (0, -1), [0, 0]),
        ("xlog1py", (0, -1), [0, 0]),
        ("logaddexp", (INF, INF), [0.5, 0.5]),
        ("logaddexp", (-INF, -INF), [0.5, 0.5]),
        ("logaddexp2", (-INF, -INF), [0.5, 0.5]),
        ("logaddexp", (INF, -INF), [1, 0]),
        ("logit", (0,), [INF]),
        ("logit", (1,), [INF]),
        ("erfinv", (-1,), [INF]),
        ("ndtri", (0,), [INF]),
        ("ndtri", (1,), [INF]),
        ("i0e", (0,), [0]),
        ("i1e", (0,), [0.5]),
        ("i1", (0,), [0.5]),
        ("lgamma", (0,), [-INF]),
        ("log_ndtr", (-INF,), [INF]),
        ("log_ndtr", (INF,), [0]),
        ("sinc", (INF,), [0]),
        ("poisson_logpmf", (0, 0), [-INF, -1]),
    ],
)
def test_edges(function: str, at: tuple[float, ...], expected: list[float]) -> None:
    assert _gradient(getattr(ad, function), *at) == expected


def test_outside_of_the_domain() -> None:
    assert math.isnan(_gradient(ad.logit, 1.5)[0])
    assert _gradient(lambda x: ad.logit(x, 0.1), 0.05) == [0]
    assert math.isnan(ad.erfinv(ad.tensor(2.0)).item())
    assert ad.polygamma(1, ad.tensor([0.0, -3.0])).tolist() == [INF, INF]
    assert ad.polygamma(1, ad.tensor(-1e15 + 0.5)).item() == pytest.approx(math.pi**2, rel=1e-12)  # it does not count up to 0


def test_the_second_derivative_of_xlogy_does_not_see_its_guard() -> None:
    result = ad.evaluate("xlogy(x, y)", {"x": 0, "y": 2}, order=2)
    assert result.hessian["x"]["y"] == result.hessian["y"]["x"] == 0.5


def test_beta_outside_of_its_domain_beside_arguments_inside() -> None:
    a = ad.tensor([2.0, -1.5, 1.0], requires_grad=True)
    slope = ad.autograd.grad(ad.beta(a, ad.tensor([3.0, 0.7, 0.0])).sum(), a)[0].tolist()
    assert slope[0] == pytest.approx(_gradient(ad.beta, 2, 3)[0], rel=1e-15)
    assert slope[1] == pytest.approx(float(mpmath.diff(lambda x: mpmath.beta(x, 0.7), -1.5)), rel=1e-10)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.4), (1.0, 2.0), (5.0, 0.1), (20.0, 1.0)])
def test_the_gradient_of_beta_has_all_digits(a: float, b: float) -> None:
    found = _gradient(ad.beta, a, b)
    with mpmath.workdps(40):
        for slope, x in zip(found, (a, b), strict=True):
            truth = mpmath.beta(a, b) * (mpmath.digamma(x) - mpmath.digamma(mpf(a) + mpf(b)))
            assert slope == pytest.approx(float(truth), rel=5e-15)


def test_polygamma_wants_a_whole_order() -> None:
    for order in (-1, 0.5):
        with pytest.raises(ArgumentError, match="whole number"):
            ad.polygamma(order, ad.tensor(1.0))
    assert ad.tensor(2.0).polygamma(1).item() == ad.polygamma(1, ad.tensor(2.0)).item()


def test_without_scipy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.startswith("scipy.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "scipy", None)
    backend._scipy.cache_clear()
    with pytest.raises(MissingPackage, match=r"this function needs scipy, which is not installed\n  hint: pip install scipy$"):
        ad.digamma(ad.tensor(1.0))
    assert main(["eval", "i0(x)", "--at", "x=1"]) == 3
    assert "error: this function needs scipy" in capsys.readouterr().err


@pytest.mark.parametrize(("x", "q"), [(2, -3.5), (3, -0.3), (5, -40.25), (7, -1000.1), (2, -1e9 - 0.5), (300, -2.5)])
def test_zeta_below_0_does_not_count_up_to_it(x: int, q: float) -> None:
    with mpmath.workdps(40):
        part = mpmath.mpf(q) - math.floor(q)
        true = mpmath.zeta(x, part) + (-1) ** x * (mpmath.zeta(x, 1 - part) - mpmath.zeta(x, 1 - mpmath.mpf(q)))
    assert ad.evaluate("zeta(x, q)", {"q": q}, {"x": x}).value == pytest.approx(float(true), rel=1e-13)
    both = ad.evaluate("zeta(x, q)", const={"x": x, "q": [q, 1e9]}, gradient=[1.0, 1.0]).value
    assert both[0] == pytest.approx(float(true), rel=1e-13)
