"""``autodiff map``: the value and derivatives for every row of a file or stream."""

from __future__ import annotations

from typing import Any

import click

from autodiff_cli.cli import cluster_options, options, row_options
from autodiff_cli.cli.expression_command import RowsCommand
from autodiff_cli.cli.output import say
from autodiff_cli.cli.program_text import read_expression


@click.command("map", cls=RowsCommand)
@options.evaluated_in_rows
@options.order()
@row_options.every_row
@click.option("--unbuffered", is_flag=True, help="Write each row as soon as it is read.")
@row_options.totals
@options.strict
@cluster_options.cluster
def command(
    expr: str,
    table: row_options.Table,
    totals: row_options.Totals,
    cluster: cluster_options.Cluster,
    unbuffered: bool,
    **settings: Any,
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
    from autodiff_cli.data.mapping import Task

    files = table.opened(expr, unbuffered)
    parts = cluster.settings(files.target, unbuffered)
    totalled = totals.keywords(table, unbuffered)
    task = Task(read_expression(expr), **table.keywords(), **totalled, engine=cluster.compiler, **settings)
    program = task.program()
    for name in task.unused(program):
        say(f"'{name}' does not occur in the expression")
    facts = {**head("map"), "expression": task.expression, "dtype": task.dtype, "order": task.order}
    if task.total is not None:
        facts |= {"total": task.total, "by": list(task.by)}
    summary = row_options.write_rows(task, program, files, table, facts, cluster.threads, parts)
    row_options.report_tally(summary, task, program)
