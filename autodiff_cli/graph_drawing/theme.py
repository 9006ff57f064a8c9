"""The colours of a graph on light and dark backgrounds.  Shapes also distinguish the kinds of nodes."""

from __future__ import annotations

from typing import NamedTuple


class Colors(NamedTuple):
    """The colours of one kind of node."""

    fill: str
    border: str
    text: str


class GraphTheme(NamedTuple):
    """The colours of a picture."""

    edge: str
    detail: str
    grad: str
    kinds: dict[str, Colors]


LIGHT = GraphTheme(
    edge="#6e7781",
    detail="#57606a",
    grad="#0550ae",
    kinds={
        "variable": Colors("#dafbe1", "#1a7f37", "#0f5323"),
        "constant": Colors("#fff8c5", "#9a6700", "#633c01"),
        "operation": Colors("#fbefff", "#a475f9", "#512a97"),
        "named": Colors("#f1e1ff", "#8250df", "#3e1f79"),
        "output": Colors("#fff1e5", "#bc4c00", "#762c00"),
        "more": Colors("#f6f8fa", "#8c959f", "#57606a"),
    },
)
DARK = GraphTheme(
    edge="#8b949e",
    detail="#9ea7b3",
    grad="#79c0ff",
    kinds={
        "variable": Colors("#0f2d1a", "#3fb950", "#7ee787"),
        "constant": Colors("#2b2310", "#d29922", "#e3b341"),
        "operation": Colors("#221a35", "#8957e5", "#d2a8ff"),
        "named": Colors("#2c1f4a", "#a371f7", "#e2c5ff"),
        "output": Colors("#331c0b", "#f0883e", "#ffb77c"),
        "more": Colors("#161b22", "#6e7681", "#9ea7b3"),
    },
)
