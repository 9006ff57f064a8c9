"""Lessons of Python programs: they run as without a lesson, and each page has the program, its output and its backward passes."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Page, data_of
from tests.pasted import FOLDER, Program, alike, programs, without_addresses
from tests.shell import streams

TEXTS = {program.name: program for program in programs()}


def played(folder: Path, text: str, options: str = "", name: str = "p.py") -> tuple[dict[str, Any], str, str, int]:
    """Return the data of the lesson of a program, and what the command printed, said and returned."""
    (folder / name).write_text(text, encoding="utf-8")
    printed, told, code = streams(f"autodiff run {folder / name} -o {folder / 'lesson.html'} {options}")
    return data_of((folder / "lesson.html").read_text(encoding="utf-8")), printed, told, code


def said(page: dict[str, Any], part: str) -> list[str]:
    return [scene["words"] for scene in page["scenes"] if part in scene["words"]]


def operations(page: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    return {line["name"]: (line["operation"], line["inputs"]) for line in page["lines"] if not line["leaf"]}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("program", TEXTS.values(), ids=TEXTS)
def test_a_program_runs_as_without_a_lesson(program: Program, tmp_path: Path) -> None:
    file, lesson = FOLDER / f"{program.name}.txt", tmp_path / "lesson.html"
    with warnings.catch_warnings(record=True):
        printed, told, code = streams(f"autodiff run --python {file} -o {lesson}")
        plain = streams(f"autodiff run --python {file}")
    assert alike(without_addresses(printed), program.printed), printed
    assert code == plain[2]
    assert told.endswith(f"wrote {lesson}\n")
    assert told.removesuffix(f"wrote {lesson}\n") == plain[1]
    page = data_of(lesson.read_text(encoding="utf-8"))
    assert page["program"] == file.read_text(encoding="utf-8")
    assert alike(without_addresses("".join(scene.get("output", "") for scene in page["scenes"])), program.printed)
    assert (page["scenes"][-1]["phase"] == "error") == (program.raised is not None)
    known: set[str] = set()
    for scene in page["scenes"]:
        known |= {*scene.get("values", {})}
        named = (
            {scene["part"]["to"], *scene["step"]["names"]} if "part" in scene else {*([scene["node"]] if "node" in scene else [])}
        )
        assert named <= known


def test_the_walk_through_is_played_verbatim(tmp_path: Path) -> None:
    page = played(tmp_path, TEXTS["walkthrough_09"].text)[0]
    titles = [scene["title"] for scene in page["scenes"]]
    assert titles[:3] == ["Before the program runs", "def get_tensor_info(tensor):", "The leaf x"]
    ran = [page["program"][slice(*scene["line"])] for scene in page["scenes"] if "part" in scene]
    assert {*ran} == {"z.backward()"}
    assert "z.backward()" not in titles


TRAINING = '''\
import torch
import torch.nn.functional as F

class Model:
    """A line."""
    def __init__(self):
        self.w = torch.tensor(0.5, requires_grad=True)

    def __call__(self, x):
        y = self.w * x
        return y

model = Model()
x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
for i in range(2):
    loss = F.mse_loss(model(x), y)
    loss.backward()
    with torch.no_grad():
        model.w -= 0.1 * model.w.grad
        model.w.grad.zero_()
    print(i)
'''


def test_classes_functions_and_loops(tmp_path: Path) -> None:
    page, printed, _, code = played(tmp_path, TRAINING)
    assert (printed, code) == ("0\n1\n", 0)
    assert operations(page) == {
        "y₂": ("self.w*x", ["self.w", "x"]),
        "loss": ("mse_loss(y₂, y)", ["y₂", "y"]),
        "%1": ("0.1*model.w.grad", []),
        "y₃": ("self.w*x", ["self.w", "x"]),
        "loss₂": ("mse_loss(y₃, y)", ["y₃", "y"]),
        "%2": ("0.1*model.w.grad", []),
    }
    assert said(page, "The class is defined") != []
    assert said(page, "`model.w` is another name of the tensor `self.w`") != []
    assert len(said(page, "`model.w` changes in place. The change is not recorded, because recording is off")) == 2
    assert len(said(page, "`model.w.grad` is 0 now")) == 2
    assert {scene["turn"] for scene in page["scenes"] if "turn" in scene} == {"", "i = 0", "i = 1"}
    lines = [page["program"][slice(*scene["line"])] for scene in page["scenes"] if scene["title"] == "Compute y₂"]
    assert lines == ["y = self.w * x"]
    table: dict[str, Any] = {}
    for scene in page["scenes"]:
        table |= scene.get("rows", {})
        if scene["title"] == "Compute y₂":  # inside the function, its own names are there
            assert {name for name, cells in table.items() if cells} >= {"self.w", "x", "y"}
    assert {name for name, cells in table.items() if cells} == {"model.w", "x", "y", "loss"}


OPERANDS = """\
import torch as t
from torch import tensor, log
import torch
words = "é"; x = tensor(2.0, requires_grad=True); n = 3
y = (x + 1) * log(x**n) * torch.sin(x)   # ünï
v, w = torch.ones(2), torch.ones(2, 2, requires_grad=True)
z = torch.matmul(v, w)
q = t.relu(z)[0] + sum(each * 2 for each in [x, y])
p = [x, y]
q.detach().requires_grad_()
"""


def test_operations_are_drawn_as_they_are_written(tmp_path: Path) -> None:
    made = operations(played(tmp_path, OPERANDS)[0])
    assert made == {
        "%1": ("x + 1", ["x"]),
        "%2": ("x**3", ["x"]),
        "%3": ("log(%2)", ["%2"]),
        "%4": ("%1*%3", ["%1", "%3"]),
        "%5": ("sin(x)", ["x"]),
        "y": ("%4*%5", ["%4", "%5"]),
        "z.1": ("v @ w", ["v", "w"]),
        "z": ("squeeze(z.1, dim=0)", ["z.1"]),
        "%6": ("relu(z)", ["z"]),
        "%7": ("%6[0]", ["%6"]),
        "%8": ("x*2", ["x"]),
        "%9": ("%8 + 0", ["%8"]),
        "%10": ("y*2", ["y"]),
        "%11": ("%9 + %10", ["%9", "%10"]),
        "q": ("%7 + %11", ["%7", "%11"]),
    }


CAUGHT = """\
import torch
x = torch.tensor(3.0, requires_grad=True)
def square(x):
    return x**2
