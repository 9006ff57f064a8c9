"""Corners: where several rules meet."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch

Function: Any = torch.autograd.Function


# Functions and in-place changes


class AddInPlace(Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        a.add_(b)
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g


def test_a_function_in_place_on_a_view_rewrites_the_base() -> None:
    x, b = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
    y = x * 2
    part = y[1:]
    AddInPlace.apply(part, b)
    assert y.tolist() == [2.0, 14.0, 26.0]
    (y * const([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    assert b.grad.tolist() == [2.0, 3.0]


def test_a_function_in_place_makes_its_argument_require_grad() -> None:
    a, b = const([1.0, 2.0]), leaf([3.0, 4.0])
    out = AddInPlace.apply(a, b)
    assert out is a
    assert a.requires_grad
    a.sum().backward()
    assert b.grad.tolist() == [1.0, 1.0]


def test_a_function_that_returns_a_leaf_it_was_given() -> None:
    class Pass(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a, a + b

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g + h, h

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    same, total = Pass.apply(x, y)
    same.register_hook(lambda g: g * 2)
    same.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert total.tolist() == [4.0, 6.0]


def test_a_function_that_returns_one_tensor_twice() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return (g + h) * 2

    x = leaf(1.0)
    a, b = Twice.apply(x)
    (a * 3 + b * 5).backward()
    assert x.grad.item() == 16.0


def test_none_from_one_side_leaves_the_other() -> None:
    class OneSide(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 10, None

    x, y = leaf(1.0), leaf(2.0)
    OneSide.apply(x * 1, y * 1).backward()
    assert x.grad.item() == 10.0
    assert y.grad is None


def test_nodes_behind_a_none_still_run_for_other_ways() -> None:
    class Nothing(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    x = leaf([1.0, 2.0])
    order: list[str] = []
    a = x * 2
    a.register_hook(lambda g: order.append("a"))
    b = Nothing.apply(a)
    (b.sum() + a.sum()).backward()
    assert order == ["a"]
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_setup_context_with_default_arguments() -> None:
    class Scale(Function):
        @staticmethod
        def forward(x: Any, factor: float = 3.0) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor, None

    x = leaf(2.0)
    Scale.apply(x).backward()
    Scale.apply(x, 5.0).backward()
    assert x.grad.item() == 8.0


def test_a_context_that_outlives_its_function() -> None:
    stash: list[Any] = []

    class Stash(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            stash.append(ctx)
            return g * 2

    x = leaf(1.0)
    Stash.apply(x).backward()
    gc.collect()
    with pytest.raises(RuntimeError, match="have already been freed"):
        _ = stash[0].saved_tensors


def test_a_function_without_inputs_that_require_grad_runs_forward_only() -> None:
    calls: list[str] = []

    class Loud(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            calls.append("forward")
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls.append("backward")
            return g

    c, x = const(1.0), leaf(1.0)
    (Loud.apply(c) * x).backward()
    assert calls == ["forward"]


def test_a_function_that_is_not_needed_is_not_run_backward() -> None:
    calls: list[str] = []

    class Loud(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls.append("backward")
            return g * 2

    a, b = leaf(1.0), leaf(2.0)
    y = Loud.apply(a) + b
    y.backward(inputs=[b])
    assert calls == []
    assert a.grad is None


def test_class_methods_share_nothing_between_calls() -> None:
    class Keep(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: int) -> Any:
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.k, None

    x = leaf(1.0)
    a, b = Keep.apply(x, 2), Keep.apply(x, 3)
    a.backward()
    b.backward()
    assert x.grad.item() == 5.0


def test_a_subclass_of_a_function() -> None:
    class Base(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    class Child(Base):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 7

    x = leaf(1.0)
    y = Child.apply(x)
    assert y.grad_fn.name() == "ChildBackward"
    y.backward()
    assert x.grad.item() == 7.0


def test_reentrant_errors_come_out() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise RuntimeError("inner failure")

    class Outer(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with torch.enable_grad():
                Fails.apply(leaf(1.0)).backward()
            return g

    y = Outer.apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="inner failure"):
        y.backward()


def test_the_grad_mode_after_a_reentrant_sweep() -> None:
    seen: list[bool] = []

    class Outer(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(torch.is_grad_enabled())
            with torch.enable_grad():
                (leaf(1.0) * 2).backward()
                seen.append(torch.is_grad_enabled())
            seen.append(torch.is_grad_enabled())
            return g

    Outer.apply(leaf(1.0)).backward()
    assert seen == [False, True, False]


# Hooks of odd kinds


def test_a_hook_that_is_an_object() -> None:
    class Doubler:
        def __call__(self, g: Any) -> Any:
            return g * 2

    x = leaf(1.0)
    x.register_hook(Doubler())
    (x * 3).backward()
    assert x.grad.item() == 6.0


def test_a_hook_that_changes_its_argument_in_place_is_unwise_but_allowed() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    y.register_hook(lambda g: g.clone().mul_(2))
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_hooks_on_views_and_their_base() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    part = y[0]
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(("base", g.tolist())))
    part.register_hook(lambda g: seen.append(("view", g.item())))
    (part * 3).backward()
    assert seen == [("view", 3.0), ("base", [3.0, 0.0])]


def test_a_hook_on_a_leaf_that_becomes_an_inner_tensor() -> None:
    x, w = const([1.0, 2.0]), leaf([3.0, 4.0])
    x.mul_(w)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 2).sum().backward()
    assert seen == [[2.0, 2.0]]


def test_prehooks_do_not_run_for_nodes_that_capture_only() -> None:
    """Hooks on the tensor do: they belong to its gradient, prehooks to the node that is to run."""
    x = leaf(2.0)
    y = x * 3
    seen: list[str] = []
    y.grad_fn.register_prehook(lambda grads: seen.append("prehook"))
    y.register_hook(lambda g: seen.append("hook"))
    (g,) = torch.autograd.grad(y * 5, y)
    assert g.item() == 5.0
    assert seen == ["hook"]


def test_a_prehook_does_not_change_what_is_captured_where_the_node_runs() -> None:
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    gy, gx = torch.autograd.grad(y * 5, [y, x])
    assert gy.item() == 5.0
    assert gx.item() == 150.0


def test_posthooks_do_not_run_for_nodes_that_capture_only() -> None:
    x = leaf(2.0)
    y = x * 3
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(1))
    torch.autograd.grad(y * 5, y)
    assert seen == []


# Warnings about .grad


def test_no_warning_for_leaves_and_retained_tensors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf(2.0)
        assert x.grad is None
        y = x * 2
        y.retain_grad()
        assert y.grad is None
        y.backward()
        assert y.grad.item() == 1.0
        assert const(1.0).grad is None


# Leaves that change their role


def test_an_inner_tensor_that_is_detached_becomes_a_leaf_again() -> None:
    x = leaf(2.0)
    y = (x * 3).detach()
    y.requires_grad_()
    assert y.is_leaf
    (y * 5).backward()
    assert (y.grad.item(), x.grad) == (5.0, None)


def test_a_name_bound_anew_is_another_tensor() -> None:
    x = leaf(5.0)
    before = x
    x = x + 3
    assert not x.is_leaf
    x.backward()
    assert before.grad.item() == 1.0


def test_a_node_without_use_gets_nothing() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    total = (x + y).sum()
    assert total.item() == 10.0
    other = leaf(1.0)
    other.backward()
    assert x.grad is None
    assert y.grad is None


def test_data_exchanged_between_forward_and_backward() -> None:
    """A graph saves the leaf and not its values."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    x.data = const([10.0, 20.0])
    y.backward()
    assert x.grad.tolist() == [20.0, 40.0]


