"""Tables of the functions of the language, for people."""

from __future__ import annotations

from autodiff_cli.command_result import Record
from autodiff_cli.report.functions import FunctionList
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.table import Column, Renderable, Table, title

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


def tables(result: FunctionList, _: int) -> list[Renderable]:
    """Return one table of functions for each subject, or the complete description of a single function."""
    if result.one:
        return [_card(result.functions[0])]
    parts: list[Renderable] = []
    for section in dict.fromkeys(function["section"] for function in result.functions):
        rows = [
            (Text(function["signature"], "bold green"), function["summary"], Text(function["derivative"], "cyan"))
            for function in result.functions
            if function["section"] == section
        ]
        parts += [title(section), Table(["function", "description", "derivative"], rows, most=_WIDEST)]
    return parts


def _card(function: Record) -> Table:
    texts = [(label, key, ", ".join(function[key]) if key == "aliases" else function[key]) for label, key in _LABELS]
    styles = {"signature": "bold green", "derivative": "cyan"}
    rows = [(label, Text(text, styles.get(key, ""))) for label, key, text in texts if text]
    return Table([Column("", style="dim"), ""], rows, most=_WIDEST, has_header=False)
