"""Inference mode and its tensors: how they are made, what they refuse, and how they mix with ordinary tensors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, torch

INPLACE = "Inplace update to inference tensor outside InferenceMode is not allowed"
SAVED = "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode"
VERSION = "Inference tensors do not track version counter."
REQUIRES = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
VIEW = "A view was created in inference mode and is being modified inplace in normal mode."
BASE = "A view was created in inference mode and its base or another view of its base has been modified inplace in normal mode."


def made(values: Any = (1.0, 2.0)) -> Any:
    """An inference tensor."""
    with torch.inference_mode():
        return const(list(values))


def modes() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


# The mode


def test_the_mode_turns_recording_off() -> None:
    with torch.inference_mode():
        assert modes() == (False, True)
    assert modes() == (True, False)


def test_the_mode_can_be_left_inside_of_itself() -> None:
    with torch.inference_mode():
        with torch.inference_mode(False):
            assert modes() == (True, False)
            assert (leaf(1.0) * 2).requires_grad
            assert not (const(1.0) * 2).is_inference()
        assert modes() == (False, True)


def test_the_mode_switched_off_turns_recording_on() -> None:
    with torch.no_grad(), torch.inference_mode(mode=False):
        assert modes() == (True, False)


def test_recording_cannot_be_enabled_inside() -> None:
    x = leaf(1.0)
    with torch.inference_mode(), torch.enable_grad():
        assert modes() == (True, True)
        y = x * 2
        assert not y.requires_grad
        assert y.is_inference()
    assert modes() == (True, False)


def decorators() -> list[Any]:
    return [
        pytest.param(torch.inference_mode(), (False, True), id="called"),
        pytest.param(torch.inference_mode, (False, True), id="bare"),
        pytest.param(torch.inference_mode(True), (False, True), id="on"),
        pytest.param(torch.inference_mode(False), (True, False), id="off"),
        pytest.param(torch.inference_mode(mode=False), (True, False), id="keyword"),
    ]


@pytest.mark.parametrize(("decorate", "inside"), decorators())
def test_as_a_decorator(decorate: Callable[..., Any], inside: tuple[bool, bool]) -> None:
    @decorate
    def function(x: Any) -> Any:
        return modes(), x * 2

    found, y = function(leaf(1.0))
    assert found == inside
    assert y.is_inference() == inside[1]
    assert modes() == (True, False)


def test_as_a_decorator_of_a_generator() -> None:
    @torch.inference_mode()
    def numbers() -> Any:
        yield modes()
        yield modes()

    for inside in numbers():
        assert inside == (False, True)
        assert modes() == (True, False)


def test_an_error_ends_the_mode() -> None:
    with pytest.raises(ZeroDivisionError), torch.inference_mode():
        raise ZeroDivisionError
    assert modes() == (True, False)


# Tensors made inside


def test_what_is_made_inside_is_an_inference_tensor() -> None:
    x = leaf([1.0, 2.0])
    with torch.inference_mode():
        for y in (const([1.0]), x * 2, x.clone(), torch.zeros(2), torch.stack([x, x]), x.sum(), const([1.0])[:1]):
            assert y.is_inference()
            assert torch.is_inference(y)
            assert y.is_leaf
            assert y.grad_fn is None
            assert not y.requires_grad


def test_views_of_ordinary_tensors_are_ordinary() -> None:
    x = leaf([[1.0, 2.0]])
    with torch.inference_mode():
        for y in (x[0], x.view(-1), x.t(), x.expand(3, 2), x.detach(), x.reshape(2)):
            assert not y.is_inference()


def test_a_view_made_inside_knows_its_base() -> None:
    x = leaf([1.0, 2.0])
    with torch.inference_mode():
        v = x[:1]
    assert v._is_view()
    assert v._base is x
    assert v.requires_grad
    assert v.is_leaf


def test_changes_inside_of_ordinary_tensors_count() -> None:
    x = leaf([1.0, 2.0])
    with torch.inference_mode():
        x.add_(1)
        assert not x.is_inference()
    assert x._version == 1
    assert x.tolist() == [2.0, 3.0]
    assert x.requires_grad


def test_inference_tensors_may_require_grad_inside() -> None:
    with torch.inference_mode():
        x = leaf([1.0, 2.0])
        assert x.requires_grad
        assert x.is_inference()
        assert not (x * 2).requires_grad
        x.add_(1)
    assert x.requires_grad
    with torch.inference_mode():
        assert const(1.0).requires_grad_().requires_grad


def test_a_gradient_reaches_an_inference_leaf() -> None:
    with torch.inference_mode():
        x = leaf([1.0, 2.0])
    (x + const([1.0, 1.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


# Inference tensors outside


@pytest.mark.parametrize("view", [lambda x: x[:1], lambda x: x.view(2, 1), lambda x: x.detach(), lambda x: x.unbind()[0]])
def test_views_of_inference_tensors_are_inference_tensors(view: Callable[[Any], Any]) -> None:
    y = view(made())
    assert y.is_inference()
    assert not y._is_view()


@pytest.mark.parametrize("copied", [lambda x: x.clone(), lambda x: x * 2, copy.deepcopy, lambda x: torch.zeros(2).copy_(x)])
def test_copies_of_inference_tensors_are_ordinary(copied: Callable[[Any], Any]) -> None:
    assert not copied(made()).is_inference()


def test_a_pickled_inference_tensor_is_ordinary() -> None:
    assert not pickle.loads(pickle.dumps(made())).is_inference()


def test_they_have_no_version() -> None:
    x = made()
    with pytest.raises(RuntimeError, match=VERSION):
        _ = x._version
    with torch.inference_mode(), pytest.raises(RuntimeError, match=VERSION):
        _ = x._version


def changes() -> list[Any]:
    return [
        pytest.param(lambda x: x.add_(1), id="add_"),
        pytest.param(lambda x: x.zero_(), id="zero_"),
        pytest.param(lambda x: x.__setitem__(0, 1.0), id="setitem"),
        pytest.param(lambda x: x[:1].mul_(2), id="view"),
        pytest.param(lambda x: x.unsqueeze_(0), id="unsqueeze_"),
        pytest.param(lambda x: x.copy_(const([1.0, 2.0])), id="copy_"),
    ]


@pytest.mark.parametrize("change", changes())
def test_they_change_inside_only(change: Callable[[Any], Any]) -> None:
    x = made()
    with pytest.raises(RuntimeError, match=INPLACE):
        change(x)
    with torch.no_grad(), pytest.raises(RuntimeError, match=INPLACE):
        change(x)
    with torch.inference_mode():
        change(x)


def test_they_do_not_start_to_require_grad_outside() -> None:
    x = made()
    with pytest.raises(RuntimeError, match=REQUIRES):
        x.requires_grad_()
    with pytest.raises(RuntimeError, match=REQUIRES):
        x.requires_grad = True
    assert x.requires_grad_(False) is x


def test_they_cannot_be_saved() -> None:
    with pytest.raises(RuntimeError, match=SAVED):
        leaf([1.0, 2.0]) * made()
    with pytest.raises(RuntimeError, match=SAVED):
        leaf([[1.0, 2.0]]) @ made()
    with pytest.raises(RuntimeError, match=SAVED):
        (leaf([1.0, 2.0]) * 1).mul_(made())


def test_what_is_not_saved_may_be_mixed() -> None:
    x = leaf([1.0, 2.0])
    y = x + made()
    assert y.requires_grad
    assert not y.is_inference()
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    (x * 1).add_(made())
    assert not torch.cat([x, made()]).is_inference()
    with torch.no_grad():
        assert (x * made()).tolist() == [1.0, 4.0]


def test_a_clone_can_be_saved() -> None:
    x = leaf([1.0, 2.0])
    (x * made().clone()).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_custom_function_cannot_save_them() -> None:
    class Product(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

    with pytest.raises(RuntimeError, match=SAVED):
        Product.apply(leaf([1.0, 2.0]), made())
    with torch.inference_mode():
        assert Product.apply(leaf([1.0, 2.0]), const([1.0, 2.0])).is_inference()


# Views made inside of bases that change outside


def test_a_view_made_inside_does_not_change_outside() -> None:
    x = leaf([1.0, 2.0]) * 1
    with torch.inference_mode():
        v = x[:1]
    with pytest.raises(RuntimeError, match=VIEW):
        v.add_(1)
    with pytest.raises(RuntimeError, match=VIEW):
        v.mul_(leaf([3.0]))


def test_a_view_made_inside_of_a_leaf_does_not_change_outside() -> None:
    x = leaf([1.0, 2.0])
    with torch.inference_mode():
        v = x[:1]
    with pytest.raises(RuntimeError, match=VIEW):
        v.add_(1)


def test_a_view_made_inside_is_lost_when_its_base_changes() -> None:
    x = leaf([1.0, 2.0]) * 1
    with torch.inference_mode():
        v = x[:1]
    x.add_(1)
    assert v.tolist() == [2.0]
    with pytest.raises(RuntimeError, match=BASE):
        _ = v.grad_fn
    with pytest.raises(RuntimeError, match=BASE):
        v * 2
    assert repr(v).endswith("grad_fn=<Invalid>)")


def test_a_view_of_a_view_made_inside_does_not_change_outside() -> None:
    x = leaf([1.0, 2.0]) * 1
    with torch.inference_mode():
        v = x[:1]
    words = "Output 0 of Slice(Backward0)? is a view of a view which was created in inference mode and is being modified inplace"
    with pytest.raises(RuntimeError, match=words):
        v[:].add_(1)


def test_a_constant_view_made_inside_may_change_outside() -> None:
    x = const([1.0, 2.0])
    with torch.inference_mode():
        v = x[:1]
    v.add_(1)
    x.mul_(2)
    assert v.tolist() == [4.0]
    with pytest.raises(RuntimeError, match=VIEW):
        v.mul_(leaf([3.0]))


# Gradients


def test_a_gradient_made_inside_does_not_accumulate_outside() -> None:
    x = leaf([1.0, 2.0])
    with torch.inference_mode():
        x.grad = torch.zeros_like(x)
    assert x.grad.is_inference()
    with pytest.raises(RuntimeError, match=INPLACE):
        (x * 2).sum().backward()


def test_backward_inside_of_a_graph_recorded_outside() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with torch.inference_mode():
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert x.grad.is_inference()


def test_backward_inside_of_what_was_made_inside() -> None:
    with torch.inference_mode(), pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        (leaf(1.0) * 2).backward()


def test_a_view_of_an_inference_leaf_is_a_leaf() -> None:
    with torch.inference_mode():
        x = leaf([[1.0, 2.0]])
        assert not x.view(-1).requires_grad
    y = x.view(-1)
    assert y.is_inference()
    assert y.is_leaf
