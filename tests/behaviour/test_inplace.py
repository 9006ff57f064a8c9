"""Changes in place: values, histories, versions, and views that take their base along."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, shape, torch

CHANGED = "one of the variables needed for gradient computation has been modified by an inplace operation"
LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation"


# The version counter


def test_a_new_tensor_is_at_version_zero() -> None:
    assert const([1.0])._version == 0
    assert (leaf([1.0]) * 2)._version == 0


def test_each_change_counts_once() -> None:
    x = const([1.0, 2.0])
    x.add_(1)
    assert x._version == 1
    x.mul_(2)
    x.zero_()
    assert x._version == 3


def test_operators_count() -> None:
    x = const([1.0, 2.0])
    x += 1
    x *= 2
    assert x._version == 2


def test_assignments_count() -> None:
    x = const([1.0, 2.0])
    x[0] = 5.0
    assert x._version == 1


def test_reading_does_not_count() -> None:
    x = const([1.0, 2.0])
    _ = x + 1, x[0], x.clone(), x.sum()
    assert x._version == 0


def test_views_share_the_counter() -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    part = x[0]
    part.add_(1)
    assert (x._version, part._version) == (1, 1)
    x.add_(1)
    assert (x._version, part._version) == (2, 2)


def test_detached_tensors_share_the_counter() -> None:
    x = leaf([1.0, 2.0]) * 1
    d = x.detach()
    d.add_(1)
    assert (x._version, d._version) == (1, 1)


def test_clones_have_a_counter_of_their_own() -> None:
    x = const([1.0, 2.0])
    y = x.clone()
    y.add_(1)
    assert (x._version, y._version) == (0, 1)


# What a graph saved


def saved_cases() -> list[Any]:
    cases: list[tuple[str, Callable[[Any], Any]]] = [
        ("sin", torch.sin),
        ("square", lambda y: y**2),
        ("log", torch.log),
        ("times itself", lambda y: y * y),
        ("times a tensor", lambda y: y * leaf([3.0, 4.0])),
    ]
    return [pytest.param(make, id=name) for name, make in cases]


@pytest.mark.parametrize("make", saved_cases())
def test_a_saved_input_must_not_change(make: Callable[[Any], Any]) -> None:
    y = leaf([1.0, 2.0]) * 2
    z = make(y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match=CHANGED):
        z.backward()


@pytest.mark.parametrize("make", [torch.exp, torch.sqrt, torch.tanh, torch.sigmoid])
def test_a_saved_output_must_not_change(make: Callable[[Any], Any]) -> None:
    y = make(leaf([1.0, 2.0]))
    z = y * 1
    y.add_(1)
    total = (y + z).sum()
    with pytest.raises(RuntimeError, match=CHANGED):
        total.backward()


def test_what_was_not_saved_may_change() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    z = (y + 1).sum()
    y.mul_(100)
    z.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_input_whose_output_was_saved_may_change() -> None:
    x = leaf([0.0, 0.0])
    y = x * 2
    z = torch.exp(y).sum()
    y.add_(100)
    z.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_change_before_the_use_does_no_harm() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y.add_(1)
    (y * y).sum().backward()
    assert x.grad.tolist() == [12.0, 20.0]


def test_a_change_through_a_detached_tensor_is_noticed() -> None:
    y = leaf([1.0, 2.0]) * 2
    z = (y * y).sum()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match=CHANGED):
        z.backward()


def test_a_change_through_a_view_is_noticed() -> None:
    y = leaf([1.0, 2.0]) * 2
    z = (y * y).sum()
    with torch.no_grad():
        y[0].zero_()
    with pytest.raises(RuntimeError, match=CHANGED):
        z.backward()


def test_a_change_of_the_base_spoils_a_saved_view() -> None:
    y = leaf([[1.0, 2.0], [3.0, 4.0]]) * 2
    z = (y[0] ** 2).sum()
    y[1].zero_()  # even where the view does not look
    with pytest.raises(RuntimeError, match=CHANGED):
        z.backward()


def test_a_change_of_a_leaf_under_no_grad_is_noticed() -> None:
    w = leaf([1.0, 2.0])
    y = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.1)
    with pytest.raises(RuntimeError, match=CHANGED):
        y.backward()


def test_a_constant_that_was_saved_must_not_change() -> None:
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    y = (x * c).sum()
    c.add_(1)
    with pytest.raises(RuntimeError, match=CHANGED):
        y.backward()


def test_the_message_names_type_shape_and_versions() -> None:
    y = leaf([1.0, 2.0]) * 2
    z = torch.sin(y).sum()
    y.add_(1)
    words = r"\[torch\.DoubleTensor \[2\]\], which is output 0 of Add(Backward0)?, is at version 1; expected version 0"
    with pytest.raises(RuntimeError, match=words):
        z.backward()


def test_an_in_place_unary_saves_what_it_needs() -> None:
    x = leaf([0.0, 1.0])
    y = x * 1
    y.sin_()
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([1.0, 0.5403023058681398])


def test_squaring_in_place() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    y.pow_(2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_multiplying_a_tensor_by_itself_in_place() -> None:
    x = leaf([2.0, 3.0])
    y = x.clone()
    y *= y
    with pytest.raises(RuntimeError, match=CHANGED):
        y.sum().backward()


# Histories


def test_the_history_after_a_change() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    before = y.grad_fn
    y.add_(1)
    assert y.grad_fn is not before
    assert y.grad_fn.name() == "AddBackward0"
    assert y.grad_fn.next_functions[0][0] is before


def test_the_in_place_methods_return_the_tensor() -> None:
    y = leaf([1.0, 2.0]) * 3
    assert y.add_(1) is y
    assert y.mul_(2) is y
    assert y.zero_() is y
    assert y.fill_(3.0) is y
    assert y.copy_(const([1.0, 2.0])) is y


def test_a_constant_becomes_an_inner_tensor() -> None:
    x = leaf([1.0, 2.0])
    total = torch.zeros(2, dtype=torch.float64)
    total += x * 3
    assert total.requires_grad
    assert not total.is_leaf
    total.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_an_accumulating_loop() -> None:
    x = leaf(2.0)
    total = torch.zeros((), dtype=torch.float64)
    for k in range(1, 4):
        total += x * k
    total.backward()
    assert x.grad.item() == 6.0


def test_arithmetic_in_place_in_a_chain() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y += 1
    y *= x
    y -= x
    y /= 2
    y.sum().backward()
    assert y.tolist() == [1.0, 4.0]
    assert x.grad.tolist() == [2.0, 4.0]


def test_zero_in_place_cuts_the_history() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    y.zero_()
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_fill_with_a_tensor_that_requires_grad() -> None:
    v = leaf(3.0)
    y = torch.zeros(2, dtype=torch.float64)
    y.fill_(v * 2)
    y.sum().backward()
    assert v.grad.item() == 4.0


def test_copy_in_place_broadcasts_and_converts() -> None:
    v = torch.tensor([3.0], dtype=torch.float32, requires_grad=True)
    y = torch.zeros(2, 3, dtype=torch.float64)
    y.copy_(v)
    y.sum().backward()
    assert y.dtype == torch.float64
    assert v.grad.tolist() == [6.0]
    assert v.grad.dtype == torch.float32


def test_a_smaller_operand_broadcasts_in_place() -> None:
    x, v = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([10.0, 20.0])
    y = x * 1
    y.mul_(v)
    y.sum().backward()
    assert x.grad.tolist() == [[10.0, 20.0], [10.0, 20.0]]
    assert v.grad.tolist() == [4.0, 6.0]


def test_a_larger_operand_is_refused() -> None:
    y = const([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"):
        y.add_(torch.ones(3, 2, dtype=torch.float64))
    assert y.tolist() == [1.0, 2.0]


def test_a_type_that_does_not_fit_is_refused() -> None:
    y = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match=r"result type .* can't be cast to the desired output type"):
        y.mul_(0.5)


def test_alpha_and_value() -> None:
    x, d = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * 1
    y.add_(d, alpha=-0.5)
    assert y.tolist() == [-0.5, 0.0]
    y.sum().backward()
    assert d.grad.tolist() == [-0.5, -0.5]


def test_addcmul_and_addcdiv_in_place() -> None:
    x = const([1.0, 2.0])
    x.addcmul_(const([1.0, 2.0]), const([3.0, 4.0]), value=2)
    assert x.tolist() == [7.0, 18.0]
    x.addcdiv_(const([1.0, 2.0]), const([2.0, 4.0]), value=-2)
    assert x.tolist() == [6.0, 17.0]


def test_lerp_in_place() -> None:
    x = const([1.0, 2.0])
    x.lerp_(const([3.0, 4.0]), 0.5)
    assert x.tolist() == [2.0, 3.0]


def test_masked_fill_in_place() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    y.masked_fill_(torch.tensor([True, False, True]), 0.0)
    y.sum().backward()
    assert y.tolist() == [0.0, 4.0, 0.0]
    assert x.grad.tolist() == [0.0, 2.0, 0.0]


@pytest.mark.parametrize("method", ["exp_", "sqrt_", "neg_", "reciprocal_", "sigmoid_", "tanh_", "relu_", "abs_"])
def test_in_place_equals_the_ordinary_operation(method: str) -> None:
    x, w = leaf([0.5, 1.5]), leaf([0.5, 1.5])
    y = w * 2
    getattr(y, method)()
    z = getattr(x * 2, method[:-1])()
    y.sum().backward()
    z.sum().backward()
    assert y.tolist() == z.tolist()
    assert w.grad.tolist() == pytest.approx(x.grad.tolist(), rel=1e-15)


# Leaves


@pytest.mark.parametrize(
    "change",
    [lambda x: x.add_(1), lambda x: x.zero_(), lambda x: x.mul_(2), lambda x: x.copy_(const([3.0, 4.0])), lambda x: x.exp_()],
    ids=["add", "zero", "mul", "copy", "exp"],
)
def test_a_leaf_that_requires_grad_is_refused(change: Callable[[Any], Any]) -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=LEAF):
        change(x)
    assert x.tolist() == [1.0, 2.0]
    assert x._version == 0


def test_operators_on_a_leaf_are_refused() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=LEAF):
        x += 1


@pytest.mark.parametrize("key", [0, slice(0, 1), slice(None), torch.tensor([True, False])], ids=["number", "slice", "all", "mask"])
def test_assignment_to_a_leaf_is_refused(key: Any) -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"leaf Variable that requires grad is being used in an in-place operation"):
        x[key] = 5.0
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "view",
    [lambda x: x[0], lambda x: x[:1], lambda x: x.view(4), lambda x: x.t(), lambda x: x.unsqueeze(0), lambda x: x.transpose(0, 1)],
    ids=["select", "slice", "view", "t", "unsqueeze", "transpose"],
)
def test_a_view_of_a_leaf_is_refused(view: Callable[[Any], Any]) -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    part = view(x)
    with pytest.raises(RuntimeError, match=VIEW_OF_LEAF):
        part.zero_()
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_leaf_may_change_under_no_grad() -> None:
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        x.add_(1)
        x[0] = 10.0
        x[1:].mul_(2)
    assert x.tolist() == [10.0, 6.0]
    assert (x.is_leaf, x.requires_grad, x._version) == (True, True, 3)


def test_a_leaf_without_grad_may_change() -> None:
    x = const([1.0, 2.0])
    x.add_(1)
    x[0] = 7.0
    assert x.tolist() == [7.0, 3.0]
    assert x.is_leaf


def test_a_leaf_without_grad_given_a_history() -> None:
    x, w = const([1.0, 2.0]), leaf([3.0, 4.0])
    x.mul_(w)
    assert (x.requires_grad, x.is_leaf) == (True, False)
    x.sum().backward()
    assert w.grad.tolist() == [1.0, 2.0]


# Views that change take their base along


def test_a_change_of_a_view_is_seen_in_the_base() -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    x[0].mul_(10)
    x[:, 1].add_(1)
    assert x.tolist() == [[10.0, 21.0], [3.0, 5.0]]


def test_a_change_of_the_base_is_seen_in_a_view() -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    part = x[1]
    x.mul_(10)
    assert part.tolist() == [30.0, 40.0]


def test_a_change_of_a_view_rewrites_the_history_of_the_base() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    part = y[1:]
    part.mul_(10)
    assert y.tolist() == [2.0, 40.0, 60.0]
    assert y.grad_fn.__class__.__name__ == "CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 20.0, 20.0]


def test_zero_of_an_element_cuts_its_history() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    y[0].zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0]


def test_the_view_itself_has_the_new_history_too() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    part = y[1:]
    part.mul_(10)
    part.sum().backward()
    assert x.grad.tolist() == [0.0, 20.0, 20.0]


def test_other_views_see_the_new_history() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    first, second = y[:2], y[1:]
    second.mul_(10)
    assert first.tolist() == [2.0, 40.0]
    first.sum().backward()
    assert x.grad.tolist() == [2.0, 20.0, 0.0]


def test_a_change_of_the_base_gives_views_a_new_history() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    part = y[1:]
    y.mul_(10)
    assert part.tolist() == [40.0, 60.0]
    part.sum().backward()
    assert x.grad.tolist() == [0.0, 20.0, 20.0]


def test_a_view_of_a_view() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    y[0][1].mul_(5)
    assert y.tolist() == [[1.0, 10.0], [3.0, 4.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 5.0], [1.0, 1.0]]


def test_a_view_of_a_transposed_view() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1
    y.t()[0].mul_(5)
    assert y.tolist() == [[5.0, 2.0], [15.0, 4.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[5.0, 1.0], [5.0, 1.0]]


def test_a_value_with_history_written_to_a_view() -> None:
    x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
    y = x * 2
    y[1:].copy_(v * 3)
    y.sum().backward()
    assert y.tolist() == [2.0, 30.0, 60.0]
    assert x.grad.tolist() == [2.0, 0.0, 0.0]
    assert v.grad.tolist() == [3.0, 3.0]


def test_a_constant_base_takes_the_history_of_what_is_written_to_its_view() -> None:
    v = leaf([10.0, 20.0])
    base = torch.zeros(3, dtype=torch.float64)
    base[1:].add_(v)
    assert base.requires_grad
    assert base.grad_fn.__class__.__name__ == "CopySlices"
    (base * const([1.0, 2.0, 3.0])).sum().backward()
    assert v.grad.tolist() == [2.0, 3.0]


def test_two_changes_of_two_views() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y[:2].mul_(2)
    y[1:].mul_(3)
    assert y.tolist() == [2.0, 12.0, 9.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 6.0, 3.0]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (lambda y: y[0], [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]),
        (lambda y: y[:, 1:], [[1.0, 3.0, 3.0], [1.0, 3.0, 3.0]]),
        (lambda y: y[:, ::2], [[3.0, 1.0, 3.0], [3.0, 1.0, 3.0]]),
        (lambda y: y[..., -1], [[1.0, 1.0, 3.0], [1.0, 1.0, 3.0]]),
        (lambda y: y.t()[1], [[1.0, 3.0, 1.0], [1.0, 3.0, 1.0]]),
        (lambda y: y.T[1:], [[1.0, 3.0, 3.0], [1.0, 3.0, 3.0]]),
        (lambda y: y.view(6)[4:], [[1.0, 1.0, 1.0], [1.0, 3.0, 3.0]]),
        (lambda y: y.view(-1)[1], [[1.0, 3.0, 1.0], [1.0, 1.0, 1.0]]),
        (lambda y: y.reshape(3, 2)[0], [[3.0, 3.0, 1.0], [1.0, 1.0, 1.0]]),
        (lambda y: y.permute(1, 0)[2], [[1.0, 1.0, 3.0], [1.0, 1.0, 3.0]]),
        (lambda y: y.transpose(0, 1)[0, 1], [[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]]),
        (lambda y: y.unsqueeze(0)[0, 1], [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]),
        (lambda y: y[None, 0], [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]),
        (lambda y: y[:1].squeeze(0), [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]),
        (lambda y: y[:1].squeeze(), [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]),
        (lambda y: y.flatten()[:2], [[3.0, 3.0, 1.0], [1.0, 1.0, 1.0]]),
        (lambda y: y.narrow(1, 1, 1), [[1.0, 3.0, 1.0], [1.0, 3.0, 1.0]]),
        (lambda y: y.select(1, 2), [[1.0, 1.0, 3.0], [1.0, 1.0, 3.0]]),
        (lambda y: y.diagonal(), [[3.0, 1.0, 1.0], [1.0, 3.0, 1.0]]),
        (lambda y: y.view_as(torch.ones(3, 2))[2], [[1.0, 1.0, 1.0], [1.0, 3.0, 3.0]]),
        (lambda y: y.movedim(0, 1)[1], [[1.0, 3.0, 1.0], [1.0, 3.0, 1.0]]),
        (lambda y: y.unflatten(1, (3, 1))[0], [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0]]),
        (lambda y: y.detach()[0], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]),
    ],
    ids=(
        "row",
        "columns",
        "step",
        "ellipsis",
        "t",
        "T",
        "view",
        "view element",
        "reshape",
        "permute",
        "transpose",
        "unsqueeze",
        "none",
        "squeeze dim",
        "squeeze",
        "flatten",
        "narrow",
        "select",
        "diagonal",
        "view_as",
        "movedim",
        "unflatten",
        "detach",
    ),
)
def test_every_kind_of_view_writes_through_to_its_base(view: Callable[[Any], Any], expected: Any) -> None:
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = x * 1
    view(y).mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == expected


@pytest.mark.parametrize(
    "split", [lambda y: y.split(1), lambda y: y.unbind(0), lambda y: torch.chunk(y, 2)], ids=["split", "unbind", "chunk"]
)
def test_one_of_several_views_cannot_change(split: Callable[[Any], Any]) -> None:
    y = leaf([[1.0, 2.0], [3.0, 4.0]]) * 1
    first = split(y)[0]
    with pytest.raises(RuntimeError, match="This view is the output of a function that returns multiple views"):
        first.mul_(3)


def test_several_views_may_change_without_a_history() -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    first, second = x.unbind(0)
    first.mul_(3)
    second.zero_()
    assert x.tolist() == [[3.0, 6.0], [0.0, 0.0]]


def test_a_view_made_under_no_grad_cannot_be_changed_while_recording() -> None:
    y = leaf([1.0, 2.0]) * 1
    with torch.no_grad():
        part = y[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        part.mul_(3)


def test_a_view_changed_under_no_grad_keeps_the_history() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    with torch.no_grad():
        y[0].zero_()
    assert y.tolist() == [0.0, 6.0]
    assert y.grad_fn.name() == "MulBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.filterwarnings("ignore:Use of index_put_ on expanded tensors:UserWarning")
@pytest.mark.parametrize("key", [[0], [1], ([0], slice(1, 3))])
def test_positions_of_expanded_tensors_are_written(key: Any) -> None:
    """Rows that share memory all show the new numbers, although only one of them is named."""
    x = torch.tensor([1.0, math.nan, 3.0], dtype=torch.float64)
    y = x.expand(2, 3)
    y[key] = 5.0
    expected = [5.0, 5.0, 5.0] if isinstance(key, list) else [1.0, 5.0, 5.0]
    assert x.tolist() == expected
    assert y.tolist() == [expected, expected]


def test_expanded_tensors_cannot_be_written() -> None:
    x = torch.ones(1, dtype=torch.float64).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        x.add_(1)


def test_the_base_of_a_view() -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    assert x._base is None
    assert x[0]._base is x
    assert x[0][1:]._base is x
    assert not x._is_view()
    assert x.t()._is_view()


def test_a_detached_tensor_that_changes_leaves_the_history_alone() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    y.detach()[0] = 100.0
    assert y.tolist() == [100.0, 6.0]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_gathered_copy_is_no_view() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y[[0, 2]].mul_(10)
    assert y.tolist() == [1.0, 2.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


# Assignment to positions


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (0, 9.0, [[9.0, 9.0, 9.0], [4.0, 5.0, 6.0]]),
        (-1, 9.0, [[1.0, 2.0, 3.0], [9.0, 9.0, 9.0]]),
        ((0, 1), 9.0, [[1.0, 9.0, 3.0], [4.0, 5.0, 6.0]]),
        ((slice(None), 0), 9.0, [[9.0, 2.0, 3.0], [9.0, 5.0, 6.0]]),
        ((slice(None), slice(None, None, 2)), 9.0, [[9.0, 2.0, 9.0], [9.0, 5.0, 9.0]]),
        ((..., -1), 9.0, [[1.0, 2.0, 9.0], [4.0, 5.0, 9.0]]),
        (slice(None), 9.0, [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]]),
        (..., 9.0, [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]]),
        ([1], 9.0, [[1.0, 2.0, 3.0], [9.0, 9.0, 9.0]]),
        (([0, 1], [2, 0]), 9.0, [[1.0, 2.0, 9.0], [9.0, 5.0, 6.0]]),
        ((slice(None), [0, 2]), 9.0, [[9.0, 2.0, 9.0], [9.0, 5.0, 9.0]]),
        (0, [7.0, 8.0, 9.0], [[7.0, 8.0, 9.0], [4.0, 5.0, 6.0]]),
        ((slice(None), slice(1, 3)), [7.0, 8.0], [[1.0, 7.0, 8.0], [4.0, 7.0, 8.0]]),
        ((slice(None), 1), [7.0, 8.0], [[1.0, 7.0, 3.0], [4.0, 8.0, 6.0]]),
    ],
    ids=str,
)
def test_assignment_of_constants(key: Any, value: Any, expected: Any) -> None:
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = x * 1
    y[key] = const(value) if isinstance(value, list) else value
    assert y.tolist() == expected
    y.sum().backward()
    assert x.grad.tolist() == [
        [float(e == s) for e, s in zip(a, b, strict=True)] for a, b in zip(expected, x.tolist(), strict=True)
    ]


def test_assignment_by_a_mask() -> None:
    x, v = leaf([1.0, 2.0, 3.0]), leaf(10.0)
    y = x * 1
    y[torch.tensor([True, False, True])] = v * 2
    y.sum().backward()
    assert y.tolist() == [20.0, 2.0, 20.0]
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    assert v.grad.item() == 4.0


def test_assignment_by_a_mask_made_from_the_tensor_itself() -> None:
    x = leaf([1.0, -2.0, 3.0])
    y = x * 1
    y[y < 0] = 0.0
    y.sum().backward()
    assert y.tolist() == [1.0, 0.0, 3.0]
    assert x.grad.tolist() == [1.0, 0.0, 1.0]


def test_assignment_by_positions_in_a_tensor() -> None:
    x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
    y = x * 1
    y[torch.tensor([2, 0])] = v
    y.sum().backward()
    assert y.tolist() == [20.0, 2.0, 10.0]
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    assert v.grad.tolist() == [1.0, 1.0]


def test_assignment_to_a_number_makes_copy_slices() -> None:
    y = leaf([1.0, 2.0, 3.0]) * 1
    y[0] = leaf(5.0)
    assert y.grad_fn.__class__.__name__ == "CopySlices"


def test_assignment_by_a_list_makes_index_put() -> None:
    y = leaf([1.0, 2.0, 3.0]) * 1
    y[[0, 1]] = leaf(5.0)
    assert y.grad_fn.name() == "IndexPutBackward0"


def test_assignment_of_a_tensor_that_broadcasts() -> None:
    x, v = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([10.0, 20.0])
    y = x * 1
    y[:] = v
    (y * const([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert v.grad.tolist() == [4.0, 6.0]
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_assignment_of_another_type_converts() -> None:
    v = torch.tensor(3.0, dtype=torch.float32, requires_grad=True)
    y = torch.zeros(2, dtype=torch.float64)
    y[1] = v
    y.sum().backward()
    assert y.dtype == torch.float64
    assert v.grad.dtype == torch.float32
    assert v.grad.item() == 1.0


def test_assignment_of_a_shape_that_does_not_fit_is_refused() -> None:
    y = torch.zeros(2, 3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"shape mismatch|must match|doesn't match"):
        y[0] = const([1.0, 2.0])
    assert y.sum().item() == 0.0


def test_a_jacobian_filled_element_by_element() -> None:
    x = leaf([2.0, 3.0])
    out = torch.zeros(2, 2, dtype=torch.float64)
    for i in range(2):
        for j in range(2):
            out[i, j] = x[i] * x[j]
    out.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_a_recurrence_written_into_a_tensor() -> None:
    x = leaf(2.0)
    states = torch.zeros(4, dtype=torch.float64)
    state = torch.ones((), dtype=torch.float64)
    for i in range(4):
        state = state * x
        states[i] = state
    states.sum().backward()
    assert x.grad.item() == 1 + 4 + 12 + 32.0


def test_adding_to_an_element() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    y[0] += x[1] * 3
    assert y.tolist() == [7.0, 2.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 4.0]


def test_assignment_of_a_part_to_another_part() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y[0] = y[2]
    y.sum().backward()
    assert y.tolist() == [3.0, 2.0, 3.0]
    assert x.grad.tolist() == [0.0, 1.0, 2.0]


def test_second_derivative_through_an_assignment() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    y[0] = x[1] ** 3
    (g,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    assert g.tolist() == [0.0, 196.0]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [0.0, 30 * 2.0**4 + 2]


def test_gradcheck_of_a_function_that_changes_a_view() -> None:
    def change(x: Any) -> Any:
        y = x.clone()
        y[0].mul_(2)
        y[:, 1].add_(y[:, 0].clone())
        return y

    assert torch.autograd.gradcheck(change, leaf([[1.0, 2.0], [3.0, 4.0]]))
    assert torch.autograd.gradgradcheck(lambda x: change(x) ** 2, leaf([[1.0, 2.0], [3.0, 4.0]]))


def test_in_place_inside_of_a_function_does_not_leak() -> None:
    x = leaf([1.0, 2.0])

    def normalised(v: Any) -> Any:
        v = v.clone()
        v.sub_(v.mean())
        return v

    normalised(x)[0].backward()
    assert x.tolist() == [1.0, 2.0]
    assert x.grad.tolist() == [0.5, -0.5]


def test_index_add_and_index_fill_and_scatter() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y.index_add_(0, torch.tensor([0, 0, 2]), const([10.0, 20.0, 30.0]))
    assert y.tolist() == [31.0, 2.0, 33.0]
    z = torch.zeros(3, dtype=torch.float64).scatter_add(0, torch.tensor([1, 1, 0]), x)
    assert z.tolist() == [3.0, 3.0, 0.0]
    (z * const([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [10.0, 10.0, 1.0]


def test_shapes_of_a_view_stay() -> None:
    y = leaf([[1.0, 2.0], [3.0, 4.0]]) * 1
    part = y[0]
    part.mul_(2)
    assert shape(part) == [2]
    assert shape(y) == [2, 2]


# Views that are easily forgotten


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.view(1),
        lambda x: x.reshape(1),
        lambda x: x.unsqueeze(0),
        lambda x: x[None],
        lambda x: x[...],
        lambda x: x.t(),
        lambda x: x.squeeze(),
        lambda x: x.view(()),
        lambda x: x.expand(1),
        lambda x: x.detach(),
    ],
    ids=["view", "reshape", "unsqueeze", "none", "ellipsis", "t", "squeeze", "view ()", "expand", "detach"],
)
def test_views_of_a_scalar(view: Callable[[Any], Any]) -> None:
    x = const(2.0)
    view(x).mul_(3)
    assert x.item() == 6.0
    assert x._version == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[0, 0],
        lambda x: x[0][0],
        lambda x: x.t()[0, 0],
        lambda x: x[...],
        lambda x: x.t(),
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x[:],
        lambda x: x.view(4),
        lambda x: x.flatten(),
        lambda x: next(iter(x)),
        lambda x: x.expand(2, 2),
        lambda x: x.squeeze(),
        lambda x: x.data,
    ],
    ids=range(14),
)
def test_views_write_to_their_base(view: Callable[[Any], Any]) -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    part = view(x)
    part.mul_(5)
    assert x[0, 0].item() == 5.0
    x.zero_()
    assert part.sum().item() == 0.0


@pytest.mark.parametrize(
    "view",
    [lambda x: x[0, 0], lambda x: x[...], lambda x: x.t(), lambda x: x[:]],
    ids=["element", "...", "t", ":"],
)
def test_views_of_a_leaf_that_are_easily_forgotten(view: Callable[[Any], Any]) -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    part = view(x)
    with pytest.raises(RuntimeError, match=VIEW_OF_LEAF):
        part.zero_()
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "view",
    [lambda x: x[0, 0], lambda x: x[...], lambda x: x.t(), lambda x: x[:1]],
    ids=["element", "...", "t", "slice"],
)
def test_a_saved_view_notices_a_change_of_its_base(view: Callable[[Any], Any]) -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    z = (view(x) ** 2).sum()
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match=CHANGED):
        z.backward()


def test_a_base_that_is_a_leaf_updated_under_no_grad_with_views_alive() -> None:
    x = leaf([1.0, 2.0])
    part = x[0]
    with torch.no_grad():
        x.mul_(10)
    assert part.item() == 10.0
    part.backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_a_value_with_leading_ones_is_assigned() -> None:
    v = leaf([[5.0, 6.0]])
    y = torch.zeros(2, 2, dtype=torch.float64)
    y[0] = v
    assert y.tolist() == [[5.0, 6.0], [0.0, 0.0]]
    y.sum().backward()
    assert v.grad.tolist() == [[1.0, 1.0]]


def test_assignment_from_a_position_in_a_tensor() -> None:
    y = torch.zeros(3, dtype=torch.float64)
    y[torch.tensor(1)] = 5.0
    y[torch.tensor(2) :] = 7.0
    assert y.tolist() == [0.0, 5.0, 7.0]


def test_fill_diagonal() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 2
    assert y.fill_diagonal_(7.0) is y
    assert y.tolist() == [[7, 4], [6, 7]]
    assert type(y.grad_fn).__name__ == "CopySlices"
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0, 16], [24, 0]]
    assert torch.zeros(4, 2).fill_diagonal_(1, wrap=True).tolist() == [[1, 0], [0, 1], [0, 0], [1, 0]]
    with pytest.raises(RuntimeError, match="dimensions must larger than 1"):
        torch.zeros(2).fill_diagonal_(1)


# Values that share memory with the tensor that is changed


@pytest.mark.parametrize("value", [lambda x: x[1:], lambda x: x[1], lambda x: x, lambda x: x.detach()[:1]])
def test_elements_cannot_be_set_from_the_same_memory(value: Callable[[Any], Any]) -> None:
    x = const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory"):
        x[[0, 1]] = value(x)
    assert x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    x[[0, 1]] = value(x).clone()


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.div_(x.T),
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[0, 1:].mul_(x[0, :-1]),
        lambda x: x.mul_(x[0, 0]),
        lambda x: x.__imul__(x[0]),
        lambda x: x.copy_(x.T),
        lambda x: x.__setitem__(slice(1, None), x[:-1]),
        lambda x: x.addcmul_(x.clone(), x.T),
        lambda x: x.lerp_(x.clone(), weight=x.T),
        lambda x: x.index_add_(0, torch.tensor([0]), x[:1]),
    ],
    ids=range(10),
)
def test_a_tensor_cannot_be_changed_by_a_part_of_itself(change: Callable[[Any], Any]) -> None:
    x = const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single"):
        change(x)
    assert x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]


def test_a_tensor_can_be_changed_by_itself_and_by_other_parts_of_its_memory() -> None:
    x = const([[1.0, 2.0], [3.0, 4.0]])
    x.mul_(x).add_(x[:])
    assert x.tolist() == [[2.0, 8.0], [18.0, 32.0]]
    x[0].add_(x[1])
    assert x.tolist() == [[20.0, 40.0], [18.0, 32.0]]
    x[:, 0].add_(x[:, 1])
    assert x.tolist() == [[60.0, 40.0], [50.0, 32.0]]
    x.T.mul_(x.T)
    assert x.tolist() == [[3600.0, 1600.0], [2500.0, 1024.0]]
    x[:] = x[0, 1]
    assert x.tolist() == [[1600.0, 1600.0], [1600.0, 1600.0]]


def test_elements_can_be_set_from_other_memory_of_the_tensor() -> None:
    x = const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x[:, [0]] = x[:, 1:2]
    assert x.tolist() == [[2.0, 2.0, 3.0], [5.0, 5.0, 6.0]]
    y = const([1.0, 2.0, 3.0])
    y[y > 1] = y[0]
    assert y.tolist() == [1.0, 1.0, 1.0]


def test_a_refused_change_does_not_count() -> None:
    x = const([1.0, 2.0, 3.0]).expand(2, 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x += 1
    assert x._version == 0


def test_the_accumulation_of_a_gradient_counts_as_a_change() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x * 2).sum().backward()
    assert x.grad._version == 0
    y = (x.grad * w).sum()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    assert x.grad._version == 1
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.* is at version 1; expected version 0"):
        y.backward()


def test_views_can_be_detached_in_place_in_inference_mode() -> None:
    x = const([1.0, 2.0]).reshape(2, 1)
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        x.detach_()
    with torch.inference_mode():
        assert x.detach_() is x


def test_a_tensor_is_not_filled_with_nothing() -> None:
    with pytest.raises(TypeError, match=r"fill_\(\)"):
        const([1.0]).fill_(None)
