"""The picture of a lesson: one pass of a loop at a time, labels beside edges, and the step in view on wide and narrow screens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autodiff_cli.explanation.explain import explain
from autodiff_cli.lesson import page as pages
from autodiff_cli.lesson.program import to_html
from autodiff_cli.lesson.statements import Recorder
from tests.browser import Page, data_of
from tests.test_python_lesson import played

LOOP = """\
x = tensor([1.0, 2.0], requires_grad=true)
w = tensor(0.5, requires_grad=true)
total = tensor(0.0)
for i in range(4):
    loss = ((w*x - 1)**2).sum()
    total = total + loss
    loss.backward()
    with no_grad():
        w -= 0.1*w.grad
    print(i)
print("done")
"""
CROSSINGS = """\
const edges = [...document.querySelectorAll("path.edge")].map((path) => {
  const length = path.getTotalLength(), points = [];
  for (let at = 0; at <= length; at += 2) points.push(path.getPointAtLength(at));
  return points.map(({ x, y }) => ({ x, y, width: 0, height: 0 }));
});
const labels = [...document.querySelectorAll("svg text.label")].filter((each) => each.textContent);
const nodes = [...document.querySelectorAll("svg .node .box")].map((each) => each.getBBox());
const boxes = labels.map((each) => each.getBBox()).map(({ x, y, width, height }) => ({ x, y: y + 3, width, height: height - 6 }));
const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
return boxes.flatMap((box, i) => {
  const others = { node: nodes, label: boxes.filter((_, k) => k !== i), edge: edges.flat() };
  const crossed = Object.keys(others).filter((kind) => others[kind].some((other) => overlap(box, other)));
  return crossed.map((kind) => `${kind}: ${labels[i].textContent}`);
})"""
IN_VIEW = """\
const room = document.getElementById("graph").getBoundingClientRect();
const visible = [...document.querySelectorAll("svg .node")].filter((each) => getComputedStyle(each).visibility === "visible");
return visible.filter((each) => {
  const box = each.getBoundingClientRect();
  return box.left >= room.left - 1 && box.right <= room.right + 1 && box.top >= room.top - 1 && box.bottom <= room.bottom + 1;
}).map((each) => each.dataset.name)"""


def lesson_of(text: str) -> str:
    recorder = Recorder({})
    recorder.record(text)
    return to_html("p.ad", recorder, 6)


def of_expression(source: str, values: dict[str, float]) -> str:
    return pages.to_html(explain(source, values), 6)


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_tensor_is_left_behind_at_the_end_of_its_pass() -> None:
    data = data_of(lesson_of(LOOP))
    ends = {line["name"]: line.get("until") for line in data["lines"]}
    turns = [scene.get("turn", "") for scene in data["scenes"]]
    last = {turn: max(at for at, each in enumerate(turns) if each == turn) for turn in turns}
    assert ends["w"] is ends["x"] is ends["total"] is ends["loss"] is None  # total, which is alive, keeps all losses
    assert [ends[f"%{number}"] for number in (4, 8)] == [last["i = 0"], last["i = 1"]]  # 0.1*w.grad
    plain = data_of(lesson_of(LOOP.replace("    total = total + loss\n", "")))
    ends = {line["name"]: line.get("until") for line in plain["lines"]}
    turns = [scene.get("turn", "") for scene in plain["scenes"]]
    found = [ends[name] and turns[ends[name]] for name in ("loss", "loss₂", "loss₃", "loss₄")]
    assert found == ["i = 0", "i = 1", "i = 2", None]
    assert all(ends[name] is None or turns[ends[name] + 1] != turns[ends[name]] for name in ends)


def test_the_picture_has_one_pass_of_a_loop(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, tmp_path, lesson_of(LOOP.replace("    total = total + loss\n", "")))
    scenes = data_of(page.path.read_text(encoding="utf-8"))["scenes"]
    for turn, own in (("i = 0", "loss"), ("i = 2", "loss₃")):
        page.open(f"#step={max(at for at, scene in enumerate(scenes) if scene.get('turn') == turn)}")
        names = page.browser.execute_script("return [...document.querySelectorAll('svg .node')].map((each) => each.dataset.name)")
        assert [name for name in names if name.startswith("loss")] == [own]
        assert {"w", "x"} < {*names}
    assert page.errors() == []


def test_while_loops_and_loops_over_objects_count_their_passes(tmp_path: Path) -> None:
    text = """\
import torch
x = torch.tensor(2.0)
n = 0
while n < 2:
    for part in [[1], [2]]:
        y = x * 2
    n += 1
    print(n)
