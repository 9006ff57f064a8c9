"""Results and tensors as HTML, for notebooks.

The parts of the output for people are converted as they are: a table becomes a ``table`` element, and lines of text become
preformatted text.  The HTML contains neither scripts nor style sheets, takes the font colour of the page, and remains readable
if the page removes its style attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from rich.console import Console
from rich.style import Style
from rich.text import Text

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.evaluation.evaluation import TensorRow
from autodiff_cli.report.control_characters import visible
from autodiff_cli.report.folding_table import FoldingTable
from autodiff_cli.report.numbers import human, shape_text
from autodiff_cli.report.table import Renderable, empty_table, flag, parts_of

if TYPE_CHECKING:
    from autodiff_cli.command_result import CommandResult, Record

_COLORS = {
    "red": "#d53b3b",
    "green": "#2a8540",
    "yellow": "#977000",
    "blue": "#2a76d2",
    "magenta": "#a055c8",
    "cyan": "#0d819b",
}
"""The colours of styles, in shades whose contrast is at least 4 to 1 on a white page and on a page of #111111."""
_MONOSPACED = "font-family:monospace;line-height:1.35"
"""The style of preformatted text, because the style sheet of Jupyter gives it a proportional font."""
_STYLES = Console(force_jupyter=False)
"""The console that resolves the names of styles."""


def of_result(result: CommandResult, precision: int = 6) -> str:
    """Return the output of a result for people, followed by its notes."""
    return f"{of_parts(parts_of(result, precision))}{of_notes(result.notes)}"


def of_notes(notes: Iterable[Record]) -> str:
    """Return one paragraph for each note."""
    return "".join(f"<p>note: {_escaped(note['message'])}</p>\n" for note in notes)


def of_tensor(tensor: Tensor) -> str:
    """Return a table with the values of a tensor and its properties in autograd.

    A tensor of a transformation (a dual tensor, a batched tensor) is displayed as text, and so is a view without a valid history.
    """
    try:
        row = TensorRow.of(tensor, "", "") if type(tensor) is Tensor else None
    except GraphError:
        row = None  # the history of a view was lost by an in-place change
    if row is None:
        return of_parts([repr(tensor)])
    table = empty_table(by_rows=True)
    cells = {
        "value": Text(human(row.value, whole=True)),
        "shape": Text(shape_text(tensor.shape)),
        "dtype": Text(str(tensor.dtype).removeprefix("torch.")),
        "requires_grad": flag(row.requires_grad),
        "is_leaf": flag(row.is_leaf),
        "grad_fn": Text("None", "dim") if row.grad_fn is None else Text(row.grad_fn, "magenta"),
        "grad": Text("None", "dim") if row.grad is None else Text(human(row.grad, whole=True), "bold cyan"),
    }
    for name in cells:
        table.add_column(name, overflow="fold")
    table.add_row(*cells.values())
    return of_parts([table])


def of_parts(parts: Sequence[Renderable]) -> str:
    """Return the parts of an output, one below the other."""
    found: list[str] = []
    lines: list[Text] = []
    for part in parts:
        if isinstance(part, FoldingTable):
            found += [_preformatted(lines), _table(part)]
            lines = []
        else:
            lines.append(part if isinstance(part, Text) else Text(str(part)))
    return "".join([*found, _preformatted(lines)])


def _preformatted(lines: Sequence[Text]) -> str:
    text = Text("\n").join(lines)
    start, end = len(text) - len(text.plain.lstrip("\n")), len(text.plain.rstrip("\n"))
    return f'<pre style="{_MONOSPACED}">{_spans(text[start:end])}</pre>\n' if start < end else ""


def _table(table: FoldingTable) -> str:
    columns = table.natural_columns()
    heads = "".join(f'<th style="text-align:{justify}">{escape(title)}</th>' for title, justify, _ in columns)
    rows = zip(*(cells for _, _, cells in columns), strict=True)
    body = "".join(
        f"<tr>{''.join(_cell(cell, justify) for cell, (_, justify, _) in zip(row, columns, strict=True))}</tr>\n" for row in rows
    )
    return f"<table>\n{f'<thead><tr>{heads}</tr></thead>' * table.show_header}<tbody>\n{body}</tbody>\n</table>\n"


def _cell(cell: Text, justify: str) -> str:
    text = _spans(cell)
    if "\n" in text or text.startswith(" "):
        return f'<td style="text-align:left"><pre style="{_MONOSPACED};margin:0">{text}</pre></td>'
    return f'<td style="text-align:{justify}">{text}</td>'


def _spans(text: Text) -> str:
    """Return a text with its styles as elements."""
    return "".join(_styled(_escaped(part), style or Style()) for part, style, _ in Text().append_text(text).render(_STYLES))


def _styled(text: str, style: Style) -> str:
    color = _COLORS.get(style.color.name, "") if style.color is not None else ""
    css = f"color:{color}" if color else "opacity:0.7" if style.dim else ""
    for element, used in (("b", style.bold), ("i", style.italic)):
        text = f"<{element}>{text}</{element}>" if used else text
    return f'<span style="{css}">{text}</span>' if css else text


def _escaped(text: str) -> str:
    return escape(visible(text))
