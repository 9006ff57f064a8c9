"""Tab completion of commands, options, functions inside an expression, variables and files.

All completions follow from the declarations of the commands, so a new command has completion without extra code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from autodiff_cli.cli.commands import COMMANDS, CONTEXT, cli

if TYPE_CHECKING:
    from autodiff_cli.autograd.primitives.registry import FunctionInfo

Items = list[CompletionItem[str]]

_WORD = re.compile(r"(?<![\w])[^\W\d]\w*$")
_NUMBER_OR_END = re.compile(r"(?:^|[\w.)\]\"'])\s*$")
"""The end of a text after which no name can follow, or nothing is typed yet."""
_LISTED = re.compile(r"(?:\w+, )+\w+(?=\.)")
"""A list of values in the help text of an option, such as ``table, plain, json.``"""
_CHOICE = re.compile(r"[a-z]\w+")
"""A value in the metavar of an option, such as ``chains``; single letters and words in capitals stand for other values."""
_NAMES = ("wrt", "inputs", "retain_grad", "fix", "share", "sensitivity")
"""The options whose value is a list of names from the expression."""


class _Line(NamedTuple):
    """A command line before the cursor: the parameters of its command, and their values by name, which may be ``None`` or empty."""

    parameters: Sequence[click.Parameter]
    values: Mapping[str, Any]

    @property
    def expression(self) -> str:
        """The first argument; empty if it is not typed yet."""
        names = [str(parameter.name) for parameter in self.parameters if isinstance(parameter, click.Argument)]
        return (self.values.get(names[0]) if names else None) or ""


def completions(args: Sequence[str], incomplete: str) -> Items:
    """Return the completions of the word at the cursor, ``incomplete``, after the words ``args`` that follow ``autodiff``.

    Completions that end with ``(``, ``=``, ``,`` or ``/`` are incomplete: the user continues to type after them.
    """
    context = click.Context(cli, info_name="autodiff", resilient_parsing=True, **CONTEXT)
    if not args and incomplete.startswith("-"):
        return click.Command.shell_complete(cli, context, incomplete)
    if not args:
        return _with_prefix(incomplete, [*COMMANDS.items(), ("help", "Describe a command.")])
    if args == ["help"]:
        return _with_prefix(incomplete, COMMANDS.items())
    command = cli.get_command(context, args[0])
    return [] if command is None else _parameter_completions(command, args[0], args[1:], incomplete)


def _parameter_completions(command: click.Command, name: str, args: Sequence[str], incomplete: str) -> Items:
    """Return the completions of a word after the name of a command and ``args``: values, or the names of options."""
    parameters = command.get_params(click.Context(command))
    by_name = {name: each for each in parameters if isinstance(each, click.Option) for name in (*each.opts, *each.secondary_opts)}
    waiting = by_name.get(args[-1]) if args else None
    if waiting is not None and not waiting.is_flag and not waiting.count:  # the word is the value of this option
        return _values(waiting, incomplete, _Line(parameters, _parsed(command, name, args[:-1]).params))
    context = _parsed(command, name, args)
    line = _Line(parameters, context.params)
    option, equals, value = incomplete.partition("=")
    if equals and option in by_name:
        return [_prefixed(item, f"{option}=") for item in _values(by_name[option], value, line)]
    option_names = click.Command.shell_complete(command, context, incomplete or "--")
    if option_names and incomplete:
        return option_names
    for each in parameters:
        is_open = each.nargs == -1 or not context.params.get(str(each.name))  # -1: any number of words
        if isinstance(each, click.Argument) and is_open:
            return _values(each, incomplete, line)
    return [] if incomplete else option_names


def _parsed(command: click.Command, name: str, args: Sequence[str]) -> click.Context:
    """Return the context of a command line as click parses it, without checks of the values and without their conversion."""
    with command.make_context(name, [*args], resilient_parsing=True) as context:
        return context


def _values(parameter: click.Parameter, incomplete: str, line: _Line) -> Items:
    """Return the completions of a value of an option or argument; its metavar determines the kind of value."""
    metavar = parameter.metavar or parameter.name or ""
    if isinstance(parameter.type, click.Choice):
        return _with_prefix(incomplete, parameter.type.choices)
    if parameter.name in _NAMES:
        every = ["all"] if "all" in metavar else []
        return _last_of_list(incomplete, [*every, *_variables(line.expression, line)])
    first_word = metavar.strip("[]. ").partition("|")[0].upper()  # of a metavar such as [FILE]... or FILE|x=0:10
    if first_word in ("FILE", "FILES"):
        return _files(incomplete)
    if metavar == "EXPR" and incomplete.startswith("@"):
        return _files(incomplete[1:], "@")
    if metavar == "EXPR":
        before = _WORD.sub("", incomplete)  # without the name that is being typed
        return _names_in_expression(incomplete, dict.fromkeys([*_assigned_names(incomplete), *_variables(before, line)]))
    if metavar.startswith("NAME="):
        return _bindings(incomplete, line)
    if parameter.name == "words":  # of the command ``functions``
        return [CompletionItem(name, help=function.summary) for name, function in _functions(incomplete)]
    if isinstance(parameter, click.Argument):
        return []
    return _choices(metavar, getattr(parameter, "help", None) or "", incomplete)


def _choices(metavar: str, help_text: str, incomplete: str) -> Items:
    """Return the completions among the values that the help text lists, or that the metavar separates by ``|`` or commas."""
    listed = _LISTED.search(help_text)
    if metavar == "NAME" and listed:
        return _with_prefix(incomplete, listed.group().split(", "))
    words = re.split("[|,]", metavar.partition("[")[0])  # without an optional part such as [:SCALE]
    choices = [word for word in words if _CHOICE.fullmatch(word)] if len(words) > 1 else []
    return _last_of_list(incomplete, choices) if "," in metavar else _with_prefix(incomplete, choices)


def _with_prefix(incomplete: str, values: Iterable[str | tuple[str, str]]) -> Items:
    """Return the values, or pairs of a value and its description, that begin as the typed word does."""
    pairs = ((value, None) if isinstance(value, str) else value for value in values)
    return [CompletionItem(value, help=about) for value, about in pairs if value.startswith(incomplete)]


def _last_of_list(incomplete: str, names: Iterable[str]) -> Items:
    """Return the completions of a list with commas: the names that complete its last name, each after the names before it."""
    before, comma, last = incomplete.rpartition(",")
    return [_prefixed(item, before + comma) for item in _with_prefix(last, names)]


def _prefixed(item: CompletionItem[str], prefix: str) -> CompletionItem[str]:
    """Return a completion with the text before the cursor in front, because it replaces the whole word."""
    return CompletionItem(prefix + item.value, help=item.help, signature=item.signature and prefix + item.signature)


def _functions(begun: str) -> list[tuple[str, FunctionInfo]]:
    """Return the functions of the language by each name that begins with a text."""
    from autodiff_cli import ops  # noqa: F401
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS

    return [(name, FUNCTIONS[name]) for name in sorted(FUNCTIONS) if name.startswith(begun) and not name.startswith("_")]


def _names_in_expression(text: str, names: Iterable[str] = ()) -> Items:
    """Return the functions, constants and ``names`` that complete the last word of an expression, or only names without a word."""
    from autodiff_cli.evaluation.names import CONSTANTS

    matched = _WORD.search(text)
    if matched is None:  # all functions would be too many
        can_follow = not text.endswith(".") and not _NUMBER_OR_END.search(text)
        return [CompletionItem(text + name) for name in names] if can_follow else []
    word, before = matched.group(), text[: matched.start()]
    is_method = before.endswith(".")
    items = []
    for name, function in _functions(word):
        if function.tensors or not is_method:
            parameters = function.signature[len(function.name) :]
            items.append(CompletionItem(f"{before}{name}(", help=function.summary, signature=before + name + parameters))
    if not is_method:
        items += [_prefixed(item, before) for item in _with_prefix(word, [*names, *CONSTANTS])]
    return items


def _assigned_names(text: str) -> list[str]:
    """Return the names of the named steps of an expression."""
    return list(dict.fromkeys(re.findall(r"(?:^|[;\n])\s*([^\W\d]\w*)\s*=(?!=)", text)))


def _variables(expression: str, line: _Line) -> list[str]:
    """Return the names with values, then the other names in the expression that are not functions or constants."""
    from autodiff_cli import ops  # noqa: F401
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS
    from autodiff_cli.evaluation.bindings import RESERVED
    from autodiff_cli.evaluation.names import CONSTANTS

    words = re.findall(r"(?<![\w.])[^\W\d]\w*(?!\w|\s*\()", expression)  # neither members nor called
    known = {*FUNCTIONS, *CONSTANTS, *RESERVED}
    return list(dict.fromkeys([*_bound_names(line), *(word for word in words if word not in known)]))


def _bound_names(line: _Line) -> list[str]:
    """Return the names that options give values to."""
    texts = [text for option in ("at", "const", "over") for text in line.values.get(option) or ()]
    return re.findall(r"(?:^|,)\s*([^\W\d]\w*)\s*=", "\n".join(texts), re.MULTILINE)


def _bindings(incomplete: str, line: _Line) -> Items:
    """Return ``x=`` for each variable without a value; after ``x=``, return the functions or files that complete it."""
    name_at_end = re.search(r"(?:^|,)([^\W\d]\w*)?$", incomplete)  # a name that begins, which may be empty
    if name_at_end:
        begun = name_at_end.group(1) or ""
        before = incomplete[: len(incomplete) - len(begun)]
        taken = {*_bound_names(line), *re.findall(r"(?:^|,)([^\W\d]\w*)=", before), *_assigned_names(line.expression)}
        names = [name for name in _variables(line.expression, line) if name.startswith(begun) and name not in taken]
        return [CompletionItem(f"{before}{name}=", signature=f"{before}{name}=1") for name in names]
    before, at, path = incomplete.rpartition("=@")
    return _files(path, before + at) if at else _names_in_expression(incomplete)


def _files(start: str, before: str = "") -> Items:
    """Return the files and folders whose path begins with ``start``, hidden ones only after a dot, each after ``before``."""
    folder, slash, begun = start.rpartition("/")
    try:
        with os.scandir(os.path.expanduser(folder + slash) or ".") as entries:
            names = sorted((entry.name, entry.is_dir()) for entry in entries)
    except OSError:
        return []
    return [
        CompletionItem(f"{before}{folder}{slash}{name}{'/' if is_folder else ''}")
        for name, is_folder in names
        if name.startswith(begun) and (begun.startswith(".") or not name.startswith("."))
    ]
