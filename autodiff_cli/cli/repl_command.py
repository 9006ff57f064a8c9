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
    from autodiff_cli.script.interpreter import Interpreter

_HELP = """\
Type expressions and autograd statements, one per line:

  x = tensor(5, requires_grad=true)     a leaf
  y = log(x**3)                         is recorded
  y.backward()                          fills x.grad
  show x, y                             a table of these tensors; 'show' lists all
  with no_grad: w = x**2                is not recorded
  for i in range(3): y = 2*y            a loop; an empty line ends an indented block
  f(a) = a**2 with grad (2*a)           a function with its own derivative

help NAME explains a function; Ctrl-D or 'exit' ends the session.
"""


@click.command("repl", cls=Command)
@variables
@options.output(options.quiet_notes, options.precision, options.full)
def command(at: tuple[str, ...], const: tuple[str, ...], dtype: str, out: Output) -> None:
    """Start an interactive session that runs each statement of 'autodiff run' as it is typed.

    An error does not end the session. The session has a history and completes names; with prompt_toolkit
    (pip install prompt_toolkit), Tab opens a menu of names.

    \b
    autodiff repl
    autodiff repl --at x=5 --dtype float32
    """
    from autodiff_cli.cli.prompt import lines

    interpreter = new_interpreter(at, const, dtype)
    # A session prints one JSON object for each statement: a single object would be incomplete until the session ends.
    screen = Screen(out._replace(style="ndjson") if out.style == "json" else out)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("autodiff: type 'help' for help, Ctrl-D to exit\n")
    for text in lines(interpreter):
        words = text.split()
        if words[:1] in (["exit"], ["quit"]) and words[0] not in interpreter.names and len(words) == 1:
            break
        if words[:1] == ["help"] and "help" not in interpreter.names:
            _help(words[1:], out)
            continue
        _run(interpreter, screen, text)


def _run(interpreter: Interpreter, screen: Screen, text: str) -> None:
    from autodiff_cli.cli.mistakes import report
    from autodiff_cli.errors import AutodiffError

    noted = len(interpreter.notes)
    try:
        with spoken_warnings(screen.out.quiet_notes):
            for shown in interpreter.run(text):
                screen.show(interpreter, shown)
                screen.finish(interpreter)
    except AutodiffError as error:
        report(error, screen.out.style)
    except KeyboardInterrupt:
        signals.forget()
        sys.stderr.write("interrupted\n")
    screen.out.say_notes(interpreter.notes[noted:])


def _statement(name: str) -> bool:
    """Print the description of a function or method of programs; return whether the name is known."""
    from autodiff_cli.autograd.tensor import Tensor
    from autodiff_cli.script.library import ACTIONS, METHODS

    thing = ACTIONS.get(name) or (getattr(Tensor, name, None) if name in METHODS[Tensor] else None)
    words = (getattr(thing, "__doc__", None) or "").partition("\n\n")[0]
    if not words:
        return False
    sys.stdout.write(f"{name}: {' '.join(words.replace('``', '').split())}\n")
    return True


def _help(names: list[str], out: Output) -> None:
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS
    from autodiff_cli.report.function_tables import tables
    from autodiff_cli.report.functions import FunctionList

    if not names:
        sys.stdout.write(_HELP)
    for name in (name.rpartition(".")[2] for name in names):
        if name in FUNCTIONS:
            sys.stdout.write(out.drawn(tables(FunctionList([FUNCTIONS[name]], one=True), out.precision)))
        elif not _statement(name):
            from autodiff_cli.suggest import suggestion

            sys.stderr.write(
                f"unknown function '{name}': {suggestion(name, FUNCTIONS) or 'autodiff functions lists all functions'}\n"
            )
