"""The backward pass: which nodes run, in which order hooks see gradients, gradient edges, callbacks, nested passes, threads."""

from __future__ import annotations

import threading
import warnings
from collections import ChainMap
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from tests.behaviour import const, each_time, leaf, quiet, torch

autograd = torch.autograd
graph = torch.autograd.graph
queue_callback = torch.autograd.Variable._execution_engine.queue_callback


def numbers(gradients: Any) -> list[Any]:
    return [None if gradient is None else gradient.tolist() for gradient in gradients]


class Copy(autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        assert grad is not None
        return grad


class Stop(autograd.Function):  # type: ignore[misc]
    """Its gradient is undefined."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None


# Undefined gradients


def test_an_undefined_gradient_reaches_hooks_and_functions() -> None:
    seen: list[Any] = []
    x = leaf([1.0, 2.0])
    a = Copy.apply(x)
    b = a * 2
    b.register_hook(lambda g: seen.append(("hook", g)))
    b.grad_fn.register_prehook(lambda grads: seen.append(("prehook", grads)))
    b.grad_fn.register_hook(lambda ins, outs: seen.append(("posthook", ins, outs)))
    b.retain_grad()
    a.register_hook(lambda g: seen.append(("a", g)))
    Stop.apply(b).sum().backward()
    assert seen == [("hook", None), ("prehook", (None,)), ("posthook", (None, None), (None,)), ("a", None)]
    assert b.grad is None
    assert x.grad.tolist() == [0.0, 0.0]  # the custom function received zeros


def test_a_leaf_with_an_undefined_gradient_stays_without_one() -> None:
    seen: list[Any] = []
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: seen.append(("hook", g)))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    node = graph.get_gradient_edge(x).node
    node.register_prehook(lambda grads: seen.append(("prehook", grads)))
    node.register_hook(lambda ins, outs: seen.append(("posthook", ins, outs)))
    Stop.apply(x).sum().backward()
    assert x.grad is None
    assert seen == [("hook", None), ("prehook", (None,)), "accumulated", ("posthook", (), (None,))]


def test_a_sum_with_an_undefined_gradient_is_the_other_gradient() -> None:
    x = leaf(3.0)
    y = x * 2
    (Stop.apply(y) + y * 5).backward()
    assert x.grad.item() == 10.0


def test_an_input_with_an_undefined_gradient_is_unused() -> None:
    x = leaf([1.0, 2.0])
    y = Stop.apply(x * 2).sum()
    assert autograd.grad(y, x, allow_unused=True, retain_graph=True) == (None,)
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 0 appears to not have been used in the graph"):
        autograd.grad(y, x)


def test_the_hook_of_an_unused_output_gets_none() -> None:
    seen: list[Any] = []
    a, b = leaf([1.0, 2.0]).unbind()
    a.register_hook(lambda g: seen.append(("a", g)))
    b.register_hook(lambda g: seen.append(("b", g.item())))
    a.retain_grad()
    a.grad_fn.register_prehook(lambda grads: seen.append(numbers(grads)))
    b.backward()
    assert seen == [("a", None), ("b", 1.0), [None, 1.0]]
    assert a.grad is None


def test_a_hook_cannot_replace_an_undefined_gradient() -> None:
    a, b = leaf([1.0, 2.0]).unbind()
    a.register_hook(lambda g: const(5.0))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        b.backward()


def test_a_prehook_may_make_the_gradient_undefined() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (None,))
    y.sum().backward()
    assert x.grad is None


# Results of hooks


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda: (const([1.0, 1.0]),), TypeError, "expected Variable, but hook returned 'tuple'"),
        (lambda: const([1.0, 1.0, 1.0]), RuntimeError, r"hook '\w+' has changed the size of value"),
        (
            lambda: const([1.0, 1.0]).to(torch.float32),
            RuntimeError,
            r"hook '\w+' has changed the type of value \(was torch.DoubleTensor got torch.FloatTensor\)",
        ),
        (
            lambda: torch.tensor([1, 1]),
            RuntimeError,
            r"hook '\w+' has changed the type of value \(was torch.DoubleTensor got torch.LongTensor\)",
        ),
    ],
)
@pytest.mark.parametrize("of_leaf", [False, True])
def test_wrong_results_of_tensor_hooks(made: Callable[[], Any], error: type[Exception], message: str, of_leaf: bool) -> None:
    def hook(grad: Any) -> Any:
        return made()

    x = leaf([1.0, 2.0])
    y = x * 2
    (x if of_leaf else y).register_hook(hook)
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: const([1.0, 1.0]), TypeError, "expected tuple, but hook returned 'Tensor'"),
        (lambda: [const([1.0, 1.0])], TypeError, "expected tuple, but hook returned 'list'"),
        (lambda: (1,), TypeError, "expected Variable, but hook returned 'int'"),
        (lambda: (), RuntimeError, r"has returned an incorrect number of values \(got 0, but expected 1\)"),
        (lambda: (const([1.0, 1.0]), None), RuntimeError, r"has returned an incorrect number of values \(got 2, but expected 1\)"),
        (lambda: (const([1.0]),), RuntimeError, "has changed the size of value"),
    ],
)
def test_wrong_results_of_prehooks(made: Callable[[], Any], error: type[Exception], message: str) -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: made())
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: 3, TypeError, "expected tuple, but hook returned 'int'"),
        (lambda: (const([1.0, 1.0]),), RuntimeError, r"has returned an incorrect number of values \(got 1, but expected 2\)"),
        (lambda: (const([1.0, 1.0]), const([1.0, 1.0])), RuntimeError, "can't replace a None gradient with a non-None value"),
        (lambda: (const([1.0, 1.0, 1.0]), None), RuntimeError, "has changed the size of value"),
        (lambda: (const([1.0, 1.0]).to(torch.float32), None), RuntimeError, "has changed the type of value"),
    ],
)
def test_wrong_results_of_posthooks(made: Callable[[], Any], error: type[Exception], message: str) -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y.grad_fn.register_hook(lambda ins, outs: made())
    with pytest.raises(error, match=message):
        y.sum().backward()


def test_posthooks_see_and_replace_one_gradient_for_each_input() -> None:
    x, y = leaf([1.0, 2.0]), leaf(3.0)
    z = x * y
    seen = []

    def hook(ins: Any, outs: Any) -> Any:
        seen.append((numbers(ins), numbers(outs)))
        return (ins[0] * 10, None)

    z.grad_fn.register_hook(hook)
    z.sum().backward()
    assert seen == [([[3.0, 3.0], 3.0], [[1.0, 1.0]])]
    assert x.grad.tolist() == [30.0, 30.0]
    assert y.grad is None


def test_hooks_of_several_outputs_run_in_groups() -> None:
    order: list[str] = []
    a, b = leaf([1.0, 2.0]).unbind()
    b.register_hook(lambda g: order.append("b1"))
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b2"))
    (a * b).backward()
    assert order == ["b1", "b2", "a"]


def test_the_order_of_all_hooks() -> None:
    order: list[str] = []
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda ins, outs: order.append("posthook"))
    y.grad_fn.register_prehook(lambda grads: order.append("prehook"))
    y.register_hook(lambda g: order.append("hook"))
    node = graph.get_gradient_edge(x).node
    x.register_post_accumulate_grad_hook(lambda p: order.append("accumulated"))
    node.register_hook(lambda ins, outs: order.append("leaf posthook"))
    node.register_prehook(lambda grads: order.append("leaf prehook"))
    x.register_hook(lambda g: order.append("leaf hook"))
    y.backward()
    assert order == ["hook", "prehook", "posthook", "leaf hook", "leaf prehook", "accumulated", "leaf posthook"]


def test_hooks_run_in_the_mode_of_the_pass() -> None:
    modes: dict[str, bool] = {}

    def noting(name: str) -> Callable[..., None]:
        def note(*_: Any) -> None:
            modes[name] = torch.is_grad_enabled()

        return note

    x = leaf(2.0)
    y = x * 3
    y.register_hook(noting("hook"))
    y.grad_fn.register_prehook(noting("prehook"))
    y.grad_fn.register_hook(noting("posthook"))
    x.register_hook(noting("leaf"))
    x.register_post_accumulate_grad_hook(noting("accumulated"))
    y.register_hook(lambda g: queue_callback(noting("callback")))
    y.backward(retain_graph=True)
    assert len(modes) == 6
    assert set(modes.values()) == {False}
    with quiet():
        y.backward(create_graph=True, retain_graph=True)
    assert set(modes.values()) == {True}
    with torch.no_grad(), quiet():
        y.backward(create_graph=True)
        assert not torch.is_grad_enabled()
    assert set(modes.values()) == {True}


def test_a_hook_after_accumulation_may_change_the_leaf() -> None:
    x = leaf([1.0, 2.0])
    x.register_post_accumulate_grad_hook(lambda p: p.sub_(p.grad))
    (x * x).sum().backward()
    assert x.tolist() == [-1.0, -2.0]
    assert x.requires_grad
    assert x.is_leaf


def test_a_hook_after_accumulation_may_free_the_gradient() -> None:
    x, y = leaf(2.0), leaf(3.0)

    def free(p: Any) -> None:
        p.grad = None

    x.register_post_accumulate_grad_hook(free)
    (x * y).backward()
    assert x.grad is None
    assert y.grad.item() == 2.0


def test_a_hook_after_accumulation_returns_nothing() -> None:
    x = leaf(2.0)
    x.register_post_accumulate_grad_hook(lambda p: 3)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        (x * 2).backward()


# Gradients of an input that is inside the graph


def test_a_captured_gradient_is_that_before_the_hooks_if_more_is_needed() -> None:
    x = leaf(2.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    z = y * 3
    assert numbers(autograd.grad(z, [y, x], retain_graph=True)) == [3.0, 60.0]
    assert numbers(autograd.grad(z, [y], retain_graph=True)) == [30.0]


def test_grad_does_not_run_the_node_of_an_input() -> None:
    counts = {"pre": 0, "post": 0, "hook": 0}

    def count(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            counts[name] += 1

        return hook

    x = leaf(2.0)
    y = x * 2
    y.grad_fn.register_prehook(count("pre"))
    y.grad_fn.register_hook(count("post"))
    y.register_hook(count("hook"))
    z = y * 3
    autograd.grad(z, y, retain_graph=True)
    assert counts == {"pre": 0, "post": 0, "hook": 1}
    autograd.grad(z, [y, x], retain_graph=True)
    assert counts == {"pre": 1, "post": 1, "hook": 2}
    z.backward(inputs=(y,), retain_graph=True)
    assert counts == {"pre": 2, "post": 2, "hook": 3}
    z.backward()
    assert counts == {"pre": 3, "post": 3, "hook": 4}


def test_backward_into_a_tensor_that_is_not_a_leaf_retains_its_gradient() -> None:
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * 10)
    z = y * 3
    z.backward(inputs=y, retain_graph=True)
    assert y.retains_grad
    assert (y.grad.item(), x.grad) == (30.0, None)
    z.backward(inputs=[x, y, x])
    assert (y.grad.item(), x.grad.item()) == (60.0, 120.0)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_backward_into_an_input_frees_its_node() -> None:
    x = leaf(2.0)
    y = x * x
    (y * 3).backward(inputs=y)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_backward_into_a_leaf_runs_its_hooks() -> None:
    order: list[str] = []
    x = leaf(2.0)
    node = graph.get_gradient_edge(x).node
    node.register_prehook(lambda grads: order.append("pre"))
    node.register_hook(lambda ins, outs: order.append("post"))
    x.register_post_accumulate_grad_hook(lambda p: order.append("accumulated"))
    x.register_hook(lambda g: order.append("hook"))
    y = x * 3
    y.backward(inputs=x, retain_graph=True)
    assert order == ["hook", "pre", "accumulated", "post"]
    order.clear()
    autograd.grad(y, x)
    assert order == ["hook"]


def test_an_input_that_is_not_reached_stays_without_a_gradient() -> None:
    x, y = leaf(1.0), leaf(2.0)
    (x * 2).backward(inputs=[y])
    assert (x.grad, y.grad) == (None, None)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: leaf(2.0).backward(inputs=[]), RuntimeError, r"`inputs` argument to `backward\(\)` cannot be empty."),
        (lambda: autograd.grad(leaf(1.0), []), RuntimeError, r"`inputs` argument to `grad\(\)` cannot be empty."),
        (lambda: autograd.grad(leaf(1.0), {}), RuntimeError, r"`inputs` argument to `grad\(\)` cannot be empty."),
        (lambda: leaf(2.0).backward(inputs=[const(1.0)]), RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"),
        (lambda: autograd.grad(leaf(2.0), const(1.0)), RuntimeError, "One of the differentiated Tensors does not require grad"),
        (lambda: autograd.grad(leaf(1.0) * 2, [3]), RuntimeError, "all inputs have to be Tensors or GradientEdges, but got int"),
        (
            lambda: autograd.grad(leaf(1.0), ChainMap({"a": leaf(1.0)})),
            TypeError,
            r"`inputs` argument to `grad\(\)` must be a dict, not ChainMap. Other Mapping types are not supported.",
        ),
        (
            lambda: leaf(1.0).backward(inputs=MappingProxyType({"a": leaf(1.0)})),
            TypeError,
            r"`inputs` argument to `backward\(\)` must be a dict, not mappingproxy. Other Mapping types are not supported.",
        ),
        (
            lambda: autograd.grad(leaf(1.0), leaf(1.0), allow_unused=False, materialize_grads=True),
            ValueError,
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
        ),
        (
            lambda: autograd.backward([leaf(1.0), const(1.0)]),
            RuntimeError,
            "element 1 of tensors does not require grad and does not have a grad_fn",
        ),
        (lambda: (leaf([1.0, 2.0]) * 2).backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
        (lambda: leaf([1.0, 2.0]).backward([1, 2]), TypeError, "gradients can be either Tensors or None, but got int"),
        (lambda: leaf(1.0).backward("a"), TypeError, "gradients can be either Tensors or None, but got str"),
        (lambda: autograd.backward([leaf(1.0), leaf(2.0)], [None]), RuntimeError, "got 2 tensors and 1 gradients"),
        (
            lambda: leaf([1.0, 2.0]).backward(torch.ones(3)),
            RuntimeError,
            r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[3\]\) and output\[0\] has a shape of "
            r"torch.Size\(\[2\]\)\.",
        ),
        (
            lambda: autograd.grad([leaf(2.0), leaf([[1.0]])], [leaf(1.0)], [None, torch.ones(1)]),
            RuntimeError,
            r"Mismatch in shape: grad_output\[1\] has a shape of torch.Size\(\[1\]\) and output\[1\] has a shape of "
            r"torch.Size\(\[1, 1\]\)\.",
        ),
        (
            lambda: autograd.grad(leaf([1.0, 2.0]), leaf(1.0), torch.ones(3, 3), is_grads_batched=True),
            RuntimeError,
            "we interpret the first dimension of each grad_output as the batch dimension.*a mismatch was detected: grad_output"
            ".*If you only want some tensors in `grad_output` to be considered batched, consider using vmap.",
        ),
    ],
)
def test_wrong_arguments(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_surplus_gradients_are_ignored() -> None:
    x = leaf(1.0)
    autograd.backward([x * 2], [None, None])
    assert x.grad.item() == 2.0


def test_a_gradient_gets_the_type_of_its_output() -> None:
    x = leaf([1.0, 2.0])
    (x * 2).backward(torch.tensor([1, 2]))
    assert x.grad.dtype is torch.float64
    assert x.grad.tolist() == [2.0, 4.0]
    (x * 2).backward(torch.ones(2, dtype=torch.float32))
    assert x.grad.dtype is torch.float64


def test_inputs_may_be_a_dictionary() -> None:
    x = leaf(2.0)
    assert {name: g.item() for name, g in autograd.grad(x * 2, {"x": x}).items()} == {"x": 2.0}
    (x * 3).backward(inputs={"x": x})
    assert x.grad.item() == 3.0


# Warnings


def messages_of(call: Callable[[], Any]) -> list[tuple[type, str]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [(each.category, str(each.message)) for each in found]


def test_a_recorded_backward_warns_of_the_cycle() -> None:
    x = leaf(2.0)
    with each_time():
        found = messages_of(lambda: (x * x).backward(create_graph=True))
        quiet_ones = messages_of(lambda: autograd.grad(x * x, x, create_graph=True))
    assert [kind for kind, _ in found] == [UserWarning]
    assert found[0][1].startswith(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
        "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
        "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak."
    )
    assert quiet_ones == []


def test_the_warning_of_the_cycle_is_given_once() -> None:
    x = leaf(2.0)
    with quiet():
        (x * x).backward(create_graph=True)
    assert messages_of(lambda: (x * x).backward(create_graph=True)) == []


def test_deprecated_arguments_warn() -> None:
    x = leaf(2.0)
    found = messages_of(lambda: autograd.backward(x * x, grad_variables=const(2.0)))
    assert found == [(FutureWarning, "`grad_variables` is deprecated. Use `grad_tensors` instead.")]
    assert x.grad.item() == 8.0
    found = messages_of(lambda: autograd.grad(x * x, x, only_inputs=False))
    assert [kind for kind, _ in found] == [FutureWarning]
    assert found[0][1].startswith("only_inputs argument is deprecated and is ignored now (defaults to True).")
    with quiet(), pytest.raises(RuntimeError, match=r"arguments both passed to `backward\(\)`. Please only use `grad_tensors`."):
        autograd.backward(x * x, grad_tensors=const(2.0), grad_variables=const(2.0))


# Gradient edges


def test_an_edge_is_an_output() -> None:
    x = leaf(2.0)
    y = x * 3
    edge = graph.get_gradient_edge(y)
    assert autograd.grad(edge, x, retain_graph=True)[0].item() == 3.0
    assert autograd.grad(outputs=[edge], inputs=[x], grad_outputs=[const(2.0)], retain_graph=True)[0].item() == 6.0
    autograd.backward([edge], retain_graph=True)
    assert x.grad.item() == 3.0
    autograd.backward(edge, const(2.0), inputs=x)
    assert x.grad.item() == 9.0


def test_an_edge_keeps_the_graph_alive() -> None:
    x = leaf(2.0)
    edge = graph.get_gradient_edge(Copy.apply(x) * 3)
    assert autograd.grad(edge, x)[0].item() == 3.0


def test_an_edge_is_an_input() -> None:
    x = leaf(2.0)
    y = x * 3
    z = y * 2
    inner, end = graph.get_gradient_edge(y), graph.get_gradient_edge(x)
    assert numbers(autograd.grad(z, [inner, end, x], retain_graph=True)) == [2.0, 6.0, 6.0]
    z.backward(inputs=end, retain_graph=True)
    assert x.grad.item() == 6.0
    z.backward(inputs=inner)
    assert not y.retains_grad
    assert x.grad.item() == 6.0


def test_the_edge_of_one_output() -> None:
    x = leaf([1.0, 2.0])
    a, b = x.unbind()
    edge = graph.get_gradient_edge(b)
    assert edge.output_nr == 1
    assert numbers(autograd.grad(a * b, [edge], retain_graph=True)) == [1.0]
    assert numbers(autograd.grad(edge, x)) == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda edge, x: autograd.grad(edge, x), "grad can be implicitly created only for scalar outputs"),
        (
            lambda edge, x: autograd.grad(edge, x, torch.ones(3)),
            r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[3\]\) and output\[0\] has a shape of "
            r"torch.Size\(\[2\]\)\.",
        ),
        (
            lambda edge, x: autograd.grad(edge, x, torch.ones(3, 3), is_grads_batched=True),
            "Batched grads are not supported with GradientEdge",
        ),
        (
            lambda edge, x: autograd.grad(x.sum(), [x, edge], materialize_grads=True),
            "materialize_grads cannot be used when the given input is a GradientEdge",
        ),
        (
            lambda edge, x: graph.get_gradient_edge(const(1.0)),
            "It is not possible to get the gradient edge for a Tensor that does not require gradients",
        ),
    ],
)
def test_wrong_uses_of_edges(call: Callable[[Any, Any], Any], message: str) -> None:
    x = leaf([2.0, 1.0])
    with pytest.raises(RuntimeError, match=message):
        call(graph.get_gradient_edge(x * 3), x)


def test_edges_take_batched_gradients_and_materialize() -> None:
    x = leaf([2.0, 1.0])
    y = x * 3
    edge = graph.get_gradient_edge(y)
    found = autograd.grad(edge, x, const([[1.0, 1.0], [1.0, 2.0]]), is_grads_batched=True)
    assert numbers(found) == [[[3.0, 3.0], [3.0, 6.0]]]
    found = autograd.grad((x * 3).sum(), [graph.get_gradient_edge(x), leaf([1.0])], materialize_grads=True)
    assert numbers(found) == [[3.0, 3.0], [0.0]]


def test_an_edge_is_a_named_tuple() -> None:
    x = leaf(2.0)
    edge = graph.get_gradient_edge(x)
    assert edge == (edge.node, 0, None)
    assert edge.ownership_token is None
    assert edge.node.variable is x
    assert graph.GradientEdge(edge.node, 0) == edge
    del x
    assert edge.node.variable.item() == 2.0


# Callbacks


def test_a_callback_needs_a_backward_pass() -> None:
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue_callback(lambda: None)


def test_callbacks_run_after_the_pass() -> None:
    order: list[Any] = []
    x = leaf(2.0)

    def first() -> None:
        order.append(("first", x.grad.item()))
        queue_callback(lambda: order.append("third"))

    def hook(grad: Any) -> None:
        queue_callback(first)
        queue_callback(lambda: order.append("second"))
        order.append("hook")

    y = x * 3
    y.register_hook(hook)
    y.backward()
    assert order == ["hook", ("first", 3.0), "second", "third"]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue_callback(lambda: None)


def test_an_error_in_a_callback_is_an_error_of_backward() -> None:
    def fail() -> None:
        raise ValueError("the callback failed")

    y = leaf(2.0) * 3
    y.register_hook(lambda g: queue_callback(fail))
    with pytest.raises(ValueError, match="the callback failed"):
        y.backward()


def test_callbacks_do_not_run_after_an_error() -> None:
    ran: list[int] = []

    def hook(grad: Any) -> None:
        queue_callback(lambda: ran.append(1))
        raise ValueError("the hook failed")

    y = leaf(2.0) * 3
    y.register_hook(hook)
    with pytest.raises(ValueError, match="the hook failed"):
        y.backward()
    assert ran == []


def test_callbacks_belong_to_the_innermost_pass() -> None:
    order: list[str] = []
    x = leaf(2.0)
    y, z = x * 2, x * 3

    def inside(grad: Any) -> None:
        queue_callback(lambda: order.append("inner end"))

    def outside(grad: Any) -> None:
        queue_callback(lambda: order.append("outer end"))
        z.backward()
        order.append("after inner")

    z.register_hook(inside)
    y.register_hook(outside)
    y.backward()
    assert order == ["inner end", "after inner", "outer end"]


# Passes inside passes


class Nested(autograd.Function):  # type: ignore[misc]
    """The identity function; its backward pass runs another one through the next function, ``depth`` times."""

    @staticmethod
    def forward(ctx: Any, x: Any, depth: int) -> Any:
        ctx.depth = depth
        return x.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if ctx.depth:
            with torch.enable_grad():
                inner = leaf(2.0)
                Nested.apply(inner, ctx.depth - 1).backward()
            return grad * inner.grad, None
        return grad, None


@pytest.mark.parametrize("depth", [1, 19, 20, 21, 300, 3000])
def test_passes_nest_to_any_depth(depth: int) -> None:
    x = leaf(5.0)
    Nested.apply(x, depth).backward()
    assert x.grad.item() == 1.0


def test_an_error_in_a_nested_pass_is_an_error_of_the_outer_pass() -> None:
    class Fails(autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x.detach()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if not ctx.depth:
                raise ValueError("the innermost pass failed")
            with torch.enable_grad():
                Fails.apply(leaf(2.0), ctx.depth - 1).backward()
            return grad, None

    y = Fails.apply(leaf(1.0), 70)
    with pytest.raises(ValueError, match="the innermost pass failed"):
        y.backward()
    assert torch.is_grad_enabled()


def test_hooks_may_run_backward_passes() -> None:
    x = leaf(2.0)
    y = x * 3
    z = x * 5

    def hook(grad: Any) -> None:
        z.backward()

    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 8.0


def test_a_nested_pass_has_its_own_mode() -> None:
    modes: list[bool] = []
    x = leaf(2.0)
    y, z = x * 3, x**2

    def hook(grad: Any) -> None:
        (inner,) = autograd.grad(z, x, create_graph=True)
        modes.append(inner.requires_grad)
        modes.append(torch.is_grad_enabled())

    y.register_hook(hook)
    y.backward()
    assert modes == [True, False]


# Threads


def in_threads(count: int, function: Callable[[int], None]) -> None:
    errors: list[BaseException] = []

    def run(i: int) -> None:
        try:
            function(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_accumulate_into_the_same_leaf() -> None:
    x = leaf([1.0] * 5000)

    def run(i: int) -> None:
        for _ in range(20):
            (x * 2).sum().backward()

    in_threads(5, run)
    assert x.grad.tolist() == [200.0] * 5000


def test_threads_share_a_graph_that_is_retained() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    in_threads(5, lambda i: y.backward(retain_graph=True))
    assert x.grad.tolist() == [10.0, 20.0]


def test_hooks_of_a_thread_run_in_it() -> None:
    found: list[bool] = []

    def run(i: int) -> None:
        y = leaf(2.0) * 3
        me = threading.get_ident()
        y.register_hook(lambda g: found.append(threading.get_ident() == me))
        y.backward()

    in_threads(3, run)
    assert found == [True, True, True]


# Hooks on several gradients


def test_a_hook_on_several_gradients_waits_for_those_of_the_pass() -> None:
    seen: list[Any] = []
    a, b = leaf(2.0), leaf(3.0)
    c, d = a * b, a * b
    handle = graph.register_multi_grad_hook((a, b, c, d), lambda grads: seen.append(numbers(grads)))
    (c * 1).backward(retain_graph=True)
    (d * 1).backward(retain_graph=True)
    (c + d).backward(retain_graph=True)
    (c * 1).backward(inputs=(a,), retain_graph=True)
    assert seen == [[3.0, 2.0, 1.0, None], [3.0, 2.0, None, 1.0], [6.0, 4.0, 1.0, 1.0], [3.0, None, 1.0, None]]
    handle.remove()
    (c + d).backward()
    assert len(seen) == 4


def test_a_hook_on_several_gradients_waits_for_those_of_grad() -> None:
    seen: list[Any] = []
    a, b = leaf(2.0), leaf(3.0)
    c, d = a * b, a * b
    graph.register_multi_grad_hook((c, d), lambda grads: seen.append(numbers(grads)))
    autograd.grad(c + d, [a], retain_graph=True)
    autograd.grad(c + d, [d], retain_graph=True)
    assert seen == [[1.0, 1.0], [None, 1.0]]


def test_a_hook_on_any_gradient_runs_once_a_pass() -> None:
    seen: list[Any] = []
    a, b = leaf(2.0), leaf(3.0)
    c, d = a * b, a * b
    handle = graph.register_multi_grad_hook((a, b, c, d, const(1.0)), lambda g: seen.append(g.item()), mode="any")
    c.backward(retain_graph=True)
    (c + 2 * d).backward(retain_graph=True)
    assert seen == [1.0, 2.0]
    handle.remove()
    c.backward()
    assert len(seen) == 2


def test_a_hook_on_several_gradients_in_nested_passes() -> None:
    seen: list[Any] = []
    x = leaf(2.0)
    y, z = x * 2, x * 3
    graph.register_multi_grad_hook((y, z), lambda grads: seen.append(numbers(grads)))
    depth = []

    def hook(grad: Any) -> None:
        if not depth:
            depth.append(1)
            with torch.enable_grad():
                (y * 10 + z * 20).backward(retain_graph=True)

    z.register_hook(hook)
    (y * 1 + z * 1).backward()
    assert seen == [[10.0, 20.0], [1.0, 1.0]]


def test_the_mode_of_a_hook_on_several_gradients_is_checked() -> None:
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got foo"):
        graph.register_multi_grad_hook([leaf(1.0)], print, mode="foo")


# Nodes


def test_a_node_can_be_called() -> None:
    x = leaf(2.0)
    node = (x * 3).grad_fn
    assert numbers(node(const(2.0))) == [6.0, None]
    assert node(None) == (None, None)
    assert x.grad is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "expected 1 arguments, got 0 instead"),
        ((1, 2), {}, "expected 1 arguments, got 2 instead"),
        ((3,), {}, "argument 0 is not a Variable"),
        ((), {"grad": 3}, "keyword arguments are not supported"),
    ],
)
def test_wrong_calls_of_a_node(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    node = (leaf(2.0) * 3).grad_fn
    with pytest.raises(TypeError, match=message):
        node(*arguments, **options)


def test_a_node_with_two_outputs_can_be_called() -> None:
    node = leaf([1.0, 2.0]).unbind()[0].grad_fn
    assert node(const(3.0), None).tolist() == [3.0, 0.0]
    with pytest.raises(TypeError, match="expected 2 arguments, got 1 instead"):
        node(const(3.0))


def test_the_node_of_a_leaf_accumulates_when_it_is_called() -> None:
    x = leaf(2.0)
    node = graph.get_gradient_edge(x).node
    assert node(const(3.0)) == ()
    assert node(const(4.0)) == ()
    assert x.grad.item() == 7.0
    assert node.next_functions == ()


def test_what_a_node_tells() -> None:
    x = leaf([1.0, 2.0])
    node = (x * 3).grad_fn
    assert list(node._input_metadata[0].shape) == [2]
    assert node._input_metadata[0].dtype is torch.float64
    assert len(x.unbind()[0].grad_fn._input_metadata) == 2
    assert node._sequence_nr() < (x * 3).grad_fn._sequence_nr() < graph.get_gradient_edge(x).node._sequence_nr()
    assert node.requires_grad
    assert node.metadata == {}
    node.metadata["key"] = 1
    assert node.metadata == {"key": 1}


def test_nodes_are_instances_of_node() -> None:
    x = leaf(1.0)
    assert isinstance((x * 2).grad_fn, graph.Node)
    assert isinstance(Copy.apply(x).grad_fn, graph.Node)
    assert not isinstance(x, graph.Node)


def test_tensors_are_variables() -> None:
    assert isinstance(const(1.0), autograd.Variable)
    assert not isinstance(1.0, autograd.Variable)
    assert autograd.Variable(const(1.0), requires_grad=True).requires_grad


# Accumulation


def test_accumulation_is_in_place_and_a_recorded_one_is_not() -> None:
    x = leaf([1.0, 2.0])
    (x * 2).sum().backward()
    first = x.grad
    (x * 2).sum().backward()
    assert x.grad is first
    assert first.tolist() == [4.0, 4.0]
    with quiet():
        (x * x).sum().backward(create_graph=True)
    assert x.grad is not first
    assert first.tolist() == [4.0, 4.0]
    assert x.grad.tolist() == [6.0, 8.0]


def test_a_retained_gradient_is_a_new_sum() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first = y.grad
    y.sum().backward()
    assert first.tolist() == [1.0, 1.0]
    assert y.grad.tolist() == [2.0, 2.0]


def test_the_initial_gradient_is_not_shared_with_the_leaf() -> None:
    x = leaf([1.0, 2.0])
    start = const([1.0, 1.0])
    x.backward(start)
    x.grad.mul_(5)
    assert start.tolist() == [1.0, 1.0]


def test_a_leaf_is_a_root() -> None:
    seen = []
    x = leaf(2.0)
    x.register_hook(lambda g: seen.append(g.item()))
    x.backward()
    assert autograd.grad(x, x)[0].item() == 1.0
    x.backward(inputs=x)
    assert x.grad.item() == 2.0
    autograd.backward([x, x * 3])
    assert x.grad.item() == 6.0
    assert seen == [1.0, 1.0, 1.0, 4.0]


# What a pass frees


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x[torch.tensor([0, 1])],
        lambda x: x[x > 0],
        lambda x: x.gather(0, torch.tensor([1])),
        lambda x: x.index_select(0, torch.tensor([1])),
        lambda x: x.masked_fill(x > 1, 0.0),
        lambda x: torch.index_put(x, (torch.tensor([0]),), const([1.0])),
        lambda x: x * 3,
        lambda x: x / 3,
    ],
)
def test_saved_positions_and_numbers_are_freed(operation: Callable[[Any], Any]) -> None:
    x = leaf([1.0, 2.0])
    y = operation(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + 3,
        lambda x: -x,
        lambda x: x.sum(),
        lambda x: x[0],
        lambda x: x[1:],
        lambda x: x.reshape(2, 1),
        lambda x: x.mean(),
    ],
)
def test_a_node_that_saves_no_tensor_is_not_freed(operation: Callable[[Any], Any]) -> None:
    x = leaf([1.0, 2.0])
    y = operation(x).sum()
    y.backward()
    first = x.grad.clone()
    y.backward()
    assert x.grad.tolist() == (2 * first).tolist()


# The type of a gradient


def test_a_leaf_may_have_a_gradient_of_another_type() -> None:
    x = leaf(1.0)
    assert x.grad_dtype is torch.float64
    y = x * 2
    x.grad_dtype = torch.float32
    y.backward()
    assert x.grad.dtype is torch.float32
    assert autograd.grad(x * 2, x)[0].dtype is torch.float32
    with pytest.raises(RuntimeError, match="because there is already a gradient with dtype 'float'"):
        x.grad_dtype = torch.float64


def test_any_type_of_a_gradient_may_be_allowed() -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="a gradient with dtype 'float' to a tensor with grad_dtype 'Double'"):
        x.grad = torch.tensor(1.0, dtype=torch.float32)
    x.grad_dtype = None
    x.grad = torch.tensor(1.0, dtype=torch.float32)
    assert x.grad_dtype is None
    assert x.grad.dtype is torch.float32


def test_only_leaves_have_a_type_of_their_gradient() -> None:
    with pytest.raises(RuntimeError, match=r"grad_dtype can only be accessed on leaf tensors."):
        _ = (leaf(1.0) * 2).grad_dtype
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"grad_dtype must be a torch.dtype or None, but got int"):
        x.grad_dtype = 3


def test_a_gradient_of_any_type_is_not_converted() -> None:
    class Narrow(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.to(torch.float32)

    x = leaf(1.0)
    Narrow.apply(x).backward()
    assert x.grad.dtype is torch.float64
    known = leaf(1.0)
    _ = known.clone()  # its node exists before grad_dtype is set
    for y in (known, leaf(1.0)):
        y.grad_dtype = None
        out = Narrow.apply(y)
        out.grad_fn.register_hook(lambda inputs, outputs: None)
        out.backward()
        assert y.grad.dtype is torch.float32
        y.grad = None
        y.backward()
        assert y.grad.dtype is torch.float64


def test_the_type_of_a_gradient_is_checked_and_set_on_leaves() -> None:
    x = leaf(1.0)
    x.grad_dtype = torch.float32
    with pytest.raises(RuntimeError, match="a gradient with dtype 'double' to a tensor with grad_dtype 'Float'"):
        x.grad = const(1.0)
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        (x * 2).grad_dtype = torch.float32


def test_hooks_after_the_first_accumulation_share_the_gradient() -> None:
    x = leaf([1.0, 2.0])
    seen: list[Any] = []

    def half(tensor: Any) -> None:
        tensor.grad.add_(0.5)

    x.register_post_accumulate_grad_hook(half)
    node = x.view_as(x).grad_fn.next_functions[0][0]
    node.register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
    (x * 2).sum().backward()
    x.grad = None
    x.sum().backward()  # an expanded gradient is copied
    assert seen == [[2.5, 2.5], [1.0, 1.0]]


def test_a_hook_after_the_accumulation_returns_nothing() -> None:
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda tensor: tensor.grad)
    with pytest.raises(RuntimeError, match=r"hooks should return None\."):
        x.backward()
