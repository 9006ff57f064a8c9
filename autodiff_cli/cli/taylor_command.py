"""``autodiff taylor``: the coefficients of the Taylor series."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options


@click.command("taylor", cls=options.ExpressionCommand, short_help="The Taylor series around --at.")
@options.expression
@options.values
@options.order
@options.verify
@options.strict
@options.quiet_notes
@options.output
def command(
    expr: str, style: str, as_json: bool, quiet: bool, precision: int, color: str, quiet_notes: bool, **switches: Any
) -> None:
    """The Taylor series of EXPR in one variable around its value: the coefficient of each power, and the derivatives.

    \b
    autodiff taylor "exp(x)" --at x=0 --order 5
    autodiff taylor "sin(k*x)" --at x=0.5,k=2 --wrt x --order 10 -q
    """
    from autodiff_cli.derivatives.evaluate import check_finite
    from autodiff_cli.derivatives.taylor import expand, verify

    style = options.chosen_format(style, as_json)
    evaluation = options.evaluation(options.read_expression(expr), switches)
    result = expand(evaluation, switches["order"])
    if switches["verify"] or switches["digits"] is not None:
        verify(evaluation, result, switches["digits"])
    if switches["strict"]:
        check_finite(result.numbers(), result.notes, result.expression)
    if quiet:
        from autodiff_cli.report.records import bare

        sys.stdout.write(bare(options.in_digits(result, "coefficients") or result.coefficients))
    elif style == "table":
        from autodiff_cli.report import table

        table.show([table.taylor_table(result, precision), *table.verified_tables(result.verified)], color)
    else:
        from autodiff_cli.report import records

        sys.stdout.write(records.render(style, result.to_dict(), result.records()))
    options.say_verified(result, quiet, quiet_notes)
    options.say_notes(result.notes, quiet_notes)
