"""The routes of edges from box to box: the last step of a layered layout.

An edge that passes layers follows its lines, straight down through each layer, and bends between the layers.  Between two points,
the curve stays in the range of their x positions, so that it cannot touch a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from autodiff_cli.graph_drawing.layers import Edges, Layers

Point = tuple[float, float]
_CLEAR = 9.0
"""The maximum distance between a box and an edge that leaves it, at the border of the layer."""
_PORT = 14.0
"""The distance between the ends of adjacent edges at one box."""
_FLATTEST = 1.6
"""The maximum slope at both ends of an edge, in horizontal pixels for each vertical pixel."""
_STRAIGHT, _FIRM = 0.5, 1e6
"""An edge whose ends are less than ``_STRAIGHT`` pixels apart horizontally is drawn vertical, because ``spread`` gives its end the
weight ``_FIRM`` instead of 1."""


class Routes:
    """The curves of edges.

    Args:
        layers: the boxes and lines in their final order.
        sizes: the width and height of each box.
        flats: the width of the part of each box on which edges may end.
        x: the horizontal centre of each slot.
        edges: the edges, as pairs of boxes.
    """

    def __init__(self, layers: Layers, sizes: Sequence[Point], flats: Sequence[float], x: Sequence[float], edges: Edges) -> None:
        self._layer, self._sizes, self._x, self._edges = layers.layer, sizes, x, edges
        self._paths = [layers.path(a, b) for a, b in edges]
        self._starts, self._ends = self._ports(flats)

    def aside(self) -> list[float]:
        """Return, for each layer, the maximum horizontal length of the edges between this layer and the next."""
        aside = [0.0] * (max(self._layer) + 1)
        for k, path in enumerate(self._paths):
            first = self._layer[path[0]]
            for i, (x, to) in enumerate(pairwise(self._places(k)), first):
                aside[i] = max(aside[i], abs(to - x))
        return aside

    def curves(self, bands: Sequence[Point]) -> list[list[Point]]:
        """Return the control points of the cubic Bezier curves of each edge; ``bands`` are the top and bottom of each layer."""
        return [smooth(self._through(k, bands)) for k in range(len(self._edges))]

    def _places(self, k: int) -> list[float]:
        """Return the x position of an edge in each layer."""
        return [self._starts[k], *(self._x[slot] for slot in self._paths[k][1:-1]), self._ends[k]]

    def _through(self, k: int, bands: Sequence[Point]) -> list[Point]:
        """Return the points through which an edge is drawn: both borders of each layer, except those beside its own boxes."""
        (a, b), places = self._edges[k], self._places(k)
        own = list(bands[self._layer[a] : self._layer[b] + 1])
        # A box is in the middle of its layer, which may be taller.
        own[0] = sum(own[0]) / 2 + self._sizes[a][1] / 2, own[0][1]
        own[-1] = own[-1][0], sum(own[-1]) / 2 - self._sizes[b][1] / 2
        points = [(x, y) for x, band in zip(places, own, strict=True) for y in band]
        if self._is_clear(a, *points[:3]):
            del points[1]
        if self._is_clear(b, *points[:-4:-1]):  # the last three points, from the end
            del points[-2]
        return points

    def _is_clear(self, box: int, end: Point, border: Point, following: Point) -> bool:
        """Return whether an edge may leave a box at an angle: at the border of the layer, it is still beside the box."""
        share = (border[1] - end[1]) / (following[1] - end[1])
        x = end[0] + share * (following[0] - end[0])
        return abs(x - self._x[box]) <= self._sizes[box][0] / 2 + _CLEAR

    def _ports(self, flats: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return the x positions of the start and the end of each edge, separate from the other edges at the same box."""
        leaving: dict[int, dict[int, list[int]]] = {}  # the edges by the box and the next slot, which share a port
        arriving: dict[int, list[int]] = {}
        for k, ((a, b), path) in enumerate(zip(self._edges, self._paths, strict=True)):
            leaving.setdefault(a, {}).setdefault(path[1], []).append(k)
            arriving.setdefault(b, []).append(k)
        starts, ends = [0.0] * len(self._edges), [0.0] * len(self._edges)
        for a, ways in leaving.items():
            towards = sorted((self._x[slot], slot) for slot in ways)
            for (_, slot), port in zip(towards, self._side_by_side(a, flats[a], [x for x, _ in towards]), strict=True):
                for k in ways[slot]:
                    starts[k] = port
        for b, edges in arriving.items():
            origins = sorted((starts[k] if len(self._paths[k]) == 2 else self._x[self._paths[k][-2]], k) for k in edges)
            for (_, k), port in zip(origins, self._side_by_side(b, flats[b], [x for x, _ in origins]), strict=True):
                ends[k] = port
        return starts, ends

    def _side_by_side(self, box: int, flat: float, towards: Sequence[float]) -> list[float]:
        """Return separate x positions on one side of a box, near ``towards`` and in order; a lone straight edge stays so."""
        room = flat / 2
        aside = [min(max(x - self._x[box], -room), room) for x in towards]
        straight = [abs(x - self._x[box]) < _STRAIGHT for x in towards]
        last = len(towards) - 1
        if sum(straight) == 1:  # it stays, and the side with more edges decides the distance
            step = min(_PORT, room / max(straight.index(True), last - straight.index(True), 1))
        else:
            step = min(_PORT, flat / max(last, 1))
        places = spread(aside, [_FIRM if is_straight else 1.0 for is_straight in straight], step)
        return [self._x[box] + min(max(p, i * step - room), room - (last - i) * step) for i, p in enumerate(places)]


def spread(targets: Sequence[float], weights: Sequence[float], step: float) -> list[float]:
    """Return the positions nearest to ``targets``, in the same order and at least ``step`` apart, by isotonic regression."""
    pools: list[tuple[float, float, int]] = []  # the mean, the weight and the number of targets that move together
    for i, (place, weight) in enumerate(zip(targets, weights, strict=True)):
        mean, total, size = place - i * step, weight, 1
        while pools and pools[-1][0] >= mean:
            before, heavy, members = pools.pop()
            mean = (mean * total + before * heavy) / (total + heavy)
            total, size = total + heavy, size + members
        pools.append((mean, total, size))
    level = [mean for mean, _, size in pools for _ in range(size)]
    return [place + i * step for i, place in enumerate(level)]


def smooth(points: Sequence[Point]) -> list[Point]:
    """Return monotone cubic curves through points in downward order, by the method of Fritsch and Carlson.

    Between two points, the curve stays in the range of their x positions.
    """
    slopes = [(to_x - x) / (to_y - y) for (x, y), (to_x, to_y) in pairwise(points)]
    tangents = [_limited(slopes[0])]
    for (_, y0), (_, y1), (_, y2), before, after in zip(points, points[1:], points[2:], slopes, slopes[1:], strict=False):
        if before * after <= 0:
            tangents.append(0.0)
        else:
            w1, w2 = y2 - y1 + (y2 - y0), y1 - y0 + (y2 - y0)
            tangents.append((w1 + w2) / (w1 / before + w2 / after))
    tangents.append(_limited(slopes[-1]))
    curve = [points[0]]
    for k, ((x, y), (to_x, to_y)) in enumerate(pairwise(points)):
        third = (to_y - y) / 3
        curve += [(x + tangents[k] * third, y + third), (to_x - tangents[k + 1] * third, to_y - third), (to_x, to_y)]
    return curve


def _limited(slope: float) -> float:
    """Return the slope at an end of an edge, which is not flatter than ``_FLATTEST``."""
    return min(max(slope, -_FLATTEST), _FLATTEST)
