"""``autodiff export``: a function in another language."""

from __future__ import annotations

import os

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.parsing import ExpressionCommand
from autodiff_cli.cli.point_options import name_list, read_expression


@click.command("export", cls=ExpressionCommand)
@options.expression
@click.option(
    "--to",
    metavar="NAME",
    help="Language: python, numpy, torch, jax, c, javascript, latex.  [default: from the suffix of --output]",
)
@click.option("--const", multiple=True, metavar="NAME=VALUE", help="Value of a constant; names without a value are arguments.")
@options.wrt("all")
@options.order("Highest order of derivative; 2 adds the Hessian.")
@options.shape
@options.symmetric
@click.option("-o", "--output", "path", metavar="FILE", help="File to write.  [default: standard output]")
def command(
    expr: str,
    to: str | None,
    const: tuple[str, ...],
    wrt: str | None,
    order: int,
    shape: tuple[str, ...],
    symmetric: str | None,
    path: str | None,
) -> None:
    """Write a function in another language that returns the value and gradient of EXPR.

    The function is called like its file, or f, and its arguments are the names in EXPR.

    \b
    autodiff export "log(x**3)" --to python
    autodiff export "exp(-k*t)*cos(w*t)" --wrt k,w -o wave.c
    autodiff export "x @ A @ x" --to numpy --shape A=n,n --shape x=n
    """
    from autodiff_cli.code_generation.export import export, target_for
    from autodiff_cli.evaluation.bindings import bindings

    to = to or target_for(path)
    stem = os.path.splitext(os.path.basename(path or ""))[0]
    name = stem if stem.isidentifier() else "f"
    source, lengths, matrices = read_expression(expr), options.shapes(shape), name_list(symmetric) or ()
    text = export(source, to, name, name_list(wrt), order, bindings(const, "const"), lengths, matrices)
    Output(to, path=None if path == "-" else path).write(text)
