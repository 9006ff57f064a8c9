"""Grad modes: when operations are recorded, and who notices."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.behaviour import const, leaf, torch


def recording() -> bool:
    """Found out by doing, not by asking."""
    return bool((leaf(1.0) * 2).requires_grad)


def test_recording_is_on_at_first() -> None:
    assert torch.is_grad_enabled()
    assert recording()


def test_no_grad_in_a_with_block() -> None:
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        assert not recording()
    assert recording()


def test_enable_grad_inside_of_no_grad() -> None:
    with torch.no_grad():
        with torch.enable_grad():
            assert recording()
        assert not recording()
    assert recording()


def test_no_grad_inside_of_enable_grad_inside_of_no_grad() -> None:
    seen: list[bool] = []
    with torch.no_grad():
        with torch.enable_grad():
            with torch.no_grad():
                seen.append(recording())
            seen.append(recording())
        seen.append(recording())
    assert seen == [False, True, False]


def test_the_same_object_used_one_after_the_other() -> None:
    guard = torch.no_grad()
    for _ in range(2):
        with guard:
            assert not recording()
        assert recording()


def test_with_gives_nothing() -> None:
    with torch.no_grad() as given:
        assert given is None


def test_an_exception_ends_the_mode() -> None:
    with pytest.raises(ValueError, match="inside"), torch.no_grad():
        raise ValueError("inside")
    assert recording()


def test_set_grad_enabled_as_context() -> None:
    with torch.set_grad_enabled(False):
        assert not recording()
        with torch.set_grad_enabled(True):
            assert recording()
        assert not recording()
    assert recording()


def test_set_grad_enabled_as_function() -> None:
    try:
        torch.set_grad_enabled(False)
        assert not recording()
    finally:
        torch.set_grad_enabled(True)
    assert recording()


def test_set_grad_enabled_made_before_it_is_entered() -> None:
    guard = torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    with guard:
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("value", [True, False])
def test_set_grad_enabled_as_decorator(value: bool) -> None:
    @torch.set_grad_enabled(value)
    def inner() -> bool:
        return recording()

    assert recording()
    assert inner() is value
    assert recording()


def test_no_grad_as_decorator() -> None:
    @torch.no_grad()
    def inner(x: Any, factor: float = 2.0) -> Any:
        """Docs."""
        return x * factor

    x = leaf(3.0)
    assert not inner(x).requires_grad
    assert inner(x, factor=5.0).item() == 15.0
    assert inner.__name__ == "inner"
    assert inner.__doc__ == "Docs."
    assert recording()


def test_no_grad_as_decorator_without_brackets() -> None:
    @torch.no_grad
    def inner() -> bool:
        return recording()

    assert inner() is False
    assert recording()


def test_enable_grad_as_decorator_under_no_grad() -> None:
    @torch.enable_grad()
    def inner() -> bool:
        return recording()

    with torch.no_grad():
        assert inner() is True
        assert not recording()


def test_a_decorated_function_may_call_itself() -> None:
    @torch.no_grad()
    def down(n: int) -> list[bool]:
        return [recording()] + (down(n - 1) if n else [])

    assert down(3) == [False] * 4
    assert recording()


def test_an_exception_in_a_decorated_function() -> None:
    @torch.no_grad()
    def fails() -> None:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fails()
    assert recording()


def test_a_decorated_method() -> None:
    class Model:
        factor = 3.0

        @torch.no_grad()
        def run(self, x: Any) -> Any:
            return x * self.factor

    y = Model().run(leaf(2.0))
    assert (y.item(), y.requires_grad) == (6.0, False)


def test_a_decorated_generator_records_nothing_and_its_caller_does() -> None:
    @torch.no_grad()
    def numbers() -> Iterator[bool]:
        for _ in range(3):
            yield recording()

    seen = []
    for value in numbers():
        seen.append((value, recording()))
    assert seen == [(False, True)] * 3


def test_a_decorated_generator_under_another_mode() -> None:
    @torch.enable_grad()
    def numbers() -> Iterator[bool]:
        for _ in range(2):
            yield recording()

    with torch.no_grad():
        assert [(value, recording()) for value in numbers()] == [(True, False)] * 2


def test_a_generator_that_changes_the_mode_inside() -> None:
    @torch.no_grad()
    def numbers() -> Iterator[bool]:
        yield recording()
        with torch.enable_grad():
            yield recording()
        yield recording()

    seen = []
    for value in numbers():
        seen.append((value, recording()))
    assert seen == [(False, True), (True, True), (False, True)]


def test_a_decorated_generator_is_sent_values() -> None:
    @torch.no_grad()
    def echo() -> Any:
        got = yield 0
        while True:
            got = yield (got, recording())

    generator = echo()
    assert next(generator) == 0
    assert generator.send("a") == ("a", False)
    assert generator.send("b") == ("b", False)
    generator.close()
    assert recording()


def test_a_decorated_generator_is_closed() -> None:
    seen: list[bool] = []

    @torch.no_grad()
    def numbers() -> Iterator[int]:
        try:
            yield 1
        finally:
            seen.append(recording())

    generator: Any = numbers()
    assert next(generator) == 1
    generator.close()
    assert seen == [False]
    assert recording()


def test_a_decorated_generator_is_thrown_errors() -> None:
    @torch.no_grad()
    def numbers() -> Any:
        try:
            yield 1
        except KeyError:
            yield ("caught", recording())

    generator = numbers()
    next(generator)
    assert generator.throw(KeyError()) == ("caught", False)
    assert recording()


def test_a_decorated_generator_returns() -> None:
    @torch.no_grad()
    def numbers() -> Any:
        yield 1
        return "done"

    generator = numbers()
    next(generator)
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "done"


def test_results_under_no_grad_are_leaves() -> None:
    x = leaf(2.0)
    with torch.no_grad():
        y = x * x
    assert (y.requires_grad, y.is_leaf, y.grad_fn) == (False, True, None)


def test_factories_under_no_grad_may_still_require_grad() -> None:
    with torch.no_grad():
        x = leaf(2.0)
        y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert x.requires_grad
    assert y.requires_grad
    (x * x).backward()
    assert x.grad.item() == 4.0


def test_requires_grad_can_be_set_under_no_grad() -> None:
    x = const(2.0)
    with torch.no_grad():
        x.requires_grad_()
    assert x.requires_grad


def test_inputs_keep_their_flag_under_no_grad() -> None:
    x = leaf(2.0)
    with torch.no_grad():
        assert x.requires_grad
        assert (x * 2).item() == 4.0


def test_a_constant_in_a_graph() -> None:
    x = leaf(2.0)
    with torch.no_grad():
        scale = x * x
    (scale * x).backward()
    assert x.grad.item() == 4.0


def test_updates_of_a_leaf_under_no_grad() -> None:
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    with torch.no_grad():
        x -= 0.5 * x.grad
    assert x.tolist() == [0.0, 0.0]
    assert x.requires_grad
    assert x.is_leaf


def test_a_view_under_no_grad_has_no_grad_fn() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    with torch.no_grad():
        part = y[0]
    assert part.grad_fn is None
    assert part.item() == 2.0


def test_detached_history_is_not_repaired_by_enable_grad() -> None:
    x = leaf(2.0)
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = y * 3
    assert not z.requires_grad


def test_each_thread_has_its_own_mode() -> None:
    seen: list[bool] = []

    def work() -> None:
        seen.append(torch.is_grad_enabled())
        with torch.no_grad():
            seen.append(torch.is_grad_enabled())

    with torch.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        seen.append(torch.is_grad_enabled())
    assert seen == [True, False, False]


def test_a_mode_left_on_in_a_thread_does_not_come_back() -> None:
    thread = threading.Thread(target=lambda: torch.set_grad_enabled(False))
    thread.start()
    thread.join()
    assert recording()


def test_a_decorated_coroutine_that_never_waits() -> None:
    @torch.no_grad()
    def compute() -> bool:
        return recording()

    async def main() -> tuple[bool, bool]:
        return compute(), recording()

    assert asyncio.run(main()) == (False, True)


def test_a_with_block_around_an_await() -> None:
    async def inner() -> bool:
        return recording()

    async def main() -> tuple[bool, bool]:
        with torch.no_grad():
            first = await inner()
        return first, recording()

    assert asyncio.run(main()) == (False, True)


def test_inference_mode_records_nothing() -> None:
    x = leaf(2.0)
    with torch.inference_mode():
        y = x * x
        assert not torch.is_grad_enabled()
    assert not y.requires_grad
    assert y.item() == 4.0
    assert recording()


def test_inference_mode_as_decorator() -> None:
    @torch.inference_mode()
    def inner() -> bool:
        return recording()

    assert inner() is False
    assert recording()


def test_inference_mode_can_be_switched_off() -> None:
    with torch.inference_mode(mode=False):
        assert recording()


def test_set_grad_enabled_by_keyword() -> None:
    with torch.set_grad_enabled(mode=False):
        assert not recording()
    assert recording()


def test_backward_inside_of_a_decorated_function() -> None:
    x = leaf(3.0)
    y = x * x

    @torch.no_grad()
    def step() -> float:
        y.backward()
        x.sub_(x.grad * 0.5)
        return float(x.item())

    assert step() == 0.0


def test_set_grad_enabled_takes_a_flag() -> None:
    for wrong in (1, "a", None):
        with pytest.raises(TypeError, match=r"argument 'enabled' .position 1. must be bool, not "):
            torch.set_grad_enabled(wrong)
    with pytest.raises(TypeError):
        torch.set_grad_enabled()
    assert recording()


def test_modes_make_others_of_their_kind() -> None:
    assert torch.set_grad_enabled(True).clone().mode is True
    assert torch.inference_mode(False).clone().mode is False
    assert type(torch.no_grad().clone()) is type(torch.no_grad())
    assert repr(torch.set_grad_enabled(True)) == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"


# Views that were created without recording


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize(
    "function",
    [
        lambda v: v.sum(),
        lambda v: v.mean(),
        lambda v: (v * v).sum(),
        lambda v: (v * 2).sum(),
        lambda v: v.expand(3, 2).sum(),
        lambda v: v.prod(),
        lambda v: v.cumsum(0).sum(),
        lambda v: v.softmax(0).sum(),
        lambda v: torch.cat([v, v]).sum(),
        lambda v: v.unbind()[0].sin(),
    ],
)
def test_gradients_end_at_a_view_without_a_history(mode: str, function: Callable[[Any], Any]) -> None:
    x = leaf([1.0, 2.0, 3.0])
    with getattr(torch, mode)():
        view = x[:2]
    assert view.requires_grad
    assert view.grad_fn is None
    y = function(view)
    (y + (x * 3).sum()).backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]
    assert view.grad is None


def test_a_view_without_a_history_has_no_edge() -> None:
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        view = x[:1]
    assert view.sin().grad_fn.next_functions == ((None, 0),)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        view.backward()
    with pytest.raises(Exception, match="Expected gradient function to be set"):
        torch.autograd.graph.get_gradient_edge(view)


def test_detach_in_place_does_nothing_in_inference_mode() -> None:
    x = leaf([1.0, 2.0]) * 2
    with torch.inference_mode():
        assert x.detach_() is x
    assert x.requires_grad
    assert x.grad_fn is not None