for n in range(2): z = x * 3
"""
    page = played(tmp_path, text)[0]
    turns = [scene["turn"] for scene in page["scenes"] if "turn" in scene]
    assert [turn for turn, before in zip(turns, ["", *turns], strict=False) if turn != before] == [
        "pass = 1, pass = 1",
        "pass = 1, pass = 2",
        "pass = 1",
        "pass = 2, pass = 1",
        "pass = 2, pass = 2",
        "pass = 2",
        "n = 1",
    ]


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("x*x + x", {"x": 1.0}),
        ("log(x**3) + sqrt(x**2 + y)", {"x": 5.0, "y": 2.0}),
        ("x*x + sin(x*y)*x", {"x": 1.0, "y": 2.0}),
        ("exp(-x**2)*y + y/x", {"x": 1.0, "y": 2.0}),
        ("h = tanh(w*x + b); (h - t)**2 + 0.1*w**2 + 0.1*b*w", {"w": 0.5, "x": 1.0, "b": 0.2, "t": 0.3}),
    ],
)
def test_no_edge_runs_through_a_label(source: str, values: dict[str, float], browser: Any, tmp_path: Path) -> None:
    page = Page(browser, tmp_path, of_expression(source, values))
    page.open("#step=last")
    assert len(page.texts("svg text.label")) > 2
    assert page.browser.execute_script(CROSSINGS) == []


def test_a_step_without_a_node_shows_that_of_the_step_before(phone: Any, tmp_path: Path) -> None:
    text = "x = tensor([1.25, 2.5, 3.125], requires_grad=true)\n"
    text += "".join(f"y{i} = {'x' if i == 0 else f'y{i - 1}'}*{i + 1.5} + x\n" for i in range(9)) + "print(1)\n"
    page = Page(phone, tmp_path, lesson_of(text))
    scenes = data_of(page.path.read_text(encoding="utf-8"))["scenes"]
    printed = next(at for at, scene in enumerate(scenes) if scene["title"] == "print(1)")
    page.open(f"#step={printed}")
    assert "y8" in page.browser.execute_script(IN_VIEW)
    page.open("#step=3")
    assert "y0" in page.browser.execute_script(IN_VIEW)


def test_a_wide_graph_fits_to_the_width_on_request(phone: Any, tmp_path: Path) -> None:
    values = dict.fromkeys("abcdefgh", 1.0)
    page = Page(phone, tmp_path, of_expression("a*b + c*d + e*f + g*h", values))
    wide = "const graph = document.getElementById('graph'); return graph.scrollWidth > graph.clientWidth"
    button = page.browser.find_element("xpath", "//button[.='Fit to width']")
    assert page.browser.execute_script(wide)
    button.click()
    assert not page.browser.execute_script(wide)
    assert button.get_attribute("aria-pressed") == "true"
    page.browser.execute_script("document.querySelector('main').style.paddingRight = '80px'")  # as where a scroll bar appears
    page.wait(200)
    assert not page.browser.execute_script(wide)
    button.click()
    assert page.browser.execute_script(wide)
    narrow = Page(phone, tmp_path, of_expression("x**2", {"x": 1.0}))
    assert not narrow.browser.find_element("xpath", "//button[.='Fit to width']").is_displayed()
    assert not narrow.browser.execute_script("return document.documentElement.scrollWidth > innerWidth")


def test_names_and_marks_are_there_when_they_are_needed(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, tmp_path, of_expression("log(x**3)", {"x": 5.0}))
    assert page.texts("svg .pending .value") == ["", "%1", "%2"]  # the operation log(%1) names %1
    assert not page.one("#legend").is_displayed()
    text = "x = tensor(2.0, requires_grad=true)\ny = x**2\ny.backward()\nz = x.detach()*2\n"
    page = Page(browser, tmp_path, lesson_of(text))
    assert not page.one("#legend").is_displayed()
    page.open("#step=last")
    assert page.one("#legend-freed").is_displayed()
    assert page.one("#legend-cut").is_displayed()
    page.open("#step=2")
    assert not page.one("#legend").is_displayed()


def test_no_column_of_the_table_is_cut(browser: Any, tmp_path: Path) -> None:
    text = "import torch\nw = torch.ones(5, 3, requires_grad=True) / 3\nw.retain_grad()\ny = torch.zeros(5, 3)\n"
    text += "loss = torch.nn.functional.binary_cross_entropy_with_logits(w, y)\nloss.backward()\n"
    played(tmp_path, text)
    page = Page(browser, tmp_path, (tmp_path / "lesson.html").read_text(encoding="utf-8"))
    page.open("#step=last")
    assert "BinaryCrossEntropyWithLogitsBackward0" in page.texts("tbody td")
    table = "const table = document.getElementById('tensors'); return table.scrollWidth <= table.clientWidth"
    assert page.browser.execute_script(table)
    assert "binary_cross_entropy_with_logits(w, y)" in page.texts("svg .title")
