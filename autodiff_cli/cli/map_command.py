"""``autodiff map``: value and derivatives for every row of a file or stream."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from autodiff_cli import formats
from autodiff_cli.cli import cluster_options, options

if TYPE_CHECKING:
    from autodiff_cli.data.mapping import Task
    from autodiff_cli.data.pipeline import Inputs, Summary

_FROM_ENVIRONMENT = tuple(name for name in options.FORMATS if name in formats.WRITTEN and name != "table")
_WRITTEN = ", ".join(formats.WRITTEN)
_ON_ERROR = ("stop", "nan", "skip")


class RowsCommand(options.ExpressionCommand):
    """An expression, then files."""

    most = None


@click.command("map", cls=RowsCommand, short_help="Value and derivatives for every row of a file.")
@options.expression
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option("-o", "--output", "target", metavar="FILE", help="Where to write.  [default: standard output]")
@click.option("--in-place", is_flag=True, help="Replace the input file when all is done.")
@click.option("--format", "style", metavar="NAME", help=f"Of the output: {_WRITTEN}.  [default: what -o says, or csv]")
@click.option("--input-format", metavar="NAME", help="Of the input, if its name does not say.  [default for a pipe: csv]")
@click.option("--let", "lets", multiple=True, metavar="NAME=COLUMN", help="A variable whose column has another name.")
@click.option("--columns", metavar="x,y", help="Names of the columns of a file that has none.")
@options.values_of_rows
@options.order
@click.option("--keep/--no-keep", default=True, help="Pass the columns of the input through.  [default: keep]")
@click.option("--value-name", default="value", show_default=True, metavar="NAME", help="What the column of values is called.")
@click.option("--derivative-name", default="d_{}", show_default=True, metavar="TEXT", help="What derivatives are called.")
@click.option("--on-error", default="stop", show_default=True, type=click.Choice(_ON_ERROR), help="If a cell is no number.")
@options.strict
@click.option("--threads", metavar="N", type=click.IntRange(1), help="How many work at a time.  [default: all processors]")
@click.option("--unbuffered", is_flag=True, help="Write a row when it comes in.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-q", "--quiet", is_flag=True, help="Bare numbers: no header, no columns of the input.")
@cluster_options.of_cluster
@options.drawing
def command(expr: str, files: tuple[str, ...], target: str | None, threads: int | None, **switches: Any) -> None:
    """Compute EXPR and its derivatives for every row of FILE, whose columns are the variables.

    Files are CSV, TSV, NDJSON, .npy and .npz; with pyarrow also Parquet, Arrow and Feather. Several are read one after
    the other; without FILE, or with -, standard input is.

    \b
    autodiff map "sin(x)*exp(-y**2)" data.csv
    autodiff map "p*v/(n*8.314)" gas.csv --let p=pressure --order 2 -o gas.parquet
    tail -f log.csv | autodiff map "log(x)" --unbuffered
    """
    from autodiff_cli.compiler.program import processors
    from autodiff_cli.data import inputs, output, pipeline, writers
    from autodiff_cli.data.block import OutputStyle
    from autodiff_cli.report.progress import Progress

    if os.path.isfile(expr) and files:
        raise click.UsageError(f"the expression comes first, then files; '{expr}' is a file\n  hint: autodiff map EXPR {expr}")
    if expr == "-" and (not files or "-" in files):
        raise click.UsageError("standard input cannot be the expression and the data\n  hint: name a file with the data")
    input_style = switches["input_format"] and formats.check_known(switches["input_format"], formats.READ, "input_format")
    paths = inputs.expanded(files)
    target = None if target == "-" else target
    if switches["in_place"]:
        target = _replaced(paths, target)
    else:
        output.check_not_input(target, paths)
    source = pipeline.Inputs(paths, input_style, options.names(switches["columns"]), switches["unbuffered"])
    cluster = cluster_options.settings(target, threads=threads, **switches)
    form = _format(target, source, **switches)
    task = _task(expr, **switches)
    program = task.program()
    for name in task.unused(program):
        sys.stderr.write(f"note: '{name}' does not occur in the expression\n")
    for text in task.reductions(program):
        sys.stderr.write(f"note: {text} is of one row, not of a column: every row is computed by itself\n")
    style = OutputStyle(formats.FORMATS[form], _head(task), switches["quiet"], switches["precision"], switches["color"])
    with Progress(shown=target is not None or not sys.stdout.isatty()) as tick:
        if cluster is None:
            summary = pipeline.run(task, program, source, target, writers.writer(style), threads or processors(), tick)
        else:
            from autodiff_cli.data.cluster import coordinator

            summary = coordinator.run(task, program, source, target, style, cluster, tick)
    _say(summary, task, program)


def _replaced(paths: Any, target: str | None) -> str:
    if target is not None or len(paths) != 1 or paths[0] is None:
        raise click.UsageError("--in-place replaces one input file\n  hint: name one file, without -o")
    return str(paths[0])


def _format(target: str | None, source: Inputs, style: str | None, as_json: bool, quiet: bool, in_place: bool, **_: Any) -> str:
    """The format of the output."""
    from autodiff_cli.data import output
    from autodiff_cli.data.inputs import style_of
    from autodiff_cli.errors import UsageError

    if style is not None or as_json:
        chosen = formats.check_known("json" if as_json else str(style), formats.WRITTEN, "format")
    elif in_place or (output.is_folder(target) and "*" not in str(target)):
        chosen = style_of(source.paths[0], source.style)
    elif target is not None and (not os.path.exists(target) or os.path.isfile(target)):
        chosen = formats.of_path(str(target), formats.WRITTEN, "format")
    else:
        wanted = os.environ.get("AUTODIFF_FORMAT", "")
        chosen = wanted if wanted in _FROM_ENVIRONMENT else "csv"
        chosen = "csv" if quiet and not formats.FORMATS[chosen].delimiter else chosen
    if in_place:
        _check_stays(str(source.paths[0]), style_of(source.paths[0], source.style), chosen, quiet)
    if quiet and not formats.FORMATS[chosen].delimiter:
        raise UsageError(f"-q cannot be combined with {chosen}", hint="leave out -q or the format")
    if formats.FORMATS[chosen].binary and target is None and sys.stdout.isatty():
        raise UsageError(f"refusing to write binary {chosen} to a terminal", hint=f"write it to a file: -o out.{chosen}")
    return chosen


def _check_stays(path: str, given: str, chosen: str, quiet: bool) -> None:
    """A file that is replaced stays what its name says, and keeps its header."""
    from autodiff_cli.errors import UsageError

    if quiet:
        raise UsageError(
            f"--in-place with -q would leave bare numbers in '{path}'", hint="leave -q away, or write to another file: -o FILE"
        )
    if chosen != given:
        message = f"--in-place would make '{path}', which is {given}, a file of the format {chosen}"
        raise UsageError(message, hint=f"leave the format away, or write to another file: -o FILE --format {chosen}")


def _task(
    expr: str,
    at: tuple[str, ...],
    const: tuple[str, ...],
    wrt: str | None,
    lets: tuple[str, ...],
    quiet: bool,
    keep: bool,
    **switches: Any,
) -> Task:
    from autodiff_cli.data.mapping import Task
    from autodiff_cli.evaluation.bindings import bindings

    chosen = ("order", "dtype", "on_error", "strict", "value_name", "derivative_name")
    return Task(
        options.read_expression(expr),
        options.names(wrt),
        at=bindings(at, "at"),
        const=bindings(const, "const"),
        lets=dict(_let(text) for text in lets),
        keep=keep and not quiet,
        **{name: switches[name] for name in chosen},
    )


def _let(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not equals or not name.strip().isidentifier() or not column:
        raise click.UsageError(f"--let needs NAME=COLUMN, but got '{text}'\n  hint: write --let \"r=Radius (mm)\"")
    return name.strip(), column


def _head(task: Task) -> dict[str, Any]:
    return {"schema": 1, "command": "map", "expression": task.expression, "dtype": task.dtype, "order": task.order}


MANY = 1_000
"""Rows from which on it matters that each was evaluated by itself."""


def _say(summary: Summary, task: Task, program: Any) -> None:
    """What was wrong with rows, and why it took so long, on standard error."""
    for note in summary.notes:
        sys.stderr.write(f"note: {note}\n")
    if summary.bad:
        what = "left out" if task.on_error == "skip" else "counted as nan"
        rows = f"{summary.bad:,} row{'s' if summary.bad > 1 else ''}"
        wrong, which = ("without a value", "one") if program.engine == "rows" else ("with cells that are no numbers", "the first")
        sys.stderr.write(f"note: {rows} {wrong}, {what}; {which} is {summary.first_bad}\n")
    if summary.odd:
        rows = f"{summary.odd:,} row{'s' if summary.odd > 1 else ''}"
        reason = task.reason(summary.first_at)
        sys.stderr.write(
            f"note: {rows} with results that are not finite; the first is {summary.first_odd}{reason and f' ({reason})'}\n"
        )
    if program.engine == "rows" and summary.rows >= MANY:
        sys.stderr.write(f"note: every row was evaluated by itself, which is slow: {program.reason}\n")
