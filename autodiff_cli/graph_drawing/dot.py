"""A graph as text in DOT, the language of Graphviz, and its drawing with the program ``dot``."""

from __future__ import annotations

import subprocess

from autodiff_cli.errors import MissingPackage, ProgramError, setting
from autodiff_cli.graph_drawing.labels import LONGEST_TIP, fitted, flow, lines, printable
from autodiff_cli.graph_drawing.model import HURRY, LONG, Graph, GraphNode
from autodiff_cli.graph_drawing.theme import LIGHT

_SHAPES = {
    "variable": "shape=ellipse, style=filled",
    "constant": 'shape=box, style="filled,dashed"',
    "operation": 'shape=box, style="filled,rounded"',
    "named": 'shape=box, style="filled,rounded", penwidth=2.5',
    "output": "shape=box, style=filled, peripheries=2",
    "more": 'shape=box, style="filled,dotted"',
}


def to_dot(graph: Graph, precision: int, ground: str = "transparent") -> str:
    """Return the text of a ``.dot`` file with the background colour ``ground``."""
    text = [
        "digraph autodiff {",
        *([f"  {HURRY}"] if graph.length() > LONG else []),
        f'  graph [bgcolor="{ground}", nodesep=0.3, ranksep=0.4, pad=0.2];',
        '  node [fontname="Helvetica,Arial,sans-serif", fontsize=12, margin="0.14,0.07", height=0.3];',
        f'  edge [color="{LIGHT.edge}", arrowsize=0.7];',
    ]
    for kind, (fill, border, ink) in LIGHT.kinds.items():
        members = [i for i, node in enumerate(graph.nodes) if node.kind == kind]
        if members:  # the braces limit the style to the nodes of this kind
            text.append(f'  {{ node [{_SHAPES[kind]}, fillcolor="{fill}", color="{border}", fontcolor="{ink}"];')
            text += [f"    n{i} {_attributes(graph, graph.nodes[i], precision)};" for i in members]
            text.append("  }")
    text += [f"  n{a} -> n{b}{'' if flows else ' [style=dashed]'};" for a, b, flows in flow(graph)]
    return "\n".join([*text, "}"]) + "\n"


def _attributes(graph: Graph, node: GraphNode, precision: int) -> str:
    """Return the attributes of a node: its label in HTML, its tooltip and its class."""
    templates = {"title": "<b>{}</b>", "detail": "{}", "value": "{}", "grad": f'<font color="{LIGHT.grad}">{{}}</font>'}
    label = "<br/>".join(templates[line.role].format(_html(line.text)) for line in lines(graph, node, precision))
    tip = printable(fitted(node.expression or node.label, LONGEST_TIP))
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("&", "&amp;")):  # what Graphviz interprets in a quoted text
        tip = tip.replace(character, escaped)
    return f'[label=<{label}>, tooltip="{tip}", class="{node.kind}"]'


def _html(text: str) -> str:
    """Escape a text for a label in the HTML of Graphviz, which does not know all entities."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_png(graph: Graph, precision: int) -> bytes:
    """Return the contents of a ``.png`` file, drawn by Graphviz; see ``run_graphviz``."""
    return run_graphviz(to_dot(graph, precision, "#ffffff"), "png", "-Gdpi=144")


def run_graphviz(dot: str, style: str, *options: str) -> bytes:
    """Return the output of the program ``dot -Tstyle`` for a graph in DOT: ``png``, ``plain``, ``json``, ...

    Raises:
        MissingPackage: if Graphviz is not installed.
        ProgramError: if ``dot`` fails.
    """
    try:
        process = subprocess.run(["dot", f"-T{style}", *options], input=dot.encode(), capture_output=True, check=False)
    except OSError:  # the program does not exist
        raise MissingPackage(
            "a PNG needs Graphviz, the program 'dot', which is not installed",
            hint="install Graphviz (graphviz.org), or write an .svg file, which does not need Graphviz",
        ) from None
    if process.returncode:
        messages = process.stderr.decode(errors="replace").strip().splitlines()
        raise ProgramError(
            f"Graphviz could not draw this graph{': ' + messages[0] if messages else ''}",
            hint=f"reduce the graph with {setting('depth')}",
        )
    return process.stdout
