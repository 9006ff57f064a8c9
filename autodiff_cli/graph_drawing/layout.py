"""The positions of the boxes of a graph: the second half of a layered layout.

This module is pure geometry: it takes the sizes of boxes, and returns positions and curves.  Boxes do not overlap, as the minimum
distance between neighbours is a constraint of the optimization.  By construction, edges do not cross boxes (see ``routes``).
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from autodiff_cli.graph_drawing.layers import Edges, Layers, layers_of, straight_blocks
from autodiff_cli.graph_drawing.routes import Point, Routes

_BESIDE = 26.0
"""The minimum distance between adjacent boxes."""
_BESIDE_LINE = 16.0
_BELOW, _FURTHEST_BELOW = 36.0, 64.0
"""The minimum and the maximum distance between layers."""
_STEEPNESS = 0.3
"""The distance between two layers, relative to the maximum horizontal length of the edges between them."""
_STEPS, _STILL = 2_000, 0.005
"""The maximum number of iterations for the horizontal positions, and the change below which the iteration has converged."""


class Layout(NamedTuple):
    """The positions of boxes and edges, in pixels from the upper left corner.

    Attributes:
        width, height: the width and height of the picture.
        centers: the centres of the boxes.
        curves: the ``3*k + 1`` control points of the ``k`` cubic Bezier curves of each edge.
    """

    width: float
    height: float
    centers: list[Point]
    curves: list[list[Point]]

    def upside_down(self) -> Layout:
        """Return the layout with edges in the opposite direction, which go down, too."""
        curves = [[(x, self.height - y) for x, y in reversed(curve)] for curve in self.curves]
        return self._replace(centers=[(x, self.height - y) for x, y in self.centers], curves=curves)


def place(sizes: Sequence[Point], edges: Edges, flats: Sequence[float]) -> Layout:
    """Place the boxes of a connected graph in layers so that edges go down.

    Args:
        sizes: the width and height of each box.
        edges: the edges, which lead from a box to a later box.
        flats: the width of the part of each box on which edges may end.
    """
    layers = Layers(len(sizes), edges, layers_of(len(sizes), edges))
    x = _centers(layers, sizes)
    routes = Routes(layers, sizes, flats, x, edges)
    bands: list[Point] = []
    top = 0.0
    for row, aside in zip(layers.rows, routes.aside(), strict=True):
        height = max(sizes[slot][1] for slot in row if slot < layers.count)
        bands.append((top, top + height))
        top += height + min(max(_BELOW, _STEEPNESS * aside), _FURTHEST_BELOW)
    curves = routes.curves(bands)
    edges_x = [across for curve in curves for across, _ in curve]
    left = min([x[i] - width / 2 for i, (width, _) in enumerate(sizes)] + edges_x)
    right = max([x[i] + width / 2 for i, (width, _) in enumerate(sizes)] + edges_x)
    centers = [(x[i] - left, sum(bands[layers.layer[i]]) / 2) for i in range(len(sizes))]
    return Layout(right - left, bands[-1][1], centers, [[(across - left, y) for across, y in curve] for curve in curves])


def _centers(layers: Layers, sizes: Sequence[Point]) -> list[float]:
    """Return the horizontal centre of each slot; they minimize the weighted sum of the squared lengths of the edges."""
    rows = layers.rows
    heads = straight_blocks(layers)
    numbers = {head: i for i, head in enumerate(dict.fromkeys(heads[slot] for row in rows for slot in row))}
    blocks = [numbers[head] for head in heads]  # the number of the block of each slot
    apart: dict[tuple[int, int], float] = {}
    for a, b in (pair for row in rows for pair in pairwise(row)):
        pair = (blocks[a], blocks[b])
        apart[pair] = max(apart.get(pair, 0.0), _least_distance(a, b, layers.count, sizes))
    pulls: dict[tuple[int, int], float] = {}
    for above, below in ((a, b) for a in range(len(blocks)) for b in layers.lower[a]):
        pair = (blocks[above], blocks[below])
        if pair[0] != pair[1]:  # an edge pulls more if its ends are lines
            pulls[pair] = pulls.get(pair, 0.0) + 1.0 + (above >= layers.count) + (below >= layers.count)
    centers = relaxed(len(numbers), apart, pulls)
    return [centers[block] for block in blocks]


def _least_distance(a: int, b: int, count: int, sizes: Sequence[Point]) -> float:
    """Return the minimum distance between the centres of adjacent slots; those from ``count`` on are lines without a width."""
    half = sum(sizes[slot][0] / 2 for slot in (a, b) if slot < count)
    return half + (_BESIDE if a < count and b < count else _BESIDE_LINE)


def relaxed(count: int, apart: dict[tuple[int, int], float], pulls: dict[tuple[int, int], float]) -> list[float]:
    """Minimize ``sum(pull*(x[a] - x[b])**2)`` subject to the constraints ``x[b] - x[a] >= apart``.

    The method is the primal-dual iteration of Condat and Vu with a step size for each variable: each constraint has a force that
    grows while the constraint is violated.  ``_pushed`` removes the remaining violations, which are hundredths of a pixel.

    Args:
        count: the number of variables.
        apart: the minimum distance of each constrained pair ``(a, b)``.
        pulls: the weight of each attracted pair ``(a, b)``.
    """
    start = _pushed(count, apart, [0.0] * count)
    if not (apart and pulls):
        return start
    x = np.array(start)
    left, right = np.array(list(apart)).T
    above, below = np.array(list(pulls)).T
    gaps, weights = np.array(list(apart.values())), np.array(list(pulls.values()))
    where = np.concatenate([above, below, left, right])
    firmness = np.concatenate([weights, weights, np.full(2 * len(gaps), 2.0)])  # of the pulls, and of the constraints
    step = 1.0 / np.bincount(where, firmness, count)
    force = np.zeros(len(gaps))
    for turn in range(_STEPS):
        pull = weights * (x[above] - x[below])
        new = x - step * np.bincount(where, np.concatenate([pull, -pull, force, -force]), count)
        ahead = 2 * new - x
        new_force = np.maximum(0.0, force + gaps - (ahead[right] - ahead[left]))
        is_still = turn % 8 == 0 and max(np.abs(new - x).max(), np.abs(new_force - force).max()) < _STILL
        x, force = new, new_force
        if is_still:
            break
    return _pushed(count, apart, x.tolist())


def _pushed(count: int, apart: dict[tuple[int, int], float], x: Sequence[float]) -> list[float]:
    """Return positions that satisfy the constraints: the mean of the positions pushed to the right and pushed to the left."""
    before: list[list[int]] = [[] for _ in range(count)]
    for a, b in apart:
        before[b].append(a)
    order = list(TopologicalSorter(dict(enumerate(before))).static_order())
    to_right, to_left = list(x), list(x)
    for b in order:
        to_right[b] = max([to_right[b], *(to_right[a] + apart[a, b] for a in before[b])])
    for b in reversed(order):
        for a in before[b]:
            to_left[a] = min(to_left[a], to_left[b] - apart[a, b])
    return [(a + b) / 2 for a, b in zip(to_left, to_right, strict=True)]
