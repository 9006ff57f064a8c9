"""Tables of the functions of the language, for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from autodiff_cli.command_result import Record
from autodiff_cli.report.functions import FunctionList
from autodiff_cli.report.table import empty_table, title

_LABELS = (
    ("signature", "signature"),
    ("description", "summary"),
    ("also", "aliases"),
    ("derivative", "derivative"),
    ("domain", "domain"),
    ("differentiable where", "smooth"),
    ("at kinks", "convention"),
)

_WIDEST = 120
"""The maximum width of a table of descriptions."""


def tables(result: FunctionList, _: int) -> list[RenderableType]:
    """Return one table of functions for each subject, or the complete description of a single function."""
    if result.one:
        return [_card(result.functions[0])]
    parts: list[RenderableType] = []
    for section in dict.fromkeys(function["section"] for function in result.functions):
        table = empty_table(most=_WIDEST)
        for header in ("function", "description", "derivative"):
            table.add_column(header, overflow="fold")
        for function in result.functions:
            if function["section"] == section:
                cells = Text(function["signature"], "bold green"), Text(function["summary"]), Text(function["derivative"], "cyan")
                table.add_row(*cells)
        parts += [title(section), table]
    return parts


def _card(function: Record) -> Table:
    table = empty_table(most=_WIDEST)
    table.show_header = False
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for label, key in _LABELS:
        text = ", ".join(function[key]) if key == "aliases" else function[key]
        if text:
            table.add_row(label, Text(text, {"signature": "bold green", "derivative": "cyan"}.get(key, "")))
    return table
