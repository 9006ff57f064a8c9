"""``autodiff functions``: the functions of the language."""

from __future__ import annotations

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.parsing import Command


@click.command("functions", cls=Command)
@click.argument("name", required=False)
@click.option("--search", metavar="WORDS", help="Words in the name, description, derivative or subject of a function.")
@options.output(options.precision, bare="names")
def command(name: str | None, search: str | None, out: Output) -> None:
    """List all functions, or describe one: signature, domain, derivative, convention at kinks.

    On a terminal, a list that is longer than the screen is shown page by page, with the program in the variable PAGER;
    q ends it.

    \b
    autodiff functions
    autodiff functions sqrt
    autodiff functions --search "normal distribution"
    """
    from shlex import quote

    from autodiff_cli import ops  # noqa: F401
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS
    from autodiff_cli.errors import UnknownName
    from autodiff_cli.report.functions import FunctionList, found
    from autodiff_cli.suggest import suggestion

    functions = list({function.name: function for function in FUNCTIONS.values()}.values())
    if name is not None and name not in FUNCTIONS:
        count = len(found(functions, name))
        ways = [suggestion(name, FUNCTIONS)] + [f"'autodiff functions --search {quote(name)}' finds {count}"] * (count > 0)
        hint = " ".join(filter(None, ways)) or "use 'autodiff functions' to list all"
        raise UnknownName(f"unknown function '{name}'", hint=hint)
    chosen = functions if name is None else [FUNCTIONS[name]]
    if search is not None:
        chosen = found(chosen, search)
        if not chosen:
            raise UnknownName(f"no function matches '{search}'", hint="use fewer words, or 'autodiff functions' to list all")
    out._replace(paged=True).emit(FunctionList(chosen, one=name is not None))
