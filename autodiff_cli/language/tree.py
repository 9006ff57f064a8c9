"""The syntax tree, with functions that build, traverse and print trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from autodiff_cli.errors import Span
from autodiff_cli.language.operators import ATOM, COMPARISON, CONDITIONAL, OPERATORS, OR, POSTFIX, SIGN, STATEMENT, SUM, Operator
from autodiff_cli.structs import Struct

EFFECTS = ("augmented", "set_attribute", "set_index")
"""Kinds of statements that change an existing value, which only programs may contain (see ``script.interpreter``)."""
STATEMENTS = ("assignment", "definition", "definition_with_grad", "unpack", "return", *EFFECTS)
"""Kinds of nodes that are not expressions."""


class Syntax:
    """A node of the syntax tree.

    Attributes:
        kind: the name of the grammar rule (``add``, ``call``, ``number``, ...).
        children: the child nodes, in order.
        text: the characters of a token; empty for other nodes.
        span: the range of characters in the source; (0, 0) for a node without source text.
    """

    __slots__ = ("children", "kind", "span", "text")

    def __init__(self, kind: str, children: list[Syntax], text: str, span: Span) -> None:
        self.kind = kind
        self.children = children
        self.text = text
        self.span = span

    def __repr__(self) -> str:
        return f"Syntax({self.kind!r}, {unparse(self)!r})"

    def with_children(self, children: list[Syntax]) -> Syntax:
        """Return a node with the same kind and span, and with other children."""
        return Syntax(self.kind, children, self.text, self.span)


def new_tree(kind: str, *children: Syntax) -> Syntax:
    """Build a node without source text."""
    return Syntax(kind, list(children), "", (0, 0))


def new_token(kind: str, text: str, span: Span = (0, 0)) -> Syntax:
    """Build the node of a token."""
    return Syntax(kind, [], text, span)


_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}


def unescaped(text: str) -> str:
    r"""Return a text with a line break for ``\n``, a tab for ``\t`` and a backslash for two."""
    return re.sub(r"\\[nt\\]", lambda match: _ESCAPES[match[0]], text) if "\\" in text else text


def name_tree(name: str) -> Syntax:
    """Build the node of a name; ``name`` may be any text if the tree is only printed."""
    return new_tree("name", new_token("NAME", name))


def number_tree(digits: str) -> Syntax:
    """Build the node of an unsigned number."""
    return new_tree("number", new_token("NUMBER", digits))


def call_tree(function: str, *arguments: Syntax) -> Syntax:
    """Build the node of a function call."""
    return new_tree("call", new_token("NAME", function), new_tree("arguments", *arguments))


def keyword_tree(key: str, value: Syntax) -> Syntax:
    """Build the node of a keyword argument ``key=value``."""
    return new_tree("keyword", new_token("NAME", key), value)


def walk(tree: Syntax) -> Iterator[Syntax]:
    """Yield every node of a tree, each one before its children."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def free_name_nodes(tree: Syntax) -> Iterator[Syntax]:
    """Yield the name nodes of a tree in order, excluding function names and the names that a call binds, such as ``i`` of a sum."""
    stack: list[tuple[Syntax, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, bound = stack.pop()
        if node.kind == "name" and node.children[0].text not in bound:
            yield node
        call = binding(node)
        if call is None:
            stack.extend((child, bound) for child in reversed(node.children))
        else:
            bound_inside = bound | {*call.names}
            stack.extend((part, bound_inside) for part in reversed([*node.children[:1], *call.inside]))  # with what is called
            stack.extend((part, bound) for part in reversed(call.outside))  # pushed last, so that they come first


def names_in(tree: Syntax) -> set[str]:
    """Return the names that a tree needs, excluding function names and the indices of sums."""
    return {node.children[0].text for node in free_name_nodes(tree)}


def arguments(node: Syntax) -> list[Syntax]:
    """Return the argument nodes of a function call or a method call, excluding the object of the method; [] for another node."""
    if node.kind not in ("call", "method"):
        return []
    place = 2 if node.kind == "method" else 1  # after the object and the name
    return node.children[place].children if len(node.children) > place else []


def called_name(node: Syntax) -> str:
    """Return the name of the function in a call or a method call; an empty text for another node."""
    if node.kind not in ("call", "method"):
        return ""
    return node.children[1 if node.kind == "method" else 0].text


DEFINING = {
    "root": "root(y=1, y**3 + y = x), or root(y=0..2, ...) with a bracket",
    "argmin": "argmin(y=0, (y - x)**2 + exp(y))",
    "integral": "integral(t=0..x, exp(-t**2))",
}
"""The functions whose value an equation, a minimum or an integral defines, each with an example."""


class Binding(Struct):
    """A call that binds names, such as ``i`` in ``sum(i=1..10, x**i)`` and ``y`` in ``root(y=1, y**3 + y = x)``.

    Attributes:
        names: the bound names; empty if the call is invalid.
        outside: the limits of an index, or the starts of unknowns, in which the names are not bound.
        inside: the other arguments, in which they are.
    """

    names: list[str]
    outside: list[Syntax]
    inside: list[Syntax]


def binding(node: Syntax) -> Binding | None:
    """Return what a call binds; ``None`` for a node that binds no names."""
    first = index_range(node) or _unknown(node)
    if first is None:
        return None
    left, *outside = first.children  # on the left, the token of a name, or a list of names as in root([x, y]=[1, 2], ...)
    items = left.children if left.kind == "list" else []
    names = [left] if left.kind == "NAME" else [item.children[0] for item in items if item.kind == "name"]
    inside = [operand for operand in arguments(node) if operand is not first]
    if node.children[0].text == "root":
        inside = [_as_equation(operand) for operand in inside]
    return Binding([name.text for name in names], outside, inside)


def _unknown(node: Syntax) -> Syntax | None:
    """Return the first argument of a call such as ``root(y=1, y**3 + y = x)``, the unknown and its start; ``None`` elsewhere."""
    operands = arguments(node)
    if node.kind != "call" or node.children[0].text not in DEFINING or len(operands) != 2:
        return None
    return operands[0] if operands[0].kind in ("keyword", "equation") else None


def _as_equation(argument: Syntax) -> Syntax:
    """Return a keyword argument ``y=x`` as an equation, which the grammar cannot tell from it; return any other tree unchanged."""
    if argument.kind != "keyword":
        return argument
    name, right = argument.children
    return Syntax("equation", [Syntax("name", [name], "", name.span), right], "", argument.span)


def index_range(node: Syntax) -> Syntax | None:
    """Return the range of a sum or product over an index, such as ``i=1..10`` in ``sum(i=1..10, x**i)``; ``None`` elsewhere."""
    return next((argument for argument in arguments(node) if argument.kind == "index_range"), None)


def ranges_between(texts: Sequence[str], separates: Callable[[int], bool]) -> list[slice]:
    """Return the ranges of positions before, between and after the separators outside of brackets.

    ``texts`` are characters or tokens; the predicate ``separates`` says whether there is a separator at a position.
    """
    ranges, start, depth = [], 0, 0
    for i, text in enumerate(texts):
        if text in ("(", "["):
            depth += 1
        elif text in (")", "]"):
            depth -= 1  # below 0 if it closes nothing, which the parser reports
        elif depth <= 0 and separates(i):
            ranges.append(slice(start, i))
            start = i + 1
    return [*ranges, slice(start, len(texts))]


def split_outside_brackets(text: str, separator: re.Pattern[str] | None = None) -> list[str]:
    """Split a text at the one-character separators outside of brackets, by default at commas."""
    parts = ranges_between(text, lambda i: text[i] == "," if separator is None else separator.match(text, i) is not None)
    return [text[part].strip() for part in parts]


_LEVELS = {
    **{name: operator.level for name, operator in OPERATORS.items()},
    **dict.fromkeys(
        ("assignment", "definition", "definition_with_grad", "unpack", *EFFECTS, "keyword", "equation", "slice", "index_range"),
        STATEMENT,
    ),
    **dict.fromkeys(("conditional", "lambda"), CONDITIONAL),
    "comparison": COMPARISON,
    **dict.fromkeys(("index", "attribute", "method"), POSTFIX),
}
"""The precedence of each kind of node; all other kinds are atoms."""


def unparse(tree: Syntax) -> str:
    """Return text that parses to the same tree, with as few brackets as possible."""
    # The stack contains texts, and nodes with the lowest precedence that does not require brackets.
    pieces: list[str] = []
    stack: list[str | tuple[Syntax, int]] = [(tree, STATEMENT)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        node, least = item
        parts = _printed_parts(node)
        if _LEVELS.get(node.kind, ATOM) < least:
            parts = ["(", *parts, ")"]
        stack.extend(reversed(parts))
    return "".join(pieces)


def _printed_parts(node: Syntax) -> list[str | tuple[Syntax, int]]:
    """Return a node as texts and children, each child with the lowest precedence that does not require brackets around it."""
    kind, children = node.kind, node.children
    operator = OPERATORS.get(kind)
    if operator is not None:
        return _operation_parts(operator, children)
    if kind in STATEMENTS:
        return _statement_parts(node)
    if kind == "conditional":
        return [(children[0], OR), " if ", (children[1], OR), " else ", (children[2], CONDITIONAL)]
    if kind == "comparison":
        return [f" {child.text} " if child.kind == "COMPARISON" else (child, SUM) for child in children]
    if kind in ("index", "attribute", "method"):
        return _postfix_parts(node)
    if kind == "slice":
        return [":" if child.kind == "COLON" else (child.children[0], CONDITIONAL) for child in children]
    if kind == "call":
        return [children[0].text, "(", *_comma_separated(arguments(node)), ")"]
    if kind == "keyword":
        return [children[0].text, "=", (children[1], CONDITIONAL)]  # without spaces, unlike an assignment
    if kind == "index_range":  # the blanks in "1. .. 2" keep the point of a number apart from the dots
        dots = " .. " if any(limit.kind == "number" and "." in limit.children[0].text for limit in children[1:]) else ".."
        return [children[0].text, "=", (children[1], CONDITIONAL), dots, (children[2], CONDITIONAL)]
    if kind == "equation":
        return [(children[0], CONDITIONAL), " = ", (children[1], CONDITIONAL)]
    if kind == "lambda":
        names = [name.text for name in children[1:-2]]  # between the word and the colon
        return ["lambda ", ", ".join(names), ": ", (children[-1], CONDITIONAL)]
    if kind == "list":
        return ["[", *_comma_separated(children), "]"]
    if kind == "start":
        return _comma_separated(children, comma="; ", level=STATEMENT)
    if kind == "ellipsis":
        return ["..."]
    if kind in ("true", "false", "none"):
        return [kind]
    return [children[0].text if children else node.text]


def _postfix_parts(node: Syntax) -> list[str | tuple[Syntax, int]]:
    """Return the parts of an index, an attribute or a method call, which follow their object; see ``_printed_parts``."""
    thing, second = node.children[:2]
    if node.kind == "index":
        return [(thing, POSTFIX), "[", *_comma_separated(second.children), "]"]
    if node.kind == "attribute":
        return [(thing, POSTFIX), ".", second.text]
    return [(thing, POSTFIX), ".", second.text, "(", *_comma_separated(arguments(node)), ")"]


def _statement_parts(node: Syntax) -> list[str | tuple[Syntax, int]]:
    """Return the parts of a statement that is not an expression; see ``_printed_parts``."""
    kind, children = node.kind, node.children
    if kind == "assignment":
        return [children[0].text, " = ", (children[1], CONDITIONAL)]
    if kind == "definition":
        return [(children[0], POSTFIX), " = ", (children[1], CONDITIONAL)]
    if kind == "definition_with_grad":
        partials = _comma_separated(children[3].children)
        return [(children[0], POSTFIX), " = ", (children[1], CONDITIONAL), " with grad (", *partials, ")"]
    if kind == "unpack":
        names = [name.text for name in children[:-1]]
        comma = "," if len(names) == 1 else ""  # as in "a, = [1]"
        return [", ".join(names), comma, " = ", (children[-1], CONDITIONAL)]
    if kind == "augmented":
        return [(children[0], POSTFIX), f" {children[1].text} ", (children[2], CONDITIONAL)]
    if kind == "set_attribute":
        return [(children[0], POSTFIX), ".", children[1].text, " = ", (children[2], CONDITIONAL)]
    if kind == "set_index":
        return [(children[0], POSTFIX), "[", *_comma_separated(children[1].children), "] = ", (children[2], CONDITIONAL)]
    return [children[0].text]


def _operation_parts(operator: Operator, operands: list[Syntax]) -> list[str | tuple[Syntax, int]]:
    """Return the parts of an operation, whose second operand needs brackets at the same level; see ``_printed_parts``."""
    if operator.arity == 1:
        return [operator.text, (operands[0], operator.level)]
    if operator.associates == "right":
        # The exponent may have a sign; the base needs brackets even if it is a power.
        return [(operands[0], POSTFIX), operator.text, (operands[1], SIGN)]
    return [(operands[0], operator.level), operator.text, (operands[1], operator.level + 1)]


def _comma_separated(nodes: list[Syntax], comma: str = ", ", level: int = 0) -> list[str | tuple[Syntax, int]]:
    """Return nodes with commas between them; ``level`` is the lowest precedence without brackets."""
    parts: list[str | tuple[Syntax, int]] = []
    for node in nodes:
        if parts:
            parts.append(comma)
        parts.append((node, level))
    return parts
