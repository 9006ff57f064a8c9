"""The options that several commands share; ``help_sections`` has their order in help texts.

The texts of values and names are converted when the command line is read, so that a command passes its settings to the library as
they are.  It receives each group of other options as one argument, such as ``Output``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import click

from autodiff_cli import formats as known
from autodiff_cli.cli.output import Output
from autodiff_cli.cli.program_text import read_expression
from autodiff_cli.errors import UsageError
from autodiff_cli.formats import Use

FORMATS = known.for_use("result")

Function = Callable[..., Any]
"""The function of a command, which click calls with keyword arguments."""
Decorator = Callable[[Function], Function]
Callback = Callable[[click.Context, click.Parameter, Any], Any]
"""A function that click calls with the value of an option, and that returns the value for the command."""


def converted(convert: Callable[[Any], Any], default: object = None) -> Callback:
    """Return the callback of an option whose value is converted, but not for completion; without a value, it is ``default``."""

    def callback(context: click.Context, _: click.Parameter, value: Any) -> Any:
        if value is None:
            return default
        return value if context.resilient_parsing else convert(value)

    return callback


def _names(text: str) -> list[str]:
    """Return the names in a text such as ``x,y``; a name with a comma is quoted as in CSV."""
    import csv

    try:
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True, strict=True))]
    except csv.Error:
        hint = "separate names with commas, and quote a name with a comma: 'x,\"a,b\"'"
        raise UsageError(f"'{text}' is not a list of names", hint=hint) from None
    if not names or not all(names):
        raise UsageError(f"a name is missing in '{text}'", hint="separate names with commas: x,y")
    return names


def names(*options: str, metavar: str, text: str, default: Sequence[str] | None = None) -> Decorator:
    """Return the decorator for an option whose values are lists of names, which are joined; ``text`` is its help text."""

    def joined(lists: tuple[str, ...]) -> Sequence[str] | None:
        return [name for names in lists for name in _names(names)] or default

    return click.option(*options, multiple=True, metavar=metavar, callback=converted(joined), help=text)


def texts_by_name(option: str, metavar: str, text: str, example: str) -> Decorator:
    """Return an option whose values, such as ``NAME=COLUMN``, are texts by name; ``example`` is one for the hint of an error."""

    def by_name(values: tuple[str, ...]) -> dict[str, str]:
        """Return the text after ``=`` by the name before it; neither may be empty."""
        texts = {}
        for value in values:
            name, _, after = value.partition("=")
            if not (name.strip().isidentifier() and after.strip()):
                raise UsageError(f"{option} expects {metavar}, but got '{value}'", hint=f"write {option} {example}")
            texts[name.strip()] = after
        return texts

    return click.option(option, multiple=True, metavar=metavar, callback=converted(by_name), help=text)


def _read_value(text: str) -> Any:
    """Return the array in a file for ``@file``, and any other text unchanged."""
    from autodiff_cli.evaluation.bindings import from_file

    return from_file(text[1:]) if text.startswith("@") else text


def bindings(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> Any:
    """Return the values in texts such as ``x=1,y=2``, by name, or the texts for completion; the callback of ``--at``."""
    from autodiff_cli.evaluation import bindings

    return texts if context.resilient_parsing else bindings.bindings(texts, str(parameter.name))


def stack(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in the order of the help text."""

    def decorate(function: Function) -> Function:
        for each in reversed(options):
            function = each(function)
        return function

    return decorate


def together(name: str, make: Callable[..., object], *options: Decorator) -> Decorator:
    """Return a decorator that adds options and passes their values as one argument.

    Args:
        name: the name of the argument.
        make: the record or the function that receives the values as keyword arguments and returns the argument; a record may have
            other groups of options as fields.
        options: the decorators that add the options.
    """
    keys = make.__annotations__ if isinstance(make, type) else _parameter_names(options)

    def decorate(function: Function) -> Function:
        """Return the function of a command with the options."""

        @wraps(function)
        def command(**values: Any) -> None:
            """Call the function of the command with the values of these options as one argument, and of all others as they are."""
            own = {key: values.pop(key) for key in keys if key in values}
            function(**values, **{name: make(**own)})

        return stack(*options)(command)

    return decorate


