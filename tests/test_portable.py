"""Modules, signals and calls of POSIX are optional: the program runs without them."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.processes import completed
from tests.shell import ROOT


def words(*lines: str) -> list[str]:
    return " ".join(lines).split()


MODULES = words("fcntl grp posix pty pwd readline resource syslog termios tty")
SIGNALS = words(
    "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH",
    "SIG_BLOCK SIG_SETMASK SIG_UNBLOCK alarm pause pthread_kill pthread_sigmask setitimer siginterrupt sigwait",
)
CALLS = words(
    "chown fchown fork forkpty geteuid getgid getpgid getuid getpgrp killpg mkfifo nice openpty posix_fadvise pread pwrite",
    "sched_getaffinity sendfile setsid statvfs sysconf ttyname uname wait waitid O_CLOEXEC O_NOFOLLOW O_NONBLOCK WNOHANG",
)
PACKAGE = ROOT / "autodiff_cli"

WITHOUT = f"""
import os, signal, subprocess, sys, tempfile, threading, zipfile
import distributed, matplotlib.figure, plotext, pyarrow.parquet, rich.table, scipy.special, sympy
for name in {MODULES}:
    sys.modules[name] = None
for name in {SIGNALS}:
    vars(signal).pop(name, None)
for name in {[name for name in CALLS if name not in ("wait", "waitid", "WNOHANG", "sysconf", "uname")]}:
    vars(os).pop(name, None)
from importlib import import_module
from pathlib import Path
for path in sorted(Path(sys.argv[1]).rglob("*.py")):
    if path.name != "__main__.py":
        import_module(".".join(path.relative_to(Path(sys.argv[1]).parent).with_suffix("").parts).removesuffix(".__init__"))
from autodiff_cli.cli.main import main
Path("d.csv").write_text("x\\n3\\n")
for line in sys.argv[2:]:
    code = main(line.split())
    assert code == 0, (line, code)
"""
COMMANDS = ["eval x**2 --at x=3 -q", "map x**2 d.csv -o o.csv", "map x**2 d.csv -o o.parquet", "graph x*y -o g.dot"]
COMMANDS += ["plot x**2 --over x=0:1 -o p.svg", "diff x**2", "plot x**2 --over x=0:1"]


@pytest.mark.extras
def test_everything_works_without_what_posix_alone_has(tmp_path: Path) -> None:
    """Libraries are imported before, as they look for the system that they are on."""
    done = completed([sys.executable, "-c", WITHOUT, str(PACKAGE), *COMMANDS], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "o.csv").read_text() == "x,value,d_x\n3,9.0,6.0\n"


def test_what_posix_alone_has_is_asked_for_first() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        _asks_first(path)


def _asks_first(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if not re.search(rf"\b(os|signal)\.|import ({'|'.join(MODULES)})\b", text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("os", "signal"):
            alone = node.attr in (CALLS if node.value.id == "os" else SIGNALS)
            family = "pthread_sigmask" if node.attr.startswith("SIG_") and node.attr in SIGNALS else node.attr
            assert not alone or f'hasattr({node.value.id}, "{family}")' in text, f"{path}, line {node.lineno}: {node.attr}"
        if isinstance(node, ast.Import):
            assert not {alias.name for alias in node.names} & {*MODULES} or "except ImportError" in text, path
