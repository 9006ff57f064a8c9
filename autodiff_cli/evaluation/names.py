"""The names in programs: constants, variables that need values, and errors for unknown names."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.errors import ArgumentError, MissingValue, Span, UnknownName, setting
from autodiff_cli.language.parser import parse
from autodiff_cli.language.tree import DEFINING, Syntax, binding, called_name, free_name_nodes, walk
from autodiff_cli.suggest import suggestion
from autodiff_cli.wording import listed

CONSTANTS: dict[str, float | bool | None] = {
    **{"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan},
    **{"True": True, "False": False, "None": None},
}
_PYTHON_MODULES = ("np", "numpy", "math", "torch", "jnp", "sp", "scipy", "sympy")
"""Python modules whose functions are often called in expressions by mistake."""
_STATEMENT_NAMES = (
    *("tensor", "backward", "retain_grad", "register_hook", "requires_grad_"),
    *("item", "show", "print", "gradcheck", "grad"),
)
"""Names from programs of statements that are often used in expressions by mistake."""
GRADIENT_STOPS = ("detach", "no_grad")
"""The functions whose results are constants for derivatives; see ``ops.stop_gradient``."""


def free_names(tree: Syntax, known_names: Iterable[str] = (), variables: Iterable[str] = ()) -> dict[str, Span]:
    """Return the names that need values, except those in ``known_names``, each with its first position in the program.

    The ``variables`` need values even if the language has a constant with that name.
    """
    names: dict[str, Span] = {}
    known = {*known_names, *(set(CONSTANTS) - set(variables))}
    for statement in tree.children:
        parameters: set[str] = set()
        if statement.kind.startswith("definition"):
            _name, *arguments = statement.children[0].children  # of the call on the left side
            parameters = {node.text for argument in arguments for node in walk(argument) if node.kind == "NAME"}
        for node in free_name_nodes(statement):
            name = node.children[0].text
            if name not in known and name not in parameters:
                names.setdefault(name, node.span)
        if statement.kind in ("assignment", "unpack"):
            known.update(child.text for child in statement.children if child.kind == "NAME")
    return names


def cut_names(tree: Syntax, functions: Iterable[str]) -> dict[str, tuple[str, Span]]:
    """Return the names that occur only in calls of ``detach`` or ``no_grad``, with the function and the position of the first call.

    The program ``tree`` may define functions of these names, which are then in ``functions``.
    """
    stops = {*GRADIENT_STOPS} - {*functions}
    inside: dict[str, tuple[str, Span]] = {}
    outside: set[str] = set()
    stack: list[tuple[Syntax, tuple[str, Span] | None]] = [(tree, None)]  # nodes, each with the outermost call that contains it
    while stack:
        node, call = stack.pop()
        if node.kind == "name":
            name = node.children[0].text
            if call is None:
                outside.add(name)
            else:
                inside.setdefault(name, call)
            continue
        if call is None and called_name(node) in stops:
            call = called_name(node), node.span
        stack.extend((child, call) for child in reversed(node.children))
    return {name: call for name, call in inside.items() if name not in outside}


def element_names(name: str, shape: Sequence[int]) -> list[str]:
    """Return the name of each element of a variable: ``x`` for a scalar, ``x[0]`` or ``x[0, 1]`` for an array."""
    return [f"{name}[{', '.join(map(str, place))}]" if shape else name for place in itertools.product(*map(range, shape))]


def missing_values_error(missing: Mapping[str, Span], source: str) -> MissingValue:
    """Return the error for names without a value, given with their first positions in the program ``source``.

    The error of a module or of an unknown function is raised first.
    """
    check_no_module(missing, source)
    check_functions(parse(source), source)
    first, span = next(iter(missing.items()))
    if first in FUNCTIONS:
        message, hint = f"'{first}' is a function", f"write {first}(...), or give it a value: {setting('at', f'{first}=1')}"
    else:
        message = f"no value for {listed(map(repr, missing))}"
        hint = f"add {setting('at', ','.join(f'{name}=1' for name in missing))}"
    error = MissingValue(message, span=span, source=source, hint=hint)
    error.names = tuple(missing)
    return error


def check_functions(tree: Syntax, source: str) -> None:
    """Raise an error if a program calls an unknown function; without it, values of variables would be of no use."""
    defined = {node.children[0].children[0].text for node in tree.children if node.kind.startswith("definition")}
    for node in walk(tree):
        name = called_name(node)
        if not name or name in FUNCTIONS or name in defined:
            continue
        if name not in DEFINING:
            span = node.children[1 if node.kind == "method" else 0].span
            raise unknown_function_error(name, span, source, defined)
        if binding(node) is None:
            raise binds_nothing(node, source)


def check_no_module(names: Mapping[str, Span], source: str, columns: Iterable[str] = ()) -> None:
    """Raise an error if a name without a value is a Python module, as in ``np.sin(x)``; ``names`` have their first positions.

    The names in ``columns`` are those of columns or parameters, and not of modules.
    """
    for name, span in names.items():
        hint = None if name in columns else module_hint(name, span, source)
        if hint is not None:
            raise MissingValue(f"module '{name}' is not available", span=span, source=source, hint=hint)


def module_hint(name: str, span: Span, source: str) -> str | None:
    """Return a hint if a name is that of a Python module and is followed by a dot, as in ``np.sin(x)``; ``None`` elsewhere."""
    member = re.match(r"(?:\.\w+)+", source[span[1] :]) if name in _PYTHON_MODULES else None
    return member and f"write '{member[0].rpartition('.')[2]}' instead of '{name}{member[0]}'"


def no_variable_error(task: str) -> MissingValue:
    """Return the error for a task that needs a variable, and has none; the message begins with ``task``."""
    return MissingValue(f"{task} needs a variable", hint=f"give a variable a value with {setting('at', 'x=1')}")


def unknown_function_error(name: str, span: Span, source: str | None, defined: Iterable[str]) -> UnknownName:
    """Return the error for a function that the program does not define; ``source`` is ``None`` if the caller sets it."""
    hint = _function_hint(name, [*FUNCTIONS, *defined])
    return UnknownName(f"unknown function '{name}'", span=span, source=source, hint=hint)


def binds_nothing(call: Syntax, source: str) -> ArgumentError:
    """Return the error for a call of ``root`` or ``integral`` that does not bind a name."""
    name = call.children[0].text
    message = f"{name} binds a name in its first argument"
    return ArgumentError(message, span=call.span, source=source, hint=f"write {DEFINING[name]}")


def _function_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for a name that is not a function in expressions."""
    from autodiff_cli.unavailable_names import hint_for

    if name in _STATEMENT_NAMES:
        return "run autograd statements with 'autodiff run' or 'autodiff repl'"
    if name == "detach_":
        return "write detach(x), or call detach_ in a program for 'autodiff run'"
    missing = hint_for("nn.functional", name) or hint_for("", name)
    multiply = f"write {name}*(...) to multiply, or " if len(name) == 1 else ""
    return missing or suggestion(name, known) or f"{multiply}list all functions with 'autodiff functions'"
