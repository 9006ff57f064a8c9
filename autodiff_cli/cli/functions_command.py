"""``autodiff functions``: the functions of the language."""

from __future__ import annotations

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.help_sections import Command
from autodiff_cli.cli.output import Output


@click.command("functions", cls=Command)
@click.argument("words", required=False, metavar="[NAME|WORDS]")
@options.output(options.precision, bare="names")
def command(words: str | None, out: Output) -> None:
    """List all functions, or those with all WORDS in the name, description, derivative or subject, or describe one.

    The description of a function has its signature, domain, derivative, and convention at kinks. On a terminal, a list that
    is longer than the screen is shown page by page, with the program in the variable PAGER; q ends it.

    \b
    autodiff functions
    autodiff functions sqrt
    autodiff functions "normal distribution"
    """
    from autodiff_cli import ops  # noqa: F401
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS
    from autodiff_cli.errors import UnknownName
    from autodiff_cli.report.functions import FunctionList, definitions, matching
    from autodiff_cli.suggest import suggestion

    every = [*{function.name: function for function in FUNCTIONS.values()}.values(), *definitions()]  # without aliases
    out = out._replace(paged=True)
    if words is None:
        out.emit(FunctionList(every, one=False))
    elif words in FUNCTIONS:
        out.emit(FunctionList([FUNCTIONS[words]], one=True))
    elif functions := matching(every, words):
        out.emit(FunctionList(functions, one=False))
    else:
        hint = suggestion(words, FUNCTIONS) or "use fewer words, or 'autodiff functions' to list all"
        raise UnknownName(f"no function matches '{words}'", hint=hint)
