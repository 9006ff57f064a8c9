"""The routes of edges from box to box: the last step of a layered layout.

An edge that passes layers follows its lines, straight down through each layer, and bends between the layers.  Between two points,
the curve stays in the range of their x positions, so that it cannot touch a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from autodiff_cli.graph_drawing.layers import Edges, Layers

Point = tuple[float, float]
_CLEAR = 9.0  # the maximum distance between a box and an edge that leaves it, at the border of the layer
_PORT = 14.0  # the distance between the ends of adjacent edges at one box
_FLATTEST = 1.6  # the maximum slope at both ends of an edge, in horizontal pixels for each vertical pixel
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

    def horizontal_lengths(self) -> list[float]:
        """Return, for each layer, the maximum horizontal length of the edges between this layer and the next."""
        lengths = [0.0] * (max(self._layer) + 1)
        for k, path in enumerate(self._paths):
            first_layer = self._layer[path[0]]
            for i, (x, next_x) in enumerate(pairwise(self._places(k)), first_layer):
                lengths[i] = max(lengths[i], abs(next_x - x))
        return lengths

    def curves(self, bands: Sequence[Point]) -> list[list[Point]]:
        """Return the control points of the cubic Bezier curves of each edge; ``bands`` are the top and bottom of each layer."""
        return [smooth(self._through(k, bands)) for k in range(len(self._edges))]

    def _places(self, k: int) -> list[float]:
        """Return the x position of an edge in each layer."""
        return [self._starts[k], *(self._x[slot] for slot in self._paths[k][1:-1]), self._ends[k]]

    def _through(self, k: int, bands: Sequence[Point]) -> list[Point]:
        """Return the points through which an edge is drawn: both borders of each layer, except those beside its own boxes."""
        (a, b), places = self._edges[k], self._places(k)
        (top_a, bottom_a), *between, (top_b, bottom_b) = bands[self._layer[a] : self._layer[b] + 1]
        # A box is in the middle of its layer, which may be taller.
        start = (top_a + bottom_a) / 2 + self._sizes[a][1] / 2, bottom_a
        end = top_b, (top_b + bottom_b) / 2 - self._sizes[b][1] / 2
        points = [(x, y) for x, band in zip(places, [start, *between, end], strict=True) for y in band]
        if self._is_clear(a, *points[:3]):
            del points[1]
        if self._is_clear(b, *points[:-4:-1]):  # the last three points, from the end
            del points[-2]
        return points

    def _is_clear(self, box: int, end: Point, border: Point, following: Point) -> bool:
        """Return whether an edge may leave a box at an angle: it is still beside the box where it passes the border of the layer.

        The edge would be a line from its ``end`` at the box to the ``following`` point.
        """
        (end_x, end_y), (following_x, following_y), (_, border_y) = end, following, border
        x = end_x + (border_y - end_y) / (following_y - end_y) * (following_x - end_x)
        return abs(x - self._x[box]) <= self._sizes[box][0] / 2 + _CLEAR

    def _ports(self, flats: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return the x positions of the start and the end of each edge, separate from the other edges at the same box."""
        starts = self._starting_ports(flats)
        ends = [0.0] * len(self._edges)
        arriving: dict[int, list[int]] = {}  # the edges by the box at their end
        for k, (_, b) in enumerate(self._edges):
            arriving.setdefault(b, []).append(k)
        for b, edges in arriving.items():
            # An edge comes from its start if it passes no line, and else from its last line.
            origins = [starts[k] if len(self._paths[k]) == 2 else self._x[self._paths[k][-2]] for k in edges]
            in_order = sorted(zip(origins, edges, strict=True))
            ports = self._side_by_side(b, flats[b], [origin for origin, _ in in_order])
            for (_, k), port in zip(in_order, ports, strict=True):
                ends[k] = port
        return starts, ends

    def _starting_ports(self, flats: Sequence[float]) -> list[float]:
        """Return the x position of the start of each edge, which edges of one box to the same slot, its trunk, share."""
        starts = [0.0] * len(self._edges)
        leaving: dict[int, dict[int, list[int]]] = {}  # the edges by the box at their start, and then by the next slot
        for k, path in enumerate(self._paths):
            leaving.setdefault(path[0], {}).setdefault(path[1], []).append(k)
        for a, edges_to in leaving.items():
            slots = sorted(edges_to, key=lambda slot: (self._x[slot], slot))
            for slot, port in zip(slots, self._side_by_side(a, flats[a], [self._x[slot] for slot in slots]), strict=True):
                for k in edges_to[slot]:
                    starts[k] = port
        return starts

    def _side_by_side(self, box: int, flat: float, targets: Sequence[float]) -> list[float]:
        """Return separate x positions on one side of a box, near ``targets`` and in their order.

        ``flat`` is the width of the part on which edges may end.  The only edge that is straight stays so.
        """
        room, last = flat / 2, len(targets) - 1
        aims = [min(max(x - self._x[box], -room), room) for x in targets]  # relative to the centre of the box
        straight = [abs(x - self._x[box]) < _STRAIGHT for x in targets]
        if sum(straight) == 1:  # it stays, and the side with more edges decides the distance
            step = min(_PORT, room / max(straight.index(True), last - straight.index(True), 1))
        else:
            step = min(_PORT, flat / max(last, 1))
        positions = []
        for i, x in enumerate(spread(aims, [_FIRM if is_straight else 1.0 for is_straight in straight], step)):
            leftmost, rightmost = i * step - room, room - (last - i) * step  # with room for the ports on both sides
            positions.append(self._x[box] + min(max(x, leftmost), rightmost))
        return positions


def spread(targets: Sequence[float], weights: Sequence[float], step: float) -> list[float]:
    """Return the positions nearest to ``targets`` (least weighted squares), in order and ``step`` apart, by isotonic regression."""
    pools: list[tuple[float, float, int]] = []  # the mean, the weight and the number of targets that move together
    for i, (target, weight) in enumerate(zip(targets, weights, strict=True)):
        mean, total, size = target - i * step, weight, 1  # less the steps before it, positions need only be in order
        while pools and pools[-1][0] >= mean:
            other_mean, other_total, other_size = pools.pop()
            mean = (mean * total + other_mean * other_total) / (total + other_total)
            total, size = total + other_total, size + other_size
        pools.append((mean, total, size))
    means = [mean for mean, _total, size in pools for _ in range(size)]
    return [mean + i * step for i, mean in enumerate(means)]


def smooth(points: Sequence[Point]) -> list[Point]:
    """Return monotone cubic curves through points in downward order, as the control points of Bezier curves.

    Between two points, the curve stays in the range of their x positions: the tangent at a point is 0 at a turn, and else the
    weighted harmonic mean of the slopes on both sides (Fritsch and Butland 1984).
    """
    slopes = [(to_x - x) / (to_y - y) for (x, y), (to_x, to_y) in pairwise(points)]
    heights = [to_y - y for (_, y), (_, to_y) in pairwise(points)]
    tangents = [_limited(slopes[0])]
    for (before, after), (above, below) in zip(pairwise(slopes), pairwise(heights), strict=True):
        if before * after <= 0:
            tangents.append(0.0)
        else:
            w1, w2 = below + (above + below), above + (above + below)
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
