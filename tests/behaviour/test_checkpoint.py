"""Checkpoints: a function is called again in the backward pass."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, torch

module: Any = import_module(f"{torch.__name__}.utils.checkpoint")
checkpoint = module.checkpoint

EARLY = pytest.mark.parametrize("early_stop", [True, False])


class Calls:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.count = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        return self.function(*args, **kwargs)


def curve(x: Any) -> Any:
    return (x.sin().exp() * x).cos()


def grad_of(f: Callable[[Any], Any], values: Any) -> Any:
    x = leaf(values)
    f(x).sum().backward()
    return x.grad


def test_the_gradient_is_that_of_the_function() -> None:
    expected = grad_of(curve, [0.5, 1.5])
    counted = Calls(curve)
    found = grad_of(lambda x: checkpoint(counted, x, use_reentrant=False), [0.5, 1.5])
    assert torch.equal(found, expected)
    assert counted.count == 2


def test_several_outputs_and_other_objects() -> None:
    def f(x: Any, n: int, y: Any) -> Any:
        return x * y * n, "label", x.sin()

    x, y = leaf([2.0]), leaf([3.0])
    product, label, sine = checkpoint(f, x, 5, y, use_reentrant=False)
    assert label == "label"
    (product + sine).sum().backward()
    assert x.grad.tolist() == pytest.approx([15 + const(2.0).cos().item()])
    assert y.grad.tolist() == [10.0]


def test_an_output_that_is_not_used() -> None:
    x = leaf([2.0])
    first, _ = checkpoint(lambda x: (x**3, x.exp()), x, use_reentrant=False)
    first.sum().backward()
    assert x.grad.tolist() == [12.0]


def test_an_input_that_needs_no_gradient() -> None:
    x, c = leaf([2.0]), const([5.0])
    checkpoint(lambda x, c: x * c * c, x, c, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == [25.0]
    assert c.grad is None


def test_a_parameter_that_the_function_refers_to() -> None:
    w, x = leaf([3.0]), leaf([2.0])
    checkpoint(lambda x: (w * x).sin(), x, use_reentrant=False).sum().backward()
    assert w.grad.item() == pytest.approx(2 * const(6.0).cos().item())
    assert x.grad.item() == pytest.approx(3 * const(6.0).cos().item())


def test_a_chain_of_checkpoints() -> None:
    def chain(x: Any, wrap: bool) -> Any:
        for _ in range(5):
            x = checkpoint(curve, x, use_reentrant=False) if wrap else curve(x)
        return x

    assert torch.equal(grad_of(lambda x: chain(x, True), [0.3, 0.7]), grad_of(lambda x: chain(x, False), [0.3, 0.7]))


@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers_are_the_same_again(preserve: bool) -> None:
    drawn = []

    def f(x: Any) -> Any:
        noise = torch.rand(3, dtype=torch.float64)
        drawn.append(noise.tolist())
        return (x * noise).sin()

    torch.manual_seed(7)
    out = checkpoint(f, leaf([1.0, 2.0, 3.0]), use_reentrant=False, preserve_rng_state=preserve)
    after = torch.rand(1).item()
    torch.manual_seed(7)
    torch.rand(3, dtype=torch.float64)
    assert torch.rand(1).item() == after
    out.sum().backward()
    assert (drawn[0] == drawn[1]) is preserve
    if preserve:  # the state outside is that of before the backward pass
        torch.manual_seed(7)
        torch.rand(3, dtype=torch.float64)
        torch.rand(1)
        expected = torch.rand(1).item()
        torch.manual_seed(7)
        out = checkpoint(f, leaf([1.0, 2.0, 3.0]), use_reentrant=False)
        torch.rand(1)
        out.sum().backward()
        assert torch.rand(1).item() == expected


def test_without_recording_it_is_an_ordinary_call() -> None:
    counted = Calls(curve)
    with torch.no_grad(), quiet():
        out = checkpoint(counted, leaf([1.0]), use_reentrant=False)
    assert not out.requires_grad
    assert counted.count == 1


def test_errors_of_the_function_come_through() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        checkpoint(fails, leaf([1.0]), use_reentrant=False)


def test_memory_of_intermediate_values_is_freed() -> None:
    refs: list[Any] = []

    def f(x: Any) -> Any:
        y = x.sin()
        refs.append(weakref.ref(y))
        return y.exp().cos()

    out = checkpoint(f, leaf([1.0]), use_reentrant=False)
    gc.collect()
    assert refs[0]() is None
    out.sum().backward()
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_the_graph_is_recorded() -> None:
    x = leaf([1.0])
    out = checkpoint(lambda x: x.sin().cos(), x, use_reentrant=False)
    assert out.grad_fn.name() == "CosBackward0"
    assert out.grad_fn.next_functions[0][0].name() == "SinBackward0"
    ran = []
    out.grad_fn.next_functions[0][0].register_hook(lambda *_: ran.append(1))
    out.sum().backward()
    assert ran == [1]


def test_grad_and_inputs_and_higher_orders() -> None:
    x = leaf([0.5, 1.5])
    y = leaf([0.5, 1.5])
    found = checkpoint(curve, x, use_reentrant=False).sum()
    expected = curve(y).sum()
    for _ in range(3):
        (found,) = torch.autograd.grad(found.sum(), x, create_graph=True)
        (expected,) = torch.autograd.grad(expected.sum(), y, create_graph=True)
        assert torch.allclose(found, expected, rtol=1e-12)
    checkpoint(curve, x, use_reentrant=False).sum().backward(inputs=[x])
    assert x.grad is not None


def test_retain_graph_computes_again() -> None:
    counted = Calls(curve)
    x = leaf([1.0])
    out = checkpoint(counted, x, use_reentrant=False).sum()
    out.backward(retain_graph=True)
    out.backward()
    assert counted.count == 3
    assert torch.equal(x.grad, 2 * grad_of(curve, [1.0]))
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        out.backward()


def test_looking_at_a_saved_value_computes_it() -> None:
    counted = Calls(lambda a: (a * a * a, a.exp())[1])
    a = leaf([1.0, 2.0])
    out = checkpoint(counted, a, use_reentrant=False)
    assert torch.equal(out.grad_fn._saved_result, out)
    assert counted.count == 2
    out.grad_fn._saved_result  # noqa: B018
    assert counted.count == 3
    out.sum().backward()
    assert counted.count == 4
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        out.grad_fn._saved_result  # noqa: B018


def test_keywords_and_nested_structures() -> None:
    def f(values: Any, *, scale: Any) -> Any:
        return {"out": (values["x"] * scale).sin()}

    x, scale = leaf([2.0]), leaf([3.0])
    out = checkpoint(f, {"x": x}, scale=scale, use_reentrant=False)["out"]
    gx, gs = torch.autograd.grad(out.sum(), (x, scale))
    cosine = const(6.0).cos().item()
    assert gx.item() == pytest.approx(3 * cosine)
    assert gs.item() == pytest.approx(2 * cosine)


def test_no_input_needs_a_gradient() -> None:
    w = leaf([3.0])
    checkpoint(lambda x: w * x, const([2.0]), use_reentrant=False).sum().backward()
    assert w.grad.tolist() == [2.0]


def test_a_detached_value_inside() -> None:
    x = leaf([2.0])
    checkpoint(lambda x: x.detach() * x, x, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_a_hook_of_a_tensor_used_inside_and_outside_runs_once() -> None:
    runs = []
    w, x = leaf([2.0]), leaf([3.0])
    w.register_hook(lambda g: runs.append(g.item()))
    checkpoint(lambda h: w * h, w * x, use_reentrant=False).sum().backward()
    assert runs == [12.0]


def test_the_state_of_grad_mode_in_the_second_call() -> None:
    modes = []

    def f(x: Any) -> Any:
        modes.append(torch.is_grad_enabled())
        return x.sin()

    checkpoint(f, leaf([1.0]), use_reentrant=False).sum().backward()
    assert modes == [True, True]


def test_early_stop() -> None:
    def run(**options: Any) -> int:
        counted = Calls(lambda x: x.clone())
        out = checkpoint(lambda x: counted(x.sin().cos()), leaf(1.0), use_reentrant=False, **options)
        out.backward()
        return counted.count

    assert run() == 1
    assert run(early_stop=False) == 2
    assert run(early_stop=True) == 1


@EARLY
def test_nothing_saved_means_no_second_call(early_stop: bool) -> None:
    counted = Calls(lambda x: x.clone() + 1)
    checkpoint(counted, leaf(1.0), use_reentrant=False, early_stop=early_stop).backward()
    assert counted.count == 1


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(curve, leaf(1.0), use_reentrant=False, determinism_check="strict")


class Alternating:
    """A function that computes something else in its second call."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self.functions = [first, second]

    def __call__(self, x: Any) -> Any:
        return self.functions.pop(0)(x)


