"""``autodiff repl``: an interactive session of autograd statements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from autodiff_cli import signals
from autodiff_cli.cli import options
from autodiff_cli.cli.output import Output, notebook
from autodiff_cli.cli.parsing import Command
from autodiff_cli.cli.run_command import Screen, new_interpreter, spoken_warnings, variables

if TYPE_CHECKING:
    from autodiff_cli.script.interpreter import Interpreter

_ENDS = ("exit", "quit", "exit()", "quit()", ":exit", ":quit", ":q")


@click.command("repl", cls=Command)
@variables
@options.output(options.quiet_notes, options.precision)
def command(at: tuple[str, ...], const: tuple[str, ...], dtype: str, out: Output) -> None:
    """Start an interactive session that runs each statement of 'autodiff run' as it is typed.

    An error does not end the session. The session has a history, and Tab completes names. Other commands begin with a
    colon and take the names of the session: ':plot y --over x=1:9', ':explain y', ':save FILE'. 'help' lists what can be typed.

    \b
    autodiff repl
    autodiff repl --at x=5 --dtype float32
    """
    from autodiff_cli.cli.prompt import lines

    interpreter = new_interpreter(at, const, dtype)
    session = InteractiveSession(interpreter, out)
    shown = notebook.get()
    if shown is not None:
        shown.session = session  # its cells are the input
        return
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("autodiff: type 'help' for help, Ctrl-D to exit\n")
    for text in lines(interpreter):
        word = text.strip()
        if word in _ENDS and word not in interpreter.names:
            break
        session.answer(text)


class InteractiveSession:
    """A session that runs statements and commands one after the other.

    Args:
        interpreter: the interpreter, which keeps the names.
        out: the output options.
    """

    def __init__(self, interpreter: Interpreter, out: Output) -> None:
        from autodiff_cli.cli.session import Session

        interpreter.notes_on_values = True
        # A session prints one JSON object for each statement: a single object would be incomplete until the session ends.
        self._screen = Screen(out._replace(style="ndjson") if out.style == "json" else out)
        self._interpreter = interpreter
        self._commands = Session(interpreter, out)
        self._said = set[str]()
        self._noted = 0

    def answer(self, text: str) -> None:
        """Run a statement or a command, and print its errors and notes."""
        from autodiff_cli.cli.mistakes import report
        from autodiff_cli.errors import AutodiffError

        try:
            self.run(text)
        except AutodiffError as error:
            report(error, self._screen.out.style)
        except KeyboardInterrupt:
            signals.forget()
            sys.stderr.write("interrupted\n")
        self.say_notes()

    def run(self, text: str) -> None:
        """Run statements or a command; each warning is printed once in a session.

        Raises:
            AutodiffError: if a statement or the command fails.
        """
        if self._commands.obey(text):
            return
        with spoken_warnings(self._screen.out.quiet_notes, self._said):
            for shown in self._interpreter.run(text):
                self._screen.show(self._interpreter, shown)
                self._screen.finish(self._interpreter)
        self._commands.saved.append(text.rstrip("\n"))

    def say_notes(self) -> None:
        """Print the notes since the last call."""
        notes = self._interpreter.notes
        self._screen.out.say_notes(notes[self._noted :])
        self._noted = len(notes)
