"""The default limits on the size of a graph that is shown."""

from __future__ import annotations

from typing import NamedTuple

_ANY = 10**9


class Limits(NamedTuple):
    """The maximum number of edges, the maximum number of levels, and the maximum ``Graph.length``."""

    edges: int = _ANY
    levels: int = _ANY
    length: int = _ANY


LIMITS = {
    "table": Limits(edges=200, levels=20),  # fills a few screens
    "mermaid": Limits(edges=500),  # the limit of Mermaid
    "svg": Limits(edges=4_000, length=20_000),  # the layout takes a few seconds
    "png": Limits(edges=1_000, levels=100, length=20_000),  # a taller bitmap would take gigabytes of memory
}
"""The limits of each format; formats for data are not limited."""
LONGEST = 200_000
"""The maximum ``Graph.length`` of an SVG, even if the user lifts the limits.

The layout of a graph of this length takes ten seconds.
"""
LONG = 1_000
"""Graphs above this ``Graph.length`` are drawn with ``HURRY``; without it, Graphviz takes minutes to straighten the edges."""
HURRY = "nslimit=1; mclimit=0.2;"
