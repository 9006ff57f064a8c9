"""What programs import and call by name, besides the operations: modules, comparisons of tensors, types, small helpers."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from typing import Any

import pytest

from tests.behaviour import const, leaf, torch


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("autograd", "grad"),
        ("autograd", "backward"),
        ("autograd", "Function"),
        ("autograd", "Variable"),
        ("autograd", "gradcheck"),
        ("autograd", "gradgradcheck"),
        ("autograd", "functional"),
        ("autograd", "graph"),
        ("autograd", "no_grad"),
        ("autograd", "enable_grad"),
        ("autograd", "set_grad_enabled"),
        ("autograd", "inference_mode"),
        ("autograd", "detect_anomaly"),
        ("autograd", "set_detect_anomaly"),
        ("autograd.function", "Function"),
        ("autograd.function", "once_differentiable"),
        ("autograd.function", "FunctionCtx"),
        ("autograd.functional", "jacobian"),
        ("autograd.functional", "hessian"),
        ("autograd.functional", "vjp"),
        ("autograd.functional", "jvp"),
        ("autograd.functional", "hvp"),
        ("autograd.functional", "vhp"),
        ("autograd.graph", "Node"),
        ("autograd.graph", "GradientEdge"),
        ("autograd.graph", "get_gradient_edge"),
        ("autograd.graph", "increment_version"),
        ("autograd.graph", "register_multi_grad_hook"),
        ("nn.functional", "relu"),
        ("nn.functional", "softplus"),
    ],
)
def test_names_of_modules(module: str, name: str) -> None:
    assert hasattr(import_module(f"{torch.__name__}.{module}"), name)


def test_equal() -> None:
    assert torch.equal(const([1.0, 2.0]), const([1.0, 2.0]))
    assert not torch.equal(const([1.0, 2.0]), const([1.0, 3.0]))
    assert not torch.equal(const([1.0, 2.0]), const([1.0]))
    assert leaf([1.0]).equal(const([1.0]))


def test_allclose_and_isclose() -> None:
    assert torch.allclose(const([1.0, 2.0]), const([1.0, 2.0 + 1e-9]))
    assert not torch.allclose(const([1.0, 2.0]), const([1.0, 2.1]))
    assert torch.allclose(leaf([1.0]), const([1.05]), atol=0.1)
    assert torch.isclose(const([1.0, 2.0]), const([1.0, 2.1])).tolist() == [True, False]


def test_all_and_any() -> None:
    mask = torch.tensor([True, False])
    assert mask.any().item() is True
    assert mask.all().item() is False
    assert bool((const([1.0, 2.0]) > 0).all())
    assert bool(torch.all(mask | ~mask))
    assert not bool(torch.any(mask & ~mask))


def test_is_tensor() -> None:
    assert torch.is_tensor(leaf(1.0))
    assert not torch.is_tensor(1.0)


def test_types_by_their_names() -> None:
    assert torch.ones(1, dtype=torch.float).dtype == torch.float32
    assert torch.ones(1, dtype=torch.double).dtype == torch.float64
    assert torch.ones(1, dtype=torch.long).dtype == torch.int64
    assert torch.ones(1, dtype=torch.bool).dtype == torch.bool


def test_numbers_of_the_module() -> None:
    assert torch.pi == pytest.approx(3.141592653589793)
    assert torch.inf == float("inf")
    assert torch.nan != torch.nan


def test_from_numpy_shares_memory() -> None:
    numpy = import_module("numpy")
    array = numpy.array([1.0, 2.0])
    x = torch.from_numpy(array)
    array[0] = 5.0
    assert x.tolist() == [5.0, 2.0]
    assert x.dtype == torch.float64


def test_gradient_hooks_on_several_tensors() -> None:
    x, y = leaf(2.0), leaf(3.0)
    seen: list[Any] = []
    handle = torch.autograd.graph.register_multi_grad_hook((x, y), lambda grads: seen.append([g.item() for g in grads]))
    (x * y).backward()
    handle.remove()
    (x * y).backward()
    assert seen == [[3.0, 2.0]]


def test_a_gradient_hook_for_the_first_of_several_tensors() -> None:
    x, y, z = leaf(2.0), leaf(3.0), leaf(5.0)
    seen: list[float] = []
    torch.autograd.graph.register_multi_grad_hook((x, y, z), lambda grad: seen.append(grad.item()), mode="any")
    (x * y * z).backward()
    assert len(seen) == 1
    assert seen[0] in (6.0, 10.0, 15.0)


@pytest.mark.parametrize(
    "name",
    [
        *("stack", "cat", "hstack", "einsum", "eye", "full", "linspace", "block_diag", "meshgrid"),
        *("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss", "kl_div"),
        *("gelu", "silu", "mish", "softplus", "elu", "celu", "selu", "leaky_relu", "hardtanh", "relu6", "hardsigmoid"),
    ],
)
def test_functions_that_are_no_methods(name: str) -> None:
    assert not hasattr(torch.Tensor, name)


def test_versions_can_be_incremented() -> None:
    x = const([1.0])
    torch.autograd.graph.increment_version(x)
    assert x._version == 1


def test_dictionaries_of_leaves() -> None:
    leaves = OrderedDict(a=leaf(1.0), b=leaf(2.0))
    gradients = torch.autograd.grad(leaves["a"] * leaves["b"] ** 2, list(leaves.values()))
    assert [g.item() for g in gradients] == [4.0, 4.0]


def test_numbers_compared_with_tensors() -> None:
    assert bool(leaf(2.0) == 2.0)
    assert bool(leaf(2.0) > 1)
    assert not bool(leaf(2.0) < 1)


def test_the_truth_of_several_values_is_ambiguous() -> None:
    x = const([1.0, 2.0])
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(x)


def test_item_needs_one_element() -> None:
    x = const([1.0, 2.0])
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        x.item()


def test_as_tensor_keeps_the_history() -> None:
    x = leaf(1.0) * 2
    assert torch.as_tensor(x) is x
