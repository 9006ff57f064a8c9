"""``autodiff grad``: the gradient alone."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.eval_command import evaluated


@click.command("grad", cls=options.ExpressionCommand, short_help="The gradient alone.")
@options.expression
@options.values
@options.order
@options.gradient
@options.verify
@options.strict
@options.quiet_notes
@options.output
def command(
    expr: str, style: str, as_json: bool, quiet: bool, precision: int, color: str, quiet_notes: bool, **switches: Any
) -> None:
    """The gradient of EXPR by every variable of --at.

    \b
    autodiff grad "log(x**3)" --at x=5 -q
    autodiff grad "k*q1*q2/r**2" --at q1=1e-6,q2=2e-6,r=0.05 --const k=8.99e9
    """
    from autodiff_cli.errors import MissingValue

    style = options.chosen_format(style, as_json)
    result = evaluated(expr, "grad", **switches)
    if not result.grad:
        raise MissingValue("there is no variable to differentiate by", hint="give it a value with --at x=1")
    if quiet:
        from autodiff_cli.report.records import bare

        sys.stdout.write(bare(options.in_digits(result, "grad") or [*result.grad.values(), *result.derivatives.values()]))
    elif style == "table":
        from autodiff_cli.report import table

        tables = [table.gradient_table(result.grad, precision), *table.higher_tables(result, precision)]
        table.show([*tables, *table.verified_tables(result.verified)], color)
    else:
        from autodiff_cli.report import records

        document = result.to_dict()
        del document["tensors"]
        sys.stdout.write(records.render(style, document, options.beside(result, records.gradient_records(document))))
    options.say_verified(result, quiet, quiet_notes)
    options.say_notes(result.notes, quiet_notes)