def two(x: Any) -> Any:
    return x.sin().exp()


def three(x: Any) -> Any:
    return x.sin().exp().sin()


def two_of_another_shape(x: Any) -> Any:
    return x.sin() * const([1.0, 2.0])


def test_fewer_saved_tensors_in_the_second_call() -> None:
    out = checkpoint(Alternating(three, two), leaf([1.0]), use_reentrant=False)
    with pytest.raises(module.CheckpointError, match="A different number of tensors was saved") as caught:
        out.sum().backward()
    assert "Number of tensors saved during forward: 3\nNumber of tensors saved during recomputation: 2" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)


def test_more_saved_tensors_in_the_second_call() -> None:
    out = checkpoint(Alternating(two, three), leaf([1.0]), use_reentrant=False, early_stop=False)
    with pytest.raises(RuntimeError, match="trying to save more tensors during recomputation than during the original forward"):
        out.sum().backward()
    checkpoint(Alternating(two, three), leaf([1.0]), use_reentrant=False).sum().backward()


def test_other_shapes_in_the_second_call() -> None:
    def other() -> Any:
        return Alternating(two, two_of_another_shape)

    with pytest.raises(RuntimeError, match="have different metadata than during the forward pass") as caught:
        checkpoint(other(), leaf([1.0]), use_reentrant=False).sum().backward()
    assert "tensor at position 1:\nsaved metadata: {'shape': torch.Size([1]), 'dtype': torch.float64" in str(caught.value)
    assert "recomputed metadata: {'shape': torch.Size([2]), 'dtype': torch.float64" in str(caught.value)
    with quiet():
        checkpoint(other(), leaf([1.0]), use_reentrant=False, determinism_check="none")


