"""PyTorch's programs, pasted into ``run`` and ``repl``: they print what PyTorch prints, and nothing else of Python is read."""

from __future__ import annotations

import io
import sys

import pytest

import autodiff_cli as ad
from autodiff_cli.cli.main import main
from autodiff_cli.errors import AutodiffError
from autodiff_cli.script.interpreter import Interpreter
from tests.shell import ROOT


def printed(text: str) -> tuple[str, str | None]:
    """Return the output of a program in ``run``, and the message of the error that ends it."""
    lines = []
    try:
        for shown in Interpreter({}).run(text):
            lines.append(f"{shown.text}\n")
    except AutodiffError as error:
        return "".join(lines), error.message
    return "".join(lines), None


X = "x = torch.tensor(5., requires_grad=True)\n"


PYTHON = """\
>>> import torch
>>> x = torch.tensor(3.)
>>> x
tensor(3.)
>>> for i in range(2):
...     x = x * 2
...
>>> x
tensor(12.)
"""
IPYTHON = """\
In [1]: x = torch.tensor(3.)

In [2]: x
Out[2]: tensor(3.)

In [3]: for i in range(2):
   ...:     x = x * 2
   ...:

In [4]: x
Out[4]: tensor(12.)
"""


@pytest.mark.parametrize("text", [PYTHON, IPYTHON], ids=["python", "ipython"])
def test_a_pasted_session_is_read_without_prompts_and_output(text: str) -> None:
    assert printed(text) == ("tensor(3.)\ntensor(12.)\n", None)


def test_a_session_is_typed_with_prompts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed = PYTHON.replace("tensor(3.)\n>>> for", ">>> for").replace("tensor(12.)\n", "")
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed + "def f(a):\n    b = a + 1\n    return b\nf(1)\n"))
    assert main(["repl"]) == 0
    assert capsys.readouterr() == ("tensor(3.)\ntensor(12.)\n2.0\n", "")


def test_functions_have_local_names_and_keep_those_around_them() -> None:
    text = """
def outer(a):
    y = a * 2
    inner = lambda b: b + y
    y = y + 1
    return inner(10)
y = 7
outer(1)
y
twice = lambda f, v: f(f(v))
twice(lambda v: v * 3, 2)
"""
    assert printed(text) == ("13.0\n7\n18.0\n", None)


def test_calls_of_functions_with_statements_do_not_recurse() -> None:
    text = "def count(n):\n    m = n - 1\n    return 0 if n <= 0 else 1 + count(m)\ncount(5000)\n"
    assert printed(text) == ("5000.0\n", None)


def test_loops_end_and_modes_are_restored_after_an_error() -> None:
    interpreter = Interpreter({})
    with pytest.raises(AutodiffError):
        list(interpreter.run(X + "def f(a):\n    with torch.no_grad():\n        b = lgo(a)\n    return a\nf(x)"))
    assert [shown.text for shown in interpreter.run("(x*1).requires_grad")] == ["True"]


def test_numbers_of_a_loop_stay_whole() -> None:
    assert printed("for i in range(2, 0, -1): print(i, i + 1, 2*i - 1, i/2, i**2, f'{i:03d}')")[0] == (
        "2 3 3 1.0 4 002\n1 2 1 0.5 1 001\n"
    )


def test_assignments_of_several_names() -> None:
    assert printed("a, b = 1, 2\na, b = b, a\nprint(a, b)\n(c,) = [3]\n[d] = [4]\nc, d")[1] == "unexpected ','"
    assert printed("a, b = 1, 2\na, b = b, a\nprint(a, b)\n(c,) = [3]\n[d] = [4]\nprint(c, d)") == ("2 1\n3 4\n", None)


