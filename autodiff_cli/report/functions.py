"""The result of the command ``functions``, and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.command_result import CommandResult, Record
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.table import Column, Renderable, Table, title


def matching(functions: Iterable[FunctionInfo], words: str) -> list[FunctionInfo]:
    """Return the functions whose description contains all words, in upper or lower case.

    Functions with one of the words as a name are first, then those with one of the words in a name.
    """
    terms = words.lower().split()
    ranked = []
    for function in functions:
        names = " ".join([function.name, *function.aliases])
        text = " ".join([names, function.summary, function.formula, function.section]).lower()
        if all(word in text for word in terms):
            ranked.append((not any(word in names.split() for word in terms), not any(word in names for word in terms), function))
    return [function for *_, function in sorted(ranked, key=lambda rank: rank[:2])]


class FunctionList(CommandResult):
    """Descriptions of functions.

    Args:
        functions: the functions.
        one: whether the user named a single function.
    """

    command = "functions"
    tables = "autodiff_cli.report.functions:tables"

    def __init__(self, functions: Sequence[FunctionInfo], one: bool = False) -> None:
        self.functions = [function.to_dict() for function in functions]
        self.one = one

    def content(self) -> Record:
        return {"functions": self.functions}

    def bare(self) -> list[str]:
        return [function["name"] for function in self.functions]

    def lines(self) -> list[Record]:
        return self.functions

    def records(self) -> list[Record]:
        return [{**function, "aliases": " ".join(function["aliases"])} for function in self.functions]


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
