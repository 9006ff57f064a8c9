"""Activations and losses against their definitions in mpmath, their kinks, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mpf

import autodiff_cli as ad
from autodiff_cli.errors import ArgumentError, IndexOutOfRange, ShapeError
from autodiff_cli.nn import functional
from tests.truth import ACTIVATIONS, records

ACTIVATION = records(ACTIVATIONS)


@pytest.mark.parametrize(("expression", "x"), ACTIVATION)
def test_activation(expression: str, x: float) -> None:
    result = ad.evaluate(expression, {"x": x}, order=2)
    for got, wanted in zip((result.value, result.grad["x"], result.hessian["x"]["x"]), ACTIVATION[expression, x], strict=True):
        assert abs(mpf(float(got)) - wanted) <= mpf("1e-13") * abs(wanted) + mpf("1e-40")


# Values of PyTorch 2.13 at the kinks: first and second derivative.
@pytest.mark.parametrize(
    ("expression", "x", "first", "second"),
    [
        ("leaky_relu(x)", 0, 0.01, 0),
        ("elu(x)", 0, 1, 0),
        ("elu(x, 2)", 0, 2, 0),
        ("celu(x)", 0, 1, 0),
        ("selu(x)", 0, 1.7580993408473766, 0),
        ("hardtanh(x)", -1, 0, 0),
        ("hardtanh(x)", 1, 0, 0),
        ("relu6(x)", 0, 0, 0),
        ("relu6(x)", 6, 0, 0),
        ("hardsigmoid(x)", -3, 0, 0),
        ("hardsigmoid(x)", 3, 0, 0),
        ("softsign(x)", 0, 1, 0),
        ("leaky_relu(x)", math.inf, 1, 0),
        ("softplus(x, 1, 20)", 25, 1, 0),
        ("mish(x)", 1000, 1, 0),  # PyTorch: nan for the second
        ("silu(x)", -1000, 0, 0),
        ("gelu(x)", -40, 0, 0),
        ("l1_loss(x, 2)", 2, 0, 0),
        ("smooth_l1_loss(x, 0)", 1, 1, 0),
        ("smooth_l1_loss(x, 0)", -1, -1, 0),
        ("smooth_l1_loss(x, 0)", 0, 0, 1),
        ("smooth_l1_loss(x, 0, beta=0)", 0, 0, 0),
        ("huber_loss(x, 0)", 1, 1, 0),
        ("huber_loss(x, 0, delta=2)", -5, -2, 0),
    ],
)
def test_kinks(expression: str, x: float, first: float, second: float) -> None:
    result = ad.evaluate(expression, {"x": x}, order=2)
    assert float(result.grad["x"]) == first
    assert float(result.hessian["x"]["x"]) == second


def test_a_branch_that_is_not_taken_gives_nothing() -> None:
    x = ad.tensor([-1.0, 2.0], requires_grad=True)
    (gradient,) = ad.autograd.grad(ad.relu6(x), x, ad.tensor([math.inf, 1.0]))
    assert gradient.tolist() == [0, 1]


ROWS = np.array([[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]])
TARGETS = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])


def _log_softmax(rows: Any) -> Any:
    return rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))


ELEMENTS: dict[str, Any] = {
    "mse_loss": lambda x, t: (x - t) ** 2,
    "l1_loss": lambda x, t: np.abs(x - t),
    "smooth_l1_loss": lambda x, t: np.where(np.abs(x - t) < 1, (x - t) ** 2 / 2, np.abs(x - t) - 0.5),
    "huber_loss": lambda x, t: np.where(np.abs(x - t) < 1, (x - t) ** 2 / 2, np.abs(x - t) - 0.5),
    "binary_cross_entropy_with_logits": lambda x, t: -(t * np.log(1 / (1 + np.exp(-x))) + (1 - t) * np.log(1 / (1 + np.exp(x)))),
    "kl_div": lambda x, t: np.where(t > 0, t * np.log(np.where(t > 0, t, 1)), 0) - t * x,
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ELEMENTS)
def test_loss_of_elements(name: str, reduction: str) -> None:
    expected = ELEMENTS[name](ROWS, TARGETS)
    expected = expected if reduction == "none" else getattr(expected, reduction)()
    x = ad.tensor(ROWS, requires_grad=True)
    loss = getattr(functional, name)(x, ad.tensor(TARGETS), reduction=reduction)
    assert np.allclose(loss.detach().numpy(), expected, rtol=1e-13)
    (by_mean,) = ad.autograd.grad(getattr(functional, name)(x, ad.tensor(TARGETS)), x)
    (here,) = ad.autograd.grad(loss.sum(), x)
    assert np.allclose(here.numpy(), by_mean.numpy() * (1 if reduction == "mean" else ROWS.size), rtol=1e-14)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss_of_classes(reduction: str) -> None:
    logs = _log_softmax(ROWS)
    for target, each in (([2, 0], -logs[[0, 1], [2, 0]]), (TARGETS, -(TARGETS * logs).sum(axis=1))):
        expected = each if reduction == "none" else getattr(each, reduction)()
        x = ad.tensor(ROWS, requires_grad=True)
        loss = functional.cross_entropy(x, ad.tensor(target), reduction=reduction)
        assert np.allclose(loss.detach().numpy(), expected, rtol=1e-13)
        loss.sum().backward()
        wanted = TARGETS if np.ndim(target) == 2 else np.eye(3)[target]
        assert x.grad is not None
        assert np.allclose(x.grad.numpy(), (np.exp(logs) - wanted) / (2 if reduction == "mean" else 1), rtol=1e-12, atol=1e-15)


def test_classes_of_an_image() -> None:
    image = np.random.default_rng(0).standard_normal((2, 3, 4))
    target = np.array([[0, 2, 1, 1], [2, 2, 0, 1]])
    expected = -np.mean([image[i, target[i, j], j] for i in range(2) for j in range(4)])
    assert ad.nll_loss(ad.tensor(image), ad.tensor(target)).item() == pytest.approx(expected, rel=1e-14)


def test_certain_classes_keep_their_digits() -> None:
    result = ad.evaluate("cross_entropy(x, 0)", {"x": [40.0, 0.0]})
    assert float(result.value) == pytest.approx(math.exp(-40), rel=1e-14)
    assert np.allclose(result.grad["x"], [-math.exp(-40), math.exp(-40)], rtol=1e-14, atol=0)
    result = ad.evaluate("binary_cross_entropy_with_logits(x, 1)", {"x": 40.0})
    assert float(result.grad["x"]) == pytest.approx(-math.exp(-40), rel=1e-14)


def test_binary_cross_entropy_stops_where_pytorch_does() -> None:
    assert ad.binary_cross_entropy(ad.tensor([0.0, 1.0]), ad.tensor([1.0, 0.0])).item() == 100
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        ad.binary_cross_entropy(ad.tensor(1.5), ad.tensor(1.0))


def test_kl_divergence() -> None:
    p, q = np.array([[0.2, 0.8]]), np.array([[0.4, 0.6]])
    expected = float((p * np.log(p / q)).sum())
    for target, logarithm in ((p, False), (np.log(p), True)):
        loss = functional.kl_div(ad.tensor(np.log(q)), ad.tensor(target), reduction="batchmean", log_target=logarithm)
        assert loss.item() == pytest.approx(expected, rel=1e-13)


def test_softmax_along_dimensions() -> None:
    for dim in (0, 1, -1):
        powers = np.exp(ROWS)
        assert np.allclose(ad.softmax(ad.tensor(ROWS), dim).numpy(), powers / powers.sum(axis=dim, keepdims=True), rtol=1e-14)
        assert np.allclose(ad.log_softmax(ad.tensor(ROWS), dim=dim).numpy(), np.log(powers / powers.sum(axis=dim, keepdims=True)))
    assert ad.softmax(ad.tensor([1000.0, -math.inf])).tolist() == [1, 0]
    assert ad.log_softmax(ad.tensor(3.0)).item() == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ad.mse_loss(ad.tensor(1.0), ad.tensor(1.0), "average"), ArgumentError),
        (lambda: ad.l1_loss(ad.tensor(1.0), ad.tensor(1.0), "average"), ArgumentError),
        (lambda: ad.gelu(ad.tensor(1.0), "erf"), ArgumentError),
        (lambda: ad.celu(ad.tensor(1.0), 0), ArgumentError),
        (lambda: ad.huber_loss(ad.tensor(1.0), 0.0, delta=0), ArgumentError),
        (lambda: ad.smooth_l1_loss(ad.tensor(1.0), 0.0, beta=-1), ArgumentError),
        (lambda: ad.nll_loss(ad.tensor(ROWS), ad.tensor([0, 3])), IndexOutOfRange),
        (lambda: ad.nll_loss(ad.tensor(ROWS), ad.tensor([0.5, 1.0])), ArgumentError),
        (lambda: ad.nll_loss(ad.tensor(ROWS), ad.tensor([0])), ShapeError),
        (lambda: ad.cross_entropy(ad.tensor(1.0), ad.tensor(1.0)), ShapeError),
        (lambda: ad.mse_loss(ad.tensor([1.0, 2.0]), ad.tensor([1.0, 2.0, 3.0])), ShapeError),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("loss", ["binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "huber_loss", "kl_div"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(("x", "t"), [((3,), (2, 1)), ((2, 1), (3,)), ((3,), ()), ((), (3,)), ((1,), (3,))])
def test_a_target_of_another_shape_is_broadcast(loss: str, reduction: str, x: tuple[int, ...], t: tuple[int, ...]) -> None:
    """The derivatives are those of the same loss of arrays that were broadcast before."""
    source = f"{loss}({{}}, {{}}, '{reduction}')"
    values = {"x": np.linspace(0.2, 0.7, math.prod(x)).reshape(x), "t": np.linspace(0.3, 0.9, math.prod(t)).reshape(t)}
    wide = list(np.broadcast_shapes(x, t))
    found = ad.evaluate(source.format("x", "t"), values, order=2)
    expected = ad.evaluate(source.format(f"x.expand({wide})", f"t.expand({wide})"), values, order=2)
    assert found.value == pytest.approx(expected.value, rel=1e-14)
    for a in values:
        assert found.grad[a] == pytest.approx(expected.grad[a], rel=1e-13)
        for b in values:
            assert found.hessian[a][b] == pytest.approx(expected.hessian[a][b], rel=1e-13, abs=1e-15)
