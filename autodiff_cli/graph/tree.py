"""A graph as a tree in the terminal: the output first, what it takes below it; what is shared is shown once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from autodiff_cli.graph.labels import brief, constant_text, literal, shortened
from autodiff_cli.graph.model import LEAVES, Graph, GraphNode
from autodiff_cli.report.numbers import exact_array

_MOST_GUIDES = 30
"""Lines that are deeper, or that would leave no room in the terminal, begin with the number of their level."""
_BARS = ("│  ", "   ", "├─ ", "└─ ")
_ASCII_BARS = ("|  ", "   ", "|- ", "`- ")
_SIGNS = {"variable": "●", "constant": "·", "operation": "○", "named": "◇", "group": "▣", "output": "◉", "more": "…", "up": "↑"}
_ASCII_SIGNS = {
    "variable": "*",
    "constant": ".",
    "operation": "o",
    "named": "o",
    "group": "#",
    "output": "@",
    "more": "~",
    "up": "^",
}
_STYLES = {
    "variable": "bold green",
    "constant": "yellow",
    "operation": "magenta",
    "named": "bold magenta",
    "group": "bold blue",
    "output": "bold cyan",
    "more": "dim",
}
_GAP = 3
"""Between two columns of the table."""
_WIDEST_EXPRESSION, _NARROWEST_EXPRESSION = 60, 12


class Branch(NamedTuple):
    """One line of the tree: its guides, the position of the node, and whether it only refers to a line above.

    The position is ``None`` where no gradient flows.
    """

    guides: str
    position: int | None
    reference: bool


def branches(graph: Graph, most_guides: int = _MOST_GUIDES, bars: tuple[str, str, str, str] = _BARS) -> Iterator[Branch]:
    """The lines of the tree.

    Args:
        most_guides: how many levels are drawn before a line.
        bars: the guides past a branch, past the last one, at a branch, at the last one.
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


def tree_table(graph: Graph, precision: int, columns: int, ascii_only: bool = False) -> Any:
    """The tree as a table, with values and gradients beside it.

    Args:
        columns: how wide the table may be; expressions get shorter first, and are left out where nothing is left of
            them, but for the names of leaves.
        ascii_only: for a terminal that has no other characters.
    """
    from rich.cells import cell_len
    from rich.text import Text

    from autodiff_cli.report.table import empty_table

    named = _called(graph)
    backward = graph.direction == "backward"
    rows: list[tuple[Text, str, str, str]] = []
    leaves: list[tuple[int, int, str]] = []
    bars, signs = (_ASCII_BARS, _ASCII_SIGNS) if ascii_only else (_BARS, _SIGNS)
    for guides, position, reference in branches(graph, min(_MOST_GUIDES, max(columns // 6, 4)), bars):
        head = Text().append(guides.replace("⋯", "..") if ascii_only else guides, "dim")
        if position is None:
            rows.append((head.append(f"{signs['constant']} None", "dim"), "", "", ""))
            continue
        node = graph.nodes[position]
        style = _STYLES[node.kind]
        if reference:
            rows.append((head.append(f"{signs['up']} {_name(node, position)}", style), "", "", ""))
            continue
        head.append(f"{signs[node.kind]} ", style)
        if position in named and not backward:
            head.append(_name(node, position), style).append(" = ", "dim")
        text = _title(node, precision)
        head.append(text, style)
        known = node.value is None or literal(node) or (node.kind == "constant" and text != node.label)
        value = "" if known else brief(node.value, precision)
        expression = _tensor(node, position, position in named) if backward else _expression(node)
        if backward and node.kind == "variable" and node.name:
            leaves.append((len(rows), len(head) - len(text), node.name))
        rows.append((head, expression, value, "" if node.grad is None else brief(node.grad, precision)))
    headers = _headers(graph)
    widths = [max(len(h), *(cell_len(str(row[k])) for row in rows)) for k, h in enumerate(headers)]
    used = [k for k in range(4) if k == 0 or any(row[k] for row in rows)]
    longest = min(_WIDEST_EXPRESSION, columns - sum(widths[k] + _GAP for k in used if k != 1))
    if longest < min(_NARROWEST_EXPRESSION, widths[1]) and 1 in used:
        used.remove(1)
        for row, start, name in leaves:
            head, expression, value, grad = rows[row]
            rows[row] = (head[:start].append(f"{name} ", _STYLES["variable"]).append_text(head[start:]), expression, value, grad)
    table = empty_table()
    for k in used:
        table.add_column(headers[k], justify="right" if k > 1 else "left", no_wrap=k < 2, overflow="ellipsis" if k < 2 else "fold")
    for head, expression, value, grad in rows:
        cells = (head, Text(shortened(expression, max(longest, 4)), "dim"), Text(value), Text(grad, "bold cyan"))
        table.add_row(*(cells[k] for k in used))
    return table


def plain_tree(graph: Graph) -> str:
    """The tree for logs and other programs: ASCII, kinds in words, every digit."""
    rows = [_headers(graph)]
    rows[0].insert(1, "kind")
    for guides, position, reference in branches(graph, bars=_ASCII_BARS):
        guides = guides.replace("⋯", "..")
        if position is None:
            rows.append([f"{guides}None", "none", "", "", ""])
            continue
        node = graph.nodes[position]
        if reference:
            rows.append([f"{guides}^ {_name(node, position)}", "reference", "", "", ""])
            continue
        text = node.label or exact_array(node.value)
        if graph.direction == "forward" and node.name and node.kind not in LEAVES:
            text = f"{node.name} = {text}"
        numbers = [None if literal(node) and node.label else node.value, node.grad]
        expression = _expression(node) if graph.direction == "forward" else _tensor(node, position, True)
        rows.append(
            [
                f"{guides}{text}",
                node.kind,
                shortened(expression, _WIDEST_EXPRESSION),
                *(("" if n is None else exact_array(n)) for n in numbers),
            ]
        )
    used = [k for k in range(5) if k < 2 or any(row[k] for row in rows[1:])]
    table = [[row[k] for k in used] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "".join("  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() + "\n" for row in table)


def _headers(graph: Graph) -> list[str]:
    return ["node", "tensor" if graph.direction == "backward" else "expression", "value", "grad"]


def _called(graph: Graph) -> set[int]:
    """The nodes whose name is shown: those with a name of their own, and those that are referred to."""
    uses = graph.uses()
    nodes = enumerate(graph.nodes)
    return {i for i, node in nodes if node.kind not in (*LEAVES, "more") and (node.has_name or uses[i] > 1)}


def _name(node: GraphNode, position: int) -> str:
    """What a reference to a node says."""
    return "…" if node.kind == "more" else node.name or f"#{position}"


def _title(node: GraphNode, precision: int) -> str:
    if node.kind == "constant":
        return constant_text(node, precision)
    text = shortened(node.label, _WIDEST_EXPRESSION)
    return f"{text} ({node.count:,} nodes)" if node.count > 1 and node.kind != "more" else text


def _expression(node: GraphNode) -> str:
    return "" if node.kind in ("constant", "more") or node.expression == node.label else node.expression


def _tensor(node: GraphNode, position: int, named: bool) -> str:
    """The tensor that a node of a backward graph made."""
    if node.kind in ("variable", "more"):
        return node.name
    parts = [_name(node, position) if named else "", "" if node.expression == node.label else node.expression]
    return " = ".join(part for part in parts if part)
