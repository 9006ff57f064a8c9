"""``--watch FILE``: run a command again each time the file of its program changes.

The option raises ``parsing.Watched`` while the command line is parsed, so all commands have it without code of their own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from autodiff_cli import signals
from autodiff_cli.cli.parsing import Watched

_POLL = 0.1
"""The number of seconds between two looks at the file."""
_EMPTY = 0.5
"""The number of seconds for which an empty file may be one that an editor is writing."""
_ENDED = (130, 141)
"""The exit codes after an interruption, and after the end of the reader of a pipe."""
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch(args: list[str], asked: Watched, run: Callable[[list[str]], int]) -> int:
    """Run a command, and again after each change of a file; return the exit code after an interruption.

    Args:
        args: the command line with ``--watch FILE``.
        asked: the file, and the argument that takes its place.
        run: the function that runs a command line and prints its error.
    """
    command = without(args, asked.program)
    while True:
        seen = _state(asked.path)
        if sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
            sys.stdout.flush()
        code = run(command)
        if signals.received or code in _ENDED:
            return code
        if sys.stderr.isatty():
            sys.stderr.write(f"[{time.strftime('%H:%M:%S')}] watching {asked.path}; Ctrl-C ends\n")
        while _settled(asked.path, seen) == seen:
            time.sleep(_POLL)


def without(args: list[str], program: str) -> list[str]:
    """Return a command line with a program in place of ``--watch FILE``."""
    at = next(i for i, arg in enumerate(args) if arg == "--watch" or arg.startswith("--watch="))
    return [args[0], program, *args[1:at], *args[at + (1 if "=" in args[at] else 2) :]]


def _state(path: str) -> tuple[int, int, int] | None:
    """Return what changes when a file is written or replaced; ``None`` if it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _settled(path: str, seen: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
    """Return the state of a file when it has stopped to change: an editor may write it in parts, or remove it for a moment."""
    state = _state(path)
    if state == seen:
        return state
    end = time.monotonic() + _EMPTY
    while True:
        time.sleep(_POLL)
        before, state = state, _state(path)
        if state == before and ((state is not None and state[1]) or time.monotonic() > end):
            return state
