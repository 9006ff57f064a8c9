"""Pictures of graphs: what Graphviz and XML readers make of them, boxes and texts that do not overlap, colours to read."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from autodiff_cli.errors import MissingPackage, ProgramError
from autodiff_cli.language.graph import Graph
from autodiff_cli.language.graph_forward import graph_of_text
from autodiff_cli.report import graph_dot
from autodiff_cli.report.graph_dot import run_graphviz, to_dot
from autodiff_cli.report.graph_layout import Layout, Point, by_grandalf, by_graphviz
from autodiff_cli.report.graph_mermaid import to_mermaid
from autodiff_cli.report.graph_svg import to_svg
from autodiff_cli.report.graph_text import flow, width
from autodiff_cli.report.graph_theme import DARK, LIGHT, Theme
from tests.shell import run
from tests.test_graph import GRAPHS_AT_RANDOM, backward, forward

HAS_DOT = shutil.which("dot") is not None
pytest.importorskip("grandalf")
needs_dot = pytest.mark.skipif(not HAS_DOT, reason="Graphviz is not installed")
Place = Callable[..., Layout]
PLACES = [pytest.param(by_graphviz, marks=needs_dot, id="graphviz"), pytest.param(by_grandalf, id="grandalf")]
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


def _boxes(sizes: Sequence[Point], layout: Layout) -> list[tuple[float, float, float, float]]:
    return [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(layout.centers, sizes, strict=True)]


def _overlap(a: tuple[float, ...], b: tuple[float, ...], gap: float) -> bool:
    return a[0] < b[2] + gap and b[0] < a[2] + gap and a[1] < b[3] + gap and b[1] < a[3] + gap


def _points(curve: Sequence[Point]) -> list[Point]:
    """Points on the curves, close to each other."""
    found = []
    for k in range(0, len(curve) - 1, 3):
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve[k : k + 4]
        for step in range(41):
            t = step / 40
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            found.append((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3))
    return found


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=25, deadline=None)
@given(graph=GRAPHS_AT_RANDOM)
def test_boxes_stand_apart_and_edges_end_at_them(place: Place, graph: Graph) -> None:
    sizes = [(40.0 + 23 * (i % 7), 30.0 + 17 * (i % 3)) for i in range(len(graph.nodes))]
    edges = list(graph.edges())
    layout = place(sizes, edges)
    boxes = _boxes(sizes, layout)
    assert not any(_overlap(a, b, 2) for i, a in enumerate(boxes) for b in boxes[:i])
    assert min(min(box[:2]) for box in boxes) > -0.1
    assert max(box[2] for box in boxes) < layout.width + 0.1
    assert max(box[3] for box in boxes) < layout.height + 0.1
    for (a, b), curve in zip(edges, layout.curves, strict=True):
        assert boxes[a][3] <= boxes[b][1]  # down
        for end, box in ((curve[0], boxes[a]), (curve[-1], boxes[b])):
            assert box[0] - 1 <= end[0] <= box[2] + 1
            assert box[1] - 1 <= end[1] <= box[3] + 1
        if place is by_grandalf:
            assert curve[-1][1] - curve[-2][1] > 1  # the arrow points down
            others = [box for i, box in enumerate(boxes) if i not in (a, b)]
            assert not any(_overlap((x, y, x, y), box, -0.5) for x, y in _points(curve) for box in others)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("i", range(6))
def test_svg_is_xml_whose_texts_fit_into_their_boxes(place: Place, i: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autodiff_cli.report.graph_svg.place", place)
    graph = examples()[i]
    root = ElementTree.fromstring(to_svg(graph, 6))
    left, top, wide, high = map(float, root.attrib["viewBox"].split())
    name = "{http://www.w3.org/2000/svg}"
    groups = root.findall(f"{name}g")
    assert [group.attrib["class"] for group in groups] == [f"node {node.kind}" for node in graph.nodes]
    boxes = []
    for group in groups:
        boxes_here = [
            tuple(float(rect.attrib[key]) for key in ("x", "y", "width", "height")) for rect in group.findall(f"{name}rect")
        ]
        x, y, w, h = boxes_here[-1]
        for text in group.findall(f"{name}text"):
            assert text.text
            size = 13 if text.attrib["class"] == "title" else 11.5
            half = width(text.text) * size * 0.61 / 2  # the widest of the fonts that are asked for
            assert x < float(text.attrib["x"]) - half
            assert float(text.attrib["x"]) + half < x + w
            assert y + size * 0.7 < float(text.attrib["y"]) < y + h - size * 0.2
        outer = boxes_here[0]
        boxes.append((outer[0], outer[1], outer[0] + outer[2], outer[1] + outer[3]))
        assert left < outer[0]
        assert top < outer[1]
        assert outer[0] + outer[2] < left + wide
        assert outer[1] + outer[3] < top + high
    assert not any(_overlap(a, b, 2) for k, a in enumerate(boxes) for b in boxes[:k])
    assert len(root.findall(f"{name}path")) == len(list(graph.edges()))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_can_be_read(theme: Theme) -> None:
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
        assert contrast(border, theme.ground) >= 2.9, kind
    # An edge has the page behind it, which may be the other one.
    assert min(contrast(theme.edge, LIGHT.ground), contrast(theme.edge, DARK.ground)) >= 2.9


def test_themes_of_an_svg() -> None:
    graph = graph_of_text("x*2")
    auto, light, dark = (to_svg(graph, 6, theme) for theme in ("auto", "light", "dark"))
    assert "prefers-color-scheme:dark" in auto
    assert 'class="ground"' not in auto
    assert LIGHT.ground in light
    assert DARK.ground not in light
    assert DARK.ground in dark
    assert LIGHT.ground not in dark


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
    assert "hint: install Graphviz" in said
    assert "[exit code 3]" in said
    monkeypatch.setitem(sys.modules, "grandalf", None)
    said = run(f"autodiff graph 'log(x)*y' -o {tmp_path}/h.svg")
    assert said.startswith("error: an SVG needs Graphviz")
    assert "pip install 'autodiff-cli[graph]'" in said
    assert [path.name for path in tmp_path.iterdir()] == ["g.svg"]


@needs_dot
def test_graphviz_that_fails_is_one_error() -> None:
    with pytest.raises(ProgramError, match="Graphviz could not draw"):
        run_graphviz("digraph {", "plain")


def test_a_program_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_dot.subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(PermissionError()))
    with pytest.raises(MissingPackage):
        run_graphviz("digraph {}", "png")
