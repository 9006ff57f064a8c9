"""``autodiff repl``: an interactive session of autograd statements."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.help_sections import Command
from autodiff_cli.cli.output import Output, notebook
from autodiff_cli.cli.run_command import new_interpreter, variables

_ENDS = ("exit", "quit", "exit()", "quit()", ":exit", ":quit", ":q")


@click.command("repl", cls=Command)
@variables
@options.output(options.quiet_notes, options.precision)
def command(out: Output, **settings: Any) -> None:
    """Start an interactive session that runs each statement of 'autodiff run' as it is typed.

    An error does not end the session. The session has a history, and Tab completes names. Other commands begin with a
    colon and take the names of the session: ':plot y --over x=1:9', ':explain y', ':save FILE'. 'help' lists what can be typed.

    \b
    autodiff repl
    autodiff repl --at x=5 --dtype float32
    """
    from autodiff_cli.cli.prompt import lines
    from autodiff_cli.cli.session import Session

    interpreter = new_interpreter(**settings)
    session = Session(interpreter, out)
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
