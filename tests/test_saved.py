"""What is beyond PyTorch in saved values: the memory of a graph, and the cost of hooks that are not used."""

from __future__ import annotations

import json
import shlex
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.graph import nodes_behind
from autodiff_cli.autograd.hooks import node_observers
from autodiff_cli.autograd.saved.memory_use import SavedMemory
from autodiff_cli.number_text import bytes_text
from tests.shell import run


def memory_of(output: Any, *variables: Any) -> SavedMemory:
    found = SavedMemory(lambda tensor: "", variables)
    for node in reversed(nodes_behind(output)):
        found.values_of(node, "")
    return found


def graph_of(command: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(f"autodiff graph {command} --saved --json"))
    return found


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (8, "8 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (8 * 10**6, "7.63 MiB"), (2**40, "1 TiB")],
)
def test_bytes_as_text(count: int, text: str) -> None:
    assert bytes_text(count) == text


def test_the_same_memory_is_counted_once() -> None:
    x = ad.ones(10, requires_grad=True)
    y = x * x
    total = memory_of(y * y + x.sin(), x)
    assert (total.tensors, total.bytes, total.own) == (2, 160, 80)


def test_views_and_indices_take_the_memory_of_their_owner() -> None:
    x, number = ad.ones(10, requires_grad=True), ad.ones(1, requires_grad=True)
    views = memory_of((x.sin() * x[None, :5].sum()).exp() + x.view(2, 5).cos().sum(), x)
    index = memory_of(x[ad.tensor([1, 2, 3])])
    assert views.own == 80
    assert memory_of(number.expand(1000).sin(), number).bytes == 8
    assert (index.tensors, index.bytes, index.own) == (1, 24, 0)


def test_the_sum_of_the_nodes_is_the_total() -> None:
    found = graph_of('"y = x**2; exp(y)*y + w*sin(x)" --at "x=[1, 2, 3],w=2" --gradient "[1, 1, 1]"')
    values = [value for node in found["nodes"] for value in node["saved"]]
    assert sum(value["bytes"] for value in values if not value.get("again")) == found["saved"]["bytes"] == 104
    assert found["saved"]["variable_bytes"] == 32
    by_node = {node["label"]: {value["name"]: value for value in node["saved"]} for node in found["nodes"]}
    power = by_node["PowBackward0"]
    assert power["self"] == {"name": "self", "shape": [3], "dtype": "float64", "bytes": 24, "of": "x", "again": False}
    assert power["exponent"] == {"name": "exponent", "value": 2, "bytes": 0}
    assert by_node["ExpBackward0"]["result"]["again"] is True
    assert found["direction"] == "backward"


def test_float32_takes_half_the_memory() -> None:
    found = graph_of('"sum(exp(x))" --at "x=ones(1000)" --dtype float32')
    assert found["saved"] == {"tensors": 1, "bytes": 4000, "variable_bytes": 0}


def test_cuts_keep_the_sums() -> None:
    command = '"sum(exp(sin(x))*x)" --at "x=ones(100)"'
    assert graph_of(command)["saved"] == graph_of(f"{command} --depth 1")["saved"]


def test_nothing_is_said_without_the_option() -> None:
    for command in ("graph", "explain"):
        assert "saved" not in run(f"autodiff {command} {shlex.quote('exp(x)*x')} --at x=1 --json")


def test_no_observer_stays_after_hooks() -> None:
    before = list(node_observers)
    with ad.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        assert len(node_observers) == len(before) + 1
        with ad.autograd.graph.save_on_cpu():
            assert len(node_observers) == len(before) + 2
    with pytest.raises(ValueError, match="inside"), ad.autograd.graph.save_on_cpu():
        raise ValueError("inside")
    assert node_observers == before
    x = ad.ones(2, requires_grad=True)
    ad.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).sum().backward()
    assert node_observers == before


def test_a_packed_node_has_the_name_of_its_class() -> None:
    x = ad.ones(2, requires_grad=True)
    plain = type(x.sin().grad_fn)
    with ad.autograd.graph.save_on_cpu():
        y, z = x.sin().grad_fn, x.sin().grad_fn
    assert type(y) is type(z) is not plain
    assert isinstance(y, plain)
    assert (y.name(), type(y).__name__) == ("SinBackward0", "SinBackward0")


def test_a_hook_that_saves_a_detached_output_makes_no_cycle() -> None:
    import gc
    import weakref

    x = ad.ones(2, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        with ad.autograd.graph.saved_tensors_hooks(lambda x: x.detach(), lambda x: x):
            y = x.exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_pinned_memory_is_a_copy() -> None:
    x = ad.ones(2, requires_grad=True) * 1
    with ad.autograd.graph.save_on_cpu(pin_memory=True):
        y = x.sin()
    x.mul_(5)
    np.testing.assert_array_equal(y.grad_fn._saved_self.detach().numpy(), [1.0, 1.0])  # type: ignore[union-attr]
