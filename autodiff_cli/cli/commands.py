"""The table of commands and the group that imports them.

To add a command, add a line to ``GROUPS`` and a module ``NAME_command`` with a function ``command``.  This module imports
only click; the module of a command is imported when the command is called.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli import __version__
from autodiff_cli.lazy import named

GROUPS = {
    "Differentiate": {
        "eval": "Compute the value and the gradient, with a table of every tensor.",
        "grad": "Compute the gradient at a point, as numbers.",
        "diff": "Write the derivatives as formulas.",
        "jacobian": "Compute the Jacobian matrix: d(output element)/d(input element).",
        "hessian": "Compute the Hessian matrix: all second derivatives.",
        "jvp": "Compute the Jacobian times a vector: the slope in one direction.",
        "vjp": "Compute a vector times the Jacobian: a weighted sum of gradients.",
        "hvp": "Compute the Hessian times a vector: the change of the gradient.",
        "taylor": "Compute the Taylor series around a point.",
    },
    "See": {
        "explain": "Explain the chain rule step by step, with numbers.",
        "graph": "Show the graph as a tree, a picture or data.",
        "plot": "Plot the value and its derivatives over a range.",
    },
    "Check": {"gradcheck": "Check derivatives, including those found by hand."},
    "Solve": {
        "root": "Find where equations hold, and verify it.",
        "minimize": "Find a local minimum, with bounds and constraints, and verify it.",
        "fit": "Fit the parameters of a model to the columns of a file.",
        "propagate": "Compute the uncertainty of a result from those of its inputs.",
    },
    "Data": {"map": "Compute the value and derivatives for every row of a file."},
    "Programs": {
        "run": "Run a file of autograd statements.",
        "repl": "Start an interactive session.",
        "export": "Write a function in Python, NumPy, PyTorch, JAX, C, JavaScript or LaTeX.",
        "functions": "List, search and describe the functions of the language.",
    },
}
"""The description of each command, by group."""
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}
_TOGETHER = {"grad": "eval", **dict.fromkeys(("jacobian", "hessian", "jvp", "vjp", "hvp"), "products")}
"""The modules that define several commands, by command; each command is a function with the same name."""
CONTEXT: dict[str, Any] = {"max_content_width": 100}
"""The settings of every click context."""
_WELCOME = """\
autodiff computes exact derivatives of expressions. Type this first:

  autodiff eval "log(x**3)" --at x=5
      the value, the gradient, and every intermediate tensor
  autodiff grad "sin(x)*exp(y)" --at x=0.5,y=1 -q
      the gradient alone, as numbers for a script
  autodiff gradcheck "log(x**3)" --at x=5 --claim x="3/x"
      whether a derivative that you found by hand is correct

Then try

  autodiff help         all commands; autodiff help eval, one of them
  autodiff functions    the functions for expressions
  autodiff repl         an interactive autograd session"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def get_help_option_names(self, context: click.Context) -> list[str]:
        """Return both names of the help option."""
        return ["-h", "--help"]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import and return a command; ``None`` if it is unknown."""
        if name not in COMMANDS:
            return None
        module, function = (_TOGETHER[name], name) if name in _TOGETHER else (name, "command")
        command: click.Command = named(f"autodiff_cli.cli.{module}_command:{function}")
        return command

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, in which ``help COMMAND`` stands for ``COMMAND --help``."""
        while args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        return super().parse_args(context, args)

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or raise an error that suggests a similar name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from autodiff_cli.cli.usage_errors import unknown_command

            raise unknown_command(args, COMMANDS)
        return super().resolve_command(context, args)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, without importing them, and then the options."""
        width = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), about) for name, about in commands.items()])
        click.Command.format_options(self, context, formatter)


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


def invoke(args: list[str]) -> int:
    """Run the command of a command line, flush its output, and return the exit code; raise ``UsageError`` for a wrong line."""
    try:
        # cli.main would treat a broken pipe as a failure.
        with cli.make_context("autodiff", args) as context:
            cli.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.UsageError as error:
        from autodiff_cli.cli.usage_errors import in_plain_words

        raise in_plain_words(error) from None
