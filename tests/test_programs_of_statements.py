"""Functions, loops and modes in programs of statements, and the parts of Python that are refused in words."""

from __future__ import annotations

import pytest

import autodiff_cli as ad
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
    assert printed("a, b = 1, 2\na, b = b, a\nprint(a, b)\nc, = [3]\na, c")[1] == "unexpected ','"
    assert printed("a, b = 1, 2\na, b = b, a\nprint(a, b)\nc, = [3]\nprint(c)") == ("2 1\n3\n", None)


def test_names_may_have_the_prefixes_of_pytorch() -> None:
    text = X + "y = torch.sin(x)*torch.nn.functional.relu(x)\ntorch.autograd.grad(y, x)\n"
    assert printed(text) == ("(tensor(0.4594),)\n", None)


def test_a_loop_is_bounded_by_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interpreter, "most_operations", 1000)
    with pytest.raises(AutodiffError) as caught:
        list(Interpreter({}).run("for i in range(10**9):\n    x = 1\n"))
    assert (caught.value.exit_code, caught.value.line) == (3, 1)


def test_a_long_loop_is_refused_before_its_first_turn() -> None:
    interpreter = Interpreter({})
    with pytest.raises(AutodiffError, match="more than 10,000,000 operations"):
        list(interpreter.run("for i in range(10**9):\n    x = 1\n"))
    assert "x" not in interpreter.names
    list(interpreter.run("for i in range(10**9, 0):\n    x = 1\nfor i in range(5, 0, -2):\n    y = i\n"))
    assert (interpreter.names["y"], "x" in interpreter.names) == (1, False)


def test_only_the_time_of_many_operations_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interpreter, "most_seconds", 0.0)
    loop = "for i in range({}):\n    x = i\n"
    monkeypatch.setattr(Interpreter, "quick_operations", 1000)
    interpreter = Interpreter({})
    list(interpreter.run(loop.format(400)))  # about 800 operations, whose time does not count
    list(interpreter.run(loop.format(400)))  # a text of a session starts anew
    with pytest.raises(AutodiffError, match="more than 1,000 operations, which took 0 s") as caught:
        list(interpreter.run(loop.format(600)))
    assert (caught.value.exit_code, caught.value.line) == (3, 6)
    with ad.unlimited():
        list(interpreter.run(loop.format(600)))
    assert interpreter.names["x"] == 599


@pytest.mark.exhaustive
def test_a_loop_of_many_cheap_turns_runs() -> None:
    interpreter = Interpreter({})
    list(interpreter.run("for i in range(101000):\n    x = i\n"))  # more than 200,000 operations
    assert interpreter.names["x"] == 100_999


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"""print("a\tb\nc")""", "a\tb\nc\n"),
        (r"""print(f"First call\n{1}", 'C:\\n')""", "First call\n1 C:\\n\n"),
        ("randn(()).shape\nzeros(())", "torch.Size([])\ntensor(0.)\n"),
        (
            "x = ones(2, 3)\nprint(x.shape, [x.shape[0]*2])\nx.T.reshape(x.shape).shape",
            "torch.Size([2, 3]) [4]\ntorch.Size([2, 3])\n",
        ),
        ("x = ones(2, 3)\nx.shape == x.shape\nx.sum()/x.shape[1]", "tensor([True, True])\ntensor(2.)\n"),
        ("x = ones(2, requires_grad=true)\nx.register_hook(print)\n(x*3).sum().backward()", "tensor([3., 3.])\n"),
        ("x = ones(2, requires_grad=true)\nx.grad\nnone\nfor i in range(2): print(i) if i > 0 else none", "1\n"),
    ],
)
def test_small_things_are_as_in_python(text: str, shown: str) -> None:
    assert printed(text) == (shown, None)


@pytest.mark.parametrize("numbers", ["2", "[1, 2]", "[[1], [2]]"])
def test_whole_numbers_do_not_require_grad(numbers: str) -> None:
    assert printed(f"tensor({numbers}, requires_grad=true)") == (
        "",
        "Only Tensors of floating point and complex dtype can require gradients",
    )
    assert printed(f"tensor({numbers}, dtype=float64, requires_grad=true).requires_grad") == ("True\n", None)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("nn.Linear(2, 1)", "use a function of nn.functional"),
        ("torch.nn.Module()", "use a function of nn.functional"),
        ("np.array([1])", "tensor([1.0, 2.0])"),
        ("x = ones(2)\nx.numpy()", ".tolist()"),
        ("import torch", "FILE.py"),
    ],
)
def test_what_is_missing_leads_on(text: str, hint: str) -> None:
    with pytest.raises(AutodiffError) as caught:
        list(Interpreter({}).run(text))
    assert hint in str(caught.value.hint)
