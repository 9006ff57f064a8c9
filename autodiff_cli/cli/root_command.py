"""``autodiff root``: the roots of equations, for one point or for every row of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from autodiff_cli.cli import options, row_options
from autodiff_cli.cli.expression_command import RowsCommand
from autodiff_cli.cli.output import say
from autodiff_cli.cli.program_text import read_expression
from autodiff_cli.wording import plural


@click.command("root", cls=RowsCommand)
@options.row_expression
@options.bound("Start of an unknown; x=2,y=0.5 sets several.")
@options.const
@click.option("--over", multiple=True, metavar="NAME=FROM:TO", help="Range of an unknown, in which all roots are searched.")
@click.option("--all", is_flag=True, help="Print all roots in the range, not only the one nearest to its middle.")
@options.names(
    "--sensitivity", metavar="a,b", text="Constants or columns with respect to which the root is differentiated.", default=()
)
@options.trace
@row_options.table
@options.no_limits
def command(expr: str, table: row_options.Table, over: tuple[str, ...], all: bool, trace: bool, **settings: Any) -> None:
    """Solve the equations EXPR for the unknowns; exit with code 1 unless the root is verified.

    An expression without = is equated to 0. Separate several equations with ; and give each unknown a start with --at.
    Without FILE, the default format is table, and plain and latex are also formats. With FILE, solve the equations for every row,
    whose columns are constants; the unknowns of a row without a verified root are nan. --sensitivity a adds the column d_x_a.

    \b
    autodiff root "cos(x) = x" --at x=1
    autodiff root "x**2 + y**2 = 4; x*y = 1" --at x=2,y=0.5
    autodiff root "x = a*exp(-x)" --at x=1 --const a=2 --sensitivity a
    autodiff root "tan(x) = x" --over x=-10:10 --all
    """
    table.check_single({"over": over, "all": all, "trace": trace}, "solve one row with --const")
    if table.files:
        _over_rows(expr, table, **settings)
        return
    from autodiff_cli.solvers.roots.root import root

    result = root(read_expression(expr), over=over, all=all, trace=trace, **settings)
    for each in result.notes:
        if each["kind"] == "others":  # the library does not know how the command shows them
            each["message"] += "; --all lists every root"
    table.output().emit_solution(result)


def _over_rows(expr: str, table: row_options.Table, at: Mapping[str, Any], **settings: Any) -> None:
    """Solve the equations for every row of the files, from the starts ``at``, and write them and a note on rows without a root."""
    from autodiff_cli.command_result import head
    from autodiff_cli.solvers.roots.rows import RootTask

    opened = table.opened(expr)
    task = RootTask(expression="", equations=read_expression(expr), starts=at, **settings, **table.keywords())
    facts = {**head("root"), "expression": task.equations}
    summary = row_options.write_rows(task, task.program(), opened, table, facts)
    if summary.bad and not table.quiet_notes:
        done = "skipped" if task.on_error == "skip" else "set to nan"
        say(f"{plural(summary.bad, 'row')} without a root: {done}; the first is {summary.first_bad}")
