"""Tab completion of commands, options, functions inside an expression, variables and files.

All completions follow from the declarations of the commands, so a new command has completion without extra code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import click
from click.shell_completion import CompletionItem

from autodiff_cli.cli.commands import COMMANDS, CONTEXT, cli

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


@dataclass
class _Line:
    """The complete words of a command line: arguments, values by option, and the option whose value is ``waiting`` to be typed."""

    positional: list[str] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)
    waiting: click.Option | None = None

    @property
    def expression(self) -> str:
        return self.positional[0] if self.positional else ""


def completions(args: Sequence[str], incomplete: str) -> Items:
    """Return the completions of the word at the cursor.

    Args:
        args: the complete words between ``autodiff`` and the cursor.
        incomplete: the word that is being typed.

    Completions that end with ``(``, ``=``, ``,`` or ``/`` are incomplete: the user continues to type after them.
    """
    context = click.Context(cli, info_name="autodiff", resilient_parsing=True, **CONTEXT)
    if not args:
        if incomplete.startswith("-"):
            return _parameter_completions(cli.get_params(context), [], incomplete)
        return _with_prefix(incomplete, [*COMMANDS.items(), ("help", "Describe a command.")])
    if args == ["help"]:
        return _with_prefix(incomplete, COMMANDS.items())
    command = cli.get_command(context, args[0])
    if command is None:
        return []
    return _parameter_completions(command.get_params(context), args[1:], incomplete)


def _parameter_completions(parameters: Sequence[click.Parameter], args: Sequence[str], incomplete: str) -> Items:
    """Return the completions of a word after the name of a command, which has these options and arguments."""
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    by_name = {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
    line = _parsed_line(args, by_name)
    name, equals, value = incomplete.partition("=")
    if line.waiting is not None:
        return _values(line.waiting, incomplete, line)
    if equals and name in by_name:
        return [_prefixed(item, f"{name}=") for item in _values(by_name[name], value, line)]
    result = _option_names(options, incomplete, line) if incomplete.startswith("-") else []
    arguments = [parameter for parameter in parameters if isinstance(parameter, click.Argument)]
    taken = len(line.positional)
    if not result and arguments and (taken < len(arguments) or arguments[-1].nargs == -1):  # -1: any number
        return _values(arguments[min(taken, len(arguments) - 1)], incomplete, line)
    return result if incomplete else _option_names(options, "--", line)


def _parsed_line(args: Sequence[str], by_name: Mapping[str, click.Option]) -> _Line:
    """Group the words before the cursor into arguments and options; ``by_name`` has the options of the command."""
    line = _Line()
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        option = by_name.get(name)
        if option is None:
            line.positional.append(word)
            continue
        values = line.options.setdefault(str(option.name), [])
        if equals:
            values.append(value)
        elif not option.is_flag and not option.count:
            following = next(words, None)
            if following is None:
                line.waiting = option
            else:
                values.append(following)
    return line


def _option_names(options: Iterable[click.Option], incomplete: str, line: _Line) -> Items:
    """Return the names of options that begin as the typed word does, without those that the line has already."""
    return [
        CompletionItem(name, help=option.help)
        for option in options
        if not option.hidden and (option.multiple or option.name not in line.options)
        for name in (*option.opts, *option.secondary_opts)
        if name.startswith(incomplete)
    ]


def _values(parameter: click.Parameter, incomplete: str, line: _Line) -> Items:
    """Return the completions of a value of an option or argument; its metavar determines the kind of value."""
    metavar = parameter.metavar or parameter.name or ""
    if isinstance(parameter.type, click.Choice):
        return _with_prefix(incomplete, parameter.type.choices)
    if parameter.name in _NAMES:
        every = ["all"] if "all" in metavar else []
        return _last_of_list(incomplete, [*every, *_variables(line)])
    if metavar.strip("[]. ").partition("|")[0].upper() in ("FILE", "FILES"):  # as in [FILE]...
        return _files(incomplete)
    if metavar == "EXPR" and incomplete.startswith("@"):
        return _files(incomplete[1:], "@")
    if metavar == "EXPR":
        return _function_names(incomplete, _names_in_scope(incomplete, line))
    if metavar.startswith("NAME="):
        return _bindings(incomplete, line)
    if isinstance(parameter, click.Argument):
        return _function_names(incomplete, call="") if parameter.name == "words" else []
    return _choices(metavar, getattr(parameter, "help", None) or "", incomplete)


def _choices(metavar: str, help_text: str, incomplete: str) -> Items:
    """Return the completions among the values that the help text lists, or that the metavar separates by ``|`` or commas."""
    listed = _LISTED.search(help_text)
    if metavar in ("NAME", "CODEC") and listed:
        return _with_prefix(incomplete, listed.group().split(", "))
    words = re.split("[|,]", metavar.partition("[")[0])  # without an optional part such as [:SCALE]
    choices = [word for word in words if len(words) > 1 and _CHOICE.fullmatch(word)]
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


def _function_names(text: str, names: Iterable[str] = (), call: str = "(") -> Items:
    """Return the functions, constants and ``names`` that complete the last word of an expression.

    ``call`` is written after the name of a function; if it is empty, the whole text is the beginning of such a name.
    """
    from autodiff_cli import ops  # noqa: F401
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS
    from autodiff_cli.evaluation.names import CONSTANTS

    matched = _WORD.search(text)
    word = matched.group() if matched else ("" if call else text)
    before = text[: len(text) - len(word)]
    is_method = before.endswith(".")
    if call and not word:  # all functions would be too many
        return [] if is_method or _NUMBER_OR_END.search(text) else [CompletionItem(before + name) for name in names]
    items = []
    for name, op in sorted(FUNCTIONS.items()):
        if name.startswith(word) and not name.startswith("_") and (op.tensors or not is_method):
            signature = before + name + op.signature[len(op.name) :] if call else ""
            items.append(CompletionItem(before + name + call, help=op.summary, signature=signature))
    if call and not is_method:
        items += [_prefixed(item, before) for item in _with_prefix(word, [*names, *CONSTANTS])]
    return items


def _names_in_scope(text: str, line: _Line) -> list[str]:
    """Return the names of an expression up to its last word, which is being typed, and those with values."""
    before = replace(line, positional=[_WORD.sub("", text)])
    return list(dict.fromkeys([*_assigned_names(text), *_variables(before)]))


def _assigned_names(text: str) -> list[str]:
    """Return the names of the named steps of an expression."""
    return list(dict.fromkeys(re.findall(r"(?:^|[;\n])\s*([^\W\d]\w*)\s*=(?!=)", text)))


def _variables(line: _Line) -> list[str]:
    """Return the names with values, then the other names in the expression that are not functions or constants."""
    from autodiff_cli import ops  # noqa: F401
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS
    from autodiff_cli.evaluation.bindings import RESERVED
    from autodiff_cli.evaluation.names import CONSTANTS

    words = re.findall(r"(?<![\w.])[^\W\d]\w*(?!\w|\s*\()", line.expression)  # neither members nor called
    known = {*FUNCTIONS, *CONSTANTS, *RESERVED}
    return list(dict.fromkeys([*_bound_names(line), *(word for word in words if word not in known)]))


def _bound_names(line: _Line) -> list[str]:
    """Return the names that options give values to."""
    texts = [text for option in ("at", "const", "over") for text in line.options.get(option, [])]
    return re.findall(r"(?:^|,)\s*([^\W\d]\w*)\s*=", "\n".join(texts), re.MULTILINE)


def _bindings(incomplete: str, line: _Line) -> Items:
    """Return ``x=`` for each variable without a value; after ``x=``, return the functions or files that complete it."""
    start = re.search(r"(?:^|,)([^\W\d]\w*)?$", incomplete)
    if start:
        begun = start.group(1) or ""
        before = incomplete[: len(incomplete) - len(begun)]
        taken = {*_bound_names(line), *re.findall(r"(?:^|,)([^\W\d]\w*)=", before), *_assigned_names(line.expression)}
        names = [name for name in _variables(line) if name.startswith(begun) and name not in taken]
        return [CompletionItem(f"{before}{name}=", signature=f"{before}{name}=1") for name in names]
    before, at, path = incomplete.rpartition("=@")
    return _files(path, before + at) if at else _function_names(incomplete)


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
