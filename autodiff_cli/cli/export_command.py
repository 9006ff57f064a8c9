"""``autodiff export``: a function in another language."""

from __future__ import annotations

import sys

import click

from autodiff_cli.cli import options


@click.command("export", cls=options.ExpressionCommand, short_help="A function in another language.")
@options.expression
@click.option("--to", required=True, metavar="LANGUAGE", help="python, numpy, torch, jax, c or latex.")
@click.option("--name", default="f", show_default=True, help="Name of the function.")
@click.option("--wrt", metavar="x,y", help="Arguments to differentiate by.  [default: all]")
@click.option("--order", default=1, show_default=True, metavar="N", type=int, help="2 adds the Hessian.")
@click.option("--const", multiple=True, metavar="NAME=VALUE", help="Value of a name; without one it is an argument.")
@click.option("-o", "--output", "path", metavar="FILE", help="Write to a file.")
def command(expr: str, to: str, name: str, wrt: str | None, order: int, const: tuple[str, ...], path: str | None) -> None:
    """A function in another language that returns the value of EXPR and its gradient; the names in EXPR are its arguments.

    \b
    autodiff export "log(x**3)" --to python
    autodiff export "exp(-k*t)*cos(w*t)" --to c --name wave --wrt k,w -o wave.c
    """
    from autodiff_cli.evaluation.bindings import bindings
    from autodiff_cli.export.export import export

    text = export(options.read_expression(expr), to, name, options.names(wrt), order, bindings(const, "const"))
    if path is None or path == "-":
        sys.stdout.write(text)
    else:
        from autodiff_cli.data.output import write

        write(path, text.encode())
