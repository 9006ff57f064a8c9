"""The graph of an expression: its structure compared with PyTorch's, its numbers, large graphs, the command."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.graph_drawing.backward import backward_graph, run_backward
from autodiff_cli.graph_drawing.depth import cut, deepest_level, readable
from autodiff_cli.graph_drawing.forward import graph_of_text, graph_of_values
from autodiff_cli.graph_drawing.model import Graph, GraphNode
from autodiff_cli.graph_drawing.terminal import branches
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import walk
from tests.drawn import random_graph
from tests.expressions import FORMULAS, Formula
from tests.processes import completed
from tests.shell import ROOT, run
from tests.test_golden import CODE, GRAPHS, LATER, POINTS, _known

SIGMOID = "f(a) = 1/(1 + exp(-a)); u = w*x + b; p = f(u); -log(p)"


def forward(expression: str, at: dict[str, Any], const: dict[str, Any] | None = None) -> Graph:
    session = Evaluation(expression, at, const)
    run_backward(session, session.output)
    return graph_of_values(session, session.output)


def backward(expression: str, at: dict[str, Any]) -> Graph:
    session = Evaluation(expression, at)
    return backward_graph(session, session.output)


def by_name(graph: Graph) -> dict[str, GraphNode]:
    return {node.name: node for node in graph.nodes if node.name}


def nested(graph: Graph, position: int | None) -> Any:
    if position is None:
        return None
    node = graph.nodes[position]
    return [node.label, *(nested(graph, given) for given in node.inputs)]


def shape(graph: Graph) -> list[tuple[str, str, list[int | None]]]:
    return [(node.kind, node.label, node.inputs) for node in graph.nodes]


# Structure


@pytest.mark.parametrize(
    ("expression", "expected"),
    [pair for pair in GRAPHS.items() if pair[1] and _known(pair[0]) and pair[0] not in LATER],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_backward_is_pytorchs(expression: str, expected: Any) -> None:
    code = CODE.get(expression, expression)
    used = {node.text for node in walk(parse(code)) if node.kind == "NAME"}
    graph = backward(code, {name: value for name, value in POINTS.items() if name in used})
    assert nested(graph, len(graph.nodes) - 1) == expected
    assert all(node.kind == ("variable" if node.label == "AccumulateGrad" else node.kind) for node in graph.nodes)


def test_a_shared_leaf_and_a_shared_step_are_one_node() -> None:
    graph = forward("y = x**2; y*y + x", {"x": 3})
    assert shape(graph) == [
        ("variable", "x", []),
        ("constant", "2", []),
        ("named", "**", [0, 1]),
        ("operation", "*", [2, 2]),
        ("output", "+", [3, 0]),
    ]
    assert shape(backward("y = x**2; y*y + x", {"x": 3})) == [
        ("variable", "AccumulateGrad", []),
        ("named", "PowBackward0", [0]),
        ("operation", "MulBackward0", [1, 1]),
        ("output", "AddBackward0", [2, 0]),
    ]


@given(FORMULAS)
@settings(max_examples=60, deadline=None)
def test_the_text_has_the_graph_of_the_evaluation(formula: Formula) -> None:
    at = {name: 0.5 for name in ("x", "y") if name in {node.text for node in walk(parse(formula.text)) if node.kind == "NAME"}}
    if at:
        assert shape(graph_of_text(formula.text)) == shape(forward(formula.text, at))


@pytest.mark.parametrize(
    ("expression", "at"),
    [
        (SIGMOID, {"w": 0.5, "x": 3, "b": -1}),
        ("k = 3; z = [x*k, k*2*x]; sum(z)*pi", {"x": 2}),
        ("a, b = v; a*b + v[0] + v.T[1]", {"v": [1, 2]}),
        ("where(x > 0, sqrt(x), 2*3)", {"x": 2}),
        ("(v if v > 1 else 0).sum(dim=0, keepdim=true)", {"v": [1, 2]}),
        ("cat([v, [1, 2]], dim=0).reshape(2, 2).sum()", {"v": [1, 2]}),
        ("g(a) = a**2 with grad (2*a); g(x)*sum(ones(3)*x)", {"x": 2}),
        ("max(x, y) + clamp(x, 0, 1) + norm(stack([x, y]))", {"x": 2, "y": 3}),
        ("f(a, b) = a*b; h(a) = f(a, 2) + f(a, a); h(h(x))", {"x": 2}),
        ("0 < x < 1 and not x == 2", {"x": 2}),
        ("e = 2; x**-e + (-x)**(1/3)", {"x": 2}),
    ],
)
def test_programs_without_values_have_the_graph_of_the_evaluation(expression: str, at: dict[str, Any]) -> None:
    assert shape(graph_of_text(expression)) == shape(forward(expression, at))


def test_without_values_both_branches_are_there_and_recursion_stays_a_call() -> None:
    graph = graph_of_text("f(n) = 1 if n < 1 else n*f(n - 1); f(x)")
    assert [node.label for node in graph.nodes] == ["x", "1", "<", "1", "-", "f", "*", "1", "where"]
    assert [node.label for node in forward("x if x > 0 else -x", {"x": 2}).nodes] == ["x"]


def test_results_with_names_and_several_results() -> None:
    assert forward("sort(v).values[0]", {"v": [2, 1]}).nodes[1].label == "sort.values"
    assert [n.label for n in graph_of_text("sort(v).values[0]").nodes] == ["v", "sort", ".values", "[0]"]
    with pytest.raises(AutodiffError, match="unknown attribute 'sum'"):
        graph_of_text("v.sum*2")


@pytest.mark.parametrize("expression", ["lgo(x)", "where(x)", "f(a) = a; f(x, y)", "x +", "x -= 1", "f(a) = a", "sum(x, dmi=0)"])
def test_mistakes_are_found_without_values_as_with_them(expression: str) -> None:
    with pytest.raises(AutodiffError) as without:
        graph_of_text(expression)
    with pytest.raises(AutodiffError) as with_values:
        Evaluation(expression, {"x": 1, "y": 2})
    assert (str(without.value), without.value.span) == (str(with_values.value), with_values.value.span)


# Numbers


def test_values_and_gradients_of_every_step() -> None:
    graph = by_name(forward("y = x**3; z = log(y); z*q", {"x": 5, "q": 2}))
    expected = {  # by hand: the output is q*log(y), y = x**3
        "x": (5, 2 * 3 / 5),
        "y": (125, 2 / 125),
        "z": (math.log(125), 2),
        "q": (2, math.log(125)),
        "%1": (2 * math.log(125), 1),
    }
    assert set(graph) == set(expected)
    for name, (value, grad) in expected.items():
        assert np.allclose([graph[name].value, graph[name].grad], [value, grad], rtol=1e-15), name
    arrived = by_name(backward("y = x**3; z = log(y); z*q", {"x": 5, "q": 2}))
    assert {name: node.grad for name, node in arrived.items()} == {name: node.grad for name, node in graph.items()}


def test_the_gradient_that_arrives_inside_an_operation() -> None:
    graph = backward("3/x", {"x": 2})  # 3*(1/x): to 1/x arrives 3
    expected = {"AccumulateGrad": -0.75, "ReciprocalBackward0": 3.0, "MulBackward0": 1.0}
    assert [(node.label, node.grad) for node in graph.nodes] == [*expected.items()]


def test_constants_require_no_grad_and_vectors_keep_their_shape() -> None:
    graph = forward("sum(v*c)", {"v": [1, 2]}, {"c": [3, 4]})
    nodes = by_name(graph)
    assert (nodes["c"].kind, nodes["c"].requires_grad, nodes["v"].grad.tolist()) == ("constant", False, [3, 4])
    assert graph.records()[0]["shape"] == [2]


# Less of it


GRAPHS_AT_RANDOM = st.lists(st.lists(st.integers(0, 100), max_size=3), min_size=2, max_size=25).map(random_graph)


@given(GRAPHS_AT_RANDOM, st.integers(1, 4))
def test_cut_leaves_what_is_near_and_counts_the_rest(graph: Graph, depth: int) -> None:
    levels = graph.levels()
    small = cut(graph, depth)
    near = [node.name for node, level in zip(graph.nodes, levels, strict=True) if level <= depth]
    assert [node.name for node in small.nodes if node.kind != "more"] == near
    assert small.hidden == len(graph.nodes) - len(near) == sum(node.count for node in small.nodes if node.kind == "more")
    assert max(small.levels()) <= depth + 1
    assert all(a < b for a, b in small.edges())


@pytest.mark.exhaustive
def test_a_long_chain() -> None:
    nodes = [GraphNode("variable", "x", "x")]
    nodes += [GraphNode("operation", "sin", f"%{i}", "", [i - 1]) for i in range(1, 30_000)]
    graph = Graph(nodes, "", "forward", evaluated=False)
    assert deepest_level(graph, 200, 20) == 20
    assert cut(graph, 20).hidden == 30_000 - 21
    last = None
    for line in branches(graph):
        last = line
    assert last is not None
    assert len(last[0]) < 120
    assert last[0].startswith("29999 ⋯ ")
    assert len(graph_of_text("x" + "+1" * 8_000).nodes) == 16_001


def test_what_is_shown_by_default_is_bounded_in_both_directions() -> None:
    wide = graph_of_text("sum([" + ", ".join(f"x{i}" for i in range(3000)) + "])")
    assert len(cut(wide, deepest_level(wide, 200, 20)).nodes) == 3
    tree = graph_of_text("+".join(f"x{i}*y{i}" for i in range(1000)))
    shown = cut(tree, deepest_level(tree, 200, 20))
    assert 20 < len(shown.nodes) <= 202


def test_long_edges_are_bounded_too() -> None:
    horner = graph_of_text("(" * 300 + "x" + "*x+1)" * 300)
    assert horner.length() > 80_000  # x is used on each of 600 layers
    assert 15_000 < readable(horner, 10**9, 10**9, 20_000).length() <= 20_000
    assert graph_of_text("sin(x) + x").length() == 4


# The command


def test_every_format_and_file(tmp_path: Path) -> None:
    pictures = {"dot": "digraph autodiff {", "mermaid": "flowchart TB", "plain": "node", "table": "node"}
    data = {"json": '{"schema": 1, "command": "graph"', "csv": "id,kind,", "tsv": "id\tkind\t", "markdown": "| id | kind"}
    for style, start in {**pictures, **data, "ndjson": '{"id": 0'}.items():
        assert run(f"autodiff graph 'log(x)*y' --at x=1,y=2 --format {style}").startswith(start), style
    files = {"dot": "digraph", "gv": "digraph", "mmd": "flowchart", "json": "{", "txt": "node", "csv": "id,"}
    for suffix, start in files.items():
        file = tmp_path / f"g.{suffix}"
        assert run(f"autodiff graph 'log(x)*y' -o {file}") == ""
        assert file.read_text(encoding="utf-8").startswith(start)
    assert {path.suffix for path in tmp_path.iterdir()} == {f".{suffix}" for suffix in files}


def test_json_document() -> None:
    answer = json.loads(run("autodiff graph 'y = x**2; y*3' --at x=inf --json"))
    assert list(answer) == ["schema", "command", "expression", "direction", "nodes", "edges", "hidden", "notes"]
    assert [(edge["from"], edge["to"]) for edge in answer["edges"]] == [(0, 2), (1, 2), (2, 4), (3, 4)]
    named = {node["name"]: node for node in answer["nodes"]}
    assert named["y"]["value"] == "inf"
    assert named["y"]["grad"] == 3.0
    assert [answer["nodes"][i]["name"] for i in named["y"]["inputs"]] == ["x", None]
    null = json.loads(run("autodiff graph 'x + 2' --at x=1 --backward --json"))
    assert null["nodes"][-1]["inputs"] == [0, None]


def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run(f"autodiff graph x -o {tmp_path}/no/g.dot")
    assert text.startswith("error: cannot write")
    assert text.endswith("[exit code 5]\n")
    file = tmp_path / "g.dot"
    file.write_text("old")

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert run(f"autodiff graph x -o {file}") == f"error: cannot write '{file}': No space left on device\n[exit code 5]\n"
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.exhaustive
def test_a_large_graph_says_what_it_left_out() -> None:
    chain = "x" + "+1" * 500
    text = run(f"autodiff graph {chain}")
    assert "… 960 more" in text
    assert text.endswith("note: 960 nodes further from the output are hidden; use --depth all to show them\n")
    assert "note" not in run(f"autodiff graph {chain} --depth 3")
    assert len(run(f"autodiff graph {chain} --depth all").splitlines()) == 1003


def test_nothing_heavy_is_loaded_for_a_graph_as_text() -> None:
    code = (
        "from autodiff_cli.cli.main import main\nmain(['graph', 'log(x)', '--format', 'mermaid'])\nimport sys\nprint(*sys.modules)"
    )
    done = completed([sys.executable, "-c", code], check=True, cwd=ROOT)
    assert not {"rich", "lark", "scipy", "subprocess", "xml"} & set(done.stdout.split())


@pytest.mark.parametrize("columns", [40, 50, 60, 200])
def test_leaves_keep_their_names_in_narrow_terminals(columns: int) -> None:
    from autodiff_cli.graph_drawing.terminal import tree_table

    graph = backward("log(first**3)*second + sqrt(first**2)*sin(second)", {"first": 5.123456, "second": 2.654321})
    lines = [line.plain for line in tree_table(graph, 6, columns).drawn(columns)]
    leaves = [line for line in lines if "●" in line][:2]  # the other columns may be below
    assert "first" in leaves[0]
    assert "second" in leaves[1]
