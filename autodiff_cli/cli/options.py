"""Options that commands share, and how a command line with an expression in it is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from autodiff_cli.formats import for_use

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Evaluation

FORMATS = for_use("result")

Command = Callable[..., Any]


class ExpressionCommand(click.Command):
    """A command whose argument is an expression, which may begin with a minus sign.

    An argument is an option only if it is exactly one that the command has (``--name``, ``--name=value``, ``-q``);
    ``-x**2`` and ``-h**2`` are expressions, and so is ``-q`` when it comes first and nothing else can be the expression.

    Attributes:
        most: how many arguments there may be that are no options; any number for ``None``.
    """

    most: int | None = 1

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        takes_value = {
            name: not getattr(option, "is_flag", False) and not getattr(option, "count", False)
            for option in self.get_params(context)
            if isinstance(option, click.Option)
            for name in (*option.opts, *option.secondary_opts)
        }
        first = args[0] if args else ""
        options, positional, unknown = self._sorted(args, takes_value, context)
        if len(first) == 2 and first in takes_value and self._is_given(first[1], args[1:]):
            # -q or -a as an expression, if nothing behind it can be one.
            rest, others, _ = self._sorted(args[1:], takes_value, context)
            if not others:
                return super().parse_args(context, [*rest, "--", first])
        if unknown and (positional or len(unknown) > 1):
            from autodiff_cli.cli.mistakes import unknown_option

            raise unknown_option(unknown[0], takes_value, context)
        positional += unknown
        if self.most is not None and len(positional) > self.most:
            from autodiff_cli.cli.mistakes import too_many

            raise too_many(positional, takes_value, context)
        return super().parse_args(context, [*options, "--", *positional])

    @staticmethod
    def _sorted(args: list[str], takes_value: dict[str, bool], context: click.Context) -> tuple[list[str], list[str], list[str]]:
        """Options with their values, positional arguments, and what looks like an option that there is not."""
        options: list[str] = []
        positional: list[str] = []
        unknown: list[str] = []
        given = list(args)
        while given:
            arg = given.pop(0)
            name = arg.partition("=")[0] if arg.startswith("--") else arg
            if arg == "--":
                positional += given
                break
            if name in takes_value:
                options.append(arg)
                if takes_value[name] and "=" not in arg[len(name) :]:
                    if not given:
                        raise click.UsageError(f"{name} needs a value", context)
                    options.append(given.pop(0))
            elif arg.startswith("--") and name[2:].replace("-", "").isidentifier():
                unknown.append(name)
            else:
                positional.append(arg)
        return options, positional, unknown

    @staticmethod
    def _is_given(variable: str, args: list[str]) -> bool:
        return any(arg.startswith(f"{variable}=") or f",{variable}=" in arg for arg in args)


def read_expression(text: str) -> str:
    """The expression itself, from standard input for ``-`` and from a file for ``@file``.

    Raises:
        FileError: if it cannot be read.
        LimitError: if it is too long.
    """
    if text == "-" or text.startswith("@"):
        return read_file(text.removeprefix("@")).rstrip("\n")
    return text


def read_file(path: str) -> str:
    """The text of a file, or of standard input for ``-``; see ``reading.text``."""
    from autodiff_cli.language import source_text

    return source_text.text(None if path == "-" else path)


def names(text: str | None) -> list[str] | None:
    """``x,y`` as a list."""
    if text is None:
        return None
    listed = [name.strip() for name in text.split(",")]
    if not all(listed):
        raise click.UsageError(f"a name is missing in '{text}'\n  hint: write names with commas between them: x,y")
    return listed


def stack(options: list[Command]) -> Command:
    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def format_default() -> str:
    return os.environ.get("AUTODIFF_FORMAT") or "table"


expression = click.argument("expr", metavar="EXPR")

_at = click.option(
    "--at", "-a", multiple=True, metavar="NAME=VALUE", help="Value of a variable; also x=1,y=2, [1, 2], 2*pi, @file."
)
_const = click.option("--const", multiple=True, metavar="NAME=VALUE", help="Value of what is not differentiated by.")
_dtype = click.option("--dtype", default="float64", show_default=True, metavar="float64|float32", help="Type of all numbers.")


def _lift(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        from autodiff_cli.limits import lift

        lift()


no_limits = click.option(
    "--no-limits", is_flag=True, expose_value=False, callback=_lift, help="Allow tensors and programs of any size."
)
_wrt = click.option("--wrt", metavar="x,y", help="Variables to differentiate by.  [default: every --at]")
values = stack([_at, _const, _wrt, _dtype, no_limits])
at, const = _at, _const
start = stack([_at, _const, _dtype, no_limits])
_wrt_rows = click.option("--wrt", metavar="x,y", help="Variables to differentiate by.  [default: all but --const]")
values_of_rows = stack([_at, _const, _wrt_rows, _dtype])
order = click.option("--order", default=1, show_default=True, metavar="N", type=int, help="Highest order of derivative.")
gradient = click.option("--gradient", metavar="EXPR", help="What backward starts from, for an output that is no scalar.")
_verify = click.option("--verify", is_flag=True, help="Compute all once more at 50 digits; how many digits are right.")
_digits = click.option("--digits", type=int, metavar="N", help="Print the numbers to N digits.")
verify = stack([_verify, _digits])
strict = click.option("--strict", is_flag=True, help="Exit with 4 if something is nan or infinite.")
quiet_notes = click.option("--quiet-notes", is_flag=True, help="No notes on standard error.")
_precision = click.option(
    "--precision", default=6, show_default=True, metavar="N", type=click.IntRange(1, 17), help="Digits in tables."
)
_color = click.option(
    "--color", default="auto", show_default=True, type=click.Choice(["auto", "always", "never"]), help="Colour in tables."
)
drawing = stack([_precision, _color])
as_json = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
with_latex = for_use("formula")


def format_of(formats: Sequence[str]) -> Command:
    """``--format``, with the names that a command has in its help; completion offers these."""
    listed = f"{', '.join(formats)}.  [default: table, or AUTODIFF_FORMAT]"
    return click.option("--format", "style", default=format_default, metavar="NAME", help=listed)


def _quiet(what: str) -> Command:
    return click.option("-q", "--quiet", is_flag=True, help=f"Bare {what}, one a line.")


output = stack([format_of(FORMATS), as_json, _quiet("numbers"), _precision, _color])
output_with_latex = stack([format_of(with_latex), as_json, _quiet("numbers"), _precision, _color])
formula_output = stack([format_of(with_latex), as_json, _quiet("expressions"), _color])
"""For expressions in place of numbers."""


def chosen_format(style: str, as_json: bool, formats: Sequence[str] = FORMATS) -> str:
    """The output format, one of those that a command has.

    Raises:
        UsageError: for one that does not exist.
    """
    if as_json:
        return "json"
    if style not in formats:
        from autodiff_cli.errors import UsageError
        from autodiff_cli.suggest import suggestion

        listed = f"use one of {', '.join(formats)}"
        context = click.get_current_context(silent=True)
        if context and style == os.environ.get("AUTODIFF_FORMAT") and _by_default(context, "style"):
            raise UsageError(
                f"AUTODIFF_FORMAT is '{style}', which {context.command.name} does not have", hint=f"{listed} with --format"
            )
        raise UsageError(f"unknown format '{style}'", hint=suggestion(style, formats) or listed)
    return style


def _by_default(context: click.Context, parameter: str) -> bool:
    return context.get_parameter_source(parameter) is click.core.ParameterSource.DEFAULT


def evaluation(source: str, switches: Mapping[str, Any]) -> Evaluation:
    """An expression evaluated with what ``values`` and ``gradient`` say."""
    from autodiff_cli.evaluation.bindings import bindings, value_or_file
    from autodiff_cli.evaluation.evaluation import Evaluation

    return Evaluation(
        source,
        bindings(switches["at"], "at"),
        bindings(switches["const"], "const"),
        names(switches["wrt"]),
        switches["dtype"],
        gradient=value_or_file(switches.get("gradient")),
    )


def in_digits(result: Any, *kinds: str) -> list[str]:
    """The numbers of a result to the digits of ``--digits``, as bare output has them; nothing without the option."""
    verified = result.verified
    if verified is None or verified.digits is None:
        return []
    return [text or "nan" for text in verified.bare(kinds)]


def beside(result: Any, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records with their right digits, if those were asked for."""
    return records if result.verified is None else result.verified.beside(records)


def say_verified(result: Any, quiet: bool, silent: bool) -> None:
    """Write the right digits to standard error, where standard output has bare numbers only."""
    verified = result.verified
    if quiet and not silent and verified is not None and verified.digits is None:
        from autodiff_cli.report.diagnostics import note

        sys.stderr.write(note(verified.summary()))


def say_notes(notes: list[dict[str, Any]], quiet: bool) -> None:
    """Notes go to standard error, unless nobody wants them there."""
    if notes and not quiet:
        from autodiff_cli.report.diagnostics import note

        sys.stderr.write("".join(note(each["message"]) for each in notes))
