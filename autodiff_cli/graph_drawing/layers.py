"""The order of the boxes of a graph within each layer: the first half of a layered layout.

The method is due to Sugiyama, Tagawa and Toda: every box is in a layer so that edges go down; split long edges into lines of one
layer each, and order the layers so that few edges cross.  All edges that leave a box share a trunk of lines; each edge
branches off just above its end.  A variable that is used in a hundred layers thus has one long line rather than a hundred lines.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

Edges = Sequence[tuple[int, int]]
_SHIFTS = 8
"""The number of passes over all boxes that make edges shorter."""
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
        self.count = count
        self.layer = list(layer)
        self.trunks: list[list[int]] = [[] for _ in range(count)]
        self.upper: list[list[int]] = [[] for _ in range(count)]
        self.lower: list[list[int]] = [[] for _ in range(count)]
        for a, b in dict.fromkeys(edges):
            while self.layer[a] + len(self.trunks[a]) + 1 < self.layer[b]:
                self._extend(a)  # down to the layer above box ``b``
            self._join(self.path(a, b)[-2], b)  # with the end of the trunk, or else with box ``a``
        starts = range(max(1, min(_STARTS, _WORK // (_PASSES * len(self.layer)))))  # fewer for a large graph
        self.rows = min((self._improved(self._walked(start)) for start in starts), key=self._crossings)

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

    def _walked(self, start: int) -> list[list[int]]:
        """Return an initial order from a depth-first walk upwards; in this order the edges of a tree do not cross."""
        rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        seen = [False] * len(self.layer)
        stack = [slot for slot in range(len(self.layer) - 1, -1, -1) if not self.lower[slot]]
        while stack:
            slot = stack.pop()
            if not seen[slot]:
                seen[slot] = True
                rows[self.layer[slot]].append(slot)
                # Each start mixes the slots above, by two primes; 0 keeps their order.
                stack += sorted(reversed(self.upper[slot]), key=lambda other: other * start * 7919 % 10007)
        return rows

    def _improved(self, rows: list[list[int]]) -> list[list[int]]:
        """Return the best of the orders in which each layer of ``rows`` is sorted, in place, by mean positions of neighbours."""
        at = [0] * len(self.layer)
        for row in rows:
            _store_positions(row, at)
        best, fewest, best_pass = [list(row) for row in rows], self._crossings(rows), 0
        passes = 0
        while fewest and passes < best_pass + _PATIENCE and passes * len(self.layer) < _WORK:
            upward = passes % 2 == 0
            for row in reversed(rows) if upward else rows:
                _sort_by_mean(row, at, self.lower if upward else self.upper, last_first=passes % 4 > 1)  # in two of four
            passes += 1
            crossings = self._crossings(rows)
            if crossings < fewest:
                best, fewest, best_pass = [list(row) for row in rows], crossings, passes
        return best

    def _crossings(self, rows: Sequence[Sequence[int]]) -> int:
        """Return the number of pairs of edges that cross, layer by layer, from the sorted ends of the edges further left."""
        total, at = 0, [0] * len(self.layer)
        for row in reversed(rows):
            _store_positions(row, at)
            ends: list[int] = []
            for slot in row:
                below = sorted(at[other] for other in self.lower[slot])
                total += sum(len(ends) - bisect_left(ends, end + 1) for end in below)
                for end in below:
                    insort(ends, end)
        return total


def _store_positions(row: Sequence[int], at: list[int]) -> None:
    """Store the position of each slot of a layer in ``at``."""
    for i, slot in enumerate(row):
        at[slot] = i


def _sort_by_mean(row: list[int], at: list[int], joined: Sequence[Sequence[int]], last_first: bool) -> None:
    """Sort a layer, in ``row`` and ``at``, by the mean position of the slots ``joined`` to each; ``last_first`` reverses ties."""
    free = [slot for slot in row if joined[slot]]
    mean = {slot: sum(at[other] for other in joined[slot]) / len(joined[slot]) for slot in free}
    ordered = iter(sorted(reversed(free) if last_first else free, key=mean.__getitem__))
    row[:] = [next(ordered) if joined[slot] else slot for slot in row]
    _store_positions(row, at)


def layers_of(count: int, edges: Edges) -> list[int]:
    """Return the layer of each box: edges, which lead from a box to a later box, go down and are short.

    A box is right above the boxes that use it, or right below its inputs if it has more inputs than users.
    """
    above: list[set[int]] = [set() for _ in range(count)]
    below: list[set[int]] = [set() for _ in range(count)]
    for a, b in edges:
        above[b].add(a)
        below[a].add(b)
    layer = [0] * count
    for i in reversed(range(count)):
        layer[i] = min((layer[b] - 1 for b in below[i]), default=0)
    for _ in range(_SHIFTS):
        for i in range(count):
            if len(above[i]) > len(below[i]):
                layer[i] = max(layer[a] for a in above[i]) + 1
        for i in reversed(range(count)):
            if len(below[i]) > len(above[i]):
                layer[i] = min(layer[b] for b in below[i]) - 1
    numbers = {used: i for i, used in enumerate(sorted(set(layer)))}  # from 0, without empty layers
    return [numbers[used] for used in layer]


def straight_blocks(layers: Layers) -> list[int]:
    """Return the block of each slot.  All slots of a block have the same horizontal position.

    Trunks are straight where possible.  A box is aligned with the input at the end of the longest path from above, and with the
    user at the start of the longest path down, so that the main line of a computation is straight.  In case of a tie, the box is
    centred.  Straight edges do not cross each other.
    """
    at = [0] * len(layers.layer)
    for row in layers.rows:
        _store_positions(row, at)
    block = list(range(len(layers.layer)))
    taken: dict[int, list[tuple[int, int]]] = {}  # the straight edges below each layer, as the positions of their ends
    followed = set()
    for _, above, below in _straight_candidates(layers):
        pairs = taken.setdefault(layers.layer[above], [])
        pair = (at[above], at[below])
        i = bisect_left(pairs, pair)
        fits = (i == 0 or pairs[i - 1][1] < pair[1]) and (i == len(pairs) or pairs[i][1] > pair[1])  # it crosses none
        if above not in followed and fits:
            pairs.insert(i, pair)
            followed.add(above)
            block[below] = above
    for row in layers.rows:
        for slot in row:
            block[slot] = block[block[slot]]  # the block of the slot above is final
    return block


def _straight_candidates(layers: Layers) -> list[tuple[int, int, int]]:
    """Return the edges that may be straight, the most important first: minus the number of ends that are lines, and the ends.

    They are the parts of trunks, and the edges of which each end has the longest path through the other end.
    """
    from_above, from_below = _longest(layers, layers.upper, 1), _longest(layers, layers.lower, -1)
    candidates: list[tuple[int, int, int]] = []
    for below in range(len(layers.layer)):
        above = _chief(layers.upper[below], from_above)
        if above is not None and _chief(layers.lower[above], from_below) == below:
            lines = (above >= layers.count) + (below >= layers.count)
            candidates.append((-lines, above, below))
        elif below >= layers.count and layers.upper[below][0] >= layers.count:
            candidates.append((-2, layers.upper[below][0], below))
    return sorted(candidates)


def _longest(layers: Layers, joined: Sequence[Sequence[int]], step: int) -> list[int]:
    """Return the maximum number of boxes on a path to each slot, including the slot itself; ``step`` is -1 for paths from below."""
    length = [0] * len(layers.layer)
    for row in layers.rows[::step]:
        for slot in row:
            length[slot] = max((length[other] for other in joined[slot]), default=0) + (slot < layers.count)
    return length


def _chief(slots: Sequence[int], length: Sequence[int]) -> int | None:
    """Return the slot with the longest path, or ``None`` in case of a tie; ``length`` is that of all slots."""
    longest = max((length[slot] for slot in slots), default=0)
    chief = [slot for slot in slots if length[slot] == longest]
    return chief[0] if len(chief) == 1 else None
