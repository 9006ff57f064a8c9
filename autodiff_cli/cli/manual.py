"""The manual pages, generated from the commands: ``python -m autodiff_cli.cli.manual docs/man``.

The pages are kept in the repository and installed as ``share/man/man1``; a test fails if they do not match the commands.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from autodiff_cli import __version__
from autodiff_cli.cli.commands import COMMANDS, GROUPS, cli

_EXIT = {
    "0": "success",
    "1": "a failed check",
    "2": "an unknown option or name, a missing value, an expression that does not parse",
    "3": "mismatched shapes, a singular matrix, a backward pass through a freed graph, an exceeded limit",
    "4": "with --strict: a number that is nan or infinite",
    "5": "a file that cannot be read or written",
    "70": "an internal error: a defect in autodiff",
    "71": "not enough memory",
    "130, 141": "an interrupt; an early exit of the program that reads the pipe",
}
_ENVIRONMENT = {
    "AUTODIFF_FORMAT": "The default output format.",
    "AUTODIFF_DEBUG": "If 1, print Python warnings and the traceback of internal errors.",
    "NO_COLOR": "If set, disable color. NO_COLOR overrides FORCE_COLOR.",
    "FORCE_COLOR": "If set, use color even in a pipe.",
    "PAGER": "The program that shows long lists of functions on a terminal. The default is less.",
    "XDG_STATE_HOME": "The folder with autodiff/history, the history file of autodiff repl. The default is ~/.local/state.",
}
_EXPRESSION = """EXPR is the expression; - reads it from standard input, and @file from a file. An expression may begin \
with a minus sign: an argument is an option only if it exactly matches an option of the command."""
_FIRST = ("eval", "grad", "gradcheck")
"""The commands whose examples are on the first page."""


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    context = click.Context(cli, info_name="autodiff")
    commands = {name: cli.get_command(context, name) for name in COMMANDS}
    found = {f"autodiff-{name}.1": _command_page(name, command) for name, command in commands.items() if command is not None}
    return {"autodiff.1": _first_page(), **found}


def examples_of(command: click.Command) -> list[str]:
    """Return the example command lines in the help text of a command."""
    blocks = [block for block in _paragraphs(command) if block.startswith("\b")]
    return [line.strip() for block in blocks for line in block.split("\n")[1:]]


def _paragraphs(command: click.Command) -> list[str]:
    return [block.strip("\n") for block in inspect.cleandoc(command.help or "").split("\n\n")]


def _first_page() -> str:
    lines = [_head("autodiff", "exact derivatives of expressions"), ".SH SYNOPSIS"]
    lines += [r"\fBautodiff\fR \fICOMMAND\fR [\fIOPTION\fR]... [\fIARGUMENT\fR]..."]
    lines += [".SH DESCRIPTION", *_prose(cli)]
    for group, commands in GROUPS.items():
        lines.append(f".SS {group}")
        for name, about in commands.items():
            lines += [".TP", f"\\fBautodiff\\-{_escaped(name)}\\fR(1)", _escaped(about)]
    lines += [".SH OPTIONS", *_options(cli)]
    context = click.Context(cli, info_name="autodiff")
    shown = [command for name in _FIRST if (command := cli.get_command(context, name)) is not None]
    lines += [".SH EXAMPLES", *_examples([example for command in shown for example in examples_of(command)])]
    lines += [".SH ENVIRONMENT", *_defined(_ENVIRONMENT)]
    lines += [".SH EXIT STATUS", *_defined(_EXIT)]
    return _finished([*lines, *_see_also(COMMANDS)])


def _command_page(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"autodiff {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [_head(f"autodiff-{name}", COMMANDS[name].rstrip(".")), ".SH SYNOPSIS"]
    lines += [f"\\fBautodiff {_escaped(name)}\\fR \\fI{_escaped(usage)}\\fR", ".SH DESCRIPTION", *_prose(command)]
    if any(parameter.metavar == "EXPR" for parameter in command.params if isinstance(parameter, click.Argument)):
        lines += [".PP", _escaped(_EXPRESSION)]
    lines += [".SH OPTIONS", *_options(command), ".SH EXAMPLES", *_examples(examples_of(command))]
    lines += [".SH EXIT STATUS", *_defined(_EXIT)]
    return _finished([*lines, *_see_also([other for other in COMMANDS if other != name], r"\fBautodiff\fR(1)")])


def _head(name: str, about: str) -> str:
    title = f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "autodiff {__version__}" "User Commands"'
    return f"{title}\n.nh\n.ad l\n.SH NAME\n{_escaped(name)} \\- {_escaped(about[:1].lower() + about[1:])}"


def _prose(command: click.Command) -> Iterator[str]:
    for number, block in enumerate(block for block in _paragraphs(command) if not block.startswith("\b")):
        if number:
            yield ".PP"
        yield from (_escaped(line.strip()) for line in block.split("\n"))


def _options(command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name="autodiff")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield from (".TP", f"\\fB{_escaped(record[0])}\\fR", _escaped(record[1]))


def _examples(examples: list[str]) -> Iterator[str]:
    yield from (".nf", *map(_escaped, examples), ".fi")


def _defined(terms: dict[str, str]) -> Iterator[str]:
    for term, meaning in terms.items():
        yield from (".TP", f"\\fB{_escaped(term)}\\fR", _escaped(meaning))


def _see_also(names: Iterable[str], first: str = "") -> list[str]:
    others = [f"\\fBautodiff\\-{_escaped(name)}\\fR(1)" for name in names]
    return [".SH SEE ALSO", ",\n".join([first] * bool(first) + others)]


_SIGNS = {"\\": r"\e", "-": r"\-", "^": r"\(ha", "~": r"\(ti", "`": r"\(ga", "'": r"\(aq"}


def _escaped(text: str) -> str:
    """Return a text with troff's special characters escaped."""
    escaped = "".join(_SIGNS.get(character, character) for character in " ".join(text.split()))
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def _finished(lines: list[str]) -> str:
    return "\n".join(line for line in lines if line) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for _name, _text in pages().items():
        (folder / _name).write_text(_text, encoding="utf-8")
