"""The parser of command lines with an expression, and the layout of their help texts."""

from __future__ import annotations

from typing import NamedTuple

import click

_SECTIONS = {
    "Values": "at const over samples wrt order dtype gradient vector",
    "Uncertainty": "u dof corr cov level k monte_carlo seed",
    "Autograd": "retain_grad backward retain_graph zero_grad create_graph inputs hooks no_grad saved",
    "Solver": """fix bounds subject tie by share sigma sigma_x weights loss derive predict profile picture maximize stationary
        all_roots sensitivity max_steps trace thread_count""",
    "Input": "input_format lets columns where on_error",
    "Totals": "sum mean groups",
    "Picture": "of steps depth collapse y_range width height theme transparent",
    "Checks": "claim eps atol rtol verify condition strict",
    "Output": """to name path target in_place style as_json quiet digits precision full color keep keep_columns drop value_name
        derivative_name unbuffered""",
    "Speed": "compiling fast",
    "Cluster": "engine threads scheduler workers partition_bytes partition_rows",
}
"""The parameters in each section of a help text; other parameters are in the last section."""
_OTHER = "Other"
SECTION = {name: section for section, listed in _SECTIONS.items() for name in listed.split()}


class Command(click.Command):
    """A command whose help text lists the options by section."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section in which the command has options."""
        rows: dict[str, list[tuple[str, str]]] = {section: [] for section in (*_SECTIONS, _OTHER)}
        for parameter in self.get_params(context):
            row = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
            if row is not None:
                rows[SECTION.get(str(parameter.name), _OTHER)].append(row)
        for section, listed in rows.items():
            if listed:
                with formatter.section(section):
                    formatter.write_dl(listed)


class _Words(NamedTuple):
    """The words of a command line.

    Attributes:
        options: the options with their values.
        positional: the other arguments.
        unknown: the arguments that look like options but are not options of the command.
    """

    options: list[str]
    positional: list[str]
    unknown: list[str]


class ExpressionCommand(Command):
    """A command whose argument is an expression, which may begin with a minus sign.

    An argument is an option only if it exactly matches an option of the command (``--name``, ``--name=value``, ``-q``);
    ``-x**2`` and ``-h**2`` are expressions.  ``-q`` is an expression if it is the first argument, ``q`` has a value, and no
    other argument can be an expression.

    Attributes:
        most: the maximum number of arguments that are not options; ``None`` for any number.
    """

    most: int | None = 1

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Reorder the arguments for click: options, ``--``, other arguments."""
        takes_value = {
            name: not parameter.is_flag and not parameter.count
            for parameter in self.get_params(context)
            if isinstance(parameter, click.Option)
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        first = args[0] if args else ""
        words = _sorted(args, takes_value, context)
        if len(first) == 2 and first in takes_value and _is_given(first[1], args[1:]):
            # An argument such as -q or -a is the expression if no later argument can be the expression.
            rest = _sorted(args[1:], takes_value, context)
            if not rest.positional:
                return super().parse_args(context, [*rest.options, "--", first])
        if words.unknown and (words.positional or len(words.unknown) > 1):
            from autodiff_cli.cli.mistakes import unknown_option

            raise unknown_option(words.unknown[0], takes_value, context)
        positional = words.positional + words.unknown
        if self.most is not None and len(positional) > self.most:
            from autodiff_cli.cli.mistakes import too_many

            raise too_many(positional, takes_value, context)
        return super().parse_args(context, [*words.options, "--", *positional])


class RowsCommand(ExpressionCommand):
    """A command that takes an expression, then files."""

    most = None


def _sorted(args: list[str], takes_value: dict[str, bool], context: click.Context) -> _Words:
    words = _Words([], [], [])
    given = list(args)
    while given:
        arg = given.pop(0)
        name = arg.partition("=")[0] if arg.startswith("--") else arg
        if arg == "--":
            words.positional.extend(given)
            break
        if name in takes_value:
            words.options.append(arg)
            if takes_value[name] and "=" not in arg[len(name) :]:
                if not given:
                    raise click.UsageError(f"{name} needs a value", context)
                words.options.append(given.pop(0))
        elif arg.startswith("--") and name[2:].replace("-", "").isidentifier():
            words.unknown.append(name)
        else:
            words.positional.append(arg)
    return words


def _is_given(variable: str, args: list[str]) -> bool:
    return any(arg.startswith(f"{variable}=") or f",{variable}=" in arg for arg in args)
