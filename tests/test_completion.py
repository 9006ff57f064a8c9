"""Completion, through click and through bash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.cli.commands import COMMANDS, cli
from autodiff_cli.cli.main import main
from autodiff_cli.cli.shells import Bash, Fish, Zsh
from tests.processes import completed
from tests.shell import ROOT


def offered(line: str, incomplete: str, kind: type = Zsh) -> list[str]:
    """The answers for a word that is being typed behind ``line``."""
    import shlex

    answers = kind(cli, {}, "autodiff", "_AUTODIFF_COMPLETE").get_completions(shlex.split(line), incomplete)
    return [item.value for item in answers]


@pytest.mark.parametrize("command", ["diff", "export", "graph", "explain", "plot", "minimize"])
def test_nothing_follows_the_last_argument(command: str) -> None:
    line = f"{command} 'sin(x)*y'"
    assert [offered(line, begin) for begin in ("x", "f", "s")] == [[], [], []]
    assert all(one.startswith("--") for one in offered(line, ""))


OFFERED = json.loads((Path(__file__).parent / "cases" / "completions.json").read_text(encoding="utf-8"))
"""A command line, the incomplete word after it, and the words that are offered."""


@pytest.mark.parametrize(("line", "incomplete", "expected"), OFFERED)
def test_offered(line: str, incomplete: str, expected: list[str]) -> None:
    assert offered(line, incomplete) == expected


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "points.csv").write_text("1\n")
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "programs" / "a b.ad").write_text("")
    monkeypatch.chdir(tmp_path)
    assert offered("run", "") == ["points.csv", "programs/"]
    assert offered("run", "programs/") == ["programs/a b.ad"]
    assert offered("run", f"{tmp_path}/po") == [f"{tmp_path}/points.csv"]
    assert offered("eval", "@p") == ["@points.csv", "@programs/"]
    assert offered("eval x --at", "x=@po") == ["x=@points.csv"]
    assert offered("eval x --at", "y=1,x=@po") == ["y=1,x=@points.csv"]
    assert offered("run", "nowhere/") == []
    assert offered("run", ".h") == [".hidden"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_completion(name: str) -> None:
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option):
            for option in parameter.opts:
                if option.startswith("--"):
                    assert option in offered(name, option)
                assert not any(value.endswith(" ") for value in offered(f"{name} x {option}", ""))
            if isinstance(parameter.type, click.Choice):
                assert offered(f"{name} x {parameter.opts[0]}", "") == list(parameter.type.choices)
            if parameter.name == "style":
                assert "json" in offered(f"{name} x {parameter.opts[-1]}", "")
        elif parameter.metavar == "EXPR":
            assert offered(name, "x*sqr") == ["x*sqrt("]


def test_every_function_is_offered() -> None:
    for name in FUNCTIONS:
        if not name.startswith("_"):
            assert f"2*{name}(" in offered("eval", f"2*{name}")


def test_shells_that_close_quotes_are_given_the_signature_too() -> None:
    for kind in (Bash, Fish):
        assert offered("eval", "x*softp", kind) == ["x*softplus(", "x*softplus(x, beta=1, threshold=none)"]
        assert offered("eval x --at", "", kind) == ["x=", "x=1"]
        assert offered("functions", "sqr", kind) == ["sqrt"]


def test_an_error_in_completion_is_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("autodiff_cli.cli.shells.completions", lambda *_: 1 / 0)
    monkeypatch.setenv("_AUTODIFF_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_LINE", "autodiff ev")
    assert main([]) == 0
    assert capsys.readouterr() == ("\n", "")


def test_they_are_what_click_finds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for shell, script in (("zsh", "#compdef autodiff"), ("bash", "complete -o nosort"), ("fish", "complete --no-files")):
        monkeypatch.setenv("_AUTODIFF_COMPLETE", f"{shell}_source")
        assert main([]) == 0
        assert script in capsys.readouterr().out
    assert {get_completion_class(shell) for shell in ("bash", "zsh", "fish")} == {Bash, Zsh, Fish}


@pytest.mark.sampled(3)
@pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="bash is not installed")
@pytest.mark.parametrize("line", ['autodiff eval "2*sq', "autodiff eval 'sin(x)*2*sq", 'autodiff grad "-sq'])
def test_bash_on_a_terminal_lists_what_completes_a_quoted_expression(tmp_path: Path, line: str) -> None:
    import pty

    program = tmp_path / "autodiff"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m autodiff_cli "$@"\n')
    program.chmod(0o755)
    path, answered = f"{tmp_path}:{os.environ['PATH']}", "ready"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "TERM": "dumb", "PS1": "", "COLUMNS": "120"}
    master, terminal = pty.openpty()
    shell = subprocess.Popen(["bash", "--norc", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)

    def until(text: str) -> str:
        shown = ""
        while text not in shown:
            shown += os.read(master, 65536).decode()
        return shown

    try:
        os.write(master, b"source <(_AUTODIFF_COMPLETE=bash_source autodiff); echo rea''dy\n")
        until(answered)
        os.write(master, f"{line}\t\t".encode())
        before = line.rpartition(" ")[2][1:].removesuffix("sq")
        shown = until("squeeze(")
        assert f"{before}sqrt(" in shown
        assert f"{before}square(" in shown
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


@pytest.mark.sampled(4)
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ('autodiff eval "sin(x) * sqr', "sin(x) * sqr", ["sin(x) * sqrt(", "sin(x) * sqrt(x)"]),
        ("autodiff eval '[1, 2]*x**2 + sqr", "[1, 2]*x**2 + sqr", ["[1, 2]*x**2 + sqrt(", "[1, 2]*x**2 + sqrt(x)"]),
        ("autodiff eval sqr", "sqr", ['"sqrt(', '"sqrt(x)']),
        ('autodiff eval "x" --at x=1 --fo', "--fo", ["--format"]),
        ("autodiff eval x --format=mark", "mark", ["markdown"]),
        ("autodiff eval x --at x=@pyproj", "@pyproj", ["@pyproject.toml"]),
        ('autodiff eval "x*y" --at "x=1,', "x=1,", ["x=1,y=", "x=1,y=1"]),
        ('autodiff eval "zzz', "zzz", []),
        ("autodiff jac", "jac", ["jacobian"]),
        ("autodiff functions sqr", "sqr", ["sqrt"]),
    ],
)
def test_bash(tmp_path: Path, line: str, word: str, expected: list[str]) -> None:
    program = tmp_path / "autodiff"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m autodiff_cli "$@"\n')
    program.chmod(0o755)
    script = (
        "source <(_AUTODIFF_COMPLETE=bash_source autodiff)\nCOMP_LINE=$1; COMP_POINT=${#1}\n"
        '_autodiff_completion autodiff "$2"\n((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = completed(["bash", "-c", script, "bash", line, word], cwd=ROOT, env=environment)
    assert done.stdout.splitlines() == expected
