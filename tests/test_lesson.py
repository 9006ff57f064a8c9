"""Lessons: the page, and what it shows in a browser.

The browser is Chromium with its driver, from the packages of the system; without them, the tests of the page in a browser are
skipped.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_cli.derivatives.evaluate import evaluate
from autodiff_cli.evaluation.names import element_names
from autodiff_cli.explanation.explain import explain
from autodiff_cli.explanation.model import Explanation
from autodiff_cli.lesson.page import to_html
from autodiff_cli.report.array_text import human
from tests.browser import Page, data_of
from tests.shell import ROOT, run

FIRST = ("log(x**3) + sqrt(x**2)", {"x": 5.0})
EXPRESSIONS: list[tuple[str, dict[str, Any]]] = [
    FIRST,
    ("x*x", {"x": 3.0}),
    ("y = x**3; a = y*2; a + y", {"x": 2.0}),
    ("abs(x)*y", {"x": 0.0, "y": -2.0}),
    ("x", {"x": 2.0}),
    ("f(a) = a**2 with grad (2*a); f(x) - 1e-9/x", {"x": -0.5}),
    ("sum(x*w)", {"x": [1.0, 2.0], "w": 3.0}),
    ("where(x > 1, log(x), x**2)", {"x": 0.5}),
    ("x = x**2; x = x*3; sin(x)", {"x": 2.0}),
    ("sum(a @ b)", {"a": [[1.0, 2.0], [3.0, 4.0]], "b": [[0.5, 0.0], [1.0, -1.0]]}),
]


def explained(source: str, values: dict[str, Any]) -> Explanation:
    return explain(source, values, {"c": 2.0} if "c" in source else {})


def opened(browser: Any, folder: Path, result: Explanation) -> Page:
    return Page(browser, folder, to_html(result, 6))


def test_a_page_loads_nothing_and_ends_no_script_early() -> None:
    page = to_html(explained("where(x < 1, x, 2)*cos(x) + (x <= 3)", {"x": 0.5}), 6)
    assert not re.findall(r"""(?:src|href)\s*=|url\((?!#)|@import|fetch\(|XMLHttp""", page)
    assert page.count("</script>") == page.count("<script") == 3
    assert page.count("<style>") == page.count("</style>") == 1
    assert "default-src 'none'" in page
    assert data_of(page)["expression"] == "where(x < 1, x, 2)*cos(x) + (x <= 3)"
    assert "<title>where(x &lt; 1," in page
    assert len(page) < 500_000


def test_the_lesson_of_the_documentation_is_current() -> None:
    written = (ROOT / "docs" / "lesson.html").read_text(encoding="utf-8")
    assert written == to_html(explained(*FIRST), 6), "run python docs/images/make.py"


def test_the_command_writes_a_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run('autodiff explain "x**2" --at x=3 -o lesson.html') == ""
    assert data_of(Path("lesson.html").read_text())["lines"][1]["value"] == {"text": "9"}
    run('autodiff explain "x**2" --at x=3 -o e.tex')
    assert Path("e.tex").read_text().startswith("\\documentclass")
    assert ".html" in run('autodiff explain "x**2" --at x=3 -o e.xyz')


def test_a_program_that_is_too_large_for_a_page(tmp_path: Path) -> None:
    steps = "; ".join(["a0 = x", *(f"a{i} = sin(a{i - 1})" for i in range(1, 1100)), "a1099"])
    (tmp_path / "p.txt").write_text(steps)
    found = run(f"autodiff explain @{tmp_path}/p.txt --at x=1 -o {tmp_path}/lesson.html")
    assert "the lesson has 1,100 steps forward, more than the limit of 1,000" in found
    assert not (tmp_path / "lesson.html").exists()


@pytest.mark.parametrize(("source", "values"), EXPRESSIONS, ids=[source for source, _ in EXPRESSIONS])
def test_every_number_of_an_explanation_appears(source: str, values: dict[str, Any], browser: Any, tmp_path: Path) -> None:
    result = explained(source, values)
    page = opened(browser, tmp_path, result)
    data = data_of(page.path.read_text())
    assert page.texts("svg .value") == ["" if line["leaf"] else line["name"] for line in data["lines"]]
    seen: list[str] = []
    for i in range(page.position[1] + 1):
        assert page.position[0] == i
        seen += page.texts("#equations code")
        page.one("#next").click()
    assert page.position[0] == page.position[1]
    for line in data["lines"]:
        operation = "" if line["leaf"] else f" = {line['operation']}"
        assert f"{line['name']}{operation} = {line['value']['text']}" in seen
    for step in data["steps"]:
        for part in step["contributions"]:
            ends = f" = {part['value']['text']}"
            assert any(text.startswith(f"d{data['symbol']}/d{part['to']} ") and text.endswith(ends) for text in seen)
            if part["local"]:
                assert any(text.startswith(f"d{step['names'][0]}/d{part['to']} = ") for text in seen)
    grads = {line["name"]: cell for line, cell in zip(data["lines"], page.texts("tbody td:last-child"), strict=True)}
    for end in data["ends"]:
        assert grads[end["name"]] == (end["value"]["text"] if end["parts"] else "None")
    assert page.errors() == []


def test_steps_are_reached_in_every_way(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained(*FIRST))
    assert page.position == (0, 16)
    assert "None" not in page.texts("tbody td:last-child")
    page.press("\ue014")  # the right arrow
    page.press("\ue014")
    page.press("\ue012")
    assert page.position[0] == 1
    page.wait(400)
    assert page.browser.current_url.endswith("#step=1")
    page.press("\ue010")  # the end key
    assert page.position[0] == 16
    page.press("\ue011")
    assert page.position[0] == 0
    page.open("#step=7")
    assert page.one("#heading").text == "Before backward"
    assert page.texts("#equations code") == ["x.grad = None"]
    page.open("#step=last")
    assert page.texts("#equations code") == ["x.grad = 1.6"]
    page.browser.execute_script("location.hash = '#step=14'")
    page.wait(50)
    assert page.texts("#equations code")[1:] == ["dz/dx += dz/d%1 · d%1/dx = 0.008 · 75 = 0.6", "dz/dx = 1 + 0.6 = 1.6"]
    page.one("#back").click()
    assert page.position[0] == 13
    for broken in ("#step=99", "#step=-3", "#step=x"):
        page.open(broken)
        assert page.position[0] == (16 if "99" in broken else 0)
    assert page.errors() == []


def test_a_lesson_plays_and_pauses(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained(*FIRST))
    page.press(" ")
    assert page.one("#play").text == "Pause"
    page.wait(2000)
    page.one("#play").click()
    assert page.one("#play").text == "Play"
    assert page.position[0] == 1


def test_a_phone_scrolls_only_the_graph(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained("tanh(w1*x + b1)*w2 + exp(-x**2)/(1 + x**2)", dict(x=0.5, w1=2.0, b1=0.1, w2=-1.0)))
    size = {"width": 320, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.open("#step=last")
    elements = "return ['html', '.inputs'].map((each) => document.querySelector(each))"
    found = page.browser.execute_script(f"{elements}.map((each) => [each.scrollWidth, each.clientWidth])")
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert all(wide <= visible for wide, visible in found), found


MOVED: list[tuple[str, dict[str, float], list[dict[str, float]]]] = [
    (*FIRST, [{"x": 2.0}, {"x": 0.125}, {"x": 1000.0}]),
    ("abs(x)*y + x", {"x": 0.0, "y": -2.0}, [{"x": 3.0, "y": 4.0}, {"x": -1.5, "y": 0.25}]),
    ("where(x > 1, log(x - 1), x**2)", {"x": 3.0}, [{"x": 0.5}, {"x": -2.0}, {"x": 1.0}]),
    ("tanh(w*x + b)*max(x, w) + exp(-x**2)/(1 + x**2)", {"x": 0.5, "w": 2.0, "b": 0.1}, [{"x": -1.0, "w": 0.5, "b": 2.0}]),
    ("y = x**3; a = y*2; f(t) = t**2 with grad (2*t); a + y*f(x)", {"x": 2.0}, [{"x": -3.0}]),
    ("x*x", {"x": 3.0}, [{"x": -4.0}]),
    ("x = x**2; x = x*3; sin(x)", {"x": 2.0}, [{"x": -0.5}]),
    ("relu(x) + sqrt(relu(x))", {"x": 1.0}, [{"x": -1.0}, {"x": 4.0}]),
]


@pytest.mark.parametrize(("source", "values", "others"), MOVED, ids=[source for source, _, _ in MOVED])
def test_moved_inputs_give_the_numbers_of_python(
    source: str, values: dict[str, float], others: list[dict[str, float]], browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, explained(source, values))
    page.open("#step=last")
    for given in others:
        for name, value in given.items():
            field = page.one(f'input[type="number"][aria-label="value of {name}"]')
            field.clear()
            field.send_keys(repr(value))
        expected = evaluate(source, given)
        grads = dict(text.split(".grad = ") for text in page.texts("#equations code"))
        assert {name: float(text) for name, text in grads.items()} == pytest.approx(expected.grad, rel=1e-5)
        shown = page.texts("tbody tr:last-child td:nth-child(3)")
        assert float(shown[0]) == pytest.approx(expected.value, rel=1e-5)
        assert page.texts("#equations code") == [f"{name}.grad = {human(value, 6)}" for name, value in expected.grad.items()]
    slider = page.one('input[type="range"][aria-label^="slider of"]')
    page.browser.execute_script("arguments[0].value = arguments[0].max; arguments[0].dispatchEvent(new Event('input'))", slider)
    name = next(iter(values))
    moved = {**others[-1], name: float(slider.get_attribute("value"))}
    grads = dict(text.split(".grad = ") for text in page.texts("#equations code"))
    assert float(grads[name]) == pytest.approx(evaluate(source, moved).grad[name], rel=1e-5)
    page.one("#curve summary").click()
    assert page.one("#curve .curve").get_attribute("d").startswith("M")
    assert f"over {name}" in page.one("#curve p").text
    assert page.errors() == []


WEIGHTS = [[1.0, -2.0], [0.5, 3.0]]
ARRAYS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("sum(x**2)", {"x": [1.0, 2.0]}, {"x": [-3.0, 0.5]}),
    (
        "h = tanh(W@x + b); sum(h**2)*s",
        {"W": WEIGHTS, "x": [1.0, 2.0], "b": [0.1, 0.2], "s": 2.0},
        {"W": [[0.2, 1.0], [-1.0, 0.3]], "x": [0.5, -0.4], "b": [0.3, -0.1], "s": -1.5},
    ),
    ("sum(where(x > 1, log(x - 1), x**2))", {"x": [0.5, 2.0, 3.0]}, {"x": [4.0, -1.0, 1.0]}),
    (
        "trace(A @ A.T) + sum(x*y)",
        {"A": WEIGHTS, "x": [1.0, 2.0], "y": 3.0},
        {"A": [[2.0, 1.0], [0.0, -1.0]], "x": [0.0, 1.5], "y": -2.0},
    ),
    ("x*x + x[0]*x[2]; sum(x[1:]*x[:-1])/mean(x)", {"x": [1.0, 2.0, 4.0]}, {"x": [-1.0, 0.25, 3.0]}),
    ("sum([x, x*y])*dot([x, y], [y, 2])", {"x": 1.0, "y": 2.0}, {"x": -0.5, "y": 3.0}),
    ("x @ A @ x", {"x": [1.0, 2.0], "A": WEIGHTS}, {"x": [-1.0, 0.5], "A": [[2.0, 1.0], [0.0, -1.0]]}),
    ("y = relu(x); sum(y*y + abs(x)) + prod(x)", {"x": [1.0, -2.0]}, {"x": [-0.5, 4.0]}),
]
NUMBER = re.compile(r"(?<![\w%.])-?(?:\d+\.?\d*(?:e-?\+?\d+)?|inf|nan)(?![\w.])")


def equations(page: Page) -> list[str]:
    """Return the equations of all steps, from the first one on."""
    return page.browser.execute_script(
        """const next = document.getElementById("next"), found = [];
        while (!next.disabled) {
          next.click();
          found.push(...[...document.querySelectorAll("#equations code")].map((each) => each.textContent));
        }
        return found"""
    )


def fill(page: Page, values: dict[str, Any]) -> None:
    """Write values into the fields of a page."""
    for name, value in values.items():
        for label, element in zip(element_names(name, np.shape(value)), np.ravel(value).tolist(), strict=True):
            field = page.one(f'input[type="number"][aria-label="value of {label}"]')
            field.clear()
            field.send_keys(repr(element))


@pytest.mark.parametrize(("source", "values", "others"), ARRAYS, ids=[source for source, _, _ in ARRAYS])
def test_moved_elements_give_the_steps_of_python(
    source: str, values: dict[str, Any], others: dict[str, Any], browser: Any, tmp_path: Path
) -> None:
    expected = equations(opened(browser, tmp_path, explained(source, others)))
    page = opened(browser, tmp_path, explained(source, values))
    fill(page, others)
    found = equations(page)
    assert [NUMBER.sub("#", text) for text in found] == [NUMBER.sub("#", text) for text in expected]
    for one, other in zip(found, expected, strict=True):
        own, wanted = ([float(text) for text in NUMBER.findall(each)] for each in (one, other))
        assert own == pytest.approx(wanted, rel=1e-5, abs=1e-12, nan_ok=True), (one, other)
    gradients = evaluate(source, others).grad
    assert [text for text in found if ".grad = " in text][-len(gradients) :] == [
        f"{name}.grad = {human(value, 6)}" for name, value in gradients.items()
    ]
    assert page.errors() == []


def test_the_slider_moves_the_chosen_element(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained("sum(A**2)", {"A": WEIGHTS}))
    page.open("#step=last")
    page.one("#curve summary").click()
    page.one('[aria-label="value of A[1, 0]"]').click()
    assert page.one("#curve p").text == "z over A[1, 0], from -0.5 to 1.5; the slope of the tangent is 1"
    slider = page.one('[aria-label="slider of A[1, 0]"]')
    page.browser.execute_script("arguments[0].value = arguments[0].max; arguments[0].dispatchEvent(new Event('input'))", slider)
    moved = float(slider.get_attribute("value"))
    assert page.one('[aria-label="value of A[1, 0]"]').get_attribute("value") == slider.get_attribute("value")
    assert page.texts("#equations code") == [f"A.grad = [[2, -4], [{human(2 * moved, 6)}, 6]]"]
    assert page.one("#curve p").text.endswith(f"the slope of the tangent is {human(2 * moved, 6)}")
    assert page.errors() == []


def test_an_initial_gradient_is_kept(browser: Any, tmp_path: Path) -> None:
    def lesson(values: dict[str, Any]) -> Page:
        return opened(browser, tmp_path, explain("sin(x)*y + x[0]", values, gradient=[1.0, -2.0]))

    others = {"x": [0.5, -1.0], "y": 3.0}
    expected = equations(lesson(others))
    page = lesson({"x": [1.0, 2.0], "y": 2.0})
    fill(page, others)
    assert equations(page) == expected
    assert not page.one("#curve").is_displayed()
    assert page.errors() == []


@pytest.mark.parametrize(
    ("source", "values", "others"),
    [
        ("x**2", {"x": float("nan")}, {"x": 3.0}),
        ("sum(1/x)", {"x": [float("inf"), 1.0]}, {"x": [-4.0, 0.0]}),
        ("sum(x**3)", {"x": [i / 4 for i in range(14)]}, {"x": [1 - i / 8 for i in range(14)]}),
    ],
)
def test_inputs_that_are_not_finite_or_are_many(
    source: str, values: dict[str, Any], others: dict[str, Any], browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, explained(source, values))
    page.open("#step=last")
    assert page.texts("#equations code") == [f"x.grad = {human(evaluate(source, values).grad['x'] + 0.0, 6)}"]
    fill(page, others)
    assert page.texts("#equations code") == [f"x.grad = {human(evaluate(source, others).grad['x'] + 0.0, 6)}"]
    assert page.errors() == []


@pytest.mark.parametrize(
    ("source", "values", "reason"),
    [
        ("sum(x**2)", {"x": [1.0] * 65}, "the inputs have 65 elements, more than the limit of 64"),
        ("det(A)", {"A": WEIGHTS}, "'det' has no elementwise formula"),
        ("sum(kron(A, A))", {"A": WEIGHTS}, "the page cannot compute reshape(A) from its inputs"),
        ("gammainc(x, 2)", {"x": 1.0}, "JavaScript has no function 'gammainc'"),
    ],
)
def test_inputs_that_cannot_be_moved_say_why(
    source: str, values: dict[str, Any], reason: str, browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, explained(source, values))
    assert page.texts("#inputs input") == []
    assert page.texts("#inputs p")[1] == f"The inputs cannot be moved: {reason}."
    assert not page.one("#curve").is_displayed()
    assert page.errors() == []


def test_a_graph_of_500_operations(browser: Any, tmp_path: Path) -> None:
    steps = "; ".join(["a0 = x", *(f"a{i} = sin(a{i - 1})*y + {i}" for i in range(1, 167)), "a166"])
    page = opened(browser, tmp_path, explained(steps, {"x": 0.5, "y": 0.7}))
    page.open("#step=last")
    assert page.position == (1169, 1169)
    grad = evaluate(steps, {"x": 0.5, "y": 0.7}).grad
    assert page.texts("#equations code") == [f"{name}.grad = {human(value, 6)}" for name, value in grad.items()]
    page.browser.execute_script("for (let i = 0; i < 50; i++) document.getElementById('back').click()")
    assert page.position[0] == 1119
    assert page.errors() == []


def shown_groups(page: Page) -> dict[str, str]:
    """Return whether each visible group is open, by its description."""
    return page.browser.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('[data-group]')]"
        ".map((each) => [each.getAttribute('aria-label'), each.getAttribute('aria-expanded')]))"
    )


