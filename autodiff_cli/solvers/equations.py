"""Equations: the statements of a program that state an equality, apart from those that define names and functions.

``cos(x) = x`` is a definition of ``cos`` in the language of expressions.  Here, a statement with ``=`` is a definition only if
its left side is a new name or a new function; every other statement is an equation or an expression.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.errors import ParseError, Span
from autodiff_cli.language.parser import parse_tokens, tokenize
from autodiff_cli.language.tree import Syntax, ranges_between, walk


class Equation(NamedTuple):
    """A statement of a program: an equation, or an expression.

    Attributes:
        left: the tree of the left side, or of the expression.
        right: the tree of the right side; ``None`` for an expression.
        span: the range of characters of the statement.
    """

    left: Syntax
    right: Syntax | None
    span: Span

    @property
    def residual(self) -> Syntax:
        """The tree of the left side minus the right side, or of the expression."""
        return self.left if self.right is None else Syntax("sub", [self.left, self.right], "", self.span)


class Equations(NamedTuple):
    """A parsed program of definitions and equations.

    Attributes:
        source: the text, which all spans refer to.
        definitions: the trees of the statements that define names and functions.
        equations: the other statements, in order.
    """

    source: str
    definitions: list[Syntax]
    equations: list[Equation]

    def program(self, result: Syntax) -> Syntax:
        """Return the tree of a program that computes an expression with the names and functions defined here."""
        return Syntax("start", [*self.definitions, result], "", result.span)

    def text(self, equation: Equation) -> str:
        """Return the text of an equation."""
        return self.source[slice(*equation.span)]


def equations(source: str, known: Collection[str] = ()) -> Equations:
    """Parse a program of definitions and equations; if all statements are definitions, a last one ``name = value`` is an equation.

    Args:
        source: the text: statements that are separated by ``;`` or a newline.
        known: the names that have a value, such as variables and columns; an equality with one of them is an equation.

    Raises:
        ParseError: if the text is invalid, a statement has two equals signs, or nothing states an equation.
    """
    *tokens, end = tokenize(source)  # ``end`` marks the end of the text, which the parser needs
    result = Equations(source, definitions=[], equations=[])
    functions: set[str] = set()  # defined so far
    for part in ranges_between([token.text for token in tokens], lambda i: tokens[i].kind == "_SEPARATOR"):
        statement = tokens[part]
        if not statement:  # as between two separators
            continue
        left, *right = _sides(source, statement)
        if right and _defines(left, {*known}, functions):
            if len(left) > 1:  # f(x), not a name alone
                functions.add(left[0].text)
            result.definitions.extend(parse_tokens(source, [*statement, end]).children)
        else:
            trees = [_expression(source, side, statement) for side in (left, *right)]
            span = (statement[0].span[0], statement[-1].span[1])
            result.equations.append(Equation(trees[0], trees[1] if right else None, span))
    return result if result.equations else _with_last_as_equation(source, result.definitions)


def _with_last_as_equation(source: str, definitions: list[Syntax]) -> Equations:
    """Return a program of definitions with the last one, ``name = value``, as an equation; none or another last one is an error."""
    if not definitions or definitions[-1].kind != "assignment":
        stated = "the program defines names and functions, but states no equation"
        message = stated if definitions else "the expression is empty"
        hint = "add ';' and an equation or an expression, for example x**2 = 2"
        raise ParseError(message, span=(0, len(source)), source=source, hint=hint)
    *others, last = definitions
    name, value = last.children
    return Equations(source, others, [Equation(Syntax("name", [name], "", name.span), value, last.span)])


def names_in(*trees: Syntax) -> list[str]:
    """Return the names in trees in order of occurrence."""
    return list(dict.fromkeys(node.text for tree in trees for node in walk(tree) if node.kind == "NAME"))


def _sides(source: str, statement: list[Syntax]) -> list[list[Syntax]]:
    """Return the tokens on both sides of the equals sign of a statement, or all if there is none; two are an error."""
    sides = ranges_between([token.text for token in statement], lambda i: statement[i].kind == "EQUAL")
    if len(sides) > 2:
        hint = "write two equations with ';' between them, as in x = y; y = z"
        raise ParseError("an equation has one equals sign", span=statement[sides[1].stop].span, source=source, hint=hint)
    return [statement[side] for side in sides]


def _defines(left: list[Syntax], known: set[str], functions: set[str]) -> bool:
    """Return whether tokens left of ``=`` define a name not ``known``, names ``a, b``, or a function not in ``functions``."""
    kinds = [token.kind for token in left]
    if kinds == ["NAME"]:
        return left[0].text not in known
    if kinds[:2] == ["NAME", "LPAR"] and kinds[-1] == "RPAR":
        is_new = left[0].text not in functions | FUNCTIONS.keys()  # defined before, or of the language
        return is_new and set(kinds[2:-1]) <= {"NAME", "COMMA"}
    return len(kinds) > 2 and set(kinds) == {"NAME", "COMMA"}


def _expression(source: str, tokens: list[Syntax], statement: list[Syntax]) -> Syntax:
    """Return the tree of the tokens of one side of a statement; a side without tokens is an error at the equals sign."""
    if not tokens:
        sign = next(token for token in statement if token.kind == "EQUAL")
        message = "a side of the equation is missing"
        raise ParseError(message, span=sign.span, source=source, hint="write an expression on both sides of =")
    end = Syntax("$END", [], "", (tokens[-1].span[1],) * 2)  # which the parser needs after the last token
    return parse_tokens(source, [*tokens, end]).children[0]
