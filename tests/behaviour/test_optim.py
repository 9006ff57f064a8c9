"""Optimizers: their numbers after many steps, groups, states, and what they refuse."""

from __future__ import annotations

from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest

from tests.behaviour import const, leaf, torch

optim: Any = import_module(f"{torch.__name__}.optim")


def _loss(p: Any, q: Any, step: int) -> Any:
    """A curved valley whose floor moves a little with every step."""
    return ((p[0] - 1) ** 2 + 3 * (p[1] - p[0] ** 2) ** 2 + torch.cos(q * (1 + step / 50)) + 0.1 * q**2).sum()


def _after(make: Any, steps: int = 50) -> tuple[list[float], float]:
    p, q = leaf([-0.5, 0.7]), leaf(1.3)
    optimizer = make([p, q])
    for step in range(steps):
        optimizer.zero_grad()
        _loss(p, q, step).backward()
        optimizer.step()
    return p.tolist(), q.item()


# The numbers are PyTorch's after 50 steps; on PyTorch itself this test only records that they have not changed.
SETTINGS: list[tuple[str, dict[str, Any], list[float], float]] = [
    ("SGD", {"lr": 0.02}, [0.5972344103442103, 0.28612950330989323], 1.6396097510802172),
    ("SGD", {"lr": 0.01, "momentum": 0.9}, [0.996359722613465, 1.0016774037340193], 1.453130258110839),
    ("SGD", {"lr": 0.01, "momentum": 0.8, "dampening": 0.3}, [0.742436880902414, 0.5159413407389531], 1.6281969154305334),
    (
        "SGD",
        {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        [0.9391584212183646, 0.8767977872179938],
        1.4531673868420332,
    ),
    ("SGD", {"lr": 0.001, "maximize": True}, [-0.49329787066046915, 0.8566173640861042], 1.2478127533855292),
    ("Adam", {"lr": 0.05}, [0.7573007411599766, 0.45720662971723847], 1.4533773723181669),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.95), "eps": 0.001}, [0.8274906496202166, 0.6521816842853208], 1.51846408084526),
    ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.2}, [0.7214105799483447, 0.40323403257278456], 1.4665309046324917),
    ("Adam", {"lr": 0.05, "maximize": True}, [-0.06948143642024017, 3.6504246348516656], 0.03163624580249285),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.3}, [0.6930431904532278, 0.3973307988517147], 1.4357760336640315),
    ("AdamW", {"lr": 0.05, "amsgrad": True}, [0.7547930564546848, 0.454890748958174], 1.452184582520672),
]


@pytest.mark.parametrize(("name", "options", "p", "q"), SETTINGS, ids=str)
def test_fifty_steps(name: str, options: dict[str, Any], p: list[float], q: float) -> None:
    found = _after(lambda params: getattr(optim, name)(params, **options))
    assert found[0] == pytest.approx(p, rel=1e-12, abs=1e-13)
    assert found[1] == pytest.approx(q, rel=1e-12, abs=1e-13)


def test_a_step_of_gradient_descent() -> None:
    p = leaf([1.0, 2.0])
    optimizer = optim.SGD([p], lr=0.5)
    p.grad = const([1.0, -1.0])
    assert optimizer.step() is None
    assert p.tolist() == [0.5, 2.5]
    assert p.is_leaf
    assert p.requires_grad


def test_a_parameter_without_a_gradient_stays() -> None:
    p, q = leaf(1.0), leaf(2.0)
    optimizer = optim.Adam([p, q], lr=0.5)
    p.grad = const(1.0)
    optimizer.step()
    assert q.item() == 2.0
    assert list(optimizer.state) == [p]


def test_the_step_counts_as_a_change() -> None:
    p = leaf(2.0)
    y = p * p
    optimizer = optim.SGD([p], lr=0.1)
    p.grad = const(1.0)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_zero_grad() -> None:
    p = leaf(2.0)
    optimizer = optim.SGD([p], lr=0.1)
    p.grad = const(1.0)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.item() == 0.0
    optimizer.zero_grad()
    assert p.grad is None


def test_the_closure_runs_with_gradients() -> None:
    p = leaf(2.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = p * p
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert p.item() == pytest.approx(1.6)


def test_groups_have_options_of_their_own() -> None:
    p, q = leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([{"params": [p]}, {"params": q, "lr": 1.0}], lr=0.1)
    p.grad, q.grad = const(1.0), const(1.0)
    optimizer.step()
    assert p.item() == pytest.approx(0.9)
    assert q.item() == 0.0
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 1.0]
    assert optimizer.param_groups[1]["params"] == [q]
    for group in optimizer.param_groups:
        group["lr"] /= 10
    optimizer.step()
    assert p.item() == pytest.approx(0.89)
    other = leaf(3.0)
    optimizer.add_param_group({"params": other, "lr": 5.0})
    assert optimizer.param_groups[2]["params"][0] is other
    assert optimizer.param_groups[2]["momentum"] == 0