def test_saved_tensors_of_a_custom_function_are_unpacked_once() -> None:
    class Product(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            out = x * y
            ctx.save_for_backward(x, y, out)
            return out

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y, _ = ctx.saved_tensors
            with pytest.raises(RuntimeError, match="Unpack is being triggered for a tensor that was already unpacked once"):
                ctx.saved_tensors  # noqa: B018
            return g * y, g * x

    x, y = leaf([2.0]), leaf([3.0])
    checkpoint(lambda x, y: Product.apply(x * x, y * y), x, y, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == [36.0]
    assert y.grad.tolist() == [24.0]


def test_a_saved_constant_is_the_same_object() -> None:
    found = []

    class Keeping(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(y)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            found.extend(ctx.saved_tensors)
            return g, None

    b = const(1.0)
    checkpoint(Keeping.apply, leaf(1.0), b, use_reentrant=False).backward()
    assert found[0] is b


def test_an_input_that_changed_in_between() -> None:
    a = leaf([1.0, 2.0]) * 1
    out = checkpoint(lambda x: x.sin(), a, use_reentrant=False)
    a.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_with_hooks_outside_and_inside() -> None:
    def f(a: Any) -> Any:
        h = a.pow(2)
        with torch.autograd.graph.save_on_cpu():
            h = h.pow(2).pow(2)
        return h.pow(2)

    expected = grad_of(lambda a: a.pow(2).pow(2).pow(2).pow(2), [1.1, 0.9])
    assert torch.allclose(grad_of(lambda a: checkpoint(f, a, use_reentrant=False), [1.1, 0.9]), expected)

    def g(a: Any) -> Any:
        with torch.autograd.graph.save_on_cpu():
            h = checkpoint(lambda x: x.pow(2).pow(2), a.pow(2), use_reentrant=False)
            return h.pow(2)

    assert torch.allclose(grad_of(g, [1.1, 0.9]), expected)


# Nested checkpoints


def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        with torch.enable_grad():
            (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        return g

    return of


def c(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: checkpoint(f, *args, use_reentrant=False, **kwargs)


d = derivative


@pytest.fixture(params=[True, False])
def both_stops(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with checkpoints that stop early, and with others."""
    monkeypatch.setitem(globals(), "checkpoint", partial(module.checkpoint, early_stop=request.param))


def plain(x: Any) -> Any:
    return x.sin().exp().sin()


def with_backward_inside(x: Any) -> Any:
    a = x.sin().exp().sin()
    b = x.sin().exp().sin()
    torch.autograd.grad(a.sum(), x)
    torch.autograd.grad(b.sum(), x)
    return x.sin()


NESTED: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = [
    ("c", lambda f: f, lambda f: c(f)),
    ("cc", lambda f: f, lambda f: c(c(f))),
    ("ccc", lambda f: f, lambda f: c(c(c(f)))),
    ("dc", lambda f: d(f), lambda f: d(c(f))),
    ("dcc", lambda f: d(f), lambda f: d(c(c(f)))),
    ("cd", lambda f: d(f), lambda f: c(d(f))),
    ("dcd", lambda f: d(d(f)), lambda f: d(c(d(f)))),
    ("cddc", lambda f: d(d(f)), lambda f: c(d(d(c(f))))),
    ("dcdc", lambda f: d(d(f)), lambda f: d(c(d(c(f))))),
    ("dcddc", lambda f: d(d(d(f))), lambda f: d(c(d(d(c(f)))))),
    ("dcdcdc", lambda f: d(d(d(f))), lambda f: d(c(d(c(d(c(f))))))),
]


@pytest.mark.usefixtures("both_stops")
@pytest.mark.parametrize("function", [plain, with_backward_inside], ids=["plain", "backward inside"])
@pytest.mark.parametrize(("reference", "nested"), [case[1:] for case in NESTED], ids=[case[0] for case in NESTED])
def test_nested_checkpoints(reference: Any, nested: Any, function: Any) -> None:
    x = leaf(0.7)
    assert torch.allclose(nested(function)(x), reference(function)(x), rtol=1e-12)
    if nested(function)(x).requires_grad:
        (found,) = torch.autograd.grad(nested(function)(x), x)
        (expected,) = torch.autograd.grad(reference(function)(x), x)
        assert torch.allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("both_stops")
def test_two_checkpoints_inside_one() -> None:
    def f(x: Any) -> Any:
        return x.sin().exp().sin()

    def g(x: Any) -> Any:
        return x.cos().sin().exp()

    a = leaf([[0.1, 0.2], [0.3, 0.4]])
    expected = d(d(lambda x: g(f(x))))(a)
    both = c(lambda x: c(g)(c(f)(x)))
    assert torch.allclose(d(d(both))(a), expected, rtol=1e-12)
    assert torch.allclose(d(c(d(both)))(a), expected, rtol=1e-12)


@pytest.mark.usefixtures("both_stops")
def test_the_graph_of_nested_checkpoints_dies() -> None:
    class Mark:
        pass

    def scope(f: Callable[[Any], Any]) -> list[Any]:
        refs = []
        out = f(leaf(0.5))
        stack = [out.grad_fn]
        while stack:
            node = stack.pop()
            mark = Mark()
            refs.append(weakref.ref(mark))
            node.metadata["mark"] = mark
            stack.extend(each for each, _ in node.next_functions if each is not None)
        return refs

    for f in (c(plain), c(c(plain)), d(c(plain)), d(c(d(c(plain)))), c(d(c(plain)))):
        gc.collect()
        gc.disable()
        try:
            refs = scope(f)
            assert refs
            assert all(ref() is None for ref in refs)
        finally:
            gc.enable()


@pytest.mark.usefixtures("both_stops")
def test_backward_inside_a_hook_of_a_checkpointed_graph() -> None:
    a = leaf(1.0)
    x, out = checkpoint(lambda a: ((x := a.sin().cos()), x.sin()), a, use_reentrant=False)
    out.grad_fn.register_hook(lambda *_: x.backward(retain_graph=True))
    out.backward(retain_graph=True)
    y = leaf(1.0)
    z = y.sin().cos()
    (g,) = torch.autograd.grad(z + z.sin(), y)
    assert a.grad.item() == pytest.approx(g.item())


def test_nested_keywords() -> None:
    def f(a: Any, b: Any = None) -> Any:
        out = a.sin().exp()
        return out if b is None else (out * b).sin()

    a, b = leaf(2.0), leaf(3.0)
    found = torch.autograd.grad(c(c(f))(a, b=b), (a, b))
    expected = torch.autograd.grad(f(a, b=b), (a, b))
    assert [g.item() for g in found] == [g.item() for g in expected]


def test_nothing_is_returned() -> None:
    assert checkpoint(lambda x: None, leaf([1.0]), use_reentrant=False) is None


def test_an_input_is_returned() -> None:
    x = leaf([1.0])
    out = checkpoint(lambda x: x, x, use_reentrant=False)
    assert out is x
    out.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_values_that_change_in_place_inside() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y.sin_()
        return y.exp()

    found = grad_of(lambda x: checkpoint(f, x, use_reentrant=False), [1.0, 2.0])
    assert torch.equal(found, grad_of(f, [1.0, 2.0]))


def test_two_backward_passes_through_two_outputs() -> None:
    counted = Calls(lambda x: (x.sin().exp(), x.cos().exp()))
    x = leaf([1.0, 2.0])
    a, b = checkpoint(counted, x, use_reentrant=False)
    a.sum().backward()
    b.sum().backward()
    assert counted.count == 3
    assert torch.allclose(x.grad, grad_of(lambda x: x.sin().exp() + x.cos().exp(), [1.0, 2.0]))


def test_backward_in_another_thread() -> None:
    x = leaf([1.0, 2.0])
    out = checkpoint(curve, x, use_reentrant=False).sum()
    thread = threading.Thread(target=out.backward)
    thread.start()
    thread.join()
    assert torch.equal(x.grad, grad_of(curve, [1.0, 2.0]))


def test_derivatives_of_programs_with_checkpoints() -> None:
    def f(x: Any) -> Any:
        return checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).sum()

    x = leaf([1.0, 2.0])
    assert torch.autograd.gradcheck(f, (x,))
    assert torch.autograd.gradgradcheck(f, (x,))
    hessian = torch.autograd.functional.hessian(f, x.detach())
    assert torch.allclose(hessian, torch.autograd.functional.hessian(lambda x: x.sin().exp().sum(), x.detach()))


# checkpoint_sequential and small functions


@pytest.mark.parametrize("segments", [1, 2, 3, 4])
def test_a_sequence_of_functions(segments: int) -> None:
    steps = [Calls(f) for f in (torch.sin, torch.exp, lambda x: x * x, torch.cos)]

    def sequence(x: Any) -> Any:
        return module.checkpoint_sequential(steps, segments, x, use_reentrant=False)

    found = grad_of(sequence, [0.5, 1.0])
    assert torch.allclose(found, grad_of(lambda x: (x.sin().exp() ** 2).cos(), [0.5, 1.0]))
    assert steps[-1].count == 1
    if segments > 1:
        assert steps[0].count == 2


def test_a_sequence_takes_no_other_keywords() -> None:
    with pytest.raises((TypeError, ValueError), match="scale"):
        module.checkpoint_sequential([torch.sin], 1, leaf([1.0]), use_reentrant=False, scale=2)
