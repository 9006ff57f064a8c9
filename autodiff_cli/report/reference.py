"""The functions of the language for the eye."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from autodiff_cli.report.table import empty_table, title
from autodiff_cli.report.table import show as show_parts


def show(functions: Sequence[Mapping[str, Any]], one: bool, color: str) -> None:
    """A table of all functions by subject, or the whole description of one."""
    show_parts([_card(functions[0])] if one else _tables(functions), color)


def _tables(functions: Sequence[Mapping[str, Any]]) -> list[Any]:
    parts: list[Any] = []
    for section in dict.fromkeys(f["section"] for f in functions):
        table = empty_table()
        table.add_column("function", overflow="fold")
        table.add_column("is", overflow="fold")
        table.add_column("derivative", overflow="fold")
        for f in functions:
            if f["section"] == section:
                table.add_row(Text(f["signature"], "bold green"), Text(f["summary"]), Text(f["derivative"], "cyan"))
        parts += [title(section), table]
    return parts


def _card(f: Mapping[str, Any]) -> Any:
    table = empty_table()
    table.show_header = False
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    labels = (
        ("signature", "signature"),
        ("is", "summary"),
        ("also", "aliases"),
        ("derivative", "derivative"),
        ("value exists", "domain"),
        ("derivative exists", "smooth"),
        ("at kinks", "convention"),
    )
    for label, key in labels:
        text = ", ".join(f[key]) if key == "aliases" else f[key]
        if text:
            table.add_row(label, Text(text, "bold green" if key == "signature" else "cyan" if key == "derivative" else ""))
    return table
