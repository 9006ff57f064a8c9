"""Output of results to the terminal, a pipe or a file.

A command ends with ``out.emit(result, ...)``.  Bare numbers, JSON, NDJSON, CSV, TSV, Markdown and plain text are made from
the result; the command names only the function for its terminal tables and the functions for its own formats.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

from autodiff_cli.errors import MissingPackage, UsageError
from autodiff_cli.lazy import named
from autodiff_cli.structs import Struct

if TYPE_CHECKING:
    from autodiff_cli.cli.session import Session
    from autodiff_cli.command_result import CommandResult, Record
    from autodiff_cli.report.table import Renderable
    from autodiff_cli.solvers.solution import Solution

Display = Callable[[Mapping[str, str]], None]
"""A function that displays the richest of several forms of an output, which have MIME types as keys."""


class Notebook:
    """A notebook in which commands run, and the session that ``repl`` started in it.

    ``display`` is the function that displays an output; ``None`` if the output is a terminal.
    """

    def __init__(self, display: Display | None) -> None:
        self.display = display
        self.session: Session | None = None

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let commands write to the notebook inside a ``with`` block."""
        token = notebook.set(self)
        try:
            yield
        finally:
            notebook.reset(token)


notebook: ContextVar[Notebook | None] = ContextVar("notebook", default=None)
"""The notebook in which a command runs; ``None`` on the command line."""

View = Callable[[], "str | bytes"]
"""A function that returns a result in one format."""


def view(place: str, *arguments: object) -> View:
    """Return a view that calls the function at ``package.module:function``, which is imported when the format is written."""
    return lambda: named(place)(*arguments)


