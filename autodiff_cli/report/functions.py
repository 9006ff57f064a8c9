"""The result of the command ``functions``, and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.command_result import CommandResult, Record
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.table import Column, Renderable, Table, title

_DEFINITIONS = (
    ("root", "y=1", "y**3 + y = x", "root of an equation next to a start, or in a bracket y=0..2", "-(dF/dx)/(dF/dy)"),
    ("argmin", "y=0", "(y - x)**2", "point of the minimum that a descent from a start reaches", "-(d2f/dxdy)/(d2f/dy2)"),
    ("integral", "t=0..x", "exp(-t**2)", "definite integral; its ends may be infinite", "exp(-x**2)"),
)
"""The functions that bind a name: their arguments in an example, the description, and the derivative."""


def definitions() -> list[FunctionInfo]:
    """Return the functions whose value an equation, a minimum or an integral defines; they are not functions of tensors."""
    return [
        FunctionInfo(
            name=name,
            function=str,  # which is not called
            parameters=(bound, body),
            defaults=(),
            tensors=(),
            kinds={},
            section="definitions",
            summary=summary,
            formula=formula,
        )
        for name, bound, body, summary, formula in _DEFINITIONS
    ]


def matching(functions: Iterable[FunctionInfo], words: str) -> list[FunctionInfo]:
    """Return the functions whose description contains all words, in upper or lower case.

    Functions with one of the words as a name or an alias are first, then those with one of the words in a name, then all others.
    """
    terms = words.lower().split()
    named, with_part_of_name, others = [], [], []
    for function in functions:
        names = [function.name, *function.aliases]
        text = " ".join([*names, function.summary, function.formula, function.section]).lower()
        if not all(word in text for word in terms):
            continue
        if any(word in names for word in terms):
            named.append(function)
        elif any(word in name for word in terms for name in names):
            with_part_of_name.append(function)
        else:
            others.append(function)
    return [*named, *with_part_of_name, *others]


class FunctionList(CommandResult):
    """Descriptions of functions; ``one`` says whether the user named a single function, which is then described completely."""

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
    """Return a title and a table for each section, or all about a function if only ``one`` was named; the precision is not used."""
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
    """Return the complete description of a function, without the lines that would be empty."""
    styles = {"signature": "bold green", "derivative": "cyan"}
    rows = []
    for label, key in _LABELS:
        text = ", ".join(function[key]) if key == "aliases" else function[key]  # only the aliases are a list
        if text:
            rows.append((label, Text(text, styles.get(key, ""))))
    return Table([Column("", style="dim"), ""], rows, most=_WIDEST, has_header=False)
