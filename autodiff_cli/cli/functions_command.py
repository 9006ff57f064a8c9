"""``autodiff functions``: what the language has."""

from __future__ import annotations

import sys
from typing import Any

import click

from autodiff_cli.cli import options


@click.command("functions", short_help="The functions of the language.")
@click.argument("name", required=False)
@options.output
def command(name: str | None, style: str, as_json: bool, quiet: bool, precision: int, color: str) -> None:
    """All functions, or everything about one: signature, domain, derivative, convention at kinks.

    \b
    autodiff functions
    autodiff functions sqrt
    """
    from autodiff_cli import ops  # noqa: F401
    from autodiff_cli.autograd.primitives.registry import FUNCTIONS
    from autodiff_cli.errors import UnknownName
    from autodiff_cli.suggest import suggestion

    style = options.chosen_format(style, as_json)
    if name is not None and name not in FUNCTIONS:
        raise UnknownName(f"unknown function '{name}'", hint=suggestion(name, FUNCTIONS) or "'autodiff functions' lists all")
    unique = {op.name: op for op in FUNCTIONS.values()}
    chosen = list(unique.values()) if name is None else [FUNCTIONS[name]]
    if quiet:
        sys.stdout.write("".join(f"{op.name}\n" for op in chosen))
        return
    described: list[dict[str, Any]] = [op.to_dict() for op in chosen]
    if style == "table":
        from autodiff_cli.report import reference

        reference.show(described, one=name is not None, color=color)
        return
    from autodiff_cli.report import records

    document = {"schema": 1, "command": "functions", "functions": described}
    rows = [{**entry, "aliases": " ".join(entry["aliases"])} for entry in described]
    sys.stdout.write(records.render(style, document, rows, described))
