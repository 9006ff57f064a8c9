"""The command ``autodiff``: finds the subcommand, and turns every error into one message and an exit code.

Only click is imported here; a subcommand's module is imported when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextvars import copy_context
from importlib import import_module
from itertools import pairwise
from typing import Any

import click

from autodiff_cli import __version__, signals
from autodiff_cli.errors import AutodiffError, InternalError, OutOfMemory

COMMANDS = {
    "eval": "Value, gradient and the table of every tensor.",
    "grad": "The gradient alone.",
    "jacobian": "Every output element by every input element.",
    "hessian": "The second derivatives as a matrix.",
    "jvp": "The Jacobian times a vector.",
    "vjp": "A vector times the Jacobian.",
    "hvp": "The Hessian times a vector.",
    "taylor": "The Taylor series around --at.",
    "gradcheck": "Check a gradient, or one found by hand.",
    "explain": "The chain rule step by step, in numbers.",
    "diff": "The derivative as an expression.",
    "graph": "The graph, as a tree or a picture.",
    "plot": "The value and its derivatives over a range.",
    "map": "Value and derivatives for every row of a file.",
    "export": "A function in Python, NumPy, PyTorch, JAX, C or LaTeX.",
    "run": "A program file of autograd statements.",
    "repl": "The same, typed.",
    "functions": "The functions of the language.",
}
TOGETHER = {"grad": "eval", **{name: "products" for name in ("jacobian", "hessian", "jvp", "vjp", "hvp")}}
"""Commands that share a module."""
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_WELCOME = """\
autodiff finds exact derivatives of expressions. Type this first:

  autodiff eval "log(x**3)" --at x=5
      the value, the gradient, and every tensor on the way
  autodiff grad "sin(x)*exp(y)" --at x=0.5,y=1 -q
      the gradient alone, as numbers for a script
  autodiff gradcheck "log(x**3)" --at x=5 --claim x="3/x"
      whether a derivative that you found by hand is right

Then go on with

  autodiff --help       all commands
  autodiff functions    what an expression can call
  autodiff repl         autograd, typed line by line"""
_COMPLETE = "_AUTODIFF_COMPLETE"
"""The environment variable by which a shell asks for completion."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"autodiff_cli.cli.{TOGETHER.get(name, name)}_command")
        command: click.Command = getattr(module, name if name in TOGETHER else "command")
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from autodiff_cli.cli.mistakes import unknown_command

            raise unknown_command(args, COMMANDS)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(__version__, prog_name="autodiff")
@click.pass_context
def cli(context: click.Context) -> None:
    """Exact derivatives of expressions, with PyTorch's autograd shown at work.

    \b
    autodiff eval "log(x**3)" --at x=5
    autodiff grad "sin(x)*exp(y)" --at x=0.5,y=1 -q
    """
    if context.invoked_subcommand is None:
        click.echo(_WELCOME)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code.  Whatever goes wrong is one message."""
    from autodiff_cli.cli.streams import guarded

    args = list(sys.argv[1:] if arguments is None else arguments)
    signals.forget()
    with guarded():
        ended = _run(args)
        if signals.received:
            return 128 + signals.received
        return ended if isinstance(ended, int) else _fail(ended, args)


def debugging() -> bool:
    """Whether tracebacks and warnings are wanted."""
    return os.environ.get("AUTODIFF_DEBUG", "0") not in ("", "0")


def _run(args: list[str]) -> int | AutodiffError:
    """Run a command; the exit code or the error that it ends with, without what its frames hold in memory."""
    try:
        # What a command switches, such as the limits, is its own, however it ends.
        return copy_context().run(_invoke, args)
    except AutodiffError as error:
        return error
    except (KeyboardInterrupt, click.Abort):
        return 130
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except BrokenPipeError:
        from autodiff_cli.cli.streams import abandon_output

        abandon_output()
        return 141
    except BaseException as error:
        problem = error
    return _unforeseen(problem, args)


def _unforeseen(problem: BaseException, args: list[str]) -> AutodiffError:
    """The error for an exception that nothing has caught, whatever happens while it is described."""
    try:
        if debugging() and not signals.received:
            _show_traceback(problem)
        if isinstance(problem, MemoryError):
            problem.__traceback__ = problem.__context__ = None  # what its frames hold is needed here
        from autodiff_cli.cli.unforeseen import described

        return described(problem, args)
    except Exception:
        name = type(problem).__name__
        return OutOfMemory("not enough memory") if isinstance(problem, MemoryError) else InternalError(f"internal error: {name}")


def _invoke(args: list[str]) -> int:
    try:
        if _COMPLETE in os.environ:
            from autodiff_cli.cli.shells import complete

            return complete(cli, _COMPLETE)
        # Not cli.main: it takes a broken pipe for a failure.
        with cli.make_context("autodiff", args) as context:
            cli.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.UsageError as error:
        from autodiff_cli.cli.mistakes import in_plain_words

        raise in_plain_words(error) from None


def _show_traceback(problem: BaseException) -> None:
    import traceback

    sys.stderr.write("".join(traceback.format_exception(problem)))


def _fail(error: AutodiffError, args: list[str]) -> int:
    """Print an error; its exit code, which it keeps if it cannot be printed."""
    try:
        from autodiff_cli.cli.mistakes import report

        chosen = [b for a, b in pairwise(args) if a == "--format"]
        chosen += [a.partition("=")[2] for a in args if a.startswith("--format=")]
        chosen += ["json"] if "--json" in args else []
        report(error, chosen[-1] if chosen else os.environ.get("AUTODIFF_FORMAT", ""))
    except Exception:  # no memory for the message, for one
        sys.stderr.write(f"error: {error.message}\n")
    return int(error.exit_code)
