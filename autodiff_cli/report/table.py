"""Results for people: tables drawn with rich, which never interprets the text of the user as markup."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from autodiff_cli.command_result import CommandResult, Record, RightDigits
from autodiff_cli.lazy import named
from autodiff_cli.report import widths
from autodiff_cli.report.control_characters import visible
from autodiff_cli.report.folding_table import FoldingTable
from autodiff_cli.report.numbers import complete, human, shape_text, shown_completely
from autodiff_cli.wording import shortened

if TYPE_CHECKING:
    from autodiff_cli.derivatives.evaluate import Result
    from autodiff_cli.derivatives.products import Product
    from autodiff_cli.derivatives.taylor import Taylor

Renderable = RenderableType
"""A part of the output that rich can render."""
_WIDEST = 100_000
MOST_ROWS = 60


class _Console(Console):
    """A console that escapes control characters in text, and sends only the control sequences of its own styles."""

    def render(self, renderable: Renderable, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            safe = segment if segment.control else visible(segment.text)
            yield segment if safe is segment or safe == segment.text else Segment(str(safe), segment.style)


def console(color: str = "auto") -> Console:
    """Return the console of standard output, which has the width of the terminal, or that of ``COLUMNS``, or no limit in a pipe.

    Args:
        color: ``always``, ``never``, or ``auto``, which depends on the terminal and the environment (``NO_COLOR`` takes
            precedence over ``FORCE_COLOR``).
    """
    terminal = sys.stdout.isatty()
    wanted = color == "always" or (color == "auto" and (terminal or bool(os.environ.get("FORCE_COLOR"))))
    if color == "auto" and os.environ.get("NO_COLOR"):
        wanted = False
    return _Console(
        width=None if terminal else widths.given() or _WIDEST,
        force_terminal=wanted or None,
        force_jupyter=False,  # a console in a notebook would display captured text too
        no_color=not wanted,
        color_system="auto" if terminal and wanted else "standard" if wanted else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def drawn(parts: Sequence[Renderable], color: str = "auto") -> str:
    """Return the text of tables, one below the other."""
    out = console(color)
    with out.capture() as captured:
        out.print(Group(*parts))
    # rich pads lines with blanks, which are removed here.
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def text_of(result: CommandResult, precision: int = 6) -> str:
    """Return the output of a result for people as text without colours."""
    return drawn(parts_of(result, precision), "never").strip("\n")


def text_with_notes(result: CommandResult) -> str:
    """Return the output of a result for people as text without colours, followed by its notes."""
    return "\n".join([text_of(result), *(f"note: {visible(each['message'])}" for each in result.notes)])


def parts_of(result: CommandResult, precision: int = 6) -> list[Renderable]:
    """Return the output of a result for people, from top to bottom."""
    return [*named(result.tables)(result, precision), *verified_tables(result.verified)]


def empty_table(by_rows: bool = False, most: int | None = None) -> Table:
    """Return an empty ``FoldingTable`` in the common style, with a line below the header and at most the width of the terminal."""
    table = FoldingTable(box=box.SIMPLE_HEAD, header_style="bold")
    table.by_rows, table.most = by_rows, most
    return table


def title(text: str) -> Text:
    """Return the title of a table that follows another table, with an empty line before it."""
    return Text(f"\n{text}", "bold italic")


def tensor_table(tensors: Sequence[Mapping[str, Any]], precision: int) -> Table:
    """Return a table with one row for each tensor: variables in green, gradients in cyan, missing values as a dim ``None``."""
    table = empty_table()
    table.add_column("name", style="bold", overflow="fold")
    table.add_column("expression")
    table.add_column("value", justify="right", overflow="fold")
    for header in ("requires_\ngrad", "is_\nleaf", "retains_\ngrad"):
        table.add_column(header, no_wrap=True)
    table.add_column("grad_fn", no_wrap=True)
    table.add_column("grad", justify="right", overflow="fold")
    shown = list(tensors)
    if len(shown) > MOST_ROWS and not complete.get():
        half = MOST_ROWS // 2
        shown = [*shown[:half], {}, *shown[-half:]]
    for row in shown:
        if not row:
            table.add_row(*_more(len(tensors) - MOST_ROWS))
            continue
        if row["requires_grad"] is None:  # the value of a name or an attribute is none
            table.add_row(Text(row["name"], "bold"), "", Text("None", "dim"))
            continue
        leaf = row["is_leaf"]
        table.add_row(
            Text(row["name"], "bold green" if leaf and row["requires_grad"] else "bold"),
            Text(shortened(row["expression"]), "dim" if row["expression"] == row["name"] else ""),
            Text(human(row["value"], precision)),
            flag(row["requires_grad"]),
            flag(leaf),
            flag(row["retains_grad"]),
            Text(row["grad_fn"], "magenta") if row["grad_fn"] else Text("None", "dim"),
            Text("None", "dim") if row["grad"] is None else Text(human(row["grad"], precision), "bold cyan"),
        )
    return table


def flag(value: bool) -> Text:
    """Return the text of a boolean."""
    return Text("True", "green") if value else Text("False", "dim")


def rows_table(
    kept: Sequence[str], results: Sequence[str], rows: Sequence[Sequence[object]], left_out: int, precision: int
) -> Table:
    """Return a table of the rows of a file.

    Args:
        kept, results: the names of the columns of the input, and of the computed columns.
        rows: the values of each row, the input columns first.
        left_out: the number of rows omitted in the middle of the table.
        precision: the number of significant digits.
    """

    def shown(value: object) -> str:
        if isinstance(value, (int, float)):
            return human(value, precision)
        return "" if value is None else visible(str(value))

    table = empty_table()
    for i, name in enumerate((*kept, *results)):
        right = all(isinstance(row[i], (int, float)) for row in rows)
        table.add_column(Text(visible(name)), justify="right" if right else "left", overflow="fold")
    for i, row in enumerate(rows):
        if left_out and i == len(rows) // 2:
            table.add_row(*_more(left_out))
        table.add_row(*(Text(shown(value), "" if j < len(kept) else "bold cyan") for j, value in enumerate(row)))
    return table


def _more(count: int) -> tuple[Text, Text]:
    """Return two cells that replace hidden rows."""
    return Text("...", "dim"), Text(f"{count:,} more", "dim")


def gradient_table(gradient: Mapping[str, Any], precision: int) -> Table:
    """Return a table of the gradient, with one row for each variable; a matrix is shown as a matrix."""
    table = empty_table(by_rows=True)
    table.add_column("variable", overflow="fold")
    table.add_column("gradient", justify="right", overflow="fold")
    for name, value in gradient.items():
        table.add_row(Text(name, "bold green"), Text(human(value, precision, whole=True), "bold cyan"))
    return table


def hessian_table(hessian: Mapping[str, Mapping[str, Any]], shapes: Mapping[str, tuple[int, ...]], precision: int) -> Table:
    """Return the second derivatives as a matrix with one row and one column for each element of the variables.

    A matrix with more than ``LARGE`` rows is replaced by a table of its blocks.
    """
    names = [(name, position) for name, shape in shapes.items() for position in np.ndindex(*shape)]
    if not shown_completely((len(names), len(names))):
        table = empty_table()
        for header in ("first variable", "second variable", "shape", "values"):
            table.add_column(header, overflow="fold")
        for a, row in hessian.items():
            for b, block in row.items():
                table.add_row(Text(a), Text(b), shape_text(np.shape(block)), Text(human(block, precision)))
        return table
    table = empty_table()
    table.add_column("")
    for name, position in names:
        table.add_column(Text(_element(name, position)), justify="right", overflow="fold")
    for a, first in names:
        cells = [
            Text(human(np.asarray(hessian[a][b])[(*first, *second)], precision), "bold cyan" if (a, first) == (b, second) else "")
            for b, second in names
        ]
        table.add_row(Text(_element(a, first), "bold"), *cells)
    return table


def _element(name: str, position: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, position))}]" if position else name


def derivatives_table(derivatives: Sequence[Mapping[str, Any]], precision: int) -> Table:
    """Return a table of the derivatives of order 3 and higher, one on each line: ``d3/dx2 dy``."""
    table = empty_table()
    table.add_column("derivative")
    table.add_column("value", justify="right", overflow="fold")
    for entry in derivatives:
        table.add_row(Text(symbol(entry["wrt"])), Text(human(entry["value"], precision), "bold cyan"))
    return table


def symbol(wrt: Sequence[str]) -> str:
    """Return the symbol of a derivative: ``d3/dx2 dy`` for ``["x", "x", "y"]``."""
    counts = {name: list(wrt).count(name) for name in wrt}
    below = " ".join(f"d{name}{count if count > 1 else ''}" for name, count in counts.items())
    return f"d{len(wrt) if len(wrt) > 1 else ''}/{below}"


def evaluation_tables(result: Result, precision: int) -> list[Renderable]:
    """Return the table of tensors, and the tables of second and higher derivatives."""
    return [tensor_table([row.record() for row in result.tensors], precision), *higher_tables(result, precision)]


def gradient_tables(result: Result, precision: int) -> list[Renderable]:
    """Return the table of the gradient, and the tables of second and higher derivatives."""
    return [gradient_table(result.grad, precision), *higher_tables(result, precision)]


def higher_tables(result: Result, precision: int) -> list[Renderable]:
    """Return the tables of second and higher derivatives, with an empty line before each."""
    parts: list[Renderable] = []
    if result.hessian:
        parts += [title("second derivatives"), hessian_table(result.hessian, result.shapes, precision)]
    higher = [{"wrt": index, "value": value} for index, value in result.derivatives.items() if len(index) > 2]
    if higher:
        parts += [title("higher derivatives"), derivatives_table(higher, precision)]
    return parts


def verified_tables(verified: RightDigits | None) -> list[Renderable]:
    """Return a table with the number of correct digits of each number, and an empty line before the table.

    If digits were requested, the table includes the numbers themselves with this number of digits.
    """
    if verified is None:
        return []
    table = empty_table()
    table.add_column("number", overflow="fold")
    table.add_column("correct digits", justify="right")
    if verified.digits is not None:
        table.add_column(f"to {verified.digits} digits", overflow="fold")
    for name, right, text in verified.lines():
        cells = [Text(name, "bold"), Text("None" if right is None else f"{right:.1f}", "bold cyan")]
        table.add_row(*cells, *([Text(text or "None")] if verified.digits is not None else []))
    return [title("verified at 50 digits"), table]


def product_tables(result: Product, precision: int) -> list[Renderable]:
    """Return the table of a Jacobian, a Hessian or a product: a small matrix, or else one row for each block."""
    if result.command == "hessian" and np.ndim(result.value) == 0:
        return [hessian_table(result.found, result.shapes, precision)]
    if result.command == "jacobian" and np.ndim(result.value) <= 1:
        columns = [(name, position) for name, shape in result.shapes.items() for position in np.ndindex(*shape)]
        rows = list(np.ndindex(*np.shape(result.value)))
        if shown_completely((len(columns), len(rows))):
            return [_jacobian_table(result.found, rows, columns, precision)]
    table = empty_table(by_rows=True)
    table.add_column("derivative")
    table.add_column("shape")
    table.add_column("value", justify="right", overflow="fold")
    for name, value in result.numbers():
        cells = shape_text(np.shape(value)), Text(human(value, precision, whole=True), "bold cyan")
        table.add_row(Text(name, "bold green"), *cells)
    return [table]


def _jacobian_table(found: Mapping[str, Any], rows: Sequence[Any], columns: Sequence[Any], precision: int) -> Table:
    table = empty_table()
    table.add_column("")
    for name, position in columns:
        table.add_column(Text(_element(name, position)), justify="right", overflow="fold")
    for row in rows:
        cells = [Text(human(np.asarray(found[name])[(*row, *position)], precision)) for name, position in columns]
        table.add_row(Text(_element("output", row), "bold"), *cells)
    return table


class Formulas(Protocol):
    """A result that contains derivatives as expressions; ``values`` is empty unless a point was given."""

    texts: dict[tuple[str, ...], str]
    values: dict[tuple[str, ...], float]


def formula_tables(result: Formulas, _: int) -> list[Renderable]:
    """Return the derivative alone, or a table of derivatives as expressions with their values if a point was given."""
    formulas, values = result.texts, result.values
    if len(formulas) == 1 and not values:
        return [Text(text, "bold cyan") for text in formulas.values()]
    table = empty_table()
    table.add_column("derivative", no_wrap=True)
    table.add_column("expression", overflow="fold")
    if values:
        table.add_column("value", justify="right", no_wrap=True)
    for wrt, text in formulas.items():
        cells = [Text(human(values[wrt]))] if values else []
        table.add_row(Text(symbol(wrt), "bold green"), Text(text, "bold cyan"), *cells)
    return [table]


def taylor_tables(result: Taylor, precision: int) -> list[Renderable]:
    """Return the table of a Taylor series, with one row for each power of the distance from the point."""
    table = empty_table()
    table.add_column("term", overflow="fold")
    table.add_column("coefficient", justify="right", overflow="fold")
    table.add_column("derivative", justify="right", overflow="fold")
    at = human(result.at, precision)
    distance = result.variable if not np.any(result.at) else f"({result.variable} {'+' if at[0] == '-' else '-'} {at.lstrip('-')})"
    for k, (coefficient, derivative) in enumerate(zip(result.coefficients, result.derivatives, strict=True)):
        term = "1" if k == 0 else distance if k == 1 else f"{distance}**{k}"
        table.add_row(Text(term, "bold"), Text(human(coefficient, precision), "bold cyan"), Text(human(derivative, precision)))
    return [table]


class Checks(Protocol):
    """A result that contains checks of derivatives and claims at one or more points."""

    checks: list[Record]
    points: int


def check_tables(result: Checks, precision: int) -> list[Renderable]:
    """Return the table of checks of ``gradcheck``, and the table of claims; for several points, each row shows the worst point."""
    checks, points = result.checks, result.points
    own = [check for check in checks if "claim" not in check]
    claims = [check for check in checks if "claim" in check]
    parts: list[Renderable] = [_checks(own, ("analytic", "numeric"), points, precision)]
    return [*parts, title("claims"), _checks(claims, ("claimed", "exact"), points, precision)] if claims else parts


_VERDICTS = {
    "pass": "bold green",
    "kink": "bold yellow",
    "undecided": "bold yellow",
    **dict.fromkeys(("undefined", "jump", "fail"), "bold red"),
}
_BADNESS = list(_VERDICTS)


def _checks(checks: Sequence[Mapping[str, Any]], sides: tuple[str, str], points: int, precision: int) -> Table:
    table = empty_table()
    claims = sides[0] == "claimed"
    table.add_column("claim" if claims else "derivative", overflow="fold")
    for header in (*sides, "error", "tolerance"):
        table.add_column(header, justify="right", overflow="fold")
    table.add_column("verdict", overflow="fold")
    if points > 1:
        table.add_column("worst at", overflow="fold")
    for check in _worst(checks) if points > 1 else checks:
        by = check["wrt"] if isinstance(check["wrt"], list) else [check["wrt"]]
        cells = [
            Text(f"{check['wrt']}={check['claim']}" if claims else symbol(by)),
            *(Text(human(check[key], precision)) for key in sides),
            *(Text(human(check[key], 2)) for key in ("error", "tolerance")),
            Text(check["verdict"], _VERDICTS[check["verdict"]]),
        ]
        if points > 1:
            cells.append(Text(", ".join(f"{name}={human(value, precision)}" for name, value in check["at"].items())))
        table.add_row(*cells)
    return table


def _worst(checks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the check with the worst verdict for each derivative and claim."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for check in checks:
        key = (str(check["wrt"]), check.get("claim", ""))
        if key not in found or _BADNESS.index(check["verdict"]) > _BADNESS.index(found[key]["verdict"]):
            found[key] = check
    return list(found.values())
