"""The table of commands and the group that imports them.

To add a command, add a line to ``COMMANDS`` and a module ``NAME_command`` with a function ``command``.  This module imports
only click; the module of a command is imported when the command is called.
"""

from __future__ import annotations

from typing import TypedDict

import click

from autodiff_cli import __version__
from autodiff_cli.lazy import named

COMMANDS = {
    "eval": "Compute the value and the gradient, with a table of every tensor.",
    "grad": "Compute only the gradient.",
    "jacobian": "Compute the Jacobian matrix: d(output element)/d(input element).",
    "hessian": "Compute the Hessian matrix: the second derivatives.",
    "jvp": "Compute the Jacobian times a vector.",
    "vjp": "Compute a vector times the Jacobian.",
    "hvp": "Compute the Hessian times a vector.",
    "taylor": "Compute the Taylor series around the --at point.",
    "gradcheck": "Check gradients, including derivatives found by hand.",
    "explain": "Explain the chain rule step by step, with numbers.",
    "diff": "Print the derivatives as expressions.",
    "graph": "Show the graph as a tree, a picture or data.",
    "plot": "Plot the value and its derivatives over a range.",
    "map": "Compute the value and derivatives for every row of a file.",
    "fit": "Fit the parameters of a model to the columns of a file.",
    "propagate": "Compute the uncertainty of a result from those of its inputs.",
    "minimize": "Find a local minimum, with bounds and constraints, and verify it.",
    "root": "Find where equations hold, and verify it.",
    "export": "Write a function in Python, NumPy, PyTorch, JAX, C or LaTeX.",
    "run": "Run a file of autograd statements.",
    "repl": "Start an interactive session.",
    "functions": "List the functions of the language.",
}
_TOGETHER = {"grad": "eval", **dict.fromkeys(("jacobian", "hessian", "jvp", "vjp", "hvp"), "products")}
"""The modules that define several commands, by command; each command is a function with the same name."""


class Settings(TypedDict):
    """The settings of every click context."""

    help_option_names: list[str]
    max_content_width: int


CONTEXT: Settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_WELCOME = """\
autodiff computes exact derivatives of expressions. Type this first:

  autodiff eval "log(x**3)" --at x=5
      the value, the gradient, and every intermediate tensor
  autodiff grad "sin(x)*exp(y)" --at x=0.5,y=1 -q
      the gradient alone, as numbers for a script
  autodiff gradcheck "log(x**3)" --at x=5 --claim x="3/x"
      whether a derivative that you found by hand is correct

Then try

  autodiff --help       all commands
  autodiff functions    the functions for expressions
  autodiff repl         an interactive autograd session"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the command names in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import and return a command; ``None`` if it is unknown."""
        if name not in COMMANDS:
            return None
        module, function = (_TOGETHER[name], name) if name in _TOGETHER else (name, "command")
        command: click.Command = named(f"autodiff_cli.cli.{module}_command:{function}")
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or raise an error that suggests a similar name."""
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
    """Compute exact derivatives of expressions, and show each step as in PyTorch's autograd.

    \b
    autodiff eval "log(x**3)" --at x=5
    autodiff grad "sin(x)*exp(y)" --at x=0.5,y=1 -q
    """
    if context.invoked_subcommand is None:
        click.echo(_WELCOME)
