"""The routes of edges from box to box: the last step of a layered layout.

In each layer that an edge passes, a free stretch lies between the adjacent slots.  The edge is the shortest line through these
stretches, with rounded corners.  Between two points, the curve stays in the range of their x positions, so that a rounded
corner cannot touch a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from autodiff_cli.graph_drawing.layers import Edges, Layers

Point = tuple[float, float]
Stretch = tuple[float, float, float]
"""A y position, and the left and right ends of the free range at this position."""
_CLEAR = 9.0
"""The minimum distance between an edge and the boxes that it passes."""
_HALF_CLEAR = 4.0
"""Half of the minimum distance between two edges side by side."""
_PORT = 14.0
"""The distance between the ends of adjacent edges at one box."""
_FLATTEST = 1.6
"""The maximum slope at both ends of an edge, in horizontal pixels for each vertical pixel."""
_NOTHING = 0.01
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
        self._layers, self._sizes, self._x, self._edges = layers, sizes, x, edges
        self._paths = [layers.path(a, b) for a, b in edges]
        self._used = [0] * len(layers.layer)
        for path in self._paths:
            for slot in path[1:-1]:
                self._used[slot] += 1
        self._room = [self._stretches(row) for row in layers.rows]
        self._at = {slot: (k, i) for k, row in enumerate(layers.rows) for i, slot in enumerate(row)}
        self._starts, self._ends = self._ports(flats)

    def aside(self) -> list[float]:
        """Return, for each layer, the maximum horizontal length of the edges between this layer and the next."""
        aside = [0.0] * len(self._layers.rows)
        for (a, _), path, start, end in zip(self._edges, self._paths, self._starts, self._ends, strict=True):
            first, steps = self._layers.layer[a], len(path) - 1
            alone = all(self._used[slot] == 1 for slot in path[1:-1])
            xs = [start, *(self._x[slot] for slot in path[1:-1]), end]
            for i, (x, to) in enumerate(pairwise(xs)):
                far = min(abs(to - x), abs(end - start)) if alone and steps > 1 else abs(to - x)
                aside[first + i] = max(aside[first + i], far)
        return aside

    def curves(self, bands: Sequence[Point]) -> list[list[Point]]:
        """Return the control points of the cubic Bezier curves of each edge.

        Args:
            bands: the top and bottom of each layer.
        """
        return [rounded(self._through(k, bands)) for k in range(len(self._edges))]

    def _through(self, k: int, bands: Sequence[Point]) -> list[Stretch]:
        (a, b), path, layer = self._edges[k], self._paths[k], self._layers.layer
        (top_a, bottom_a), (top_b, bottom_b) = bands[layer[a]], bands[layer[b]]
        start, end = (top_a + bottom_a + self._sizes[a][1]) / 2, (top_b + bottom_b - self._sizes[b][1]) / 2
        found: list[Stretch] = [(start, self._starts[k], self._starts[k])]
        if bottom_a > start + _NOTHING:  # the layer is taller than the box
            found.append((bottom_a, *self._stretch(a)))
        for slot in path[1:-1]:
            room = self._stretch(slot) if self._used[slot] == 1 else (self._x[slot], self._x[slot])
            found += [(y, *room) for y in bands[layer[slot]]]
        if top_b < end - _NOTHING:
            found.append((top_b, *self._stretch(b)))
        return [*found, (end, self._ends[k], self._ends[k])]

    def _stretch(self, slot: int) -> tuple[float, float]:
        k, i = self._at[slot]
        return self._room[k][i]

    def _stretches(self, row: Sequence[int]) -> list[tuple[float, float]]:
        """Return the free horizontal range of each slot of a layer; the ranges do not overlap."""
        half = [self._sizes[slot][0] / 2 if slot < self._layers.count else 0.0 for slot in row]
        borders = []
        for i, (a, b) in enumerate(pairwise(row)):
            right, left = self._x[a] + half[i], self._x[b] - half[i + 1]
            if half[i] and not half[i + 1]:
                borders.append((right, right + _CLEAR))
            elif half[i + 1] and not half[i]:
                borders.append((left - _CLEAR, left))
            else:
                middle = (right + left) / 2
                borders.append((middle - _HALF_CLEAR, middle + _HALF_CLEAR))
        return list(zip([-inf, *(b for _, b in borders)], [*(a for a, _ in borders), inf], strict=True))

    def _ports(self, flats: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return the x positions of the start and the end of each edge, separate from the other edges at the same box."""
        leaving: dict[int, dict[int, list[int]]] = {}
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
        for b, given in arriving.items():
            come = sorted((starts[k] if len(self._paths[k]) == 2 else self._x[self._paths[k][-2]], k) for k in given)
            for (_, k), port in zip(come, self._side_by_side(b, flats[b], [x for x, _ in come]), strict=True):
                ends[k] = port
        return starts, ends

    def _side_by_side(self, box: int, flat: float, towards: Sequence[float]) -> list[float]:
        """Return separate x positions on one side of a box, as near as possible to ``towards`` and in the same order."""
        room = flat / 2
        aside = [min(max(x - self._x[box], -room), room) for x in towards]
        straight = [abs(x - self._x[box]) < _STRAIGHT for x in towards]
        last = len(towards) - 1
        if sum(straight) == 1:
            step = min(_PORT, room / max(straight.index(True), last - straight.index(True), 1))
        else:
            step = min(_PORT, flat / max(last, 1))
        places = spread(aside, [_FIRM if is_straight else 1.0 for is_straight in straight], step)
        return [self._x[box] + min(max(p, i * step - room), room - (last - i) * step) for i, p in enumerate(places)]