def _parameter_names(options: Sequence[Decorator]) -> list[str]:
    """Return the names of the arguments with which click passes the values of options."""
    function = stack(*options)(lambda: None)
    return [parameter.name for parameter in vars(function)["__click_params__"]]  # in which click keeps the options


def _lift(context: click.Context, parameter: click.Parameter, is_set: bool) -> None:
    """Lift the limits for this command; the callback of ``--no-limits``, which does nothing during completion."""
    if is_set and not context.resilient_parsing:
        from autodiff_cli.limits import lift

        lift()


expression = click.argument("expression", metavar="EXPR", callback=converted(read_expression))
row_expression = click.argument("expr", metavar="EXPR")
"""The expression of a command with files, which is read after the files are checked."""


def bound(text: str, *names: str) -> Decorator:
    """Return the option for the values of some names, by default ``--at``."""
    return click.option(*(names or ("--at", "-a")), multiple=True, metavar="NAME=VALUE", callback=bindings, help=text)


_AT = "Value of a variable. VALUE is a number, an expression such as 2*pi or [1, 2], or @file; x=1,y=2 sets several variables."
at = bound(_AT)
const = bound("Value of a constant, which is not differentiated.", "--const")


def starts(text: str) -> Decorator:
    """Return the option for the starts of variables or parameters."""
    return click.option("--at", "-a", multiple=True, metavar="NAME=VALUE", help=text)


dtype = click.option("--dtype", default="float64", show_default=True, metavar="float64|float32", help="Type of all numbers.")
no_limits = click.option(
    "--no-limits", is_flag=True, expose_value=False, callback=_lift, help="Allow tensors and programs of any size."
)
gradient = click.option(
    "--gradient",
    metavar="EXPR",
    callback=converted(_read_value),
    help="Gradient that starts the backward pass; required if the output is not a scalar.",
)
row_vector = click.option(
    "--vector",
    "--gradient",
    "vector",
    metavar="EXPR",
    callback=converted(_read_value),
    help="Vector to multiply by, in the shape of the output.  [default: 1]",
)


def wrt(default: str) -> Decorator:
    """Return the option for the differentiation variables."""
    return names("--wrt", metavar="x,y", text=f"Variables to differentiate with respect to.  [default: {default}]")


def order(text: str = "Highest order of derivative.", default: int = 1) -> Decorator:
    """Return the option for the highest order of derivative."""
    return click.option("--order", default=default, show_default=True, metavar="N", type=int, help=text)


_variables = stack(wrt("every --at variable"), dtype, no_limits)
evaluated = stack(expression, at, const, _variables)
"""The options for an expression with values."""
evaluated_in_rows = stack(row_expression, at, const, wrt("all but --const"), dtype)
"""The options for an expression whose values come from options and columns."""
evaluated_from = stack(evaluated, gradient)
"""The options for an expression with values and an initial gradient."""
multiplied_from_left = stack(evaluated, row_vector)
"""The options for an expression with values and a vector in the shape of its output."""
evaluated_at_ranges = stack(expression, starts(_AT), const, _variables, gradient)
"""The options for an expression with values and ranges, and an initial gradient."""

verify = stack(
    click.option("--verify", is_flag=True, help="Compute all numbers again with 50 digits, and count the digits that agree."),
    click.option("--digits", type=int, metavar="N", help="Number of digits to compute and print."),
)
strict = click.option("--strict", is_flag=True, help="Exit with code 4 if a number is nan or infinite.")
quiet_notes = click.option("--quiet-notes", is_flag=True, help="Do not print notes.")
precision = click.option(
    "--precision", default=6, show_default=True, metavar="N", type=click.IntRange(1, 17), help="Significant digits in tables."
)
color = click.option(
    "--color", default="auto", show_default=True, type=click.Choice(["auto", "always", "never"]), help="Color in tables."
)
drawing = stack(precision, color)
as_json = click.option("--json", "as_json", is_flag=True, help="Same as --format json.")


