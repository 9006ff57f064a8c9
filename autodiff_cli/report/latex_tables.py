"""LaTeX tables of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from autodiff_cli.command_result import Record
from autodiff_cli.language.latex_names import escaped, identifier, number
from autodiff_cli.report.numbers import human

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def tabular(columns: str, head: Sequence[str], rows: Iterable[Sequence[str]], foot: Sequence[str] = ()) -> str:
    """Return a table.

    Args:
        columns: the alignment of each column: ``l`` or ``r``.
        head: the headers.
        rows: the cells of each row.
        foot: lines below the table, each over all columns.
    """
    below = [rf"\multicolumn{{{len(columns)}}}{{l}}{{{text}}} \\" for text in foot]
    body = [" & ".join(cells) + r" \\" for cells in rows]
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\hline", " & ".join(head) + r" \\", r"\hline", *body, r"\hline", *below]
    return "\n".join([*lines, r"\end{tabular}", ""])


def of_records(records: Sequence[Record], precision: int) -> str:
    """Return a table with a column for each key of the records, which hold numbers and texts."""
    names = list(records[0]) if records else ["step"]
    rows = [
        [escaped(value) if isinstance(value, str) else numeral(value, precision) for value in record.values()] for record in records
    ]
    return tabular("r" * len(names), [escaped(name) for name in names], rows)


def label(name: str) -> str:
    """Return the name of a variable or of an element, such as ``v[0]``, in mathematical notation."""
    head, _, index = name.partition("[")
    return f"${{{identifier(head)}}}_{{{index[:-1]}}}$" if index else f"${identifier(head)}$"


def numeral(value: ArrayLike, precision: int = 6) -> str:
    """Return a number, an array, or the text of a number in mathematical notation."""
    return f"${number(value if isinstance(value, str) else human(value, precision))}$"
