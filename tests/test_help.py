"""The help of every command: readable at 80 columns, with examples that run; the welcome; the completeness of the reference."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from pathlib import Path

import click
import pytest

from autodiff_cli.cli.commands import COMMANDS, GROUPS, cli
from autodiff_cli.cli.help_sections import SECTION
from tests.pages.commands import examples
from tests.processes import completed
from tests.shell import ROOT, run

FILES = ROOT / "tests" / "pages" / "files"
"""The files that examples name."""


def _command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


def _help(name: str, columns: int) -> str:
    command = _command(name)
    parent = click.Context(cli, info_name="autodiff")
    context = click.Context(command, info_name=name, parent=parent, terminal_width=columns, max_content_width=columns)
    return command.get_help(context)


@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_readable_at_80_columns(name: str) -> None:
    text = _help(name, 80)
    assert max(map(len, text.splitlines())) <= 80
    for option in _command(name).params:
        if isinstance(option, click.Option):
            assert option.help, f"{name} {option.opts} says nothing of itself"


@pytest.mark.parametrize("name", COMMANDS)
def test_it_has_two_examples(name: str) -> None:
    lines = examples(_command(name))
    assert len(lines) >= 2
    assert all(f"autodiff {name}" in line for line in lines)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "example"), [pytest.param(name, e, id=e) for name in COMMANDS for e in examples(_command(name))])
def test_its_examples_run(name: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    example = example.replace("tail -f", "cat")  # which ends
    if ".parquet" in example:
        from pyarrow import csv, parquet

        parquet.write_table(csv.read_csv("gas.csv"), "gas.parquet")
    if re.search(r"[|<>]", re.sub(r"\"[^\"]*\"|'[^']*'", "", example)):
        program = tmp_path / "bin" / "autodiff"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m autodiff_cli "$@"\n')
        program.chmod(0o755)
        environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        done = completed(["bash", "-c", example], env=environment)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
        return
    printed = run(example)
    assert "[exit code" not in printed or (name in ("gradcheck", "diff") and printed.endswith("[exit code 1]\n")), printed


def test_without_arguments_it_says_what_to_type_first(tmp_path: Path) -> None:
    welcome = run("autodiff")
    assert max(map(len, welcome.splitlines())) <= 72
    assert len(welcome.splitlines()) <= 16
    commands = re.findall(r"^  (autodiff .*?)(?:   .*)?$", welcome, re.MULTILINE)
    assert len(commands) == 6
    for command in commands[:3]:
        assert "[exit code" not in run(command)


def test_every_option_is_in_the_reference() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    missing = {
        f"{name} {parameter.opts}"
        for name in COMMANDS
        for parameter in _command(name).params
        if isinstance(parameter, click.Option)
        and not any(re.search(rf"[ `]{option}\b", text) for option in (*parameter.opts, *parameter.secondary_opts))
    }
    assert not missing


@pytest.mark.parametrize("name", COMMANDS)
def test_a_typo_is_answered_with_the_likely_word(name: str) -> None:
    def wrong(word: str) -> str:
        return word[:-2] + word[-1] + word[-2] if word[-1] != word[-2] else word[:-1]

    if len(name) > 3:
        assert f"did you mean '{name}'?" in run(f"autodiff {wrong(name)} x")
    for parameter in _command(name).params:
        for option in parameter.opts if isinstance(parameter, click.Option) else ():
            if len(option) < 6:
                continue
            answer = run(f"autodiff {name} x {wrong(option)}")
            assert answer.startswith(f"error: unknown option '{wrong(option)}'\n  hint: did you mean '--"), answer
            assert answer.endswith("[exit code 2]\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_three_names(name: str) -> None:
    text = run(f"autodiff {name} --help")
    assert all(max(each.opts, key=len) in text for each in _command(name).params if isinstance(each, click.Option))
    assert run(f"autodiff {name} -h") == run(f"autodiff help {name}") == text


def test_commands_are_listed_by_group() -> None:
    text = run("autodiff --help")
    assert text == run("autodiff -h") == run("autodiff help") == run("autodiff help help")
    assert "did you mean 'eval'?" in run("autodiff help evla")
    assert max(map(len, text.splitlines())) <= 80
    groups = {part.partition(":")[0]: re.findall(r"^  (\w+)  ", part, re.MULTILINE) for part in text.split("\n\n")[3:-1]}
    assert groups == {group: list(commands) for group, commands in GROUPS.items()}


def test_h_is_a_variable_in_an_expression() -> None:
    assert run('autodiff grad "-h**2" --at h=3 -q') == "-6.0\n"
    assert run('autodiff grad " -h" --at h=3 -q') == "-1.0\n"


def test_options_are_listed_by_subject() -> None:
    other = set()
    for name in COMMANDS:
        names = [str(parameter.name) for parameter in _command(name).params if isinstance(parameter, click.Option)]
        other |= {each for each in names if each not in SECTION}
    assert not other
    shown = _help("eval", 80)
    sections = ["Values:", "Autograd:", "Checks:", "Output:", "Other:"]
    assert [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")] == sections
