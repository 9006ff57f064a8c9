"""``autodiff map``: the value and derivatives for every row of a file or stream."""

from __future__ import annotations

import sys

import click

from autodiff_cli import formats
from autodiff_cli.cli import cluster_options, options, row_options
from autodiff_cli.cli.output import say
from autodiff_cli.cli.parsing import RowsCommand


@click.command("map", cls=RowsCommand)
@options.evaluated_in_rows
@click.argument("files", metavar="[FILE]...", nargs=-1)
@options.order()
@options.input_style
@options.let
@options.columns
@options.on_error
@click.option("--unbuffered", is_flag=True, help="Write each row as soon as it is read.")
@row_options.rows
@row_options.selection
@row_options.totals
@click.option(
    "--value-name",
    metavar="NAME",
    default="{}",
    help="Name of the result: v has the columns v and d_v_x; with several results, {} stands for the name of each.",
)
@options.strict
@cluster_options.cluster
def command(
    point: options.PointOptions,
    files: tuple[str, ...],
    lets: tuple[str, ...],
    input_style: options.InputStyle,
    columns: str | None,
    unbuffered: bool,
    rows: row_options.Rows,
    cluster: cluster_options.Cluster,
    selection: row_options.Selection,
    totals: row_options.Totals,
    order: int,
    on_error: str,
    strict: bool,
    value_name: str,
) -> None:
    """Compute EXPR and its derivatives for every row of FILE, whose columns are the variables.

    FILE is CSV, TSV, NDJSON, .npy or .npz; with pyarrow installed, it can be Parquet, Arrow or Feather, and with the
    extra urls an https://, s3://, gs:// or az:// URL. Several files, or the files in a folder, are read one after the
    other. Without FILE, or with -, read standard input. With a folder as output, -o out/, every input file has an
    output file, and large files are split.

    \b
    autodiff map "sin(x)*exp(-y**2)" data.csv
    autodiff map "p*v/(n*8.314)" gas.csv --let p=pressure --order 2 -o gas.parquet
    autodiff map "u = x*y; v = u + x; u, v" data.csv
    autodiff map "log(x)" data.csv --where "x > 0" --keep-columns x
    autodiff map "(y - a*x)**2" data.csv --at a=2 --wrt a --mean
    tail -f log.csv | autodiff map "log(x)" --unbuffered
    """
    from autodiff_cli.command_result import head
    from autodiff_cli.compiler.threads import processors
    from autodiff_cli.data import pipeline, writers
    from autodiff_cli.data.mapping import Task
    from autodiff_cli.data.row_blocks import OutputStyle
    from autodiff_cli.report.progress import Progress

    source, target, form = row_options.opened(point.expr, files, rows, input_style, columns, unbuffered)
    settings = cluster.settings(target, unbuffered)
    task = Task(
        **point.keywords(),
        order=order,
        lets=dict(map(options.as_let, lets)),
        **selection.keywords(rows.quiet),
        engine=cluster.compiler,
        **totals.keywords(selection, unbuffered),
        on_error=on_error,
        strict=strict,
        value_name=value_name,
    )
    program = task.program()
    for name in task.unused(program):
        say(f"'{name}' does not occur in the expression")
    facts = {"expression": task.expression, "dtype": task.dtype, "order": task.order}
    if task.total is not None:
        facts |= {"total": task.total, "by": list(task.by)}
    style = OutputStyle(formats.FORMATS[form], {**head("map"), **facts}, rows.quiet, rows.precision, rows.color)
    style = style._replace(total=task.total or "", strict=strict)
    with Progress(visible=target is not None or not sys.stdout.isatty()) as tick:
        if settings is None:
            summary = pipeline.run(task, program, source, target, writers.writer(style), cluster.threads or processors(), tick)
        else:
            from autodiff_cli.data.parts import coordinator

            summary = coordinator.run(task, program, source, target, style, settings, tick, say)
    row_options.say_summary(summary, task, program)
