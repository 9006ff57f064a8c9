"""A graph in the language of Mermaid, which many sites render from a ``mermaid`` code block."""

from __future__ import annotations

from autodiff_cli.graph_drawing.labels import flow, lines, printable
from autodiff_cli.graph_drawing.model import Graph
from autodiff_cli.graph_drawing.theme import LIGHT

_SHAPES = {
    "variable": ('(["', '"])'),
    "constant": ('["', '"]'),
    "operation": ('("', '")'),
    "named": ('("', '")'),
    "output": ('{{"', '"}}'),
    "more": ('["', '"]'),
}
_STROKES = {"constant": ",stroke-dasharray:5 3", "more": ",stroke-dasharray:2 3", "named": ",stroke-width:3px"}
_PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,=()")


def to_mermaid(graph: Graph, precision: int) -> str:
    """Return the text of a ``.mmd`` file, in which arrows without a gradient are dotted."""
    text = ["flowchart TB"]
    for i, node in enumerate(graph.nodes):
        left, right = _SHAPES[node.kind]  # the brackets that draw the shape
        title, *details = (_escaped(line.text) for line in lines(graph, node, precision))
        label = "<br/>".join([f"<b>{title}</b>", *details])
        text.append(f"  n{i}{left}{label}{right}:::{node.kind}")
    text += [f"  n{start} {'-->' if flows else '-.->'} n{end}" for start, end, flows in flow(graph)]
    present = {node.kind for node in graph.nodes}
    for kind, colors in LIGHT.kinds.items():
        if kind in present:
            text.append(f"  classDef {kind} fill:{colors.fill},stroke:{colors.border},color:{colors.text}{_STROKES.get(kind, '')}")
    return "\n".join(text) + "\n"


def _escaped(text: str) -> str:
    """Escape every character that Mermaid or Markdown may interpret."""
    return "".join(c if c in _PLAIN or ord(c) > 127 else f"#{ord(c)};" for c in printable(text))
