"""Conversion of formulas to readable syntax trees with named common subexpressions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

from autodiff_cli.language.operators import COMPARISONS, OPERATORS
from autodiff_cli.language.tree import Syntax, call_tree, name_tree, new_token, new_tree, number_tree
from autodiff_cli.symbolic.constants import Coefficient, to_float
from autodiff_cli.symbolic.formula import NOWHERE, Exponent, Formula, children, in_order

LONG = 240
"""The largest length of a formula whose common subexpressions are written repeatedly instead of assigned to names."""
SHORT = 16
"""The largest length of a common subexpression that is written repeatedly instead of assigned to a name."""
_MOST_EXACT = 10**15


def to_tree(formula: Formula, taken: Iterable[str] = ()) -> Syntax:
    """Convert a formula to the syntax tree of an expression, preceded by statements ``v1 = ...`` if the formula is long.

    Args:
        formula: the formula to convert.
        taken: the names that the statements must not assign.
    """
    return _Builder(formula, set(taken)).tree


class _Builder:
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
                statements.append(new_tree("assignment", new_token("NAME", name), tree))
                tree = name_tree(name)
            self.trees[node] = tree
        self.tree = new_tree("start", *statements, self.trees[formula])

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
            return new_tree("conditional", parts[1], parts[0], parts[2])
        if node.name in COMPARISONS:
            return new_tree("comparison", parts[0], new_token("COMPARISON", COMPARISONS[node.name]), parts[1])
        if node.name in OPERATORS:
            return _joined(node.name, parts)
        return call_tree(node.name, *parts)

    # Sums

    def _sum(self, parts: Sequence[tuple[Formula, Coefficient]]) -> Syntax:
        terms = sorted(parts, key=lambda pair: _term_key(pair[0]))
        first = next((i for i, (_, count) in enumerate(terms) if count >= 0), 0)
        terms.insert(0, terms.pop(first))
        tree = self._term(*terms[0])
        for term, count in terms[1:]:
            kind, size = ("sub", -count) if count < 0 else ("add", count)
            tree = new_tree(kind, tree, self._term(term, size))
        return tree

    def _term(self, term: Formula, count: Coefficient) -> Syntax:
        if count == 1:
            return self.trees[term]
        if term.kind == "product" and self.trees[term].kind != "name":
            return self._product(count, term.parts)
        return self._product(count, ((term, Fraction(1)),) if term.kind != "product" or term.parts else ())

    # Products

    def _product(self, coefficient: Coefficient, factors: Sequence[tuple[Formula, Exponent]]) -> Syntax:
        """Return a product such as ``2*a*x/(3*b)``, with ordered factors and negative exponents in the denominator."""
        above: list[Syntax] = []
        below: list[Syntax] = []
        turned = self._turned(factors) if coefficient < 0 else None
        for base, exponent in sorted(factors, key=lambda pair: _factor_key(*pair)):
            if base is turned:
                above.append(self._sum([(term, -count) for term, count in base.parts]))
            elif type(exponent) is Fraction and exponent < 0:
                below.append(self._power(base, -exponent))
            else:
                above.append(self._power(base, exponent))
        negative = coefficient < 0 and not turned
        over, under = _as_fraction(-coefficient if coefficient < 0 else coefficient)
        if over is not None or not above:
            above.insert(0, over or number_tree("1"))
        if under is not None:
            below.insert(0, under)
        if negative:
            above[0] = new_tree("neg", above[0])
        tree = _joined("mul", above)
        return new_tree("div", tree, _joined("mul", below)) if below else tree

    def _turned(self, factors: Sequence[tuple[Formula, Exponent]]) -> Formula | None:
        """Return the sum that absorbs a negative sign, or ``None``: ``-(x - m)/s`` becomes ``(m - x)/s``."""
        sums = [base for base, exponent in factors if base.kind == "sum" and exponent == 1]
        if len(sums) != 1 or self.trees[sums[0]].kind == "name" or not any(count < 0 for _, count in sums[0].parts):
            return None
        return sums[0]

    def _power(self, base: Formula, exponent: Exponent) -> Syntax:
        if exponent == 1:
            return self.trees[base]
        if exponent == Fraction(1, 2):
            return call_tree("sqrt", self.trees[base])
        if isinstance(exponent, Formula):
            tree = self.trees[exponent]
        elif exponent.denominator in (2, 4, 8):
            tree = number_tree(_decimal(exponent))
        else:
            tree = self._product(exponent, ())
        return new_tree("pow", self.trees[base], tree)


# Order


def _factor_key(base: Formula, exponent: Exponent) -> tuple[int, int, int]:
    """Return the sort key of a factor: constants, variables, sums, functions, and calls such as log(2)."""
    inside = exponent.place if isinstance(exponent, Formula) else NOWHERE
    place = min(base.place, inside)
    if place == NOWHERE:
        return (0 if base.kind == "symbol" else 4, 0, base.number)
    rank = 3 if isinstance(exponent, Formula) else {"symbol": 1, "sum": 2}.get(base.kind, 3)
    return (rank, place, base.number)


def _term_key(term: Formula) -> tuple[int, Fraction, int, int]:
    """Return the sort key of a term: higher powers first, numbers last."""
    factors = term.parts if term.kind == "product" else ((term, Fraction(1)),)
    powers = [e for base, e in factors if base.kind == "symbol" and base.place < NOWHERE and type(e) is Fraction]
    return (1 if term.value is not None else 0, -sum(powers, Fraction(0)), term.place, term.number)


# Numbers


def _as_fraction(value: Coefficient) -> tuple[Syntax | None, Syntax | None]:
    """Return the numerator and the denominator of a coefficient: 3/2 and 1/3 as fractions, 0.1 and 2.75 as decimal numbers."""
    if isinstance(value, float):
        return name_tree(repr(value)), None
    top, bottom = value.numerator, value.denominator
    if top < _MOST_EXACT if bottom == 1 else max(top, bottom) < 1000 and (bottom % 5 != 0 or bottom % 3 == 0):
        return (None if top == 1 else number_tree(str(top))), (None if bottom == 1 else number_tree(str(bottom)))
    return number_tree(_decimal(value)), None


def _decimal(value: Fraction) -> str:
    """Return a fraction as a literal of the language, with 1e999 for infinity, because the language lacks an infinite literal."""
    short = to_float(value)
    return repr(short).removesuffix(".0") if math.isfinite(short) else "1e999"


# Trees


def _name(name: str) -> Syntax:
    return new_tree(name) if name in ("true", "false") else name_tree(name)


def _literal(value: object) -> Syntax:
    return new_tree("none") if value is None else new_tree("string", new_token("STRING", f'"{value}"'))


def _joined(operator: str, parts: Sequence[Syntax]) -> Syntax:
    """Combine operands with a left-associative operator."""
    if len(parts) == 1:
        return new_tree(operator, parts[0]) if OPERATORS[operator].arity == 1 else parts[0]
    return reduce(lambda left, right: new_tree(operator, left, right), parts)
