"""The outputs of a program: the expressions whose uncertainties are computed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from autodiff_cli.evaluation.names import element_names
from autodiff_cli.language.tree import STATEMENTS, Syntax, name_tree
from autodiff_cli.solvers.equations import names_in


class ProgramOutput(NamedTuple):
    """An output.

    Attributes:
        name: its name, or the text of its expression.
        program: the program that computes it.
        names: the names that it depends on.
    """

    name: str
    program: Syntax
    names: Collection[str]

    def elements(self, shape: tuple[int, ...]) -> list[str]:
        """Return the name of each element of a result with a shape, such as ``x``, ``v[0]`` or ``(a + b)[0]``."""
        needs_brackets = shape and not self.name.isidentifier()
        return element_names(f"({self.name})" if needs_brackets else self.name, shape)


def outputs(source: str, tree: Syntax, known: Iterable[str]) -> list[ProgramOutput]:
    """Return the outputs of a program: its expressions; without an expression, the names that depend on known names, or the last.

    A list such as ``[a, b]`` is several outputs.  The program is given as its text and its tree.
    """
    result: list[ProgramOutput] = []
    definitions: list[Syntax] = []
    for statement in tree.children:
        if statement.kind in STATEMENTS:
            definitions.append(statement)
            continue
        for part in statement.children if statement.kind == "list" else [statement]:
            result.append(_output(source[slice(*part.span)], definitions, part))
    return result or _named_outputs(definitions, {*known})


def _named_outputs(definitions: list[Syntax], known: set[str]) -> list[ProgramOutput]:
    """Return the names that definitions assign and that depend on known names, in order; if there are none, the last name."""
    assigned = {name for definition in definitions if definition.kind == "assignment" for name in _targets(definition)}
    # A name has the place of its first definition, which may also unpack a list.
    in_order = dict.fromkeys(name for definition in definitions for name in _targets(definition) if name in assigned)
    candidates = [_output(name, definitions, name_tree(name)) for name in in_order]
    return [output for output in candidates if not known.isdisjoint(output.names)] or candidates[-1:]


def _output(name: str, definitions: list[Syntax], result: Syntax) -> ProgramOutput:
    """Return an output from its tree; it depends on the names in the tree and in the definitions of these names."""
    names = {*names_in(result)}
    for definition in reversed(definitions):  # a definition uses names that are defined before it
        if not names.isdisjoint(_targets(definition)):
            names.update(names_in(definition))
    return ProgramOutput(name, Syntax("start", [*definitions, result], "", result.span), names)


def _targets(definition: Syntax) -> list[str]:
    """Return the names that a statement defines: of ``a, b = EXPRESSION`` all before the sign, and else the first."""
    if definition.kind == "unpack":
        return [name.text for name in definition.children[:-1]]
    return names_in(definition)[:1]