STATEMENTS = "; ".join(["a0 = x", *(f"a{i} = sin(a{i - 1})*y + {i}" for i in range(1, 61)), "a60"])


def test_statements_of_a_large_graph_are_groups(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained(STATEMENTS, {"x": 0.5, "y": 0.7}))
    closed = shown_groups(page)
    assert set(closed.values()) == {"false"}
    assert sum(int(re.findall(r", (\d+) operations", label)[0]) for label in closed) == 180
    assert len(page.texts("svg .node")) < 30
    page.open("#step=100")
    (current,) = page.texts("svg .node.active .title")
    assert f"Compute {page.texts('tr.active td')[0]}" == page.one("#heading").text
    assert current == page.texts("tr.active td")[1]
    inner, outer = sorted(label for label, state in shown_groups(page).items() if state == "true")
    assert inner == "a33 = sin(a32)*y + 33, 3 operations"
    assert re.fullmatch(r"a\d+ … a\d+, 24 operations", outer)
    page.open("#step=last")
    assert shown_groups(page) == closed
    assert page.errors() == []


def test_groups_open_and_close_by_click_and_key(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained(STATEMENTS, {"x": 0.5, "y": 0.7}))
    before = shown_groups(page)
    page.one("svg [data-group]").click()
    first, *_ = before
    assert shown_groups(page)[first] == "true"
    page.browser.switch_to.active_element.send_keys("\ue007")  # the enter key
    assert shown_groups(page) == before
    page.browser.switch_to.active_element.send_keys(" ")
    assert shown_groups(page)[first] == "true"
    assert page.position[0] == 0
    assert page.one("#play").text == "Play"
    page.press("\ue014")
    assert page.position[0] == 1
    assert shown_groups(page)[first] == "true", "a group that the reader opened stays open"
    page.browser.find_element("xpath", "//button[.='Close all groups']").click()
    assert shown_groups(page) == before
    page.browser.find_element("xpath", "//button[.='Open all groups']").click()
    assert set(shown_groups(page).values()) == {"true"}
    assert len(page.texts("svg .operation, svg .output")) == 180
    page.open("#step=100")
    assert page.errors() == []


