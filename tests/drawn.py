"""What is wrong with the picture of a graph, seen from the SVG alone: the boxes and curves that a reader sees."""

from __future__ import annotations

import random
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from autodiff_cli.graph_drawing.labels import flow
from autodiff_cli.graph_drawing.model import Graph, GraphNode

_NAME = "{http://www.w3.org/2000/svg}"
_STROKE = {"named": 2.8}
_BETWEEN, _BESIDE = 6.0, 3.0
"""The least distance of two boxes, and of an edge and a box that it passes."""
_INSIDE = 3.0
"""The least distance of the two borders of an output."""
_STEPS = np.linspace(0.0, 1.0, 33)
_WEIGHTS = np.array([(1 - _STEPS) ** 3, 3 * _STEPS * (1 - _STEPS) ** 2, 3 * _STEPS**2 * (1 - _STEPS), _STEPS**3]).T


class Box(NamedTuple):
    """All that is drawn of a node, with half of its lines: from the upper left to the lower right."""

    left: float
    top: float
    right: float
    bottom: float


class Drawing(NamedTuple):
    """Boxes in the order of the nodes, the points of the curves, and the picture's own border."""

    boxes: list[Box]
    corners: list[float]
    curves: list[np.ndarray]
    border: Box
    faults: list[str]


def read(svg: str) -> Drawing:
    """The shapes of a picture, and what is wrong inside of single boxes."""
    root = ElementTree.fromstring(svg)
    left, top, wide, high = map(float, root.attrib["viewBox"].split())
    boxes, corners, faults = [], [], []
    for i, group in enumerate(root.findall(f"{_NAME}g")):
        kind = group.attrib["class"].split()[1]
        half = _STROKE.get(kind, 1.3) / 2
        rects = []
        for rect in group.findall(f"{_NAME}rect"):
            x, y, w, h = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
            rects.append(Box(x - half, y - half, x + w + half, y + h + half))
        outer, inner = rects[0], rects[-1]
        boxes.append(Box(*(min(r[k] for r in rects) for k in (0, 1)), *(max(r[k] for r in rects) for k in (2, 3))))
        corners.append(max(float(rect.attrib.get("rx", 0)) for rect in group.findall(f"{_NAME}rect")))
        if (len(rects) == 2) != (kind == "output"):
            faults.append(f"node {i} ({kind}) has {len(rects)} borders")
        within = (inner.left - outer.left, inner.top - outer.top, outer.right - inner.right, outer.bottom - inner.bottom)
        if kind == "output" and min(within) < _INSIDE:
            faults.append(f"the second border of node {i} is not within the first")
    for k, (path, points) in enumerate((path, _points(path.attrib["d"])) for path in root.findall(f"{_NAME}path")):
        if "arrow" not in path.attrib["marker-end"]:
            faults.append(f"edge {k} has no arrow")
        if not np.isfinite(points).all():
            faults.append(f"edge {k} is not drawn")
    curves = [_points(path.attrib["d"]) for path in root.findall(f"{_NAME}path")]
    return Drawing(boxes, corners, curves, Box(left, top, left + wide, top + high), faults)


def _points(text: str) -> np.ndarray:
    """The control points of a path, ``3*k + 1`` of them."""
    return np.array([float(word) for word in text.replace("M", " ").replace("C", " ").split()]).reshape(-1, 2)


def sampled(points: np.ndarray) -> np.ndarray:
    """Points on the curves, close to each other."""
    pieces = np.stack([points[k : k + 4] for k in range(0, len(points) - 1, 3)])
    return np.einsum("sc,pcd->psd", _WEIGHTS, pieces).reshape(-1, 2)


