"""Hooks: on tensors, on leaves, on nodes, before and after, in what order, and how they go away."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch


def test_a_hook_sees_the_gradient() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * y).sum().backward()
    assert seen == [[6.0, 12.0]]
    assert x.grad.tolist() == [18.0, 36.0]


def test_a_leaf_with_a_hook_has_its_gradient_where_another_path_gives_none() -> None:
    class Nothing(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    x = leaf(3.0)
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(g.item()))
    (Nothing.apply(x * 5) + x * x).backward()
    assert x.grad.item() == 6.0
    assert seen == [6.0]


def test_what_a_hook_returns_replaces_the_gradient() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


def test_none_leaves_the_gradient_alone() -> None:
    x = leaf(1.0)
    y = x * 3
    y.register_hook(lambda g: None)
    y.backward()
    assert x.grad.item() == 3.0


def test_hooks_run_in_the_order_of_registration() -> None:
    x = leaf(1.0)
    y = x * 1
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: g * 10)
    y.backward()
    assert x.grad.item() == 20.0


def test_a_later_hook_sees_what_an_earlier_one_returned() -> None:
    x = leaf(1.0)
    y = x * 1
    seen: list[float] = []
    y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: seen.append(g.item()))
    y.backward()
    assert seen == [2.0]


def test_the_same_function_may_be_registered_twice() -> None:
    x = leaf(1.0)
    y = x * 1

    def double(g: Any) -> Any:
        return g * 2

    first = y.register_hook(double)
    y.register_hook(double)
    y.backward(retain_graph=True)
    assert x.grad.item() == 4.0
    first.remove()
    x.grad = None
    y.backward()
    assert x.grad.item() == 2.0


def test_a_removed_hook_does_not_run() -> None:
    x = leaf(1.0)
    y = x * 1
    handle = y.register_hook(lambda g: g * 5)
    handle.remove()
    y.backward()
    assert x.grad.item() == 1.0


def test_removing_twice_does_no_harm() -> None:
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g * 5)
    handle.remove()
    handle.remove()
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_a_handle_is_a_context() -> None:
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 5):
        (x * 2).backward()
    assert x.grad.item() == 10.0
    (x * 2).backward()
    assert x.grad.item() == 12.0


def test_removing_one_of_three_keeps_the_others() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    handle = x.register_hook(lambda g: g * 100)
    x.register_hook(lambda g: g * 3)
    handle.remove()
    (x * 1).backward()
    assert x.grad.item() == 6.0


def test_a_hook_may_remove_itself() -> None:
    x = leaf(1.0)
    handles: list[Any] = []
    calls: list[int] = []

    def once(g: Any) -> None:
        calls.append(1)
        handles[0].remove()

    handles.append(x.register_hook(once))
    (x * 1).backward()
    (x * 1).backward()
    assert calls == [1]


def test_a_hook_runs_in_every_sweep() -> None:
    x = leaf(2.0)
    y = x * x
    seen: list[float] = []
    y.register_hook(lambda g: seen.append(g.item()))
    y.backward(retain_graph=True)
    y.backward(const(3.0))
    assert seen == [1.0, 3.0]


def test_a_hook_sees_the_whole_gradient_once() -> None:
    x = leaf(2.0)
    y = x * 1
    seen: list[float] = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 2 + y * 3 + y).backward()
    assert seen == [6.0]


def test_a_hook_on_a_leaf_sees_the_whole_gradient_once() -> None:
    x = leaf(2.0)
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2 + x * 3).backward()
    assert seen == [5.0]


def test_a_hook_on_a_leaf_changes_what_is_accumulated() -> None:
    x = leaf(2.0)
    x.register_hook(lambda g: g * 10)
    (x * 3).backward()
    (x * 3).backward()
    assert x.grad.item() == 60.0


def test_a_hook_on_a_leaf_does_not_see_what_was_accumulated_before() -> None:
    x = leaf(2.0)
    seen: list[float] = []
    (x * 3).backward()
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 5).backward()
    assert seen == [5.0]
    assert x.grad.item() == 8.0


def test_a_hook_on_a_leaf_works_for_graphs_made_before_it() -> None:
    x = leaf(2.0)
    y = x * 3
    x.register_hook(lambda g: g * 10)
    y.backward()
    assert x.grad.item() == 30.0


def test_a_hook_on_a_leaf_works_with_grad() -> None:
    x = leaf(2.0)
    x.register_hook(lambda g: g * 10)
    (g,) = torch.autograd.grad(x * 3, x)
    assert g.item() == 30.0
    assert x.grad is None


def test_a_hook_on_an_inner_tensor_works_with_grad_by_that_tensor() -> None:
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    (g,) = torch.autograd.grad(y * y, y)
    assert g.item() == 120.0


def test_a_hook_on_the_root_runs() -> None:
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: g * 7)
    y.backward()
    assert x.grad.item() == 21.0


def test_a_hook_on_what_is_not_reached_does_not_run() -> None:
    x, y = leaf(2.0), leaf(3.0)
    seen: list[Any] = []
    a, b = x * 2, y * 2
    a.register_hook(seen.append)
    torch.autograd.grad(a + b, y)
    assert seen == []


def test_inner_hooks_run_before_leaf_hooks() -> None:
    x = leaf(2.0)
    order: list[str] = []
    y = x * 3
    z = y * 2
    x.register_hook(lambda g: order.append("x"))
    y.register_hook(lambda g: order.append("y"))
    z.register_hook(lambda g: order.append("z"))
    z.backward()
    assert order == ["z", "y", "x"]


def test_the_hook_of_a_leaf_among_the_outputs_runs_first_unless_the_leaf_is_reached_later() -> None:
    x, z = leaf(2.0), leaf(3.0)
    order: list[str] = []
    x.register_hook(lambda g: order.append("x"))
    z.register_hook(lambda g: order.append("z"))
    y = z * z
    y.register_hook(lambda g: order.append("y"))
    torch.autograd.backward([y, x], [const(1.0), const(1.0)])
    assert order == ["x", "y", "z"]
    order.clear()
    y = z * z
    y.register_hook(lambda g: order.append("y"))
    torch.autograd.backward([z, y], [const(1.0), const(1.0)])
    assert order == ["y", "z"]


def test_a_hook_needs_a_tensor_that_requires_grad() -> None:
    x = const(1.0)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        x.register_hook(lambda g: None)


def test_a_hook_must_keep_the_size() -> None:
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: g.sum())
    y = (x * 2).sum()
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        y.backward()


def test_a_hook_must_return_a_tensor_or_none() -> None:
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: 3.0)
    y = (x * 2).sum()
    with pytest.raises((TypeError, RuntimeError)):
        y.backward()


def test_an_error_in_a_hook_comes_out() -> None:
    x = leaf(1.0)
    y = x * 2

    def fail(g: Any) -> None:
        raise ValueError("from the hook")

    y.register_hook(fail)
    z = y * 2
    with pytest.raises(ValueError, match="from the hook"):
        z.backward()
    assert x.grad is None


def test_a_hook_is_not_recorded_without_create_graph() -> None:
    x = leaf(2.0)
    modes: list[bool] = []
    x.register_hook(lambda g: modes.append(g.requires_grad or torch.is_grad_enabled()))
    (x * x).backward()
    assert modes == [False]


def test_a_hook_is_recorded_with_create_graph() -> None:
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.item() == 8.0  # x * 2x
    (h,) = torch.autograd.grad(g, x)
    assert h.item() == 8.0


def test_a_hook_on_a_gradient_runs_in_the_second_sweep() -> None:
    x = leaf(2.0)
    (g,) = torch.autograd.grad(x**3, x, create_graph=True)
    g.register_hook(lambda h: h * 10)
    (second,) = torch.autograd.grad(g, x)
    assert second.item() == 120.0


def test_a_hook_is_not_kept_by_an_in_place_change() -> None:
    """A hook belongs to the value a tensor had: the gradient before the change."""
    x = leaf(2.0)
    y = x * 1
    seen: list[float] = []
    y.register_hook(lambda g: seen.append(g.item()))
    y.mul_(5)
    y.backward()
    assert seen == [5.0]


def test_a_hook_after_an_in_place_change_sees_the_new_value() -> None:
    x = leaf(2.0)
    y = x * 1
    y.mul_(5)
    seen: list[float] = []
    y.register_hook(lambda g: seen.append(g.item()))
    y.backward()
    assert seen == [1.0]


def test_hooks_before_and_after_an_in_place_change() -> None:
    x = leaf(2.0)
    y = x * 1
    order: list[tuple[str, float]] = []
    y.register_hook(lambda g: order.append(("old", g.item())))
    y.mul_(5)
    y.register_hook(lambda g: order.append(("new", g.item())))
    y.backward()
    assert order == [("new", 1.0), ("old", 5.0)]


def test_a_hook_that_looks_at_its_tensor() -> None:
    x = leaf(2.0)
    x.register_hook(lambda g: g * x.detach())
    (x * 3).backward()
    assert x.grad.item() == 6.0


def test_hooks_on_outputs_of_one_node_run_for_their_own_output() -> None:
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2 + b * 3

    x = leaf(1.0)
    a, b = Two.apply(x)
    seen: list[tuple[str, float]] = []
    a.register_hook(lambda g: seen.append(("a", g.item())))
    b.register_hook(lambda g: g * 10)
    (a * 5 + b * 7).backward()
    assert seen == [("a", 5.0)]
    assert x.grad.item() == 220.0


def test_posthooks_of_nodes_see_gradients_of_inputs_and_outputs() -> None:
    x, y = leaf(2.0), leaf(5.0)
    z = x * y
    seen: list[Any] = []
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append(([g.item() for g in inputs], [g.item() for g in outputs])))
    (z * 3).backward()
    assert seen == [([15.0, 6.0], [3.0])]


def test_posthooks_of_nodes_replace_gradients_of_inputs() -> None:
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: tuple(None if g is None else g * 10 for g in inputs))
    y.backward()
    assert x.grad.item() == 30.0


def test_posthooks_of_nodes_are_handed_tuples() -> None:
    x = leaf(2.0)
    y = torch.exp(x)
    kinds: list[Any] = []
    y.grad_fn.register_hook(lambda inputs, outputs: kinds.append((type(inputs), type(outputs))))
    y.backward()
    assert kinds == [(tuple, tuple)]


def test_posthooks_of_nodes_can_be_removed() -> None:
    x = leaf(2.0)
    y = torch.exp(x)
    calls: list[int] = []
    handle = y.grad_fn.register_hook(lambda inputs, outputs: calls.append(1))
    y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert calls == [1]


def test_prehooks_of_nodes_see_and_replace_gradients_of_outputs() -> None:
    x = leaf(2.0)
    y = x * 3
    seen: list[Any] = []

    def hook(outputs: Any) -> Any:
        seen.append([g.item() for g in outputs])
        return tuple(g * 10 for g in outputs)

    y.grad_fn.register_prehook(hook)
    (y * 2).backward()
    assert seen == [[2.0]]
    assert x.grad.item() == 60.0


def test_prehooks_of_nodes_can_be_removed() -> None:
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_prehook(lambda outputs: tuple(g * 10 for g in outputs)).remove()
    y.backward()
    assert x.grad.item() == 3.0


def test_the_order_of_all_hooks_of_one_tensor() -> None:
    x = leaf(2.0)
    y = x * 3
    order: list[str] = []
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("post"))
    y.grad_fn.register_prehook(lambda outputs: order.append("pre"))
    y.register_hook(lambda g: order.append("tensor"))
    y.backward()
    assert order == ["tensor", "pre", "post"]


def test_tensor_hooks_run_before_prehooks_whatever_the_order_of_registration() -> None:
    x = leaf(1.0)
    y = x * 1
    y.grad_fn.register_prehook(lambda outputs: tuple(g * 10 for g in outputs))
    y.register_hook(lambda g: g + 1)
    y.backward()
    assert x.grad.item() == 20.0


def test_hooks_of_the_accumulator_of_a_leaf() -> None:
    x = leaf(2.0)
    y = x * 3
    ((accumulator, _),) = (edge for edge in y.grad_fn.next_functions if edge[0] is not None)
    seen: list[Any] = []
    accumulator.register_prehook(lambda outputs: seen.append(("pre", outputs[0].item(), x.grad)))
    accumulator.register_hook(lambda inputs, outputs: seen.append(("post", len(inputs), x.grad.item())))
    y.backward()
    assert seen == [("pre", 3.0, None), ("post", 0, 3.0)]


def test_post_accumulate_hooks_are_handed_the_tensor_with_its_grad() -> None:
    x = leaf(2.0)
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.item())))
    (x * 3).backward()
    (x * 3).backward()
    assert seen == [(True, 3.0), (True, 6.0)]


def test_post_accumulate_hooks_may_set_grad_to_none() -> None:
    x = leaf(2.0)

    def step(p: Any) -> None:
        with torch.no_grad():
            p.add_(p.grad, alpha=-0.5)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 3).backward()
    assert x.grad is None
    assert x.item() == 0.5


def test_post_accumulate_hooks_run_after_the_hooks_of_the_leaf() -> None:
    x = leaf(2.0)
    order: list[str] = []
    x.register_post_accumulate_grad_hook(lambda p: order.append("after"))
    x.register_hook(lambda g: order.append("before"))
    (x * 3).backward()
    assert order == ["before", "after"]


def test_post_accumulate_hooks_can_be_removed() -> None:
    x = leaf(2.0)
    calls: list[int] = []
    handle = x.register_post_accumulate_grad_hook(lambda p: calls.append(1))
    (x * 3).backward()
    handle.remove()
    (x * 3).backward()
    assert calls == [1]


def test_post_accumulate_hooks_do_not_run_for_grad() -> None:
    x = leaf(2.0)
    calls: list[int] = []
    x.register_post_accumulate_grad_hook(lambda p: calls.append(1))
    torch.autograd.grad(x * 3, x)
    assert calls == []


def test_post_accumulate_hooks_are_for_leaves() -> None:
    x = leaf(2.0)
    y = x * 2
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        y.register_post_accumulate_grad_hook(lambda p: None)


def test_post_accumulate_hooks_need_a_tensor_that_requires_grad() -> None:
    x = const(2.0)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        x.register_post_accumulate_grad_hook(lambda p: None)


def test_hooks_die_with_the_graph() -> None:
    class Witness:
        pass

    witness = Witness()
    alive = weakref.ref(witness)
    x = leaf(2.0)
    y = x * 2

    def hook(g: Any, kept: Any = witness) -> None:
        assert kept is not None

    y.register_hook(hook)
    y.backward()
    del y, hook, witness
    gc.collect()
    assert alive() is None


def test_a_hook_registered_in_a_hook_runs_next_time() -> None:
    x = leaf(1.0)
    y = x * 1
    calls: list[str] = []

    def outer(g: Any) -> None:
        calls.append("outer")
        x.register_hook(lambda h: calls.append("inner"))

    y.register_hook(outer)
    y.backward()
    assert calls == ["outer", "inner"]  # x is older than y


def test_a_hook_returning_a_constant_tensor() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    y.register_hook(lambda g: torch.zeros_like(g))
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_a_hook_sees_the_type_and_shape_of_its_tensor() -> None:
    x = torch.ones(2, 1, dtype=torch.float32, requires_grad=True)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append((shape(g), g.dtype)))
    (x * const([1.0, 2.0, 3.0])).sum().backward()
    assert seen == [([2, 1], torch.float32)]


# retain_grad


def test_an_inner_tensor_keeps_no_gradient_unless_asked() -> None:
    x = leaf(2.0)
    y = x * 3
    (y * y).backward()
    with quiet():
        assert y.grad is None


def test_retain_grad_keeps_it() -> None:
    x = leaf(2.0)
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad
    (y * y).backward()
    assert y.grad.item() == 12.0
    assert x.grad.item() == 36.0


def test_retain_grad_twice_counts_once() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    (y * y).backward()
    assert y.grad.item() == 12.0


def test_retain_grad_accumulates() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    z = y * y
    z.backward(retain_graph=True)
    z.backward()
    assert y.grad.item() == 24.0


def test_retain_grad_of_a_leaf_does_nothing() -> None:
    x = leaf(2.0)
    x.retain_grad()
    assert not x.retains_grad
    (x * 3).backward()
    assert x.grad.item() == 3.0


def test_retain_grad_needs_requires_grad() -> None:
    x = const(2.0)
    with pytest.raises(RuntimeError, match=r"can't retain_grad on Tensor that has requires_grad=False"):
        x.retain_grad()


def test_retain_grad_of_the_root() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.backward()
    assert y.grad.item() == 1.0


def test_retained_gradient_is_after_the_hooks_registered_before() -> None:
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.backward()
    assert y.grad.item() == 10.0


def test_retained_gradient_is_after_the_hooks_registered_later() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.backward()
    assert y.grad.item() == 10.0
    assert x.grad.item() == 30.0


def test_retain_grad_follows_an_in_place_change() -> None:
    x = leaf(2.0)
    y = x * 1
    y.retain_grad()
    y.mul_(5)
    y.backward()
    assert y.grad.item() == 1.0
    assert x.grad.item() == 5.0
    assert y.retains_grad


def test_retain_grad_after_an_in_place_change() -> None:
    x = leaf(2.0)
    y = x * 1
    y.mul_(5)
    y.retain_grad()
    (y * 3).backward()
    assert y.grad.item() == 3.0


def test_retain_grad_through_two_in_place_changes() -> None:
    x = leaf(2.0)
    y = x * 1
    y.retain_grad()
    y.mul_(5)
    y.add_(1)
    y.mul_(2)
    (y * 3).backward()
    assert y.grad.item() == 3.0
    assert x.grad.item() == 30.0


def test_retain_grad_of_an_unreached_tensor_stays_none() -> None:
    x = leaf(2.0)
    y, z = x * 3, x * 4
    y.retain_grad()
    z.backward()
    assert y.grad is None


def test_retain_grad_with_grad_by_inputs() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    (g,) = torch.autograd.grad(y * y, x)
    assert g.item() == 36.0
    assert y.grad.item() == 12.0


def test_retain_grad_with_create_graph() -> None:
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    with quiet():
        (y * y).backward(create_graph=True)
    assert y.grad.item() == 8.0
    assert y.grad.requires_grad


def test_retained_gradients_do_not_keep_the_tensor_alive() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    z = y * 2
    reference = weakref.ref(y)
    del y
    gc.collect()
    assert reference() is None
    z.backward()
    assert x.grad.item() == 6.0


def test_gradient_of_an_inner_tensor_warns() -> None:
    x = leaf(2.0)
    y = x * 3
    with pytest.warns(UserWarning, match=r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_gradient_of_an_inner_tensor_is_silent_once_it_has_one() -> None:
    x = leaf(2.0)
    y = x * 3
    z = y * 2
    z.backward(inputs=[y])
    assert y.grad.item() == 2.0
