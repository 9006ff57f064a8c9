"""``autodiff gradcheck``: the comparison of analytic and numeric derivatives."""

from __future__ import annotations

from typing import Any

import click

from autodiff_cli.cli import options
from autodiff_cli.cli.expression_command import ExpressionCommand
from autodiff_cli.cli.output import Output


@click.command("gradcheck", cls=ExpressionCommand)
@options.evaluated_at_ranges
@options.order("Highest order to check: 1 for the gradient, 2 to add the second derivatives.")
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar='NAME="EXPR"',
    help="Derivative found by hand, to be checked; NAME= may be left out if there is one variable.",
)
@click.option("--strict", is_flag=True, help="Exit with code 1 if a derivative is wrong or undecided.")
@options.output(options.quiet_notes, options.precision, bare="verdict")
def command(at: tuple[str, ...], strict: bool, out: Output, **settings: Any) -> None:
    """Compare every derivative of EXPR with finite differences; exit with code 1 if one is wrong.

    \b
    autodiff gradcheck "log(x**3)" --at x=5 --claim x="3/x"
    autodiff gradcheck "f(a) = a**2 with grad (2*a); f(x)" --at x=3
    autodiff gradcheck "f(a) = a*abs(a) with grad (2*abs(a)); f(x)" --at x=-2:2
    """
    from autodiff_cli.errors import GradcheckError
    from autodiff_cli.gradient_checking.check import gradcheck
    from autodiff_cli.gradient_checking.points import At

    report = gradcheck(at=At(at).points(), **settings)
    failed = report.failure is not None or (strict and report.undecided is not None)
    # In JSON, standard error contains only the failure, as one object; the notes are in the object on standard output.
    out = out._replace(quiet_notes=out.quiet_notes or (out.style == "json" and failed))
    out.emit(report)
    if failed:
        raise GradcheckError(report.failure or report.doubt, hint=report.hint)
