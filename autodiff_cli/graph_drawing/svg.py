"""A graph as an SVG file: one picture for dark and light pages, byte-identical on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from autodiff_cli.errors import LimitError, setting
from autodiff_cli.graph_drawing.labels import LONGEST_TIP, LabelLine, fitted, flow, lines, printable
from autodiff_cli.graph_drawing.layout import Layout, place
from autodiff_cli.graph_drawing.model import LONGEST, Graph, GraphNode
from autodiff_cli.graph_drawing.routes import Point
from autodiff_cli.graph_drawing.theme import DARK, LIGHT, GraphTheme
from autodiff_cli.report.styled_text import columns

_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_SIZE, _SMALL = 13.0, 11.5
_CHARACTER = 0.62
"""The width of a character relative to the font size; for the fonts above, this ratio is 0.55 to 0.61."""
_LINE = 17.0
_PAD_X, _PAD_Y = 12.0, 7.0
_MARGIN = 12.0
_INSET = 4.0  # the distance between the two borders of an output
_ROUND_END = 8.0
"""The additional room at each end of a variable, whose round ends leave less room for the text."""
_ARROW = 8.0  # the length of an arrowhead, and its minimum distance from the corners of a box
_MOST_ARROWS = 40  # the maximum number of arrows side by side for which a box is widened


def to_svg(graph: Graph, precision: int = 6) -> str:
    """Return the text of an ``.svg`` file with ``precision`` significant digits; raise ``LimitError`` if the graph is too large."""
    length = graph.length()
    if length > LONGEST:
        raise LimitError(
            f"a picture of {len(graph.nodes):,} nodes is too large: its edges span {length:,} layers, more than the limit of "
            f"{LONGEST:,}",
            hint=f"reduce the graph with {setting('depth', 'N')}, or write DOT, Mermaid or JSON",
        )
    labels = [lines(graph, node, precision) for node in graph.nodes]
    sizes = [_size(node, label) for node, label in zip(graph.nodes, labels, strict=True)]
    flats = [_flat(node.kind, size) for node, size in zip(graph.nodes, sizes, strict=True)]
    layout = place(sizes, list(graph.edges()), flats)
    layout = layout.upside_down() if graph.direction == "backward" else layout
    return _svg_document(graph, labels, sizes, layout)


def _svg_document(graph: Graph, labels: Sequence[Sequence[LabelLine]], sizes: Sequence[Point], layout: Layout) -> str:
    """Return the text of an ``.svg`` file: first the arrows, then the nodes, each with its label, its size and its centre."""
    wide, high = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    text = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="{-_MARGIN:.0f} {-_MARGIN:.0f} {wide:.2f} {high:.2f}" role="img">',
        f"<title>{_text(fitted(graph.expression, LONGEST_TIP))}</title>",
        f"<style>{_style()}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 0.5L8 4L0 7.5Z"/></marker></defs>',
    ]
    for (_start, _end, flows), curve in zip(flow(graph), layout.curves, strict=True):
        text.append(f'<path class="edge{"" if flows else " none"}" marker-end="url(#arrow)" d="{_path(curve)}"/>')
    for node, label, size, center in zip(graph.nodes, labels, sizes, layout.centers, strict=True):
        text += _node(node, label, size, center)
    return "\n".join([*text, "</svg>"]) + "\n"


def _size(node: GraphNode, label: Sequence[LabelLine]) -> Point:
    """Return the width and height of a box, which has room for its label, its second border and the arrows that end at it."""
    longest = max(columns(line.text) * _font_size(line) for line in label) * _CHARACTER
    arrows = min(len(node.inputs), _MOST_ARROWS) * _ARROW
    second_border = _INSET if node.kind == "output" else 0.0
    round_end = _ROUND_END if node.kind == "variable" else 0.0
    height = len(label) * _LINE + 2 * (_PAD_Y + second_border)
    return max(longest, arrows) + 2 * (_PAD_X + second_border + round_end), height


def _corner(kind: str, height: float) -> float:
    """Return the radius of the corners of a box: round ends for a variable, and 0 for kinds with right angles."""
    return {"variable": min(height / 2, 22.0), "operation": 7.0, "named": 7.0}.get(kind, 0.0)


def _flat(kind: str, size: Point) -> float:
    """Return the length of the straight part of the upper and lower sides of a box; arrows end only on this part."""
    return size[0] - 2 * max(_corner(kind, size[1]), _ARROW)


def _font_size(line: LabelLine) -> float:
    return _SIZE if line.role == "title" else _SMALL


def _node(node: GraphNode, label: Sequence[LabelLine], size: Point, center: Point) -> list[str]:
    """Return the elements of a node: its box, which is double for an output, with the lines of its label around the centre."""
    (width, height), (x, y) = size, center
    tip = fitted(node.expression or node.label, LONGEST_TIP)
    elements = [f'<g class="node {node.kind}"><title>{_text(tip)}</title>']
    elements.append(_rect(x, y, width, height, _corner(node.kind, height)))
    if node.kind == "output":
        elements.append(_rect(x, y, width - 2 * _INSET, height - 2 * _INSET, 0.0))
    first_line = y - (len(label) - 1) / 2 * _LINE
    for i, line in enumerate(label):
        baseline = first_line + i * _LINE + _font_size(line) * 0.35  # half of the height of a capital letter
        elements.append(f'<text class="{line.role}" x="{x:.2f}" y="{baseline:.2f}">{_text(line.text)}</text>')
    return [*elements, "</g>"]


def _rect(x: float, y: float, width: float, height: float, corner: float) -> str:
    """Return a rectangle around its centre, with corners of a radius, which may be 0."""
    rounded = f' rx="{corner:g}"' if corner else ""
    return f'<rect x="{x - width / 2:.2f}" y="{y - height / 2:.2f}" width="{width:.2f}" height="{height:.2f}"{rounded}/>'


def _path(curve: list[Point]) -> str:
    """Return the ``d`` attribute of a path: a move to the first point, and cubic curves."""
    first, *rest = (f"{x:.2f} {y:.2f}" for x, y in curve)
    return f"M{first}C{' '.join(rest)}"


def _text(text: str) -> str:
    return escape(printable(text))


def _style() -> str:
    """Return the style sheet, with the colours of both themes."""
    shapes = (
        f"text{{font-family:{_FONT};font-size:{_SMALL:g}px;text-anchor:middle;white-space:pre}}"
        f".title{{font-size:{_SIZE:g}px;font-weight:600}}"
        ".edge{fill:none;stroke-width:1.3}.edge.none{stroke-dasharray:4 3}"
        ".node rect{stroke-width:1.3}.named rect{stroke-width:2.8}"
        ".constant rect{stroke-dasharray:5 3}.more rect{stroke-dasharray:1.5 3}"
    )
    return f"{shapes}{_colors(LIGHT)}@media(prefers-color-scheme:dark){{{_colors(DARK)}}}"


def _colors(theme: GraphTheme) -> str:
    """Return the rules for the colours of a theme."""
    rules = [f".edge{{stroke:{theme.edge}}}.head{{fill:{theme.edge}}}"]
    for kind, (fill, border, text) in theme.kinds.items():
        rules.append(f".{kind} rect{{fill:{fill};stroke:{border}}}.{kind} text{{fill:{text}}}")
    rules.append(f".node .detail{{fill:{theme.detail}}}.node .grad{{fill:{theme.grad}}}")
    return "".join(rules)
