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

_BESIDE = 26.0  # the minimum distance between adjacent boxes
_BESIDE_LINE = 16.0
_BELOW, _FURTHEST_BELOW = 36.0, 64.0  # the minimum and the maximum distance between layers
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
    bands: list[Point] = []  # the top and the bottom of each layer
    top = 0.0
    for row, longest_edge in zip(layers.rows, routes.horizontal_lengths(), strict=True):
        height = max(sizes[slot][1] for slot in row if slot < layers.count)
        bands.append((top, top + height))
        top += height + min(max(_BELOW, _STEEPNESS * longest_edge), _FURTHEST_BELOW)
    curves = routes.curves(bands)
    points_x = [point_x for curve in curves for point_x, _y in curve]
    left = min([x[i] - width / 2 for i, (width, _height) in enumerate(sizes)] + points_x)
    right = max([x[i] + width / 2 for i, (width, _height) in enumerate(sizes)] + points_x)
    centers = [(x[i] - left, sum(bands[layers.layer[i]]) / 2) for i in range(len(sizes))]  # in the middle of their layers
    moved_curves = [[(point_x - left, y) for point_x, y in curve] for curve in curves]  # so that the picture begins at x = 0
    return Layout(right - left, bands[-1][1], centers, moved_curves)


def _centers(layers: Layers, sizes: Sequence[Point]) -> list[float]:
    """Return the horizontal centre of each slot, the same in a straight block; they minimize the squared lengths of the edges."""
    heads = straight_blocks(layers)
    numbers = {head: i for i, head in enumerate(dict.fromkeys(heads[slot] for row in layers.rows for slot in row))}
    blocks = [numbers[head] for head in heads]  # the number of the block of each slot
    distances: dict[tuple[int, int], float] = {}
    for left, right in (pair for row in layers.rows for pair in pairwise(row)):
        pair = (blocks[left], blocks[right])
        distances[pair] = max(distances.get(pair, 0.0), _least_distance(left, right, layers.count, sizes))
    weights: dict[tuple[int, int], float] = {}
    for above, below in ((a, b) for a in range(len(blocks)) for b in layers.lower[a]):
        pair = (blocks[above], blocks[below])
        if pair[0] != pair[1]:  # an edge weighs more if its ends are lines
            weights[pair] = weights.get(pair, 0.0) + 1.0 + (above >= layers.count) + (below >= layers.count)
    centers = minimized_lengths(len(numbers), distances, weights)
    return [centers[block] for block in blocks]


def _least_distance(a: int, b: int, count: int, sizes: Sequence[Point]) -> float:
    """Return the minimum distance between the centres of adjacent slots; those from ``count`` on are lines without a width."""
    half = sum(sizes[slot][0] / 2 for slot in (a, b) if slot < count)
    return half + (_BESIDE if a < count and b < count else _BESIDE_LINE)


def minimized_lengths(count: int, distances: dict[tuple[int, int], float], weights: dict[tuple[int, int], float]) -> list[float]:
    """Return the x that minimizes ``sum(weight*(x[a] - x[b])**2)``, subject to the constraints ``x[b] - x[a] >= distance``.

    The method is the primal-dual iteration of Condat and Vu with a step size for each variable: each constraint has a force (its
    dual variable) that grows while the constraint is violated.  ``_feasible`` removes the remaining violations, which are
    hundredths of a pixel.  ``distances`` and ``weights`` are by pair ``(a, b)``, and ``count`` is the number of variables.
    """
    start = _feasible(count, distances, [0.0] * count)
    if not (distances and weights):
        return start
    x = np.array(start)
    left, right = np.array(list(distances)).T
    above, below = np.array(list(weights)).T
    distance, weight = np.array(list(distances.values())), np.array(list(weights.values()))
    variables = np.concatenate([above, below, left, right])  # on which the attractions and then the constraints act
    stiffness = np.concatenate([weight, weight, np.full(2 * len(distance), 2.0)])
    step = 1.0 / np.bincount(variables, stiffness, count)
    force = np.zeros(len(distance))
    for turn in range(_STEPS):
        attraction = weight * (x[above] - x[below])
        new = x - step * np.bincount(variables, np.concatenate([attraction, -attraction, force, -force]), count)
        ahead = 2 * new - x  # the extrapolation of the method
        new_force = np.maximum(0.0, force + distance - (ahead[right] - ahead[left]))
        is_still = turn % 8 == 0 and max(np.abs(new - x).max(), np.abs(new_force - force).max()) < _STILL
        x, force = new, new_force  # ``is_still`` is tested in one of 8 turns, because it takes time
        if is_still:
            break
    return _feasible(count, distances, x.tolist())


def _feasible(count: int, distances: dict[tuple[int, int], float], x: Sequence[float]) -> list[float]:
    """Return positions that satisfy the constraints: the mean of ``x`` pushed to the right and of ``x`` pushed to the left."""
    left_neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in distances:
        left_neighbours[b].append(a)
    order = list(TopologicalSorter(dict(enumerate(left_neighbours))).static_order())  # from left to right
    to_right, to_left = list(x), list(x)
    for b in order:
        to_right[b] = max([to_right[b], *(to_right[a] + distances[a, b] for a in left_neighbours[b])])
    for b in reversed(order):
        for a in left_neighbours[b]:
            to_left[a] = min(to_left[a], to_left[b] - distances[a, b])
    return [(a + b) / 2 for a, b in zip(to_left, to_right, strict=True)]
