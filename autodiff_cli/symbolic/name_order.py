"""The order of the variables in formulas: the order in which the user multiplies them."""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_cli.language.tree import Syntax, walk


def in_written_order(names: Sequence[str], program: Syntax) -> list[str]:
    """Sort names so that ``b`` comes before ``x`` if the program contains ``b*x``; others keep their order."""
    before: dict[str, set[str]] = {}
    for node in walk(program):
        if node.kind == "mul":
            left, right = node.children
            first, second = _factor(left.children[1] if left.kind == "mul" else left), _factor(right)
            is_contradicted = second in before.get(first, ())  # by an earlier product
            if first in names and first != second and not is_contradicted:
                before.setdefault(second, set()).add(first)
    rest, result = list(names), []
    while rest:  # take the first name before which no other comes; in a cycle, the first of all
        name = next((name for name in rest if before.get(name, set()).isdisjoint(rest)), rest[0])
        rest.remove(name)
        result.append(name)
    return result


def _factor(tree: Syntax) -> str:
    """Return the name that a factor is or is a power of, or an empty text."""
    while tree.kind in ("pow", "neg"):
        tree = tree.children[0]
    return tree.children[0].text if tree.kind == "name" else ""
