"""``autodiff repl``: an interactive session of autograd statements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from autodiff_cli import signals
from autodiff_cli.cli import options
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.parsing import Command
from autodiff_cli.cli.run_command import Screen, new_interpreter, spoken_warnings, variables

if TYPE_CHECKING:
    from autodiff_cli.cli.session import Session
    from autodiff_cli.script.interpreter import Interpreter

_ENDS = ("exit", "quit", "exit()", "quit()", ":exit", ":quit", ":q")


@click.command("repl", cls=Command)
@variables
@options.output(options.quiet_notes, options.precision, options.full)
def command(at: tuple[str, ...], const: tuple[str, ...], dtype: str, out: Output) -> None:
    """Start an interactive session that runs each statement of 'autodiff run' as it is typed.

    An error does not end the session. The session has a history and completes names; with prompt_toolkit
    (pip install prompt_toolkit), Tab opens a menu of names. Other commands begin with a colon and take the names of
    the session: ':plot y --over x=1:9', ':explain y', ':save FILE'. 'help' lists what can be typed.

    \b
    autodiff repl
    autodiff repl --at x=5 --dtype float32
    """
    from autodiff_cli.cli.prompt import lines
    from autodiff_cli.cli.session import Session

    interpreter = new_interpreter(at, const, dtype)
    interpreter.notes_on_values = True
    # A session prints one JSON object for each statement: a single object would be incomplete until the session ends.
    screen = Screen(out._replace(style="ndjson") if out.style == "json" else out)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("autodiff: type 'help' for help, Ctrl-D to exit\n")
    session, said = Session(interpreter, out), set[str]()
    for text in lines(interpreter):
        word = text.strip()
        if word in _ENDS and word not in interpreter.names:
            break
        _run(interpreter, session, screen, text, said)


def _run(interpreter: Interpreter, session: Session, screen: Screen, text: str, said: set[str]) -> None:
    """Run a statement or a command, and print its errors and notes; each warning is printed once in a session."""
    from autodiff_cli.cli.mistakes import report
    from autodiff_cli.errors import AutodiffError

    noted = len(interpreter.notes)
    try:
        if session.obey(text):
            return
        with spoken_warnings(screen.out.quiet_notes, said):
            for shown in interpreter.run(text):
                screen.show(interpreter, shown)
                screen.finish(interpreter)
        session.saved.append(text.rstrip("\n"))
    except AutodiffError as error:
        report(error, screen.out.style)
    except KeyboardInterrupt:
        signals.forget()
        sys.stderr.write("interrupted\n")
    screen.out.say_notes(interpreter.notes[noted:])
