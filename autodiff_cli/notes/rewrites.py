"""Numerically stable rewrites of expressions that lose digits or overflow, matched on the syntax tree."""

from __future__ import annotations

import functools
from pathlib import Path

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import Syntax, unparse, walk


@functools.cache
def _rewrites(overflow: bool) -> list[tuple[Syntax, str]]:
    """Return the patterns and their rewrites, from ``rewrites.txt``."""
    _, *tables = Path(__file__).with_name("rewrites.txt").read_text(encoding="utf-8").split("\n\n")
    rows = (row.split("  ", 1) for row in tables[overflow].splitlines())
    return [(parse(pattern).children[0], better.strip()) for pattern, better in rows]


def stable_rewrite(tree: Syntax, program: Syntax, overflow: bool = False) -> str | None:
    """Return a stable rewrite of a subexpression, or ``None`` if none is known.

    Args:
        tree: the syntax tree of the subexpression.
        program: the syntax tree of the program.
        overflow: whether the subexpression overflows instead of losing digits; if so, an enclosing expression may be rewritten.
    """
    start, end = tree.span
    around = [node for node in walk(program) if node.span[0] <= start and end <= node.span[1]] if overflow else [tree]
    for node in around:
        for pattern, better in _rewrites(overflow):
            result: dict[str, Syntax] = {}
            if _matches(pattern, node, result):
                written = parse(better).children[0]
                names = {part.text for part in walk(written) if part.kind == "NAME"} - set(result)
                if all(name in FUNCTIONS for name in names):
                    return unparse(_substituted(written, result))
    return None


def _matches(pattern: Syntax, tree: Syntax, bindings: dict[str, Syntax]) -> bool:
    """Return whether a tree has the form of a pattern, and add the trees for the names of the pattern to ``bindings``."""
    pairs = [(pattern, tree)]
    while pairs:
        expected, actual = pairs.pop()
        if expected.kind == "name":
            name = expected.children[0].text
            if name in ("x", "y") and actual.kind != "name":
                return False
            if unparse(bindings.setdefault(name, actual)) != unparse(actual):
                return False
        elif expected.kind == "number":
            if actual.kind != "number" or float(actual.children[0].text.replace("_", "")) != float(expected.children[0].text):
                return False
        elif expected.kind != actual.kind or len(expected.children) != len(actual.children):
            return False
        elif not expected.children:
            if expected.text != actual.text and FUNCTIONS.get(expected.text) is not FUNCTIONS.get(actual.text, expected):
                return False
        else:
            pairs.extend(zip(expected.children, actual.children, strict=True))
    return True


def _substituted(tree: Syntax, bindings: dict[str, Syntax]) -> Syntax:
    """Substitute trees for the names of a pattern; recursion is safe, as patterns are small."""
    if tree.kind == "name" and tree.children[0].text in bindings:
        return bindings[tree.children[0].text]
    return Syntax(tree.kind, [_substituted(child, bindings) for child in tree.children], tree.text, tree.span)
