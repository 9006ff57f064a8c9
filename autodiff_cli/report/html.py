"""Results and tensors as HTML, for notebooks.

The parts of the output for people are converted as they are: a table becomes a ``table`` element, and lines of text become
preformatted text.  The HTML contains neither scripts nor style sheets, takes the font colour of the page, and remains readable
if the page removes its style attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.evaluation.evaluation import TensorRow
from autodiff_cli.report.array_text import human, shape_text
from autodiff_cli.report.control_characters import visible
from autodiff_cli.report.result_tables import flag, result_parts
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.table import Renderable, Table

if TYPE_CHECKING:
    from autodiff_cli.command_result import CommandResult, Record

_COLORS = {"red": "#d53b3b", "green": "#2a8540", "yellow": "#977000", "blue": "#2a76d2", "magenta": "#a055c8", "cyan": "#0d819b"}
"""The colours of styles, in shades whose contrast is at least 4 to 1 on a white page and on a page of #111111."""
_MONOSPACED = "font-family:monospace;line-height:1.35"
"""The style of preformatted text, because the style sheet of Jupyter gives it a proportional font."""


def result_html(result: CommandResult, precision: int = 6) -> str:
    """Return the output of a result for people, followed by its notes."""
    return f"{parts_html(result_parts(result, precision))}{notes_html(result.notes)}"


def notes_html(notes: Iterable[Record]) -> str:
    """Return one paragraph for each note."""
    return "".join(f"<p>note: {escape(visible(note['message']))}</p>\n" for note in notes)


def tensor_html(tensor: Tensor) -> str:
    """Return a table with the values of a tensor and its properties in autograd.

    A tensor of a transformation (a dual tensor, a batched tensor) is displayed as text, and so is a view without a valid history.
    """
    if type(tensor) is not Tensor:
        return parts_html([repr(tensor)])
    try:
        row = TensorRow.from_tensor(tensor, "", "")  # without a name and an expression
    except GraphError:  # the history of a view was lost by an in-place change
        return parts_html([repr(tensor)])
    cells = {
        "value": Text(human(row.value, whole=True)),
        "shape": Text(shape_text(tensor.shape)),
        "dtype": Text(str(tensor.dtype).removeprefix("torch.")),
        "requires_grad": flag(row.requires_grad),
        "is_leaf": flag(row.is_leaf),
        "grad_fn": Text("None", "dim") if row.grad_fn is None else Text(row.grad_fn, "magenta"),
        "grad": Text("None", "dim") if row.grad is None else Text(human(row.grad, whole=True), "bold cyan"),
    }
    return parts_html([Table(cells, [list(cells.values())], by_rows=True)])


def parts_html(parts: Sequence[Renderable]) -> str:
    """Return the parts of an output, one below the other; the lines between two tables are one block."""
    elements: list[str] = []
    lines: list[Text] = []  # since the last table
    for part in parts:
        if isinstance(part, Table):
            elements += [_preformatted_html(lines), _table_html(part)]
            lines = []
        else:
            lines.append(part if isinstance(part, Text) else Text(part))
    return "".join([*elements, _preformatted_html(lines)])


def _preformatted_html(lines: Sequence[Text]) -> str:
    """Return lines as one preformatted block, without empty lines at its ends; an empty text for empty lines."""
    text = Text()
    for number, line in enumerate(lines):
        text.append("\n" if number else "").append(line)  # a newline before each line but the first
    start = len(text) - len(text.plain.lstrip("\n"))  # after the empty lines at the beginning
    end = len(text.plain.rstrip("\n"))
    return f'<pre style="{_MONOSPACED}">{_text_html(text.part(start, end))}</pre>\n' if start < end else ""


def _table_html(table: Table) -> str:
    """Return a ``table`` element with the natural width of each column, and with its titles unless the table hides them."""
    columns = table.natural_columns()
    aligns = [column.align for column, _ in columns]
    titles = [escape(column.title.replace("\n", "")) for column, _ in columns]
    heads = "".join(f'<th style="text-align:{align}">{title}</th>' for align, title in zip(aligns, titles, strict=True))
    head = f"<thead><tr>{heads}</tr></thead>" if table.has_header else ""
    body = ""
    for row in zip(*(cells for _, cells in columns), strict=True):
        body += f"<tr>{''.join(map(_cell_html, row, aligns))}</tr>\n"
    return f"<table>\n{head}<tbody>\n{body}</tbody>\n</table>\n"


def _cell_html(cell: Text, justify: str) -> str:
    """Return a cell aligned by ``justify``; one with several lines or an indent keeps them, aligned to the left."""
    text = _text_html(cell)
    if "\n" in text or text.startswith(" "):
        return f'<td style="text-align:left"><pre style="{_MONOSPACED};margin:0">{text}</pre></td>'
    return f'<td style="text-align:{justify}">{text}</td>'


def _text_html(text: Text) -> str:
    """Return a text with its styles as elements."""
    return "".join(_piece_html(escape(part), style.split()) for part, style in text.pieces)


def _piece_html(text: str, style: Sequence[str]) -> str:
    """Return a text inside the elements of its style; of several colours, the last one counts, and a colour replaces ``dim``."""
    colors = [_COLORS[word] for word in style if word in _COLORS]
    css = "opacity:0.7" if "dim" in style else ""
    if colors:
        css = f"color:{colors[-1]}"
    for element, word in (("b", "bold"), ("i", "italic")):
        text = f"<{element}>{text}</{element}>" if word in style else text
    return f'<span style="{css}">{text}</span>' if css else text
