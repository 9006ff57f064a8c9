"""Lessons of programs: what they record, compared with PyTorch's records, and their pages in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.errors import AutodiffError, ParseError
from autodiff_cli.lesson.events import Contribution, HookChange, PassStart, StatementEnd, TensorLine
from autodiff_cli.lesson.program import to_html
from autodiff_cli.lesson.recording import MOST_EVENTS
from autodiff_cli.lesson.statements import Recorder
from autodiff_cli.limits import unlimited
from tests.browser import Page, data_of
from tests.shell import ROOT, run
from tests.test_walkthrough import GOLDEN, _compare

PROGRAMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "walkthrough").glob("*.ad"))}
STATES = """\
# states: retain_grad, hooks, accumulation, loops, changes in place
x = tensor(5.0, requires_grad=true)
y = x*2
y.retain_grad()
y.register_hook(lambda g: g*10)
x.register_hook(lambda g: g + 1)
z = y*y
z.backward()
x.grad = none
w = tensor([1.0, 2.0], requires_grad=true)
for i in range(2):
    loss = ((w - 3)**2).sum()
    loss.backward()
    with no_grad():
        w -= 0.1*w.grad
    w.grad.zero_()
a = w*2
a *= 3
(a*x).sum().backward()
b = a
print(b, "is the end")
"""


def recorded(text: str, dtype: str = "float64") -> Recorder:
    recorder = Recorder({}, dtype)
    recorder.record(text)
    return recorder


def ended(recorder: Recorder) -> list[StatementEnd]:
    return [event for event in recorder.events if isinstance(event, StatementEnd)]


def statement(recorder: Recorder, text: str) -> StatementEnd:
    """The last run of a statement."""
    return next(event for event in reversed(ended(recorder)) if recorder.source[slice(*event.tree.span)] == text)


def scenes(recorder: Recorder) -> list[dict[str, Any]]:
    return data_of(to_html("p.ad", recorder, 6))["scenes"]


def said(recorder: Recorder, part: str) -> list[str]:
    return [scene["words"] for scene in scenes(recorder) if part in scene["words"]]


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("step", PROGRAMS)
def test_the_states_are_those_of_pytorch(step: str) -> None:
    recorder = recorded(PROGRAMS[step], "float32")
    shows = [event for event in ended(recorder) if event.tree.kind == "show"]
    assert len(shows) == len(GOLDEN[step]["stages"])
    for event, stage in zip(shows, GOLDEN[step]["stages"], strict=True):
        rows = {name: row._asdict() for name, row in event.after.items()}
        _compare(rows, {name: tensor for name, tensor in stage["tensors"].items() if "." not in name})
    assert (recorder.error is not None) == ("error" in GOLDEN[step])


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("step", PROGRAMS)
def test_the_contributions_add_up_to_the_gradients(step: str) -> None:
    recorder = recorded(PROGRAMS[step])
    for event in ended(recorder):
        for one in event.stored:
            parts: list[Array] = [*([] if one.before is None else [one.before]), *event.parts.get(one.name, [])]
            if one.leaf and step != "code19":  # where a hook changes the gradient
                assert np.allclose(np.sum([np.asarray(part) for part in parts], axis=0), one.after, rtol=1e-12)
        stored = {one.name for one in event.stored}
        grown = {event.called[n] for n in event.same if event.after[n].grad is not None and event.before[n].grad is None}
        assert grown <= stored


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("step", PROGRAMS)
def test_scenes_name_only_tensors_that_exist_by_then(step: str) -> None:
    page = data_of(to_html("p.ad", recorded(PROGRAMS[step]), 6))
    inputs = {line["name"]: line["inputs"] for line in page["lines"]}
    assert len(inputs) == len(page["lines"])
    known: set[str] = set()
    for scene in page["scenes"]:
        known |= {*scene.get("values", {})}
        named = {scene["node"]} if scene.get("node") else set()
        if "part" in scene:
            named |= {scene["part"]["to"], *scene["step"]["names"]}
            assert scene["part"]["to"] in inputs[scene["step"]["names"][0]]
        assert named | {*scene.get("gradients", {})} <= known
        assert 0 <= scene["span"][0] <= scene["span"][1] <= len(page["program"])


def test_hooks_loops_and_changes_in_place() -> None:
    recorder = recorded(STATES)
    hooked = [event for event in recorder.events if isinstance(event, HookChange)]
    assert [(event.name, float(event.before), float(event.after)) for event in hooked] == [("y", 20.0, 200.0)]
    assert said(recorder, "A hook changed the gradient, which was 400") != []
    assert [event.after["x"].grad for event in ended(recorder)][6:8] == [401.0, None]
    lines = {event.name: event for event in recorder.events if isinstance(event, TensorLine)}
    assert {"loss", "loss₂", "a", "a₂"} < {*lines}
    assert lines["a₂"].inputs == ["a"]
    assert recorder.called["b"] == "a₂"
    assert said(recorder, "`b` is another name of the tensor `a₂`") != []
    assert said(recorder, "changes in place. The change is not recorded, because recording is off") != []
    assert len(said(recorder, "`w.grad` is 0 now")) == 2
    assert {scene["turn"] for scene in scenes(recorder) if "turn" in scene} == {"", "i = 0", "i = 1"}
    assert [event.root for event in recorder.events if isinstance(event, PassStart)] == ["z", "loss", "loss₂", "%8"]
    assert [scene["output"] for scene in scenes(recorder) if scene.get("output")] == [
        "tensor([10.3200, 14.1600], grad_fn=<MulBackward0>) is the end\n"
    ]


def test_a_statement_that_changes_no_tensor_says_what_it_does() -> None:
    recorder = recorded("x = tensor(2.0, requires_grad=true)\ny = x*3\nh = y.register_hook(lambda g: g*10)\nh.remove()\nn = 3\n")
    words = [scene["words"] for scene in scenes(recorder)]
    assert [text.partition(":")[0] for text in words if "hook" in text] == ["The hook is kept", "The hook is removed."]
    assert words[-2] == "The statement changes no tensor."


def test_saved_values_are_freed_or_kept() -> None:
    kept, freed = recorded(PROGRAMS["code07"]), recorded(PROGRAMS["code06"])
    assert statement(kept, "z.backward(retain_graph=true)").freed == []
    assert statement(kept, "z.backward(retain_graph=true)").kept
    assert statement(freed, "z.backward()").failed
    assert ended(freed)[-2].freed == ["z", "y"]
    assert scenes(freed)[-1]["phase"] == "error"
    assert "a second time" in scenes(freed)[-1]["words"]
    assert said(freed, "The backward pass freed the saved values of `z` and `y`") != []
    assert [line.saved for line in kept.events if isinstance(line, TensorLine)] == ["", "self = `x`, exponent = 3", "self = `y`"]


def test_what_is_not_recorded() -> None:
    off, cut, plain = recorded(PROGRAMS["code12"]), recorded(PROGRAMS["code15"]), recorded(PROGRAMS["code01"])
    assert said(off, "recording is off: `y` does not require grad") != []
    assert said(cut, "`w` has values, but no history: no gradient passes through it to `y`") != []
    assert said(cut, "`w` requires grad from now on") != []
    assert len(said(plain, "Nothing is recorded, because no input requires grad")) == 2
    assert scenes(plain)[-1]["words"] == "No backward pass ran, so no tensor has a gradient."
    assert (
        said(recorded("x = tensor([1.0, 2.0], requires_grad=true)\ny = argmax(x)"), "its result does not have a derivative") != []
    )


def test_a_gradient_that_is_returned_is_not_stored() -> None:
    recorder = recorded(
        "x = tensor(5.0, requires_grad=true)\ny = x**2\ng, = grad(y, x, retain_graph=true)\nx.requires_grad_(false)"
    )
    assert said(recorder, "no `.grad` has changed") != []
    assert ended(recorder)[-1].after["x"].grad is None
    assert said(recorder, "does not require grad any more") != []
    assert scenes(recorder)[-1]["words"] == "No gradient is stored."


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_a_leaf_without_a_name_stores_its_gradient() -> None:
    """The usual mistake of a descent: the name refers to a new tensor, and the gradients of the old one add up."""
    text = "w = tensor(4.0, requires_grad=true)\nfirst = w\nfor i in range(2):\n    loss = (w - 1)**2\n    loss.backward()\n"
    recorder = recorded(f"{text}    w = w - 0.1*w.grad")
    assert [(one.name, float(one.after)) for event in ended(recorder) for one in event.stored] == [("w", 6.0), ("w", 10.8)]
    lost = recorded(f"{text}    w = w - 0.1*w.grad".replace("first = w\n", ""))
    assert said(lost, "So it is not the gradient of `loss₂` alone. No name of the program refers to this tensor") != []
    assert said(lost, "no `.grad` has changed") == []
    assert "w.grad is none: backward stores a gradient only in a leaf" in str(lost.error)
    inside = recorded("y = tensor(2.0, requires_grad=true)**2\ny.backward()\ny = 3")
    assert [(one.name, float(one.after)) for event in ended(inside) for one in event.stored] == [("%1", 4.0)]
    assert said(inside, "`y` does not refer to a tensor any more") != []
    assert scenes(inside)[-2]["rows"] == {"y": None}


def test_functions_and_their_hidden_operations() -> None:
    recorder = recorded("f(a) = a*a + 1\nx = tensor(3.0, requires_grad=true)\ny = f(x) + f(2*x)\ny.backward()")
    made = [(line.name, recorder.source[slice(*line.span)]) for line in recorder.events if isinstance(line, TensorLine)]
    assert ("%1", "a*a") in made
    parts = [event for event in recorder.events if isinstance(event, Contribution)]
    assert sum(float(event.part.value) for event in parts if event.part.to == "x") == 2 * 3 + 8 * 3


@pytest.mark.exhaustive
def test_a_program_that_is_too_long() -> None:
    text = "x = tensor(1.0, requires_grad=true)\nfor i in range(100000):\n    y = x*2"
    long = recorded(f"{text.replace('100000', '1100')}\nprint(x)")
    assert len(long.events) == MOST_EVENTS
    last = scenes(long)[-1]
    assert (last["title"], last["output"]) == ("The lesson ends here", "tensor(1., requires_grad=True)\n")
    assert "the first 2,000 steps" in last["words"]
    with unlimited():
        assert len(recorded(text.replace("100000", "1100")).events) == 2 + 2 * 1100


def test_programs_that_cannot_be_read_or_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParseError):
        recorded("x = (1")
    Path("broken.ad").write_text("x = (1\n")
    assert "broken.ad, line 1" in run("autodiff run broken.ad -o lesson.html")
    assert not Path("lesson.html").exists()
    Path("fails.ad").write_text("x = tensor(2.0, requires_grad=true)\nfor i in range(0.5):\n    x\n")
    found = run("autodiff run fails.ad -o lesson.html")
    assert "fails.ad, line 2" in found
    assert data_of(Path("lesson.html").read_text())["scenes"][-1]["phase"] == "error"
    for file in ("steps.json", "steps.csv", "steps.md", "steps.ndjson"):
        assert run(f"autodiff run fails.ad -o {file}") == run("autodiff run fails.ad")
        assert Path(file).exists()
    assert ".html" in run("autodiff run fails.ad -o lesson.xyz")
    Path("good.ad").write_text("y = x**2\ny.backward()\nx.grad\n")
    assert run("autodiff run good.ad --at x=3 -o lesson.html") == "tensor(6.)\nwrote lesson.html\n"
    page = Path("lesson.html").read_text()
    assert "<title>good.ad</title>" in page
    assert data_of(page)["scenes"][-1]["equations"] == ["x.grad = 6"]


def test_a_lesson_may_not_be_written_over_nothing() -> None:
    """A program without statements has a lesson, too."""
    assert [scene["phase"] for scene in scenes(recorded("# nothing\n"))] == ["start", "end"]


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("step", PROGRAMS)
def test_a_program_in_a_browser(step: str, browser: Any, tmp_path: Path) -> None:
    recorder = recorded(PROGRAMS[step])
    page = Page(browser, tmp_path, to_html(f"{step}.ad", recorder, 6))
    assert page.one("h1").text == PROGRAMS[step].partition("\n")[0].removeprefix("# ")
    data = data_of(page.path.read_text())
    parts = [scene for scene in data["scenes"] if "part" in scene]
    assert page.position == (0, len(data["scenes"]) - 1)
    seen: list[str] = []
    for scene in data["scenes"]:
        seen += page.texts("#equations code")
        running = "".join(page.texts("#program mark"))
        assert running == "".join(data["program"][slice(*scene["span"])].split("\n"))
        page.one("#next").click()
    for scene in parts:
        ends = f" = {scene['part']['value']['text']}"
        assert any(f"/d{scene['part']['to']} " in text and ends in text for text in seen)
    rows = dict(zip(page.texts("tbody td:first-child"), page.texts("tbody td:nth-child(3)"), strict=True))
    assert rows.keys() == (ended(recorder)[-1].after.keys() if ended(recorder) else set())
    assert not page.texts(".node.pending:not(.growing .node)")
    assert page.texts("svg .pending .title") == []
    assert page.errors() == []


def test_a_graph_grows_and_loses_its_saved_values(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, tmp_path, to_html("p.ad", recorded(PROGRAMS["code08"]), 6))
    visible = (
        "return [...document.querySelectorAll('svg .node')].filter((n) => getComputedStyle(n).visibility === 'visible').length"
    )
    counts = []
    for _ in range(4):
        counts.append(page.browser.execute_script(visible))
        page.press("\ue014")
    assert counts == [0, 1, 2, 3]
    page.open("#step=last")
    assert len(page.texts("svg .freed")) == 2
    assert page.texts("td.changed") == []
    page.open("#step=8")
    assert page.texts("svg .gradient")[-1] == "dz/dz = 1"
    page.open("#step=10")
    assert page.texts("svg .freed") == []
    assert page.one("#heading").text == "x.grad.zero_()"
    assert page.one("#phase").text == "Statement"
    assert page.texts("td.changed") == ["0"]
    page.browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert page.texts("#print h2") == ["Forward", "Backward", "Backward", "Result"]
    assert page.errors() == []


LOOP = """\
x = tensor(0.5, requires_grad=true)
w = tensor(2.0, requires_grad=true)
for i in range(12):
    loss = (sin(w*x) + x**2 - 1)**2
    loss.backward()
    with no_grad:
        w -= 0.1*w.grad
    w.grad.zero_()
