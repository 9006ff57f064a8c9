"""``autodiff root``: where equations hold."""

from __future__ import annotations

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.parsing import RowsCommand


@click.command("root", cls=RowsCommand)
@options.expression
@options.at
@options.const
@click.option("--over", multiple=True, metavar="NAME=FROM:TO", help="Range of an unknown, in which all roots are searched.")
@click.option("--all", "all_roots", is_flag=True, help="Print all roots in the range, not only the one nearest to its middle.")
@click.option("--sensitivity", metavar="a,b", help="Constants with respect to which the root is differentiated.")
@click.option("--max-steps", default=200, show_default=True, type=click.IntRange(1), metavar="N", help="Maximum number of steps.")
@click.option("--trace", is_flag=True, help="Print every step.")
@options.no_limits
@options.output(options.quiet_notes, options.precision)
def command(
    expr: str,
    at: tuple[str, ...],
    const: tuple[str, ...],
    over: tuple[str, ...],
    all_roots: bool,
    sensitivity: str | None,
    max_steps: int,
    trace: bool,
    out: Output,
) -> None:
    """Find where the equations EXPR hold; exit with code 1 unless the root is verified.

    An expression without = is to be 0. Several equations are separated by ; and --at gives each unknown a start.

    \b
    autodiff root "cos(x) = x" --at x=1
    autodiff root "x**2 + y**2 = 4; x*y = 1" --at x=2,y=0.5
    autodiff root "x = a*exp(-x)" --at x=1 --const a=2 --sensitivity a
    autodiff root "tan(x) = x" --over x=-10:10 --all
    """
    from autodiff_cli.evaluation.bindings import bindings
    from autodiff_cli.solvers.roots.root import root

    result = root(
        options.read_expression(expr),
        bindings(at, "at"),
        const=bindings(const, "const"),
        over=over,
        all=all_roots,
        sensitivity=options.names(sensitivity) or (),
        max_steps=max_steps,
        trace=trace,
    )
    for each in result.notes:
        if each["kind"] == "others":
            each["message"] += "; --all lists every root"
    # In JSON, standard error contains only the failure, as one object; the notes are in the object on standard output.
    out = out._replace(quiet_notes=out.quiet_notes or (out.style == "json" and not result.converged))
    if result.converged or not out.quiet:
        out.emit(result, "autodiff_cli.solvers.roots.tables:root_tables")
    result.require()
