"""``--watch FILE``: a command runs again each time the file of its program changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import LIMIT, started, until
from tests.shell import ROOT, run

COMMAND = [sys.executable, "-m", "autodiff_cli"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AUTODIFF_FORMAT", raising=False)
    monkeypatch.chdir(tmp_path)


class Watching:
    """A command that watches a file, and the lines that it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        for stream in (process.stdout, process.stderr):
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            self.lines.append(line.rstrip("\n"))

    def shows(self, *parts: str) -> None:
        """Wait for lines with these parts, in this order, and forget all lines up to there."""
        for part in parts:
            found = until(lambda part=part: next((i + 1 for i, line in enumerate(self.lines) if part in line), 0))
            del self.lines[:found]

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT)


@contextmanager
def watching(*arguments: str) -> Iterator[Watching]:
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    with started([*COMMAND, *arguments], **options) as process:
        yield Watching(process)


def test_each_change_is_evaluated() -> None:
    file = Path("f.txt")
    file.write_text("log(x**3)\n")
    with watching("grad", "--watch", "f.txt", "--at", "x=5", "-q") as found:
        found.shows("0.6")
        file.write_text("x**2\n")
        found.shows("10.0")
        Path("new.txt").write_text("y = x**3\ny - x\n")  # as many editors write
        Path("new.txt").replace(file)
        found.shows("74.0")
        assert found.end() == 130
        assert found.lines == []


def test_errors_and_missing_files_are_shown_and_repaired() -> None:
    file = Path("f.txt")
    with watching("eval", "--at", "x=5", "--watch=f.txt", "-q") as found:
        found.shows("error: cannot read 'f.txt'")
        file.write_text("log(x**3")
        found.shows("error: '(' is never closed", "log(x**3")
        file.unlink()
        file.write_text("")
        time.sleep(0.2)
        file.write_text("log(x**3)")
        found.shows("4.828")
        assert not [line for line in found.lines if "error" in line]
        file.write_text("2*x")
        found.shows("10.0")
        assert found.end(signal.SIGTERM) in (143, -signal.SIGTERM)


@pytest.mark.exhaustive
def test_a_program_of_statements_and_a_lesson() -> None:
    Path("p.ad").write_text("y = x**2\ny.backward()\nx.grad\n")
    with watching("run", "--watch", "p.ad", "--at", "x=3") as found:
        found.shows("tensor(6.)")
        Path("p.ad").write_text("y = x**3\ny.backward()\nx.grad\n")
        found.shows("tensor(27.)")
        found.end()
    with watching("run", "--watch", "p.ad", "--at", "x=3", "-o", "lesson.html") as found:
        until(Path("lesson.html").exists)
        Path("p.ad").write_text("# another program\ny = x**4\ny.backward()\n")
        until(lambda: "another program" in Path("lesson.html").read_text())
        found.end()


def test_files_of_rows_follow_the_program() -> None:
    Path("d.csv").write_text("x\n1\n2\n")
    Path("f.txt").write_text("x**2\n")
    with watching("map", "--watch", "f.txt", "d.csv", "--no-keep") as found:
        found.shows("value,d_x", "1.0,2.0", "4.0,4.0")
        Path("f.txt").write_text("10*x\n")
        found.shows("10.0,10.0", "20.0,10.0")
        found.end()


def test_a_terminal_is_cleared() -> None:
    Path("f.txt").write_text("x**2\n")
    outer, inner = pytest.importorskip("pty").openpty()
    command = [*COMMAND, "grad", "--watch", "f.txt", "--at", "x=5", "-q"]
    with started(command, stdout=inner, stderr=inner, env=ENVIRONMENT) as process:
        os.close(inner)
        shown = b""
        while b"Ctrl-C" not in shown:
            shown += os.read(outer, 4096)
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT)
    os.close(outer)
    assert shown.startswith(b"\x1b[2J")
    assert b"10.0" in shown
    assert b"watching f.txt; Ctrl-C ends" in shown


def test_what_cannot_be_watched() -> None:
    assert "standard input cannot be watched" in run("autodiff eval --watch - --at x=5")
    assert "No such option: --watch" in run("autodiff functions --watch f.txt") or "--watch" in run(
        "autodiff functions --watch f.txt"
    )
    assert "--watch FILE" in run("autodiff run --help-all")
    assert "--watch FILE" in run("autodiff plot --help-all")
