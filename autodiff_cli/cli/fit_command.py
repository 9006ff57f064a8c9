"""``autodiff fit``: the parameters of a model from the columns of a file."""

from __future__ import annotations

import os

import click

from autodiff_cli import formats
from autodiff_cli.cli import options, solver_options
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.parsing import RowsCommand
from autodiff_cli.cli.row_options import as_let


@click.command("fit", cls=RowsCommand)
@options.expression
@click.argument("files", metavar="[FILE]...", nargs=-1)
@solver_options.starts("Start of a parameter; b1=500,b2=1e-4 sets several.")
@options.const
@click.option("--fix", metavar="b1,b2", help="Parameters that keep their start.")
@solver_options.bounds
@click.option("--tie", multiple=True, metavar='NAME="EXPR"', help="Parameter that is an expression of others, such as b4=1-b1.")
@click.option("--sigma", metavar="EXPR", help="Known standard deviation of each row; the errors are not scaled.")
@click.option("--weights", metavar="EXPR", help="Relative weight of each row; the errors are scaled by the residuals.")
@click.option("--loss", metavar="NAME[:SCALE]", help="Robust loss: huber, soft_l1 or cauchy, with the scale of the residuals.")
@click.option("--input-format", metavar="NAME", help="Input format.  [default: from the file name, or csv]")
@click.option("--let", "lets", multiple=True, metavar="NAME=COLUMN", help="Column of a variable, if their names differ.")
@click.option("--columns", metavar="x,y", help="Column names for a file without a header.")
@click.option(
    "--on-error",
    default="stop",
    show_default=True,
    type=click.Choice(["stop", "skip"]),
    help="Treatment of rows with non-numeric cells: stop, or skip the row.",
)
@click.option("--derive", multiple=True, metavar="EXPR", help="Quantity computed from the parameters, with its standard error.")
@click.option(
    "--predict", metavar="FILE|x=0:10", help="Rows for which the model is predicted, with confidence and prediction bands."
)
@click.option("--profile", is_flag=True, help="Compute profile intervals, which need not be symmetric.")
@solver_options.max_steps(10_000)
@solver_options.trace
@solver_options.level
@solver_options.threads
@options.output(options.quiet_notes, options.precision, bare="parameters")
def command(
    expr: str,
    files: tuple[str, ...],
    at: tuple[str, ...],
    const: tuple[str, ...],
    fix: str | None,
    bounds: tuple[str, ...],
    tie: tuple[str, ...],
    sigma: str | None,
    weights: str | None,
    loss: str | None,
    input_format: str | None,
    lets: tuple[str, ...],
    columns: str | None,
    on_error: str,
    derive: tuple[str, ...],
    predict: str | None,
    profile: bool,
    max_steps: int,
    trace: bool,
    level: float,
    thread_count: int | None,
    out: Output,
) -> None:
    """Fit the parameters of a model to the columns of FILE by nonlinear least squares.

    EXPR is an equation. Names that are columns of FILE are data, the others are parameters. Without FILE, or with -, read
    standard input. Exit with code 1 if the solution does not pass the checks at the end.

    \b
    autodiff fit "y = b1*(1 - exp(-b2*x))" data.csv --at b1=500,b2=1e-4
    autodiff fit "log(y) = a + b*x" data.csv --at a=1,b=1 --sigma dy
    """
    from autodiff_cli.data import inputs, pipeline
    from autodiff_cli.evaluation.bindings import bindings
    from autodiff_cli.solvers.fitting.fit import fit

    if os.path.isfile(expr) and files:
        raise click.UsageError(f"the model must precede the files, but '{expr}' is a file\n  hint: use autodiff fit EXPR {expr}")
    if expr == "-" and (not files or "-" in files):
        raise click.UsageError("standard input cannot be both the model and the data\n  hint: name a data file")
    style = input_format and formats.check_known(input_format, formats.READ, "input_format")
    source = pipeline.Inputs(inputs.expanded(files), style, options.names(columns))
    result = fit(
        options.read_expression(expr),
        source,
        at=at,
        const=bindings(const, "const"),
        let=dict(map(as_let, lets)),
        sigma=sigma,
        weights=weights,
        fix=options.names(fix) or (),
        bounds=bounds,
        tie=tie,
        loss=loss,
        level=level,
        max_steps=max_steps,
        trace=trace,
        derive=derive,
        predict=predict,
        profile=profile,
        threads=thread_count,
        on_error=on_error,
    )
    # In JSON, standard error contains only the failure; the notes are in the object on standard output.
    out = out._replace(quiet_notes=out.quiet_notes or (out.style == "json" and not result.converged))
    out.emit(result, "autodiff_cli.solvers.fitting.tables:tables")
    result.require()
