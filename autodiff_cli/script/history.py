"""What a sweep of a program of statements starts from, as an expression of its own: notes on it are notes on the sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.language.tree import Syntax, names_in, walk

MOST_STATEMENTS = 2_000
"""Longer programs have no notes: that would take longer than the sweep."""
_SWEEPS = ("backward", "grad")
_NAMESPACE = re.compile(r"\btorch\.(?:(?:autograd|functional|nn|linalg|special)\.)*")


class History:
    """The assignments and definitions that a program has run so far."""

    def __init__(self) -> None:
        self._entries: list[tuple[Syntax, bool]] = []
        self._of: dict[str, list[int]] = {}

    def add(self, tree: Syntax, value: Any) -> None:
        """Keep a statement; ``value`` is what was assigned."""
        if tree.kind == "assignment":
            names = [tree.children[0].text]
        elif tree.kind == "unpack":
            names = [name.text for name in tree.children[:-1]]
        else:
            return
        recorded = any(isinstance(v, Tensor) and v._requires_grad and not v.is_leaf for v in _parts(value))
        for name in names:
            self._of.setdefault(name, []).append(len(self._entries))
        self._entries.append((tree, recorded))

    def before(self, tree: Syntax) -> tuple[list[Syntax], set[str]] | None:
        """The statements that an expression was computed by, in order, and the names that have their values elsewhere.

        ``None`` if a name has another value by now, or there are too many.
        """
        included: set[int] = set()
        given: set[str] = set()
        wanted = [(name, len(self._entries)) for name in names_in(tree)]
        while wanted:
            name, end = wanted.pop()
            mine = self._of.get(name, [])
            earlier = [i for i in mine[-MOST_STATEMENTS:] if i < end]
            index = earlier[-1] if earlier else None
            if index is not None and self._entries[index][1]:
                if index not in included:
                    included.add(index)
                    wanted += [(other, index) for other in names_in(self._entries[index][0].children[-1])]
            elif (index is None and mine) or (index is not None and index != mine[-1]):
                return None
            else:
                given.add(name)
            if len(included) > MOST_STATEMENTS:
                return None
        return [self._entries[i][0] for i in sorted(included)], given


def _parts(value: Any) -> Any:
    return value if isinstance(value, (tuple, list)) else (value,)


def swept(statement: Syntax) -> list[Syntax]:
    """What the sweeps in a statement start from: ``z`` in ``z.backward()`` and in ``grad(z, x)``."""
    found = []
    for node in walk(statement):
        if node.kind == "method" and node.children[1].text == "backward":
            found.append(node.children[0])
        elif node.kind == "call" and node.children[0].text in _SWEEPS and len(node.children) > 1:
            found += node.children[1].children[:1]
    return found


def notes_behind(
    root: Syntax, history: History, functions: Mapping[str, Syntax], names: Mapping[str, Any], source: str, dtype: Any
) -> list[dict[str, Any]]:
    """The notes on a sweep.

    Args:
        root: what it starts from.
        history: what was run before.
        functions: the definitions of the program.
        names: what each name means now.
        source: the text that trees refer to; so do the places in notes.
        dtype: the type of numbers.
    """
    from autodiff_cli.notes import notes_on

    found = history.before(root)
    if found is None:
        return []
    statements, given = found
    leaves = {name: names[name] for name in given if isinstance(names.get(name), Tensor)}
    plain = {name: names[name] for name in given if isinstance(names.get(name), (bool, int, float))}
    if any(leaf.dtype.kind == "f" and leaf.dtype != dtype for leaf in leaves.values()):
        return []
    at = {name: leaf._data for name, leaf in leaves.items() if leaf._requires_grad}
    const = {**{name: leaf._data for name, leaf in leaves.items() if name not in at}, **plain}
    try:
        evaluation = Evaluation(_cut(source, [*functions.values(), *statements, root]), at, const, dtype=np.dtype(dtype).name)
    except AutodiffError:  # what only a program can say
        return []
    gradients = {name: leaves[name].grad for name in at}
    numbers = [(f"the derivative by {name}", 0.0 if g is None else g._data) for name, g in gradients.items()]
    return notes_on(evaluation, numbers, 1, shows_value=False)


def _cut(source: str, trees: list[Syntax]) -> str:
    """The source with nothing but these pieces in it, each where it was."""
    end = max(tree.span[1] for tree in trees)
    text = ["\n" if character == "\n" else " " for character in source[:end]]
    for tree in trees:
        start, stop = tree.span
        text[start:stop] = source[start:stop]
        if stop < end:
            text[stop] = "\n" if source[stop] == "\n" else ";"
    return _NAMESPACE.sub(lambda match: " " * len(match[0]), "".join(text))
