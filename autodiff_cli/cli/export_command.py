"""``autodiff export``: a function in another language."""

from __future__ import annotations

import os
from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output


@click.command("export", cls=ExpressionCommand)
@options.expression
@click.option(
    "--to",
    metavar="NAME",
    help="Language: python, numpy, torch, jax, c, javascript, latex.  [default: from the suffix of --output]",
)
@options.bound("Value of a constant; names without a value are arguments.", "--const")
@options.wrt("all")
@options.order("Highest order of derivative; 2 adds the Hessian.")
@options.shape
@options.symmetric
@click.option("-o", "--output", "path", metavar="FILE", help="File to write.  [default: standard output]")
def command(to: str | None, path: str | None, **settings: Any) -> None:
    """Write a function in another language that returns the value and gradient of EXPR.

    The function is called like its file, or f, and its arguments are the names in EXPR.

    \b
    autodiff export "log(x**3)" --to python
    autodiff export "exp(-k*t)*cos(w*t)" --wrt k,w -o wave.c
    autodiff export "x @ A @ x" --to numpy --shape A=n,n --shape x=n
    """
    from autodiff_cli.code_generation.export import export, target_for

    to = to or target_for(path)
    stem = os.path.splitext(os.path.basename(path or ""))[0]
    name = stem if stem.isidentifier() else "f"
    Output(to, path=None if path == "-" else path).write(export(to=to, name=name, **settings))
