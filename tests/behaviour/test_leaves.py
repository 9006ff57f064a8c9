"""Leaves: what requires grad, what is detached, and how ``.grad`` fills."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch


def test_a_new_tensor_is_a_leaf_that_requires_no_grad() -> None:
    x = torch.tensor([1.0])
    assert (x.requires_grad, x.is_leaf, x.grad, x.grad_fn) == (False, True, None, None)


def test_a_leaf_that_requires_grad() -> None:
    x = leaf([1.0])
    assert (x.requires_grad, x.is_leaf, x.grad, x.grad_fn) == (True, True, None, None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(2, requires_grad=True),
        lambda: torch.ones(2, 3, requires_grad=True),
        lambda: torch.full((2,), 1.5, requires_grad=True),
        lambda: torch.eye(2, requires_grad=True),
        lambda: torch.arange(3.0, requires_grad=True),
        lambda: torch.linspace(0, 1, 3, requires_grad=True),
        lambda: torch.rand(2, requires_grad=True),
        lambda: torch.randn(2, requires_grad=True),
        lambda: torch.zeros_like(torch.ones(2), requires_grad=True),
        lambda: torch.ones_like(torch.ones(2), requires_grad=True),
        lambda: torch.randn_like(torch.ones(2), requires_grad=True),
        lambda: torch.rand_like(torch.ones(2), requires_grad=True),
        lambda: torch.full_like(torch.ones(2), 3.0, requires_grad=True),
        lambda: torch.empty(2, requires_grad=True),
        lambda: torch.empty_like(torch.ones(2), requires_grad=True),
    ],
    ids=range(15),
)
def test_factories_take_requires_grad(make: Any) -> None:
    x = make()
    assert x.requires_grad
    assert x.is_leaf


def test_like_factories_do_not_inherit_the_flag() -> None:
    x = leaf([1.0, 2.0])
    assert not torch.zeros_like(x).requires_grad
    assert not torch.ones_like(x).requires_grad


@pytest.mark.parametrize("name", ["new_zeros", "new_ones", "new_tensor", "new_full"])
def test_new_factories_take_the_type(name: str) -> None:
    x = torch.ones(1, dtype=torch.float32)
    arguments: Any = {"new_tensor": ([1.0, 2.0],), "new_full": ((2,), 3.0)}.get(name, (2,))
    made = getattr(x, name)(*arguments)
    assert made.dtype == torch.float32
    assert shape(made) == [2]


def test_integers_cannot_require_grad() -> None:
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.tensor([1, 2], requires_grad=True)


@pytest.mark.parametrize("value", [[1, 2], [True, False]])
def test_integers_cannot_be_made_to_require_grad(value: Any) -> None:
    x = torch.tensor(value)
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        x.requires_grad_()
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        x.requires_grad = True
    assert not x.requires_grad_(False).requires_grad


def test_setting_the_flag() -> None:
    x = const([1.0])
    x.requires_grad = True
    assert x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    assert x.requires_grad_() is x
    assert x.requires_grad


def test_the_flag_of_an_inner_tensor_cannot_be_cleared() -> None:
    y = leaf([1.0]) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)


def test_the_flag_of_an_inner_tensor_may_be_set_again_by_the_method_only() -> None:
    y = leaf([1.0]) * 2
    assert y.requires_grad_() is y
    assert y.grad_fn is not None
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = True


def test_a_flag_set_later_does_not_change_the_past() -> None:
    x, w = leaf(2.0), const(3.0)
    y = x * w
    w.requires_grad_()
    y.backward()
    assert x.grad.item() == 3.0
    assert w.grad is None


def test_a_flag_cleared_later_does_not_change_the_past() -> None:
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    w.requires_grad_(False)
    y.backward()
    assert x.grad.item() == 3.0


def test_one_input_that_requires_grad_is_enough() -> None:
    assert (leaf(1.0) * const(2.0)).requires_grad
    assert (const(1.0) * leaf(2.0)).requires_grad
    assert not (const(1.0) * const(2.0)).requires_grad


def test_clearing_the_flag_keeps_grad() -> None:
    x = leaf(2.0)
    (x * x).backward()
    x.requires_grad_(False)
    assert x.grad.item() == 4.0


def test_detach_is_a_leaf_over_the_same_memory() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    d = y.detach()
    assert (d.requires_grad, d.is_leaf, d.grad_fn) == (False, True, None)
    d[0] = 50.0
    assert y.tolist() == [50.0, 4.0]


def test_detach_stops_gradients() -> None:
    x = leaf(3.0)
    (x * x.detach()).backward()
    assert x.grad.item() == 3.0


def test_a_detached_tensor_may_start_a_new_graph() -> None:
    x = leaf(3.0)
    d = (x * x).detach().requires_grad_()
    (d * 2).backward()
    assert d.grad.item() == 2.0
    assert x.grad is None


def test_detach_does_not_share_grad_nor_the_flag() -> None:
    x = leaf(3.0)
    (x * 2).backward()
    d = x.detach()
    assert d.grad is None
    d.requires_grad_()
    assert x.requires_grad


def test_detach_in_place() -> None:
    x = leaf(3.0)
    y = x * x
    z = y * 2
    assert y.detach_() is y
    assert (y.requires_grad, y.is_leaf, y.grad_fn) == (False, True, None)
    z.backward()  # the graph that z holds is not touched
    assert x.grad.item() == 12.0


def test_detach_in_place_of_a_leaf() -> None:
    x = leaf(3.0)
    x.detach_()
    assert not x.requires_grad
    assert x.is_leaf


def test_detach_in_place_of_a_view_is_refused() -> None:
    y = leaf([3.0, 4.0]) * 2
    part = y[0:1]
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        part.detach_()


def test_detach_in_place_of_parts_that_are_no_views() -> None:
    x = leaf(3.0)
    y = x * 2
    y.detach_()
    y.requires_grad_()
    (y * 5).backward()
    assert y.grad.item() == 5.0
    assert x.grad is None


def test_data_shares_memory_without_history() -> None:
    x = leaf([1.0, 2.0])
    d = x.data
    assert not d.requires_grad
    d[0] = 10.0
    assert x.tolist() == [10.0, 2.0]


def test_data_changes_are_not_counted() -> None:
    x = leaf([1.0, 2.0])
    before = x._version
    x.data.mul_(2)
    assert x._version == before
    assert x.tolist() == [2.0, 4.0]


def test_data_changes_go_unnoticed_by_the_graph() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    x.data.fill_(10.0)
    y.backward()
    assert x.grad.tolist() == [20.0, 20.0]


def test_data_can_be_assigned() -> None:
    x = leaf([1.0, 2.0])
    x.data = const([5.0, 6.0, 7.0])
    assert x.tolist() == [5.0, 6.0, 7.0]
    assert x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [10.0, 12.0, 14.0]


def test_steps_by_data() -> None:
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    x.data -= 0.25 * x.grad.data
    assert x.tolist() == [0.5, 1.0]
    assert x.is_leaf


def test_grad_accumulates() -> None:
    x = leaf(2.0)
    for expected in (3.0, 6.0, 9.0):
        (x * 3).backward()
        assert x.grad.item() == expected


def test_grad_accumulates_in_place() -> None:
    x = leaf([2.0, 3.0])
    (x * 3).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [6.0, 6.0]


def test_grad_accumulates_in_place_for_scalars() -> None:
    x = leaf(2.0)
    (x * 3).backward()
    first = x.grad
    (x * 3).backward()
    assert x.grad is first
    assert first.item() == 6.0


def test_grad_accumulates_into_a_new_tensor_with_create_graph() -> None:
    x = leaf([2.0, 3.0])
    with quiet():
        (x * x).sum().backward(create_graph=True)
        first = x.grad
        (x * x).sum().backward(create_graph=True)
    assert x.grad is not first
    assert first.tolist() == [4.0, 6.0]
    assert x.grad.tolist() == [8.0, 12.0]
    assert x.grad.requires_grad


def test_grad_set_to_none_starts_anew() -> None:
    x = leaf(2.0)
    (x * 3).backward()
    x.grad = None
    (x * 5).backward()
    assert x.grad.item() == 5.0


def test_grad_zeroed_in_place() -> None:
    x = leaf([2.0, 3.0])
    (x * 3).sum().backward()
    x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0]
    (x * 5).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_grad_zeroed_by_data() -> None:
    x = leaf([2.0, 3.0])
    (x * 3).sum().backward()
    x.grad.data.zero_()
    assert x.grad.tolist() == [0.0, 0.0]


def test_grad_deleted() -> None:
    x = leaf(2.0)
    (x * 3).backward()
    del x.grad
    assert x.grad is None


def test_grad_assigned_is_added_to() -> None:
    x = leaf([2.0, 3.0])
    given = const([10.0, 20.0])
    x.grad = given
    assert x.grad is given
    (x * 3).sum().backward()
    assert x.grad is given
    assert given.tolist() == [13.0, 23.0]


def test_grad_of_another_shape_is_refused() -> None:
    x = leaf([2.0, 3.0])
    with pytest.raises(RuntimeError, match=r"attempting to assign a gradient of size '\[3\]' to a tensor of size '\[2\]'"):
        x.grad = const([1.0, 2.0, 3.0])


def test_grad_of_another_type_is_refused() -> None:
    x = leaf([2.0, 3.0])
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype"):
        x.grad = torch.ones(2, dtype=torch.float32)


def test_grad_that_is_no_tensor_is_refused() -> None:
    x = leaf([2.0, 3.0])
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor or None but got grad of type"):
        x.grad = 3.0


def test_grad_cannot_be_the_tensor_itself() -> None:
    x = leaf([2.0, 3.0])
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x


def test_grad_may_be_set_on_a_tensor_that_requires_none() -> None:
    x = const([1.0, 2.0])
    x.grad = const([3.0, 4.0])
    assert x.grad.tolist() == [3.0, 4.0]


def test_grad_assigned_with_history() -> None:
    x = leaf(2.0)
    x.grad = x * 3
    assert x.grad.requires_grad


def test_gradients_of_two_leaves_are_apart() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x + y).sum().backward()
    x.grad.zero_()
    assert y.grad.tolist() == [1.0, 1.0]


def test_leaf_gradients_are_writable_when_broadcast() -> None:
    x = leaf([1.0, 2.0])
    x.sum().backward()
    x.grad[0] = 7.0
    assert x.grad.tolist() == [7.0, 1.0]


def test_returned_gradients_are_writable_when_broadcast() -> None:
    x = leaf([1.0, 2.0])
    (g,) = torch.autograd.grad(x.sum(), x)
    y = g.clone()
    y[0] = 7.0
    assert y.tolist() == [7.0, 1.0]


def test_clone_is_recorded() -> None:
    x = leaf([1.0, 2.0])
    y = x.clone()
    assert not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_clone_has_memory_of_its_own() -> None:
    x = const([1.0, 2.0])
    y = x.clone()
    y[0] = 5.0
    assert x.tolist() == [1.0, 2.0]


def test_contiguous_and_identity_operations_are_differentiable() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x.t().contiguous()
    assert y.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    (y * const([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_numpy_needs_a_detached_tensor() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1.0, 2.0]


def test_a_deep_copy_of_a_leaf() -> None:
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    y = copy.deepcopy(x)
    assert y is not x
    assert y.requires_grad
    assert y.is_leaf
    with torch.no_grad():
        y.zero_()
    assert x.tolist() == [1.0, 2.0]


def test_a_deep_copy_of_an_inner_tensor_is_refused() -> None:
    y = leaf([1.0, 2.0]) * 2
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(y)


def test_float_of_a_tensor_that_requires_grad() -> None:
    x = leaf(2.5)
    with quiet():
        assert float(x) == 2.5
        assert int(leaf(3.0)) == 3
    assert x.item() == 2.5


def test_tensor_methods_that_describe() -> None:
    x = torch.ones(2, 3, dtype=torch.float64)
    assert (x.dim(), x.ndim, x.numel(), x.nelement(), list(x.size()), x.size(1), len(x)) == (2, 2, 6, 6, [2, 3], 3, 2)
    assert x.is_floating_point()
    assert torch.is_tensor(x)
    assert x.element_size() == 8


def test_conversion_is_differentiable() -> None:
    x = leaf([1.0, 2.0])
    y = x.float()
    assert y.dtype == torch.float32
    (y * y).sum().backward()
    assert x.grad.dtype == torch.float64
    assert x.grad.tolist() == [2.0, 4.0]


def test_conversion_to_the_same_type_is_the_tensor_itself() -> None:
    x = leaf([1.0, 2.0])
    assert x.double() is x
    assert x.to(torch.float64) is x


def test_type_as() -> None:
    x = leaf([1.0, 2.0])
    y = x.type_as(torch.ones(1, dtype=torch.float32))
    assert y.dtype == torch.float32
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_variable_is_an_old_name() -> None:
    x = torch.autograd.Variable(torch.ones(2, dtype=torch.float64), requires_grad=True)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_new_makes_a_tensor_of_the_same_type() -> None:
    x = leaf([1.0, 2.0])
    assert shape(x.new(2, 3)) == shape(x.new(const([[0.0] * 3] * 2).size())) == [2, 3]
    assert x.new([3.0, 4.0]).tolist() == x.new((3.0, 4.0)).tolist() == [3.0, 4.0]
    assert x.new(2).dtype is x.dtype
    assert shape(x.new()) == [0]


def test_a_recorded_gradient_is_copied() -> None:
    x = leaf([1.0])
    (x * x).backward(create_graph=True)
    (destination, _), (source, _) = x.grad.grad_fn.next_functions
    assert destination is None
    assert source is not None
