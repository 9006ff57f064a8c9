"""The order of the variables in formulas: the order in which the user multiplies them."""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_cli.language.tree import Syntax, walk


def in_written_order(names: Sequence[str], program: Syntax) -> list[str]:
    """Sort names so that ``b`` comes before ``x`` if the program contains ``b*x``.

    Args:
        names: the names, in the order in which they are used where products do not say more.
        program: the syntax tree of the expression.
    """
    before: dict[str, set[str]] = {}
    for node in walk(program):
        if node.kind == "mul":
            left, right = node.children
            first, second = _factor(left.children[1] if left.kind == "mul" else left), _factor(right)
            if first != second and first in names and first not in before.get(second, ()) and second not in before.get(first, ()):
                before.setdefault(second, set()).add(first)
    rest, result = list(names), []
    while rest:
        name = next((name for name in rest if before.get(name, set()).isdisjoint(rest)), rest[0])
        rest.remove(name)
        result.append(name)
    return result


def _factor(tree: Syntax) -> str:
    """Return the name that a factor is or is a power of, or an empty text."""
    while tree.kind in ("pow", "neg"):
        tree = tree.children[0]
    return tree.children[0].text if tree.kind == "name" else ""
