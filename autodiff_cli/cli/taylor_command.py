"""``autodiff taylor``: the coefficients of the Taylor series."""

from __future__ import annotations

from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output


@click.command("taylor", cls=ExpressionCommand)
@options.evaluated
@options.order("Highest power in the series.", default=5)
@options.verify
@options.matrix_output
def command(out: Output, **settings: Any) -> None:
    """Print the Taylor series of EXPR in one variable around its value: the coefficient of each power and the derivatives.

    \b
    autodiff taylor "exp(x)" --at x=0 --order 5
    autodiff taylor "sin(k*x)" --at x=0.5,k=2 --wrt x --order 10 -q
    """
    from autodiff_cli.derivatives.taylor import taylor

    out.emit(taylor(**settings))
