"""The graph: what nodes are called, where they lead, how long they live, how deep they go, what is printed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.behaviour import const, leaf, quiet, shape, torch


@contextmanager
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Witness:
    """Something whose death can be seen."""


class Spy(torch.autograd.Function):  # type: ignore[name-defined,misc]
    """The square, by a node that holds a witness."""

    @staticmethod
    def forward(ctx: Any, x: Any, witness: Any) -> Any:
        ctx.witness = witness
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x, None


NAMES: list[tuple[str, Callable[[Any], Any]]] = [
    ("AddBackward0", lambda x: x + 1),
    ("AddBackward0", lambda x: x + x),
    ("SubBackward0", lambda x: x - 1),
    ("RsubBackward1", lambda x: 1 - x),
    ("MulBackward0", lambda x: x * 2),
    ("DivBackward0", lambda x: x / 2),
    ("PowBackward0", lambda x: x**2),
    ("PowBackward1", lambda x: x**x),
    ("PowBackward2", lambda x: 2**x),
    ("NegBackward0", lambda x: -x),
    ("AbsBackward0", lambda x: abs(x)),
    ("ExpBackward0", lambda x: x.exp()),
    ("LogBackward0", lambda x: x.log()),
    ("SinBackward0", lambda x: x.sin()),
    ("CosBackward0", lambda x: x.cos()),
    ("TanhBackward0", lambda x: x.tanh()),
    ("SqrtBackward0", lambda x: x.sqrt()),
    ("SigmoidBackward0", lambda x: x.sigmoid()),
    ("ReluBackward0", lambda x: x.relu()),
    ("ReciprocalBackward0", lambda x: x.reciprocal()),
    ("SumBackward0", lambda x: x.sum()),
    ("SumBackward1", lambda x: x.sum(dim=0)),
    ("MeanBackward0", lambda x: x.mean()),
    ("MeanBackward1", lambda x: x.mean(dim=0)),
    ("MaxBackward1", lambda x: x.max()),
    ("MinBackward1", lambda x: x.min()),
    ("MaximumBackward0", lambda x: torch.maximum(x, const([1.0, 2.0]))),
    ("ClampBackward1", lambda x: x.clamp(0.0, 1.0)),
    ("WhereBackward0", lambda x: torch.where(x > 0, x, x * 2)),
    ("CloneBackward0", lambda x: x.clone()),
    ("ViewBackward0", lambda x: x.view(4)),
    ("ViewBackward0", lambda x: x.reshape(4)),
    ("TBackward0", lambda x: x.t()),
    ("TransposeBackward0", lambda x: x.transpose(0, 1)),
    ("PermuteBackward0", lambda x: x.permute(1, 0)),
    ("PermuteBackward0", lambda x: x.T),
    ("UnsqueezeBackward0", lambda x: x.unsqueeze(0)),
    ("SqueezeBackward1", lambda x: x[:1].squeeze(0)),
    ("SqueezeBackward0", lambda x: x[:1].squeeze()),
    ("ExpandBackward0", lambda x: x.expand(3, 2, 2)),
    ("SelectBackward0", lambda x: x[0]),
    ("SliceBackward0", lambda x: x[:1]),
    ("IndexBackward0", lambda x: x[[0, 1]]),
    ("UnsqueezeBackward0", lambda x: x[None]),
    ("AliasBackward0", lambda x: x[...]),
    ("StackBackward0", lambda x: torch.stack([x, x])),
    ("CatBackward0", lambda x: torch.cat([x, x])),
    ("MmBackward0", lambda x: x @ x),
    ("MmBackward0", lambda x: x.mm(x)),
    ("MvBackward0", lambda x: x.mv(const([1.0, 2.0]))),
    ("MvBackward0", lambda x: x @ const([1.0, 2.0])),
    ("DotBackward0", lambda x: x[0].dot(x[1])),
    ("ToCopyBackward0", lambda x: x.float()),
]


@pytest.mark.parametrize(("name", "make"), NAMES, ids=[f"{i}-{case[0]}" for i, case in enumerate(NAMES)])
def test_names_of_nodes(name: str, make: Callable[[Any], Any]) -> None:
    y = make(leaf([[1.0, 2.0], [3.0, 4.0]]))
    assert y.grad_fn.name() == name
    assert type(y.grad_fn).__name__ == name


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("AddBackward0", lambda y: y.add_(1)),
        ("SubBackward0", lambda y: y.sub_(1)),
        ("MulBackward0", lambda y: y.mul_(2)),
        ("DivBackward0", lambda y: y.div_(2)),
        ("PowBackward0", lambda y: y.pow_(2)),
        ("ExpBackward0", lambda y: y.exp_()),
        ("ZeroBackward0", lambda y: y.zero_()),
        ("CopyBackwards", lambda y: y.copy_(leaf([[5.0, 6.0], [7.0, 8.0]]))),
        ("CopySlices", lambda y: y.__setitem__(0, 1.0)),
        ("CopySlices", lambda y: y.__setitem__((0, 1), 1.0)),
        ("CopySlices", lambda y: y.__setitem__(slice(0, 1), 1.0)),
        ("IndexPutBackward0", lambda y: y.__setitem__([0], 1.0)),
        ("IndexPutBackward0", lambda y: y.__setitem__(y > 1, 1.0)),
        ("CopySlices", lambda y: y[0].mul_(2)),
        ("CopySlices", lambda y: y.t().mul_(2)),
    ],
    ids=range(15),
)
def test_names_of_nodes_after_a_change(name: str, change: Callable[[Any], Any]) -> None:
    y = leaf([[1.0, 2.0], [3.0, 4.0]]) * 1
    change(y)
    assert type(y.grad_fn).__name__ == name
    assert y.grad_fn.name() == (f"torch::autograd::{name}" if name.startswith("Copy") else name)


def test_next_functions_is_a_tuple_of_pairs() -> None:
    x = leaf(1.0)
    y = torch.exp(x * 2)
    edges = y.grad_fn.next_functions
    assert isinstance(edges, tuple)
    assert [len(edge) for edge in edges] == [2]
    assert edges[0][0].name() == "MulBackward0"
    assert edges[0][1] == 0


def test_constants_have_no_edge() -> None:
    x, c = leaf(1.0), const(2.0)
    edges = (x * c).grad_fn.next_functions
    assert edges[0][0] is not None
    assert edges[1] == (None, 0)


def test_numbers_have_no_edge() -> None:
    edges = (leaf(1.0) * 2.0).grad_fn.next_functions
    assert len(edges) == 2
    assert edges[1][0] is None


def test_the_end_of_the_graph_knows_its_leaf() -> None:
    x = leaf(1.0)
    end = (x * 2).grad_fn.next_functions[0][0]
    assert type(end).__name__ == "AccumulateGrad"
    assert end.name() == "torch::autograd::AccumulateGrad"
    assert end.variable is x
    assert end.next_functions == ()


def test_a_leaf_has_one_end_while_a_graph_lives() -> None:
    x = leaf(1.0)
    a, b = x * 2, x + 1
    assert a.grad_fn.next_functions[0][0] is b.grad_fn.next_functions[0][0]


def test_grad_fn_is_one_object() -> None:
    y = leaf(1.0) * 2
    assert y.grad_fn is y.grad_fn
    assert (y + 1).grad_fn.next_functions[0][0] is y.grad_fn


def test_nodes_can_be_keys() -> None:
    x = leaf(1.0)
    y = x * 2
    z = y + y
    names = {y.grad_fn: "product", z.grad_fn: "sum"}
    assert names[z.grad_fn.next_functions[1][0]] == "product"


def test_nodes_are_instances_of_node() -> None:
    y = leaf(1.0) * 2
    assert isinstance(y.grad_fn, torch.autograd.graph.Node)


def test_metadata_is_a_dictionary() -> None:
    y = leaf(1.0) * 2
    y.grad_fn.metadata["note"] = 3
    assert y.grad_fn.metadata == {"note": 3}


def test_metadata_lives_as_long_as_the_node() -> None:
    x = leaf(1.0)
    y = x * 2
    z = y + 1
    y.grad_fn.metadata["note"] = 3
    del y
    assert z.grad_fn.next_functions[0][0].metadata == {"note": 3}


def test_gradient_edges() -> None:
    x = leaf(3.0)
    y = x * x
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    (g,) = torch.autograd.grad(y * 2, edge)
    assert g.item() == 2.0


def test_gradient_edge_of_a_leaf() -> None:
    x = leaf(3.0)
    y = x * x
    (g,) = torch.autograd.grad(y, torch.autograd.graph.get_gradient_edge(x))
    assert g.item() == 6.0


def test_saved_values_can_be_looked_at() -> None:
    x = leaf(3.0)
    y = x * const(4.0)
    assert y.grad_fn._saved_other.item() == 4.0
    assert (x**2).grad_fn._saved_self is x
    assert (x**2).grad_fn._saved_exponent == 2
    z = torch.exp(x)
    assert z.grad_fn._saved_result.item() == z.item()


def test_saved_values_are_gone_after_backward() -> None:
    x = leaf(3.0)
    y = torch.exp(x)
    node = y.grad_fn
    y.backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = node._saved_result


def test_walking_through_a_graph() -> None:
    x, y = leaf(1.0), leaf(2.0)
    z = torch.sin(x * y) + x
    seen = []
    stack = [z.grad_fn]
    while stack:
        node = stack.pop()
        seen.append(type(node).__name__)
        stack.extend(n for n, _ in node.next_functions if n is not None)
    assert sorted(seen) == sorted(
        ["AddBackward0", "SinBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad", "AccumulateGrad"]
    )


def test_output_numbers_of_several_outputs() -> None:
    x = leaf([1.0, 2.0, 3.0])
    parts = x.unbind()
    assert [p.output_nr for p in parts] == [0, 1, 2]
    assert all(p.grad_fn.name() == "UnbindBackward0" for p in parts)


def test_output_number_of_a_leaf_and_an_ordinary_result() -> None:
    x = leaf(1.0)
    assert x.output_nr == 0
    assert (x * 2).output_nr == 0


# Memory


def test_a_graph_dies_with_its_last_tensor() -> None:
    with no_collector():
        witness = Witness()
        alive = weakref.ref(witness)
        y = Spy.apply(leaf(2.0), witness) + 1
        del witness
        assert alive() is not None
        del y
        assert alive() is None


def test_a_graph_dies_after_backward_with_its_last_tensor() -> None:
    with no_collector():
        witness = Witness()
        alive = weakref.ref(witness)
        x = leaf(2.0)
        y = Spy.apply(x, witness) + 1
        del witness
        y.backward()
        assert alive() is not None
        del y
        assert alive() is None
        assert x.grad.item() == 4.0


def test_a_graph_of_a_gradient_dies() -> None:
    gc.collect()
    witness = Witness()
    alive = weakref.ref(witness)
    x = leaf(2.0)
    (g,) = torch.autograd.grad(Spy.apply(x, witness), x, create_graph=True)
    del witness
    assert g.item() == 4.0
    del g
    gc.collect()
    assert alive() is None


def test_inner_tensors_die_when_nothing_saved_them() -> None:
    with no_collector():
        x = leaf([1.0, 2.0])
        y = x + 1
        alive = weakref.ref(y)
        z = y + 1
        del y
        assert alive() is None
        z.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]


def test_a_leaf_is_held_by_its_graph() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    alive = weakref.ref(x)
    end = y.grad_fn.next_functions[0][0].next_functions[0][0]
    del x
    gc.collect()
    assert alive() is not None
    y.backward()
    assert end.variable.grad.tolist() == [2.0, 4.0]


def test_a_leaf_dies_without_a_graph() -> None:
    with no_collector():
        x = leaf([1.0, 2.0])
        (x * x).sum().backward()
        alive = weakref.ref(x)
        del x
        assert alive() is None


def test_backward_frees_buffers() -> None:
    with no_collector():
        constant = const([1.0, 2.0])
        alive = weakref.ref(constant)
        x = leaf([1.0, 2.0])
        y = (x * (constant * 1)).sum()
        z = (x * constant).sum()
        del constant
        z.backward(retain_graph=True)
        y.backward()
        z.backward()
        assert alive() is None
        assert x.grad.tolist() == [3.0, 6.0]


def test_grad_with_create_graph_leaves_no_cycle_on_the_leaf() -> None:
    x = leaf(2.0)
    with quiet():
        (x * x).backward(create_graph=True)
    alive = weakref.ref(x.grad)
    x.grad = None
    gc.collect()
    assert alive() is None


def test_hooks_that_hold_a_gradient_do_not_hold_the_graph() -> None:
    kept: list[Any] = []
    witness = Witness()
    alive = weakref.ref(witness)
    x = leaf(2.0)
    y = Spy.apply(x, witness)
    y.register_hook(kept.append)
    y.backward()
    del y, witness
    gc.collect()
    assert alive() is None
    assert kept[0].item() == 1.0


# Depth


def test_a_chain_of_a_hundred_thousand_nodes() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0


def test_a_deep_chain_is_freed() -> None:
    y = leaf(1.0)
    for _ in range(100_000):
        y = y * 1.0
    del y
    assert gc.collect() >= 0


def test_a_deep_chain_with_inputs() -> None:
    x, w = leaf(1.0), leaf(2.0)
    y = x
    for _ in range(20_000):
        y = y + w
    (g,) = torch.autograd.grad(y, x)
    assert g.item() == 1.0


def test_a_deep_chain_that_is_freed_in_the_middle() -> None:
    y = leaf(1.0)
    for k in range(50_000):
        y = y * 1.0 if k % 2 else y + y * 0
    z = y.detach()
    del y
    assert z.item() == 1.0


def test_a_deep_chain_of_functions() -> None:
    class Same(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.clone()

    x = leaf(1.0)
    y = x
    for _ in range(5_000):
        y = Same.apply(y)
    y.backward()
    assert x.grad.item() == 1.0


def test_a_wide_graph() -> None:
    x = leaf(1.0)
    total = torch.stack([x * k for k in range(5_000)]).sum()
    total.backward()
    assert x.grad.item() == sum(range(5_000))


# Order


def test_accumulation_is_deterministic() -> None:
    def once() -> list[float]:
        x = leaf([0.1, 0.7])
        y = x
        for k in range(30):
            y = torch.sin(y) * x + y / (k + 3)
        y.sum().backward()
        result: list[float] = x.grad.tolist()
        return result

    assert once() == once()


def test_younger_nodes_run_first() -> None:
    order: list[str] = []
    x = leaf(1.0)
    a = x * 2
    b = x * 3
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))
    (a + b).backward()
    assert order == ["b", "a"]


def test_a_node_waits_for_all_of_its_gradient() -> None:
    order: list[tuple[str, float]] = []
    x = leaf(1.0)
    a = x * 2
    b = a * 3
    c = b + a
    a.register_hook(lambda g: order.append(("a", g.item())))
    b.register_hook(lambda g: order.append(("b", g.item())))
    c.backward()
    assert order == [("b", 1.0), ("a", 4.0)]


# Anomaly mode


def test_detect_anomaly_names_the_function_that_gave_nan() -> None:
    x = leaf(0.0)
    with quiet(), torch.autograd.detect_anomaly():
        y = torch.sqrt(x * x) * 0
        y = y / y.detach()
        with pytest.raises(RuntimeError, match=r"Function '\w+' returned nan values in its 0th output"):
            y.backward()


def test_set_detect_anomaly_is_a_context_too() -> None:
    with quiet(), torch.autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


# Printing


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: torch.tensor(1.5, requires_grad=True), "tensor(1.5000, requires_grad=True)"),
        (lambda: torch.tensor([1.0, 2.0], requires_grad=True), "tensor([1., 2.], requires_grad=True)"),
        (lambda: torch.tensor([1.0, 2.5], requires_grad=True) * 2, "tensor([2., 5.], grad_fn=<MulBackward0>)"),
        (lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
        (lambda: torch.tensor([1, 2, 3]), "tensor([1, 2, 3])"),
        (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
        (lambda: torch.tensor(7), "tensor(7)"),
        (lambda: torch.tensor([]), "tensor([])"),
        (lambda: torch.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: torch.tensor([float("nan"), float("inf"), 1.0]), "tensor([nan, inf, 1.])"),
        (lambda: torch.tensor([0.001, 1000.0]), "tensor([1.0000e-03, 1.0000e+03])"),
        (lambda: torch.tensor([-1.25, 3.0]), "tensor([-1.2500,  3.0000])"),
    ],
    ids=range(12),
)
def test_printed(make: Callable[[], Any], text: str) -> None:
    assert repr(make()) == text
    assert str(make()) == text


def test_printing_a_wide_range_of_whole_numbers() -> None:
    assert repr(torch.tensor([1.0, 2000.0])) == "tensor([1.0000e+00, 2.0000e+03])"
    assert repr(torch.tensor([1.0, 900.0])) == "tensor([  1., 900.])"
    assert repr(torch.tensor([0.5, 123456.0])) == "tensor([5.0000e-01, 1.2346e+05])"


def test_printing_breaks_lines_at_eighty_characters() -> None:
    text = repr(torch.ones(30))
    assert text == "tensor([" + "1., " * 17 + "1.,\n        " + "1., " * 11 + "1.])"


def test_printing_leaves_out_the_middle_of_many() -> None:
    assert repr(torch.zeros(2000)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"


def test_printing_the_type_where_it_is_not_the_default() -> None:
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float32)
        assert repr(leaf([1.0])) == "tensor([1.], dtype=torch.float64, requires_grad=True)"
        torch.set_default_dtype(torch.float64)
        assert repr(leaf([1.0])) == "tensor([1.], requires_grad=True)"
    finally:
        torch.set_default_dtype(before)


def test_printing_a_node() -> None:
    y = leaf(1.0) * 2
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")


def test_printing_after_a_change_of_a_view() -> None:
    y = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    y[0] = 5.0
    assert repr(y) == "tensor([5., 2.], grad_fn=<CopySlices>)"


def test_printing_shapes_and_types() -> None:
    x = torch.ones(2, 3)
    assert str(x.shape) == "torch.Size([2, 3])"
    assert x.shape == (2, 3)
    assert x.size() == torch.Size([2, 3])
    assert x.shape.numel() == 6


def test_formatting_numbers() -> None:
    assert f"{const(2.5):.1f}" == "2.5"
    assert f"{leaf(2.5).item():.2f}" == "2.50"


def test_a_gradient_is_printed_plainly() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert repr(x.grad) == "tensor([2., 4.])"
    assert shape(x.grad) == [2]
