"""Interactive sessions: the last value, commands that begin with a colon, help, notes, and cancelled lines."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from autodiff_cli.cli.commands import COMMANDS
from autodiff_cli.cli.prompt import completions
from autodiff_cli.script.interpreter import Interpreter
from tests.shell import ROOT, run, streams


def session(*lines: str, options: str = "--at x=5 --const c=2") -> tuple[str, str]:
    """Standard output and standard error of a session."""
    out, err, code = streams(f"autodiff repl {options}", "".join(f"{line}\n" for line in lines))
    assert code == 0
    return out, err


def test_the_last_value_has_a_name() -> None:
    assert session("x**2", "_ + 1", "_.backward()", "x.grad", "_", "y = _ + 1", "_")[0].splitlines() == [
        "tensor(25., grad_fn=<PowBackward0>)",
        "tensor(26., grad_fn=<AddBackward0>)",
        "tensor(10.)",
        "tensor(10.)",
        "tensor(10.)",
    ]
    assert session("for _ in range(2): _ + 0", "_")[0] == "0\n1\n1\n"
    assert session("_")[1].startswith("error: '_' has no value here")


@pytest.mark.parametrize(
    ("lines", "command", "same"),
    [
        ([], ":grad x**2*c", 'grad "x**2*c" --at x=5 --const c=2'),
        (["y = x**2", "z = log(y)"], ":explain z*y", 'explain "y = x**2; z = log(y); z*y" --at x=5'),
        (["f(a) = a**3", "g(a) = f(a) + 1", "h(a) = a"], ":diff g(x)", 'diff "f(a) = a**3; g(a) = f(a) + 1; g(x)" --at x=5'),
        (["y = sin(x)"], ":plot y --over x=0:3 --order 0", 'plot "y = sin(x); y" --over x=0:3 --order 0'),
        (["y = sin(x)"], ":graph y --format plain", 'graph "y = sin(x); y" --at x=5 --format plain'),
        (["y = x*c"], ":export y --to python", 'export "y = x*c; y" --const c=2 --to python'),
        (["x*c", "_ + 1"], ":gradcheck _", 'gradcheck "_ = x*c; _ = _ + 1; _" --at x=5 --const c=2'),
        (
            ["v = tensor([1.5, 2], requires_grad=true)", "w = [3]"],
            ":jacobian v*w",
            'jacobian "v*w" --at "v=[1.5, 2]" --const "w=[3]"',
        ),
        (["a = 3"], ":eval a*x -q --order 2", 'eval "a*x" --at x=5 --const a=3 -q --order 2'),
        ([], ':taylor "sin(x)" --at x=0', 'taylor "sin(x)" --at x=0'),
        ([], ":functions sqrt", "functions sqrt"),
        ([], ":functions bessel -q", "functions bessel -q"),
    ],
)
def test_commands_take_the_names_of_the_session(lines: list[str], command: str, same: str) -> None:
    before, _ = session(*lines)
    assert session(*lines, command)[0].removeprefix(before) == run(f"autodiff {same}")


def test_settings_of_the_session_are_those_of_its_commands() -> None:
    options = "--at x=5 --const c=3 --precision 3"
    assert session(":grad x/c", options=options)[0] == run(f"autodiff grad x/c {options}")
    assert session(":grad x/c", options="--at x=5 --const c=3 -q")[0] == "0.3333333333333333\n"
    found = json.loads(session(":grad x/c", options="--at x=5 --const c=3 --json --dtype float32")[0])
    assert (found["dtype"], found["expression"]) == ("float32", "x/c")


def test_a_value_that_has_changed_is_refused() -> None:
    assert session("a = 2", "y = a*x", "a = 3", ":grad y")[1].startswith("error: a value that the expression needs has changed")
    assert session("y = x**2", "z = 2*y", "y = x**3", ":grad z -q")[0] == "20.0\n"


def test_wrong_commands_have_a_way_out() -> None:
    for line, error in [
        (":grda x", "unknown command ':grda'\n  hint: did you mean 'grad'?"),
        (":save", "a file name is missing\n  hint: write :save session.ad"),
        (":map x", "unknown command ':map'"),
        (":grad", "missing argument 'EXPR'"),
        (":grad x --nope", "unknown option '--nope'"),
        (":grad x +", "the expression is incomplete after '+'"),
        (":grad lgo(x)", "unknown function 'lgo'"),
        (':grad "x', 'a quote is not closed in "x'),
        ("help xyzzy", "unknown name 'xyzzy'"),
    ]:
        out, err = session(line, "x + 1")
        assert err.startswith(f"error: {error}"), err
        assert out == "tensor(6., grad_fn=<AddBackward0>)\n"


def test_a_saved_session_is_a_program_that_prints_the_same(tmp_path: Path) -> None:
    path = tmp_path / "session.ad"
    lines = [
        "y = x**2*c",
        "nonsense +",
        "for i in range(2):",
        "    y = y + i",
        "    print(i)",
        "",
        "y",
        "_ + 1",
        "log(-1)",
        "bad(1)",
    ]
    out, err = session(*lines, ":grad y", f":save {path}", options='--at "x=[0.1, nan]" --const c=3 --dtype float32')
    assert f"'autodiff run {path}' repeats this session" in err
    printed = out.partition("variable")[0]
    assert run(f"autodiff run {path}").startswith(printed)
    assert "bad" not in path.read_text()
    assert "nonsense" not in path.read_text()


def test_notes_on_values_that_are_shown() -> None:
    assert session("log(-x)")[1] == "note: log(-5.0) is nan: log is defined for x > 0\n"
    assert "loses about 16 of 16 digits" in session("y = 1e-9*x", "1 - cos(y)")[1]
    assert session("y = log(-x)", "y = 1", "x*2")[1] == ""
    assert session("log(-x)", "log(-x)")[1].count("note") == 1
    assert session("log(-x)", options="--at x=5 --quiet-notes")[1] == ""


def test_a_value_that_is_none_has_no_other_columns() -> None:
    out, _ = session("show x.grad, x")
    row = next(line for line in out.splitlines() if line.startswith("x.grad"))
    assert row.split() == ["x.grad", "None"]


def test_a_warning_is_printed_once_in_a_session() -> None:
    assert session("y = x**2", "y.grad", "y.grad")[1].count("is not a leaf") == 1


@pytest.mark.parametrize(
    "name", ["show", "with", "for", "def", "lambda", "_", "x", "y", "f", "sin", "backward", "y.backward", "grad_fn"]
)
def test_help_knows_every_name(name: str) -> None:
    out, err = session("y = x**2", "f(a) = a", f"help {name}")
    assert (bool(out), err) == (True, "")


def test_help_shows_a_value_or_explains_the_session() -> None:
    out, err = session("y = 2", "help y", "help")
    assert (out.startswith("y: 2 = 2\nType expressions"), err) == (True, "")


def test_help_knows_everything_that_completion_offers() -> None:
    known = sorted(name for name in Interpreter({}).known() if not name.startswith("_"))
    out, err = session(*(f"help {name}" for name in known))
    assert err == ""
    assert out.count("\n") > len(known)


@pytest.mark.parametrize("name", ["plot", "explain", "hessian"])
def test_help_of_a_command_is_its_short_help(name: str) -> None:
    assert session(f"help :{name}")[0] == run(f"autodiff {name} -h")


def test_commands_are_completed() -> None:
    assert completions(Interpreter({}), ":gra") == (["grad", "gradcheck", "graph"], 3)
    names, typed = completions(Interpreter({}), ":")
    assert (set(names) - {"save", "help"} < set(COMMANDS), typed) == (True, 0)


@pytest.mark.parametrize("word", ["exit", "quit()", ":q", " exit "])
def test_words_that_end_a_session(word: str) -> None:
    assert session(word, "x") == ("", "")


def _typed(keys: list[str], environment: dict[str, str]) -> str:
    """What a terminal shows while keys are typed into a session; a line and Ctrl-C are followed by a prompt."""
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, "-m", "autodiff_cli", "repl", "--color", "never"], environment)
    shown, prompts = b"", 0
    try:
        for key in ["", *keys]:
            if key == "\x03":
                time.sleep(0.5)  # readline misses a signal that arrives just before it waits for the next key
            os.write(terminal, key.encode())
            prompted = not key or key.endswith(("\n", "\x03"))
            prompts += prompted
            end = time.monotonic() + 60
            while (
                shown.count(b"> ") < prompts or not shown.endswith(b"> " if prompted else key.encode())
            ) and time.monotonic() < end:
                if select.select([terminal], [], [], 0.1)[0]:
                    shown += os.read(terminal, 65536)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", shown.decode())


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal cannot be opened")
def test_control_c_starts_a_new_line(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb", "XDG_STATE_HOME": str(tmp_path)}
    shown = _typed(["abc", "\x03", "40 + 2\n"], environment)
    assert re.search(r"> abc(\^C)?\n> 40 \+ 2\n42\.0\n> $", shown), shown