def test_named_parameters() -> None:
    p = leaf(1.0)
    optimizer = optim.SGD([("weight", p)], lr=0.1)
    assert optimizer.param_groups[0]["params"] == [p]
    assert optimizer.param_groups[0]["param_names"] == ["weight"]


def test_a_tensor_as_the_rate() -> None:
    p = leaf(1.0)
    p.grad = const(2.0)
    optim.SGD([p], lr=const(0.25)).step()
    assert p.item() == 0.5


def test_the_state_moves_to_another_optimizer() -> None:
    def steps(optimizer: Any, p: Any, count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            ((p - 3) ** 4).sum().backward()
            optimizer.step()

    whole = leaf([1.0, 5.0])
    steps(optim.Adam([whole], lr=0.1, amsgrad=True), whole, 8)
    half = leaf([1.0, 5.0])
    first = optim.Adam([half], lr=0.1, amsgrad=True)
    steps(first, half, 4)
    second = optim.Adam([half], lr=0.7)
    second.load_state_dict(deepcopy(first.state_dict()))
    steps(second, half, 4)
    assert half.tolist() == whole.tolist()


def test_the_dictionary_of_the_state() -> None:
    p, q = leaf([1.0, 2.0]), leaf(0.0)
    optimizer = optim.SGD([p, q], lr=0.1, momentum=0.9)
    assert optimizer.state_dict()["state"] == {}
    p.grad = const([1.0, 1.0])
    optimizer.step()
    state = optimizer.state_dict()
    assert state["param_groups"][0]["params"] == [0, 1]
    assert state["state"][0]["momentum_buffer"].tolist() == [1.0, 1.0]
    adam = optim.Adam([p], amsgrad=True)
    adam.step()
    assert sorted(adam.state[p]) == ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"]
    assert adam.state[p]["step"].item() == 1


def test_a_differentiable_step() -> None:
    start, rate = leaf([1.0, 2.0]), const(0.1)
    p = start.clone()
    p.retain_grad()
    optimizer = optim.SGD([p], lr=0.1, differentiable=True)
    p.grad = (start * start).clone()
    optimizer.step()
    p.sum().backward()
    assert start.grad.tolist() == pytest.approx([1 - 2 * rate.item(), 1 - 4 * rate.item()])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda p: optim.SGD([p], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: optim.SGD([p], lr=0.1, momentum=-1), ValueError, "Invalid momentum value: -1"),
        (lambda p: optim.SGD([p], lr=0.1, weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
        (lambda p: optim.SGD([p], lr=0.1, nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero dampening"),
        (lambda p: optim.Adam([p], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: optim.Adam([p], eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda p: optim.Adam([p], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (lambda p: optim.Adam([p], betas=(0.9, 1.0)), ValueError, "Invalid beta parameter at index 1: 1.0"),
        (lambda p: optim.Adam([p], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
        (lambda p: optim.AdamW([p], lr=const([0.1, 0.2])), ValueError, "Tensor lr must be 1-element"),
        (lambda p: optim.SGD([], lr=0.1), ValueError, "optimizer got an empty parameter list"),
        (lambda p: optim.SGD(p, lr=0.1), TypeError, "params argument given to the optimizer should be an iterable of Tensors"),
        (lambda p: optim.SGD([p * 2], lr=0.1), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda p: optim.SGD([1], lr=0.1), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
        (lambda p: optim.SGD([{"params": p}, {"params": [p]}], lr=0.1), ValueError, "some parameters appear in more than one"),
        (lambda p: optim.SGD([{"params": {p}}], lr=0.1), TypeError, "need to be organized in ordered collections"),
        (lambda p: optim.SGD([p]).add_param_group([p]), TypeError, "param_group must be a dict, but got <class 'list'>"),
        (lambda p: optim.SGD([p]).load_state_dict({"param_groups": [], "state": {}}), ValueError, "different number of parameter"),
        (
            lambda p: optim.SGD([p]).load_state_dict({"param_groups": [{"params": [0, 1]}], "state": {}}),
            ValueError,
            "parameter group that doesn't match the size of optimizer's group",
        ),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make(leaf(1.0))


def test_an_optimizer_shows_its_options() -> None:
    text = repr(optim.SGD([leaf(1.0)], lr=0.1, momentum=0.9))
    assert text.splitlines()[:3] == ["SGD (", "Parameter Group 0", "    dampening: 0"]
    assert text.endswith("\n    weight_decay: 0\n)")


def test_an_optimizer_of_ones_own() -> None:
    class Signs(optim.Optimizer):  # type: ignore[misc]
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.state[p]["count"] = self.state[p].get("count", 0) + 1
                        p.add_(torch.sign(p.grad), alpha=-group["lr"])

    p = leaf([1.0, 2.0])
    optimizer = Signs([p], lr=0.5)
    p.grad = const([3.0, -3.0])
    optimizer.step()
    assert p.tolist() == [0.5, 2.5]
    assert optimizer.state[p]["count"] == 1
