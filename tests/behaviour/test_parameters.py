"""Parameters, their initial values, and the clipping of their gradients."""

from __future__ import annotations

import copy
import math
import pickle
from importlib import import_module
from typing import Any

import pytest

from tests.behaviour import const, leaf, torch

nn: Any = import_module(f"{torch.__name__}.nn")


def test_a_parameter_is_a_leaf_that_requires_grad() -> None:
    values = const([1.0, 2.0])
    p = nn.Parameter(values)
    assert isinstance(p, nn.Parameter)
    assert isinstance(p, torch.Tensor)
    assert p.requires_grad
    assert p.is_leaf
    assert not isinstance(values, nn.Parameter)
    (p * p).sum().backward()
    assert p.grad.tolist() == [2.0, 4.0]


def test_it_shares_the_memory_of_its_tensor() -> None:
    values = const([1.0, 2.0])
    nn.Parameter(values).data[0] = 7.0
    assert values.tolist() == [7.0, 2.0]


def test_what_is_computed_from_it_is_an_ordinary_tensor() -> None:
    p = nn.Parameter(const([1.0, 2.0]))
    for other in (p + 1, p.detach(), p.data, p.clone(), p[0], p.float()):
        assert not isinstance(other, nn.Parameter)
    assert isinstance(p.requires_grad_(False), nn.Parameter)


def test_a_parameter_that_does_not_require_grad() -> None:
    assert not nn.Parameter(const(1.0), requires_grad=False).requires_grad
    assert nn.Parameter(torch.tensor([1]), requires_grad=False).tolist() == [1]
    with pytest.raises(RuntimeError, match="Only Tensors of floating point"):
        nn.Parameter(torch.tensor([1]))


def test_a_parameter_of_a_result_is_a_new_leaf() -> None:
    p = nn.Parameter(leaf(1.0) * 2)
    assert p.is_leaf
    assert p.item() == 2.0
    assert nn.Parameter(p) is not p


def test_text() -> None:
    p = nn.Parameter(torch.ones(2, dtype=torch.get_default_dtype()))
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert repr(p.detach()) == "tensor([1., 1.])"


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda p: pickle.loads(pickle.dumps(p))])
def test_a_copy_is_a_parameter(copied: Any) -> None:
    p = copied(nn.Parameter(const([1.0, 2.0])))
    assert isinstance(p, nn.Parameter)
    assert p.requires_grad
    assert p.tolist() == [1.0, 2.0]


def test_constant_values() -> None:
    w = nn.Parameter(torch.ones(2, 2))
    assert nn.init.zeros_(w) is w
    assert w.tolist() == [[0, 0], [0, 0]]
    assert nn.init.constant_(w, 3.0).tolist() == [[3, 3], [3, 3]]
    assert nn.init.ones_(w).tolist() == [[1, 1], [1, 1]]
    assert nn.init.eye_(w).tolist() == [[1, 0], [0, 1]]
    assert w.requires_grad
    assert w.is_leaf


@pytest.mark.parametrize(
    ("initialize", "deviation"),
    [
        (lambda w: nn.init.uniform_(w, -1, 1), math.sqrt(1 / 3)),
        (lambda w: nn.init.uniform_(w).sub_(0.5), math.sqrt(1 / 12)),
        (lambda w: nn.init.normal_(w, 0, 0.5), 0.5),
        (lambda w: nn.init.normal_(w), 1.0),
        (lambda w: nn.init.xavier_normal_(w), math.sqrt(2 / 300)),
        (lambda w: nn.init.kaiming_normal_(w), math.sqrt(2 / 100)),
        (lambda w: nn.init.xavier_uniform_(w), math.sqrt(2 / 300)),
        (lambda w: nn.init.xavier_normal_(w, gain=2.0), 2 * math.sqrt(2 / 300)),
        (lambda w: nn.init.kaiming_uniform_(w, nonlinearity="relu"), math.sqrt(2 / 100)),
        (lambda w: nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 200)),
        (lambda w: nn.init.kaiming_uniform_(w, a=math.sqrt(5)), math.sqrt(2 / 6 / 100)),
    ],
)
def test_the_spread_of_random_values(initialize: Any, deviation: float) -> None:
    torch.manual_seed(0)
    with torch.no_grad():
        w = initialize(nn.Parameter(torch.empty(200, 100)))
    assert w.is_leaf
    assert w.std().item() == pytest.approx(deviation, rel=0.03)
    assert abs(w.mean().item()) < 0.05 * deviation


def test_gains() -> None:
    assert nn.init.calculate_gain("relu") == math.sqrt(2)
    assert nn.init.calculate_gain("tanh") == 5 / 3
    assert nn.init.calculate_gain("sigmoid") == 1
    assert nn.init.calculate_gain("leaky_relu", 0.2) == pytest.approx(math.sqrt(2 / 1.04))
    with pytest.raises(ValueError, match="Unsupported nonlinearity foo"):
        nn.init.calculate_gain("foo")
    with pytest.raises(ValueError, match="Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"):
        nn.init.xavier_normal_(torch.ones(3))


def test_the_norm_of_gradients_is_clipped() -> None:
    p, q = leaf([0.0, 0.0]), leaf(0.0)
    p.grad, q.grad = const([3.0, 0.0]), const(4.0)
    assert nn.utils.clip_grad_norm_([p, q], 1.0).item() == pytest.approx(5.0)
    assert p.grad.tolist() == pytest.approx([0.6, 0.0], rel=1e-6)
    assert q.grad.item() == pytest.approx(0.8, rel=1e-6)
    assert nn.utils.clip_grad_norm_([p, q], 10.0).item() == pytest.approx(1.0, rel=1e-6)
    assert q.grad.item() == pytest.approx(0.8, rel=1e-6)
    nn.utils.clip_grad_value_([p, q], 0.7)
    assert q.grad.item() == pytest.approx(0.7)


def test_parameters_as_one_vector() -> None:
    p, q = leaf([[1.0, 2.0]]), leaf([3.0])
    vector = nn.utils.parameters_to_vector([p, q])
    assert vector.tolist() == [1, 2, 3]
    nn.utils.vector_to_parameters(vector.detach() * 2, [p, q])
    assert p.tolist() == [[2, 4]]
    assert q.tolist() == [6]
