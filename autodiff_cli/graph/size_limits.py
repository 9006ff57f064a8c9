"""How much of a large graph is shown by default."""

from __future__ import annotations

from typing import NamedTuple

_ANY = 10**9


class Limits(NamedTuple):
    """The most edges, levels, and layers that all edges together span; see ``Graph.length``."""

    edges: int = _ANY
    levels: int = _ANY
    length: int = _ANY


LIMITS = {
    "table": Limits(edges=200, levels=20),  # a few screens
    "mermaid": Limits(edges=500),  # the limit of Mermaid
    "svg": Limits(edges=4_000, length=20_000),  # a few seconds of layout
    "png": Limits(edges=1_000, levels=100, length=20_000),  # a taller bitmap takes gigabytes
}
"""By format; data has no limits."""
LONGEST = 200_000
"""The greatest length of an SVG with any option: ten seconds of layout, and megabytes of curves."""
LONG = 1_000
"""Graphs above this length are drawn with ``HURRY``; without it, Graphviz takes minutes to straighten their edges."""
HURRY = "nslimit=1; mclimit=0.2;"
