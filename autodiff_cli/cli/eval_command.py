"""``autodiff eval`` and what it shares with ``autodiff grad``."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options


@click.command("eval", cls=options.ExpressionCommand, short_help="Value, gradient and the table of every tensor.")
@options.expression
@options.values
@options.order
@options.gradient
@click.option("--retain-grad", metavar="y,z|all", help="Keep the gradient of these named steps too.")
@click.option("--backward", type=click.IntRange(0), metavar="N", help="How often backward runs.  [default: once]")
@click.option("--retain-graph", is_flag=True, help="Keep the graph between, so that backward can run again.")
@click.option("--zero-grad", is_flag=True, help="Set gradients to zero between.")
@click.option("--create-graph", is_flag=True, help="Record backward too, so that gradients have a grad_fn.")
@click.option("--inputs", metavar="x,y", help="Fill the gradients of these names only.")
@click.option("--hook", "hooks", multiple=True, metavar='NAME="EXPR"', help="What to make of a gradient, such as y=2*grad.")
@click.option("--no-grad", is_flag=True, help="Evaluate without recording.")
@options.verify
@options.strict
@options.quiet_notes
@options.output
def command(
    expr: str, style: str, as_json: bool, quiet: bool, precision: int, color: str, quiet_notes: bool, **switches: Any
) -> None:
    """Evaluate EXPR, run backward, and show every tensor with its gradient.

    \b
    autodiff eval "log(x**3)" --at x=5
    autodiff eval "y = x**3; z = log(y); z" --at x=5 --retain-grad y,z --order 2
    """
    style = options.chosen_format(style, as_json)
    result = evaluated(expr, "eval", **switches)
    if quiet:
        from autodiff_cli.report.records import bare

        floats = [result.value, *result.grad.values(), *result.derivatives.values()]
        sys.stdout.write(bare(options.in_digits(result, "value", "grad") or floats))
    elif style == "table":
        from autodiff_cli.report import table

        rows = [row.record() for row in result.tensors]
        tables = [table.tensor_table(rows, precision), *table.higher_tables(result, precision)]
        table.show([*tables, *table.verified_tables(result.verified)], color)
    else:
        from autodiff_cli.report import records

        document = result.to_dict()
        lines = [*document["tensors"], *document.get("derivatives", [])]
        rows = options.beside(result, records.tensor_records(document))
        sys.stdout.write(records.render(style, document, rows, lines))
    options.say_verified(result, quiet, quiet_notes)
    options.say_notes(result.notes, quiet_notes)


def evaluated(expr: str, name: str, **switches: Any) -> Any:
    """Run an evaluation with the options of the command line."""
    from autodiff_cli.derivatives.evaluate import evaluate
    from autodiff_cli.evaluation.bindings import bindings, value_or_file

    return evaluate(
        options.read_expression(expr),
        bindings(switches.pop("at"), "at"),
        bindings(switches.pop("const"), "const"),
        wrt=options.names(switches.pop("wrt")),
        inputs=options.names(switches.pop("inputs", None)),
        retain_grad=options.names(switches.pop("retain_grad", None)) or (),
        command=name,
        gradient=value_or_file(switches.pop("gradient")),
        **switches,
    )
