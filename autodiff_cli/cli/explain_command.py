"""``autodiff explain``: the chain rule step by step."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options


@click.command("explain", cls=options.ExpressionCommand, short_help="The chain rule step by step, in numbers.")
@options.expression
@options.values
@options.order
@options.gradient
@click.option("--condition", is_flag=True, help="How much each operation magnifies relative errors, at worst.")
@options.strict
@options.quiet_notes
@options.output_with_latex
def command(
    expr: str, style: str, as_json: bool, quiet: bool, precision: int, color: str, quiet_notes: bool, **switches: Any
) -> None:
    """Explain how backward finds the gradient of EXPR: the forward pass line by line, then the sweep node by node.

    Formats are table, markdown, latex and json, and a row for each contribution in the others.

    \b
    autodiff explain "log(x**3) + sqrt(x**2)" --at x=5
    autodiff explain "sum(x**2*y)" --at "x=[1, 2],y=3" --order 2 --format latex
    """
    from autodiff_cli.derivatives.evaluate import check_finite
    from autodiff_cli.explain.explain import explain

    style = options.chosen_format(style, as_json, options.with_latex)
    evaluation = options.evaluation(options.read_expression(expr), switches)
    result = explain(evaluation, switches["order"], switches["condition"])
    if switches["strict"]:
        check_finite([("the value", result.value), *result.numbers()], result.notes, result.expression)
    if quiet:
        from autodiff_cli.report.records import bare

        sys.stdout.write(bare(value for _, value in result.numbers()))
    elif style == "table":
        from autodiff_cli.explain import terminal as page
        from autodiff_cli.report import table

        table.show(page.pages(result, precision, color), color)
    elif style in ("markdown", "latex"):
        from autodiff_cli.explain import documents

        sys.stdout.write(documents.page(style, result, precision))
    else:
        from autodiff_cli.report import records

        sys.stdout.write(records.render(style, result.to_dict(), result.records()))
    options.say_notes(result.notes, quiet_notes)