def test_imports_name_namespaces_and_functions() -> None:
    text = (
        "import torch as th, math\nimport torch.nn.functional as F\nfrom torch.autograd import grad as g, Variable\n"
        "import numpy as np\nfrom math import pi\n" + X + "y = th.sin(x)*F.relu(x)\ng(y, x)\nmath.pi == np.pi == pi\n"
    )
    assert printed(text) == ("(tensor(0.4594),)\nTrue\n", None)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("if x > 0:\n    y = 1", 1, "a program cannot contain 'if'"),
        ("while True: x = 1", 1, "a program cannot contain 'while'"),
        ("class A: x = 1", 1, "a program cannot contain 'class'"),
        ("@torch.no_grad()\ndef f(x): return x", 1, "a program cannot contain '@'"),
        ("import os", 1, "a program cannot import 'os'"),
        ("from torch.func import functional_call", 1, "torch.func.functional_call is not available"),
        ("y = torch.func.functionalize(sin)", 1, "torch.func.functionalize is not available"),
        ("import torch.func as tf\ny = tf.vmapp(sin)", 2, "torch.func.vmapp is not available"),
        ("y = (1)(2)", 1, "a number is not a function"),
        ("x = ones(2)\ny = sin(x)(x)", 2, "a tensor is not a function"),
        ("y = torch.func.grad()", 1, "func.grad requires the argument 'func'"),
        ("import math\ny = math.sin(1)", 2, "'math.sin' is not available"),
        ("from numpy import array", 1, "'numpy.array' is not available"),
        ("import torch as", 1, "this import is incomplete"),
        ("for i in [1, 2]: print(i)", 1, "a loop runs over range(...) only"),
        ("for i in 1..3: print(i)", 1, "a loop runs over range(...) only"),
        ("for i, j in range(3): print(i)", 1, "'for' must be followed by a name and 'in'"),
        ("for i in range([1]): print(i)", 1, "range takes one to three"),
        ("for i in range(1, 2, 0): print(i)", 1, "the step of a range cannot be 0"),
        ("for i in range(): print(i)", 1, "range takes one to three"),
        ("for i in range(2):\nprint(i)", 1, "this 'for' block is empty"),
        ("for i in range(2):\n    x = 1\n      y = 2", 3, "indented differently"),
        ("for i in range(2):\n    x = 1\n  y = 2", 3, "indented differently"),
        ("for i in range(2):\n    x = 1\n\ty = 2", 3, "indented differently"),
        ("return 1", 1, "'return' outside a function"),
        ("def f(x):\n    for i in range(2):\n        return x", 3, "'return' inside a loop"),
        ("def f(x):\n    return x\n    y = 1", 3, "a statement follows 'return'"),
        ("def f(x=1): return x", 1, "must be a plain name"),
        ("def f: return 1", 1, "'def' must be followed by a name"),
        ("def f(x):\n    y += 1\n    return y\ny = 1\nf(1)", 2, "not a local name of the function"),
        ("with open: x = 1", 1, "'with' must be followed by a grad mode"),
        ("print(1, end='')", 1, "print has no parameters with names"),
        ("x = 1\nprint(f'{x')", 2, "'{' is never closed"),
        ("x = 1\nprint(f'x}')", 2, "'}' closes nothing"),
        ("x = 1\nprint(f'{x:99999d}')", 2, "this format is not supported"),
        ("x = ones(2)\nprint(f'{x:.2f}')", 2, "unsupported format string"),
        ("x = 1\nprint(f'{x!r}')", 2, "unexpected character '!'"),
        ("y = __import__('os')", 1, "unknown function '__import__'"),
        ("y = 1\ny.__class__", 2, "unknown attribute '__class__'"),
    ],
)
def test_more_of_python_is_refused_in_words(text: str, line: int, message: str) -> None:
    with pytest.raises(AutodiffError) as caught:
        list(Interpreter({}).run(text))
    assert message in caught.value.message
    assert caught.value.line == line
    assert caught.value.exit_code == 2
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torch.func.grad(sin)(ones(2))", "Expected f(*args) to return a scalar Tensor"),
        ("torch.vmap(lambda a: a if a > 0 else -a)(ones(2))", "data-dependent control flow"),
    ],
)
def test_errors_of_transformations_are_those_of_pytorch(text: str, message: str) -> None:
    printed_before, error = printed(text)
    assert printed_before == ""
    assert error is not None
    assert message in error


def test_a_call_of_a_result_is_shown_as_it_was_written() -> None:
    shown = list(Interpreter({}).run("x = torch.ones(2)\nshow torch.func.grad(lambda a: a.sum())(x)"))
    assert [row["name"] for row in shown[0].rows or ()] == ["func.grad(lambda a: a.sum())(x)"]
    assert printed("g = torch.vmap(sin)\ng") == ("<function of vmap>\n", None)


def test_a_loop_is_bounded_by_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interpreter, "most_operations", 1000)
    with pytest.raises(AutodiffError) as caught:
        list(Interpreter({}).run("for i in range(10**9):\n    x = 1\n"))
    assert (caught.value.exit_code, caught.value.line) == (3, 1)


def test_a_long_loop_is_refused_before_its_first_turn() -> None:
    interpreter = Interpreter({})
    with pytest.raises(AutodiffError, match="more than 200,000 operations"):
        list(interpreter.run("for i in range(10**9):\n    x = 1\n"))
    assert "x" not in interpreter.names
    list(interpreter.run("for i in range(10**9, 0):\n    x = 1\nfor i in range(5, 0, -2):\n    y = i\n"))
    assert (interpreter.names["y"], "x" in interpreter.names) == (1, False)


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(500):\n    w.detach()\n    w.grad",
        "for i in range(500):\n    y = i\n    y = 2",
        "def f(n):\n    y = n\n    return f(n - 1) if n > 0 else 0\nf(400)",
        "def f(n):\n    for i in range(n):\n        y = i\n    return n\nf(600)",
    ],
)
def test_every_step_of_a_program_counts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interpreter, "most_operations", 1000)
    with pytest.raises(AutodiffError, match="more than 1,000 operations"):
        list(Interpreter({"w": ad.tensor(1.0)}).run(text))


def test_anomaly_mode_shows_the_line_of_the_forward_pass() -> None:
    text = "x = torch.tensor([0., 4.], requires_grad=True)\ntorch.autograd.set_detect_anomaly(True)\n"
    text += "y = x.sqrt()\n(y*0).sum().backward()"
    with pytest.raises(AutodiffError) as caught:
        list(Interpreter({}).run(text))
    assert "SqrtBackward0" in caught.value.message
    assert text[slice(*(caught.value.span or (0, 0)))] == "x.sqrt()"


def test_the_program_of_the_tutorial_is_the_file() -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert f"```text\n{(ROOT / 'docs' / 'data' / 'slope.py').read_text(encoding='utf-8')}```" in page