def faults(svg: str, graph: Graph) -> list[str]:
    """Everything that is wrong with a picture of a graph; nothing if it is right.

    Boxes stand apart, within the picture.  Each edge goes down from the straight part of its box to that of the other,
    smoothly, without a way through a box, and its arrow points down.
    """
    drawing = read(svg)
    found = list(drawing.faults)
    boxes = np.array(drawing.boxes)
    for i, (left, top, right, bottom) in enumerate(boxes):
        others = boxes[:i]
        near = (
            (others[:, 0] < right + _BETWEEN)
            & (others[:, 2] > left - _BETWEEN)
            & (others[:, 1] < bottom + _BETWEEN)
            & (others[:, 3] > top - _BETWEEN)
        )
        found += [f"boxes {k} and {i} are {boxes[k]} and {boxes[i]}" for k in np.flatnonzero(near)]
        if not (drawing.border.left < left and right < drawing.border.right):
            found.append(f"box {i} is not in the picture")
        if not (drawing.border.top < top and bottom < drawing.border.bottom):
            found.append(f"box {i} is not in the picture")
    edges = list(flow(graph))
    if len(edges) != len(drawing.curves):
        return [*found, f"{len(drawing.curves)} curves for {len(edges)} edges"]
    seen = set()
    for (a, b, _), points in zip(edges, drawing.curves, strict=True):
        name = f"the edge from {a} to {b}"
        start, end = drawing.boxes[a], drawing.boxes[b]
        for (x, y), side, box, corner in (
            (points[0], start.bottom, start, drawing.corners[a]),
            (points[-1], end.top, end, drawing.corners[b]),
        ):
            if abs(y - side) > 1.5:
                found.append(f"{name} ends {y - side:.1f} from the border")
            if not box.left + corner <= x <= box.right - corner:
                found.append(f"{name} ends at a round corner")
        way = sampled(points)
        if (np.diff(way[:, 1]) < -1e-6).any():
            found.append(f"{name} goes up")
        if way[:, 0].min() < drawing.border.left or way[:, 0].max() > drawing.border.right:
            found.append(f"{name} leaves the picture")
        found += [f"{name} runs through {k}" for k in _hit(way, boxes, (a, b))]
        found += [f"{name} has a corner at {point}" for point in _sharp(points)]
        across, down = points[-1] - points[-2]
        if down <= 0 or abs(across) > 2 * down:
            found.append(f"the arrow of {name} points to the side")
        seen.add(tuple(points[-1]))
    if len(seen) < len({tuple(points[-1]) for points in drawing.curves}):
        found.append("two arrows are one")
    return found


def _hit(way: np.ndarray, boxes: np.ndarray, ends: tuple[int, int]) -> list[int]:
    """The boxes that a curve runs through, or near to if they are not its own."""
    beside = np.full(len(boxes), _BESIDE)
    beside[list(ends)] = -1.5
    x, y = way[:, :1], way[:, 1:]
    within = (
        (x > boxes[:, 0] - beside)
        & (x < boxes[:, 2] + beside)
        & (y > boxes[:, 1] - np.minimum(beside, 0.0))
        & (y < boxes[:, 3] + np.minimum(beside, 0.0))
    )
    return [int(k) for k in np.flatnonzero(within.any(axis=0))]


def _sharp(points: np.ndarray) -> list[str]:
    """Where a curve changes its direction at once."""
    found = []
    for k in range(3, len(points) - 1, 3):
        before, after = points[k] - points[k - 1], points[k + 1] - points[k]
        turn = abs(before[0] * after[1] - before[1] * after[0]) / (np.hypot(*before) * np.hypot(*after) + 1e-12)
        if turn > 0.02:
            found.append(f"{points[k]}")
    return found


def random_graph(choices: list[list[int]]) -> Graph:
    """A graph whose node i takes earlier ones; the last takes what nothing else does."""
    nodes = []
    for i, picks in enumerate(choices):
        inputs = [pick % i for pick in picks] if i else []
        nodes.append(GraphNode("operation" if inputs else "variable", f"op{i}", f"%{i}", f"op{i}", inputs))
    used = {given for node in nodes for given in node.inputs}
    nodes[-1].inputs += [i for i in range(len(nodes) - 1) if i not in used]
    nodes[-1].kind = "output"
    return Graph(nodes, "", "forward", evaluated=False)


def dressed(graph: Graph, seed: int) -> Graph:
    """The same graph with nodes of all kinds and sizes, forward or backward."""
    chance = random.Random(seed)
    for i, node in enumerate(graph.nodes):
        if node.kind == "operation":
            node.kind = chance.choice(("operation", "operation", "named", "more"))
        elif node.kind == "variable":
            node.kind = chance.choice(("variable", "constant"))
        node.label = "o" * chance.choice((1, 1, 2, 3, 14))
        node.expression = "e" * chance.choice((0, 1, 7, 20, 40))
        if node.kind == "named":
            node.name = f"v{i}"
        if chance.random() < 0.5:
            node.value = chance.choice((1, 12345.678))
        if chance.random() < 0.5:
            node.grad = chance.choice((1.0, -0.000123456789))
        node.requires_grad = chance.choice((True, False))
    if chance.random() < 0.5:
        graph.direction = "backward"
    return graph


def random_choices(seed: int, most: int = 40) -> list[list[int]]:
    """What each node of a random graph takes: sparse and dense ones, chains and trees, edges that are long or double."""
    chance = random.Random(seed)
    count = chance.randint(2, most)
    inputs = chance.choice(((0, 1), (1, 1, 1, 2), (1, 2), (2, 2), (0, 1, 2, 3), (0, 0, 0, 0, 5)))
    near = chance.choice((2, 5, 100))
    return [[max(i - 1 - chance.randrange(near), 0) for _ in range(chance.choice(inputs))] for i in range(count)]