"""


ALIVE = LOOP.replace("for i", "total = 0\nfor i") + "    total = total + loss\n"


@pytest.mark.parametrize("text", [LOOP, ALIVE], ids=["each pass is left behind", "a sum keeps each pass"])
def test_each_step_of_a_long_program_shows_its_node(text: str, browser: Any, tmp_path: Path) -> None:
    page = Page(browser, tmp_path, to_html("p.ad", recorded(text), 6))
    steps = data_of(page.path.read_text())["scenes"]
    shown = page.browser.execute_script(
        """const next = document.getElementById("next"), visible = (each) => getComputedStyle(each).visibility === "visible";
        const active = () => [...document.querySelectorAll(".node.active")].filter(visible).map((each) => each.dataset.name);
        const found = [active()];
        while (!next.disabled) {
          next.click();
          found.push(active());
        }
        return found"""
    )
    for step, names in zip(steps, shown, strict=True):
        node = step["part"]["to"] if "part" in step else step.get("node")
        assert set(names) == ({node} if node else set())
    assert (len(page.texts("[data-group]")) > 2) == (text is ALIVE)
    assert page.errors() == []


def test_output_and_errors_in_a_browser(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, tmp_path, to_html("p.ad", recorded(STATES), 6))
    assert not page.one("#output").is_displayed()
    page.open("#step=last")
    assert page.one("#output pre").text == "tensor([10.3200, 14.1600], grad_fn=<MulBackward0>) is the end"
    assert "i = 1" not in page.one("#program").text
    failed = Page(browser, tmp_path, to_html("p.ad", recorded(PROGRAMS["code06"]), 6))
    failed.open("#step=last")
    assert failed.one("#phase").text == "Error"
    assert failed.texts("#program .running") == ["z.backward()"]
    assert re.search("a second time.*Hint: pass retain_graph=True", failed.one("#words").text)
    assert failed.errors() == page.errors() == []


def test_an_error_ends_a_recording() -> None:
    recorder = recorded("x = tensor(1)\ny = log(x, 2, 3)\nz = 1")
    assert isinstance(recorder.error, AutodiffError)
    assert [event.failed for event in ended(recorder)] == [False, True]


def test_the_index_has_every_lesson() -> None:
    index = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    linked = [(title, name) for title, name in re.findall(r"\[(.*?)\]\(walkthrough/(\w+)\.ad\)", index) if not title.isdigit()]
    assert sorted(name for _, name in linked) == sorted(PROGRAMS)
    for title, name in linked:
        assert PROGRAMS[name].startswith(f"# {name}: {title[0].lower()}{title[1:]}\n")
