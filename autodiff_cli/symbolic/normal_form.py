"""The normal form of formulas: sums of products of powers, in which equal terms are collected.

A sum has a coefficient for each term, a product has an exponent for each factor, and coefficients are fractions, so that equal
terms are collected while a formula is built.  Products of sums are not expanded, so that formulas do not grow.  Equal formulas
are the same object.

The transformations are algebraic, for readable formulas: they assume that divisors are not zero (``x/x`` is 1) and that the
arguments of roots are not negative where powers are collected, and they change the order of additions.  Numerical programs use
only ``compiler.simplify.EXACT``, which are exact in floating point.  Functions are not rewritten, because an identity may lose
digits that a function preserves.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from autodiff_cli.language.operators import COMPARISONS, LOGIC
from autodiff_cli.symbolic import constants
from autodiff_cli.symbolic.constants import Coefficient
from autodiff_cli.symbolic.formula import NOWHERE, Exponent, Formula, in_order

MOST_FLAT = 12  # the largest number of parts of a sum or product that is merged into its users, each of which copies the parts
_MOST_STEPS = 4
"""The largest n for which an exponent such as pi - n is recognized; VJP rules subtract 1 from the exponent for each order."""


class Algebra:
    """A factory of formulas in normal form, in which the variables ``names`` appear in order."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._places = {name: i for i, name in enumerate(names)}
        self._known: dict[tuple[object, ...], Formula] = {}
        self.one = self._node("product", coefficient=Fraction(1))
        self.zero = self._node("product", coefficient=Fraction(0))

    def _node(self, kind: str, name: str = "", coefficient: Coefficient = Fraction(1), parts: tuple[Any, ...] = ()) -> Formula:
        """Return the formula with these attributes, which is created if it is new."""
        key = (kind, name, coefficient, parts)
        if key not in self._known:
            place = self._places.get(name, NOWHERE) if kind == "symbol" else NOWHERE
            self._known[key] = Formula(kind, name, coefficient, parts, len(self._known), place)
        return self._known[key]

    # Numbers and names

    def symbol(self, name: str) -> Formula:
        """Return the symbol of a variable or of ``pi``, ``e``, ``inf``, ``nan``, ``true`` or ``false``."""
        return self._node("symbol", name)

    def variable(self, name: str, place: int | None = None) -> Formula:
        """Return the symbol of a new variable, which comes after all others or at a place among them."""
        self._places.setdefault(name, len(self._places) if place is None else place)
        return self.symbol(name)

    def rational(self, value: Coefficient) -> Formula:
        """Return the formula of an exact number."""
        return self._node("product", coefficient=value)

    def number(self, value: float) -> Formula:
        """Return the formula of a constant: a recognized multiple or power of ``pi``, ``e`` or a logarithm, else a fraction."""
        if isinstance(value, (bool, np.bool_)):
            return self.symbol(str(value).lower())
        value = value if isinstance(value, int) else float(value)  # constants.exact parses the repr of a float
        result = constants.recognized(value)
        if result is None:
            return self.rational(constants.exact(value))
        factor, kind, argument, exponent = result  # see ``Constant``
        if kind == "number":
            return self.product([(self.rational(argument), exponent)], factor)
        if kind == "log":
            constant = self.call("log", self.rational(argument))
        elif kind == "over pi":
            constant = self.product([(self.symbol("pi"), Fraction(-1))], argument)
        else:
            constant = self.product([(self.symbol(kind), Fraction(1))], argument)
        return self.product([(constant, exponent)], factor)

    # Sums

    def sum(self, pairs: Iterable[tuple[Formula, Coefficient]]) -> Formula:
        """Return the sum of formulas multiplied by coefficients."""
        terms = self._collected(pairs)
        if self.one in terms:
            self._merge_exponentials(terms)
        nonzero = [(term, constants.tidy(count)) for term, count in terms.items() if count != 0]
        shorter = _multiplied_out(nonzero)
        if shorter is not None:
            return self.sum(shorter)
        if sum(term.is_call("where") for term, _ in nonzero) > 1:
            nonzero = self._with_choices_merged(nonzero)
        if len(nonzero) == 1:
            return self._scaled(*nonzero[0])
        return self._node("sum", parts=tuple(sorted(nonzero, key=_written_place))) if nonzero else self.zero

    def _collected(self, pairs: Iterable[tuple[Formula, Coefficient]]) -> dict[Formula, Coefficient]:
        """Return the coefficient of each term of a sum of multiples, after short sums among them are dissolved into their terms."""
        terms: dict[Formula, Coefficient] = {}
        work = list(pairs)[::-1]
        while work:
            node, times = work.pop()
            if node.kind == "product" and node.coefficient != 1:
                times, node = times * node.coefficient, self._product(Fraction(1), node.parts)
            if node.kind == "sum" and abs(times) == 1 and len(node.parts) <= MOST_FLAT:
                work += [(term, times * count) for term, count in reversed(node.parts)]
            else:
                terms[node] = terms.get(node, Fraction(0)) + times
        return terms

    def _merge_exponentials(self, terms: dict[Formula, Coefficient]) -> None:
        """Replace ``expm1(x) + 1`` with ``exp(x)`` in the terms of a sum, in place; this does not reduce the accuracy."""
        for term in [term for term in terms if term.is_call("expm1")]:
            if terms[term] == terms[self.one] != 0:
                whole = self.call("exp", *term.parts)
                terms[whole] = terms.get(whole, Fraction(0)) + terms.pop(term)
                terms[self.one] = Fraction(0)

    def _with_choices_merged(self, terms: list[tuple[Formula, Coefficient]]) -> list[tuple[Formula, Coefficient]]:
        """Merge ``where`` terms with equal conditions: ``a if c else b`` and ``p if c else q`` have the sum ``a + p`` if ``c``."""
        by_condition: dict[Any, list[tuple[Formula, Coefficient]]] = {}
        for term, count in terms:  # any other term is a group of its own
            by_condition.setdefault(term.parts[0] if term.is_call("where") else term, []).append((term, count))
        result: list[tuple[Formula, Coefficient]] = []
        for condition, group in by_condition.items():
            if len(group) == 1:
                result += group
                continue
            x, y = (self.sum([(term.parts[branch], count) for term, count in group]) for branch in (1, 2))
            result.append((self.choice(condition, x, y), Fraction(1)))
        return result

    def _scaled(self, term: Formula, times: Coefficient) -> Formula:
        """Return the multiple of a term as a product, whose coefficient contains the number."""
        if times == 1:
            return term
        if term.kind == "product":
            return self._product(times * term.coefficient, term.parts)
        return self._product(times, ((term, Fraction(1)),))

    # Products

    def product(self, pairs: Iterable[tuple[Formula, Exponent]], coefficient: Coefficient = Fraction(1)) -> Formula:
        """Return the product of powers of formulas; powers of products are taken apart where this does not change the value."""
        factors: dict[Formula, Exponent] = {}
        work = list(pairs)[::-1]
        while work or (work := self._pop_products(factors)):
            base, exponent = work.pop()
            parts = self._taken_apart(base, exponent) if base.kind == "product" and type(exponent) is Fraction else None
            if parts is not None:
                number, inner_factors = parts
                coefficient = coefficient * number
                work += inner_factors
                continue
            if base in factors:
                exponent = self._added(factors.pop(base), exponent)
            if exponent != 0:
                factors[base] = exponent
        if coefficient == 0:
            return self.zero
        return self._choosing(factors, constants.tidy(coefficient))

    def _pop_products(self, factors: dict[Formula, Exponent]) -> list[tuple[Formula, Exponent]]:
        """Remove the factors that became powers of products when exponents were added, and return them, to be taken apart."""
        products = [(b, e) for b, e in factors.items() if b.kind == "product" and type(e) is Fraction and e.denominator == 1]
        return [(base, factors.pop(base)) for base, exponent in products if self._taken_apart(base, exponent) is not None]

    def _taken_apart(self, base: Formula, exponent: Fraction) -> tuple[Coefficient, list[tuple[Formula, Exponent]]] | None:
        """Split a power of a product into a coefficient and powers of its factors, or return ``None`` if the value may change."""
        if exponent.denominator != 1:
            return self._root_taken_apart(base, exponent)
        if len(base.parts) > MOST_FLAT:
            return None
        number = constants.power(base.coefficient, exponent)
        if number is None:
            return None
        return number, [(inner, self._times(power, exponent)) for inner, power in base.parts]

    def _root_taken_apart(self, base: Formula, exponent: Fraction) -> tuple[Coefficient, list[tuple[Formula, Exponent]]] | None:
        """Split a root of a number or of a single power; products of roots need positive factors."""
        if not base.parts:
            root = constants.power(base.coefficient, exponent)
            return None if root is None else (root, [])
        if len(base.parts) > 1 or base.coefficient != 1:
            return None
        ((inner, power),) = base.parts
        if type(power) is not Fraction or power.numerator % 2 == 0:  # sqrt(x**2) is abs(x)
            return None
        return Fraction(1), [(inner, power * exponent)]

    def _added(self, left: Exponent, right: Exponent) -> Exponent:
        """Return the sum of two exponents."""
        if type(left) is Fraction and type(right) is Fraction:
            return left + right
        return self.exponent(self.sum([(e, Fraction(1)) if isinstance(e, Formula) else (self.one, e) for e in (left, right)]))

    def _times(self, exponent: Exponent, times: Fraction) -> Exponent:
        """Return a multiple of an exponent."""
        return self.exponent(self.sum([(exponent, times)])) if isinstance(exponent, Formula) else exponent * times

    @staticmethod
    def exponent(node: Formula) -> Exponent:
        """Return a formula as an exponent, which is a fraction if the formula is a number."""
        value = node.value
        return value if isinstance(value, Fraction) else node

    def _product(self, coefficient: Coefficient, factors: tuple[tuple[Formula, Exponent], ...]) -> Formula:
        """Return the product of factors that are already collected; a factor alone, with coefficient and exponent 1, is itself."""
        if len(factors) == 1 and coefficient == 1 and factors[0][1] == 1:
            return factors[0][0]
        return self._node("product", coefficient=coefficient, parts=factors)

    def _choosing(self, factors: dict[Formula, Exponent], coefficient: Coefficient) -> Formula:
        """Return a product; if a factor is 0 unless a condition holds, apply the condition to the whole product."""
        # The parts of a ``where`` call are the condition 0, the branch 1 where it holds, and the branch 2 where it does not.
        for branch, zero_branch, operation in ((1, 2, "logical_and"), (2, 1, "logical_or")):
            choices = [b for b, e in factors.items() if b.is_call("where") and e == 1 and b.parts[zero_branch] is self.zero]
            if choices:
                others = [pair for pair in factors.items() if pair[0] not in choices]
                rest = self.product([*others, *((choice.parts[branch], Fraction(1)) for choice in choices)], coefficient)
                condition = self.logic(operation, [choice.parts[0] for choice in choices])
                return self.choice(condition, rest, self.zero) if branch == 1 else self.choice(condition, self.zero, rest)
        return self._balanced(factors, coefficient)

    def _balanced(self, factors: Mapping[Formula, Exponent], coefficient: Coefficient) -> Formula:
        """Return a product; clear the denominators of its only sum by its coefficient, and move a leading sign out of the sum."""
        factors = dict(factors)
        sums = [base for base, exponent in factors.items() if base.kind == "sum" and exponent == 1]
        if len(sums) == 1 and len(sums[0].parts) <= MOST_FLAT and isinstance(coefficient, Fraction):
            terms = sums[0].parts
            number = _number_into_sum(terms, coefficient, is_only_factor=len(factors) == 1)
            if number != 1:
                coefficient = coefficient / number
                inner = self._node("sum", parts=tuple((term, number * count) for term, count in terms))
                del factors[sums[0]]
                factors[inner] = self._added(factors.get(inner, Fraction(0)), Fraction(1))
        powers = [pair for pair in factors.items() if pair[1] != 0]
        return self._product(coefficient, tuple(sorted(powers, key=lambda pair: pair[0].number)))

    def power(self, base: Formula, exponent: Formula) -> Formula:
        """Return a power with a formula as the exponent."""
        if exponent.value is None and base is self.one:
            return base
        if exponent.value is not None:
            exponent = self._constant_minus_integer(exponent.value)
        return self.product([(base, self.exponent(exponent))])

    def _constant_minus_integer(self, exponent: Coefficient) -> Formula:
        """Return an exponent, written as ``pi - 1`` if it is a constant minus an integer, as in the derivative of ``x**pi``."""
        value = constants.to_float(exponent)
        for integer in range(1, _MOST_STEPS + 1):
            is_exact = value + integer - integer == value
            constant = constants.recognized(value + integer) if is_exact else None
            if constant is not None and constant.kind in ("pi", "e"):
                return self.sum([(self.number(value + integer), Fraction(1)), (self.one, Fraction(-integer))])
        return self.rational(exponent)

    # Functions

    def call(self, name: str, *arguments: Any) -> Formula:
        """Return a function call with formulas and static arguments; ``polygamma(0, x)`` is ``digamma(x)``."""
        if name == "polygamma" and arguments[0] is self.zero:
            return self.call("digamma", arguments[1])
        return self._node("call", name, parts=arguments)

    def is_known(self, name: str, *arguments: Formula) -> bool:
        """Return whether a function call was constructed."""
        return ("call", name, Fraction(1), arguments) in self._known

    def with_parts(self, formula: Formula, parts: Mapping[Formula, Formula]) -> Formula:
        """Return a formula whose direct parts are replaced by those to which ``parts`` maps them; it must contain all of them."""
        if formula.kind == "sum":
            return self.sum([(parts[term], count) for term, count in formula.parts])
        if formula.kind == "product":
            pairs = [(parts[b], self.exponent(parts[e]) if isinstance(e, Formula) else e) for b, e in formula.parts]
            return self.product(pairs, formula.coefficient)
        if formula.kind == "symbol":
            return formula
        arguments = [parts[part] if isinstance(part, Formula) else part for part in formula.parts]
        if formula.name == "where":
            return self.choice(*arguments)
        if formula.name in (*COMPARISONS, *LOGIC):
            return self.condition(formula.name, *arguments)
        return self.call(formula.name, *arguments)

    def substituted(self, formula: Formula, values: Mapping[Formula, Formula]) -> Formula:
        """Return a formula in which other formulas replace symbols."""
        done = dict(values)
        for part in in_order([formula]):
            if part not in done:
                done[part] = self.with_parts(part, done)
        return done[formula]

    def condition(self, name: str, *operands: Formula) -> Formula:
        """Return the comparison or the logical operation ``name``."""
        if name in COMPARISONS:
            return self.compare(name, *operands)
        return self.negation(*operands) if name == "logical_not" else self.logic(name, operands)

    def compare(self, name: str, x: Formula, y: Formula) -> Formula:
        """Return the comparison ``lt``, ``le``, ``gt``, ``ge``, ``eq`` or ``ne`` of two formulas: true or false for numbers."""
        if x.value is not None and y.value is not None:
            return self.symbol("true" if getattr(operator, name)(x.value, y.value) else "false")
        if y is self.zero and x.is_call("relu") and name in ("gt", "le"):
            x = x.parts[0]  # relu(x) > 0 is x > 0
        if x.is_call("where") and y.value is not None and name in ("eq", "ne"):
            return self._choice_compared(name, x, y)
        return self.call(name, x, y)

    def _choice_compared(self, name: str, choice: Formula, number: Formula) -> Formula:
        """Return the comparison ``eq`` or ``ne`` of a ``where`` call and a number: a condition if the first branch is a number."""
        condition: Formula
        condition, first, second = choice.parts
        if first.value is None:
            return self.call(name, choice, number)
        in_first, in_second = self.compare(name, first, number), self.compare(name, second, number)
        if in_first is self.symbol("true"):
            return self.logic("logical_or", [condition, in_second])
        return self.logic("logical_and", [self.negation(condition), in_second])

    def logic(self, name: str, conditions: Sequence[Formula]) -> Formula:
        """Combine conditions with ``logical_and`` or ``logical_or``, without repetitions and without those that do not matter."""
        parts: dict[Formula, None] = {}
        for condition in conditions:
            is_merged = condition.is_call(name) and len(condition.parts) <= MOST_FLAT
            parts.update(dict.fromkeys(condition.parts if is_merged else [condition]))
        # One absorbing condition decides the whole; a neutral one does not matter.
        absorbing, neutral = map(self.symbol, ("true", "false") if name == "logical_or" else ("false", "true"))
        if absorbing in parts or any(self.negation(part) in parts for part in parts):
            return absorbing
        if len(parts) > 1:
            parts.pop(neutral, None)
        if name == "logical_or":
            for part in list(parts):  # "x == y or x >= y" is x >= y
                if part.is_call("eq") and any(self.call(sign, *part.parts) in parts for sign in ("ge", "le")):
                    del parts[part]
        return self.call(name, *parts) if len(parts) > 1 else next(iter(parts))

    def negation(self, condition: Formula) -> Formula:
        """Return the negation of a condition, assuming that no operand is nan."""
        if condition.is_call("logical_not"):
            inner: Formula = condition.parts[0]
            return inner
        if condition.is_call(*_OPPOSITE):
            return self.compare(_OPPOSITE[condition.name], *condition.parts)
        return self.call("logical_not", condition)

    def choice(self, condition: Formula, x: Formula, y: Formula) -> Formula:
        """Return the formula of ``x if condition else y``, which is a branch where the condition is known or does not matter."""
        if condition.kind == "symbol" and condition.name in ("true", "false"):
            return x if condition.name == "true" else y
        if condition.is_call("logical_not", "le", "ge", "ne"):
            # Use only one form of each condition, so that equal conditions are the same object.
            condition, x, y = self.negation(condition), y, x
        x, y = _within(condition, x, 1), self._otherwise(condition, _within(condition, y, 2))
        if x is y or (condition.is_call("logical_or") and self._covers(condition, x, y)):
            return x
        if x.is_call("where") and x.parts[2] is y:  # both conditions must hold for the first branch
            condition, x = self.logic("logical_and", [condition, x.parts[0]]), x.parts[1]
        return self.call("where", condition, x, y)

    def _covers(self, condition: Formula, branch: Formula, otherwise: Formula) -> bool:
        """Return whether a chain of ``where`` calls ends with ``otherwise``, but exactly where a condition does not hold."""
        conditions: list[Formula] = []
        while branch.is_call("where") and len(conditions) < MOST_FLAT:
            conditions.append(branch.parts[0])
            branch = branch.parts[2]
        return branch is otherwise and bool(conditions) and self.logic("logical_or", conditions) is condition

    def _otherwise(self, condition: Formula, branch: Formula) -> Formula:
        """Remove the calls with a condition that does not hold from a chain of ``where`` calls."""
        chain: list[Formula] = []
        while branch.is_call("where") and len(chain) < MOST_FLAT:
            chain.append(branch)
            branch = branch.parts[2]
        for choice in reversed(chain):
            if choice.parts[0] is not condition:
                branch = self.call("where", *choice.parts[:2], branch)
        return branch


