"""How much of a large graph is shown if nobody says otherwise."""

from __future__ import annotations

from typing import NamedTuple

_ANY = 10**9


class Limits(NamedTuple):
    """The most edges and levels, and the most layers that all edges together may span."""

    edges: int = _ANY
    levels: int = _ANY
    length: int = _ANY


LIMITS = {
    "table": Limits(edges=200, levels=20),  # what a person scrolls through
    "mermaid": Limits(edges=500),  # what Mermaid itself draws
    "svg": Limits(edges=4_000, length=20_000),  # a few seconds of layout
    "png": Limits(edges=1_000, levels=100, length=20_000),  # a taller bitmap takes gigabytes
}
"""By format; data has no limits."""
LONGEST = 200_000
"""The greatest length of an SVG, whatever is asked for: ten seconds of layout, and megabytes of curves."""
LONG = 1_000
"""From this length on Graphviz is told to hurry: it would take minutes to straighten edges that nobody can follow anyway."""
HURRY = "nslimit=1; mclimit=0.2;"
