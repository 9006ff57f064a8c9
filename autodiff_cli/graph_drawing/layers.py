"""The order of the boxes of a graph within each layer: the first half of a layered layout.

The method is due to Sugiyama, Tagawa and Toda: every box is in a layer so that edges go down; split long edges into lines of one
layer each, and order the layers so that few edges cross.  All edges that leave a box share a trunk of lines; each edge
branches off just above its end.  A variable that is used in a hundred layers thus has one long line rather than a hundred lines.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

Edges = Sequence[tuple[int, int]]
_SHIFTS = 8  # the number of passes over all boxes that make edges shorter
_STARTS, _PATIENCE = 10, 4
"""The number of initial orders, and the number of passes without an improvement after which the search stops."""
_WORK, _PASSES = 60_000, 25
"""The approximate maximum number of slots that the passes over one graph visit, and the usual number of passes for a start."""


class Layers:
    """Boxes and lines in layers.

    Attributes:
        rows: the slots of each layer from left to right.  Slots below ``count`` are boxes, the others are lines.
        layer: the layer of each slot.
        upper, lower: the slots in the layers above and below to which edges connect each slot.
        trunks: the lines that leave each box, one for each layer that its edges pass.
    """

    def __init__(self, count: int, edges: Edges, layer: Sequence[int]) -> None:
        """Split the edges between ``count`` boxes, the layer of each of which is in ``layer``, and order the layers."""
        self.count = count
        self.layer = list(layer)
        self.trunks: list[list[int]] = [[] for _ in range(count)]
        self.upper: list[list[int]] = [[] for _ in range(count)]
        self.lower: list[list[int]] = [[] for _ in range(count)]
        for a, b in dict.fromkeys(edges):
            while self.layer[a] + len(self.trunks[a]) + 1 < self.layer[b]:
                self._extend(a)  # down to the layer above box ``b``
            *_, slot_above, _ = self.path(a, b)  # the line of the trunk above box ``b``, or box ``a`` itself
            self._join(slot_above, b)
        starts = range(max(1, min(_STARTS, _WORK // (_PASSES * len(self.layer)))))  # fewer for a large graph
        self.rows = min((self._improved_order(self._initial_order(start)) for start in starts), key=self._crossings)

    def path(self, a: int, b: int) -> list[int]:
        """Return the slots of the edge from box ``a`` to box ``b``."""
        return [a, *self.trunks[a][: self.layer[b] - self.layer[a] - 1], b]

    def _extend(self, a: int) -> None:
        """Lengthen the trunk of box ``a`` by a line in the next layer."""
        line = len(self.layer)
        self.layer.append(self.layer[a] + len(self.trunks[a]) + 1)
        self.upper.append([])
        self.lower.append([])
        self._join(self.trunks[a][-1] if self.trunks[a] else a, line)
        self.trunks[a].append(line)

    def _join(self, above: int, below: int) -> None:
        """Connect two slots in adjacent layers."""
        self.lower[above].append(below)
        self.upper[below].append(above)

    def _initial_order(self, start: int) -> list[list[int]]:
        """Return the layers in the order of a depth-first walk upwards, in which the edges of a tree do not cross.

        Each ``start`` visits the inputs of a slot in another order; 0 keeps their order.
        """
        rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        visited = [False] * len(self.layer)
        stack = [slot for slot in range(len(self.layer) - 1, -1, -1) if not self.lower[slot]]
        while stack:
            slot = stack.pop()
            if not visited[slot]:
                visited[slot] = True
                rows[self.layer[slot]].append(slot)
                # Multiplication modulo a prime shuffles the slots, in the same way on every machine.
                stack += sorted(reversed(self.upper[slot]), key=lambda other: other * start * 7919 % 10007)
        return rows

    def _improved_order(self, rows: list[list[int]]) -> list[list[int]]:
        """Return the order with the fewest crossings that passes of the barycentre heuristic over ``rows`` find.

        A pass sorts each layer, in place, by the mean positions of the slots below (upwards) or above (downwards).
        """
        positions = [0] * len(self.layer)
        for row in rows:
            _store_positions(row, positions)
        best, fewest, best_pass = [list(row) for row in rows], self._crossings(rows), 0
        passes = 0
        while fewest and passes < best_pass + _PATIENCE and passes * len(self.layer) < _WORK:
            upward = passes % 2 == 0
            reverses_ties = passes % 4 >= 2  # in the second pass of each direction, which leaves a local optimum
            for row in reversed(rows) if upward else rows:
                _sort_by_mean(row, positions, self.lower if upward else self.upper, reverses_ties)
            passes += 1
            crossings = self._crossings(rows)
            if crossings < fewest:
                best, fewest, best_pass = [list(row) for row in rows], crossings, passes
        return best

    def _crossings(self, rows: Sequence[Sequence[int]]) -> int:
        """Return the number of pairs of edges that cross: of each edge and one from further left that ends further right."""
        total, positions = 0, [0] * len(self.layer)
        for row in reversed(rows):  # from below, so that the positions of the lower ends are known
            _store_positions(row, positions)
            ends: list[int] = []  # the lower ends of the edges from the slots further left, sorted
            for slot in row:
                own_ends = sorted(positions[other] for other in self.lower[slot])
                total += sum(len(ends) - bisect_right(ends, end) for end in own_ends)
                for end in own_ends:
                    insort(ends, end)
        return total


def _store_positions(row: Sequence[int], positions: list[int]) -> None:
    """Store the position of each slot of a layer in ``positions``, which is by slot."""
    for i, slot in enumerate(row):
        positions[slot] = i


def _sort_by_mean(row: list[int], positions: list[int], joined: Sequence[Sequence[int]], reverses_ties: bool) -> None:
    """Sort a layer, in ``row`` and ``positions``, by the mean position of the slots ``joined`` to each; others keep their place."""
    movable = [slot for slot in row if joined[slot]]
    mean = {slot: sum(positions[other] for other in joined[slot]) / len(joined[slot]) for slot in movable}
    ordered = iter(sorted(reversed(movable) if reverses_ties else movable, key=mean.__getitem__))  # ties keep this order
    row[:] = [next(ordered) if joined[slot] else slot for slot in row]
    _store_positions(row, positions)


def layers_of(count: int, edges: Edges) -> list[int]:
    """Return the layer of each box: edges, which lead from a box to a later box, go down and are short.

    A box is right above the boxes that use it, or right below its inputs if it has more inputs than users.
    """
    inputs: list[set[int]] = [set() for _ in range(count)]
    users: list[set[int]] = [set() for _ in range(count)]
    for a, b in edges:
        inputs[b].add(a)
        users[a].add(b)
    layer = [0] * count  # from 0 at the bottom, where users come last, to negative numbers above
    for i in reversed(range(count)):
        layer[i] = min((layer[user] - 1 for user in users[i]), default=0)
    for _ in range(_SHIFTS):  # moving a box towards the side with more edges makes them shorter
        for i in range(count):
            if len(inputs[i]) > len(users[i]):
                layer[i] = max(layer[source] for source in inputs[i]) + 1
        for i in reversed(range(count)):
            if len(users[i]) > len(inputs[i]):
                layer[i] = min(layer[user] for user in users[i]) - 1
    numbers = {used: i for i, used in enumerate(sorted(set(layer)))}  # from 0, without empty layers
    return [numbers[used] for used in layer]


def straight_blocks(layers: Layers) -> list[int]:
    """Return the block of each slot.  All slots of a block have the same horizontal position.

    Trunks are straight where possible.  A box is aligned with the input at the end of the longest path from above, and with the
    user at the start of the longest path down, so that the main line of a computation is straight.  In case of a tie, the box is
    centred.  Straight edges do not cross each other.
    """
    positions = [0] * len(layers.layer)
    for row in layers.rows:
        _store_positions(row, positions)
    block = list(range(len(layers.layer)))  # named by its uppermost slot
    straight_edges: dict[int, list[tuple[int, int]]] = {}  # below each layer: the positions of their ends, sorted
    continued = set()  # the slots with a straight edge below
    for above, below in _straight_candidates(layers):
        neighbours = straight_edges.setdefault(layers.layer[above], [])
        upper, lower = positions[above], positions[below]
        i = bisect_left(neighbours, (upper, lower))
        crosses_left = i > 0 and neighbours[i - 1][1] >= lower
        crosses_right = i < len(neighbours) and neighbours[i][1] <= lower
        if above not in continued and not (crosses_left or crosses_right):
            neighbours.insert(i, (upper, lower))
            continued.add(above)
            block[below] = above  # replaced below by the uppermost slot
    for row in layers.rows:
        for slot in row:
            block[slot] = block[block[slot]]  # the block of the slot above is final
    return block


def _straight_candidates(layers: Layers) -> list[tuple[int, int]]:
    """Return the upper and lower end of each edge that may be straight, first those between two lines, last those between boxes.

    They are the parts of trunks, and the edges of which each end has the longest path through the other end.
    """
    from_above, from_below = _path_lengths(layers, layers.upper, 1), _path_lengths(layers, layers.lower, -1)
    candidates: list[tuple[int, int]] = []
    for below in range(len(layers.layer)):
        above = _chief(layers.upper[below], from_above)
        if above is not None and _chief(layers.lower[above], from_below) == below:
            candidates.append((above, below))
        elif below >= layers.count and layers.upper[below][0] >= layers.count:
            candidates.append((layers.upper[below][0], below))
    return sorted(candidates, key=lambda ends: (sum(end < layers.count for end in ends), ends))  # by the number of boxes


def _path_lengths(layers: Layers, joined: Sequence[Sequence[int]], step: int) -> list[int]:
    """Return the most boxes on a path to each slot, from above (upper slots ``joined``, ``step`` 1) or below (lower slots, -1)."""
    length = [0] * len(layers.layer)
    for row in layers.rows[::step]:
        for slot in row:
            length[slot] = max((length[other] for other in joined[slot]), default=0) + int(slot < layers.count)  # 1 for a box
    return length


def _chief(slots: Sequence[int], length: Sequence[int]) -> int | None:
    """Return the one of ``slots`` with the longest path, or ``None`` for a tie or no slots; ``length`` has those of all slots."""
    longest = max((length[slot] for slot in slots), default=0)
    chiefs = [slot for slot in slots if length[slot] == longest]
    return chiefs[0] if len(chiefs) == 1 else None
