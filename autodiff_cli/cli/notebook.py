"""The magics of IPython: ``%autodiff`` runs a line as a shell does, ``%%autodiff`` runs a cell.

Without a command, the cell is a part of a session of ``autodiff repl``, which continues in the next cell.  With a command, the
cell is its standard input: ``%%autodiff eval --at x=5`` evaluates the program in the cell.  In a notebook, tables and pictures are
displayed as such.  An error ends the cell like an exception, but is shown as on the command line.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from autodiff_cli import signals
from autodiff_cli.cli.main import INTERRUPTED, attempt, run
from autodiff_cli.cli.output import Notebook
from autodiff_cli.cli.session import words_of
from autodiff_cli.cli.streams import guarded
from autodiff_cli.cli.usage_errors import option
from autodiff_cli.errors import AutodiffError, UsageError
from autodiff_cli.report.diagnostics import for_people

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class CommandError(Exception):
    """An error of a command, which IPython shows as on the command line instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


def register(shell: InteractiveShell) -> None:
    """Add the magics ``%autodiff`` and ``%%autodiff``."""
    shown = Notebook(None if sys.stdout.isatty() else shell.display_pub.publish)

    def autodiff(line: str, cell: str | None = None) -> None:
        """Run a command of autodiff, or a cell as statements of a session.

        %autodiff COMMAND ...           a line, as in a shell
        %%autodiff                      a cell of statements; the session continues in the next cell
        %%autodiff repl OPTIONS         a cell of statements in a new session
        %%autodiff COMMAND OPTIONS      a cell that is the standard input of a command

        %autodiff --help lists the commands.
        """
        with _standard_input(cell or ""), guarded(), shown.active():
            words = _words(line)
            if cell is None or (words and words[0] != "repl"):
                _raise_if_failed(run(_command_arguments(words, cell)))
                return
            if words or shown.session is None:
                _raise_if_failed(run(words or ["repl"]))
            _raise_if_failed(attempt(partial(_run_cell, shown, cell), words))

    shell.register_magic_function(autodiff, "line_cell", "autodiff")


def _words(line: str) -> list[str]:
    """Split the line of a magic into words as the shell does; a quote that is not closed is the error of the cell."""
    try:
        return words_of(line)
    except UsageError as error:
        raise _command_error(error) from None


def _command_arguments(words: list[str], cell: str | None) -> list[str]:
    """Return the words, with ``-`` for a cell, which is standard input, unless it is there; options alone are those of ``run``."""
    if cell is None or "-" in words:
        return words
    return ["run", "-", *words] if words[0].startswith("-") else [words[0], "-", *words[1:]]


def _run_cell(shown: Notebook, cell: str) -> int:
    """Run the statements and the commands of a cell in the session, and return the exit code 0; an error is raised."""
    session = shown.session
    assert session is not None
    try:
        for part in _cell_parts(cell):
            if part.strip():
                session.run(part)
    finally:
        session.say_notes()
    return 0


def _cell_parts(cell: str) -> Iterator[str]:
    """Yield the parts of a cell: lines of statements, which may be empty, and each command of the session, which is one line."""
    statements = ""
    for line in cell.splitlines(keepends=True):
        if line.startswith(":") or line.split()[:1] == ["help"]:
            yield from (statements, line)
            statements = ""
        else:
            statements += line
    yield statements


def _raise_if_failed(ended: int | AutodiffError) -> None:
    """Raise the error of a command, or its interruption; an exit code other than ``INTERRUPTED`` is not a failure of the cell."""
    if isinstance(ended, AutodiffError):
        raise _command_error(ended) from None
    if ended == INTERRUPTED:
        signals.forget()
        raise KeyboardInterrupt


def _command_error(error: AutodiffError) -> CommandError:
    """Return the exception for an error, whose settings are spelled as options from then on."""
    error.translate(option)
    return CommandError(for_people(error))


@contextmanager
def _standard_input(text: str) -> Iterator[None]:
    """Let standard input contain a text inside a ``with`` block."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before
