"""Runs command lines as they stand in case files and in the documentation, and reads what they should print."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

from autodiff_cli.cli.main import main

ROOT = Path(__file__).resolve().parent.parent


def run(command: str, stdin: str = "") -> str:
    """Standard output, then standard error, then the exit code if it is not 0."""
    words = shlex.split(command)
    assert words[0] == "autodiff", command
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words[1:])
    text = out.getvalue() + err.getvalue()
    return text + (f"[exit code {code}]\n" if code else "")


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
