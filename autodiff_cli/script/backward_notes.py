"""Notes on a backward pass of a program, found by evaluating the root expression of the backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from autodiff_cli.autograd.dtypes import DType
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import AutodiffError
from autodiff_cli.evaluation.coercion import is_plain_number
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.language.tree import Syntax, names_in, new_tree, walk

MOST_STATEMENTS = 2_000
"""The maximum number of statements for notes; for longer programs, computing notes would take longer than the backward pass."""
_MOST_ENTRIES = 100_000
_MOST_TURNS = 20
"""The maximum number of times that the notes on one statement in a loop are computed."""
_BACKWARD = ("backward", "grad")


class History:
    """The assignments that a program has run so far."""

    def __init__(self) -> None:
        self._entries: list[tuple[Syntax, bool]] = []  # each assignment, and whether its value has a graph
        self._places: dict[str, list[int]] = {}  # the places of the assignments to each name in the entries
        self._roots: dict[int, tuple[Syntax, list[Syntax], int]] = {}  # a statement, its roots, and how often it ran

    def roots(self, tree: Syntax) -> list[Syntax]:
        """Count a run of a statement, and return the roots of its backward passes; none after too many runs or assignments."""
        tree, roots, turns = self._roots.get(id(tree)) or (tree, backward_roots(tree), 0)  # the tree keeps its ``id`` in use
        self._roots[id(tree)] = (tree, roots, turns + 1)
        return roots if turns < _MOST_TURNS and len(self._entries) < _MOST_ENTRIES else []

    def add(self, tree: Syntax, value: object) -> None:
        """Append a statement with the value that it assigned; ignore other statements, and those after ``_MOST_ENTRIES``."""
        if tree.kind not in ("assignment", "unpack") or len(self._entries) >= _MOST_ENTRIES:
            return
        *names, _ = tree.children  # the last child is the expression
        parts = value if isinstance(value, (tuple, list)) else (value,)
        has_graph = any(isinstance(part, Tensor) and part._requires_grad and not part.is_leaf for part in parts)
        for name in names:
            self._places.setdefault(name.text, []).append(len(self._entries))
        self._entries.append((tree, has_graph))

    def before(self, tree: Syntax) -> tuple[list[Syntax], set[str]] | None:
        """Return the statements that computed an expression, in order, and the other names that the expression needs.

        The statements are those whose values have graphs.  The result is ``None`` if they cannot be repeated: one of the other
        names has a different value now, a statement ran in several turns of a loop, or there are more than ``MOST_STATEMENTS``.
        """
        included: set[int] = set()  # the places of the statements in the entries
        trees: set[int] = set()  # the identities of the statements, which a loop runs several times
        outside: set[str] = set()
        wanted = [(name, len(self._entries)) for name in names_in(tree)]
        while wanted:
            name, end = wanted.pop()  # the value of a name before the entry ``end``
            places = self._places.get(name, [])
            place = next((place for place in reversed(places[-MOST_STATEMENTS:]) if place < end), None)  # the last one before it
            if place in included:
                continue
            if place is not None and self._entries[place][1]:  # its value has a graph
                statement, _ = self._entries[place]
                if id(statement) in trees or len(included) >= MOST_STATEMENTS:
                    return None
                included.add(place)
                trees.add(id(statement))
                wanted += [(other, place) for other in names_in(statement.children[-1])]
                continue
            latest = places[-1] if places else None
            if place != latest:  # the name was assigned again
                return None
            outside.add(name)
        return [self._entries[place][0] for place in sorted(included)], outside


def backward_roots(statement: Syntax) -> list[Syntax]:
    """Return the roots of the backward passes in a statement: ``z`` in ``z.backward()`` and in ``grad(z, x)``."""
    roots = []
    for node in walk(statement):
        if node.kind == "method" and node.children[1].text == "backward":
            roots.append(node.children[0])
        elif node.kind == "call" and node.children[0].text in _BACKWARD and len(node.children) > 1:
            roots += node.children[1].children[:1]  # the first argument
    return roots


class Program(NamedTuple):
    """An expression of a program, with everything that is necessary to evaluate it again.

    Attributes:
        tree: the definitions of functions, the statements that computed the names in the expression, and the expression.
        variables, constants: the values of the other names: those that require grad, and the rest.
    """

    tree: Syntax
    variables: dict[str, Tensor]
    constants: dict[str, Any]


def program_behind(root: Syntax, history: History, functions: Mapping[str, Syntax], names: Mapping[str, object]) -> Program | None:
    """Return the program that computes the expression ``root``; ``None`` if a value that it needs has changed since.

    ``functions`` are the definitions so far, and ``names`` the current values, of which only numbers and tensors are used.
    """
    past = history.before(root)
    if past is None:
        return None
    statements, outside = past
    values = {name: names[name] for name in outside if name in names}
    variables = {name: value for name, value in values.items() if isinstance(value, Tensor) and value._requires_grad}
    constants = {
        name: value
        for name, value in values.items()
        if name not in variables and (is_plain_number(value) or isinstance(value, Tensor))
    }
    definitions = _definitions([*statements, root], functions)
    return Program(new_tree("start", *definitions, *statements, root), variables, constants)


def _definitions(trees: Sequence[Syntax], functions: Mapping[str, Syntax]) -> list[Syntax]:
    """Return the definitions of the functions that trees or these definitions name, without those that consist of statements."""
    used: set[str] = set()
    pending = list(trees)
    while pending:
        names = {node.text for node in walk(pending.pop()) if node.kind == "NAME"}
        new = (names & functions.keys()) - used
        used |= new
        pending += [functions[name] for name in new]
    return [tree for name, tree in functions.items() if name in used and tree.children[1].kind != "block"]


def notes_on_program(program: Program | None, source: str, dtype: DType, shows_value: bool) -> list[dict[str, Any]]:
    """Return the notes on a backward pass, or on a value that is shown; none if it cannot be computed again as an ``Evaluation``.

    ``program`` computes the root of the backward pass, or the value if ``shows_value``; it is ``None`` if values have changed.
    There are no notes if a leaf has another floating-point type than ``dtype``, that of the session.
    """
    from autodiff_cli.notes import notes_on

    if program is None:
        return []
    leaves = [value for value in (*program.variables.values(), *program.constants.values()) if isinstance(value, Tensor)]
    if any(leaf.dtype.kind == "f" and leaf.dtype != dtype for leaf in leaves):
        return []
    at = {name: leaf._data for name, leaf in program.variables.items()}
    const = {name: value._data if isinstance(value, Tensor) else value for name, value in program.constants.items()}
    try:
        evaluation = Evaluation(source, at, const, dtype=np.dtype(dtype).name, tree=program.tree)
    except AutodiffError:  # the statements use features that only programs have
        return []
    if shows_value:
        return notes_on(evaluation, [], 0)
    derivatives = []
    for name, leaf in program.variables.items():
        gradient = leaf.grad
        derivatives.append((f"the derivative with respect to {name}", 0.0 if gradient is None else gradient._data))
    return notes_on(evaluation, derivatives, 1, shows_value=False)
