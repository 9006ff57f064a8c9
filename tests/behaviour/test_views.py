"""Guards of views and of detached tensors: which changes in place are refused, and what a view knows afterwards."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch

VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation"
NO_GRAD = "A view was created in no_grad mode and is being modified inplace with grad mode enabled."
NO_GRAD_BASE = "A view was created in no_grad mode and its base or another view of its base has been modified inplace"
SEVERAL = "This view is the output of a function that returns multiple views."
OVERLAP = "unsupported operation: more than one element of the written-to tensor refers to a single memory location."
DETACH_VIEW = "Can't detach views in-place. Use detach\\(\\) instead."
DETACHED = "Trying to use a saved tensor that has been detached in-place"


def kind(tensor: Any) -> str:
    return type(tensor.grad_fn).__name__


# Views that require grad because their base does


def test_a_view_made_under_no_grad_requires_grad_like_its_base() -> None:
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        v = x[:1]
        assert v.numpy().tolist() == [1.0]
    assert v.requires_grad
    assert v.is_leaf
    assert v.grad_fn is None
    y = v * 2
    assert y.requires_grad
    assert y.grad_fn.next_functions == ((None, 0), (None, 0))


def test_no_gradient_flows_through_it() -> None:
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        v = x[:1]
    ((v * v).sum() + (x * 3).sum()).backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert v.grad is None
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        v.backward()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad((v * 2).sum(), v)


def test_a_view_follows_its_base_that_starts_to_require_grad() -> None:
    x = const([1.0, 2.0])
    v = x[:1]
    x.requires_grad = True
    assert v.requires_grad
    assert v.is_leaf
    with pytest.raises(RuntimeError, match=VIEW_OF_LEAF):
        v.add_(5)


def test_a_view_of_a_constant_may_require_grad_on_its_own() -> None:
    x = const([1.0, 2.0])
    v = x[:1].requires_grad_()
    assert not x.requires_grad
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3.0]
    assert x.grad is None
    with pytest.raises(RuntimeError, match=VIEW_OF_LEAF):
        v.add_(1)


def test_a_view_with_a_gradient_of_its_own_takes_the_history_of_its_base() -> None:
    x = const([1.0, 2.0])
    v = x[:1].requires_grad_()
    x.add_(1)
    assert v.grad_fn is None
    x.mul_(leaf([3.0, 4.0]))
    assert kind(v) == "AsStridedBackward0"


def test_detaching_a_base_leaves_its_views() -> None:
    y = leaf([1.0, 2.0]) * 2
    v = y[:1]
    y.detach_()
    assert not y.requires_grad
    assert kind(v) == "SliceBackward0"


# Views made under no_grad


def test_a_view_of_a_view_made_under_no_grad_cannot_change() -> None:
    for x in (leaf([1.0, 2.0]), leaf([1.0, 2.0]) * 2):
        with torch.no_grad():
            v = x[:]
        w = v[:1]
        words = "Output 0 of Slice(Backward0)? is a view of a view which was created in no_grad mode and is being modified inplace"
        with pytest.raises(RuntimeError, match=words):
            w.add_(1)


def test_a_view_made_under_no_grad_is_lost_when_its_base_changes() -> None:
    x = leaf([1.0, 2.0]) * 2
    with torch.no_grad():
        v = x[:1]
    x.add_(1)
    for use in (lambda: v.grad_fn, lambda: v.is_leaf, lambda: v * 2):
        with pytest.raises(RuntimeError, match=NO_GRAD_BASE):
            use()  # type: ignore[no-untyped-call]
    assert v.tolist() == [3.0]


def test_a_view_changed_under_no_grad_still_computes_there() -> None:
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        v = x[:1]
        v.sub_(1)
        assert (v * 2).tolist() == [0.0]
        assert v.requires_grad
        assert v.detach().tolist() == v.clone().tolist() == [0.0]
    with pytest.raises(RuntimeError, match=NO_GRAD_BASE):
        v * 2


def test_a_constant_view_made_under_no_grad_refuses_a_history() -> None:
    x = const([1.0, 2.0])
    with torch.no_grad():
        v = x[:1]
    v.add_(1)
    with pytest.raises(RuntimeError, match=NO_GRAD):
        v.mul_(leaf([2.0]))


# Several views


def splits() -> list[Any]:
    return [
        pytest.param(lambda x: x.unbind(), "Unbind", id="unbind"),
        pytest.param(lambda x: x.split(1), "Split", id="split"),
        pytest.param(lambda x: x.chunk(2), "Split", id="chunk"),
        pytest.param(lambda x: x.split([1, 1]), "SplitWithSizes", id="sizes"),
        pytest.param(lambda x: x.split_with_sizes([1, 1]), "SplitWithSizes", id="split_with_sizes"),
    ]


@pytest.mark.parametrize(("split", "name"), splits())
def test_one_of_several_views_says_which_it_is(split: Callable[[Any], Any], name: str) -> None:
    _, second = split(leaf([1.0, 2.0]) * 2)
    with pytest.raises(RuntimeError, match=f"Output 1 of {name}(Backward0)? is a view and is being modified inplace. {SEVERAL}"):
        second.add_(1)


@pytest.mark.parametrize(("split", "name"), splits())
def test_several_views_are_lost_when_their_base_changes(split: Callable[[Any], Any], name: str) -> None:
    x = leaf([1.0, 2.0]) * 2
    first, _ = split(x)
    x.add_(1)
    words = (
        f"Output 0 of {name}(Backward0)? is a view and its base or another view of its base has been modified inplace. {SEVERAL}"
    )
    with pytest.raises(RuntimeError, match=words):
        first * 2
    assert first.tolist() in ([3.0], 3.0)


def test_several_views_are_lost_when_their_base_changes_under_no_grad() -> None:
    x = leaf([1.0, 2.0]) * 2
    first, _ = x.unbind()
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match=SEVERAL):
        _ = first.grad_fn


def test_a_view_of_one_of_several_views_cannot_change() -> None:
    first, _ = (leaf([1.0, 2.0]) * 2).unbind()
    with pytest.raises(RuntimeError, match=f"Output 0 of View(Backward0)? is a view and is being modified inplace. {SEVERAL}"):
        first.view(1).add_(1)


def test_several_views_of_a_constant() -> None:
    x = const([1.0, 2.0])
    first, second = x.unbind()
    first.add_(1)
    second.mul_(3)
    assert x.tolist() == [2.0, 6.0]
    with pytest.raises(RuntimeError, match=f"{NO_GRAD} {SEVERAL}"):
        first.mul_(leaf(2.0))


def unsafe() -> list[Any]:
    return [
        pytest.param(lambda x: x.unsafe_split(1), "UnsafeSplitBackward0", id="unsafe_split"),
        pytest.param(lambda x: x.unsafe_chunk(2), "UnsafeSplitBackward0", id="unsafe_chunk"),
        pytest.param(lambda x: x.unsafe_split_with_sizes([1, 1]), "UnsafeSplitWithSizesBackward0", id="sizes"),
    ]


@pytest.mark.parametrize(("split", "name"), unsafe())
def test_unsafe_parts_may_change(split: Callable[[Any], Any], name: str) -> None:
    x = leaf([1.0, 2.0])
    first, second = split(x * 2)
    assert not first._is_view()
    assert kind(first) == name
    first.mul_(5)
    (first + second).sum().backward()
    assert x.grad.tolist() == [10.0, 2.0]


# Histories after a change


def test_a_view_of_a_changed_base_has_one_node() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    v = y.view(3, 1)[:2].view(2)
    y.mul_(const([2.0, 3.0, 4.0]))
    assert kind(v) == "AsStridedBackward0"
    assert v.grad_fn.next_functions == ((y.grad_fn, 0),)
    (v * v).sum().backward()
    assert x.grad.tolist() == [8.0, 36.0, 0.0]


def test_a_changed_view_has_one_node_on_its_base() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    v = y[:2]
    v.mul_(5)
    assert (kind(v), kind(y)) == ("AsStridedBackward0", "CopySlices")
    assert v.grad_fn.next_functions == ((y.grad_fn, 0),)


def test_a_change_under_no_grad_renews_the_histories_of_views() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    v = y[:1]
    with torch.no_grad():
        y.mul_(2)
    assert kind(v) == "AsStridedBackward0"
    (v * v).sum().backward()
    assert x.grad.tolist() == [4.0, 0.0]


def test_a_change_through_a_detached_alias_renews_them_too() -> None:
    y = leaf([1.0, 2.0]) * 1
    v = y[:1]
    y.detach().add_(1)
    assert kind(v) == "AsStridedBackward0"


def test_views_of_expanded_tensors_collect() -> None:
    x = leaf([1.0])
    y = x * 1
    v = y.expand(3)
    y.mul_(2)
    assert kind(v) == "AsStridedBackward0"
    (v * const([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [12.0]


def test_second_derivatives_of_a_view_of_a_changed_base() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    v = y[:1]
    y.mul_(x)
    (g,) = torch.autograd.grad((v**2).sum(), x, create_graph=True)
    assert g.tolist() == [4.0, 0.0]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [12.0, 0.0]


def test_hooks_on_the_old_value_of_a_view_do_not_run() -> None:
    seen: list[Any] = []
    x = leaf([1.0, 2.0])
    for change in (lambda y, v: v.mul_(2), lambda y, v: y.mul_(2)):
        y = x * 1
        v = y[:1]
        v.register_hook(seen.append)
        change(y, v)
        (v * 3).sum().backward()
    assert seen == []


def test_a_hook_on_the_base_sees_the_gradient_of_its_old_value() -> None:
    seen: list[Any] = []
    y = leaf([1.0, 2.0]) * 1
    v = y[:1]
    y.register_hook(lambda g: seen.append(g.tolist()))
    v.mul_(2)
    (v * 3).sum().backward()
    assert seen == [[6.0, 0.0]]


def test_a_retained_gradient_is_that_of_the_changed_values() -> None:
    y = leaf([1.0, 2.0]) * 1
    v = y[:1]
    v.retain_grad()
    y.retain_grad()
    y.mul_(2)
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3.0]
    assert y.grad.tolist() == [3.0, 0.0]


# Memory that repeats elements


def test_elements_of_an_expanded_tensor() -> None:
    x = torch.zeros(1).expand(3)
    x[0] = 3.0
    assert x.tolist() == [3.0, 3.0, 3.0]
    rows = torch.zeros(2, 1).expand(2, 3)
    rows[:, 0] = 4.0
    assert rows.tolist() == [[4.0] * 3] * 2


@pytest.mark.parametrize(
    "change", [lambda x: x.add_(1), lambda x: x[0].sin_(), lambda x: x.__setitem__(0, 3.0), lambda x: x.copy_(torch.ones(2, 3))]
)
def test_repeated_elements_do_not_change(change: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=OVERLAP):
        change(torch.zeros(2, 1).expand(2, 3))


def test_repeated_elements_may_be_filled() -> None:
    assert torch.zeros(1).expand(3).fill_(2.0).tolist() == [2.0, 2.0, 2.0]
    assert torch.ones(1).expand(3).zero_().tolist() == [0.0, 0.0, 0.0]


def test_masks_and_positions_of_an_expanded_tensor_warn() -> None:
    x = torch.zeros(1).expand(3)
    with pytest.warns(UserWarning, match="Use of masked_fill_ on expanded tensors is deprecated"):
        x.masked_fill_(x == 0, 2.0)
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_an_element_of_an_expanded_tensor_with_a_history() -> None:
    x = leaf([1.0])
    y = x * 1
    e = y.expand(3)
    e[0] = 3.0
    assert (kind(y), kind(e)) == ("CopySlices", "AsStridedBackward0")
    assert y.tolist() == [3.0]


# Detached tensors


def test_a_saved_tensor_that_was_detached_in_place() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    z = y.sin()
    y.detach_()
    with pytest.raises(RuntimeError, match=DETACHED):
        z.sum().backward()


def test_a_saved_output_that_was_detached_in_place() -> None:
    x = leaf([0.0])
    y = x.exp()
    z = (y * 1).sum()
    y.detach_()
    z.backward()
    assert x.grad.tolist() == [1.0]


def test_a_leaf_that_stopped_to_require_grad_gets_nothing() -> None:
    for stop in (lambda x: x.detach_(), lambda x: x.requires_grad_(False)):
        x = leaf([1.0])
        y = x.sin().sum()
        stop(x)
        y.backward()
        assert x.grad is None


def test_views_cannot_be_detached_in_place() -> None:
    for x in (leaf([1.0, 2.0]), leaf([1.0, 2.0]) * 2, const([1.0, 2.0])):
        with pytest.raises(RuntimeError, match=DETACH_VIEW):
            x[:1].detach_()


def test_a_detached_tensor_is_no_view() -> None:
    x = leaf([1.0, 2.0])
    d = x.detach()
    assert not d._is_view()
    assert d._base is None
    d.add_(1)
    assert (x._version, d._version, x.data._version) == (1, 1, 0)
    d.requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        d.add_(1)


# The values as an attribute


def test_data_of_another_shape_or_type() -> None:
    x = leaf([1.0, 2.0])
    x.data = torch.ones(3, dtype=torch.float64)
    assert shape(x) == [3]
    assert x.requires_grad
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]
    x = leaf([1.0, 2.0])
    x.data = torch.ones(2, dtype=torch.float32)
    assert x.dtype == torch.float32


def test_data_of_what_requires_grad_is_floating() -> None:
    for x in (leaf([1.0]), leaf([1.0]) * 2):
        with pytest.raises(RuntimeError, match="data set to a tensor that requires gradients must be floating point"):
            x.data = torch.tensor([1])
    y = const([1.0])
    y.data = torch.tensor([1])
    assert y.dtype == torch.int64


def test_data_that_is_not_a_tensor() -> None:
    x = leaf([1.0])
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got int"):
        x.data = 3


def test_data_shares_the_memory_it_is_given() -> None:
    x, y = leaf([1.0, 2.0]), const([3.0, 4.0])
    x.data = y
    x.data.add_(1)
    assert y.tolist() == x.tolist() == [4.0, 5.0]
    assert x._version == 0


# Flags


def test_flags_of_inner_tensors() -> None:
    y = leaf([1.0]) * 2
    with pytest.raises(
        RuntimeError, match=r"you can only change requires_grad flags of leaf variables. If you want to use a computed"
    ):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match=r"you can only change requires_grad flags of leaf variables\."):
        y.requires_grad = True
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        const([1.0]).requires_grad = 1
    with pytest.raises(TypeError, match=r"argument 'requires_grad' .* must be bool, not str"):
        const([1.0]).requires_grad_("a")


# Values outside: NumPy, copies, pickles


def test_numpy_of_what_requires_grad() -> None:
    x = leaf([1.0, 2.0])
    for y in (x, x * 1):
        with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
            y.numpy()
        assert y.numpy(force=True).tolist() == [1.0, 2.0]
        with torch.no_grad():
            assert y.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    x, w = const([1.0, 2.0]), leaf([[3.0]])
    w.grad = const([[5.0]])
    a, b, size = pickle.loads(pickle.dumps((x, w, w.shape), protocol))
    assert a.tolist() == [1.0, 2.0]
    assert not a.requires_grad
    assert b.tolist() == [[3.0]]
    assert b.requires_grad
    assert b.is_leaf
    assert b.grad is None
    assert tuple(size) == (1, 1)
    assert type(size) is type(w.shape)


def test_pickles_of_inner_tensors_are_leaves() -> None:
    y = pickle.loads(pickle.dumps(leaf([1.0]) * 2))
    assert y.is_leaf
    assert y.requires_grad
    assert y.tolist() == [2.0]
    v = pickle.loads(pickle.dumps(const([1.0, 2.0])[:1]))
    assert not v._is_view()


def test_copies() -> None:
    x = leaf([1.0])
    x.grad = const([2.0])
    c = copy.copy(x)
    with torch.no_grad():
        c.add_(1)
    assert x.tolist() == [2.0]
    assert c.requires_grad
    assert c.is_leaf
    d = copy.deepcopy([x, x])
    assert d[0] is d[1]
    assert d[0].grad.tolist() == [2.0]
    assert d[0].grad is not x.grad
    assert copy.copy(x * 2).grad_fn is None
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


# Version counters


def test_versions_by_hand() -> None:
    x, y = const([1.0]), const([2.0])
    torch.autograd.graph.increment_version(x)
    torch.autograd.graph.increment_version([x, y])
    assert (x._version, y._version) == (2, 1)
    with pytest.raises(RuntimeError, match="increment_version expect a Iterable\\[Tensor\\] as input"):
        torch.autograd.graph.increment_version(3)


# In-place methods


def test_shapes_that_change_in_place() -> None:
    x = leaf([[1.0, 2.0, 3.0]])
    y = x * 1
    for name, args, size in (
        ("t_", (), [3, 1]),
        ("squeeze_", (), [3]),
        ("unsqueeze_", (0,), [1, 3]),
        ("transpose_", (0, 1), [3, 1]),
    ):
        assert getattr(y, name)(*args) is y
        assert shape(y) == size
    assert kind(y) == "TransposeBackward1"
    assert y._version == 4
    (y * const([[1.0], [2.0], [3.0]])).sum().backward()
    assert x.grad.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("name", ["t_", "squeeze_"])
def test_shapes_of_leaves(name: str) -> None:
    x = leaf([[1.0, 2.0, 3.0]])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(x, name)()
    with torch.no_grad():
        getattr(x, name)()
    (x * 2).sum().backward()
    assert shape(x.grad) == shape(x)


def test_a_view_whose_shape_changed_still_writes_to_its_base() -> None:
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = x * 1
    v = y[:, :2]
    v.t_()
    assert (kind(v), kind(y)) == ("TBackward1", "MulBackward0")
    v.mul_(const([[1.0, 2.0], [3.0, 4.0]]))
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 3.0, 1.0], [2.0, 4.0, 1.0]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("eq_", [0, 1, 0]), ("ge_", [0, 1, 1]), ("less_", [1, 0, 0]), ("not_equal_", [1, 0, 1])],
)
def test_comparisons_in_place(name: str, expected: list[float]) -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    assert getattr(y, name)(2.0).tolist() == expected
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "args", "values", "grad"),
    [
        ("clamp_min_", (2.0,), [2.0, 2.0, 3.0], None),
        ("clamp_max_", (2.5,), [1.0, 2.0, 2.5], [1.0, 1.0, 0.0]),
        ("clip_", (1.5, 2.5), [1.5, 2.0, 2.5], [0.0, 1.0, 0.0]),
        ("negative_", (), [-1.0, -2.0, -3.0], [-1.0] * 3),
        ("multiply_", (2.0,), [2.0, 4.0, 6.0], [2.0] * 3),
        ("true_divide_", (2.0,), [0.5, 1.0, 1.5], [0.5] * 3),
        ("subtract_", (1.0,), [0.0, 1.0, 2.0], [1.0] * 3),
        ("absolute_", (), [1.0, 2.0, 3.0], [1.0] * 3),
        ("fix_", (), [1.0, 2.0, 3.0], [0.0] * 3),
        ("sgn_", (), [1.0, 1.0, 1.0], None),
    ],
)
def test_other_names_in_place(name: str, args: tuple[float, ...], values: list[float], grad: list[float] | None) -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    assert getattr(y, name)(*args) is y
    assert y.tolist() == values
    y.sum().backward()
    assert grad is None or x.grad.tolist() == grad


def test_logical_operators_in_place() -> None:
    x = torch.tensor([True, False])
    y = x
    x &= torch.tensor([True, True])
    x |= torch.tensor([False, True])
    x ^= torch.tensor([True, False])
    assert x is y
    assert x.tolist() == [False, True]
    assert x._version == 3


def test_a_diagonal_is_filled() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = x * 1
    y.fill_diagonal_(9.0)
    assert y.tolist() == [[9.0, 2.0], [3.0, 9.0], [5.0, 6.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    with quiet():
        assert const([[1.0, 2.0]] * 5).fill_diagonal_(0.0, wrap=True).tolist()[3] == [0.0, 2.0]


def test_windows_are_a_view() -> None:
    x = leaf([1.0, 2.0, 4.0])
    y = x * 1
    v = y.unfold(0, 2, 2)
    assert v._is_view()
    assert kind(v) == "UnfoldBackward0"
    v.mul_(3)
    assert y.tolist() == [3.0, 6.0, 4.0]
    assert kind(y) == "CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 1.0]


def test_windows_of_one_number() -> None:
    assert leaf(2.0).unfold(0, 1, 1).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="maximum size for tensor at dimension 0 is 1 but size is 2"):
        leaf(2.0).unfold(0, 2, 1)


def test_the_only_dimension_of_one_number() -> None:
    x = leaf(2.0)
    assert x.movedim(0, -1).tolist() == 2.0
    y = x * 1
    y.index_fill_(0, torch.tensor([0]), 5.0)
    assert y.tolist() == 5.0
    assert kind(y) == "IndexFillBackward0"
    with pytest.raises(RuntimeError, match="Index to scalar can have only 1 value, got 2 value"):
        x.index_select(0, torch.tensor([0, 0]))


def test_chunks_without_elements() -> None:
    assert [shape(part) for part in torch.zeros(0, 3).chunk(3)] == [[0, 3]] * 3


def test_fill_takes_a_number_or_a_tensor_without_dimensions() -> None:
    x, value = leaf([1.0, 2.0]), leaf(3.0)
    y = x * 2
    y.fill_(7.0)
    assert kind(y) == "FillBackward2"
    y.fill_(value)
    assert kind(y) == "FillBackward3"
    y.sum().backward()
    assert value.grad.item() == 2.0
    assert x.grad.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions"):
        y.fill_(x)


def test_dimensions_of_a_single_number_are_moved_by_a_view() -> None:
    x = leaf(2.0)
    assert type(x.movedim(0, -1).grad_fn).__name__ == "AliasBackward0"
    assert x.movedim(0, -1)._is_view()


def test_the_running_sum_of_a_single_number_is_not_a_view() -> None:
    x = leaf(2.0)
    y = x.cumsum(0)
    assert type(y.grad_fn).__name__ == "CumsumBackward0"
    assert not y._is_view()
    (y * 3).backward()
    assert x.grad.item() == 3.0
    z = y.detach().cumsum(0).add_(1)
    assert (y.item(), z.item()) == (2.0, 3.0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.cumsum(1)


# The words of errors


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: x.expand(3), RuntimeError, r"the number of sizes provided \(1\) must be greater or equal to the number of dim"),
        (
            lambda x: x.expand(4, 2, 2),
            RuntimeError,
            r"The expanded size of the tensor \(2\) must match the existing size \(3\) at non-singleton dimension 2.  "
            r"Target sizes: \[4, 2, 2\].  Tensor sizes: \[2, 3\]",
        ),
        (lambda x: x.narrow(0, 3, 1), IndexError, r"start out of range \(expected to be in range of \[-2, 2\], but got 3\)"),
        (lambda x: x.narrow(0, 1, 2), RuntimeError, r"start \(1\) \+ length \(2\) exceeds dimension size \(2\)"),
        (lambda x: x.narrow(0, 1, -1), RuntimeError, r"narrow\(\): length must be non-negative"),
        (lambda x: x.sum().narrow(0, 0, 1), RuntimeError, r"narrow\(\) cannot be applied to a 0-dim tensor"),
        (lambda x: x.sum().select(0, 0), IndexError, r"select\(\) cannot be applied to a 0-dim tensor"),
        (lambda x: x.sum().unbind(), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
        (lambda x: x[0].diagonal(), IndexError, r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1\)"),
        (lambda x: x.diagonal(0, 1, -1), RuntimeError, "diagonal dimensions cannot be identical 1, -1"),
        (lambda x: torch.autograd.grad(x.sum(), x), RuntimeError, "element 0 of tensors does not require grad"),
        (lambda x: leaf([1.0]).fill_(x), RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"),
    ],
)
def test_errors_have_the_words_of_pytorch(call: Callable[[Any], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


@pytest.mark.parametrize("method", ["t_", "unsqueeze_", "squeeze_", "swapdims_"])
def test_a_view_whose_shape_is_changed_without_recording_keeps_its_history(method: str) -> None:
    arguments = {"t_": (), "swapdims_": (0, 1)}.get(method, (0,))
    x = leaf([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    base = x.clone()
    view = base.view_as(base)
    expected = getattr(base.detach().clone(), method)(*arguments)
    with torch.no_grad():
        getattr(view, method)(*arguments)
    view.mul_(2)
    assert view.tolist() == (2 * expected).tolist()
    (view * expected).sum().backward()
    assert x.grad.tolist() == (2 * x.detach()).tolist()
    several, _ = x.clone().unbind()
    with torch.no_grad():
        several.unsqueeze_(0)
    with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
        several.add_(1)
