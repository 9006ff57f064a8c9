"""``autodiff gradcheck``: analytic against numeric derivatives."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options


@click.command("gradcheck", cls=options.ExpressionCommand, short_help="Check a gradient, or one found by hand.")
@options.expression
@options.values
@click.option(
    "--samples", default=20, show_default=True, type=click.IntRange(2), metavar="N", help="Points of a range, as in --at x=-2:2."
)
@options.order
@options.gradient
@click.option("--claim", multiple=True, metavar='NAME="EXPR"', help="A derivative found by hand, to be checked.")
@click.option("--eps", type=float, metavar="H", help="Differences in float64 with this step, and PyTorch's tolerances.")
@click.option("--atol", type=float, metavar="TOL", help="Absolute tolerance.  [default: from the rounding at this point]")
@click.option("--rtol", type=float, metavar="TOL", help="Relative tolerance.  [default: from the rounding at this point]")
@click.option("--strict", is_flag=True, help="Exit with 1 if something is undecided too.")
@options.quiet_notes
@options.output
def command(
    expr: str,
    style: str,
    as_json: bool,
    quiet: bool,
    precision: int,
    color: str,
    quiet_notes: bool,
    claim: tuple[str, ...],
    strict: bool,
    samples: int,
    **switches: Any,
) -> None:
    """Compare every derivative of EXPR with the slope of its values; exit with 1 if one is wrong.

    \b
    autodiff gradcheck "log(x**3)" --at x=5 --claim x="3/x"
    autodiff gradcheck "f(a) = a**2 with grad (2*a); f(x)" --at x=3
    autodiff gradcheck "f(a) = a*abs(a) with grad (2*abs(a)); f(x)" --at x=-2:2
    """
    from autodiff_cli.evaluation.bindings import bindings, value_or_file
    from autodiff_cli.gradcheck.check import check_gradient
    from autodiff_cli.gradcheck.points import At

    style = options.chosen_format(style, as_json)
    source, const = options.read_expression(expr), bindings(switches.pop("const"), "const")
    report = check_gradient(
        source,
        At(switches.pop("at")).points(source, const, samples),
        const,
        wrt=options.names(switches.pop("wrt")),
        claims=claim,
        gradient=value_or_file(switches.pop("gradient")),
        **switches,
    )
    document = report.to_dict()
    if quiet:
        sys.stdout.write("fail\n" if not report.passed else "undecided\n" if report.undecided else "pass\n")
    elif style == "table":
        from autodiff_cli.report import table

        table.show(table.check_tables(report.checks, report.points, precision), color)
    else:
        from autodiff_cli.report import records

        sys.stdout.write(records.render(style, document, document["checks"]))
    # With --json a failure is one object on standard error, and the notes are in the other one.
    failed = report.failure is not None or (strict and report.undecided is not None)
    options.say_notes(report.notes, quiet_notes or (style == "json" and failed))
    if failed:
        from autodiff_cli.errors import GradcheckError

        raise GradcheckError(report.failure or report.doubt, hint=report.hint)
