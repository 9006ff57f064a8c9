"""Runs command lines as they stand in case files and in the documentation, and reads what they should print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from autodiff_cli.cli.main import main
from tests.processes import completed

ROOT = Path(__file__).resolve().parent.parent


def run(command: str, stdin: str = "") -> str:
    """Standard output, then standard error, then the exit code if it is not 0."""
    out, err, code = streams(command, stdin)
    return out + err + (f"[exit code {code}]\n" if code else "")


def streams(command: str, stdin: str = "") -> tuple[str, str, int]:
    """Standard output, standard error and the exit code, each alone."""
    words = shlex.split(command)
    assert words[0] == "autodiff", command
    out, err = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words[1:])
    finally:
        sys.stdin = before
    return out.getvalue(), err.getvalue(), code


def run_script(script: str, folder: Path) -> str:
    """What bash prints, on both streams together, for a script that calls ``autodiff``; then its exit code if it is not 0."""
    commands = folder / ".commands"
    commands.mkdir(exist_ok=True)
    command = commands / "autodiff"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m autodiff_cli "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    done = completed(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    return done.stdout + (f"[exit code {done.returncode}]\n" if done.returncode else "")


def examples(text: str) -> list[tuple[str, str]]:
    """The commands behind ``$`` in a text, each with what follows it up to the next one."""
    found = []
    for piece in re.split(r"^\$ (?=autodiff)", text, flags=re.MULTILINE)[1:]:
        command, _, output = piece.partition("\n")
        found.append((command, output.rstrip("\n") + "\n" if output.strip() else ""))
    return found


def console_blocks(markdown: str) -> list[tuple[str, str]]:
    """The examples in the ``console`` blocks of a page."""
    return [pair for block in re.findall(r"```console\n(.*?)```", markdown, flags=re.DOTALL) for pair in examples(block)]
