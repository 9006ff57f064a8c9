"""Results for people as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from autodiff_cli.command_result import CommandResult, Record, RightDigits
from autodiff_cli.evaluation.names import element_names
from autodiff_cli.lazy import named
from autodiff_cli.report.array_text import human, shape_text, shown_completely
from autodiff_cli.report.control_characters import visible
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.table import EXPRESSION, MOST_ROWS, NUMBER, TEXT, WORD, Cell, Column, Renderable, Table, more_rows, title
from autodiff_cli.report.terminal import drawn
from autodiff_cli.wording import shortened

if TYPE_CHECKING:
    from autodiff_cli.derivatives.evaluate import Result
    from autodiff_cli.derivatives.matrices_and_products import Product
    from autodiff_cli.derivatives.taylor import Taylor


def result_text(result: CommandResult, precision: int = 6) -> str:
    """Return the output of a result for people as text without colours."""
    return drawn(result_parts(result, precision), "never").strip("\n")


def text_with_notes(result: CommandResult) -> str:
    """Return the output of a result for people as text without colours, followed by its notes."""
    return "\n".join([result_text(result), *(f"note: {visible(note['message'])}" for note in result.notes)])


def result_parts(result: CommandResult, precision: int = 6) -> list[Renderable]:
    """Return the output of a result for people, from top to bottom."""
    return [*named(result.tables)(result, precision), *verified_tables(result.verified)]


def tensor_table(tensors: Sequence[Mapping[str, Any]], precision: int) -> Table:
    """Return a table with one row for each tensor: variables in green, gradients in cyan, missing values as a dim ``None``.

    A row replaces the middle of a table with more than ``MOST_ROWS`` rows.
    """
    columns = [Column("name", style="bold"), Column("expression", EXPRESSION), Column("value", NUMBER)]
    columns += [Column(header, WORD) for header in ("requires_\ngrad", "is_\nleaf", "retains_\ngrad", "grad_fn")]
    cells = [_tensor_cells(row, precision) for row in tensors]
    if len(cells) > MOST_ROWS:
        half = MOST_ROWS // 2
        cells[half:-half] = [more_rows(len(cells) - MOST_ROWS)]
    return Table([*columns, Column("grad", NUMBER)], cells)


def _tensor_cells(row: Mapping[str, Any], precision: int) -> list[Text]:
    """Return the cells of one tensor, or only three for a name or an attribute whose value is ``None``."""
    none = Text("None", "dim")
    if row["requires_grad"] is None:  # it is not a tensor
        return [Text(row["name"], "bold"), Text(), none]
    leaf = row["is_leaf"]
    return [
        Text(row["name"], "bold green" if leaf and row["requires_grad"] else "bold"),
        Text(shortened(row["expression"]), "dim" if row["expression"] == row["name"] else ""),
        Text(human(row["value"], precision)),
        flag(row["requires_grad"]),
        flag(leaf),
        flag(row["retains_grad"]),
        Text(row["grad_fn"], "magenta") if row["grad_fn"] else none,
        none if row["grad"] is None else Text(human(row["grad"], precision), "bold cyan"),
    ]


def flag(value: bool) -> Text:
    """Return the text of a boolean."""
    return Text("True", "green") if value else Text("False", "dim")


def rows_table(
    inputs: Sequence[str], results: Sequence[str], rows: Sequence[Sequence[object]], left_out: int, precision: int
) -> Table:
    """Return a table of the rows of a file.

    Args:
        inputs, results: the names of the columns of the input, and of the computed columns.
        rows: the values of each row, the input columns first.
        left_out: the number of rows omitted in the middle of the table.
        precision: the number of significant digits.
    """
    columns = []
    for i, name in enumerate((*inputs, *results)):
        has_numbers = all(isinstance(row[i], (int, float)) for row in rows)  # also without rows
        columns.append(Column(visible(name), NUMBER if has_numbers else TEXT))
    styles = ["" if j < len(inputs) else "bold cyan" for j in range(len(columns))]  # computed columns stand out
    cells = [[Text(_cell_text(value, precision), style) for value, style in zip(row, styles, strict=True)] for row in rows]
    if left_out:
        cells.insert(len(rows) // 2, more_rows(left_out))
    return Table(columns, cells)


def _cell_text(value: object, precision: int) -> str:
    """Return a value of a file as the text of a cell, which is empty for ``None``."""
    if isinstance(value, (int, float)):
        return human(value, precision)
    return "" if value is None else visible(str(value))


def steps_table(steps: Sequence[Record], precision: int) -> Table:
    """Return a table of the steps of an iteration, whose columns are the keys of the first step; texts and counts stay."""
    names = steps[0] if steps else ("step",)
    columns = [Column(name, TEXT if name in ("done", "action") else NUMBER) for name in names]
    cells = [[str(value) if isinstance(value, int | str) else human(value, precision) for value in row.values()] for row in steps]
    return Table(columns, cells)


def hessian_table(hessian: Mapping[str, Mapping[str, Any]], shapes: Mapping[str, tuple[int, ...]], precision: int) -> Table:
    """Return the second derivatives as a matrix with one row and one column for each element of the variables.

    The diagonal is bold.  A matrix with more than ``LARGE`` rows is replaced by a table of its blocks.
    """
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    if not shown_completely((sum(sizes.values()),)):
        blocks = [(a, b, block) for a, row in hessian.items() for b, block in row.items()]
        rows = [(a, b, shape_text(np.shape(block)), human(block, precision)) for a, b, block in blocks]
        return Table(["first variable", "second variable", "shape", "values"], rows)
    matrix = np.block([[np.reshape(hessian[a][b], (sizes[a], sizes[b])) for b in sizes] for a in sizes])
    cells = [
        [Text(human(number, precision), "bold cyan" if i == j else "") for j, number in enumerate(row)]
        for i, row in enumerate(matrix)
    ]
    labels = [label for name, shape in shapes.items() for label in element_names(name, shape)]
    return _matrix_table(labels, labels, cells)


def _matrix_table(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Cell]]) -> Table:
    """Return a table of numbers with names of rows and of columns."""
    heads = [Column("", EXPRESSION, "bold"), *(Column(name, NUMBER) for name in columns)]
    return Table(heads, [[row, *own] for row, own in zip(rows, cells, strict=True)])


def symbol(wrt: Sequence[str]) -> str:
    """Return the symbol of a derivative: ``d3/dx2 dy`` for ``["x", "x", "y"]``."""
    counts = {name: list(wrt).count(name) for name in wrt}  # in the order of the names
    below = " ".join(f"d{name}{count if count > 1 else ''}" for name, count in counts.items())  # an order of 1 is not written
    return f"d{len(wrt) if len(wrt) > 1 else ''}/{below}"


def evaluation_tables(result: Result, precision: int) -> list[Renderable]:
    """Return the table of tensors, and the tables of second and higher derivatives."""
    return [tensor_table([row._asdict() for row in result.tensors], precision), *higher_tables(result, precision)]


def gradient_tables(result: Result, precision: int) -> list[Renderable]:
    """Return the table of the gradient, with one row for each variable, and the tables of second and higher derivatives."""
    rows = [(Text(name, "bold green"), Text(human(part, precision, whole=True), "bold cyan")) for name, part in result.grad.items()]
    table = Table(["variable", Column("gradient", NUMBER)], rows, by_rows=True)
    return [table, *higher_tables(result, precision)]


def higher_tables(result: Result, precision: int) -> list[Renderable]:
    """Return the tables of second and higher derivatives, with an empty line before each."""
    parts: list[Renderable] = []
    if result.hessian:
        parts += [title("second derivatives"), hessian_table(result.hessian, result.shapes, precision)]
    higher = {index: value for index, value in result.derivatives.items() if len(index) > 2}
    if higher:
        rows = [(symbol(index), Text(human(value, precision), "bold cyan")) for index, value in higher.items()]
        parts += [title("higher derivatives"), Table([Column("derivative", EXPRESSION), Column("value", NUMBER)], rows)]
    return parts


def verified_tables(verified: RightDigits | None) -> list[Renderable]:
    """Return a title and a table with the number of correct digits of each number; nothing for ``None``.

    If digits were requested, the table includes the numbers themselves with this number of digits.
    """
    if verified is None:
        return []
    columns = [Column("number"), Column("correct digits", NUMBER)]
    if verified.digits is not None:
        columns.append(Column(f"to {verified.digits} digits"))
    rows: list[list[Cell]] = []
    for name, right, text in verified.lines():
        count = "None" if right is None else f"{right:.1f}"  # ``None``: it is unknown
        rows.append([Text(name, "bold"), Text(count, "bold cyan"), text or "None"])  # without digits, the last cell has no column
    return [title("verified at 50 digits"), Table(columns, rows)]


def product_tables(result: Product, precision: int) -> list[Renderable]:
    """Return the table of a Jacobian, a Hessian or a product: a small matrix, or else one row for each block."""
    if result.command == "hessian" and np.ndim(result.value) == 0:
        return [hessian_table(result.derivatives, result.shapes, precision)]
    columns = sum(map(math.prod, result.shapes.values()))
    if result.command == "jacobian" and np.ndim(result.value) <= 1 and shown_completely((columns, np.size(result.value))):
        return [_jacobian_table(result, precision)]
    cells = [
        (Text(name, "bold green"), shape_text(np.shape(value)), Text(human(value, precision, whole=True), "bold cyan"))
        for name, value in result.numbers()
    ]
    headers = [Column("derivative", EXPRESSION), Column("shape", EXPRESSION), Column("value", NUMBER)]
    return [Table(headers, cells, by_rows=True)]


def _jacobian_table(result: Product, precision: int) -> Table:
    """Return the Jacobian of a number or a vector as a matrix, with the names of the elements."""
    numbers = [[human(number, precision) for number in row] for row in result.jacobian_matrix()]
    labels = [label for name, shape in result.shapes.items() for label in element_names(name, shape)]
    return _matrix_table(element_names("output", np.shape(result.value)), labels, numbers)


class Formulas(Protocol):
    """A result that contains derivatives as expressions; ``values`` is empty unless a point was given."""

    texts: dict[tuple[str, ...], str]
    values: dict[tuple[str, ...], float]
    steps: Sequence[Any]


def _steps_tables(steps: Sequence[Any]) -> list[Renderable]:
    """Return a table, and an empty line, for consecutive steps of one sort: parts of an expression, ``u = ...``, or derivatives."""
    tables: list[Renderable] = []
    for is_part, group in groupby(steps, lambda step: " = " in step.of):
        if is_part:
            rows = [[Text(step.of, "bold"), Text(step.gives, "cyan"), Text(step.rule, "dim")] for step in group]
            table = Table(["part", "differential", "rule"], rows)
        else:
            table = Table(["derivative", "step"], [[Text(step.gives, "cyan"), Text(step.rule, "dim")] for step in group])
        tables += [table, ""]
    return tables


def formula_tables(result: Formulas, _: int) -> list[Renderable]:
    """Return the steps, then a single derivative alone, or a table of derivatives with their values if a point was given.

    The precision does not matter, because a formula has all digits.
    """
    formulas, values = result.texts, result.values
    parts = _steps_tables(result.steps)
    if len(formulas) == 1 and not values:
        return [*parts, *(Text(text, "bold cyan") for text in formulas.values())]
    columns = [Column("derivative", WORD), Column("expression"), *([Column("value", NUMBER)] if values else [])]
    rows: list[list[Cell]] = []
    for wrt, text in formulas.items():
        value = [human(values[wrt])] if values else []
        rows.append([Text(symbol(wrt), "bold green"), Text(text, "bold cyan"), *value])
    return [*parts, Table(columns, rows)]


def taylor_tables(result: Taylor, precision: int) -> list[Renderable]:
    """Return the table of a Taylor series, with one row for each power of the distance from the point."""
    distance = result.variable
    if np.any(result.at):
        at = human(result.at, precision)
        sign = "+" if at.startswith("-") else "-"
        distance = f"({result.variable} {sign} {at.lstrip('-')})"
    powers = ["1", distance, *(f"{distance}**{order}" for order in range(2, result.order + 1))][: result.order + 1]  # order 0: 1
    rows = [
        (Text(power, "bold"), Text(human(coefficient, precision), "bold cyan"), human(derivative, precision))
        for power, coefficient, derivative in zip(powers, result.coefficients, result.derivatives, strict=True)
    ]
    return [Table(["term", Column("coefficient", NUMBER), Column("derivative", NUMBER)], rows)]


class Checks(Protocol):
    """A result that contains checks of derivatives and claims at one or more points."""

    checks: list[Record]
    points: int


def check_tables(result: Checks, precision: int) -> list[Renderable]:
    """Return the table of checks of ``gradcheck``, and the table of claims; for several points, each row shows the worst point."""
    checks, points = result.checks, result.points
    own = [check for check in checks if "claim" not in check]
    claims = [check for check in checks if "claim" in check]
    parts: list[Renderable] = [_checks_table(own, ("analytic", "numeric"), points, precision)]
    return [*parts, title("claims"), _checks_table(claims, ("claimed", "exact"), points, precision)] if claims else parts


_VERDICTS = {
    "pass": "bold green",
    "kink": "bold yellow",
    "undecided": "bold yellow",
    **dict.fromkeys(("undefined", "jump", "fail"), "bold red"),
}
"""The styles of verdicts, from the best verdict to the worst."""
_BADNESS = list(_VERDICTS)


def _checks_table(checks: Sequence[Mapping[str, Any]], sides: tuple[str, str], points: int, precision: int) -> Table:
    """Return a table of checks, each of which compares the two derivatives with the keys ``sides``: ``claimed`` for a claim.

    With several ``points``, a row shows the worst check and its point.
    """
    are_claims, has_several = sides[0] == "claimed", points > 1
    numbers = [Column(header, NUMBER) for header in (*sides, "error", "tolerance")]
    rows: list[list[Cell]] = []
    for check in _worst_checks(checks) if has_several else checks:
        wrt = check["wrt"] if isinstance(check["wrt"], list) else [check["wrt"]]
        row: list[Cell] = [f"{check['wrt']}={check['claim']}" if are_claims else symbol(wrt)]
        row += [human(check[side], precision) for side in sides]
        row += [human(check["error"], 2), human(check["tolerance"], 2)]
        row.append(Text(check["verdict"], _VERDICTS[check["verdict"]]))
        if has_several:
            row.append(", ".join(f"{name}={human(value, precision)}" for name, value in check["at"].items()))
        rows.append(row)
    columns = ["claim" if are_claims else "derivative", *numbers, "verdict"]
    return Table([*columns, "worst at"] if has_several else columns, rows)


def _worst_checks(checks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the check with the worst verdict, of equals the first, for each derivative and each claim at several points."""
    worst: dict[tuple[str, str], Mapping[str, Any]] = {}
    for check in checks:
        key = (str(check["wrt"]), check.get("claim", ""))
        is_worse = key not in worst or _BADNESS.index(check["verdict"]) > _BADNESS.index(worst[key]["verdict"])
        if is_worse:
            worst[key] = check
    return list(worst.values())
