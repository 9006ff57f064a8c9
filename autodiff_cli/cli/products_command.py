"""``autodiff jacobian``, ``hessian``, ``jvp``, ``vjp`` and ``hvp``."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options

vector = click.option("--vector", multiple=True, metavar="NAME=VALUE", help="What to multiply by; 0 for the others.")


@click.command("jacobian", cls=options.ExpressionCommand)
@options.expression
@options.values
@options.strict
@options.quiet_notes
@options.output
def jacobian(expr: str, **switches: Any) -> None:
    """The derivative of every element of EXPR by every element of every variable.

    \b
    autodiff jacobian "[x*y, x + y]" --at x=2,y=3
    autodiff jacobian "A @ v" --at "v=[1, 2]" --const "A=[[1, 2], [3, 4]]" --json
    """
    _run("jacobian", expr, **switches)


@click.command("hessian", cls=options.ExpressionCommand)
@options.expression
@options.values
@options.verify
@options.strict
@options.quiet_notes
@options.output
def hessian(expr: str, **switches: Any) -> None:
    """The second derivatives of EXPR by every pair of elements of the variables.

    \b
    autodiff hessian "x**2*y" --at x=2,y=3
    autodiff hessian "sum(x**3)" --at "x=[1, 2, 3]" --json
    """
    _run("hessian", expr, **switches)


@click.command("jvp", cls=options.ExpressionCommand)
@options.expression
@options.values
@vector
@options.strict
@options.quiet_notes
@options.output
def jvp(expr: str, **switches: Any) -> None:
    """The Jacobian of EXPR times a vector: how the output changes in a direction. No matrix is built.

    \b
    autodiff jvp "x*y" --at x=2,y=3 --vector x=1
    autodiff jvp "sin(v)" --at "v=[1, 2]" --vector "v=[1, 0]" -q
    """
    _run("jvp", expr, **switches)


@click.command("vjp", cls=options.ExpressionCommand)
@options.expression
@options.values
@options.gradient
@options.strict
@options.quiet_notes
@options.output
def vjp(expr: str, **switches: Any) -> None:
    """A vector (--gradient) times the Jacobian of EXPR: one sweep. No matrix is built.

    \b
    autodiff vjp "sin(v)" --at "v=[1, 2]" --gradient "[1, 10]"
    autodiff vjp "[x*y, x + y]" --at x=2,y=3 --gradient "[1, 0]" -q
    """
    _run("vjp", expr, **switches)


@click.command("hvp", cls=options.ExpressionCommand)
@options.expression
@options.values
@vector
@options.strict
@options.quiet_notes
@options.output
def hvp(expr: str, **switches: Any) -> None:
    """The Hessian of EXPR times a vector. No matrix is built.

    \b
    autodiff hvp "x**2*y" --at x=2,y=3 --vector x=1
    autodiff hvp "sum(x**4)" --at "x=linspace(0, 1, 99)" --vector "x=ones(99)" -q
    """
    _run("hvp", expr, **switches)


def _run(
    command: str, expr: str, style: str, as_json: bool, quiet: bool, precision: int, color: str, quiet_notes: bool, **switches: Any
) -> None:
    from autodiff_cli.derivatives.evaluate import check_finite
    from autodiff_cli.derivatives.products import product, verify
    from autodiff_cli.evaluation.bindings import bindings
    from autodiff_cli.evaluation.evaluation import plain

    style = options.chosen_format(style, as_json)
    evaluation = options.evaluation(options.read_expression(expr), switches)
    result = product(command, evaluation, bindings(switches.get("vector", ()), "vector"))
    if switches.get("verify") or switches.get("digits") is not None:
        verify(evaluation, result, switches["digits"])
    if switches["strict"]:
        check_finite(result.numbers(), result.notes, result.expression)
    if quiet:
        from autodiff_cli.report.records import bare

        sys.stdout.write(bare(options.in_digits(result, "hessian") or [value for _, value in result.numbers()]))
    elif style == "table":
        from autodiff_cli.report import table

        table.show([*table.product_tables(result, precision), *table.verified_tables(result.verified)], color)
    else:
        from autodiff_cli.report import records

        rows = [{"name": name, "value": plain(value)} for name, value in result.numbers()]
        sys.stdout.write(records.render(style, result.to_dict(), options.beside(result, rows)))
    options.say_verified(result, quiet, quiet_notes)
    options.say_notes(result.notes, quiet_notes)
