"""``autodiff functions``: the functions of the language."""

from __future__ import annotations

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.parsing import Command


@click.command("functions", cls=Command)
@click.argument("name", required=False)
@options.output(options.precision, bare="names")
def command(name: str | None, out: Output) -> None:
    """List all functions, or describe one: signature, domain, derivative, convention at kinks.

    \b
    autodiff functions
    autodiff functions sqrt
    """
    from autodiff_cli import ops  # noqa: F401
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS
    from autodiff_cli.errors import UnknownName
    from autodiff_cli.report.functions import FunctionList
    from autodiff_cli.suggest import suggestion

    if name is not None and name not in FUNCTIONS:
        raise UnknownName(
            f"unknown function '{name}'", hint=suggestion(name, FUNCTIONS) or "use 'autodiff functions' to list all functions"
        )
    chosen = dict.fromkeys(function.name for function in FUNCTIONS.values()) if name is None else [name]
    out.emit(FunctionList([FUNCTIONS[each] for each in chosen], one=name is not None), "autodiff_cli.report.function_tables:tables")