y = square(x)
y.backward()
try:
    y.backward()
except RuntimeError as error:
    print("again:", str(error)[:6])
def fails():
    return 1 / 0
fails()
"""


def test_errors_that_are_handled_and_that_end_the_program(tmp_path: Path) -> None:
    page, printed, told, code = played(tmp_path, CAUGHT)
    assert (printed, code) == ("again: Trying\n", 1)
    assert "ZeroDivisionError: division by zero\nwrote " in told
    assert len(said(page, "The statement raises an error, which the program handles: Trying to backward")) == 1
    last = page["scenes"][-1]
    assert (last["phase"], last["words"]) == ("error", "ZeroDivisionError: division by zero.")
    assert page["program"][slice(*last["span"])] == "return 1 / 0"


def test_a_program_without_a_lesson(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("x = = 1\n")
    assert streams(f"autodiff run {tmp_path / 'p.py'} -o {tmp_path / 'l.html'}")[1:] == (
        streams(f"autodiff run {tmp_path / 'p.py'}")[1],
        1,
    )
    assert not (tmp_path / "l.html").exists()
    (tmp_path / "p.py").write_text("print(1)\n")
    for other in ("-o x.json", "--json"):
        printed, told, code = streams(f"autodiff run {tmp_path / 'p.py'} {other}")
        assert (printed, code) == ("", 2)
    assert "-o lesson.html writes a lesson" in streams(f"autodiff run {tmp_path / 'p.py'} -o x.json")[1]
    printed, told, code = streams(f"autodiff run - --python -o {tmp_path / 'l.html'} --quiet-notes", "import sys; sys.exit(3)")
    assert (printed, told, code) == ("", "", 3)
    assert data_of((tmp_path / "l.html").read_text())["scenes"][-1]["phase"] == "end"


@pytest.mark.exhaustive
def test_a_long_program_goes_on_after_its_lesson(tmp_path: Path) -> None:
    text = "import torch\nx = torch.tensor(1.0)\nfor i in range(1500):\n    y = x * 2\nprint(i)\n"
    before = sys.gettrace()
    page, printed, _, code = played(tmp_path, text)
    assert (printed, code, sys.gettrace()) == ("1499\n", 0, before)
    assert (page["scenes"][-1]["title"], page["scenes"][-1]["output"]) == ("The lesson ends here", "1499\n")
    page = played(tmp_path, text, "--no-limits")[0]
    assert page["scenes"][-1]["title"] == "The program has ended"
    assert len(page["lines"]) == 1501


def test_rules_of_the_program_run_once(tmp_path: Path) -> None:
    text = """\
import torch
from torch.autograd.graph import saved_tensors_hooks

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        print("backward")
        x, = ctx.saved_tensors
        return g * 3 * x**2

x = torch.tensor(2.0, requires_grad=True)
with saved_tensors_hooks(lambda x: x, lambda x: print("unpack") or x):
    y = x * x
(2 * Cube.apply(y)).backward()
"""
    page, printed, *_ = played(tmp_path, text)
    assert printed == "backward\nunpack\nunpack\n"
    parts = [scene["part"] for scene in page["scenes"] if "part" in scene]
    assert [(part["to"], part["local"] and part["local"]["text"], part["value"]["text"]) for part in parts] == [
        ("%1", "2", "2"),
        ("y", "48", "96"),
        ("x", "2", "192"),
        ("x", "2", "192"),
    ]


def test_a_python_program_in_a_browser(browser: Any, tmp_path: Path) -> None:
    played(tmp_path, TRAINING)
    page = Page(browser, tmp_path, (tmp_path / "lesson.html").read_text(encoding="utf-8"))
    assert page.one("h1").text.endswith("p.py")
    page.open("#step=last")
    assert page.one("#output pre").text == "0\n1"
    page.press("\ue012")
    assert page.texts("#program .running") == ["    print(i)i = 1"]  # the line, and the turn of its loop
    assert page.errors() == []
