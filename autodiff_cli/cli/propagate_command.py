"""``autodiff propagate``: the uncertainty of a result from those of its inputs."""

from __future__ import annotations

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.parsing import ExpressionCommand

_NUMBER = "a number is the half-width of rect, triangle and arcsine, else the standard uncertainty"


@click.command("propagate", cls=ExpressionCommand)
@options.expression
@click.option(
    "--at",
    "-a",
    multiple=True,
    metavar="NAME=VALUE",
    help="Quantity: L=0.994(1), L=0.994±0.001, L=0.994+-0.001, or L=0.994 without u.",
)
@options.const
@click.option(
    "--u",
    multiple=True,
    metavar='NAME="U [KIND]"',
    help=f"Uncertainty, with the distribution normal, t:9, rect, triangle or arcsine; {_NUMBER}.",
)
@click.option("--dof", multiple=True, metavar="NAME=N", help="Degrees of freedom of an uncertainty that observations gave.")
@click.option("--corr", multiple=True, metavar="NAME,NAME=R", help="Correlation coefficient of two quantities.")
@click.option("--cov", metavar="FILE", help="Covariance matrix with names (CSV, JSON, the JSON of fit); - for standard input.")
@click.option("--level", type=float, metavar="P", help="Probability of the interval.  [default: 0.95]")
@click.option("--k", type=float, metavar="K", help="Coverage factor, instead of --level.")
@options.order("2 adds the terms of second order.")
@click.option("--monte-carlo", metavar="N|auto", help="Number of random trials that check the result; auto finds it.")
@click.option("--seed", default=0, show_default=True, metavar="N", type=click.IntRange(0), help="Seed of the random trials.")
@options.output(options.strict, options.quiet_notes, options.precision, bare="value and standard uncertainty of each output")
def command(
    expr: str,
    at: tuple[str, ...],
    const: tuple[str, ...],
    u: tuple[str, ...],
    dof: tuple[str, ...],
    corr: tuple[str, ...],
    cov: str | None,
    level: float | None,
    k: float | None,
    order: int,
    monte_carlo: str | None,
    seed: int,
    out: Output,
) -> None:
    """Compute the uncertainty of EXPR from the uncertainties of its quantities, with the law of propagation of the GUM.

    Several expressions with ; between them are several outputs, whose correlations are computed as well.

    \b
    autodiff propagate "4*pi**2*L/T**2" --at "L=0.994(1),T=2.001(2)" --dof T=9
    autodiff propagate "x**2" --at "x=0±10" --order 2
    autodiff propagate "R = V/I; P = V*I" --at "V=5±0.1,I=0.2(1)" --corr V,I=0.3
    """
    if expr == "-" and cov == "-":
        raise click.UsageError("standard input cannot be both the expression and --cov\n  hint: name a file")
    from autodiff_cli.evaluation.bindings import bindings, value_texts
    from autodiff_cli.solvers.uncertainty.joint import correlations
    from autodiff_cli.solvers.uncertainty.propagation import propagate

    result = propagate(
        options.read_expression(expr),
        value_texts(at, "at"),
        bindings(const, "const"),
        u=value_texts(u, "u"),
        dof=value_texts(dof, "dof"),
        corr=correlations(corr),
        cov=cov,
        level=level,
        k=k,
        order=order,
        monte_carlo=monte_carlo,
        seed=seed,
    )
    out.emit(result, "autodiff_cli.solvers.uncertainty.tables:tables")
