"""Where the boxes of a graph stand: by Graphviz if it is installed, by grandalf if not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from autodiff_cli.errors import LimitError, MissingPackage
from autodiff_cli.report.graph_dot import has_graphviz, run_graphviz
from autodiff_cli.report.graph_limits import HURRY

Point = tuple[float, float]
_GAP_X, _GAP_Y = 24.0, 38.0
_INCH = 72.0
_DEEPEST = 50_000
_NOTHING = 0.01


class Layout(NamedTuple):
    """Positions in pixels from the upper left.

    Attributes:
        centers: of the boxes.
        curves: for each edge the points of cubic Bezier curves, ``3*k + 1`` of them.
    """

    width: float
    height: float
    centers: list[Point]
    curves: list[list[Point]]


def place(sizes: Sequence[Point], edges: Sequence[tuple[int, int]], hurry: bool = False) -> Layout:
    """Boxes of these sizes in layers, so that edges go down.

    Args:
        hurry: whether the graph is so large that the layout may be less than the best.

    Raises:
        MissingPackage: if neither Graphviz nor grandalf is installed.
    """
    if has_graphviz():
        return by_graphviz(sizes, edges, hurry)
    try:
        import grandalf  # noqa: F401
    except ImportError:
        raise MissingPackage(
            "an SVG needs Graphviz (the program 'dot') or the package grandalf, and neither is installed",
            hint="pip install 'autodiff-cli[graph]', or install Graphviz; --format dot and mermaid need nothing",
        ) from None
    return by_grandalf(sizes, edges)


def by_graphviz(sizes: Sequence[Point], edges: Sequence[tuple[int, int]], hurry: bool = False) -> Layout:
    """The layout of ``dot``."""
    text = [f"digraph {{ nodesep={_GAP_X / _INCH:.3f}; ranksep={_GAP_Y / _INCH:.3f}; {HURRY if hurry else ''}"]
    text.append('node [shape=box, fixedsize=true, label=""]; edge [arrowhead=none];')
    text += [f"{i} [width={w / _INCH:.4f}, height={h / _INCH:.4f}];" for i, (w, h) in enumerate(sizes)]
    text += [f"{a} -> {b};" for a, b in edges]
    said = run_graphviz("\n".join([*text, "}"]), "plain").decode().replace("\\\n", "").splitlines()
    _, _, width, height = (float(word) if i else 0.0 for i, word in enumerate(said[0].split()))

    def point(x: str, y: str) -> Point:
        return float(x) * _INCH, (height - float(y)) * _INCH

    centers = [(0.0, 0.0)] * len(sizes)
    found: dict[tuple[int, int], list[list[Point]]] = {}
    for line in said[1:]:
        words = line.split()
        if words[0] == "node":
            centers[int(words[1])] = point(words[2], words[3])
        elif words[0] == "edge":
            numbers = words[4 : 4 + 2 * int(words[3])]
            curve = [point(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
            found.setdefault((int(words[1]), int(words[2])), []).append(curve)
    return Layout(width * _INCH, height * _INCH, centers, [found[edge].pop() for edge in edges])


def by_grandalf(sizes: Sequence[Point], edges: Sequence[tuple[int, int]], hurry: bool = False) -> Layout:
    """The layout of grandalf (Sugiyama's layers), which is pure Python.

    It layers from the top, and would put every leaf of a forward graph there, far from what uses it.  Such a graph is
    laid out upside down.
    """
    from grandalf.graphs import Edge, Vertex, graph_core
    from grandalf.layouts import SugiyamaLayout, VertexViewer
    from grandalf.routing import EdgeViewer

    down = len({b for _, b in edges}) >= len({a for a, _ in edges})
    sign = 1 if down else -1
    vertices = [Vertex(i) for i in range(len(sizes))]
    for vertex, (w, h) in zip(vertices, sizes, strict=True):
        vertex.view = VertexViewer(w, h)
    lines = {(a, b): Edge(*(vertices[a], vertices[b])[::sign]) for a, b in dict.fromkeys(edges)}
    for line in lines.values():
        line.view = EdgeViewer()
    before = sys.getrecursionlimit()
    try:
        # grandalf calls itself once for each layer; calls from Python to Python take nothing from the stack of C.
        sys.setrecursionlimit(max(before, _DEEPEST))
        # All nodes lead to the output, so that there is one component, and no cycle whose edges are to be turned round.
        layout: Any = SugiyamaLayout(graph_core(vertices, list(lines.values())))
        layout.xspace, layout.yspace = _GAP_X, _GAP_Y
        layout.init_all(inverted_edges=[])
        layout.draw(3)
    except RecursionError:
        raise LimitError(
            f"a graph of {len(sizes):,} nodes is too deep for grandalf", hint="show less of it with --depth, or install Graphviz"
        ) from None
    finally:
        sys.setrecursionlimit(before)
    centers = [(vertex.view.xy[0], sign * vertex.view.xy[1]) for vertex in vertices]
    tall: dict[float, float] = {}
    for vertex, (_, h) in zip(vertices, sizes, strict=True):
        y = round(vertex.view.xy[1], 3)
        tall[y] = max(tall.get(y, 0.0), h)
    ends = _Ends(sizes, centers, edges)
    curves = []
    for a, b in edges:
        # Straight through each layer, so that no box in it is touched, and bent between them.
        bends = [(x, sign * y, tall[round(y, 3)] / 2) for x, y in lines[a, b].view._pts[1:-1]][::sign]
        between = [point for x, y, half in bends for point in ((x, y - half), (x, y + half))]
        start, end = ends.below(a), ends.above(a, b)
        leaves = (start[0], centers[a][1] + tall[round(vertices[a].view.xy[1], 3)] / 2)
        arrives = (end[0], centers[b][1] - tall[round(vertices[b].view.xy[1], 3)] / 2)
        curves.append(_smooth([start, leaves, *between, arrives, end]))
    return _moved(sizes, centers, curves)


class _Ends:
    """Where edges leave a box, and where they arrive: side by side, in the order of what is at the other end."""

    def __init__(self, sizes: Sequence[Point], centers: Sequence[Point], edges: Sequence[tuple[int, int]]) -> None:
        self._sizes, self._centers = sizes, centers
        self._into: dict[int, list[int]] = {}
        for a, b in sorted(edges, key=lambda edge: centers[edge[0]][0]):
            self._into.setdefault(b, []).append(a)
        self._used: dict[tuple[int, int], int] = {}

    def below(self, a: int) -> Point:
        x, y = self._centers[a]
        return x, y + self._sizes[a][1] / 2

    def above(self, a: int, b: int) -> Point:
        x, y = self._centers[b]
        given = self._into[b]
        turn = self._used.get((a, b), 0)
        self._used[a, b] = turn + 1
        step = min(self._sizes[b][0] * 0.6 / len(given), 30.0)
        return x + (given.index(a) + turn - (len(given) - 1) / 2) * step, y - self._sizes[b][1] / 2


def _smooth(points: Sequence[Point]) -> list[Point]:
    """A curve through points that is vertical at each of them."""
    curve = [points[0]]
    for (x, y), (to_x, to_y) in pairwise(points):
        if to_y - y < _NOTHING:  # an arrow at the end of nothing would point anywhere
            continue
        middle = (y + to_y) / 2
        curve += [(x, middle), (to_x, middle), (to_x, to_y)]
    return curve


def _moved(sizes: Sequence[Point], centers: Sequence[Point], curves: Sequence[Sequence[Point]]) -> Layout:
    """The same with its upper left corner at the origin."""
    boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(centers, sizes, strict=True)]
    points = [point for curve in curves for point in curve]
    left = min([box[0] for box in boxes] + [x for x, _ in points])
    top = min([box[1] for box in boxes] + [y for _, y in points])
    right = max([box[2] for box in boxes] + [x for x, _ in points])
    bottom = max([box[3] for box in boxes] + [y for _, y in points])

    def moved(point: Point) -> Point:
        return point[0] - left, point[1] - top

    return Layout(right - left, bottom - top, [moved(c) for c in centers], [[moved(p) for p in curve] for curve in curves])
