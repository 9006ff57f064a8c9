"""``backward``: where it starts, what it starts from, where it ends, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch


def test_a_scalar_starts_from_one() -> None:
    x = leaf(3.0)
    (x * x).backward()
    assert x.grad.item() == 6.0
    assert x.grad.dtype == torch.float64
    assert shape(x.grad) == []


def test_backward_returns_none() -> None:
    x = leaf(3.0)
    assert (x * 2).backward() is None
    assert torch.autograd.backward(x * 2) is None


@pytest.mark.parametrize("size", [(1,), (1, 1)])
def test_one_element_of_any_shape_starts_from_one(size: tuple[int, ...]) -> None:
    x = torch.ones(size, dtype=torch.float64, requires_grad=True)
    (x * 4).backward()
    assert shape(x.grad) == list(size)
    assert x.grad.sum().item() == 4.0


@pytest.mark.parametrize("size", [(2,), (0,), (2, 1)])
def test_no_implicit_gradient_unless_there_is_one_element(size: tuple[int, ...]) -> None:
    x = torch.ones(size, dtype=torch.float64, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()


def test_gradient_is_the_first_argument() -> None:
    x = leaf([1.0, 2.0])
    (x * x).backward(const([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]


def test_gradient_by_keyword() -> None:
    x = leaf([1.0, 2.0])
    (x * x).backward(gradient=const([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]


def test_retain_graph_is_the_second_argument() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward(None, True)
    y.backward(None, False)
    assert x.grad.item() == 8.0


@pytest.mark.parametrize(("output", "gradient"), [((2,), (3,)), ((), (1,)), ((2, 1), (2,)), ((2,), ())])
def test_gradient_of_another_shape_is_refused(output: tuple[int, ...], gradient: tuple[int, ...]) -> None:
    x = torch.ones(output, dtype=torch.float64, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.backward(torch.ones(gradient, dtype=torch.float64))


def test_gradient_that_is_no_tensor_is_refused() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    with pytest.raises(TypeError, match="gradients can be either Tensors or None"):
        torch.autograd.backward([y], [1.0])


def test_gradient_of_another_floating_type_is_converted() -> None:
    x = leaf([1.0, 2.0])
    (x * 3).backward(torch.tensor([1.0, 2.0], dtype=torch.float32))
    assert x.grad.dtype == torch.float64
    assert x.grad.tolist() == [3.0, 6.0]


def test_the_gradient_handed_in_is_not_changed_and_not_shared() -> None:
    x = leaf([1.0, 2.0])
    start = const([1.0, 2.0])
    (x + 0).backward(start)
    with torch.no_grad():
        x.grad.zero_()
    assert start.tolist() == [1.0, 2.0]


def test_a_tensor_without_graph_is_refused() -> None:
    x = const([1.0])
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        x.backward()


def test_the_place_of_the_tensor_without_graph_is_named() -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad and does not have a grad_fn"):
        torch.autograd.backward([x * 2, const(1.0)])


def test_a_leaf_is_its_own_root() -> None:
    x = leaf(5.0)
    x.backward()
    assert x.grad.item() == 1.0
    x.backward(const(3.0))
    assert x.grad.item() == 4.0


def test_several_roots_add_up() -> None:
    x = leaf(2.0)
    torch.autograd.backward([x * 3, x * x])
    assert x.grad.item() == 7.0


def test_several_roots_are_one_sweep() -> None:
    x = leaf(2.0)
    middle = x * x
    torch.autograd.backward([middle * 3, middle * 5])
    assert x.grad.item() == 32.0


def test_several_roots_with_gradients_and_none() -> None:
    x = leaf([1.0, 2.0])
    torch.autograd.backward([x * 2, (x * x).sum()], [const([1.0, 10.0]), None])
    assert x.grad.tolist() == [4.0, 24.0]


def test_roots_as_a_tuple() -> None:
    x = leaf(2.0)
    torch.autograd.backward((x * 3, x * 4), (const(1.0), const(2.0)))
    assert x.grad.item() == 11.0


def test_gradients_by_keyword_grad_tensors() -> None:
    x = leaf([1.0, 2.0])
    torch.autograd.backward(x * 2, grad_tensors=const([1.0, 2.0]))
    assert x.grad.tolist() == [2.0, 4.0]


def test_the_same_root_twice_counts_twice() -> None:
    x = leaf(2.0)
    y = x * x
    torch.autograd.backward([y, y], [const(1.0), const(10.0)])
    assert x.grad.item() == 44.0


def test_a_root_may_lead_to_another_root() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * 3
    torch.autograd.backward([z, y])
    assert x.grad.item() == 16.0


def test_leaf_and_its_function_as_roots() -> None:
    x = leaf(2.0)
    torch.autograd.backward([x, x * x])
    assert x.grad.item() == 5.0


def test_roots_and_gradients_must_be_as_many() -> None:
    x = leaf(2.0)
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.backward([x * 2, x * 3], [const(1.0)])


def test_second_backward_needs_retain_graph() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_retain_graph_allows_any_number_of_sweeps() -> None:
    x = leaf(2.0)
    y = x * x
    for _ in range(3):
        y.backward(retain_graph=True)
    assert x.grad.item() == 12.0


def test_a_shared_part_is_freed_too() -> None:
    x = leaf(2.0)
    middle = x * x
    first, second = middle * 2, middle * 3
    first.backward()
    with pytest.raises(RuntimeError, match="second time"):
        second.backward()


def test_parts_that_were_not_swept_are_not_freed() -> None:
    x = leaf(2.0)
    y = leaf(3.0)
    a, b = x * x, y * y
    a.backward()
    (a.detach() * b).backward()
    assert y.grad.item() == 24.0


def test_a_failed_backward_can_be_repeated_with_the_right_gradient() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    with pytest.raises(RuntimeError, match="implicitly created"):
        y.backward()
    y.backward(const([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_diamond_sums_both_ways() -> None:
    x = leaf(3.0)
    a = x * 2
    b = a * a
    c = a * 5
    (b * c).backward()
    assert x.grad.item() == pytest.approx(3 * 40 * 9.0)


def test_only_what_requires_grad_gets_a_gradient() -> None:
    x, y = leaf(2.0), const(3.0)
    (x * y).backward()
    assert x.grad.item() == 3.0
    assert y.grad is None


def test_inputs_is_a_list() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (x * y).backward(inputs=[x])
    assert x.grad.item() == 3.0
    assert y.grad is None


def test_inputs_is_a_tensor() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (x * y).backward(inputs=y)
    assert x.grad is None
    assert y.grad.item() == 2.0


def test_inputs_accumulate() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward(inputs=[x], retain_graph=True)
    y.backward(inputs=[x])
    assert x.grad.item() == 8.0


def test_inputs_that_are_no_leaves() -> None:
    x = leaf(2.0)
    middle = x * x
    z = middle * 5
    z.backward(inputs=[middle])
    with quiet():
        assert middle.grad.item() == 5.0
    assert x.grad is None


def test_inputs_leaf_and_inner_tensor_together() -> None:
    x = leaf(2.0)
    middle = x * x
    (middle * middle).backward(inputs=[x, middle])
    with quiet():
        assert middle.grad.item() == 8.0
    assert x.grad.item() == 32.0


def test_inputs_cannot_be_empty() -> None:
    x = leaf(2.0)
    y = x * x
    with pytest.raises(RuntimeError, match="cannot be empty"):
        y.backward(inputs=[])
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.backward([y], inputs=())


def test_inputs_must_require_grad() -> None:
    x = leaf(2.0)
    y = x * x
    with pytest.raises(RuntimeError, match=r"does not require grad|requires_grad=False"):
        y.backward(inputs=[const(1.0)])


def test_inputs_that_are_not_reached_are_left_alone() -> None:
    x, other = leaf(2.0), leaf(1.0)
    (x * x).backward(inputs=[x, other])
    assert x.grad.item() == 4.0
    assert other.grad is None


def test_the_root_itself_as_input() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward(inputs=[y])
    with quiet():
        assert y.grad.item() == 1.0
    assert x.grad is None


def test_zero_elements() -> None:
    x = torch.ones(0, 3, dtype=torch.float64, requires_grad=True)
    (x * 2).sum().backward()
    assert shape(x.grad) == [0, 3]
    assert x.grad.dtype == torch.float64


def test_zero_elements_as_root_with_gradient() -> None:
    x = torch.ones(0, dtype=torch.float64, requires_grad=True)
    (x * 2).backward(torch.ones(0, dtype=torch.float64))
    assert shape(x.grad) == [0]


def test_the_sum_of_nothing_gives_a_gradient_to_what_was_multiplied() -> None:
    x = torch.ones(0, dtype=torch.float64, requires_grad=True)
    w = leaf(3.0)
    (x * w).sum().backward()
    assert w.grad.item() == 0.0
    assert shape(w.grad) == []


def test_backward_runs_under_no_grad() -> None:
    x = leaf(2.0)
    y = x * x
    with torch.no_grad():
        y.backward()
    assert x.grad.item() == 4.0
    assert not x.grad.requires_grad


def test_backward_does_not_change_the_grad_mode() -> None:
    x = leaf(2.0)
    y = x * x
    with torch.no_grad():
        y.backward()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_gradients_require_no_grad_without_create_graph() -> None:
    x = leaf(2.0)
    (x * x * x).backward()
    assert not x.grad.requires_grad
    assert x.grad.grad_fn is None
    assert x.grad.is_leaf


def test_gradients_require_grad_with_create_graph() -> None:
    x = leaf(2.0)
    with quiet():
        (x * x * x).backward(create_graph=True)
    assert x.grad.requires_grad
    assert x.grad.grad_fn is not None


def test_create_graph_keeps_the_graph() -> None:
    x = leaf(2.0)
    y = x * x
    with quiet():
        y.backward(create_graph=True)
        y.backward(create_graph=True)
    assert x.grad.item() == 8.0


def test_create_graph_with_retain_graph_false_frees() -> None:
    x = leaf(2.0)
    y = x * x
    with quiet():
        y.backward(create_graph=True, retain_graph=False)
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()


def test_second_derivative_through_grad_of_a_leaf() -> None:
    x = leaf(2.0)
    with quiet():
        (x * x * x).backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.backward()
    assert x.grad.item() == 12.0


def test_the_gradient_handed_in_can_be_differentiated() -> None:
    x = leaf([1.0, 2.0])
    start = leaf([1.0, 1.0])
    with quiet():
        (x * x).backward(start, create_graph=True)
    x.grad.sum().backward()
    assert start.grad.tolist() == [2.0, 4.0]


def test_a_branch_of_integers_carries_nothing() -> None:
    x = leaf([1.5, 2.5])
    whole = x.long()
    (x * whole).sum().backward()
    assert not whole.requires_grad
    assert x.grad.tolist() == [1.0, 2.0]


def test_an_expression_used_many_times() -> None:
    x = leaf(1.0)
    total = x * 0
    for k in range(50):
        total = total + x * k
    total.backward()
    assert x.grad.item() == 1225.0


def test_sweeps_in_other_threads_fill_the_same_leaf() -> None:
    x = leaf([1.0, 2.0])
    graphs = [(x * k).sum() for k in range(1, 5)]

    def work(index: int) -> None:
        graphs[index].backward()

    for index in range(4):
        thread = threading.Thread(target=work, args=(index,))
        thread.start()
        thread.join()
    assert x.grad.tolist() == [10.0, 10.0]


def test_the_argument_must_be_tensors() -> None:
    wrong: Any = 3.0
    with pytest.raises((TypeError, RuntimeError, AttributeError)):
        torch.autograd.backward(wrong)


def test_a_leaf_on_both_sides_of_one_operation() -> None:
    x = leaf([1.0, 2.0])
    (x / x + x - x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_an_unused_branch_does_no_harm() -> None:
    x = leaf(2.0)
    unused = x * 100
    y = x * 3
    y.backward()
    assert x.grad.item() == 3.0
    assert unused.item() == 200.0


def test_inputs_may_be_a_dict() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (x * y).backward(inputs={"x": x})
    assert x.grad.item() == 3.0
    assert y.grad is None


def test_none_for_a_root_without_graph_is_still_refused() -> None:
    x = leaf(2.0)
    y = x * x
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        torch.autograd.backward([y, const(1.0)], [None, None])


def test_integer_gradient_is_converted() -> None:
    x = leaf([1.0, 2.0])
    (x * 3).backward(torch.tensor([1, 2]))
    assert x.grad.dtype == torch.float64
    assert x.grad.tolist() == [3.0, 6.0]


def test_backward_as_a_function_records_nothing() -> None:
    x = leaf(3.0)
    torch.autograd.backward(x * x)
    assert x.grad.item() == 6.0
    assert not x.grad.requires_grad


def test_a_freed_graph_of_several_results_cannot_be_recorded() -> None:
    x = leaf([2.0, 1.0])
    y = torch.sort(x * x).values.sum()
    y.backward()
    with quiet(), pytest.raises(RuntimeError, match="second time"):
        y.backward(create_graph=True)


def test_a_result_that_is_saved_belongs_to_its_node() -> None:
    y = torch.softmax(leaf([1.0, 2.0]), 0)
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
