"""The labels of the nodes of a graph, independent of the output format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from autodiff_cli.graph_drawing.model import Graph, GraphNode
from autodiff_cli.number_text import bytes_text
from autodiff_cli.report.array_text import human, shape_text
from autodiff_cli.report.control_characters import visible
from autodiff_cli.wording import plural, shortened

if TYPE_CHECKING:
    from autodiff_cli.graph_drawing.model import Value

MOST_ELEMENTS = 4
"""The maximum number of elements of a tensor that a label shows completely."""
WIDEST = 28
"""The maximum number of characters of a text in a label; a longer text is shortened."""
LONGEST_TIP = 200
"""The maximum number of characters of a text that appears under the pointer."""


class LabelLine(NamedTuple):
    """One line of a label; its role is ``title``, ``detail``, ``value`` or ``grad``."""

    text: str
    role: str


def brief(value: Value | None, precision: int) -> str:
    """Return a number or an array as text; of more than ``MOST_ELEMENTS``, the first two elements, the last and the shape."""
    array = np.asarray(value)
    if array.ndim == 0 or array.size <= MOST_ELEMENTS:
        return human(array, precision)
    flat = array.reshape(-1)
    first, second, last = (human(element, precision) for element in (flat[0], flat[1], flat[-1]))
    return f"[{first}, {second}, ..., {last}] {shape_text(array.shape)}"


def fitted(text: str, most: int = WIDEST) -> str:
    """Return a text with its control characters made visible; the middle of a long text is omitted."""
    return shortened(visible(text), most, "...")


def is_literal(node: GraphNode) -> bool:
    """Return whether the label of a node is the text of its value: a number or a list, or empty because the text is long."""
    if node.kind != "constant":
        return False
    try:
        float(node.label.replace("_", ""))
    except ValueError:  # it is not the text of a number
        return node.label.startswith("[") or not node.label
    return True


def shows_value(node: GraphNode, title: str) -> bool:
    """Return whether a title shows the value of a node, or the value is unknown."""
    return node.value is None or is_literal(node) or (node.kind == "constant" and title != node.label)


def constant_text(node: GraphNode, precision: int) -> str:
    """Return the text of a constant: the label if it is short, else the value, or the shortened label if that is unknown."""
    if node.label and len(node.label) <= WIDEST:
        return node.label
    return brief(node.value, precision) if node.value is not None else fitted(node.label)


def lines(graph: Graph, node: GraphNode, precision: int) -> list[LabelLine]:
    """Return the lines of the label of a node: the title, and what is known of its value, its gradient and its saved values."""
    if node.kind == "more":
        return [LabelLine(f"… {node.label}", "title")]
    if node.kind == "constant":
        title = LabelLine(constant_text(node, precision), "title")
        hides_value = not shows_value(node, title.text)
        return [title, LabelLine(f"= {brief(node.value, precision)}", "value")] if hides_value else [title]
    label = _title_lines(graph, node)
    if node.count > 1:
        label.append(LabelLine(f"{node.count:,} nodes", "detail"))
    if node.hooks:
        label.append(LabelLine(plural(node.hooks, "hook"), "detail"))
    if node.value is not None:
        label.append(LabelLine(f"= {brief(node.value, precision)}", "value"))
    if node.grad is not None:
        label.append(LabelLine(f"grad {brief(node.grad, precision)}", "grad"))
    for saved in node.saved or ():
        if saved.text():
            size = f", {bytes_text(saved.bytes)}" if saved.bytes and not saved.again else ""  # once, at the first node
            label.append(LabelLine(fitted(f"saves {saved.text()}{size}", WIDEST + len(size)), "detail"))
    return label


def _title_lines(graph: Graph, node: GraphNode) -> list[LabelLine]:
    """Return the title of a node and, if the title does not show its expression, a line with it.

    The title is the name of a result in a forward graph, and else the operation.  In a backward graph, the name is before the
    expression if the program gives it, or if the text on saved values refers to it.
    """
    if graph.direction == "backward" and node.name:
        shows_name = (node.has_name or graph.memory is not None) and node.name != node.expression
        detail = f"{node.name} = {node.expression}" if shows_name else node.expression
        return [LabelLine(fitted(node.label), "title"), LabelLine(fitted(detail), "detail")]
    title = LabelLine(fitted(node.name if node.has_name else node.label), "title")
    if node.expression not in ("", title.text) and (node.has_name or len(node.expression) <= WIDEST):
        return [title, LabelLine(fitted(node.expression), "detail")]
    return [title]


def printable(text: str) -> str:
    """Replace control characters with spaces."""
    return "".join(character if character.isprintable() else " " for character in text)


def flow(graph: Graph) -> Iterator[tuple[int, int, bool]]:
    """Yield the arrows in the direction of the values or gradients: start, end, and whether a gradient flows along the arrow."""
    for source, user in graph.edges():
        start, end = (user, source) if graph.direction == "backward" else (source, user)
        yield start, end, graph.nodes[source].requires_grad is not False
