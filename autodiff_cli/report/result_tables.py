"""Results for people as tables."""

from __future__ import annotations

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
    """Return a table with one row for each tensor: variables in green, gradients in cyan, missing values as a dim ``None``."""
    columns = [Column("name", style="bold"), Column("expression", EXPRESSION), Column("value", NUMBER)]
    columns += [Column(header, WORD) for header in ("requires_\ngrad", "is_\nleaf", "retains_\ngrad", "grad_fn")]
    cells = [_tensor_cells(row, precision) for row in tensors]
    if len(cells) > MOST_ROWS:
        half = MOST_ROWS // 2
        cells[half:-half] = [more_rows(len(cells) - MOST_ROWS)]
    return Table([*columns, Column("grad", NUMBER)], cells)


def _tensor_cells(row: Mapping[str, Any], precision: int) -> list[Text]:
    """Return the cells of one tensor; the row of a value that is ``None`` has three."""
    none = Text("None", "dim")
    if row["requires_grad"] is None:  # the value of a name or an attribute is none
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

    def shown(value: object) -> str:
        if isinstance(value, (int, float)):
            return human(value, precision)
        return "" if value is None else visible(str(value))

    columns = []
    for i, name in enumerate((*inputs, *results)):
        right = all(isinstance(row[i], (int, float)) for row in rows)
        columns.append(Column(visible(name), NUMBER if right else TEXT))
    cells = [[Text(shown(value), "" if j < len(inputs) else "bold cyan") for j, value in enumerate(row)] for row in rows]
    if left_out:
        cells.insert(len(rows) // 2, more_rows(left_out))
    return Table(columns, cells)


def steps_table(steps: Sequence[Record], precision: int) -> Table:
    """Return a table of the steps of an iteration, whose columns are the keys of the first step; texts and counts stay."""
    columns = [Column(name, TEXT if name in ("done", "action") else NUMBER) for name in (steps[0] if steps else ("step",))]
    cells = [[str(value) if isinstance(value, int | str) else human(value, precision) for value in row.values()] for row in steps]
    return Table(columns, cells)


def hessian_table(hessian: Mapping[str, Mapping[str, Any]], shapes: Mapping[str, tuple[int, ...]], precision: int) -> Table:
    """Return the second derivatives as a matrix with one row and one column for each element of the variables.

    The diagonal is bold.  A matrix with more than ``LARGE`` rows is replaced by a table of its blocks.
    """
    names = [(name, position) for name, shape in shapes.items() for position in np.ndindex(*shape)]
    if not shown_completely((len(names), len(names))):
        blocks = [(a, b, block) for a, row in hessian.items() for b, block in row.items()]
        rows = [(a, b, shape_text(np.shape(block)), human(block, precision)) for a, b, block in blocks]
        return Table(["first variable", "second variable", "shape", "values"], rows)
    cells = [
        [
            Text(human(np.asarray(hessian[a][b])[(*first, *second)], precision), "bold cyan" if (a, first) == (b, second) else "")
            for b, second in names
        ]
        for a, first in names
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
    below = " ".join(f"d{name}{count if count > 1 else ''}" for name, count in counts.items())
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
    """Return a table with the number of correct digits of each number, and an empty line before the table.

    If digits were requested, the table includes the numbers themselves with this number of digits.
    """
    if verified is None:
        return []
    has_digits = verified.digits is not None
    columns = [Column("number"), Column("correct digits", NUMBER), *([Column(f"to {verified.digits} digits")] * has_digits)]
    rows: list[list[Cell]] = [
        [Text(name, "bold"), Text("None" if right is None else f"{right:.1f}", "bold cyan"), text or "None"]
        for name, right, text in verified.lines()
    ]
    return [title("verified at 50 digits"), Table(columns, rows)]


def product_tables(result: Product, precision: int) -> list[Renderable]:
    """Return the table of a Jacobian, a Hessian or a product: a small matrix, or else one row for each block."""
    if result.command == "hessian" and np.ndim(result.value) == 0:
        return [hessian_table(result.derivatives, result.shapes, precision)]
    if result.command == "jacobian" and np.ndim(result.value) <= 1:
        columns = [(name, position) for name, shape in result.shapes.items() for position in np.ndindex(*shape)]
        rows = list(np.ndindex(*np.shape(result.value)))
        if shown_completely((len(columns), len(rows))):
            blocks = {name: np.asarray(block) for name, block in result.derivatives.items()}
            numbers = [[human(blocks[name][(*row, *position)], precision) for name, position in columns] for row in rows]
            labels = [label for name, shape in result.shapes.items() for label in element_names(name, shape)]
            return [_matrix_table(element_names("output", np.shape(result.value)), labels, numbers)]
    cells = [
        (Text(name, "bold green"), shape_text(np.shape(value)), Text(human(value, precision, whole=True), "bold cyan"))
        for name, value in result.numbers()
    ]
    headers = [Column("derivative", EXPRESSION), Column("shape", EXPRESSION), Column("value", NUMBER)]
    return [Table(headers, cells, by_rows=True)]


class Formulas(Protocol):
    """A result that contains derivatives as expressions; ``values`` is empty unless a point was given."""

    texts: dict[tuple[str, ...], str]
    values: dict[tuple[str, ...], float]
    steps: Sequence[Any]


def _steps_tables(steps: Sequence[Any]) -> list[Renderable]:
    """Return tables of consecutive steps of one sort: the parts of an expression, ``u = ...``, and then the derivatives."""
    parts: list[Renderable] = []
    for is_part, group in groupby(steps, lambda step: " = " in step.of):
        rows = [[*([Text(step.of, "bold")] * is_part), Text(step.gives, "cyan"), Text(step.rule, "dim")] for step in group]
        parts += [Table(["part", "differential", "rule"] if is_part else ["derivative", "step"], rows), ""]
    return parts


def formula_tables(result: Formulas, _: int) -> list[Renderable]:
    """Return the steps, then the derivative alone, or a table of derivatives with their values if a point was given."""
    formulas, values = result.texts, result.values
    parts = _steps_tables(result.steps)
    if len(formulas) == 1 and not values:
        return [*parts, *(Text(text, "bold cyan") for text in formulas.values())]
    rows: list[list[Cell]] = [
        [Text(symbol(wrt), "bold green"), Text(text, "bold cyan"), *([human(values[wrt])] if values else [])]
        for wrt, text in formulas.items()
    ]
    return [*parts, Table([Column("derivative", WORD), "expression", *([Column("value", NUMBER)] if values else [])], rows)]


def taylor_tables(result: Taylor, precision: int) -> list[Renderable]:
    """Return the table of a Taylor series, with one row for each power of the distance from the point."""
    at = human(result.at, precision)
    distance = result.variable if not np.any(result.at) else f"({result.variable} {'+' if at[0] == '-' else '-'} {at.lstrip('-')})"
    rows = [
        (
            Text("1" if k == 0 else distance if k == 1 else f"{distance}**{k}", "bold"),
            Text(human(coefficient, precision), "bold cyan"),
            human(derivative, precision),
        )
        for k, (coefficient, derivative) in enumerate(zip(result.coefficients, result.derivatives, strict=True))
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
_BADNESS = list(_VERDICTS)


def _checks_table(checks: Sequence[Mapping[str, Any]], sides: tuple[str, str], points: int, precision: int) -> Table:
    """Return the table of checks of the derivatives ``sides``; of several ``points``, a row shows the worst and where it is."""
    are_claims, several = sides[0] == "claimed", points > 1
    numbers = [Column(header, NUMBER) for header in (*sides, "error", "tolerance")]
    rows: list[list[Cell]] = []
    for check in _worst_checks(checks) if several else checks:
        by = check["wrt"] if isinstance(check["wrt"], list) else [check["wrt"]]
        rows.append(
            [
                f"{check['wrt']}={check['claim']}" if are_claims else symbol(by),
                *(human(check[key], precision) for key in sides),
                *(human(check[key], 2) for key in ("error", "tolerance")),
                Text(check["verdict"], _VERDICTS[check["verdict"]]),
                *([", ".join(f"{name}={human(value, precision)}" for name, value in check["at"].items())] if several else []),
            ]
        )
    return Table(["claim" if are_claims else "derivative", *numbers, "verdict", *(["worst at"] if several else [])], rows)


def _worst_checks(checks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the check with the worst verdict for each derivative and claim."""
    worst: dict[tuple[str, str], Mapping[str, Any]] = {}
    for check in checks:
        key = (str(check["wrt"]), check.get("claim", ""))
        if key not in worst or _BADNESS.index(check["verdict"]) > _BADNESS.index(worst[key]["verdict"]):
            worst[key] = check
    return list(worst.values())