def quiet(text: str) -> Decorator:
    """Return the option for output without tables or names."""
    return click.option("-q", "--quiet", is_flag=True, help=text)


def format_default() -> str:
    """Return the default format: the value of ``AUTODIFF_FORMAT``, or ``table``."""
    return os.environ.get("AUTODIFF_FORMAT") or "table"


def names_format() -> bool:
    """Return whether the command line or ``AUTODIFF_FORMAT`` names an output format."""
    return _is_given("style") or bool(os.environ.get("AUTODIFF_FORMAT"))


def _is_given(name: str) -> bool:
    """Return whether the command line contains an option."""
    return click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def output(*more: Decorator, use: Use = "result", bare: str = "numbers", files: Sequence[Use] = ()) -> Decorator:
    """Return a decorator that adds the output options, passed as the argument ``out``.

    Args:
        more: additional options, such as ``strict``, ``quiet_notes`` and ``precision``.
        use: the group of output formats of the command; see ``formats.Use``.
        bare: a description of the output of ``-q`` for the help text; empty for a command without ``-q``.
        files: the groups of file formats of ``-o``; empty for a command without ``-o``.
    """
    formats = known.for_use(use)
    file_formats = known.for_use(*files)

    def chosen_output(style: str, as_json: bool, path: str | None = None, **others: Any) -> Output:
        """Return the output that the values of the options describe; ``others`` are those that ``Output`` has as well."""
        style = style_of(path, file_formats) if path else chosen_format(style, as_json, formats)
        return Output(style, path=path or None, **others).checked(as_json or _is_given("style"))

    help_text = f"Output format: {', '.join(formats)}.  [default: AUTODIFF_FORMAT, or table]"
    own: list[Decorator] = [click.option("--format", "style", default=format_default, metavar="NAME", help=help_text), as_json]
    if files:
        target = f"File to write; its suffix selects the format: {known.suffixes(file_formats)}."
        own.insert(0, click.option("-o", "--output", "path", metavar="FILE", help=target))
    if bare:
        own.append(quiet(f"Print only the {bare}, one per line."))
    return together("out", chosen_output, *own, *more, color)


numbers_output = output(strict, quiet_notes, precision)
"""The output options of commands that print numbers and notes on them."""

matrix_output = output(strict, quiet_notes, precision, use="formula")
"""The output options of commands whose results are also written as LaTeX."""


def style_of(path: str, files: tuple[str, ...]) -> str:
    """Return the format for the suffix of a file; raise ``UsageError`` if none of the formats ``files`` has it."""
    result = known.format_of_suffix(path, files)
    if result is None:
        hint = f"use a name that ends in one of {known.suffixes(files)}"
        raise UsageError(f"cannot tell the format of '{path}' from its name", hint=hint)
    return result


def chosen_format(style: str, as_json: bool, formats: Sequence[str]) -> str:
    """Return the output format: ``json`` for ``as_json``, else ``style``, which the command line or the environment names.

    A format that is not one of ``formats`` raises ``UsageError``, which says who named it.
    """
    if as_json:
        return "json"
    if style in formats:
        return style
    from autodiff_cli.suggest import suggestion

    hint = f"use one of {', '.join(formats)}"
    if style == os.environ.get("AUTODIFF_FORMAT") and not _is_given("style"):
        name = click.get_current_context().command.name
        raise UsageError(f"AUTODIFF_FORMAT is '{style}', which is not a format of {name}", hint=f"{hint} with --format")
    raise UsageError(f"unknown format '{style}'", hint=suggestion(style, formats) or hint)


