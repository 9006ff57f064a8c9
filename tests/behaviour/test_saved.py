"""Saved tensors: what nodes save and under which names, and the hooks that store the values in another form."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, torch

graph = torch.autograd.graph


class Log:
    """A pair of hooks that keep the tensors and note what they see."""

    def __init__(self, packed: float = 1.0, unpacked: float = 1.0) -> None:
        self.packs: list[Any] = []
        self.unpacks: list[Any] = []
        self.factors = packed, unpacked

    def pack(self, tensor: Any) -> Any:
        self.packs.append(tensor.tolist())
        return tensor.detach() * self.factors[0]

    def unpack(self, packed: Any) -> Any:
        self.unpacks.append(packed.tolist())
        return packed * self.factors[1]

    def on(self) -> Any:
        return graph.saved_tensors_hooks(self.pack, self.unpack)


def same(x: Any) -> Any:
    return x


def keeping() -> Any:
    """Hooks that change nothing."""
    return graph.saved_tensors_hooks(same, same)


# Names of saved values

TENSORS: list[tuple[str, list[str], Callable[[Any, Any], Any]]] = [
    ("sin", ["self"], lambda x, y: x.sin()),
    ("cos", ["self"], lambda x, y: x.cos()),
    ("log", ["self"], lambda x, y: x.log()),
    ("abs", ["self"], lambda x, y: x.abs()),
    ("erf", ["self"], lambda x, y: x.erf()),
    ("exp", ["result"], lambda x, y: x.exp()),
    ("sqrt", ["result"], lambda x, y: x.sqrt()),
    ("rsqrt", ["result"], lambda x, y: x.rsqrt()),
    ("reciprocal", ["result"], lambda x, y: x.reciprocal()),
    ("tan", ["result"], lambda x, y: x.tan()),
    ("tanh", ["result"], lambda x, y: x.tanh()),
    ("sigmoid", ["result"], lambda x, y: x.sigmoid()),
    ("relu", ["result"], lambda x, y: x.relu()),
    ("mul", ["self", "other"], lambda x, y: x * y),
    ("div", ["self", "other"], lambda x, y: x / y),
    ("atan2", ["self", "other"], lambda x, y: torch.atan2(x, y)),
    ("pow", ["self", "exponent", "result"], lambda x, y: x**y),
    ("number to a power", ["exponent", "result"], lambda x, y: 2**x),
    ("power of a number", ["self"], lambda x, y: x**3),
    ("mm", ["self", "mat2"], lambda x, y: x @ y),
    ("mv", ["self", "vec"], lambda x, y: x @ y[0]),
    ("dot", ["self", "tensor"], lambda x, y: x[0].dot(y[0])),
    ("bmm", ["self", "mat2"], lambda x, y: torch.bmm(x[None], y[None])),
    ("softmax", ["result"], lambda x, y: x.softmax(0)),
    ("log_softmax", ["result"], lambda x, y: x.log_softmax(0)),
    ("logsumexp", ["self", "result"], lambda x, y: x.logsumexp(0)),
    ("amax", ["self", "result"], lambda x, y: x.amax(0)),
    ("max of all", ["self", "result"], lambda x, y: x.max()),
    ("max along a dimension", ["indices"], lambda x, y: x.max(0).values),
    ("sort", ["indices"], lambda x, y: x.sort().values),
    ("maximum", ["self", "other"], lambda x, y: torch.maximum(x, y)),
    ("where", ["condition"], lambda x, y: torch.where(x > 1, x, y)),
    ("gather", ["index"], lambda x, y: x.gather(0, torch.tensor([[0, 1]]))),
    ("index_select", ["index"], lambda x, y: x.index_select(0, torch.tensor([1]))),
    ("cumprod", ["self", "result"], lambda x, y: x.cumprod(0)),
    ("std", ["self", "result"], lambda x, y: x.std()),
    ("norm", ["self", "result"], lambda x, y: x.norm()),
    ("inverse", ["inverse"], lambda x, y: torch.linalg.inv(x)),
    ("cholesky", ["L"], lambda x, y: torch.linalg.cholesky(x)),
    ("mse_loss", ["self", "target"], lambda x, y: torch.nn.functional.mse_loss(x, y)),
    ("softplus", ["self"], lambda x, y: torch.nn.functional.softplus(x)),
    ("clamp", ["self"], lambda x, y: x.clamp(0, 1)),
]


@pytest.mark.parametrize(("names", "make"), [case[1:] for case in TENSORS], ids=[case[0] for case in TENSORS])
def test_saved_tensors_have_these_names(names: list[str], make: Callable[[Any, Any], Any]) -> None:
    x, y = leaf([[2.0, 0.5], [0.5, 1.0]]), leaf([[1.0, 2.0], [3.0, 4.0]])
    node = make(x, y).grad_fn
    for name in names:
        saved = getattr(node, f"_saved_{name}")
        assert isinstance(saved, torch.Tensor), name
        assert torch.equal(getattr(node, f"_raw_saved_{name}").data, saved)


OTHERS: list[tuple[str, str, Any, Callable[[Any], Any]]] = [
    ("the exponent", "exponent", 3, lambda x: x**3),
    ("the base", "self", 2, lambda x: 2**x),
    ("a size", "self_sym_sizes", (2, 2), lambda x: x.sum()),
    ("a size of a mean", "self_sym_sizes", (2, 2), lambda x: x.mean()),
    ("the number of elements", "self_sym_numel", 4, lambda x: x.mean()),
    ("dimensions", "dim", (0,), lambda x: x.sum(0)),
    ("a dimension", "dim", 0, lambda x: x.softmax(0)),
    ("a dimension of stack", "dim", 1, lambda x: torch.stack([x, x], dim=1)),
    ("the shape before a view", "self_sym_sizes", (2, 2), lambda x: x.view(4)),
    ("a position", "index", 1, lambda x: x[1]),
    ("the start of a slice", "start", 1, lambda x: x[1:]),
    ("the end of a slice", "end", 1, lambda x: x[:1]),
    ("the bounds of clamp", "max", 1, lambda x: x.clamp(0, 1)),
]


@pytest.mark.parametrize(("name", "value", "make"), [case[1:] for case in OTHERS], ids=[case[0] for case in OTHERS])
def test_other_saved_values_have_these_names(name: str, value: Any, make: Callable[[Any], Any]) -> None:
    found = getattr(make(leaf([[1.0, 2.0], [3.0, 4.0]])).grad_fn, f"_saved_{name}")
    assert found == value
    assert type(found) is type(value)


def test_a_number_is_saved_as_a_tensor() -> None:
    other = (leaf([1.0, 2.0]) * 3).grad_fn._saved_other
    assert isinstance(other, torch.Tensor)
    assert other.item() == 3


def test_an_index_is_saved_as_tensors() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    saved = x[:, torch.tensor([0, 1])].grad_fn._saved_indices
    assert saved[0] is None
    assert saved[1].tolist() == [0, 1]


def test_a_saved_input_is_the_tensor_itself_and_an_output_is_not() -> None:
    a = leaf([1.0, 2.0])
    b = a * a
    c = a * b
    d = a.exp()
    assert b.grad_fn._saved_self is a
    assert b.grad_fn._saved_other is a
    assert c.grad_fn._saved_other is b
    assert torch.equal(d.grad_fn._saved_result, d)
    assert d.grad_fn._saved_result is not d
    assert d.grad_fn._saved_result.grad_fn is d.grad_fn


def test_a_value_that_no_derivative_needs_is_none() -> None:
    node = (leaf([1.0]) * const([2.0])).grad_fn
    assert node._saved_self is None
    assert node._saved_other.tolist() == [2.0]


@pytest.mark.parametrize("name", ["_saved_foo", "_raw_saved_foo", "_saved_exponent"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"'SinBackward0' object has no attribute '{name}'"):
        getattr(leaf(1.0).sin().grad_fn, name)


def test_saved_values_are_freed_by_backward_but_sizes_are_not() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    out = x * y
    together = torch.stack([x, y])
    out.sum().backward()
    together.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        out.grad_fn._saved_self  # noqa: B018
    assert together.grad_fn._saved_dim == 0


def test_a_saved_input_that_changed_cannot_be_looked_at() -> None:
    x = leaf([1.0, 2.0]).clone()
    y = x.sin()
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.grad_fn._saved_self  # noqa: B018


def test_a_saved_output_shares_the_version_of_the_output() -> None:
    a = leaf([1.0, 2.0])
    b = a.exp()
    saved = b.grad_fn._saved_result
    assert b._version == saved._version == 0
    with torch.no_grad():
        b += 1
        b += 1
    assert torch.equal(saved, b)
    assert b._version == saved._version == 2
    with pytest.raises(RuntimeError, match="is at version 2; expected version 0 instead"):
        b.sum().backward()


# Hooks of one saved tensor


@pytest.mark.parametrize("of", [lambda: leaf([1.0, 2.0]), lambda: leaf([1.0, 2.0]) + 1], ids=["leaf", "intermediate"])
def test_hooks_of_one_saved_tensor(of: Callable[[], Any]) -> None:
    a = of()
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, lambda x: x / 2)
    assert torch.equal(y.grad_fn._saved_self, a)
    assert y.grad_fn._saved_self.grad_fn is a.grad_fn
    assert y.grad_fn._saved_self.requires_grad
    (g,) = torch.autograd.grad(y.sum(), a)
    assert torch.equal(g, 2 * a)
    z = a * a
    z.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, same)
    (g,) = torch.autograd.grad(z.sum(), a)
    assert torch.equal(g, 3 * a)


def test_hooks_of_a_saved_output() -> None:
    a = leaf([1.0, 2.0])
    y = a.exp()
    y.grad_fn._raw_saved_result.register_hooks(same, same)
    assert torch.equal(y.grad_fn._saved_result, y)
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    y.sum().backward()
    assert torch.equal(a.grad, y)


def test_hooks_of_one_saved_tensor_and_second_derivatives() -> None:
    a = leaf([1.0, 2.0])
    y = a**3
    y.grad_fn._raw_saved_self.register_hooks(same, same)
    (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    g.sum().backward()
    assert torch.equal(a.grad, 6 * a)


def test_the_pack_hook_of_one_tensor_sees_it_without_its_history() -> None:
    seen = []
    y = (leaf([1.0]) * 2).sin()
    y.grad_fn._raw_saved_self.register_hooks(lambda x: seen.append(x.requires_grad), same)
    assert seen == [False]


def test_only_one_pair_of_hooks() -> None:
    y = leaf([1.0]).sin()
    y.grad_fn._raw_saved_self.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="saved tensor whose hooks have already been set"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)
    with keeping():
        z = leaf([1.0]).sin()
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        z.grad_fn._raw_saved_self.register_hooks(same, same)


def test_no_hooks_for_none_and_after_freeing() -> None:
    a = leaf([1.0])
    with pytest.raises(RuntimeError, match="on a saved tensor with value None is forbidden"):
        (a * const([2.0])).grad_fn._raw_saved_self.register_hooks(same, same)
    y = a * a
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor after it has been freed"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)


def test_errors_of_hooks() -> None:
    a = leaf([1.0])
    y = a * a
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        y.grad_fn._raw_saved_self.register_hooks(lambda x, b: x, same)
    for hooks in ((1, 2), (same, 2), (same,)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            y.grad_fn._raw_saved_self.register_hooks(*hooks)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(same, lambda x: 1)
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor but got result of type int"):
        y.grad_fn._saved_self  # noqa: B018
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        y.sum().backward()


def doubled(x: Any) -> Any:
    return x * 2


def doubled_in_place(x: Any) -> Any:
    x *= 2
    return x


def test_a_pack_hook_must_not_change_its_input() -> None:
    message = "A saved tensor pack hook is modifying its input in place."
    a = leaf([1.0, 2.0])
    for make in (lambda: a.exp(), lambda: a.sin()):
        with graph.saved_tensors_hooks(doubled_in_place, same), pytest.raises(RuntimeError, match=message):
            make()
    y = a.exp()
    with pytest.raises(RuntimeError, match=message):
        y.grad_fn._raw_saved_result.register_hooks(doubled_in_place, same)
    z = (a * 1).sin()
    with pytest.raises(RuntimeError, match=message):
        z.grad_fn._raw_saved_self.register_hooks(doubled_in_place, same)


def test_what_a_raw_saved_tensor_shows() -> None:
    a = leaf([2.0])
    with graph.saved_tensors_hooks(same, doubled):
        b = a**2
    c = b.exp()
    d = c**2
    assert b.grad_fn._raw_saved_self.data is a
    assert b.grad_fn._raw_saved_self.unpack_hook is doubled
    assert c.grad_fn._raw_saved_result.data is not c
    assert c.grad_fn._raw_saved_result.unpack_hook is None
    assert d.grad_fn._raw_saved_self.data is c
    assert d.grad_fn._raw_saved_self.unpack_hook is None
    assert b.grad_fn._raw_saved_self.unpack().tolist() == [4.0]


def test_the_type_of_raw_saved_tensors() -> None:
    a = leaf([2.0])
    assert isinstance(a.sin().grad_fn._raw_saved_self, torch.autograd.SavedTensor)
    assert isinstance((a * 2).grad_fn._raw_saved_self, torch.autograd.SavedTensor)
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        torch.autograd.SavedTensor()


# Hooks of all tensors in a block


def test_hooks_in_a_block_run_once_for_each_saved_value() -> None:
    log = Log()
    a = leaf([1.0, 2.0])
    with log.on():
        y = a * a
        assert log.packs == [[1.0, 2.0], [1.0, 2.0]]
    a.sin()
    assert len(log.packs) == 2
    assert log.unpacks == []
    y.sum().backward()
    assert len(log.unpacks) == 2
    assert a.grad.tolist() == [2.0, 4.0]


ORDERS: list[tuple[str, list[Any], Callable[[Any, Any], Any]]] = [
    ("mul", [[3.0], [2.0]], lambda x, y: x * y),
    ("a constant", [[3.0]], lambda x, y: x * y.detach()),
    ("a number", [], lambda x, y: x * 3),
    ("sums save nothing", [], lambda x, y: (x + y).sum() - 1),
    ("pow", [[3.0], [2.0], [8.0]], lambda x, y: x**y),
    ("an output", [[6.0]], lambda x, y: (x + 4).relu()),
    ("views save nothing", [], lambda x, y: x.view(1, 1)[0].t()),
    ("a dot product", [[2.0], [3.0]], lambda x, y: x @ y),
]


@pytest.mark.parametrize(("packs", "make"), [case[1:] for case in ORDERS], ids=[case[0] for case in ORDERS])
def test_the_order_of_packing(packs: list[Any], make: Callable[[Any, Any], Any]) -> None:
    log = Log()
    x, y = leaf([2.0]), leaf([3.0])
    with log.on():
        out = make(x, y)
    assert log.packs == packs
    out.sum().backward()
    assert log.unpacks == packs


def test_a_pack_hook_sees_the_history_and_runs_without_recording() -> None:
    seen = []

    def pack(x: Any) -> Any:
        seen.append((x.is_leaf, x.requires_grad, torch.is_grad_enabled(), (x * 2).requires_grad))
        return x.detach()

    a = leaf([1.0])
    with graph.saved_tensors_hooks(pack, same):
        (a * 2).sin().exp()
        a.cos()
    assert seen == [(False, True, False, False), (False, True, False, False), (True, True, False, False)]


def test_an_unpack_hook_runs_in_the_mode_of_the_backward_pass() -> None:
    modes = []

    def unpack(x: Any) -> Any:
        modes.append(torch.is_grad_enabled())
        return x

    a = leaf([1.0])
    with graph.saved_tensors_hooks(same, unpack):
        y = a.sin().sum()
    torch.autograd.grad(y, a, retain_graph=True)
    torch.autograd.grad(y, a, create_graph=True)
    assert modes == [False, True]


@pytest.mark.parametrize(("packed", "unpacked", "factor"), [(1.0, 1.0, 2), (2.0, 0.5, 2), (2.0, 1.0, 4)])
def test_the_backward_pass_uses_what_the_hooks_return(packed: float, unpacked: float, factor: int) -> None:
    a = leaf([1.0, 3.0])
    with Log(packed, unpacked).on():
        y = a * a
        assert torch.equal(y.grad_fn._saved_self, a * packed * unpacked)
        y.sum().backward()
    assert torch.equal(a.grad, factor * a)


def test_the_innermost_pair_is_used() -> None:
    a, b = leaf([1.0]), leaf([1.0])
    with Log(3.0, 3.0).on():
        with Log(5.0, 5.0).on():
            y = a * a
        z = b * b
    y.sum().backward()
    z.sum().backward()
    assert a.grad.tolist() == [50.0]
    assert b.grad.tolist() == [18.0]


def test_hooks_and_derivatives_of_order_two() -> None:
    a = leaf([1.0, 2.0])
    with Log(2.0).on():
        y = (a**3).sum()
    (g,) = torch.autograd.grad(y, a, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), a)
    assert torch.equal(h, 6 * 2 * a)

    y = (a**3).sum()
    with Log(2.0).on():
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), a)
    assert torch.equal(h, 6 * 4 * a)

    with Log(2.0).on():
        y = (a**3).sum()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), a)
    assert torch.equal(h, 6 * 8 * a)


def test_retain_graph_unpacks_again_and_freeing_drops_the_packed_values() -> None:
    class Kept:
        def __init__(self, x: Any) -> None:
            self.x = x

    packed: list[Any] = []

    def pack(x: Any) -> Any:
        kept = Kept(x.detach())
        packed.append(weakref.ref(kept))
        return kept

    unpacks = []

    def unpack(kept: Any) -> Any:
        unpacks.append(1)
        return kept.x

    a = leaf([1.0])
    with graph.saved_tensors_hooks(pack, unpack):
        y = a.sin()
    y.sum().backward(retain_graph=True)
    assert packed[0]() is not None
    y.sum().backward()
    assert len(unpacks) == 2
    gc.collect()
    assert packed[0]() is None
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()


def test_packed_values_die_with_the_graph() -> None:
    class Kept:
        def __init__(self, x: Any) -> None:
            self.x = x

    refs: list[Any] = []

    def pack(x: Any) -> Any:
        kept = Kept(x.detach())
        refs.append(weakref.ref(kept))
        return kept

    with graph.saved_tensors_hooks(pack, lambda kept: kept.x):
        y = leaf([1.0]).sin().exp()
    assert all(ref() is not None for ref in refs)
    del y
    assert all(ref() is None for ref in refs)


def test_an_unpacked_leaf_is_a_leaf_with_the_same_accumulator() -> None:
    a = leaf([2.0])
    with Log().on():
        y = a * a
    saved = y.grad_fn._saved_self
    assert saved is not a
    assert saved.is_leaf
    assert saved.requires_grad
    (saved * 3).sum().backward()
    assert a.grad.tolist() == [3.0]
    assert saved.grad is None


def test_a_constant_is_returned_as_it_is() -> None:
    b = const([2.0])
    with keeping():
        y = leaf([1.0]) * b
    assert y.grad_fn._saved_other is b


def test_a_packed_input_may_change_afterwards() -> None:
    a = leaf([1.0, 2.0])
    b = a * 1
    with graph.saved_tensors_hooks(lambda x: x.detach().clone(), same):
        y = b.sin()
    b.mul_(0)
    y.sum().backward()
    assert torch.equal(a.grad, a.detach().cos())


def test_the_unpacked_tensor_does_not_share_the_version_of_the_saved_tensor() -> None:
    a = leaf([1.0, 2.0])
    replacement = a.clone()

    class Changing(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            x.add_(1)
            return g

    with graph.saved_tensors_hooks(lambda x: replacement, same):
        y = Changing.apply(a)
    y.sum().backward()
    assert a._version == 0


def test_an_unpacked_tensor_of_another_shape_or_type() -> None:
    a = leaf([1.0, 2.0])
    with graph.saved_tensors_hooks(same, lambda x: const([1.0, 2.0, 3.0])):
        y = a.sin()
    with pytest.raises(RuntimeError):
        y.sum().backward()
    with graph.saved_tensors_hooks(same, lambda x: None):
        y = a.sin()
    with pytest.raises(TypeError, match="got result of type NoneType"):
        y.sum().backward()
    with graph.saved_tensors_hooks(same, lambda x: x.float()):
        y = a.sin()
    y.sum().backward()
    assert a.grad.dtype == torch.float64
    assert torch.allclose(a.grad, a.detach().cos(), atol=1e-6)


class Boom(Exception):
    pass


def test_errors_of_hooks_come_through() -> None:
    def fails(x: Any) -> Any:
        raise Boom("here")

    a = leaf(1.0)
    with graph.saved_tensors_hooks(fails, same), pytest.raises(Boom, match="here"):
        a.sin()
    with graph.saved_tensors_hooks(same, fails):
        y = a.sin()
    with pytest.raises(Boom, match="here"):
        y.backward()
    a.sin().backward()
    assert a.grad is not None


def test_hooks_must_be_functions() -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"), graph.saved_tensors_hooks(1, 2):
        pass


def test_hooks_can_be_inherited_from() -> None:
    class Halved(graph.saved_tensors_hooks):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__(lambda x: x.detach() / 2, lambda x: x * 2)

    a = leaf([3.0])
    with Halved():
        y = a.sin()
    y.sum().backward()
    assert torch.allclose(a.grad, a.detach().cos())


def test_hooks_belong_to_the_thread() -> None:
    log = Log()
    a = leaf([1.0])
    with log.on():
        thread = threading.Thread(target=lambda: (a * a).sum().backward())
        thread.start()
        thread.join()
        assert log.packs == []
        a.sin()
    assert len(log.packs) == 1


def test_hooks_entered_while_unpacking_do_not_stay() -> None:
    def scope() -> Any:
        def unpack(x: Any) -> Any:
            hooks().__enter__()
            return x

        made = graph.saved_tensors_hooks(same, unpack)
        hooks = weakref.ref(made)
        with made:
            leaf([1.0]).sin().sum().backward()
        return weakref.ref(unpack)

    gc.collect()
    assert scope()() is None
    y = leaf(1.0).exp()
    y.grad_fn._raw_saved_result.register_hooks(same, same)


def test_hooks_apply_to_operations_in_place() -> None:
    log = Log()
    a = leaf([1.0, 2.0])
    with log.on():
        b = a * 1
        b.mul_(b.detach())
    assert log.packs == [[1.0, 2.0]]
    b.sum().backward()
    assert a.grad.tolist() == [1.0, 2.0]


def test_several_outputs() -> None:
    a = leaf([3.0, 1.0, 2.0])
    with keeping():
        values, order = a.sort()
    (values * const([1.0, 10.0, 100.0])).sum().backward()
    assert a.grad.tolist() == [100.0, 1.0, 10.0]
    assert order.tolist() == [1, 2, 0]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_longer_computation_under_hooks(order: int) -> None:
    def f(x: Any) -> Any:
        y = torch.stack([x.sin(), x.exp() / (1 + x**2), (x * x).sqrt()])
        return (y.softmax(0) * y.cumsum(0)).pow(2).sum().log()

    def derivatives(hooks: Any) -> list[Any]:
        x = leaf([0.5, 1.5])
        with hooks:
            found = f(x)
            for _ in range(order):
                (found,) = torch.autograd.grad(found.sum(), x, create_graph=True)
        found.detach().tolist()
        return found.tolist()

    expected = derivatives(graph.saved_tensors_hooks(lambda x: x.detach().tolist(), lambda x: const(x)))
    assert derivatives(keeping()) == pytest.approx(expected, rel=1e-12)


# Custom functions


class Cube(torch.autograd.Function):  # type: ignore[name-defined,misc]
    @staticmethod
    def forward(ctx: Any, x: Any, save: bool = True) -> Any:
        out = x**3
        if save:
            ctx.save_for_backward(x, None, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, nothing, _ = ctx.saved_tensors
        assert nothing is None
        return 3 * x**2 * g, None


def test_saved_tensors_of_a_custom_function() -> None:
    log = Log()
    a = leaf([2.0])
    with log.on():
        y = Cube.apply(a)
    assert log.packs == [[2.0], [8.0]]
    y.sum().backward()
    assert log.unpacks == [[2.0], [8.0]]
    assert a.grad.tolist() == [12.0]


def test_hooks_of_a_custom_function() -> None:
    a = leaf([2.0])
    y = Cube.apply(a)
    raw = y.grad_fn._raw_saved_tensors
    assert len(raw) == 3
    raw[0].register_hooks(lambda x: x * 2, same)
    with pytest.raises(RuntimeError, match="None is forbidden"):
        raw[1].register_hooks(same, same)
    raw[2].register_hooks(same, same)
    assert y.grad_fn.saved_tensors[0].tolist() == [4.0]
    assert y.grad_fn.saved_tensors[2].grad_fn is y.grad_fn
    y.sum().backward()
    assert a.grad.tolist() == [48.0]
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn._raw_saved_tensors  # noqa: B018
    assert Cube.apply(a, False).grad_fn._raw_saved_tensors == ()


def test_saved_tensors_that_are_cleared_on_access() -> None:
    class Once(torch.autograd.Function):  # type: ignore[name-defined,misc]
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            reference = weakref.ref(x)
            del x
            assert reference() is None
            with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once"):
                ctx.saved_tensors  # noqa: B018
            return g

    x = leaf([1.0])
    Once.apply(x.clone()).sum().backward()
    assert x.grad.tolist() == [1.0]


def test_a_leaf_that_a_custom_function_made_is_packed() -> None:
    class Made(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x.exp().clone().detach_().requires_grad_(True))
            return x.exp()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (saved,) = ctx.saved_tensors
            return g * saved

    a = leaf(1.0)
    with keeping():
        y = Made.apply(a)
    y.backward()
    assert a.grad.item() == pytest.approx(2.718281828459045)


def test_second_derivatives_of_a_custom_function_under_hooks() -> None:
    a = leaf([2.0])
    with keeping():
        y = Cube.apply(a)
        (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    g.sum().backward()
    assert a.grad.tolist() == [12.0]


def test_a_saved_view_that_was_changed_is_not_kept_alive() -> None:
    class InPlace(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    def scope() -> Any:
        x = leaf(1.0).clone()
        x = x.view_as(x)
        InPlace.apply(x)
        return weakref.ref(x)

    gc.collect()
    assert scope()() is None


# save_on_cpu, disable_saved_tensors_hooks


@pytest.mark.parametrize("options", [{}, {"pin_memory": False}])
def test_save_on_cpu_changes_no_gradient(options: dict[str, Any]) -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        first = a * b
        with graph.save_on_cpu(**options):
            second = first * c
        return second * a

    a, b, c = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0, 6.0])
    f(a, b, c).sum().backward()
    assert a.grad.tolist() == [30.0, 96.0]
    assert b.grad.tolist() == [5.0, 24.0]
    assert c.grad.tolist() == [3.0, 16.0]


def test_disabling_hooks() -> None:
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), keeping():
            pass
        with pytest.raises(RuntimeError, match="not here"), graph.save_on_cpu():
            pass
    with keeping():
        pass
    with keeping(), pytest.raises(RuntimeError, match="not here"), graph.disable_saved_tensors_hooks("not here"):
        pass
    with graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"), pytest.raises(RuntimeError, match="inner"), keeping():
            pass
        with pytest.raises(RuntimeError, match="outer"), keeping():
            pass


# allow_mutation_on_saved_tensors


def cloned(context: Any) -> int:
    return len(list(context.cloned.items()))


def tracked(context: Any) -> int:
    return len(list(context.tid_to_weakhandle.items()))


def test_a_saved_tensor_may_change() -> None:
    with graph.allow_mutation_on_saved_tensors() as context:
        a = leaf([1.0, 2.0])
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.backward()
    assert torch.equal(a.grad, 2 * a.detach())
    assert cloned(context) == 0


def test_a_tensor_is_copied_once_for_each_version() -> None:
    with graph.allow_mutation_on_saved_tensors() as context:
        a = leaf([1.0, 2.0])
        b = a.clone()
        first = (b**2).sum() + (b**3).sum()
        assert tracked(context) == 1
        assert cloned(context) == 0
        b.mul_(3)
        assert cloned(context) == 1
        second = (b**2).sum()
        b.mul_(0)
        assert cloned(context) == 2
        (first + second).backward()
    assert a.grad.tolist() == pytest.approx([2 + 3 + 18, 4 + 12 + 36])


def test_a_saved_output_may_change() -> None:
    with graph.allow_mutation_on_saved_tensors():
        a = leaf([0.0, 1.0])
        b = a.exp()
        b.mul_(5)
        (g,) = torch.autograd.grad(b.sum(), a)
    assert g.tolist() == pytest.approx([5.0, 5 * 2.718281828459045])


def test_a_view_is_saved_and_its_base_changes() -> None:
    with graph.allow_mutation_on_saved_tensors():
        a = leaf([[1.0, 2.0], [3.0, 4.0]])
        base = a.clone()
        out = (base[0] ** 2).sum()
        base.fill_(2)
        out.backward()
    assert a.grad.tolist() == [[2.0, 4.0], [0.0, 0.0]]


def test_a_base_is_saved_and_a_view_changes() -> None:
    with graph.allow_mutation_on_saved_tensors():
        a = leaf([[1.0, 2.0], [3.0, 4.0]])
        base = a.clone()
        out = (base**2).sum()
        base[0].fill_(0)
        out.backward()
    assert torch.equal(a.grad, 2 * a.detach())


def test_a_change_and_derivatives_of_order_two() -> None:
    with graph.allow_mutation_on_saved_tensors():
        a = leaf([1.0, 2.0])
        b = a.clone()
        out = (b**3).sum()
        b.sin_()
        (g,) = torch.autograd.grad(out, a, create_graph=True)
        b.mul_(2)
        (h,) = torch.autograd.grad(g.sum(), a)
    assert torch.equal(h, 6 * a.detach())


def test_backward_outside_of_the_context_is_an_error() -> None:
    a = leaf([1.0, 2.0])
    with graph.allow_mutation_on_saved_tensors():
        out = (a.clone() ** 2).sum()
    message = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    with pytest.raises(AssertionError, match=message):
        out.backward()
    with graph.allow_mutation_on_saved_tensors(), pytest.raises(AssertionError, match=message):
        out.backward()


def test_the_contexts_cannot_be_nested() -> None:
    message = "allow_mutation_on_saved_tensors contexts cannot be nested"
    allow = graph.allow_mutation_on_saved_tensors
    with allow(), pytest.raises(RuntimeError, match=message), allow():
        pass
    with quiet(), graph.allow_mutation_on_saved_tensors():
        pass


def test_a_tensor_that_is_not_saved_any_more_is_not_copied() -> None:
    with graph.allow_mutation_on_saved_tensors() as context:
        a = leaf([1.0, 2.0]).clone()
        out = (a**2).sum()
        assert tracked(context) == 1
        out.backward()
        with torch.no_grad():
            a.mul_(2)
        assert cloned(context) == 0
        out = (a**2).sum()
        with torch.no_grad():
            a.mul_(2)
        assert cloned(context) == 1
        del out
        assert cloned(context) == 0


def test_copies_die_with_their_graphs() -> None:
    with graph.allow_mutation_on_saved_tensors() as context:
        a = leaf([1.0, 2.0]).clone()
        first = a**2
        again = a**3
        a.sin_()
        assert cloned(context) == 1
        second = a**2
        a.sin_()
        assert cloned(context) == 2
        del first, again
        assert cloned(context) == 1
        del second
        assert cloned(context) == 0


def test_what_autograd_refuses_otherwise() -> None:
    def run() -> Any:
        a = leaf([[1.0, 2.0], [3.0, 4.0]])
        b = a.clone()
        c = b.view_as(b)
        out = (b**2).sum()
        c.sin_()
        out.backward()
        return a.grad

    with pytest.raises(RuntimeError, match="variables needed for gradient computation has been modified by an inplace"):
        run()
    with graph.allow_mutation_on_saved_tensors():
        assert run().tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_hooks_write_to_disk(tmp_path: Any) -> None:
    def pack(x: Any) -> Any:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.txt"
        path.write_text(repr(x.tolist()))
        return path

    def unpack(path: Any) -> Any:
        return const([float(number) for number in path.read_text().strip("[]").split(", ")])

    a = leaf([0.5, 1.5])
    with graph.saved_tensors_hooks(pack, unpack):
        y = (a.sin() * a.exp()).sqrt()
    assert len(list(tmp_path.iterdir())) == 5
    y.sum().backward()
    b = leaf([0.5, 1.5])
    (b.sin() * b.exp()).sqrt().sum().backward()
    assert torch.equal(a.grad, b.grad)


def test_hooks_and_anomaly_mode() -> None:
    a = leaf([1.0])
    with quiet(), torch.autograd.detect_anomaly(), keeping():
        y = (a.sin() * a).exp()
        y.sum().backward()
    assert a.grad is not None


def test_hooks_and_a_hook_of_a_node() -> None:
    seen = []
    a = leaf([1.0, 2.0])
    with keeping():
        y = a * a
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append([x.tolist() for x in inputs]))
    y.sum().backward()
    assert seen == [[[1.0, 2.0], [1.0, 2.0]]]


def test_hooks_and_gradients_of_some_inputs() -> None:
    log = Log()
    a, b = leaf([2.0]), leaf([3.0])
    with log.on():
        y = (a * b).sin()
    (g,) = torch.autograd.grad(y.sum(), a, retain_graph=True)
    assert g.item() == pytest.approx(3 * const(6.0).cos().item())
    y.sum().backward(inputs=[b])
    assert a.grad is None
    assert b.grad.item() == pytest.approx(2 * const(6.0).cos().item())


@pytest.mark.parametrize(
    "make",
    [
        lambda x: torch.where(x > 0.3, x.sqrt(), x),
        lambda x: torch.maximum(x, 1 - x) * x,
        lambda x: x.clamp(0.2, 0.6) ** 2,
        lambda x: x.max() * x.min() + x.median(),
        lambda x: x.sort().values.cumsum(0).prod(),
        lambda x: torch.stack([x, x * x]).amax(0),
        lambda x: x[torch.tensor([2, 0])].exp(),
        lambda x: (x.outer(x) + torch.eye(3, dtype=torch.float64)).inverse().det(),
        lambda x: torch.cat([x.softmax(0), x.log_softmax(0)]).norm(),
        lambda x: torch.nn.functional.gelu(x).std(),
    ],
)
def test_functions_under_hooks_have_the_same_gradients(make: Callable[[Any], Any]) -> None:
    def gradients(hooks: Any) -> Any:
        x = leaf([0.1, 0.5, 0.9])
        with hooks:
            (g,) = torch.autograd.grad(make(x).sum(), x, create_graph=True)
            (h,) = torch.autograd.grad((g * const([1.0, 2.0, 3.0])).sum(), x, allow_unused=True)
        return g, h

    (g, h), (plain_g, plain_h) = gradients(graph.saved_tensors_hooks(lambda x: x.detach().clone(), same)), gradients(quiet())
    assert torch.equal(g, plain_g)
    assert (h is None and plain_h is None) or torch.allclose(h, plain_h, rtol=1e-12)
