"""The options of commands that write rows with columns beside those of files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from autodiff_cli import formats
from autodiff_cli.cli import options
from autodiff_cli.cli.options import InputStyle
from autodiff_cli.cli.output import Output, say
from autodiff_cli.errors import UsageError
from autodiff_cli.wording import plural

if TYPE_CHECKING:
    from autodiff_cli.command_result import Record
    from autodiff_cli.compiler.program import Compiled
    from autodiff_cli.data.mapping import Task
    from autodiff_cli.data.parts.coordinator import PartSettings
    from autodiff_cli.data.row_blocks import Input, Tally

_FROM_ENVIRONMENT = tuple(name for name in options.FORMATS if name in formats.WRITTEN and name != "table")
"""The formats of rows that the variable AUTODIFF_FORMAT may name."""


def check_order(expr: str, files: Sequence[str]) -> None:
    """Raise an error if a file precedes the expression, or standard input is both the expression and the data."""
    if os.path.isfile(expr) and files:
        name = click.get_current_context().command.name
        message = f"the expression must precede the files, but '{expr}' is a file\n  hint: use autodiff {name} EXPR {expr}"
        raise click.UsageError(message)
    if expr == "-" and (not files or "-" in files):
        raise click.UsageError("standard input cannot be both the expression and the data\n  hint: name a data file")


class Files(NamedTuple):
    """The files of a command that reads and writes rows.

    Attributes:
        source: the input files.
        target: the path of the output file; ``None`` for standard output.
        form: the name of the output format.
    """

    source: list[Input]
    target: str | None
    form: str


class Table(NamedTuple):
    """The options of a command that computes one result or every row of files: the files, the rows and the output."""

    files: tuple[str, ...]
    input_style: InputStyle
    let: dict[str, str]
    columns: list[str] | None
    on_error: str
    target: str | None
    style: str | None
    as_json: bool
    quiet: bool
    precision: int
    color: str
    keep: bool
    keep_columns: list[str] | None
    where: str | None
    quiet_notes: bool = False

    def opened(self, expr: str, unbuffered: bool = False) -> Files:
        """Return the files that the options name; raise ``UsageError`` if they do not fit together or ``expr`` is one of them.

        ``unbuffered`` says whether each row is computed as soon as it is read.
        """
        from autodiff_cli.data import output
        from autodiff_cli.data.inputs import named

        check_order(expr, self.files)
        source = named(self.files, self.input_style.style(self.files), self.columns, unbuffered)
        target = None if self.target in ("-", "/dev/stdout") else self.target
        output.check_not_input(target, [file.path for file in source])
        form = self._replace(target=target)._output_format(source[0].style)
        output.check_not_inside(target, form, self.files)
        return Files(source, target, form)

    def _output_format(self, input_format: str) -> str:
        """Return the format of the output, which the options must allow; without an option, CSV has the separators of the input."""
        form, input_name = self._format_name(input_format), formats.plain(input_format)
        is_named = self.style is not None or self.as_json
        if not is_named and formats.plain(form) == input_name:
            dialect = formats.FORMATS[input_format].dialect
            form = formats.variant(input_name, dialect._replace(comment="", skip_lines=0))
        if self.quiet and not formats.FORMATS[form].delimiter:
            raise UsageError(f"-q cannot be combined with {form}", hint="omit -q or the format")
        if formats.FORMATS[form].binary and self.target is None and sys.stdout.isatty():
            raise UsageError(f"refusing to write binary {form} to a terminal", hint=f"write it to a file: -o out.{form}")
        return form

    def _format_name(self, input_format: str) -> str:
        """Return the format that an option names, else that of the input for a folder, of a suffix, of the environment, or CSV."""
        from autodiff_cli.data import output

        if self.as_json:
            return "json"
        if self.style is not None:
            return formats.check_known(self.style, formats.WRITTEN, "format")
        if output.is_folder(self.target) and "*" not in str(self.target):
            return input_format
        is_device = self.target is not None and os.path.exists(self.target) and not os.path.isfile(self.target)
        if self.target is not None and not is_device:
            return formats.format_of_path(self.target, formats.WRITTEN, "format")
        default = os.environ.get("AUTODIFF_FORMAT", "")
        if default not in _FROM_ENVIRONMENT or (self.quiet and not formats.FORMATS[default].delimiter):
            return "csv"
        return default

    def keywords(self) -> dict[str, Any]:
        """Return the options as keyword arguments of ``data.mapping.Task``; two that exclude each other raise ``UsageError``."""
        keeps = self.keep and not self.quiet
        if not keeps and self.keep_columns is not None:
            option = "-q" if self.quiet else "--no-keep"
            raise UsageError(f"{option} and --keep-columns exclude each other", hint="remove one of them")
        rows = {"lets": self.let, "on_error": self.on_error, "where": self.where}
        return {**rows, "keep": keeps, "keep_columns": self.keep_columns}

    def output(self, strict: bool = False) -> Output:
        """Return the options for the output of one result instead of rows, which must not be selected.

        The format is that of ``--format``, else that of the suffix of the file, else the default.
        """
        if self.where is not None:
            raise UsageError("--where selects rows of files", hint="name a file; - reads standard input")
        path = None if self.target == "-" else self.target
        style = options.style_of(path, formats.for_use("formula file")) if path and not self.style else self.style
        style = options.chosen_format(style or options.format_default(), self.as_json, formats.for_use("formula"))
        result = Output(style, self.quiet, self.precision, self.color, self.quiet_notes, strict, path)
        return result.checked(self.as_json or self.style is not None)

    def check_single(self, single: Mapping[str, object], hint: str) -> None:
        """Raise an error if there are files, and an option for one result is set; ``single`` has these options by name."""
        for name, value in single.items():
            if value and self.files:
                raise UsageError(f"--{name.replace('_', '-')} does not apply to rows", hint=f"leave it out, or {hint}")


_table_options = (
    click.argument("files", metavar="[FILE]...", nargs=-1),
    *(options.input_style, options.let, options.columns, options.on_error),
    click.option("-o", "--output", "target", metavar="FILE", help="File to write.  [default: standard output]"),
    click.option(
        "--format",
        "style",
        metavar="NAME",
        help=f"Output format: {', '.join(formats.WRITTEN)}.  [default: from the file name, or csv]",
    ),
    *(options.as_json, options.quiet("Print only the numbers, without a header or input columns."), options.drawing),
    *(options.keep, options.where),
    options.names("--keep-columns", metavar="a,b", text="Input columns to copy, in this order."),
)
every_row = options.together("table", Table, *_table_options)
"""The options of a command that computes every row of files, passed as the argument ``table``."""
table = options.together("table", Table, *_table_options, options.quiet_notes)
"""The options of a command that computes one result or every row of files, passed as the argument ``table``."""


class Totals(NamedTuple):
    """The options for sums and means over rows."""

    sum: bool
    mean: bool
    groups: list[str] | None

    def keywords(self, table: Table, unbuffered: bool) -> dict[str, Any]:
        """Return the options as keyword arguments of ``data.mapping.Task``; two that exclude each other raise ``UsageError``."""
        kind = "sum" if self.sum else "mean" if self.mean else None
        if kind is None and self.groups is not None:
            raise click.UsageError("--by groups the rows of a sum or mean\n  hint: add --sum or --mean")
        excluded = {
            "--mean": self.sum and self.mean,
            "--keep-columns": table.keep_columns is not None,
            "--unbuffered": unbuffered,
        }
        for option, is_set in excluded.items():
            if kind is not None and is_set:
                raise click.UsageError(f"--{kind} and {option} exclude each other\n  hint: remove one of them")
        return {"total": kind, "by": self.groups or ()}


totals = options.together(
    "totals",
    Totals,
    click.option("--sum", is_flag=True, help="Write the sum of each result over all rows instead of the rows."),
    click.option("--mean", is_flag=True, help="Write the mean of each result over all rows instead of the rows."),
    options.names("--by", "groups", metavar="a,b", text="Columns of the groups of --sum or --mean, with one row for each group."),
)


def write_rows(
    task: Task,
    program: Compiled,
    files: Files,
    table: Table,
    facts: Record,
    threads: int | None = None,
    parts: PartSettings | None = None,
) -> Tally:
    """Compute a task for every row, write the results, and return the counts of rows; progress is shown if the output is not.

    Args:
        task, program: the computation for each row, and its compiled form.
        files, table: the files, and the options for the output.
        facts: the entries at the beginning of the JSON object.
        threads: the number of threads; by default, one for each processor.
        parts: the settings of an evaluation in parts; ``None`` to compute one file in this process.
    """
    from autodiff_cli.compiler.threads import processors
    from autodiff_cli.data import pipeline, writers
    from autodiff_cli.data.row_blocks import OutputStyle
    from autodiff_cli.report.progress import progress

    source, target, form = files
    style = OutputStyle(formats.FORMATS[form], facts, table.quiet, table.precision, table.color, task.total or "", task.strict)
    with progress(visible=target is not None or not sys.stdout.isatty()) as tick:
        if parts is None:
            return pipeline.run(task, program, source, target, writers.writer(style), threads or processors(), tick)
        from autodiff_cli.data.parts import coordinator

        return coordinator.run(task, program, source, target, style, parts, tick, say)


MANY = 1_000
"""The minimum number of rows for the note that every row was evaluated separately."""


def report_tally(summary: Tally, task: Task, program: Compiled) -> None:
    """Write notes on rows without a result, on rows with results that are not finite, and on slow evaluation."""
    is_traced = program.reason is None  # otherwise, every row is evaluated separately, for this reason
    if summary.bad:
        # Evaluated separately, a row may also fail for another reason, and the first bad one is then not known.
        cells, which = ("with non-numeric cells", "the first") if is_traced else ("without a value", "one")
        verb = "was" if summary.bad == 1 else "were"
        done = "skipped" if task.on_error == "skip" else "set to nan"
        say(f"{plural(summary.bad, 'row')} {cells} {verb} {done}; {which} is {summary.first_bad}")
    if summary.odd:
        reason = task.reason(summary.first_at)
        where = f"{summary.first_odd} ({reason})" if reason else summary.first_odd
        say(f"{plural(summary.odd, 'row')} with results that are not finite; the first is {where}")
    if not is_traced and summary.rows >= MANY:
        say(f"every row was evaluated separately, which is slow: {program.reason}")
