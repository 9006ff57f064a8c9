"""``autodiff propagate``: the uncertainty of a result from those of its inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from autodiff_cli.cli import options, row_options
from autodiff_cli.cli.expression_command import RowsCommand
from autodiff_cli.cli.output import say
from autodiff_cli.cli.program_text import read_expression
from autodiff_cli.wording import plural

_NUMBER = "U is the half-width of rect, triangle and arcsine, otherwise the standard uncertainty"


class QuantityOptions(NamedTuple):
    """The quantities, as texts from the command line."""

    at: tuple[str, ...]
    const: dict[str, Any]
    u: tuple[str, ...]
    dof: tuple[str, ...]
    corr: tuple[str, ...]
    cov: str | None


_inputs = options.together(
    "inputs",
    QuantityOptions,
    options.starts("Quantity and its uncertainty: L=0.994(1), L=0.994±0.001 or L=0.994+-0.001; L=0.994 has none."),
    options.const,
    click.option(
        "--u",
        multiple=True,
        metavar='NAME="U [KIND]"',
        help=f"Uncertainty, with the distribution normal, t:9, rect, triangle or arcsine; {_NUMBER}.",
    ),
    click.option("--dof", multiple=True, metavar="NAME=N", help="Degrees of freedom of the uncertainty of a quantity."),
    click.option("--corr", multiple=True, metavar="NAME,NAME=R", help="Correlation coefficient of two quantities."),
    click.option(
        "--cov",
        metavar="FILE",
        help="JSON file of a covariance matrix with names, or of the result of fit; - reads standard input.",
    ),
)


@click.command("propagate", cls=RowsCommand)
@options.row_expression
@_inputs
@click.option("--level", type=float, metavar="P", help="Probability of the interval.  [default: 0.95]")
@options.order("2 adds the terms of second order.")
@click.option("--monte-carlo", metavar="N", help="Number of random trials that check the result, such as 1e6.")
@row_options.table
@options.strict
@options.no_limits
def command(expr: str, inputs: QuantityOptions, order: int, table: row_options.Table, strict: bool, **single: Any) -> None:
    """Compute the uncertainty of EXPR from the uncertainties of its quantities, as described in the GUM (JCGM 100).

    Expressions separated by ; are several outputs, whose correlations are computed as well.
    Without FILE, the default format is table, plain and latex are also formats, and -q prints the value and the standard
    uncertainty of each output.
    With FILE, compute every row: a column such as x contains values, and u_x their standard uncertainties.

    \b
    autodiff propagate "4*pi**2*L/T**2" --at "L=0.994(1),T=2.001(2)" --dof T=9
    autodiff propagate "x**2" --at "x=0±10" --order 2
    autodiff propagate "p*v/8.314" lab.csv --u "v=0.5%"
    autodiff propagate "R = V/I; P = V*I" --at "V=5±0.1,I=0.2(1)" --corr V,I=0.3
    """
    table.check_single({"dof": inputs.dof, "cov": inputs.cov, **single}, "compute one row with --at")
    if table.files:
        _over_rows(expr, inputs, order, table, strict)
        return
    from autodiff_cli.evaluation.bindings import value_texts
    from autodiff_cli.solvers.uncertainty.joint import correlations
    from autodiff_cli.solvers.uncertainty.propagation import propagate

    if expr == "-" and inputs.cov == "-":
        raise click.UsageError("standard input cannot be both the expression and --cov\n  hint: name a file")
    result = propagate(
        read_expression(expr),
        value_texts(inputs.at, "at"),
        inputs.const,
        u=value_texts(inputs.u, "u"),
        dof=value_texts(inputs.dof, "dof"),
        corr=correlations(inputs.corr),
        cov=inputs.cov,
        order=order,
        **single,
    )
    table.output(strict).emit(result)


def _over_rows(expr: str, inputs: QuantityOptions, order: int, table: row_options.Table, strict: bool) -> None:
    """Compute the uncertainty of every row of the files, with derivatives of ``order`` in the propagation, and write the rows."""
    from autodiff_cli.command_result import head
    from autodiff_cli.evaluation.bindings import value_texts
    from autodiff_cli.solvers.uncertainty.joint import correlations
    from autodiff_cli.solvers.uncertainty.quantities import quantities
    from autodiff_cli.solvers.uncertainty.rows import UncertainTask

    opened = table.opened(expr)
    known = quantities(value_texts(inputs.at, "at"), {}, {})
    task = UncertainTask(
        read_expression(expr),
        order=0,  # without columns of derivatives
        at=known.values,
        const=inputs.const,
        **table.keywords(),
        strict=strict,
        u=value_texts(inputs.u, "u"),
        distributions=known.distributions,
        corr=correlations(inputs.corr),
        propagation_order=order,
    )
    program = task.program()
    if not table.quiet_notes:
        for name in task.unused(program):
            say(f"'{name}' does not occur in the expression")
    facts = {**head("propagate"), "expression": task.expression, "order": order}
    summary = row_options.write_rows(task, program, opened, table, facts)
    if table.quiet_notes:
        return
    row_options.report_tally(summary, task, program)
    if task.doubts:
        count, first = task.doubted()
        say(f"first order is not enough in {plural(count, 'row')}, the first is {first}: use --order 2")
