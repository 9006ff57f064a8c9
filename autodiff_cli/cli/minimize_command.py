"""``autodiff minimize``: a local minimum of an expression."""

from __future__ import annotations

from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output


@click.command("minimize", cls=ExpressionCommand)
@options.expression
@options.bound("Start of a variable, a number or an array; x=1,y=2 sets several variables.")
@options.const
@options.bounds
@click.option(
    "--subject", multiple=True, metavar='"CONSTRAINT"', help='Constraint such as "x + y == 1" or "0 <= x*y <= 2"; may be repeated.'
)
@click.option("--maximize", is_flag=True, help="Find a maximum.")
@options.names(
    "--sensitivity", metavar="a,b", text="Constants of --const with respect to which the solution is differentiated.", default=()
)
@options.trace
@options.no_limits
@options.output(options.quiet_notes, options.precision, bare="values of the variables", use="formula", files=("formula file",))
def command(out: Output, **settings: Any) -> None:
    """Find a local minimum of EXPR from the start --at; exit with code 1 unless it is verified.

    \b
    autodiff minimize "(1-x)**2 + 100*(y-x**2)**2" --at x=-1.2,y=1
    autodiff minimize "2*r**2 + 2*r*h" --at r=1,h=1 --subject "r**2*h == 105"
    autodiff minimize "x*exp(-x)" --at x=0.5 --maximize
    autodiff minimize "(x-a)**2 + x**4" --at x=0 --const a=1 --sensitivity a
    """
    from autodiff_cli.solvers.minima.minimize import minimize

    out.emit_solution(minimize(**settings))