class InputStyle(NamedTuple):
    """The options for the format of the input."""

    input_format: str | None
    delimiter: str | None
    decimal: str
    comment: str | None
    skip_lines: int

    def style(self, files: Sequence[str]) -> str | None:
        """Return the format of the files, which may be a variant of CSV; ``None`` to use their suffixes."""
        style = None if self.input_format is None else known.check_known(self.input_format, known.READ, "input_format")
        delimiter = _DELIMITERS.get(self.delimiter or "", self.delimiter or "")
        dialect = known.Dialect(delimiter, self.decimal, self.comment or "", self.skip_lines)
        if dialect == known.Dialect():
            return style
        of_suffix = known.format_of_suffix(known.uncompressed(files[0]), known.READ) if files else None
        base = style or of_suffix or "csv"
        self._check_dialect(base, delimiter)
        return known.variant(base, dialect)

    def _check_dialect(self, base: str, delimiter: str) -> None:
        """Raise an error if the format is not a form of CSV, or a separator is wrong; ``delimiter`` is empty for the usual one."""
        usual = known.FORMATS[base].delimiter
        if not usual:
            raise UsageError(f"{_DIALECT} describe CSV, not {base}", hint="remove them")
        if not _is_delimiter(delimiter):
            raise UsageError(f"--delimiter: {self.delimiter!r} is not a delimiter", hint="use one character such as ; or |, or tab")
        if self.decimal not in (".", ","):
            raise UsageError(f"--decimal: {self.decimal!r} is not a decimal separator", hint="use . or ,")
        if self.decimal == (delimiter or usual):
            raise UsageError(f"{self.decimal!r} cannot be both the delimiter and the decimal separator", hint="set --delimiter ';'")


def _is_delimiter(text: str) -> bool:
    """Return whether a text is empty or a character that cannot be part of a number or of a quoted cell."""
    return not text or (len(text) == 1 and text.isascii() and text not in '"\n\r0123456789+-eE')


_DIALECT = "--delimiter, --decimal, --comment and --skip-lines"
_DELIMITERS = {"tab": "\t", "\\t": "\t"}
"""The names of delimiters that are hard to type."""
input_style = together(
    "input_style",
    InputStyle,
    click.option(
        "--input-format", metavar="NAME", help=f"Input format: {', '.join(known.READ)}.  [default: from the file name, or csv]"
    ),
    click.option(
        "--delimiter", metavar="CHAR", help="Character between the cells of CSV, such as ; or tab.  [default: from the format]"
    ),
    click.option("--decimal", default=".", metavar=".|,", help="Decimal separator of CSV.  [default: .]"),
    click.option("--comment", metavar="TEXT", help="Beginning of lines of CSV that are not read."),
    click.option("--skip-lines", default=0, metavar="N", type=click.IntRange(0), help="Number of lines before the header of CSV."),
)
columns = names("--columns", metavar="x,y", text="Column names for a file without a header.")
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
    callback=converted(read_expression),
    help="Condition on rows, such as 'x > 0 and name == \"soft\"'; rows for which it is false or nan are left out.",
)
keep = click.option("--keep/--no-keep", default=True, help="Copy the input columns to the output.  [default: keep]")
let = texts_by_name("--let", "NAME=COLUMN", "Column of a variable, if their names differ.", '"r=Radius (mm)"')
bounds = click.option(
    "--bounds", multiple=True, metavar="NAME=FROM:TO", help="Interval of a variable or parameter, such as b=0:10 or b=0:."
)
trace = click.option("--trace", is_flag=True, help="Print a row for every step instead of the result; see --format.")
level = click.option(
    "--level",
    default=0.95,
    show_default=True,
    metavar="P",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Confidence level of the intervals.",
)
symmetric = names("--symmetric", metavar="S,...", text="Names of symmetric matrices.", default=())
shape = texts_by_name("--shape", "NAME=m,n", "Lengths of a vector or matrix: names or numbers.", "A=m,n or --shape x=3")