def test_one_leaf_in_two_graphs() -> None:
    x = leaf(2.0)
    a, b = x**2, x**3
    a.backward()
    b.backward()
    assert x.grad.item() == 16.0


def test_requires_grad_set_between_two_uses() -> None:
    x = const(2.0)
    first = x * 3
    x.requires_grad_()
    second = x * 5
    assert not first.requires_grad
    second.backward()
    assert x.grad.item() == 5.0


# Output arguments


# Views and versions


def test_detach_of_a_view_is_a_view() -> None:
    x = const([1.0, 2.0, 3.0])
    x[1:].detach().zero_()
    assert x.tolist() == [1.0, 0.0, 0.0]


def test_a_base_that_requires_no_grad_takes_the_history_of_its_view() -> None:
    w = leaf([10.0, 20.0])
    base = torch.ones(3, dtype=torch.float64)
    view = base[1:]
    view.mul_(w)
    assert base.requires_grad
    assert view.requires_grad
    (base**2).sum().backward()
    assert w.grad.tolist() == [20.0, 40.0]


def test_a_view_saved_before_its_base_changes_elsewhere() -> None:
    y = leaf([1.0, 2.0, 3.0]) * 1
    z = (y[:1] ** 2).sum()
    y[2:].mul_(5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_changes_of_a_view_of_a_constant_under_a_graph() -> None:
    x = leaf(2.0)
    buffer = torch.zeros(3, dtype=torch.float64)
    for i in range(3):
        buffer[i] = x**i
    (buffer * const([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.item() == 410.0


def test_swapping_rows() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x.clone()
    y[0], y[1] = y[1].clone(), y[0].clone()
    (y * const([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_unbinding_splitting_and_joining_again() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    a, b, c = x.unbind(0)
    (a * 1 + b * 10 + c * 100).sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [10.0, 10.0], [100.0, 100.0]]
    x.grad = None
    first, second = torch.split(x, [1, 2])
    (first.sum() + second.sum() * 2).backward()
    assert x.grad.tolist() == [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]]


def test_rows_by_iterating_and_unpacking() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = x
    (first * second).sum().backward()
    assert x.grad.tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_a_diagonal() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    d = torch.diagonal(x)
    assert d.tolist() == [1.0, 4.0]
    (d * const([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [0.0, 10.0]]


def test_index_put_adds_up() -> None:
    x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
    y = x.index_put((torch.tensor([0, 0]),), v, accumulate=True)
    assert y.tolist() == [31.0, 2.0, 3.0]
    (y * const([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
    assert v.grad.tolist() == [1.0, 1.0]


def test_scatter_and_index_copy() -> None:
    x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0])
    y = x.scatter(0, torch.tensor([1]), v)
    assert y.tolist() == [1.0, 10.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0]
    assert v.grad.tolist() == [1.0]


# Threads


def test_threads_with_graphs_of_their_own() -> None:
    results: dict[int, float] = {}

    def work(k: int) -> None:
        x = leaf(float(k))
        y = x
        for _ in range(50):
            y = y * 1.0 + x
        y.backward()
        results[k] = x.grad.item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: 51.0, 1: 51.0, 2: 51.0, 3: 51.0}


def test_threads_over_one_graph_that_is_kept() -> None:
    x = leaf([1.0, 2.0])
    y = (torch.sin(x) * x).sum()
    results: list[Any] = []

    def work() -> None:
        results.append(torch.autograd.grad(y, x, retain_graph=True)[0].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(r == results[0] for r in results)


def test_a_thread_that_computes_with_a_leaf_of_another() -> None:
    x = leaf(3.0)
    outputs: list[Any] = []
    thread = threading.Thread(target=lambda: outputs.append(x * x))
    thread.start()
    thread.join()
    outputs[0].backward()
    assert x.grad.item() == 6.0


# Gradients that are nothing, or not finite


def test_nan_and_infinity_pass_through() -> None:
    x = leaf([0.0, 1.0])
    (x / 0).sum().backward()
    assert x.grad.tolist() == [float("inf"), float("inf")]


def test_multiplying_by_zero_gives_zero() -> None:
    x = leaf([1.0, 2.0])
    (x * 0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_a_very_small_gradient_does_not_vanish() -> None:
    x = leaf(1.0)
    (x * 1e-300).backward()
    assert x.grad.item() == 1e-300


# Scalars of every kind


@pytest.mark.parametrize("make", [lambda x: x.sum(), lambda x: x.mean(), lambda x: x[0], lambda x: x.max(), lambda x: x @ x])
def test_what_makes_a_scalar_has_no_dimension(make: Callable[[Any], Any]) -> None:
    y = make(leaf([1.0, 2.0]))
    assert shape(y) == []
    y.backward()


def test_scalars_and_vectors_of_one() -> None:
    x = leaf([2.0])
    y = x * leaf(3.0)
    assert shape(y) == [1]
    y.backward()
    assert x.grad.tolist() == [3.0]
    z = leaf(2.0)
    (z * const([3.0])).backward()
    assert shape(z.grad) == []


def test_in_place_on_a_scalar_keeps_identity_and_version() -> None:
    x = const(1.0)
    y = x
    x += 1
    x *= 3
    assert y is x
    assert (y.item(), x._version) == (6.0, 2)


def test_views_of_scalars_share_memory() -> None:
    x = const(1.0)
    x.view(1)[0] = 5.0
    assert x.item() == 5.0
    row = const([1.0, 2.0])
    element = row[0]
    element.fill_(9.0)
    assert row.tolist() == [9.0, 2.0]
    row[1] = 7.0
    assert row[1].item() == 7.0


def test_an_element_sees_later_changes_of_its_base() -> None:
    row = const([1.0, 2.0])
    element = row[0]
    row[0] = 5.0
    assert element.item() == 5.0
    row.mul_(2)
    assert element.item() == 10.0


def test_a_detached_scalar_shares_memory() -> None:
    x = leaf(1.0) * 2
    d = x.detach()
    d.add_(1)
    assert x.item() == 3.0


# Accumulating


def test_gradients_accumulate_over_a_loop_of_batches() -> None:
    w = leaf([1.0, 2.0])
    for batch in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]):
        (w * const(batch)).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_a_gradient_kept_outside_is_changed_by_the_next_backward() -> None:
    x = leaf([1.0, 2.0])
    (x * 1).sum().backward()
    kept = x.grad
    copy = x.grad.clone()
    (x * 1).sum().backward()
    assert kept.tolist() == [2.0, 2.0]
    assert copy.tolist() == [1.0, 1.0]


def test_a_gradient_with_history_is_replaced_and_not_changed() -> None:
    x = leaf(2.0)
    with quiet():
        (x**2).backward(create_graph=True)
        first = x.grad
        (x**3).backward()
    assert first.item() in (4.0, 16.0)
    assert x.grad.item() == 16.0


def test_gradients_of_a_view_assigned_as_grad() -> None:
    buffer = torch.zeros(4, dtype=torch.float64)
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x.grad, y.grad = buffer[:2], buffer[2:]
    (x * 2 + y * 3).sum().backward()
    assert buffer.tolist() == [2.0, 2.0, 3.0, 3.0]


def test_deleted_leaves_are_no_trouble() -> None:
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    alive = weakref.ref(y)
    del y
    z.backward()
    assert x.grad.item() == 3.0
    del z
    gc.collect()
    assert alive() is None


def test_context_of_a_deleted_output() -> None:
    x = leaf([1.0, 2.0])
    y = torch.exp(x)
    z = y * 2
    del y
    gc.collect()
    z.sum().backward()
    assert x.grad.tolist() == pytest.approx([5.43656365691809, 14.7781121978613])
