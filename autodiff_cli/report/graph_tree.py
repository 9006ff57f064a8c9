"""A graph as a tree in the terminal: the output first, what it takes below it; what is shared is shown once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from autodiff_cli.language.graph import Graph, GraphNode
from autodiff_cli.report.graph_text import brief, constant_text, literal, shortened
from autodiff_cli.report.numbers import exact_array

MOST_LINES, MOST_LEVELS = 200, 20
"""How much of a large graph is shown if nobody says otherwise."""
_MOST_GUIDES = 30
"""Lines that are deeper, or that would leave no room in the terminal, begin with the number of their level."""
_SIGNS = {"variable": "●", "constant": "·", "operation": "○", "named": "◇", "group": "▣", "output": "◉", "more": "…", "none": "·"}
_STYLES = {
    "variable": "bold green",
    "constant": "yellow",
    "operation": "magenta",
    "named": "bold magenta",
    "group": "bold blue",
    "output": "bold cyan",
    "more": "dim",
    "none": "dim",
}
_GAP = 3
"""Between two columns of the table."""
_WIDEST_EXPRESSION, _NARROWEST_EXPRESSION = 60, 12


class Branch(NamedTuple):
    """One line of the tree: its guides, the node (``None`` where no gradient flows), and whether it is a reference only."""

    guides: str
    node: GraphNode
    reference: bool


def branches(
    graph: Graph, most_guides: int = _MOST_GUIDES, bars: tuple[str, str, str, str] = ("│  ", "   ", "├─ ", "└─ ")
) -> Iterator[Branch]:
    """The lines of the tree.

    Args:
        most_guides: how many levels are drawn before a line.
        bars: the guides past a branch, past the last one, at a branch, at the last one.
    """
    past, blank, at, last = bars
    shown: set[int] = set()
    # A node, the line pieces that lead to it, and how deep it is.
    guides: list[str] = []
    stack: list[tuple[int | None, int, bool]] = [(len(graph.nodes) - 1, 0, True)]
    while stack:
        i, level, is_last = stack.pop()
        del guides[max(level - 1, 0) :]
        lead = f"{level} ⋯ " if len(guides) > most_guides else ""
        text = lead + "".join(guides[-most_guides:]) + ((last if is_last else at) if level else "")
        if level:
            guides.append(blank if is_last else past)
        if i is None:
            yield Branch(text, None, False)
            continue
        node = graph.nodes[i]
        yield Branch(text, node, i in shown)
        if i in shown:
            continue
        shown.add(i)
        for k in range(len(node.inputs) - 1, -1, -1):
            stack.append((node.inputs[k], level + 1, k == len(node.inputs) - 1))


def tree_table(graph: Graph, precision: int, columns: int) -> Any:
    """The tree as a table with values and gradients beside it.

    Args:
        columns: how wide the table may be; expressions get shorter first, and are left out where nothing is left of them.
    """
    from rich.cells import cell_len
    from rich.text import Text

    from autodiff_cli.report.table import empty_table

    shared = {i for i, count in enumerate(graph.uses()) if count > 1}
    positions = {id(node): i for i, node in enumerate(graph.nodes)}
    rows = []
    for guides, node, reference in branches(graph, min(_MOST_GUIDES, max(columns // 6, 4))):
        shown = Text(guides, "dim")
        if node is None:
            shown.append("· None", _STYLES["none"])
            rows.append((shown, "", "", ""))
            continue
        style = _STYLES[node.kind]
        name = reference_name(node, positions[id(node)])
        if reference:
            shown.append(f"↑ {name}", style)
            rows.append((shown, "", "", ""))
            continue
        shown.append(f"{_SIGNS[node.kind]} ", style)
        text = _title(graph, node, precision)
        if graph.direction == "forward" and node.kind not in ("variable", "constant", "more"):
            if node.has_name or positions[id(node)] in shared:
                shown.append(name, style)
                shown.append(" = ", "dim")
        shown.append(text, style)
        hides = node.value is None or literal(node) or (node.kind == "constant" and text != node.label)
        rows.append(
            (
                shown,
                _expression(graph, node, name, positions[id(node)] in shared),
                "" if hides else brief(node.value, precision),
                "" if node.grad is None else brief(node.grad, precision),
            )
        )
    headers = ["node", "tensor" if graph.direction == "backward" else "expression", "value", "grad"]
    widths = [max(len(h), *(cell_len(str(row[k])) for row in rows)) for k, h in enumerate(headers)]
    used = [k for k in (0, 1, 2, 3) if k == 0 or any(row[k] for row in rows)]
    room = columns - sum(widths[k] + _GAP for k in used if k != 1)
    longest = min(_WIDEST_EXPRESSION, room)
    if longest < min(_NARROWEST_EXPRESSION, widths[1]) and 1 in used:
        used.remove(1)
    table = empty_table()
    for k in used:
        table.add_column(headers[k], justify="right" if k > 1 else "left", no_wrap=k < 2, overflow="ellipsis" if k < 2 else "fold")
    styles = ("", "dim", "", "bold cyan")
    for row in rows:
        cells = [row[k] if k == 0 else Text(shortened(row[k], max(longest, 4)) if k == 1 else row[k], styles[k]) for k in used]
        table.add_row(*cells)
    return table


def reference_name(node: GraphNode, position: int) -> str:
    """What a reference to a node says."""
    return "…" if node.kind == "more" else node.name or f"#{position}"


def _title(graph: Graph, node: GraphNode, precision: int) -> str:
    if node.kind == "constant":
        return constant_text(node, precision)
    text = shortened(node.label, _WIDEST_EXPRESSION)
    return f"{text} ({node.count:,} nodes)" if node.count > 1 and node.kind != "more" else text


def _expression(graph: Graph, node: GraphNode, name: str, shared: bool) -> str:
    if node.kind in ("constant", "more") or (node.kind == "variable" and graph.direction == "forward"):
        return ""
    if node.expression == node.label:
        return ""
    if graph.direction == "backward":
        if node.kind == "variable":
            return name
        text = shortened(node.expression, _WIDEST_EXPRESSION)
        return f"{name} = {text}" if node.has_name and text else text or (name if shared else "")
    return shortened(node.expression, _WIDEST_EXPRESSION)


def plain_tree(graph: Graph) -> str:
    """The tree for programs and logs: ASCII, kinds in words, every digit."""
    rows = []
    positions = {id(node): i for i, node in enumerate(graph.nodes)}
    for guides, node, reference in branches(graph, bars=("|  ", "   ", "|- ", "`- ")):
        guides = guides.replace("⋯", "..")
        if node is None:
            rows.append([f"{guides}None", "none", "", "", ""])
            continue
        name = reference_name(node, positions[id(node)])
        if reference:
            rows.append([f"{guides}^ {name}", "reference", "", "", ""])
            continue
        text = node.label or exact_array(node.value)
        if node.kind not in ("variable", "constant", "more") and node.name and graph.direction == "forward":
            text = f"{name} = {text}"
        numbers = ["" if v is None else exact_array(v) for v in (node.value, node.grad)]
        rows.append([f"{guides}{text}", node.kind, _expression(graph, node, name, True), *numbers])
    titles = ["node", "kind", "tensor" if graph.direction == "backward" else "expression", "value", "grad"]
    used = [k for k in range(5) if k < 2 or any(row[k] for row in rows)]
    table = [[row[k] for k in used] for row in [titles, *rows]]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "".join("  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() + "\n" for row in table)
