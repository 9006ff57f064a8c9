"""Programs of statements: their output, their refusals, and the state after them."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.modes import is_grad_enabled
from autodiff_cli.cli.main import main
from autodiff_cli.cli.prompt import completions, lines
from autodiff_cli.errors import AutodiffError, ParseError, ShapeError
from autodiff_cli.evaluation.evaluation import input_leaves
from autodiff_cli.script.interpreter import Interpreter, StatementOutput
from autodiff_cli.script.statements import is_unfinished, parse_statements
from tests.shell import run as command

X = "x = tensor(5.0, requires_grad=true)\n"
AT_0 = "x = tensor(0., requires_grad=true)"


def run(text: str, **options: Any) -> list[StatementOutput]:
    return list(Interpreter({}, **options).run(text))


def texts(text: str) -> list[str]:
    return [shown.text for shown in run(text)]


CUBE = "Cube(a) = a**3 with grad (3*a**2)\n"
FUNCTION = "f(a, b) = a**2*b\na, b = jacobian(f, [tensor(3), tensor(4)])\na\nb\n"
HOOK = "y = x**3\ndouble(g) = 2*g\nh = y.register_hook(double)\ny.backward(retain_graph=true)\nx.grad\nh.remove()\n"
MODES = "with no_grad:\n  y = x*1\n  with enable_grad:\n    z = x*1\n  w = x*1\ny.requires_grad\nz.requires_grad\nw.requires_grad"
PREFIXES = "torch.autograd.grad(torch.log(x), x)\ntorch.nn.functional.relu(x).item()"
VALUES = "y = x**3\ny\ny.backward()\nx.grad\nx.grad.zero_()\nx.is_leaf\nx.shape\n2 + 3\ny.grad_fn"


@pytest.mark.parametrize(
    ("text", "printed"),
    [  # expressions print their values, and statements do not
        (X + VALUES, "tensor(125., grad_fn=<PowBackward0>) | tensor(75.) | True | torch.Size([]) | 5.0 | <PowBackward0>"),
        ("a = [1,\n  2]; a.sum()  # three\n\n# nothing\na[0]", "tensor(3.) | tensor(1.)"),
        ("x = torch.tensor(5., requires_grad=True)\n" + PREFIXES, "(tensor(0.2000),) | 5.0"),
        (X + MODES, "False | True | False"),
        ("x = zeros(3)\nx[0] = 1\nx[1:] += 2\nx *= 10\nx\nn = 1\nn += 1\nn", "tensor([10., 20., 20.]) | 2.0"),
        (X + "x.grad = tensor(1)\nx.grad\nx.grad = none\nx.grad\nx.requires_grad = false\nx.requires_grad", "tensor(1.) | False"),
        (X + HOOK + "x.grad = none\ny.backward()\nx.grad", "tensor(150.) | tensor(75.)"),
        (FUNCTION + "gradcheck(f, [tensor(3.0, requires_grad=true), tensor(4)])", "tensor(24.) | tensor(9.) | True"),
        ("f(v) = sum(v**3)\nhvp(f, [1, 2], [1, 0])", "(tensor(9.), tensor([6., 0.]))"),
        ("jacobian(exp, tensor([0, 0]))[1]", "tensor([0., 1.])"),
        (CUBE + X + "y = Cube.apply(x)\ny.grad_fn\ny.backward()\nx.grad", "<CubeBackward> | tensor(75.)"),
        ("a, b = [1, 2]\na\nb", "1 | 2"),
        ("a, b = tensor([1, 2])*3\nb", "tensor(6.)"),
        (X + "print(x, 1 < 2, none)", "tensor(5., requires_grad=True) True None"),
        (X + "y = tensor([x, 2*x])\ny.requires_grad\ny", "False | tensor([ 5., 10.])"),
        ("x = tensor([3, 1])\nx.max(dim=0).values\nsort(x).indices", "tensor(3.) | tensor([1, 0])"),
    ],
)
def test_what_a_program_prints(text: str, printed: str) -> None:
    assert texts(text) == printed.split(" | ")


@pytest.mark.parametrize("mode", ["no_grad", "no_grad()", "torch.no_grad()", "set_grad_enabled(false)"])
def test_a_block_without_recording(mode: str) -> None:
    for body in (f"with {mode}: y = x**2; z = y\n", f"with {mode}:\n  y = x**2\n  z = y\n"):
        assert texts(X + body + "y.requires_grad\nz.requires_grad\n(x**2).requires_grad") == ["False", "False", "True"]


def test_an_error_in_a_block_ends_it() -> None:
    interpreter = Interpreter({})
    with pytest.raises(AutodiffError):
        list(interpreter.run(X + "with no_grad: y = lgo(x)\n"))
    assert is_grad_enabled()
    assert [shown.text for shown in interpreter.run("(x*1).requires_grad")] == ["True"]


def test_show_has_a_row_for_each_expression() -> None:
    with pytest.warns(UserWarning, match="not a leaf"):
        (first, second, every) = run(X + "y = x**2\ny.backward()\nshow x, x.grad, 2*y\nshow y.grad\nshow")
    assert first.rows is not None
    rows = [(row["name"], row["value"], row["grad_fn"]) for row in first.rows]
    assert rows == [("x", 5.0, None), ("x.grad", 10.0, None), ("2*y", 50.0, "MulBackward0")]
    assert second.rows is not None
    assert (second.rows[0]["name"], second.rows[0]["value"]) == ("y.grad", None)
    assert every.rows is not None
    assert [(row["name"], row["expression"]) for row in every.rows] == [("x", "tensor(5.0, requires_grad=true)"), ("y", "x**2")]


def test_gradient_descent_finds_the_minimum() -> None:
    step = "l = (x - 2)**2\nl.backward()\nwith no_grad: x -= 0.25*x.grad\nx.grad = none\n"
    (shown,) = run(X + step * 40 + "x.item()")
    assert shown.value == pytest.approx(2, abs=1e-9)


def test_unpacking_of_too_many_values() -> None:
    with pytest.raises(AutodiffError, match="2 names for 3 values"):
        run("a, b = [1, 2, 3]")


def test_numbers_of_a_program_are_of_its_type() -> None:
    (shown,) = run("x = tensor(1)\ny = ones(2)\nx.dtype\n", dtype="float32")
    assert shown.text == "float32"
    assert ad.get_default_dtype() == np.float64
    first, second = run("x = tensor(1, dtype=float64)\nx\ntensor(true).dtype", dtype="float32")
    assert (first.text, second.text) == ("tensor(1., dtype=torch.float64)", "bool")


def test_random_numbers_repeat_after_a_seed() -> None:
    first, second = run("manual_seed(1)\nrand(2)\nmanual_seed(1)\nrand(2)")
    assert first.value.tolist() == second.value.tolist()


def test_nothing_runs_if_something_cannot_be_read() -> None:
    interpreter = Interpreter({})
    with pytest.raises(ParseError) as caught:
        list(interpreter.run("x = 1\nx = = 2\n"))
    assert (caught.value.line, "x" in interpreter.names) == (2, False)


PROGRAMS = (Path(__file__).parent / "cases" / "programs.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("program", "line", "code", "message", "hint"),
    re.findall(r"(.+?)\n-> (\d+), exit code (\d): (.+?)\n   (.+?)\n(?:\n|\Z)", PROGRAMS, re.DOTALL),
)
def test_errors_say_the_line_and_the_way_out(program: str, line: str, code: str, message: str, hint: str) -> None:
    with pytest.raises(AutodiffError) as caught:
        run(program)
    error = caught.value
    assert (error.line, error.exit_code, error.message, error.hint or "no hint") == (int(line), int(code), message, hint)


@pytest.mark.parametrize(
    ("text", "place"), [("with nograd: x = 1", "with nograd"), ("with : x = 1", "with"), ("with no_grad", "with no_grad")]
)
def test_where_a_block_begins_wrongly(text: str, place: str) -> None:
    with pytest.raises(AutodiffError) as caught:
        list(Interpreter({}).run(text))
    start, end = caught.value.span or (0, 0)
    assert text[start:end] == place


def test_an_expression_cannot_change_a_tensor() -> None:
    with pytest.raises(ParseError, match="cannot change a tensor"):
        ad.evaluate("x += 1; x", at={"x": 1})


def test_names_stay_between_runs_and_after_errors() -> None:
    interpreter = Interpreter({})
    list(interpreter.run("f(a) = lgo(a)\ng(a) = a + 1\nx = 1"))
    with pytest.raises(AutodiffError):
        list(interpreter.run("a = 5\nf(2)"))
    assert [shown.text for shown in interpreter.run("g(x) + a")] == ["7.0"]
    with pytest.raises(AutodiffError) as caught:
        list(interpreter.run("f(1)"))
    assert caught.value.line == 1  # where the function was defined


@pytest.mark.exhaustive
def test_deep_programs_do_not_recurse() -> None:
    nested = "".join(f"{' ' * i}with no_grad:\n" for i in range(2000)) + " " * 2000 + "x = 1"
    (node,) = parse_statements(nested)
    for _ in range(1999):
        (node,) = node.children[-1].children
    assert node.children[-1].children[0].kind == "assignment"
    assert parse_statements("x = 1\n" * 20_000)[-1].span == (119_994, 119_999)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.ad"
    path.write_text("y = x**2\ny.backward()\nshow x, y\nx.grad\ny.backward()\nx\n")
    assert main(["run", str(path), "--at", "x=3"]) == 3
    out, err = capsys.readouterr()
    assert "PowBackward0" in out
    assert out.endswith("tensor(6.)\n")
    assert f"{path}, line 5:\n  y.backward()\n  ^^^^^^^^^^^^\n  hint:" in err
    assert main(["run", str(path), "--at", "x=3", "--json"]) == 3
    out, err = capsys.readouterr()
    answer, error = json.loads(out), json.loads(err)["error"]
    assert [(step["line"], step["statement"]) for step in answer["steps"]] == [(3, "show x, y"), (4, "x.grad")]
    assert (answer["steps"][1]["value"], error["line"], error["file"]) == (6.0, 5, str(path))
    for style, count in (("csv", 4), ("tsv", 4), ("markdown", 5), ("plain", 4), ("ndjson", 2)):
        assert main(["run", str(path), "--at", "x=3", "--format", style]) == 3
        assert len(capsys.readouterr().out.splitlines()) == count
    assert main(["run", str(path), "--at", "x=3", "-q"]) == 3
    assert capsys.readouterr().out == "6.0\n"
    assert main(["run", str(tmp_path / "none.ad")]) == 5
    assert "No such file" in capsys.readouterr().err


def repl(typed: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    return main(["repl", *options])


def test_the_repl_goes_on_after_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed = (
        X
        + "y = x**3\nlgo(y)\nwith no_grad:\n    w = y*2\n    w\n\nf(a,\n  b) = a*b\nf(2, 3)\n"
        + "help log\ny.backward()\nx.grad\nexit\nx\n"
    )
    assert repl(typed, monkeypatch) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("tensor(250.)", "6.0", "tensor(75.)")
    assert "natural logarithm" in out
    assert err == "error: unknown function 'lgo'\n  lgo(y)\n  ^^^\n  hint: did you mean 'log'?\n"
    assert repl("1 +\n2*3\n", monkeypatch, "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["value"] == 6
    assert json.loads(err)["error"]["kind"] == "ParseError"


def test_what_needs_more_lines() -> None:
    for text in ("f(1,\n", "with no_grad:\n", "with no_grad:\n  x = 1\n"):
        assert is_unfinished(text)
    for text in ("x = 1\n", "with no_grad: x = 1\n", "with no_grad:\n  x = 1\n\n", "x = [1, 2]  # (\n"):
        assert not is_unfinished(text)


def test_lines_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *rest = ["a = [1,\n2]\n", "with no_grad:\n  b = [1,\n2]\n", "c\n", "with no_grad:\n  b = 1\n\n", "d\n"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{first}\n  \n{''.join(rest)}".rstrip()))
    assert list(lines(Interpreter({}))) == [first, *rest]


def test_completion() -> None:
    interpreter = Interpreter({})
    list(interpreter.run(X + "y = x**2\nlogistic(a) = 1/(1 + exp(-a))\nh = y.register_hook(relu)"))
    assert {"log", "log1p", "logistic"} <= set(completions(interpreter, "y + lo")[0])
    assert completions(interpreter, "y + lo")[1] == 2
    assert completions(interpreter, "x.requires")[0] == ["requires_grad", "requires_grad_"]
    assert completions(interpreter, "y.grad_fn.n")[0] == ["name", "next_functions"]
    assert completions(interpreter, "h.")[0] == ["remove"]
    assert completions(interpreter, "2*")[0] == completions(interpreter, "")[0]


def test_memory_of_a_long_program_is_that_of_its_names() -> None:
    interpreter = Interpreter({})
    list(interpreter.run(X + "y = x\n" + "y = y*1\n" * 1000))
    assert interpreter.tensors.entries == []


def test_an_error_inside_a_hook_is_placed_in_the_function() -> None:
    with pytest.raises(ShapeError) as caught:
        run(X + "bad(g) = [g, g]\ny = x*1\nh = y.register_hook(bad)\ny.backward()")
    assert caught.value.line == 5


@pytest.mark.parametrize("style", ["csv", "tsv", "markdown", "plain"])
def test_values_of_unequal_shapes_in_every_format(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.ad"
    path.write_text("A = tensor([[2, 1], [1, 3]])\neigh(A)\nprint(A, 1)\n")
    assert main(["run", str(path), "--format", style]) == 0
    assert "[[2.0, 1.0], [1.0, 3.0]], 1" in capsys.readouterr().out


def test_the_repl_prints_in_every_format(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert repl("x = tensor(1)\nx\nshow\n", monkeypatch, "--format", "csv") == 0
    out = capsys.readouterr().out
    assert out.count("1.0") == 2


def test_help_explains_statements(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert repl("help grad\nhelp backward\nhelp torch.log\n", monkeypatch) == 0
    out, err = capsys.readouterr()
    assert "grad: Return the gradients of outputs" in out
    assert "backward: Add the gradient" in out
    assert "natural logarithm" in out
    assert err == ""


def noted(text: str, at: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    interpreter = Interpreter(input_leaves(at or {}, {}, "float64"))
    for _ in interpreter.run(text):
        pass
    return interpreter.notes


@pytest.mark.parametrize(
    ("text", "piece", "message"),
    [
        (f"{AT_0}\ny = relu(x); y = 2*y\ny.backward()", "relu(x)", "from the left it is 0, from the right 2"),
        (f"{AT_0}; grad(3 + torch.abs(x), x)", "abs(x)", "from the left it is -1, from the right 1"),
        (AT_0.replace("0", "2") + "\nwith no_grad: x -= 2\nf(a) = 1/a; f(x).backward()", "1/a", "the first inf: 1/a with a = 0.0"),
        ("v = tensor([1., 0.], requires_grad=true); a, b = v; (a*sqrt(b)).backward()", "sqrt(b)", "from the right it is inf"),
    ],
)
def test_a_sweep_has_notes(text: str, piece: str, message: str) -> None:
    note = noted(text)[0]
    assert text[slice(*note["span"])] == piece
    assert note["message"].endswith(message)


def test_notes_are_about_the_values_that_were_swept() -> None:
    assert noted("x = tensor(0., requires_grad=true); y = abs(x); x = tensor(1., requires_grad=true); y.backward()") == []
    assert noted("x = tensor(1., requires_grad=true); y = abs(x); y.backward(); x = tensor(0., requires_grad=true)") == []
    assert noted("x = tensor(0., requires_grad=true); y = abs(x.detach()) + x; y.backward()") == []
    descent = (
        "x = tensor(0.5, requires_grad=true)\n" + "x.grad = none; z = abs(x); z.backward(); with no_grad: x -= 0.5*x.grad\n" * 3
    )
    assert len(noted(descent)) == 1


def test_a_warning_is_said_once() -> None:
    printed = command("autodiff run -", "x = tensor(1., requires_grad=true); y = 2*x; y.grad; y.grad; print(y.grad)")
    note = "note: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed."
    assert (printed.count(note), printed.startswith("None\n")) == (1, True)
    assert "note" not in command(
        "autodiff run - --quiet-notes", "x = tensor(0., requires_grad=true); y = abs(x); y.grad; y.backward()"
    )


@pytest.mark.parametrize("modes", ["no_grad(), enable_grad()", "enable_grad(), no_grad()", "no_grad(), no_grad(), enable_grad()"])
def test_several_modes_end_in_reverse_order(modes: str) -> None:
    program = f"x = tensor(3.0, requires_grad=true)\nwith {modes}:\n    y = x**2\nz = x**2\nprint(y.requires_grad, z.requires_grad)"
    assert command("autodiff run -", program) == f"{modes.endswith('enable_grad()')} True\n"
