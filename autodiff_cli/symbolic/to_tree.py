"""Formulas as programs of the language: what a person would write, and statements for what occurs more than once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from autodiff_cli.language.tree import Syntax, unparse
from autodiff_cli.symbolic.constants import Number, to_float
from autodiff_cli.symbolic.normal_form import NOWHERE, Formula, children, in_order

LONG = 240
"""A formula up to this length has no statements in front of it, even if parts of it occur twice."""
SHORT = 16
"""What is not longer is written again each time."""
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_LOGIC = ("logical_and", "logical_or", "logical_not")
_OPERATORS = ("remainder", "floor_divide")
_MOST_EXACT = 10**15


def program(formula: Formula, taken: Iterable[str] = ()) -> Syntax:
    """A formula as a tree of the language: one expression, behind statements ``v1 = ...`` if it is long.

    Args:
        formula: the formula.
        taken: names that the statements must not use.
    """
    return _Writer(formula, set(taken)).tree


def text(formula: Formula, taken: Iterable[str] = ()) -> str:
    """The same as text."""
    return unparse(program(formula, taken))


class _Writer:
    def __init__(self, formula: Formula, taken: set[str]) -> None:
        self.taken = taken
        order = in_order([formula])
        uses = Counter(child for node in order for child in children(node))
        self.trees: dict[Formula, Syntax] = {}
        statements: list[Syntax] = []
        for node in order:
            tree = self._tree(node)
            if formula.size > LONG and uses[node] > 1 and node.size > SHORT:
                name = self._free_name(len(statements))
                statements.append(_tree("assignment", _token("NAME", name), tree))
                tree = _name(name)
            self.trees[node] = tree
        self.tree = _tree("start", *statements, self.trees[formula])

    def _free_name(self, count: int) -> str:
        number = count + 1
        while f"v{number}" in self.taken:
            number += 1
        self.taken.add(f"v{number}")
        return f"v{number}"

    def _tree(self, node: Formula) -> Syntax:
        if node.kind == "symbol":
            return _name(node.name)
        if node.kind == "sum":
            return self._sum(node.parts)
        if node.kind == "product":
            return self._product(node.coefficient, node.parts)
        parts = [self.trees[part] if type(part) is Formula else _literal(part) for part in node.parts]
        if node.name == "where":
            return _tree("conditional", parts[1], parts[0], parts[2])
        if node.name in _COMPARISONS:
            return _tree("comparison", parts[0], _token("COMPARISON", _COMPARISONS[node.name]), parts[1])
        if node.name in _LOGIC:
            return _joined(node.name, parts)
        if node.name in _OPERATORS:
            return _tree(node.name, *parts)
        return _call(node.name, *parts)

    # Sums

    def _sum(self, parts: Sequence[tuple[Formula, Number]]) -> Syntax:
        terms = sorted(parts, key=lambda pair: _term_key(pair[0]))
        first = next((i for i, (_, count) in enumerate(terms) if not _negative(count)), 0)
        terms.insert(0, terms.pop(first))
        tree = self._term(*terms[0])
        for term, count in terms[1:]:
            kind, size = ("sub", -count) if _negative(count) else ("add", count)
            tree = _tree(kind, tree, self._term(term, size))
        return tree

    def _term(self, term: Formula, count: Number) -> Syntax:
        if count == 1:
            return self.trees[term]
        if term.kind == "product" and self.trees[term].kind != "name":
            return self._product(count, term.parts)
        return self._product(count, ((term, Fraction(1)),) if term.kind != "product" or term.parts else ())

    # Products

    def _product(self, coefficient: Number, factors: Sequence[tuple[Formula, Any]]) -> Syntax:
        """``2*a*x/(3*b)``: factors in their natural order, what has a negative exponent below the line."""
        above: list[Syntax] = []
        below: list[Syntax] = []
        turned = self._turned(factors) if _negative(coefficient) else None
        for base, exponent in sorted(factors, key=lambda pair: _factor_key(*pair)):
            if base is turned:
                above.append(self._sum([(term, -count) for term, count in base.parts]))
            elif type(exponent) is Fraction and exponent < 0:
                below.append(self._power(base, -exponent))
            else:
                above.append(self._power(base, exponent))
        negative = _negative(coefficient) and not turned
        over, under = _as_written(-coefficient if _negative(coefficient) else coefficient)
        if over is not None or not above:
            above.insert(0, over or _number("1"))
        if under is not None:
            below.insert(0, under)
        if negative:
            above[0] = _tree("neg", above[0])
        tree = _joined("mul", above)
        return _tree("div", tree, _joined("mul", below)) if below else tree

    def _turned(self, factors: Sequence[tuple[Formula, Any]]) -> Formula | None:
        """The sum that takes the minus: ``-(x - m)/s`` is ``(m - x)/s``."""
        sums = [base for base, exponent in factors if base.kind == "sum" and exponent == 1]
        if len(sums) != 1 or self.trees[sums[0]].kind == "name" or not any(_negative(count) for _, count in sums[0].parts):
            return None
        return sums[0]

    def _power(self, base: Formula, exponent: Any) -> Syntax:
        if exponent == 1:
            return self.trees[base]
        if exponent == Fraction(1, 2):
            return _call("sqrt", self.trees[base])
        if type(exponent) is Formula:
            tree = self.trees[exponent]
        elif exponent.denominator in (2, 4, 8):
            tree = _number(_decimal(exponent))
        else:
            tree = self._product(exponent, ())
        return _tree("pow", self.trees[base], tree)


# What comes first


def _factor_key(base: Formula, exponent: Any) -> tuple[int, int, int]:
    """Names of constants, then variables, then functions by their first variable, then constants such as log(2)."""
    if base.place == NOWHERE and (type(exponent) is Fraction or exponent.place == NOWHERE):
        return (0 if base.kind == "symbol" else 3, 0, base.number)
    place = base.place if type(exponent) is Fraction else min(base.place, exponent.place)
    return (1 if base.kind == "symbol" and type(exponent) is Fraction else 2, place, base.number)


def _term_key(term: Formula) -> tuple[int, Fraction, int, int]:
    """Higher powers first, numbers last."""
    factors = term.parts if term.kind == "product" else ((term, Fraction(1)),)
    powers = [e for base, e in factors if base.kind == "symbol" and base.place < NOWHERE and type(e) is Fraction]
    return (1 if term.value is not None else 0, -sum(powers, Fraction(0)), term.place, term.number)


def _negative(value: Number) -> bool:
    return value < 0


# Numbers


def _as_written(value: Number) -> tuple[Syntax | None, Syntax | None]:
    """A coefficient above and below the line: 3/2 and 1/3 as fractions, 0.1 and 2.75 as decimal numbers."""
    if isinstance(value, float):
        return _name(repr(value)), None
    if _is_simple(value):
        over = None if value.numerator == 1 else _number(str(value.numerator))
        return over, None if value.denominator == 1 else _number(str(value.denominator))
    return _number(_decimal(value)), None


def _is_simple(value: Fraction) -> bool:
    if value.denominator == 1:
        return value.numerator < _MOST_EXACT
    return max(value.numerator, value.denominator) < 1000 and (value.denominator % 5 != 0 or value.denominator % 3 == 0)


def _decimal(value: Fraction) -> str:
    short = to_float(value)
    return repr(short).removesuffix(".0") if math.isfinite(short) else "1e999"


def _number(digits: str) -> Syntax:
    return _tree("number", _token("NUMBER", digits))


# Trees


def _tree(kind: str, *parts: Syntax) -> Syntax:
    return Syntax(kind, list(parts), "", (0, 0))


def _token(kind: str, content: str) -> Syntax:
    return Syntax(kind, [], content, (0, 0))


def _name(name: str) -> Syntax:
    return _tree(name) if name in ("true", "false") else _tree("name", _token("NAME", name))


def _call(name: str, *arguments: Syntax) -> Syntax:
    return _tree("call", _token("NAME", name), _tree("arguments", *arguments))


def _literal(value: Any) -> Syntax:
    return _tree("none") if value is None else _tree("string", _token("STRING", f'"{value}"'))


def _joined(kind: str, parts: Sequence[Syntax]) -> Syntax:
    tree = parts[0]
    if kind == "logical_not":
        return _tree(kind, tree)
    for part in parts[1:]:
        tree = _tree(kind, tree, part)
    return tree
