"""The table of commands, and the group that imports them.

To add a command, add a line to ``COMMANDS`` and a module ``NAME_command`` with a function ``command``.  Only click is imported
here; the module of a command is imported when it is called.
"""

from __future__ import annotations

from typing import TypedDict

import click

from autodiff_cli import __version__
from autodiff_cli.lazy import named

COMMANDS = {
    "eval": "Value, gradient and the table of every tensor.",
    "grad": "Only the gradient.",
    "jacobian": "Jacobian matrix: d(output element)/d(input element).",
    "hessian": "Hessian matrix: the second derivatives.",
    "jvp": "The Jacobian times a vector.",
    "vjp": "A vector times the Jacobian.",
    "hvp": "The Hessian times a vector.",
    "taylor": "Taylor series around --at.",
    "gradcheck": "Check gradients, also those found by hand.",
    "explain": "The chain rule step by step, in numbers.",
    "diff": "The derivative as an expression.",
    "graph": "The graph as a tree, a picture or data.",
    "plot": "The value and its derivatives over a range.",
    "map": "Value and derivatives for every row of a file.",
    "export": "A function in Python, NumPy, PyTorch, JAX, C or LaTeX.",
    "run": "Run a file of autograd statements.",
    "repl": "Interactive session.",
    "functions": "The functions of the language.",
}
_TOGETHER = {"grad": "eval", **dict.fromkeys(("jacobian", "hessian", "jvp", "vjp", "hvp"), "products")}
"""Commands that share a module, in which each has its own name."""


class Settings(TypedDict):
    """Settings of every click context."""

    help_option_names: list[str]
    max_content_width: int


CONTEXT: Settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
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


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in COMMANDS:
            return None
        module, function = (_TOGETHER[name], name) if name in _TOGETHER else (name, "command")
        command: click.Command = named(f"autodiff_cli.cli.{module}_command:{function}")
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say what was probably meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from autodiff_cli.cli.mistakes import unknown_command

            raise unknown_command(args, COMMANDS)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
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