class Output(Struct):
    """The output options.

    Attributes:
        style: the output format.
        quiet: whether to print bare numbers instead of the output format.
        precision: the number of significant digits in tables.
        color: the use of color in tables: ``auto``, ``always`` or ``never``.
        quiet_notes: whether notes are suppressed.
        strict: whether a number that is not finite is an error.
        path: the path of the output file; ``None`` for standard output.
        paged: whether a table that is longer than the terminal is shown page by page.
    """

    style: str
    quiet: bool = False
    precision: int = 6
    color: str = "auto"
    quiet_notes: bool = False
    strict: bool = False
    path: str | None = None
    paged: bool = False

    def checked(self, names_format: bool) -> Output:
        """Return these options; raise ``UsageError`` for bare numbers if the command line ``names_format`` as well."""
        if self.quiet and names_format:
            raise UsageError(f"-q cannot be combined with {self.style}", hint="omit -q or the format")
        return self

    def emit(self, result: CommandResult, views: Mapping[str, View] | None = None) -> None:
        """Write a result to the output and its notes to standard error.

        Args:
            result: the result of the command; with ``strict``, a number that is not finite raises ``NotFiniteError``.
            views: the functions that write the command's own formats, by the name of the format.
        """
        if self.strict:
            from autodiff_cli.derivatives.evaluate import check_finite

            check_finite(result.numbers(), result.notes, result.expression)
        if not self._display_result(result, views or {}):
            self.write(self._text(result, views or {}))
        verified = result.verified
        if self.quiet and not self.quiet_notes and verified is not None and verified.digits is None:
            say(verified.summary())  # bare numbers do not show how many digits are correct
        self.say_notes(result.notes)

    def emit_solution(self, solution: Solution, views: Mapping[str, View] | None = None) -> None:
        """Write the result of a solver, and raise ``NotSolved`` unless it is verified; the arguments are those of ``emit``.

        With ``-q``, a solution that is not verified is not written.  In JSON, its notes are only in the object on standard
        output, so that standard error contains one object, the error.
        """
        if solution.converged:
            self.emit(solution, views)
        elif not self.quiet:
            self._replace(quiet_notes=self.quiet_notes or self.style == "json").emit(solution, views)
        solution.require()

    def _text(self, result: CommandResult, views: Mapping[str, View]) -> str | bytes:
        """Return a result in the output format; ``views`` has the formats that the command writes itself."""
        if self.quiet:
            from autodiff_cli.report.machine_readable import bare

            return bare(result.bare())
        if self.style in views:
            return views[self.style]()
        if self.style == "latex":
            return str(named(result.latex)(result, self.precision))
        if self.style == "table":
            from autodiff_cli.report.result_tables import result_parts
            from autodiff_cli.report.terminal import drawn

            return drawn(result_parts(result, self.precision), self.color)
        from autodiff_cli.report.machine_readable import render

        return render(self.style, result)

    def _display_result(self, result: CommandResult, views: Mapping[str, View]) -> bool:
        """Display a table in the notebook in which the command runs; return ``False`` without a notebook, and for other outputs."""
        display = _notebook_display()
        is_table = self.style == "table" and not self.quiet and self.path is None
        if display is None or not is_table:
            return False
        from autodiff_cli.report.html import parts_html
        from autodiff_cli.report.result_tables import result_parts, result_text

        forms = {"text/plain": result_text(result, self.precision)}
        if "svg" in views:
            with suppress(MissingPackage):  # then only the text is displayed
                picture = views["svg"]()
                forms["image/svg+xml"] = picture if isinstance(picture, str) else picture.decode()
        else:
            forms["text/html"] = parts_html(result_parts(result, self.precision))
        display(forms)
        return True

    def show(self, parts: Sequence[Renderable], gap: bool = False) -> None:
        """Write tables to standard output, after an empty line if ``gap`` is set, or display them in a notebook."""
        from autodiff_cli.report.terminal import drawn

        display = _notebook_display()
        if display is None:
            sys.stdout.write("\n" * gap + drawn(parts, self.color))
        else:
            from autodiff_cli.report.html import parts_html

            display({"text/plain": drawn(parts, "never"), "text/html": parts_html(parts)})

    def write(self, text: str | bytes) -> None:
        """Write text or bytes to the file, or text to standard output, as a ``paged`` table through the pager."""
        if self.path is not None:
            from autodiff_cli.data.output import write

            write(self.path, text.encode() if isinstance(text, str) else text)
            return
        is_paged = self.paged and self.style == "table" and not self.quiet
        if not (is_paged and page(str(text))):
            sys.stdout.write(str(text))

    def say_notes(self, notes: Sequence[Record]) -> None:
        """Write notes to standard error, or display them under the table in a notebook, unless ``quiet_notes`` is set."""
        if self.quiet_notes or not notes:
            return
        display = _notebook_display()
        if display is not None and self.style == "table":
            from autodiff_cli.report.html import notes_html

            display({"text/plain": "\n".join(f"note: {each['message']}" for each in notes), "text/html": notes_html(notes)})
            return
        for each in notes:
            say(each["message"])


def _notebook_display() -> Display | None:
    """Return the function that displays an output in the notebook in which the command runs, if it runs in one."""
    current = notebook.get()
    return None if current is None else current.display


_PROMPT = "autodiff shows this with a pager\\: q ends it, space goes on, / searches"
"""The prompt of ``less``, in which a colon is written with a backslash."""


def page(text: str) -> bool:
    """Show a text with the pager if it is longer than the terminal; return whether it was shown.

    The pager is the program in the environment variable ``PAGER``, by default ``less``.
    """
    import os
    import shutil

    import click

    is_terminal = sys.stdout.isatty() and sys.stdin is not None and sys.stdin.isatty()
    if not is_terminal or text.count("\n") < shutil.get_terminal_size().lines:
        return False
    os.environ.setdefault("LESS", f"-FRXPs{_PROMPT}$")  # F: not for one screen, R: colors, X: leave the text, Ps: the prompt
    click.echo_via_pager(text)
    return True


def say(text: str) -> None:
    """Write a note to standard error."""
    from autodiff_cli.report.diagnostics import note

    sys.stderr.write(note(text))
