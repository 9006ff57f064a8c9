"""The magics of IPython: ``%autodiff`` runs a line as a shell does, ``%%autodiff`` runs a cell.

Without a command, the cell is a part of a session of ``autodiff repl``, which continues in the next cell.  With a command, the
cell is its standard input: ``%%autodiff eval --at x=5`` evaluates the program in the cell.  In a notebook, tables and pictures are
displayed as such.  An error ends the cell like an exception, but is shown as on the command line.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import Protocol

from autodiff_cli import signals
from autodiff_cli.cli.main import INTERRUPTED, attempt, run
from autodiff_cli.cli.mistakes import option
from autodiff_cli.cli.output import Notebook
from autodiff_cli.cli.session import words_of
from autodiff_cli.cli.streams import guarded
from autodiff_cli.errors import AutodiffError, UsageError
from autodiff_cli.report.diagnostics import for_people


class Publisher(Protocol):
    """The part of IPython that displays data."""

    def publish(self, data: Mapping[str, str]) -> None:
        """Display the richest of several forms, which have MIME types as keys."""


class Shell(Protocol):
    """The running IPython."""

    display_pub: Publisher

    def register_magic_function(self, func: Callable[..., None], magic_kind: str, magic_name: str) -> None:
        """Add a magic."""


class CommandError(Exception):
    """An error of a command, which IPython shows as on the command line instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


def register(shell: Shell) -> None:
    """Add the magics ``%autodiff`` and ``%%autodiff``."""
    shown = Notebook(None if sys.stdout.isatty() else shell.display_pub.publish)
    shell.register_magic_function(partial(_magic, shown), "line_cell", "autodiff")


def _magic(shown: Notebook, line: str, cell: str | None = None) -> None:
    """Run a line, or a cell with a line of options.

    Raises:
        CommandError: if the command fails.
    """
    with _standard_input(cell or ""), guarded(), shown.active():
        words = _words(line)
        if cell is None or (words and words[0] != "repl"):
            _check(run(_arguments(words, cell)))
            return
        if words or shown.session is None:
            _check(run(words or ["repl"]))
        _check(attempt(partial(_continue, shown, cell), words))


def _words(line: str) -> list[str]:
    try:
        return words_of(line)
    except UsageError as error:
        raise _shown(error) from None


def _arguments(words: list[str], cell: str | None) -> list[str]:
    """Return the arguments of a command, which reads the cell unless the line already names standard input."""
    if cell is None or "-" in words:
        return words
    return ["run", "-", *words] if words[0].startswith("-") else [words[0], "-", *words[1:]]


def _continue(shown: Notebook, cell: str) -> int:
    """Run the statements and the commands of a cell in the session."""
    session = shown.session
    assert session is not None
    try:
        for _, lines in groupby(cell.splitlines(keepends=True), lambda line: line if line.startswith(":") else ""):
            if text := "".join(lines).strip("\n"):
                session.run(text)
    finally:
        session.say_notes()
    return 0


def _check(ended: int | AutodiffError) -> None:
    """Raise the error of a command."""
    if isinstance(ended, AutodiffError):
        raise _shown(ended) from None
    if ended == INTERRUPTED:
        signals.forget()
        raise KeyboardInterrupt


def _shown(error: AutodiffError) -> CommandError:
    error.translate(option)
    return CommandError(for_people(error))


@contextmanager
def _standard_input(text: str) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before
