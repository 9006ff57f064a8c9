"""Error messages for wrong command lines, with hints that suggest a correction."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence

import click

from autodiff_cli.errors import AutodiffError, UsageError
from autodiff_cli.formats import FORMATS
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import listed

_HINT = "\n  hint: "
_ONE_AT_A_TIME = {"claims": "claim", "hooks": "hook"}
"""The settings that are lists in Python, with the name of the option that is repeated for each value."""
_OTHER_NAMES = {
    **dict.fromkeys(("derivative", "derive", "differentiate"), ("diff", "grad")),
    **dict.fromkeys(("gradient", "backward"), ("grad",)),
    **dict.fromkeys(("forward", "evaluate", "calculate"), ("eval",)),
    **dict.fromkeys(("solve", "zero", "newton"), ("root",)),
    **dict.fromkeys(("optimize", "maximize", "min"), ("minimize",)),
    **dict.fromkeys(("series", "expand"), ("taylor",)),
    **dict.fromkeys(("check", "verify"), ("gradcheck",)),
    **dict.fromkeys(("draw", "show"), ("plot", "graph")),
    **dict.fromkeys(("regress", "curve_fit", "leastsq"), ("fit",)),
}
"""Commands by the words that other programs use for them."""
_RANGES = {"--over": "give a range with --over x=-1:1", "--bounds": "limit variables with --bounds x=-1:1"}
_OTHER_OPTIONS = {
    "--gradient": {"--vector": "give the vector with --vector NAME=VALUE"},
    **dict.fromkeys(("--over", "--bounds", "--range", "--limits"), _RANGES),
    "--at": {"--const": "variables become arguments; give constants their values with --const NAME=VALUE"},
}
"""For options of other commands and programs, the options that a command may have instead, each with a hint."""


def option(name: str, value: str = "") -> str:
    """Spell a setting of the library as an option; see ``errors.setting``."""
    name = _ONE_AT_A_TIME.get(name, name)
    return f"--{name.replace('_', '-')}{' ' * bool(value)}{value}"


def report(error: AutodiffError, style: str) -> None:
    """Print an error to standard error, with settings spelled as options; for an output format of JSON, ``style``, as JSON."""
    from autodiff_cli.report.diagnostics import for_people, for_programs

    error.translate(option)
    is_json = style in FORMATS and FORMATS[style].json
    sys.stderr.write((for_programs(error) if is_json else for_people(error)) + "\n")


def usage_error(message: str, hint: str, context: click.Context | None = None) -> click.UsageError:
    """Return a click error with a hint."""
    return click.UsageError(message + _HINT + hint, context)


def unknown_command(args: Sequence[str], commands: Iterable[str]) -> click.UsageError:
    """Return the error for a first word that is not a command: a typo, ``version`` or an expression."""
    word = args[0]
    similar = suggestion(word, commands)
    if word == "version":
        hint = "use 'autodiff --version'"
    elif word in _OTHER_NAMES:
        hint = f"did you mean {listed(map(repr, _OTHER_NAMES[word]), 'or')}?"
    elif similar is not None:
        hint = similar
    elif word.isidentifier():
        hint = "'autodiff help' lists the commands, and 'autodiff functions' the functions of expressions"
    else:
        quoted = word.replace('"', '\\"')
        hint = f'differentiate an expression with: autodiff eval "{quoted}" {shlex.join(args[1:]) or "--at x=1"}'
    return usage_error(f"unknown command '{word}'", hint)


def unknown_option(name: str, known: Iterable[str], context: click.Context) -> click.UsageError:
    """Return the error for an option that a command does not have; ``known`` are the options that it has."""
    known = list(known)
    hints = [hint for instead, hint in _OTHER_OPTIONS.get(name, {}).items() if instead in known]
    similar = suggestion(name, known, 0.7)  # above the usual 0.6, because all options have -- in common
    hint = hints[0] if hints else similar or f"see '{context.command_path} --help'"
    return usage_error(f"unknown option '{name}'", hint, context)


def too_many(positional: Sequence[str], known: Iterable[str], context: click.Context) -> click.UsageError:
    """Return the error for several arguments to a command of one expression, which may be mistyped options such as ``-wrt=x``."""
    long_names = [name for name in known if name.startswith("--")]
    for word in positional:
        name = word.partition("=")[0]
        has_one_hyphen = re.fullmatch(r"-[a-z][a-z-]+(=.*)?", word)  # where an option has two
        hint = suggestion(f"-{name}", long_names, 0.75) if has_one_hyphen else None
        if hint is not None:
            return usage_error(f"unknown option '{name}'", hint, context)
        if re.fullmatch(r"-[a-z]", word) and word != positional[0]:
            return unknown_option(word, (), context)
    message = f"expected one expression, but got {len(positional)}: {', '.join(map(repr, positional))}"
    return usage_error(message, _one_expression_hint(positional, context), context)


def _one_expression_hint(positional: Sequence[str], context: click.Context) -> str:
    """Return what to write instead of several arguments: values, a fit, curves or one quoted expression."""
    values = [word for word in positional[1:] if re.match(r"[^\W\d]\w*=", word)]
    if values:
        return f"give values with --at: --at {','.join(values)}"
    if context.command.name != "plot":
        return "put the expression in quotes, and write options in full (--at x=1)"
    file = next(filter(os.path.isfile, positional), None)
    if file is not None:
        return f'plot data with a fitted model: autodiff fit "y = a + b*x" {shlex.quote(file)} -o fit.svg'
    return f'write several curves as one expression: "{", ".join(positional)}"'


def in_plain_words(error: click.UsageError) -> UsageError:
    """Convert a click error to a ``UsageError`` with a hint; each kind of error that click reports has its own words."""
    help_hint = f"see '{error.ctx.command_path if error.ctx is not None else 'autodiff'} --help'"
    if isinstance(error, click.NoSuchOption):
        close = suggestion(error.option_name, error.possibilities or (), 0.5)  # below 0.6, because click chose them
        if error.ctx is not None and error.ctx.command.name == "run":
            help_hint = "write the options of a Python program after --"
        return UsageError(f"unknown option '{error.option_name}'", hint=close or help_hint)
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Option):
        value = re.sub(r"^'?(.*?)'? is not .*", r"\1", error.message, flags=re.DOTALL)  # with which click's message begins
        wanted, hint = _wanted(error.param.type, value)
        if wanted:
            option_name = max(error.param.opts, key=len)  # --at, and not -a
            return UsageError(f"{option_name} needs {wanted}, not '{value}'", hint=hint or help_hint)
    if isinstance(error, click.BadOptionUsage) and "does not take a value" in error.message:
        return UsageError(f"{error.option_name} does not take a value", hint=f"write only {error.option_name}")
    if isinstance(error, click.MissingParameter) and error.param is not None and error.param.human_readable_name == "EXPR":
        help_hint = "write an expression in quotes; - reads it from standard input"
    extra = re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", error.message)
    if extra is not None:
        return UsageError(f"'{extra[1]}' is one argument too many", hint=help_hint)
    message, _, hint = error.format_message().partition(_HINT)
    return UsageError(_sentence(message), hint=hint or help_hint)


def _wanted(kind: click.ParamType[object], value: str) -> tuple[str, str | None]:
    """Return what values an option takes, empty for a kind without a description, and a hint with the choice closest to a value."""
    if isinstance(kind, click.Choice):
        return f"one of {', '.join(map(str, kind.choices))}", suggestion(value, kind.choices)
    if isinstance(kind, click.IntRange):
        if kind.max is None:
            return f"a whole number of at least {kind.min}", None
        return f"a whole number from {kind.min} to {kind.max}", None
    return {"integer": "a whole number", "float": "a number"}.get(kind.name, ""), None


def _sentence(message: str) -> str:
    """Return a message of click in the style of this program: in lower case, without a period."""
    message = message.rstrip(".")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message