def _number_into_sum(terms: Sequence[tuple[Formula, Coefficient]], coefficient: Fraction, is_only_factor: bool) -> Fraction:
    """Return the number by which to multiply the sum in a product and to divide its coefficient; 1 to change nothing.

    It is the coefficient if all terms then have integer coefficients, or -1 if the sum has a leading sign or is alone.
    """
    are_integers = all(isinstance(count, Fraction) and (coefficient * count).denominator == 1 for _, count in terms)
    if coefficient.denominator > 1 and are_integers:
        return coefficient
    _, first_count = terms[0]
    is_negated = coefficient == -1 if is_only_factor else first_count < 0
    return Fraction(-1 if is_negated else 1)


def _written_place(pair: tuple[Formula, Coefficient]) -> tuple[int, int]:
    """Return the sort key of a term: numbers, then the place of its first variable."""
    term = pair[0]
    return (-1 if term.value is not None else term.place, term.number)


def _multiplied_out(terms: Sequence[tuple[Formula, Coefficient]]) -> list[tuple[Formula, Coefficient]] | None:
    """Expand multiples of sums, as in ``2*(x - 1) - 2*(x + 1)``, which is -4; return ``None`` unless fewer terms remain."""
    if not any(term.kind == "sum" for term, _ in terms):
        return None
    flat: dict[Formula, Coefficient] = {}
    for term, count in terms:
        is_short_sum = term.kind == "sum" and len(term.parts) <= MOST_FLAT
        for inner, times in term.parts if is_short_sum else [(term, Fraction(1))]:
            flat[inner] = flat.get(inner, Fraction(0)) + count * times
    result = [(term, count) for term, count in flat.items() if count != 0]
    return result if len(result) < len(terms) else None


_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def _within(condition: Formula, branch: Formula, side: int) -> Formula:
    """Simplify a branch, of which a condition holds (side 1) or does not hold (side 2): choose branches by the same condition."""
    implied = condition.parts if side == 1 and condition.is_call("logical_and") else ()
    while branch.is_call("where") and (branch.parts[0] is condition or branch.parts[0] in implied):
        branch = branch.parts[side if branch.parts[0] is condition else 1]
    return branch
