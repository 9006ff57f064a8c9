"""A graph on the terminal: a tree with columns of values and gradients."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from autodiff_cli.graph_drawing.labels import brief, constant_text, fitted, shows_value
from autodiff_cli.graph_drawing.model import LEAVES, Graph, GraphNode
from autodiff_cli.number_text import bytes_text
from autodiff_cli.report.styled_text import Text
from autodiff_cli.report.styled_text import columns as columns_of
from autodiff_cli.report.table import NUMBER, TEXT, WORD, Column, Renderable, Table
from autodiff_cli.report.terminal import is_ascii, width

MOST_GUIDES = 30
"""The maximum number of guides before a line; a deeper line begins with the number of its level."""
BARS = ("│  ", "   ", "├─ ", "└─ ")
ASCII_BARS = ("|  ", "   ", "|- ", "`- ")
WIDEST_EXPRESSION = 60


def branches(
    graph: Graph, most_guides: int = MOST_GUIDES, bars: tuple[str, str, str, str] = BARS
) -> Iterator[tuple[str, int | None, bool]]:
    """Yield the lines of the tree: the guides, the position of the node, and whether the line refers to a node above.

    The position is ``None`` for an input that does not receive a gradient.  ``bars`` are the guides next to a branch, below the
    last branch, at a branch, and at the last branch.
    """
    beside_branch, below_last, at_branch, at_last = bars
    visited: set[int] = set()
    guides: list[str] = []  # one for each level above the line
    stack: list[tuple[int | None, int, bool]] = [(len(graph.nodes) - 1, 0, True)]  # the position, the level, whether it is last
    while stack:
        i, level, is_last = stack.pop()
        del guides[max(level - 1, 0) :]  # those below the parent of this line
        level_number = f"{level} ⋯ " if len(guides) > most_guides else ""  # in place of the guides that are left out
        branch = "" if level == 0 else at_last if is_last else at_branch
        yield level_number + "".join(guides[-most_guides:]) + branch, i, i in visited
        if level:
            guides.append(below_last if is_last else beside_branch)
        if i is None or i in visited:
            continue
        visited.add(i)
        inputs = list(enumerate(graph.nodes[i].inputs, 1))
        stack += [(source, level + 1, number == len(inputs)) for number, source in reversed(inputs)]


def plain_tree(graph: Graph) -> str:
    """Return the tree for logs and other programs: in ASCII, as wide as it is, with all digits."""
    table = tree_table(graph, precision=17, columns=sys.maxsize, ascii_only=True)
    text = "\n".join(line.plain.rstrip() for line in table.drawn(sys.maxsize, ascii_only=True))
    return f"{text}\n" if graph.memory is None else f"{text}\n\n{graph.memory.text}\n"


def headers(graph: Graph) -> list[str]:
    """Return the headers of the columns."""
    titles = ["node", "tensor" if graph.direction == "backward" else "expression", "value", "grad"]
    return titles if graph.memory is None else [*titles, "saves", "memory"]


def saved_cells(graph: Graph, node: GraphNode) -> list[str]:
    """Return the cells of the columns of saved values, which exist only if these values were requested."""
    if graph.memory is None:
        return []
    from autodiff_cli.autograd.saved.memory_use import new_bytes, text_of

    values = node.saved or []
    return [text_of(values), bytes_text(new_bytes(values)) if any(value.bytes for value in values) else ""]


def reference_to(node: GraphNode, position: int) -> str:
    """Return the text that refers to a node: its name, or else its position."""
    return "…" if node.kind == "more" else node.name or f"#{position}"


def own_expression(node: GraphNode) -> str:
    """Return the expression of a node; empty if it is the same as the label."""
    return "" if node.kind in ("constant", "more") or node.expression == node.label else node.expression


def tensor_of(node: GraphNode, position: int, named: bool) -> str:
    """Return the expression of the tensor behind a node of a backward graph; ``named`` adds its name or its position."""
    if node.kind in ("variable", "more"):
        return node.name
    parts = [reference_to(node, position) if named else "", own_expression(node)]
    return " = ".join(part for part in parts if part)


_SIGNS = {"variable": "●", "constant": "·", "operation": "○", "named": "◇", "output": "◉", "more": "…", "up": "↑"}
_ASCII_SIGNS = dict(zip(_SIGNS, "*.oo@~^", strict=True))
_STYLES = {
    "variable": "bold green",
    "constant": "yellow",
    "operation": "magenta",
    "named": "bold magenta",
    "output": "bold cyan",
    "more": "dim",
}
_GAP = 3  # the number of blanks between two columns of the table
_NARROWEST_EXPRESSION = 12
_HEAD, _EXPRESSION, _SAVES = 0, 1, 4
"""The positions of the columns of nodes, of expressions and of saved values."""


class _Row(NamedTuple):
    """The cells of a row."""

    head: Text
    expression: str = ""
    value: str = ""
    grad: str = ""
    saves: str = ""
    memory: str = ""


def pages(graph: Graph, precision: int) -> list[Renderable]:
    """Return the tree of a graph for the terminal and, if they were requested, the memory of its saved values."""
    tree = tree_table(graph, precision, width(), is_ascii())
    return [tree] if graph.memory is None else [tree, f"\n{graph.memory.text}"]


def tree_table(graph: Graph, precision: int, columns: int, ascii_only: bool = False) -> Table:
    """Return a table with the tree and the numbers in ``precision`` digits, for a terminal of so many ``columns``."""
    most_guides = min(MOST_GUIDES, max(columns // 6, 4))  # guides, of three columns each, take at most half of the width
    rows = list(_rows(graph, precision, most_guides, ascii_only))
    titles = headers(graph)
    used = [k for k in range(len(titles)) if k == _HEAD or any(row[k] for row in rows)]  # without empty columns
    other_widths = [max(len(titles[k]), *(columns_of(str(row[k])) for row in rows)) for k in used if k != _EXPRESSION]
    room = columns - sum(width + _GAP for width in other_widths)
    longest_expression = max(min(WIDEST_EXPRESSION, room), _NARROWEST_EXPRESSION)
    kinds = {_HEAD: WORD, _EXPRESSION: WORD, _SAVES: TEXT}
    lines = []
    for row in rows:
        expression = Text(fitted(row.expression, longest_expression), "dim")
        cells = (row.head, expression, Text(row.value), Text(row.grad, "bold cyan"), Text(row.saves), Text(row.memory, "dim"))
        lines.append([cells[k] for k in used])  # the cells are in the order of the titles
    return Table([Column(titles[k], kinds.get(k, NUMBER)) for k in used], lines)


def _rows(graph: Graph, precision: int, most_guides: int, ascii_only: bool) -> Iterator[_Row]:
    """Yield a row for each line of the tree: a node, a reference to a node above, or an input without a gradient."""
    uses = graph.uses()
    bars, signs = (ASCII_BARS, _ASCII_SIGNS) if ascii_only else (BARS, _SIGNS)
    for guides, position, is_reference in branches(graph, most_guides, bars):
        head = Text().append(guides.replace("⋯", "..") if ascii_only else guides, "dim")
        if position is None:
            yield _Row(head.append(f"{signs['constant']} None", "dim"))
            continue
        node = graph.nodes[position]
        style = _STYLES[node.kind]
        if is_reference:
            yield _Row(head.append(f"{signs['up']} {reference_to(node, position)}", style))
        else:
            yield _node_row(graph, position, head.append(f"{signs[node.kind]} ", style), precision, uses[position] > 1)


def _node_row(graph: Graph, position: int, head: Text, precision: int, is_shared: bool) -> _Row:
    """Return the row of a node, whose first cell begins with ``head``.

    A node has a name if the program gives it one, if other lines refer to it (``is_shared``), or if texts on saved values do.
    """
    node, backward = graph.nodes[position], graph.direction == "backward"
    style = _STYLES[node.kind]
    saves, memory = saved_cells(graph, node) or ("", "")  # no cells: the columns do not exist
    shows_name = (node.has_name or is_shared or graph.memory is not None) and node.kind not in (*LEAVES, "more")
    if shows_name and not backward:
        head.append(reference_to(node, position), style).append(" = ", "dim")
    title = _title(node, precision)
    return _Row(
        head=head.append(title, style),
        expression=tensor_of(node, position, shows_name) if backward else own_expression(node),
        value="" if shows_value(node, title) else brief(node.value, precision),
        grad="" if node.grad is None else brief(node.grad, precision),
        saves=saves,
        memory=memory,
    )


def _title(node: GraphNode, precision: int) -> str:
    """Return the operation of a node, or the text of a constant."""
    if node.kind == "constant":
        return constant_text(node, precision)
    text = fitted(node.label, WIDEST_EXPRESSION)
    return f"{text} ({node.count:,} nodes)" if node.count > 1 and node.kind != "more" else text
