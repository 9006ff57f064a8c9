"""Changes in place: values, histories, the version counter, and refusals, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import DtypeError, ShapeError
from tests.behaviour import leaf


@pytest.mark.parametrize(
    ("change", "ordinary"),
    [
        (lambda y: y.add_(3), lambda y: y + 3),
        (lambda y: y.mul_(2.5), lambda y: y * 2.5),
        (lambda y: y.mul_(ad.tensor([2.0, 3.0])), lambda y: y * ad.tensor([2.0, 3.0])),
        (lambda y: y.exp_(), lambda y: ad.exp(y)),
        (lambda y: y.pow_(3), lambda y: y**3),
        (lambda y: y.clamp_(0.0, 2.0), lambda y: ad.clamp(y, 0.0, 2.0)),
        (lambda y: y.zero_(), lambda y: y * 0),
        (lambda y: y.copy_(ad.tensor([4.0, 5.0])), lambda y: y * 0 + ad.tensor([4.0, 5.0])),
    ],
)
def test_in_place_is_the_ordinary_operation(change: Any, ordinary: Any) -> None:
    gradients, values = [], []
    for operation in (change, ordinary):
        x = leaf([0.5, 1.5])
        y = operation(x * 2)
        (y * ad.tensor([1.0, 10.0])).sum().backward()
        values.append(y.detach().numpy())
        gradients.append(x.grad.numpy())
    assert np.array_equal(values[0], values[1])
    assert np.allclose(gradients[0], gradients[1], rtol=1e-15)


@pytest.mark.parametrize("start", [0.5, [0.5, 1.5]])
def test_changing_what_a_graph_saved(start: Any) -> None:
    for make, change in (
        (lambda x: (x * 1, "input"), lambda t: t.add_(1)),
        (lambda x: (x * 1, "input"), lambda t: t.zero_()),
        (lambda x: (ad.exp(x), "output"), lambda t: t.mul_(2)),
        (lambda x: (ad.exp(x), "output"), lambda t: t.detach().zero_()),
        (lambda x: (x ** ad.tensor(2.0), "output"), lambda t: t.add_(1)),
    ):
        x = leaf(start)
        inner, saved = make(x)
        outer = ad.sin(inner) if saved == "input" else inner * 1
        with ad.no_grad():
            change(inner)
        with pytest.raises(
            RuntimeError, match=r"^one of the variables needed for gradient computation has been modified by an inplace"
        ):
            outer.sum().backward()


def test_what_cannot_be_held() -> None:
    with pytest.raises(DtypeError, match="can't be cast"):
        ad.tensor([1, 2]).mul_(0.5)
    with pytest.raises(ShapeError, match="doesn't match the broadcast shape"):
        ad.ones(2).add_(ad.ones(3, 2))
    single = ad.tensor([1.0], dtype=ad.float32)
    single.add_(ad.tensor([1.0], dtype=ad.float64))
    assert single.dtype == ad.float32


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t[1],
        lambda t: t[1, 2],
        lambda t: t[..., ::2],
        lambda t: t.t(),
        lambda t: t.T[0],
        lambda t: t.reshape(-1)[2:5],
        lambda t: t.reshape(1, 6).squeeze(0)[4],
        lambda t: t.unsqueeze(0)[0, :, 1],
        lambda t: t.permute(1, 0)[1:].transpose(0, 1)[-1],
        lambda t: t[...],
    ],
)
def test_derivatives_through_a_changed_view(view: Any) -> None:
    def function(x: Any, w: Any) -> Any:
        y = ad.sin(x)
        before = y * 1
        v = view(y)
        v.mul_(w)
        v.add_(view(x))
        return (y * before).sum() + (view(y) * v).sum()

    x = ad.tensor(np.linspace(0.1, 1.3, 6).reshape(2, 3), requires_grad=True)
    w = ad.tensor(0.7, requires_grad=True)
    assert ad.autograd.gradcheck(function, (x, w))
    assert ad.autograd.gradgradcheck(function, (x, w))


def test_a_view_of_an_array_that_numpy_must_copy() -> None:
    def function(x: Any) -> Any:
        y = (x * 1).t()
        y.reshape(-1)  # a copy: changing it changes nothing
        y.t().reshape(-1)[1:3].mul_(3)
        return (y**2).sum()

    assert ad.autograd.gradcheck(function, (ad.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True),))


def test_dead_views_are_forgotten() -> None:
    x = ad.ones(3)
    for _ in range(1000):
        x.reshape(3, 1)
    views = x.extra().views
    assert len(views) < 40


@pytest.mark.parametrize(("function", "value"), [(ad.tanh, 0.3), (ad.sigmoid, 0.3), (ad.tanh, 3.0), (ad.sigmoid, 40.0)])
@pytest.mark.parametrize("start", [1.0, [1.0, 0.5]])
def test_an_input_changed_after_tanh_or_sigmoid_is_found_again(function: Any, value: float, start: Any) -> None:
    gradients = []
    for change in (False, True):
        x = leaf(start)
        y = x * value
        z = function(y)
        if change:
            y.zero_()
        (first,) = ad.autograd.grad(z.sum(), x, create_graph=True)
        (second,) = ad.autograd.grad(first.sum(), x)
        gradients.append((first.tolist(), second.tolist()))
    assert np.allclose(gradients[0][0], gradients[1][0], rtol=1e-6, atol=1e-15)
    assert np.allclose(gradients[0][1], gradients[1][1], rtol=1e-6, atol=1e-12)


def test_attributes_of_tensors_are_read_without_a_hook() -> None:
    assert not hasattr(ad.Tensor, "__getattr__")  # CPython reads the slots of such a class slowly
    assert ad.Tensor.__getattribute__ is object.__getattribute__


def test_other_elements_of_the_changed_memory_are_read_before_the_change() -> None:
    x = ad.tensor([[1.0, 2.0], [4.0, 5.0]])
    x.div_(x.T)
    assert x.tolist() == [[1.0, 0.5], [2.0, 1.0]]
    x[1:].add_(x[:-1])
    x[[0, 1]] = x[1:]
    assert x.tolist() == [[3.0, 1.5], [3.0, 1.5]]
