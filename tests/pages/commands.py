"""The generator of ``docs/commands.md`` and ``docs/commands/``: the options of every command and its examples with their output."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from autodiff_cli.cli.commands import COMMANDS, cli
from tests.pages.markdown import block, code, console, prose, table
from tests.shell import run, run_script

FILES = Path(__file__).parent / "files"
"""The input files of the examples, which run in a copy of this folder."""
_MOST_LINES = 24
_SHARED = 4
"""An option that at least this number of commands share is explained once, for all of them."""

_HEAD = """# Commands

Each command has a page with its options, as `autodiff COMMAND --help` prints them, and its examples with their output. EXPR
is an expression of [the language](reference.md); `-` reads it from standard input, `@file` from a file.
"""


def contents() -> str:
    """Return the text of the page that lists the commands."""
    rows = [(f"[`{name}`](commands/{name}.md)", prose(text)) for name, text in COMMANDS.items()]
    return "\n".join([_HEAD, table(("command", "description"), rows), "## Options that commands share\n", _table(_shared())])


@cache
def _shared() -> list[tuple[str, str]]:
    """Return the options that are explained once."""
    counted = Counter(option for name in COMMANDS for option in options(declared(name)))
    return [option for option, count in counted.items() if count >= _SHARED]


def declared(name: str) -> click.Command:
    """Return the click object of a command."""
    command = cli.get_command(_context(), name)
    assert command is not None, name
    return command


def _context() -> click.Context:
    return click.Context(cli, info_name="autodiff")


def options(command: click.Command) -> list[tuple[str, str]]:
    """Return the options of a command except those for help, each with its help text."""
    context = click.Context(command, parent=_context(), info_name=command.name)
    records = [option.get_help_record(context) for option in command.params if isinstance(option, click.Option)]
    return [record for record in records if record is not None]


def examples(command: click.Command) -> list[str]:
    """Return the command lines in the help text of a command."""
    _, _, lines = (command.help or "").partition("\b")
    return [line.strip() for line in lines.splitlines() if line.strip()]


@cache
def printed(command_line: str) -> str:
    """Return the output of an example, run in a folder with its input files.

    Raises:
        AssertionError: if the example fails because a file is missing.
    """
    if command_line.startswith("tail -f "):
        return ""  # the command would not terminate
    with folder() as here:
        shown = run(command_line) if command_line.startswith("autodiff ") else run_script(command_line, here)
    assert "[exit code 5]" not in shown, f"put the file that this example needs into {FILES}: {command_line}\n{shown}"
    return shown


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Make a temporary copy of ``FILES`` the working directory within the context."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(FILES, name, dirs_exist_ok=True)
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def page(name: str) -> str:
    """Return the text of the page of a command, without its section on JSON."""
    command, shared = declared(name), _shared()
    usage = " ".join(command.collect_usage_pieces(click.Context(command, info_name=name)))
    about, _, _ = (command.help or "").partition("\b")
    own = [option for option in options(command) if option not in shared]
    common = [code(_spelling(option)) for option in options(command) if option in shared]
    parts = [f"# autodiff {name}\n", block("text", f"autodiff {name} {usage}"), _paragraphs(about)]
    if own:
        parts.append(_table(own))
    if common:
        link = "[Commands](../commands.md#options-that-commands-share)"
        parts.append(f"{'Other options' if own else 'Options'}: {', '.join(common)}; see {link}.\n")
    parts.append(console(_with_files(examples(command))))
    return "\n".join(parts)


def _with_files(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the contents of the input files of examples, and then the examples with their output."""
    for file in sorted(FILES.iterdir()):
        if any(file.name in line for line in lines):
            yield f"cat {file.name}", file.read_text(encoding="utf-8")
    for line in lines:
        yield line, _cut(printed(line))


def _spelling(option: tuple[str, str]) -> str:
    """Return the long name of an option."""
    return next(word for word in option[0].replace(",", " ").split() if word.startswith("--"))


def _table(listed: list[tuple[str, str]]) -> str:
    return table(("option", "meaning"), [(code(name), prose(" ".join(meaning.split()))) for name, meaning in listed])


def _paragraphs(text: str) -> str:
    return "\n\n".join(prose(" ".join(paragraph.split())) for paragraph in text.strip().split("\n\n")) + "\n"


def _cut(text: str) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) <= _MOST_LINES:
        return text
    kept = _MOST_LINES - 2
    return "".join(lines[:kept]) + f"... {len(lines) - kept:,} more lines\n"
