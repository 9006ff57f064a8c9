"""A graph as a tree of text lines: the output first, its inputs below it; later uses of a node refer to its first use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autodiff_cli.graph_drawing.labels import fitted, literal
from autodiff_cli.graph_drawing.model import LEAVES, Graph, GraphNode
from autodiff_cli.report.numbers import exact_array
from autodiff_cli.wording import bytes_text

MOST_GUIDES = 30
"""The maximum number of guides before a line; a deeper line begins with the number of its level."""
BARS = ("│  ", "   ", "├─ ", "└─ ")
ASCII_BARS = ("|  ", "   ", "|- ", "`- ")
WIDEST_EXPRESSION = 60


class Branch(NamedTuple):
    """One line of the tree.

    Attributes:
        guides: the characters that connect the line with its parent.
        position: the position of the node in the graph; ``None`` for an input that does not receive a gradient.
        reference: whether the line refers to a node above.
    """

    guides: str
    position: int | None
    reference: bool


def branches(graph: Graph, most_guides: int = MOST_GUIDES, bars: tuple[str, str, str, str] = BARS) -> Iterator[Branch]:
    """Yield the lines of the tree.

    Args:
        graph: the graph.
        most_guides: the maximum number of guides before a line.
        bars: the guides next to a branch, below the last branch, at a branch, and at the last branch.
    """
    past, blank, at, last = bars
    shown: set[int] = set()
    guides: list[str] = []
    stack: list[tuple[int | None, int, bool]] = [(len(graph.nodes) - 1, 0, True)]
    while stack:
        i, level, is_last = stack.pop()
        del guides[max(level - 1, 0) :]
        lead = f"{level} ⋯ " if len(guides) > most_guides else ""
        text = lead + "".join(guides[-most_guides:]) + ((last if is_last else at) if level else "")
        if level:
            guides.append(blank if is_last else past)
        yield Branch(text, i, i in shown)
        if i is None or i in shown:
            continue
        shown.add(i)
        inputs = graph.nodes[i].inputs
        stack += [(inputs[k], level + 1, k == len(inputs) - 1) for k in range(len(inputs) - 1, -1, -1)]


def plain_tree(graph: Graph) -> str:
    """Return the tree for logs and other programs: in ASCII, with the kinds as words and with all digits."""
    node_title, *titles = headers(graph)
    rows = [[node_title, "kind", *titles]]
    for guides, position, reference in branches(graph, bars=ASCII_BARS):
        guides = guides.replace("⋯", "..")
        if position is None:
            rows.append([f"{guides}None", "none", "", "", ""])
            continue
        node = graph.nodes[position]
        if reference:
            rows.append([f"{guides}^ {reference_to(node, position)}", "reference", "", "", ""])
            continue
        text = node.label or exact_array(node.value)
        if graph.direction == "forward" and node.name and node.kind not in LEAVES:
            text = f"{node.name} = {text}"
        numbers = [None if literal(node) and node.label else node.value, node.grad]
        expression = own_expression(node) if graph.direction == "forward" else tensor_of(node, position, True)
        shown = ["" if number is None else exact_array(number) for number in numbers]
        rows.append([f"{guides}{text}", node.kind, fitted(expression, WIDEST_EXPRESSION), *shown, *saved_cells(graph, node)])
    rows = [row + [""] * (len(rows[0]) - len(row)) for row in rows]
    used = [k for k in range(len(rows[0])) if k < 2 or any(row[k] for row in rows[1:])]
    table = [[row[k] for k in used] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    text = "".join("  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() + "\n" for row in table)
    return text if graph.memory is None else f"{text}{graph.memory.text}\n"


def headers(graph: Graph) -> list[str]:
    """Return the headers of the columns."""
    titles = ["node", "tensor" if graph.direction == "backward" else "expression", "value", "grad"]
    return titles if graph.memory is None else [*titles, "saves", "memory"]


def saved_cells(graph: Graph, node: GraphNode) -> list[str]:
    """Return the cells of the columns of saved values, which exist only if these values were requested."""
    if graph.memory is None:
        return []
    from autodiff_cli.autograd.saved.memory import new_bytes, text_of

    values = node.saved or []
    return [text_of(values), bytes_text(new_bytes(values)) if any(value.bytes for value in values) else ""]


def reference_to(node: GraphNode, position: int) -> str:
    """Return the text that refers to a node: its name, or else its position."""
    return "…" if node.kind == "more" else node.name or f"#{position}"


def own_expression(node: GraphNode) -> str:
    """Return the expression of a node; empty if it is the same as the label."""
    return "" if node.kind in ("constant", "more") or node.expression == node.label else node.expression


def tensor_of(node: GraphNode, position: int, named: bool) -> str:
    """Return the name and expression of the tensor behind a node of a backward graph."""
    if node.kind in ("variable", "more"):
        return node.name
    parts = [reference_to(node, position) if named else "", own_expression(node)]
    return " = ".join(part for part in parts if part)
