"""Draws random graphs and looks at each picture: ``python -m tests.fuzz.layout [HOW_MANY] [FIRST_SEED]``.

The suite does the same with a few hundred.  A graph that is drawn wrong is printed with its seed.
"""

from __future__ import annotations

import sys

from autodiff_cli.graph_drawing.svg import to_svg
from tests.drawn import dressed, faults, random_choices, random_graph


def main(count: int = 10_000, first: int = 0) -> int:
    """Draw so many graphs; return how many are wrong."""
    wrong = 0
    for seed in range(first, first + count):
        graph = dressed(random_graph(random_choices(seed)), seed)
        found = faults(to_svg(graph, 6), graph)
        if found:
            wrong += 1
            print(f"seed {seed}: {found[:3]}", flush=True)
    print(f"{count:,} graphs, {wrong:,} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])) > 0)
