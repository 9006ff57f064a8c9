"""``autodiff gradcheck``: analytic against numeric derivatives."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options


@click.command("gradcheck", cls=options.ExpressionCommand, short_help="Check a gradient against finite differences.")
@options.expression
@options.values
@options.order
@options.gradient
@click.option("--claim", multiple=True, metavar='NAME="EXPR"', help="A derivative found by hand, to be checked.")
@click.option("--eps", default=1e-6, show_default=True, type=float, metavar="H", help="Step of the differences.")
@click.option("--atol", type=float, metavar="TOL", help="Absolute tolerance.  [default: 1e-5, for a claim 1e-9]")
@click.option("--rtol", type=float, metavar="TOL", help="Relative tolerance.  [default: 1e-3, for a claim 1e-9]")
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
    **switches: Any,
) -> None:
    """Compare every derivative of EXPR with finite differences; exit with 1 if one is wrong.

    \b
    autodiff gradcheck "log(x**3)" --at x=5 --claim x="3/x"
    autodiff gradcheck "f(a) = a**2 with grad (2*a); f(x)" --at x=3
    """
    from autodiff_cli.language.checks import check
    from autodiff_cli.language.values import bindings, value_or_file

    style = options.chosen_format(style, as_json)
    report = check(
        options.read_expression(expr),
        bindings(switches.pop("at"), "--at"),
        bindings(switches.pop("const"), "--const"),
        wrt=options.names(switches.pop("wrt")),
        claims=claim,
        gradient=value_or_file(switches.pop("gradient")),
        **switches,
    )
    document = report.to_dict()
    if quiet:
        sys.stdout.write("pass\n" if report.passed else "fail\n")
    elif style == "table":
        from autodiff_cli.report import table

        table.show([table.check_table(document["checks"], precision)], color)
    else:
        from autodiff_cli.report import records

        sys.stdout.write(records.render(style, document, document["checks"]))
    # With --json a failure is one object on standard error, and the notes are in the other one.
    options.say_notes(report.notes, quiet_notes or (style == "json" and not report.passed))
    if report.failure is not None:
        from autodiff_cli.errors import GradcheckError

        raise GradcheckError(report.failure, hint=report.hint)
