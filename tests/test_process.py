"""The command as a process that is interrupted, has no streams, or meets an unexpected exception."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autodiff_cli.cli import main as main_module
from autodiff_cli.cli.main import main
from tests.processes import completed
from tests.shell import ROOT, streams

LIMIT = 300
"""Seconds for a process that needs one: a limit for one that hangs."""
_HOOK = """
import os, signal, sys

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), getattr(signal, os.environ["INTERRUPT_BY"]))

sys.meta_path.insert(0, Hook())
"""
_SCRIPT = "import sys\nfrom autodiff_cli.__main__ import run\nsys.exit(run())\n"
"""What pip writes for an entry point."""


def started(tmp_path: Path, arguments: list[str], start: list[str] | None = None, **environment: str) -> tuple[int, bytes, bytes]:
    """The exit code and the output of a process whose imports are watched."""
    (tmp_path / "hook").mkdir(exist_ok=True)
    (tmp_path / "hook" / "sitecustomize.py").write_text(_HOOK, encoding="utf-8")
    path = os.pathsep.join([str(ROOT), str(tmp_path / "hook"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *(start or ["-m", "autodiff_cli"]), *arguments],
        env={**os.environ, "PYTHONPATH": path, "INTERRUPT_AT": "", "INTERRUPT_BY": "SIGINT", **environment},
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    return done.returncode, done.stdout, done.stderr


def shell(command: str, stdin: str = "", before: str = "") -> subprocess.CompletedProcess[str]:
    """A command line of ``autodiff``, with redirections, in bash."""
    script = f"{before}{sys.executable} -m autodiff_cli {command}"
    return subprocess.run(["bash", "-c", script], input=stdin, capture_output=True, text=True, timeout=LIMIT, check=False, cwd=ROOT)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "module",
    [
        *(
            "autodiff_cli.signals",
            "autodiff_cli.cli.console_script",
            "autodiff_cli.cli.main",
            "click",
            "autodiff_cli.cli.eval_command",
        ),
        *("numpy", "numpy._core.multiarray", "numpy.linalg", "autodiff_cli.evaluation.evaluation", "autodiff_cli.report.table"),
    ],
)
def test_an_interruption_while_modules_are_imported(module: str, tmp_path: Path) -> None:
    assert started(tmp_path, ["eval", "x**2", "--at=x=3"], INTERRUPT_AT=module) == (130, b"", b"")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("command", "numbers"),
    [
        ('jacobian "x*2" --at x=[1,2]', "2.0 0.0 0.0 2.0"),
        ('jacobian "x @ x" --at x=[1,2]', "2.0 4.0"),
        ('jacobian "exp(x)*0 + x[0]" --at x=[1,2]', "1.0 0.0 1.0 0.0"),
        ('hessian "x @ S @ x" --at x=[1,2] --const S=[[1,0],[0,1]]', "2.0 0.0 0.0 2.0"),
        ('hessian "x**2" --at x=[1,2]', "2.0 0.0 0.0 0.0 0.0 0.0 0.0 2.0"),
        ('jvp "x**2" --at x=[1,2] --vector x=[1,1]', "2.0 4.0"),
        ('vjp "x**2" --at x=[1,2] --gradient [1,1]', "2.0 4.0"),
        ('hvp "sum(x**3)" --at x=[1,2] --vector x=[1,1]', "6.0 12.0"),
        ('grad "x[0]*x[1]" --at x=[3,2]', "2.0 3.0"),
        ('grad "max(x)" --at x=[3,2]', "1.0 0.0"),
        ('eval "sum(x**2)" --at x=[1,2] --order 2', "5.0 2.0 4.0 2.0 0.0 0.0 2.0"),
        ('gradcheck "x*[2, 3]" --at x=[1,2]', "pass"),
        ('taylor "x**2" --at x=1 --order 2', "1.0 2.0 1.0"),
        ('root "x**2 = 2" --at x=1', "1.4142135623730951"),
        ('minimize "(x - 1)**2" --at x=0', "1.0"),
        ('diff "x**2"', "2*x"),
    ],
)
def test_each_command_in_a_process_of_its_own(command: str, numbers: str) -> None:
    """A process loads only the functions of its expression, so what a command itself needs must be there without them."""
    done = shell(f"{command} -q")
    assert done.stderr == ""
    assert done.stdout.split() == numbers.split()


@pytest.mark.parametrize("module", ["autodiff_cli.signals", "autodiff_cli.cli.main", "numpy"])
def test_an_interruption_of_the_installed_command(module: str, tmp_path: Path) -> None:
    script = tmp_path / "autodiff"
    script.write_text(_SCRIPT, encoding="utf-8")
    assert started(tmp_path, ["eval", "x", "--at", "x=3"], [str(script)], INTERRUPT_AT=module) == (130, b"", b"")
    assert started(tmp_path, ["grad", "x", "--at", "x=3", "-q"], [str(script)]) == (0, b"1.0\n", b"")


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("target", "module", "number", "code"),
    [
        ("o.npz", "tempfile", "SIGINT", 130),
        ("o.npz", "tempfile", "SIGTERM", 143),
        ("o.npz", "zipfile", "SIGHUP", 129),
        ("o.npz", "zipfile", "SIGTERM", 143),
        ("o.parquet", "pyarrow.lib", "SIGINT", 130),
        ("o.parquet", "pyarrow.lib", "SIGTERM", 143),
        ("o.parquet", "pyarrow._parquet", "SIGHUP", 129),
        ("o.parquet", "pyarrow._parquet", "SIGTERM", 143),
    ],
)
def test_a_signal_while_a_writer_begins(target: str, module: str, number: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("x\n1\n", encoding="utf-8")
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = ["map", "x**2", str(tmp_path / "d.csv"), "-o", str(folder / target)]
    ended, out, err = started(tmp_path, arguments, INTERRUPT_AT=module, INTERRUPT_BY=number)
    assert (ended in (code, 128 - code), out, err) == (True, b"", b"")
    assert list(folder.iterdir()) == []


def test_a_writer_that_never_began_closes() -> None:
    from autodiff_cli.data.row_blocks import OutputStyle
    from autodiff_cli.data.writers.npy import NpzWriter
    from autodiff_cli.formats import FORMATS

    NpzWriter(OutputStyle(FORMATS["npz"])).close()
    from autodiff_cli.data.writers.arrow import ArrowWriter

    ArrowWriter(OutputStyle(FORMATS["parquet"])).close()


_BROKEN = [
    ("eval 'lgo(x)' --at x=1", 2),
    ("eval 'x + y' --at x=[1,2] --at y=[1,2,3]", 3),
    ("eval 1/x --at x=0 --strict", 4),
    ("eval x --at x=@missing.npy", 5),
    ("gradcheck x**2 --at x=3 --claim x=x --json", 1),
    ("eval 1/x --at x=0 -q", 0),
    ("map y/x --at y=1 -q --on-error nan", 0),
    ("run -", 2),
    ("repl", 0),
]


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("command", "code", "redirection"), [(*broken, ("2>/dev/full", "2>&-")[i % 2]) for i, broken in enumerate(_BROKEN)]
)
def test_messages_that_cannot_be_printed_change_nothing(command: str, code: int, redirection: str) -> None:
    text = "x\n0\nno\n" if command.startswith("map") else "lgo(1)\n"
    whole = shell(command, text)
    assert whole.stderr
    assert whole.returncode == code
    cut = shell(f"{command} {redirection}", text)
    assert (cut.returncode, cut.stdout, cut.stderr) == (code, whole.stdout, "")


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("eval x --at x=1 >&-", 5),
        ("eval 'lgo(x)' --at x=1 >&-", 2),
        ("eval 1/x --at x=0 --strict >&-", 4),
        ("functions >&-", 5),
        ("--help >&-", 5),
        ("--help >/dev/full", 5),
        ("functions >/dev/full", 5),
        ("map x --columns x </dev/null >&-", 5),
        ("graph x -o {folder}/g.svg >&-", 0),
        ("graph x -o {folder}/g.svg >&- 2>&- <&-", 0),
        ("eval - <&-", 5),
        ("run - <&-", 5),
        ("map x <&-", 5),
        ("repl <&-", 0),
    ],
)
def test_streams_that_are_closed_or_full(command: str, code: int, tmp_path: Path) -> None:
    done = shell(command.format(folder=tmp_path))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code == 5:
        assert done.stderr.startswith("error: cannot ")


def _broken_by(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, command: str = "autodiff eval x --at x=1"
) -> tuple[str, str, int]:
    def fail(_: list[str]) -> int:
        raise error

    monkeypatch.setattr(main_module, "_invoke", fail)
    return streams(command)


def test_a_defect_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTODIFF_DEBUG", raising=False)
    out, err, code = _broken_by(KeyError("%1"), monkeypatch, "autodiff eval 'x + 1' --at x=1")
    assert (out, code) == ("", 70)
    assert err.startswith("error: internal error: KeyError: '%1'")
    assert "AUTODIFF_DEBUG=1 autodiff eval 'x + 1' --at x=1" in err
    assert "Traceback" not in err
    error = json.loads(_broken_by(KeyError("%1"), monkeypatch, "autodiff eval x --json")[1])["error"]
    assert (error["kind"], error["exit_code"]) == ("InternalError", 70)
    monkeypatch.setenv("AUTODIFF_DEBUG", "1")
    assert "Traceback (most recent call last)" in _broken_by(RecursionError("too deep"), monkeypatch)[1]


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (MemoryError(), 71, "not enough memory"),
        (MemoryError("Unable to allocate 74.6 GiB"), 71, "not enough memory: Unable to allocate 74.6 GiB"),
        (OSError(12, "Cannot allocate memory"), 71, "not enough memory: "),
        (RuntimeError("can't start new thread"), 71, "not enough memory: "),
        (RecursionError("maximum recursion depth exceeded"), 70, "internal error: RecursionError"),
        (RuntimeWarning("overflow encountered"), 70, "internal error: RuntimeWarning: overflow encountered"),
        (OSError(5, "Input/output error", "d.csv"), 5, "cannot use 'd.csv': Input/output error"),
        (OSError(28, "No space left on device"), 5, "cannot write the result: No space left on device"),
        (KeyboardInterrupt(), 130, ""),
        (SystemExit(143), 143, ""),
    ],
)
def test_the_last_line_of_defence(error: BaseException, code: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out, err, ended = _broken_by(error, monkeypatch)
    assert (out, ended) == ("", code)
    assert err.startswith(f"error: {text}") if text else err == ""


def test_an_error_while_the_error_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    from autodiff_cli.report import diagnostics

    def fail(_: object) -> str:
        raise MemoryError

    monkeypatch.setattr(diagnostics, "for_people", fail)
    assert streams("autodiff eval 'lgo(x)' --at x=1") == ("", "error: unknown function 'lgo'\n", 2)


@pytest.mark.parametrize(("error", "code"), [(MemoryError(), 71), (KeyError("x"), 70)])
def test_an_exception_while_one_is_described(error: Exception, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from autodiff_cli.cli import unexpected_errors

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(unexpected_errors, "described", fail)
    out, err, ended = _broken_by(error, monkeypatch)
    assert (out, ended) == ("", code)
    assert err.startswith("error: ")


def test_an_installation_that_is_not_whole(tmp_path: Path) -> None:
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "contextvars.py").write_text("raise ImportError('no contextvars here')", encoding="utf-8")
    assert started(tmp_path, ["eval", "x"]) == (70, b"", b"error: autodiff cannot start: no contextvars here\n")


@pytest.mark.exhaustive
def test_memory_that_the_shell_does_not_give() -> None:
    done = shell("eval 'ones(2**27) + ones(2**27) + 1' -q", before="ulimit -v 1500000; ")
    assert done.returncode == 71
    assert done.stderr.startswith("error: not enough memory")


@pytest.mark.exhaustive
def test_warnings_of_python_are_not_printed(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "class Hook:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy':\n"
        "            import warnings\n"
        "            warnings.warn('of a library', RuntimeWarning)\n"
        "sys.meta_path.insert(0, Hook())\n"
    )
    path = os.pathsep.join([str(ROOT), str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "autodiff_cli", "grad", "x", "--at", "x=1", "-q"]

    def err(**environment: str) -> str:
        clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONWARNINGS", "AUTODIFF_DEBUG")}
        done = subprocess.run(
            command, env={**clean, "PYTHONPATH": path, **environment}, capture_output=True, text=True, timeout=LIMIT, check=True
        )
        assert done.stdout == "1.0\n"
        return done.stderr

    assert err() == ""
    assert "of a library" in err(AUTODIFF_DEBUG="1")


def test_main_keeps_the_streams_of_its_caller() -> None:
    before = sys.stdout, sys.stderr
    main(["--version"])
    main(["eval", "lgo(x)"])
    assert (sys.stdout, sys.stderr) == before


def test_a_time_limit_leaves_nothing_pending() -> None:
    """A traced call hangs in Python 3.11 if a flag for pending work stays set."""
    program = """
import sys
from autodiff_cli import deadline
with deadline.within(9):
    pass
try:
    with deadline.within(0.02):
        exec("while True: pass", vars(deadline) | {"__name__": "autodiff_cli"})
except deadline.Late:
    print("late")
sys.settrace(lambda *event: None)
(lambda: print("called"))()
"""
    assert completed([sys.executable, "-c", program], timeout=60).stdout == "late\ncalled\n"