def test_a_closed_group_shows_the_step_inside(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained(STATEMENTS, {"x": 0.5, "y": 0.7}))
    page.open("#step=100")
    page.one('[aria-label^="a33 = "]').send_keys(" ")
    assert shown_groups(page)["a33 = sin(a32)*y + 33, 3 operations"] == "false"
    assert page.texts("svg .node.active .title") == ["sin(a32)*y + 33"]
    page.press("\ue014")
    assert page.texts("svg .node.active .title") == ["sin(a32)*y + 33"]
    page.press("\ue014")
    assert shown_groups(page)["a34 = sin(a33)*y + 34, 3 operations"] == "true"
    assert page.errors() == []


def test_the_operations_of_a_call_are_a_group(browser: Any, tmp_path: Path) -> None:
    source = "f(a) = sin(a)*a; g(a) = f(a) + f(a**2); y = g(x); " + " + ".join(f"f({i}*y)" for i in range(1, 15))
    page = opened(browser, tmp_path, explained(source, {"x": 0.3}))
    page.browser.find_element("xpath", "//button[.='Open all groups']").click()
    groups = shown_groups(page)
    assert groups["y = g(x), 6 operations"] == "true"
    assert {f"f({i}*y), 2 operations" for i in range(1, 15)} < set(groups)
    assert page.errors() == []


