"""The text of a definition whose arguments are given as formulas, which ``diff`` prints."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from autodiff_cli.errors import NotRecordable
from autodiff_cli.language.tree import Syntax, call_tree, keyword_tree, name_tree, names_in, new_token, new_tree
from autodiff_cli.symbolic.from_trace import formulas
from autodiff_cli.symbolic.normal_form import Algebra
from autodiff_cli.symbolic.to_tree import expression_tree, with_names_replaced

if TYPE_CHECKING:
    from autodiff_cli.compiler.instruction import Instruction, Operand


def definition_tree(
    name: str, unknowns: Sequence[Instruction], parameters: Sequence[Instruction], results: Sequence[Operand], trees: list[Syntax]
) -> Syntax:
    """Return a call of ``root``, ``argmin`` or ``integral`` with a body, given its starts or limits and then its parameters.

    Raises:
        NotRecordable: if an unknown is an element of an array.
    """
    labels = [unknown.variable for unknown in unknowns]
    if not all(map(str.isidentifier, labels)):
        raise NotRecordable(f"'{name}' of an array has no formula here")
    count = len(trees) - len(parameters)
    starts, values = trees[:count], dict(zip((p.variable for p in parameters), trees[count:], strict=True))
    taken = set().union(*(names_in(value) for value in values.values()))
    names = dict(zip(labels, _free_names(labels, taken), strict=True))
    values |= {label: name_tree(new) for label, new in names.items()}
    body = [body_tree(result, values) for result in results]
    if count > len(labels):
        bound = new_tree("index_range", new_token("NAME", names[labels[0]]), *starts)
    elif count == 1:
        bound = keyword_tree(names[labels[0]], starts[0])
    else:
        bound = new_tree("equation", new_tree("list", *map(name_tree, names.values())), new_tree("list", *starts))
    return call_tree(name, bound, new_tree("list", *body) if len(body) > 1 else body[0])


def body_tree(result: Operand, values: Mapping[str, Syntax]) -> Syntax:
    """Return an operand of a body as an expression, with trees in place of the variables."""
    return with_names_replaced(expression_tree(formulas(Algebra([*values]), [result])[0]), values.get)


def _free_names(names: Sequence[str], taken: set[str]) -> list[str]:
    """Return names that are not taken: the given ones, or these with a number."""
    choices = (itertools.chain([name], (f"{name}{i}" for i in itertools.count(1))) for name in names)
    return [next(choice for choice in each if choice not in taken) for each in choices]
