"""The output of a result for people as LaTeX: its tables, and the sentences below them."""

from __future__ import annotations

import re

from autodiff_cli.command_result import CommandResult
from autodiff_cli.language.latex_names import escaped, identifier, number
from autodiff_cli.report.result_tables import result_parts
from autodiff_cli.report.table import NUMBER, Table

_NUMERAL = re.compile(r"(?<![\w.(*/-])(?<!\w\[)-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)(?![\w(*/]|\.\d)")
"""A number that stands alone, and is not a part of a name, an index or an expression."""
_NAME = re.compile(r"([^\W\d]\w*)(?:\[([\d, ]+)\])?")


def page(result: CommandResult, precision: int) -> str:
    """Return the tables of a result, each as a ``tabular``, and its sentences as paragraphs."""
    return "\n".join(
        _tabular(part) if isinstance(part, Table) else _paragraphs(str(part)) for part in result_parts(result, precision)
    )


def _tabular(table: Table) -> str:
    """Return a table as a ``tabular`` in which the names in its first column and all numbers are in mathematical notation."""
    align = "".join(column.align[0] for column in table.columns)  # l or r for each
    head = [escaped(column.title.replace("-\n", "").replace("\n", " ")) for column in table.columns]  # on one line
    first_cell = _numerals if table.columns[0].kind is NUMBER else _label  # in another column, a word is not a variable
    rows = [[cell.plain for cell in row[: len(head)]] for row in table.rows]  # without cells that have no column
    body = [" & ".join([first_cell(cells[0]), *map(_numerals, cells[1:])]) + r" \\" for cells in rows]
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\hline", " & ".join(head) + r" \\", r"\hline", *body, r"\hline"]
    return "\n".join([*lines, r"\end{tabular}", ""])


def _paragraphs(text: str) -> str:
    """Return each line of a text as a paragraph."""
    return "\n".join(f"{_numerals(line)}\n" for line in text.strip().splitlines())


def _label(text: str) -> str:
    """Return the name of a variable or of an element, such as ``v[0]``, in mathematical notation; other texts stay."""
    name = _NAME.fullmatch(text)
    if name is None:
        return _numerals(text)
    variable, indices = name.groups()
    return f"${{{identifier(variable)}}}_{{{indices}}}$" if indices else f"${identifier(variable)}$"


def _numerals(text: str) -> str:
    """Return a text as LaTeX, with its numbers in mathematical notation and all else escaped."""
    parts, end = [], 0
    for match in _NUMERAL.finditer(text):
        parts += [escaped(text[end : match.start()]), f"${number(match[0])}$"]
        end = match.end()
    return "".join([*parts, escaped(text[end:])])
