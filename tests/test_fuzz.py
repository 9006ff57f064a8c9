"""The fuzzer itself: reproducible commands, oracles that detect their defects, and 200 clean commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.fuzz import mix, oracles, pool, relations, report, runner
from tests.fuzz.command import Command
from tests.fuzz.generate import LEFT_OUT, commands, generate
from tests.fuzz.minimise import minimise
from tests.fuzz.mutate import corpus, mutate
from tests.fuzz.planted import PLANTED
from tests.fuzz.signatures import signatures
from tests.shell import run_script

FAKE = Command(("eval", "x", "--at", "x=1"))
QUICK = pool.Setting(main="tests.fuzz.planted:main", seconds=0.5, patience=200, memory=3 << 30)


@pytest.mark.exhaustive
def test_a_command_depends_on_its_number_only() -> None:
    first = [mix.command(Random(f"0:{i}")) for i in range(60)]
    assert [mix.command(Random(f"0:{i}")) for i in reversed(range(60))] == first[::-1]
    assert len(set(first)) > 55


@pytest.mark.exhaustive
def test_the_number_of_processes_changes_nothing() -> None:
    tasks = [pool.command_of(pool.Setting(), 3, i) for i in range(12)]

    def codes(workers: int) -> dict[Any, Any]:
        return {task: ran.code for task, ran in pool.run_all(pool.Setting(), tasks, workers)}

    assert len(set(tasks)) == 12
    assert codes(1) == codes(2)


@pytest.mark.exhaustive
def test_every_command_every_option_and_every_function_comes() -> None:
    """Nothing of these is written down in the generator, so this holds for what is added later too."""
    seen = [generate(Random(f"all:{i}")) for i in range(16000)]
    options = {(c.name, word.partition("=")[0]) for c in seen for word in c.args[1:] if word.startswith("-")}
    missing = [
        (name, option.opts)
        for name, command in commands().items()
        for option in command.params
        if option.param_type_name == "option" and not LEFT_OUT.keys() & set(option.opts)
        if not any((name, spelled) in options for spelled in option.opts)
    ]
    assert missing == [], "options that were never tried"
    text = "\n".join([*(word for c in seen for word in c.args), *(c.stdin.decode("utf-8", "replace") for c in seen)])
    assert [name for name in signatures().names() if f"{name}(" not in text and name not in text] == []
    assert len(signatures().unknown) < 5, "functions of which no call is known that works"


def test_examples_are_mutated() -> None:
    assert len(corpus()) > 300
    changed = [mutate(Random(i)) for i in range(200)]
    assert sum(command in corpus() for command in changed) < 40


# Oracles: ``tests.fuzz.planted`` is a program with each defect


EXPECTED = {
    "raises": "KeyError",
    "exits": "SystemExit",
    "warns": "warning RuntimeWarning",
    "warns in Python": "warning DeprecationWarning",
    "grad mode": "state",
    "environment": "state",
    "numpy": "state",
    "memory": "memory",
    "spins": "time",
    "sleeps": "crash",
    "dies": "crash",
    "unforeseen": "ZeroDivisionError",
    "code": "exit code 6",
    "silent": "no message",
    "escape in a table": "control character in standard output",
    "escape in an error": "control character in standard error",
    "private": "private name",
    "address": "private name",
    "words of NumPy": "wording",
    "stream": "message on standard output",
    "ignored": "ignored ValueError",
    "past": "past the streams",
    "leaves a file": "left behind",
}


@pytest.mark.parametrize("defect", PLANTED)
def test_an_oracle_notices(defect: str) -> None:
    setting = replace(QUICK, patience=4) if defect == "sleeps" else QUICK
    found = {finding.kind for finding in pool.run_one(setting, Command((defect,))).findings}
    assert found == set() if defect == "fine" else found >= {EXPECTED[defect]}


def test_an_oracle_notices_what_is_not_json() -> None:
    outcome = runner.Outcome(code=0, stdout=b'{"value": NaN}\n')
    assert [f.kind for f in oracles.judge(Command(("eval", "x", "--json")), outcome)] == ["not JSON"]
    outcome = runner.Outcome(code=0, stdout=b'{"value": "nan"}\n')
    assert oracles.judge(Command(("eval", "x", "--json")), outcome) == []


ANSWERS = {
    "gradient of eval": {"eval": '{"grad": {"x": 1.0}, "notes": []}', "grad": '{"grad": {"x": 1.5}, "notes": []}'},
    "jacobian of a number": {"jacobian": '{"jacobian": {"x": 2.0}}', "grad": '{"grad": {"x": 1.0}}'},
    "symmetric hessian": {
        "hessian": '{"hessian": {"x": {"x": 1.0, "y": 2.0}, "y": {"x": 3.0, "y": 1.0}}}',
        "eval": '{"hessian": {"x": {"x": 1.0, "y": 2.0}, "y": {"x": 3.0, "y": 1.0}}}',
    },
    "adjoint products": {"jacobian": '{"jacobian": {"x": 2.0}}', "jvp": '{"jvp": 1.0}'},
    "diff": {"grad": '{"grad": {"x": 2.0}}', "diff": "3*x", "eval": '{"value": 3.0}'},
    "taylor": {"taylor": '{"derivatives": [1.0, 2.0]}', "eval": '{"value": 1.0, "grad": {"x": 3.0}}'},
    "compiled": {"eval": '{"value": 2.5, "grad": {"x": 1.0}, "tensors": [{"name": "x", "value": 2.0, "is_leaf": true}]}'},
}


@pytest.mark.parametrize("name", relations.RELATIONS)
def test_a_relation_notices(name: str) -> None:
    """Answers that do not fit, in the place of those of the commands."""

    def ask(args: Sequence[str]) -> str | None:
        return "1.0\n" if "-q" in args and args[0] == "grad" else ANSWERS[name].get(args[0])

    assert relations.check(ask, Command(("grad", "x", "--at", "x=2"), relation=name))


@pytest.mark.parametrize("name", relations.RELATIONS)
def test_a_relation_holds(name: str, tmp_path: Path) -> None:
    command = Command((relations.COMMAND.get(name, "grad"), "sin(x)*exp(x**2)", "--at", "x=0.7"), relation=name)
    ran = pool.run_one(pool.Setting(), command)
    assert (ran.code, ran.findings) == (0, [])


# Making it short


def test_a_finding_is_made_short() -> None:
    def planted(command: Command) -> bool:
        return len(command.args) > 1 and "sinc(" in command.args[1] and "inf" in "".join(command.args[2:])

    long = ("eval", "a = cos(x) + 3*y\nexp(sinc(x[..., 0]) + 12.5*y)", "--at", "x=[1, 2, inf]", "--json", "--at", "y=3")
    short = minimise(Command(long, b"1 2 3\n", (("f.csv", b"x\n1\n"),)), planted)
    assert planted(short)
    assert len(" ".join(short.args)) < 20
    assert (short.stdin, short.files) == (b"", ())


def test_a_short_command_still_has_the_defect() -> None:
    long = Command(("raises", "--json", "x + 1"))
    group = report.Group(pool.run_one(QUICK, long).findings[0], Command(("fine",)), [Command(("fine",)), long])
    report.reduce(group, QUICK, 10)
    assert group.alone
    assert group.command.args == ("raises",)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "command",
    [
        Command(("eval", "x**2 + y", "--at", "x=[1, 2],y=3", "--json")),
        Command(("eval", "x\x1b", "--at", "x=1")),
        Command(("run", "-"), b"x = tensor(2.5)\nprint(x % 2, '\\')\n"),
        Command(("map", "x*y", "data.csv"), files=(("data.csv", b"x,y\n1,2\n3,4%\\\n"),)),
        Command(("map", "x", "data.csv", "--on-error", "nan"), files=(("data.csv", b"x\n\xff\n-\n"),)),
    ],
)
def test_the_lines_for_a_shell_do_the_same(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.chdir(folder)
    outcome = runner.run(pool.named("autodiff_cli.cli.main:main"), command, folder)
    printed = run_script(command.shell(), tmp_path)
    code = f"[exit code {outcome.code}]\n" if outcome.code else ""
    assert sorted(printed.splitlines()) == sorted((outcome.out + outcome.err + code).splitlines())


# The project


@pytest.mark.exhaustive
def test_two_hundred_commands_run_clean_and_most_reach_the_engine() -> None:
    ran = report.Findings()
    for _, each in pool.run_all(pool.Setting(), [(0, i) for i in range(200)], 2):
        ran.add(each)
    assert sum(ran.codes.values()) == 200
    assert [report.told(group) for group in ran.groups.values()] == []
    assert "eval" in ran.summary()
    assert sum(count for (_, code), count in ran.codes.items() if code == "0") > 0.45 * 200
