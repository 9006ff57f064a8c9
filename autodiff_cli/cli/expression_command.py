"""The parser of command lines with an expression."""

from __future__ import annotations

import os
import re

import click

from autodiff_cli.cli.help_sections import Command


class _Words:
    """The words of a command line: options with their values, arguments, and unknown options."""

    def __init__(self) -> None:
        self.options: list[str] = []
        self.positional: list[str] = []
        self.unknown: list[str] = []


class ExpressionCommand(Command):
    """A command whose argument is an expression, which may begin with a minus sign.

    An argument is an option only if it exactly matches an option of the command (``--name``, ``--name=value``, ``-q``);
    ``-x**2`` and ``-h**2`` are expressions.

    Attributes:
        most: the maximum number of arguments that are not options; ``None`` for any number.
    """

    most: int | None = 1

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments with click, in the order that it expects: options, ``--``, other arguments."""
        takes_value = {  # whether a value follows an option, by each of its names
            name: not parameter.is_flag and not parameter.count
            for parameter in self.get_params(context)
            if isinstance(parameter, click.Option)
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        words = _grouped_words(args, takes_value, context, self.most)
        if self.most is None:  # the expression may look like an option, but a file does not
            words.unknown.extend(word for word in words.positional[1:] if re.fullmatch("-[A-Za-z]", word))
        if not context.resilient_parsing:  # a line that is being completed may have errors
            self._check(words, takes_value, context)
        return super().parse_args(context, [*words.options, "--", *words.positional, *words.unknown])

    def _check(self, words: _Words, takes_value: dict[str, bool], context: click.Context) -> None:
        """Raise an error for an unknown option, unless it is the only word and thus an expression, and for too many arguments."""
        from autodiff_cli.cli.usage_errors import too_many, unknown_option

        if self.most is not None and any(map(os.path.isfile, words.positional[self.most :])):  # even after a wrong option
            raise too_many(words.positional, takes_value, context)
        if words.unknown and (words.positional or len(words.unknown) > 1):
            raise unknown_option(words.unknown[0], takes_value, context)
        positional = words.positional + words.unknown
        if self.most is not None and len(positional) > self.most:
            raise too_many(positional, takes_value, context)


class RowsCommand(ExpressionCommand):
    """A command that takes an expression, then files."""

    most = None


def _grouped_words(args: list[str], takes_value: dict[str, bool], context: click.Context, most: int | None) -> _Words:
    """Group the words of a command line; ``takes_value`` says of each option whether a value follows it.

    After ``--``, the next ``most`` words are arguments, or all words if it is ``None``.
    """
    words = _Words()
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        name = arg.partition("=")[0] if arg.startswith("--") else arg
        if arg == "--":
            words.positional.extend(rest[:most])  # options may follow the only argument
            del rest[:most]
        elif name in takes_value:
            words.options.append(arg)
            has_value = "=" in arg[len(name) :]
            if takes_value[name] and not has_value:
                if not rest:
                    raise _missing_value_error(name, context)
                words.options.append(rest.pop(0))
        elif arg.startswith("--") and name[2:].replace("-", "").isidentifier():
            words.unknown.append(name)
        else:
            words.positional.append(arg)
    return words


def _missing_value_error(name: str, context: click.Context) -> click.UsageError:
    """Return the error for an option at the end of a command line that needs a value."""
    from autodiff_cli.cli.usage_errors import usage_error

    metavar = next(each.metavar for each in context.command.get_params(context) if name in each.opts)
    return usage_error(f"{name} needs a value", f"write {name} {metavar or 'VALUE'}", context)
