"""``autodiff fit``: the parameters of a model from the columns of a file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from autodiff_cli import formats
from autodiff_cli.cli import options, row_options
from autodiff_cli.cli.expression_command import RowsCommand
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.program_text import read_expression

if TYPE_CHECKING:
    from autodiff_cli.solvers.fitting.result import Fit

_PICTURES = formats.for_use("fit picture")


@click.command("fit", cls=RowsCommand)
@options.row_expression
@click.argument("files", metavar="[FILE]...", nargs=-1)
@options.starts("Start of a parameter, or the range to search for one; b1=500,b2=1:9 sets several.")
@options.const
@options.names("--fix", metavar="b1,b2", text="Parameters that keep their start.", default=())
@options.bounds
@click.option("--by", metavar="COLUMN", help="Fit the rows with each value of a column separately; print a row for each.")
@options.names(
    "--share", metavar="b1,b2", text="Parameters that are common to all groups of --by, which are fitted together.", default=()
)
@click.option("--sigma", metavar="EXPR", help="Known standard deviation of each row; the standard errors are not scaled.")
@click.option(
    "--sigma-x",
    multiple=True,
    metavar="NAME=EXPR",
    help="Standard deviation of a column of the right side; needs --sigma or --weights.",
)
@click.option("--weights", metavar="EXPR", help="Relative weight of each row; the standard errors are scaled by the residuals.")
@click.option(
    "--loss",
    metavar="huber|soft_l1|cauchy[:SCALE]",
    help="Robust loss, and the residual from which it differs from the square.",
)
@options.input_style
@options.let
@options.columns
@options.where
@click.option(
    "--on-error",
    default="stop",
    show_default=True,
    type=click.Choice(["stop", "skip"]),
    help="Treatment of rows with non-numeric cells and of groups without a verified fit: stop, or skip.",
)
@click.option("--derive", multiple=True, metavar="EXPR", help="Quantity computed from the parameters, with its standard error.")
@click.option(
    "--predict",
    metavar="FILE|x=0:10",
    help="File or range of rows for which the model is predicted, with confidence and prediction bands.",
)
@click.option("--profile", is_flag=True, help="Compute profile intervals, which need not be symmetric.")
@options.trace
@options.level
@options.output(options.quiet_notes, options.precision, bare="parameters", use="formula", files=("formula file", "fit picture"))
def command(
    expr: str,
    files: tuple[str, ...],
    input_style: options.InputStyle,
    columns: list[str] | None,
    out: Output,
    **settings: Any,
) -> None:
    """Fit the parameters of a model to the columns of FILE by nonlinear least squares.

    EXPR is an equation, or an expression that is the residual of a row. Names that are columns of FILE are data, the others are
    parameters. Without FILE, or with -, read standard input. Exit with code 1 if the solution is not verified.

    \b
    autodiff fit "counts = n0*exp(-t/tau)" decay.csv --at n0=1000,tau=5
    autodiff fit "counts = n0*exp(-t/tau)" decay.csv -o fit.html
    autodiff fit "log(counts) = a - t/tau" decay.csv --weights counts
    """
    from autodiff_cli.data import inputs
    from autodiff_cli.solvers.fitting.fit import fit
    from autodiff_cli.solvers.fitting.groups import GroupFit

    row_options.check_order(expr, files)
    if settings["by"] is not None:
        _check_group_output(out.style)
    source = inputs.named(files, input_style.style(files), columns)
    result = fit(read_expression(expr), source, **settings)
    if isinstance(result, GroupFit):
        if out.style == "table" and not out.path and not options.names_format():  # the default
            out = out._replace(style="csv")  # with a row for each group
        out.emit_solution(result)
        return
    views = {}
    if out.style in _PICTURES:
        result.require()  # an unverified fit has no bands
        views = {out.style: partial(_picture_file, result, out.style, out.precision)}
        out = out._replace(quiet=False)  # -q is about numbers, and the file contains the picture
    out.emit_solution(result, views)


def _check_group_output(style: str) -> None:
    """Raise an error if the fits of several groups cannot be written in a format."""
    if style in _PICTURES:
        raise click.UsageError("a plot and --by exclude each other\n  hint: fit the rows of one group")
    if style == "latex":
        raise click.UsageError("--format latex is for one fit\n  hint: omit --by, or use --format markdown")


def _picture_file(result: Fit, style: str, precision: int) -> str | bytes:
    """Return the contents of the file with the picture of a fit, or of a page if ``style`` is ``html``."""
    from autodiff_cli.plotting import fit_picture
    from autodiff_cli.solvers.fitting.predictions import drawing

    if style == "html":
        from autodiff_cli.lesson.plot import fit_to_html

        return fit_to_html(drawing(result), precision)
    return fit_picture.fit_picture(drawing(result), style)
