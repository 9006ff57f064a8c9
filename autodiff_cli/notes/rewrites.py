"""Numerically stable rewrites of expressions that lose digits or overflow, matched on the syntax tree."""

from __future__ import annotations

import functools
from pathlib import Path

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unparse, walk


@functools.cache
def _rewrites(overflow: bool) -> list[tuple[Syntax, str]]:
    """Return the patterns and their rewrites from ``rewrites.txt``: those against overflow, or those against loss of digits."""
    text = Path(__file__).with_name("rewrites.txt").read_text(encoding="utf-8")
    _heading, against_loss, against_overflow = text.split("\n\n")
    rows = (row.split("  ", 1) for row in (against_overflow if overflow else against_loss).splitlines())  # two blanks end a pattern
    return [(parse(pattern).children[0], better.strip()) for pattern, better in rows]


def stable_rewrite(tree: Syntax, program: Syntax, overflow: bool = False) -> str | None:
    """Return a stable rewrite of a subexpression, or of an expression around it if it overflows; ``None`` if none is known."""
    start, end = tree.span
    candidates = [node for node in walk(program) if node.span[0] <= start and end <= node.span[1]] if overflow else [tree]
    for node in candidates:
        for pattern, text in _rewrites(overflow):
            bindings = _match(pattern, node)
            if bindings is not None:
                rewrite = parse(text).children[0]
                functions = {part.text for part in walk(rewrite) if part.kind == "NAME"} - set(bindings)
                if all(name in FUNCTIONS for name in functions):
                    return unparse(_substituted(rewrite, bindings))
    return None


def _match(pattern: Syntax, tree: Syntax) -> dict[str, Syntax] | None:
    """Return the tree for each name of a pattern if a tree has its form, or else ``None``; x and y stand for names alone."""
    bindings: dict[str, Syntax] = {}
    pairs = [(pattern, tree)]
    while pairs:
        expected, actual = pairs.pop()
        if expected.kind == "name":
            name = expected.children[0].text
            if name in ("x", "y") and actual.kind != "name":
                return None
            if unparse(bindings.setdefault(name, actual)) != unparse(actual):
                return None
        elif expected.kind == "number":
            if actual.kind != "number" or float(actual.children[0].text.replace("_", "")) != float(expected.children[0].text):
                return None
        elif expected.kind != actual.kind or len(expected.children) != len(actual.children):
            return None
        elif not expected.children:
            # Two names of one function, such as an alias, are equal; the default is not a function, so that it equals none.
            if expected.text != actual.text and FUNCTIONS.get(expected.text) is not FUNCTIONS.get(actual.text, expected):
                return None
        else:
            pairs.extend(zip(expected.children, actual.children, strict=True))
    return bindings


def _substituted(tree: Syntax, bindings: dict[str, Syntax]) -> Syntax:
    """Substitute trees for the names of a pattern; recursion is safe, as patterns are small."""
    if tree.kind == "name" and tree.children[0].text in bindings:
        return bindings[tree.children[0].text]
    return Syntax(tree.kind, [_substituted(child, bindings) for child in tree.children], tree.text, tree.span)