def spread(wanted: Sequence[float], weights: Sequence[float], step: float) -> list[float]:
    """Return the positions nearest to ``wanted``, in the same order and at least ``step`` apart, by isotonic regression."""
    pools: list[tuple[float, float, int]] = []
    for i, (place, weight) in enumerate(zip(wanted, weights, strict=True)):
        mean, total, size = place - i * step, weight, 1
        while pools and pools[-1][0] >= mean:
            before, heavy, members = pools.pop()
            mean = (mean * total + before * heavy) / (total + heavy)
            total, size = total + heavy, size + members
        pools.append((mean, total, size))
    level = [mean for mean, _, size in pools for _ in range(size)]
    return [place + i * step for i, place in enumerate(level)]


def _tight(stretches: Sequence[Stretch]) -> tuple[list[Point], list[int]]:
    """Return the shortest line through stretches; the first and the last stretch are points."""
    xs, corners = [stretches[0][1]], [0]
    here, last = 0, len(stretches) - 1
    while here < last:
        y, x = stretches[here][0], xs[here]
        low, high = (-inf, last), (inf, last)
        corner, slope = last, 0.0
        for k in range(here + 1, last + 1):
            down = stretches[k][0] - y
            left, right = (stretches[k][1] - x) / down, (stretches[k][2] - x) / down
            if left > high[0] or right < low[0]:
                slope, corner = high if left > high[0] else low
                break
            low, high = max(low, (left, k)), min(high, (right, -k))
            slope = left
        corner = abs(corner)
        xs += [x + slope * (stretches[k][0] - y) for k in range(here + 1, corner + 1)]
        corners.append(corner)
        here = corner
    return [(x, y) for x, (y, _, _) in zip(xs, stretches, strict=True)], corners


def rounded(stretches: Sequence[Stretch]) -> list[Point]:
    """Return the shortest line through stretches, with its corners rounded as far as the stretches allow."""
    points, corners = _tight(stretches)
    chosen = set(corners)
    while True:
        stops = sorted(chosen)
        curve = _monotone([points[k] for k in stops])
        for i, (start, end) in enumerate(pairwise(stops)):
            for k in range(start + 1, end):
                y, left, right = stretches[k]
                if not left <= _at(curve[3 * i : 3 * i + 4], y) <= right:
                    chosen.add(k)
        if len(chosen) == len(stops):
            return curve


def _at(curve: Sequence[Point], y: float) -> float:
    """Return the x position of a Bezier curve at a y position; the y positions of its control points are evenly spaced."""
    (x0, top), (x1, _), (x2, _), (x3, bottom) = curve
    t = (y - top) / (bottom - top)
    return (1 - t) ** 3 * x0 + 3 * t * (1 - t) ** 2 * x1 + 3 * t * t * (1 - t) * x2 + t**3 * x3


def _monotone(points: Sequence[Point]) -> list[Point]:
    """Return monotone cubic curves through points in downward order, by the method of Fritsch and Carlson.

    Between two points, the curve stays in the range of their x positions.
    """
    slopes = [(to_x - x) / (to_y - y) for (x, y), (to_x, to_y) in pairwise(points)]
    tangents = [_limited(slopes[0])]
    for (_, y0), (_, y1), (_, y2), before, after in zip(points, points[1:], points[2:], slopes, slopes[1:], strict=False):
        if before * after <= 0:
            tangents.append(0.0)
        else:
            one, two = y2 - y1 + (y2 - y0), y1 - y0 + (y2 - y0)
            tangents.append((one + two) / (one / before + two / after))
    tangents.append(_limited(slopes[-1]))
    curve = [points[0]]
    for k, ((x, y), (to_x, to_y)) in enumerate(pairwise(points)):
        third = (to_y - y) / 3
        curve += [(x + tangents[k] * third, y + third), (to_x - tangents[k + 1] * third, to_y - third), (to_x, to_y)]
    return curve


def _limited(slope: float) -> float:
    return min(max(slope, -_FLATTEST), _FLATTEST)