LARGE: list[tuple[str, dict[str, float]]] = [
    (STATEMENTS, {"x": 0.5, "y": 0.7}),
    (" + ".join(f"sin({i}*x)/{i}" for i in range(1, 41)), {"x": 0.3}),
    ("f(a) = sin(a)*a + exp(-a); " + " + ".join(f"f({i}*x)*y" for i in range(1, 12)), {"x": 0.3, "y": 2.0}),
    ("; ".join(["h = x", *["h = h*x + sin(h)"] * 20, "p = h/2", "p*exp(-x) + h"]), {"x": 0.1}),
]


@pytest.mark.parametrize(("source", "values"), LARGE, ids=["statements", "terms", "calls", "a name again"])
def test_each_step_of_a_large_graph_shows_its_node(source: str, values: dict[str, float], browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained(source, values))
    assert shown_groups(page)
    scenes = page.browser.execute_script(
        """const next = document.getElementById("next"), all = (each) => [...document.querySelectorAll(each)];
        const found = [];
        while (!next.disabled) {
          next.click();
          found.push([all("tr.active td")[0]?.textContent, all(".node.active").map((node) => node.dataset.name),
                      all(".edge.active").length, document.getElementById("phase").textContent]);
        }
        return found"""
    )
    assert len(scenes) == page.position[1]
    for tensor, nodes, edges, phase in scenes[:-1]:
        assert set(nodes) == {tensor}
        if phase == "Backward" and tensor != data_of(page.path.read_text())["output"]:
            assert edges > 0
    expected = evaluate(source, values).grad
    assert page.texts("#equations code") == [f"{name}.grad = {human(value, 6)}" for name, value in expected.items()]
    page.browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert page.browser.execute_script("return document.querySelectorAll('#print [aria-expanded=true]').length") == 0
    page.browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert page.errors() == []


