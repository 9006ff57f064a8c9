"""What is written on the nodes of a graph, whoever draws them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.graph.model import Graph, GraphNode
from autodiff_cli.report.numbers import human, shape_text
from autodiff_cli.report.visible import visible

MOST_ELEMENTS = 4
"""A tensor of more elements is abbreviated in a picture."""
WIDEST = 28
"""A longer text is cut in a picture."""


class Line(NamedTuple):
    """One line on a node; its role is ``title``, ``detail``, ``value`` or ``grad``."""

    text: str
    role: str


def brief(value: Any, precision: int) -> str:
    """A number or a short array; of a longer one the ends and the shape."""
    array = np.asarray(value)
    if array.ndim == 0 or array.size <= MOST_ELEMENTS:
        return human(value, precision)
    flat = array.reshape(-1)
    first, second, last = (human(element, precision) for element in (flat[0], flat[1], flat[-1]))
    return f"[{first}, {second}, ..., {last}] {shape_text(array.shape)}"


def shortened(text: str, most: int = WIDEST) -> str:
    """A text on one line, its middle left out where it is long."""
    text = visible(text)
    if len(text) <= most:
        return text
    tail = (most - 3) // 2
    return f"{text[: most - 3 - tail]}...{text[-tail:]}"


def width(text: str) -> int:
    """How many columns a text takes in a font whose characters are equally wide."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def literal(node: GraphNode) -> bool:
    """Whether a node's label is its value already."""
    if node.kind != "constant":
        return False
    try:
        float(node.label.replace("_", ""))
    except ValueError:
        return node.label.startswith("[") or not node.label
    return True


def constant_text(node: GraphNode, precision: int) -> str:
    """What a constant is called: its own text, if there is one and it is short, else its value."""
    if node.label and len(node.label) <= WIDEST:
        return str(node.label)
    return brief(node.value, precision) if node.value is not None else shortened(node.label)


def lines(graph: Graph, node: GraphNode, precision: int) -> list[Line]:
    """What is written on a node in a picture."""
    if node.kind == "more":
        return [Line(f"… {node.label}", "title")]
    if node.kind == "constant":
        shown = [Line(constant_text(node, precision), "title")]
        known = literal(node) or node.value is None or shown[0].text != node.label
        return shown if known else [*shown, Line(f"= {brief(node.value, precision)}", "value")]
    backward = graph.direction == "backward"
    named = node.has_name and not backward
    written = [Line(shortened(node.name if named else node.label), "title")]
    if backward and node.name:
        stands_for = f"{node.name} = {node.expression}" if node.has_name and node.name != node.expression else node.expression
        written.append(Line(shortened(stands_for), "detail"))
    elif node.expression not in ("", written[0].text) and (named or len(node.expression) <= WIDEST):
        written.append(Line(shortened(node.expression), "detail"))
    if node.count > 1:
        written.append(Line(f"{node.count:,} nodes", "detail"))
    if node.value is not None:
        written.append(Line(f"= {brief(node.value, precision)}", "value"))
    if node.grad is not None:
        written.append(Line(f"grad {brief(node.grad, precision)}", "grad"))
    return written


def printable(text: str) -> str:
    """Text without characters that have no place in a picture."""
    return "".join(character if character.isprintable() else " " for character in text)


def flow(graph: Graph) -> Iterator[tuple[int, int, bool]]:
    """The edges as arrows are drawn, the way that values or gradients go; and whether a gradient flows there."""
    for given, user in graph.edges():
        start, end = (user, given) if graph.direction == "backward" else (given, user)
        yield start, end, graph.nodes[given].requires_grad is not False
