"""The syntax tree, and printing it back as text."""

from __future__ import annotations

from collections.abc import Iterator

from autodiff_cli.errors import Span

EFFECTS = ("augmented", "set_attribute", "set_index")
"""Kinds of statements that change something that exists: they belong in programs, see ``language.interpreter``."""
STATEMENTS = ("assignment", "definition", "definition_with_grad", "unpack", *EFFECTS)
"""Kinds of nodes that are no expressions."""


class Syntax:
    """One node of the tree.

    Attributes:
        kind: the rule's name in the grammar (``add``, ``call``, ``number``, ...).
        children: the parts, in order.
        text: what a token says; empty for other nodes.
        span: the characters of the source that it stands on.
    """

    __slots__ = ("children", "kind", "span", "text")

    def __init__(self, kind: str, children: list[Syntax], text: str, span: Span) -> None:
        self.kind = kind
        self.children = children
        self.text = text
        self.span = span

    def __repr__(self) -> str:
        return f"Syntax({self.kind!r}, {unparse(self)!r})"


def walk(tree: Syntax) -> Iterator[Syntax]:
    """Every node of a tree, parents first."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


# How tightly each kind binds; what is missing here is an atom.
_LEVELS = {
    "assignment": 0,
    "definition": 0,
    "definition_with_grad": 0,
    "unpack": 0,
    "augmented": 0,
    "set_attribute": 0,
    "set_index": 0,
    "keyword": 0,
    "slice": 0,
    "conditional": 1,
    "logical_or": 2,
    "logical_and": 3,
    "logical_not": 4,
    "comparison": 5,
    "add": 6,
    "sub": 6,
    "mul": 7,
    "div": 7,
    "floor_divide": 7,
    "remainder": 7,
    "matmul": 7,
    "neg": 8,
    "pos": 8,
    "pow": 9,
    "index": 10,
    "attribute": 10,
    "method": 10,
}
_BINARY = {
    "logical_or": " or ",
    "logical_and": " and ",
    "add": " + ",
    "sub": " - ",
    "mul": "*",
    "div": "/",
    "floor_divide": "//",
    "remainder": " % ",
    "matmul": " @ ",
}
_ATOM = 11


def unparse(tree: Syntax) -> str:
    """The tree as text that parses to the same tree, with no bracket more than that needs."""
    # A stack of texts to write and of (node, least level that needs no brackets).
    pieces: list[str] = []
    stack: list[str | tuple[Syntax, int]] = [(tree, 0)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        node, least = item
        parts = _parts(node)
        if _LEVELS.get(node.kind, _ATOM) < least:
            parts = ["(", *parts, ")"]
        stack.extend(reversed(parts))
    return "".join(pieces)


def _parts(node: Syntax) -> list[str | tuple[Syntax, int]]:
    kind, children = node.kind, node.children
    level = _LEVELS.get(kind, _ATOM)
    if kind in _BINARY:
        return [(children[0], level), _BINARY[kind], (children[1], level + 1)]
    if kind == "pow":
        # Its right side may be a sign, its left side may not even be a power.
        return [(children[0], 10), "**", (children[1], 8)]
    if kind in ("neg", "pos"):
        return ["-" if kind == "neg" else "+", (children[0], level)]
    if kind == "logical_not":
        return ["not ", (children[0], level)]
    if kind == "conditional":
        return [(children[0], 2), " if ", (children[1], 2), " else ", (children[2], 1)]
    if kind == "comparison":
        return [f" {c.text} " if c.kind == "COMPARISON" else (c, 6) for c in children]
    if kind == "index":
        return [(children[0], 10), "[", *_listed(children[1].children), "]"]
    if kind == "slice":
        return [":" if c.kind == "COLON" else (c.children[0], 1) for c in children]
    if kind == "attribute":
        return [(children[0], 10), ".", children[1].text]
    if kind == "method":
        return [(children[0], 10), ".", children[1].text, "(", *_listed(_arguments(children[2:])), ")"]
    if kind == "call":
        return [children[0].text, "(", *_listed(_arguments(children[1:])), ")"]
    if kind in ("assignment", "keyword"):
        equals = " = " if kind == "assignment" else "="
        return [children[0].text, equals, (children[1], 1)]
    if kind == "definition":
        return [(children[0], 10), " = ", (children[1], 1)]
    if kind == "definition_with_grad":
        return [(children[0], 10), " = ", (children[1], 1), " with grad (", *_listed(children[3].children), ")"]
    if kind == "unpack":
        return [", ".join(name.text for name in children[:-1]), " = ", (children[-1], 1)]
    if kind == "augmented":
        return [(children[0], 10), f" {children[1].text} ", (children[2], 1)]
    if kind == "set_attribute":
        return [(children[0], 10), ".", children[1].text, " = ", (children[2], 1)]
    if kind == "set_index":
        return [(children[0], 10), "[", *_listed(children[1].children), "] = ", (children[2], 1)]
    if kind == "list":
        return ["[", *_listed(children), "]"]
    if kind == "start":
        return _listed(children, "; ", 0)
    if kind == "ellipsis":
        return ["..."]
    if kind in ("true", "false", "none"):
        return [kind]
    return [children[0].text if children else node.text]


def _listed(nodes: list[Syntax], comma: str = ", ", level: int = 0) -> list[str | tuple[Syntax, int]]:
    parts: list[str | tuple[Syntax, int]] = []
    for node in nodes:
        if parts:
            parts.append(comma)
        parts.append((node, level))
    return parts


def _arguments(children: list[Syntax]) -> list[Syntax]:
    return children[0].children if children else []
