"""``autodiff repl``: a program of autograd statements, typed."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli import signals
from autodiff_cli.cli import options
from autodiff_cli.cli.run_command import Screen, new_interpreter, spoken_warnings

_HELP = """\
Type expressions and statements of autograd, one a line:

  x = tensor(5, requires_grad=true)     a leaf
  y = log(x**3)                         recorded
  y.backward()                          fills x.grad
  show x, y                             the table of these tensors; 'show' of all
  with no_grad: w = x**2                nothing recorded
  f(a) = a**2 with grad (2*a)           a function with its own derivative

help NAME explains a function; Ctrl-D or 'exit' leaves.
"""


@click.command("repl", short_help="A program of autograd statements, typed.")
@options.start
@options.quiet_notes
@options.output
def command(style: str, as_json: bool, quiet: bool, precision: int, color: str, quiet_notes: bool, **switches: Any) -> None:
    """Type the statements of 'autodiff run' and see at once what they do.

    An error is reported, and the session goes on. There are history and completion of names; with prompt_toolkit
    (pip install prompt_toolkit) Tab opens a menu of names.

    \b
    autodiff repl
    autodiff repl --at x=5 --dtype float32
    """
    from autodiff_cli.cli.prompt import lines

    interpreter = new_interpreter(**switches)
    screen = Screen("quiet" if quiet else options.chosen_format("ndjson" if as_json else style, False), precision, color)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("autodiff: type 'help' for what can be typed, Ctrl-D to leave\n")
    for text in lines(interpreter):
        words = text.split()
        if words[:1] in (["exit"], ["quit"]) and words[0] not in interpreter.names and len(words) == 1:
            break
        if words[:1] == ["help"] and "help" not in interpreter.names:
            _help(words[1:], color)
            continue
        _run(interpreter, screen, text, quiet_notes)


def _run(interpreter: Any, screen: Screen, text: str, quiet_notes: bool) -> None:
    from autodiff_cli.cli.mistakes import option
    from autodiff_cli.errors import AutodiffError
    from autodiff_cli.report.diagnostics import for_people, for_programs

    noted = len(interpreter.notes)
    try:
        with spoken_warnings(quiet_notes):
            for shown in interpreter.run(text):
                screen.show(interpreter, shown)
                screen.finish({})  # nothing waits for the end of a session
    except AutodiffError as error:
        error.translate(option)
        sys.stderr.write((for_programs if screen.style == "ndjson" else for_people)(error) + "\n")
    except KeyboardInterrupt:
        signals.forget()
        sys.stderr.write("interrupted\n")
    options.say_notes(interpreter.notes[noted:], quiet_notes)


def _statement(name: str) -> bool:
    """Print what a function or a method of programs does, if there is one of this name."""
    from autodiff_cli.autograd.tensor import Tensor
    from autodiff_cli.script.library import ACTIONS, METHODS

    thing = ACTIONS.get(name) or (getattr(Tensor, name, None) if name in METHODS[Tensor] else None)
    words = (getattr(thing, "__doc__", None) or "").partition("\n\n")[0]
    if not words:
        return False
    sys.stdout.write(f"{name}: {' '.join(words.replace('``', '').split())}\n")
    return True


def _help(names: list[str], color: str) -> None:
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS

    if not names:
        sys.stdout.write(_HELP)
        return
    for name in names:
        name = name.rpartition(".")[2]
        if name not in FUNCTIONS and _statement(name):
            continue
        if name not in FUNCTIONS:
            from autodiff_cli.suggest import suggestion

            sys.stderr.write(f"no function '{name}': {suggestion(name, FUNCTIONS) or 'autodiff functions lists all'}\n")
            continue
        from autodiff_cli.report import reference

        reference.show([FUNCTIONS[name].to_dict()], one=True, color=color)
