"""Pictures of graphs: valid for Graphviz and XML readers, boxes and texts that do not overlap, readable colours."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autodiff_cli.errors import MissingPackage, ProgramError
from autodiff_cli.graph_drawing import dot
from autodiff_cli.graph_drawing.dot import run_graphviz, to_dot
from autodiff_cli.graph_drawing.forward import graph_of_text
from autodiff_cli.graph_drawing.labels import flow
from autodiff_cli.graph_drawing.layers import Layers, layers_of
from autodiff_cli.graph_drawing.layout import minimized_lengths
from autodiff_cli.graph_drawing.mermaid import to_mermaid
from autodiff_cli.graph_drawing.model import Graph, GraphNode
from autodiff_cli.graph_drawing.routes import smooth, spread
from autodiff_cli.graph_drawing.svg import to_svg
from autodiff_cli.graph_drawing.theme import DARK, LIGHT, GraphTheme
from autodiff_cli.report.styled_text import columns
from tests.drawn import dressed, faults, random_graph, read, sampled
from tests.fuzz import layout as fuzz
from tests.shell import ROOT, run
from tests.test_graph import backward, forward

HAS_DOT = shutil.which("dot") is not None
needs_dot = pytest.mark.skipif(not HAS_DOT, reason="Graphviz is not installed")
NASTY = """k = 2; y = einsum("ij,j->i", A, v); (y[0] if y[0] < 3 else 0)*k"""


def examples() -> list[Graph]:
    return [
        forward("f(a) = 1/(1 + exp(-a)); u = w*x + b; k = 2; -log(f(u))*k*t", {"w": 0.5, "x": 3, "b": -1}, {"t": 1}),
        backward("y = x**3; z = log(y); z*q + z*sin(x)", {"x": 5, "q": 2}),
        graph_of_text("x*y + x*(y + sin(x))/(x - y)**2"),
        forward("sum(v*linspace(0, 1, 50))", {"v": [1.0] * 50}),
        graph_of_text(NASTY),
        graph_of_text("x"),
    ]


# DOT and Mermaid


@needs_dot
@pytest.mark.parametrize("i", range(6))
def test_graphviz_reads_the_same_graph(i: int) -> None:
    graph = examples()[i]
    read = json.loads(run_graphviz(to_dot(graph, 6), "json"))
    numbers = {item["_gvid"]: int(item["name"][1:]) for item in read["objects"] if "nodes" not in item}
    assert sorted(numbers.values()) == list(range(len(graph.nodes)))
    edges = [(numbers[edge["tail"]], numbers[edge["head"]], edge.get("style") != "dashed") for edge in read.get("edges", [])]
    assert sorted(edges) == sorted(flow(graph))
    kinds = {numbers[item["_gvid"]]: item["class"] for item in read["objects"] if "nodes" not in item}
    assert [kinds[k] for k in range(len(graph.nodes))] == [node.kind for node in graph.nodes]


@needs_dot
def test_texts_with_quotes_and_markup_arrive_in_graphviz_as_they_are() -> None:
    graph = graph_of_text(NASTY)
    graph.nodes[-1].expression = 'a "b" \\n <c> &amp; \\'
    svg = run_graphviz(to_dot(graph, 6), "svg").decode()
    title = next(
        a for a in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}a") if "<c>" in "".join(a.attrib.values())
    )
    assert 'a "b" \\n <c> &amp; \\' in title.attrib.values()


def test_mermaid_has_nothing_in_a_label_that_means_something() -> None:
    graph = graph_of_text(NASTY)
    graph.nodes[-1].expression = '"a" #b; `c` 1. - * <b>'
    text = to_mermaid(graph, 6)
    head, *lines = text.splitlines()
    assert head == "flowchart TB"
    shapes = {"variable": '(["", "])', "constant": '["", "]', "operation": '("", ")', "output": '{{"", "}}', "named": '("", ")'}
    seen = 0
    for line in lines:
        if " --> " in line or " -.-> " in line:
            assert re.fullmatch(r"  n\d+ (-->|-\.->) n\d+", line)
        elif not line.startswith("  classDef "):
            found = re.fullmatch(r'  n(\d+)([(\[{]+)"(.*)"([)\]}]+):::(\w+)', line)
            assert found, line
            label = re.sub(r"</?b>|<br/>", "", found[3])
            assert not set(re.sub(r"#\d+;", "", label)) & set('"#;`*<>[]{}-'), label
            assert found[2] + found[4] == shapes[found[5]].replace('"", "', "")
            seen += 1
    assert seen == len(graph.nodes)
    last = next(line for line in lines if line.startswith(f"  n{seen - 1}"))
    decoded = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), last)
    assert decoded.endswith('"<b>*</b><br/>"a" #b; `c` 1. - * <b>"}}:::output')


# SVG

CHOICES = st.lists(st.lists(st.integers(0, 100), max_size=3), min_size=2, max_size=40)
ONCE_OVERLAPPED: list[list[int]] = [[], [], [], [], [0, 1, 2], [], [15, 17, 16], [], [7]]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(CHOICES, st.integers(0, 1000))
@example(ONCE_OVERLAPPED, 0)
def test_boxes_stand_apart_and_edges_lead_from_box_to_box(choices: list[list[int]], seed: int) -> None:
    for graph in (random_graph(choices), dressed(random_graph(choices), seed)):
        assert faults(to_svg(graph, 6), graph) == []


@pytest.mark.exhaustive
def test_the_graphs_of_the_fuzzer(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(40) == 0, capsys.readouterr().out


@pytest.mark.parametrize("i", range(6))
def test_texts_fit_into_their_boxes(i: int) -> None:
    graph = examples()[i]
    text = to_svg(graph, 6)
    assert faults(text, graph) == []
    groups = ElementTree.fromstring(text).findall("{http://www.w3.org/2000/svg}g")
    assert [group.attrib["class"] for group in groups] == [f"node {node.kind}" for node in graph.nodes]
    for group in groups:
        *_, inner = group.findall("{http://www.w3.org/2000/svg}rect")
        x, y, w, h = (float(inner.attrib[key]) for key in ("x", "y", "width", "height"))
        for line in group.findall("{http://www.w3.org/2000/svg}text"):
            assert line.text
            size = 13 if line.attrib["class"] == "title" else 11.5
            half = columns(line.text) * size * 0.61 / 2  # the widest of the fonts that are asked for
            assert x < float(line.attrib["x"]) - half
            assert float(line.attrib["x"]) + half < x + w
            assert y + size * 0.7 < float(line.attrib["y"]) < y + h - size * 0.2


BOX = '<g class="node {}"><rect x="{}" y="{}" width="40" height="30"/></g>'
SECOND = '<rect x="{}" y="{}" width="{}" height="{}"/></g>'


@pytest.mark.parametrize(
    ("path", "second", "fault"),
    [
        ("M20 30C20 50 20 80 20 100", (4, 104, 32, 22), ""),
        ("M20 30C20 50 20 80 20 100", (-4, 96, 48, 38), "second border of node 1 is not within"),
        ("M20 30C20 50 20 80 20 90", (4, 104, 32, 22), "ends -9.3 from the border"),
        ("M20 30C20 50 50 100 20 100", (4, 104, 32, 22), "points to the side"),
        ("M20 30C60 50 60 80 20 100", (4, 104, 32, 22), "runs through 2"),
        ("M20 30C20 50 20 50 20 60C30 70 20 80 20 100", (4, 104, 32, 22), "has a corner"),
        ("M20 30C20 20 20 80 20 100", (4, 104, 32, 22), "goes up"),
        ("M20 30C20 50 60 80 60 100", (4, 104, 32, 22), "ends at a round corner"),
    ],
)
def test_what_is_drawn_wrong_is_seen(path: str, second: tuple[int, ...], fault: str) -> None:
    graph = Graph([GraphNode("operation", "a"), GraphNode("output", "b", inputs=[0])], "", "forward", False)
    third = '<g class="node more"><rect x="45" y="60" width="9" height="9"/></g>'
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -12 200 200">'
        f'<path marker-end="url(#arrow)" d="{path}"/>{BOX.format("operation", 0, 0)}'
        f"{BOX.format('output', 0, 100).removesuffix('</g>')}{SECOND.format(*second)}{third}</svg>"
    )
    found = faults(svg, graph)
    assert [fault in each for each in found] == [True] * bool(fault) if not fault else any(fault in each for each in found), found


def test_boxes_too_near_are_seen() -> None:
    graph = Graph([GraphNode("operation", "a"), GraphNode("operation", "b")], "", "forward", False)
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -12 200 200">{}{}</svg>'
    assert faults(svg.format(BOX.format("operation", 0, 0), BOX.format("operation", 60, 0)), graph) == []
    assert "boxes 0 and 1" in faults(svg.format(BOX.format("operation", 0, 0), BOX.format("operation", 44, 10)), graph)[0]
    assert faults(svg.format(BOX.format("operation", 0, 0), BOX.format("operation", 160, 0)), graph) == [
        "box 1 is not in the picture"
    ]


@pytest.mark.exhaustive
def test_a_picture_is_the_same_every_time() -> None:
    code = (
        "from tests.drawn import *\nfrom autodiff_cli.graph_drawing.svg import to_svg\n"
        "for seed in range(6): print(to_svg(dressed(random_graph(random_choices(seed)), seed), 6))"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(drawn) == 1


def _positions(expression: str) -> dict[str, tuple[float, float]]:
    """The middle of each box by its expression."""
    graph = graph_of_text(expression)
    boxes = read(to_svg(graph, 6)).boxes
    return {
        node.expression: ((box.left + box.right) / 2, (box.top + box.bottom) / 2)
        for node, box in zip(graph.nodes, boxes, strict=True)
    }


def test_the_main_line_of_a_computation_is_straight() -> None:
    at = _positions("sqrt(exp(sin(x)) + y) * 3")
    line = [at[name][0] for name in ("x", "sin(x)", "exp(sin(x))", "exp(sin(x)) + y", "sqrt(exp(sin(x)) + y)")]
    assert max(line) - min(line) < 0.1
    assert abs(at["y"][0] - line[0]) > 20


def test_what_has_equal_parts_is_in_the_middle() -> None:
    at = _positions("sin(x) * cos(y)")
    assert at["sin(x) * cos(y)"][0] == pytest.approx((at["sin(x)"][0] + at["cos(y)"][0]) / 2, abs=0.2)
    diamond = _positions("sin(x) * cos(x)")
    assert diamond["x"][0] == pytest.approx(diamond["sin(x) * cos(x)"][0], abs=0.2)


def test_inputs_come_in_the_order_of_arguments_where_no_edges_cross() -> None:
    at = _positions("(a - b)/(c - d)")
    assert at["a"][0] < at["b"][0] < at["c"][0] < at["d"][0]


def test_edges_of_a_variable_share_their_line() -> None:
    """Each of the four uses on other layers leaves the one line where it is near."""
    text = "((((x + 1)*x + 2)*x + 3)*x + 4)*x"
    for graph in (graph_of_text(text), backward(text, {"x": 2})):
        leaf = next(i for i, node in enumerate(graph.nodes) if node.kind == "variable")
        drawing = read(to_svg(graph, 6))
        ends = [(a, b) for a, b, _ in flow(graph)]
        ways = [sampled(curve) for pair, curve in zip(ends, drawing.curves, strict=True) if leaf in pair]
        assert len(ways) == 5
        passed = 0
        for height in {(box.top + box.bottom) / 2 for box in drawing.boxes}:
            here = [float(np.interp(height, way[:, 1], way[:, 0])) for way in ways if way[0, 1] < height < way[-1, 1]]
            passed += len(here)
            assert not here or max(here) - min(here) < 0.02
        assert passed >= 15


@pytest.mark.exhaustive
def test_a_graph_of_thousands_of_nodes_is_laid_out_without_recursion() -> None:
    for text in ("x" + "+1" * 1000, "sin(" * 1000 + "x" + ")" * 1000):
        graph = graph_of_text(text)
        boxes = read(to_svg(graph, 6)).boxes
        middles = [(box.left + box.right) / 2 for box, node in zip(boxes, graph.nodes, strict=True) if node.inputs]
        assert max(middles) - min(middles) < 0.1
    assert not [path for path in (ROOT / "autodiff_cli").rglob("*.py") if "setrecursionlimit" in path.read_text(encoding="utf-8")]


def test_arrows_at_one_box_do_not_cover_each_other() -> None:
    for graph in (graph_of_text("cat([" + ", ".join(f"x{i}" for i in range(12)) + "])"), graph_of_text("x*x")):
        ends = sorted(curve[-1, 0] for curve in read(to_svg(graph, 6)).curves)
        assert min(b - a for a, b in pairwise(ends)) >= 7


def test_many_inputs_of_one_operation() -> None:
    graph = random_graph([[] for _ in range(500)])
    found = faults(to_svg(graph, 6), graph)
    assert {text.split()[0] for text in found} <= {"the"}  # the arrows of 499 edges at one box are as flat as they must be
    assert not any("through" in text or "corner" in text for text in found)


def test_a_graph_that_is_too_large_for_a_picture_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autodiff_cli.graph_drawing.svg.LONGEST", 10)
    said = run(f"autodiff graph 'x{'+1' * 10}' --depth all -o {tmp_path}/g.svg")
    assert said == (
        "error: a picture of 21 nodes is too large: its edges span 20 layers, more than the limit of 10\n"
        "  hint: reduce the graph with --depth N, or write DOT, Mermaid or JSON\n"
        "[exit code 3]\n"
    )
    assert not list(tmp_path.iterdir())


# The layout by itself


@pytest.mark.parametrize(
    ("edges", "layers"),
    [
        ([(0, 2), (2, 3), (1, 3)], [0, 1, 1, 2]),  # an input stands right above what takes it
        ([(0, 1), (1, 2), (2, 4), (0, 3), (3, 4)], [0, 1, 2, 2, 3]),
        ([(0, 2), (1, 2), (0, 3), (1, 3), (3, 4), (4, 5), (2, 5)], [0, 0, 1, 1, 2, 3]),  # more inputs than users: right below them
        ([(0, 1), (0, 1)], [0, 1]),
        ([], [0]),
    ],
)
def test_layers(edges: list[tuple[int, int]], layers: list[int]) -> None:
    assert layers_of(len(layers), edges) == layers


@settings(max_examples=100, deadline=None, derandomize=True)
@given(CHOICES)
def test_layers_go_down_and_orders_are_no_worse_than_that_of_the_text(choices: list[list[int]]) -> None:
    edges = list(random_graph(choices).edges())
    layer = layers_of(len(choices), edges)
    assert all(layer[a] < layer[b] for a, b in edges)
    assert set(layer) == set(range(max(layer) + 1))
    layers = Layers(len(choices), edges, layer)
    assert sorted(slot for row in layers.rows for slot in row) == list(range(len(layers.layer)))
    for a, b in edges:
        path = layers.path(a, b)
        assert [layers.layer[slot] for slot in path] == list(range(layer[a], layer[b] + 1))
        assert all(below in layers.lower[above] for above, below in pairwise(path))
    assert _crossings(layers, layers.rows) <= _crossings(layers, layers._initial_order(0))


def _crossings(layers: Layers, rows: list[list[int]]) -> int:
    at = {slot: i for row in rows for i, slot in enumerate(row)}
    pieces = [(layers.layer[a], at[a], at[b]) for a, below in enumerate(layers.lower) for b in below]
    return sum(p[0] == q[0] and p[1] < q[1] and p[2] > q[2] for p in pieces for q in pieces)


def test_edges_that_cross_in_the_order_of_the_inputs_are_put_apart() -> None:
    edges = [(0, 2), (0, 3), (0, 4), (0, 8), (1, 4), (1, 5), (1, 6), (1, 7), (3, 8), (4, 7), (5, 7)]
    layers = Layers(9, edges, layers_of(9, edges))
    assert _crossings(layers, layers._initial_order(0)) == 10
    assert _crossings(layers, layers.rows) == 0


def test_no_edges_of_a_tree_cross() -> None:
    tree = [(39 - i, 39 - (i - 1) // 3) for i in range(1, 40)]
    layers = Layers(40, tree, layers_of(40, tree))
    assert _crossings(layers, layers.rows) == 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_columns_are_the_best_that_the_distances_allow(seed: int) -> None:
    """Against another method: a general one for constrained minima."""
    from scipy.optimize import minimize

    chance = random.Random(seed)
    count = chance.randint(2, 8)
    apart = {(i, j): chance.uniform(20, 80) for i in range(count) for j in range(i + 1, count) if chance.random() < 0.4}
    pulls = {(i, j): chance.choice((1.0, 2.0, 3.0)) for i in range(count) for j in range(i + 1, count) if chance.random() < 0.5}
    pulls |= {(i, i + 1): 1.0 for i in range(count - 1)}

    def far(x: Sequence[float]) -> float:
        return float(sum(pull * (x[i] - x[j]) ** 2 for (i, j), pull in pulls.items()))

    found = minimized_lengths(count, apart, pulls)
    assert all(found[j] - found[i] >= gap - 1e-9 for (i, j), gap in apart.items())
    limits = [{"type": "ineq", "fun": lambda x, i=i, j=j, gap=gap: x[j] - x[i] - gap} for (i, j), gap in apart.items()]
    best = minimize(far, found, constraints=limits, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12})
    assert far(found) <= best.fun * 1.001 + 0.01


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(5, 60), st.integers(-100, 100)), min_size=2, max_size=12))
def test_curves_stay_between_their_points(steps: list[tuple[int, int]]) -> None:
    heights = np.cumsum([down for down, _ in steps])
    points = [(float(x), float(y)) for (_, x), y in zip(steps, heights, strict=True)]
    curve = np.array(smooth(points))
    assert curve[::3] == pytest.approx(np.array(points))
    for k, (one, other) in enumerate(pairwise(points)):
        way = sampled(curve[3 * k : 3 * k + 4])
        assert (np.diff(way[:, 1]) >= 0).all()
        assert min(one[0], other[0]) - 0.5 <= way[:, 0].min() <= way[:, 0].max() <= max(one[0], other[0]) + 0.5


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(-50, 50), st.sampled_from([1.0, 3.0])), min_size=1, max_size=6))
def test_places_are_the_nearest_that_are_apart(pairs: list[tuple[int, float]]) -> None:
    wanted, weights = [float(place) for place, _ in pairs], [weight for _, weight in pairs]
    found = spread(wanted, weights, 5.0)
    assert all(b - a > 5 - 1e-9 for a, b in pairwise(found))

    def far(places: list[float]) -> float:
        return sum(weight * (place - want) ** 2 for place, want, weight in zip(places, wanted, weights, strict=True))

    for i in range(len(found)):
        for j in range(i, len(found)):
            for step in (-0.01, 0.01):
                moved = [place + step * (i <= k <= j) for k, place in enumerate(found)]
                if all(b - a >= 5 - 1e-9 for a, b in pairwise(moved)):
                    assert far(moved) >= far(found) - 1e-9


PAGES = "#ffffff", "#0d1117"
"""The backgrounds of light and dark pages."""


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_can_be_read(theme: GraphTheme) -> None:
    def brightness(color: str) -> float:
        parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(a: str, b: str) -> float:
        low, high = sorted((brightness(a), brightness(b)))
        return (high + 0.05) / (low + 0.05)

    for kind, (fill, border, text) in theme.kinds.items():
        for color in (text, theme.detail, theme.grad):
            assert contrast(fill, color) >= 4.5, (kind, color)
        assert contrast(border, PAGES[theme is DARK]) >= 2.9, kind
    # An edge has the page behind it, which may be the other one.
    assert min(contrast(theme.edge, page) for page in PAGES) >= 2.9


# Files and what may be missing


@needs_dot
def test_png(tmp_path: Path) -> None:
    file = tmp_path / "g.png"
    assert run(f"autodiff graph 'log(x)*y' --at x=1,y=2 -o {file}") == ""
    assert file.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_without_graphviz_an_svg_is_laid_out_here_and_a_png_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(f"autodiff graph 'log(x)*y' -o {tmp_path}/g.svg") == ""
    assert ElementTree.parse(tmp_path / "g.svg").getroot().tag.endswith("svg")
    said = run(f"autodiff graph 'log(x)*y' -o {tmp_path}/g.png")
    assert said.startswith("error: a PNG needs Graphviz")
    assert "hint: install Graphviz (graphviz.org), or write an .svg file, which does not need Graphviz" in said
    assert "[exit code 3]" in said
    assert [path.name for path in tmp_path.iterdir()] == ["g.svg"]


def test_what_graphviz_writes_is_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\nread graph; echo "$1 $graph"; echo words >&2; exit ${CODE:-0}\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert run_graphviz("digraph {}\n", "png") == b"-Tpng digraph {}\n"
    monkeypatch.setenv("CODE", "1")
    with pytest.raises(ProgramError, match="Graphviz could not draw this graph: words"):
        run_graphviz("digraph {}\n", "png")


def test_a_program_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dot.subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(PermissionError()))
    with pytest.raises(MissingPackage):
        run_graphviz("digraph {}", "png")
