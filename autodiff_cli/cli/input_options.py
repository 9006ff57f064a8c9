"""The options of commands that read rows of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import click

from autodiff_cli import formats
from autodiff_cli.cli import options


class InputStyle(NamedTuple):
    """The options for the format of the input."""

    input_format: str | None
    delimiter: str | None
    decimal: str
    comment: str | None
    skip_lines: int

    def style(self, files: Sequence[str]) -> str | None:
        """Return the format of the files, which may be a variant of CSV; ``None`` to use their suffixes.

        Raises:
            UsageError: if the format is unknown, or if an option that describes CSV is given for another format.
        """
        from autodiff_cli.errors import UsageError

        style = None if self.input_format is None else formats.check_known(self.input_format, formats.READ, "input_format")
        delimiter = _NAMED.get(self.delimiter or "", self.delimiter or "")
        dialect = formats.Dialect(delimiter, self.decimal, self.comment or "", self.skip_lines)
        if dialect == formats.Dialect():
            return style
        base = style or (formats.of_suffix(formats.uncompressed(files[0]), formats.READ) if files else None) or "csv"
        usual = formats.FORMATS[base].delimiter
        if not usual:
            raise UsageError(f"{_DIALECT} describe CSV, not {base}", hint="remove them")
        if not _is_delimiter(delimiter):
            raise UsageError(f"--delimiter: {self.delimiter!r} is not a delimiter", hint="use one character such as ; or |, or tab")
        if self.decimal not in (".", ","):
            raise UsageError(f"--decimal: {self.decimal!r} is not a decimal separator", hint="use . or ,")
        if self.decimal == (delimiter or usual):
            raise UsageError(f"{self.decimal!r} cannot be both the delimiter and the decimal separator", hint="set --delimiter ';'")
        return formats.variant(base, dialect)


def _is_delimiter(text: str) -> bool:
    """Return whether a text is empty or a character that cannot be part of a number or of a quoted cell."""
    return not text or (len(text) == 1 and text.isascii() and text not in '"\n\r0123456789+-eE')


_DIALECT = "--delimiter, --decimal, --comment and --skip-lines"
_NAMED = {"tab": "\t", "\\t": "\t"}
"""The names of delimiters that are hard to type."""
input_style = options.together(
    "input_style",
    InputStyle,
    click.option(
        "--input-format", metavar="NAME", help=f"Input format: {', '.join(formats.READ)}.  [default: from the file name, or csv]"
    ),
    click.option(
        "--delimiter", metavar="CHAR", help="Character between the cells of CSV, such as ; or tab.  [default: from the format]"
    ),
    click.option("--decimal", default=".", metavar=".|,", help="Decimal separator of CSV.  [default: .]"),
    click.option("--comment", metavar="TEXT", help="Beginning of lines of CSV that are not read."),
    click.option("--skip-lines", default=0, metavar="N", type=click.IntRange(0), help="Number of lines before the header of CSV."),
)
let = click.option("--let", "lets", multiple=True, metavar="NAME=COLUMN", help="Column of a variable, if their names differ.")
columns = click.option("--columns", metavar="x,y", help="Column names for a file without a header.")
on_error = click.option(
    "--on-error",
    default="stop",
    show_default=True,
    type=click.Choice(["stop", "nan", "skip"]),
    help="Treatment of rows with non-numeric cells: stop, read the cells as nan, or skip the row.",
)
where = click.option(
    "--where",
    metavar="EXPR",
    help="Condition on rows, such as 'x > 0 and name == \"soft\"'; rows for which it is false or nan are left out.",
)
keep = click.option("--keep/--no-keep", default=True, help="Copy the input columns to the output.  [default: keep]")


def as_let(text: str) -> tuple[str, str]:
    """Split ``NAME=COLUMN``."""
    name, equals, column = text.partition("=")
    if not equals or not name.strip().isidentifier() or not column:
        raise click.UsageError(f"--let expects NAME=COLUMN, but got '{text}'\n  hint: write --let \"r=Radius (mm)\"")
    return name.strip(), column
