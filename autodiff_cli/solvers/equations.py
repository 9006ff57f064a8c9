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
    """Parse a program of definitions and equations.

    Args:
        source: the text: statements that are separated by ``;`` or a newline.
        known: the names that have a value, such as variables and columns; an equality with one of them is an equation.

    Raises:
        ParseError: if the text is invalid, a statement has two equals signs, or every statement is a definition.
    """
    tokens = tokenize(source)
    end = tokens.pop()
    result = Equations(source, [], [])
    functions: set[str] = set()
    texts = [token.text for token in tokens]
    for part in ranges_between(texts, lambda i: tokens[i].kind == "_SEPARATOR"):
        statement = tokens[part]
        if not statement:
            continue
        span = (statement[0].span[0], statement[-1].span[1])
        sides = ranges_between(texts[part], lambda i, kinds=[token.kind for token in statement]: kinds[i] == "EQUAL")  # type: ignore[misc]
        if len(sides) > 2:
            raise ParseError(
                "an equation has one equals sign",
                span=statement[sides[1].stop].span,
                source=source,
                hint="write two equations with ';' between them, as in x = y; y = z",
            )
        if len(sides) == 2 and _defines(statement[sides[0]], {*known}, functions):
            functions.update([statement[0].text] if len(statement[sides[0]]) > 1 else [])
            result.definitions.extend(parse_tokens(source, [*statement, end]).children)
            continue
        trees = [_expression(source, statement[side], statement) for side in sides]
        result.equations.append(Equation(trees[0], trees[1] if len(trees) > 1 else None, span))
    if not result.equations:
        # The last assignment of a name is meant as an equation: the name needs a value.
        last = result.definitions.pop() if result.definitions and result.definitions[-1].kind == "assignment" else None
        if last is None:
            raise ParseError(
                "the program defines names and functions, but states no equation"
                if result.definitions
                else "the expression is empty",
                span=(0, len(source)),
                source=source,
                hint="add ';' and an equation or an expression, for example x**2 = 2",
            )
        name, right = last.children
        result.equations.append(Equation(Syntax("name", [name], "", name.span), right, last.span))
    return result


def names_in(*trees: Syntax) -> list[str]:
    """Return the names in trees in order of occurrence."""
    return list(dict.fromkeys(node.text for tree in trees for node in walk(tree) if node.kind == "NAME"))


def _defines(left: list[Syntax], known: set[str], functions: set[str]) -> bool:
    """Return whether the tokens before an equals sign are a new name, several names, or a new function of names."""
    kinds = [token.kind for token in left]
    if kinds == ["NAME"]:
        return left[0].text not in known
    if kinds[:2] == ["NAME", "LPAR"] and kinds[-1] == "RPAR":
        return left[0].text not in functions | FUNCTIONS.keys() and set(kinds[2:-1]) <= {"NAME", "COMMA"}
    return len(kinds) > 2 and set(kinds) == {"NAME", "COMMA"}


def _expression(source: str, tokens: list[Syntax], statement: list[Syntax]) -> Syntax:
    if not tokens:
        sign = next(token for token in statement if token.kind == "EQUAL")
        raise ParseError(
            "a side of the equation is missing", span=sign.span, source=source, hint="write an expression on both sides of ="
        )
    closing = Syntax("$END", [], "", (tokens[-1].span[1], tokens[-1].span[1]))
    return parse_tokens(source, [*tokens, closing]).children[0]