OVERLAPS = """
const box = (each) => ({ ...each.getBoundingClientRect().toJSON(), text: each.textContent });
const texts = [...document.querySelectorAll("#graph .label")].filter((each) => each.textContent).map(box);
const nodes = [...document.querySelectorAll("#graph .node")];
const boxes = nodes.map((node) => ({ ...box([...node.querySelectorAll(".box")].pop()), text: node.dataset.name }));
const common = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]) > 1;
const meet = (a, b) => common(a, b, "left", "right") && common(a, b, "top", "bottom");
const found = [], all = [...texts, ...boxes];
all.forEach((a, i) => all.slice(i + 1).forEach((b) => meet(a, b) && found.push([a.text, b.text])));
nodes.forEach((node, i) => [...node.querySelectorAll("text")].map(box).forEach((text) => {
  if (text.text && (text.left < boxes[i].left || text.right > boxes[i].right)) found.push([text.text, "outside"]);
}));
return [texts.length, found]"""
DRAWN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *((source, values, {}) for source, values in [*EXPRESSIONS, *LARGE]),
    *ARRAYS,
    *((source, values, others[0]) for source, values, others in MOVED),
]


@pytest.mark.parametrize(("source", "values", "others"), DRAWN)
def test_the_texts_of_a_graph_have_room(
    source: str, values: dict[str, Any], others: dict[str, Any], browser: Any, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, explained(source, values))
    last = page.position[1]
    labels = 0
    for step in {last, last - 2, last * 2 // 3}:
        page.open(f"#step={step}")
        count, overlaps = page.browser.execute_script(OVERLAPS)
        labels += count
        assert overlaps == []
    fill(page, others)
    assert page.browser.execute_script(OVERLAPS)[1] == []
    assert labels or source == "x"


def test_each_phase_is_printed_on_a_page(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained(*FIRST))
    page.open("#step=3")
    page.browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert page.texts("#print h2") == ["Forward", "Backward", "Result"]
    assert len(page.texts("#print svg .box")) == 3 * 6
    assert "dz/dx = 1 + 0.6 = 1.6" in page.texts("#print article:nth-child(2) code")
    assert "x.grad = 1.6" in page.texts("#print article:nth-child(3) code")
    page.browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert page.texts("#print article") == []
    assert page.position[0] == 3
    assert page.texts("svg .gradient")[0] == ""
    printed = base64.b64decode(page.browser.print_page())
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") >= 3
    assert page.errors() == []


def test_notes_are_in_the_last_step(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, explained("log(x**3)", {"x": -1.0}))
    page.open("#step=last")
    assert "Note: log(-1.0) is nan" in page.one("#words").text
    field = page.one('input[aria-label="value of x"]')
    field.clear()
    field.send_keys("2")
    assert "Note" not in page.one("#words").text
    assert page.errors() == []
